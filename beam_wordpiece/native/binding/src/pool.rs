//! Buffers of ids that come back when Arrow lets go of them, so that not every batch pays for fresh memory.

use arrow_buffer::Buffer;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Buffers that are kept at most: a job holds the ids of about so many batches until it writes them together.
const KEPT: usize = 16;
/// Ids that they held at most, all together; two buffers are kept even so.
const KEPT_IDS: usize = 1 << 24;
/// A buffer of more ids is given back to the system.
const LARGEST: usize = 1 << 28;
/// From so many bytes of text on, memory for its ids is asked for in huge pages, and in steps of so many ids; for less
/// text in powers of two. So the next batch, which is about as large, fits too.
const LARGE: usize = 1 << 20;

/// A buffer that nobody uses, and how many ids were in it: the memory behind those was perhaps never touched.
struct Kept {
    buffer: Vec<u32>,
    ids: usize,
}

/// Buffers that nobody uses. A lock that is held (by another thread, or for ever in a forked child) only means that a
/// new buffer is made, or an old one freed.
#[derive(Default)]
pub struct Pool(Mutex<Vec<Kept>>);

impl Pool {
    /// An empty buffer for the ids of so many bytes of text.
    pub fn take(&self, bytes: usize) -> Vec<u32> {
        // Ordinary text has an id for every three to five bytes, and hardly any text has more ids than bytes. A buffer
        // that is too small grows, by being moved; of one that is large, what is not written takes no memory.
        let room = if bytes < LARGE { (bytes / 2).next_power_of_two() } else { bytes.next_multiple_of(LARGE) };
        if let Some(fitting) = self.0.try_lock().ok().and_then(|mut kept| fitting(&mut kept, room)) {
            return fitting;
        }
        let mut buffer = Vec::new();
        // Only a guess: where the system refuses so much, the buffer grows with what comes.
        let _ = buffer.try_reserve_exact(room);
        advise(&mut buffer, Advice::HugePages);
        buffer
    }

    /// Keep a buffer, and of too many the largest.
    fn give_back(&self, mut buffer: Vec<u32>) {
        let ids = buffer.len();
        buffer.clear();
        if ids > LARGEST {
            return;
        }
        advise(&mut buffer, Advice::MayTake);
        if let Ok(mut kept) = self.0.try_lock() {
            kept.push(Kept { buffer, ids });
            while kept.len() > KEPT || kept.len() > 2 && kept.iter().map(|one| one.ids).sum::<usize>() > KEPT_IDS {
                let smallest = (0..kept.len()).min_by_key(|&i| kept[i].buffer.capacity());
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

/// The smallest buffer that has room for so many ids. Where none has, the largest one is freed for the one that will be
/// made: so there are never more than were in use at one time.
fn fitting(kept: &mut Vec<Kept>, room: usize) -> Option<Vec<u32>> {
    let capacity = |&i: &usize| kept[i].buffer.capacity();
    let smallest = (0..kept.len()).filter(|i| capacity(i) >= room).min_by_key(capacity);
    let taken = smallest.or_else(|| (0..kept.len()).max_by_key(capacity)).map(|i| kept.swap_remove(i).buffer);
    taken.filter(|_| smallest.is_some())
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
    if buffer.capacity() >= LARGE {
        let bytes = buffer.capacity() * size_of::<u32>();
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
