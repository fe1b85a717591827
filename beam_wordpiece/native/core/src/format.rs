//! The bytes of an automaton file: a header, a table of sections, the sections. Little-endian, 64-byte aligned.
//!
//! This file knows where things are; what they mean, and whether that can be trusted, is the automaton's business.

use crate::error::Error;
use bytemuck::Zeroable;
use xxhash_rust::xxh3::xxh3_64;

/// First bytes of every automaton file.
const MAGIC: [u8; 8] = *b"BeamWP\r\n";
/// Version of the format with rules. Files without any have the version before, where they have a transducer, or the one
/// before that.
const VERSION: u32 = 5;
/// The oldest version that is read. In version 3 text may be left without word splitting; before, 0 is where that is said.
/// A file of any other version has to be compiled again.
const OLDEST: u32 = 2;
/// Alignment of sections in the file, and of the file in memory.
const ALIGNMENT: usize = 64;

/// The sections, each exactly once in a file, in this order. Transitions, and the two of rules, are there only where they,
/// or sections behind them, have something in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)] // the names are those that `Section::name` explains
pub enum Section {
    Parameters,
    Metadata,
    TokenBytes,
    TokenOffsets,
    TokenIds,
    TokenOrder,
    CodePointIndex,
    CodePointEntries,
    CodePointPool,
    WordSlots,
    WordDisplacements,
    LongWordSlots,
    LongWordDisplacements,
    WordPieces,
    CodeIndex,
    Codes,
    Units,
    Pops,
    AddedTokens,
    AddedTokenBytes,
    PrefixIds,
    SuffixIds,
    Transitions,
    Rules,
    RuleBytes,
}

impl Section {
    /// All sections, in their order.
    pub const ALL: [Section; 25] = [
        Section::Parameters,
        Section::Metadata,
        Section::TokenBytes,
        Section::TokenOffsets,
        Section::TokenIds,
        Section::TokenOrder,
        Section::CodePointIndex,
        Section::CodePointEntries,
        Section::CodePointPool,
        Section::WordSlots,
        Section::WordDisplacements,
        Section::LongWordSlots,
        Section::LongWordDisplacements,
        Section::WordPieces,
        Section::CodeIndex,
        Section::Codes,
        Section::Units,
        Section::Pops,
        Section::AddedTokens,
        Section::AddedTokenBytes,
        Section::PrefixIds,
        Section::SuffixIds,
        Section::Transitions,
        Section::Rules,
        Section::RuleBytes,
    ];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Section::Parameters => "parameters",
            Section::Metadata => "metadata",
            Section::TokenBytes => "vocabulary: text",
            Section::TokenOffsets => "vocabulary: offsets",
            Section::TokenIds => "vocabulary: ids",
            Section::TokenOrder => "vocabulary: order",
            Section::CodePointIndex => "code points: index",
            Section::CodePointEntries => "code points: actions",
            Section::CodePointPool => "code points: strings",
            Section::WordSlots => "words: slots",
            Section::WordDisplacements => "words: displacements",
            Section::LongWordSlots => "long words: slots",
            Section::LongWordDisplacements => "long words: displacements",
            Section::WordPieces => "words: pieces",
            Section::CodeIndex => "trie: index of codes",
            Section::Codes => "trie: codes",
            Section::Units => "trie: nodes and failure links",
            Section::Pops => "failure pops",
            Section::AddedTokens => "added tokens",
            Section::AddedTokenBytes => "added tokens: text",
            Section::PrefixIds => "template: before the text",
            Section::SuffixIds => "template: after the text",
            Section::Transitions => "transducer: transitions",
            Section::Rules => "rules",
            Section::RuleBytes => "rules: text",
        }
    }
}

/// The first bytes of the file. The checksum is of all that follows the header, of the fingerprint, and of the version.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    sections: u32,
    length: u64,
    checksum: u64,
    fingerprint: [u8; 16],
    reserved: [u8; 16],
}

/// Where a section is.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Entry {
    offset: u64,
    length: u64,
}

const HEADER: usize = size_of::<Header>();

/// The oldest version has a checksum without it.
fn checksum(version: u32, fingerprint: &[u8; 16], body: &[u8]) -> u64 {
    xxh3_64(body) ^ xxh3_64(fingerprint) ^ u64::from(version - OLDEST)
}

/// Number of sections in a file of a version.
fn sections(version: u32) -> usize {
    match version {
        VERSION => Section::ALL.len(),
        4 => Section::Rules as usize,
        _ => Section::Transitions as usize,
    }
}

