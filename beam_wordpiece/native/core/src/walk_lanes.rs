//! The matching loop over many words at once, one in each lane of a vector.
//!
//! A step waits for the node that it leads to; here the waits of all lanes overlap, and nothing branches on what a
//! single word finds. Several groups of lanes take turns: each asks for its nodes and lets the others compute until they
//! are there. The step is that of [`Machine`](crate::walk::Machine), except that loading the node of a failure link is a
//! step of its own, and that where words are long a step from `r#` may take two characters.

use crate::double_array::Packed;
use crate::failure::UNKNOWN_CHARACTER;
use crate::pieces::{FROM_ROOT, Pieces, WHOLE, Work};
use crate::simd::lanes::{Lanes, MOST_LANES, Places};
use crate::starts::BOTH;
use crate::trie::NONE;
use crate::walk::{Machine, walk_each};
use crate::walk_log::{Log, SIZE};
use crate::walk_readers::{Ascii, Reader, Utf8};

/// Groups that take turns.
const GROUPS: usize = 4;
/// Words of more bytes, times the number of lanes, are long: a step in which one ends is rare.
const LONG_WORDS: usize = 3;
/// Words of so many bytes are no words of a language, and are split into short tokens: their nodes are near the root and
/// so in the caches, which need not be asked ahead; and most steps are at `r#` or one from it, so that it pays to take two
/// characters there, though every step then costs more.
const FAR_WORDS: usize = 14;
/// Steps from one look at the text, and at the log, to the next at most.
pub const MOST_STEPS: usize = 4;

const _: () =
    assert!(GROUPS * MOST_STEPS * MOST_LANES < SIZE, "what is written between two looks at the log fits into it");

/// Words on their way through the automaton. A lane without a word has an empty one, which is over in every step.
struct Group<L: Lanes> {
    /// Lanes with a word.
    active: u32,
    /// Of the node where it is: where its children are, its failure link and pops.
    base: L::Vector,
    failure: L::Vector,
    pops: L::Vector,
    /// That node has no failure link: its failure and pops are not used.
    unlinked: L::Mask,
    /// Its failure link is `r#`.
    to_root: L::Mask,
    /// The next step only loads the node of the failure link.
    follow: L::Mask,
    /// Where two characters are taken from `r#`: the next step is such a one, and does take both.
    pair: L::Mask,
    both: L::Mask,
    /// Of words by their characters: those that go on behind their end, see [`WHOLE`].
    partial: L::Mask,
    /// The text that comes next, see [`Reader`].
    text: L::Vector,
    /// Where that is.
    at: L::Vector,
    end: L::Vector,
    /// Which of the missed words it is, with its flags.
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
    /// Where two characters lead from `r#`, if they are taken at once.
    pairs: &'a [u8],
    last_unit: L::Vector,
    /// What a greater code becomes, see [`Codes`](crate::double_array::Codes).
    pub greatest_code: L::Vector,
    /// The fields of the words that wait, all of one length.
    starts: &'a [u32],
    ends: &'a [u32],
    numbers: &'a [u32],
    texts: &'a [u32],
    /// The next of these words, and their number.
    next: usize,
    count: usize,
    log: &'a mut Log,
    /// Words are short: in most steps one or another ends.
    always_refill: bool,
    /// Words are so short that their tokens may be long, whose nodes lie anywhere.
    ask_ahead: bool,
}

/// Walk all words of `pieces`. Where `CHARACTERS` holds, an unknown character is unknown by itself, and where tokens end
/// is written too; otherwise the word is.
#[inline(always)]
pub fn walk<L: Lanes, const CHARACTERS: bool>(lanes: L, machine: &Machine<'_>, pieces: &mut Pieces) {
    let (mut ascii, mut other) = (std::mem::take(&mut pieces.ascii), std::mem::take(&mut pieces.other));
    let bytes = ascii.bytes();
    // Matched by characters, a part may go on behind its end: that a second character leads nowhere is not known there.
    if !CHARACTERS && bytes >= FAR_WORDS * ascii.count {
        walk_words::<L, Ascii<true>, CHARACTERS>(lanes, machine, pieces, &mut ascii, bytes);
    } else {
        walk_words::<L, Ascii<false>, CHARACTERS>(lanes, machine, pieces, &mut ascii, bytes);
    }
    let bytes = other.bytes();
    walk_words::<L, Utf8, CHARACTERS>(lanes, machine, pieces, &mut other, bytes);
    (pieces.ascii, pieces.other) = (ascii, other);
}

