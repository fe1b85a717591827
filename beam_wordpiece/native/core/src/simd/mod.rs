//! Levels of vector instructions, each behind the same operations on blocks of 64 bytes.
//!
//! A value of a level's type is the proof that the processor has its instructions: only the `detect` of the type makes
//! one.
//! Code that is generic over [`Simd`] is compiled once for each level, inside a function that enables its features.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx2_lanes;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(target_arch = "x86_64")]
pub mod avx512_lanes;
pub mod lanes;
pub mod portable;

use crate::automaton::Tables;
use crate::blocks::BlockTables;
use crate::chunk::Chunk;
use crate::lookup::Lookup;
use crate::missed::Missed;
use crate::pieces::Pieces;
use crate::walk::Machine;

/// Bit `i` speaks of byte `i` of a block.
pub type Mask = u64;

/// What the ASCII characters of a block are. Bits of other bytes mean nothing at levels that look these up in blocks;
/// at the others those of first bytes are as in [`crate::byte_classes::ByteMasks`].
#[derive(Debug, Clone, Copy)]
pub struct AsciiMasks {
    /// Parts of words.
    pub word: Mask,
    /// Words of their own.
    pub isolated: Mask,
    /// Dropped.
    pub deleted: Mask,
    /// An added token may begin here.
    pub added: Mask,
    /// Only the code point table knows.
    pub slow: Mask,
    /// Any of the last three, whatever its bits: not 0 if there is one in the block.
    pub rare: Mask,
}

/// Operations on blocks of 64 bytes.
pub trait Simd: Copy {
    /// 64 bytes.
    type Block: Copy;
    /// Whether text beyond ASCII is worth looking up in blocks; otherwise masks do its ASCII only, see
    /// [`crate::mixed`].
    const WIDE: bool;
    /// Words that are walked at once.
    const LANES: usize;

