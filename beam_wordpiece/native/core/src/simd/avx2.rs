//! AVX2 with BMI2: a block is two registers of 32 bytes.

use super::avx2_lanes::COMPRESS;
use super::{AsciiMasks, Mask, Simd};
use crate::automaton::Tables;
use crate::blocks::BlockTables;
use crate::chunk::Chunk;
use crate::lookup::Lookup;
use crate::lookup_lanes;
use crate::missed::Missed;
use crate::missed_lanes;
use crate::pieces::Pieces;
use crate::walk::Machine;
use crate::walk_lanes;
use std::arch::x86_64::*;

/// Proof that the processor has all that [`Avx2::detect`] asks for.
#[derive(Debug, Clone, Copy)]
pub struct Avx2(());

/// 64 bytes.
pub type Pair = [__m256i; 2];

/// The same for both halves. (`array::map` would call a function that may not use the instructions.)
macro_rules! both {
    (|$half:ident| $work:expr, $block:expr) => {{
        let [low, high] = $block;
        let low = {
            let $half = low;
            $work
        };
        let high = {
            let $half = high;
            $work
        };
        [low, high]
    }};
}

impl Avx2 {
    /// The level, where the processor has it.
    pub fn detect() -> Option<Avx2> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt");
        has.then_some(Avx2(()))
    }

    /// The top bits of all bytes.
    #[inline(always)]
    fn top_bits(self, block: Pair) -> Mask {
        // SAFETY: see the impl of Simd.
        let [low, high] = unsafe { both!(|half| Mask::from(_mm256_movemask_epi8(half) as u32), block) };
        low | high << 32
    }

    /// Which bytes are not zero.
    #[inline(always)]
    fn non_zero(self, block: Pair) -> Mask {
        // SAFETY: see the impl of Simd.
        let zero = unsafe { both!(|half| _mm256_cmpeq_epi8(half, _mm256_setzero_si256()), block) };
        !self.top_bits(zero)
    }

    /// A 16-byte table in both lanes.
    #[inline(always)]
    fn table(self, bytes: &[u8; 16]) -> __m256i {
        // SAFETY: see the impl of Simd.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())) }
    }

    /// Which ASCII characters have a flag: their high nibble is one of those that their low nibble has it with.
    #[inline(always)]
    fn flagged(self, tables: &BlockTables, flag: usize, block: Pair) -> Mask {
        let (rows, bits) = (self.table(&tables.ascii_rows[flag]), self.table(&BlockTables::ROWS));
        // SAFETY: see the impl of Simd.
        unsafe {
            let nibble = _mm256_set1_epi8(0x0F);
            let with = both!(|half| _mm256_shuffle_epi8(rows, _mm256_and_si256(half, nibble)), block);
            let high = both!(|half| _mm256_and_si256(_mm256_srli_epi16::<4>(half), nibble), block);
            self.common(with, both!(|half| _mm256_shuffle_epi8(bits, half), high))
        }
    }

    /// `table[byte % 64]` for 32 bytes: four shuffles, and two bits choose among them.
    #[inline(always)]
    fn lookup_half(self, table: &[u8; 64], half: __m256i) -> __m256i {
        let ([a, b, c, d], _) = table.as_chunks::<16>() else { unreachable!("64 is four times 16") };
        // SAFETY: see the impl of Simd.
        unsafe {
            let low = _mm256_and_si256(half, _mm256_set1_epi8(0x0F));
            let (a, b) = (_mm256_shuffle_epi8(self.table(a), low), _mm256_shuffle_epi8(self.table(b), low));
            let (c, d) = (_mm256_shuffle_epi8(self.table(c), low), _mm256_shuffle_epi8(self.table(d), low));
            // A blend looks at the top bit of each byte: bits 4 and 5 are shifted there.
            let (bit4, bit5) = (_mm256_slli_epi16::<3>(half), _mm256_slli_epi16::<2>(half));
            let (first, second) = (_mm256_blendv_epi8(a, b, bit4), _mm256_blendv_epi8(c, d, bit4));
            _mm256_blendv_epi8(first, second, bit5)
        }
    }
}

// SAFETY of all blocks below: `self` exists, so the processor has the instructions; loads and stores go through
// references to arrays of the size of the registers.
impl Simd for Avx2 {
    type Block = Pair;
    const WIDE: bool = true;
    const LANES: usize = <Self as super::lanes::Lanes>::COUNT;

    #[inline]
    fn run<T>(self, work: impl FnOnce(Avx2) -> T) -> T {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        fn enabled<T>(simd: Avx2, work: impl FnOnce(Avx2) -> T) -> T {
            work(simd)
        }
        // SAFETY: `self` exists, so the processor has these instructions.
        unsafe { enabled(self, work) }
    }

