//! Keys as keywords: what the trie of a dictionary needs beside it so that all places of keys are found in texts.
//!
//! Every occurrence, by the algorithm of Aho and Corasick ("Efficient string matching", 1975): the trie gets failure
//! links of another kind, to the longest proper suffix that is a node too, and from there on to suffixes that are keys.
//! So the time is linear in the text and what is found, and the links are twelve bytes a unit of the trie whatever the
//! keys are: occurrences are not listed at each node, which takes quadratic memory for a, aa, aaa, ….
//!
//! Leftmost and longest, without overlaps: that is what greedy matching gives, if its unknown characters are left out. So
//! it needs the links of the trie alone, and never reads a character again.

use crate::automaton::{Automaton, Tables};
use crate::double_array::{Packed, ROOT_UNIT, Unit};
use crate::error::Error;
use crate::occurrences::{Occurrences, Place};
use crate::options::Unknown;
use crate::trie::NONE;
use crate::walk::pop;

/// No node: unit 0 is never one.
const NO_NODE: u32 = 0;

/// The links of one node.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// Unit of the longest proper suffix of its string that is a node; the root has itself.
    suffix: u32,
    /// Unit of the longest proper suffix that is a key, or NO_NODE.
    key: u32,
    /// Characters of its string.
    depth: u32,
}

/// Characters of each key: all that leftmost and longest needs beside the trie.
#[derive(Debug)]
pub struct Lengths(Vec<u32>);

impl Lengths {
    /// Of an automaton whose tokens are the keys of a dictionary, with ids from 0.
    pub fn of(automaton: &Automaton) -> Result<Lengths, Error> {
        let (tables, tokens) = (automaton.tables(), automaton.tokens());
        // Whatever the split is, keys are below the root as they are read; but from the end they are not.
        let forward = tables
            .parameters
            .matching()
            .is_some_and(|matching| !matching.backward && !matches!(matching.unknown, Unknown::Word | Unknown::Error));
        let one_root = tables.parameters.suffix_root == ROOT_UNIT && tables.parameters.split_hangul == 0;
        if !forward || !one_root || tables.units.is_empty() || !tokens.ids.iter().copied().eq(0..tokens.len() as u32) {
            return Err(Error::Automaton(
                "only keys of a dictionary without backward=True are found in texts; compile one".into(),
            ));
        }
        let characters = |range: &[u32]| {
            let key = &tokens.bytes[range[0] as usize..range[1] as usize];
            key.iter().filter(|&byte| byte & 0xC0 != 0x80).count() as u32
        };
        Ok(Lengths(tokens.offsets.windows(2).map(characters).collect()))
    }

    fn characters(&self, key: u32) -> i64 {
        self.0.get(key as usize).map_or(1, |&length| length.into())
    }

    fn is_key(&self, number: u32) -> bool {
        (number as usize) < self.0.len()
    }
}

/// The links of all nodes, by their units.
#[derive(Debug)]
pub struct Links(Vec<Link>);

impl Links {
    /// Find them, breadth-first. While that lasts it takes 16 bytes a unit more.
    pub fn build(automaton: &Automaton, lengths: &Lengths) -> Links {
        let trie = Keyed { tables: &automaton.tables(), lengths };
        let units = trie.tables.units;
        let mut links = vec![Link { suffix: ROOT_UNIT, key: NO_NODE, depth: 0 }; units.len()];
        let family = Family::of(units);
        let mut order = vec![ROOT_UNIT];
        let mut next = 0;
        while let Some(&parent) = order.get(next) {
            next += 1;
            let mut child = family.first[parent as usize];
            let depth = links[parent as usize].depth + 1;
            while child != NO_NODE {
                let mut link = Link { suffix: ROOT_UNIT, key: NO_NODE, depth };
                if parent != ROOT_UNIT {
                    let code = units[parent as usize].base ^ child;
                    let suffix = trie.step(&links, links[parent as usize].suffix, code);
                    let key = if trie.key(suffix).is_some() { suffix } else { links[suffix as usize].key };
                    link = Link { suffix, key, ..link };
                }
                links[child as usize] = link;
                order.push(child);
                child = family.next[child as usize];
            }
        }
        Links(links)
    }

    /// Bytes that they hold.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.0[..])
    }
}

