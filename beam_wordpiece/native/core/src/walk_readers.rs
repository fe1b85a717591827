//! How lanes read the characters of their words.

use crate::simd::lanes::{Lanes, MOST_LANES};
use crate::starts;
use crate::utf8;
use crate::walk::Machine;
use crate::walk_lanes::{MOST_STEPS, Walk};

/// See the module.
pub trait Reader<L: Lanes> {
    /// Whether a step from `r#` may take two characters, see [`Reader::pairs`].
    const PAIRS: bool;
    /// Steps from one look at the text to the next.
    const STEPS: usize;
    /// What a lane keeps of the text at its place: enough for so many steps, or made anew by every `next`.
    fn load(walk: &Walk<'_, L>, places: L::Vector) -> L::Vector;
    /// The same for lanes whose last characters came from `next`.
    fn reload(walk: &Walk<'_, L>, places: L::Vector, text: L::Vector) -> L::Vector;
    /// Codes of the characters that come next.
    fn codes(walk: &Walk<'_, L>, text: L::Vector) -> L::Vector;
    /// Places and text behind those characters.
    fn next(walk: &Walk<'_, L>, places: L::Vector, text: L::Vector) -> [L::Vector; 2];
    /// The places of the next two characters among pairs, of the next one alone where `more` does not hold: numbers of 14
    /// bits. Asked only where steps take pairs.
    fn pairs(walk: &Walk<'_, L>, _text: L::Vector, _more: L::Mask) -> L::Vector {
        walk.lanes.splat(starts::NO_PAIR)
    }
}

/// Words of ASCII: a lane keeps the next four bytes. `PAIRS`: see [`Reader::PAIRS`].
pub struct Ascii<const PAIRS: bool>;

/// Bytes that a lane keeps.
const KEPT: usize = 4;

impl<L: Lanes, const PAIRS: bool> Reader<L> for Ascii<PAIRS> {
    const PAIRS: bool = PAIRS;
    const STEPS: usize = if PAIRS { KEPT / 2 } else { KEPT };

    #[inline(always)]
    fn load(walk: &Walk<'_, L>, places: L::Vector) -> L::Vector {
        // SAFETY: a place is at most eight bytes behind the end of a word, behind which there are 64 readable bytes.
        unsafe { walk.lanes.gather_4(walk.machine.bytes, places) }
    }

    #[inline(always)]
    fn reload(walk: &Walk<'_, L>, places: L::Vector, _text: L::Vector) -> L::Vector {
        Self::load(walk, places)
    }

    #[inline(always)]
    fn codes(walk: &Walk<'_, L>, text: L::Vector) -> L::Vector {
        let lanes = walk.lanes;
        lanes.min(lanes.and(text, lanes.splat(0xFF)), walk.greatest_code)
    }

    #[inline(always)]
    fn next(walk: &Walk<'_, L>, places: L::Vector, text: L::Vector) -> [L::Vector; 2] {
        [walk.lanes.add(places, walk.lanes.splat(1)), walk.lanes.shr::<8>(text)]
    }

    #[inline(always)]
    fn pairs(walk: &Walk<'_, L>, text: L::Vector, more: L::Mask) -> L::Vector {
        let (lanes, seven) = (walk.lanes, walk.lanes.splat(0x7F));
        let first = lanes.shl::<7>(lanes.and(text, seven));
        let both = lanes.or(first, lanes.and(lanes.shr::<8>(text), seven));
        lanes.select(more, first, both)
    }
}

const _: () = assert!(starts::place(0x41, 0x42) == 0x41 << 7 | 0x42, "as `pairs` has it");

/// Any words: a lane keeps the code of the next character, and from bit 24 its length.
pub struct Utf8;

impl<L: Lanes> Reader<L> for Utf8 {
    const PAIRS: bool = false;
    const STEPS: usize = MOST_STEPS;

    #[inline(always)]
    fn load(walk: &Walk<'_, L>, places: L::Vector) -> L::Vector {
        characters(walk, places)
    }

    #[inline(always)]
    fn reload(_walk: &Walk<'_, L>, _places: L::Vector, text: L::Vector) -> L::Vector {
        text
    }

    #[inline(always)]
    fn codes(walk: &Walk<'_, L>, text: L::Vector) -> L::Vector {
        walk.lanes.and(text, walk.lanes.splat(0xFF_FFFF))
    }

    #[inline(always)]
    fn next(walk: &Walk<'_, L>, places: L::Vector, text: L::Vector) -> [L::Vector; 2] {
        let places = walk.lanes.add(places, walk.lanes.shr::<24>(text));
        [places, characters(walk, places)]
    }
}

/// The codes of the characters at these places, with their lengths from bit 24.
#[inline(always)]
fn characters<L: Lanes>(walk: &Walk<'_, L>, places: L::Vector) -> L::Vector {
    let (lanes, mask) = (walk.lanes, walk.greatest_code);
    // SAFETY: a place is at most eight bytes behind the end of a word, behind which there are 64 readable bytes.
    let bytes = unsafe { lanes.gather_4(walk.machine.bytes, places) };
    let lead = lanes.and(bytes, lanes.splat(0xFF));
    let ascii = lanes.or(lanes.min(lead, mask), lanes.splat(1 << 24));
    let more = lanes.greater(lead, lanes.splat(0x7F));
    if lanes.bits(more) == 0 {
        return ascii;
    }
    let six = lanes.splat(0x3F);
    let second = lanes.and(lanes.shr::<8>(bytes), six);
    let third = lanes.and(lanes.shr::<16>(bytes), six);
    let two = lanes.or(lanes.shl::<6>(lanes.and(bytes, lanes.splat(0x1F))), second);
    let upper = lanes.or(lanes.shl::<12>(lanes.and(bytes, lanes.splat(0x0F))), lanes.shl::<6>(second));
    let three = lanes.or(upper, third);
    let is_three = lanes.greater(lead, lanes.splat(0xDF));
    let two = lanes.or(lanes.min(two, mask), lanes.splat(2 << 24));
    let three = lanes.or(lanes.min(three, mask), lanes.splat(3 << 24));
    let codes = lanes.select(is_three, lanes.select(more, ascii, two), three);
    let is_four = lanes.bits(lanes.greater(lead, lanes.splat(0xEF)));
    if is_four != 0 { supplementary(walk, codes, places, is_four) } else { codes }
}

/// The same where some characters have four bytes.
#[inline(always)]
fn supplementary<L: Lanes>(walk: &Walk<'_, L>, codes: L::Vector, places: L::Vector, which: u32) -> L::Vector {
    let (mut spilled, mut at) = ([0; MOST_LANES], [0; MOST_LANES]);
    walk.lanes.store(codes, &mut spilled);
    walk.lanes.store(places, &mut at);
    decode_four_bytes(walk.machine, &mut spilled, &at, which);
    walk.lanes.load(&spilled)
}

/// Decode the characters of the lanes that the bits name.
#[inline(never)]
fn decode_four_bytes(machine: &Machine<'_>, codes: &mut [u32; MOST_LANES], places: &[u32; MOST_LANES], which: u32) {
    for (lane, code) in codes.iter_mut().enumerate().filter(|(lane, _)| which >> lane & 1 != 0) {
        let (c, length) = utf8::decode(machine.bytes, places[lane] as usize);
        *code = machine.tables.codes.code(c) | (length as u32) << 24;
    }
}
