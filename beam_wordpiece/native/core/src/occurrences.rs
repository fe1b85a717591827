//! Where keys stand in texts, whole ones or such that come in parts, cut anywhere.

use crate::automaton::Automaton;
use crate::double_array::ROOT_UNIT;
use crate::error::Error;
use crate::keywords::{Keyed, Lengths, Links};
use crate::rows::Part;
use crate::state::{Fields, Reader, seal, unseal};
use crate::utf8;
use std::borrow::Cow;

const MAGIC: &[u8; 4] = b"BWK\x01";
/// Bytes that are kept of a text beside those that have to be.
const SLACK: usize = 64;

/// What was found. Places are characters (code points) of their text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Occurrences {
    /// The first character of each.
    pub starts: Vec<i64>,
    /// The end of its last.
    pub ends: Vec<i64>,
    /// Number of the key.
    pub keys: Vec<u32>,
    /// How many there are up to the end of each row.
    pub rows: Vec<usize>,
    /// Texts that have ended in which invalid UTF-8 was replaced.
    pub invalid: usize,
}

impl Occurrences {
    /// Add one.
    #[inline(always)]
    pub fn push(&mut self, start: i64, end: i64, key: u32) {
        self.starts.push(start);
        self.ends.push(end);
        self.keys.push(key);
    }
}

/// Where in a text the machine is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Unit of its node.
    pub node: u32,
    /// The first character of the node's string, which ends here.
    pub start: i64,
    /// Characters that are read.
    pub read: i64,
}

impl Default for Place {
    fn default() -> Place {
        Place { node: ROOT_UNIT, start: 0, read: 0 }
    }
}

impl Place {
    /// Characters of the node's string.
    fn depth(&self) -> usize {
        (self.read - self.start) as usize
    }
}

/// The text that is open: all that is carried from one part of it to the next. That is no more than a few times the string
/// of a node, the beginning of a key.
#[derive(Debug, Clone, Default)]
pub struct OpenText {
    place: Place,
    /// The last characters that are read, those of the node's string at least.
    recent: String,
    /// Bytes that are read.
    before: u64,
    /// The bytes of a character that is cut off.
    cut: Vec<u8>,
    /// Invalid UTF-8 was replaced.
    invalid: bool,
}

impl OpenText {
    /// The next bytes as text, up to a character that is cut off; or where in the text they are invalid.
    fn read<'t>(&mut self, bytes: Cow<'t, [u8]>, ends: bool, strict: bool) -> Result<Cow<'t, str>, usize> {
        let whole = bytes.len() - if ends { 0 } else { utf8::cut_off(&bytes) };
        self.cut.extend_from_slice(&bytes[whole..]);
        let valid = match std::str::from_utf8(&bytes[..whole]) {
            Ok(_) => true,
            Err(fault) if strict => return Err(self.before as usize + fault.valid_up_to()),
            Err(_) => false,
        };
        self.before += whole as u64;
        self.invalid |= !valid;
        Ok(match bytes {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(&bytes[..whole]),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes[..whole]).into_owned()),
        })
    }

    /// Keep the end of what is read, this text being the last of it.
    fn keep(&mut self, text: &str) {
        // A character has four bytes at most. Not each time what is too much is cut off: that would take as long as it is.
        let most = 4 * self.place.depth();
        if text.len() >= most {
            self.recent.clear();
            self.recent.push_str(last(text, self.place.depth()));
        } else {
            self.recent.push_str(text);
            if self.recent.len() > 2 * most + SLACK {
                self.recent.drain(..self.recent.len() - last(&self.recent, self.place.depth()).len());
            }
        }
    }

    /// Write the fields to a state, or read them from one.
    fn fields(&mut self, of: &mut impl Fields, overlapping: &mut bool) -> Result<(), String> {
        let (mut start, mut string) =
            (self.place.start as u64, last(&self.recent, self.place.depth()).as_bytes().to_vec());
        of.flag(overlapping)?;
        of.flag(&mut self.invalid)?;
        of.number(&mut self.before)?;
        of.count(&mut start)?;
        of.bytes(&mut string)?;
        of.bytes(&mut self.cut)?;
        self.recent = String::from_utf8(string).map_err(|_| "its text is not UTF-8")?;
        let start = start as i64;
        self.place = Place { start, read: start + self.recent.chars().count() as i64, ..self.place };
        let is_cut = utf8::cut_off(&self.cut) == self.cut.len();
        is_cut.then_some(()).ok_or_else(|| "the character that is cut off is none".into())
    }

    /// The state as bytes. `overlapping` comes back with it.
    pub fn to_bytes(&self, automaton: &Automaton, mut overlapping: bool) -> Vec<u8> {
        let mut copy = self.clone();
        // Of what cannot be read back as much is written as can be, and then refused when it is read.
        seal(MAGIC, automaton, |writer| _ = copy.fields(writer, &mut overlapping))
    }

    /// The text that had this state, and `overlapping`. It is an error where the state is of another dictionary, of another
    /// version, or damaged.
    pub fn from_bytes(automaton: &Automaton, lengths: &Lengths, bytes: &[u8]) -> Result<(OpenText, bool), Error> {
        let read = |reader: &mut Reader<'_>| {
            let (mut text, mut overlapping) = (OpenText::default(), false);
            text.fields(reader, &mut overlapping)?;
            let trie = Keyed { tables: &automaton.tables(), lengths };
            text.place.node = trie.node(&text.recent).ok_or("its text begins no key")?;
            Ok((text, overlapping))
        };
        unseal(MAGIC, automaton, bytes, read)
    }
}

/// The last characters of a text, or all of them.
fn last(text: &str, characters: usize) -> &str {
    let from = match characters {
        0 => text.len(),
        _ => text.char_indices().rev().nth(characters - 1).map_or(0, |(at, _)| at),
    };
    &text[from..]
}

/// Find keys in rows that are texts, or parts of texts, cut anywhere. The first of them go on with `open`, which is the open
/// text afterwards. The occurrences of a row are those that are decided with it and were not before; in a row of nothing
/// there are none.
///
/// `strict`: invalid UTF-8 is an error, after which `open` is of no use; otherwise each invalid part is read as one U+FFFD.
/// `links`: where every occurrence is wanted; without them the leftmost and longest are found.
pub fn find<'t>(
    automaton: &Automaton,
    lengths: &Lengths,
    links: Option<&Links>,
    parts: impl Iterator<Item = Part<'t>>,
    strict: bool,
    open: &mut OpenText,
) -> Result<Occurrences, Error> {
    let trie = Keyed { tables: &automaton.tables(), lengths };
    let (mut out, mut popped) = (Occurrences::default(), Vec::new());
    for (row, Part { text, ends }) in parts.enumerate() {
        let bytes = text.unwrap_or_default();
        let bytes = match open.cut.is_empty() {
            true => Cow::Borrowed(bytes),
            false => Cow::Owned([&std::mem::take(&mut open.cut), bytes].concat()),
        };
        let text = open.read(bytes, ends, strict).map_err(|position| Error::InvalidText { row, position })?;
        match links {
            Some(links) => trie.every(links, &mut open.place, &text, &mut out),
            None => trie.leftmost_longest(&mut open.place, &text, ends, &mut popped, &mut out),
        }
        if ends {
            out.invalid += usize::from(open.invalid);
            *open = OpenText::default();
        } else {
            open.keep(&text);
        }
        out.rows.push(out.keys.len());
    }
    Ok(out)
}