/// The children of every node, as lists.
struct Family {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Family {
    fn of(units: &[Unit]) -> Family {
        let mut owner = vec![NO_NODE; units.len()];
        for (i, unit) in (0..).zip(units) {
            if unit.base != 0 && (unit.check != NONE || i == ROOT_UNIT) {
                owner[unit.base as usize] = i;
            }
        }
        let (mut first, mut next) = (vec![NO_NODE; units.len()], vec![NO_NODE; units.len()]);
        for (i, unit) in units.iter().enumerate().filter(|(_, unit)| unit.check != NONE) {
            let parent = owner[unit.check as usize] as usize;
            next[i] = std::mem::replace(&mut first[parent], i as u32);
        }
        Family { first, next }
    }
}

/// The trie with the keys that its nodes are.
#[derive(Clone, Copy)]
pub(crate) struct Keyed<'a> {
    pub tables: &'a Tables<'a>,
    pub lengths: &'a Lengths,
}

impl Keyed<'_> {
    #[inline(always)]
    fn child(&self, node: u32, code: u32) -> Option<u32> {
        let units = self.tables.units;
        let (base, child) = (units[node as usize].base, units[node as usize].base ^ code);
        (units[child as usize].check == base).then_some(child)
    }

    /// The node that a string spells.
    pub fn node(&self, string: &str) -> Option<u32> {
        string.chars().try_fold(ROOT_UNIT, |node, c| self.child(node, self.tables.codes.code(c.into())))
    }

    /// The longest suffix of the string of a node that goes on with this code, and that child; the root where none does.
    #[inline(always)]
    fn step(&self, links: &[Link], mut node: u32, code: u32) -> u32 {
        loop {
            match self.child(node, code) {
                Some(child) => return child,
                None if node == ROOT_UNIT => return ROOT_UNIT,
                None => node = links[node as usize].suffix,
            }
        }
    }

    /// The key that a node spells: it is popped whole, and nothing is left.
    #[inline(always)]
    fn key(&self, node: u32) -> Option<u32> {
        let unit = self.tables.units[node as usize];
        let pops = Packed(unit.pops);
        let whole = pops.count() == 1 && unit.failure == ROOT_UNIT && self.lengths.is_key(pops.value());
        whole.then_some(pops.value())
    }

    /// Read on from a place, and add every occurrence that ends in what is read.
    pub fn every(&self, links: &Links, place: &mut Place, text: &str, out: &mut Occurrences) {
        let Links(links) = links;
        let (mut node, mut end) = (place.node, place.read);
        for c in text.chars() {
            node = self.step(links, node, self.tables.codes.code(c.into()));
            end += 1;
            let mut suffix = node;
            while suffix != NO_NODE {
                let link = links[suffix as usize];
                if let Some(key) = self.key(suffix) {
                    out.push(end - i64::from(link.depth), end, key);
                }
                suffix = link.key;
            }
        }
        *place = Place { node, start: end - i64::from(links[node as usize].depth), read: end };
    }

    /// Read on from a place, and add what is decided of the leftmost and longest occurrences: those that no key can make
    /// longer that may follow. `ends`: nothing follows. `popped`: a buffer.
    pub fn leftmost_longest(
        &self,
        place: &mut Place,
        text: &str,
        ends: bool,
        popped: &mut Vec<u32>,
        out: &mut Occurrences,
    ) {
        let Place { mut node, mut start, mut read } = *place;
        for c in text.chars() {
            let code = self.tables.codes.code(c.into());
            read += 1;
            loop {
                if let Some(child) = self.child(node, code) {
                    node = child;
                    break;
                }
                if node == ROOT_UNIT {
                    start += 1;
                    break;
                }
                node = self.fail(node, &mut start, popped, out);
            }
        }
        let has_children = |node: u32| self.tables.units[node as usize].base != 0;
        while node != ROOT_UNIT && (ends || !has_children(node)) {
            node = self.fail(node, &mut start, popped, out);
        }
        *place = Place { node, start, read };
    }

    /// Let the failure pops of a node go, which begin here; gives the node of the rest.
    fn fail(&self, node: u32, start: &mut i64, popped: &mut Vec<u32>, out: &mut Occurrences) -> u32 {
        let unit = self.tables.units[node as usize];
        let count = Packed(unit.pops).length(self.tables.pops);
        popped.resize(popped.len().max(count + 1), 0);
        pop(Packed(unit.pops), self.tables.pops, popped);
        for &token in &popped[..count] {
            let end = *start + self.lengths.characters(token);
            if self.lengths.is_key(token) {
                out.push(*start, end, token);
            }
            *start = end;
        }
        unit.failure
    }
}
