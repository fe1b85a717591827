//! The lookup for levels with lanes: the same as [`Lookup::run_each`], a vector of words at a time.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::lookup::{LONG_LENGTHS, Lookup};
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
            lanes.store(values, &mut found.ids[first + i..]);
            let is_word = u32::MAX >> (32 - L::COUNT.min(count - i));
            found.missed[(first + i) / 64] |= u64::from(lanes.bits(unequal) & is_word) << (i % 64);
            let is_long = lanes.bits(batch.long(lanes, i)) & is_word;
            // Few words are long: this branch is mostly not taken.
            if is_long != 0 {
                let numbers = lanes.add(lanes.load(&NUMBERS), lanes.splat((first + i) as u32));
                lanes.compress(numbers, is_long, &mut found.long[long..]);
                long += is_long.count_ones() as usize;
            }
        }
    }
    found.look_up_long(tables, chunk, long);
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
