//! Transformation rules: what stands for a character or a short string of the text, before anything else normalizes it.
//!
//! Of the keys that begin at a place the longest counts, and the search goes on behind it: what a rule puts out is not
//! looked at again. (SentencePiece's normalization rules and Lucene's mapping of characters go by the same.) Added tokens
//! of the first pass are found before: no rule reaches into one.
//!
//! Rules for single characters are part of the code point table, so characters that become nothing, or one that is no
//! longer, cost what others do; all else goes through that table by itself, or with its block of 64 bytes. Those for
//! strings are found on the way by [`Needles`].

use crate::added::TokenInText;
use crate::automaton::Tables;
use crate::code_points::{Action, CodePoints, CodePointsBuf, Output};
use crate::error::Error;
use crate::normalizer::Position;
use crate::search::{Hit, Needles, SHORT};
use std::collections::{HashMap, HashSet};

/// Bytes of a key at most: so many are looked at again and again.
pub const LONGEST_KEY: usize = SHORT;
/// Characters of what stands for it at most, also after normalization.
pub const LONGEST_RESULT: usize = 255;

/// What stands for one key.
#[derive(Debug)]
pub struct Rule {
    /// Characters of the key.
    pub length: u64,
    /// What stands for it.
    pub result: String,
    /// That, normalized, but for the order of marks.
    pub outputs: Vec<Output>,
}

/// All rules of an automaton, ready to be used.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Keys of one character, with the number of the rule.
    characters: HashMap<u32, usize>,
    /// Other keys.
    strings: Needles,
    /// The number of the rule of each of those.
    numbers: Vec<usize>,
    /// The code point table with the rules for characters in it, if there are any.
    code_points: Option<CodePointsBuf>,
    /// A key of several characters has U+FFFD, as which invalid bytes are read.
    pub has_replacement: bool,
}

/// What comes next in a text that is no character for the code point table.
#[derive(Debug, Clone, Copy)]
pub enum Found {
    /// An added token.
    Token(TokenInText),
    /// The key of a rule.
    Key(Hit),
}

impl Found {
    /// Where it begins.
    pub fn start(&self) -> usize {
        match self {
            Found::Token(token) => token.start,
            Found::Key(hit) => hit.start,
        }
    }
}

impl Rules {
    /// Make ready; `code_points` know no rules. Rules that cannot be used are refused by name.
    pub fn new(rules: &[(String, String)], code_points: CodePoints<'_>) -> Result<Rules, Error> {
        let mut made = Rules {
            rules: Vec::with_capacity(rules.len()),
            characters: HashMap::new(),
            strings: Needles::new(vec![]).map_err(refused)?,
            numbers: vec![],
            code_points: None,
            has_replacement: false,
        };
        let mut strings = Vec::new();
        let mut seen = HashSet::new();
        for (number, (key, result)) in rules.iter().enumerate() {
            let outputs = outputs(code_points, result);
            if let Some(why) = fault(key, result, &outputs, !seen.insert(key)) {
                return Err(Error::Vocabulary(format!("the rule for {key:?}: {why}")));
            }
            let mut characters = key.chars();
            match (characters.next(), characters.next()) {
                (Some(c), None) => {
                    made.characters.insert(u32::from(c), number);
                }
                _ => {
                    made.has_replacement |= key.contains(char::REPLACEMENT_CHARACTER);
                    strings.push(key.clone().into_bytes());
                    made.numbers.push(number);
                }
            }
            made.rules.push(Rule { length: key.chars().count() as u64, result: result.clone(), outputs });
        }
        made.strings = Needles::new(strings).map_err(refused)?;
        if !made.characters.is_empty() {
            let mut table = code_points.to_owned();
            let outputs = |(&c, &number): (&u32, &usize)| (c, &made.rules[number].outputs[..]);
            table.replace(made.characters.iter().map(outputs)).map_err(refused)?;
            made.code_points = Some(table);
        }
        Ok(made)
    }

    /// The code point table with the rules for single characters in it.
    pub fn code_points<'a>(&'a self, without: CodePoints<'a>) -> CodePoints<'a> {
        self.code_points.as_ref().map_or(without, CodePointsBuf::view)
    }

