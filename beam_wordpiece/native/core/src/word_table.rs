//! Whole words of the vocabulary, and the pseudo words of its template: a hash table in which a word is found, or not,
//! with one probe.
//!
//! A word that is itself in the vocabulary is its own MaxMatch, so this only saves the automaton work; what does not
//! fit in here is left to it. A key is the bytes of the word padded with zeros (no word contains a zero byte); slot =
//! top bits of the hash, exclusive-or a displacement that the key's bucket has (hash and displace).

use crate::several::{NOT_FOUND, SEVERAL};
use crate::simd::lanes::{Lanes, Sixteens};
use std::hint::select_unpredictable;

/// Bytes of a slot that hold the value.
const VALUE_BYTES: usize = 3;
/// Ids are below this; what has a greater one is left out.
pub const ID_LIMIT: u32 = SEVERAL;
/// The longest key of a table of `W` words a slot.
pub const fn key_bytes(words: usize) -> usize {
    8 * words - VALUE_BYTES
}

/// Everything but the slots and displacements of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Shape {
    /// What is added to each 4 bytes of the key before they are multiplied, two summands in a number.
    pub summands: [u64; 4],
    /// There are 2^bits slots.
    pub bits: u32,
    /// There are 2^bucket_bits displacements.
    pub bucket_bits: u32,
}

/// Keys of one bucket that are tried at most: more of them never find places together, and trying takes time.
const MOST_IN_BUCKET: usize = 64;
/// Bytes behind the displacements, which are part of the format: a level that reads four at each may do so.
pub const DISPLACEMENT_PADDING: usize = 4;
/// Fewest bits of a slot number: a displacement has 8 and moves a key by the top ones.
const MIN_BITS: u32 = 9;

/// A table of slots of `W` 8-byte words, borrowed: the key in the first `8 * W - 3` bytes, then a value of 3 bytes.
#[derive(Debug, Clone, Copy)]
pub struct WordTable<'a, const W: usize> {
    /// Hash and sizes.
    pub shape: Shape,
    /// The slots; an unused one is all ones.
    pub slots: &'a [[u64; W]],
    /// Displacement of each bucket.
    pub displacements: &'a [u8],
}

impl<'a, const W: usize> WordTable<'a, W> {
    /// The table over stored parts, once they are known to fit together.
    pub fn new(shape: Shape, slots: &'a [[u64; W]], displacements: &'a [u8]) -> Result<Self, String> {
        // The place of a slot in bytes is a 32-bit number.
        let fits = shape.bits >= MIN_BITS
            && shape.bits <= 32 - (8 * W).ilog2()
            && shape.bucket_bits <= 28
            && slots.len() == 1 << shape.bits
            && displacements.len() == (1 << shape.bucket_bits) + DISPLACEMENT_PADDING;
        if fits { Ok(WordTable { shape, slots, displacements }) } else { Err("the word table has a wrong size".into()) }
    }

    /// The slot of a key.
    #[inline(always)]
    pub fn slot(&self, key: &[u64; W]) -> usize {
        let hash = self.shape.hash(key);
        let displacement = self.displacements[self.shape.bucket(hash)];
        // [`Shape::place`] by products with the number of slots: a shift by a number in a variable is more work where the
        // processor has no instruction for it.
        let slots = self.slots.len() as u64;
        let place = ((u64::from(hash) * slots) >> 32) ^ (u64::from(displacement) * (slots >> 8));
        debug_assert_eq!(place as usize, self.shape.place(hash, displacement));
        place as usize
    }

    /// The value of a key.
    #[inline(always)]
    pub fn get(&self, key: &[u64; W]) -> Option<u32> {
        let value = self.value_at(self.slot(key), key);
        (value != NOT_FOUND).then_some(value)
    }

    /// The value of a key whose slot is known, or NOT_FOUND. Whether it is found is no branch, as none would be
    /// predicted.
    #[inline(always)]
    pub fn value_at(&self, slot: usize, key: &[u64; W]) -> u32 {
        let slot = &self.slots[slot];
        let difference = slot.iter().zip(key).rev().enumerate().fold(0, |all, (i, (a, b))| {
            let difference = a ^ b;
            all | if i == 0 { difference << (8 * VALUE_BYTES) } else { difference }
        });
        select_unpredictable(difference == 0, (slot[W - 1] >> (64 - 8 * VALUE_BYTES)) as u32, NOT_FOUND)
    }

