//! Buffers of ids that come back when Arrow lets go of them, so that not every batch pays for fresh memory.

use arrow_buffer::Buffer;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Buffers that are kept at most.
const KEPT: usize = 2;
/// A buffer of more ids is given back to the system.
const LARGEST: usize = 1 << 25;
/// From so many bytes on, memory is asked for in huge pages.
const HUGE: usize = 1 << 22;

/// Buffers that nobody uses. A lock that is held (by another thread, or for ever in a forked child) only means that a
/// new buffer is made, or an old one freed.
#[derive(Default)]
pub struct Pool(Mutex<Vec<Vec<u32>>>);

impl Pool {
    /// An empty buffer with room for so many ids.
    pub fn take(&self, expected: usize) -> Vec<u32> {
        let kept = self.0.try_lock().ok().and_then(|mut kept| kept.pop());
        kept.filter(|buffer| buffer.capacity() >= expected).unwrap_or_else(|| {
            let mut buffer = Vec::with_capacity(expected);
            ask_for_huge_pages(&mut buffer);
            buffer
        })
    }

    /// Give the ids to Arrow.
    pub fn lend(self: &Arc<Pool>, ids: Vec<u32>) -> Buffer {
        let (start, bytes) = (NonNull::from(ids.as_slice()).cast(), size_of_val(ids.as_slice()));
        let lent = Arc::new(Lent { ids, pool: self.clone() });
        // SAFETY: the bytes are those of `ids`, which `lent` keeps alive and does not change until the buffer is dropped.
        unsafe { Buffer::from_custom_allocation(start, bytes, lent) }
    }
}

/// Ids that Arrow has.
struct Lent {
    ids: Vec<u32>,
    pool: Arc<Pool>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        if let Ok(mut kept) = self.pool.0.try_lock()
            && kept.len() < KEPT
            && ids.capacity() <= LARGEST
        {
            kept.push(ids);
        }
    }
}

/// Ask the system to back a large buffer with huge pages: far fewer faults when it is first written. Only advice: where
/// it is not taken nothing changes.
fn ask_for_huge_pages(buffer: &mut Vec<u32>) {
    let bytes = buffer.capacity() * size_of::<u32>();
    #[cfg(target_os = "linux")]
    if bytes >= HUGE {
        const PAGE: usize = 4096;
        let start = buffer.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        // SAFETY: the range lies in memory of the buffer, and the advice changes nothing of what it holds.
        unsafe {
            libc::madvise(start.add(skipped).cast(), (bytes - skipped) / PAGE * PAGE, libc::MADV_HUGEPAGE);
        }
    }
}