/// Put the sections of a file together.
pub fn write(fingerprint: [u8; 16], contents: &[&[u8]; Section::ALL.len()]) -> Vec<u8> {
    let has = |section: Section| !contents[section as usize].is_empty();
    let version = match (has(Section::Rules), has(Section::Transitions)) {
        (true, _) => VERSION,
        (false, true) => 4,
        (false, false) => 3,
    };
    let contents = &contents[..sections(version)];
    let mut bytes = vec![0; HEADER + contents.len() * size_of::<Entry>()];
    for (i, content) in contents.iter().enumerate() {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        let entry = Entry { offset: bytes.len() as u64, length: content.len() as u64 };
        let place = HEADER + i * size_of::<Entry>();
        bytes[place..place + size_of::<Entry>()].copy_from_slice(bytemuck::bytes_of(&entry));
        bytes.extend_from_slice(content);
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    let header = Header {
        magic: MAGIC,
        version,
        sections: contents.len() as u32,
        length: bytes.len() as u64,
        checksum: checksum(version, &fingerprint, &bytes[HEADER..]),
        fingerprint,
        reserved: Zeroable::zeroed(),
    };
    bytes[..HEADER].copy_from_slice(bytemuck::bytes_of(&header));
    bytes
}

/// Where the sections of a file are, once header, length, checksum and section table have been found in order.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The fingerprint of the meaning.
    pub fingerprint: [u8; 16],
    sections: usize,
    ranges: [std::ops::Range<usize>; Section::ALL.len()],
}

impl Layout {
    /// Read header and section table. Never panics, whatever the bytes.
    pub fn read(bytes: &[u8]) -> Result<Layout, Error> {
        let error = |message: &str| Err(Error::Automaton(message.to_string()));
        if bytes.len() < HEADER || bytes[..8] != MAGIC {
            return error("this is not an automaton file (it does not begin as one)");
        }
        let header: Header = bytemuck::pod_read_unaligned(&bytes[..HEADER]);
        if !(OLDEST..=VERSION).contains(&header.version) {
            return Err(Error::Automaton(format!(
                "the automaton has format version {}, this package reads versions {OLDEST} to {VERSION}: compile it again",
                header.version
            )));
        }
        if header.length != bytes.len() as u64 {
            return Err(Error::Automaton(format!(
                "the automaton file is damaged: it has {} bytes and should have {}",
                bytes.len(),
                header.length
            )));
        }
        if header.checksum != checksum(header.version, &header.fingerprint, &bytes[HEADER..])
            || header.reserved != [0; 16]
        {
            return error("the automaton file is damaged: its checksum is wrong");
        }
        let sections = sections(header.version);
        let table = HEADER + sections * size_of::<Entry>();
        if header.sections as usize != sections || bytes.len() < table {
            return error("the automaton file is damaged: its table of sections is wrong");
        }
        let mut ranges = std::array::from_fn(|_| 0..0);
        for (i, range) in ranges.iter_mut().enumerate().take(sections) {
            let place = HEADER + i * size_of::<Entry>();
            let entry: Entry = bytemuck::pod_read_unaligned(&bytes[place..place + size_of::<Entry>()]);
            let (start, end) = (entry.offset as usize, entry.offset.saturating_add(entry.length) as usize);
            if entry.offset.saturating_add(entry.length) > bytes.len() as u64 || !start.is_multiple_of(ALIGNMENT) {
                return error("the automaton file is damaged: a section lies outside it");
            }
            *range = start..end;
        }
        Ok(Layout { fingerprint: header.fingerprint, sections, ranges })
    }

    /// The sections that are in the file.
    pub fn sections(&self) -> &'static [Section] {
        &Section::ALL[..self.sections]
    }

    /// Where a section is; an empty range for one that is not there.
    pub fn range(&self, section: Section) -> std::ops::Range<usize> {
        self.ranges[section as usize].clone()
    }
}

/// 64 bytes, so aligned.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

/// Bytes aligned as those of a mapped file are.
pub struct AlignedBytes {
    lines: Vec<Line>,
    length: usize,
}

impl AlignedBytes {
    /// A copy of these bytes.
    pub fn copy(bytes: &[u8]) -> AlignedBytes {
        let mut lines = vec![Line::zeroed(); bytes.len().div_ceil(ALIGNMENT)];
        bytemuck::cast_slice_mut::<Line, u8>(&mut lines)[..bytes.len()].copy_from_slice(bytes);
        AlignedBytes { lines, length: bytes.len() }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.length]
    }
}
