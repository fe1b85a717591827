//! Blocks with characters beyond ASCII, at levels that do not look these up in blocks: masks do the ASCII characters of
//! a block, and each of the others is decoded and looked up for itself.

use crate::automaton::Tables;
use crate::chunk::{Chunk, WordMasks};
use crate::code_points::{Action, Class, Output};
use crate::normalizer::{BLOCK, Block, lowest};
use crate::simd::{Mask, Simd};
use crate::utf8;

/// Bytes of the longest character.
const LONGEST: usize = 4;

/// A block in whose ASCII nothing is slow; gives the bytes that were consumed, up to the first character that has to be
/// done by itself.
#[inline(always)]
pub fn mixed_block<S: Simd>(simd: S, tables: &Tables<'_>, block: &Block<S>, chunk: &mut Chunk) -> usize {
    let mut mixed = MixedBlock::new(simd, tables, block);
    let rest = mixed.uniform(simd, block);
    let done = mixed.run(tables, rest, block.length);
    mixed.masks.keep &= lowest(done);
    let bytes = mixed.bytes.first_chunk().expect("a block and more");
    chunk.emit(simd, simd.load(bytes), mixed.masks);
    done
}

/// A block while its characters are looked up.
struct MixedBlock {
    /// What its bytes become; zeros behind them, so that a character that is cut off is not UTF-8.
    bytes: [u8; BLOCK + LONGEST],
    masks: WordMasks,
}

impl MixedBlock {
    /// All that there is to do for the ASCII characters.
    #[inline(always)]
    fn new<S: Simd>(simd: S, tables: &Tables<'_>, block: &Block<S>) -> MixedBlock {
        let Block { ascii, non_ascii, length, .. } = *block;
        let mut bytes = [0; BLOCK + LONGEST];
        simd.store(block.mapped(simd, tables), bytes.first_chunk_mut().expect("a block and more"));
        bytes[length..].fill(0);
        let isolated = ascii.isolated & !non_ascii;
        let masks = WordMasks {
            word: ascii.word & !non_ascii,
            first: isolated,
            last: isolated,
            keep: !(ascii.deleted & !non_ascii),
        };
        MixedBlock { bytes, masks }
    }

    /// Do the characters whose first byte says enough, all at once; gives the bytes beyond ASCII that
    /// are left.
    #[inline(always)]
    fn uniform<S: Simd>(&mut self, simd: S, block: &Block<S>) -> Mask {
        let (ascii, inside) = (block.ascii, block.non_ascii & lowest(block.length));
        let leads = (ascii.word | ascii.isolated) & inside;
        if leads == 0 {
            return inside;
        }
        let continuation = inside & !simd.has(block.bytes, 0x40);
        let three_bytes = simd.has(block.bytes, 0x20);
        let two = leads & !three_bytes & continuation >> 1;
        let three = leads & three_bytes & continuation >> 1 & continuation >> 2;
        let isolated = ascii.isolated & (two | three);
        let all = |two: Mask, three: Mask| (two | three) | (two | three) << 1 | three << 2;
        self.masks.word |= all(two & !isolated, three & !isolated);
        self.masks.first |= isolated;
        self.masks.last |= (isolated & two) << 1 | (isolated & three) << 2;
        inside & !all(two, three)
    }

    /// Do the characters that these bits are the bytes of; gives where one begins that has to be done by itself, or
    /// `length`.
    #[inline(always)]
    fn run(&mut self, tables: &Tables<'_>, mut rest: Mask, length: usize) -> usize {
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            let bytes: [u8; LONGEST] = *self.bytes[at..].first_chunk().expect("there are zeros behind the block");
            let Some((c, length)) = utf8::decode_checked(bytes) else {
                return at;
            };
            rest &= !(lowest(length) << at);
            if let Some(class) = tables.code_points.kept(c) {
                self.classify(at, length, class);
            } else if !self.replace(at, length, tables.code_points.action(c)) {
                return at;
            }
        }
        length
    }

    /// Say what a character is: `length` bytes from `at` on.
    #[inline(always)]
    fn classify(&mut self, at: usize, length: usize, class: Class) {
        let (word, isolated) =
            (Mask::from(class == Class::Word), Mask::from(class as u32 >= Class::Punctuation as u32));
        self.masks.word |= ((word << length) - word) << at;
        self.masks.first |= isolated << at;
        self.masks.last |= isolated << (at + length - 1);
    }

    /// Do what has to be done with a character that does not stay; false where blocks cannot do it.
    #[inline(always)]
    fn replace(&mut self, at: usize, length: usize, action: Action<'_>) -> bool {
        let kept = match action {
            Action::One(output) => self.write(at, length, output),
            Action::Delete { .. } => Some(0),
            Action::Many(_) => None,
        };
        if let Some(kept) = kept {
            self.masks.keep &= !(lowest(length) << at) | lowest(kept) << at;
        }
        kept.is_some()
    }

    /// Write one character over another; gives its length, or None where it is longer.
    #[inline(always)]
    fn write(&mut self, at: usize, room: usize, output: Output) -> Option<usize> {
        let (bytes, length) = utf8::encode(output.code_point());
        if length > room {
            return None;
        }
        self.bytes[at..at + length].copy_from_slice(&bytes[..length]);
        self.classify(at, length, output.class());
        Some(length)
    }
}
