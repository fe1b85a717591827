//! A split into the fewest tokens, by dynamic programming over the trie, from the end of a word or stretch to its
//! beginning: the length of the text times that of the longest token.

use crate::automaton::Tables;
use crate::double_array::{Packed, ROOT_UNIT, Unit};
use crate::failure::UNKNOWN_CHARACTER;
use crate::matching::Matching;
use crate::options::Unknown;
use crate::unknown::Sink;
use crate::whole::{Symbol, put};
use std::ops::Range;

/// What an unknown character counts as where none may be: more than all tokens of a text.
const FORBIDDEN: u64 = 1 << 32;

/// The best split of the text from one character to the end.
#[derive(Debug, Clone, Copy)]
struct Best {
    /// Its tokens, each unknown character counting as so many as it costs.
    cost: u64,
    /// Its first token, or [`UNKNOWN_CHARACTER`].
    token: u32,
    /// Characters of that.
    length: u32,
}

/// The buffer of best splits.
#[derive(Debug, Default)]
pub struct Fewest {
    best: Vec<Best>,
}

impl Fewest {
    /// Split a word or stretch. Of the splits with the fewest tokens the one is taken whose first token is longest, then
    /// the second, and so on; of a token and an unknown character the token.
    pub fn run(
        &mut self,
        tables: &Tables<'_>,
        matching: &Matching,
        symbols: &[Symbol],
        part: Range<usize>,
        sink: &mut Sink<'_>,
    ) {
        let whole_word = matching.unknown == Unknown::Word;
        if whole_word && symbols.len() > tables.parameters.max_input_chars_per_word as usize {
            return sink.unknown_word(part);
        }
        let may_be_unknown = !matches!(matching.unknown, Unknown::Word | Unknown::Error);
        let cost = if may_be_unknown { u64::from(matching.unknown_cost) } else { FORBIDDEN };
        self.find(tables, symbols, cost);
        if whole_word && self.best[0].cost >= FORBIDDEN {
            return sink.unknown_word(part);
        }
        let mut at = 0;
        while at < symbols.len() {
            let Best { token, length, .. } = self.best[at];
            let end = at + length as usize;
            put(token, &symbols[at..end], sink);
            at = end;
        }
    }

    /// Find the best split of the rest of the text for each character.
    fn find(&mut self, tables: &Tables<'_>, symbols: &[Symbol], unknown_cost: u64) {
        let nothing = Best { cost: 0, token: UNKNOWN_CHARACTER, length: 0 };
        self.best.clear();
        self.best.resize(symbols.len() + 1, nothing);
        for at in (0..symbols.len()).rev() {
            let mut best = Best { cost: unknown_cost + self.best[at + 1].cost, token: UNKNOWN_CHARACTER, length: 1 };
            let root = if at == 0 { ROOT_UNIT } else { tables.parameters.suffix_root };
            let mut base = tables.units[root as usize].base;
            for (end, symbol) in (at + 1..).zip(&symbols[at..]) {
                let child = base ^ tables.codes.code(symbol.c);
                let unit = tables.units[child as usize];
                if unit.check != base {
                    break;
                }
                base = unit.base;
                let cost = 1 + self.best[end].cost;
                // The later ones are longer.
                if cost <= best.cost
                    && let Some(token) = token_of(unit, tables.parameters.suffix_root)
                {
                    best = Best { cost, token, length: (end - at) as u32 };
                }
            }
            self.best[at] = best;
        }
    }
}

/// The token that a node spells: it is popped alone, and nothing is left.
fn token_of(unit: Unit, suffix_root: u32) -> Option<u32> {
    let pops = Packed(unit.pops);
    let alone = pops.count() == 1 && unit.failure == suffix_root && pops.value() != UNKNOWN_CHARACTER;
    alone.then(|| pops.value())
}
