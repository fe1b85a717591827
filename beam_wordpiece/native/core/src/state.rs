//! The state of an open document as bytes, so that another process can go on with it.
//!
//! Layout: `BWS`, the version, 16 bytes of the automaton's fingerprint, the fields, 8 bytes of checksum. A number is
//! written 7 bits a byte, lowest first, the top bit saying that more follow; bytes come after their number. The state
//! names no node and no place in a table: it is the same on every level of instructions, and for every file that
//! tokenizes alike.

use crate::align::{Aligner, MOST_CHARACTERS};
use crate::automaton::Automaton;
use crate::code_points::{CODE_POINTS, Output};
use crate::document::Document;
use crate::error::Error;
use crate::origins::{Found, Origins, from_place, to_place};
use crate::stretch::Stretch;
use crate::unknown::Run;
use crate::utf8;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 4] = b"BWS\x02";
const FINGERPRINT: usize = 16;
const CHECKSUM: usize = 8;
/// Added to the number of jamo where a run of unknown characters is open.
const RUN: usize = 4;

/// Writes fields, or reads them into their places: one list of them serves both.
pub(crate) trait Fields {
    fn number(&mut self, number: &mut u64) -> Result<(), String>;

    fn bytes(&mut self, bytes: &mut Vec<u8>) -> Result<(), String>;

    fn flag(&mut self, flag: &mut bool) -> Result<(), String> {
        let mut number = u64::from(*flag);
        self.number(&mut number)?;
        *flag = number != 0;
        (number < 2).then_some(()).ok_or_else(|| "a flag is neither 0 nor 1".into())
    }

    /// A place in something of this length.
    fn place(&mut self, place: &mut usize, length: usize) -> Result<(), String> {
        let mut number = *place as u64;
        self.number(&mut number)?;
        *place = number as usize;
        (number <= length as u64).then_some(()).ok_or_else(|| "a place lies outside of its text".into())
    }

    /// Marks that wait to be sorted.
    fn marks(&mut self, marks: &mut Vec<Output>) -> Result<(), String> {
        let mut bytes = marks.iter().flat_map(|mark| mark.0.to_le_bytes()).collect();
        self.bytes(&mut bytes)?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        *marks = numbers.iter().map(|&four| Output(u32::from_le_bytes(four))).collect();
        let fine = |mark: &Output| mark.combining_class() != 0 && (mark.code_point() as usize) < CODE_POINTS;
        (rest.is_empty() && marks.iter().all(fine)).then_some(()).ok_or_else(|| "a mark is none".into())
    }

    /// A number of characters or of words.
    fn count(&mut self, count: &mut u64) -> Result<(), String> {
        self.number(count)?;
        (*count < MOST_CHARACTERS).then_some(()).ok_or_else(|| "a count is too large".into())
    }

    /// A count that may be missing.
    fn option(&mut self, count: &mut Option<u64>) -> Result<(), String> {
        let (mut there, mut number) = (count.is_some(), count.unwrap_or_default());
        self.flag(&mut there)?;
        self.count(&mut number)?;
        *count = there.then_some(number);
        Ok(())
    }

    /// The origin of each byte of a normalized text. It is never one before.
    fn origins(&mut self, origins: &mut Vec<u64>, text: &[u8]) -> Result<(), String> {
        origins.resize(text.len(), 0);
        let (mut last, mut at) = (0, 0);
        while at < text.len() {
            let end = text.len().min(at + utf8::decode(text, at).1);
            let mut step = to_place(origins[at]).wrapping_sub(last);
            self.number(&mut step)?;
            last = last.saturating_add(step);
            origins[at..end].fill(from_place(last));
            at = end;
        }
        (last <= to_place(MOST_CHARACTERS - 1)).then_some(()).ok_or_else(|| "a count is too large".into())
    }

    /// Marks that wait, with the characters that they take.
    fn aligner(&mut self, aligner: &mut Aligner) -> Result<(), String> {
        let numbers = aligner.to_numbers();
        let (mut length, mut read) = (numbers.len() as u64, Vec::new());
        self.number(&mut length)?;
        for place in 0..length {
            let mut number = numbers.get(place as usize).copied().unwrap_or_default();
            self.number(&mut number)?;
            read.push(number);
        }
        *aligner = Aligner::from_numbers(&read).ok_or("the marks that wait are none")?;
        Ok(())
    }

