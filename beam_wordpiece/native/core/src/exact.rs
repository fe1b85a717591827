//! The first pass where added tokens are looked for in the normalized text: character by character, with the text
//! spelled out as HF has it, in a window that is as long as the longest token needs.

use crate::added::{Pass, TokenInText, put_marks, sort_marks, spell};
use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::code_points::{Action, Class, Output};
use crate::normalizer::{Position, Stop, characters};
use crate::origins::Origins;
use crate::rules::{self, Found, Rule};
use crate::search::Hits;
use crate::utf8;
use std::ops::Range;

/// Bytes of text that are normalized before the window is searched, at least.
const STEP: usize = 1024;
/// Bytes of a character, which `single_word` looks at behind a token.
const LOOK_AHEAD: usize = 4;

/// The window: normalized text that is not in the chunk yet.
#[derive(Debug, Clone, Default)]
pub struct Exact {
    /// The text.
    pub text: Vec<u8>,
    /// Class of the character that each byte belongs to.
    pub class: Vec<u8>,
    /// No token begins before this byte of the window.
    pub search_from: usize,
    /// The character before the window is a word character.
    pub after_word: bool,
    /// From this byte on the window holds white space that a token of the first pass may take (`lstrip`).
    pub strip_from: usize,
    /// The last token of the first pass takes the white space that comes (`rstrip`).
    pub skips_space: bool,
    /// Where the text comes from, if that is wanted.
    pub origins: Option<Box<Origins>>,
}

impl Exact {
    /// One that keeps where its text comes from.
    pub fn with_origins() -> Exact {
        Exact { origins: Some(Box::default()), ..Exact::default() }
    }

    /// At the beginning of a document.
    pub fn restart(&mut self) {
        self.clear();
        if let Some(origins) = &mut self.origins {
            origins.restart();
        }
    }

    /// Forget what an earlier stretch of text left.
    fn clear(&mut self) {
        self.text.clear();
        self.class.clear();
        (self.search_from, self.strip_from) = (0, 0);
        (self.after_word, self.skips_space) = (false, false);
        if let Some(origins) = &mut self.origins {
            origins.end_stretch();
        }
    }

    /// What [`crate::normalizer::normalize`] does, for any automaton.
    pub fn normalize(
        &mut self,
        tables: &Tables<'_>,
        text: &[u8],
        end: usize,
        position: &mut Position,
        chunk: &mut Chunk,
    ) -> Stop {
        let least = STEP.max(tables.added.normalized.contents.longest);
        while position.at < end {
            if chunk.is_full() {
                return Stop::Full;
            }
            let step = end.min(position.at + least);
            let found = rules::next(tables, text, position.at, step, position);
            let stop = found.map_or(step, |found| found.start());
            characters(text, position, stop, |position, c| self.character(tables, position, chunk, c));
            match found {
                Some(Found::Token(token)) => {
                    self.token(tables, text, token, position, chunk);
                    continue;
                }
                Some(Found::Key(hit)) => {
                    self.key(tables, tables.rules.of_key(hit), &mut position.marks, chunk);
                    position.at = hit.end;
                    if position.at < end && self.text.len() < least {
                        continue;
                    }
                }
                None => {}
            }
            self.search(tables, chunk, false);
        }
        Stop::End
    }

    /// An added token of the first pass.
    fn token(
        &mut self,
        tables: &Tables<'_>,
        text: &[u8],
        token: TokenInText,
        position: &mut Position,
        chunk: &mut Chunk,
    ) {
        if token.lstrip {
            self.forget(self.strip_from..self.text.len());
        }
        self.finish_stretch(tables, position, chunk);
        match &mut self.origins {
            None => chunk.push_token(token.id),
            Some(origins) => origins.raw_token(&tables.added.raw, token, text, chunk),
        }
        self.skips_space = token.rstrip;
        position.at = token.end;
    }