#[inline(always)]
fn walk_words<L: Lanes, R: Reader<L>, const CHARACTERS: bool>(
    lanes: L,
    machine: &Machine<'_>,
    pieces: &mut Pieces,
    work: &mut Work,
    bytes: usize,
) {
    // A group that is mostly empty costs as much as a full one.
    if work.count < if CHARACTERS { 1 } else { L::COUNT / 2 } {
        walk_each(machine, work, &mut pieces.ids, &pieces.firsts, &mut pieces.ends);
    } else {
        work.pad(L::COUNT);
        walk_in_groups::<L, R, CHARACTERS>(lanes, machine, pieces, work, bytes);
    }
}

#[inline(always)]
fn walk_in_groups<L: Lanes, R: Reader<L>, const CHARACTERS: bool>(
    lanes: L,
    machine: &Machine<'_>,
    pieces: &mut Pieces,
    work: &mut Work,
    bytes: usize,
) {
    let Pieces { ids, places, firsts, ends: piece_ends, log, .. } = pieces;
    let Work { starts, ends, numbers, texts, count } = work;
    let length = *count + L::COUNT;
    let mut walk = Walk {
        lanes,
        machine,
        units: bytemuck::cast_slice(machine.tables.units),
        pairs: if R::PAIRS { machine.tables.lane_pairs().as_bytes() } else { &[] },
        last_unit: lanes.splat(machine.tables.units.len() as u32 - 1),
        greatest_code: lanes.splat(machine.tables.codes.mask),
        starts: &starts[..length],
        ends: &ends[..length],
        numbers: &numbers[..length],
        texts: &[],
        next: 0,
        count: *count,
        log,
        always_refill: true,
        ask_ahead: true,
    };
    for i in (0..*count).step_by(L::COUNT) {
        lanes.store(R::load(&walk, lanes.load(&starts[i..])), &mut texts[i..]);
    }
    walk.always_refill = bytes < LONG_WORDS * L::COUNT * *count;
    walk.ask_ahead = bytes < FAR_WORDS * *count;
    walk.texts = &texts[..length];
    // Variables of their own, and not an array, so that the compiler keeps them in registers as far as there are some.
    let mut one = Group::filled::<R, CHARACTERS>(&mut walk);
    let mut two = Group::filled::<R, CHARACTERS>(&mut walk);
    let mut three = Group::filled::<R, CHARACTERS>(&mut walk);
    let mut four = Group::filled::<R, CHARACTERS>(&mut walk);
    while one.active | two.active | three.active | four.active != 0 {
        for step in 1..=R::STEPS {
            let last = step == R::STEPS;
            one.turn::<R, CHARACTERS>(&mut walk, last);
            two.turn::<R, CHARACTERS>(&mut walk, last);
            three.turn::<R, CHARACTERS>(&mut walk, last);
            four.turn::<R, CHARACTERS>(&mut walk, last);
        }
        const { assert!(R::STEPS <= MOST_STEPS) };
        if walk.log.may_overflow_with(GROUPS * R::STEPS * L::COUNT) {
            walk.log.drain::<CHARACTERS>(machine, ids, places, firsts, piece_ends);
        }
    }
    walk.log.drain::<CHARACTERS>(machine, ids, places, firsts, piece_ends);
}

