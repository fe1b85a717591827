//! Operations on vectors of 32-bit numbers, one implementation for each level that has them.

/// The most lanes that a level has.
pub const MOST_LANES: usize = 16;

/// Operations on vectors of 32-bit lanes. A value of the type is the proof that the processor has the instructions.
pub trait Lanes: Copy {
    /// One number a lane.
    type Vector: Copy;
    /// One truth a lane.
    type Mask: Copy;
    /// Number of lanes, at most [`MOST_LANES`].
    const COUNT: usize;

    /// The same number in all lanes.
    fn splat(self, value: u32) -> Self::Vector;
    /// The first numbers of a slice, which has COUNT at least.
    fn load(self, values: &[u32]) -> Self::Vector;
    /// Write all lanes to the beginning of a slice, which has COUNT at least.
    fn store(self, vector: Self::Vector, out: &mut [u32]);
    /// Lane-wise sum, without overflow checks.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise and.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise or.
    fn or(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise difference, without overflow checks.
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane-wise minimum, unsigned.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The first `lengths` bytes of the sixteen of each lane, zeros behind. Lengths are below 128.
    fn keep_bytes(self, sixteens: &mut Sixteens<Self>, lengths: Self::Vector);
    /// The sixteen bytes of each lane as four little-endian numbers.
    fn parts(self, sixteens: &Sixteens<Self>) -> [Self::Vector; 4];
    /// The bits that any of the four numbers of each lane has.
    #[inline(always)]
    fn any(self, sixteens: &Sixteens<Self>) -> Self::Vector {
        let [a, b, c, d] = self.parts(sixteens);
        self.or(self.or(a, b), self.or(c, d))
    }
    /// For each lane the products of the first two and of the last two of its four numbers, each with its summand: all
    /// four halves of these 64 bits, exclusive-or'd.
    fn multiply(self, sixteens: &Sixteens<Self>, summands: &[u32; 4]) -> Self::Vector;
    /// Shift right.
    fn shr<const BITS: i32>(self, vector: Self::Vector) -> Self::Vector;
    /// Shift each lane right by a count of its own, below 32.
    fn shr_each(self, vector: Self::Vector, counts: Self::Vector) -> Self::Vector;
    /// Shift all lanes right by the same count, below 32.
    fn shr_by(self, vector: Self::Vector, count: u32) -> Self::Vector;
    /// Shift all lanes left by the same count, below 32.
    fn shl_by(self, vector: Self::Vector, count: u32) -> Self::Vector;
    /// Shift left.
    fn shl<const BITS: i32>(self, vector: Self::Vector) -> Self::Vector;
    /// Where the lanes are equal.
    fn equal(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// Where the lanes are not 0.
    fn not_zero(self, vector: Self::Vector) -> Self::Mask;
    /// Where the first is greater; both are below 2^31.
    fn greater(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// Lanes of `b` where the mask holds, of `a` elsewhere.
    fn select(self, mask: Self::Mask, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Truths of `b` where the mask holds, of `a` elsewhere.
    fn pick(self, mask: Self::Mask, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Both.
    fn both(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either.
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The first and not the second.
    fn but_not(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// True in all lanes.
    fn all(self) -> Self::Mask;
    /// Bit `i` for lane `i`.
    fn bits(self, mask: Self::Mask) -> u32;
    /// The lanes that the bits name, side by side at the beginning; COUNT numbers are written.
    fn compress(self, vector: Self::Vector, bits: u32, out: &mut [u32]);
    /// The first numbers of a slice of COUNT at least, one after the other in the lanes where the mask
    /// holds; `vector` elsewhere.
    fn expand(self, vector: Self::Vector, mask: Self::Mask, values: &[u32]) -> Self::Vector;
    /// Ask for the cache lines at these places, one for each lane.
    fn prefetch(self, bytes: &[u8], places: &[u32]);
    /// Four bytes from the place of each lane, little-endian.
    ///
    /// # Safety
    /// Every place is at most `bytes.len() - 4` and below 2^31.
    unsafe fn gather_4(self, bytes: &[u8], places: Self::Vector) -> Self::Vector;
    /// Sixteen bytes from the place of each lane.
    ///
    /// # Safety
    /// Every place is at most `bytes.len() - 16`.
    unsafe fn gather_16(self, bytes: &[u8], places: &[u32]) -> Sixteens<Self>;
}

/// Sixteen bytes a lane, as they are loaded: those of lanes `i`, `i + 4` and so on in vector `i`.
pub type Sixteens<L> = [<L as Lanes>::Vector; 4];

/// 0, 1, 2, …
pub static NUMBERS: [u32; MOST_LANES] = {
    let mut numbers = [0; MOST_LANES];
    let mut i = 0;
    while i < MOST_LANES {
        numbers[i] = i as u32;
        i += 1;
    }
    numbers
};

/// Places in memory.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Places(pub [u32; MOST_LANES]);

/// One of the places. The read is volatile: a compiler that knows that they were stored from a register takes them out
/// of that one after the other, which is far slower than memory.
#[inline(always)]
pub fn place<const N: usize>(places: &[u32; N], lane: usize) -> usize {
    // SAFETY: a reference to an element is valid to read.
    (unsafe { std::ptr::from_ref(&places[lane]).read_volatile() }) as usize
}
