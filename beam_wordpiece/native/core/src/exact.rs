//! The first pass where added tokens are looked for in the normalized text: character by character, with the text
//! spelled out as HF has it, in a window that is as long as the longest token needs.

use crate::added::{Pass, TokenInText, put_marks, sort_marks, spell};
use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::code_points::{Class, Output};
use crate::normalizer::{Position, Stop, characters};
use crate::utf8;

/// Bytes of text that are normalized before the window is searched, at least.
const STEP: usize = 1024;
/// Bytes of a character, which `single_word` looks at behind a token.
const LOOK_AHEAD: usize = 4;

/// The window: normalized text that is not in the chunk yet.
#[derive(Debug, Default)]
pub struct Exact {
    text: Vec<u8>,
    /// Class of the character that each byte belongs to.
    class: Vec<u8>,
    /// No token begins before this byte of the window.
    search_from: usize,
    /// The character before the window is a word character.
    after_word: bool,
    /// The next token of the first pass. It is known before the text in front of it is taken, whose white space it may
    /// take (`lstrip`).
    token: Option<TokenInText>,
}

impl Exact {
    /// Forget what an earlier text left.
    pub fn clear(&mut self) {
        self.text.clear();
        self.class.clear();
        (self.search_from, self.after_word, self.token) = (0, false, None);
    }

    /// What [`crate::normalizer::normalize`] does, for any automaton.
    pub fn normalize(&mut self, tables: &Tables<'_>, text: &[u8], position: &mut Position, chunk: &mut Chunk) -> Stop {
        let split_hangul = tables.parameters.split_hangul != 0;
        let (raw, normalized) = (&tables.added.raw, &tables.added.normalized);
        // Longer runs of marks are in a word that is too long, so their order matters only to a token that has marks.
        let limit = tables.parameters.max_input_chars_per_word as usize + 1;
        let most_marks = if normalized.has_marks { usize::MAX } else { limit };
        while position.at < text.len() {
            if chunk.is_full() {
                return Stop::Full;
            }
            let token = self.token.or_else(|| position.search.token(raw, text, position.at, text.len()));
            self.token = token;
            let stretch = token.map_or(text.len(), |token| token.start.max(position.at));
            let end = stretch.min(position.at + STEP.max(normalized.longest));
            characters(text, position, end, |position, c| {
                let action = tables.code_points.action(c);
                sort_marks(action, &mut position.marks, &mut |output| self.put(output, split_hangul));
                if position.marks.len() > most_marks {
                    put_marks(&mut position.marks, &mut |mark| self.put(mark, split_hangul));
                }
            });
            if let Some(token) = token.filter(|token| position.at >= token.start) {
                self.finish(normalized, position, chunk);
                chunk.push_token(token.id);
                position.at = token.resume;
            } else {
                self.search(normalized, chunk, false);
            }
        }
        self.finish(normalized, position, chunk);
        Stop::End
    }

    fn put(&mut self, output: Output, split_hangul: bool) {
        spell(output, split_hangul, &mut |c, class| {
            let (bytes, n) = utf8::encode(c);
            self.text.extend_from_slice(&bytes[..n]);
            self.class.extend([class as u8; 4].iter().take(n));
        });
    }

    /// The end of a stretch of text between two tokens of the first pass.
    fn finish(&mut self, pass: &Pass, position: &mut Position, chunk: &mut Chunk) {
        put_marks(&mut position.marks, &mut |mark| self.put(mark, false));
        self.search(pass, chunk, true);
        chunk.end_word();
        self.clear();
    }

    /// Move text and tokens to the chunk as far as no token can reach beyond what is there, or all of it.
    fn search(&mut self, pass: &Pass, chunk: &mut Chunk, all: bool) {
        let decided = self.text.len().saturating_sub(if all { 0 } else { pass.longest + LOOK_AHEAD });
        let (mut at, mut done) = (self.search_from, 0);
        while let Some(hit) = pass.next(&self.text, at).filter(|hit| hit.start < decided) {
            let before = (hit.start == 0).then_some(self.after_word);
            at = hit.end;
            if let Some(token) = pass.judge(&self.text, hit, before) {
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
