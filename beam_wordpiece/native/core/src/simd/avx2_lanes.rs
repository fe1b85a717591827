//! Eight 32-bit lanes with AVX2.

use super::avx2::Avx2;
use super::lanes::{Lanes, place};
use std::arch::x86_64::*;

/// 0, 1, 2 … 15.
pub static BYTE_NUMBERS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// For each set of lanes, their numbers side by side.
pub static COMPRESS: [[u8; 8]; 256] = orders(true);
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
    fn sub(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_sub_epi32(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_min_epu32(a, b) }
    }

    #[inline(always)]
    fn keep_bytes(self, sixteens: &mut [__m256i; 4], lengths: __m256i) {
        // SAFETY: see the impl.
        unsafe {
            // The length of a lane in all sixteen bytes, compared with the number of each byte.
            let numbers = _mm256_broadcastsi128_si256(_mm_loadu_si128(BYTE_NUMBERS.as_ptr().cast()));
            let mut lane = _mm256_setzero_si256();
            for sixteen in sixteens {
                let length = _mm256_shuffle_epi8(lengths, lane);
                *sixteen = _mm256_and_si256(*sixteen, _mm256_cmpgt_epi8(length, numbers));
                lane = _mm256_add_epi8(lane, _mm256_set1_epi8(4));
            }
        }
    }

    #[inline(always)]
    fn parts(self, &[a, b, c, d]: &[__m256i; 4]) -> [__m256i; 4] {
        // SAFETY: see the impl.
        unsafe {
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

    #[inline(always)]
    fn multiply(self, sixteens: &[__m256i; 4], summands: &[u32; 4]) -> __m256i {
        // SAFETY: see the impl.
        unsafe {
            let summands = _mm256_broadcastsi128_si256(_mm_loadu_si128(summands.as_ptr().cast()));
            let mut products = *sixteens;
            for product in &mut products {
                let sums = _mm256_add_epi32(*product, summands);
                *product = _mm256_mul_epu32(sums, _mm256_srli_epi64::<32>(sums));
            }
            let [a, b, c, d] = products;
            // Both products of a lane, exclusive-or'd; then their halves.
            let ab = _mm256_xor_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
            let cd = _mm256_xor_si256(_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
            let (ab, cd) = (_mm256_castsi256_ps(ab), _mm256_castsi256_ps(cd));
            let low = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(ab, cd));
            let high = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(ab, cd));
            _mm256_xor_si256(low, high)
        }
    }

    #[inline(always)]
    fn shr<const BITS: i32>(self, vector: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_srli_epi32::<BITS>(vector) }
    }

    #[inline(always)]
    fn shr_each(self, vector: __m256i, counts: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_srlv_epi32(vector, counts) }
    }

    #[inline(always)]
    fn shr_by(self, vector: __m256i, count: u32) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_srl_epi32(vector, _mm_cvtsi32_si128(count as i32)) }
    }

    #[inline(always)]
    fn shl_by(self, vector: __m256i, count: u32) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_sll_epi32(vector, _mm_cvtsi32_si128(count as i32)) }
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
    fn not_zero(self, vector: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_xor_si256(_mm256_cmpeq_epi32(vector, _mm256_setzero_si256()), _mm256_set1_epi32(-1)) }
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
    fn pick(self, mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
        self.select(mask, a, b)
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
    fn all(self) -> __m256i {
        self.splat(u32::MAX)
    }

    #[inline(always)]
    fn compress(self, vector: __m256i, bits: u32, out: &mut [u32]) {
        // SAFETY: see the impl.
        let packed = unsafe { _mm256_permutevar8x32_epi32(vector, self.order(&COMPRESS, bits)) };
        self.store(packed, out);
    }

    #[inline(always)]
    fn expand(self, vector: __m256i, mask: __m256i, values: &[u32]) -> __m256i {
        let order = self.order(&EXPAND, self.bits(mask));
        // SAFETY: see the impl.
        let spread = unsafe { _mm256_permutevar8x32_epi32(self.load(values), order) };
        self.select(mask, vector, spread)
    }

    #[inline(always)]
    fn prefetch(self, bytes: &[u8], places: &[u32]) {
        let places: &[u32; 8] = places.first_chunk().expect("there are eight");
        for lane in 0..8 {
            // SAFETY: see the impl; a prefetch reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(place(places, lane)).cast()) }
        }
    }

    #[inline(always)]
    unsafe fn gather_4(self, bytes: &[u8], places: __m256i) -> __m256i {
        let mut stored = [0; 8];
        self.store(places, &mut stored);
        let places = &stored;
        debug_assert!(places.iter().all(|&place| place as usize + 4 <= bytes.len()));
        // Loads and inserts: the gather of AVX2 is slow on many processors.
        // SAFETY: see the impl; the caller knows that four bytes are there at every place.
        unsafe {
            _mm256_inserti128_si256::<1>(
                _mm256_castsi128_si256(four_times_4(bytes, places, 0)),
                four_times_4(bytes, places, 4),
            )
        }
    }

    #[inline(always)]
    unsafe fn gather_16(self, bytes: &[u8], places: &[u32]) -> [__m256i; 4] {
        let places: &[u32; 8] = places.first_chunk().expect("there are eight");
        debug_assert!(places.iter().all(|&place| place as usize + 16 <= bytes.len()));
        // SAFETY: see the impl; the caller knows that sixteen bytes are there at every place.
        unsafe {
            let a = twice_16(bytes, place(places, 0), place(places, 4));
            let b = twice_16(bytes, place(places, 1), place(places, 5));
            let c = twice_16(bytes, place(places, 2), place(places, 6));
            let d = twice_16(bytes, place(places, 3), place(places, 7));
            [a, b, c, d]
        }
    }
}

// Functions and not closures: a closure is compiled without the instructions that its caller may use.

/// Four bytes from the places of the four lanes from this one on.
///
/// # Safety
/// The processor has AVX2; each place is at most `bytes.len() - 4`.
#[inline(always)]
unsafe fn four_times_4(bytes: &[u8], places: &[u32; 8], lane: usize) -> __m128i {
    // SAFETY: the caller knows.
    unsafe {
        let one = _mm_cvtsi32_si128(four(bytes, place(places, lane)));
        let two = _mm_insert_epi32::<1>(one, four(bytes, place(places, lane + 1)));
        let three = _mm_insert_epi32::<2>(two, four(bytes, place(places, lane + 2)));
        _mm_insert_epi32::<3>(three, four(bytes, place(places, lane + 3)))
    }
}

/// Four bytes from a place.
///
/// # Safety
/// The place is at most `bytes.len() - 4`.
#[inline(always)]
unsafe fn four(bytes: &[u8], place: usize) -> i32 {
    // SAFETY: the caller knows that four bytes are there.
    unsafe { bytes.as_ptr().add(place).cast::<i32>().read_unaligned() }
}

/// Sixteen bytes from two places.
///
/// # Safety
/// The processor has AVX2; each place is at most `bytes.len() - 16`.
#[inline(always)]
pub unsafe fn twice_16(bytes: &[u8], low: usize, high: usize) -> __m256i {
    // SAFETY: the caller knows.
    unsafe {
        let low = _mm_loadu_si128(bytes.as_ptr().add(low).cast());
        let high = _mm_loadu_si128(bytes.as_ptr().add(high).cast());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    }
}
