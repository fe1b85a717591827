//! The third pass: split words that are not in the vocabulary, by the matching loop of the paper (Algorithm 1).

use crate::automaton::Tables;
use crate::double_array::{Codes, Packed, ROOT_UNIT};
use crate::failure::UNKNOWN_CHARACTER;
use crate::pieces::{FROM_ROOT, NUMBER, Pieces, WHOLE, Work};
use crate::trie::NONE;
use crate::utf8;
use crate::walk_log::put_places;
use std::ops::Range;

impl Pieces {
    /// Walk all words one after the other, by their characters.
    pub fn walk_each_by_characters(&mut self, machine: &Machine<'_>) {
        let Pieces { ids, places, firsts, ends, ascii, other, .. } = self;
        let (bytes, codes) = (machine.bytes, machine.tables.codes);
        for work in [ascii, other] {
            let words = work.starts.iter().zip(work.ends.iter()).zip(work.numbers.iter());
            for ((&start, &end), &number) in words.take(work.count) {
                debug_assert_eq!(number & !NUMBER, FROM_ROOT | WHOLE, "segments are for lanes");
                let first = firsts[(number & NUMBER) as usize] as usize;
                let (ids, places) = (&mut ids[first..], &mut places[first..]);
                let decode = |at: usize| code(&codes, bytes, at);
                let count = machine.match_characters(start as usize..end as usize, decode, ids, places);
                ends[(number & NUMBER) as usize] = (first + count) as u32;
            }
        }
    }
}

/// Walk words one after the other.
pub fn walk_each(machine: &Machine<'_>, work: &Work, ids: &mut [u32], firsts: &[u32], ends: &mut [u32]) {
    (0..work.count).for_each(|word| walk_one(machine, work, word, ids, firsts, ends));
}

/// Walk one word.
#[inline(always)]
pub fn walk_one(machine: &Machine<'_>, work: &Work, word: usize, ids: &mut [u32], firsts: &[u32], ends: &mut [u32]) {
    let (bytes, codes) = (machine.bytes, machine.tables.codes);
    let decode = |at: usize| code(&codes, bytes, at);
    work.one(word, ids, firsts, ends, machine.unk_id, |word, out| machine.match_loop(word, decode, out));
}

/// The code of an ASCII character at a place of a chunk, and its length.
#[inline(always)]
pub fn ascii_code(codes: &Codes<'_>, bytes: &[u8], at: usize) -> (u32, usize) {
    (u32::from(bytes[at]).min(codes.mask), 1)
}

/// The code of any character at a place, behind which there are readable bytes, and its length.
#[inline(always)]
pub fn code(codes: &Codes<'_>, bytes: &[u8], at: usize) -> (u32, usize) {
    let (c, length) = utf8::decode_readable(bytes[at..].first_chunk().expect("bytes behind every word"));
    (codes.code(c), length)
}

/// The automaton and the text that it runs over.
#[derive(Debug)]
pub struct Machine<'a> {
    /// The tables.
    pub tables: &'a Tables<'a>,
    /// The text; there are readable bytes behind every word.
    pub bytes: &'a [u8],
    /// Where the children of `r` are.
    pub root_base: u32,
    /// Where the children of `r#` are.
    pub suffix_base: u32,
    /// The unit of `r#`.
    pub suffix_root: u32,
    /// What a word becomes that cannot be split.
    pub unk_id: u32,
}

