//! Blocks of text beyond ASCII, normalized without looking at one character after the other.

use crate::automaton::Tables;
use crate::blocks::{ISOLATED, MIXED, NO_BYTE, Page, SLOW, THREE_BYTE_PAGES, WORD};
use crate::chunk::{Chunk, WordMasks};
use crate::code_points::{Action, Class};
use crate::normalizer::{BLOCK, lowest};
use crate::simd::{Mask, Simd};
use crate::utf8;

/// A block with characters beyond ASCII; gives the bytes that were consumed, or 0 where it has to go character-wise.
#[inline(always)]
pub fn wide_block<S: Simd>(
    simd: S,
    tables: &Tables<'_>,
    rest: &[u8],
    block: S::Block,
    length: usize,
    chunk: &mut Chunk,
) -> usize {
    let blocks = tables.blocks;
    let Some(shape) = Utf8Shape::check(simd, block, length) else {
        return 0;
    };
    let Utf8Shape { length, two, three, four, following } = shape;
    let inside = lowest(length);
    let non_ascii = simd.non_ascii(block) & inside;
    let ascii = simd.classify_ascii(blocks, block);
    let mut bytes = simd.change_case(block, blocks.case_bit);
    // Class flags of the characters beyond ASCII, at their first bytes.
    let mut flags = simd.blend(two, simd.splat(0), simd.lookup(&blocks.lead, block));
    let mut word = ascii.word & !non_ascii;
    let mut first = ascii.isolated & !non_ascii;
    let mixed_two = simd.has(flags, MIXED);
    let mut mixed_three = 0;
    if three != 0 {
        let page = simd.page_bytes(block, following);
        let bit = simd.lookup(&PAGE_BITS, following);
        let uniform_word = three & simd.common(simd.lookup_128(&blocks.uniform_word, page), bit);
        let uniform_isolated = three & simd.common(simd.lookup_128(&blocks.uniform_isolated, page), bit);
        word |= uniform_word;
        first |= uniform_isolated;
        mixed_three = three & !(uniform_word | uniform_isolated);
    }
    let mut pages = Pages { simd, bytes, flags };
    let mut mixed = mixed_two;
    while mixed != 0 {
        let lead = rest[mixed.trailing_zeros() as usize];
        let same = mixed_two & simd.equal(block, lead);
        pages.replace(
            &blocks.pages[usize::from(blocks.page_of[usize::from(lead & 0x1F)])],
            same,
            2,
            [following, block, block],
        );
        mixed &= !same;
    }
    let mut mixed = mixed_three;
    if mixed != 0 {
        let last = simd.following(following);
        while mixed != 0 {
            let at = mixed.trailing_zeros() as usize;
            let (lead, second) = (rest[at], rest[at + 1]);
            let same = mixed_three & simd.equal(block, lead) & simd.equal(following, second);
            let page = THREE_BYTE_PAGES + (usize::from(lead & 0x0F) << 6 | usize::from(second & 0x3F));
            pages.replace(&blocks.pages[usize::from(blocks.page_of[page])], same, 3, [last, following, block]);
            mixed &= !same;
        }
    }
    (bytes, flags) = (pages.bytes, pages.flags);
    let mut keep = inside & !(ascii.deleted & !non_ascii);
    if mixed_two | mixed_three != 0 {
        if simd.has(flags, SLOW) != 0 {
            return 0;
        }
        keep &= !simd.equal(bytes, NO_BYTE);
    }
    word |= simd.has(flags, WORD);
    first |= simd.has(flags, ISOLATED);
    let mut supplementary = four;
    while supplementary != 0 {
        let at = supplementary.trailing_zeros();
        supplementary &= supplementary - 1;
        match supplementary_class(tables, rest, at as usize) {
            SupplementaryClass::Word => word |= 1 << at,
            SupplementaryClass::Isolated => first |= 1 << at,
            SupplementaryClass::Deleted => keep &= !(0xF << at),
            SupplementaryClass::Slow => return 0,
        }
    }
    let more = two | three | four;
    let word = word | (word & more) << 1 | (word & (three | four)) << 2 | (word & four) << 3;
    let last = first & !more | (first & two) << 1 | (first & three) << 2 | (first & four) << 3;
    chunk.emit(simd, bytes, WordMasks { word, first, last, keep });
    length
}

