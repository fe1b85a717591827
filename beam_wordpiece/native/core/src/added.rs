//! Added tokens: found in the text before words are, as HF does.
//!
//! Tokens with `normalized = false` are looked for in the text as it is, the others, themselves normalized, in the
//! normalized text of what lies between. The leftmost match wins, of those the longest; the search goes on after it,
//! also where `single_word` throws it away. White space that `lstrip` and `rstrip` take is no part of any word, so it
//! matters to ids only where it hides a space from a normalized token that begins or ends with one.

use crate::automaton::Parameters;
use crate::code_points::{Action, Class, CodePoints, Output};
use crate::error::Error;
use crate::options::{AddedToken, Profile};
use crate::profile::Tables;
use crate::utf8;
use std::collections::BTreeMap;

/// The bytes with which tokens begin.
#[derive(Debug, Clone)]
pub struct FirstBytes([bool; 256]);

impl FirstBytes {
    /// Whether a token begins with this byte.
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }
}

/// What stands at some place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// No token.
    Nothing,
    /// A token that touches a word and must not; the search goes on at `end`.
    Rejected {
        /// End of its content, a byte position.
        end: usize,
    },
    /// A token.
    Token {
        /// Its id.
        id: u32,
        /// The text before the token ends here (`lstrip`).
        start: usize,
        /// End of its content: where the search goes on.
        end: usize,
        /// The text after the token begins here (`rstrip`).
        resume: usize,
    },
}

/// A set of tokens that are looked for in one pass: a trie over bytes.
#[derive(Debug)]
pub struct Pass {
    nodes: Vec<BTreeMap<u8, u32>>,
    token: Vec<Option<u32>>,
    tokens: Vec<AddedToken>,
    /// Length in bytes of the longest content.
    pub longest: usize,
    first_bytes: FirstBytes,
    tables: &'static Tables,
}

/// Both passes.
#[derive(Debug)]
pub struct AddedTokens {
    /// In the text as it is.
    pub raw: Pass,
    /// In the normalized text.
    pub normalized: Pass,
}

impl AddedTokens {
    /// Make the passes. Tokens that have no defined meaning in HF are refused by name.
    pub fn new(
        tokens: &[AddedToken],
        parameters: &Parameters,
        code_points: CodePoints<'_>,
    ) -> Result<AddedTokens, Error> {
        let profile = Profile::from_code(parameters.profile).unwrap_or(Profile::Hf);
        let tables = Tables::of(profile);
        let mut added = AddedTokens { raw: Pass::new(tables), normalized: Pass::new(tables) };
        for token in tokens {
            let refuse =
                |why: &str| Err(Error::Vocabulary(format!("added token {:?} (id {}): {why}", token.content, token.id)));
            let pattern = if token.normalized {
                normalize(code_points, &token.content, parameters.split_hangul != 0)
            } else {
                token.content.as_bytes().to_vec()
            };
            if pattern.is_empty() {
                return refuse("nothing is left of it after normalization, so it would match everywhere");
            }
            if is_space(tables, &pattern) {
                return refuse("it is white space only, which is dropped between words");
            }
            let pass = if token.normalized { &mut added.normalized } else { &mut added.raw };
            if !pass.insert(&pattern, token) {
                return refuse("another added token is the same, after normalization where that is asked for");
            }
        }
        Ok(added)
    }

    /// The bytes with which tokens of the first pass begin.
    pub fn first_bytes(&self) -> &FirstBytes {
        &self.raw.first_bytes
    }
}

impl Pass {
    fn new(tables: &'static Tables) -> Pass {
        let first_bytes = FirstBytes([false; 256]);
        Pass { nodes: vec![BTreeMap::new()], token: vec![None], tokens: vec![], longest: 0, first_bytes, tables }
    }

