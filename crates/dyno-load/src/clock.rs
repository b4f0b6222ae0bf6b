//! The clocks: one of time, one of work.

use rustix::time::{ClockId, clock_gettime};

/// Now, in nanoseconds of `CLOCK_MONOTONIC` (comparable with Python's `time.monotonic_ns`). Read through the vDSO: no
/// syscall.
pub(crate) fn now_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// CPU nanoseconds of the calling thread since it began.
pub(crate) fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}

#[allow(clippy::cast_sign_loss, reason = "both clocks count up from 0")]
fn read_ns(clock: ClockId) -> u64 {
    let read = clock_gettime(clock);
    read.tv_sec as u64 * 1_000_000_000 + read.tv_nsec as u64
}
