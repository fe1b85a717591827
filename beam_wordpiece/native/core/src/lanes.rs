//! The matching loop over many words at once, one in each lane of a vector.
//!
//! A step waits for the node that it leads to; here the waits of all lanes overlap, and nothing branches on what a
//! single word finds. Two groups of lanes take turns, so that one computes while the other waits. The step is that of
//! [`Machine`](crate::walk::Machine), except that loading the node of a failure link is a step of its own.

use crate::double_array::{Packed, Unit};
use crate::trie::NONE;
use crate::utf8;
use crate::walk::{Machine, Pieces, Work, pop};

/// Operations on vectors of 32-bit lanes. A value of the type is the proof that the processor has the instructions.
pub trait Lanes: Copy {
    /// One number a lane.
    type Vector: Copy;
    /// One truth a lane.
    type Mask: Copy;
    /// Number of lanes, at most 32.
    const COUNT: usize;

    /// The same number in all lanes.
    fn splat(self, value: u32) -> Self::Vector;
    /// The first numbers of a slice, which has COUNT at least.
    fn load(self, values: &[u32]) -> Self::Vector;
    /// Write all lanes to the beginning of a slice, which has COUNT at least.
    fn store(self, vector: Self::Vector, out: &mut [u32]);
    /// Lane-wise sum, without overflow checks.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise and.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise or.
    fn or(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise minimum, unsigned.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Shift right.
    fn shr<const BITS: i32>(self, vector: Self::Vector) -> Self::Vector;
    /// Shift left.
    fn shl<const BITS: i32>(self, vector: Self::Vector) -> Self::Vector;
    /// Where the lanes are equal.
    fn equal(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// Where the first is greater; both are below 2^31.
    fn greater(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// Lanes of `b` where the mask holds, of `a` elsewhere.
    fn select(self, mask: Self::Mask, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Both.
    fn both(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either.
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The first and not the second.
    fn but_not(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Bit `i` for lane `i`.
    fn bits(self, mask: Self::Mask) -> u32;
    /// The mask with these bits.
    fn mask(self, bits: u32) -> Self::Mask;
    /// The lanes that the bits name, side by side at the beginning; COUNT numbers are written.
    fn compress(self, vector: Self::Vector, bits: u32, out: &mut [u32]);
    /// The first numbers of a slice of COUNT at least, in the lanes that the bits name; `vector` elsewhere.
    fn expand(self, vector: Self::Vector, bits: u32, values: &[u32]) -> Self::Vector;
    /// Four bytes from each place, little-endian.
    ///
    /// # Safety
    /// Every place is at most `bytes.len() - 4`.
    unsafe fn gather_bytes(self, bytes: &[u8], places: Self::Vector) -> Self::Vector;
    /// `check`, `base`, `failure` and `pops` of the units with these numbers.
    ///
    /// # Safety
    /// Every number is below `units.len()`.
    unsafe fn gather_units(self, units: &[Unit], places: Self::Vector) -> [Self::Vector; 4];
}

/// Words on their way through the automaton.
struct Group<L: Lanes> {
    /// Lanes with a word.
    active: u32,
    /// Of the node where it is: where its children are, its failure link and pops.
    base: L::Vector,
    failure: L::Vector,
    pops: L::Vector,
    /// The next step only loads the node of the failure link.
    follow: L::Mask,
    /// The character that comes next: its code, and from bit 24 its length.
    code: L::Vector,
    /// Where that character is.
    at: L::Vector,
    end: L::Vector,
    /// Where the next piece goes.
    target: L::Vector,
    number: L::Vector,
}

/// Failure pops that are not written yet, and words that are at their end.
struct Log {
    pops: [u32; Log::SIZE],
    targets: [u32; Log::SIZE],
    length: usize,
    numbers: [u32; Log::SIZE],
    ends: [u32; Log::SIZE],
    ended: usize,
}

impl Log {
    const SIZE: usize = 512;
    /// The most lanes that a step may add.
    const MARGIN: usize = 32;

    fn is_full(&self) -> bool {
        self.length.max(self.ended) > Log::SIZE - Log::MARGIN
    }

    /// Write the pops and the counts.
    fn drain(&mut self, machine: &Machine<'_>, ids: &mut [u32], firsts: &[u32], counts: &mut [u32]) {
        for (&pops, &target) in self.pops[..self.length].iter().zip(&self.targets[..self.length]) {
            let packed = Packed(pops);
            if packed.count() == 1 {
                ids[target as usize] = packed.value();
            } else {
                pop(packed, machine.tables.pops, &mut ids[target as usize..]);
            }
        }
        for (&number, &end) in self.numbers[..self.ended].iter().zip(&self.ends[..self.ended]) {
            let first = firsts[number as usize];
            if end == NONE {
                ids[first as usize] = machine.unk_id;
            } else {
                counts[number as usize] = end - first;
            }
        }
        (self.length, self.ended) = (0, 0);
    }
}

/// Walk all words of `pieces`.
#[inline(always)]
pub fn walk<L: Lanes>(lanes: L, machine: &Machine<'_>, pieces: &mut Pieces) {
    let count = pieces.work.numbers.len();
    // A group that is mostly empty costs as much as a full one.
    if count < L::COUNT {
        return pieces.walk_each(machine, 0);
    }
    let Pieces { ids, firsts, counts, work } = pieces;
    let feed = Feed::new(lanes, machine, work, firsts);
    let mut log = Log {
        pops: [0; Log::SIZE],
        targets: [0; Log::SIZE],
        length: 0,
        numbers: [0; Log::SIZE],
        ends: [0; Log::SIZE],
        ended: 0,
    };
    let mut next = 0;
    let mut groups = [feed.group(lanes, machine, &mut next), feed.group(lanes, machine, &mut next)];
    while groups[0].active != 0 || groups[1].active != 0 {
        for group in &mut groups {
            group.step(lanes, machine, &feed, &mut next, &mut log);
        }
        if log.is_full() {
            log.drain(machine, ids, firsts, counts);
        }
    }
    log.drain(machine, ids, firsts, counts);
}

/// The words that wait, with COUNT zeros behind them.
struct Feed {
    starts: Vec<u32>,
    ends: Vec<u32>,
    numbers: Vec<u32>,
    targets: Vec<u32>,
    codes: Vec<u32>,
    count: usize,
}

impl Feed {
    #[inline(always)]
    fn new<L: Lanes>(lanes: L, machine: &Machine<'_>, work: &Work, firsts: &[u32]) -> Feed {
        let count = work.numbers.len();
        let padded = |values: &[u32]| {
            let mut padded = values.to_vec();
            padded.resize(count + L::COUNT, 0);
            padded
        };
        let targets: Vec<u32> = work.numbers.iter().map(|&number| firsts[number as usize]).collect();
        let (starts, ends) = (padded(&work.starts), padded(&work.ends));
        let mut codes = vec![0; count + L::COUNT];
        for i in (0..count).step_by(L::COUNT) {
            lanes.store(characters(lanes, machine, lanes.load(&starts[i..])), &mut codes[i..]);
        }
        Feed { starts, ends, numbers: padded(&work.numbers), targets: padded(&targets), codes, count }
    }

    /// A group with the words that come next.
    #[inline(always)]
    fn group<L: Lanes>(&self, lanes: L, machine: &Machine<'_>, next: &mut usize) -> Group<L> {
        let zero = lanes.splat(0);
        let mut group = Group {
            active: 0,
            base: zero,
            failure: lanes.splat(NONE),
            pops: zero,
            follow: lanes.mask(0),
            code: zero,
            at: zero,
            end: zero,
            target: zero,
            number: zero,
        };
        group.refill(lanes, machine, self, next, u32::MAX >> (32 - L::COUNT));
        group
    }
}

/// The codes of the characters at these places, with their lengths from bit 24.
#[inline(always)]
fn characters<L: Lanes>(lanes: L, machine: &Machine<'_>, places: L::Vector) -> L::Vector {
    // SAFETY: places are in the text of the chunk or just behind it, where there are readable bytes.
    let bytes = unsafe { lanes.gather_bytes(machine.bytes, places) };
    let low = |bits: u32, vector| lanes.and(vector, lanes.splat(bits));
    let lead = low(0xFF, bytes);
    let mask = lanes.splat(machine.tables.codes.mask);
    let ascii = lanes.or(lanes.min(lead, mask), lanes.splat(1 << 24));
    let more = lanes.greater(lead, lanes.splat(0x7F));
    if lanes.bits(more) == 0 {
        return ascii;
    }
    let second = low(0x3F, lanes.shr::<8>(bytes));
    let third = low(0x3F, lanes.shr::<16>(bytes));
    let two = lanes.or(lanes.shl::<6>(low(0x1F, bytes)), second);
    let upper = lanes.or(lanes.shl::<12>(low(0x0F, bytes)), lanes.shl::<6>(second));
    let three = lanes.or(upper, third);
    let with_length = |codes, length: u32| lanes.or(lanes.min(codes, mask), lanes.splat(length << 24));
    let is_three = lanes.greater(lead, lanes.splat(0xDF));
    let mut codes = lanes.select(more, ascii, with_length(two, 2));
    codes = lanes.select(is_three, codes, with_length(three, 3));
    let is_four = lanes.bits(lanes.greater(lead, lanes.splat(0xEF)));
    if is_four != 0 { supplementary(lanes, machine, codes, places, is_four) } else { codes }
}

/// The same where some characters have four bytes.
#[inline(never)]
fn supplementary<L: Lanes>(
    lanes: L,
    machine: &Machine<'_>,
    codes: L::Vector,
    places: L::Vector,
    which: u32,
) -> L::Vector {
    let (mut spilled, mut at) = ([0; 32], [0; 32]);
    lanes.store(codes, &mut spilled);
    lanes.store(places, &mut at);
    for (i, code) in spilled.iter_mut().enumerate().filter(|(i, _)| which >> i & 1 != 0) {
        let (c, length) = utf8::decode(machine.bytes, at[i] as usize);
        *code = machine.tables.codes.code(c) | (length as u32) << 24;
    }
    lanes.load(&spilled)
}

impl<L: Lanes> Group<L> {
    /// Put words that wait into these lanes; those that get none become idle.
    #[inline(always)]
    fn refill(&mut self, lanes: L, machine: &Machine<'_>, feed: &Feed, next: &mut usize, free: u32) {
        let waiting = feed.count - *next;
        let mut filled = free;
        while filled.count_ones() as usize > waiting {
            filled &= !(1 << filled.ilog2());
        }
        let place = *next;
        self.at = lanes.expand(self.at, filled, &feed.starts[place..]);
        self.end = lanes.expand(self.end, filled, &feed.ends[place..]);
        self.number = lanes.expand(self.number, filled, &feed.numbers[place..]);
        self.target = lanes.expand(self.target, filled, &feed.targets[place..]);
        self.code = lanes.expand(self.code, filled, &feed.codes[place..]);
        let mask = lanes.mask(free);
        self.base = lanes.select(mask, self.base, lanes.splat(machine.root_base));
        self.failure = lanes.select(mask, self.failure, lanes.splat(NONE));
        self.pops = lanes.select(mask, self.pops, lanes.splat(0));
        *next += filled.count_ones() as usize;
        self.active = self.active & !free | filled;
    }

    /// One step of every word.
    #[inline(always)]
    fn step(&mut self, lanes: L, machine: &Machine<'_>, feed: &Feed, next: &mut usize, log: &mut Log) {
        let active = lanes.mask(self.active);
        let child = lanes.xor(self.base, lanes.and(self.code, lanes.splat(0xFF_FFFF)));
        // A base with any code exclusive-or'd in, and a failure link, are units: checked when the automaton was opened.
        // The minimum holds even if somebody has written to the mapped file since.
        let last = lanes.splat(machine.tables.units.len() as u32 - 1);
        let place = lanes.min(lanes.select(self.follow, child, self.failure), last);
        // SAFETY: no number is greater than that of the last unit.
        let [check, base, failure, pops] = unsafe { lanes.gather_units(machine.tables.units, place) };
        let after = lanes.add(self.at, lanes.shr::<24>(self.code));
        let following = characters(lanes, machine, after);
        let taken = lanes.but_not(lanes.both(active, lanes.equal(check, self.base)), self.follow);
        self.at = lanes.select(taken, self.at, after);
        self.code = lanes.select(taken, self.code, following);
        let arrived = lanes.either(taken, self.follow);
        self.base = lanes.select(arrived, self.base, base);
        self.failure = lanes.select(arrived, self.failure, failure);
        self.pops = lanes.select(arrived, self.pops, pops);
        let ended = lanes.but_not(active, lanes.greater(self.end, self.at));
        // A node without children fails whatever comes next.
        let childless = lanes.both(active, lanes.equal(self.base, lanes.splat(0)));
        let fails = lanes.either(lanes.but_not(active, arrived), lanes.either(childless, ended));
        let dead = lanes.both(fails, lanes.equal(self.failure, lanes.splat(NONE)));
        self.pop(lanes, machine, lanes.bits(lanes.but_not(fails, dead)), log);
        let to_root = lanes.both(fails, lanes.equal(self.failure, lanes.splat(machine.suffix_root)));
        self.follow = lanes.but_not(lanes.but_not(fails, dead), to_root);
        // The suffix root is known: it is not loaded.
        self.base = lanes.select(to_root, self.base, lanes.splat(machine.suffix_base));
        self.failure = lanes.select(to_root, self.failure, lanes.splat(NONE));
        self.pops = lanes.select(to_root, self.pops, lanes.splat(0));
        let done = lanes.bits(lanes.either(dead, lanes.both(to_root, ended)));
        if done != 0 {
            let end = lanes.select(dead, self.target, lanes.splat(NONE));
            lanes.compress(self.number, done, &mut log.numbers[log.ended..]);
            lanes.compress(end, done, &mut log.ends[log.ended..]);
            log.ended += done.count_ones() as usize;
            self.refill(lanes, machine, feed, next, done);
        }
    }

    /// Put the failure pops of these lanes into the log.
    #[inline(always)]
    fn pop(&mut self, lanes: L, machine: &Machine<'_>, which: u32, log: &mut Log) {
        lanes.compress(self.pops, which, &mut log.pops[log.length..]);
        lanes.compress(self.target, which, &mut log.targets[log.length..]);
        log.length += which.count_ones() as usize;
        let mask = lanes.mask(which);
        let count = lanes.shr::<28>(self.pops);
        let long = lanes.both(mask, lanes.equal(count, lanes.splat(Packed::LONG)));
        self.target = lanes.select(mask, self.target, lanes.add(self.target, count));
        if lanes.bits(long) != 0 {
            let (mut targets, mut pops) = ([0; 32], [0; 32]);
            lanes.store(self.target, &mut targets);
            lanes.store(self.pops, &mut pops);
            for i in (0..L::COUNT).filter(|i| lanes.bits(long) >> i & 1 != 0) {
                targets[i] += Packed(pops[i]).length(machine.tables.pops) as u32 - Packed::LONG;
            }
            self.target = lanes.load(&targets);
        }
    }
}
