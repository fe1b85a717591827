//! Buffers of ids that come back when Arrow lets go of them, so that not every batch pays for fresh memory.

use arrow_buffer::Buffer;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Buffers that are kept at most.
const KEPT: usize = 2;
/// A buffer of more ids is given back to the system.
const LARGEST: usize = 1 << 28;
/// From so many bytes on, memory is asked for in huge pages, and the system may take that of idle buffers.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 22;

/// Buffers that nobody uses. A lock that is held (by another thread, or for ever in a forked child) only means that a
/// new buffer is made, or an old one freed.
#[derive(Default)]
pub struct Pool(Mutex<Vec<Vec<u32>>>);

impl Pool {
    /// An empty buffer with room for so many ids.
    pub fn take(&self, expected: usize) -> Vec<u32> {
        let fitting = self.0.try_lock().ok().and_then(|mut kept| {
            let fits = kept.iter().enumerate().filter(|(_, buffer)| buffer.capacity() >= expected);
            let smallest = fits.min_by_key(|(_, buffer)| buffer.capacity()).map(|(i, _)| i);
            smallest.map(|i| kept.swap_remove(i))
        });
        fitting.unwrap_or_else(|| {
            let mut buffer = Vec::new();
            // Only a guess: where the system refuses so much, the buffer grows with what comes.
            let _ = buffer.try_reserve_exact(expected);
            advise(&mut buffer, Advice::HugePages);
            buffer
        })
    }

    /// Keep a buffer, and of too many the largest.
    fn give_back(&self, mut buffer: Vec<u32>) {
        buffer.clear();
        if buffer.capacity() > LARGEST {
            return;
        }
        advise(&mut buffer, Advice::MayTake);
        if let Ok(mut kept) = self.0.try_lock() {
            kept.push(buffer);
            if kept.len() > KEPT {
                let smallest = (0..kept.len()).min_by_key(|&i| kept[i].capacity());
                smallest.map(|i| kept.swap_remove(i));
            }
        }
    }

    /// Give the ids to Arrow.
    pub fn lend(self: &Arc<Pool>, ids: Vec<u32>) -> Buffer {
        let (start, bytes) = (NonNull::from(ids.as_slice()).cast(), size_of_val(ids.as_slice()));
        let lent = Arc::new(Lent { ids, pool: self.clone() });
        // SAFETY: the bytes are those of `ids`, which `lent` keeps alive and leaves alone until the buffer is dropped.
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
        self.pool.give_back(std::mem::take(&mut self.ids));
    }
}

/// What the system is told of the memory of a large buffer. It is only advice: where it is not taken nothing changes.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
enum Advice {
    /// Back it with huge pages: far fewer faults when it is first written.
    HugePages,
    /// Nothing in it is needed: the system may take it when memory is short.
    MayTake,
}

#[cfg(not(target_os = "linux"))]
fn advise(_buffer: &mut Vec<u32>, _advice: Advice) {}

#[cfg(target_os = "linux")]
fn advise(buffer: &mut Vec<u32>, advice: Advice) {
    let bytes = buffer.capacity() * size_of::<u32>();
    if bytes >= LARGE {
        // No page is larger on the processors that Linux runs on here, and the system rounds lengths up to whole pages.
        const PAGE: usize = 1 << 16;
        let advice = match advice {
            Advice::HugePages => libc::MADV_HUGEPAGE,
            Advice::MayTake => libc::MADV_FREE,
        };
        let start = buffer.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        // SAFETY: the range lies in memory of the buffer, also when it is rounded to pages. Either advice leaves it
        // readable and writable, and what it held may only be lost where nothing in it is needed: the buffer is empty.
        unsafe {
            libc::madvise(start.add(skipped).cast(), (bytes - skipped) / PAGE * PAGE, advice);
        }
    }
}
