//! What makes a trie, or a transducer, from a file safe to run, whatever bytes it was made of.

use crate::automaton::Parameters;
use crate::code_points::CODE_POINTS;
use crate::double_array::{Codes, MOST_UNITS, POOL_PADDING, Packed, ROOT_UNIT, Unit};
use crate::transducer::{self, Transition};
use crate::trie::NONE;
use std::collections::HashSet;

/// Check the one that there is.
pub fn validate_layout(
    units: &[Unit],
    transitions: &[Transition],
    pops: &[u32],
    codes: &Codes<'_>,
    parameters: &Parameters,
) -> Result<(), String> {
    validate_codes(codes)?;
    match (units, transitions) {
        (units, []) => {
            validate_units(units, pops, parameters)?;
            validate_edges(units.iter().map(|unit| unit.check), codes)
        }
        ([], transitions) => {
            transducer::validate(transitions, pops, parameters)?;
            validate_edges(transitions.iter().map(|transition| transition.check), codes)
        }
        _ => Err("it has failure links and a transducer".into()),
    }
}

/// Check that every supplementary code point has a code.
fn validate_codes(codes: &Codes<'_>) -> Result<(), String> {
    let blocks = codes.codes.len() / 256;
    let fits = codes.codes.len().is_multiple_of(256)
        && codes.index.len() == (CODE_POINTS - 0x1_0000) / 256
        && codes.index.iter().all(|&block| usize::from(block) < blocks);
    fits.then_some(()).ok_or_else(|| "the codes of the trie have a wrong size".into())
}

/// Check that no edge has a code that no character has: one that is on no edge ends every word of a walk in rounds.
fn validate_edges(checks: impl Iterator<Item = u32>, codes: &Codes<'_>) -> Result<(), String> {
    let mut edges = (0u32..).zip(checks).filter(|&(_, check)| check != NONE).map(|(unit, check)| unit ^ check);
    let none = codes.on_no_edge();
    let fit = edges.all(|code| code <= codes.mask && code != none);
    fit.then_some(()).ok_or_else(|| "an edge of the trie has a code that no character has".into())
}

/// Check that the matcher ends and stays inside: a child is one deeper than its parent, a failure link leads to a
/// smaller depth, and a node pops at most as many tokens as the link gives up characters. A node without a link, at which
/// a walk in rounds pops too, has none to pop. Where text is not split into words every node but the roots has a link.
fn validate_units(units: &[Unit], pops: &[u32], parameters: &Parameters) -> Result<(), String> {
    let block = 1usize << parameters.code_bits;
    let roots = [ROOT_UNIT, parameters.suffix_root];
    if units.is_empty() || !units.len().is_multiple_of(block) || units.len() > MOST_UNITS {
        return Err("the trie has a wrong size".into());
    }
    if pops.len() < POOL_PADDING || roots.iter().any(|&root| root as usize >= units.len()) {
        return Err("the trie has no room for its roots or its failure pops".into());
    }
    let depth = depths(units, &roots)?;
    let mut checked = HashSet::new();
    for (unit, &own) in units.iter().zip(&depth).filter(|&(_, &depth)| depth != NONE) {
        if unit.failure == NONE {
            if parameters.has_stretches() && own > 0 {
                return Err("a node of the trie has no failure link".into());
            }
            if Packed(unit.pops) != Packed::EMPTY {
                return Err("a node of the trie without a failure link pops tokens".into());
            }
            continue;
        }
        let length = validate_pops(Packed(unit.pops), pops, &mut checked)?;
        let target = depth.get(unit.failure as usize).copied().unwrap_or(NONE);
        if target >= own || length == 0 || length > (own - target) as usize {
            return Err("a failure link of the trie leads nowhere".into());
        }
    }
    Ok(())
}

/// The depth of every unit in use, NONE for the others.
fn depths(units: &[Unit], roots: &[u32]) -> Result<Vec<u32>, String> {
    let mut owner = vec![NONE; units.len()];
    for (i, unit) in units
        .iter()
        .enumerate()
        .filter(|(i, unit)| unit.base != 0 && (unit.check != NONE || roots.contains(&(*i as u32))))
    {
        match owner.get_mut(unit.base as usize) {
            Some(owner) if *owner == NONE => *owner = i as u32,
            _ => return Err("two nodes of the trie share their children".into()),
        }
    }
    let mut depth = vec![NONE; units.len()];
    for &root in roots {
        if units[root as usize].check != NONE {
            return Err("a root of the trie has a parent".into());
        }
        depth[root as usize] = 0;
    }
    let mut path = Vec::new();
    for start in 0..units.len() as u32 {
        let mut unit = start;
        while depth[unit as usize] == NONE && units[unit as usize].check != NONE {
            path.push(unit);
            let parent = owner.get(units[unit as usize].check as usize).copied().unwrap_or(NONE);
            if parent == NONE || path.len() > units.len() {
                return Err("a node of the trie has no parent".into());
            }
            unit = parent;
        }
        let mut reached = depth[unit as usize];
        while let Some(unit) = path.pop() {
            if reached == NONE {
                return Err("a node of the trie has no root".into());
            }
            reached += 1;
            depth[unit as usize] = reached;
        }
    }
    Ok(depth)
}