/// Bit `byte % 8` of a byte, for each byte.
const PAGE_BITS: [u8; 64] = {
    let mut bits = [0; 64];
    let mut i = 0;
    while i < 64 {
        bits[i] = 1 << (i % 8);
        i += 1;
    }
    bits
};

/// The characters of a block of valid UTF-8, cut at a character boundary.
struct Utf8Shape<B> {
    length: usize,
    two: Mask,
    three: Mask,
    four: Mask,
    following: B,
}

impl<B: Copy> Utf8Shape<B> {
    /// Find the characters; None where the bytes are not UTF-8.
    #[inline(always)]
    fn check<S: Simd<Block = B>>(simd: S, block: B, length: usize) -> Option<Utf8Shape<B>> {
        let two = simd.between(block, 0xC2, 0xDF) & lowest(length);
        let three = simd.between(block, 0xE0, 0xEF) & lowest(length);
        let four = simd.between(block, 0xF0, 0xF4) & lowest(length);
        let top = |n: u32| 1u64 << (length as u32 - n);
        let mut cut = 0;
        for (mask, n) in [(two | three | four, 1), (three | four, 2), (four, 3)] {
            cut |= if length as u32 >= n { mask & top(n) } else { 0 };
        }
        // Only a whole block may end within a character: the next one takes it.
        if cut != 0 && length < BLOCK {
            return None;
        }
        let length = if cut == 0 { length } else { cut.trailing_zeros() as usize };
        let inside = lowest(length);
        let (two, three, four) = (two & inside, three & inside, four & inside);
        let following = simd.following(block);
        let continuation = simd.between(block, 0x80, 0xBF) & inside;
        let (more, wide) = (two | three | four, three | four);
        let mut wrong = simd.non_ascii(block) & inside ^ (more | continuation);
        wrong |= continuation ^ (more << 1 | wide << 2 | four << 3);
        if wide != 0 {
            // Overlong forms, surrogates, and code points beyond Unicode.
            let low = simd.between(following, 0x80, 0x9F);
            wrong |= simd.equal(block, 0xE0) & inside & low | simd.equal(block, 0xED) & inside & !low;
            if four != 0 {
                let lowest_quarter = simd.between(following, 0x80, 0x8F);
                wrong |= simd.equal(block, 0xF0) & inside & lowest_quarter;
                wrong |= simd.equal(block, 0xF4) & inside & !lowest_quarter;
            }
        }
        (wrong == 0).then_some(Utf8Shape { length, two, three, four, following })
    }
}

/// The bytes and class flags of a block while its mixed pages are looked up.
struct Pages<S: Simd> {
    simd: S,
    bytes: S::Block,
    flags: S::Block,
}

impl<S: Simd> Pages<S> {
    /// Look up the characters that begin where the mask says, all in one page and `length` bytes long. `lasts[k]` has
    /// the last byte of a character in the place of its byte `k`.
    #[inline(always)]
    fn replace(&mut self, page: &Page, starts: Mask, length: usize, lasts: [S::Block; 3]) {
        for (k, table) in page.bytes.iter().enumerate().take(length) {
            self.bytes = self.simd.blend(starts << k, self.bytes, self.simd.lookup(table, lasts[k]));
        }
        self.flags = self.simd.blend(starts, self.flags, self.simd.lookup(&page.class, lasts[0]));
    }
}

enum SupplementaryClass {
    Word,
    Isolated,
    Deleted,
    Slow,
}

/// What the four-byte character at this place is, if it stays as it is.
#[inline(always)]
fn supplementary_class(tables: &Tables<'_>, rest: &[u8], at: usize) -> SupplementaryClass {
    let (c, _) = utf8::decode(rest, at);
    match tables.code_points.action(c) {
        Action::One(output) if output.code_point() == c => match output.class() {
            Class::Word => SupplementaryClass::Word,
            Class::Space => SupplementaryClass::Slow,
            Class::Punctuation | Class::Ideograph => SupplementaryClass::Isolated,
        },
        Action::Delete { .. } => SupplementaryClass::Deleted,
        _ => SupplementaryClass::Slow,
    }
}
