//! Failure links and failure pops: Algorithm 2 of "Fast WordPiece Tokenization" (Song et al., EMNLP 2021).
//!
//! For a node `v`, `F(v)` are the tokens that come off the front of the string of `v` when the longest token is popped
//! again and again, until what is left is a string on the trie below `r#`; `f(v)` is the node of that rest.
//!
//! Where this gets stuck, no token begins with the last character of the string. What then happens is the policy for
//! what is unknown. If the word is, `f(v)` is NONE. Otherwise the character is, which is popped as [`UNKNOWN_CHARACTER`] and
//! `f(v)` is `r#`, so that only the roots are without a link.

use crate::double_array::Packed;
use crate::options::Unknown;
use crate::trie::{NONE, Node, ROOT, Trie};

/// Stands for one unknown character among popped tokens. It is the id of no token, not of the unknown token either, which
/// may be written in a text and then has several characters.
pub const UNKNOWN_CHARACTER: u32 = Packed::LIMIT - 1;

/// A list of popped tokens: 0 is the empty list, any other number a token and the list before it.
pub type List = u32;

/// Lists that share their beginnings, so that all of them together are linear in the characters of the vocabulary.
#[derive(Debug)]
pub struct Pops {
    before: Vec<List>,
    token: Vec<u32>,
    length: Vec<u32>,
}

impl Pops {
    fn new() -> Pops {
        Pops { before: vec![0], token: vec![NONE], length: vec![0] }
    }

    fn append(&mut self, list: List, token: u32) -> List {
        self.before.push(list);
        self.token.push(token);
        self.length.push(self.length[list as usize] + 1);
        (self.before.len() - 1) as List
    }

    /// Number of tokens in a list.
    pub fn length(&self, list: List) -> usize {
        self.length[list as usize] as usize
    }

    /// The list without its last token, and that token.
    pub fn split_last(&self, list: List) -> Option<(List, u32)> {
        (list != 0).then(|| (self.before[list as usize], self.token[list as usize]))
    }

    /// The tokens of a list, first popped first.
    pub fn tokens(&self, list: List) -> Vec<u32> {
        let mut tokens: Vec<u32> = std::iter::successors(self.split_last(list), |&(before, _)| self.split_last(before))
            .map(|(_, token)| token)
            .collect();
        tokens.reverse();
        tokens
    }
}

/// `f` and `F` of every node.
#[derive(Debug)]
pub struct Failure {
    /// The failure link, or NONE.
    pub link: Vec<Node>,
    /// The failure pops.
    pub pops: Vec<List>,
    /// The lists that `pops` names.
    pub lists: Pops,
}

impl Failure {
    /// Algorithm 2: breadth-first (the order of the node numbers), each node from its parent.
    pub fn build(trie: &Trie, unknown: Unknown) -> Failure {
        let mut failure = Failure { link: vec![NONE; trie.len()], pops: vec![0; trie.len()], lists: Pops::new() };
        for u in ROOT..trie.len() as Node {
            for v in trie.children(u) {
                failure.set(trie, unknown, u, v);
            }
        }
        failure
    }

    fn set(&mut self, trie: &Trie, unknown: Unknown, u: Node, v: Node) {
        let token = trie.token[v as usize];
        if token != NONE {
            self.link[v as usize] = trie.suffix_root;
            self.pops[v as usize] = self.lists.append(0, token);
            return;
        }
        let label = trie.label[v as usize];
        let mut popped = Vec::new();
        let mut z = self.link[u as usize];
        while z != NONE {
            let next = trie.transition(z, label);
            if next != NONE {
                self.link[v as usize] = next;
                self.pops[v as usize] = self.extend(self.pops[u as usize], &popped);
                return;
            }
            popped.extend(self.lists.tokens(self.pops[z as usize]));
            z = self.link[z as usize];
        }
        if unknown != Unknown::Word {
            popped.push(UNKNOWN_CHARACTER);
            self.link[v as usize] = trie.suffix_root;
            self.pops[v as usize] = self.extend(self.pops[u as usize], &popped);
        }
    }

