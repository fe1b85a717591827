//! The first pass: validate, normalize, and find the words of a text, 64 bytes at a time.
//!
//! A block is cut at a character boundary, so no character lies in two blocks and UTF-8 is checked with a few mask
//! operations. What blocks cannot do (characters that become several or longer ones, marks to be sorted, invalid bytes)
//! is done character by character, for that block only.

use crate::added::{Search, put_marks, sort_marks};
use crate::automaton::Tables;
use crate::blocks::BlockTables;
use crate::chunk::{Chunk, WordMasks};
use crate::code_points::Output;
use crate::simd::{Mask, Simd};
use crate::wide::wide_block;

/// Bytes of a block.
pub const BLOCK: usize = 64;
/// What an invalid part of the text is read as.
const REPLACEMENT: u32 = 0xFFFD;

/// Why the pass stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The text is at its end.
    End,
    /// The chunk is full.
    Full,
}

/// Where in a text the pass is.
#[derive(Debug, Default)]
pub struct Position {
    /// The next byte.
    pub at: usize,
    /// The search for added tokens.
    pub search: Search,
    /// First invalid byte, if one was found.
    pub invalid: Option<usize>,
    /// Marks whose order is not decided yet.
    pub marks: Vec<Output>,
}

impl Position {
    /// At the beginning of a text.
    pub fn restart(&mut self) {
        (self.at, self.invalid) = (0, None);
        self.search.restart();
        self.marks.clear();
    }
}

/// Run over the text from where the position is, adding to the chunk, until something stops it.
#[inline(always)]
pub fn normalize<S: Simd>(
    simd: S,
    tables: &Tables<'_>,
    text: &[u8],
    position: &mut Position,
    chunk: &mut Chunk,
) -> Stop {
    // Two marks more than this are in a word that is too long, so their order no longer matters.
    let most_marks = tables.parameters.max_input_chars_per_word as usize + 1;
    let mut tail;
    while position.at < text.len() {
        if chunk.is_full() {
            return Stop::Full;
        }
        chunk.reserve(0);
        let rest = &text[position.at..];
        let bytes = match rest.first_chunk::<BLOCK>() {
            Some(bytes) => bytes,
            None => {
                tail = [0; BLOCK];
                tail[..rest.len()].copy_from_slice(rest);
                &tail
            }
        };
        let block = simd.load(bytes);
        let mut length = rest.len().min(BLOCK);
        let non_ascii = simd.non_ascii(block);
        let ascii = simd.classify_ascii(tables.blocks, block);
        let mut found = None;
        let candidates = candidates(simd, tables.blocks, block, ascii.added & !non_ascii, non_ascii) & lowest(length);
        if candidates != 0 {
            let first = position.at + candidates.trailing_zeros() as usize;
            found = position.search.token(&tables.added.raw, text, first, position.at + length);
            if let Some(token) = found {
                length = token.start.saturating_sub(position.at);
            }
        }
        let inside = lowest(length);
        if length > 0 {
            let slow = ascii.slow & !non_ascii & inside != 0 || !position.marks.is_empty();
            if non_ascii & inside == 0 && !slow {
                let masks = WordMasks {
                    word: ascii.word,
                    first: ascii.isolated,
                    last: ascii.isolated,
                    keep: inside & !ascii.deleted,
                };
                chunk.emit(simd, simd.change_case(block, tables.blocks.case_bit), masks);
                position.at += length;
            } else {
                let done = if S::WIDE && !slow { wide_block(simd, tables, rest, block, length, chunk) } else { 0 };
                if done == 0 {
                    character_block(tables, text, length, position, chunk, most_marks);
                } else {
                    position.at += done;
                }
            }
        }
        if let Some(token) = found
            && position.at >= token.start
        {
            flush_marks(position, chunk);
            chunk.push_token(token.id);
            position.at = token.resume;
        }
    }
    flush_marks(position, chunk);
    chunk.end_word();
    Stop::End
}

/// The lowest `n` bits.
#[inline(always)]
pub fn lowest(n: usize) -> Mask {
    if n >= 64 { Mask::MAX } else { (1 << n) - 1 }
}

/// Where an added token may begin.
#[inline(always)]
fn candidates<S: Simd>(simd: S, blocks: &BlockTables, block: S::Block, ascii: Mask, non_ascii: Mask) -> Mask {
    if non_ascii == 0 || blocks.added_leads.is_empty() {
        return ascii;
    }
    blocks.added_leads.iter().fold(ascii, |all, &lead| all | simd.equal(block, lead))
}

/// Do a block character by character: at least one character, none that begins after `length` bytes.
#[inline(never)]
fn character_block(
    tables: &Tables<'_>,
    text: &[u8],
    length: usize,
    position: &mut Position,
    chunk: &mut Chunk,
    most_marks: usize,
) {
    let end = position.at + length;
    characters(text, position, end, |position, c| {
        chunk.reserve(4 * position.marks.len() + 64);
        sort_marks(tables.code_points.action(c), &mut position.marks, &mut |output| chunk.push_output(output));
        if position.marks.len() > most_marks {
            flush_marks(position, chunk);
        }
    });
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
