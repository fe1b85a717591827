//! The words that were not found in a table: which have to be walked, and what becomes of all of them.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::lookup::{GROUP, Lookup, list};
use crate::merge::MARGIN;
use crate::missed::Missed;
use crate::repeats::Repeats;
use crate::room::Buffer;
use crate::several::COPIED;
use crate::short_repeats::ShortRepeats;
use crate::simd::Simd;
use crate::simd::lanes::MOST_LANES;
use crate::transducer;
use crate::walk::Machine;
use crate::walk_log::Log;
use crate::walk_rounds::Rounds;
use std::ops::Range;

/// Bytes behind the text that decoding may look at, at least, and ids behind the last pieces.
pub const SLACK: usize = 64;
const _: () = assert!(MARGIN + COPIED <= SLACK, "pieces are copied in blocks, into a stretch and out of it");

/// The pieces of the words that were missed.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Which words were missed: not found, or found with several pieces.
    pub words: Vec<u32>,
    /// Ids; each word has a stretch of its own, with room for as many pieces as it has bytes and one more. There is
    /// room for [`MARGIN`] more behind the last stretch.
    pub ids: Buffer<u32>,
    /// Where each of the ids ends in the buffer of the chunk, 0 where that is not known; of words by their characters.
    pub places: Buffer<u32>,
    /// Where the stretch of each word begins.
    pub firsts: Vec<u32>,
    /// Where the pieces of each word end.
    pub ends: Vec<u32>,
    /// Ids that the stretches have room for.
    pub room: usize,
    /// Words of ASCII that have to be walked.
    pub ascii: Work,
    /// Other words that have to be walked.
    pub other: Work,
    /// Words too long for the tables that were there before.
    pub repeats: Repeats,
    /// The same of other words.
    pub short_repeats: ShortRepeats,
    /// What lanes have found and not written yet.
    pub log: Log,
    /// What a level without lanes needs to walk words.
    pub rounds: Rounds,
}

/// Matched by characters, a word with this bit in its number begins at `r`, others at `r#`.
pub const FROM_ROOT: u32 = 1 << 30;
/// Matched by characters, all tokens of a word with this bit in its number are popped. Of others only those that are the
/// same whatever comes next.
pub const WHOLE: u32 = 1 << 31;
/// The number without the bits.
pub const NUMBER: u32 = FROM_ROOT - 1;

/// Words to be walked, field by field, so that several can be loaded at once. There is room for a vector behind the
/// last of them.
#[derive(Debug, Default)]
pub struct Work {
    /// First byte in the buffer of the chunk.
    pub starts: Buffer<u32>,
    /// End in the buffer.
    pub ends: Buffer<u32>,
    /// Which of the missed words it is; of words by their characters with [`FROM_ROOT`] and [`WHOLE`].
    pub numbers: Buffer<u32>,
    /// Its first bytes, or its first character, as the walk wants them.
    pub texts: Buffer<u32>,
    /// Number of words.
    pub count: usize,
}

impl Work {
    /// Forget all words, and make room for so many.
    pub fn clear(&mut self, most: usize) {
        self.count = 0;
        let Work { starts, ends, numbers, texts, .. } = self;
        [starts, ends, numbers, texts].into_iter().for_each(|field| field.ensure(most + MOST_LANES));
    }

    /// Put empty words behind the last one.
    pub fn pad(&mut self, count: usize) {
        let end = self.count..self.count + count;
        self.starts[end.clone()].fill(0);
        self.ends[end].fill(0);
    }

    /// Bytes of all words.
    pub fn bytes(&self) -> usize {
        self.starts.iter().zip(self.ends.iter()).take(self.count).map(|(start, end)| (end - start) as usize).sum()
    }

    /// Split each word. `split` writes its pieces and gives their number, or None where it is unknown.
    #[inline(always)]
    pub fn each(
        &self,
        ids: &mut [u32],
        firsts: &[u32],
        ends: &mut [u32],
        unk_id: u32,
        split: impl Fn(Range<usize>, &mut [u32]) -> Option<usize>,
    ) {
        (0..self.count).for_each(|word| self.one(word, ids, firsts, ends, unk_id, &split));
    }

