//! Requests that wait to be handed to the kernel, many in one write.

use super::frame::Frame;

/// One write takes at most this much, or one frame that is longer.
const BUFFER_BYTES: usize = 256 * 1024;

pub(super) struct Outgoing {
    bytes: Vec<u8>,
    /// Of these bytes, those that the kernel has taken.
    taken: usize,
    /// Bytes that the kernel has taken since the connection was made.
    pub(super) total: u64,
}

impl Outgoing {
    /// Room for all that is ever in it: for `longest` bytes at least.
    pub(super) fn new(longest: usize) -> Self {
        Self { bytes: Vec::with_capacity(BUFFER_BYTES.max(longest)), taken: 0, total: 0 }
    }

    pub(super) fn has_room(&self, frame: &Frame) -> bool {
        self.bytes.is_empty() || self.bytes.len() + frame.len() <= BUFFER_BYTES
    }

    pub(super) fn push(&mut self, frame: &Frame, sync: u64) {
        frame.put(sync, &mut self.bytes);
    }

    pub(super) fn unsent(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// The kernel has taken so many bytes more.
    pub(super) fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        self.total += bytes as u64;
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
    }
}
