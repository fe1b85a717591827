//! Added tokens as they are stored in a file.

use crate::options::AddedToken;
use bytemuck::{Pod, Zeroable};

/// An added token as it is stored: its text is a range of the section of their texts.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct AddedRecord {
    /// First byte of the text.
    pub start: u32,
    /// End of the text.
    pub end: u32,
    /// Its id.
    pub id: u32,
    /// From bit 0: special, single_word, lstrip, rstrip, normalized.
    pub flags: u32,
}

/// Records of the tokens, and the text of all.
pub fn write(tokens: &[AddedToken]) -> (Vec<AddedRecord>, Vec<u8>) {
    let mut bytes = Vec::new();
    let records = tokens.iter().map(|token| {
        let start = bytes.len() as u32;
        bytes.extend_from_slice(token.content.as_bytes());
        AddedRecord { start, end: bytes.len() as u32, id: token.id, flags: flags(token) }
    });
    (records.collect(), bytes)
}

/// The flags of a token, as a record has them.
pub fn flags(token: &AddedToken) -> u32 {
    [token.special, token.single_word, token.lstrip, token.rstrip, token.normalized]
        .iter()
        .rev()
        .fold(0, |flags, &flag| flags << 1 | u32::from(flag))
}

/// The tokens that were stored so.
pub fn read(records: &[AddedRecord], bytes: &[u8]) -> Result<Vec<AddedToken>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    // Side by side, so that they cannot ask for more memory than the file has.
    let ends = records.iter().map(|record| record.end);
    if !std::iter::once(0).chain(ends).eq(records.iter().map(|record| record.start).chain([text.len() as u32])) {
        return Err("an added token lies outside its text".into());
    }
    records
        .iter()
        .map(|record| {
            let content = text.get(record.start as usize..record.end as usize);
            let flag = |bit: u32| record.flags >> bit & 1 != 0;
            Ok(AddedToken {
                content: content.filter(|c| !c.is_empty()).ok_or("an added token lies outside its text")?.into(),
                id: record.id,
                special: flag(0),
                single_word: flag(1),
                lstrip: flag(2),
                rstrip: flag(3),
                normalized: flag(4),
            })
        })
        .collect()
}
