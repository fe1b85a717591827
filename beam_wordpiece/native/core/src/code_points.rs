//! What normalization and word splitting do with each code point: one table, made from a profile and the options.
//!
//! The table is the whole of BertNormalizer and BertPreTokenizer but for one thing that has context: marks whose order
//! shows are sorted by their combining class (Unicode's canonical ordering) within a run of marks.

use crate::options::Options;
use crate::profile::Tables;
use std::collections::HashMap;

/// What a character is to the word splitter, in two bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Class {
    /// White space: ends a word.
    Space = 0,
    /// Part of a word.
    Word = 1,
    /// A word of its own.
    Punctuation = 2,
    /// A word of its own that normalization puts spaces around. Where text is not split into words the spaces are there,
    /// and it is [`Class::Word`] as everything is.
    Ideograph = 3,
}

impl Class {
    /// The class with these two bits.
    #[inline(always)]
    pub fn from_bits(bits: u32) -> Class {
        match bits & 3 {
            0 => Class::Space,
            1 => Class::Word,
            2 => Class::Punctuation,
            _ => Class::Ideograph,
        }
    }
}

/// One character that normalization puts out, packed: code point (21 bits), class (2), combining class (8).
///
/// The combining class is 0 but for marks that have to be sorted. A [`Output::BARRIER`] puts out nothing, but marks on
/// its two sides do not change places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::TransparentWrapper)]
#[repr(transparent)]
pub struct Output(pub u32);

impl Output {
    /// A starter that was stripped.
    pub const BARRIER: Output = Output(0x1F_FFFF);

    fn new(c: u32, class: Class, combining_class: u8) -> Output {
        Output(c | (class as u32) << 21 | u32::from(combining_class) << 24)
    }

    /// The code point.
    #[inline(always)]
    pub fn code_point(self) -> u32 {
        self.0 & 0x1F_FFFF
    }

    /// What the character is to the word splitter.
    #[inline(always)]
    pub fn class(self) -> Class {
        Class::from_bits(self.0 >> 21)
    }

    /// 0, or the canonical combining class by which the mark is sorted.
    #[inline(always)]
    pub fn combining_class(self) -> u8 {
        (self.0 >> 24) as u8
    }
}

/// What becomes of one code point of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action<'a> {
    /// It is dropped; where `barrier`, marks on its two sides still do not change places.
    Delete {
        /// It was a starter.
        barrier: bool,
    },
    /// It becomes one character (often itself) that needs no sorting.
    One(Output),
    /// It becomes these.
    Many(&'a [Output]),
}

const KIND_DELETE: u32 = 1 << 30;
const KIND_MANY: u32 = 2 << 30;
const KIND_KEEP: u32 = 3 << 30;
/// Outputs in the pool at most.
const MOST_STORED: usize = 1 << 20;
/// Code points in a block of the two-stage table.
const BLOCK: usize = 64;
/// Number of code points, surrogates included.
pub const CODE_POINTS: usize = 0x11_0000;

/// The table in the form in which it is stored: `index[c / 64]` names a block, `entries[64 * block + c % 64]` is the
/// action: kind in the top two bits (0 one, 1 delete, 2 many, 3 keep); for one the [`Output`]; for delete bit 0 says
/// barrier; for many `first` (20 bits) and `count` (8 bits, from bit 20) in `pool`; for keep the class, from bit 21.
#[derive(Debug, Clone, Copy)]
pub struct CodePoints<'a> {
    /// Block of each 64 code points.
    pub index: &'a [u16],
    /// 64 entries a block.
    pub entries: &'a [u32],
    /// Outputs of the code points that become several, or one that has to be sorted.
    pub pool: &'a [u32],
}

