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

// SAFETY: the numbers are in memory that only this buffer has.
unsafe impl<T: Pod + Send> Send for Buffer<T> {}
// SAFETY: as above, and only who has the buffer for himself can write.
unsafe impl<T: Pod + Sync> Sync for Buffer<T> {}

impl<T> Default for Buffer<T> {
    fn default() -> Buffer<T> {
        Buffer { start: NonNull::dangling(), length: 0, _map: None }
    }
}

impl<T: Pod> Buffer<T> {
    /// Make it at least so long, with zeros behind what is in it.
    pub fn lengthen(&mut self, length: usize) {
        if self.length < length {
            let mut map = zeros(length.max(LEAST) * size_of::<T>());
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
        // SAFETY: the map has so many numbers there, and lives and stays where it is as long as the buffer.
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
        buffer.lengthen(2);
        assert_eq!(buffer[..], [0; LEAST]);
        buffer.fill(7);
        buffer.lengthen(LEAST + 2);
        assert!(buffer[..LEAST].iter().all(|number| *number == 7));
        assert_eq!(buffer[LEAST..], [0, 0]);
        buffer.lengthen(3);
        assert_eq!(buffer.len(), LEAST + 2);
    }
}