    /// The key of a rule. It has no white space that a token may take.
    fn key(&mut self, tables: &Tables<'_>, rule: &Rule, marks: &mut Vec<Output>, chunk: &mut Chunk) {
        let mut origin = 0;
        if let Some(origins) = &mut self.origins {
            if self.skips_space {
                origins.close(chunk);
            }
            origin = origins.next_several(rule.length);
        }
        self.skips_space = false;
        for c in rule.result.chars() {
            self.take(tables, marks, (u32::from(c), origin), false);
        }
        self.strip_from = self.text.len();
    }

    fn character(&mut self, tables: &Tables<'_>, position: &mut Position, chunk: &mut Chunk, c: u32) {
        let space = tables.added.raw.is_space(c);
        let number = self.origins.as_mut().map_or(0, |origins| origins.next(space));
        if self.skips_space {
            if let Some(origins) = &mut self.origins {
                if space {
                    origins.take_space(number + 1);
                } else {
                    origins.close(chunk);
                }
            }
            if space {
                return;
            }
        }
        self.skips_space = false;
        match tables.rules.of_character(c) {
            None => self.take(tables, &mut position.marks, (c, number), space),
            Some(rule) => {
                for c in rule.result.chars() {
                    self.take(tables, &mut position.marks, (u32::from(c), number), false);
                }
            }
        }
        if !space {
            self.strip_from = self.text.len();
        }
    }

    /// A character that no rule is about, and where it comes from.
    fn take(&mut self, tables: &Tables<'_>, marks: &mut Vec<Output>, (c, origin): (u32, u64), space: bool) {
        match self.origins.take() {
            None => self.sort(tables, marks, c, space),
            Some(mut origins) => {
                self.align(tables, &mut origins, (c, origin), space);
                self.origins = Some(origins);
            }
        }
    }

    /// Add a character to the window. White space is known to be some before marks in front of it are put in order.
    fn sort(&mut self, tables: &Tables<'_>, marks: &mut Vec<Output>, c: u32, space: bool) {
        let split_hangul = tables.parameters.split_hangul != 0;
        let action = tables.without_rules.action(c);
        if space && !matches!(action, Action::Delete { .. }) && !marks.is_empty() {
            put_marks(marks, &mut |mark| self.put(mark, split_hangul));
            self.strip_from = self.text.len();
        }
        sort_marks(action, marks, &mut |output| self.put(output, split_hangul));
        if marks.len() > most_marks(tables) {
            put_marks(marks, &mut |mark| self.put(mark, split_hangul));
        }
    }

    /// The same, with the character that each one comes from.
    fn align(&mut self, tables: &Tables<'_>, origins: &mut Origins, (c, origin): (u32, u64), space: bool) {
        let split_hangul = tables.parameters.split_hangul != 0;
        let deleted = matches!(tables.without_rules.action(c), Action::Delete { .. });
        let Origins { aligner, window, .. } = origins;
        if space && !deleted && !aligner.is_empty() {
            aligner.finish(&mut |mark, origin| self.put_from(window, mark, origin, split_hangul));
            self.strip_from = self.text.len();
        }
        let mut put = |output: Output, origin: u64| self.put_from(window, output, origin, split_hangul);
        aligner.take(tables, c, origin, most_marks(tables), &mut put);
    }

    fn put_from(&mut self, window: &mut Vec<u64>, output: Output, origin: u64, split_hangul: bool) {
        self.put(output, split_hangul);
        window.resize(self.text.len(), origin);
    }

    fn put(&mut self, output: Output, split_hangul: bool) {
        spell(output, split_hangul, &mut |c, class| {
            let (bytes, n) = utf8::encode(c);
            self.text.extend_from_slice(&bytes[..n]);
            self.class.extend([class as u8; 4].iter().take(n));
        });
    }

    /// The end of the document.
    pub fn finish(&mut self, tables: &Tables<'_>, position: &mut Position, chunk: &mut Chunk) {
        self.finish_stretch(tables, position, chunk);
        if let Some(origins) = &mut self.origins {
            origins.close(chunk);
        }
    }