    /// The same for one of them.
    #[inline(always)]
    pub fn one(
        &self,
        word: usize,
        ids: &mut [u32],
        firsts: &[u32],
        ends: &mut [u32],
        unk_id: u32,
        split: impl Fn(Range<usize>, &mut [u32]) -> Option<usize>,
    ) {
        let number = self.numbers[word] as usize;
        let out = &mut ids[firsts[number] as usize..];
        let count = split(self.starts[word] as usize..self.ends[word] as usize, out);
        if count.is_none() {
            out[0] = unk_id;
        }
        ends[number] = firsts[number] + count.unwrap_or(1) as u32;
    }

    /// Add a word.
    #[inline(always)]
    pub fn push(&mut self, start: usize, end: usize, number: u32) {
        self.starts[self.count] = start as u32;
        self.ends[self.count] = end as u32;
        self.numbers[self.count] = number;
        self.count += 1;
    }
}

impl Pieces {
    /// Split the words of a chunk that were missed.
    #[inline(always)]
    pub fn run<S: Simd>(&mut self, simd: S, tables: &Tables<'_>, chunk: &mut Chunk, lookup: &Lookup) {
        let limit = tables.parameters.max_input_chars_per_word as usize;
        self.decide(simd, tables, chunk, lookup, limit, 0);
        if tables.transitions.is_empty() {
            simd.walk(&Machine::new(tables, &chunk.bytes), self);
        } else {
            transducer::walk(tables, &chunk.bytes, self);
        }
        self.repeats.resolve(&mut self.firsts, &mut self.ends);
        self.short_repeats.resolve(&mut self.firsts, &mut self.ends);
    }

    /// The same where an unknown character is unknown by itself: its piece is
    /// [`UNKNOWN_CHARACTER`](crate::failure::UNKNOWN_CHARACTER), and no word is too long.
    #[inline(always)]
    pub fn run_by_characters<S: Simd>(&mut self, simd: S, tables: &Tables<'_>, chunk: &mut Chunk, lookup: &Lookup) {
        self.decide(simd, tables, chunk, lookup, usize::MAX, FROM_ROOT | WHOLE);
        self.places.ensure(self.ids.len());
        let machine = Machine::new(tables, &chunk.bytes);
        // Lanes that are mostly empty cost as much as full ones.
        if self.ascii.count + self.other.count < S::LANES / 2 {
            self.walk_each_by_characters(&machine);
        } else {
            simd.walk_by_characters(&machine, self);
        }
        self.repeats.resolve(&mut self.firsts, &mut self.ends);
        self.short_repeats.resolve(&mut self.firsts, &mut self.ends);
    }

    /// Decide which of the missed words are walked. A word of more than `limit` characters is unknown. The numbers of those
    /// that are walked get `flags`.
    #[inline(always)]
    fn decide<S: Simd>(
        &mut self,
        simd: S,
        tables: &Tables<'_>,
        chunk: &mut Chunk,
        Lookup { ids: values, missed, .. }: &Lookup,
        limit: usize,
        flags: u32,
    ) {
        let count = missed.iter().map(|bits| bits.count_ones() as usize).sum();
        self.make_room(chunk.len + count, count);
        self.words.resize(count + GROUP, 0);
        list(simd, missed, &mut self.words);
        self.words.truncate(count);
        // One stretch after the other, so that they stay in the nearest cache until they are merged.
        let (starts, ends) = (&chunk.starts[..chunk.words()], &chunk.ends[..chunk.words()]);
        let mut first = 0;
        for (&word, place) in self.words.iter().zip(&mut self.firsts) {
            *place = first;
            first += ends[word as usize] - starts[word as usize] + 1;
        }
        self.ends.copy_from_slice(&self.firsts);
        let mut missed = Missed::new(tables, chunk, values, limit, flags);
        simd.decide(&mut missed, self);
        missed.finish();
    }

    /// Make room for so many pieces of so many words.
    pub fn make_room(&mut self, pieces: usize, count: usize) {
        self.room = pieces + SLACK;
        self.ids.ensure(self.room);
        for field in [&mut self.words, &mut self.firsts, &mut self.ends] {
            field.resize(count, 0);
        }
        self.repeats.clear();
        self.short_repeats.clear(count);
        self.ascii.clear(count);
        self.other.clear(count);
    }

    /// Add ids behind the stretches, which any word may have for its pieces.
    pub fn append(&mut self, ids: &[u32]) {
        let end = self.room + ids.len();
        self.ids.ensure(end + SLACK);
        self.ids[self.room..end].copy_from_slice(ids);
    }
}