    /// Normalized text.
    fn text(&mut self, text: &mut Vec<u8>) -> Result<(), String> {
        self.bytes(text)?;
        utf8::is_normalized(text).then_some(()).ok_or_else(|| "its text is not UTF-8".into())
    }
}

pub(crate) struct Writer(Vec<u8>);

impl Fields for Writer {
    fn number(&mut self, number: &mut u64) -> Result<(), String> {
        let mut rest = *number;
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
        Ok(())
    }

    fn bytes(&mut self, bytes: &mut Vec<u8>) -> Result<(), String> {
        self.number(&mut (bytes.len() as u64))?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

pub(crate) struct Reader<'a>(&'a [u8]);

impl Fields for Reader<'_> {
    fn number(&mut self, number: &mut u64) -> Result<(), String> {
        *number = 0;
        for shift in (0..63).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or("it is cut off")?;
            self.0 = rest;
            *number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(());
            }
        }
        Err("a number is too large".into())
    }

    fn bytes(&mut self, bytes: &mut Vec<u8>) -> Result<(), String> {
        let mut length = 0;
        self.number(&mut length)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (read, rest) = self.0.split_at_checked(length).ok_or("it is cut off")?;
        *bytes = read.to_vec();
        self.0 = rest;
        Ok(())
    }
}

/// All fields, in their order. `options`: flags of the caller.
fn fields(of: &mut impl Fields, options: &mut u64, document: &mut Document) -> Result<(), String> {
    let Document { begun, held, before, position, exact, word, stretch } = document;
    of.number(options)?;
    of.flag(begun)?;
    of.bytes(held)?;
    of.number(before)?;
    let mut invalid = position.invalid.is_some();
    of.flag(&mut invalid)?;
    position.invalid = invalid.then_some(0);
    of.flag(&mut position.search.after_word)?;
    of.place(&mut position.search.from, held.len())?;
    of.marks(&mut position.marks)?;
    of.text(word)?;
    of.flag(&mut stretch.at_root)?;
    open_run(of, stretch)?;
    if !is_open(*begun, word, stretch) {
        return Err("its stretch is none".into());
    }
    of.text(&mut exact.text)?;
    of.bytes(&mut exact.class)?;
    of.place(&mut exact.search_from, exact.text.len())?;
    of.place(&mut exact.strip_from, exact.text.len())?;
    of.flag(&mut exact.after_word)?;
    of.flag(&mut exact.skips_space)?;
    if exact.class.len() != exact.text.len() {
        return Err("its window has a wrong size".into());
    }
    let mut has_offsets = exact.origins.is_some();
    of.flag(&mut has_offsets)?;
    if !has_offsets {
        return Ok(());
    }
    if !position.marks.is_empty() {
        return Err("marks wait in two places".into());
    }
    origins(of, exact.origins.get_or_insert_default(), word, &exact.text)
}

/// Whether a document can have a stretch with this undecided text.
fn is_open(begun: bool, word: &[u8], stretch: &Stretch) -> bool {
    let (first, _) = utf8::decode(word, 0);
    let jamo = if utf8::is_hangul_syllable(first) { utf8::hangul_jamo(first).1 } else { 1 };
    let fresh = *stretch == Stretch::default();
    usize::from(stretch.jamo) < jamo && if begun { fresh || !stretch.at_root } else { fresh && word.is_empty() }
}

/// The jamo that are decided, and the run of unknown characters that is open, if one is.
fn open_run(of: &mut impl Fields, stretch: &mut Stretch) -> Result<(), String> {
    let mut number = usize::from(stretch.jamo) + if stretch.run.is_some() { RUN } else { 0 };
    of.place(&mut number, RUN + 2)?;
    stretch.jamo = (number % RUN) as u8;
    if number < RUN {
        return (stretch.jamo < 3).then_some(()).ok_or_else(|| "a syllable has too many jamo".into());
    }
    let Run { first, end } = stretch.run.get_or_insert(Run { first: 0, end: 0 });
    of.count(first)?;
    of.count(end)?;
    (*end == 0 || first < end).then_some(()).ok_or_else(|| "a run has no characters".into())
}