/// Check that a packed list lies in the pool and that long ones begin with an earlier one; give its length.
///
/// `checked` holds the lists that are known to be sound.
pub fn validate_pops(packed: Packed, pops: &[u32], checked: &mut HashSet<Packed>) -> Result<usize, String> {
    let mut list = packed;
    loop {
        let place = list.value() as usize;
        if list.count() >= 2 && place + POOL_PADDING > pops.len() {
            return Err("failure pops of the trie lie outside their pool".into());
        }
        let (first, own) = match list.count() {
            0 | 1 => return Ok(packed.length(pops)),
            Packed::LONG => (place + 2, None),
            count => (place, Some(count as usize)),
        };
        if !checked.insert(list) {
            return Ok(packed.length(pops));
        }
        if let Some(own) = own {
            check_ids(&pops[first..first + own])?;
            return Ok(packed.length(pops));
        }
        let (length, beginning) = (pops[place] as usize, Packed(pops[place + 1]));
        let inside = beginning.count() < 2 || beginning.value() as usize + POOL_PADDING <= pops.len();
        let earlier = beginning.count() < Packed::LONG || (beginning.value() as usize) < place;
        let own = if inside { length.checked_sub(beginning.length(pops)) } else { None };
        match own.and_then(|own| pops.get(first..first + own)) {
            Some(tokens) if earlier && !tokens.is_empty() && length >= Packed::LONG as usize => check_ids(tokens)?,
            _ => return Err("long failure pops of the trie are inconsistent".into()),
        }
        list = beginning;
    }
}

fn check_ids(tokens: &[u32]) -> Result<(), String> {
    let fit = tokens.iter().all(|&id| id < Packed::LIMIT);
    fit.then_some(()).ok_or_else(|| "failure pops of the trie hold an id out of range".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double_array::DoubleArray;
    use crate::failure::Failure;
    use crate::options::Unknown;
    use crate::trie::Trie;
    use bytemuck::Zeroable;

    #[test]
    fn what_would_mislead_a_walk_in_rounds_is_refused() {
        let tokens: Vec<(String, u32)> =
            ["ab", "##c", "c", "d"].iter().zip(0..).map(|(token, id)| (token.to_string(), id)).collect();
        let trie = Trie::build(&tokens, "##", |token| !token.contains('#'));
        let DoubleArray { units, mut pool, suffix_root, code_index, codes, bits } =
            DoubleArray::build(&trie, &Failure::build(&trie, Unknown::Word));
        let codes = Codes { index: &code_index, codes: &codes, mask: (1 << bits) - 1 };
        let parameters = Parameters { code_bits: bits, suffix_root, ..Parameters::zeroed() };
        let validated = |units: &[Unit], pool: &[u32]| validate_layout(units, &[], pool, &codes, &parameters);
        assert_eq!(validated(&units, &pool), Ok(()));
        // `a` is no token, so a word that goes no further is unknown. A long list that begins with itself has no end.
        let a = (units[ROOT_UNIT as usize].base ^ u32::from('a')) as usize;
        let endless = Packed::LONG << 28;
        pool[1] = endless;
        let mut forged = units.clone();
        forged[a].pops = endless;
        assert!(validated(&forged, &pool).unwrap_err().contains("pops"));
        // Behind `d` stands what ends a word.
        let d = (units[ROOT_UNIT as usize].base ^ u32::from('d')) as usize;
        let is_free = |base: u32| units[(base ^ codes.on_no_edge()) as usize].check == NONE;
        let base =
            (suffix_root + 1..).find(|&base| is_free(base) && units.iter().all(|unit| unit.base != base)).unwrap();
        let mut forged = units.clone();
        forged[d].base = base;
        forged[(base ^ codes.on_no_edge()) as usize] = Unit { check: base, ..units[d] };
        assert!(validated(&forged, &pool).unwrap_err().contains("code"));
    }
}
