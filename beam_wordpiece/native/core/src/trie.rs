//! The trie of a vocabulary, with a root `r` for what begins a word and a suffix root `r#` for what continues one.
//!
//! Nodes are numbered breadth-first and the children of a node stand together, sorted by label, so a node is three
//! numbers and a transition is a binary search.

use crate::utf8;

/// Number of a node.
pub type Node = u32;
/// No node (the paper's ∅).
pub const NONE: u32 = u32::MAX;
/// The root `r`.
pub const ROOT: Node = 0;

/// A trie over code points.
#[derive(Debug)]
pub struct Trie {
    /// The suffix root `r#`; the same node as `r` where the suffix indicator is empty.
    pub suffix_root: Node,
    /// Code point on the edge into the node; 0 for roots.
    pub label: Vec<u32>,
    /// Id of the token that the node spells, or NONE.
    pub token: Vec<u32>,
    /// First child; the others follow it.
    pub first_child: Vec<Node>,
    /// Number of children.
    pub children: Vec<u32>,
}

/// A run of the sorted keys that share the first `depth` bytes: what lies below one node.
struct Span {
    suffix: bool,
    first: usize,
    end: usize,
    depth: usize,
}

impl Trie {
    /// Build the trie. A token that begins with the suffix indicator stands below `r#` without it, and below `r` as it
    /// is: HF looks both up in one map, so the indicator written in a text is text.
    ///
    /// `reachable` says of a string whether it can occur in a word at all; what cannot is left out.
    pub fn build(tokens: &[(String, u32)], suffix_indicator: &str, reachable: impl Fn(&str) -> bool) -> Trie {
        let mut initial: Vec<(&str, u32)> = Vec::new();
        let mut continuing: Vec<(&str, u32)> = Vec::new();
        for (token, id) in tokens {
            if !token.is_empty() && reachable(token) {
                initial.push((token, *id));
            }
            match token.strip_prefix(suffix_indicator) {
                Some(rest) if !suffix_indicator.is_empty() && !rest.is_empty() && reachable(rest) => {
                    continuing.push((rest, *id));
                }
                _ => {}
            }
        }
        initial.sort_unstable();
        continuing.sort_unstable();
        let mut trie = Trie { suffix_root: ROOT, label: vec![], token: vec![], first_child: vec![], children: vec![] };
        let mut spans = std::collections::VecDeque::new();
        trie.push(0);
        spans.push_back(Span { suffix: false, first: 0, end: initial.len(), depth: 0 });
        if !suffix_indicator.is_empty() {
            trie.suffix_root = trie.push(0);
            spans.push_back(Span { suffix: true, first: 0, end: continuing.len(), depth: 0 });
        }
        let mut node = ROOT;
        while let Some(span) = spans.pop_front() {
            let keys = if span.suffix { &continuing } else { &initial };
            trie.expand(node, &span, keys, &mut spans);
            node += 1;
        }
        trie
    }

    fn push(&mut self, label: u32) -> Node {
        self.label.push(label);
        self.token.push(NONE);
        self.first_child.push(NONE);
        self.children.push(0);
        (self.label.len() - 1) as Node
    }

    /// Give a node its token and its children.
    fn expand(&mut self, node: Node, span: &Span, keys: &[(&str, u32)], spans: &mut std::collections::VecDeque<Span>) {
        let mut first = span.first;
        if first < span.end && keys[first].0.len() == span.depth {
            self.token[node as usize] = keys[first].1;
            first += 1;
        }
        while first < span.end {
            let (label, length) = utf8::decode(keys[first].0.as_bytes(), span.depth);
            let edge = &keys[first].0.as_bytes()[span.depth..span.depth + length];
            let same = keys[first..span.end].partition_point(|key| key.0.as_bytes()[span.depth..].starts_with(edge));
            let child = self.push(label);
            if self.children[node as usize] == 0 {
                self.first_child[node as usize] = child;
            }
            self.children[node as usize] += 1;
            spans.push_back(Span { suffix: span.suffix, first, end: first + same, depth: span.depth + length });
            first += same;
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.label.len()
    }

    /// True for a trie without nodes, which is never built.
    pub fn is_empty(&self) -> bool {
        self.label.is_empty()
    }

    /// The children of a node, in the order of their labels.
    pub fn children(&self, node: Node) -> std::ops::Range<Node> {
        let first = self.first_child[node as usize];
        if first == NONE { 0..0 } else { first..first + self.children[node as usize] }
    }

    /// δ(node, c): the child by this code point, or NONE.
    pub fn transition(&self, node: Node, c: u32) -> Node {
        let children = self.children(node);
        let labels = &self.label[children.start as usize..children.end as usize];
        labels.binary_search(&c).map_or(NONE, |found| children.start + found as Node)
    }
}