impl<'a> CodePoints<'a> {
    /// The action of a code point; one beyond Unicode is deleted.
    #[inline(always)]
    pub fn action(&self, c: u32) -> Action<'a> {
        let Some(&block) = self.index.get(c as usize / BLOCK) else {
            return Action::Delete { barrier: false };
        };
        let entry = self.entries[usize::from(block) * BLOCK + c as usize % BLOCK];
        match entry >> 30 {
            0 => Action::One(Output(entry)),
            1 => Action::Delete { barrier: entry & 1 != 0 },
            3 => Action::One(Output(entry & !KIND_KEEP | c)),
            _ => {
                let (first, count) = (entry as usize & 0xF_FFFF, entry as usize >> 20 & 0xFF);
                Action::Many(bytemuck::TransparentWrapper::wrap_slice(&self.pool[first..first + count]))
            }
        }
    }

    /// The class of a code point that stays as it is; None if something else becomes of it.
    #[inline(always)]
    pub fn kept(&self, c: u32) -> Option<Class> {
        let block = usize::from(*self.index.get(c as usize / BLOCK)?);
        let entry = self.entries[block * BLOCK + c as usize % BLOCK];
        (entry >= KIND_KEEP).then(|| Class::from_bits(entry >> 21))
    }

    /// A copy.
    pub fn to_owned(&self) -> CodePointsBuf {
        CodePointsBuf { index: self.index.to_vec(), entries: self.entries.to_vec(), pool: self.pool.to_vec() }
    }

    /// Check everything that `action` relies on, and that every output is a code point.
    pub fn validate(&self) -> Result<(), String> {
        if self.index.len() != CODE_POINTS / BLOCK || !self.entries.len().is_multiple_of(BLOCK) {
            return Err("the code point table has a wrong size".into());
        }
        let blocks = self.entries.len() / BLOCK;
        if self.index.iter().any(|&block| usize::from(block) >= blocks) {
            return Err("the code point table names a block that it does not have".into());
        }
        let is_output = |output: u32| output & 0x1F_FFFF < CODE_POINTS as u32 || output == Output::BARRIER.0;
        for &entry in self.entries {
            let fine = match entry >> 30 {
                0 => Output(entry).code_point() < CODE_POINTS as u32 && Output(entry).combining_class() == 0,
                1 => true,
                2 => (entry as usize & 0xF_FFFF) + (entry as usize >> 20 & 0xFF) <= self.pool.len(),
                _ => entry & !(3 << 21) == KIND_KEEP,
            };
            if !fine {
                return Err("the code point table has an entry that means nothing".into());
            }
        }
        if !self.pool.iter().all(|&output| is_output(output)) {
            return Err("the code point table puts out what is no code point".into());
        }
        Ok(())
    }
}

/// The table as it is made: see [`CodePoints`].
#[derive(Debug, Default)]
pub struct CodePointsBuf {
    /// See [`CodePoints`].
    pub index: Vec<u16>,
    /// See [`CodePoints`].
    pub entries: Vec<u32>,
    /// See [`CodePoints`].
    pub pool: Vec<u32>,
}

impl CodePointsBuf {
    /// Work out the action of every code point under the options.
    pub fn build(tables: &Tables, options: &Options) -> CodePointsBuf {
        let mut table = CodePointsBuf::default();
        let mut blocks: HashMap<Vec<u32>, u16> = HashMap::new();
        for first in (0..CODE_POINTS as u32).step_by(BLOCK) {
            let block: Vec<u32> = if tables.touch(first, first + BLOCK as u32 - 1) {
                (first..first + BLOCK as u32).map(|c| table.entry(c, &outputs(tables, options, c))).collect()
            } else {
                vec![KIND_KEEP | (Class::Word as u32) << 21; BLOCK]
            };
            let next = blocks.len() as u16;
            let number = *blocks.entry(block).or_insert_with_key(|block| {
                table.entries.extend_from_slice(block);
                next
            });
            table.index.push(number);
        }
        table
    }

