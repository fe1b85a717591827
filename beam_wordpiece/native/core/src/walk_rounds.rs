//! The matching loop over many words at once, in plain Rust: a round takes one step with each of them.
//!
//! One word after the other, each step waits for the node that the last one led to, and for what was predicted wrongly.
//! Here the steps of a round wait for nothing but their own loads, and no branch depends on what a word finds. The step
//! is that of [`Machine`], except that a failure link to `r#` and two characters from there are one step, and that a word
//! begins behind its first two characters.

use crate::double_array::{Codes, Packed};
use crate::pieces::{Pieces, Work};
use crate::starts::{END, NO_PAIR, PAIRS, Step, place, step};
use crate::trie::NONE;
use crate::walk::{Machine, code, pop, walk_each, walk_one};
use std::hint::select_unpredictable;
use std::ops::Range;

/// Words of a batch: so many that their steps overlap, and so few that what they need stays in the nearest cache.
const BATCH: usize = 128;
/// Of fewer words a round costs more than it saves.
const FEW: usize = 8;
/// Characters of a batch, with one more for the end of each word.
const CHARACTERS: usize = 2048;
/// Characters that are written at once, whether there are as many or not.
const BLOCK: usize = 16;

/// The code of a character, and above its 32 bits the place in [`Pairs`](crate::starts::Pairs) of it and the next one.
type Character = u64;

