//! The second pass: look whole words up. What is not found is left to the automaton.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::simd::Simd;
use crate::word_table::key_bytes;

/// What the words of a chunk were found to be.
#[derive(Debug, Default)]
pub struct Lookup {
    /// Id of each word; of those in `misses` it means nothing.
    pub ids: Vec<u32>,
    /// Words that were not found, in their order.
    pub misses: Vec<u32>,
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

/// Words that are hashed before the first of them is compared, so that their loads from the table overlap.
const BATCH: usize = 64;

impl Lookup {
    /// Look up every complete word of a chunk.
    #[inline(always)]
    pub fn run<S: Simd>(&mut self, simd: S, tables: &Tables<'_>, chunk: &Chunk) {
        let words = chunk.words();
        self.ids.resize(words, 0);
        self.misses.resize(words, 0);
        let mut missed = 0;
        let (starts, ends) = (&chunk.starts[..words], &chunk.ends[..words]);
        let mut keys = [([0; 2], 0); BATCH];
        for first in (0..words).step_by(BATCH) {
            let end = (first + BATCH).min(words);
            for ((&start, &end), key) in starts[first..end].iter().zip(&ends[first..end]).zip(&mut keys) {
                let (start, length) = (start as usize, end.wrapping_sub(start) as usize);
                // A longer word gets the empty key, which is in no table.
                let mask = KEY_MASKS[if length > key_bytes(2) { 0 } else { length }];
                let word = load(&chunk.bytes, start);
                key.0 = [word[0] & mask[0], word[1] & mask[1]];
                key.1 = tables.words.slot(&key.0);
                simd.prefetch(&tables.words.slots[key.1]);
            }
            for (i, (key, slot)) in (first..end).zip(&keys) {
                let value = tables.words.value_at(*slot, key);
                self.ids[i] = value.unwrap_or_default();
                // Written whether it is one or not: a branch here would often be mispredicted.
                self.misses[missed] = i as u32;
                missed += usize::from(value.is_none());
            }
        }
        self.misses.truncate(missed);
        self.look_up_long(tables, chunk);
    }

    /// Look up the words among the misses that are longer than a key of the first table and fit the second.
    fn look_up_long(&mut self, tables: &Tables<'_>, chunk: &Chunk) {
        let ids = &mut self.ids;
        self.misses.retain(|&miss| {
            let (start, end) = (chunk.starts[miss as usize] as usize, chunk.ends[miss as usize] as usize);
            let length = end.wrapping_sub(start);
            if length <= key_bytes(2) || length > key_bytes(4) {
                return true;
            }
            let ([a, b], [c, d]) = (load(&chunk.bytes, start), load(&chunk.bytes, start + 16));
            let mask = KEY_MASKS[length.saturating_sub(16)];
            let low = KEY_MASKS[length.min(16)];
            let value = tables.long_words.get(&[a & low[0], b & low[1], c & mask[0], d & mask[1]]);
            ids[miss as usize] = value.unwrap_or_default();
            value.is_none()
        });
    }
}