    /// Whether there is no word; it looks at all slots up to the first one.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| *slot == [u64::MAX; W])
    }

    /// Number of words with several pieces.
    pub fn several(&self) -> usize {
        let value = |slot: &[u64; W]| (slot[W - 1] >> (64 - 8 * VALUE_BYTES)) as u32;
        self.slots.iter().filter(|slot| **slot != [u64::MAX; W] && value(slot) & SEVERAL != 0).count()
    }
}

impl Shape {
    /// 32 bits of hash: for each 8 bytes the product of their halves, each with its summand, folded; the exclusive or
    /// of all (the hash NH of UMAC, but for the fold). It needs no product that AVX2 does not have.
    #[inline(always)]
    pub fn hash<const W: usize>(&self, key: &[u64; W]) -> u32 {
        key.iter().zip(&self.summands).fold(0, |hash, (&key, &summand)| {
            let low = (key as u32).wrapping_add(summand as u32);
            let high = ((key >> 32) as u32).wrapping_add((summand >> 32) as u32);
            let product = u64::from(low) * u64::from(high);
            hash ^ (product ^ product >> 32) as u32
        })
    }

    /// The bucket of a hash.
    #[inline(always)]
    pub fn bucket(&self, hash: u32) -> usize {
        ((hash >> 4 ^ hash >> 19) & ((1 << self.bucket_bits) - 1)) as usize
    }

    /// The slot of a hash under a displacement.
    #[inline(always)]
    pub fn place(&self, hash: u32, displacement: u8) -> usize {
        (hash >> (32 - self.bits) ^ u32::from(displacement) << (self.bits - 8)) as usize
    }
}

/// The hash of a table of slots of `H` times sixteen bytes, for a vector of keys.
#[derive(Debug, Clone, Copy)]
pub struct LaneHash<L: Lanes, const H: usize> {
    summands: [[u32; 4]; H],
    /// Number of buckets.
    pub buckets: usize,
    bucket_mask: L::Vector,
    /// Bits of the hash that are not in the number of a slot.
    unused_bits: u32,
    displacement_shift: u32,
}

impl<L: Lanes, const H: usize> LaneHash<L, H> {
    /// The hash with this shape.
    #[inline(always)]
    pub fn new(lanes: L, shape: &Shape) -> LaneHash<L, H> {
        let mut summands = [[0; 4]; H];
        for (half, pair) in summands.iter_mut().zip(shape.summands.chunks_exact(2)) {
            let [a, b] = [pair[0], pair[1]];
            *half = [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
        }
        LaneHash {
            summands,
            buckets: 1 << shape.bucket_bits,
            bucket_mask: lanes.splat((1 << shape.bucket_bits) - 1),
            unused_bits: 32 - shape.bits,
            displacement_shift: shape.bits - 8,
        }
    }

    /// [`Shape::hash`] of keys.
    #[inline(always)]
    pub fn of(&self, lanes: L, key: &[Sixteens<L>; H]) -> L::Vector {
        let mut hash = lanes.splat(0);
        for (half, summands) in key.iter().zip(&self.summands) {
            hash = lanes.xor(hash, lanes.multiply(half, summands));
        }
        hash
    }

    /// [`Shape::bucket`].
    #[inline(always)]
    pub fn buckets_of(&self, lanes: L, hashes: L::Vector) -> L::Vector {
        lanes.and(lanes.xor(lanes.shr::<4>(hashes), lanes.shr::<19>(hashes)), self.bucket_mask)
    }

    /// [`Shape::place`] with the displacements in the lowest bytes, whatever is above: numbers below 2^bits.
    #[inline(always)]
    pub fn slots(&self, lanes: L, hashes: L::Vector, displacements: L::Vector) -> L::Vector {
        let displacements = lanes.and(displacements, lanes.splat(0xFF));
        lanes.xor(lanes.shr_by(hashes, self.unused_bits), lanes.shl_by(displacements, self.displacement_shift))
    }
}

/// The bytes of a word as the key of a table with `W` words a slot; the word must not be longer than a key.
pub fn key<const W: usize>(word: &[u8]) -> [u64; W] {
    let mut key = [0; W];
    for (i, &byte) in word.iter().enumerate() {
        key[i / 8] |= u64::from(byte) << (8 * (i % 8));
    }
    key
}

/// Bits of the slot numbers of a table with so many keys: at most four of five slots are used.
pub fn bits_for(keys: usize) -> u32 {
    (usize::BITS - (keys * 5 / 4).leading_zeros()).max(MIN_BITS)
}

/// The most keys of a table with slot numbers of so many bits.
pub fn most_keys(bits: u32) -> usize {
    (4 << bits) / 5
}

/// A table as it is made.
#[derive(Debug)]
pub struct WordTableBuf<const W: usize> {
    /// See [`WordTable`].
    pub shape: Shape,
    /// See [`WordTable`].
    pub slots: Vec<[u64; W]>,
    /// See [`WordTable`].
    pub displacements: Vec<u8>,
}

impl<const W: usize> WordTableBuf<W> {
    /// Place these keys with their values. A key that finds no place (two with one hash) is left out.
    pub fn build(keys: &[([u64; W], u32)]) -> WordTableBuf<W> {
        // A bucket has three keys on average.
        let bits = bits_for(keys.len());
        let shape = Shape { summands: summands(), bits, bucket_bits: (bits - 2).min(18) };
        let mut slots = vec![[u64::MAX; W]; 1 << bits];
        let mut displacements = vec![0u8; (1 << shape.bucket_bits) + DISPLACEMENT_PADDING];
        let mut buckets: Vec<(u32, usize)> =
            keys.iter().enumerate().map(|(i, (key, _))| (shape.bucket(shape.hash(key)) as u32, i)).collect();
        buckets.sort_unstable();
        let mut groups: Vec<&[(u32, usize)]> = buckets.chunk_by(|a, b| a.0 == b.0).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        for group in groups {
            let mut members: Vec<usize> = group.iter().take(MOST_IN_BUCKET).map(|&(_, key)| key).collect();
            while !members.is_empty() {
                let hashes: Vec<u32> = members.iter().map(|&i| shape.hash(&keys[i].0)).collect();
                let Some(displacement) = (0..=u8::MAX).find(|&d| fits(&shape, &slots, &hashes, d)) else {
                    members.pop();
                    continue;
                };
                displacements[group[0].0 as usize] = displacement;
                for (&i, &hash) in members.iter().zip(&hashes) {
                    let mut slot = keys[i].0;
                    slot[W - 1] |= u64::from(keys[i].1) << (64 - 8 * VALUE_BYTES);
                    slots[shape.place(hash, displacement)] = slot;
                }
                break;
            }
        }
        WordTableBuf { shape, slots, displacements }
    }