impl<'a> Machine<'a> {
    /// The automaton of these tables over a text.
    pub fn new(tables: &'a Tables<'a>, bytes: &'a [u8]) -> Machine<'a> {
        let parameters = tables.parameters;
        let base = |unit: u32| tables.units[unit as usize].base;
        Machine {
            tables,
            bytes,
            root_base: base(ROOT_UNIT),
            suffix_base: base(parameters.suffix_root),
            suffix_root: parameters.suffix_root,
            unk_id: parameters.unk_id,
        }
    }

    /// MatchLoop of Algorithm 1 over one word, to its end: the number of pieces, or None where it cannot be split.
    ///
    /// Every failure transition pops a token at least, so there are at most three steps a character.
    #[inline(always)]
    fn match_loop(&self, word: Range<usize>, decode: impl Fn(usize) -> (u32, usize), out: &mut [u32]) -> Option<usize> {
        let units = self.tables.units;
        let (mut node, mut base, mut at, mut count) = (ROOT_UNIT, self.root_base, word.start, 0);
        while at < word.end {
            let (code, length) = decode(at);
            at += length;
            loop {
                let child = &units[(base ^ code) as usize];
                if child.check == base {
                    (node, base) = (base ^ code, child.base);
                    break;
                }
                node = self.fail(node, &mut count, out)?;
                base = units[node as usize].base;
            }
        }
        while node != self.suffix_root {
            node = self.fail(node, &mut count, out)?;
        }
        Some(count)
    }

    /// The same where an unknown character is popped by itself. `places`: where tokens end, 0 where that is not known.
    #[inline(always)]
    fn match_characters(
        &self,
        word: Range<usize>,
        decode: impl Fn(usize) -> (u32, usize),
        out: &mut [u32],
        places: &mut [u32],
    ) -> usize {
        let units = self.tables.units;
        let (mut node, mut base, mut at, mut count) = (ROOT_UNIT, self.root_base, word.start, 0);
        while at < word.end {
            let (code, length) = decode(at);
            loop {
                let child = &units[(base ^ code) as usize];
                if child.check == base {
                    (node, base) = (base ^ code, child.base);
                    break;
                }
                let before = count;
                if let Some(link) = self.fail(node, &mut count, out) {
                    let known = link == self.suffix_root;
                    put_places(&mut places[before..count], if known { at as u32 } else { 0 });
                    (node, base) = (link, units[link as usize].base);
                } else {
                    (out[count], places[count]) = (UNKNOWN_CHARACTER, (at + length) as u32);
                    count += 1;
                    (node, base) = (self.suffix_root, self.suffix_base);
                    break;
                }
            }
            at += length;
        }
        loop {
            let before = count;
            let Some(link) = self.fail(node, &mut count, out) else { return count };
            let known = link == self.suffix_root;
            put_places(&mut places[before..count], if known { at as u32 } else { 0 });
            node = link;
        }
    }

    /// The failure link of a node, if it has one; its pops go behind the first `count` ids.
    #[inline(always)]
    fn fail(&self, node: u32, count: &mut usize, out: &mut [u32]) -> Option<u32> {
        let unit = &self.tables.units[node as usize];
        if unit.failure == NONE {
            return None;
        }
        *count += pop(Packed(unit.pops), self.tables.pops, &mut out[*count..]);
        Some(unit.failure)
    }
}

/// Write failure pops; gives their number.
#[inline(always)]
pub fn pop(packed: Packed, pool: &[u32], out: &mut [u32]) -> usize {
    let (count, place) = (packed.count() as usize, packed.value() as usize);
    match packed.count() {
        // Mostly there is one.
        0 | 1 => {
            out[0] = packed.value();
            count
        }
        Packed::LONG => pop_long(packed, pool, out),
        _ => {
            out[..count].copy_from_slice(&pool[place..place + count]);
            count
        }
    }
}

/// Write a long list: its own tokens come after those of the list that it begins with.
#[cold]
fn pop_long(packed: Packed, pool: &[u32], out: &mut [u32]) -> usize {
    let mut list = packed;
    while list.count() == Packed::LONG {
        let place = list.value() as usize;
        let beginning = Packed(pool[place + 1]);
        let (length, shared) = (list.length(pool), beginning.length(pool));
        out[shared..length].copy_from_slice(&pool[place + 2..place + 2 + length - shared]);
        list = beginning;
    }
    pop(list, pool, out);
    packed.length(pool)
}
