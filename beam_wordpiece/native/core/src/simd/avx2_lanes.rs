//! Eight 32-bit lanes with AVX2.

use super::avx2::Avx2;
use crate::double_array::Unit;
use crate::lanes::Lanes;
use std::arch::x86_64::*;

/// For each set of lanes, their numbers side by side.
static COMPRESS: [[u8; 8]; 256] = orders(true);
/// For each set of lanes, how many lanes of the set come before each lane.
static EXPAND: [[u8; 8]; 256] = orders(false);

const fn orders(compress: bool) -> [[u8; 8]; 256] {
    let mut orders = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut before) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 != 0 {
                if compress {
                    orders[set][before] = lane as u8;
                } else {
                    orders[set][lane] = before as u8;
                }
                before += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    orders
}

impl Avx2 {
    #[inline(always)]
    fn order(self, orders: &[[u8; 8]; 256], bits: u32) -> __m256i {
        // SAFETY: see the impl; the eight bytes of an order are loaded from a reference to them.
        unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(orders[bits as usize & 0xFF].as_ptr().cast())) }
    }
}

// SAFETY of all blocks below: `self` exists, so the processor has the instructions; loads and stores go through slices
// that are known to have eight numbers.
impl Lanes for Avx2 {
    type Vector = __m256i;
    type Mask = __m256i;
    const COUNT: usize = 8;

    #[inline(always)]
    fn splat(self, value: u32) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_set1_epi32(value as i32) }
    }

    #[inline(always)]
    fn load(self, values: &[u32]) -> __m256i {
        let eight: &[u32; 8] = values.first_chunk().expect("there are eight");
        // SAFETY: see the impl.
        unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, vector: __m256i, out: &mut [u32]) {
        let eight: &mut [u32; 8] = out.first_chunk_mut().expect("there are eight");
        // SAFETY: see the impl.
        unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_add_epi32(a, b) }
    }

    #[inline(always)]
    fn and(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_and_si256(a, b) }
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_or_si256(a, b) }
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_xor_si256(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_min_epu32(a, b) }
    }

    #[inline(always)]
    fn shr<const BITS: i32>(self, vector: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_srli_epi32::<BITS>(vector) }
    }

    #[inline(always)]
    fn shl<const BITS: i32>(self, vector: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_slli_epi32::<BITS>(vector) }
    }

    #[inline(always)]
    fn equal(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_cmpeq_epi32(a, b) }
    }

    #[inline(always)]
    fn greater(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_cmpgt_epi32(a, b) }
    }

    #[inline(always)]
    fn select(self, mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_blendv_epi8(a, b, mask) }
    }

    #[inline(always)]
    fn both(self, a: __m256i, b: __m256i) -> __m256i {
        self.and(a, b)
    }

    #[inline(always)]
    fn either(self, a: __m256i, b: __m256i) -> __m256i {
        self.or(a, b)
    }

    #[inline(always)]
    fn but_not(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_andnot_si256(b, a) }
    }

    #[inline(always)]
    fn bits(self, mask: __m256i) -> u32 {
        // SAFETY: see the impl.
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(mask)) as u32 }
    }

    #[inline(always)]
    fn mask(self, bits: u32) -> __m256i {
        // SAFETY: see the impl.
        unsafe {
            let own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits as i32), own), own)
        }
    }

    #[inline(always)]
    fn compress(self, vector: __m256i, bits: u32, out: &mut [u32]) {
        // SAFETY: see the impl.
        let packed = unsafe { _mm256_permutevar8x32_epi32(vector, self.order(&COMPRESS, bits)) };
        self.store(packed, out);
    }

    #[inline(always)]
    fn expand(self, vector: __m256i, bits: u32, values: &[u32]) -> __m256i {
        // SAFETY: see the impl.
        let spread = unsafe { _mm256_permutevar8x32_epi32(self.load(values), self.order(&EXPAND, bits)) };
        self.select(self.mask(bits), vector, spread)
    }

    #[inline(always)]
    unsafe fn gather_bytes(self, bytes: &[u8], places: __m256i) -> __m256i {
        let mut at = [0; 8];
        self.store(places, &mut at);
        debug_assert!(at.iter().all(|&place| place as usize + 4 <= bytes.len()));
        // Loads and inserts are faster than a gather.
        // SAFETY: the caller knows that four bytes are there at every place.
        let four = |i: usize| unsafe { bytes.as_ptr().add(at[i] as usize).cast::<i32>().read_unaligned() };
        // SAFETY: see the impl.
        unsafe { _mm256_setr_epi32(four(0), four(1), four(2), four(3), four(4), four(5), four(6), four(7)) }
    }

    #[inline(always)]
    unsafe fn gather_units(self, units: &[Unit], places: __m256i) -> [__m256i; 4] {
        let mut at = [0; 8];
        self.store(places, &mut at);
        debug_assert!(at.iter().all(|&place| (place as usize) < units.len()));
        // SAFETY: the caller knows that the numbers are those of units, which have 16 bytes.
        let unit = |i: usize| unsafe { _mm_loadu_si128(units.as_ptr().add(at[i] as usize).cast()) };
        // SAFETY: see the impl.
        unsafe {
            // Units of lanes i and i + 4 in one register; then the fields of four are brought together.
            let pair = |low, high| _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
            let (a, b) = (pair(unit(0), unit(4)), pair(unit(1), unit(5)));
            let (c, d) = (pair(unit(2), unit(6)), pair(unit(3), unit(7)));
            let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
            let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
            [
                _mm256_unpacklo_epi64(ab_low, cd_low),
                _mm256_unpackhi_epi64(ab_low, cd_low),
                _mm256_unpacklo_epi64(ab_high, cd_high),
                _mm256_unpackhi_epi64(ab_high, cd_high),
            ]
        }
    }
}
