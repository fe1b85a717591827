//! The first pass where added tokens are looked for in the normalized text: character by character, with the text
//! spelled out as HF has it, in a window that is as long as the longest token needs.

use crate::added::{TokenInText, put_marks, sort_marks, spell};
use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::code_points::{Action, Class, Output};
use crate::normalizer::{Position, Stop, characters};
use crate::utf8;

/// Bytes of text that are normalized before the window is searched, at least.
const STEP: usize = 1024;
/// Bytes of a character, which `single_word` looks at behind a token.
const LOOK_AHEAD: usize = 4;

/// The window: normalized text that is not in the chunk yet.
#[derive(Debug, Default)]
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
    /// The next token of the first pass, once the search has gone on behind it.
    token: Option<TokenInText>,
}

impl Exact {
    /// Forget what an earlier text left.
    pub fn clear(&mut self) {
        self.text.clear();
        self.class.clear();
        (self.search_from, self.strip_from) = (0, 0);
        (self.after_word, self.skips_space, self.token) = (false, false, None);
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
        let (raw, normalized) = (&tables.added.raw, &tables.added.normalized);
        while position.at < end {
            if chunk.is_full() {
                return Stop::Full;
            }
            self.token = self.token.or_else(|| position.search.token(raw, text, position.at, end));
            let stretch = self.token.map_or(end, |token| token.start.max(position.at));
            let step = stretch.min(position.at + STEP.max(normalized.longest));
            characters(text, position, step, |position, c| self.character(tables, position, c));
            if let Some(token) = self.token.filter(|token| position.at >= token.start) {
                if token.lstrip {
                    self.text.truncate(self.strip_from);
                    self.class.truncate(self.strip_from);
                }
                self.finish(tables, position, chunk);
                chunk.push_token(token.id);
                self.skips_space = token.rstrip;
                position.at = token.end;
            } else {
                self.search(tables, chunk, false);
            }
        }
        Stop::End
    }

    fn character(&mut self, tables: &Tables<'_>, position: &mut Position, c: u32) {
        let (raw, normalized) = (&tables.added.raw, &tables.added.normalized);
        let split_hangul = tables.parameters.split_hangul != 0;
        let action = tables.code_points.action(c);
        let space = raw.is_space(c);
        if space && self.skips_space {
            return;
        }
        self.skips_space = false;
        if space && !matches!(action, Action::Delete { .. }) && !position.marks.is_empty() {
            put_marks(&mut position.marks, &mut |mark| self.put(mark, split_hangul));
            self.strip_from = self.text.len();
        }
        sort_marks(action, &mut position.marks, &mut |output| self.put(output, split_hangul));
        // Longer runs of marks are in a word that is too long, so their order matters only to a token that has marks.
        if !normalized.has_marks && position.marks.len() > tables.parameters.max_input_chars_per_word as usize + 1 {
            put_marks(&mut position.marks, &mut |mark| self.put(mark, split_hangul));
        }
        if !space {
            self.strip_from = self.text.len();
        }
    }

    fn put(&mut self, output: Output, split_hangul: bool) {
        spell(output, split_hangul, &mut |c, class| {
            let (bytes, n) = utf8::encode(c);
            self.text.extend_from_slice(&bytes[..n]);
            self.class.extend([class as u8; 4].iter().take(n));
        });
    }

    /// The end of a stretch of text between two tokens of the first pass.
    pub fn finish(&mut self, tables: &Tables<'_>, position: &mut Position, chunk: &mut Chunk) {
        put_marks(&mut position.marks, &mut |mark| self.put(mark, false));
        self.search(tables, chunk, true);
        chunk.end_word();
        self.clear();
    }

    /// Move text and tokens to the chunk as far as no token can reach beyond what is there, or all of it.
    fn search(&mut self, tables: &Tables<'_>, chunk: &mut Chunk, all: bool) {
        let pass = &tables.added.normalized;
        let reach = pass.longest + LOOK_AHEAD;
        let decided = if all { self.text.len() } else { self.limit(tables, reach).saturating_sub(reach) };
        let (mut at, mut done) = (self.search_from, 0);
        while let Some(hit) = pass.next(&self.text, at).filter(|hit| hit.start < decided) {
            at = hit.end;
            if let Some(token) = pass.judge(&self.text, hit, self.after_word) {
                // What lstrip and rstrip take is white space, which is in no word.
                self.move_plain(done, hit.start, chunk);
                chunk.push_token(token.id);
                done = hit.end;
            }
        }
        at = at.max(decided);
        let mut cut = at.min(self.text.len());
        while cut > done && self.text.get(cut).is_some_and(|byte| byte & 0xC0 == 0x80) {
            cut -= 1;
        }
        self.move_plain(done, cut, chunk);
        if cut > 0 {
            self.after_word = pass.ends_with_word(&self.text[..cut]);
        }
        self.text.drain(..cut);
        self.class.drain(..cut);
        self.search_from = at - cut;
        self.strip_from = self.strip_from.saturating_sub(cut);
    }

    /// The end of what is known of the window. White space that a token may still take is not; of a long run of it only
    /// both ends are kept, because no token is white space only.
    fn limit(&mut self, tables: &Tables<'_>, reach: usize) -> usize {
        if !tables.added.raw.has_lstrip {
            return self.text.len();
        }
        let kept = 2 * reach;
        if self.text.len() - self.strip_from > 4 * kept {
            let cut = |at: usize| utf8::boundary(&self.text, at);
            let middle = cut(self.strip_from + kept)..cut(self.text.len() - kept);
            self.class.drain(middle.clone());
            self.text.drain(middle);
        }
        self.strip_from
    }

    fn move_plain(&self, start: usize, end: usize, chunk: &mut Chunk) {
        chunk.reserve(end - start);
        let mut at = start;
        while at < end {
            let (c, length) = utf8::decode(&self.text, at);
            chunk.push(c, Class::from_bits(u32::from(self.class[at])));
            at += length;
        }
    }
}
