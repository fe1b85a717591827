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
use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::collections::{HashMap, HashSet};

/// The bytes with which tokens begin.
#[derive(Debug, Clone)]
pub struct FirstBytes([bool; 256]);

impl FirstBytes {
    /// Whether a token begins with this byte.
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }
}

/// Where the content of a token stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    token: usize,
    /// First byte of the content.
    pub start: usize,
    /// End of the content: the search goes on here.
    pub end: usize,
}

/// An added token in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenInText {
    /// Its id.
    pub id: u32,
    /// The text before the token ends here (`lstrip`).
    pub start: usize,
    /// The text after the token begins here (`rstrip`).
    pub resume: usize,
}

/// A search through one text that goes on where it was; every byte is looked at once, whatever the tokens are.
#[derive(Debug, Default)]
pub struct Search {
    /// No token begins before this byte.
    from: usize,
    /// What was found at or after `from`, once that is known.
    next: Option<Option<Hit>>,
}

impl Search {
    /// At the beginning of a text.
    pub fn restart(&mut self) {
        *self = Search::default();
    }

    /// The next token that begins before `end`. The caller knows that none begins before `first`.
    #[inline(never)]
    pub fn token(&mut self, pass: &Pass, text: &[u8], first: usize, end: usize) -> Option<TokenInText> {
        while let Some(hit) = self.hit(pass, text, first).filter(|hit| hit.start < end) {
            (self.from, self.next) = (hit.end, None);
            if let Some(mut token) = pass.judge(text, hit, None) {
                // Another one may begin in the white space that this one takes.
                while token.resume > self.from
                    && let Some(hit) = self.hit(pass, text, self.from).filter(|hit| hit.start < token.resume)
                {
                    if pass.judge(text, hit, None).is_some() {
                        token.resume = hit.start;
                        break;
                    }
                    (self.from, self.next) = (hit.end, None);
                }
                return Some(token);
            }
        }
        None
    }

    fn hit(&mut self, pass: &Pass, text: &[u8], first: usize) -> Option<Hit> {
        let from = first.max(self.from);
        *self.next.get_or_insert_with(|| pass.next(text, from))
    }
}

/// A set of tokens that are looked for in one pass.
#[derive(Debug)]
pub struct Pass {
    finder: Option<AhoCorasick>,
    tokens: Vec<AddedToken>,
    /// Length in bytes of the longest content.
    pub longest: usize,
    /// Some content has marks that are sorted.
    pub has_marks: bool,
    /// Some content has U+FFFD, as which invalid bytes are read.
    pub has_replacement: bool,
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
    by_id: HashMap<u32, String>,
    by_content: HashMap<String, u32>,
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
        let (mut raw, mut normalized) = (Patterns::default(), Patterns::default());
        for token in tokens {
            let (pattern, has_marks) = if token.normalized {
                normalize(code_points, &token.content, parameters.split_hangul != 0)
            } else {
                (token.content.as_bytes().to_vec(), false)
            };
            let patterns = if token.normalized { &mut normalized } else { &mut raw };
            patterns.has_marks |= has_marks;
            patterns.add(tables, pattern, token)?;
        }
        Ok(AddedTokens {
            raw: Pass::new(tables, raw)?,
            normalized: Pass::new(tables, normalized)?,
            by_id: tokens.iter().map(|token| (token.id, token.content.clone())).collect(),
            by_content: tokens.iter().map(|token| (token.content.clone(), token.id)).collect(),
        })
    }

    /// The content of the token with this id.
    pub fn content(&self, id: u32) -> Option<&str> {
        self.by_id.get(&id).map(String::as_str)
    }

    /// The id of the token with this content.
    pub fn id(&self, content: &str) -> Option<u32> {
        self.by_content.get(content).copied()
    }

    /// The bytes with which tokens of the first pass begin.
    pub fn first_bytes(&self) -> &FirstBytes {
        &self.raw.first_bytes
    }
}

/// Tokens of one pass with what is looked for.
#[derive(Default)]
struct Patterns {
    patterns: Vec<Vec<u8>>,
    tokens: Vec<AddedToken>,
    has_marks: bool,
}

