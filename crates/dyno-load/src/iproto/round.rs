//! The rows of one run: which are in flight, and what became of the others.

use super::frame::Frame;
use super::head::Head;
use super::outgoing::Outgoing;
use super::parser::Receiver;
use crate::outcome::{Failure, Malformed, Outcome};
use crate::recorder::Samples;

const OK: u64 = 0;
const PUSH: u64 = 0x80;
const FIRST_ERROR: u64 = 0x8000;
const LAST_ERROR: u64 = 0xffff;

/// How many requests may be in flight, and when to send no more.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) window: usize,
    pub(super) max_failures: u64,
}

/// A row has the sync `first_sync` + its number, so an answer finds it without a table, and that of an earlier run finds
/// none.
pub(super) struct Round<'a> {
    pub(super) samples: Samples,
    /// When the bytes that are being parsed had been read.
    pub(super) now_ns: u64,
    frames: &'a [Frame],
    limits: Limits,
    first_sync: u64,
    /// The first row that has not been begun; those below are in flight or over.
    next_row: usize,
    /// The first row of which the kernel has not taken a byte.
    unsent_row: usize,
    /// Where the frame of that row begins, in bytes of the connection.
    unsent_at: u64,
    /// All rows below are over.
    oldest_row: usize,
    busy: usize,
    failures: u64,
    /// When a request last left, or an answer came.
    moved_ns: u64,
    answer: Answer,
}

/// The answer that is being parsed.
#[derive(Default)]
struct Answer {
    row: usize,
    kind: u64,
    /// Its body is the expected one, as far as it came.
    alike: bool,
}

impl<'a> Round<'a> {
    pub(super) fn new(frames: &'a [Frame], samples: Samples, limits: Limits, first_sync: u64) -> Self {
        Self {
            samples,
            now_ns: 0,
            frames,
            limits,
            first_sync,
            next_row: 0,
            unsent_row: 0,
            unsent_at: 0,
            oldest_row: 0,
            busy: 0,
            failures: 0,
            moved_ns: 0,
            answer: Answer::default(),
        }
    }

    /// The first request goes out at `at_ns`, behind `sent_bytes` of earlier runs.
    pub(super) fn begin(&mut self, at_ns: u64, sent_bytes: u64) {
        self.samples.started_ns = at_ns;
        self.moved_ns = at_ns;
        self.unsent_at = sent_bytes;
    }

    /// The bytes of the longest request.
    pub(super) fn longest_frame(&self) -> usize {
        self.frames.iter().map(Frame::len).max().unwrap_or(0)
    }

    /// The frame of the next row, if it may be sent now.
    pub(super) fn next(&self) -> Option<&'a Frame> {
        let may = self.busy < self.limits.window && self.failures < self.limits.max_failures;
        let target = self.samples.target.get(self.next_row).filter(|_| may)?;
        Some(&self.frames[*target as usize])
    }

    /// Begin as many rows as the window and the buffer have room for.
    pub(super) fn fill(&mut self, outgoing: &mut Outgoing) {
        while let Some(frame) = self.next()
            && outgoing.has_room(frame)
        {
            outgoing.push(frame, self.first_sync + self.next_row as u64);
            self.next_row += 1;
            self.busy += 1;
        }
    }

    /// The kernel took, from `at_ns` on, bytes up to `sent_bytes` of the connection.
    pub(super) fn handed(&mut self, at_ns: u64, sent_bytes: u64) {
        while self.unsent_row < self.next_row && self.unsent_at < sent_bytes {
            self.samples.sent_ns[self.unsent_row] = at_ns;
            self.unsent_at += self.frames[self.samples.target[self.unsent_row] as usize].len() as u64;
            self.unsent_row += 1;
            self.moved_ns = at_ns;
        }
    }

    /// Nothing is in flight and nothing more is to be sent.
    pub(super) fn is_over(&self) -> bool {
        self.busy == 0 && self.next().is_none()
    }

    /// Whether the oldest request in flight has waited for `limit_ns` by `at_ns`, to be answered or to be taken.
    pub(super) fn is_overdue(&mut self, at_ns: u64, limit_ns: u64) -> bool {
        while self.oldest_row < self.next_row && !self.is_open(self.oldest_row) {
            self.oldest_row += 1;
        }
        let since_ns =
            if self.oldest_row < self.unsent_row { self.samples.sent_ns[self.oldest_row] } else { self.moved_ns };
        at_ns.saturating_sub(since_ns) >= limit_ns
    }

    /// There is no connection: so fail the requests that would have gone out first.
    pub(super) fn refuse(&mut self, failure: Failure) {
        let first = self.limits.window.min(self.samples.outcome.len());
        self.samples.outcome[..first].fill(failure.outcome() as u8);
    }

    /// The run ends: so fail the requests in flight that were sent at `latest_ns` or before, and abandon the others.
    pub(super) fn fail(&mut self, failure: Failure, latest_ns: u64) {
        for row in self.oldest_row..self.unsent_row {
            if self.is_open(row) && self.samples.sent_ns[row] <= latest_ns {
                self.samples.outcome[row] = failure.outcome() as u8;
            }
        }
    }

    fn is_open(&self, row: usize) -> bool {
        self.samples.outcome[row] == Outcome::Abandoned as u8
    }

    fn row_of(&self, sync: u64) -> Option<usize> {
        let row = usize::try_from(sync.checked_sub(self.first_sync)?).ok()?;
        (row < self.unsent_row && self.is_open(row)).then_some(row)
    }

    fn frame_of(&self, row: usize) -> &'a Frame {
        &self.frames[self.samples.target[row] as usize]
    }
}

impl Receiver for Round<'_> {
    fn head(&mut self, head: &Head) -> Result<(), Malformed> {
        if !matches!(head.kind, OK | PUSH | FIRST_ERROR..=LAST_ERROR) {
            return Err(Malformed("an answer of an unknown type"));
        }
        let row = self.row_of(head.sync).ok_or(Malformed(match head.sync {
            0 => "an answer with sync 0: the server could not read a request",
            _ => "an answer with a sync that nobody waits for",
        }))?;
        self.answer = Answer { row, kind: head.kind, alike: true };
        if self.samples.first_byte_ns[row] == 0 {
            self.samples.first_byte_ns[row] = self.now_ns;
        }
        if let Ok(code) = u16::try_from(head.kind)
            && head.kind >= FIRST_ERROR
        {
            self.samples.status[row] = code & 0x7fff;
        }
        Ok(())
    }

    fn body(&mut self, piece: &[u8]) {
        if self.answer.kind == PUSH {
            return;
        }
        let row = self.answer.row;
        let before = self.samples.body_bytes[row];
        self.answer.alike = self.answer.alike && self.frame_of(row).allows(before, piece);
        self.samples.body_bytes[row] = before + piece.len() as u64;
    }

    fn end(&mut self) {
        self.moved_ns = self.now_ns;
        let Answer { row, kind, alike } = self.answer;
        let outcome = match kind {
            PUSH => return,
            OK => self.frame_of(row).judge(self.samples.body_bytes[row], alike),
            _ => Outcome::WrongStatus,
        };
        self.samples.done_ns[row] = self.now_ns;
        self.samples.outcome[row] = outcome as u8;
        self.busy -= 1;
        self.failures += u64::from(outcome != Outcome::Ok);
    }
}
