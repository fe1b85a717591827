//! Where two characters of ASCII lead from a root of the trie: a walk need not take these steps one by one.
//!
//! Derived from the trie when it is first needed, so the two cannot disagree.

use crate::automaton::Tables;
use crate::double_array::{ROOT_UNIT, Unit};
use crate::trie::NONE;
use std::sync::OnceLock;

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
pub const fn place(first: u32, second: u32) -> u32 {
    first * ASCII + second
}

/// For each pair of ASCII characters the deepest node that they lead to from one root.
#[derive(Debug)]
pub struct Pairs(Box<[Step; PAIRS]>);

impl Pairs {
    fn new(units: &[Unit], root: u32) -> Pairs {
        let mut steps = Box::new([step(root, 0); PAIRS]);
        steps[END as usize] = step(NONE, 1);
        each(units, root, |place, unit, characters| steps[place] = step(unit, characters));
        Pairs(steps)
    }

    /// The step from each place.
    pub fn steps(&self) -> &[Step; PAIRS] {
        &self.0
    }
}

/// Where both characters lead to the unit of [`LanePairs`].
pub const BOTH: u32 = 1 << 31;

/// The same as lanes read it: the unit, and [`BOTH`].
#[derive(Debug)]
pub struct LanePairs(Box<[u32; PAIRS]>);

impl LanePairs {
    fn new(units: &[Unit], root: u32) -> LanePairs {
        let mut led = Box::new([root; PAIRS]);
        each(units, root, |place, unit, characters| led[place] = unit | if characters == 2 { BOTH } else { 0 });
        LanePairs(led)
    }

    /// The number of each place, as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0[..])
    }
}

/// Pairs of an automaton, made when a level or a kind of text first needs them.
#[derive(Debug, Default)]
pub struct Starts {
    root: OnceLock<Pairs>,
    suffix_root: OnceLock<Pairs>,
    in_lanes: OnceLock<LanePairs>,
}

impl<'a> Tables<'a> {
    /// From `r`.
    #[inline(always)]
    pub fn pairs_from_root(&self) -> &'a Pairs {
        self.starts.root.get_or_init(|| Pairs::new(self.units, ROOT_UNIT))
    }

    /// From `r#`.
    #[inline(always)]
    pub fn pairs_from_suffix_root(&self) -> &'a Pairs {
        self.starts.suffix_root.get_or_init(|| Pairs::new(self.units, self.parameters.suffix_root))
    }

    /// From `r#`, for lanes.
    #[inline(always)]
    pub fn lane_pairs(&self) -> &'a LanePairs {
        self.starts.in_lanes.get_or_init(|| LanePairs::new(self.units, self.parameters.suffix_root))
    }
}

/// Give the place of each pair whose first character leads somewhere, the unit, and how many of the two lead to it.
fn each(units: &[Unit], root: u32, mut give: impl FnMut(usize, u32, u32)) {
    for first in 1..ASCII {
        let Some(node) = child(units, root, first) else { continue };
        for second in 0..ASCII {
            let grandchild = child(units, node, second).filter(|_| second != 0);
            let (unit, characters) = grandchild.map_or((node, 1), |unit| (unit, 2));
            give(place(first, second) as usize, unit, characters);
        }
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
        let root = Pairs::new(&units, ROOT_UNIT);
        let lead = |first: char, second: char| root.steps()[place(first as u32, second as u32) as usize];
        assert_eq!(lead('a', 'b'), step(b, 2));
        assert_eq!([lead('a', 'a'), lead('a', '\0')], [step(a, 1); 2]);
        assert_eq!([lead('b', 'a'), root.steps()[NO_PAIR as usize]], [step(ROOT_UNIT, 0); 2]);
        assert_eq!(root.steps()[END as usize], step(NONE, 1));
        let LanePairs(lanes) = LanePairs::new(&units, ROOT_UNIT);
        let lead = |first: char, second: char| lanes[place(first as u32, second as u32) as usize];
        assert_eq!([lead('a', 'b'), lead('a', 'a'), lead('a', '\0')], [b | BOTH, a, a]);
        assert_eq!([lead('b', 'a'), lanes[NO_PAIR as usize]], [ROOT_UNIT; 2]);
        assert_eq!(lanes[END as usize], ROOT_UNIT);
    }
}
