//! The automaton without failure transitions: the finite-state transducer of "Fast WordPiece Tokenization" (Song et al.,
//! EMNLP 2021), with δ′ and σ′ in a double array. For each character there is exactly one transition, with the tokens
//! that it writes.
//!
//! Where a node u has no child by a character c, the automaton pops F(u) and asks f(u), until it comes to a node that has
//! one. Here that has been done for every u and c:
//!
//! - `δ′(u, c) = δ(u, c)` and `σ′(u, c) = []` where u has a child by c, otherwise
//! - `δ′(u, c) = δ′(f(u), c)` and `σ′(u, c) = F(u) + σ′(f(u), c)`.
//!
//! Mostly the last node to be asked is `r#`. So a state has transitions of its own only for the characters by which a node
//! before `r#` has a child, and for all others one rule: write the [rest](Transition::rest) and go where `r#` goes. The
//! end of the word writes the rest too. A step is one probe, or two where the rule holds; nothing loops.

use crate::automaton::{Parameters, Tables};
use crate::double_array::{
    Codes, DoubleArray, Layout, MOST_UNITS, POOL_PADDING, Packed, PopsPool, ROOT_UNIT, assign_codes,
};
use crate::error::Error;
use crate::failure::Failure;
use crate::pieces::Pieces;
use crate::trie::{NONE, Node, ROOT, Trie};
use crate::validate::validate_pops;
use crate::walk::{ascii_code, code, pop};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// One transition, 16 bytes. It stands at the base of the state that it leaves, exclusive-or the code of its character.
///
/// At the units of `r` and `r#` stand records that no transition leads out of: they say what these states are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Transition {
    /// Base of the state that it leaves; NONE for roots and unused units, never 0.
    pub check: u32,
    /// Base of the state that it leads to, δ′; 0 for one without transitions of its own.
    pub base: u32,
    /// The tokens that it writes, σ′, as a [`Packed`] list.
    pub output: u32,
    /// What the state that it leads to writes at the end of the word, or before a character by which it has no transition
    /// of its own: a [`Packed`] list, or NONE where the word cannot be split.
    pub rest: u32,
}

/// Transitions at most for each node, on average; real vocabularies have 2 to 10.
const MOST_PER_NODE: usize = 32;
/// Transitions that any vocabulary may have, and that none may have.
const ALWAYS: usize = 1 << 16;
const MOST: usize = 1 << 26;
/// Words in the pool of lists at most, so that the places of the next are below [`Packed::LIMIT`].
const MOST_TOKENS: usize = Packed::LIMIT as usize - MOST;

/// Lists of tokens that are written, put together from failure pops.
///
/// Short ones are packed as those are. One of 15 tokens or more that is not the pops of a node is two lists, one behind the
/// other: its count is [`Packed::LONG`], and in the pool are its length, [`PAIR`], and both. The second may be such a list
/// too. So a list takes four words at most, however long it is.
struct Outputs {
    pool: PopsPool,
    pairs: HashMap<(Packed, Packed), Packed>,
}

/// Stands where another long list has the list that it begins with, which is never this one.
const PAIR: u32 = u32::MAX;

impl Outputs {
    /// The pops of a node and a list behind them.
    fn join(&mut self, pops: Packed, list: Packed) -> Packed {
        if list == Packed::EMPTY {
            return pops;
        }
        if let Some(&joined) = self.pairs.get(&(pops, list)) {
            return joined;
        }
        let length = pops.length(self.pool.words()) + list.length(self.pool.words());
        let joined = if length < Packed::LONG as usize {
            let mut tokens = vec![0; length + 1];
            let count = pop(pops, self.pool.words(), &mut tokens);
            pop(list, self.pool.words(), &mut tokens[count..]);
            tokens.truncate(length);
            self.pool.pack_short(tokens)
        } else {
            Packed(Packed::LONG << 28 | self.pool.push([length as u32, PAIR, pops.0, list.0]))
        };
        self.pairs.insert((pops, list), joined);
        joined
    }
}

