//! The matching loop over many words at once, one in each lane of a vector.
//!
//! A step waits for the node that it leads to; here the waits of all lanes overlap, and nothing branches on what a
//! single word finds. Several groups of lanes take turns: each asks for its nodes and lets the others compute until they
//! are there. The step is that of [`Machine`](crate::walk::Machine), except that loading the node of a failure link is a
//! step of its own.

use crate::double_array::Packed;
use crate::simd::lanes::{Lanes, MOST_LANES, Places};
use crate::trie::NONE;
use crate::utf8;
use crate::walk::{Machine, Pieces, Work, walk_each};
use crate::walk_log::{Log, SIZE};

/// Groups that take turns.
const GROUPS: usize = 4;
/// Steps from one look at the text to the next.
const STEPS: usize = 4;

const _: () = assert!(GROUPS * STEPS * MOST_LANES < SIZE, "all groups together fit into half of the log");
const _: () = assert!(STEPS <= 4, "a lane with ASCII keeps four bytes");

/// How lanes read the characters of their words.
trait Reader<L: Lanes> {
    /// What a lane keeps of the text at its place: enough for [`STEPS`] characters, or made anew by every `next`.
    fn load(walk: &Walk<'_, L>, places: L::Vector) -> L::Vector;
    /// The same for lanes whose last characters came from `next`.
    fn reload(walk: &Walk<'_, L>, places: L::Vector, text: L::Vector) -> L::Vector;
    /// Codes of the characters that come next.
    fn codes(walk: &Walk<'_, L>, text: L::Vector) -> L::Vector;
    /// Places and text behind those characters.
    fn next(walk: &Walk<'_, L>, places: L::Vector, text: L::Vector) -> [L::Vector; 2];
}

/// Words of ASCII: a lane keeps the next four bytes.
struct Ascii;

impl<L: Lanes> Reader<L> for Ascii {
    #[inline(always)]
    fn load(walk: &Walk<'_, L>, places: L::Vector) -> L::Vector {
        // SAFETY: a place is at most four bytes behind the end of a word, behind which there are 64 readable bytes.
        unsafe { walk.lanes.gather_4(walk.machine.bytes, places) }
    }

    #[inline(always)]
    fn reload(walk: &Walk<'_, L>, places: L::Vector, _text: L::Vector) -> L::Vector {
        Self::load(walk, places)
    }

    #[inline(always)]
    fn codes(walk: &Walk<'_, L>, text: L::Vector) -> L::Vector {
        let lanes = walk.lanes;
        lanes.min(lanes.and(text, lanes.splat(0xFF)), walk.greatest_code)
    }

    #[inline(always)]
    fn next(walk: &Walk<'_, L>, places: L::Vector, text: L::Vector) -> [L::Vector; 2] {
        [walk.lanes.add(places, walk.lanes.splat(1)), walk.lanes.shr::<8>(text)]
    }
}

/// Any words: a lane keeps the code of the next character, and from bit 24 its length.
struct Utf8;

impl<L: Lanes> Reader<L> for Utf8 {
    #[inline(always)]
    fn load(walk: &Walk<'_, L>, places: L::Vector) -> L::Vector {
        characters(walk, places)
    }

    #[inline(always)]
    fn reload(_walk: &Walk<'_, L>, _places: L::Vector, text: L::Vector) -> L::Vector {
        text
    }

    #[inline(always)]
    fn codes(walk: &Walk<'_, L>, text: L::Vector) -> L::Vector {
        walk.lanes.and(text, walk.lanes.splat(0xFF_FFFF))
    }

    #[inline(always)]
    fn next(walk: &Walk<'_, L>, places: L::Vector, text: L::Vector) -> [L::Vector; 2] {
        let places = walk.lanes.add(places, walk.lanes.shr::<24>(text));
        [places, characters(walk, places)]
    }
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
    /// The text that comes next, see [`Reader`].
    text: L::Vector,
    /// Where that is.
    at: L::Vector,
    end: L::Vector,
    /// Where the next piece goes.
    target: L::Vector,
    number: L::Vector,
    /// Where the units of the next step are, in bytes.
    places: Places,
}

/// What all groups use: the automaton, the words that wait, and what was found.
struct Walk<'a, L: Lanes> {
    lanes: L,
    machine: &'a Machine<'a>,
    /// The units as bytes, and the number of the last.
    units: &'a [u8],
    last_unit: L::Vector,
    greatest_code: L::Vector,
    /// The fields of the words that wait, all of one length.
    starts: &'a [u32],
    ends: &'a [u32],
    numbers: &'a [u32],
    targets: &'a [u32],
    texts: &'a [u32],
    /// The next of these words, and their number.
    next: usize,
    count: usize,
    log: &'a mut Log,
}

/// Walk all words of `pieces`.
#[inline(always)]
pub fn walk<L: Lanes>(lanes: L, machine: &Machine<'_>, pieces: &mut Pieces) {
    walk_words::<L, Ascii>(lanes, machine, pieces, |pieces| &mut pieces.ascii);
    walk_words::<L, Utf8>(lanes, machine, pieces, |pieces| &mut pieces.other);
}

#[inline(always)]
fn walk_words<L: Lanes, R: Reader<L>>(
    lanes: L,
    machine: &Machine<'_>,
    pieces: &mut Pieces,
    which: fn(&mut Pieces) -> &mut Work,
) {
    let mut work = std::mem::take(which(pieces));
    // A group that is mostly empty costs as much as a full one.
    if work.count < L::COUNT / 2 {
        walk_each(machine, &work, &mut pieces.ids, &mut pieces.counts);
    } else {
        work.pad(L::COUNT);
        walk_in_groups::<L, R>(lanes, machine, pieces, &mut work);
    }
    *which(pieces) = work;
}

#[inline(always)]
fn walk_in_groups<L: Lanes, R: Reader<L>>(lanes: L, machine: &Machine<'_>, pieces: &mut Pieces, work: &mut Work) {
    let Pieces { ids, firsts, counts, log, .. } = pieces;
    let Work { starts, ends, numbers, targets, texts, count } = work;
    let length = *count + L::COUNT;
    let mut walk = Walk {
        lanes,
        machine,
        units: bytemuck::cast_slice(machine.tables.units),
        last_unit: lanes.splat(machine.tables.units.len() as u32 - 1),
        greatest_code: lanes.splat(machine.tables.codes.mask),
        starts: &starts[..length],
        ends: &ends[..length],
        numbers: &numbers[..length],
        targets: &targets[..length],
        texts: &[],
        next: 0,
        count: *count,
        log,
    };
    for i in (0..*count).step_by(L::COUNT) {
        lanes.store(R::load(&walk, lanes.load(&starts[i..])), &mut texts[i..]);
    }
    walk.texts = &texts[..length];
    // Variables of their own, and not an array, so that the compiler keeps them in registers as far as there are some.
    let mut one = Group::filled::<R>(&mut walk);
    let mut two = Group::filled::<R>(&mut walk);
    let mut three = Group::filled::<R>(&mut walk);
    let mut four = Group::filled::<R>(&mut walk);
    while one.active | two.active | three.active | four.active != 0 {
        for step in 1..=STEPS {
            one.turn::<R>(&mut walk, step == STEPS);
            two.turn::<R>(&mut walk, step == STEPS);
            three.turn::<R>(&mut walk, step == STEPS);
            four.turn::<R>(&mut walk, step == STEPS);
        }
        if walk.log.may_overflow_with(GROUPS * STEPS * L::COUNT) {
            walk.log.drain(machine, ids, firsts, counts);
        }
    }
    walk.log.drain(machine, ids, firsts, counts);
}

/// The codes of the characters at these places, with their lengths from bit 24.
#[inline(always)]
fn characters<L: Lanes>(walk: &Walk<'_, L>, places: L::Vector) -> L::Vector {
    let (lanes, mask) = (walk.lanes, walk.greatest_code);
    // SAFETY: a place is at most four bytes behind the end of a word, behind which there are 64 readable bytes.
    let bytes = unsafe { lanes.gather_4(walk.machine.bytes, places) };
    let lead = lanes.and(bytes, lanes.splat(0xFF));
    let ascii = lanes.or(lanes.min(lead, mask), lanes.splat(1 << 24));
    let more = lanes.greater(lead, lanes.splat(0x7F));
    if lanes.bits(more) == 0 {
        return ascii;
    }
    let six = lanes.splat(0x3F);
    let second = lanes.and(lanes.shr::<8>(bytes), six);
    let third = lanes.and(lanes.shr::<16>(bytes), six);
    let two = lanes.or(lanes.shl::<6>(lanes.and(bytes, lanes.splat(0x1F))), second);
    let upper = lanes.or(lanes.shl::<12>(lanes.and(bytes, lanes.splat(0x0F))), lanes.shl::<6>(second));
    let three = lanes.or(upper, third);
    let is_three = lanes.greater(lead, lanes.splat(0xDF));
    let two = lanes.or(lanes.min(two, mask), lanes.splat(2 << 24));
    let three = lanes.or(lanes.min(three, mask), lanes.splat(3 << 24));
    let codes = lanes.select(is_three, lanes.select(more, ascii, two), three);
    let is_four = lanes.bits(lanes.greater(lead, lanes.splat(0xEF)));
    if is_four != 0 { supplementary(walk, codes, places, is_four) } else { codes }
}

/// The same where some characters have four bytes.
#[inline(always)]
fn supplementary<L: Lanes>(walk: &Walk<'_, L>, codes: L::Vector, places: L::Vector, which: u32) -> L::Vector {
    let (mut spilled, mut at) = ([0; MOST_LANES], [0; MOST_LANES]);
    walk.lanes.store(codes, &mut spilled);
    walk.lanes.store(places, &mut at);
    decode_four_bytes(walk.machine, &mut spilled, &at, which);
    walk.lanes.load(&spilled)
}

/// Decode the characters of the lanes that the bits name.
#[inline(never)]
fn decode_four_bytes(machine: &Machine<'_>, codes: &mut [u32; MOST_LANES], places: &[u32; MOST_LANES], which: u32) {
    for (lane, code) in codes.iter_mut().enumerate().filter(|(lane, _)| which >> lane & 1 != 0) {
        let (c, length) = utf8::decode(machine.bytes, places[lane] as usize);
        *code = machine.tables.codes.code(c) | (length as u32) << 24;
    }
}

impl<L: Lanes> Group<L> {
    /// A group with the words that come next.
    #[inline(always)]
    fn filled<R: Reader<L>>(walk: &mut Walk<'_, L>) -> Group<L> {
        let lanes = walk.lanes;
        let zero = lanes.splat(0);
        let mut group = Group {
            active: 0,
            base: lanes.splat(walk.machine.root_base),
            failure: lanes.splat(NONE),
            pops: zero,
            follow: lanes.mask(0),
            text: zero,
            at: zero,
            end: zero,
            target: zero,
            number: zero,
            places: Places([0; MOST_LANES]),
        };
        group.refill(walk, u32::MAX >> (32 - L::COUNT));
        group.ask::<R>(walk);
        group
    }

    /// One step of every word, with nodes that are there, and the question for those of the next step.
    #[inline(always)]
    fn turn<R: Reader<L>>(&mut self, walk: &mut Walk<'_, L>, reload: bool) {
        if self.active == 0 {
            return;
        }
        self.step::<R>(walk);
        if reload {
            self.text = R::reload(walk, self.at, self.text);
        }
        self.ask::<R>(walk);
    }

    /// Ask for the nodes of the next step.
    #[inline(always)]
    fn ask<R: Reader<L>>(&mut self, walk: &Walk<'_, L>) {
        let lanes = walk.lanes;
        let child = lanes.xor(self.base, R::codes(walk, self.text));
        // A base with any code exclusive-or'd in, and a failure link, are units: checked when the automaton was opened.
        // The minimum holds even if somebody has written to the mapped file since.
        let unit = lanes.min(lanes.select(self.follow, child, self.failure), walk.last_unit);
        lanes.store(lanes.shl::<4>(unit), &mut self.places.0);
        lanes.prefetch(walk.units, &self.places.0);
    }

    /// Put words that wait into these lanes; those that get none become idle.
    #[inline(always)]
    fn refill(&mut self, walk: &mut Walk<'_, L>, free: u32) {
        let (lanes, next) = (walk.lanes, walk.next);
        let waiting = walk.count - next;
        let filled = if free.count_ones() as usize <= waiting { free } else { lowest_bits(free, waiting) };
        self.at = lanes.expand(self.at, filled, &walk.starts[next..]);
        self.end = lanes.expand(self.end, filled, &walk.ends[next..]);
        self.number = lanes.expand(self.number, filled, &walk.numbers[next..]);
        self.target = lanes.expand(self.target, filled, &walk.targets[next..]);
        self.text = lanes.expand(self.text, filled, &walk.texts[next..]);
        let mask = lanes.mask(free);
        self.base = lanes.select(mask, self.base, lanes.splat(walk.machine.root_base));
        self.failure = lanes.select(mask, self.failure, lanes.splat(NONE));
        self.pops = lanes.select(mask, self.pops, lanes.splat(0));
        walk.next += filled.count_ones() as usize;
        self.active = self.active & !free | filled;
    }

    /// One step of every word.
    #[inline(always)]
    fn step<R: Reader<L>>(&mut self, walk: &mut Walk<'_, L>) {
        let (lanes, machine) = (walk.lanes, walk.machine);
        let active = lanes.mask(self.active);
        // SAFETY: a unit has 16 bytes, and `ask` took no number greater than that of the last one.
        let [check, base, failure, pops] = unsafe { lanes.gather_16(walk.units, &self.places.0) };
        let [after, text] = R::next(walk, self.at, self.text);
        let taken = lanes.but_not(lanes.both(active, lanes.equal(check, self.base)), self.follow);
        self.at = lanes.select(taken, self.at, after);
        self.text = lanes.select(taken, self.text, text);
        let arrived = lanes.either(taken, self.follow);
        self.base = lanes.select(arrived, self.base, base);
        self.failure = lanes.select(arrived, self.failure, failure);
        self.pops = lanes.select(arrived, self.pops, pops);
        let ended = lanes.but_not(active, lanes.greater(self.end, self.at));
        // A node without children fails whatever comes next.
        let childless = lanes.both(active, lanes.equal(self.base, lanes.splat(0)));
        let fails = lanes.either(lanes.but_not(active, arrived), lanes.either(childless, ended));
        let dead = lanes.both(fails, lanes.equal(self.failure, lanes.splat(NONE)));
        self.pop(walk, lanes.bits(lanes.but_not(fails, dead)));
        let to_root = lanes.both(fails, lanes.equal(self.failure, lanes.splat(machine.suffix_root)));
        self.follow = lanes.but_not(lanes.but_not(fails, dead), to_root);
        // The suffix root is known: it is not loaded.
        self.base = lanes.select(to_root, self.base, lanes.splat(machine.suffix_base));
        self.failure = lanes.select(to_root, self.failure, lanes.splat(NONE));
        self.pops = lanes.select(to_root, self.pops, lanes.splat(0));
        let done = lanes.bits(lanes.either(dead, lanes.both(to_root, ended)));
        if done != 0 {
            let end = lanes.select(dead, self.target, lanes.splat(NONE));
            walk.log.push_ended(lanes, self.number, end, done);
            self.refill(walk, done);
        }
    }

    /// Put the failure pops of these lanes into the log.
    #[inline(always)]
    fn pop(&mut self, walk: &mut Walk<'_, L>, which: u32) {
        let lanes = walk.lanes;
        walk.log.push_pops(lanes, self.pops, self.target, which);
        let mask = lanes.mask(which);
        let count = lanes.shr::<28>(self.pops);
        let long = lanes.both(mask, lanes.equal(count, lanes.splat(Packed::LONG)));
        self.target = lanes.select(mask, self.target, lanes.add(self.target, count));
        if lanes.bits(long) != 0 {
            let (mut targets, mut pops) = ([0; MOST_LANES], [0; MOST_LANES]);
            lanes.store(self.target, &mut targets);
            lanes.store(self.pops, &mut pops);
            for i in (0..L::COUNT).filter(|i| lanes.bits(long) >> i & 1 != 0) {
                targets[i] += Packed(pops[i]).length(walk.machine.tables.pops) as u32 - Packed::LONG;
            }
            self.target = lanes.load(&targets);
        }
    }
}

/// The lowest `count` of the bits that are set.
#[cold]
fn lowest_bits(mut bits: u32, count: usize) -> u32 {
    while bits.count_ones() as usize > count {
        bits &= !(1 << bits.ilog2());
    }
    bits
}
