//! Buffers of a workspace that grow, and of which only what is used takes memory.

use bytemuck::Pod;
use memmap2::MmapMut;
use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

/// A buffer has room for so many numbers at least: what two chunks need, so that hardly any has to grow.
const LEAST: usize = 128 * 1024;

/// Numbers, zeros where none was written.
///
/// They are mapped, and not from the allocator: that one reuses memory and then writes all of the zeros, and each page
/// that is written for the first time is fetched from the system, which takes as long as a kilobyte of text.
#[derive(Debug)]
pub struct Buffer<T> {
    /// What the map holds; without one there are none.
    start: NonNull<T>,
    length: usize,
    _map: Option<MmapMut>,
}

// SAFETY: the numbers are in memory that only this buffer has and reaches through itself, as a Vec does; what is not Send
// is the bare pointer alone.
unsafe impl<T: Pod + Send> Send for Buffer<T> {}
// SAFETY: as above, and nothing is written through a shared reference.
unsafe impl<T: Pod + Sync> Sync for Buffer<T> {}

impl<T> Default for Buffer<T> {
    fn default() -> Buffer<T> {
        Buffer { start: NonNull::dangling(), length: 0, _map: None }
    }
}

impl<T: Pod> Buffer<T> {
    /// Make room for so many numbers, and some more where there was less. Of two buffers with room for as many, one may
    /// have more.
    #[inline(always)]
    pub fn ensure(&mut self, length: usize) {
        if self.length < length {
            self.lengthen(length + length / 2);
        }
    }

    /// Make it at least so long, with zeros behind what was in it.
    #[cold]
    pub fn lengthen(&mut self, length: usize) {
        if self.length < length {
            let bytes = length.max(LEAST).checked_mul(size_of::<T>()).expect("a buffer has less than all memory");
            let mut map = zeros(bytes);
            let numbers: &mut [T] = bytemuck::cast_slice_mut(&mut map);
            numbers[..self.length].copy_from_slice(self);
            *self = Buffer { start: NonNull::from(&mut *numbers).cast(), length: numbers.len(), _map: Some(map) };
        }
    }
}

/// So many bytes, which take no memory before they are written.
fn zeros(bytes: usize) -> MmapMut {
    // As where the allocator has no memory.
    let refused = |_| handle_alloc_error(Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>()));
    let map = MmapMut::map_anon(bytes).unwrap_or_else(refused);
    // Only advice: a huge page would take memory for what is not used.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::NoHugePage);
    map
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the map has so many numbers there, begins where a page does, and lives and stays where it is as long as
        // the buffer. Without a map there are none.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the buffer is borrowed for writing.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_buffer_stays_and_zeros_follow() {
        let mut buffer = Buffer::<u32>::default();
        assert!(buffer.is_empty());
        buffer.ensure(2);
        assert_eq!(buffer[..], [0; LEAST]);
        buffer.fill(7);
        buffer.lengthen(LEAST + 2);
        assert!(buffer[..LEAST].iter().all(|number| *number == 7));
        assert_eq!(buffer[LEAST..], [0, 0]);
        buffer.lengthen(3);
        buffer.ensure(3);
        assert_eq!(buffer.len(), LEAST + 2);
        buffer.ensure(LEAST + 3);
        assert!(buffer.len() > LEAST + 3 && buffer[LEAST - 1..LEAST + 1] == [7, 0]);
    }
}
