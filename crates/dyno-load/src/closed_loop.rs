//! The closed loop: a free connection takes the next request of the sequence at once.

use std::io;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventFlags};
use rustix::io::Errno;

use crate::clock::now_ns;
use crate::connection::Step;
use crate::engine::Engine;
use crate::outcome::{Failure, Outcome};
use crate::recorder::{Row, Samples};
use crate::sink::Sink;

/// Time-outs and interrupts are looked at when this much has passed, and no wait is longer: so at least every 80 ms,
/// and a time-out is seen that much late at worst. Looking costs nothing per request.
const TICK_NS: u64 = 40_000_000;
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 40_000_000 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Requests started before answers are looked for again: the first connections of a wide loop should not wait for the
/// last.
const STARTS_PER_TURN: usize = 16;

pub(crate) struct ClosedLoop<'a, S> {
    engine: &'a mut Engine,
    samples: Samples,
    sink: &'a mut S,
    /// Room for an event of every connection, so that one wait sees all that is ready.
    events: Vec<Event>,
    /// Connections without a request.
    free: Vec<usize>,
    width: usize,
    next_row: usize,
    in_flight: usize,
    failures_left: u64,
    /// Time-outs since the last complete answer.
    time_outs: usize,
    next_tick_ns: u64,
}

impl<'a, S: Sink> ClosedLoop<'a, S> {
    pub(crate) fn new(
        engine: &'a mut Engine,
        sequence: Vec<u32>,
        width: usize,
        max_failures: u64,
        sink: &'a mut S,
    ) -> Self {
        engine.last_failure = None;
        engine.peer.connects = 0;
        Self {
            events: Vec::with_capacity(engine.connections.len().max(1)),
            engine,
            samples: Samples::for_sequence(sequence),
            sink,
            free: (0..width).rev().collect(),
            width,
            next_row: 0,
            in_flight: 0,
            failures_left: max_failures,
            time_outs: 0,
            next_tick_ns: 0,
        }
    }

    pub(crate) fn run(mut self, should_stop: &mut dyn FnMut() -> bool) -> io::Result<Samples> {
        self.drop_stale()?;
        self.samples.started_ns = now_ns();
        self.next_tick_ns = self.samples.started_ns + TICK_NS;
        loop {
            self.fill()?;
            if self.hangs() || self.in_flight == 0 && !self.more() {
                break;
            }
            let at_ns = self.wait()?;
            if at_ns >= self.next_tick_ns {
                self.next_tick_ns = at_ns + TICK_NS;
                self.expire(at_ns);
                if should_stop() {
                    self.samples.interrupted = true;
                    break;
                }
            }
        }
        self.samples.ended_ns = now_ns();
        self.samples.connects = self.engine.peer.connects;
        Ok(self.samples)
    }

    fn more(&self) -> bool {
        self.failures_left > 0 && !self.hangs() && self.next_row < self.samples.target.len()
    }

    /// As many time-outs in a row as requests may be in flight: nothing was answered for a whole time-out. Each further
    /// round would cost a time-out again, so those in flight are given up too.
    fn hangs(&self) -> bool {
        self.time_outs >= self.width
    }

    /// Close the kept connections that have something to say before we asked: an end, or bytes nobody waits for. One
    /// syscall per run that spares the run most keep-alive races.
    fn drop_stale(&mut self) -> io::Result<()> {
        self.poll(&AT_ONCE)?;
        for event in &self.events {
            self.engine.connections[token_of(event)].close();
        }
        Ok(())
    }

    /// Give free connections a request, up to `STARTS_PER_TURN` of them: also those that fail at once, else a missing
    /// server would hide an interrupt.
    fn fill(&mut self) -> io::Result<()> {
        for _ in 0..STARTS_PER_TURN {
            if !self.more() {
                break;
            }
            let Some(token) = self.free.pop() else { break };
            let row = self.next_row;
            self.next_row += 1;
            self.in_flight += 1;
            let engine = &mut *self.engine;
            let target = &engine.targets[self.samples.target[row] as usize];
            let step = engine.connections[token].start(&mut engine.peer, row, target)?;
            self.settle(token, step);
        }
        Ok(())
    }

    /// Wait for answers and take them; the time afterwards.
    fn wait(&mut self) -> io::Result<u64> {
        let idle = self.more() && !self.free.is_empty();
        if !self.poll(if idle { &AT_ONCE } else { &TICK })? {
            // A signal: look now whether it means us.
            self.next_tick_ns = 0;
        }
        for index in 0..self.events.len() {
            let event = self.events[index];
            self.answer(token_of(&event), event.flags)?;
        }
        Ok(now_ns())
    }

    fn answer(&mut self, token: usize, flags: EventFlags) -> io::Result<()> {
        let engine = &mut *self.engine;
        let connection = &mut engine.connections[token];
        if connection.is_idle() {
            connection.close();
            return Ok(());
        }
        let target = &engine.targets[self.samples.target[connection.row] as usize];
        let step = connection.poke(&mut engine.peer, flags, target, &mut engine.buffer, self.sink)?;
        if step != Step::Pending {
            self.settle(token, step);
            // The next request goes out before the other answers of this wake-up are read: the server need not wait for
            // us.
            self.fill()?;
        }
        Ok(())
    }

    /// Fail what has run out of time.
    fn expire(&mut self, at_ns: u64) {
        for token in 0..self.engine.connections.len() {
            if let Some(failure) = self.engine.connections[token].overdue(at_ns, &self.engine.options) {
                self.settle(token, Step::Failed(failure));
            }
        }
    }

    /// Record the end of a request, if it is one.
    fn settle(&mut self, token: usize, step: Step) {
        let outcome = match step {
            Step::Pending => return,
            Step::Complete { .. } => {
                self.time_outs = 0;
                self.judge(token)
            }
            Step::Failed(failure) => self.failed(failure),
        };
        let connection = &mut self.engine.connections[token];
        let row = Row {
            sent_ns: connection.sent_ns,
            first_byte_ns: connection.first_byte_ns,
            done_ns: connection.done_ns,
            status: connection.answer.status(),
            body_bytes: connection.answer.body_bytes(),
            outcome,
        };
        self.samples.set(connection.row, &row);
        self.samples.stderr_bytes += connection.answer.stderr_bytes();
        connection.finish(step == Step::Complete { reusable: true } && self.engine.options.keep_alive);
        if outcome != Outcome::Ok {
            self.failures_left = self.failures_left.saturating_sub(1);
        }
        self.in_flight -= 1;
        self.free.push(token);
    }

    fn judge(&self, token: usize) -> Outcome {
        let connection = &self.engine.connections[token];
        let target = &self.engine.targets[self.samples.target[connection.row] as usize];
        target.expected.judge(connection.answer.status(), connection.answer.body_bytes())
    }

    fn failed(&mut self, failure: Failure) -> Outcome {
        self.engine.last_failure = Some(failure);
        let outcome = failure.outcome();
        if outcome == Outcome::TimedOut {
            self.time_outs += 1;
        }
        outcome
    }

    /// One `epoll_wait`; false when a signal ended it.
    fn poll(&mut self, patience: &Timespec) -> io::Result<bool> {
        self.events.clear();
        match epoll::wait(&self.engine.peer.epoll, spare_capacity(&mut self.events), Some(patience)) {
            Ok(_) => Ok(true),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn token_of(event: &Event) -> usize {
    usize::try_from(event.data.u64()).unwrap_or(usize::MAX)
}
