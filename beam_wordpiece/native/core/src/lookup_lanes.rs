//! The lookup for levels with lanes: the same as [`Lookup::run_each`], a vector of words at a time.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::lookup::{LONG_LENGTHS, Lookup};
use crate::several::{NOT_FOUND, SEVERAL};
use crate::simd::lanes::{Lanes, MOST_LANES};
use crate::word_table::{LaneHash, WordTable, key_bytes};

/// Words that are hashed before the first of them is compared, so that their loads from the table overlap.
const BATCH: usize = 128;

/// Look up every complete word of a chunk.
#[inline(always)]
pub fn look_up<L: Lanes>(lanes: L, tables: &Tables<'_>, chunk: &mut Chunk, found: &mut Lookup) {
    let words = found.begin(chunk);
    // Own copies, which nothing that is written can change.
    let (table, hash) = (tables.words, LaneHash::new(lanes, &tables.words.shape));
    let (bytes, starts, ends) = (&chunk.bytes[..], &chunk.starts[..], &chunk.ends[..]);
    let mut long = 0;
    let mut batch = Batch::<1>::new();
    for first in (0..words).step_by(BATCH) {
        let count = BATCH.min(words - first);
        batch.hash(lanes, &hash, bytes, [&starts[first..], &ends[first..]], count);
        batch.displace(lanes, &hash, &table, count);
        for i in (0..count).step_by(L::COUNT) {
            let (values, no_id) = batch.probe(lanes, &table, i);
            lanes.store(values, &mut found.ids[first + i..]);
            let is_word = u32::MAX >> (32 - L::COUNT.min(count - i));
            found.missed[(first + i) / 64] |= u64::from(lanes.bits(no_id) & is_word) << (i % 64);
            let is_long = lanes.bits(is_long(lanes, lanes.load(&batch.lengths[i..]))) & is_word;
            // Few words are long: this branch is mostly not taken.
            if is_long != 0 {
                let numbers = lanes.add(lanes.load(&NUMBERS), lanes.splat((first + i) as u32));
                lanes.compress(numbers, is_long, &mut found.long[long..]);
                long += is_long.count_ones() as usize;
            }
        }
    }
    if long > 0 {
        look_up_long(lanes, tables, chunk, found, long);
    }
}

/// Look up the first `count` of the words in `found.long` in the second table.
#[inline(always)]
fn look_up_long<L: Lanes>(lanes: L, tables: &Tables<'_>, chunk: &Chunk, found: &mut Lookup, count: usize) {
    let (table, hash) = (tables.long_words, LaneHash::new(lanes, &tables.long_words.shape));
    let (mut starts, mut ends) = ([0; BATCH], [0; BATCH]);
    let mut batch = Batch::<2>::new();
    for first in (0..count).step_by(BATCH) {
        let words = &found.long[first..count.min(first + BATCH)];
        for ((&word, start), end) in words.iter().zip(&mut starts).zip(&mut ends) {
            (*start, *end) = (chunk.starts[word as usize], chunk.ends[word as usize]);
        }
        batch.hash(lanes, &hash, &chunk.bytes, [&starts, &ends], words.len());
        batch.displace(lanes, &hash, &table, words.len());
        for i in (0..words.len()).step_by(L::COUNT) {
            let (values, no_id) = batch.probe(lanes, &table, i);
            let mut ids = [0; MOST_LANES];
            lanes.store(values, &mut ids);
            let no_id = lanes.bits(no_id);
            for (lane, &word) in words[i..].iter().take(L::COUNT).enumerate() {
                let word = word as usize;
                found.ids[word] = ids[lane];
                found.missed[word / 64] &= !(u64::from(!no_id >> lane & 1) << (word % 64));
            }
        }
    }
}

