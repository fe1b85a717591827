//! What lanes have found and not written yet: it is written where it belongs when there is enough of it.

use crate::double_array::Packed;
use crate::simd::lanes::{Lanes, MOST_LANES};
use crate::trie::NONE;
use crate::walk::{Machine, pop};

/// Failure pops that are not written yet, and words that are at their end.
#[derive(Debug)]
pub struct Log {
    /// Failure pops, packed, and where they go.
    pops: Entries,
    /// Words at their end, and where the pieces of each end: NONE for a word that cannot be split.
    ended: Entries,
}

/// Pairs of numbers.
#[derive(Debug)]
struct Entries {
    first: [u32; SIZE + MOST_LANES],
    second: [u32; SIZE + MOST_LANES],
    length: usize,
}

/// Entries of a kind, a power of two.
pub const SIZE: usize = 512;

impl Entries {
    /// Add the lanes that the bits name. The caller knows that there is room.
    #[inline(always)]
    fn push<L: Lanes>(&mut self, lanes: L, [first, second]: [L::Vector; 2], bits: u32) {
        // The remainder is the length itself; with it the compiler knows that a vector fits.
        let at = self.length % SIZE;
        lanes.compress(first, bits, &mut self.first[at..at + MOST_LANES]);
        lanes.compress(second, bits, &mut self.second[at..at + MOST_LANES]);
        self.length += bits.count_ones() as usize;
    }

    fn take(&mut self) -> impl Iterator<Item = (u32, u32)> {
        let length = std::mem::take(&mut self.length).min(SIZE);
        self.first[..length].iter().copied().zip(self.second[..length].iter().copied())
    }
}

impl Log {
    /// Add failure pops of the lanes that the bits name.
    #[inline(always)]
    pub fn push_pops<L: Lanes>(&mut self, lanes: L, pops: L::Vector, targets: L::Vector, bits: u32) {
        self.pops.push(lanes, [pops, targets], bits);
    }

    /// Add words at their end, in the lanes that the bits name.
    #[inline(always)]
    pub fn push_ended<L: Lanes>(&mut self, lanes: L, numbers: L::Vector, ends: L::Vector, bits: u32) {
        self.ended.push(lanes, [numbers, ends], bits);
    }

    /// Whether so many more entries may be too many.
    #[inline(always)]
    pub fn may_overflow_with(&self, entries: usize) -> bool {
        self.pops.length.max(self.ended.length) + entries >= SIZE
    }

    /// Write the pops and the counts.
    pub fn drain(&mut self, machine: &Machine<'_>, ids: &mut [u32], firsts: &[u32], counts: &mut [u32]) {
        for (pops, target) in self.pops.take() {
            let packed = Packed(pops);
            if packed.count() == 1 {
                ids[target as usize] = packed.value();
            } else {
                pop(packed, machine.tables.pops, &mut ids[target as usize..]);
            }
        }
        for (number, end) in self.ended.take() {
            let first = firsts[number as usize];
            if end == NONE {
                ids[first as usize] = machine.unk_id;
            } else {
                counts[number as usize] = end - first;
            }
        }
    }
}

impl Default for Log {
    fn default() -> Log {
        let none = || Entries { first: [0; SIZE + MOST_LANES], second: [0; SIZE + MOST_LANES], length: 0 };
        Log { pops: none(), ended: none() }
    }
}
