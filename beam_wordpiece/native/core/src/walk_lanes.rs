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
use crate::walk::{Log, Machine, Pieces, Work, walk_each};

/// Groups that take turns.
const GROUPS: usize = 4;
/// Steps from one look at the text to the next.
const STEPS: usize = 4;

/// How lanes read the characters of their words.
trait Reader<L: Lanes> {
    /// What a lane keeps of the text at its place: enough for [`STEPS`] characters, or made anew by every `next`.
    fn load(lanes: L, machine: &Machine<'_>, places: L::Vector) -> L::Vector;
    /// The same for lanes whose last characters came from `next`.
    fn reload(lanes: L, machine: &Machine<'_>, places: L::Vector, text: L::Vector) -> L::Vector;
    /// Codes of the characters that come next.
    fn codes(lanes: L, machine: &Machine<'_>, text: L::Vector) -> L::Vector;
    /// Places and text behind those characters.
    fn next(lanes: L, machine: &Machine<'_>, places: L::Vector, text: L::Vector) -> [L::Vector; 2];
}

/// Words of ASCII: a lane keeps the next four bytes.
struct Ascii;

impl<L: Lanes> Reader<L> for Ascii {
    #[inline(always)]
    fn load(lanes: L, machine: &Machine<'_>, places: L::Vector) -> L::Vector {
        // SAFETY: places are in the text of the chunk or just behind it, where there are readable bytes.
        unsafe { lanes.gather_4(machine.bytes, places) }
    }

    #[inline(always)]
    fn reload(lanes: L, machine: &Machine<'_>, places: L::Vector, _text: L::Vector) -> L::Vector {
        Self::load(lanes, machine, places)
    }

    #[inline(always)]
    fn codes(lanes: L, machine: &Machine<'_>, text: L::Vector) -> L::Vector {
        lanes.min(lanes.and(text, lanes.splat(0xFF)), lanes.splat(machine.tables.codes.mask))
    }

    #[inline(always)]
    fn next(lanes: L, _machine: &Machine<'_>, places: L::Vector, text: L::Vector) -> [L::Vector; 2] {
        [lanes.add(places, lanes.splat(1)), lanes.shr::<8>(text)]
    }
}

/// Any words: a lane keeps the code of the next character, and from bit 24 its length.
struct Utf8;

impl<L: Lanes> Reader<L> for Utf8 {
    #[inline(always)]
    fn load(lanes: L, machine: &Machine<'_>, places: L::Vector) -> L::Vector {
        characters(lanes, machine, places)
    }

    #[inline(always)]
    fn reload(_lanes: L, _machine: &Machine<'_>, _places: L::Vector, text: L::Vector) -> L::Vector {
        text
    }

    #[inline(always)]
    fn codes(lanes: L, _machine: &Machine<'_>, text: L::Vector) -> L::Vector {
        lanes.and(text, lanes.splat(0xFF_FFFF))
    }

    #[inline(always)]
    fn next(lanes: L, machine: &Machine<'_>, places: L::Vector, text: L::Vector) -> [L::Vector; 2] {
        let places = lanes.add(places, lanes.shr::<24>(text));
        [places, characters(lanes, machine, places)]
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

/// Walk all words of `pieces`.
#[inline(always)]
pub fn walk<L: Lanes>(lanes: L, machine: &Machine<'_>, pieces: &mut Pieces) {
    let Pieces { ids, firsts, counts, ascii, other, log, .. } = pieces;
    let mut found = Found { ids, firsts, counts, log };
    walk_words::<L, Ascii>(lanes, machine, ascii, &mut found);
    walk_words::<L, Utf8>(lanes, machine, other, &mut found);
}

/// Where the pieces go.
struct Found<'a> {
    ids: &'a mut [u32],
    firsts: &'a [u32],
    counts: &'a mut [u32],
    log: &'a mut Log,
}

#[inline(always)]
fn walk_words<L: Lanes, R: Reader<L>>(lanes: L, machine: &Machine<'_>, work: &mut Work, found: &mut Found<'_>) {
    // A group that is mostly empty costs as much as a full one.
    if work.count < L::COUNT / 2 {
        return walk_each(machine, work, found.ids, found.counts);
    }
    work.pad(L::COUNT);
    for i in (0..work.count).step_by(L::COUNT) {
        lanes.store(R::load(lanes, machine, lanes.load(&work.starts[i..])), &mut work.texts[i..]);
    }
    let mut next = 0;
    // Variables of their own, and not an array, so that the compiler keeps them in registers as far as there are some.
    let mut one = Group::filled::<R>(lanes, machine, work, &mut next);
    let mut two = Group::filled::<R>(lanes, machine, work, &mut next);
    let mut three = Group::filled::<R>(lanes, machine, work, &mut next);
    let mut four = Group::filled::<R>(lanes, machine, work, &mut next);
    while one.active | two.active | three.active | four.active != 0 {
        for step in 1..=STEPS {
            one.turn::<R>(lanes, machine, work, &mut next, found.log, step == STEPS);
            two.turn::<R>(lanes, machine, work, &mut next, found.log, step == STEPS);
            three.turn::<R>(lanes, machine, work, &mut next, found.log, step == STEPS);
            four.turn::<R>(lanes, machine, work, &mut next, found.log, step == STEPS);
        }
        if found.log.has_room_for_less_than(GROUPS * STEPS * L::COUNT) {
            found.log.drain(machine, found.ids, found.firsts, found.counts);
        }
    }
    found.log.drain(machine, found.ids, found.firsts, found.counts);
}

/// The codes of the characters at these places, with their lengths from bit 24.
#[inline(always)]
fn characters<L: Lanes>(lanes: L, machine: &Machine<'_>, places: L::Vector) -> L::Vector {
    // SAFETY: places are in the text of the chunk or just behind it, where there are readable bytes.
    let bytes = unsafe { lanes.gather_4(machine.bytes, places) };
    let lead = lanes.and(bytes, lanes.splat(0xFF));
    let mask = lanes.splat(machine.tables.codes.mask);
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
    let (mut spilled, mut at) = ([0; MOST_LANES], [0; MOST_LANES]);
    lanes.store(codes, &mut spilled);
    lanes.store(places, &mut at);
    for (i, code) in spilled.iter_mut().enumerate().filter(|(i, _)| which >> i & 1 != 0) {
        let (c, length) = utf8::decode(machine.bytes, at[i] as usize);
        *code = machine.tables.codes.code(c) | (length as u32) << 24;
    }
    lanes.load(&spilled)
}

impl<L: Lanes> Group<L> {
    /// A group with the words that come next.
    #[inline(always)]
    fn filled<R: Reader<L>>(lanes: L, machine: &Machine<'_>, work: &Work, next: &mut usize) -> Group<L> {
        let zero = lanes.splat(0);
        let mut group = Group {
            active: 0,
            base: lanes.splat(machine.root_base),
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
        group.refill(lanes, machine, work, next, u32::MAX >> (32 - L::COUNT));
        group.ask::<R>(lanes, machine);
        group
    }

    /// One step of every word, with nodes that are there, and the question for those of the next step.
    #[inline(always)]
    fn turn<R: Reader<L>>(
        &mut self,
        lanes: L,
        machine: &Machine<'_>,
        work: &Work,
        next: &mut usize,
        log: &mut Log,
        reload: bool,
    ) {
        if self.active == 0 {
            return;
        }
        self.step::<R>(lanes, machine, work, next, log);
        if reload {
            self.text = R::reload(lanes, machine, self.at, self.text);
        }
        self.ask::<R>(lanes, machine);
    }

    /// Ask for the nodes of the next step.
    #[inline(always)]
    fn ask<R: Reader<L>>(&mut self, lanes: L, machine: &Machine<'_>) {
        let child = lanes.xor(self.base, R::codes(lanes, machine, self.text));
        // A base with any code exclusive-or'd in, and a failure link, are units: checked when the automaton was opened.
        // The minimum holds even if somebody has written to the mapped file since.
        let last = lanes.splat(machine.tables.units.len() as u32 - 1);
        let unit = lanes.min(lanes.select(self.follow, child, self.failure), last);
        lanes.store(lanes.shl::<4>(unit), &mut self.places.0);
        lanes.prefetch(bytemuck::cast_slice(machine.tables.units), &self.places.0);
    }

    /// Put words that wait into these lanes; those that get none become idle.
    #[inline(always)]
    fn refill(&mut self, lanes: L, machine: &Machine<'_>, work: &Work, next: &mut usize, free: u32) {
        let waiting = work.count - *next;
        let mut filled = free;
        while filled.count_ones() as usize > waiting {
            filled &= !(1 << filled.ilog2());
        }
        let place = *next;
        self.at = lanes.expand(self.at, filled, &work.starts[place..]);
        self.end = lanes.expand(self.end, filled, &work.ends[place..]);
        self.number = lanes.expand(self.number, filled, &work.numbers[place..]);
        self.target = lanes.expand(self.target, filled, &work.targets[place..]);
        self.text = lanes.expand(self.text, filled, &work.texts[place..]);
        let mask = lanes.mask(free);
        self.base = lanes.select(mask, self.base, lanes.splat(machine.root_base));
        self.failure = lanes.select(mask, self.failure, lanes.splat(NONE));
        self.pops = lanes.select(mask, self.pops, lanes.splat(0));
        *next += filled.count_ones() as usize;
        self.active = self.active & !free | filled;
    }

    /// One step of every word.
    #[inline(always)]
    fn step<R: Reader<L>>(&mut self, lanes: L, machine: &Machine<'_>, work: &Work, next: &mut usize, log: &mut Log) {
        let active = lanes.mask(self.active);
        // SAFETY: a unit has 16 bytes, and `ask` took no number greater than that of the last one.
        let [check, base, failure, pops] =
            unsafe { lanes.gather_16(bytemuck::cast_slice(machine.tables.units), &self.places.0) };
        let [after, text] = R::next(lanes, machine, self.at, self.text);
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
            self.refill(lanes, machine, work, next, done);
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
            let (mut targets, mut pops) = ([0; MOST_LANES], [0; MOST_LANES]);
            lanes.store(self.target, &mut targets);
            lanes.store(self.pops, &mut pops);
            for i in (0..L::COUNT).filter(|i| lanes.bits(long) >> i & 1 != 0) {
                targets[i] += Packed(pops[i]).length(machine.tables.pops) as u32 - Packed::LONG;
            }
            self.target = lanes.load(&targets);
        }
    }
}