/// The two parts of a list that is a pair.
#[inline(always)]
fn pair(list: Packed, pool: &[u32]) -> Option<(Packed, Packed)> {
    if list.count() != Packed::LONG {
        return None;
    }
    match pool.get(list.value() as usize..)? {
        [_, PAIR, first, second, ..] => Some((Packed(*first), Packed(*second))),
        _ => None,
    }
}

/// Write any list; gives its length.
#[inline(always)]
pub fn write(list: Packed, pool: &[u32], out: &mut [u32]) -> usize {
    if list.count() == Packed::LONG { write_long(list, pool, out) } else { pop(list, pool, out) }
}

#[cold]
fn write_long(mut list: Packed, pool: &[u32], out: &mut [u32]) -> usize {
    let mut count = 0;
    while let Some((first, second)) = pair(list, pool) {
        count += pop(first, pool, &mut out[count..]);
        list = second;
    }
    count + pop(list, pool, &mut out[count..])
}

/// A transition as it is made.
#[derive(Clone, Copy)]
struct Edge {
    label: u32,
    target: Node,
    output: Packed,
}

/// The transitions of all nodes, node after node, each by its own labels in order.
struct Eliminated<'a> {
    trie: &'a Trie,
    failure: &'a Failure,
    outputs: Outputs,
    edges: Vec<Edge>,
    /// Where the edges of each node begin, and the end of the last.
    firsts: Vec<usize>,
    /// What each node writes at the end of a word.
    rests: Vec<Option<Packed>>,
}

impl<'a> Eliminated<'a> {
    /// Nodes in the order of their numbers, which is that of their depth: a failure link leads to a node that is done.
    fn new(trie: &'a Trie, failure: &'a Failure) -> Result<Eliminated<'a>, Error> {
        let most = (MOST_PER_NODE * trie.len() + ALWAYS).min(MOST);
        let outputs = Outputs { pool: PopsPool::default(), pairs: HashMap::new() };
        let mut made = Eliminated { trie, failure, outputs, edges: vec![], firsts: vec![0], rests: vec![] };
        for node in ROOT..trie.len() as Node {
            made.add(node);
            if made.edges.len() > most || made.outputs.pool.words().len() > MOST_TOKENS {
                return Err(Error::Vocabulary(format!(
                    "layout=\"transducer\": without failure transitions the {} nodes of this vocabulary's trie would have \
                     more than {most} transitions; use the layout \"failure_links\", which is linear in the vocabulary",
                    trie.len()
                )));
            }
        }
        Ok(made)
    }

    /// Add the edges and the rest of a node: its children, and what its failure link has that they have not.
    fn add(&mut self, node: Node) {
        let (trie, link) = (self.trie, self.failure.link[node as usize]);
        let pops = self.outputs.pool.pack(&self.failure.lists, self.failure.pops[node as usize]);
        let rest = match link {
            NONE => (node == trie.suffix_root).then_some(Packed::EMPTY),
            link => self.rests[link as usize].map(|rest| self.outputs.join(pops, rest)),
        };
        self.rests.push(rest);
        let mut inherited = if link == NONE || link == trie.suffix_root { 0..0 } else { self.of(link) };
        for target in trie.children(node) {
            let label = trie.label[target as usize];
            self.inherit(&mut inherited, pops, label);
            if inherited.clone().next().is_some_and(|next| self.edges[next].label == label) {
                inherited.start += 1;
            }
            self.edges.push(Edge { label, target, output: Packed::EMPTY });
        }
        self.inherit(&mut inherited, pops, NONE);
        self.firsts.push(self.edges.len());
    }

    /// Take over the next edges of a failure link, those whose labels are below this one.
    fn inherit(&mut self, from: &mut Range<usize>, pops: Packed, below: u32) {
        while from.start < from.end && self.edges[from.start].label < below {
            let edge = self.edges[from.start];
            let output = self.outputs.join(pops, edge.output);
            self.edges.push(Edge { output, ..edge });
            from.start += 1;
        }
    }

    fn of(&self, node: Node) -> Range<usize> {
        self.firsts[node as usize]..self.firsts[node as usize + 1]
    }
}

