//! What a call works with, kept for the next call.

use std::sync::Mutex;
use wordpiece::encoder::{Encoded, Workspace};

/// Room for more ids than this is given back to the system.
const MOST_IDS: usize = 1 << 16;

/// What one call works with.
#[derive(Default)]
pub struct Buffers {
    /// Of the kernel.
    pub workspace: Workspace,
    /// The ids of a single text. Ids of arrays go into memory that Arrow gets.
    pub out: Encoded,
}

/// Buffers of calls that have ended. A lock that is held (by another thread, or for ever in a forked child) only means
/// that new ones are made. They are boxed because they are large: moving them costs as much as a few words of text.
#[derive(Default)]
pub struct Idle(Mutex<Vec<Box<Buffers>>>);

impl Idle {
    /// Buffers, without ids of an earlier call.
    pub fn take(&self) -> Box<Buffers> {
        let idle = self.0.try_lock().ok().and_then(|mut idle| idle.pop());
        idle.unwrap_or_default()
    }

    /// Give buffers back.
    pub fn put(&self, mut buffers: Box<Buffers>) {
        let out = &mut buffers.out;
        if out.ids.capacity() > MOST_IDS {
            out.ids = Vec::new();
        }
        out.ids.clear();
        out.ends.clear();
        (out.unknowns, out.invalid, out.nulls) = (0, 0, 0);
        if let Ok(mut idle) = self.0.try_lock() {
            idle.push(buffers);
        }
    }
}
