//! The second pass: look whole words up. What is not found is left to the automaton.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::word_table::key_bytes;

/// What the words of a chunk were found to be.
#[derive(Debug, Default)]
pub struct Lookup {
    /// Id of each word; of those in `misses` it means nothing.
    pub ids: Vec<u32>,
    /// Words that were not found, in their order.
    pub misses: Vec<u32>,
}

/// The first bytes of a buffer at some place, as numbers, zero from `length` on; `length` is at most `8 * W`.
#[inline(always)]
fn load<const W: usize>(bytes: &[u8], at: usize, length: usize) -> [u64; W] {
    std::array::from_fn(|i| {
        let place = at + 8 * i;
        let word = u64::from_le_bytes(bytes[place..place + 8].try_into().expect("the range has this length"));
        let used = length.saturating_sub(8 * i).min(8);
        if used == 8 { word } else { word & ((1 << (8 * used)) - 1) }
    })
}

impl Lookup {
    /// Look up every complete word of a chunk.
    pub fn run(&mut self, tables: &Tables<'_>, chunk: &Chunk) {
        let words = chunk.words();
        self.ids.clear();
        self.misses.clear();
        self.ids.reserve(words);
        for (i, (&start, &end)) in chunk.starts[..words].iter().zip(&chunk.ends[..words]).enumerate() {
            let (start, length) = (start as usize, (end - start) as usize);
            let found = if length <= key_bytes(2) {
                tables.words.get(&load::<2>(&chunk.bytes, start, length))
            } else if length <= key_bytes(4) {
                tables.long_words.get(&load::<4>(&chunk.bytes, start, length))
            } else {
                None
            };
            if found.is_none() {
                self.misses.push(i as u32);
            }
            self.ids.push(found.unwrap_or_default());
        }
    }
}