    fn extend(&mut self, list: List, tokens: &[u32]) -> List {
        tokens.iter().fold(list, |list, &token| self.lists.append(list, token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's vocabulary.
    fn trie() -> Trie {
        let names = ["a", "abcdx", "##b", "##c", "##cdy", "##dz"];
        let tokens: Vec<(String, u32)> = names.iter().zip(0..).map(|(name, id)| (name.to_string(), id)).collect();
        Trie::build(&tokens, "##", |token| !token.contains('#'))
    }

    fn walk(trie: &Trie, from: Node, text: &str) -> Node {
        text.chars().fold(from, |node, c| trie.transition(node, u32::from(c)))
    }

    #[test]
    fn the_table_of_the_paper() {
        let trie = trie();
        let failure = Failure::build(&trie, Unknown::Word);
        let root = |text: &str| walk(&trie, ROOT, text);
        let suffix = |text: &str| walk(&trie, trie.suffix_root, text);
        let pops = |node: Node| failure.lists.tokens(failure.pops[node as usize]);
        let link = |node: Node| failure.link[node as usize];
        assert_eq!((link(root("a")), pops(root("a"))), (trie.suffix_root, vec![0]));
        assert_eq!((link(root("ab")), pops(root("ab"))), (suffix("b"), vec![0]));
        assert_eq!((link(root("abc")), pops(root("abc"))), (suffix("c"), vec![0, 2]));
        assert_eq!((link(root("abcd")), pops(root("abcd"))), (suffix("cd"), vec![0, 2]));
        assert_eq!((link(root("abcdx")), pops(root("abcdx"))), (trie.suffix_root, vec![1]));
        assert_eq!((link(suffix("cd")), pops(suffix("cd"))), (suffix("d"), vec![3]));
        assert_eq!((link(suffix("d")), pops(suffix("d"))), (NONE, vec![]));
    }

    #[test]
    fn an_unknown_character_is_popped_by_itself() {
        let trie = trie();
        let (word, character) = (Failure::build(&trie, Unknown::Word), Failure::build(&trie, Unknown::Character));
        let pops = |failure: &Failure, node: Node| failure.lists.tokens(failure.pops[node as usize]);
        let d = walk(&trie, trie.suffix_root, "d");
        assert_eq!((character.link[d as usize], pops(&character, d)), (trie.suffix_root, vec![UNKNOWN_CHARACTER]));
        for node in ROOT..trie.len() as Node {
            let root = node == ROOT || node == trie.suffix_root;
            assert_eq!(character.link[node as usize] == NONE, root);
            if word.link[node as usize] != NONE {
                let same = (word.link[node as usize], pops(&word, node));
                assert_eq!((character.link[node as usize], pops(&character, node)), same);
            }
        }
    }

    #[test]
    fn getting_stuck_behind_tokens_keeps_them() {
        let names = ["xyabq", "xyz", "##a", "##abc"];
        let tokens: Vec<(String, u32)> = names.iter().zip(0..).map(|(name, id)| (name.to_string(), id)).collect();
        let trie = Trie::build(&tokens, "##", |token| !token.contains('#'));
        let failure = Failure::build(&trie, Unknown::Character);
        let of = |from: Node, text: &str| {
            let node = walk(&trie, from, text) as usize;
            (failure.link[node], failure.lists.tokens(failure.pops[node]))
        };
        let (suffix, unknown) = (trie.suffix_root, UNKNOWN_CHARACTER);
        assert_eq!(of(ROOT, "x"), (suffix, vec![unknown]));
        assert_eq!(of(ROOT, "xy"), (suffix, vec![unknown, unknown]));
        assert_eq!(of(ROOT, "xyab"), (walk(&trie, suffix, "ab"), vec![unknown, unknown]));
        assert_eq!(of(suffix, "ab"), (suffix, vec![2, unknown]));
    }
}