    /// Run code in a function that may use the instructions of the level, so that the operations become part of it.
    fn run<T>(self, work: impl FnOnce(Self) -> T) -> T;
    /// Ask for the cache line at `at` bytes from the beginning of a text, which may be behind its end.
    fn prefetch(self, text: &[u8], at: usize);
    /// Look up the words of a chunk.
    fn look_up(self, tables: &Tables<'_>, chunk: &mut Chunk, found: &mut Lookup);
    /// Decide which of the missed words are walked.
    fn decide(self, missed: &mut Missed<'_>, pieces: &mut Pieces);
    /// Walk words through the automaton.
    fn walk(self, machine: &Machine<'_>, pieces: &mut Pieces);
    /// The same where an unknown character is unknown by itself; segments of stretches too, at levels with lanes.
    fn walk_by_characters(self, machine: &Machine<'_>, pieces: &mut Pieces);
    /// Load a block.
    fn load(self, bytes: &[u8; 64]) -> Self::Block;
    /// Load fewer than 64 bytes, and zeros behind them.
    #[inline(always)]
    fn load_part(self, bytes: &[u8]) -> Self::Block {
        let mut whole = [0; 64];
        whole[..bytes.len()].copy_from_slice(bytes);
        self.load(&whole)
    }
    /// Store a block.
    fn store(self, block: Self::Block, out: &mut [u8; 64]);
    /// The same byte 64 times.
    fn splat(self, byte: u8) -> Self::Block;
    /// Which bytes are not ASCII.
    fn non_ascii(self, block: Self::Block) -> Mask;
    /// Which bytes are this one.
    fn equal(self, block: Self::Block, byte: u8) -> Mask;
    /// Which bytes are in a range, both ends included.
    fn between(self, block: Self::Block, first: u8, last: u8) -> Mask;
    /// Which bytes have one of these bits.
    fn has(self, block: Self::Block, bits: u8) -> Mask;
    /// In which places the two blocks have a bit in common.
    fn common(self, a: Self::Block, b: Self::Block) -> Mask;
    /// Classify the ASCII characters.
    fn classify_ascii(self, tables: &BlockTables, block: Self::Block) -> AsciiMasks;
    /// Set a bit in the capital ASCII letters.
    fn change_case(self, block: Self::Block, case_bit: u8) -> Self::Block;
    /// `table[byte % 64]` for each byte.
    fn lookup(self, table: &[u8; 64], block: Self::Block) -> Self::Block;
    /// `table[byte % 128]` for each byte.
    fn lookup_128(self, table: &[u8; 128], block: Self::Block) -> Self::Block;
    /// Bytes of `b` where the mask has a bit, of `a` elsewhere.
    fn blend(self, mask: Mask, a: Self::Block, b: Self::Block) -> Self::Block;
    /// Each byte replaced by the next one; the last by 0.
    fn following(self, block: Self::Block) -> Self::Block;
    /// From the first and second bytes of three-byte characters: the byte of a bit set of pages, `page / 8`.
    fn page_bytes(self, first: Self::Block, second: Self::Block) -> Self::Block;
    /// Put the bytes that the mask names side by side at the beginning; the rest of `out` may hold anything.
    fn compress(self, block: Self::Block, keep: Mask, out: &mut [u8; 64]);
    /// The bits of `mask` where `keep` has one, side by side.
    fn compress_mask(self, mask: Mask, keep: Mask) -> Mask;
    /// Write `base` plus the number of each set bit; what follows in `out` may hold anything.
    fn positions(self, mask: Mask, base: u32, out: &mut [u32; 64]);
}

/// The levels, slowest first. A value with vector instructions exists only where the processor has them.
#[derive(Debug, Clone, Copy)]
pub enum Level {
    /// No vector instructions by name.
    Portable(portable::Portable),
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    /// AVX-512 with VBMI2.
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
}

/// Environment variable that forces a level, for tests and measurements.
pub const LEVEL_VARIABLE: &str = "BEAM_WORDPIECE_SIMD";

impl Level {
    /// The levels that this processor has, best first.
    pub fn available() -> Vec<Level> {
        let portable = Level::Portable(portable::Portable);
        #[cfg(target_arch = "x86_64")]
        let vector = [avx512::Avx512::detect().map(Level::Avx512), avx2::Avx2::detect().map(Level::Avx2)];
        #[cfg(not(target_arch = "x86_64"))]
        let vector: [Option<Level>; 0] = [];
        vector.into_iter().flatten().chain([portable]).collect()
    }

    /// The level that the environment variable names, or else the best. A name that this processor has no level for is an
    /// error.
    pub fn detect() -> Result<Level, String> {
        static DETECTED: std::sync::OnceLock<Result<Level, String>> = std::sync::OnceLock::new();
        DETECTED.get_or_init(|| Level::choose(std::env::var(LEVEL_VARIABLE).ok().as_deref())).clone()
    }

    fn choose(wanted: Option<&str>) -> Result<Level, String> {
        let available = Level::available();
        let found = match wanted {
            None | Some("") => available.first(),
            Some(name) => available.iter().find(|level| level.name() == name),
        };
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = available.iter().map(|level| level.name()).collect();
            let wanted = wanted.unwrap_or_default();
            format!("{LEVEL_VARIABLE} is {wanted:?}; this processor has the levels {}", names.join(", "))
        })
    }

    /// Its name, as the environment variable has it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::BlockTables;
    use proptest::prelude::*;

    /// Every operation of a level against the portable one.
    fn check<S: Simd>(simd: S, bytes: &[[u8; 64]; 2], table: &[u8; 128], masks: [Mask; 2]) {
        let portable = portable::Portable;
        let blocks = bytes.map(|bytes| simd.load(&bytes));
        let [a, b] = blocks;
        let same = |block: S::Block, expected: [u8; 64]| {
            let mut out = [0; 64];
            simd.compress(block, Mask::MAX, &mut out);
            assert_eq!(out, expected);
        };
        let [x, y] = *bytes;
        same(a, x);
        same(simd.splat(table[0]), [table[0]; 64]);
        assert_eq!(simd.non_ascii(a), portable.non_ascii(x));
        assert_eq!(simd.equal(a, x[7]), portable.equal(x, x[7]));
        let (first, last) = (x[0].min(x[1]), x[0].max(x[1]));
        assert_eq!(simd.between(a, first, last), portable.between(x, first, last));
        assert_eq!(simd.has(a, 0x24), portable.has(x, 0x24));
        assert_eq!(simd.common(a, b), portable.common(x, y));
        same(simd.change_case(a, 0x20), portable.change_case(x, 0x20));
        same(simd.change_case(a, 0), x);
        let half = table.first_chunk().unwrap();
        same(simd.lookup(half, a), portable.lookup(half, x));
        same(simd.lookup_128(table, a), portable.lookup_128(table, x));
        same(simd.blend(masks[0], a, b), portable.blend(masks[0], x, y));
        same(simd.following(a), portable.following(x));
        same(simd.page_bytes(a, b), portable.page_bytes(x, y));
        assert_eq!(simd.compress_mask(masks[0], masks[1]), portable.compress_mask(masks[0], masks[1]));
        let (mut out, mut expected) = ([[0; 64]; 2], [0; 64]);
        simd.compress(a, masks[1], &mut out[0]);
        portable.compress(x, masks[1], &mut expected);
        let kept = masks[1].count_ones() as usize;
        assert_eq!(out[0][..kept], expected[..kept]);
        let (mut positions, mut expected) = ([0; 64], [0; 64]);
        simd.positions(masks[1], 1000, &mut positions);
        portable.positions(masks[1], 1000, &mut expected);
        assert_eq!(positions[..kept], expected[..kept]);
    }

    fn array<const N: usize>() -> impl Strategy<Value = [u8; N]> {
        prop::collection::vec(any::<u8>(), N).prop_map(|bytes| bytes.try_into().unwrap())
    }

    #[test]
    fn a_level_is_chosen_by_name() {
        assert_eq!(Level::choose(Some("portable")).map(Level::name), Ok("portable"));
        assert!(Level::choose(Some("avx51")).is_err());
        assert!(Level::choose(None).is_ok());
    }

    proptest! {
        #[test]
        fn operations_agree(a in array::<64>(), b in array::<64>(), table in array::<128>(), masks in any::<[u64; 2]>()) {
            for masks in [masks, [masks[0], Mask::MAX], [masks[0], 0], [masks[0], masks[0] & masks[1]]] {
                for level in Level::available() {
                    match level {
                        Level::Portable(simd) => check(simd, &[a, b], &table, masks),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2(simd) => check(simd, &[a, b], &table, masks),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(simd) => check(simd, &[a, b], &table, masks),
                    }
                }
            }
        }

        #[test]
        fn ascii_classes_agree(bytes in array::<64>(), flags in array::<128>()) {
            let tables = BlockTables::with_ascii(flags.map(|flag| flag & 0x3B));
            let fields = |masks: AsciiMasks, non_ascii: Mask| {
                [masks.word, masks.isolated, masks.deleted, masks.added, masks.slow].map(|mask| mask & !non_ascii)
            };
            let portable = portable::Portable;
            let non_ascii = portable.non_ascii(bytes);
            let expected = fields(portable.classify_ascii(&tables, bytes), non_ascii);
            for level in Level::available() {
                let found = match level {
                    Level::Portable(simd) => simd.classify_ascii(&tables, simd.load(&bytes)),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2(simd) => simd.classify_ascii(&tables, simd.load(&bytes)),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512(simd) => simd.classify_ascii(&tables, simd.load(&bytes)),
                };
                assert_eq!(fields(found, non_ascii), expected, "{}", level.name());
            }
        }
    }
}