    /// The end of a stretch of text between two tokens of the first pass.
    fn finish_stretch(&mut self, tables: &Tables<'_>, position: &mut Position, chunk: &mut Chunk) {
        put_marks(&mut position.marks, &mut |mark| self.put(mark, false));
        if let Some(mut origins) = self.origins.take() {
            let Origins { aligner, window, .. } = &mut *origins;
            aligner.finish(&mut |mark, origin| self.put_from(window, mark, origin, false));
            self.origins = Some(origins);
        }
        self.search(tables, chunk, true);
        if let Some(origins) = self.origins.as_mut().filter(|_| !self.skips_space) {
            origins.close(chunk);
        }
        chunk.end_word();
        self.clear();
    }

    /// Move text and tokens to the chunk as far as no token can reach beyond what is there, or all of it.
    fn search(&mut self, tables: &Tables<'_>, chunk: &mut Chunk, all: bool) {
        let pass = &tables.added.normalized;
        let reach = if pass.is_empty() { 0 } else { pass.contents.longest + LOOK_AHEAD };
        let decided = if all { self.text.len() } else { self.limit(tables, reach).saturating_sub(reach) };
        let (mut at, mut done, mut hits) = (self.search_from, 0, Hits::default());
        while let Some(hit) = hits.next(&pass.contents, &self.text, at).filter(|hit| hit.start < decided) {
            at = hit.end;
            if let Some(token) = pass.judge(&self.text, hit, self.after_word) {
                // What lstrip and rstrip take is white space, which is in no word.
                self.move_plain(pass, done, hit.start, chunk);
                match &mut self.origins {
                    None => chunk.push_token(token.id),
                    Some(origins) => origins.normalized_token(pass, token, &self.text, chunk),
                }
                done = hit.end;
            }
        }
        at = at.max(decided);
        let mut cut = at.min(self.text.len());
        while cut > done && self.text.get(cut).is_some_and(|byte| byte & 0xC0 == 0x80) {
            cut -= 1;
        }
        self.move_plain(pass, done, cut, chunk);
        if cut > 0 {
            self.after_word = pass.ends_with_word(&self.text[..cut]);
        }
        self.forget(0..cut);
        self.search_from = at - cut;
        self.strip_from = self.strip_from.saturating_sub(cut);
    }

    /// The end of what is known of the window. White space that a token may still take is not; of a long run of it only
    /// both ends are kept, because no token is white space only.
    fn limit(&mut self, tables: &Tables<'_>, reach: usize) -> usize {
        if !tables.added.raw.has_lstrip {
            return self.text.len();
        }
        let kept = 2 * reach.max(LOOK_AHEAD);
        if self.text.len() - self.strip_from > 4 * kept {
            let cut = |at: usize| utf8::boundary(&self.text, at);
            let middle = cut(self.strip_from + kept)..cut(self.text.len() - kept);
            self.forget(middle);
        }
        self.strip_from
    }

    fn move_plain(&mut self, pass: &Pass, start: usize, end: usize, chunk: &mut Chunk) {
        chunk.reserve(end - start);
        let mut at = start;
        while at < end {
            let (c, length) = utf8::decode(&self.text, at);
            let class = Class::from_bits(u32::from(self.class[at]));
            if let Some(origins) = &mut self.origins {
                let origin = origins.window[at];
                origins.plain(pass.is_space(c), origin, chunk);
                chunk.push_from(c, class, origin);
            } else {
                chunk.push(c, class);
            }
            at += length;
        }
    }

    fn forget(&mut self, part: Range<usize>) {
        if let Some(origins) = &mut self.origins {
            origins.window.drain(part.clone());
        }
        self.class.drain(part.clone());
        self.text.drain(part);
    }
}

/// Marks of a run whose order matters, at most. Those of a longer one are in a word that is too long, so that their order
/// matters only to a token that has marks.
fn most_marks(tables: &Tables<'_>) -> usize {
    if tables.added.normalized.has_marks { usize::MAX } else { tables.parameters.max_input_chars_per_word as usize + 1 }
}
