//! What the threads of one run share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};

/// What the threads of one run share.
#[derive(Debug)]
pub(crate) struct Common {
    /// The most requests in flight, of all threads.
    width: usize,
    max_failures: u64,
    failures: AtomicU64,
    /// Since the last complete answer.
    time_outs: AtomicUsize,
    stopped: AtomicBool,
    running: AtomicUsize,
}

impl Common {
    pub(crate) fn new(width: usize, max_failures: u64) -> Self {
        Self {
            width,
            max_failures,
            failures: AtomicU64::new(0),
            time_outs: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            running: AtomicUsize::new(0),
        }
    }

    /// One more request is not ok.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn too_many_failures(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= self.max_failures
    }

    pub(crate) fn count_time_out(&self) {
        self.time_outs.fetch_add(1, Ordering::Relaxed);
    }

    /// A complete answer: the server does not hang. It comes too late when some threads have given up.
    pub(crate) fn answered(&self) {
        // Nearly always only read, so the threads do not take the cache line from each other.
        if self.time_outs.load(Ordering::Relaxed) > 0 && !self.hangs() {
            self.time_outs.store(0, Ordering::Relaxed);
        }
    }

    /// As many time-outs in a row as requests may be in flight: nothing was answered for a whole time-out.
    pub(crate) fn hangs(&self) -> bool {
        self.time_outs.load(Ordering::Relaxed) >= self.width
    }

    /// Whether a thread besides the calling one is not over.
    pub(crate) fn others_run(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Says that a thread is over, also when it panics.
pub(crate) struct Running<'a> {
    common: &'a Common,
    waiting: Thread,
}

impl<'a> Running<'a> {
    pub(crate) fn new(common: &'a Common) -> Self {
        common.running.fetch_add(1, Ordering::Relaxed);
        Self { common, waiting: thread::current() }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.common.running.fetch_sub(1, Ordering::Release);
        self.waiting.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_too_many_from_the_last_that_is_allowed_on() {
        let common = Common::new(1, 2);
        common.count_failure();
        assert!(!common.too_many_failures());
        common.count_failure();
        common.count_failure();
        assert!(common.too_many_failures());
    }

    #[test]
    fn a_server_hangs_when_as_many_as_may_be_in_flight_have_timed_out_in_a_row() {
        let common = Common::new(2, 1);
        common.count_time_out();
        common.answered();
        common.count_time_out();
        assert!(!common.hangs());
        common.count_time_out();
        assert!(common.hangs());
        common.answered();
        assert!(common.hangs(), "what is given up stays given up");
    }
}
