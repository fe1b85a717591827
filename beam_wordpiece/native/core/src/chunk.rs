//! A chunk: about 64 KB of normalized text of one document or many, and where its words are.

use crate::code_points::{Class, Output};
use crate::normalizer::BLOCK;
use crate::room::Buffer;
use crate::simd::{Mask, Simd};
use crate::utf8;
use std::ops::Range;

/// Bytes at which a chunk is full: enough for the lanes of the walk to be filled most of the time, and so few that what a
/// chunk needs stays in the nearest caches.
pub const CHUNK: usize = 64 * 1024;
/// Room that is always there for one block and what a vector instruction may write or read behind it.
const SLACK: usize = 1024;
/// First byte of the pseudo word that stands for a token that was found already; it occurs in no text.
pub const TOKEN_MARK: u8 = 0xFF;
/// Bytes of a pseudo word: the mark and the id.
pub const TOKEN_BYTES: usize = 5;

/// What the bytes of a block are, after normalization and before what is dropped is dropped.
#[derive(Debug, Clone, Copy)]
pub struct WordMasks {
    /// All bytes of characters that are part of a word.
    pub word: Mask,
    /// First bytes of characters that are words of their own.
    pub first: Mask,
    /// Last bytes of characters that are words of their own.
    pub last: Mask,
    /// Bytes that stay.
    pub keep: Mask,
}

/// See the module. Word `i` is `bytes[starts[i]..ends[i]]`.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Normalized text, white space included, without separation between documents.
    pub bytes: Buffer<u8>,
    /// Bytes in use.
    pub len: usize,
    /// First byte of each word.
    pub starts: Buffer<u32>,
    /// End of each word.
    pub ends: Buffer<u32>,
    /// The character of the text that each byte comes from, where that is wanted; otherwise empty.
    pub origins: Vec<u64>,
    /// Words that have begun.
    begun: usize,
    /// Words that have ended; at most one more has begun.
    ended: usize,
    /// Bytes of the open word that the last chunk left.
    carried: usize,
    /// The last character is part of a word that may go on (0 or 1).
    in_word: Mask,
    /// The last character is a word of its own whose end is not written yet (0 or 1).
    after_isolated: Mask,
}

impl Chunk {
    /// Make room for another block, and what `bytes` more bytes need.
    #[inline(always)]
    pub fn reserve(&mut self, bytes: usize) {
        let needed = self.len + bytes + SLACK;
        // The buffer of bytes is as long at least.
        if self.starts.len() < needed {
            self.grow(needed);
        }
    }

    /// Make the buffer of bytes at least so long.
    pub fn ensure(&mut self, length: usize) {
        if self.bytes.len() < length {
            self.bytes.lengthen(with_room(length));
        }
    }

    /// Write a stretch of the text with its Hangul syllables split, from `free` on; gives where that ends.
    pub fn split_syllables(&mut self, stretch: Range<usize>, free: usize) -> usize {
        // A syllable of three bytes becomes three jamo of three bytes at most.
        self.ensure(free + 3 * stretch.len() + SLACK);
        let (text, out) = self.bytes.split_at_mut(free);
        let (mut at, mut end) = (stretch.start, 0);
        while at < stretch.end {
            let (c, length) = utf8::decode(text, at);
            if utf8::is_hangul_syllable(c) {
                let (bytes, n) = utf8::hangul_jamo_bytes(c);
                *window::<u8, 16>(out, end) = bytes;
                end += n;
            } else {
                // What is behind the character is written over.
                *window::<u8, 4>(out, end) = *window::<u8, 4>(text, at);
                end += length;
            }
            at += length;
        }
        free + end
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let size = with_room(needed);
        self.ensure(size);
        // A word has a byte at least.
        self.starts.lengthen(size);
        self.ends.lengthen(size);
    }

    /// Put empty words behind those that are complete; the first of them begins where the open one does, if one is open.
    pub fn pad_words(&mut self, count: usize) {
        self.reserve(0);
        let open = if self.begun > self.ended { self.starts[self.ended] } else { 0 };
        self.starts[self.ended..self.ended + count].fill(0);
        self.ends[self.ended..self.ended + count].fill(0);
        self.starts[self.ended] = open;
    }

    /// Number of words that are complete.
    pub fn words(&self) -> usize {
        self.ended
    }

