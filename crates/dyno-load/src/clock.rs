//! The one clock.

use rustix::time::{ClockId, clock_gettime};

/// Now, in nanoseconds of `CLOCK_MONOTONIC` (comparable with Python's `time.monotonic_ns`). Read through the vDSO: no
/// syscall.
#[allow(clippy::cast_sign_loss, reason = "CLOCK_MONOTONIC counts up from boot")]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
