//! The matching loop over many words at once, one in each lane of a vector.
//!
//! A step waits for the node that it leads to; here the waits of all lanes overlap, and nothing branches on what a
//! single word finds. Several groups of lanes take turns: each asks for its nodes and lets the others compute until they
//! are there. The step is that of [`Machine`](crate::walk::Machine), except that loading the node of a failure link is a
//! step of its own.

use crate::double_array::Packed;
use crate::failure::UNKNOWN_CHARACTER;
use crate::pieces::{FROM_ROOT, NUMBER, Pieces, WHOLE, Work};
use crate::simd::lanes::{Lanes, MOST_LANES, Places};
use crate::trie::NONE;
use crate::walk::{Machine, walk_each};
use crate::walk_log::{Log, SIZE};
use crate::walk_readers::{Ascii, Reader, Utf8};

/// Groups that take turns.
const GROUPS: usize = 4;
/// Steps from one look at the text to the next.
pub const STEPS: usize = 4;

const _: () = assert!(GROUPS * STEPS * MOST_LANES < SIZE, "all groups together fit into half of the log");

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
    /// Of words by their characters: those that end where they do, see [`WHOLE`].
    whole: L::Mask,
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
pub struct Walk<'a, L: Lanes> {
    /// The operations.
    pub lanes: L,
    /// The automaton and the text.
    pub machine: &'a Machine<'a>,
    /// The units as bytes, and the number of the last.
    units: &'a [u8],
    last_unit: L::Vector,
    /// What a greater code becomes, see [`Codes`](crate::double_array::Codes).
    pub greatest_code: L::Vector,
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

/// Walk all words of `pieces`. Where `CHARACTERS` holds, an unknown character is unknown by itself, and where tokens end
/// is written too; otherwise the word is.
#[inline(always)]
pub fn walk<L: Lanes, const CHARACTERS: bool>(lanes: L, machine: &Machine<'_>, pieces: &mut Pieces) {
    walk_words::<L, Ascii, CHARACTERS>(lanes, machine, pieces, |pieces| &mut pieces.ascii);
    walk_words::<L, Utf8, CHARACTERS>(lanes, machine, pieces, |pieces| &mut pieces.other);
}

#[inline(always)]
fn walk_words<L: Lanes, R: Reader<L>, const CHARACTERS: bool>(
    lanes: L,
    machine: &Machine<'_>,
    pieces: &mut Pieces,
    which: fn(&mut Pieces) -> &mut Work,
) {
    let mut work = std::mem::take(which(pieces));
    // A group that is mostly empty costs as much as a full one.
    if work.count < if CHARACTERS { 1 } else { L::COUNT / 2 } {
        walk_each(machine, &work, &mut pieces.ids, &mut pieces.counts);
    } else {
        work.pad(L::COUNT);
        walk_in_groups::<L, R, CHARACTERS>(lanes, machine, pieces, &mut work);
    }
    *which(pieces) = work;
}

#[inline(always)]
fn walk_in_groups<L: Lanes, R: Reader<L>, const CHARACTERS: bool>(
    lanes: L,
    machine: &Machine<'_>,
    pieces: &mut Pieces,
    work: &mut Work,
) {
    let Pieces { ids, places, firsts, counts, log, .. } = pieces;
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
    let mut one = Group::filled::<R, CHARACTERS>(&mut walk);
    let mut two = Group::filled::<R, CHARACTERS>(&mut walk);
    let mut three = Group::filled::<R, CHARACTERS>(&mut walk);
    let mut four = Group::filled::<R, CHARACTERS>(&mut walk);
    while one.active | two.active | three.active | four.active != 0 {
        for step in 1..=STEPS {
            one.turn::<R, CHARACTERS>(&mut walk, step == STEPS);
            two.turn::<R, CHARACTERS>(&mut walk, step == STEPS);
            three.turn::<R, CHARACTERS>(&mut walk, step == STEPS);
            four.turn::<R, CHARACTERS>(&mut walk, step == STEPS);
        }
        if walk.log.may_overflow_with(GROUPS * STEPS * L::COUNT) {
            walk.log.drain::<CHARACTERS>(machine, ids, places, firsts, counts);
        }
    }
    walk.log.drain::<CHARACTERS>(machine, ids, places, firsts, counts);
}

impl<L: Lanes> Group<L> {
    /// A group with the words that come next.
    #[inline(always)]
    fn filled<R: Reader<L>, const CHARACTERS: bool>(walk: &mut Walk<'_, L>) -> Group<L> {
        let lanes = walk.lanes;
        let zero = lanes.splat(0);
        let mut group = Group {
            active: 0,
            base: lanes.splat(walk.machine.root_base),
            failure: lanes.splat(NONE),
            pops: zero,
            follow: lanes.mask(0),
            whole: lanes.mask(0),
            text: zero,
            at: zero,
            end: zero,
            target: zero,
            number: zero,
            places: Places([0; MOST_LANES]),
        };
        group.refill::<CHARACTERS>(walk, u32::MAX >> (32 - L::COUNT));
        group.ask::<R>(walk);
        group
    }

