//! Tokens as they leave words and stretches: their ids and where they stand, and what becomes of unknown characters.

use crate::automaton::Tables;
use crate::chunk::{Chunk, TOKEN_MARK};
use crate::error::Error;
use crate::failure::UNKNOWN_CHARACTER;
use crate::options::Unknown;
use crate::origins;
use crate::rows::Encoded;
use crate::tokens::TokenList;
use crate::trie::NONE;
use crate::utf8;
use std::ops::Range;

/// Unknown characters side by side that are one token, which may go on. Its id has left already, unless its place is
/// wanted: the first character and the end of the last one, in the text. Both are 0 otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first character.
    pub first: u64,
    /// The end of the last one.
    pub end: u64,
}

/// Why a word or a stretch cannot be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It has this code point, which is unknown, and that was asked to be an error.
    Unknown(u32),
    /// It has to be there as a whole, and is too long for that.
    TooLong,
}

impl Fault {
    /// The error about the text of a row.
    pub fn in_row(self, row: usize) -> Error {
        match self {
            Fault::Unknown(c) => {
                Error::UnknownCharacter { row, character: char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER) }
            }
            Fault::TooLong => Error::LongText { row },
        }
    }
}

/// The ids of the 256 byte tokens, NONE for those that are not in the vocabulary; empty where they are not asked for.
pub fn byte_tokens(tokens: &TokenList<'_>, unknown: Unknown) -> Vec<u32> {
    let id = |byte: u8| tokens.id(&byte_token(byte)).unwrap_or(NONE);
    if unknown == Unknown::Byte { (0..=u8::MAX).map(id).collect() } else { vec![] }
}

/// The token that stands for a byte, as SentencePiece has it.
pub fn byte_token(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// Where the tokens of a chunk go.
pub struct Sink<'a> {
    /// The tables.
    pub tables: &'a Tables<'a>,
    /// The chunk.
    pub chunk: &'a Chunk,
    out: &'a mut Encoded,
    /// What becomes of unknown characters.
    pub unknown: Unknown,
    unk_id: u32,
    /// The run that is open.
    pub run: Option<Run>,
    /// What was found first.
    pub fault: Option<Fault>,
}

