//! Blocks of text beyond ASCII, normalized without looking at one character after the other.

use crate::automaton::Tables;
use crate::blocks::{ISOLATED, MIXED, NO_BYTE, Page, SLOW, THREE_BYTE_PAGES, WORD};
use crate::chunk::{Chunk, WordMasks};
use crate::code_points::{Action, Class};
use crate::normalizer::{BLOCK, Block, Position, lowest, put_outputs};
use crate::simd::{Mask, Simd};
use crate::utf8;

/// A block of which not all is ASCII or some is slow, where no marks wait; gives the bytes that were consumed, or 0 where
/// they are not UTF-8.
#[inline(always)]
pub fn wide_block<S: Simd>(
    simd: S,
    tables: &Tables<'_>,
    rest: &[u8],
    block: &Block<S>,
    position: &mut Position,
    chunk: &mut Chunk,
) -> usize {
    let Some(shape) = Utf8Shape::check(simd, block.bytes, block.length) else {
        return 0;
    };
    let mut wide = WideBlock::new(simd, tables, rest, block, &shape);
    if shape.two != 0 {
        wide.two_bytes(&shape);
    }
    if shape.three != 0 {
        wide.three_bytes(&shape);
    }
    if shape.two != 0 || wide.mixed {
        wide.settle();
    }
    wide.four_bytes(&shape);
    let masks = wide.masks(&shape);
    // What blocks cannot do is done between the parts of this one.
    let (mut slow, mut done) = (wide.slow, 0);
    while slow != 0 {
        let at = slow.trailing_zeros() as usize;
        slow &= slow - 1;
        chunk.emit(simd, wide.bytes, masks.part(done, at));
        let (c, length) = utf8::decode(rest, at);
        put_slow(tables, c, position, chunk);
        done = at + length;
        // They go on with what follows.
        if !position.marks.is_empty() {
            return done;
        }
    }
    chunk.emit(simd, wide.bytes, masks.part(done, shape.length));
    shape.length
}

/// Put out what becomes of a character that blocks cannot do.
#[inline(never)]
fn put_slow(tables: &Tables<'_>, c: u32, position: &mut Position, chunk: &mut Chunk) {
    put_outputs(tables, tables.code_points.action(c), position, chunk);
}

impl WordMasks {
    /// The same where only the bytes from `start` to `end` stay.
    #[inline(always)]
    fn part(self, start: usize, end: usize) -> WordMasks {
        WordMasks { keep: self.keep & lowest(end) & !lowest(start), ..self }
    }
}

/// A block while its characters are looked up.
struct WideBlock<'a, S: Simd> {
    simd: S,
    tables: &'a Tables<'a>,
    /// The text from the block on.
    rest: &'a [u8],
    block: S::Block,
    /// What its bytes become.
    bytes: S::Block,
    /// Class flags of characters of two and three bytes, at their first bytes.
    flags: S::Block,
    /// First bytes of characters that are part of a word.
    word: Mask,
    /// First bytes of words of their own.
    first: Mask,
    keep: Mask,
    /// First bytes of characters that blocks cannot do.
    slow: Mask,
    /// Some page was mixed.
    mixed: bool,
    /// Some page does not keep its characters.
    changed: bool,
}

impl<'a, S: Simd> WideBlock<'a, S> {
    #[inline(always)]
    fn new(simd: S, tables: &'a Tables<'a>, rest: &'a [u8], block: &Block<S>, shape: &Utf8Shape<S::Block>) -> Self {
        let inside = lowest(shape.length);
        let ascii_bytes = inside & !block.non_ascii;
        let ascii = &block.ascii;
        WideBlock {
            simd,
            tables,
            rest,
            block: block.bytes,
            bytes: block.mapped(simd, tables),
            flags: simd.splat(0),
            word: ascii.word & ascii_bytes,
            first: ascii.isolated & ascii_bytes,
            keep: inside & !(ascii.deleted & ascii_bytes),
            slow: ascii.slow & ascii_bytes,
            mixed: false,
            changed: false,
        }
    }

