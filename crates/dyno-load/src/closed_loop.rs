//! The closed loop: a free connection takes the next request of the sequence at once.

use std::io;

use crate::clock::now_ns;
use crate::flight::{AT_ONCE, Flight, STARTS_PER_TURN, TICK};
use crate::recorder::Samples;
use crate::sink::Sink;

pub(crate) struct ClosedLoop<'a, S> {
    flight: Flight<'a, S>,
    next_row: usize,
}

impl<'a, S: Sink> ClosedLoop<'a, S> {
    pub(crate) fn new(flight: Flight<'a, S>) -> Self {
        Self { flight, next_row: 0 }
    }

    pub(crate) fn run(mut self, should_stop: &mut dyn FnMut() -> bool) -> io::Result<Samples> {
        self.flight.samples.started_ns = self.flight.begin()?;
        loop {
            self.fill()?;
            if self.flight.hangs() || self.flight.busy == 0 && !self.more() {
                break;
            }
            self.wait()?;
            if self.flight.tick(now_ns(), should_stop) {
                break;
            }
        }
        Ok(self.flight.end())
    }

    fn more(&self) -> bool {
        !self.flight.failed() && self.next_row < self.flight.rows()
    }

    /// Give free connections a request, up to `STARTS_PER_TURN` of them: also those that fail at once, else a missing
    /// server would hide an interrupt.
    fn fill(&mut self) -> io::Result<()> {
        for _ in 0..STARTS_PER_TURN {
            if !self.more() || !self.flight.start(self.next_row)? {
                break;
            }
            self.next_row += 1;
        }
        Ok(())
    }

    fn wait(&mut self) -> io::Result<()> {
        let idle = self.more() && self.flight.has_free();
        for index in 0..self.flight.wait(if idle { &AT_ONCE } else { &TICK })? {
            // The next request goes out before the other answers of this wake-up are read: the server need not wait for
            // us.
            if self.flight.take(index)? {
                self.fill()?;
            }
        }
        Ok(())
    }
}
