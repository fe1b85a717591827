//! The automaton in the form that the matcher runs: a double array over codes of code points.
//!
//! The child of a node by code `c` stands at `base ^ c`, if the unit there names that base in `check`; every base is
//! used by one node. A unit also holds the failure link (as a unit number) and the failure pops of its node.

use crate::failure::{Failure, List, Pops};
use crate::trie::{NONE, Node, ROOT, Trie};
use std::collections::HashMap;

/// One node, 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Unit {
    /// Base of the parent; NONE for roots and unused units, never 0.
    pub check: u32,
    /// Where the children are; 0 for a node without children.
    pub base: u32,
    /// Unit of the failure link, or NONE.
    pub failure: u32,
    /// The failure pops, see [`Packed`].
    pub pops: u32,
}

/// Failure pops in 32 bits: a count (4 bits) and a value (28 bits).
///
/// 0: none. 1: the value is the token. 2 to 14: the value is where the tokens stand in the pool. 15: the value is where
/// the pool has a long list: its length, the packed list that it begins with, and the tokens that come after that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Packed(pub u32);

impl Packed {
    /// No pops.
    pub const EMPTY: Packed = Packed(0);
    /// Count of a list whose length stands in the pool.
    pub const LONG: u32 = 15;
    /// Ids and places in the pool are below this.
    pub const LIMIT: u32 = 1 << 28;

    /// A list of one token.
    pub const fn one(token: u32) -> Packed {
        Packed(1 << 28 | token)
    }

    /// The count: 15 for a long list.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.0 >> 28
    }

    /// The token, or a place in the pool.
    #[inline(always)]
    pub fn value(self) -> u32 {
        self.0 & (Packed::LIMIT - 1)
    }

    /// Number of tokens.
    #[inline(always)]
    pub fn length(self, pool: &[u32]) -> usize {
        if self.count() == Packed::LONG { pool[self.value() as usize] as usize } else { self.count() as usize }
    }
}

/// Entries at the end of the pool that no list uses: as many as a short list has at most, so that a place alone tells
/// that a list lies in the pool.
pub const POOL_PADDING: usize = 16;
/// Units at most, so that the place of each in bytes is a 32-bit number.
pub const MOST_UNITS: usize = 1 << 28;
/// Unit of the root `r`. Unit 0 stays unused.
pub const ROOT_UNIT: u32 = 1;
/// The code of a code point that is on no edge: a surrogate, so no text contains it.
const NEVER: u32 = 0xDFFF;
/// The codes of supplementary code points: surrogates first, then what is above the basic plane.
fn supplementary_codes() -> impl Iterator<Item = u32> {
    (0xD800..NEVER).chain(0x1_0000..)
}

/// Codes of code points: a code point of the basic plane is its own code; supplementary ones that the vocabulary uses
/// have codes that no text in the basic plane can produce, so that the array need not span all of Unicode.
#[derive(Debug, Clone, Copy)]
pub struct Codes<'a> {
    /// Block of each 256 supplementary code points.
    pub index: &'a [u16],
    /// 256 codes a block.
    pub codes: &'a [u32],
    /// 2^bits - 1: a greater code is replaced by this one. Either there is none, or the vocabulary does not use it.
    pub mask: u32,
}

impl Codes<'_> {
    /// The code of a code point (any number below 0x200000).
    #[inline(always)]
    pub fn code(&self, c: u32) -> u32 {
        let code = if c < 0x1_0000 { c } else { self.supplementary(c) };
        code.min(self.mask)
    }

    /// A code that is on no edge.
    pub fn on_no_edge(&self) -> u32 {
        NEVER.min(self.mask)
    }

    /// The code points above the basic plane that the vocabulary uses, and perhaps others.
    pub fn used_supplementary(&self) -> impl Iterator<Item = u32> {
        let used: Vec<bool> = self.codes.chunks(256).map(|block| block.iter().any(|&code| code != NEVER)).collect();
        let blocks = (0x1_0000..).step_by(256).zip(self.index).filter(move |(_, block)| used[usize::from(**block)]);
        blocks.flat_map(|(first, _)| first..first + 256)
    }

    /// The code of a code point above the basic plane.
    pub fn supplementary(&self, c: u32) -> u32 {
        let place = c as usize - 0x1_0000;
        self.index.get(place / 256).map_or(NEVER, |&block| self.codes[usize::from(block) * 256 + place % 256])
    }
}

/// The double array as it is made.
#[derive(Debug)]
pub struct DoubleArray {
    /// A multiple of 2^bits units.
    pub units: Vec<Unit>,
    /// Tokens of the failure pops.
    pub pool: Vec<u32>,
    /// Unit of the suffix root `r#`.
    pub suffix_root: u32,
    /// See [`Codes`].
    pub code_index: Vec<u16>,
    /// See [`Codes`].
    pub codes: Vec<u32>,
    /// Codes are below 2^bits.
    pub bits: u32,
}

