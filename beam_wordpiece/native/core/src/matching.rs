//! How words and stretches of text are matched where that is not BERT's way: one number of the automaton file.

use crate::options::{MOST_UNKNOWN_COST, Options, Segmentation, Unknown};

/// Bit 0 of the number: words or stretches are matched by [`crate::stretch`]; nothing else of it is there otherwise.
const IN_USE: u32 = 1;
/// Bits 1 to 3: what becomes of unknown characters.
const UNKNOWN: u32 = 1;
/// Bit 4.
const FEWEST: u32 = 1 << 4;
/// Bit 5.
const BACKWARD: u32 = 1 << 5;
/// Bits 16 to 31: what an unknown character counts as, where the fewest tokens are wanted.
const COST: u32 = 16;

/// What is unknown, by its number in the file.
const UNKNOWNS: [Unknown; 6] =
    [Unknown::Character, Unknown::Run, Unknown::Byte, Unknown::Error, Unknown::Word, Unknown::CodePoint];

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matching {
    /// What becomes of unknown characters.
    pub unknown: Unknown,
    /// Which split is taken.
    pub segmentation: Segmentation,
    /// Tokens are matched from the end.
    pub backward: bool,
    /// So many tokens an unknown character counts as, where the fewest are wanted and it may be one; otherwise 1.
    pub unknown_cost: u32,
}

impl Matching {
    /// Tokens from the left, and an unknown token for each character that begins none.
    pub const CHARACTERS: Matching =
        Matching { unknown: Unknown::Character, segmentation: Segmentation::Greedy, backward: false, unknown_cost: 1 };

    /// What the options ask for; None where that is BERT's way.
    pub fn of(options: &Options) -> Option<Matching> {
        let Options { unknown, segmentation, backward, unknown_cost, .. } = *options;
        if unknown == Unknown::Word && segmentation == Segmentation::Greedy {
            return None;
        }
        let counts = segmentation == Segmentation::Fewest && !matches!(unknown, Unknown::Word | Unknown::Error);
        Some(Matching { unknown, segmentation, backward, unknown_cost: if counts { unknown_cost } else { 1 } })
    }

    /// Whether a token is known only when the word or stretch has ended.
    pub fn is_of_whole(&self) -> bool {
        self.backward || self.segmentation == Segmentation::Fewest
    }

    /// The number that stands for it.
    pub fn to_bits(self) -> u32 {
        let unknown = UNKNOWNS.iter().position(|&unknown| unknown == self.unknown).unwrap_or_default() as u32;
        let (fewest, backward) = (self.segmentation == Segmentation::Fewest, self.backward);
        IN_USE
            | unknown << UNKNOWN
            | if fewest { FEWEST | self.unknown_cost << COST } else { 0 }
            | if backward { BACKWARD } else { 0 }
    }

    /// What a number stands for; None where it stands for nothing.
    pub fn from_bits(bits: u32) -> Option<Matching> {
        let fewest = bits & FEWEST != 0;
        let matching = Matching {
            unknown: *UNKNOWNS.get((bits >> UNKNOWN & 7) as usize)?,
            segmentation: if fewest { Segmentation::Fewest } else { Segmentation::Greedy },
            backward: bits & BACKWARD != 0,
            unknown_cost: if fewest { bits >> COST & MOST_UNKNOWN_COST } else { 1 },
        };
        let fits = matching.unknown_cost > 0
            && !(matching.backward && fewest)
            && (fewest || matching.unknown != Unknown::Word)
            && matching.to_bits() == bits;
        fits.then_some(matching)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_for_what_they_were_made_of_and_others_for_nothing() {
        let mut found = 0;
        for bits in (0..1 << 16).flat_map(|low| [low, low | 7 << COST, low | MOST_UNKNOWN_COST << COST]) {
            if let Some(matching) = Matching::from_bits(bits) {
                assert_eq!(matching.to_bits(), bits);
                found += 1;
            }
        }
        // Greedy, from the left and from the right, of whatever is unknown but the word; the fewest with two costs.
        assert_eq!(found, 2 * 5 + 6 * 2);
        // What version 3 of the file has.
        assert_eq!(Matching::from_bits(1), Some(Matching::CHARACTERS));
    }
}
