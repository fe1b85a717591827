//! The code point table in the form in which 64 bytes of text are looked up at once.
//!
//! Code points come in pages of 64, which are those that share all bytes of UTF-8 but the last. Most pages are uniform
//! (all letters, say) and take two bits. Of a mixed page the table has, for each last byte, the bytes of what the
//! character becomes and its class, as long as the result is one character that is no longer than the source.
//! Everything else is marked SLOW and goes through the code point table.
//!
//! Derived from the code point table when an automaton is opened, so the two cannot disagree.

use crate::byte_classes::ByteClasses;
use crate::code_points::{Action, Class, CodePoints};
use crate::utf8;

/// Part of a word.
pub const WORD: u8 = 1;
/// A word of its own.
pub const ISOLATED: u8 = 2;
/// The page of this lead byte is not uniform.
pub const MIXED: u8 = 4;
/// Dropped.
pub const DELETED: u8 = 8;
/// Only the code point table knows.
pub const SLOW: u8 = 16;
/// An added token, or the key of a rule, may begin with this byte.
pub const ADDED: u8 = 32;
/// In the bytes of a page: no byte here, the result is shorter than the source.
pub const NO_BYTE: u8 = 0xFF;

/// A mixed page, indexed by the low six bits of the last byte of a character.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Page {
    /// What the first, second and third byte of the character become.
    pub bytes: [[u8; 64]; 3],
    /// Class flags.
    pub class: [u8; 64],
    /// Every character that is not SLOW stays as it is, so only the class is needed.
    pub keeps: bool,
}

/// See the module.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct BlockTables {
    /// Class flags of the ASCII characters.
    pub ascii: [u8; 128],
    /// Class flags of the pages of two-byte characters, by the low six bits of the lead byte.
    pub lead: [u8; 64],
    /// Uniform pages of three-byte characters that are parts of words: bit `page % 8` of byte `page / 8`.
    pub uniform_word: [u8; 128],
    /// The same for words of their own.
    pub uniform_isolated: [u8; 128],
    /// 0x20 where capital ASCII letters become small ones, or 0.
    pub case_bit: u8,
    /// What each ASCII character becomes, where that is more than a change of case.
    pub ascii_bytes: Option<Box<[u8; 128]>>,
    /// Mixed pages.
    pub pages: Vec<Page>,
    /// Mixed page of each two-byte lead (32), then of each page of three-byte characters (1024).
    pub page_of: Vec<u16>,
    /// Bytes above ASCII with which one of those may begin.
    pub added_leads: Vec<u8>,
    /// The same as `ascii` by nibbles, for levels that look up 16 bytes at once: for each flag (and for RARE, any of
    /// the last three) and each low nibble, the high nibbles that have it, as bits.
    pub ascii_rows: [[u8; 16]; 6],
    /// The same as `ascii` and the uniform pages, for levels that look one byte up after the other.
    pub byte_classes: Box<ByteClasses>,
}

/// The place in `page_of` of the pages of three-byte characters.
pub const THREE_BYTE_PAGES: usize = 32;

impl BlockTables {
    /// The row of `ascii_rows` for any of the rare flags.
    pub const RARE: usize = 5;
    /// The bit of each high nibble in `ascii_rows`; none for bytes that are not ASCII.
    pub const ROWS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

    /// Derive the tables. What is done with capital letters on the whole is seen where there are no rules. `begins`:
    /// whether an added token, or the key of a rule, may begin with a byte.
    pub fn new(code_points: CodePoints<'_>, without_rules: CodePoints<'_>, begins: impl Fn(u8) -> bool) -> BlockTables {
        let lower = matches!(without_rules.action(u32::from('A')), Action::One(a) if a.code_point() == u32::from('a'));
        let case_bit = if lower { 0x20 } else { 0 };
        let ascii = std::array::from_fn(|byte| {
            let added = if begins(byte as u8) { ADDED } else { 0 };
            ascii_class(code_points, byte as u8) | added
        });
        let mut tables = BlockTables::with_ascii(ascii);
        tables.case_bit = case_bit;
        let mapped: [u8; 128] = std::array::from_fn(|byte| ascii_byte(code_points, byte as u8));
        let cased = |byte: u8| if byte.is_ascii_uppercase() { byte | case_bit } else { byte };
        let is_other =
            |(byte, &mapped): (u8, &u8)| ascii[usize::from(byte)] & (WORD | ISOLATED) != 0 && mapped != cased(byte);
        tables.ascii_bytes = (0..).zip(&mapped).any(is_other).then(|| Box::new(mapped));
        tables.added_leads = (0x80..=0xFF).filter(|&byte| begins(byte)).collect();
        for page in 2..32 {
            let flags = tables.add_page(code_points, page, page as u32 * 64, 2);
            tables.lead[page] = flags;
        }
        for page in 0..1024 {
            let first = page as u32 * 64;
            // Not in valid UTF-8 of three bytes: overlong forms and surrogates.
            let valid = first >= 0x800 && !(0xD800..0xE000).contains(&first);
            let flags = if valid { tables.add_page(code_points, THREE_BYTE_PAGES + page, first, 3) } else { WORD };
            match flags {
                WORD => tables.uniform_word[page / 8] |= 1 << (page % 8),
                ISOLATED => tables.uniform_isolated[page / 8] |= 1 << (page % 8),
                _ => {}
            }
        }
        let mut byte_classes = tables.byte_classes.clone();
        byte_classes.add_leads(&tables);
        tables.byte_classes = byte_classes;
        tables
    }

