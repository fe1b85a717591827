//! What lanes have found and not written yet: it is written where it belongs when there is enough of it.

use crate::double_array::Packed;
use crate::pieces::NUMBER;
use crate::simd::lanes::{Lanes, MOST_LANES};
use crate::walk::{Machine, pop};

/// Failure pops that are not written yet, and words that are at their end.
#[derive(Debug)]
pub struct Log {
    /// Failure pops, packed, and where they go.
    pops: Entries,
    /// Of words by their characters: where the last token of each of these ends, 0 where that is not known.
    places: [u32; SIZE + MOST_LANES],
    /// Words that cannot be split.
    unknown: [u32; SIZE + MOST_LANES],
    unknown_length: usize,
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

    /// Add where the last tokens of failure pops end; to be followed by those.
    #[inline(always)]
    pub fn push_places<L: Lanes>(&mut self, lanes: L, places: L::Vector, bits: u32) {
        let at = self.pops.length % SIZE;
        lanes.compress(places, bits, &mut self.places[at..at + MOST_LANES]);
    }

    /// Add words that cannot be split, in the lanes that the bits name.
    #[inline(always)]
    pub fn push_unknown<L: Lanes>(&mut self, lanes: L, numbers: L::Vector, bits: u32) {
        let at = self.unknown_length % SIZE;
        lanes.compress(numbers, bits, &mut self.unknown[at..at + MOST_LANES]);
        self.unknown_length += bits.count_ones() as usize;
    }

    /// Whether so many more entries may be too many.
    #[inline(always)]
    pub fn may_overflow_with(&self, entries: usize) -> bool {
        self.pops.length.max(self.unknown_length) + entries >= SIZE
    }

    /// Write the pops behind the pieces that are there, and of words by their characters where tokens end.
    pub fn drain<const CHARACTERS: bool>(
        &mut self,
        machine: &Machine<'_>,
        ids: &mut [u32],
        places: &mut [u32],
        firsts: &[u32],
        ends: &mut [u32],
    ) {
        for ((pops, number), &place) in self.pops.take().zip(&self.places) {
            let (packed, number) = (Packed(pops), (number & NUMBER) as usize);
            let end = &mut ends[number];
            let target = *end as usize;
            if packed.count() == 1 {
                ids[target] = packed.value();
                if CHARACTERS {
                    places[target] = place;
                }
                *end += 1;
            } else {
                let popped = pop(packed, machine.tables.pops, &mut ids[target..]);
                if CHARACTERS {
                    put_places(&mut places[target..target + popped], place);
                }
                *end += popped as u32;
            }
        }
        let unknown = std::mem::take(&mut self.unknown_length).min(SIZE);
        for &number in &self.unknown[..unknown] {
            let number = number as usize;
            ids[firsts[number] as usize] = machine.unk_id;
            ends[number] = firsts[number] + 1;
        }
    }
}

/// Of tokens that are popped together it is known where the last one ends.
pub fn put_places(places: &mut [u32], last: u32) {
    places.fill(0);
    if let Some(place) = places.last_mut() {
        *place = last;
    }
}

impl Default for Log {
    fn default() -> Log {
        let none = || Entries { first: [0; SIZE + MOST_LANES], second: [0; SIZE + MOST_LANES], length: 0 };
        Log { pops: none(), places: [0; SIZE + MOST_LANES], unknown: [0; SIZE + MOST_LANES], unknown_length: 0 }
    }
}