    /// Whether a token begins with this byte.
    #[inline(always)]
    pub fn begins(&self, byte: u8) -> bool {
        self.first_bytes.contains(byte)
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    fn insert(&mut self, pattern: &[u8], token: &AddedToken) -> bool {
        let mut node = 0;
        for &byte in pattern {
            let next = self.nodes.len() as u32;
            let child = *self.nodes[node].entry(byte).or_insert(next);
            if child == next {
                self.nodes.push(BTreeMap::new());
                self.token.push(None);
            }
            node = child as usize;
        }
        let free = self.token[node].is_none();
        self.token[node] = Some(self.tokens.len() as u32);
        self.tokens.push(token.clone());
        self.longest = self.longest.max(pattern.len());
        self.first_bytes.0[usize::from(pattern[0])] = true;
        free
    }

    /// What stands at this place. `before`: the character before is a word character (or there is none: false), for
    /// callers whose `text` does not hold it; otherwise it is looked up. Text after `text` counts as no text.
    pub fn at(&self, text: &[u8], at: usize, before: Option<bool>) -> Found {
        let mut found = None;
        let mut node = 0;
        for (length, byte) in text[at..].iter().enumerate() {
            match self.nodes[node].get(byte) {
                Some(&child) => node = child as usize,
                None => break,
            }
            if let Some(token) = self.token[node] {
                found = Some((token, at + length + 1));
            }
        }
        let Some((token, end)) = found else {
            return Found::Nothing;
        };
        let token = &self.tokens[token as usize];
        let touches = |c: Option<u32>| c.is_some_and(|c| self.tables.word_character.contains(c));
        if token.single_word {
            let before = before.unwrap_or_else(|| touches(character_before(text, at)));
            if before || touches(character_after(text, end)) {
                return Found::Rejected { end };
            }
        }
        let space = |c: Option<u32>| c.is_some_and(|c| self.tables.space_character.contains(c));
        let (mut start, mut resume) = (at, end);
        while token.lstrip && space(character_before(text, start)) {
            start -= utf8::encode(character_before(text, start).unwrap_or_default()).1;
        }
        while token.rstrip && space(character_after(text, resume)) {
            resume += utf8::decode(text, resume).1;
        }
        Found::Token { id: token.id, start, end, resume }
    }

    /// Whether the last character of this text is a word character.
    pub fn ends_with_word(&self, text: &[u8]) -> bool {
        character_before(text, text.len()).is_some_and(|c| self.tables.word_character.contains(c))
    }
}

/// The character that ends at this place; bytes that are not UTF-8 count as none.
fn character_before(text: &[u8], at: usize) -> Option<u32> {
    (1..=4.min(at)).map(|length| &text[at - length..at]).find_map(|bytes| match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().next_back().map(u32::from),
        Err(_) => (bytes == [0xC0, 0x80]).then_some(0),
    })
}

/// The character that begins at this place; bytes that are not UTF-8 count as none.
fn character_after(text: &[u8], at: usize) -> Option<u32> {
    let (c, length) = utf8::decode(text, at);
    let bytes = text.get(at..at + length)?;
    (std::str::from_utf8(bytes).is_ok() || bytes == [0xC0, 0x80]).then_some(c)
}

fn is_space(tables: &Tables, pattern: &[u8]) -> bool {
    let mut at = 0;
    while at < pattern.len() {
        let (c, length) = utf8::decode(pattern, at);
        if !tables.space_character.contains(c) {
            return false;
        }
        at += length;
    }
    true
}

/// The normalized text of a whole string, as HF has it: with spaces around ideographs and Hangul syllables split.
fn normalize(code_points: CodePoints<'_>, text: &str, split_hangul: bool) -> Vec<u8> {
    let mut normalized = Vec::new();
    let mut marks = Vec::new();
    for c in text.chars() {
        sort_marks(code_points.action(u32::from(c)), &mut marks, &mut |output| {
            spell(output, split_hangul, &mut |c, _| {
                let (bytes, n) = utf8::encode(c);
                normalized.extend_from_slice(&bytes[..n]);
            });
        });
    }
    put_marks(&mut marks, &mut |output| {
        let (bytes, n) = utf8::encode(output.code_point());
        normalized.extend_from_slice(&bytes[..n]);
    });
    normalized
}

/// Put out the marks that wait, in the order of their combining classes.
#[inline(always)]
pub fn put_marks(marks: &mut Vec<Output>, put: &mut impl FnMut(Output)) {
    if !marks.is_empty() {
        marks.sort_by_key(|mark| mark.combining_class());
        marks.drain(..).for_each(put);
    }
}

/// Take the outputs of one code point: starters end a run of marks, which comes out in the order of combining classes.
#[inline(always)]
pub fn sort_marks(action: Action<'_>, marks: &mut Vec<Output>, put: &mut impl FnMut(Output)) {
    let mut take = |output: Output| {
        if output.combining_class() != 0 {
            marks.push(output);
            return;
        }
        put_marks(marks, put);
        if output != Output::BARRIER {
            put(output);
        }
    };
    match action {
        Action::One(output) => take(output),
        Action::Delete { barrier } => {
            if barrier {
                take(Output::BARRIER);
            }
        }
        Action::Many(outputs) => outputs.iter().for_each(|&output| take(output)),
    }
}

/// Spell an output out as HF's normalized text has it.
pub fn spell(output: Output, split_hangul: bool, put: &mut impl FnMut(u32, Class)) {
    let c = output.code_point();
    if output.class() == Class::Ideograph {
        put(u32::from(' '), Class::Space);
        put(c, Class::Ideograph);
        put(u32::from(' '), Class::Space);
    } else if split_hangul && utf8::is_hangul_syllable(c) {
        let (jamo, n) = utf8::hangul_jamo(c);
        jamo[..n].iter().for_each(|&j| put(j, Class::Word));
    } else {
        put(c, output.class());
    }
}
