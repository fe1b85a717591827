//! Words that were missed: which of them the automaton has to walk, and what the others are.

use crate::automaton::Tables;
use crate::chunk::{Chunk, TOKEN_MARK};
use crate::lookup::first_32;
use crate::pieces::{Pieces, SLACK, Work};
use crate::repeats::LONGER_THAN;
use crate::several::{self, COPIED, NOT_FOUND};
use crate::utf8;

/// What is needed to decide about the missed words of a chunk.
pub struct Missed<'a> {
    /// The tables.
    pub tables: &'a Tables<'a>,
    /// The chunk; what a walk needs and is not in its text is written behind that.
    pub chunk: &'a mut Chunk,
    /// What the lookup has for each word of the chunk.
    pub values: &'a [u32],
    /// A word of more characters is unknown.
    pub limit: usize,
    /// Added to the numbers of the words that are walked.
    pub flags: u32,
    /// Hangul syllables are split for a walk.
    pub hangul: bool,
    /// Where the buffer of the chunk is free.
    free: usize,
}

impl<'a> Missed<'a> {
    /// All words are still to be decided about.
    pub fn new(tables: &'a Tables<'a>, chunk: &'a mut Chunk, values: &'a [u32], limit: usize, flags: u32) -> Self {
        let (hangul, free) = (tables.parameters.split_hangul != 0, chunk.len + SLACK);
        Missed { tables, chunk, values, limit, flags, hangul, free }
    }

    /// Decide about one word after the other.
    pub fn decide_each(&mut self, pieces: &mut Pieces) {
        for number in 0..pieces.words.len() {
            let miss = pieces.words[number] as usize;
            let (start, end) = (self.chunk.starts[miss] as usize, self.chunk.ends[miss] as usize);
            let asked = end - start <= LONGER_THAN && self.values[miss] == NOT_FOUND;
            let bytes = first_32(&self.chunk.bytes, start, end - start);
            if !pieces.short_repeats.find_one(bytes, number, asked) {
                self.decide(pieces, number);
            }
        }
    }

    /// Decide about missed word `number`, whatever it is: write its pieces, or put it on a list of words to be walked.
    #[inline(always)]
    pub fn decide(&mut self, pieces: &mut Pieces, number: usize) {
        let miss = pieces.words[number] as usize;
        let (start, end) = (self.chunk.starts[miss] as usize, self.chunk.ends[miss] as usize);
        let first = pieces.firsts[number] as usize;
        let mut one = |id: u32| (pieces.ids[first], pieces.ends[number]) = (id, first as u32 + 1);
        if let Some((ids, count)) = several::pieces(self.values[miss], self.tables.pieces) {
            // What goes beyond the stretch of the word is written over: those of the next words come later.
            pieces.ids[first..first + COPIED].copy_from_slice(ids);
            pieces.ends[number] = first as u32 + count;
            return;
        }
        let word = &self.chunk.bytes[start..end];
        // A character has a byte at least, also a jamo of a syllable: only long words need counting.
        if word.len() > self.limit && word[0] != TOKEN_MARK && characters(word, self.hangul) > self.limit {
            one(self.tables.parameters.unk_id);
        } else if word.len() > LONGER_THAN && pieces.repeats.find(&self.chunk.bytes, start..end, number) {
            // The earlier one is walked.
        } else if is_ascii(&self.chunk.bytes, start, end) {
            self.walk(&mut pieces.ascii, start, end, number);
        } else if let [TOKEN_MARK, id @ ..] = word {
            one(u32::from_le_bytes(id.try_into().unwrap_or_default()));
        } else if self.hangul && word.iter().any(|byte| (0xEA..=0xED).contains(byte)) {
            let end = self.chunk.split_syllables(start..end, self.free);
            self.walk(&mut pieces.other, self.free, end, number);
            self.free = end;
        } else {
            self.walk(&mut pieces.other, start, end, number);
        }
    }

    /// Put a word on a list.
    #[inline(always)]
    fn walk(&self, list: &mut Work, start: usize, end: usize, number: usize) {
        list.push(start, end, number as u32 | self.flags);
    }

    /// All words are decided about.
    pub fn finish(self) {
        self.chunk.ensure(self.free + SLACK);
    }
}

/// Whether a word is ASCII; there are 16 readable bytes behind it. Mostly it is short, and then its length is no branch.
#[inline(always)]
fn is_ascii(bytes: &[u8], start: usize, end: usize) -> bool {
    let sixteen: &[u8; 16] = bytes[start..].first_chunk().expect("bytes behind every word");
    let beyond = 8 * 16usize.saturating_sub(end - start) as u32;
    let high = u128::from_le_bytes(*sixteen) & (u128::MAX / 0xFF * 0x80);
    high.checked_shl(beyond).unwrap_or(0) == 0 && (end - start <= 16 || bytes[start + 16..end].is_ascii())
}

/// Number of characters, a Hangul syllable being two or three where it is split.
fn characters(word: &[u8], hangul: bool) -> usize {
    if !hangul {
        // In parts whose counts fit a byte, which the compiler adds up many at a time.
        let starts = |part: &[u8]| part.iter().map(|&byte| u8::from(byte & 0xC0 != 0x80)).sum::<u8>();
        return word.chunks(255).map(|part| usize::from(starts(part))).sum();
    }
    let (mut at, mut count) = (0, 0);
    while at < word.len() {
        let (c, length) = utf8::decode(word, at);
        at += length;
        count += if utf8::is_hangul_syllable(c) { utf8::hangul_jamo(c).1 } else { 1 };
    }
    count
}
