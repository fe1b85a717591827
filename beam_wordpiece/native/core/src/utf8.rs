//! Code points in UTF-8, one at a time.

/// First code point of a precomposed Hangul syllable.
const HANGUL_FIRST: u32 = 0xAC00;
/// Number of precomposed Hangul syllables.
const HANGUL_COUNT: u32 = 11172;

/// Decode the code point that starts at `bytes[at]`, and give its length in bytes.
///
/// Bytes that are not UTF-8 give some code point below 0x200000 and a length of 1 to 4; bytes past the end count as 0.
#[inline(always)]
pub fn decode(bytes: &[u8], at: usize) -> (u32, usize) {
    let rest = &bytes[at.min(bytes.len())..];
    match rest.first_chunk() {
        Some(four) => decode_readable(four),
        None => decode_readable(&std::array::from_fn(|i| rest.get(i).copied().unwrap_or_default())),
    }
}

/// The same, of bytes that can all be read.
#[inline(always)]
pub fn decode_readable(bytes: &[u8; 4]) -> (u32, usize) {
    let [lead, second, third, fourth] = bytes.map(u32::from);
    match lead {
        0..0x80 => (lead, 1),
        0x80..0xE0 => ((lead & 0x1F) << 6 | second & 0x3F, 2),
        0xE0..0xF0 => ((lead & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F, 3),
        _ => ((lead & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F, 4),
    }
}

/// Whether a text is one that normalization may have written, whose last character may be cut off.
pub fn is_normalized(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        let bytes: [u8; 4] = std::array::from_fn(|i| text.get(at + i).copied().unwrap_or_default());
        at += match bytes {
            [1..0x80, ..] => 1,
            [0xC0, 0x80, ..] => 2,
            _ => match decode_checked(bytes) {
                Some((_, length)) => length,
                // A first byte and no other that is not one of the same character.
                None if at + 4 > text.len()
                    && bytes[0] >= 0xC0
                    && bytes[1..text.len() - at].iter().all(|b| b & 0xC0 == 0x80) =>
                {
                    return true;
                }
                None => return false,
            },
        };
    }
    true
}

/// Decode the character beyond ASCII that these bytes begin with, and give its length; None where they are not UTF-8.
#[inline(always)]
pub fn decode_checked(bytes: [u8; 4]) -> Option<(u32, usize)> {
    // First bytes and those that follow them are told apart all at once.
    let all = u32::from_le_bytes(bytes);
    let six = |byte: u32| all >> (8 * byte) & 0x3F;
    let (c, length, fine) = if all & 0xC0_C0F0 == 0x80_80E0 {
        let c = (all & 0x0F) << 12 | six(1) << 6 | six(2);
        (c, 3, c >= 0x800 && c & 0xF800 != 0xD800)
    } else if all & 0xC0E0 == 0x80C0 {
        let c = (all & 0x1F) << 6 | six(1);
        (c, 2, c >= 0x80)
    } else if all & 0xC0C0_C0F8 == 0x8080_80F0 {
        let c = (all & 0x07) << 18 | six(1) << 12 | six(2) << 6 | six(3);
        (c, 4, (0x1_0000..0x11_0000).contains(&c))
    } else {
        return None;
    };
    fine.then_some((c, length))
}

/// Number of bytes at the end of a text that are the beginning of a character, which the next bytes may complete.
pub fn cut_off(text: &[u8]) -> usize {
    // A first byte begins a character whatever stands before it.
    let is_first = |&length: &usize| text[text.len() - length] >= 0xC0;
    let length = (1..=3.min(text.len())).find(is_first).unwrap_or_default();
    match std::str::from_utf8(&text[text.len() - length..]) {
        Err(error) if error.error_len().is_none() => length,
        _ => 0,
    }
}

/// The last place at or before `at` where no character is cut.
pub fn boundary(text: &[u8], at: usize) -> usize {
    let follows = |place: usize| text.get(place).is_some_and(|byte| byte & 0xC0 == 0x80);
    // Bytes that follow each other longer than that are not UTF-8, and none of them belongs to another.
    (at.saturating_sub(3)..=at).rev().find(|&place| !follows(place)).unwrap_or(at)
}

/// Encode a code point, and give the length in bytes.
///
/// U+0000 becomes the two bytes C0 80, so that no encoded text contains a zero byte: keys of the word table are padded
/// with zeros, and `decode` gives U+0000 back.
#[inline(always)]
pub fn encode(c: u32) -> ([u8; 4], usize) {
    let tail = |shift: u32| 0x80 | (c >> shift & 0x3F) as u8;
    match c {
        1..0x80 => ([c as u8, 0, 0, 0], 1),
        0..0x800 => ([0xC0 | (c >> 6) as u8, tail(0), 0, 0], 2),
        0x800..0x10000 => ([0xE0 | (c >> 12) as u8, tail(6), tail(0), 0], 3),
        _ => ([0xF0 | (c >> 18) as u8, tail(12), tail(6), tail(0)], 4),
    }
}

/// True for a precomposed Hangul syllable, which canonical decomposition splits into two or three jamo.
#[inline(always)]
pub fn is_hangul_syllable(c: u32) -> bool {
    c.wrapping_sub(HANGUL_FIRST) < HANGUL_COUNT
}

/// The jamo of a precomposed syllable, and their number (2 or 3).
#[inline(always)]
pub fn hangul_jamo(syllable: u32) -> ([u32; 3], usize) {
    let index = syllable - HANGUL_FIRST;
    let trailing = index % 28;
    ([0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + trailing], if trailing == 0 { 2 } else { 3 })
}

/// The same in UTF-8, three bytes each, and how many bytes they are; what follows these may be anything.
#[inline(always)]
pub fn hangul_jamo_bytes(syllable: u32) -> ([u8; 16], usize) {
    let (jamo, count) = hangul_jamo(syllable);
    let three = |c: u32| u128::from((0xE0 | c >> 12) | (0x80 | c >> 6 & 0x3F) << 8 | (0x80 | c & 0x3F) << 16);
    let [leading, vowel, trailing] = jamo.map(three);
    ((leading | vowel << 24 | trailing << 48).to_le_bytes(), 3 * count)
}

/// Join leading jamo + vowel (+ trailing jamo) to syllables: the inverse of [`hangul_jamo`] over a whole string.
pub fn compose_hangul(text: &str) -> String {
    let chars: Vec<u32> = text.chars().map(u32::from).collect();
    let mut composed = String::with_capacity(text.len());
    let mut i = 0;
    while i < chars.len() {
        let lead = chars[i].wrapping_sub(0x1100);
        let vowel = chars.get(i + 1).map_or(u32::MAX, |c| c.wrapping_sub(0x1161));
        if lead < 19 && vowel < 21 {
            let trailing = chars.get(i + 2).map_or(0, |c| c.wrapping_sub(0x11A7));
            let trailing = if (1..28).contains(&trailing) { trailing } else { 0 };
            let syllable = HANGUL_FIRST + (lead * 21 + vowel) * 28 + trailing;
            composed.push(char::from_u32(syllable).expect("a syllable is a scalar value"));
            i += if trailing == 0 { 2 } else { 3 };
        } else {
            composed.push(char::from_u32(chars[i]).expect("came from a char"));
            i += 1;
        }
    }
    composed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scalar_value_round_trips() {
        for c in (0..0x110000).filter_map(char::from_u32) {
            let (bytes, n) = encode(u32::from(c));
            assert_eq!(decode(&bytes[..n], 0), (u32::from(c), n));
            assert!(!bytes[..n].contains(&0));
            if c != '\0' {
                assert_eq!(&bytes[..n], c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }

    #[test]
    fn checked_is_what_the_standard_library_takes() {
        let tails = [0, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF];
        let n = tails.len();
        for (lead, i) in (0x80..=0xFF).flat_map(|lead| (0..n.pow(3)).map(move |i| (lead, i))) {
            let bytes = [lead, tails[i / n / n], tails[i / n % n], tails[i % n]];
            let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let expected = valid.chars().next().map(|c| (u32::from(c), c.len_utf8()));
            assert_eq!(decode_checked(bytes), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn every_syllable_round_trips() {
        for c in (0xAC00..0xAC00 + 11172).filter_map(char::from_u32) {
            let (jamo, n) = hangul_jamo(u32::from(c));
            let text: String = jamo[..n].iter().map(|&j| char::from_u32(j).unwrap()).collect();
            assert_eq!(compose_hangul(&text), c.to_string());
            let (bytes, length) = hangul_jamo_bytes(u32::from(c));
            assert_eq!(&bytes[..length], text.as_bytes());
        }
    }
}
