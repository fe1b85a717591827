//! Sixteen 32-bit lanes with AVX-512.

use super::avx2_lanes::{BYTE_NUMBERS, twice_16};
use super::avx512::Avx512;
use super::lanes::{Lanes, place};
use std::arch::x86_64::*;

// SAFETY of all blocks below: `self` exists, so the processor has the instructions; loads and stores go through slices
// that are known to have sixteen numbers.
impl Lanes for Avx512 {
    type Vector = __m512i;
    type Mask = __mmask16;
    const COUNT: usize = 16;

    #[inline(always)]
    fn splat(self, value: u32) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_set1_epi32(value as i32) }
    }

    #[inline(always)]
    fn load(self, values: &[u32]) -> __m512i {
        let sixteen: &[u32; 16] = values.first_chunk().expect("there are sixteen");
        // SAFETY: see the impl.
        unsafe { _mm512_loadu_si512(sixteen.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, vector: __m512i, out: &mut [u32]) {
        let sixteen: &mut [u32; 16] = out.first_chunk_mut().expect("there are sixteen");
        // SAFETY: see the impl.
        unsafe { _mm512_storeu_si512(sixteen.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_add_epi32(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_sub_epi32(a, b) }
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_and_si512(a, b) }
    }

    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_or_si512(a, b) }
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_xor_si512(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_min_epu32(a, b) }
    }

    #[inline(always)]
    fn keep_bytes(self, sixteens: &mut [__m512i; 4], lengths: __m512i) {
        // SAFETY: see the impl.
        unsafe {
            // The length of a lane in all sixteen bytes, compared with the number of each byte.
            let numbers = _mm512_broadcast_i32x4(_mm_loadu_si128(BYTE_NUMBERS.as_ptr().cast()));
            let mut lane = _mm512_setzero_si512();
            for sixteen in sixteens {
                let length = _mm512_shuffle_epi8(lengths, lane);
                *sixteen = _mm512_maskz_mov_epi8(_mm512_cmpgt_epi8_mask(length, numbers), *sixteen);
                lane = _mm512_add_epi8(lane, _mm512_set1_epi8(4));
            }
        }
    }

    #[inline(always)]
    fn parts(self, &[a, b, c, d]: &[__m512i; 4]) -> [__m512i; 4] {
        // SAFETY: see the impl.
        unsafe {
            let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
            [
                _mm512_unpacklo_epi64(ab_low, cd_low),
                _mm512_unpackhi_epi64(ab_low, cd_low),
                _mm512_unpacklo_epi64(ab_high, cd_high),
                _mm512_unpackhi_epi64(ab_high, cd_high),
            ]
        }
    }

    #[inline(always)]
    fn multiply(self, sixteens: &[__m512i; 4], summands: &[u32; 4]) -> __m512i {
        // SAFETY: see the impl.
        unsafe {
            let summands = _mm512_broadcast_i32x4(_mm_loadu_si128(summands.as_ptr().cast()));
            let mut products = *sixteens;
            for product in &mut products {
                let sums = _mm512_add_epi32(*product, summands);
                *product = _mm512_mul_epu32(sums, _mm512_srli_epi64::<32>(sums));
            }
            let [a, b, c, d] = products;
            // Both products of a lane, exclusive-or'd; then their halves.
            let ab = _mm512_xor_si512(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
            let cd = _mm512_xor_si512(_mm512_unpacklo_epi64(c, d), _mm512_unpackhi_epi64(c, d));
            let (ab, cd) = (_mm512_castsi512_ps(ab), _mm512_castsi512_ps(cd));
            let low = _mm512_castps_si512(_mm512_shuffle_ps::<0b10_00_10_00>(ab, cd));
            let high = _mm512_castps_si512(_mm512_shuffle_ps::<0b11_01_11_01>(ab, cd));
            _mm512_xor_si512(low, high)
        }
    }

    #[inline(always)]
    fn shr<const BITS: i32>(self, vector: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_srl_epi32(vector, _mm_cvtsi32_si128(BITS)) }
    }

    #[inline(always)]
    fn shr_each(self, vector: __m512i, counts: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_srlv_epi32(vector, counts) }
    }

    #[inline(always)]
    fn shr_by(self, vector: __m512i, count: u32) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_srl_epi32(vector, _mm_cvtsi32_si128(count as i32)) }
    }

    #[inline(always)]
    fn shl_by(self, vector: __m512i, count: u32) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_sll_epi32(vector, _mm_cvtsi32_si128(count as i32)) }
    }

    #[inline(always)]
    fn shl<const BITS: i32>(self, vector: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_sll_epi32(vector, _mm_cvtsi32_si128(BITS)) }
    }

    #[inline(always)]
    fn equal(self, a: __m512i, b: __m512i) -> __mmask16 {
        // SAFETY: see the impl.
        unsafe { _mm512_cmpeq_epi32_mask(a, b) }
    }

    #[inline(always)]
    fn not_zero(self, vector: __m512i) -> __mmask16 {
        // SAFETY: see the impl.
        unsafe { _mm512_test_epi32_mask(vector, vector) }
    }

    #[inline(always)]
    fn greater(self, a: __m512i, b: __m512i) -> __mmask16 {
        // SAFETY: see the impl.
        unsafe { _mm512_cmpgt_epi32_mask(a, b) }
    }

    #[inline(always)]
    fn select(self, mask: __mmask16, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_mask_mov_epi32(a, mask, b) }
    }

    #[inline(always)]
    fn pick(self, mask: __mmask16, a: __mmask16, b: __mmask16) -> __mmask16 {
        b & mask | a & !mask
    }

    #[inline(always)]
    fn both(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }

    #[inline(always)]
    fn either(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }

    #[inline(always)]
    fn but_not(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a & !b
    }

    #[inline(always)]
    fn bits(self, mask: __mmask16) -> u32 {
        u32::from(mask)
    }

    #[inline(always)]
    fn all(self) -> __mmask16 {
        0xFFFF
    }

    #[inline(always)]
    fn compress(self, vector: __m512i, bits: u32, out: &mut [u32]) {
        // In the register and then all of it to memory: a compressing store is far slower.
        // SAFETY: see the impl.
        let packed = unsafe { _mm512_maskz_compress_epi32(bits as __mmask16, vector) };
        self.store(packed, out);
    }

    #[inline(always)]
    fn expand(self, vector: __m512i, mask: __mmask16, values: &[u32]) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_mask_expand_epi32(vector, mask, self.load(values)) }
    }

    #[inline(always)]
    fn prefetch(self, bytes: &[u8], places: &[u32]) {
        let places: &[u32; 16] = places.first_chunk().expect("there are sixteen");
        for lane in 0..16 {
            // SAFETY: see the impl; a prefetch reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(place(places, lane)).cast()) }
        }
    }

    #[inline(always)]
    unsafe fn gather_4(self, bytes: &[u8], places: __m512i) -> __m512i {
        if cfg!(debug_assertions) {
            let mut stored = [0; 16];
            self.store(places, &mut stored);
            assert!(stored.iter().all(|&place| place < 1 << 31 && place as usize + 4 <= bytes.len()));
        }
        // SAFETY: see the impl; the caller knows that four bytes are there at every place.
        unsafe { _mm512_i32gather_epi32::<1>(places, bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn gather_16(self, bytes: &[u8], places: &[u32]) -> [__m512i; 4] {
        let places: &[u32; 16] = places.first_chunk().expect("there are sixteen");
        debug_assert!(places.iter().all(|&place| place as usize + 16 <= bytes.len()));
        // SAFETY: see the impl; the caller knows that sixteen bytes are there at every place.
        unsafe {
            let a = four_times_16(bytes, [place(places, 0), place(places, 4), place(places, 8), place(places, 12)]);
            let b = four_times_16(bytes, [place(places, 1), place(places, 5), place(places, 9), place(places, 13)]);
            let c = four_times_16(bytes, [place(places, 2), place(places, 6), place(places, 10), place(places, 14)]);
            let d = four_times_16(bytes, [place(places, 3), place(places, 7), place(places, 11), place(places, 15)]);
            [a, b, c, d]
        }
    }
}

/// Sixteen bytes from four places.
///
/// # Safety
/// The processor has AVX-512; each place is at most `bytes.len() - 16`.
#[inline(always)]
unsafe fn four_times_16(bytes: &[u8], [a, b, c, d]: [usize; 4]) -> __m512i {
    // SAFETY: the caller knows.
    unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(twice_16(bytes, a, b)), twice_16(bytes, c, d)) }
}