impl<L: Lanes> Group<L> {
    /// A group with the words that come next.
    #[inline(always)]
    fn filled<R: Reader<L>, const CHARACTERS: bool>(walk: &mut Walk<'_, L>) -> Group<L> {
        let lanes = walk.lanes;
        let (zero, none) = (lanes.splat(0), lanes.but_not(lanes.all(), lanes.all()));
        let mut group = Group {
            active: 0,
            base: zero,
            failure: zero,
            pops: zero,
            unlinked: lanes.all(),
            to_root: none,
            follow: none,
            pair: none,
            both: none,
            partial: none,
            text: zero,
            at: zero,
            end: zero,
            number: zero,
            places: Places([0; MOST_LANES]),
        };
        group.refill::<CHARACTERS>(walk, lanes.all());
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
        let mut child = lanes.xor(self.base, R::codes(walk, self.text));
        if R::PAIRS {
            let more = lanes.greater(self.end, lanes.add(self.at, lanes.splat(1)));
            let places = lanes.shl::<2>(R::pairs(walk, self.text, more));
            // SAFETY: a place has 14 bits, and `pairs` four bytes for each such place where a reader takes pairs.
            let led = unsafe { lanes.gather_4(walk.pairs, places) };
            child = lanes.select(self.pair, child, lanes.and(led, lanes.splat(!BOTH)));
            self.both = lanes.both(self.pair, lanes.not_zero(lanes.and(led, lanes.splat(BOTH))));
        }
        // A base with any code exclusive-or'd in, and a failure link, are units: checked when the automaton was opened.
        // The minimum holds even if somebody has written to the mapped file since.
        let unit = lanes.min(lanes.select(self.follow, child, self.failure), walk.last_unit);
        lanes.store(lanes.shl::<4>(unit), &mut self.places.0);
        if walk.ask_ahead {
            lanes.prefetch(walk.units, &self.places.0);
        }
    }

    /// Put words that wait into these lanes, and empty ones when there are no more.
    #[inline(always)]
    fn refill<const CHARACTERS: bool>(&mut self, walk: &mut Walk<'_, L>, free: L::Mask) {
        let (lanes, next) = (walk.lanes, walk.next);
        let bits = lanes.bits(free);
        self.at = lanes.expand(self.at, free, &walk.starts[next..]);
        self.end = lanes.expand(self.end, free, &walk.ends[next..]);
        self.number = lanes.expand(self.number, free, &walk.numbers[next..]);
        self.text = lanes.expand(self.text, free, &walk.texts[next..]);
        let mut root_base = lanes.splat(walk.machine.root_base);
        if CHARACTERS {
            let from_root = lanes.not_zero(lanes.and(self.number, lanes.splat(FROM_ROOT)));
            root_base = lanes.select(from_root, lanes.splat(walk.machine.suffix_base), root_base);
            self.partial = lanes.equal(lanes.and(self.number, lanes.splat(WHOLE)), lanes.splat(0));
        }
        self.base = lanes.select(free, self.base, root_base);
        let waiting = walk.count - next;
        let filled = if bits.count_ones() as usize <= waiting { bits } else { lowest_bits(bits, waiting) };
        walk.next += filled.count_ones() as usize;
        self.active = self.active & !bits | filled;
    }

    /// One step of every word.
    #[inline(always)]
    fn step<R: Reader<L>, const CHARACTERS: bool>(&mut self, walk: &mut Walk<'_, L>) {
        let [stays, inside] = self.arrive::<R, CHARACTERS>(walk);
        self.fail::<R, CHARACTERS>(walk, stays, inside);
    }