impl<'a> Sink<'a> {
    /// Tokens of the words of `chunk` go to the end of `out`, and the first of them may go on with a run.
    pub fn new(
        tables: &'a Tables<'a>,
        chunk: &'a Chunk,
        unknown: Unknown,
        run: Option<Run>,
        out: &'a mut Encoded,
    ) -> Sink<'a> {
        Sink { tables, chunk, out, unknown, unk_id: tables.parameters.unk_id, run, fault: None }
    }

    /// Add a token, or [`UNKNOWN_CHARACTER`], and where in the chunk its characters are. `jamo`: of the syllable that
    /// it begins with, those before it.
    #[inline(always)]
    pub fn token(&mut self, token: u32, bytes: Range<usize>, jamo: usize) {
        if token == UNKNOWN_CHARACTER {
            if self.unknown == Unknown::Character {
                return self.push(self.unk_id, bytes);
            }
            return self.unknown(bytes, jamo);
        }
        if self.run.is_some() {
            self.end_run();
        }
        self.push(token, bytes);
    }

    /// Add what was found before words are, an added token or one of the template, if that is what stands there.
    #[inline(always)]
    pub fn found(&mut self, part: &Range<usize>) -> bool {
        let [TOKEN_MARK, id @ ..] = &self.chunk.bytes[part.clone()] else { return false };
        self.token(u32::from_le_bytes(id.try_into().unwrap_or_default()), part.clone(), 0);
        self.end_word();
        true
    }

    /// Number of ids so far.
    pub fn count(&self) -> usize {
        self.out.ids.len()
    }

    /// Add tokens whose places are not wanted. [`UNKNOWN_CHARACTER`] is among them only where each is unknown by itself.
    #[inline(always)]
    pub fn tokens(&mut self, tokens: &[u32]) {
        if self.run.is_some() && !tokens.is_empty() {
            self.end_run();
        }
        let (unk_id, before) = (self.unk_id, self.out.ids.len());
        let id = |&token: &u32| if token == UNKNOWN_CHARACTER { unk_id } else { token };
        self.out.ids.extend(tokens.iter().map(id));
        self.out.unknowns += self.out.ids[before..].iter().filter(|&&id| id == unk_id).count();
    }

    /// Add the unknown token for all of a word.
    pub fn unknown_word(&mut self, bytes: Range<usize>) {
        self.push(self.unk_id, bytes);
    }

    /// All tokens of a word or stretch are there.
    #[inline(always)]
    pub fn end_word(&mut self) {
        if self.run.is_some() {
            self.end_run();
        }
        self.out.offsets.end_word();
    }

    /// All of a row is there.
    pub fn end_row(&mut self) {
        self.out.ends.push(self.out.ids.len() as u64);
    }

    #[inline(always)]
    fn push(&mut self, id: u32, bytes: Range<usize>) {
        self.out.unknowns += usize::from(id == self.unk_id);
        self.out.ids.push(id);
        self.out.offsets.piece(&self.chunk.origins, bytes);
    }

    #[inline(never)]
    fn unknown(&mut self, bytes: Range<usize>, jamo: usize) {
        match self.unknown {
            Unknown::Word | Unknown::Character => self.push(self.unk_id, bytes),
            Unknown::Run => self.extend_run(bytes),
            Unknown::Byte => self.bytes_of(self.symbol(bytes.start, jamo), bytes),
            Unknown::CodePoint => {
                let id = self.unk_id + self.symbol(bytes.start, jamo);
                self.out.unknowns += usize::from(id != self.unk_id);
                self.push(id, bytes);
            }
            Unknown::Error => {
                self.fault.get_or_insert(Fault::Unknown(self.symbol(bytes.start, jamo)));
            }
        }
    }

    fn extend_run(&mut self, bytes: Range<usize>) {
        let place = match self.chunk.origins.get(bytes) {
            Some([first, .., last]) => Run { first: origins::first(*first), end: origins::end(*last) },
            Some([only]) => Run { first: origins::first(*only), end: origins::end(*only) },
            _ => Run { first: 0, end: 0 },
        };
        match &mut self.run {
            Some(run) => run.end = place.end,
            None => {
                self.run = Some(place);
                if place.end == 0 {
                    self.put_unknown();
                }
            }
        }
    }

    #[inline(never)]
    fn end_run(&mut self) {
        if let Some(Run { first, end }) = self.run.take()
            && end > 0
        {
            self.put_unknown();
            self.out.offsets.range([first, end]);
        }
    }

    fn put_unknown(&mut self) {
        self.out.unknowns += 1;
        self.out.ids.push(self.unk_id);
    }

    /// The tokens of the bytes of a character, each of which stands where it does.
    fn bytes_of(&mut self, c: u32, place: Range<usize>) {
        let mut buffer = [0; 4];
        let bytes = char::from_u32(c).map_or(&[][..], |c| c.encode_utf8(&mut buffer).as_bytes());
        let id = |&byte: &u8| self.tables.byte_tokens.get(usize::from(byte)).copied().unwrap_or(NONE);
        if bytes.is_empty() || bytes.iter().any(|byte| id(byte) == NONE) {
            return self.push(self.unk_id, place);
        }
        for byte in bytes {
            self.push(self.tables.byte_tokens[usize::from(*byte)], place.clone());
        }
    }

    /// The character that begins here, of a syllable that is split one of its jamo.
    fn symbol(&self, at: usize, jamo: usize) -> u32 {
        let (c, _) = utf8::decode(&self.chunk.bytes, at);
        if self.tables.parameters.split_hangul != 0 && utf8::is_hangul_syllable(c) {
            return utf8::hangul_jamo(c).0[jamo.min(2)];
        }
        c
    }
}
