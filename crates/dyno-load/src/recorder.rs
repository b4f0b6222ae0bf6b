//! The columns of a run: one row per request, allocated before the first is sent.

use crate::outcome::Outcome;

/// Bodies that a thread keeps of a run, the first ones.
pub(crate) const MOST_DIFFERENT: usize = 8;

/// A body that was not the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Different {
    /// The row of its request.
    pub row: usize,
    /// All of it, up to [`crate::pattern::MOST_HELD_BYTES`] and what was as expected before.
    pub body: Vec<u8>,
}

/// One row per entry of the sequence, in its order. Times are `CLOCK_MONOTONIC` nanoseconds, 0 where a request never
/// got so far.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// When the request was to be sent. Empty in a closed loop, which intends no times.
    pub intended_ns: Vec<u64>,
    /// The earliest that it could be sent: the intended time, or, when all connections were busy then, when there was
    /// one for it. So `ready - intended` is its wait for a connection, and `sent - ready` the generator's own lag (as
    /// far as a generator can tell: an answer that it reads late lengthens the wait instead). Empty in a closed loop.
    pub ready_ns: Vec<u64>,
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
    /// The first bodies that were not the expected ones, as many as are kept of a run.
    pub different: Vec<Different>,
    /// Before the first request; in an open loop the zero of its schedule.
    pub started_ns: u64,
    /// After the last outcome.
    pub ended_ns: u64,
    /// Connections opened.
    pub connects: u64,
    /// Bytes of FastCGI STDERR.
    pub stderr_bytes: u64,
    /// CPU time of the threads besides the calling one.
    pub other_threads_cpu_ns: u64,
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

    /// All rows abandoned, with the offsets of a schedule as their intended times.
    pub(crate) fn for_schedule(target: Vec<u32>, offsets_ns: Vec<u64>) -> Self {
        Self { ready_ns: vec![0; offsets_ns.len()], intended_ns: offsets_ns, ..Self::for_sequence(target) }
    }

    /// The columns of a part of the rows, all abandoned.
    pub(crate) fn pick(&self, rows: &[usize]) -> Self {
        let target = rows.iter().map(|row| self.target[*row]).collect();
        if self.intended_ns.is_empty() {
            Self::for_sequence(target)
        } else {
            Self::for_schedule(target, rows.iter().map(|row| self.intended_ns[*row]).collect())
        }
    }

    /// These columns with the rows of their parts, which `pick` made, put back in their places.
    pub(crate) fn filled(mut self, rows: &[Vec<usize>], parts: Vec<Self>) -> Self {
        self.started_ns = parts.iter().map(|part| part.started_ns).min().unwrap_or(0);
        for (rows, part) in rows.iter().zip(parts) {
            put(&mut self.intended_ns, rows, &part.intended_ns);
            put(&mut self.ready_ns, rows, &part.ready_ns);
            put(&mut self.sent_ns, rows, &part.sent_ns);
            put(&mut self.first_byte_ns, rows, &part.first_byte_ns);
            put(&mut self.done_ns, rows, &part.done_ns);
            put(&mut self.status, rows, &part.status);
            put(&mut self.body_bytes, rows, &part.body_bytes);
            put(&mut self.outcome, rows, &part.outcome);
            self.different.extend(part.different.into_iter().map(|each| Different { row: rows[each.row], ..each }));
            self.ended_ns = self.ended_ns.max(part.ended_ns);
            self.connects += part.connects;
            self.stderr_bytes += part.stderr_bytes;
            self.other_threads_cpu_ns += part.other_threads_cpu_ns;
            self.interrupted |= part.interrupted;
        }
        self
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

/// `column[rows[i]] = part[i]`; nothing for a column that this kind of loop leaves empty.
fn put<T: Copy>(column: &mut [T], rows: &[usize], part: &[T]) {
    for (row, value) in rows.iter().zip(part) {
        column[*row] = *value;
    }
}
