//! The columns of a run: one row per request, allocated before the first is sent.

use crate::outcome::Outcome;

/// One row per entry of the sequence, in its order. Times are `CLOCK_MONOTONIC` nanoseconds, 0 where a request never
/// got so far.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Just before the request was first handed to the kernel; before `connect` when it needed a connection of its own.
    pub sent_ns: Vec<u64>,
    /// When the first byte of the answer had been read.
    pub first_byte_ns: Vec<u64>,
    /// When the response was complete, whether as expected or not.
    pub done_ns: Vec<u64>,
    /// 0 where no status came.
    pub status: Vec<u16>,
    /// Bytes of the body, or of the part of it that came.
    pub body_bytes: Vec<u64>,
    /// The sequence itself.
    pub target: Vec<u32>,
    /// [`Outcome`] codes.
    pub outcome: Vec<u8>,
    /// Before the first request.
    pub started_ns: u64,
    /// After the last outcome.
    pub ended_ns: u64,
    /// Connections opened.
    pub connects: u64,
    /// Bytes of FastCGI STDERR.
    pub stderr_bytes: u64,
    /// The run was stopped from outside; some rows are abandoned.
    pub interrupted: bool,
}

/// What is known of one request when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) sent_ns: u64,
    pub(crate) first_byte_ns: u64,
    pub(crate) done_ns: u64,
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    pub(crate) outcome: Outcome,
}

impl Samples {
    /// All rows abandoned, until `set`.
    pub(crate) fn for_sequence(target: Vec<u32>) -> Self {
        let rows = target.len();
        Self {
            sent_ns: vec![0; rows],
            first_byte_ns: vec![0; rows],
            done_ns: vec![0; rows],
            status: vec![0; rows],
            body_bytes: vec![0; rows],
            outcome: vec![Outcome::Abandoned as u8; rows],
            target,
            ..Self::default()
        }
    }

    pub(crate) fn set(&mut self, index: usize, row: &Row) {
        self.sent_ns[index] = row.sent_ns;
        self.first_byte_ns[index] = row.first_byte_ns;
        self.done_ns[index] = row.done_ns;
        self.status[index] = row.status;
        self.body_bytes[index] = row.body_bytes;
        self.outcome[index] = row.outcome as u8;
    }
}