    /// The rule of a single character.
    #[inline(always)]
    pub fn of_character(&self, c: u32) -> Option<&Rule> {
        if self.characters.is_empty() { None } else { self.characters.get(&c).map(|&number| &self.rules[number]) }
    }

    /// The rule of a key that was found.
    pub fn of_key(&self, hit: Hit) -> &Rule {
        &self.rules[self.numbers[hit.number]]
    }

    /// Keys of several characters.
    #[inline(always)]
    pub fn strings(&self) -> &Needles {
        &self.strings
    }

    /// What the rules make of a string.
    pub fn apply(&self, text: &str) -> String {
        let mut transformed = String::new();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let reach = text.len().min(at + LONGEST_KEY);
            let hit = self.strings.find(text.as_bytes(), at..reach).filter(|hit| hit.start == at);
            let (length, rule) = match hit {
                Some(hit) => (hit.end - at, Some(self.of_key(hit))),
                None => (c.len_utf8(), self.of_character(u32::from(c))),
            };
            transformed.push_str(rule.map_or(&text[at..at + length], |rule| &rule.result));
            at += length;
        }
        transformed
    }
}

/// The first added token or key that begins before `end`, where no token begins before `first`, and neither does a key.
#[inline(never)]
pub fn next(tables: &Tables<'_>, text: &[u8], first: usize, end: usize, position: &mut Position) -> Option<Found> {
    let (raw, strings) = (&tables.added.raw, tables.rules.strings());
    // A key that begins before the end may reach so far, unless a token begins there.
    let reach = position.decided.min(end + strings.longest).max(end);
    let token = position.token.take().or_else(|| position.search.token(raw, text, first, reach));
    let limit = token.map_or(reach, |token| token.start);
    let key = if first < limit && !strings.is_empty() { strings.find(text, first..limit) } else { None };
    if let Some(hit) = key.filter(|hit| hit.start < end) {
        position.token = token;
        return Some(Found::Key(hit));
    }
    match token {
        Some(token) if token.start < end => Some(Found::Token(token)),
        _ => {
            position.token = token;
            None
        }
    }
}

/// What a string becomes without any rule, but for the order of marks.
fn outputs(code_points: CodePoints<'_>, text: &str) -> Vec<Output> {
    let mut outputs = Vec::new();
    for c in text.chars() {
        match code_points.action(u32::from(c)) {
            Action::One(output) => outputs.push(output),
            Action::Many(several) => outputs.extend_from_slice(several),
            Action::Delete { barrier } => outputs.extend(barrier.then_some(Output::BARRIER)),
        }
    }
    outputs
}

/// Rules as they are stored: where key and result of each end in the text of all.
pub fn write(rules: &[(String, String)]) -> (Vec<[u32; 2]>, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut append = |text: &str| {
        bytes.extend_from_slice(text.as_bytes());
        bytes.len() as u32
    };
    let ends = rules.iter().map(|(key, result)| [append(key), append(result)]).collect();
    (ends, bytes)
}

/// The rules that were stored so.
pub fn read(ends: &[[u32; 2]], bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "its rules are not UTF-8")?;
    let mut start = 0;
    let mut next = |end: u32| {
        let part = text.get(start..end as usize).ok_or("a rule lies outside its text")?;
        start = end as usize;
        Ok::<_, String>(part.to_string())
    };
    ends.iter().map(|&[key, result]| Ok((next(key)?, next(result)?))).collect()
}

/// Why a rule cannot be used.
fn fault(key: &str, result: &str, outputs: &[Output], is_second: bool) -> Option<String> {
    if key.is_empty() {
        return Some("it has no character that it could stand for; leave it out".into());
    }
    if is_second {
        return Some("there are two of them; leave one out".into());
    }
    if key.len() > LONGEST_KEY {
        return Some(format!("it has {} bytes, and {LONGEST_KEY} are the most; shorten it", key.len()));
    }
    if result.chars().count() > LONGEST_RESULT || outputs.len() > LONGEST_RESULT {
        return Some(format!("what stands for it has more than {LONGEST_RESULT} characters; shorten that"));
    }
    None
}

fn refused(fault: impl std::fmt::Display) -> Error {
    Error::Vocabulary(format!("the rules: {fault}"))
}
