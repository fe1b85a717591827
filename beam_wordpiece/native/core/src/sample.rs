//! What a sample of text says about its words: which are frequent enough to stand in the word tables.
//!
//! A cache that learns from the text would do the same while it runs; here it is done once, when the automaton is
//! compiled, and every process shares the result through the mapping. It changes speed, and no id.

use crate::automaton::Automaton;
use crate::chunk::{Chunk, TOKEN_MARK};
use crate::encoder::{Workspace, encode};
use crate::error::Error;
use crate::lookup::Lookup;
use crate::pieces::Pieces;
use crate::rows::{EncodeOptions, Encoded};
use crate::several::{self, COPIED, COUNTS};
use crate::simd::{Level, portable::Portable};
use crate::word_table::{WordTableBuf, bits_for, key, key_bytes, most_keys};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Texts that are encoded in one call: their ids are of no use, and are forgotten after it.
const TEXTS: usize = 64;
/// A word of several pieces that occurs less often is chance.
const LEAST_COUNT: u64 = 2;
/// Bits of the slot numbers of a table that a sample fills, 512 KB to 1 MB: larger ones leave the second-level cache, and
/// what is rare in the sample is faster walked.
const SHORT_BITS: RangeInclusive<u32> = 15..=16;
/// The same of the second table, 128 KB.
const LONG_BITS: RangeInclusive<u32> = 12..=12;
/// Words of several pieces get one place in so many at least, if they are as many. The others go to words of the
/// vocabulary, also to those that the sample does not have: text that is less like the sample than one hopes has them,
/// and is up to a third slower where they have to be walked.
const SHARE: usize = 8;

/// Words of a sample, counted.
#[derive(Debug, Default)]
pub struct Counts {
    /// How often each word of one piece was found in a table, by id.
    found: HashMap<u32, u64>,
    /// Words of several pieces as they stand in a chunk.
    several: HashMap<Box<[u8]>, Several>,
}

/// A word of several pieces.
#[derive(Debug)]
struct Several {
    count: u64,
    pieces: Vec<u32>,
}

impl Counts {
    /// Count the words of texts, which an automaton without a sample splits; None is a text that is not there.
    pub fn of<'t>(automaton: &Automaton, mut texts: impl Iterator<Item = Option<&'t [u8]>>) -> Result<Counts, Error> {
        let options = EncodeOptions { add_special_tokens: false, strict: false, level: Level::Portable(Portable) };
        let mut workspace = Workspace::counting();
        let mut out = Encoded::default();
        loop {
            encode(automaton, texts.by_ref().take(TEXTS), &options, &mut workspace, &mut out)?;
            if out.ends.is_empty() {
                let mut counts = workspace.counts.unwrap_or_default();
                // Words that are unknown by their first character count as found, and are in no table.
                counts.found.remove(&automaton.unk_id());
                return Ok(counts);
            }
            out.ids.clear();
            out.ends.clear();
        }
    }

    /// Count the complete words of a chunk that were looked up and walked.
    pub fn add(&mut self, chunk: &Chunk, lookup: &Lookup, pieces: &Pieces) {
        let missed = |word: usize| lookup.missed[word / 64] >> (word % 64) & 1 != 0;
        for word in (0..chunk.words()).filter(|&word| !missed(word)) {
            *self.found.entry(lookup.ids[word]).or_default() += 1;
        }
        for ((&word, &first), &end) in pieces.words.iter().zip(&pieces.firsts).zip(&pieces.ends) {
            let (word, place) = (word as usize, first as usize..end as usize);
            let bytes = &chunk.bytes[chunk.starts[word] as usize..chunk.ends[word] as usize];
            // A word that is too long or cannot be split has one piece, and so has a token that stands in the chunk.
            if !COUNTS.contains(&place.len()) || bytes.len() > key_bytes(4) {
                continue;
            }
            if let Some(known) = self.several.get_mut(bytes) {
                known.count += 1;
            } else {
                let pieces = pieces.ids[place].to_vec();
                self.several.insert(bytes.into(), Several { count: 1, pieces });
            }
        }
    }
}