    #[inline(always)]
    fn prefetch(self, text: &[u8], at: usize) {
        // SAFETY: see the impl; a prefetch reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(text.as_ptr().wrapping_add(at).cast()) }
    }

    #[inline(always)]
    fn look_up(self, tables: &Tables<'_>, chunk: &mut Chunk, found: &mut Lookup) {
        lookup_lanes::look_up(self, tables, chunk, found);
    }

    #[inline(always)]
    fn decide(self, missed: &mut Missed<'_>, pieces: &mut Pieces) {
        missed_lanes::decide(self, missed, pieces);
    }

    #[inline(always)]
    fn walk(self, machine: &Machine<'_>, pieces: &mut Pieces) {
        walk_lanes::walk::<Self, false>(self, machine, pieces);
    }

    #[inline(always)]
    fn walk_by_characters(self, machine: &Machine<'_>, pieces: &mut Pieces) {
        walk_lanes::walk::<Self, true>(self, machine, pieces);
    }

    #[inline(always)]
    fn load(self, bytes: &[u8; 64]) -> Pair {
        let ([low, high], _) = bytes.as_chunks::<32>() else { unreachable!("64 is twice 32") };
        // SAFETY: see the impl.
        unsafe { both!(|half| _mm256_loadu_si256(half.as_ptr().cast()), [low, high]) }
    }

