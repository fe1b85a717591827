//! Words of several pieces in the word tables: how the value of a slot names them.
//!
//! A value has 24 bits. Without bit 23 it is an id. With it the word has several pieces: bits 21 and 22 are their number
//! less 2, bits 0 to 20 their place in a pool of ids.

/// Bit of a value: the word has several pieces, or was not found.
pub const SEVERAL: u32 = 1 << 23;
/// What a word has that is in no table: a value whose place is in no pool.
pub const NOT_FOUND: u32 = (1 << 24) - 1;
/// How many pieces a word in a table may have, if not one.
pub const COUNTS: std::ops::RangeInclusive<usize> = 2..=5;
/// Ids that are copied at once, whether they all are of one word or not. So many zeros are behind the last ones.
pub const COPIED: usize = 8;
/// Ids in a pool at most, the zeros included: with fewer than COPIED more, NOT_FOUND would be a place.
pub const MOST_IDS: usize = 1 << PLACE_BITS;

const PLACE_BITS: u32 = 21;

/// The value of a word with so many pieces, which begin at this place.
pub fn pack(count: usize, place: usize) -> u32 {
    debug_assert!(COUNTS.contains(&count) && place + COPIED <= MOST_IDS, "{count} pieces at {place}");
    SEVERAL | ((count - COUNTS.start()) as u32) << PLACE_BITS | place as u32
}

/// The pieces that a value with bit 23 names, others behind them, and their number.
///
/// None for NOT_FOUND, and for any other place outside the pool: a mapped file may have been written to since it was
/// checked. Such a word is walked like one that was not found, which gives the right ids.
#[inline(always)]
pub fn pieces(value: u32, pool: &[u32]) -> Option<(&[u32; COPIED], u32)> {
    let ids = pool.get((value & (MOST_IDS as u32 - 1)) as usize..)?.first_chunk()?;
    Some((ids, (value >> PLACE_BITS & 3) + *COUNTS.start() as u32))
}

/// Check the pool of a file: its ids are `valid`, and NOT_FOUND is no place in it.
pub fn validate(pool: &[u32], valid: impl Fn(u32) -> bool) -> Result<(), String> {
    let fits = pool.len() <= MOST_IDS && pool.iter().all(|&id| valid(id));
    fits.then_some(()).ok_or_else(|| "the pieces of its words are out of range".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_name_their_pieces_and_nothing_else() {
        let pool: Vec<u32> = (0..100).collect();
        for count in COUNTS {
            for place in 0..=pool.len() - COPIED {
                let (ids, found) = pieces(pack(count, place), &pool).expect("the place is in the pool");
                assert_eq!((ids[0] as usize, found as usize), (place, count));
            }
        }
        let outside = [93, 99, 100, MOST_IDS - COPIED].map(|place| pack(2, place));
        for value in outside.into_iter().chain([NOT_FOUND]) {
            assert_eq!(pieces(value, &pool), None);
            assert_eq!(pieces(value, &[]), None);
        }
        assert_eq!(pieces(NOT_FOUND, &vec![0; MOST_IDS]), None);
    }
}
