//! The requests in flight: what every loop does with them, whatever decides when the next one starts.

use std::io;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event};
use rustix::io::Errno;

use crate::clock::now_ns;
use crate::common::Common;
use crate::connection::Step;
use crate::connections::Connections;
use crate::error::Error;
use crate::outcome::{Failure, Outcome};
use crate::recorder::{Different, MOST_DIFFERENT, Row, Samples};
use crate::sink::Sink;

/// Time-outs and interrupts are looked at when this much has passed, and no wait is longer: so at least every 80 ms,
/// and a time-out is seen that much late at worst. Looking costs nothing per request.
pub(crate) const TICK_NS: u64 = 40_000_000;
pub(crate) const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
pub(crate) const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 40_000_000 };

/// Requests started before answers are looked for again: the first connections of a wide loop should not wait for the
/// last.
pub(crate) const STARTS_PER_TURN: usize = 16;

pub(crate) struct Flight<'a, S> {
    pub(crate) samples: Samples,
    /// Requests sent whose end is not known yet.
    pub(crate) busy: usize,
    /// When a connection was last given back after none had been free; 0 before.
    pub(crate) free_since_ns: u64,
    connections: &'a mut Connections,
    sink: &'a mut S,
    /// Room for an event of every connection, so that one wait sees all that is ready.
    events: Vec<Event>,
    /// Connections without a request. The last one used comes first, so no more of them are opened than are needed at
    /// a time.
    free: Vec<usize>,
    common: &'a Common,
    next_tick_ns: u64,
}

impl<'a, S: Sink> Flight<'a, S> {
    /// Nothing in flight yet, of at most `width` at a time.
    pub(crate) fn new(
        connections: &'a mut Connections,
        samples: Samples,
        width: usize,
        common: &'a Common,
        sink: &'a mut S,
    ) -> Self {
        connections.last_failure = None;
        connections.peer.connects = 0;
        Self {
            samples,
            busy: 0,
            free_since_ns: 0,
            events: Vec::with_capacity(connections.all.len().max(1)),
            connections,
            sink,
            free: (0..width).rev().collect(),
            common,
            next_tick_ns: 0,
        }
    }

    /// Make the connections ready; the time afterwards.
    pub(crate) fn begin(&mut self) -> io::Result<u64> {
        self.drop_stale()?;
        let at_ns = now_ns();
        self.next_tick_ns = at_ns + TICK_NS;
        Ok(at_ns)
    }

    /// The columns, at the end of a run.
    pub(crate) fn end(mut self) -> Samples {
        // A schedule begins a little after its run: not before it even if nothing is sent.
        self.samples.ended_ns = now_ns().max(self.samples.started_ns);
        self.samples.connects = self.connections.peer.connects;
        self.samples
    }

    pub(crate) fn rows(&self) -> usize {
        self.samples.target.len()
    }

    /// The server hangs: each further round would cost a time-out again, so those in flight are given up too.
    pub(crate) fn hangs(&self) -> bool {
        self.common.hangs()
    }

    /// Nothing more is to be started.
    pub(crate) fn failed(&self) -> bool {
        self.common.too_many_failures() || self.hangs()
    }

    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Give a request to a free connection; false when there is none.
    pub(crate) fn start(&mut self, row: usize) -> io::Result<bool> {
        let Some(token) = self.free.pop() else { return Ok(false) };
        self.busy += 1;
        let connections = &mut *self.connections;
        let target = &connections.targets[self.samples.target[row] as usize];
        let step = connections.all[token].start(&mut connections.peer, row, target)?;
        self.settle(token, step);
        Ok(true)
    }

    /// Wait for answers; how many connections have something to say, for `take`.
    pub(crate) fn wait(&mut self, patience: &Timespec) -> io::Result<usize> {
        if !self.poll(patience)? {
            // A signal: look now whether it means us.
            self.next_tick_ns = 0;
        }
        Ok(self.events.len())
    }