impl Patterns {
    fn add(&mut self, tables: &Tables, pattern: Vec<u8>, token: &AddedToken) -> Result<(), Error> {
        let why = if pattern.is_empty() {
            "nothing is left of it after normalization, so it would match everywhere"
        } else if is_space(tables, &pattern) {
            "it is white space only, which is dropped between words"
        } else {
            self.patterns.push(pattern);
            self.tokens.push(token.clone());
            return Ok(());
        };
        Err(refused(token, why))
    }
}

fn refused(token: &AddedToken, why: &str) -> Error {
    Error::Vocabulary(format!("added token {:?} (id {}): {why}", token.content, token.id))
}

impl Pass {
    fn new(tables: &'static Tables, Patterns { patterns, tokens, has_marks }: Patterns) -> Result<Pass, Error> {
        let mut seen = HashSet::new();
        if let Some(twice) = patterns.iter().position(|pattern| !seen.insert(pattern)) {
            let why = "another added token is the same, after normalization where that is asked for";
            return Err(refused(&tokens[twice], why));
        }
        let mut first_bytes = FirstBytes([false; 256]);
        patterns.iter().for_each(|pattern| first_bytes.0[usize::from(pattern[0])] = true);
        let longest = patterns.iter().map(Vec::len).max().unwrap_or_default();
        let build = || AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
        let finder = if patterns.is_empty() { None } else { Some(build()) };
        let finder = finder.transpose().map_err(|error| Error::Vocabulary(format!("the added tokens: {error}")))?;
        let has_replacement = tokens.iter().any(|token| token.content.contains(char::REPLACEMENT_CHARACTER));
        Ok(Pass { finder, tokens, longest, has_marks, has_replacement, first_bytes, tables })
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The leftmost content at or after this place, of those the longest.
    pub fn next(&self, text: &[u8], from: usize) -> Option<Hit> {
        let found = self.finder.as_ref()?.find(Input::new(text).range(from.min(text.len())..))?;
        Some(Hit { token: found.pattern().as_usize(), start: found.start(), end: found.end() })
    }

    /// The token, unless it touches a word and must not. `before`: the character before is a word character, for
    /// callers whose `text` does not hold it; otherwise it is looked up. The end of `text` counts as the end.
    pub fn judge(&self, text: &[u8], hit: Hit, before: Option<bool>) -> Option<TokenInText> {
        let token = &self.tokens[hit.token];
        let touches = |c: Option<u32>| c.is_some_and(|c| self.tables.word_character.contains(c));
        if token.single_word {
            let before = before.unwrap_or_else(|| touches(character_before(text, hit.start)));
            if before || touches(character_after(text, hit.end)) {
                return None;
            }
        }
        let space = |c: Option<u32>| c.is_some_and(|c| self.tables.space_character.contains(c));
        let (mut start, mut resume) = (hit.start, hit.end);
        while token.lstrip && space(character_before(text, start)) {
            start -= utf8::encode(character_before(text, start).unwrap_or_default()).1;
        }
        while token.rstrip && space(character_after(text, resume)) {
            resume += utf8::decode(text, resume).1;
        }
        Some(TokenInText { id: token.id, start, resume })
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

/// The normalized text of a whole string, as HF has it: with spaces around ideographs and Hangul syllables split. Also
/// whether it has marks that are sorted.
fn normalize(code_points: CodePoints<'_>, text: &str, split_hangul: bool) -> (Vec<u8>, bool) {
    let mut normalized = Vec::new();
    let mut has_marks = false;
    let mut put = |output: Output| {
        has_marks |= output.combining_class() != 0;
        spell(output, split_hangul, &mut |c, _| {
            let (bytes, n) = utf8::encode(c);
            normalized.extend_from_slice(&bytes[..n]);
        });
    };
    let mut marks = Vec::new();
    for c in text.chars() {
        sort_marks(code_points.action(u32::from(c)), &mut marks, &mut put);
    }
    put_marks(&mut marks, &mut put);
    (normalized, has_marks)
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
