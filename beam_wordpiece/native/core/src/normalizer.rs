//! The first pass: validate, normalize, and find the words of a text, 64 bytes at a time.
//!
//! A block is cut at a character boundary, so no character lies in two blocks and UTF-8 is checked with a few mask
//! operations. Characters that become several or longer ones are done by themselves, between parts of their block; where
//! marks are to be sorted or bytes are invalid, that block is done character by character.

use crate::added::{Search, TokenInText, put_marks, sort_marks};
use crate::automaton::Tables;
use crate::chunk::{Chunk, WordMasks};
use crate::code_points::{Action, Output};
use crate::mixed::mixed_block;
use crate::rules::{self, Found, LONGEST_RESULT};
use crate::simd::{AsciiMasks, Mask, Simd};
use crate::wide::wide_block;

/// Bytes of a block.
pub const BLOCK: usize = 64;
/// How far ahead text is asked for. Between two chunks the processor forgets that it was reading a text.
const AHEAD: usize = 2048;
/// What an invalid part of the text is read as.
const REPLACEMENT: u32 = 0xFFFD;

/// Why the pass stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// What is decided is done.
    End,
    /// The chunk is full.
    Full,
}

/// Where in a text the pass is.
#[derive(Debug, Clone, Default)]
pub struct Position {
    /// The next byte.
    pub at: usize,
    /// The search for added tokens.
    pub search: Search,
    /// First invalid byte, if one was found.
    pub invalid: Option<usize>,
    /// Whatever comes, the added tokens that begin before that are what they are.
    pub decided: usize,
    /// The next added token, once the search has gone on behind it.
    pub token: Option<TokenInText>,
    /// Marks whose order is not decided yet.
    pub marks: Vec<Output>,
}

impl Position {
    /// At the beginning of a text.
    pub fn restart(&mut self) {
        (self.at, self.invalid, self.token) = (0, None, None);
        self.search.restart();
        self.marks.clear();
    }
}

/// Run over the text from where the position is, adding to the chunk, until something stops it: `end` of what is decided,
/// or a full chunk. An added token or a character that begins before `end` is taken whole.
#[inline(always)]
pub fn normalize<S: Simd>(
    simd: S,
    tables: &Tables<'_>,
    text: &[u8],
    end: usize,
    position: &mut Position,
    chunk: &mut Chunk,
) -> Stop {
    while position.at < end {
        if chunk.is_full() {
            return Stop::Full;
        }
        chunk.reserve(0);
        simd.prefetch(text, position.at + AHEAD);
        let mut block = Block::load(simd, tables, &text[position.at..end]);
        if block.is_plain() && position.marks.is_empty() {
            match plain_blocks(simd, tables, &text[..end], block, position, chunk) {
                Some(next) => block = next,
                None => continue,
            }
        }
        let found = block.find(simd, tables, text, position);
        let start = found.map_or(position.at + block.length, |found| found.start());
        block.length = start.saturating_sub(position.at);
        if block.length > 0 {
            block.normalize(simd, tables, text, position, chunk);
        }
        if let Some(found) = found {
            // The search has gone on: what a level has left of the text before the token has to be done now.
            if position.at < start {
                character_block(tables, text, start - position.at, position, chunk);
            }
            put(tables, found, position, chunk);
        }
    }
    Stop::End
}

/// Add the `first` block and those behind it that are as plain, up to a full chunk or the end of the text; gives the block
/// that is not, if one is behind them.
#[inline(always)]
fn plain_blocks<S: Simd>(
    simd: S,
    tables: &Tables<'_>,
    text: &[u8],
    first: Block<S>,
    position: &mut Position,
    chunk: &mut Chunk,
) -> Option<Block<S>> {
    let mut block = first;
    let (mut run, mut at) = (chunk.whole_blocks(), position.at);
    let next = loop {
        run.emit(simd, block.mapped(simd, tables), block.ascii.word, block.ascii.isolated);
        at += BLOCK;
        if run.is_full() || at == text.len() {
            break None;
        }
        simd.prefetch(text, at + AHEAD);
        block = Block::load(simd, tables, &text[at..]);
        if !block.is_plain() {
            break Some(block);
        }
    };
    run.finish();
    position.at = at;
    next
}

/// Add what was found where the position is.
#[inline(never)]
fn put(tables: &Tables<'_>, found: Found, position: &mut Position, chunk: &mut Chunk) {
    match found {
        Found::Token(token) => {
            flush_marks(position, chunk);
            chunk.push_token(token.id);
            // The white space around a token is in no word, whether it takes it or not.
            position.at = token.end;
        }
        Found::Key(hit) => {
            put_outputs(tables, Action::Many(&tables.rules.of_key(hit).outputs), position, chunk);
            position.at = hit.end;
        }
    }
}

/// The text is at its end.
pub fn finish(position: &mut Position, chunk: &mut Chunk) {
    flush_marks(position, chunk);
    chunk.end_word();
}

/// The next 64 bytes of a text, or what is left of it.
pub struct Block<S: Simd> {
    /// The bytes, zeros behind the end of the text.
    pub bytes: S::Block,
    /// How many of the bytes are to be looked at.
    pub length: usize,
    /// Which bytes are not ASCII.
    pub non_ascii: Mask,
    /// What the others are.
    pub ascii: AsciiMasks,
}

impl<S: Simd> Block<S> {
    #[inline(always)]
    fn load(simd: S, tables: &Tables<'_>, rest: &[u8]) -> Block<S> {
        let bytes = match rest.first_chunk::<BLOCK>() {
            Some(bytes) => simd.load(bytes),
            None => simd.load_part(rest),
        };
        let (non_ascii, ascii) = (simd.non_ascii(bytes), simd.classify_ascii(tables.blocks, bytes));
        Block { bytes, length: rest.len().min(BLOCK), non_ascii, ascii }
    }

