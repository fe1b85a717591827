//! Where in the text the normalized text comes from: what the first pass keeps beside it when offsets are wanted.
//!
//! A token that takes the white space behind it (`rstrip`) is open until that ends, and only then goes to the chunk.

use crate::added::{Pass, TokenInText};
use crate::align::Aligner;
use crate::chunk::Chunk;
use crate::rules::LONGEST_KEY;
use crate::utf8;

/// From this bit on an origin says how many more characters it has than one.
const MORE: u32 = 48;
/// Bits of that number: a key has 64 characters at most.
const MOST_BITS: u32 = LONGEST_KEY.ilog2();

/// Several characters of a text, from the first on, as an origin: what stands for the key of a rule comes from all of it.
/// The origin of one character is its number.
pub fn join(first: u64, count: u64) -> u64 {
    first | count.saturating_sub(1) << MORE
}

/// The first character of an origin.
#[inline(always)]
pub fn first(origin: u64) -> u64 {
    origin & ((1 << MORE) - 1)
}

/// The end of its last character.
#[inline(always)]
pub fn end(origin: u64) -> u64 {
    first(origin) + 1 + (origin >> MORE)
}

/// A number that grows from one origin of a text to the next.
pub fn to_place(origin: u64) -> u64 {
    first(origin) << MOST_BITS | origin >> MORE
}

/// The origin of such a number.
pub fn from_place(place: u64) -> u64 {
    place >> MOST_BITS | (place & ((1 << MOST_BITS) - 1)) << MORE
}

/// See the module. Characters are counted from the beginning of the document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    /// Characters of the document that were read.
    pub read: u64,
    /// Words of the document that are complete, and their ids out.
    pub words: u64,
    /// The origin of each byte of the open word: the character that it comes from, see [`join`].
    pub word: Vec<u64>,
    /// The same of each byte of the window.
    pub window: Vec<u64>,
    /// Marks whose order is not decided yet.
    pub aligner: Aligner,
    /// What was read from this character on is white space.
    pub space: u64,
    /// Where the white space begins with which the normalized text before the window ends, if it does.
    pub normalized_space: Option<u64>,
    /// A token that takes the white space that comes.
    pub open: Option<Found>,
}

/// An added token, and the range of characters that it has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: u32,
    /// First character.
    pub start: u64,
    /// End of the last one.
    pub end: u64,
}

impl Origins {
    /// A stretch of text between two tokens of the first pass is over.
    pub fn end_stretch(&mut self) {
        self.window.clear();
        self.aligner.clear();
        self.normalized_space = None;
    }

    /// At the beginning of a document.
    pub fn restart(&mut self) {
        self.end_stretch();
        self.word.clear();
        (self.read, self.words, self.space, self.open) = (0, 0, 0, None);
    }

    /// A character is read; gives its number.
    pub fn next(&mut self, space: bool) -> u64 {
        self.read += 1;
        if !space {
            self.space = self.read;
        }
        self.read - 1
    }

    /// The characters of a key are read, of which none is white space that matters; gives what they are as an origin.
    pub fn next_several(&mut self, count: u64) -> u64 {
        self.read += count;
        self.space = self.read;
        join(self.read - count, count)
    }

    /// The open token takes white space up to here.
    pub fn take_space(&mut self, end: u64) {
        if let Some(open) = &mut self.open {
            open.end = end;
        }
    }

    /// The white space behind the open token, if there is one, is at its end.
    pub fn close(&mut self, chunk: &mut Chunk) {
        if let Some(Found { id, start, end }) = self.open.take() {
            chunk.push_token_from(id, start, end);
        }
    }

    fn found(&mut self, token: TokenInText, start: u64, end: u64, chunk: &mut Chunk) {
        let found = Found { id: token.id, start, end };
        self.open = Some(found);
        if !token.rstrip {
            self.close(chunk);
        }
    }

    /// A token of the first pass is read. Where another one is open, there is only white space between them, and that one
    /// takes it all, even what this one begins with.
    pub fn raw_token(&mut self, pass: &Pass, token: TokenInText, text: &[u8], chunk: &mut Chunk) {
        let content = &text[token.start..token.end];
        let mut start = if token.lstrip { self.space } else { self.read };
        if self.open.is_some() {
            let end = self.read + characters(&content[..leading_space(pass, content)]);
            self.take_space(end);
            start = if token.lstrip { end } else { self.read };
        }
        self.close(chunk);
        self.read += characters(content);
        self.space = self.read;
        self.found(token, start, self.read, chunk);
    }

    /// A token of the second pass is found in the window. The text before it is in the chunk.
    pub fn normalized_token(&mut self, pass: &Pass, token: TokenInText, window: &[u8], chunk: &mut Chunk) {
        let first = first(self.window[token.start]);
        let mut start = self.normalized_space.take().filter(|_| token.lstrip).unwrap_or(first);
        if self.open.is_some() {
            let space = leading_space(pass, &window[token.start..token.end]);
            if space > 0 {
                self.take_space(end(self.window[token.start + space - 1]));
            }
            start = if token.lstrip { self::first(self.window[token.start + space]) } else { first };
        }
        self.close(chunk);
        self.found(token, start, end(self.window[token.end - 1]), chunk);
    }

    /// A character of the window goes to the chunk.
    pub fn plain(&mut self, space: bool, origin: u64, chunk: &mut Chunk) {
        if space {
            self.take_space(end(origin));
            self.normalized_space.get_or_insert(first(origin));
        } else {
            self.close(chunk);
            self.normalized_space = None;
        }
    }
}

/// Bytes of white space with which the content of a token begins; it is not all of it.
fn leading_space(pass: &Pass, content: &[u8]) -> usize {
    let mut at = 0;
    while at < content.len() {
        let (c, length) = utf8::decode(content, at);
        if !pass.is_space(c) {
            break;
        }
        at += length;
    }
    at
}

fn characters(text: &[u8]) -> u64 {
    text.iter().filter(|&byte| byte & 0xC0 != 0x80).count() as u64
}