    /// Characters of two bytes: a page has one lead byte.
    #[inline(always)]
    fn two_bytes(&mut self, shape: &Utf8Shape<S::Block>) {
        let (simd, blocks) = (self.simd, self.tables.blocks);
        self.flags = simd.blend(shape.two, self.flags, simd.lookup(&blocks.lead, self.block));
        let all = simd.has(self.flags, MIXED);
        let mut mixed = all;
        self.mixed |= mixed != 0;
        while mixed != 0 {
            let lead = self.rest[mixed.trailing_zeros() as usize];
            let same = all & simd.equal(self.block, lead);
            let page = blocks.page_of[usize::from(lead & 0x1F)];
            self.replace(&blocks.pages[usize::from(page)], same, 2, [shape.following, self.block, self.block]);
            mixed &= !same;
        }
    }

    /// Characters of three bytes: a page has the first two bytes. Uniform pages are two sets of pages.
    #[inline(always)]
    fn three_bytes(&mut self, shape: &Utf8Shape<S::Block>) {
        let (simd, blocks) = (self.simd, self.tables.blocks);
        let page = simd.page_bytes(self.block, shape.following);
        let bit = simd.lookup(&PAGE_BITS, shape.following);
        let uniform_word = shape.three & simd.common(simd.lookup_128(&blocks.uniform_word, page), bit);
        let uniform_isolated = shape.three & simd.common(simd.lookup_128(&blocks.uniform_isolated, page), bit);
        self.word |= uniform_word;
        self.first |= uniform_isolated;
        let all = shape.three & !(uniform_word | uniform_isolated);
        let mut mixed = all;
        if mixed == 0 {
            return;
        }
        self.mixed = true;
        let last = simd.following(shape.following);
        while mixed != 0 {
            let at = mixed.trailing_zeros() as usize;
            let (lead, second) = (self.rest[at], self.rest[at + 1]);
            let same = all & simd.equal(self.block, lead) & simd.equal(shape.following, second);
            let number = usize::from(lead & 0x0F) << 6 | usize::from(second & 0x3F);
            let page = blocks.page_of[THREE_BYTE_PAGES + number];
            self.replace(&blocks.pages[usize::from(page)], same, 3, [last, shape.following, self.block]);
            mixed &= !same;
        }
    }

    /// Look up the characters that begin where the mask says, all in one page and `length` bytes long. `lasts[k]` has
    /// the last byte of a character in the place of its byte `k`.
    #[inline(always)]
    fn replace(&mut self, page: &Page, starts: Mask, length: usize, lasts: [S::Block; 3]) {
        if !page.keeps {
            self.changed = true;
            for (k, table) in page.bytes.iter().enumerate().take(length) {
                self.bytes = self.simd.blend(starts << k, self.bytes, self.simd.lookup(table, lasts[k]));
            }
        }
        self.flags = self.simd.blend(starts, self.flags, self.simd.lookup(&page.class, lasts[0]));
    }

    /// Read the flags.
    #[inline(always)]
    fn settle(&mut self) {
        if self.mixed {
            self.slow |= self.simd.has(self.flags, SLOW);
        }
        if self.changed {
            self.keep &= !self.simd.equal(self.bytes, NO_BYTE);
        }
        self.word |= self.simd.has(self.flags, WORD);
        self.first |= self.simd.has(self.flags, ISOLATED);
    }

    /// Characters of four bytes, one by one.
    #[inline(always)]
    fn four_bytes(&mut self, shape: &Utf8Shape<S::Block>) {
        let mut four = shape.four;
        while four != 0 {
            let at = four.trailing_zeros();
            four &= four - 1;
            let (c, _) = utf8::decode(self.rest, at as usize);
            match self.tables.code_points.action(c) {
                Action::One(output) if output.code_point() == c => match output.class() {
                    Class::Word => self.word |= 1 << at,
                    Class::Space => {}
                    Class::Punctuation | Class::Ideograph => self.first |= 1 << at,
                },
                Action::Delete { .. } => self.keep &= !(0xF << at),
                _ => self.slow |= 1 << at,
            }
        }
    }

    /// The masks of the bytes, from those of first bytes.
    #[inline(always)]
    fn masks(&self, shape: &Utf8Shape<S::Block>) -> WordMasks {
        let Utf8Shape { two, three, four, .. } = *shape;
        let (word, first) = (self.word, self.first);
        let more = two | three | four;
        let word = word | (word & more) << 1 | (word & (three | four)) << 2 | (word & four) << 3;
        let last = first & !more | (first & two) << 1 | (first & three) << 2 | (first & four) << 3;
        WordMasks { word, first, last, keep: self.keep }
    }
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