    /// Tables with these flags of the ASCII characters and nothing beyond ASCII.
    pub fn with_ascii(ascii: [u8; 128]) -> BlockTables {
        let mut ascii_rows = [[0; 16]; 6];
        for (byte, flags) in ascii.iter().enumerate() {
            let rows = [WORD, ISOLATED, DELETED, ADDED, SLOW, DELETED | ADDED | SLOW];
            for (row, _) in ascii_rows.iter_mut().zip(rows).filter(|(_, flag)| flags & flag != 0) {
                row[byte % 16] |= 1 << (byte / 16);
            }
        }
        BlockTables {
            ascii,
            lead: [0; 64],
            uniform_word: [0; 128],
            uniform_isolated: [0; 128],
            case_bit: 0,
            ascii_bytes: None,
            pages: Vec::new(),
            page_of: vec![0; THREE_BYTE_PAGES + 1024],
            added_leads: Vec::new(),
            ascii_rows,
            byte_classes: ByteClasses::of_ascii(&ascii),
        }
    }

    /// The flags of a uniform page, or MIXED after adding the page.
    fn add_page(&mut self, code_points: CodePoints<'_>, number: usize, first: u32, length: usize) -> u8 {
        let kept = |c: u32| match code_points.action(c) {
            Action::One(output) if output.code_point() == c => flags(output.class()),
            _ => MIXED,
        };
        let uniform = kept(first);
        if matches!(uniform, WORD | ISOLATED) && (first..first + 64).all(|c| kept(c) == uniform) {
            return uniform;
        }
        let mut page = Page { bytes: [[NO_BYTE; 64]; 3], class: [0; 64], keeps: true };
        for low in 0..64 {
            let Action::One(output) = code_points.action(first + low as u32) else {
                let deleted = code_points.action(first + low as u32) == Action::Delete { barrier: false };
                let stripped = code_points.action(first + low as u32) == Action::Delete { barrier: true };
                page.class[low] = if deleted || stripped { 0 } else { SLOW };
                page.keeps &= !(deleted || stripped);
                continue;
            };
            let (bytes, n) = utf8::encode(output.code_point());
            let class = flags(output.class());
            // A word of its own ends after its last byte, which must stay where it is.
            if n > length || class == ISOLATED && n != length || output.code_point() == 0 {
                page.class[low] = SLOW;
                continue;
            }
            page.class[low] = class;
            page.keeps &= output.code_point() == first + low as u32;
            for (target, &byte) in page.bytes.iter_mut().zip(&bytes[..n]) {
                target[low] = byte;
            }
        }
        self.page_of[number] = self.pages.len() as u16;
        self.pages.push(page);
        MIXED
    }
}

fn flags(class: Class) -> u8 {
    match class {
        Class::Space => 0,
        Class::Word => WORD,
        Class::Punctuation | Class::Ideograph => ISOLATED,
    }
}

/// Flags of an ASCII character. White space that is part of no word may be any byte.
fn ascii_class(code_points: CodePoints<'_>, byte: u8) -> u8 {
    match code_points.action(u32::from(byte)) {
        Action::Delete { barrier: false } => DELETED,
        Action::One(output) if output.class() == Class::Space => 0,
        Action::One(output) if (1..0x80).contains(&output.code_point()) => flags(output.class()),
        _ => SLOW,
    }
}

/// What an ASCII character becomes, if that is one.
fn ascii_byte(code_points: CodePoints<'_>, byte: u8) -> u8 {
    match code_points.action(u32::from(byte)) {
        Action::One(output) if output.code_point() < 0x80 => output.code_point() as u8,
        _ => byte,
    }
}
