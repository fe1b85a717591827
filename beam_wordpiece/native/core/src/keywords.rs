//! Keys as keywords: where each of them stands in a text, by the trie of a dictionary.
//!
//! Every occurrence, by the algorithm of Aho and Corasick ("Efficient string matching", 1975): the trie gets failure
//! links of another kind, to the longest proper suffix that is a node too, and from there on to suffixes that are keys.
//! So the time is linear in the text and what is found, and the links are eight bytes a unit of the trie whatever the
//! keys are: occurrences are not listed at each node, which takes quadratic memory for a, aa, aaa, ….
//!
//! Leftmost and longest, without overlaps: that is what greedy matching gives, if its unknown characters are left out. So
//! it needs the links of the trie alone, and never reads a character again.

use crate::automaton::{Automaton, Tables};
use crate::double_array::{Packed, ROOT_UNIT, Unit};
use crate::error::Error;
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
}

/// Where keys stand: places are characters (code points) of their text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Occurrences {
    /// The first character of each.
    pub starts: Vec<i64>,
    /// The end of its last.
    pub ends: Vec<i64>,
    /// Number of the key.
    pub keys: Vec<u32>,
    /// How many there are up to the end of each row.
    pub rows: Vec<usize>,
}

impl Occurrences {
    fn push(&mut self, start: i64, end: i64, key: u32) {
        self.starts.push(start);
        self.ends.push(end);
        self.keys.push(key);
    }
}

/// Characters of each key: all that leftmost and longest needs beside the trie.
#[derive(Debug)]
pub struct Lengths(Vec<u32>);

impl Lengths {
    /// Of an automaton whose tokens are the keys of a dictionary, with ids from 0.
    pub fn of(automaton: &Automaton) -> Result<Lengths, Error> {
        let (tables, tokens) = (automaton.tables(), automaton.tokens());
        let greedy = tables.parameters.matching().is_some_and(|matching| {
            !matching.is_of_whole() && !matches!(matching.unknown, Unknown::Word | Unknown::Error)
        });
        let one_root = tables.parameters.suffix_root == ROOT_UNIT && tables.parameters.split_hangul == 0;
        if !greedy || !one_root || tables.units.is_empty() || !tokens.ids.iter().copied().eq(0..tokens.len() as u32) {
            return Err(Error::Automaton("only keys of a dictionary are found in texts; compile one".into()));
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
        let mut links = vec![Link { suffix: ROOT_UNIT, key: NO_NODE }; units.len()];
        let family = Family::of(units);
        let mut order = vec![ROOT_UNIT];
        let mut next = 0;
        while let Some(&parent) = order.get(next) {
            next += 1;
            let mut child = family.first[parent as usize];
            while child != NO_NODE {
                if parent != ROOT_UNIT {
                    let code = units[parent as usize].base ^ child;
                    let suffix = trie.step(&links, links[parent as usize].suffix, code);
                    let key = if trie.key(suffix).is_some() { suffix } else { links[suffix as usize].key };
                    links[child as usize] = Link { suffix, key };
                }
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
struct Keyed<'a> {
    tables: &'a Tables<'a>,
    lengths: &'a Lengths,
}

impl Keyed<'_> {
    #[inline(always)]
    fn child(&self, node: u32, code: u32) -> Option<u32> {
        let units = self.tables.units;
        let (base, child) = (units[node as usize].base, units[node as usize].base ^ code);
        (units[child as usize].check == base).then_some(child)
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

    fn every(&self, links: &[Link], text: impl Iterator<Item = char>, out: &mut Occurrences) {
        let mut node = ROOT_UNIT;
        for (end, c) in (1..).zip(text) {
            node = self.step(links, node, self.tables.codes.code(c.into()));
            let mut suffix = node;
            while suffix != NO_NODE {
                if let Some(key) = self.key(suffix) {
                    out.push(end - self.lengths.characters(key), end, key);
                }
                suffix = links[suffix as usize].key;
            }
        }
    }

    fn leftmost_longest(&self, text: impl Iterator<Item = char>, popped: &mut Vec<u32>, out: &mut Occurrences) {
        let (mut node, mut start) = (ROOT_UNIT, 0);
        for c in text {
            let code = self.tables.codes.code(c.into());
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
        while node != ROOT_UNIT {
            node = self.fail(node, &mut start, popped, out);
        }
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

/// Find keys in texts, a row for each; in None there are none. `strict`: invalid UTF-8 is an error; otherwise each invalid
/// part is read as one U+FFFD. `links`: where every occurrence is wanted; without them the leftmost and longest are found.
pub fn find<'t>(
    automaton: &Automaton,
    lengths: &Lengths,
    links: Option<&Links>,
    texts: impl Iterator<Item = Option<&'t [u8]>>,
    strict: bool,
) -> Result<Occurrences, Error> {
    let trie = Keyed { tables: &automaton.tables(), lengths };
    let (mut out, mut popped) = (Occurrences::default(), Vec::new());
    for (row, text) in texts.enumerate() {
        let text = text.unwrap_or_default();
        if let (true, Err(fault)) = (strict, std::str::from_utf8(text)) {
            return Err(Error::InvalidText { row, position: fault.valid_up_to() });
        }
        let characters = text.utf8_chunks().flat_map(|chunk| {
            let invalid = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
            chunk.valid().chars().chain(invalid)
        });
        match links {
            Some(links) => trie.every(&links.0, characters, &mut out),
            None => trie.leftmost_longest(characters, &mut popped, &mut out),
        }
        out.rows.push(out.keys.len());
    }
    Ok(out)
}