/// What is kept for offsets. `word` and `window`: the texts whose origins are known.
fn origins(of: &mut impl Fields, origins: &mut Origins, word: &[u8], window: &[u8]) -> Result<(), String> {
    let Origins { read, words, word: of_word, window: of_window, aligner, space, normalized_space, open } = origins;
    of.count(read)?;
    of.count(words)?;
    of.origins(of_word, word)?;
    of.origins(of_window, window)?;
    of.aligner(aligner)?;
    of.count(space)?;
    of.option(normalized_space)?;
    let mut is_open = open.is_some();
    of.flag(&mut is_open)?;
    if is_open {
        let Found { id, start, end } = open.get_or_insert(Found { id: 0, start: 0, end: 1 });
        let mut number = u64::from(*id);
        of.number(&mut number)?;
        of.count(start)?;
        of.count(end)?;
        *id = u32::try_from(number).map_err(|_| "an id is too large")?;
        return (start < end).then_some(()).ok_or_else(|| "a token has no characters".into());
    }
    Ok(())
}

/// The state of the open document. `options`: flags of the caller, which come back with it.
pub fn to_bytes(automaton: &Automaton, mut options: u64, document: &Document) -> Vec<u8> {
    // What comes of a state that was forged may be none that a document has. It is written as far as it is one, and then
    // refused when it is read.
    seal(MAGIC, automaton, |writer| _ = fields(writer, &mut options, &mut document.clone()))
}

/// The document that had this state, and the flags of the caller. It is an error where the state is of another automaton,
/// of another version, or damaged.
pub fn from_bytes(automaton: &Automaton, bytes: &[u8]) -> Result<(Document, u64), Error> {
    unseal(MAGIC, automaton, bytes, |reader| {
        let (mut document, mut options) = (Document::default(), 0);
        fields(reader, &mut options, &mut document)?;
        if !automaton.tables().parameters.has_stretches() && document.stretch != Stretch::default() {
            // Nothing else would end the stretch, in this document or another.
            return Err("it is of text that is not split into words".into());
        }
        Ok((document, options))
    })
}

/// A state with what stands around its content: `magic` says of what it is, the last byte being the version.
pub(crate) fn seal(magic: &[u8; 4], automaton: &Automaton, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer([&magic[..], &automaton.fingerprint()].concat());
    write(&mut writer);
    let checksum = xxh3_64(&writer.0);
    writer.0.extend_from_slice(&checksum.to_le_bytes());
    writer.0
}

/// What was sealed. It is an error where the state is of another automaton, of another version, or damaged.
pub(crate) fn unseal<T>(
    magic: &[u8; 4],
    automaton: &Automaton,
    bytes: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, String>,
) -> Result<T, Error> {
    let content = || {
        let mut reader = Reader(content_of(magic, automaton, bytes)?);
        let found = read(&mut reader)?;
        reader.0.is_empty().then_some(found).ok_or_else(|| "something stands behind its end".into())
    };
    content().map_err(|fault: String| Error::Automaton(format!("the state of the stream cannot be used: {fault}")))
}

fn content_of<'b>(magic: &[u8; 4], automaton: &Automaton, bytes: &'b [u8]) -> Result<&'b [u8], String> {
    let rest = bytes.strip_prefix(&magic[..3]).ok_or("it is no state of a stream")?;
    let (&version, _) = rest.split_first().ok_or("it is cut off")?;
    if version != magic[3] {
        return Err(format!(
            "it has version {version}, and this is version {}; use the package it was made with",
            magic[3]
        ));
    }
    let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or("it is cut off")?;
    if xxh3_64(content).to_le_bytes() != *checksum {
        return Err("it is damaged or cut off".into());
    }
    let content = content.get(magic.len()..).ok_or("it is cut off")?;
    let (fingerprint, content) = content.split_first_chunk::<FINGERPRINT>().ok_or("it is cut off")?;
    if *fingerprint != automaton.fingerprint() {
        let hex = |bytes: [u8; FINGERPRINT]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (its, this) = (hex(*fingerprint), hex(automaton.fingerprint()));
        return Err(format!(
            "it is of the automaton with the fingerprint {its}, and this one has {this}; open that one"
        ));
    }
    Ok(content)
}