    /// True when it is time to look the words up.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        // As much again as was carried over, so that a long open word is not moved more often than it grows.
        self.len >= self.carried + CHUNK.max(self.carried)
    }

    /// More than half of the text was there before: the end of it that was undecided.
    pub fn is_mostly_carried(&self) -> bool {
        self.len < 2 * self.carried
    }

    /// Add a block. The caller has reserved room.
    #[inline(always)]
    pub fn emit<S: Simd>(&mut self, simd: S, block: S::Block, masks: WordMasks) {
        let keep = masks.keep;
        let count = keep.count_ones();
        if count == 0 {
            return;
        }
        let compressed = |mask| simd.compress_mask(mask, keep);
        let (word, first, last) = (compressed(masks.word), compressed(masks.first), compressed(masks.last));
        let inside = Mask::MAX >> (64 - count);
        let before = word << 1 | self.in_word;
        let starts = (word & !before | first) & inside;
        let ends = (before & !word | last << 1 | self.after_isolated) & inside;
        self.in_word = word >> (count - 1) & 1;
        self.after_isolated = last >> (count - 1) & 1;
        let base = self.len as u32;
        simd.compress(block, keep, window(&mut self.bytes, self.len));
        simd.positions(starts, base, window(&mut self.starts, self.begun));
        simd.positions(ends, base, window(&mut self.ends, self.ended));
        self.begun += starts.count_ones() as usize;
        self.ended += ends.count_ones() as usize;
        self.len += count as usize;
    }

    /// Room for blocks of ASCII that stay whole: for one at least, as the caller has reserved that.
    #[inline(always)]
    pub fn whole_blocks(&mut self) -> WholeBlocks<'_> {
        // Where the chunk is full, and where there is no room for more: the buffer of bytes is as long at least.
        let full = (self.carried + CHUNK.max(self.carried)).min(self.starts.len() - SLACK);
        let Chunk { len, begun, ended, in_word, after_isolated, .. } = *self;
        WholeBlocks { full, len, begun, ended, in_word, after_isolated, chunk: self }
    }

    /// Add one character.
    #[inline(always)]
    pub fn push(&mut self, c: u32, class: Class) {
        let isolated = matches!(class, Class::Punctuation | Class::Ideograph);
        let word = class == Class::Word;
        if self.after_isolated != 0 || self.in_word != 0 && !word {
            self.ends[self.ended] = self.len as u32;
            self.ended += 1;
        }
        if isolated || word && self.in_word == 0 {
            self.starts[self.begun] = self.len as u32;
            self.begun += 1;
        }
        self.in_word = Mask::from(word);
        self.after_isolated = Mask::from(isolated);
        let (bytes, n) = utf8::encode(c);
        window::<u8, 4>(&mut self.bytes, self.len).copy_from_slice(&bytes);
        self.len += n;
    }

    /// The same with the character of the text that it comes from.
    pub fn push_from(&mut self, c: u32, class: Class, origin: u64) {
        self.push(c, class);
        self.origins.resize(self.len, origin);
    }

    /// The same for an output of normalization.
    #[inline(always)]
    pub fn push_output(&mut self, output: Output) {
        self.push(output.code_point(), output.class());
    }

    /// End the word that is open, if one is: the text goes on with something else.
    #[inline(always)]
    pub fn end_word(&mut self) {
        if self.in_word | self.after_isolated != 0 {
            self.ends[self.ended] = self.len as u32;
            self.ended += 1;
        }
        self.in_word = 0;
        self.after_isolated = 0;
    }

    /// Add a token that was found already, as a word that no text has.
    pub fn push_token(&mut self, id: u32) {
        self.reserve(TOKEN_BYTES);
        self.end_word();
        self.starts[self.begun] = self.len as u32;
        self.begun += 1;
        self.bytes[self.len..self.len + TOKEN_BYTES].copy_from_slice(&token_word(id));
        self.len += TOKEN_BYTES;
        self.ends[self.ended] = self.len as u32;
        self.ended += 1;
    }

    /// The same with the range of characters that the token takes.
    pub fn push_token_from(&mut self, id: u32, start: u64, end: u64) {
        self.push_token(id);
        self.origins.resize(self.len - 1, start);
        self.origins.push(end - 1);
    }

    /// Begin with a word that an earlier part of the text left `open`, or with nothing. Of a stretch of text that is not
    /// split into words, what is left may be empty.
    pub fn resume(&mut self, word: &[u8], open: bool) {
        self.clear();
        if open {
            self.reserve(word.len());
            self.bytes[..word.len()].copy_from_slice(word);
            self.starts[0] = 0;
            (self.len, self.carried, self.begun, self.in_word) = (word.len(), word.len(), 1, 1);
        }
    }

    /// The word that is open when the complete ones were forgotten.
    pub fn open_word(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Where a complete word is.
    pub fn word(&self, number: usize) -> Option<Range<usize>> {
        (number < self.ended).then(|| self.starts[number] as usize..self.ends[number] as usize)
    }

    /// Where the word is that is open, if one is.
    pub fn open_range(&self) -> Option<Range<usize>> {
        let open = self.begun > self.ended && self.in_word != 0;
        open.then(|| self.starts[self.ended] as usize..self.len)
    }

    /// Where a word is and whether it is complete; the open one, if one is, stands behind those that are.
    pub fn word_or_open(&self, word: usize) -> Option<(Range<usize>, bool)> {
        let complete = self.word(word).map(|part| (part, true));
        complete.or_else(|| self.open_range().map(|part| (part, false)))
    }

    /// Forget the complete words (all that have ended) and move the open one to the beginning. Of one that is longer
    /// than `longest_word` bytes only so many characters are kept as show that it is too long: two at least, the first to
    /// say where it begins and the last where it ends.
    pub fn carry_open_word(&mut self, longest_word: usize) {
        let longer = |word: &Range<usize>| utf8::boundary(&self.bytes, word.start + longest_word.max(4) + 4);
        let open = self.open_range();
        let kept = open.map(|word| word.start..word.end.min(longer(&word)));
        if let Some(kept) = &kept
            && let Some(&last) = self.origins.get(self.len - 1)
        {
            // The word ends where its last character does, whether it is kept or not.
            self.origins[utf8::boundary(&self.bytes, kept.end - 1)..kept.end].fill(last);
        }
        self.carry(kept);
    }

    /// Forget the complete words, and move what is to be kept of the open one to the beginning.
    pub fn carry(&mut self, kept: Option<Range<usize>>) {
        self.begun = usize::from(kept.is_some());
        self.len = kept.as_ref().map_or(0, Range::len);
        if let Some(kept) = kept {
            self.bytes.copy_within(kept.clone(), 0);
            self.starts[0] = 0;
            if !self.origins.is_empty() {
                self.origins.copy_within(kept, 0);
            }
        }
        self.origins.truncate(self.len);
        self.carried = self.len;
        self.ended = 0;
    }

    /// Write the end of a word that is complete though nothing has followed it yet.
    pub fn end_isolated(&mut self) {
        if self.after_isolated != 0 {
            self.ends[self.ended] = self.len as u32;
            self.ended += 1;
            self.after_isolated = 0;
        }
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        (self.len, self.begun, self.ended, self.carried) = (0, 0, 0, 0);
        (self.in_word, self.after_isolated) = (0, 0);
        self.origins.clear();
    }
}