    /// Borrowed.
    pub fn view(&self) -> CodePoints<'_> {
        CodePoints { index: &self.index, entries: &self.entries, pool: &self.pool }
    }

    /// Let code points become what stands beside them, at most 255 outputs.
    pub fn replace<'o>(&mut self, all: impl Iterator<Item = (u32, &'o [Output])>) -> Result<(), String> {
        let shared = self.entries.len() / BLOCK;
        for (c, outputs) in all {
            let entry = self.entry(c, outputs);
            let (index, place) = (c as usize / BLOCK, c as usize % BLOCK);
            let mut block = usize::from(self.index[index]);
            // Other code points may share the block.
            if block < shared {
                let first = block * BLOCK;
                block = self.entries.len() / BLOCK;
                self.entries.extend_from_within(first..first + BLOCK);
                // A number more for each block of code points at most.
                self.index[index] = u16::try_from(block).map_err(|_| "there are too many of them")?;
            }
            self.entries[block * BLOCK + place] = entry;
        }
        if self.pool.len() > MOST_STORED { Err("what stands for all of them is too long".into()) } else { Ok(()) }
    }

    fn entry(&mut self, c: u32, outputs: &[Output]) -> u32 {
        match outputs[..] {
            [] => KIND_DELETE,
            [Output::BARRIER] => KIND_DELETE | 1,
            [one] if one == Output::new(c, one.class(), 0) => KIND_KEEP | one.0 & !0x1F_FFFF,
            [one] if one.combining_class() == 0 => one.0,
            _ => {
                let first = self.pool.len() as u32;
                self.pool.extend(outputs.iter().map(|output| output.0));
                KIND_MANY | (outputs.len() as u32) << 20 | first
            }
        }
    }
}

/// What one code point becomes: BertNormalizer's stages in their order (clean, space ideographs, decompose and strip,
/// lower case), then BertPreTokenizer's view of each character that comes out. Without word splitting all that comes out
/// is part of one word, and the spaces around an ideograph, which HF's normalizer writes, come out too.
///
/// Hangul syllables are not decomposed here: they stay whole until a word is matched piece by piece.
fn outputs(tables: &Tables, options: &Options, c: u32) -> Vec<Output> {
    let mut c = c;
    if options.clean_text {
        if tables.clean_deleted.contains(c) {
            return Vec::new();
        }
        if tables.clean_to_space.contains(c) {
            c = u32::from(' ');
        }
    }
    let ideograph = options.handle_chinese_chars && tables.cjk.contains(c);
    let mut outputs = Vec::new();
    let spaced = ideograph && !options.pretokenize;
    let space = Output::new(u32::from(' '), Class::Word, 0);
    outputs.extend(spaced.then_some(space));
    for &d in if options.strip_accents { tables.decompose(&c) } else { std::slice::from_ref(&c) } {
        let combining_class = if options.strip_accents { tables.combining_class(d) } else { 0 };
        if options.strip_accents && tables.nonspacing_mark.contains(d) {
            if combining_class == 0 {
                outputs.push(Output::BARRIER);
            }
            continue;
        }
        for &l in if options.lowercase { tables.lowercase(&d) } else { std::slice::from_ref(&d) } {
            let class = if !options.pretokenize {
                Class::Word
            } else if tables.whitespace.contains(l) {
                Class::Space
            } else if tables.punctuation.contains(l) {
                Class::Punctuation
            } else if ideograph {
                Class::Ideograph
            } else {
                Class::Word
            };
            outputs.push(Output::new(l, class, combining_class));
        }
    }
    outputs.extend(spaced.then_some(space));
    // A character that is put out is a starter, or is itself sorted: a barrier beside a starter adds nothing.
    if outputs.len() > 1 && outputs.iter().any(|o| *o != Output::BARRIER && o.combining_class() == 0) {
        let sorted_too = outputs.iter().any(|o| o.combining_class() != 0 && *o != Output::BARRIER);
        if !sorted_too {
            outputs.retain(|o| *o != Output::BARRIER);
        }
    }
    outputs
}
