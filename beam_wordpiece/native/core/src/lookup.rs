//! The second pass: look whole words up. What is not found is left to the automaton.

use crate::automaton::Tables;
use crate::chunk::{Chunk, TOKEN_MARK};
use crate::merge::MARGIN;
use crate::room::Buffer;
use crate::several::{NOT_FOUND, SEVERAL};
use crate::simd::Simd;
use crate::simd::lanes::MOST_LANES;
use crate::utf8;
use crate::word_table::{WordTable, key_bytes};

/// What the words of a chunk were found to be.
#[derive(Debug, Default)]
pub struct Lookup {
    /// Id of each word, with room for [`MARGIN`] more behind the last; of those that were missed their value, see
    /// `several`.
    pub ids: Buffer<u32>,
    /// Words that were not found or have several pieces: bit `i % 64` of element `i / 64` for word `i`.
    pub missed: Vec<u64>,
    /// Words that are too long for the first table, though not for the second.
    pub(crate) long: Buffer<u32>,
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

/// The first 16 bytes of a word, zeros behind them where it has fewer.
#[inline(always)]
fn first_16(bytes: &[u8], start: usize, length: usize) -> [u64; 2] {
    let (word, mask) = (load(bytes, start), KEY_MASKS[length.min(16)]);
    [word[0] & mask[0], word[1] & mask[1]]
}

/// The same of the first 32 bytes.
#[inline(always)]
pub fn first_32(bytes: &[u8], start: usize, length: usize) -> [[u64; 2]; 2] {
    [first_16(bytes, start, length), first_16(bytes, start + 16, length.saturating_sub(16))]
}

/// Different lengths of the words that fit the second table and not the first.
pub const LONG_LENGTHS: usize = key_bytes(4) - key_bytes(2);

/// Words of an element of [`Lookup::missed`].
pub const GROUP: usize = 64;

/// List the bits that are set, by number; gives how many there are. There is room for [`GROUP`] more numbers.
#[inline(always)]
pub fn list<S: Simd>(simd: S, groups: &[u64], numbers: &mut [u32]) -> usize {
    let mut count = 0;
    for (group, &bits) in groups.iter().enumerate() {
        let room = numbers[count..].first_chunk_mut().expect("room for a whole group");
        simd.positions(bits, (GROUP * group) as u32, room);
        count += bits.count_ones() as usize;
    }
    count
}

/// The words of a group: what is known of each before the next step is done for all of them, so that they need not wait
/// for each other's loads.
struct Group {
    keys: [[u64; 2]; GROUP],
    slots: [u32; GROUP],
}

impl Group {
    /// Load the keys of words; gives those that fit the second table and not the first, as bits.
    #[inline(always)]
    fn load(&mut self, bytes: &[u8], starts: &[u32], ends: &[u32]) -> u64 {
        let mut long = Bits::default();
        for ((&start, &end), key) in starts.iter().zip(ends).zip(&mut self.keys) {
            let length = end.wrapping_sub(start) as usize;
            // A longer word gets the empty key, which is in no table.
            *key = first_16(bytes, start as usize, if length > key_bytes(2) { 0 } else { length });
            long.push(length.wrapping_sub(key_bytes(2) + 1) < LONG_LENGTHS);
        }
        long.in_order(starts.len())
    }

    /// Find the slots of the first `count` words.
    #[inline(always)]
    fn find_slots(&mut self, words: &WordTable<'_, 2>, count: usize) {
        for (key, slot) in self.keys.iter().zip(&mut self.slots).take(count) {
            *slot = words.slot(key) as u32;
        }
    }

    /// Put the values of words into `ids`; gives those that are no ids, as bits.
    #[inline(always)]
    fn compare(&self, words: &WordTable<'_, 2>, ids: &mut [u32]) -> u64 {
        let (mut missed, count) = (Bits::default(), ids.len());
        for ((key, &slot), id) in self.keys.iter().zip(&self.slots).zip(ids) {
            *id = words.value_at(slot as usize, key);
            missed.push(*id & SEVERAL != 0);
        }
        missed.in_order(count)
    }
}

/// Truths of the words of a group, the last one in the lowest bit: a shift by one is less work than one by the number of
/// each word.
#[derive(Default)]
struct Bits(u64);

impl Bits {
    #[inline(always)]
    fn push(&mut self, bit: bool) {
        self.0 = self.0 << 1 | u64::from(bit);
    }