    #[inline(always)]
    fn store(self, block: Pair, out: &mut [u8; 64]) {
        let ([low, high], _) = out.as_chunks_mut::<32>() else { unreachable!("64 is twice 32") };
        // SAFETY: see the impl.
        unsafe {
            _mm256_storeu_si256(low.as_mut_ptr().cast(), block[0]);
            _mm256_storeu_si256(high.as_mut_ptr().cast(), block[1]);
        }
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> Pair {
        // SAFETY: see the impl.
        [unsafe { _mm256_set1_epi8(byte as i8) }; 2]
    }

    #[inline(always)]
    fn non_ascii(self, block: Pair) -> Mask {
        self.top_bits(block)
    }

    #[inline(always)]
    fn equal(self, block: Pair, byte: u8) -> Mask {
        // SAFETY: see the impl.
        self.top_bits(unsafe { both!(|half| _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8)), block) })
    }

    #[inline(always)]
    fn between(self, block: Pair, first: u8, last: u8) -> Mask {
        // SAFETY: see the impl.
        unsafe {
            let (first, most) = (_mm256_set1_epi8(first as i8), _mm256_set1_epi8((last - first) as i8));
            let from_first = both!(|half| _mm256_sub_epi8(half, first), block);
            self.top_bits(both!(|half| _mm256_cmpeq_epi8(_mm256_min_epu8(half, most), half), from_first))
        }
    }

    #[inline(always)]
    fn has(self, block: Pair, bits: u8) -> Mask {
        self.common(block, self.splat(bits))
    }

    #[inline(always)]
    fn common(self, a: Pair, b: Pair) -> Mask {
        // SAFETY: see the impl.
        self.non_zero(unsafe { [_mm256_and_si256(a[0], b[0]), _mm256_and_si256(a[1], b[1])] })
    }

    #[inline(always)]
    fn classify_ascii(self, tables: &BlockTables, block: Pair) -> AsciiMasks {
        let rare = self.flagged(tables, BlockTables::RARE, block);
        let (word, isolated) = (self.flagged(tables, 0, block), self.flagged(tables, 1, block));
        if rare == 0 {
            return AsciiMasks { word, isolated, deleted: 0, added: 0, slow: 0, rare };
        }
        let (deleted, added) = (self.flagged(tables, 2, block), self.flagged(tables, 3, block));
        AsciiMasks { word, isolated, deleted, added, slow: self.flagged(tables, 4, block), rare }
    }

    #[inline(always)]
    fn change_case(self, block: Pair, case_bit: u8) -> Pair {
        // SAFETY: see the impl.
        unsafe {
            let from_a = both!(|half| _mm256_sub_epi8(half, _mm256_set1_epi8(b'A' as i8)), block);
            let capital = both!(|half| _mm256_cmpeq_epi8(_mm256_min_epu8(half, _mm256_set1_epi8(25)), half), from_a);
            let bits = both!(|half| _mm256_and_si256(half, _mm256_set1_epi8(case_bit as i8)), capital);
            [_mm256_or_si256(block[0], bits[0]), _mm256_or_si256(block[1], bits[1])]
        }
    }

    #[inline(always)]
    fn lookup(self, table: &[u8; 64], block: Pair) -> Pair {
        both!(|half| self.lookup_half(table, half), block)
    }

    #[inline(always)]
    fn lookup_128(self, table: &[u8; 128], block: Pair) -> Pair {
        let ([low, high], _) = table.as_chunks::<64>() else { unreachable!("128 is twice 64") };
        let (low, high) = (self.lookup(low, block), self.lookup(high, block));
        // SAFETY: see the impl.
        unsafe {
            let bit6 = both!(|half| _mm256_slli_epi16::<1>(half), block);
            [_mm256_blendv_epi8(low[0], high[0], bit6[0]), _mm256_blendv_epi8(low[1], high[1], bit6[1])]
        }
    }

    #[inline(always)]
    fn blend(self, mask: Mask, a: Pair, b: Pair) -> Pair {
        // SAFETY: see the impl.
        unsafe {
            // Each byte gets the byte of the mask that its bit is in, and keeps only that bit.
            let spread = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
            let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            let halves = [_mm256_set1_epi32(mask as i32), _mm256_set1_epi32((mask >> 32) as i32)];
            let chosen = both!(|half| _mm256_and_si256(_mm256_shuffle_epi8(half, spread), own), halves);
            let chosen = both!(|half| _mm256_cmpeq_epi8(half, own), chosen);
            [_mm256_blendv_epi8(a[0], b[0], chosen[0]), _mm256_blendv_epi8(a[1], b[1], chosen[1])]
        }
    }

    #[inline(always)]
    fn following(self, block: Pair) -> Pair {
        // SAFETY: see the impl.
        unsafe {
            let middle = _mm256_permute2x128_si256::<0x21>(block[0], block[1]);
            let end = _mm256_permute2x128_si256::<0x81>(block[1], block[1]);
            [_mm256_alignr_epi8::<1>(middle, block[0]), _mm256_alignr_epi8::<1>(end, block[1])]
        }
    }

    #[inline(always)]
    fn page_bytes(self, first: Pair, second: Pair) -> Pair {
        // SAFETY: see the impl.
        unsafe {
            let high = both!(|half| _mm256_and_si256(_mm256_slli_epi16::<3>(half), _mm256_set1_epi8(0x78)), first);
            let low = both!(|half| _mm256_and_si256(_mm256_srli_epi16::<3>(half), _mm256_set1_epi8(0x07)), second);
            [_mm256_or_si256(high[0], low[0]), _mm256_or_si256(high[1], low[1])]
        }
    }

    #[inline(always)]
    fn compress(self, block: Pair, keep: Mask, out: &mut [u8; 64]) {
        self.store(block, out);
        // Mostly nothing is dropped, or only the beginning of a character at the end.
        if keep & keep.wrapping_add(1) == 0 {
            return;
        }
        // In place, eight bytes at a time: what is written never overtakes what is still to be read.
        let mut end = 0;
        for i in 0..8 {
            let eight = u64::from_le_bytes(*out[8 * i..].first_chunk().expect("eight bytes are there"));
            let bits = keep >> (8 * i) & 0xFF;
            // SAFETY: see the impl.
            let packed = unsafe { _pext_u64(eight, _pdep_u64(bits, 0x0101_0101_0101_0101).wrapping_mul(0xFF)) };
            out[end..end + 8].copy_from_slice(&packed.to_le_bytes());
            end += bits.count_ones() as usize;
        }
    }

    #[inline(always)]
    fn compress_mask(self, mask: Mask, keep: Mask) -> Mask {
        // SAFETY: see the impl.
        if keep == Mask::MAX { mask } else { unsafe { _pext_u64(mask, keep) } }
    }

    #[inline(always)]
    fn positions(self, mask: Mask, base: u32, out: &mut [u32; 64]) {
        // Eight bits at a time, whether some are set or not: no branch that depends on the text.
        let (mut rest, mut out) = (mask, out.as_mut_ptr());
        // SAFETY: see the impl; when eight numbers are written, at most as many have been before as bits are behind.
        unsafe {
            let mut first = _mm256_set1_epi32(base as i32);
            for _ in 0..8 {
                let eight = (rest & 0xFF) as usize;
                let numbers = _mm256_cvtepu8_epi32(_mm_loadl_epi64(COMPRESS[eight].as_ptr().cast()));
                _mm256_storeu_si256(out.cast(), _mm256_add_epi32(numbers, first));
                out = out.add(eight.count_ones() as usize);
                first = _mm256_add_epi32(first, _mm256_set1_epi32(8));
                rest >>= 8;
            }
        }
    }
}
