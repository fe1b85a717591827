//! Words of up to 29 bytes that were missed before in the same chunk: they need no walk of their own. With lanes a vector
//! of words is asked for at a time. Between chunks nothing is remembered.
//!
//! A chunk is long enough for most of the missed words of many texts to be repeated in it: half of those of technical
//! English, two thirds of those of manuals in German and French, a seventh of those of English books.

use crate::room::Buffer;
use crate::simd::lanes::{Lanes, MOST_LANES, NUMBERS, Sixteens};

/// Bits of a place in the table of words: several times as many as a chunk mostly has of different ones.
const BITS: usize = 12;
const SIZE: usize = 1 << BITS;
/// Words after which it is known whether asking pays: where fewer than one in so many are repeated it does not.
const TRIED: usize = 128;
const ONE_IN: usize = 8;
/// What is added to the parts of a word before they are multiplied, numbers without structure.
const SUMMANDS: [[u32; 4]; 2] =
    [[0x9E37_79B9, 0x7F4A_7C15, 0xBF58_476D, 0x1CE4_E5B9], [0x94D0_49BB, 0x1331_11EB, 0xD6E8_FEB8, 0x6659_FD93]];

/// The missed words of a chunk so far.
#[derive(Debug)]
pub struct ShortRepeats {
    /// The last word of each hash, by number. What an earlier chunk has left is like any other wrong number: a word of this
    /// chunk with the same bytes is the same word, and what it repeats itself is resolved before.
    last: Box<[u32; SIZE]>,
    /// The first 16 bytes of each word, and the next 16: with lanes [`Sixteens`] of one vector of words after the other,
    /// otherwise those of one word after the other.
    bytes: [Buffer<u64>; 2],
    /// Words that are repeated, and which ones they repeat.
    numbers: Buffer<u32>,
    earlier: Buffer<u32>,
    count: usize,
}

impl Default for ShortRepeats {
    fn default() -> ShortRepeats {
        ShortRepeats {
            last: Box::new([0; SIZE]),
            bytes: Default::default(),
            numbers: Buffer::default(),
            earlier: Buffer::default(),
            count: 0,
        }
    }
}

impl ShortRepeats {
    /// Forget all words, and make room for so many.
    pub fn clear(&mut self, most: usize) {
        self.count = 0;
        let room = most + 2 * MOST_LANES;
        self.numbers.ensure(room);
        self.earlier.ensure(room);
        self.bytes.iter_mut().for_each(|bytes| bytes.ensure(2 * room));
    }

    /// Whether asking for more words of this chunk does not pay. From then on none is asked for, as the bytes of those that
    /// are passed over are not kept.
    #[inline(always)]
    fn is_rare(&self, number: usize) -> bool {
        number >= TRIED && ONE_IN * self.count < number
    }

    /// Whether missed word `number` stood there earlier, if it is `asked` for. The same as [`find`](Self::find) for one
    /// word; a chunk is asked for in one of the two ways.
    #[inline(always)]
    pub fn find_one(&mut self, bytes: [[u64; 2]; 2], number: usize, asked: bool) -> bool {
        if self.is_rare(number) {
            return false;
        }
        let mut hash = 0;
        for ((part, kept), [a, b, c, d]) in bytes.iter().zip(&mut self.bytes).zip(SUMMANDS) {
            kept[2 * number..2 * number + 2].copy_from_slice(part);
            let product = u128::from(part[0] ^ pair(a, b)) * u128::from(part[1] ^ pair(c, d));
            hash ^= (product ^ product >> 64) as u64;
        }
        if !asked {
            return false;
        }
        let last = &mut self.last[(hash >> (u64::BITS as usize - BITS)) as usize];
        let earlier = *last as usize;
        let known = earlier < number;
        let at = if known { 2 * earlier } else { 2 * number };
        let [head, tail] = &self.bytes;
        let difference = head[at] ^ bytes[0][0] | head[at + 1] ^ bytes[0][1];
        let difference = difference | tail[at] ^ bytes[1][0] | tail[at + 1] ^ bytes[1][1];
        let repeated = known && difference == 0;
        // Written whether it is one or not: a branch here would often be mispredicted.
        (self.numbers[self.count], self.earlier[self.count]) = (number as u32, earlier as u32);
        self.count += usize::from(repeated);
        *last = if repeated { earlier as u32 } else { number as u32 };
        repeated
    }

