//! The second pass: look whole words up. What is not found is left to the automaton.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::merge::MARGIN;
use crate::simd::lanes::{Lanes, MOST_LANES};
use crate::word_table::{LaneHash, WordTable, key_bytes};

/// What the words of a chunk were found to be.
#[derive(Debug, Default)]
pub struct Lookup {
    /// Id of each word, with room for [`MARGIN`] more behind the last; of those that were missed it means nothing.
    pub ids: Vec<u32>,
    /// Words that were not found: bit `i % 64` of element `i / 64` for word `i`.
    pub missed: Vec<u64>,
    /// Words that were not found because they are too long for the first table, though not for the second.
    long: Vec<u32>,
}

/// Masks of the first 0 to 16 bytes of a key, as two numbers.
static KEY_MASKS: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut n = 0;
    while n <= 16 {
        masks[n] =
            [if n >= 8 { u64::MAX } else { (1 << (8 * n)) - 1 }, if n <= 8 { 0 } else { u64::MAX >> (8 * (16 - n)) }];
        n += 1;
    }
    masks
};

/// 16 bytes of a buffer as two numbers.
#[inline(always)]
fn load(bytes: &[u8], at: usize) -> [u64; 2] {
    let sixteen: &[u8; 16] = bytes[at..at + 16].try_into().expect("the range has this length");
    let both = u128::from_le_bytes(*sixteen);
    [both as u64, (both >> 64) as u64]
}

/// Different lengths of the words that fit the second table and not the first.
const LONG_LENGTHS: usize = key_bytes(4) - key_bytes(2);

/// Words that are hashed before the first of them is compared, so that their loads from the table overlap.
const BATCH: usize = 128;

impl Lookup {
    /// Look up every complete word of a chunk, a vector of words at a time.
    #[inline(always)]
    pub fn run_in_lanes<L: Lanes>(&mut self, lanes: L, tables: &Tables<'_>, chunk: &mut Chunk) {
        let words = self.begin(chunk);
        // Own copies, which nothing that is written can change.
        let (table, hash) = (tables.words, LaneHash::new(lanes, &tables.words.shape));
        let (bytes, starts, ends) = (&chunk.bytes[..], &chunk.starts[..], &chunk.ends[..]);
        let mut long = 0;
        let mut batch = Batch::new();
        for first in (0..words).step_by(BATCH) {
            let count = BATCH.min(words - first);
            let (starts, ends) = (&starts[first..], &ends[first..]);
            for i in (0..count).step_by(L::COUNT) {
                batch.hash(lanes, &hash, bytes, [&starts[i..], &ends[i..]], i);
            }
            for i in (0..count).step_by(L::COUNT) {
                batch.displace(lanes, &hash, &table, i);
            }
            for i in (0..count).step_by(L::COUNT) {
                let (values, unequal) = batch.probe(lanes, &table, i);
                lanes.store(values, &mut self.ids[first + i..]);
                let is_word = u32::MAX >> (32 - L::COUNT.min(count - i));
                self.missed[(first + i) / 64] |= u64::from(lanes.bits(unequal) & is_word) << (i % 64);
                let is_long = lanes.bits(batch.long(lanes, i)) & is_word;
                // Few words are long: this branch is mostly not taken.
                if is_long != 0 {
                    let numbers = lanes.add(lanes.load(&NUMBERS), lanes.splat((first + i) as u32));
                    lanes.compress(numbers, is_long, &mut self.long[long..]);
                    long += is_long.count_ones() as usize;
                }
            }
        }
        self.look_up_long(tables, chunk, long);
    }

    /// Look up every complete word of a chunk, one after the other.
    pub fn run_each(&mut self, tables: &Tables<'_>, chunk: &mut Chunk) {
        let words = self.begin(chunk);
        let mut long = 0;
        let (starts, ends) = (&chunk.starts[..words], &chunk.ends[..words]);
        let mut keys = [([0; 2], 0); 64];
        for (first, missed) in (0..words).step_by(64).zip(&mut self.missed) {
            let end = (first + 64).min(words);
            for ((i, &start), key) in (first..end).zip(&starts[first..end]).zip(&mut keys) {
                let (start, length) = (start as usize, ends[i].wrapping_sub(start) as usize);
                // A longer word gets the empty key, which is in no table.
                let mask = KEY_MASKS[if length > key_bytes(2) { 0 } else { length }];
                let word = load(&chunk.bytes, start);
                key.0 = [word[0] & mask[0], word[1] & mask[1]];
                key.1 = tables.words.slot(&key.0);
                // Written whether it is one or not: a branch here would often be mispredicted.
                self.long[long] = i as u32;
                long += usize::from(length.wrapping_sub(key_bytes(2) + 1) < LONG_LENGTHS);
            }
            for (i, (key, slot)) in keys[..end - first].iter().enumerate() {
                let value = tables.words.value_at(*slot, key);
                self.ids[first + i] = value.unwrap_or_default();
                *missed |= u64::from(value.is_none()) << i;
            }
        }
        self.look_up_long(tables, chunk, long);
    }

