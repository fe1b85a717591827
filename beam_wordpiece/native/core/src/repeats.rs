//! Long words that were missed before in the same chunk: they need no walk of their own. Between chunks nothing is
//! remembered.
//!
//! Walking a long word costs so much that it pays to ask first; for short ones it does not, however often they repeat.

use crate::word_table::key_bytes;
use std::ops::Range;

/// Words of more bytes than this are looked for: they are in no table.
pub const LONGER_THAN: usize = key_bytes(4);
/// Entries, a power of two.
const SIZE: usize = 64;

/// The last long word of each hash.
#[derive(Debug)]
pub struct Repeats {
    /// Where it stands in the buffer of the chunk, and which of the missed words it is.
    last: [(Range<usize>, u32); SIZE],
    /// Pairs of missed words: one, and an earlier one that is the same.
    found: Vec<[u32; 2]>,
    /// There is something to forget.
    used: bool,
}

impl Repeats {
    /// Forget everything.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.used) {
            self.found.clear();
            self.last.fill((0..0, 0));
        }
    }

    /// Whether missed word `number`, which stands there and is longer than [`LONGER_THAN`] bytes, is an earlier one.
    pub fn find(&mut self, bytes: &[u8], word: Range<usize>, number: usize) -> bool {
        let sixteen = |at: usize| bytes[at..].first_chunk().map_or(0, |sixteen| u128::from_le_bytes(*sixteen));
        let ends = sixteen(word.start) ^ sixteen(word.end - 16).rotate_left(7) ^ word.len() as u128;
        let hash = (ends as u64 ^ (ends >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let last = &mut self.last[(hash >> (64 - SIZE.ilog2())) as usize];
        if bytes[last.0.clone()] == bytes[word.clone()] {
            self.found.push([number as u32, last.1]);
            return true;
        }
        *last = (word, number as u32);
        self.used = true;
        false
    }

    /// Give the words that were found what the earlier ones have.
    pub fn resolve(&self, firsts: &mut [u32], ends: &mut [u32]) {
        for &[number, earlier] in &self.found {
            firsts[number as usize] = firsts[earlier as usize];
            ends[number as usize] = ends[earlier as usize];
        }
    }
}

impl Default for Repeats {
    fn default() -> Repeats {
        Repeats { last: std::array::from_fn(|_| (0..0, 0)), found: Vec::new(), used: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_an_earlier_one_only_if_all_of_it_is() {
        let (x, y) = ("x".repeat(40), "x".repeat(20) + "y" + &"x".repeat(19));
        let text = [x.clone(), y.clone(), x.clone(), x + "x", y].concat();
        let words = [0..40, 40..80, 80..120, 120..161, 161..201];
        let mut repeats = Repeats::default();
        let found: Vec<bool> =
            words.into_iter().enumerate().map(|(i, word)| repeats.find(text.as_bytes(), word, i)).collect();
        // The second and third may share a hash and then displace one another; no word may be taken for another.
        assert!(!found[0] && !found[1] && !found[3]);
        assert!(repeats.found.iter().all(|pair| matches!(pair, [2, 0] | [4, 1])));
        let (mut firsts, mut ends) = ([0, 1, 2, 3, 4], [10, 11, 12, 13, 14]);
        repeats.resolve(&mut firsts, &mut ends);
        assert!(found[2] == (firsts[2] == 0 && ends[2] == 10) && firsts[3] == 3);
        repeats.clear();
        assert!(!repeats.find(text.as_bytes(), 80..120, 0));
    }
}
