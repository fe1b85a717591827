//! AVX-512 with byte permutes (VBMI) and byte compression (VBMI2): a block is one register.

use super::avx2::Avx2;
use super::{AsciiMasks, Mask, Simd};
use crate::automaton::Tables;
use crate::blocks::{ADDED, BlockTables, DELETED, ISOLATED, SLOW, WORD};
use crate::chunk::Chunk;
use crate::lookup::Lookup;
use crate::lookup_lanes;
use crate::missed::Missed;
use crate::missed_lanes;
use crate::pieces::Pieces;
use crate::walk::Machine;
use crate::walk_lanes;
use std::arch::x86_64::*;

/// Proof that the processor has all that [`Avx512::detect`] asks for.
#[derive(Debug, Clone, Copy)]
pub struct Avx512(Avx2);

impl Avx512 {
    /// The level, where the processor has it.
    pub fn detect() -> Option<Avx512> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt");
        Avx2::detect().filter(|_| has).map(Avx512)
    }
}

/// 0, 1, 2 … 63.
static IOTA: [u8; 64] = {
    let mut iota = [0; 64];
    let mut i = 0;
    while i < 64 {
        iota[i] = i as u8;
        i += 1;
    }
    iota
};

// SAFETY of all blocks below: `self` exists, so the processor has the instructions; loads and stores go through
// references to arrays of the size of the register.
impl Simd for Avx512 {
    type Block = __m512i;
    const WIDE: bool = true;
    const LANES: usize = <Self as super::lanes::Lanes>::COUNT;

    #[inline]
    fn run<T>(self, work: impl FnOnce(Avx512) -> T) -> T {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt")]
        fn enabled<T>(simd: Avx512, work: impl FnOnce(Avx512) -> T) -> T {
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
    fn load(self, bytes: &[u8; 64]) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_part(self, bytes: &[u8]) -> __m512i {
        let there = Mask::MAX >> (64 - bytes.len().clamp(1, 64));
        // SAFETY: see the impl; no byte is read that the mask does not name, and it names none behind the slice.
        unsafe { _mm512_maskz_loadu_epi8(if bytes.is_empty() { 0 } else { there }, bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, block: __m512i, out: &mut [u8; 64]) {
        // SAFETY: see the impl.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), block) }
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_set1_epi8(byte as i8) }
    }

    #[inline(always)]
    fn non_ascii(self, block: __m512i) -> Mask {
        // SAFETY: see the impl.
        unsafe { _mm512_movepi8_mask(block) }
    }

    #[inline(always)]
    fn equal(self, block: __m512i, byte: u8) -> Mask {
        // SAFETY: see the impl.
        unsafe { _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    fn between(self, block: __m512i, first: u8, last: u8) -> Mask {
        // SAFETY: see the impl.
        unsafe {
            let from_first = _mm512_sub_epi8(block, _mm512_set1_epi8(first as i8));
            _mm512_cmple_epu8_mask(from_first, _mm512_set1_epi8((last - first) as i8))
        }
    }

    #[inline(always)]
    fn has(self, block: __m512i, bits: u8) -> Mask {
        // SAFETY: see the impl.
        unsafe { _mm512_test_epi8_mask(block, _mm512_set1_epi8(bits as i8)) }
    }

    #[inline(always)]
    fn common(self, a: __m512i, b: __m512i) -> Mask {
        // SAFETY: see the impl.
        unsafe { _mm512_test_epi8_mask(a, b) }
    }

    #[inline(always)]
    fn classify_ascii(self, tables: &BlockTables, block: __m512i) -> AsciiMasks {
        let flags = self.lookup_128(&tables.ascii, block);
        let (word, isolated) = (self.has(flags, WORD), self.has(flags, ISOLATED));
        let rare = self.has(flags, DELETED | ADDED | SLOW);
        if rare == 0 {
            return AsciiMasks { word, isolated, deleted: 0, added: 0, slow: 0, rare };
        }
        let (deleted, added) = (self.has(flags, DELETED), self.has(flags, ADDED));
        AsciiMasks { word, isolated, deleted, added, slow: self.has(flags, SLOW), rare }
    }

    #[inline(always)]
    fn change_case(self, block: __m512i, case_bit: u8) -> __m512i {
        // SAFETY: see the impl.
        unsafe {
            let capitals = self.between(block, b'A', b'Z');
            _mm512_mask_add_epi8(block, capitals, block, _mm512_set1_epi8(case_bit as i8))
        }
    }

    #[inline(always)]
    fn lookup(self, table: &[u8; 64], block: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_permutexvar_epi8(block, self.load(table)) }
    }

    #[inline(always)]
    fn lookup_128(self, table: &[u8; 128], block: __m512i) -> __m512i {
        let ([low, high], _) = table.as_chunks::<64>() else { unreachable!("128 is twice 64") };
        // SAFETY: see the impl.
        unsafe { _mm512_permutex2var_epi8(self.load(low), block, self.load(high)) }
    }

    #[inline(always)]
    fn blend(self, mask: Mask, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_mask_mov_epi8(a, mask, b) }
    }

    #[inline(always)]
    fn following(self, block: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe {
            let next = _mm512_add_epi8(self.load(&IOTA), _mm512_set1_epi8(1));
            _mm512_maskz_permutexvar_epi8(Mask::MAX >> 1, next, block)
        }
    }

    #[inline(always)]
    fn page_bytes(self, first: __m512i, second: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe {
            let high = _mm512_and_si512(_mm512_slli_epi16::<3>(first), _mm512_set1_epi8(0x78));
            let low = _mm512_and_si512(_mm512_srli_epi16::<3>(second), _mm512_set1_epi8(0x07));
            _mm512_or_si512(high, low)
        }
    }

    #[inline(always)]
    fn compress(self, block: __m512i, keep: Mask, out: &mut [u8; 64]) {
        // Compressing in the register and storing all of it is far faster than a compressing store.
        // SAFETY: see the impl.
        let packed = if keep == Mask::MAX { block } else { unsafe { _mm512_maskz_compress_epi8(keep, block) } };
        self.store(packed, out);
    }

    #[inline(always)]
    fn compress_mask(self, mask: Mask, keep: Mask) -> Mask {
        // SAFETY: see the impl.
        if keep == Mask::MAX { mask } else { unsafe { _pext_u64(mask, keep) } }
    }

    #[inline(always)]
    fn positions(self, mask: Mask, base: u32, out: &mut [u32; 64]) {
        let count = mask.count_ones();
        let (quarters, _) = out.as_chunks_mut::<16>();
        let [first, second, third, fourth] = quarters else { unreachable!("64 is four times 16") };
        // SAFETY: see the impl.
        unsafe {
            let packed = _mm512_maskz_compress_epi8(mask, self.load(&IOTA));
            let base = _mm512_set1_epi32(base as i32);
            let store = |out: &mut [u32; 16], sixteen: __m128i| {
                let positions = _mm512_add_epi32(base, _mm512_cvtepu8_epi32(sixteen));
                _mm512_storeu_si512(out.as_mut_ptr().cast(), positions);
            };
            store(first, _mm512_castsi512_si128(packed));
            // Whether there are more than 16 is hardly predictable, so it is not asked.
            store(second, _mm512_extracti32x4_epi32::<1>(packed));
            if count > 32 {
                store(third, _mm512_extracti32x4_epi32::<2>(packed));
                store(fourth, _mm512_extracti32x4_epi32::<3>(packed));
            }
        }
    }
}