/// Eliminate the failure transitions of a trie. Gives the double array without units, and its transitions.
///
/// An error where they would be too many: many nodes whose failure links lead to nodes with many children.
pub fn build(trie: &Trie, failure: &Failure) -> Result<(DoubleArray, Vec<Transition>), Error> {
    let made = Eliminated::new(trie, failure)?;
    let (code_index, codes, bits) = assign_codes(trie);
    let view = Codes { index: &code_index, codes: &codes, mask: (1 << bits) - 1 };
    let mut layout = Layout::new(bits);
    let suffix_root = if trie.suffix_root == ROOT { ROOT_UNIT } else { ROOT_UNIT + 1 };
    (0..=suffix_root).for_each(|unit| layout.take(unit));
    // States with many transitions first, while there is room; those with one then fill the holes.
    let mut order: Vec<Node> = (ROOT..trie.len() as Node).filter(|&node| !made.of(node).is_empty()).collect();
    order.sort_by_key(|&node| std::cmp::Reverse(made.of(node).len()));
    let (mut bases, mut row) = (vec![0; trie.len()], vec![]);
    for node in order {
        row.clear();
        row.extend(made.edges[made.of(node)].iter().map(|edge| view.code(edge.label)));
        bases[node as usize] = layout.place(&row);
    }
    let rest = |node: Node| made.rests[node as usize].map_or(NONE, |rest| rest.0);
    let mut transitions = vec![Transition { check: NONE, base: 0, output: 0, rest: NONE }; layout.units()];
    for (unit, root) in [(suffix_root, trie.suffix_root), (ROOT_UNIT, ROOT)] {
        transitions[unit as usize] =
            Transition { check: NONE, base: bases[root as usize], output: 0, rest: rest(root) };
    }
    for node in ROOT..trie.len() as Node {
        let check = bases[node as usize];
        for &Edge { label, target, output } in &made.edges[made.of(node)] {
            transitions[(check ^ view.code(label)) as usize] =
                Transition { check, base: bases[target as usize], output: output.0, rest: rest(target) };
        }
    }
    let pool = made.outputs.pool.finish();
    Ok((DoubleArray { units: vec![], pool, suffix_root, code_index, codes, bits }, transitions))
}

/// Number of transitions; there are places that have none.
pub fn count_transitions(transitions: &[Transition]) -> usize {
    transitions.iter().filter(|transition| transition.check != NONE).count()
}

/// Check transitions from a file: that every place they name is inside. That a word has no more pieces than characters is
/// seen to while it is walked, and nothing can loop.
pub fn validate(transitions: &[Transition], pops: &[u32], parameters: &Parameters) -> Result<(), String> {
    let block = 1usize << parameters.code_bits;
    let roots = [ROOT_UNIT, parameters.suffix_root].map(|root| root as usize);
    if parameters.has_stretches() {
        return Err("it has a transducer and does not split text into words".into());
    }
    if !transitions.len().is_multiple_of(block) || transitions.len() > MOST_UNITS {
        return Err("the transducer has a wrong size".into());
    }
    if pops.len() < POOL_PADDING || roots.iter().any(|&root| root >= transitions.len()) {
        return Err("the transducer has no room for its roots or its tokens".into());
    }
    let mut checked = HashSet::new();
    for (unit, transition) in transitions.iter().enumerate() {
        if transition.check == NONE && !roots.contains(&unit) {
            continue;
        }
        if transition.base as usize >= transitions.len() {
            return Err("a transition of the transducer leads nowhere".into());
        }
        validate_list(Packed(transition.output), pops, &mut checked)?;
        if transition.rest != NONE {
            validate_list(Packed(transition.rest), pops, &mut checked)?;
        }
    }
    Ok(())
}

