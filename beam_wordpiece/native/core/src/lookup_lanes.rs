//! The lookup for levels with lanes: the same as [`Lookup::run_each`], a vector of words at a time.

use crate::automaton::Tables;
use crate::chunk::{Chunk, TOKEN_MARK};
use crate::lookup::{GROUP, Lookup, begins_unknown, put};
use crate::several::{NOT_FOUND, SEVERAL};
use crate::simd::Mask;
use crate::simd::lanes::{Lanes, MOST_LANES, place};
use crate::word_table::{LaneHash, WordTable, key_bytes};

/// Words that are hashed before the first of them is compared, so that their loads from the table overlap.
const BATCH: usize = 128;
/// The same in groups.
const GROUPS: usize = BATCH / GROUP;
/// Missed words of a group from which on it is worth looking for unknown ones.
const MANY: u32 = 16;

/// Look up every complete word of a chunk.
#[inline(always)]
pub fn look_up<L: Lanes>(lanes: L, tables: &Tables<'_>, chunk: &mut Chunk, found: &mut Lookup) {
    let long = look_up_short(lanes, tables, chunk, found);
    if long > 0 {
        look_up_long(lanes, tables, chunk, found, long);
    }
    settle_unknown(lanes, tables, chunk, found);
}

/// Look up the words in the first table, and list those that are too long for it and not for the second; gives their
/// number.
#[inline(always)]
fn look_up_short<L: Lanes>(lanes: L, tables: &Tables<'_>, chunk: &mut Chunk, found: &mut Lookup) -> usize {
    let words = found.begin(chunk);
    // Own copies, which nothing that is written can change.
    let (table, hash) = (tables.words, LaneHash::new(lanes, &tables.words.shape));
    let (bytes, starts, ends) = (&chunk.bytes[..], &chunk.starts[..], &chunk.ends[..]);
    let mut batch = Batch::<1>::new();
    let mut long = 0;
    for first in (0..words).step_by(BATCH) {
        let count = BATCH.min(words - first);
        let too_long = batch.hash(lanes, &hash, bytes, [&starts[first..], &ends[first..]], count);
        long += list_long(chunk, first, too_long, &mut found.long[long..]);
        batch.displace(lanes, &hash, &table, count);
        let values = &mut found.ids[first..];
        for (group, missed) in found.missed[first / GROUP..].iter_mut().take(GROUPS).enumerate() {
            *missed = 0;
            for i in (GROUP * group..count.min(GROUP * (group + 1))).step_by(L::COUNT) {
                let (value, no_id) = batch.probe(lanes, &table, i);
                lanes.store(value, &mut values[i..]);
                *missed |= u64::from(lanes.bits(no_id)) << (i % GROUP);
            }
        }
    }
    if let Some(last) = found.missed.last_mut() {
        // What the last vector has behind the last word is none.
        *last &= Mask::MAX >> ((GROUP - words % GROUP) % GROUP);
    }
    long
}

/// List those words that fit the second table, of some that do not fit the first: bit `i % 64` of element `i / 64` for
/// number `first + i`. Gives how many they are.
#[inline(always)]
fn list_long(chunk: &Chunk, first: usize, too_long: [Mask; GROUPS], list: &mut [u32]) -> usize {
    let mut long = 0;
    for (group, mut bits) in too_long.into_iter().enumerate() {
        while bits != 0 {
            let word = first + GROUP * group + bits.trailing_zeros() as usize;
            list[long] = word as u32;
            long += usize::from((chunk.ends[word] - chunk.starts[word]) as usize <= key_bytes(4));
            bits &= bits - 1;
        }
    }
    long
}