    /// Go to the nodes that were asked for, where these are the right ones: those words stay there that do not fail at
    /// once, and inside are those that have more text.
    ///
    /// What is asked of a node is asked while it is not known yet whether it is the right one, so that a step waits for
    /// few things one after the other.
    #[inline(always)]
    fn arrive<R: Reader<L>, const CHARACTERS: bool>(&mut self, walk: &Walk<'_, L>) -> [L::Mask; 2] {
        let lanes = walk.lanes;
        // SAFETY: a unit has 16 bytes, and `ask` took no number greater than that of the last one.
        let unit = unsafe { lanes.gather_16(walk.units, &self.places.0) };
        let [check, base, failure, pops] = lanes.parts(&unit);
        let [mut after, mut text] = R::next(walk, self.at, self.text);
        let inside = lanes.greater(self.end, self.at);
        let mut right = lanes.equal(check, self.base);
        if R::PAIRS {
            right = lanes.either(right, self.both);
            after = lanes.select(self.both, after, lanes.add(after, lanes.splat(1)));
            text = lanes.select(self.both, text, lanes.shr::<8>(text));
        }
        let taken = lanes.both(lanes.but_not(inside, self.follow), right);
        let arrived = lanes.either(taken, self.follow);
        let mut read = taken;
        let unlinked = lanes.pick(arrived, self.unlinked, lanes.equal(failure, lanes.splat(NONE)));
        let to_root = lanes.pick(arrived, self.to_root, lanes.equal(failure, lanes.splat(walk.machine.suffix_root)));
        self.base = lanes.select(arrived, self.base, base);
        self.failure = lanes.select(arrived, self.failure, failure);
        self.pops = lanes.select(arrived, self.pops, pops);
        if CHARACTERS {
            // At a root without such an edge: the character is popped, and matching goes on behind it.
            let stuck = lanes.both(inside, lanes.but_not(self.unlinked, arrived));
            self.pops = lanes.select(stuck, self.pops, lanes.splat(Packed::one(UNKNOWN_CHARACTER).0));
            self.unlinked = lanes.but_not(unlinked, stuck);
            self.to_root = lanes.either(to_root, stuck);
            read = lanes.either(taken, stuck);
        } else {
            (self.unlinked, self.to_root) = (unlinked, to_root);
        }
        self.at = lanes.select(read, self.at, after);
        self.text = lanes.select(read, self.text, text);
        let inside = lanes.pick(read, inside, lanes.greater(self.end, after));
        // At the end of a part nothing is known of what comes next.
        let goes_on = if CHARACTERS { lanes.either(inside, self.partial) } else { inside };
        // A node without children fails whatever comes next.
        let mut stays = lanes.both(goes_on, lanes.both(arrived, lanes.not_zero(base)));
        if R::PAIRS {
            // Where there is a second character, it leads nowhere: the word fails in the next step or in this one.
            stays = lanes.but_not(stays, lanes.but_not(self.pair, self.both));
        }
        [stays, inside]
    }

    /// Failure transitions of the words that do not stay at their nodes; those that are over make room.
    #[inline(always)]
    fn fail<R: Reader<L>, const CHARACTERS: bool>(&mut self, walk: &mut Walk<'_, L>, stays: L::Mask, inside: L::Mask) {
        let lanes = walk.lanes;
        let dead = lanes.but_not(self.unlinked, stays);
        let to_root = lanes.but_not(self.to_root, stays);
        let popped = lanes.bits(lanes.but_not(lanes.but_not(lanes.all(), self.unlinked), stays)) & self.active;
        if CHARACTERS {
            // Where the last token ends is known where nothing of the text is left.
            walk.log.push_places(lanes, lanes.select(to_root, lanes.splat(0), self.at), popped);
        }
        walk.log.push_pops(lanes, self.pops, self.number, popped);
        // The suffix root is known: it is not loaded.
        self.base = lanes.select(to_root, self.base, lanes.splat(walk.machine.suffix_base));
        self.follow = lanes.but_not(lanes.all(), lanes.either(self.unlinked, lanes.either(to_root, stays)));
        self.unlinked = lanes.either(self.unlinked, to_root);
        self.to_root = lanes.both(self.to_root, stays);
        let mut done = lanes.either(dead, lanes.but_not(to_root, inside));
        if CHARACTERS {
            let over = lanes.but_not(self.partial, inside);
            done = lanes.either(done, over);
            self.unlinked = lanes.either(self.unlinked, over);
            self.follow = lanes.but_not(self.follow, over);
            self.to_root = lanes.but_not(self.to_root, over);
        } else {
            walk.log.push_unknown(lanes, self.number, lanes.bits(dead) & self.active);
        }
        // Whether there are some can be predicted only where words are long.
        if walk.always_refill || lanes.bits(done) != 0 {
            self.refill::<CHARACTERS>(walk, done);
        }
        if R::PAIRS {
            self.pair = lanes.but_not(to_root, done);
        }
    }
}

/// The lowest `count` of the bits that are set.
#[cold]
fn lowest_bits(mut bits: u32, count: usize) -> u32 {
    if count == 0 {
        return 0;
    }
    while bits.count_ones() as usize > count {
        bits &= !(1 << bits.ilog2());
    }
    bits
}
