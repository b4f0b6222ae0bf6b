//! The open loop: requests go out at the times of a schedule, whether or not earlier ones were answered.

use std::io;

use rustix::event::Timespec;

use crate::clock::now_ns;
use crate::flight::{AT_ONCE, Flight, STARTS_PER_TURN, TICK, TICK_NS};
use crate::recorder::Samples;
use crate::sink::Sink;

/// From the beginning of a run to the zero of its schedule, so that the first request can be on time.
const LEAD_NS: u64 = 1_000_000;

/// This long before a request is due we no longer sleep: the kernel may wake us up to 50 µs late (the default timer
/// slack), and in a virtual machine waking takes its time. Seen at 200 a second: 99th percentile of the lag 34 to 330 µs
/// with 100 µs, 1 to 21 µs with these.
const SPIN_NS: u64 = 250_000;

/// The schedule is turned into times of the clock in place, when that no longer makes anything late:
/// `samples.intended_ns` holds offsets until the end of `run`.
pub(crate) struct OpenLoop<'a, S> {
    flight: Flight<'a, S>,
    next_row: usize,
}

impl<'a, S: Sink> OpenLoop<'a, S> {
    pub(crate) fn new(flight: Flight<'a, S>) -> Self {
        Self { flight, next_row: 0 }
    }

    pub(crate) fn run(mut self, should_stop: &mut dyn FnMut() -> bool) -> io::Result<Samples> {
        let ready_ns = self.flight.begin()? + LEAD_NS;
        // Given when several threads share a schedule.
        if self.flight.samples.started_ns == 0 {
            self.flight.samples.started_ns = ready_ns;
        }
        loop {
            self.send_due()?;
            if self.flight.hangs() || self.flight.busy == 0 && !self.more() {
                break;
            }
            let patience = self.patience(now_ns());
            for index in 0..self.flight.wait(&patience)? {
                self.flight.take(index)?;
                // What became due, or waited for this connection, does not wait for the other answers too.
                self.send_due()?;
            }
            if self.flight.tick(now_ns(), should_stop) {
                break;
            }
        }
        let mut samples = self.flight.end();
        for intended_ns in &mut samples.intended_ns {
            *intended_ns += samples.started_ns;
        }
        Ok(samples)
    }

    /// When the next request is to be sent.
    fn due_ns(&self) -> u64 {
        self.flight.samples.started_ns + self.flight.samples.intended_ns[self.next_row]
    }

    fn more(&self) -> bool {
        !self.flight.failed() && self.next_row < self.flight.rows()
    }

    /// Send what is due, as far as there are connections for it; at most `STARTS_PER_TURN`, so that a burst hides
    /// neither answers nor an interrupt.
    fn send_due(&mut self) -> io::Result<()> {
        for _ in 0..STARTS_PER_TURN {
            if !self.more() || !self.flight.has_free() {
                break;
            }
            let (row, intended_ns) = (self.next_row, self.due_ns());
            if intended_ns > now_ns() {
                break;
            }
            // Before the start: one that fails at once gives its connection back, which is no waiting.
            self.flight.samples.ready_ns[row] = intended_ns.max(self.flight.free_since_ns);
            self.next_row += 1;
            self.flight.start(row)?;
        }
        Ok(())
    }

    /// How long may be slept: until shortly before the next request is due, if there is a connection for it.
    fn patience(&self, at_ns: u64) -> Timespec {
        if !self.more() || !self.flight.has_free() {
            return TICK;
        }
        let wake_ns = self.due_ns().saturating_sub(SPIN_NS);
        sleep_of(wake_ns.saturating_sub(at_ns))
    }
}

/// A wait of so many nanoseconds, a tick at most.
fn sleep_of(ns: u64) -> Timespec {
    if ns == 0 { AT_ONCE } else { Timespec { tv_sec: 0, tv_nsec: ns.min(TICK_NS).cast_signed() } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sleep_is_longer_than_a_tick() {
        for (ns, slept) in [(0, 0), (1, 1), (TICK_NS - 1, TICK_NS - 1), (TICK_NS, TICK_NS), (u64::MAX, TICK_NS)] {
            let found = sleep_of(ns);
            assert_eq!((found.tv_sec, found.tv_nsec.cast_unsigned()), (0, slept));
        }
    }
}