/// A chunk to which blocks of ASCII are added that stay whole. Its state is here meanwhile, where it needs no memory.
pub struct WholeBlocks<'a> {
    chunk: &'a mut Chunk,
    full: usize,
    len: usize,
    begun: usize,
    ended: usize,
    in_word: Mask,
    after_isolated: Mask,
}

impl WholeBlocks<'_> {
    /// Add a block. The caller knows that this is not full.
    #[inline(always)]
    pub fn emit<S: Simd>(&mut self, simd: S, block: S::Block, word: Mask, isolated: Mask) {
        let before = word << 1 | self.in_word;
        let starts = word & !before | isolated;
        let ends = before & !word | isolated << 1 | self.after_isolated;
        self.in_word = word >> 63;
        self.after_isolated = isolated >> 63;
        let base = self.len as u32;
        simd.store(block, window(&mut self.chunk.bytes, self.len));
        simd.positions(starts, base, window(&mut self.chunk.starts, self.begun));
        simd.positions(ends, base, window(&mut self.chunk.ends, self.ended));
        self.begun += starts.count_ones() as usize;
        self.ended += ends.count_ones() as usize;
        self.len += BLOCK;
    }

    /// True when it is time to look the words up, or to make more room.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len >= self.full
    }

    /// The chunk has the blocks.
    #[inline(always)]
    pub fn finish(self) {
        let WholeBlocks { len, begun, ended, in_word, after_isolated, chunk, .. } = self;
        (chunk.len, chunk.begun, chunk.ended) = (len, begun, ended);
        (chunk.in_word, chunk.after_isolated) = (in_word, after_isolated);
    }
}

/// The word that stands for a token which was found already.
pub fn token_word(id: u32) -> [u8; TOKEN_BYTES] {
    let [a, b, c, d] = id.to_le_bytes();
    [TOKEN_MARK, a, b, c, d]
}

/// The size of a buffer in which so much is needed, and may soon be more.
fn with_room(needed: usize) -> usize {
    // Vectors of places are signed.
    assert!(needed < 1 << 30, "a chunk has less than a gigabyte");
    (needed * 3 / 2).next_multiple_of(64)
}

/// `N` elements from this place on.
#[inline(always)]
fn window<T, const N: usize>(buffer: &mut [T], at: usize) -> &mut [T; N] {
    (&mut buffer[at..at + N]).try_into().expect("the range has this length")
}