    /// Which of these words, the first of which has number `first`, stood in an earlier vector. `bytes` are all of the
    /// bytes of those that may be asked for, with zeros behind them.
    #[inline(always)]
    pub fn find<L: Lanes>(&mut self, lanes: L, bytes: &[Sixteens<L>; 2], first: usize, asked: L::Mask) -> L::Mask {
        if self.is_rare(first) {
            return lanes.but_not(asked, asked);
        }
        let numbers = lanes.add(lanes.load(&NUMBERS), lanes.splat(first as u32));
        let [head, tail] = bytes;
        let hash = lanes.xor(lanes.multiply(head, &SUMMANDS[0]), lanes.multiply(tail, &SUMMANDS[1]));
        let slots = lanes.shr::<{ 32 - BITS as i32 }>(hash);
        // SAFETY: a slot is below SIZE.
        let last = unsafe { lanes.gather_4(bytemuck::cast_slice(&*self.last), lanes.shl::<2>(slots)) };
        let is_earlier = lanes.greater(lanes.splat(first as u32), last);
        let earlier = lanes.select(is_earlier, lanes.splat(0), last);
        let same = self.equal(lanes, bytes, earlier);
        let repeated = lanes.both(lanes.both(asked, is_earlier), same);
        for (part, kept) in bytes.iter().zip(&mut self.bytes) {
            let kept: &mut [u32] = bytemuck::cast_slice_mut(kept);
            for (i, vector) in part.iter().enumerate() {
                lanes.store(*vector, &mut kept[4 * first + L::COUNT * i..]);
            }
        }
        self.remember(lanes, slots, lanes.select(lanes.but_not(asked, repeated), last, numbers));
        let bits = lanes.bits(repeated);
        lanes.compress(numbers, bits, &mut self.numbers[self.count..]);
        lanes.compress(earlier, bits, &mut self.earlier[self.count..]);
        self.count += bits.count_ones() as usize;
        repeated
    }

    /// Which words have the same bytes as the ones with these numbers.
    #[inline(always)]
    fn equal<L: Lanes>(&self, lanes: L, bytes: &[Sixteens<L>; 2], numbers: L::Vector) -> L::Mask {
        // The vector of a word, and where `Sixteens` have its lane.
        let lane = lanes.and(numbers, lanes.splat(L::COUNT as u32 - 1));
        let row = lanes.shl_by(lanes.and(lane, lanes.splat(3)), (L::COUNT / 4).ilog2());
        let place = lanes.add(lanes.sub(numbers, lane), lanes.add(row, lanes.shr::<2>(lane)));
        let mut places = [0; MOST_LANES];
        lanes.store(lanes.shl::<4>(place), &mut places);
        let mut difference = lanes.splat(0);
        for (part, kept) in bytes.iter().zip(&self.bytes) {
            // SAFETY: a number is below those of the words of this vector, whose bytes there is room for.
            let mut other = unsafe { lanes.gather_16(bytemuck::cast_slice(kept), &places) };
            for (other, here) in other.iter_mut().zip(part) {
                *other = lanes.xor(*other, *here);
            }
            difference = lanes.or(difference, lanes.any(&other));
        }
        lanes.equal(difference, lanes.splat(0))
    }

    /// Write numbers into the table.
    #[inline(always)]
    fn remember<L: Lanes>(&mut self, lanes: L, slots: L::Vector, numbers: L::Vector) {
        let (mut places, mut values) = ([0; MOST_LANES], [0; MOST_LANES]);
        lanes.store(slots, &mut places);
        lanes.store(numbers, &mut values);
        for (&place, &value) in places.iter().zip(&values).take(L::COUNT) {
            self.last[place as usize % SIZE] = value;
        }
    }

    /// Give the words that are repeated what the earlier ones have.
    pub fn resolve(&self, firsts: &mut [u32], ends: &mut [u32]) {
        for (&number, &earlier) in self.numbers.iter().zip(self.earlier.iter()).take(self.count) {
            let (number, earlier) = (number as usize, earlier as usize);
            (firsts[number], ends[number]) = (firsts[earlier], ends[earlier]);
        }
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