/// Check that a list lies in the pool, and that pairs have the length of both parts, of which the first has tokens and the
/// second lies before the pair: so writing a list takes no more steps than it has tokens.
fn validate_list(mut list: Packed, pops: &[u32], checked: &mut HashSet<Packed>) -> Result<(), String> {
    while let Some((first, second)) = pair(list, pops) {
        if !checked.insert(list) {
            return Ok(());
        }
        let place = list.value() as usize;
        let inside = |part: Packed| part.count() < 2 || part.value() as usize + POOL_PADDING <= pops.len();
        let earlier = second.count() < Packed::LONG || (second.value() as usize) < place;
        let fits = inside(list) && inside(first) && inside(second) && earlier;
        if !fits || first.count() == 0 || pops[place] as usize != first.length(pops) + second.length(pops) {
            return Err("long lists of the transducer are inconsistent".into());
        }
        validate_pops(first, pops, checked)?;
        list = second;
    }
    validate_pops(list, pops, checked).map(|_| ())
}

/// Walk the missed words of a chunk, one after the other.
pub fn walk(tables: &Tables<'_>, bytes: &[u8], pieces: &mut Pieces) {
    let machine = Machine {
        transitions: tables.transitions,
        pool: tables.pops,
        root: tables.transitions[ROOT_UNIT as usize],
        suffix_base: tables.transitions[tables.parameters.suffix_root as usize].base,
    };
    let (codes, unk_id) = (&tables.codes, tables.parameters.unk_id);
    let Pieces { ids, firsts, ends, ascii, other, .. } = pieces;
    ascii.each(ids, firsts, ends, unk_id, |word, out| machine.split(word, |at| ascii_code(codes, bytes, at), out));
    other.each(ids, firsts, ends, unk_id, |word, out| machine.split(word, |at| code(codes, bytes, at), out));
}

/// The transducer.
struct Machine<'a> {
    transitions: &'a [Transition],
    pool: &'a [u32],
    /// The record of `r`.
    root: Transition,
    /// Base of `r#`.
    suffix_base: u32,
}

/// The pieces of a word as they are written.
struct Output<'o> {
    ids: &'o mut [u32],
    count: usize,
    /// Characters of the word that come before: no piece can be shorter than one.
    characters: usize,
}

impl Machine<'_> {
    /// Split a word: the number of its pieces, or None where that cannot be. `decode` gives the code of the character at a
    /// place, and its length.
    #[inline(always)]
    fn split(&self, word: Range<usize>, decode: impl Fn(usize) -> (u32, usize), ids: &mut [u32]) -> Option<usize> {
        let (mut base, mut rest, mut at) = (self.root.base, self.root.rest, word.start);
        let mut output = Output { ids, count: 0, characters: 0 };
        while at < word.end {
            let (code, length) = decode(at);
            at += length;
            let mut transition = &self.transitions[(base ^ code) as usize];
            if transition.check != base {
                self.write(rest, &mut output)?;
                transition = &self.transitions[(self.suffix_base ^ code) as usize];
                if transition.check != self.suffix_base {
                    return None;
                }
            }
            self.write(transition.output, &mut output)?;
            output.characters += 1;
            (base, rest) = (transition.base, transition.rest);
        }
        self.write(rest, &mut output)?;
        Some(output.count)
    }

    /// Write a list; None where there is none, or where a file has more than there can be.
    #[inline(always)]
    fn write(&self, list: u32, output: &mut Output<'_>) -> Option<()> {
        let list = Packed(list);
        if list.0 == NONE || list.length(self.pool) > output.characters - output.count {
            return None;
        }
        output.count += write(list, self.pool, &mut output.ids[output.count..]);
        Some(())
    }
}