/// Give many of the missed words their id that are unknown by their first character. Others are walked.
#[inline(always)]
fn settle_unknown<L: Lanes>(lanes: L, tables: &Tables<'_>, chunk: &Chunk, found: &mut Lookup) {
    let (words, unk_id) = (chunk.words(), lanes.splat(tables.parameters.unk_id));
    for (group, missed) in found.missed.iter_mut().enumerate() {
        // Where two of them are not unknown, the others hardly are.
        let two = [missed.trailing_zeros(), missed.checked_ilog2().unwrap_or(0)];
        if missed.count_ones() < MANY
            || !two.iter().any(|&bit| begins_unknown(tables, chunk, GROUP * group + bit as usize))
        {
            continue;
        }
        for i in (0..GROUP.min(words - GROUP * group)).step_by(L::COUNT) {
            let first = GROUP * group + i;
            // SAFETY: a word, the open one included, begins in the text of the chunk, behind which there are more than
            // four bytes; padding begins at 0.
            let text = unsafe { lanes.gather_4(&chunk.bytes, lanes.load(&chunk.starts[first..])) };
            // A word that was found begins as a token does.
            let unknown = lanes.but_not(begins_wide(lanes, text), begins_token(lanes, tables.beginnings.bits(), text));
            let settled = lanes.bits(unknown) & (*missed >> i) as u32;
            // Where a vector has none, the next ones hardly will.
            if settled == 0 {
                break;
            }
            *missed &= !(u64::from(settled) << i);
            let ids = &mut found.ids[first..];
            lanes.store(lanes.select(unknown, lanes.load(ids), unk_id), ids);
        }
    }
}

/// Whether each of these four bytes begin with a character beyond ASCII. A [`TOKEN_MARK`] is none.
#[inline(always)]
fn begins_wide<L: Lanes>(lanes: L, text: L::Vector) -> L::Mask {
    let lead = lanes.and(text, lanes.splat(0xFF));
    let is_mark = lanes.equal(lead, lanes.splat(u32::from(TOKEN_MARK)));
    lanes.but_not(lanes.greater(lead, lanes.splat(0x7F)), is_mark)
}

/// Whether a token begins with that character, see [`Beginnings`](crate::beginnings::Beginnings).
#[inline(always)]
fn begins_token<L: Lanes>(lanes: L, beginnings: &[u8], text: L::Vector) -> L::Mask {
    let c = decode_wide(lanes, text);
    let last = lanes.splat(beginnings.len() as u32 / 4 - 1);
    let places = lanes.shl::<2>(lanes.min(lanes.shr::<5>(c), last));
    // SAFETY: of four bytes none is behind the last four.
    let bits = unsafe { lanes.gather_4(beginnings, places) };
    lanes.not_zero(lanes.and(lanes.shr_each(bits, lanes.and(c, lanes.splat(31))), lanes.splat(1)))
}

/// The code points of these characters.
#[inline(always)]
fn decode_wide<L: Lanes>(lanes: L, text: L::Vector) -> L::Vector {
    let (six, lead) = (lanes.splat(0x3F), lanes.and(text, lanes.splat(0xFF)));
    let second = lanes.and(lanes.shr::<8>(text), six);
    let third = lanes.and(lanes.shr::<16>(text), six);
    let fourth = lanes.and(lanes.shr::<24>(text), six);
    let two = lanes.or(lanes.shl::<6>(lanes.and(lead, lanes.splat(0x1F))), second);
    let three = lanes.or(lanes.shl::<6>(lanes.and(two, lanes.splat(0x3FF))), third);
    let four = lanes.or(lanes.shl::<6>(lanes.and(three, lanes.splat(0x7FFF))), fourth);
    let three_or_four = lanes.select(lanes.greater(lead, lanes.splat(0xEF)), three, four);
    lanes.select(lanes.greater(lead, lanes.splat(0xDF)), two, three_or_four)
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
            let mut values = [0; MOST_LANES];
            lanes.store(batch.probe(lanes, &table, i).0, &mut values);
            for (&word, &value) in words[i..].iter().zip(&values[..L::COUNT]) {
                put(&mut found.ids, &mut found.missed, word as usize, value);
            }
        }
    }
}

/// Words that are hashed and not yet compared, with keys of `H` times sixteen bytes.
#[repr(align(64))]
struct Batch<const H: usize> {
    /// The keys: of each vector of words one vector of [`Sixteens`] after the other.
    keys: [[u32; 4 * BATCH]; H],
    /// Hash of each.
    hashes: [u32; BATCH],
    /// First the bucket of each, then where its slot is in the table, in bytes.
    places: [u32; BATCH],
}

