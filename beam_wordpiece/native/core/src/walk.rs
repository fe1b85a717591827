//! The third pass: split words that are not in the vocabulary, by the matching loop of the paper (Algorithm 1).

use crate::automaton::Tables;
use crate::chunk::{Chunk, TOKEN_MARK};
use crate::double_array::{Packed, ROOT_UNIT};
use crate::trie::NONE;
use crate::utf8;

/// The pieces of the words that were not found.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Ids of the pieces of all these words, one word after the other.
    pub ids: Vec<u32>,
    /// End of the pieces of each word.
    pub ends: Vec<u32>,
    /// A word with its Hangul syllables split.
    jamo: Vec<u8>,
}

impl Pieces {
    /// Split the words of a chunk that these numbers name.
    pub fn run(&mut self, tables: &Tables<'_>, chunk: &Chunk, misses: &[u32]) {
        self.ids.clear();
        self.ends.clear();
        for &miss in misses {
            let (start, end) = (chunk.starts[miss as usize], chunk.ends[miss as usize]);
            self.split(tables, &chunk.bytes[start as usize..end as usize]);
            self.ends.push(self.ids.len() as u32);
        }
    }

    /// Append the pieces of one word, or the unknown token.
    fn split(&mut self, tables: &Tables<'_>, word: &[u8]) {
        if let [TOKEN_MARK, id @ ..] = word {
            self.ids.push(u32::from_le_bytes(id.try_into().unwrap_or_default()));
            return;
        }
        let first = self.ids.len();
        let limit = tables.parameters.max_input_chars_per_word as usize;
        let hangul = tables.parameters.split_hangul != 0;
        // A character has a byte at least, also a jamo of a syllable: only long words need counting.
        let too_long = word.len() > limit && characters(word, hangul) > limit;
        let matched = !too_long
            && if hangul && split_syllables(word, &mut self.jamo) {
                match_loop(tables, &self.jamo, &mut self.ids)
            } else {
                match_loop(tables, word, &mut self.ids)
            };
        if !matched {
            self.ids.truncate(first);
            self.ids.push(tables.parameters.unk_id);
        }
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

/// Write a word with its Hangul syllables split to `jamo`; false, and nothing is written, where it has none.
fn split_syllables(word: &[u8], jamo: &mut Vec<u8>) -> bool {
    if !word.iter().any(|byte| (0xEA..=0xED).contains(byte)) {
        return false;
    }
    jamo.clear();
    let mut at = 0;
    while at < word.len() {
        let (c, length) = utf8::decode(word, at);
        at += length;
        let (parts, n) = if utf8::is_hangul_syllable(c) { utf8::hangul_jamo(c) } else { ([c, 0, 0], 1) };
        for &part in &parts[..n] {
            let (bytes, n) = utf8::encode(part);
            jamo.extend_from_slice(&bytes[..n]);
        }
    }
    true
}

/// MatchLoop of Algorithm 1 over one word, to its end; false where the word cannot be split.
///
/// Every failure transition pops a token at least, so there are at most three steps a character.
fn match_loop(tables: &Tables<'_>, word: &[u8], ids: &mut Vec<u32>) -> bool {
    let units = tables.units;
    let suffix_root = tables.parameters.suffix_root;
    let mut node = ROOT_UNIT;
    let mut at = 0;
    while at < word.len() {
        let (c, length) = utf8::decode(word, at);
        at += length;
        let code = tables.codes.code(c);
        loop {
            let unit = &units[node as usize];
            let child = unit.base ^ code;
            if units[child as usize].check == unit.base {
                node = child;
                break;
            }
            if unit.failure == NONE {
                return false;
            }
            pop(Packed(unit.pops), tables.pops, ids);
            node = unit.failure;
        }
    }
    while node != suffix_root {
        let unit = &units[node as usize];
        if unit.failure == NONE {
            return false;
        }
        pop(Packed(unit.pops), tables.pops, ids);
        node = unit.failure;
    }
    true
}

/// Append failure pops.
#[inline(always)]
fn pop(packed: Packed, pool: &[u32], ids: &mut Vec<u32>) {
    let place = packed.value() as usize;
    match packed.count() {
        0 => {}
        1 => ids.push(packed.value()),
        Packed::LONG => pop_long(packed, pool, ids),
        count => ids.extend_from_slice(&pool[place..place + count as usize]),
    }
}

/// Append a long list: its own tokens come after those of the list that it begins with.
#[cold]
fn pop_long(packed: Packed, pool: &[u32], ids: &mut Vec<u32>) {
    let first = ids.len();
    ids.resize(first + packed.length(pool), 0);
    let mut list = packed;
    while list.count() == Packed::LONG {
        let place = list.value() as usize;
        let beginning = Packed(pool[place + 1]);
        let (length, shared) = (list.length(pool), beginning.length(pool));
        ids[first + shared..first + length].copy_from_slice(&pool[place + 2..place + 2 + length - shared]);
        list = beginning;
    }
    let rest = list.length(pool);
    match rest {
        0 => {}
        1 => ids[first] = list.value(),
        _ => ids[first..first + rest].copy_from_slice(&pool[list.value() as usize..list.value() as usize + rest]),
    }
}
