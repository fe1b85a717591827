//! What makes a trie, or a transducer, from a file safe to run, whatever bytes it was made of.

use crate::automaton::Parameters;
use crate::double_array::{MOST_UNITS, POOL_PADDING, Packed, ROOT_UNIT, Unit};
use crate::transducer::{self, Transition};
use crate::trie::NONE;
use std::collections::HashSet;

/// Check the one that there is.
pub fn validate_layout(
    units: &[Unit],
    transitions: &[Transition],
    pops: &[u32],
    parameters: &Parameters,
) -> Result<(), String> {
    match (units, transitions) {
        (units, []) => validate_units(units, pops, parameters),
        ([], transitions) => transducer::validate(transitions, pops, parameters),
        _ => Err("it has failure links and a transducer".into()),
    }
}

/// Check that the matcher ends and stays inside: a child is one deeper than its parent, a failure link leads to a
/// smaller depth, and a node pops at most as many tokens as the link gives up characters. Where text is not split into
/// words every node but the roots has a link.
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
