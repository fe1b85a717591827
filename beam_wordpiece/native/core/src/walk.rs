//! The third pass: split words that are not in the vocabulary, by the matching loop of the paper (Algorithm 1).

use crate::automaton::Tables;
use crate::chunk::{Chunk, TOKEN_MARK};
use crate::double_array::{Packed, ROOT_UNIT};
use crate::simd::Simd;
use crate::trie::NONE;
use crate::utf8;

/// Bytes behind the text that decoding may look at, at least.
const SLACK: usize = 64;

/// The pieces of the words that were not found.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Ids; each word has a stretch of its own, with room for as many pieces as it has bytes and one more.
    pub ids: Vec<u32>,
    /// Where the stretch of each word begins.
    pub firsts: Vec<u32>,
    /// Number of pieces of each word.
    pub counts: Vec<u32>,
    /// Words that have to be walked.
    pub work: Work,
}

/// Words to be walked, field by field, so that several can be loaded at once.
#[derive(Debug, Default)]
pub struct Work {
    /// First byte in the buffer of the chunk.
    pub starts: Vec<u32>,
    /// End in the buffer.
    pub ends: Vec<u32>,
    /// Which of the words that were not found it is.
    pub numbers: Vec<u32>,
}

impl Work {
    fn push(&mut self, start: usize, end: usize, number: usize) {
        self.starts.push(start as u32);
        self.ends.push(end as u32);
        self.numbers.push(number as u32);
    }
}

impl Pieces {
    /// The pieces of a word, by its number among those that were not found.
    #[inline(always)]
    pub fn of(&self, number: usize) -> &[u32] {
        let first = self.firsts[number] as usize;
        &self.ids[first..first + self.counts[number] as usize]
    }

    /// Split the words of a chunk that these numbers name.
    #[inline(always)]
    pub fn run<S: Simd>(&mut self, simd: S, tables: &Tables<'_>, chunk: &mut Chunk, misses: &[u32]) {
        self.prepare(tables, chunk, misses);
        simd.walk(&Machine::new(tables, &chunk.bytes), self);
    }

    /// Decide the words that need no walk; split the Hangul syllables of the others, behind the text of the chunk.
    fn prepare(&mut self, tables: &Tables<'_>, chunk: &mut Chunk, misses: &[u32]) {
        let room = chunk.len + misses.len() + SLACK;
        if self.ids.len() < room {
            self.ids.resize(room * 2, 0);
        }
        self.firsts.clear();
        self.counts.clear();
        let Work { starts, ends, numbers } = &mut self.work;
        [starts, ends, numbers].into_iter().for_each(Vec::clear);
        let limit = tables.parameters.max_input_chars_per_word as usize;
        let hangul = tables.parameters.split_hangul != 0;
        let mut free = chunk.len + SLACK;
        for (number, &miss) in misses.iter().enumerate() {
            let (start, end) = (chunk.starts[miss as usize] as usize, chunk.ends[miss as usize] as usize);
            let first = start + number;
            self.firsts.push(first as u32);
            self.counts.push(1);
            let word = &chunk.bytes[start..end];
            // A character has a byte at least, also a jamo of a syllable: only long words need counting.
            if let [TOKEN_MARK, id @ ..] = word {
                self.ids[first] = u32::from_le_bytes(id.try_into().unwrap_or_default());
            } else if word.len() > limit && characters(word, hangul) > limit {
                self.ids[first] = tables.parameters.unk_id;
            } else if hangul && word.iter().any(|byte| (0xEA..=0xED).contains(byte)) {
                let end = chunk.split_syllables(start..end, free);
                self.work.push(free, end, number);
                free = end;
            } else {
                self.work.push(start, end, number);
            }
        }
        chunk.ensure(free + SLACK);
    }

    /// Walk the words one after the other, from this one on.
    pub fn walk_each(&mut self, machine: &Machine<'_>, from: usize) {
        for i in from..self.work.numbers.len() {
            let number = self.work.numbers[i] as usize;
            let out = &mut self.ids[self.firsts[number] as usize..];
            self.counts[number] = match machine.match_loop(self.work.starts[i], self.work.ends[i], out) {
                Some(count) => count as u32,
                None => {
                    out[0] = machine.unk_id;
                    1
                }
            };
        }
    }
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
    fn new(tables: &'a Tables<'a>, bytes: &'a [u8]) -> Machine<'a> {
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
    fn match_loop(&self, start: u32, end: u32, out: &mut [u32]) -> Option<usize> {
        let units = self.tables.units;
        let (mut node, mut at, mut count) = (ROOT_UNIT, start as usize, 0);
        let mut fail = |node: &mut u32| {
            let unit = &units[*node as usize];
            if unit.failure == NONE {
                return None;
            }
            count += pop(Packed(unit.pops), self.tables.pops, &mut out[count..]);
            *node = unit.failure;
            Some(count)
        };
        while at < end as usize {
            let (c, length) = utf8::decode(self.bytes, at);
            at += length;
            let code = self.tables.codes.code(c);
            loop {
                let base = units[node as usize].base;
                let child = base ^ code;
                if units[child as usize].check == base {
                    node = child;
                    break;
                }
                fail(&mut node)?;
            }
        }
        while node != self.suffix_root {
            fail(&mut node)?;
        }
        Some(count)
    }
}

/// Number of characters, a Hangul syllable being two or three where it is split.
fn characters(word: &[u8], hangul: bool) -> usize {
    if !hangul {
        return word.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    }
    let (mut at, mut count) = (0, 0);
    while at < word.len() {
        let (c, length) = utf8::decode(word, at);
        at += length;
        count += if utf8::is_hangul_syllable(c) { utf8::hangul_jamo(c).1 } else { 1 };
    }
    count
}

/// Write failure pops; gives their number.
#[inline(always)]
pub fn pop(packed: Packed, pool: &[u32], out: &mut [u32]) -> usize {
    let (count, place) = (packed.count() as usize, packed.value() as usize);
    match packed.count() {
        0 => 0,
        1 => {
            out[0] = packed.value();
            1
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
