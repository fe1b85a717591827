//! Where two characters of ASCII lead from a root of the trie: a walk need not take these steps one by one.
//!
//! Derived from the trie when it is first needed, so the two cannot disagree.

use crate::automaton::Tables;
use crate::double_array::{ROOT_UNIT, Unit};
use crate::trie::NONE;

/// Codes of ASCII.
const ASCII: u32 = 128;
/// Places in [`Pairs`].
pub const PAIRS: usize = (ASCII * ASCII) as usize;
/// The place of what is no pair of ASCII characters: it leads to the root itself.
pub const NO_PAIR: u32 = 0;
/// The place of what stands behind a word: over that it leads nowhere.
pub const END: u32 = 1;

/// A unit in the low 32 bits, and above them the number of characters on the way to it.
pub type Step = u64;

/// A step over some characters to a unit.
#[inline(always)]
pub const fn step(unit: u32, characters: u32) -> Step {
    ((characters as u64) << 32) | unit as u64
}

/// The place in [`Pairs`] of two characters of ASCII, of which the first is not zero. The second one may be missing (0).
#[inline(always)]
pub fn place(first: u32, second: u32) -> u32 {
    first * ASCII + second
}

/// For each pair of ASCII characters the deepest node that they lead to from one root.
#[derive(Debug)]
pub struct Pairs(Box<[Step; PAIRS]>);

impl Pairs {
    fn new(units: &[Unit], root: u32) -> Pairs {
        let mut steps = Box::new([step(root, 0); PAIRS]);
        steps[END as usize] = step(NONE, 1);
        for first in 1..ASCII {
            let Some(node) = child(units, root, first) else { continue };
            for second in 0..ASCII {
                let grandchild = child(units, node, second).filter(|_| second != 0);
                steps[place(first, second) as usize] = grandchild.map_or(step(node, 1), |unit| step(unit, 2));
            }
        }
        Pairs(steps)
    }

    /// The step from each place.
    pub fn steps(&self) -> &[Step; PAIRS] {
        &self.0
    }
}

/// See the module.
#[derive(Debug)]
pub struct Starts {
    /// From `r`.
    pub root: Pairs,
    /// From `r#`.
    pub suffix_root: Pairs,
}

impl Starts {
    /// Those of a double array, which may be empty.
    pub fn new(units: &[Unit], suffix_root: u32) -> Starts {
        Starts { root: Pairs::new(units, ROOT_UNIT), suffix_root: Pairs::new(units, suffix_root) }
    }
}

impl<'a> Tables<'a> {
    /// Where walks begin: made when a level without lanes walks first, since no other needs them.
    #[inline(always)]
    pub fn starts(&self) -> &'a Starts {
        self.first_steps.get_or_init(|| Starts::new(self.units, self.parameters.suffix_root))
    }
}

fn child(units: &[Unit], node: u32, code: u32) -> Option<u32> {
    let base = units.get(node as usize)?.base;
    let child = base ^ code;
    (units.get(child as usize)?.check == base).then_some(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_has_the_place_of_another() {
        let mut places: Vec<u32> = (1..ASCII).flat_map(|a| (0..ASCII).map(move |b| place(a, b))).collect();
        places.extend([NO_PAIR, END]);
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]) && places[places.len() - 1] < PAIRS as u32);
    }

    #[test]
    fn a_step_goes_as_far_as_there_are_nodes() {
        // r at 1 with the child `a` and that one with the child `b`; bases 256 and 512.
        let mut units = vec![Unit { check: NONE, base: 0, failure: NONE, pops: 0 }; 1024];
        let (a, b) = (256 ^ u32::from(b'a'), 512 ^ u32::from(b'b'));
        units[ROOT_UNIT as usize].base = 256;
        (units[a as usize].check, units[a as usize].base) = (256, 512);
        units[b as usize].check = 512;
        let Starts { root, .. } = Starts::new(&units, ROOT_UNIT);
        let lead = |first: char, second: char| root.steps()[place(first as u32, second as u32) as usize];
        assert_eq!(lead('a', 'b'), step(b, 2));
        assert_eq!([lead('a', 'a'), lead('a', '\0')], [step(a, 1); 2]);
        assert_eq!([lead('b', 'a'), root.steps()[NO_PAIR as usize]], [step(ROOT_UNIT, 0); 2]);
        assert_eq!(root.steps()[END as usize], step(NONE, 1));
    }
}