    /// Make room for a whole last vector of words; gives the number of words.
    fn begin(&mut self, chunk: &mut Chunk) -> usize {
        let words = chunk.words();
        chunk.pad_words(MOST_LANES);
        let room = words + MARGIN;
        if self.ids.len() < room {
            self.ids.resize(room * 2, 0);
            self.long.resize(room * 2, 0);
        }
        self.missed.clear();
        self.missed.resize(words.div_ceil(64), 0);
        words
    }

    /// Look up the long words in the second table.
    fn look_up_long(&mut self, tables: &Tables<'_>, chunk: &Chunk, count: usize) {
        for &word in &self.long[..count] {
            let word = word as usize;
            let (start, end) = (chunk.starts[word] as usize, chunk.ends[word] as usize);
            let length = end.wrapping_sub(start);
            let ([a, b], [c, d]) = (load(&chunk.bytes, start), load(&chunk.bytes, start + 16));
            let (low, high) = (KEY_MASKS[length.min(16)], KEY_MASKS[length.saturating_sub(16).min(16)]);
            let value = tables.long_words.get(&[a & low[0], b & low[1], c & high[0], d & high[1]]);
            self.ids[word] = value.unwrap_or_default();
            self.missed[word / 64] &= !(u64::from(value.is_some()) << (word % 64));
        }
    }
}

/// 0, 1, 2, …
static NUMBERS: [u32; MOST_LANES] = {
    let mut numbers = [0; MOST_LANES];
    let mut i = 0;
    while i < MOST_LANES {
        numbers[i] = i as u32;
        i += 1;
    }
    numbers
};

/// Words that are hashed and not yet compared.
#[repr(align(64))]
struct Batch {
    /// The keys, their first four bytes first.
    keys: [[u32; BATCH]; 4],
    /// Hash of each.
    hashes: [u32; BATCH],
    /// First the bucket of each, then where its slot is in the table, in bytes.
    places: [u32; BATCH],
    /// Bytes of each.
    lengths: [u32; BATCH],
}

impl Batch {
    fn new() -> Batch {
        Batch { keys: [[0; BATCH]; 4], hashes: [0; BATCH], places: [0; BATCH], lengths: [0; BATCH] }
    }

    /// Hash the words with these starts and ends and keep them from `at` on.
    #[inline(always)]
    fn hash<L: Lanes>(&mut self, lanes: L, hash: &LaneHash<L>, bytes: &[u8], [starts, ends]: [&[u32]; 2], at: usize) {
        let length = lanes.sub(lanes.load(ends), lanes.load(starts));
        lanes.store(length, &mut self.lengths[at..]);
        let too_long = lanes.greater(length, lanes.splat(key_bytes(2) as u32));
        // A longer word gets the empty key, which is in no table.
        let length = lanes.select(too_long, length, lanes.splat(0));
        // SAFETY: a word begins in the text of the chunk, behind which there are more than 16 bytes.
        let mut key = unsafe { lanes.gather_16(bytes, starts) };
        lanes.keep_bytes(&mut key, length);
        for (part, kept) in key.iter().zip(&mut self.keys) {
            lanes.store(*part, &mut kept[at..]);
        }
        let hashes = hash.of(lanes, &key);
        lanes.store(hashes, &mut self.hashes[at..]);
        lanes.store(hash.buckets(lanes, hashes), &mut self.places[at..]);
    }

    /// Find the slots of the words from `at` on, and ask for them.
    #[inline(always)]
    fn displace<L: Lanes>(&mut self, lanes: L, hash: &LaneHash<L>, table: &WordTable<'_, 2>, at: usize) {
        // SAFETY: a bucket is below the number of displacements, behind which there are four bytes more.
        let displacements = unsafe { lanes.gather_4(table.displacements, lanes.load(&self.places[at..])) };
        let slots = hash.slots(lanes, lanes.load(&self.hashes[at..]), displacements);
        lanes.store(lanes.shl::<4>(slots), &mut self.places[at..]);
    }

    /// Which words from `at` on fit the second table and not the first.
    #[inline(always)]
    fn long<L: Lanes>(&self, lanes: L, at: usize) -> L::Mask {
        let shortest = lanes.splat(key_bytes(2) as u32 + 1);
        // Shorter ones wrap around to great numbers.
        let beyond = lanes.min(lanes.sub(lanes.load(&self.lengths[at..]), shortest), lanes.splat(i32::MAX as u32));
        lanes.greater(lanes.splat(LONG_LENGTHS as u32), beyond)
    }

    /// Compare the words from `at` on with what the table has in their slots: the values, and where the key differs.
    #[inline(always)]
    fn probe<L: Lanes>(&self, lanes: L, table: &WordTable<'_, 2>, at: usize) -> (L::Vector, L::Mask) {
        // SAFETY: a slot has 16 bytes, and its number is below the number of slots, see `LaneHash::slots`.
        let slot = unsafe { lanes.gather_16(bytemuck::cast_slice(table.slots), &self.places[at..]) };
        let mut difference = lanes.splat(0);
        for (i, part) in slot.iter().enumerate() {
            let here = lanes.xor(*part, lanes.load(&self.keys[i][at..]));
            difference = lanes.or(difference, if i == 3 { lanes.and(here, lanes.splat(0xFF)) } else { here });
        }
        (lanes.shr::<8>(slot[3]), lanes.not_zero(difference))
    }
}
