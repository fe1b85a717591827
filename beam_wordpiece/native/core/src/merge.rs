//! The fourth pass: ids of found words and pieces of the others in the order of the words, and the ends of texts.

use crate::lookup::Lookup;
use crate::pieces::Pieces;
use crate::rows::Encoded;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Ids that are copied at once, whether there are as many or not.
const BLOCK: usize = 16;
/// Ids that are copied of found words at least: so many often stand side by side, unless many words are missed.
const FOUND: usize = 3 * BLOCK;
const FOUND_FEW: usize = BLOCK;
/// Words for each of the missed ones up to which these are many.
const MANY_MISSED: usize = 12;
/// Ids that are copied of the pieces of a word at least.
const PIECES: usize = BLOCK;
/// Ids that may be copied though there are none: behind every source and every output is room for so many.
pub const MARGIN: usize = FOUND;

/// Append the ids of these words. `text_ends` has the number of words before the end of each text.
#[inline(always)]
pub fn merge(lookup: &Lookup, words: Range<usize>, pieces: &Pieces, unk_id: u32, text_ends: &[u32], out: &mut Encoded) {
    let before = out.ids.len();
    if words.len() < MANY_MISSED * pieces.words.len() {
        merge_runs::<FOUND_FEW>(lookup, words, pieces, text_ends, out);
    } else {
        merge_runs::<FOUND>(lookup, words, pieces, text_ends, out);
    }
    // They are in the cache now. A count as wide as an id is one for each lane of a vector.
    let unknowns: u32 = out.ids[before..].iter().map(|&id| u32::from(id == unk_id)).sum();
    out.unknowns += unknowns as usize;
}

/// Append the ids, in turn those of a run of found words, of which `LEAST` are copied at least, and those of a missed one.
#[inline(always)]
fn merge_runs<const LEAST: usize>(
    lookup: &Lookup,
    words: Range<usize>,
    pieces: &Pieces,
    text_ends: &[u32],
    out: &mut Encoded,
) {
    let counts = pieces.firsts.iter().zip(&pieces.ends).map(|(first, end)| (end - first) as usize);
    let most = words.len() + counts.sum::<usize>();
    out.ids.reserve(most + MARGIN);
    let before = out.ids.len();
    let mut behind = Behind { room: out.ids.spare_capacity_mut(), count: 0 };
    let mut text_ends = text_ends.iter().copied();
    let mut text_end = text_ends.next();
    let mut word = words.start;
    for ((&miss, &first), &end) in pieces.words.iter().zip(&pieces.firsts).zip(&pieces.ends) {
        // A text that ends after word `miss` ends after its pieces.
        while let Some(at) = text_end
            && at <= miss
        {
            out.ends.push((before + behind.count + at as usize - word) as u64);
            text_end = text_ends.next();
        }
        behind.append::<LEAST>(&lookup.ids, word, miss as usize - word);
        behind.append::<PIECES>(&pieces.ids, first as usize, (end - first) as usize);
        word = miss as usize + 1;
    }
    for at in text_end.into_iter().chain(text_ends) {
        out.ends.push((before + behind.count + at as usize - word) as u64);
    }
    behind.append::<LEAST>(&lookup.ids, word, words.end - word);
    let count = behind.count;
    // SAFETY: so many ids have been written behind the others.
    unsafe { out.ids.set_len(before + count) };
}

/// The room behind the ids, of which the first `count` places are written.
struct Behind<'a> {
    room: &'a mut [MaybeUninit<u32>],
    count: usize,
}

impl Behind<'_> {
    /// Append `count` ids of a source from `first` on, in whole blocks. `LEAST` are copied at least: most often that is
    /// enough, and a loop that ends after one block or two would often be mispredicted. Both sides have room for
    /// [`MARGIN`] more than `count`.
    #[inline(always)]
    fn append<const LEAST: usize>(&mut self, source: &[u32], first: usize, count: usize) {
        const { assert!(LEAST <= MARGIN && BLOCK <= MARGIN) };
        copy::<LEAST>(source, first, self.room, self.count);
        let mut at = LEAST;
        while at < count {
            copy::<BLOCK>(source, first + at, self.room, self.count + at);
            at += BLOCK;
        }
        self.count += count;
    }
}

/// Copy `N` ids from one place to another.
#[inline(always)]
fn copy<const N: usize>(source: &[u32], from: usize, room: &mut [MaybeUninit<u32>], to: usize) {
    let ids: &[u32; N] = source[from..from + N].try_into().expect("the range has this length");
    let room: &mut [MaybeUninit<u32>; N] = (&mut room[to..to + N]).try_into().expect("the range has this length");
    // SAFETY: both have room for `N` numbers, and do not overlap, as one is borrowed for writing.
    unsafe { room.as_mut_ptr().cast::<[u32; N]>().write_unaligned(*ids) };
}
