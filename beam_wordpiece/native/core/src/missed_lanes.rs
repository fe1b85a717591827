//! The same as [`Missed::decide_each`] for levels with lanes: a vector of words at a time, as most of them have only to be
//! put on one of two lists.

use crate::missed::Missed;
use crate::pieces::{Pieces, Work};
use crate::repeats::LONGER_THAN;
use crate::several::NOT_FOUND;
use crate::simd::lanes::{Lanes, MOST_LANES, NUMBERS, Sixteens};

/// Bytes that are looked at at once, twice.
const PART: u32 = 16;
/// See [`Lanes::keep_bytes`].
const MOST_KEPT: u32 = 127;
const _: () = assert!(LONGER_THAN < 2 * PART as usize, "a zero is behind all bytes of a word");
/// The highest bit of each byte.
const HIGH: u32 = 0x8080_8080;

/// Decide about all missed words.
#[inline(always)]
pub fn decide<L: Lanes>(lanes: L, missed: &mut Missed<'_>, pieces: &mut Pieces) {
    let count = pieces.words.len();
    for i in (0..count).step_by(L::COUNT) {
        let valid = u32::MAX >> (32 - L::COUNT.min(count - i));
        let vector = Words::load(lanes, missed, pieces, i);
        let special = vector.special(lanes, missed);
        let ordinary = lanes.but_not(lanes.all(), special);
        let repeated = pieces.short_repeats.find(lanes, &vector.bytes, i, ordinary);
        let (ascii, walked) = (lanes.bits(vector.ascii(lanes)), lanes.bits(lanes.but_not(ordinary, repeated)));
        vector.list(lanes, &mut pieces.ascii, walked & ascii);
        vector.list(lanes, &mut pieces.other, walked & !ascii);
        let mut special = valid & lanes.bits(special);
        while special != 0 {
            missed.decide(pieces, i + special.trailing_zeros() as usize);
            special &= special - 1;
        }
    }
}

/// A vector of missed words.
struct Words<L: Lanes> {
    starts: L::Vector,
    ends: L::Vector,
    /// Their numbers, with flags.
    numbers: L::Vector,
    /// What the lookup has for them.
    values: L::Vector,
    /// Their first 32 bytes, zeros behind them where they have fewer.
    bytes: [Sixteens<L>; 2],
}

impl<L: Lanes> Words<L> {
    /// Words from number `first` on.
    #[inline(always)]
    fn load(lanes: L, missed: &Missed<'_>, pieces: &Pieces, first: usize) -> Words<L> {
        let chunk = &*missed.chunk;
        let there = L::COUNT.min(pieces.words.len() - first);
        // Lanes without a word have a value that is not that of a missed word, and so are not ordinary.
        let (mut starts, mut ends, mut values) = ([0; MOST_LANES], [0; MOST_LANES], [0; MOST_LANES]);
        // Of one length, so that there is one check for all of them.
        let words = chunk.words();
        let (all_starts, all_ends) = (&chunk.starts[..words], &chunk.ends[..words]);
        let all_values = &missed.values[..words];
        for (lane, &word) in pieces.words[first..first + there].iter().enumerate() {
            let word = word as usize;
            (starts[lane], ends[lane], values[lane]) = (all_starts[word], all_ends[word], all_values[word]);
        }
        let values = lanes.load(&values);
        let numbers = lanes.add(lanes.load(&NUMBERS), lanes.splat(first as u32));
        let (start, end) = (lanes.load(&starts), lanes.load(&ends));
        let mut length = lanes.min(lanes.sub(end, start), lanes.splat(MOST_KEPT));
        let mut bytes = [[start; 4]; 2];
        for (i, part) in bytes.iter_mut().enumerate() {
            // SAFETY: a word is in the text of the chunk, behind which there are more than 32 bytes; lanes without a
            // word have the place 0.
            *part = unsafe { lanes.gather_16(&chunk.bytes[PART as usize * i..], &starts) };
            lanes.keep_bytes(part, length);
            length = lanes.sub(length, lanes.splat(PART));
        }
        Words { starts: start, ends: end, numbers: lanes.or(numbers, lanes.splat(missed.flags)), values, bytes }
    }

    /// Those with ASCII only.
    #[inline(always)]
    fn ascii(&self, lanes: L) -> L::Mask {
        let [head, tail] = &self.bytes;
        let mut both = *head;
        for i in 0..4 {
            both[i] = lanes.or(head[i], tail[i]);
        }
        lanes.equal(lanes.and(lanes.any(&both), lanes.splat(HIGH)), lanes.splat(0))
    }

    /// Those that are perhaps not to be walked as they are.
    #[inline(always)]
    fn special(&self, lanes: L, missed: &Missed<'_>) -> L::Mask {
        let most = missed.limit.min(LONGER_THAN) as u32;
        let long = lanes.greater(lanes.sub(self.ends, self.starts), lanes.splat(most));
        let found = lanes.not_zero(lanes.xor(self.values, lanes.splat(NOT_FOUND)));
        let [head, tail] = &self.bytes;
        let mut great = *head;
        for i in 0..4 {
            great[i] = has_bits::<L>(lanes, head[i], missed.hangul);
            if missed.hangul {
                great[i] = lanes.or(great[i], has_bits::<L>(lanes, tail[i], true));
            }
        }
        let great = lanes.not_zero(lanes.and(lanes.any(&great), lanes.splat(HIGH)));
        lanes.either(lanes.either(long, found), great)
    }

    /// Put the words that the bits name on a list.
    #[inline(always)]
    fn list(&self, lanes: L, work: &mut Work, bits: u32) {
        lanes.compress(self.starts, bits, &mut work.starts[work.count..]);
        lanes.compress(self.ends, bits, &mut work.ends[work.count..]);
        lanes.compress(self.numbers, bits, &mut work.numbers[work.count..]);
        work.count += bits.count_ones() as usize;
    }
}

/// The highest bit of bytes that may begin a pseudo word (0xF8 and above) or, if that is asked, a Hangul syllable (0xE8 to
/// 0xEF); the other bits mean nothing.
#[inline(always)]
fn has_bits<L: Lanes>(lanes: L, bytes: L::Vector, hangul: bool) -> L::Vector {
    let upper =
        lanes.and(lanes.and(bytes, lanes.shl::<1>(bytes)), lanes.and(lanes.shl::<2>(bytes), lanes.shl::<4>(bytes)));
    if hangul { upper } else { lanes.and(upper, lanes.shl::<3>(bytes)) }
}