/// Which words fit the second table and not the first, by their lengths.
#[inline(always)]
fn is_long<L: Lanes>(lanes: L, lengths: L::Vector) -> L::Mask {
    let shortest = lanes.splat(key_bytes(2) as u32 + 1);
    // Shorter ones wrap around to great numbers.
    let beyond = lanes.min(lanes.sub(lengths, shortest), lanes.splat(i32::MAX as u32));
    lanes.greater(lanes.splat(LONG_LENGTHS as u32), beyond)
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

/// Words that are hashed and not yet compared, with keys of `H` times sixteen bytes.
#[repr(align(64))]
struct Batch<const H: usize> {
    /// The keys, their first four bytes first.
    keys: [[[u32; BATCH]; 4]; H],
    /// Hash of each.
    hashes: [u32; BATCH],
    /// First the bucket of each, then where its slot is in the table, in bytes.
    places: [u32; BATCH],
    /// Bytes of each.
    lengths: [u32; BATCH],
}

impl<const H: usize> Batch<H> {
    /// The longest key in bytes.
    const LONGEST: u32 = key_bytes(2 * H) as u32;

    fn new() -> Batch<H> {
        let none = [0; BATCH];
        Batch { keys: [[none; 4]; H], hashes: none, places: none, lengths: none }
    }

    /// Hash the first `count` words with these starts and ends; there is a whole vector of them at the end.
    #[inline(always)]
    fn hash<L: Lanes>(
        &mut self,
        lanes: L,
        hash: &LaneHash<L, H>,
        bytes: &[u8],
        [starts, ends]: [&[u32]; 2],
        count: usize,
    ) {
        for i in (0..count).step_by(L::COUNT) {
            let length = lanes.sub(lanes.load(&ends[i..]), lanes.load(&starts[i..]));
            lanes.store(length, &mut self.lengths[i..]);
            let too_long = lanes.greater(length, lanes.splat(Self::LONGEST));
            // A longer word gets the empty key, which is in no table.
            let mut length = lanes.select(too_long, length, lanes.splat(0));
            let mut key = [[lanes.splat(0); 4]; H];
            for (half, parts) in key.iter_mut().enumerate() {
                // SAFETY: a word, the open one included, begins in the text of the chunk, behind which there are more
                // than 32 bytes; padding begins at 0.
                *parts = unsafe { lanes.gather_16(&bytes[16 * half..], &starts[i..]) };
                lanes.keep_bytes(parts, length);
                length = lanes.sub(length, lanes.splat(16));
                for (part, kept) in parts.iter().zip(&mut self.keys[half]) {
                    lanes.store(*part, &mut kept[i..]);
                }
            }
            let hashes = hash.of(lanes, &key);
            lanes.store(hashes, &mut self.hashes[i..]);
            lanes.store(hash.buckets(lanes, hashes), &mut self.places[i..]);
        }
    }

    /// Find the slots of the first `count` words.
    #[inline(always)]
    fn displace<L: Lanes, const W: usize>(
        &mut self,
        lanes: L,
        hash: &LaneHash<L, H>,
        table: &WordTable<'_, W>,
        count: usize,
    ) {
        for i in (0..count).step_by(L::COUNT) {
            // SAFETY: a bucket is below the number of displacements, behind which there are four bytes more.
            let displacements = unsafe { lanes.gather_4(table.displacements, lanes.load(&self.places[i..])) };
            let slots = hash.slots(lanes, lanes.load(&self.hashes[i..]), displacements);
            lanes.store(lanes.shl_by(slots, const { (16 * H).ilog2() }), &mut self.places[i..]);
        }
    }

    /// Compare a vector of words from `at` on with what the table has in their slots: the values, and which are no
    /// ids.
    #[inline(always)]
    fn probe<L: Lanes, const W: usize>(&self, lanes: L, table: &WordTable<'_, W>, at: usize) -> (L::Vector, L::Mask) {
        const { assert!(W == 2 * H) };
        let slots: &[u8] = bytemuck::cast_slice(table.slots.as_flattened());
        let (mut difference, mut last) = (lanes.splat(0), lanes.splat(0));
        for half in 0..H {
            // SAFETY: a slot has `16 * H` bytes, and its number is below the number of slots, see `LaneHash::slots`.
            let slot = unsafe { lanes.gather_16(&slots[16 * half..], &self.places[at..]) };
            for (i, part) in slot.iter().enumerate() {
                let here = lanes.xor(*part, lanes.load(&self.keys[half][i][at..]));
                let is_last = half + 1 == H && i == 3;
                difference = lanes.or(difference, if is_last { lanes.and(here, lanes.splat(0xFF)) } else { here });
            }
            last = slot[3];
        }
        let values = lanes.select(lanes.not_zero(difference), lanes.shr::<8>(last), lanes.splat(NOT_FOUND));
        (values, lanes.not_zero(lanes.and(values, lanes.splat(SEVERAL))))
    }
}