    /// Borrowed.
    pub fn view(&self) -> WordTable<'_, W> {
        WordTable { shape: self.shape, slots: &self.slots, displacements: &self.displacements }
    }
}

/// Whether the keys of a bucket all find free and different slots under a displacement.
fn fits<const W: usize>(shape: &Shape, slots: &[[u64; W]], hashes: &[u32], displacement: u8) -> bool {
    hashes.iter().enumerate().all(|(i, &hash)| {
        let place = shape.place(hash, displacement);
        slots[place] == [u64::MAX; W] && hashes[..i].iter().all(|&other| shape.place(other, displacement) != place)
    })
}

/// Numbers without structure (SplitMix64).
fn summands() -> [u64; 4] {
    let mut state = 0u64;
    std::array::from_fn(|_| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) | 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_keys_are_the_most() {
        for bits in MIN_BITS..24 {
            assert_eq!([0, 1].map(|more| bits_for(most_keys(bits) + more)), [bits, bits + 1]);
        }
    }

    #[test]
    fn keys_that_crowd_one_bucket_are_left_out() {
        // The shape of a table for so many keys, and words made to share a bucket of it.
        let count = 700;
        let of_any: Vec<([u64; 2], u32)> = (0..count).map(|i| (key(format!("w{i}").as_bytes()), i)).collect();
        let shape = WordTableBuf::build(&of_any).shape;
        let words = (0..).map(|i| key::<2>(format!("x{i}").as_bytes()));
        let crowd = words.filter(|key| shape.bucket(shape.hash(key)) == 0).take(count as usize);
        let keys: Vec<([u64; 2], u32)> = crowd.zip(0..).collect();
        let built = WordTableBuf::build(&keys);
        let table = built.view();
        let placed = keys.iter().filter(|(key, value)| table.get(key) == Some(*value)).count();
        assert!((1..=MOST_IN_BUCKET).contains(&placed), "{placed}");
        assert!(keys.iter().all(|(key, value)| table.get(key).is_none_or(|found| found == *value)));
    }

    #[test]
    fn keys_are_found_and_others_are_not() {
        let words: Vec<String> = (0..20_000).map(|i| format!("w{}", i * 7)).collect();
        let keys: Vec<([u64; 2], u32)> = words.iter().zip(0..).map(|(w, i)| (key(w.as_bytes()), i)).collect();
        let built = WordTableBuf::build(&keys);
        let table = built.view();
        let placed = keys.iter().filter(|(key, value)| table.get(key) == Some(*value)).count();
        assert!(placed >= keys.len() - 5, "{placed}");
        assert!((0..20_000).all(|i| table.get(&key(format!("x{i}").as_bytes())).is_none()));
    }
}