    /// One step of every word, with nodes that are there, and the question for those of the next step.
    #[inline(always)]
    fn turn<R: Reader<L>, const CHARACTERS: bool>(&mut self, walk: &mut Walk<'_, L>, reload: bool) {
        if self.active == 0 {
            return;
        }
        self.step::<R, CHARACTERS>(walk);
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
    fn refill<const CHARACTERS: bool>(&mut self, walk: &mut Walk<'_, L>, free: u32) {
        let (lanes, next) = (walk.lanes, walk.next);
        let waiting = walk.count - next;
        let filled = if free.count_ones() as usize <= waiting { free } else { lowest_bits(free, waiting) };
        self.at = lanes.expand(self.at, filled, &walk.starts[next..]);
        self.end = lanes.expand(self.end, filled, &walk.ends[next..]);
        self.number = lanes.expand(self.number, filled, &walk.numbers[next..]);
        self.target = lanes.expand(self.target, filled, &walk.targets[next..]);
        self.text = lanes.expand(self.text, filled, &walk.texts[next..]);
        let mask = lanes.mask(free);
        let mut root_base = lanes.splat(walk.machine.root_base);
        if CHARACTERS {
            let has = |flag: u32| lanes.not_zero(lanes.and(self.number, lanes.splat(flag)));
            root_base = lanes.select(has(FROM_ROOT), lanes.splat(walk.machine.suffix_base), root_base);
            self.whole = has(WHOLE);
        }
        self.base = lanes.select(mask, self.base, root_base);
        self.failure = lanes.select(mask, self.failure, lanes.splat(NONE));
        self.pops = lanes.select(mask, self.pops, lanes.splat(0));
        walk.next += filled.count_ones() as usize;
        self.active = self.active & !free | filled;
    }

    /// One step of every word.
    #[inline(always)]
    fn step<R: Reader<L>, const CHARACTERS: bool>(&mut self, walk: &mut Walk<'_, L>) {
        let (lanes, machine) = (walk.lanes, walk.machine);
        let active = lanes.mask(self.active);
        // SAFETY: a unit has 16 bytes, and `ask` took no number greater than that of the last one.
        let [check, base, failure, pops] = unsafe { lanes.gather_16(walk.units, &self.places.0) };
        let [after, text] = R::next(walk, self.at, self.text);
        let taken = lanes.but_not(lanes.both(active, lanes.equal(check, self.base)), self.follow);
        let arrived = lanes.either(taken, self.follow);
        let mut read = taken;
        if CHARACTERS {
            // At a root without such an edge: the character is popped, and matching goes on behind it.
            let stuck = lanes.both(lanes.but_not(active, arrived), lanes.equal(self.failure, lanes.splat(NONE)));
            self.failure = lanes.select(stuck, self.failure, lanes.splat(machine.suffix_root));
            self.pops = lanes.select(stuck, self.pops, lanes.splat(Packed::one(UNKNOWN_CHARACTER).0));
            read = lanes.either(taken, stuck);
        }
        self.at = lanes.select(read, self.at, after);
        self.text = lanes.select(read, self.text, text);
        self.base = lanes.select(arrived, self.base, base);
        self.failure = lanes.select(arrived, self.failure, failure);
        self.pops = lanes.select(arrived, self.pops, pops);
        let ended = lanes.but_not(active, lanes.greater(self.end, self.at));
        // A node without children fails whatever comes next.
        let childless = lanes.both(active, lanes.equal(self.base, lanes.splat(0)));
        // At the end of a part nothing is known of what comes next.
        let ends = if CHARACTERS { lanes.both(ended, self.whole) } else { ended };
        let fails = lanes.either(lanes.but_not(active, arrived), lanes.either(childless, ends));
        let dead = lanes.both(fails, lanes.equal(self.failure, lanes.splat(NONE)));
        let to_root = lanes.both(fails, lanes.equal(self.failure, lanes.splat(machine.suffix_root)));
        let places = if CHARACTERS { lanes.select(to_root, lanes.splat(0), self.at) } else { self.at };
        self.pop::<CHARACTERS>(walk, places, lanes.bits(lanes.but_not(fails, dead)));
        self.follow = lanes.but_not(lanes.but_not(fails, dead), to_root);
        // The suffix root is known: it is not loaded.
        self.base = lanes.select(to_root, self.base, lanes.splat(machine.suffix_base));
        self.failure = lanes.select(to_root, self.failure, lanes.splat(NONE));
        self.pops = lanes.select(to_root, self.pops, lanes.splat(0));
        let mut done = lanes.either(dead, lanes.both(to_root, ended));
        if CHARACTERS {
            done = lanes.either(done, lanes.but_not(ended, self.whole));
        }
        let done = lanes.bits(done);
        if done != 0 {
            // By characters no word is unknown as a whole.
            let end = if CHARACTERS { self.target } else { lanes.select(dead, self.target, lanes.splat(NONE)) };
            let number = if CHARACTERS { lanes.and(self.number, lanes.splat(NUMBER)) } else { self.number };
            walk.log.push_ended(lanes, number, end, done);
            self.refill::<CHARACTERS>(walk, done);
        }
    }

    /// Put the failure pops of these lanes into the log, and where the last token of each ends, if that is known.
    #[inline(always)]
    fn pop<const CHARACTERS: bool>(&mut self, walk: &mut Walk<'_, L>, places: L::Vector, which: u32) {
        let lanes = walk.lanes;
        if CHARACTERS {
            walk.log.push_places(lanes, places, which);
        }
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
