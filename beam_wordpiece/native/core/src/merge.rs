//! The fourth pass: ids of found words and pieces of the others in the order of the words, and the ends of texts.

use crate::lookup::Lookup;
use crate::pieces::Pieces;
use crate::rows::Encoded;
use std::ops::Range;

/// Ids that are copied at once, whether there are as many or not.
const BLOCK: usize = 16;
/// Blocks that are copied of found words at least: so many often stand side by side, unless many words are missed.
const FOUND: usize = 3;
const FOUND_FEW: usize = 1;
/// Words for each of the missed ones up to which these are many.
const MANY_MISSED: usize = 12;
/// Blocks that are copied of the pieces of a word.
const PIECES: usize = 1;
/// Ids that may be copied though there are none: behind every source and every output is room for so many.
pub const MARGIN: usize = FOUND * BLOCK;

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

/// Append the ids, in turn those of a run of found words, `BLOCKS` blocks at least, and those of a missed one.
#[inline(always)]
fn merge_runs<const BLOCKS: usize>(
    lookup: &Lookup,
    words: Range<usize>,
    pieces: &Pieces,
    text_ends: &[u32],
    out: &mut Encoded,
) {
    let counts = pieces.firsts.iter().zip(&pieces.ends).map(|(first, end)| (end - first) as usize);
    let most = words.len() + counts.sum::<usize>();
    out.ids.reserve(most + MARGIN);
    let mut text_ends = text_ends.iter().copied();
    let mut text_end = text_ends.next();
    let mut word = words.start;
    for (number, &miss) in pieces.words.iter().enumerate() {
        // A text that ends after word `miss` ends after its pieces.
        while let Some(at) = text_end
            && at <= miss
        {
            out.ends.push((out.ids.len() + at as usize - word) as u64);
            text_end = text_ends.next();
        }
        append::<BLOCKS>(&mut out.ids, &lookup.ids[word..], miss as usize - word);
        let (first, end) = (pieces.firsts[number] as usize, pieces.ends[number] as usize);
        append::<PIECES>(&mut out.ids, &pieces.ids[first..], end - first);
        word = miss as usize + 1;
    }
    for at in text_end.into_iter().chain(text_ends) {
        out.ends.push((out.ids.len() + at as usize - word) as u64);
    }
    append::<BLOCKS>(&mut out.ids, &lookup.ids[word..], words.end - word);
}

/// Append the first `count` ids of a source, in whole blocks, `BLOCKS` at least. Both sides have room for [`MARGIN`] more
/// than that.
#[inline(always)]
fn append<const BLOCKS: usize>(ids: &mut Vec<u32>, source: &[u32], count: usize) {
    const { assert!(BLOCKS * BLOCK <= MARGIN && BLOCK <= MARGIN) };
    let most = count + MARGIN;
    assert!(source.len() >= most && ids.capacity() - ids.len() >= most, "there is room for whole blocks");
    let (from, to) = (source.as_ptr(), ids.spare_capacity_mut().as_mut_ptr());
    let copy_block = |at: usize| {
        // SAFETY: `at + BLOCK` is at most `most`: so much can be read from the source, and written behind the ids. They
        // do not overlap, as one is borrowed for writing.
        unsafe {
            to.add(at).cast::<[u32; BLOCK]>().write_unaligned(from.add(at).cast::<[u32; BLOCK]>().read_unaligned())
        }
    };
    // Most often that is enough, and a loop that ends after one block or two would often be mispredicted.
    (0..BLOCKS * BLOCK).step_by(BLOCK).for_each(copy_block);
    (BLOCKS * BLOCK..count).step_by(BLOCK).for_each(copy_block);
    // SAFETY: the capacity is greater, and the first `count` ids behind the old ones were just written.
    unsafe { ids.set_len(ids.len() + count) };
}
