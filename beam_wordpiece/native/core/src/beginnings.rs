//! With which characters a token begins: a word that begins with another one is unknown, and has its id when it is
//! looked up.

use crate::automaton::Parameters;
use crate::code_points::CODE_POINTS;
use crate::double_array::{Codes, ROOT_UNIT, Unit};
use crate::transducer::Transition;
use crate::trie::NONE;
use crate::utf8;

/// A bit for each code point, up to the last that has one, and some zeros.
#[derive(Debug)]
pub struct Beginnings(Vec<u64>);

impl Beginnings {
    /// The children of `r` in a double array that was checked: one of the two is empty. Where Hangul syllables are split,
    /// what counts of one is its first jamo. Where an unknown character is unknown by itself, that a word begins with one
    /// says nothing of the word: every character counts.
    pub fn new(units: &[Unit], transitions: &[Transition], codes: Codes<'_>, parameters: &Parameters) -> Beginnings {
        let root = ROOT_UNIT as usize;
        // A transducer with a list to write at `r`, be it empty, goes on where it has no transition for a character.
        let goes_on = transitions.get(root).is_some_and(|transition| transition.rest != NONE);
        if parameters.has_stretches() || goes_on {
            return Beginnings(vec![u64::MAX]);
        }
        let base = units.get(root).map_or_else(|| transitions[root].base, |unit| unit.base);
        let check = |at: usize| units.get(at).map_or_else(|| transitions[at].check, |unit| unit.check);
        let begins = |c: u32| check((base ^ codes.code(c)) as usize) == base;
        let mut bits = vec![0; CODE_POINTS / 64 + 1];
        let mut add = |c: u32| bits[c as usize / 64] |= 1 << (c % 64);
        (0..0x1_0000).chain(codes.used_supplementary()).filter(|&c| begins(c)).for_each(&mut add);
        if parameters.split_hangul != 0 {
            let first = |c: u32| utf8::hangul_jamo(c).0[0];
            (0..0x1_0000).filter(|&c| utf8::is_hangul_syllable(c) && begins(first(c))).for_each(add);
        }
        let last = bits.iter().rposition(|&bits| bits != 0);
        bits.truncate(last.map_or(0, |last| last + 1) + 1);
        Beginnings(bits)
    }

    /// All bits, four bytes at least; what is behind the last of them is the last.
    pub fn bits(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }

    /// Whether a token begins with this character.
    #[inline(always)]
    pub fn has(&self, c: u32) -> bool {
        // Beyond the last is what no token begins with.
        let group = (c as usize / 64).min(self.0.len() - 1);
        self.0[group] >> (c % 64) & 1 != 0
    }
}
