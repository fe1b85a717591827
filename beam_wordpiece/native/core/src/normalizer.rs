//! The first pass: validate, normalize, and find the words of a text, 64 bytes at a time.
//!
//! A block is cut at a character boundary, so no character lies in two blocks and UTF-8 is checked with a few mask
//! operations. What blocks cannot do (characters that become several or longer ones, marks to be sorted, invalid bytes)
//! is done character by character, for that block only.

use crate::added::{Found, Pass, put_marks, sort_marks};
use crate::automaton::Tables;
use crate::blocks::{BlockTables, MIXED, NO_BYTE, Page, SLOW, THREE_BYTE_PAGES};
use crate::blocks::{ISOLATED, WORD};
use crate::chunk::{Chunk, WordMasks};
use crate::code_points::Output;
use crate::simd::{Mask, Simd};
use crate::utf8;

/// Bytes of a block.
const BLOCK: usize = 64;
/// What an invalid part of the text is read as.
const REPLACEMENT: u32 = 0xFFFD;

/// Why the pass stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The text is at its end.
    End,
    /// The chunk is full.
    Full,
}

/// Where in a text the pass is.
#[derive(Debug, Default)]
pub struct Position {
    /// The next byte.
    pub at: usize,
    /// No added token begins before this byte.
    pub added_from: usize,
    /// First invalid byte, if one was found.
    pub invalid: Option<usize>,
    /// Marks whose order is not decided yet.
    pub marks: Vec<Output>,
}

impl Position {
    /// At the beginning of a text.
    pub fn restart(&mut self) {
        (self.at, self.added_from, self.invalid) = (0, 0, None);
        self.marks.clear();
    }
}

/// Run over the text from where the position is, adding to the chunk, until something stops it.
#[inline(always)]
pub fn normalize<S: Simd>(simd: S, tables: &Tables<'_>, text: &[u8], position: &mut Position, chunk: &mut Chunk) -> Stop {
    // Two marks more than this are in a word that is too long, so their order no longer matters.
    let most_marks = tables.parameters.max_input_chars_per_word as usize + 1;
    let mut tail;
    while position.at < text.len() {
        if chunk.is_full() {
            return Stop::Full;
        }
        chunk.reserve(0);
        let rest = &text[position.at..];
        let bytes = match rest.first_chunk::<BLOCK>() {
            Some(bytes) => bytes,
            None => {
                tail = [0; BLOCK];
                tail[..rest.len()].copy_from_slice(rest);
                &tail
            }
        };
        let block = simd.load(bytes);
        let mut length = rest.len().min(BLOCK);
        let non_ascii = simd.non_ascii(block);
        let ascii = simd.classify_ascii(tables.blocks, block);
        let mut found = None;
        let candidates = candidates(simd, tables.blocks, block, ascii.added & !non_ascii, non_ascii) & lowest(length);
        if candidates != 0 {
            let from = position.at;
            found = find_token(&tables.added.raw, text, position, bits(candidates).map(|bit| from + bit));
            if let Some(token) = found {
                length = token.start - position.at;
            }
        }
        let inside = lowest(length);
        if length > 0 {
            let slow = ascii.slow & !non_ascii & inside != 0 || !position.marks.is_empty();
            if non_ascii & inside == 0 && !slow {
                let masks = WordMasks {
                    word: ascii.word,
                    first: ascii.isolated,
                    last: ascii.isolated,
                    keep: inside & !ascii.deleted,
                };
                chunk.emit(simd, simd.change_case(block, tables.blocks.case_bit), masks);
                position.at += length;
            } else {
                let done = if S::WIDE && !slow { wide_block(simd, tables, rest, block, length, chunk) } else { 0 };
                if done == 0 {
                    character_block(tables, text, length, position, chunk, most_marks);
                } else {
                    position.at += done;
                }
            }
        }
        if let Some(token) = found
            && position.at >= token.start
        {
            flush_marks(position, chunk);
            chunk.push_token(token.id);
            position.at = token.resume;
        }
    }
    flush_marks(position, chunk);
    chunk.end_word();
    Stop::End
}

