//! Words and stretches that can be split only when all of them is there: from their end, or into the fewest tokens.

use crate::automaton::Tables;
use crate::fewest::Fewest;
use crate::matching::Matching;
use crate::options::Segmentation;
use crate::stretch::Stretch;
use crate::unknown::Sink;
use crate::utf8;
use std::ops::Range;

/// Bytes of a word or stretch at most: it takes some 30 bytes of memory for each character.
pub const LONGEST: usize = 1 << 24;
/// Characters for which buffers are kept.
const KEPT: usize = 1 << 16;

/// A character that the trie knows: one of the text, or a jamo of one.
#[derive(Debug, Clone, Copy)]
pub struct Symbol {
    /// The code point.
    pub c: u32,
    /// The first byte of the character.
    pub start: u32,
    /// The end of the character.
    pub end: u32,
    /// Jamo of the character before this one.
    pub jamo: u32,
}

/// Buffers that are used again from one word to the next.
#[derive(Debug, Default)]
pub struct Whole {
    symbols: Vec<Symbol>,
    fewest: Fewest,
    /// The text from its end to its beginning.
    reversed: Vec<u8>,
    /// Tokens of that, and how many characters each has.
    found: Vec<(u32, usize)>,
}

impl Whole {
    /// Match a complete word or stretch, `part` of the bytes of a chunk.
    pub fn run(
        &mut self,
        tables: &Tables<'_>,
        matching: &Matching,
        bytes: &[u8],
        part: Range<usize>,
        sink: &mut Sink<'_>,
    ) {
        self.read(tables, bytes, part.clone());
        if matching.segmentation == Segmentation::Fewest {
            self.fewest.run(tables, matching, &self.symbols, part, sink);
        } else {
            self.run_backward(tables, sink);
        }
        if self.symbols.capacity() > KEPT {
            *self = Whole::default();
        }
    }

    fn read(&mut self, tables: &Tables<'_>, bytes: &[u8], part: Range<usize>) {
        self.symbols.clear();
        let mut at = part.start;
        while at < part.end {
            let (c, length) = utf8::decode(bytes, at);
            let (start, end) = (at as u32, (at + length) as u32);
            if tables.parameters.split_hangul != 0 && utf8::is_hangul_syllable(c) {
                let (jamo, count) = utf8::hangul_jamo(c);
                let jamo = jamo[..count].iter().zip(0..);
                self.symbols.extend(jamo.map(|(&c, jamo)| Symbol { c, start, end, jamo }));
            } else {
                self.symbols.push(Symbol { c, start, end, jamo: 0 });
            }
            at += length;
        }
    }

    /// Backward MaxMatch: tokens are below the root from their end to their beginning, and so the text is matched.
    fn run_backward(&mut self, tables: &Tables<'_>, sink: &mut Sink<'_>) {
        let Whole { symbols, reversed, found, .. } = self;
        reversed.clear();
        for symbol in symbols.iter().rev() {
            let (bytes, length) = utf8::encode(symbol.c);
            reversed.extend_from_slice(&bytes[..length]);
        }
        found.clear();
        Stretch::default().run(tables, reversed, 0..reversed.len(), true, |token, bytes, _| {
            let count = reversed[bytes].iter().filter(|&byte| byte & 0xC0 != 0x80).count();
            found.push((token, count));
        });
        let mut rest = &symbols[..];
        for &(token, count) in found.iter().rev() {
            let (own, behind) = rest.split_at(count.min(rest.len()));
            put(token, own, sink);
            rest = behind;
        }
    }
}

/// Let a token go that has these characters.
pub fn put(token: u32, symbols: &[Symbol], sink: &mut Sink<'_>) {
    if let (Some(first), Some(last)) = (symbols.first(), symbols.last()) {
        sink.token(token, first.start as usize..last.end as usize, first.jamo as usize);
    }
}