/// How the characters of a word are written, where there is room for a whole last block; gives their number.
type Put = fn(&Codes<'_>, &[u8], Range<usize>, &mut [Character]) -> usize;

/// Failure pops of a word of the batch.
#[derive(Debug, Clone, Copy, Default)]
struct Pops {
    word: u32,
    packed: u32,
}

/// A batch of words.
#[derive(Debug)]
pub struct Rounds {
    /// The characters of each word, and behind them one that is on no edge.
    characters: [Character; CHARACTERS],
    /// Where each word is: its unit, or NONE when it can go no further, and above that its next character.
    walkers: [Step; BATCH],
    /// The words that are on their way.
    active: [u32; BATCH],
    /// Failure pops in the order of the rounds. A word fails less often than it has characters.
    log: [Pops; CHARACTERS],
    logged: usize,
    /// Where each word ends, with the character behind it: it gets there if it can be split.
    ends: [u32; BATCH],
    /// Where the next piece of each word goes.
    targets: [u32; BATCH],
    /// Fewer words are walked one after the other.
    pub few: usize,
}

impl Default for Rounds {
    fn default() -> Rounds {
        Rounds {
            characters: [0; CHARACTERS],
            walkers: [0; BATCH],
            active: [0; BATCH],
            log: [Pops::default(); CHARACTERS],
            logged: 0,
            ends: [0; BATCH],
            targets: [0; BATCH],
            few: FEW,
        }
    }
}

/// Walk all words of `pieces`.
pub fn walk(machine: &Machine<'_>, pieces: &mut Pieces) {
    let Pieces { ids, firsts, ends, ascii, other, rounds, .. } = pieces;
    rounds.walk_words(machine, ascii, put_ascii, ids, firsts, ends);
    rounds.walk_words(machine, other, put_any, ids, firsts, ends);
}

impl Rounds {
    #[inline(always)]
    fn walk_words(
        &mut self,
        machine: &Machine<'_>,
        work: &Work,
        put: Put,
        ids: &mut [u32],
        firsts: &[u32],
        ends: &mut [u32],
    ) {
        if work.count < self.few {
            return walk_each(machine, work, ids, firsts, ends);
        }
        let (mut next, mut differences) = (0, [0; BATCH]);
        while next < work.count {
            let words = next..self.begin(machine, work, firsts, next, put);
            if words.is_empty() {
                walk_one(machine, work, next, ids, firsts, ends);
                next += 1;
                continue;
            }
            let mut active = words.len();
            while active > 0 {
                self.compare(machine, active, &mut differences);
                active = self.take_steps(machine, active, &differences);
            }
            next = words.end;
            self.write(machine, &work.numbers[words], ids, firsts, ends);
        }
    }

    /// Fill the batch with the words from `first` on; gives the first that found no room.
    #[inline(always)]
    fn begin(&mut self, machine: &Machine<'_>, work: &Work, firsts: &[u32], first: usize, put: Put) -> usize {
        let (codes, starts) = (machine.tables.codes, machine.tables.pairs_from_root().steps());
        let (mut at, mut next) = (0, first);
        while next < work.count.min(first + BATCH) {
            let word = work.starts[next] as usize..work.ends[next] as usize;
            if at + word.len() + BLOCK > CHARACTERS {
                break;
            }
            let (begin, number) = (at, next - first);
            at += put(&codes, machine.bytes, word, &mut self.characters[begin..]);
            self.characters[at] = character(codes.on_no_edge(), END);
            self.walkers[number] = starts[pair(self.characters[begin])] + step(0, begin as u32);
            self.active[number] = number as u32;
            self.targets[number] = firsts[work.numbers[next] as usize];
            (at, next) = (at + 1, next + 1);
            self.ends[number] = at as u32;
        }
        self.logged = 0;
        next
    }

    /// Look for the child of each active word: 0 where it is there. It is a loop of its own, as short as can be, so that
    /// many wait for their nodes at once.
    #[inline(always)]
    fn compare(&self, machine: &Machine<'_>, active: usize, differences: &mut [u32; BATCH]) {
        let units = machine.tables.units;
        for (&word, difference) in self.active[..active.min(BATCH)].iter().zip(differences) {
            let walker = self.walkers[word as usize % BATCH];
            let base = units[walker as u32 as usize].base;
            let child = base ^ self.characters[(walker >> 32) as usize % CHARACTERS] as u32;
            *difference = units[child as usize].check ^ base;
        }
    }

    /// Take a step with each of the active words; gives the number of those that are not at their end.
    #[inline(always)]
    fn take_steps(&mut self, machine: &Machine<'_>, active: usize, differences: &[u32; BATCH]) -> usize {
        let (units, starts) = (machine.tables.units, machine.tables.pairs_from_suffix_root().steps());
        let (mut kept, mut logged) = (0, self.logged);
        for (i, difference) in differences[..active.min(BATCH)].iter().enumerate() {
            let word = self.active[i];
            let is_child = *difference == 0;
            let walker = self.walkers[word as usize % BATCH];
            let character = self.characters[(walker >> 32) as usize % CHARACTERS];
            let unit = &units[walker as u32 as usize];
            // Written whether the word fails or not.
            self.log[logged % CHARACTERS] = Pops { word, packed: unit.pops };
            logged += usize::from(!is_child);
            let restarts = unit.failure == machine.suffix_root;
            let link = select_unpredictable(restarts, starts[pair(character)], step(unit.failure, 0));
            let taken = select_unpredictable(is_child, step(unit.base ^ character as u32, 1), link);
            self.walkers[word as usize % BATCH] = (walker & step(0, u32::MAX)) + taken;
            self.active[kept % BATCH] = word;
            kept += usize::from(taken as u32 != NONE);
        }
        self.logged = logged;
        kept
    }

    /// Write the pieces of the words and where they end.
    #[inline(always)]
    fn write(&mut self, machine: &Machine<'_>, numbers: &[u32], ids: &mut [u32], firsts: &[u32], ends: &mut [u32]) {
        for &Pops { word, packed } in &self.log[..self.logged] {
            let target = &mut self.targets[word as usize % BATCH];
            *target += pop(Packed(packed), machine.tables.pops, &mut ids[*target as usize..]) as u32;
        }
        for (i, &number) in numbers.iter().enumerate() {
            let first = firsts[number as usize];
            let is_known = (self.walkers[i] >> 32) as u32 == self.ends[i];
            ends[number as usize] = if is_known { self.targets[i] } else { first + 1 };
            let id = &mut ids[first as usize];
            *id = if is_known { *id } else { machine.unk_id };
        }
    }
}

#[inline(always)]
fn character(code: u32, pair: u32) -> Character {
    u64::from(pair) << 32 | u64::from(code)
}

/// The place of a character and the next one.
#[inline(always)]
fn pair(character: Character) -> usize {
    (character >> 32) as usize % PAIRS
}

/// See [`Put`], of a word of ASCII.
#[inline(always)]
fn put_ascii(codes: &Codes<'_>, bytes: &[u8], word: Range<usize>, out: &mut [Character]) -> usize {
    // What stands behind the word is written over, so it does not matter what it becomes.
    let put = |byte: u8, next: u8| character(u32::from(byte).min(codes.mask), place(byte.into(), next.into()));
    let text: &[u8; BLOCK + 1] = bytes[word.start..].first_chunk().expect("bytes behind every word");
    let block: &mut [Character; BLOCK] = out.first_chunk_mut().expect("room for a whole block");
    for (i, character) in block.iter_mut().enumerate() {
        *character = put(text[i], text[i + 1]);
    }
    let length = word.len();
    for i in BLOCK..length {
        out[i] = put(bytes[word.start + i], bytes[word.start + i + 1]);
    }
    out[length - 1] = put(bytes[word.end - 1], 0);
    length
}

/// See [`Put`], of any word.
#[inline(always)]
fn put_any(codes: &Codes<'_>, bytes: &[u8], word: Range<usize>, out: &mut [Character]) -> usize {
    let (mut at, mut count) = (word.start, 0);
    while at < word.end {
        let (code, length) = code(codes, bytes, at);
        // Most of its characters are in no pair.
        out[count] = character(code, NO_PAIR);
        (at, count) = (at + length, count + 1);
    }
    count
}