/// The numbers of the bits that are set.
#[inline(always)]
fn bits(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        bit
    })
}

/// The lowest `n` bits.
#[inline(always)]
fn lowest(n: usize) -> Mask {
    if n >= 64 { Mask::MAX } else { (1 << n) - 1 }
}

/// Where an added token may begin.
#[inline(always)]
fn candidates<S: Simd>(simd: S, blocks: &BlockTables, block: S::Block, ascii: Mask, non_ascii: Mask) -> Mask {
    if non_ascii == 0 || blocks.added_leads.is_empty() {
        return ascii;
    }
    blocks.added_leads.iter().fold(ascii, |all, &lead| all | simd.equal(block, lead))
}

/// An added token in the text.
#[derive(Debug, Clone, Copy)]
pub struct TokenInText {
    /// Its id.
    pub id: u32,
    /// The text before it ends here.
    pub start: usize,
    /// The text after it begins here.
    pub resume: usize,
}

/// The first token that begins at one of these places; the position then knows where the search goes on.
#[inline(never)]
pub fn find_token(
    pass: &Pass,
    text: &[u8],
    position: &mut Position,
    places: impl Iterator<Item = usize>,
) -> Option<TokenInText> {
    for at in places {
        if at < position.added_from {
            continue;
        }
        match pass.at(text, at, None) {
            Found::Nothing => {}
            Found::Rejected { end } => position.added_from = end,
            Found::Token { id, start, end, resume } => {
                position.added_from = end;
                return Some(TokenInText { id, start: start.max(position.at), resume });
            }
        }
    }
    None
}

/// A block with characters beyond ASCII; gives the bytes that were consumed, or 0 where it has to go character-wise.
#[inline(always)]
fn wide_block<S: Simd>(
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
        pages.replace(&blocks.pages[usize::from(blocks.page_of[usize::from(lead & 0x1F)])], same, 2, [following, block, block]);
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
    use crate::code_points::{Action, Class};
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

/// Do a block character by character: at least one character, none that begins after `length` bytes.
#[inline(never)]
fn character_block(
    tables: &Tables<'_>,
    text: &[u8],
    length: usize,
    position: &mut Position,
    chunk: &mut Chunk,
    most_marks: usize,
) {
    let end = position.at + length;
    characters(text, position, end, |position, c| {
        chunk.reserve(4 * position.marks.len() + 64);
        sort_marks(tables.code_points.action(c), &mut position.marks, &mut |output| chunk.push_output(output));
        if position.marks.len() > most_marks {
            flush_marks(position, chunk);
        }
    });
}

/// Decode the characters that begin before `end`; each invalid part is one U+FFFD.
pub fn characters(text: &[u8], position: &mut Position, end: usize, mut each: impl FnMut(&mut Position, u32)) {
    while position.at < end {
        // A character that begins before `end` ends at most three bytes after it.
        let part = &text[position.at..(end + 3).min(text.len())];
        let part = &part[..part.len().min(2 * BLOCK)];
        let (valid, invalid) = match std::str::from_utf8(part) {
            Ok(valid) => (valid, None),
            Err(error) => {
                let valid = std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or_default();
                (valid, Some(error.error_len()))
            }
        };
        for c in valid.chars() {
            if position.at >= end {
                return;
            }
            position.at += c.len_utf8();
            each(position, u32::from(c));
        }
        if position.at >= end {
            return;
        }
        let length = match invalid {
            None => continue,
            Some(Some(length)) => length,
            // Cut off: by the end of the text, or only by that of the part.
            Some(None) if position.at + (part.len() - valid.len()) < text.len() => continue,
            Some(None) => part.len() - valid.len(),
        };
        position.invalid.get_or_insert(position.at);
        position.at += length;
        each(position, REPLACEMENT);
    }
}

/// Put out the marks that wait, in the order of their combining classes.
fn flush_marks(position: &mut Position, chunk: &mut Chunk) {
    chunk.reserve(4 * position.marks.len());
    put_marks(&mut position.marks, &mut |mark| chunk.push_output(mark));
}
