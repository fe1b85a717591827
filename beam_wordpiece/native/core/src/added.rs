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
use crate::rules::Rules;
use crate::search::{Hit, Hits, Needles};
use crate::utf8;
use std::collections::{HashMap, HashSet};

/// An added token in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenInText {
    /// Its id.
    pub id: u32,
    /// First byte of its content.
    pub start: usize,
    /// End of its content.
    pub end: usize,
    /// It takes the white space before it.
    pub lstrip: bool,
    /// It takes the white space after it.
    pub rstrip: bool,
}

/// A search through one text, which may come in parts, that goes on where it was; every byte is looked at once, whatever
/// the tokens are.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// No token begins before this byte.
    pub from: usize,
    /// The character before the part is a word character.
    pub after_word: bool,
    /// What was found at or after `from`, as far as that is known.
    hits: Hits,
}

impl Search {
    /// At the beginning of a text.
    pub fn restart(&mut self) {
        (self.from, self.after_word) = (0, false);
        self.hits.restart();
    }

    /// The next token that begins before `end`. The caller knows that none begins before `first`.
    #[inline(never)]
    pub fn token(&mut self, pass: &Pass, text: &[u8], first: usize, end: usize) -> Option<TokenInText> {
        while let Some(hit) = self.hits.next(&pass.contents, text, first.max(self.from)).filter(|hit| hit.start < end) {
            self.from = hit.end;
            let token = pass.judge(text, hit, self.after_word);
            if token.is_some() {
                return token;
            }
        }
        None
    }

    /// A token that was found is of no use yet: it is found again.
    pub fn put_back(&mut self, token: TokenInText) {
        self.from = token.start;
    }

    /// The first `done` bytes of the text are done with: the next part begins behind them.
    pub fn advance(&mut self, pass: &Pass, text: &[u8], done: usize) {
        if done > 0 && pass.has_single_word {
            self.after_word = pass.ends_with_word(&text[..done]);
        }
        self.from = self.from.saturating_sub(done);
        self.hits.restart();
    }
}

/// A set of tokens that are looked for in one pass.
#[derive(Debug)]
pub struct Pass {
    /// What is looked for.
    pub contents: Needles,
    tokens: Vec<AddedToken>,
    /// Some content has marks that are sorted.
    pub has_marks: bool,
    /// Some content has U+FFFD, as which invalid bytes are read.
    pub has_replacement: bool,
    /// Some token must not touch a word.
    pub has_single_word: bool,
    /// Some token takes the white space before it.
    pub has_lstrip: bool,
    tables: &'static Tables,
}

/// Both passes.
#[derive(Debug)]
pub struct AddedTokens {
    /// In the text as it is.
    pub raw: Pass,
    /// In the normalized text.
    pub normalized: Pass,
    names: HashMap<u32, String>,
    by_content: HashMap<String, u32>,
}

impl AddedTokens {
    /// Make the passes; `code_points` know no rules. Tokens that have no defined meaning in HF are refused by name.
    pub fn new(
        tokens: &[AddedToken],
        parameters: &Parameters,
        rules: &Rules,
        code_points: CodePoints<'_>,
    ) -> Result<AddedTokens, Error> {
        let profile = Profile::from_code(parameters.profile).unwrap_or(Profile::Hf);
        let tables = Tables::of(profile);
        let (mut raw, mut normalized) = (Patterns::default(), Patterns::default());
        let mut names = HashMap::new();
        for token in tokens {
            // How a text that is the token looks where tokens are searched for, and whether it has marks that are sorted.
            let seen = |text: &str| match token.normalized {
                true => normalize(code_points, text, parameters.split_hangul != 0),
                false => (text.as_bytes().to_vec(), false),
            };
            let (mut pattern, mut has_marks) = seen(&token.content);
            names.insert(token.id, String::from_utf8_lossy(&pattern).into_owned());
            let ruled = rules.apply(&token.content);
            if token.normalized && ruled != token.content {
                (pattern, has_marks) = seen(&ruled);
            }
            let patterns = if token.normalized { &mut normalized } else { &mut raw };
            patterns.has_marks |= has_marks;
            patterns.add(tables, pattern, token)?;
        }
        Ok(AddedTokens {
            raw: Pass::new(tables, raw)?,
            normalized: Pass::new(tables, normalized)?,
            names,
            by_content: tokens.iter().map(|token| (token.content.clone(), token.id)).collect(),
        })
    }

    /// What the token with this id is called: its content, normalized where it is looked for in normalized text. So it is
    /// in HF since its version 0.23.
    pub fn name(&self, id: u32) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// The id of the token with this content.
    pub fn id(&self, content: &str) -> Option<u32> {
        self.by_content.get(content).copied()
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
        let contents =
            Needles::new(patterns).map_err(|error| Error::Vocabulary(format!("the added tokens: {error}")))?;
        let has_replacement = tokens.iter().any(|token| token.content.contains(char::REPLACEMENT_CHARACTER));
        let [has_single_word, has_lstrip] = [|token: &AddedToken| token.single_word, |token: &AddedToken| token.lstrip]
            .map(|has| tokens.iter().any(has));
        Ok(Pass { contents, tokens, has_marks, has_replacement, has_single_word, has_lstrip, tables })
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token, unless it touches a word and must not. `after_word`: the character before `text` is a word character. The
    /// end of `text` counts as the end.
    pub fn judge(&self, text: &[u8], hit: Hit, after_word: bool) -> Option<TokenInText> {
        let &AddedToken { id, single_word, lstrip, rstrip, .. } = &self.tokens[hit.number];
        if single_word {
            let before = if hit.start == 0 { after_word } else { self.ends_with_word(&text[..hit.start]) };
            let after = character_after(text, hit.end);
            if before || after.is_some_and(|c| self.tables.word_character.contains(c)) {
                return None;
            }
        }
        Some(TokenInText { id, start: hit.start, end: hit.end, lstrip, rstrip })
    }

    /// Where what is undecided begins in a text that goes on: a token that is cut off, the character behind one that must
    /// not touch a word, a character that is cut off. No token begins before `from`. Tokens that begin before that place
    /// are the same whatever comes.
    pub fn decided(&self, text: &[u8], mut from: usize) -> usize {
        let whole = text.len() - utf8::cut_off(text);
        // A character that is cut off may turn out to be none, and then reads as U+FFFD.
        let known = if self.has_replacement { &text[..whole] } else { text };
        let cut_off = |from| self.contents.cut_off(known, from).unwrap_or(whole);
        let mut hits = Hits::default();
        let mut end = cut_off(from);
        while let Some(hit) = hits.next(&self.contents, text, from).filter(|hit| hit.start < end) {
            if self.tokens[hit.number].single_word && hit.end >= whole {
                return hit.start;
            }
            from = hit.end;
            if from > end {
                // The token has taken what might have begun another one.
                end = cut_off(from);
            }
        }
        end
    }

    /// Bytes at the end of a text that goes on within which something may be undecided: a token that is cut off, or the
    /// character behind one.
    pub fn reach(&self) -> usize {
        self.contents.longest + 2 * 4
    }

    /// Whether a character is white space, as `lstrip` and `rstrip` take it.
    pub fn is_space(&self, c: u32) -> bool {
        self.tables.space_character.contains(c)
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