    /// Whether the block is whole and holds only ASCII that is kept, with no place where an added token may begin.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.length == BLOCK && self.non_ascii | self.ascii.rare == 0
    }

    /// The bytes with what the ASCII characters become.
    #[inline(always)]
    pub fn mapped(&self, simd: S, tables: &Tables<'_>) -> S::Block {
        match &tables.blocks.ascii_bytes {
            None => simd.change_case(self.bytes, tables.blocks.case_bit),
            Some(bytes) => simd.blend(self.non_ascii, simd.lookup_128(bytes, self.bytes), self.bytes),
        }
    }

    /// The first added token, or key of a rule, that begins in the block.
    #[inline(always)]
    fn find(&self, simd: S, tables: &Tables<'_>, text: &[u8], position: &mut Position) -> Option<Found> {
        let mut candidates = self.ascii.added & !self.non_ascii;
        if self.non_ascii != 0 {
            let leads = &tables.blocks.added_leads;
            candidates = leads.iter().fold(candidates, |all, &lead| all | simd.equal(self.bytes, lead));
        }
        candidates &= lowest(self.length);
        // Most are none: a bracket of an array is not that of `[UNK]`.
        let goes_on =
            |&byte: &u8| tables.added.raw.contents.go_on_with(byte) || tables.rules.strings().go_on_with(byte);
        let first = loop {
            if candidates == 0 {
                return None;
            }
            let first = position.at + candidates.trailing_zeros() as usize;
            if text.get(first + 1).is_none_or(goes_on) {
                break first;
            }
            candidates &= candidates - 1;
        };
        let end = position.at + self.length;
        if !tables.rules.strings().is_empty() {
            return rules::next(tables, text, first, end, position);
        }
        position.search.token(&tables.added.raw, text, first, end).map(Found::Token)
    }

    /// Add the bytes to the chunk, one character at least.
    #[inline(always)]
    fn normalize(&self, simd: S, tables: &Tables<'_>, text: &[u8], position: &mut Position, chunk: &mut Chunk) {
        let inside = lowest(self.length);
        let slow_ascii = self.ascii.slow & !self.non_ascii & inside != 0;
        let marks = !position.marks.is_empty();
        if self.non_ascii & inside == 0 && !slow_ascii && !marks {
            let isolated = self.ascii.isolated;
            let keep = inside & !self.ascii.deleted;
            let masks = WordMasks { word: self.ascii.word, first: isolated, last: isolated, keep };
            chunk.emit(simd, self.mapped(simd, tables), masks);
            position.at += self.length;
            return;
        }
        let rest = &text[position.at..];
        let done = if marks || slow_ascii && !S::WIDE {
            0
        } else if S::WIDE {
            wide_block(simd, tables, rest, self, position, chunk)
        } else {
            mixed_block(simd, tables, self, chunk)
        };
        if done == 0 {
            character_block(tables, text, self.length, position, chunk);
        }
        position.at += done;
    }
}

/// The lowest `n` bits.
#[inline(always)]
pub fn lowest(n: usize) -> Mask {
    if n >= 64 { Mask::MAX } else { (1 << n) - 1 }
}

/// Do a block character by character: at least one character, none that begins after `length` bytes.
#[inline(never)]
fn character_block(tables: &Tables<'_>, text: &[u8], length: usize, position: &mut Position, chunk: &mut Chunk) {
    let end = position.at + length;
    characters(text, position, end, |position, c| put_outputs(tables, tables.code_points.action(c), position, chunk));
}

/// Put out what becomes of a character, or of the key of a rule.
#[inline(always)]
pub fn put_outputs(tables: &Tables<'_>, action: Action<'_>, position: &mut Position, chunk: &mut Chunk) {
    // Two marks more than this are in a word that is too long, so their order no longer matters.
    let most_marks = tables.parameters.max_input_chars_per_word as usize + 1;
    chunk.reserve(4 * (position.marks.len() + LONGEST_RESULT));
    sort_marks(action, &mut position.marks, &mut |output| chunk.push_output(output));
    if position.marks.len() > most_marks {
        flush_marks(position, chunk);
    }
}

/// Decode the characters that begin before `end`; each invalid part is one U+FFFD.
pub fn characters(text: &[u8], position: &mut Position, end: usize, mut each: impl FnMut(&mut Position, u32)) {
    while position.at < end {
        // A character that begins before `end` ends at most three bytes after it.
        let part = &text[position.at..(end + 3).min(text.len())];
        let part = &part[..part.len().min(2 * BLOCK)];
        let (valid, invalid) = match std::str::from_utf8(part) {
            Ok(valid) => (valid, None),
            Err(error) => {
                let valid = std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or_default();
                (valid, Some(error.error_len()))
            }
        };
        for c in valid.chars() {
            if position.at >= end {
                return;
            }
            position.at += c.len_utf8();
            each(position, u32::from(c));
        }
        if position.at >= end {
            return;
        }
        let length = match invalid {
            None => continue,
            Some(Some(length)) => length,
            // Cut off: by the end of the text, or only by that of the part.
            Some(None) if position.at + (part.len() - valid.len()) < text.len() => continue,
            Some(None) => part.len() - valid.len(),
        };
        position.invalid.get_or_insert(position.at);
        position.at += length;
        each(position, REPLACEMENT);
    }
}

/// Put out the marks that wait, in the order of their combining classes.
fn flush_marks(position: &mut Position, chunk: &mut Chunk) {
    chunk.reserve(4 * position.marks.len());
    put_marks(&mut position.marks, &mut |mark| chunk.push_output(mark));
}