impl<const H: usize> Batch<H> {
    /// The longest key in bytes.
    const LONGEST: u32 = key_bytes(2 * H) as u32;

    fn new() -> Batch<H> {
        let none = [0; BATCH];
        Batch { keys: [[0; 4 * BATCH]; H], hashes: none, places: none }
    }

    /// Hash the first `count` words with these starts and ends; there is a whole vector of them at the end. Gives those that
    /// are too long for a key, as bits.
    #[inline(always)]
    fn hash<L: Lanes>(
        &mut self,
        lanes: L,
        hash: &LaneHash<L, H>,
        bytes: &[u8],
        [starts, ends]: [&[u32]; 2],
        count: usize,
    ) -> [Mask; GROUPS] {
        let mut longer = [0; GROUPS];
        for i in (0..count).step_by(L::COUNT) {
            let length = lanes.sub(lanes.load(&ends[i..]), lanes.load(&starts[i..]));
            let too_long = lanes.greater(length, lanes.splat(Self::LONGEST));
            longer[i / GROUP] |= u64::from(lanes.bits(too_long)) << (i % GROUP);
            // A longer word gets the empty key, which is in no table.
            let mut length = lanes.select(too_long, length, lanes.splat(0));
            let mut key = [[lanes.splat(0); 4]; H];
            for (half, parts) in key.iter_mut().enumerate() {
                // SAFETY: a word, the open one included, begins in the text of the chunk, behind which there are more
                // than 32 bytes. Behind the last word there is padding, which begins at 0, or words of the batch before.
                *parts = unsafe { lanes.gather_16(&bytes[16 * half..], &starts[i..]) };
                lanes.keep_bytes(parts, length);
                length = lanes.sub(length, lanes.splat(16));
                for (part, vector) in parts.iter().enumerate() {
                    lanes.store(*vector, &mut self.keys[half][4 * i + L::COUNT * part..]);
                }
            }
            let hashes = hash.of(lanes, &key);
            lanes.store(hashes, &mut self.hashes[i..]);
            lanes.store(hash.buckets_of(lanes, hashes), &mut self.places[i..]);
        }
        longer
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
        assert!(hash.buckets <= table.displacements.len(), "the hash is that of the table");
        // One by one, which is as fast as the gather of AVX-512 and faster than loads and inserts.
        for eight in self.places.as_chunks_mut::<8>().0.iter_mut().take(count.div_ceil(8)) {
            for lane in 0..8 {
                let bucket = place(eight, lane);
                // SAFETY: [`LaneHash::buckets_of`] gave numbers below that of the buckets, for whole vectors, which have
                // eight words at least; no fewer displacements are there.
                eight[lane] = u32::from(unsafe { *table.displacements.get_unchecked(bucket) });
            }
        }
        for i in (0..count).step_by(L::COUNT) {
            let slots = hash.slots(lanes, lanes.load(&self.hashes[i..]), lanes.load(&self.places[i..]));
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
            let mut slot = unsafe { lanes.gather_16(&slots[16 * half..], &self.places[at..]) };
            for (part, vector) in slot.iter_mut().enumerate() {
                *vector = lanes.xor(*vector, lanes.load(&self.keys[half][4 * at + L::COUNT * part..]));
            }
            let [a, b, c, d] = lanes.parts(&slot);
            last = d;
            let d = if half + 1 == H { lanes.and(d, lanes.splat(0xFF)) } else { d };
            difference = lanes.or(difference, lanes.or(lanes.or(a, b), lanes.or(c, d)));
        }
        // Keys have zeros where slots have values, so these are still there.
        let values = lanes.select(lanes.not_zero(difference), lanes.shr::<8>(last), lanes.splat(NOT_FOUND));
        (values, lanes.not_zero(lanes.and(values, lanes.splat(SEVERAL))))
    }
}