    /// Hear what one of the connections of the last wait has to say; whether a request ended.
    pub(crate) fn take(&mut self, index: usize) -> io::Result<bool> {
        let (token, flags) = (token_of(&self.events[index]), self.events[index].flags);
        let connections = &mut *self.connections;
        let connection = &mut connections.all[token];
        if connection.is_idle() {
            connection.close();
            return Ok(false);
        }
        let target = &connections.targets[self.samples.target[connection.row] as usize];
        let step = connection.poke(&mut connections.peer, flags, target, &mut connections.buffer, self.sink)?;
        self.settle(token, step);
        Ok(step != Step::Pending)
    }

    /// When it is time again: fail what has run out of time, and ask whether to stop. True when the run was
    /// interrupted.
    pub(crate) fn tick(&mut self, at_ns: u64, should_stop: &mut dyn FnMut() -> bool) -> bool {
        // Another thread of this run heard that it is to end: no need to wait for our own tick.
        if self.common.stopped() {
            self.samples.interrupted = true;
            return true;
        }
        if at_ns < self.next_tick_ns {
            return false;
        }
        self.next_tick_ns = at_ns + TICK_NS;
        for token in 0..self.connections.all.len() {
            if let Some(failure) = self.connections.all[token].overdue(at_ns, &self.connections.options) {
                self.settle(token, Step::Failed(failure));
            }
        }
        self.samples.interrupted = should_stop();
        self.samples.interrupted
    }

    /// Close the kept connections that have something to say before we asked: an end, or bytes nobody waits for. One
    /// syscall per run that spares the run most keep-alive races.
    fn drop_stale(&mut self) -> io::Result<()> {
        self.poll(&AT_ONCE)?;
        for event in &self.events {
            self.connections.all[token_of(event)].close();
        }
        Ok(())
    }

    /// Record the end of a request, if it is one.
    fn settle(&mut self, token: usize, step: Step) {
        let outcome = match step {
            Step::Pending => return,
            Step::Complete { .. } => {
                self.common.answered();
                self.judge(token)
            }
            Step::Failed(failure) => self.note(failure),
        };
        let connection = &mut self.connections.all[token];
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
        connection.finish(step == Step::Complete { reusable: true } && self.connections.options.keep_alive);
        // What answers otherwise than expected was asked and has answered: nothing stands still.
        if outcome != Outcome::Ok && outcome != Outcome::WrongBody {
            self.common.count_failure();
        }
        if self.free.is_empty() {
            self.free_since_ns = if row.done_ns > 0 { row.done_ns } else { now_ns() };
        }
        self.busy -= 1;
        self.free.push(token);
    }

    fn judge(&mut self, token: usize) -> Outcome {
        let connection = &mut self.connections.all[token];
        let target = &self.connections.targets[self.samples.target[connection.row] as usize];
        let outcome = connection.judge(target);
        if outcome == Outcome::WrongBody && self.samples.different.len() < MOST_DIFFERENT {
            let body = connection.body(target).unwrap_or_default();
            self.samples.different.push(Different { row: connection.row, body });
        }
        outcome
    }

    fn note(&mut self, failure: Failure) -> Outcome {
        self.connections.last_failure = Some(failure);
        let outcome = failure.outcome();
        if outcome == Outcome::TimedOut {
            self.common.count_time_out();
        }
        outcome
    }

    /// One `epoll_pwait2`; false when a signal ended it.
    fn poll(&mut self, patience: &Timespec) -> io::Result<bool> {
        self.events.clear();
        match epoll::wait(&self.connections.peer.epoll, spare_capacity(&mut self.events), Some(patience)) {
            Ok(_) => Ok(true),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Let a loop fill in the rows of `samples`, with at most `width` requests in flight.
pub(crate) fn drive<S: Sink>(
    connections: &mut Connections,
    samples: Samples,
    width: usize,
    common: &Common,
    sink: &mut S,
    run: impl FnOnce(Flight<'_, S>) -> io::Result<Samples>,
) -> Result<Samples, Error> {
    let width = width.min(samples.target.len());
    connections.widen(width);
    let done = run(Flight::new(connections, samples, width, common, sink));
    // A fault or an interrupt leaves requests in flight.
    connections.close_busy();
    done.map_err(Error::Io)
}

fn token_of(event: &Event) -> usize {
    usize::try_from(event.data.u64()).unwrap_or(usize::MAX)
}