impl DoubleArray {
    /// Lay out a trie with its failure links and pops.
    pub fn build(trie: &Trie, failure: &Failure) -> DoubleArray {
        let (code_index, codes, bits) = assign_codes(trie);
        let view = Codes { index: &code_index, codes: &codes, mask: (1 << bits) - 1 };
        let mut layout = Layout::new(bits);
        let suffix_root = if trie.suffix_root == ROOT { ROOT_UNIT } else { ROOT_UNIT + 1 };
        (0..=suffix_root).for_each(|unit| layout.take(unit));
        let mut position = vec![NONE; trie.len()];
        position[ROOT as usize] = ROOT_UNIT;
        position[trie.suffix_root as usize] = suffix_root;
        let mut base = vec![0; trie.len()];
        // Nodes with many children first, while there is room; those with one child then fill the holes.
        let mut order: Vec<Node> = (0..trie.len() as Node).filter(|&u| trie.children[u as usize] > 0).collect();
        order.sort_by_key(|&u| std::cmp::Reverse(trie.children[u as usize]));
        let mut edges = Vec::new();
        for u in order {
            edges.clear();
            edges.extend(trie.children(u).map(|v| view.code(trie.label[v as usize])));
            let found = layout.place(&edges);
            base[u as usize] = found;
            for (v, code) in trie.children(u).zip(&edges) {
                position[v as usize] = found ^ code;
            }
        }
        let mut units = vec![Unit { check: NONE, base: 0, failure: NONE, pops: 0 }; layout.units()];
        let mut pool = PopsPool::default();
        for u in ROOT..trie.len() as Node {
            for v in trie.children(u) {
                units[position[v as usize] as usize].check = base[u as usize];
            }
            let unit = &mut units[position[u as usize] as usize];
            unit.base = base[u as usize];
            let link = failure.link[u as usize];
            unit.failure = if link == NONE { NONE } else { position[link as usize] };
            unit.pops = pool.pack(&failure.lists, failure.pops[u as usize]).0;
        }
        DoubleArray { units, pool: pool.finish(), suffix_root, code_index, codes, bits }
    }
}

/// Give every supplementary code point of the trie a code, and find how many bits codes have.
pub fn assign_codes(trie: &Trie) -> (Vec<u16>, Vec<u32>, u32) {
    let mut supplementary: Vec<u32> = trie.label.iter().copied().filter(|&c| c >= 0x1_0000).collect();
    supplementary.sort_unstable();
    supplementary.dedup();
    let mut index = vec![0u16; (0x11_0000 - 0x1_0000) / 256];
    let mut codes = vec![NEVER; 256];
    let mut greatest = trie.label.iter().copied().filter(|&c| c < 0x1_0000).max().unwrap_or(0);
    for (c, code) in supplementary.into_iter().zip(supplementary_codes()) {
        let place = c as usize - 0x1_0000;
        if index[place / 256] == 0 {
            index[place / 256] = (codes.len() / 256) as u16;
            codes.resize(codes.len() + 256, NEVER);
        }
        codes[usize::from(index[place / 256]) * 256 + place % 256] = code;
        greatest = greatest.max(code);
    }
    // In the basic plane no code is ever greater than 0xFFFF; otherwise the last code has to stay unused.
    let bits = if (0x8000..0x1_0000).contains(&greatest) { 16 } else { 32 - (greatest + 1).leading_zeros() };
    (index, codes, bits.max(4))
}

/// Which units and bases are free, the free units in a list.
pub struct Layout {
    block: usize,
    free: Vec<bool>,
    base_used: Vec<bool>,
    next: Vec<u32>,
    previous: Vec<u32>,
    head: u32,
    tail: u32,
    /// Where in the list the search goes on, for nodes with this number of children.
    cursor: u32,
    children: usize,
    /// What is left of SECOND_LOOKS.
    second_looks: usize,
}

/// Units that are looked at for one node before the array grows, so that no vocabulary can make this take for ever.
const LOOKS: usize = 1 << 24;
/// Units that are looked at once more, for all nodes together, where the array would otherwise grow.
const SECOND_LOOKS: usize = 1 << 26;

impl Layout {
    /// All units of one block are free.
    pub fn new(bits: u32) -> Layout {
        let mut layout = Layout {
            block: 1 << bits,
            free: vec![],
            base_used: vec![],
            next: vec![],
            previous: vec![],
            head: NONE,
            tail: NONE,
            cursor: NONE,
            children: 0,
            second_looks: SECOND_LOOKS,
        };
        layout.grow();
        layout
    }