/// The two tables of words and the pool that they point into.
#[derive(Debug)]
pub struct Words {
    /// Words of up to 13 bytes.
    pub short: WordTableBuf<2>,
    /// Words of 14 to 29 bytes.
    pub long: WordTableBuf<4>,
    /// Pieces of the words that have several, and zeros behind; empty without a sample.
    pub pieces: Vec<u32>,
}

impl Words {
    /// Tables of all words that are in the vocabulary.
    pub fn of_vocabulary(vocabulary: &[(Vec<u8>, u32)]) -> Words {
        let words: Vec<(&[u8], u32)> = vocabulary.iter().map(|(word, id)| (&word[..], *id)).collect();
        let (short, long) = by_length(&words, |(word, _)| word);
        Words { short: table(&short), long: table(&long), pieces: vec![] }
    }

    /// Tables of the words that are the most work in a sample, those of the vocabulary being preferred.
    pub fn of_sample(vocabulary: &[(Vec<u8>, u32)], counts: &Counts) -> Words {
        if counts.found.is_empty() && counts.several.is_empty() {
            return Words::of_vocabulary(vocabulary);
        }
        let count = |id: &u32| counts.found.get(id).copied().unwrap_or_default();
        let mut known: Vec<(&[u8], u32)> = vocabulary.iter().map(|(word, id)| (&word[..], *id)).collect();
        // What every text has comes first. Ids are often in the order of frequency.
        known.sort_unstable_by_key(|(word, id)| (word[0] != TOKEN_MARK, Reverse(work(word, 1, count(id))), *id));
        let several = counts.several.iter().filter(|(_, several)| several.count >= LEAST_COUNT);
        let mut several: Vec<(&[u8], &Several)> = several.map(|(word, several)| (&word[..], several)).collect();
        several
            .sort_unstable_by_key(|(word, several)| (Reverse(work(word, several.pieces.len(), several.count)), *word));
        let (short_known, long_known) = by_length(&known, |(word, _)| word);
        let (short_several, long_several) = by_length(&several, |(word, _)| word);
        let mut pieces = Vec::new();
        let short = choose(&short_known, &short_several, SHORT_BITS, &mut pieces);
        let long = choose(&long_known, &long_several, LONG_BITS, &mut pieces);
        if !pieces.is_empty() {
            pieces.extend([0; COPIED]);
        }
        Words { short: table(&short), long: table(&long), pieces }
    }
}

/// What a table saves that has a word: a walk has a step for every character and every piece.
fn work(word: &[u8], pieces: usize, count: u64) -> u64 {
    let characters = word.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    (characters + pieces) as u64 * count
}

/// The words for the first table and those for the second.
fn by_length<T: Copy>(words: &[T], word: impl Fn(&T) -> &[u8]) -> (Vec<T>, Vec<T>) {
    let fitting = words.iter().copied().filter(|each| (1..=key_bytes(4)).contains(&word(each).len()));
    fitting.partition(|each| word(each).len() <= key_bytes(2))
}

/// Fill a table with the first words of one piece and the first of several, whose pieces are put into the pool.
fn choose<'a>(
    known: &[(&'a [u8], u32)],
    several: &[(&'a [u8], &Several)],
    bits: RangeInclusive<u32>,
    pool: &mut Vec<u32>,
) -> Vec<(&'a [u8], u32)> {
    let most = most_keys(bits_for(known.len()).clamp(*bits.start(), *bits.end()));
    let sampled = several.len().min((most / SHARE).max(most.saturating_sub(known.len())));
    let mut words = known[..known.len().min(most - sampled)].to_vec();
    for (word, Several { pieces, .. }) in &several[..sampled] {
        words.push((word, several::pack(pieces.len(), pool.len())));
        pool.extend_from_slice(pieces);
    }
    words
}

/// The table of these words; they fit.
fn table<const W: usize>(words: &[(&[u8], u32)]) -> WordTableBuf<W> {
    let keys: Vec<([u64; W], u32)> = words.iter().map(|&(word, value)| (key(word), value)).collect();
    WordTableBuf::build(&keys)
}
