//! What each byte says about the characters of a text, in the form in which levels without vector instructions read it:
//! masks of 16 bytes, made by a shift and a look into a table for each byte.

use crate::blocks::{ADDED, BlockTables, DELETED, ISOLATED, SLOW, WORD};
use crate::simd::Mask;

/// For each byte, bits that stand at the top of the 16 bits of each mask and are shifted down by the bytes that follow.
#[derive(Debug, Clone)]
pub struct ByteClasses([u64; 256]);

/// Masks of a block, see [`crate::simd::AsciiMasks`].
#[derive(Debug, Clone, Copy)]
pub struct ByteMasks {
    /// ASCII that is part of a word, and first bytes all of whose characters are.
    pub word: Mask,
    /// ASCII that is a word of its own, and first bytes all of whose characters are.
    pub isolated: Mask,
    /// ASCII with any other flag.
    pub rare: Mask,
}

/// Bits of each mask.
const WIDTH: u32 = 16;

impl ByteClasses {
    /// Those of the ASCII characters, by their flags.
    pub fn of_ascii(flags: &[u8; 128]) -> Box<ByteClasses> {
        let mut classes = Box::new(ByteClasses([0; 256]));
        flags.iter().enumerate().for_each(|(byte, &flags)| classes.set(byte, flags));
        classes
    }

    /// Add the first bytes of two or three whose pages are all uniform, and the same.
    pub fn add_leads(&mut self, tables: &BlockTables) {
        for lead in 0xC2..0xE0 {
            self.set(lead, tables.lead[lead & 0x3F]);
        }
        for lead in 0xE0..0xF0 {
            let first = (lead & 0x0F) * 8;
            let all = |pages: &[u8; 128]| pages[first..first + 8].iter().all(|&pages| pages == 0xFF);
            // In the tables the pages that no valid text has are uniform too.
            let valid = lead != 0xE0 && lead != 0xED;
            if valid && all(&tables.uniform_word) {
                self.set(lead, WORD);
            } else if valid && all(&tables.uniform_isolated) {
                self.set(lead, ISOLATED);
            }
        }
    }

    fn set(&mut self, byte: usize, flags: u8) {
        let rare = DELETED | ADDED | SLOW;
        let bits = [WORD, ISOLATED, rare].map(|flag| u64::from(flags & flag != 0));
        self.0[byte] = bits.iter().zip(1..).fold(0, |all, (bit, top)| all | bit << (top * WIDTH - 1));
    }

    /// The masks of a block.
    #[inline(always)]
    pub fn masks(&self, block: &[u8; 64]) -> ByteMasks {
        let mut masks = ByteMasks { word: 0, isolated: 0, rare: 0 };
        for (i, sixteen) in block.as_chunks::<16>().0.iter().enumerate() {
            let all = sixteen.iter().fold(0, |all, &byte| all >> 1 | self.0[usize::from(byte)]);
            let mask = |number: u32| (all >> (number * WIDTH) & 0xFFFF) << (16 * i);
            masks.word |= mask(0);
            masks.isolated |= mask(1);
            masks.rare |= mask(2);
        }
        masks
    }
}