    fn grow(&mut self) {
        let first = self.free.len() as u32;
        let end = first + self.block as u32;
        self.free.resize(end as usize, true);
        self.base_used.resize(end as usize, false);
        self.next.extend((first + 1..end).chain([NONE]));
        self.previous.extend([self.tail].into_iter().chain(first..end - 1));
        match self.tail {
            NONE => self.head = first,
            tail => self.next[tail as usize] = first,
        }
        self.tail = end - 1;
        self.cursor = first;
    }

    /// Number of units, a multiple of 2^bits.
    pub fn units(&self) -> usize {
        self.free.len()
    }

    /// Take a unit that is free.
    pub fn take(&mut self, unit: u32) {
        let (before, after) = (self.previous[unit as usize], self.next[unit as usize]);
        match before {
            NONE => self.head = after,
            _ => self.next[before as usize] = after,
        }
        match after {
            NONE => self.tail = before,
            _ => self.previous[after as usize] = before,
        }
        if self.cursor == unit {
            self.cursor = after;
        }
        self.free[unit as usize] = false;
    }

    /// Find a base under which all these codes are free, and take them.
    ///
    /// For nodes with the same number of children the list of free units is gone through once: what one of them had no
    /// use for is left to nodes with fewer.
    pub fn place(&mut self, codes: &[u32]) -> u32 {
        if codes.len() != self.children {
            (self.children, self.cursor) = (codes.len(), self.head);
        }
        let mut looks = LOOKS;
        let mut found = self.search(codes, &mut looks);
        if found.is_none() && self.second_looks > 0 {
            self.cursor = self.head;
            let mut looks = self.second_looks;
            found = self.search(codes, &mut looks);
            self.second_looks = looks;
        }
        let base = found.unwrap_or_else(|| {
            self.grow();
            // In an empty block every base will do but those that are taken.
            self.search(codes, &mut LOOKS.clone()).expect("a new block has room for any node")
        });
        self.base_used[base as usize] = true;
        codes.iter().for_each(|code| self.take(base ^ code));
        base
    }

    /// Look from the cursor on, and leave it at the unit that was found.
    fn search(&mut self, codes: &[u32], looks: &mut usize) -> Option<u32> {
        while self.cursor != NONE && *looks > 0 {
            let base = self.cursor ^ codes[0];
            *looks -= 1;
            if base != 0 && !self.base_used[base as usize] {
                match codes[1..].iter().position(|code| !self.free[(base ^ code) as usize]) {
                    None => return Some(base),
                    Some(others) => *looks = looks.saturating_sub(others),
                }
            }
            self.cursor = self.next[self.cursor as usize];
        }
        None
    }
}

/// The pool of failure pops while it is made.
#[derive(Default)]
pub struct PopsPool {
    words: Vec<u32>,
    short: HashMap<Vec<u32>, u32>,
    packed: HashMap<List, Packed>,
}

impl PopsPool {
    /// Pack a list. The list of a node extends that of its parent, which is packed before it: a long list repeats
    /// nothing of that, so all of them together stay linear in the characters of the vocabulary.
    pub fn pack(&mut self, lists: &Pops, list: List) -> Packed {
        if let Some(&packed) = self.packed.get(&list) {
            return packed;
        }
        let packed = match lists.length(list) {
            length if length < Packed::LONG as usize => self.pack_short(lists.tokens(list)),
            length => {
                let mut own = Vec::new();
                let mut rest = list;
                while let Some((before, token)) = lists.split_last(rest) {
                    own.push(token);
                    rest = before;
                    if self.packed.contains_key(&rest) || lists.length(rest) < Packed::LONG as usize {
                        break;
                    }
                }
                let beginning = self.pack(lists, rest);
                let place = self.words.len() as u32;
                self.words.extend([length as u32, beginning.0]);
                self.words.extend(own.iter().rev());
                Packed(Packed::LONG << 28 | place)
            }
        };
        self.packed.insert(list, packed);
        packed
    }

    /// Pack up to 14 tokens.
    pub fn pack_short(&mut self, tokens: Vec<u32>) -> Packed {
        let (words, count) = (&mut self.words, tokens.len() as u32);
        let value = match tokens[..] {
            [] => 0,
            [token] => token,
            _ => *self.short.entry(tokens).or_insert_with_key(|tokens| {
                words.extend_from_slice(tokens);
                (words.len() - tokens.len()) as u32
            }),
        };
        Packed(count << 28 | value)
    }

    /// What is in the pool so far.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Put words behind the others; gives their place.
    pub fn push(&mut self, words: [u32; 4]) -> u32 {
        self.words.extend(words);
        (self.words.len() - words.len()) as u32
    }

    /// The pool, when all lists are in it.
    pub fn finish(mut self) -> Vec<u32> {
        self.words.extend([0; POOL_PADDING]);
        self.words
    }
}