    /// Bit `i` for the one that was pushed after `i` others, of `count` that were: one at least.
    #[inline(always)]
    fn in_order(self, count: usize) -> u64 {
        self.0.reverse_bits() >> (GROUP - count)
    }
}

/// Give a word its value, which says whether it is missed, whatever the first table said.
#[inline(always)]
pub(crate) fn put(ids: &mut [u32], missed: &mut [u64], word: usize, value: u32) {
    ids[word] = value;
    let (missed, bit) = (&mut missed[word / GROUP], word % GROUP);
    *missed = *missed & !(1 << bit) | u64::from(value & SEVERAL != 0) << bit;
}

/// Whether a word is unknown by its first character.
#[inline(always)]
pub(crate) fn begins_unknown(tables: &Tables<'_>, chunk: &Chunk, word: usize) -> bool {
    let first = chunk.bytes[chunk.starts[word] as usize..].first_chunk().expect("bytes behind every word");
    let wide = (0x80..TOKEN_MARK).contains(&first[0]);
    wide && !tables.beginnings.has(utf8::decode_readable(first).0)
}

impl Lookup {
    /// Look up every complete word of a chunk, on a level without lanes.
    pub fn run_each(&mut self, tables: &Tables<'_>, chunk: &mut Chunk) {
        let words = self.begin(chunk);
        let (mut first, mut long) = (0, 0);
        let mut group = Group { keys: [[0; 2]; GROUP], slots: [0; GROUP] };
        let groups = chunk.starts[..words].chunks(GROUP).zip(chunk.ends[..words].chunks(GROUP));
        for (((starts, ends), ids), missed) in groups.zip(self.ids[..words].chunks_mut(GROUP)).zip(&mut self.missed) {
            let mut is_long = group.load(&chunk.bytes, starts, ends);
            group.find_slots(&tables.words, ids.len());
            *missed = group.compare(&tables.words, ids);
            while is_long != 0 {
                self.long[long] = first + is_long.trailing_zeros();
                is_long &= is_long - 1;
                long += 1;
            }
            first += GROUP as u32;
        }
        self.look_up_long(tables, chunk, long);
        self.settle_unknown(tables, chunk);
    }

    /// Give the words their id that were missed and are unknown by their first character.
    fn settle_unknown(&mut self, tables: &Tables<'_>, chunk: &Chunk) {
        for (group, missed) in self.missed.iter_mut().enumerate() {
            let mut bits = *missed;
            while bits != 0 {
                let word = GROUP * group + bits.trailing_zeros() as usize;
                if begins_unknown(tables, chunk, word) {
                    self.ids[word] = tables.parameters.unk_id;
                    *missed &= !(bits & bits.wrapping_neg());
                }
                bits &= bits - 1;
            }
        }
    }

    /// Make room for a whole last vector of words; gives the number of words.
    pub(crate) fn begin(&mut self, chunk: &mut Chunk) -> usize {
        let words = chunk.words();
        chunk.pad_words(MOST_LANES);
        let room = words + MARGIN.max(GROUP);
        self.ids.ensure(room);
        self.long.ensure(room);
        self.missed.clear();
        self.missed.resize(words.div_ceil(GROUP), 0);
        words
    }

    /// Look up the long words in the second table.
    fn look_up_long(&mut self, tables: &Tables<'_>, chunk: &Chunk, count: usize) {
        for &word in &self.long[..count] {
            let word = word as usize;
            let (start, end) = (chunk.starts[word] as usize, chunk.ends[word] as usize);
            let length = end.wrapping_sub(start);
            let [[a, b], [c, d]] = first_32(&chunk.bytes, start, length);
            let value = tables.long_words.get(&[a, b, c, d]).unwrap_or(NOT_FOUND);
            put(&mut self.ids, &mut self.missed, word, value);
        }
    }
}
