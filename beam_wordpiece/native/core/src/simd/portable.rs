//! The level without vector instructions: eight bytes at a time in a 64-bit number.

use super::{AsciiMasks, Mask, Simd};
use crate::automaton::Tables;
use crate::blocks::{ADDED, BlockTables, DELETED, SLOW};
use crate::byte_classes::ByteMasks;
use crate::chunk::Chunk;
use crate::lookup::Lookup;
use crate::missed::Missed;
use crate::normalizer::lowest;
use crate::pieces::Pieces;
use crate::walk::Machine;
use crate::walk_rounds;

/// Any processor.
#[derive(Debug, Clone, Copy)]
pub struct Portable;

/// Bit `i` of the result is bit `bit` of byte `i`.
#[inline(always)]
fn gather(block: &[u8; 64], bit: u32) -> Mask {
    let mut mask = 0;
    for (i, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let bits = u64::from_le_bytes(*eight) >> bit & 0x0101_0101_0101_0101;
        // The product brings the eight bits together in the top byte, without carries.
        mask |= (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    mask
}

/// A mask of the bytes for which this holds.
#[inline(always)]
fn which(block: &[u8; 64], holds: impl Fn(u8) -> bool) -> Mask {
    gather(&block.map(|byte| u8::from(holds(byte))), 0)
}

impl Simd for Portable {
    type Block = [u8; 64];
    const WIDE: bool = false;
    const LANES: usize = 1;

    #[inline(always)]
    fn run<T>(self, work: impl FnOnce(Portable) -> T) -> T {
        work(self)
    }

    #[inline(always)]
    fn prefetch(self, _text: &[u8], _at: usize) {}

    fn look_up(self, tables: &Tables<'_>, chunk: &mut Chunk, found: &mut Lookup) {
        found.run_each(tables, chunk);
    }

    fn decide(self, missed: &mut Missed<'_>, pieces: &mut Pieces) {
        missed.decide_each(pieces);
    }

    fn walk(self, machine: &Machine<'_>, pieces: &mut Pieces) {
        walk_rounds::walk(machine, pieces);
    }

    fn walk_by_characters(self, machine: &Machine<'_>, pieces: &mut Pieces) {
        pieces.walk_each_by_characters(machine);
    }

    #[inline(always)]
    fn load(self, bytes: &[u8; 64]) -> [u8; 64] {
        *bytes
    }

    #[inline(always)]
    fn store(self, block: [u8; 64], out: &mut [u8; 64]) {
        *out = block;
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> [u8; 64] {
        [byte; 64]
    }

    #[inline(always)]
    fn non_ascii(self, block: [u8; 64]) -> Mask {
        let any = block.as_chunks::<8>().0.iter().fold(0, |any, eight| any | u64::from_le_bytes(*eight));
        if any & 0x8080_8080_8080_8080 == 0 { 0 } else { gather(&block, 7) }
    }

    #[inline(always)]
    fn equal(self, block: [u8; 64], byte: u8) -> Mask {
        which(&block, |b| b == byte)
    }

    #[inline(always)]
    fn between(self, block: [u8; 64], first: u8, last: u8) -> Mask {
        which(&block, |b| (first..=last).contains(&b))
    }

    #[inline(always)]
    fn has(self, block: [u8; 64], bits: u8) -> Mask {
        if bits.is_power_of_two() { gather(&block, bits.trailing_zeros()) } else { which(&block, |b| b & bits != 0) }
    }

    #[inline(always)]
    fn common(self, a: [u8; 64], b: [u8; 64]) -> Mask {
        gather(&std::array::from_fn(|i| u8::from(a[i] & b[i] != 0)), 0)
    }

    #[inline(always)]
    fn classify_ascii(self, tables: &BlockTables, block: [u8; 64]) -> AsciiMasks {
        let ByteMasks { word, isolated, rare } = tables.byte_classes.masks(&block);
        let mut masks = AsciiMasks { word, isolated, deleted: 0, added: 0, slow: 0, rare };
        if rare != 0 {
            let flags = block.map(|byte| if byte.is_ascii() { tables.ascii[usize::from(byte)] } else { 0 });
            masks.deleted = gather(&flags, DELETED.trailing_zeros());
            masks.added = gather(&flags, ADDED.trailing_zeros());
            masks.slow = gather(&flags, SLOW.trailing_zeros());
        }
        masks
    }

    #[inline(always)]
    fn change_case(self, block: [u8; 64], case_bit: u8) -> [u8; 64] {
        block.map(|byte| if byte.is_ascii_uppercase() { byte | case_bit } else { byte })
    }

    #[inline(always)]
    fn lookup(self, table: &[u8; 64], block: [u8; 64]) -> [u8; 64] {
        block.map(|byte| table[usize::from(byte % 64)])
    }

    #[inline(always)]
    fn lookup_128(self, table: &[u8; 128], block: [u8; 64]) -> [u8; 64] {
        block.map(|byte| table[usize::from(byte % 128)])
    }

    #[inline(always)]
    fn blend(self, mask: Mask, a: [u8; 64], b: [u8; 64]) -> [u8; 64] {
        std::array::from_fn(|i| if mask >> i & 1 != 0 { b[i] } else { a[i] })
    }

    #[inline(always)]
    fn following(self, block: [u8; 64]) -> [u8; 64] {
        std::array::from_fn(|i| if i < 63 { block[i + 1] } else { 0 })
    }

    #[inline(always)]
    fn page_bytes(self, first: [u8; 64], second: [u8; 64]) -> [u8; 64] {
        std::array::from_fn(|i| (first[i] & 0x0F) << 3 | (second[i] & 0x3F) >> 3)
    }

    #[inline(always)]
    fn compress(self, block: [u8; 64], keep: Mask, out: &mut [u8; 64]) {
        // Mostly all bytes are kept, or all up to a place.
        if keep & keep.wrapping_add(1) == 0 {
            *out = block;
            return;
        }
        let mut n = 0;
        for (i, byte) in block.into_iter().enumerate() {
            out[n & 63] = byte;
            n += (keep >> i & 1) as usize;
        }
    }

    #[inline(always)]
    fn compress_mask(self, mask: Mask, keep: Mask) -> Mask {
        // Mostly all bits are kept, or all up to a place.
        if keep & keep.wrapping_add(1) == 0 {
            return mask & keep;
        }
        let (mut packed, mut n, mut rest) = (0, 0, keep);
        while rest != 0 {
            let first = rest.trailing_zeros();
            let run = (rest >> first).trailing_ones();
            packed |= (mask >> first & lowest(run as usize)) << n;
            n += run;
            rest &= !(lowest(run as usize) << first);
        }
        packed
    }

    #[inline(always)]
    fn positions(self, mask: Mask, base: u32, out: &mut [u32; 64]) {
        // Eight at a time, whether there are as many or not: how many there are is no branch then, or one that is predicted.
        let mut rest = mask;
        for eight in out.as_chunks_mut::<8>().0 {
            for place in eight {
                *place = base + rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
            }
            if rest == 0 {
                break;
            }
        }
    }
}
