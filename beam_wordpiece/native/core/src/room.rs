//! Buffers of a workspace that grow, and of which only what is used takes memory.

use bytemuck::Zeroable;

/// Make a buffer at least so long, with zeros behind what is in it.
///
/// `Vec::resize` would write all of them, and each page that is written for the first time is fetched from the system,
/// which takes as long as a kilobyte of text. These zeros come from the allocator, which has untouched pages.
pub fn lengthen<T: Zeroable + Copy>(buffer: &mut Vec<T>, length: usize) {
    if buffer.len() < length {
        let mut longer = vec![T::zeroed(); length];
        longer[..buffer.len()].copy_from_slice(buffer);
        *buffer = longer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_buffer_stays_and_zeros_follow() {
        let mut buffer = vec![7, 8];
        lengthen(&mut buffer, 4);
        assert_eq!(buffer, [7, 8, 0, 0]);
        lengthen(&mut buffer, 3);
        assert_eq!(buffer, [7, 8, 0, 0]);
    }
}
