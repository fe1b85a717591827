//! Where in the text each id stands: a pass after the walk, for those who ask for it.
//!
//! An id of several characters reaches from its first to its last; of those that stand for a whole word, a found token or
//! [UNK], no more need be known than where the word begins and ends. Of the others the lengths of the tokens say where one
//! ends and the next begins.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::origins;
use crate::pieces::Pieces;
use crate::tokens::TokenList;
use crate::utf8;
use std::ops::Range;

/// The character that bytes of the template come from, and the word that they are.
pub const NOWHERE: u64 = u64::MAX;

/// Where ids stand, in their order.
#[derive(Debug, Default)]
pub struct Offsets {
    /// First character of each id and end of its last one, in characters of the text; both 0 for the template's ids.
    pub ranges: Vec<[u64; 2]>,
    /// Number of the word that each id is a part of, [`NOWHERE`] for the template's ids.
    pub words: Vec<u64>,
    /// Words of the document so far.
    next_word: u64,
    /// Where the characters come from that the word in hand is matched by: a Hangul syllable may be several.
    origins: Vec<u64>,
    /// Length of each of its pieces, in these.
    lengths: Vec<usize>,
}

impl Offsets {
    /// Words of the document so far.
    pub fn words_so_far(&self) -> u64 {
        self.next_word
    }

    /// Go on with a document that has so many words already.
    pub fn resume(&mut self, words: u64) {
        self.next_word = words;
    }

    /// Add an id that stands at these bytes of a chunk, if the chunk has origins.
    #[inline(always)]
    pub fn piece(&mut self, of_chunk: &[u64], bytes: Range<usize>) {
        match of_chunk.get(bytes) {
            None | Some([]) => {}
            Some([NOWHERE, ..]) => {
                self.ranges.push([0, 0]);
                self.words.push(NOWHERE);
            }
            Some(stretch @ [first, ..]) => {
                self.ranges.push([origins::first(*first), origins::end(stretch[stretch.len() - 1])]);
                self.words.push(self.next_word);
            }
        }
    }

    /// Add an id of the word in hand that stands at these characters of the text.
    pub fn range(&mut self, range: [u64; 2]) {
        self.ranges.push(range);
        self.words.push(self.next_word);
    }

    /// All ids of a word are there; those of the template are of none.
    #[inline(always)]
    pub fn end_word(&mut self) {
        self.next_word += u64::from(self.words.last() != Some(&NOWHERE));
    }

    /// Add the ids of the complete words of a chunk.
    pub fn add(&mut self, tables: &Tables<'_>, tokens: &TokenList<'_>, chunk: &Chunk, pieces: &Pieces) {
        let mut missed = pieces.words.iter().zip(pieces.firsts.iter().zip(&pieces.ends)).peekable();
        for (word, (&start, &end)) in chunk.starts.iter().zip(chunk.ends.iter()).take(chunk.words()).enumerate() {
            let bytes = start as usize..end as usize;
            match missed.next_if(|&(&number, _)| number as usize == word) {
                Some((_, (&first, &end))) if end - first > 1 => {
                    self.word(tables, tokens, chunk, bytes, &pieces.ids[first as usize..end as usize]);
                }
                _ => self.piece(&chunk.origins, bytes),
            }
            self.end_word();
        }
    }

    /// Add the pieces of a word that has several.
    fn word(&mut self, tables: &Tables<'_>, tokens: &TokenList<'_>, chunk: &Chunk, word: Range<usize>, pieces: &[u32]) {
        let split_hangul = tables.parameters.split_hangul != 0;
        self.origins.clear();
        let mut at = word.start;
        while at < word.end {
            let (c, length) = utf8::decode(&chunk.bytes, at);
            let count = if split_hangul && utf8::is_hangul_syllable(c) { utf8::hangul_jamo(c).1 } else { 1 };
            self.origins.extend(std::iter::repeat_n(chunk.origins[at], count));
            at += length;
        }
        if !self.measure(tokens, pieces) {
            // No token has such a length: the file was written to while it was open.
            return pieces.iter().for_each(|_| self.piece(&chunk.origins, word.clone()));
        }
        self.words.extend(pieces.iter().map(|_| self.next_word));
        let mut rest = &self.origins[..];
        for &length in &self.lengths {
            let (piece, behind) = rest.split_at(length);
            self.ranges.push([origins::first(piece[0]), origins::end(piece[length - 1])]);
            rest = behind;
        }
    }

    /// The length of each piece: that of its token, of those that continue the word without the suffix indicator. How long
    /// that is follows from the length of the word. False where the lengths do not make up the word.
    fn measure(&mut self, tokens: &TokenList<'_>, pieces: &[u32]) -> bool {
        let length = |&id: &u32| tokens.token(id).map_or(0, |token| token.chars().count());
        self.lengths.clear();
        self.lengths.extend(pieces.iter().map(length));
        let beyond = self.lengths.iter().sum::<usize>().saturating_sub(self.origins.len());
        let indicator = beyond / (pieces.len() - 1);
        for length in &mut self.lengths[1..] {
            *length = length.saturating_sub(indicator);
        }
        self.lengths.iter().sum::<usize>() == self.origins.len() && !self.lengths.contains(&0)
    }
}
