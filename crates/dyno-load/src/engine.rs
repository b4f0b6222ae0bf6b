//! The engine: one address, its targets, and the connections kept between runs.

use std::iter;

use crate::address::Address;
use crate::closed_loop::ClosedLoop;
use crate::common::Common;
use crate::connections::Connections;
use crate::error::{Error, at_least_one};
use crate::flight::drive;
use crate::open_loop::OpenLoop;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::recorder::Samples;
use crate::sink::{Discard, Kept};
use crate::target::Target;
use crate::threads::{Loop, run_on_threads};
use crate::width::Width;

/// The latest offset of a schedule, in nanoseconds: 146 years, which leaves room for the clock.
const LAST_OFFSET_NS: u64 = 1 << 62;

/// One whole answer.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The outcome; the expected length is not judged.
    pub outcome: Outcome,
    /// The status, 0 when none came.
    pub status: u16,
    /// Headers, body and STDERR.
    pub kept: Kept,
    /// What went wrong, in words; empty when ok.
    pub detail: String,
    /// Stopped from outside.
    pub interrupted: bool,
}

/// A generator for one address.
pub struct Engine {
    first: Connections,
    /// For the further threads of a run, each with connections of its own.
    others: Vec<Connections>,
}

impl Engine {
    /// An engine without connections yet.
    ///
    /// # Errors
    /// [`Error::Invalid`]: no targets, or targets of both transports, or an empty request. [`Error::Io`]: no epoll.
    pub fn new(address: Address, mut targets: Vec<Target>, options: Options) -> Result<Self, Error> {
        let Some(transport) = targets.first().map(|target| target.transport) else {
            return Err(Error::Invalid("an engine needs at least one target".into()));
        };
        if targets.iter().any(|target| target.transport != transport) {
            return Err(Error::Invalid("all targets of an engine must be of one transport, HTTP or FastCGI".into()));
        }
        if targets.iter().any(|target| target.request.is_empty()) {
            return Err(Error::Invalid("the request of a target is empty".into()));
        }
        for target in &mut targets {
            target.set_keep_alive(options.keep_alive);
        }
        Ok(Self { first: Connections::new(address, targets.into(), options, transport)?, others: Vec::new() })
    }

    /// Send the targets of `sequence`, `width.connections` at a time, until each has an outcome or `max_failures` of them
    /// are not ok.
    ///
    /// `should_stop` is asked about every 50 ms, by the calling thread; when it says yes, requests in flight are
    /// abandoned and their connections closed.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a width or `max_failures` of 0. [`Error::NoSuchTarget`]. [`Error::Io`]: no more file
    /// descriptors or threads, epoll.
    pub fn run(
        &mut self,
        sequence: Vec<u32>,
        width: impl Into<Width>,
        max_failures: u64,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Samples, Error> {
        let width = width.into();
        at_least_one("concurrency", width.connections > 0)?;
        self.measure(Samples::for_sequence(sequence), width, max_failures, should_stop, |flight, should_stop| {
            ClosedLoop::new(flight).run(should_stop)
        })
    }

    /// Send the targets of `sequence`, the i-th `offsets_ns[i]` after the zero of the schedule (`started_ns`), in this
    /// order, on at most `width.connections` connections: they are opened as they are needed, and a request for which
    /// there is none waits. Ends as `run` does. On several threads, each has its part of the schedule and of the
    /// connections: a request waits when its own thread has none free.
    ///
    /// Before a request is due, its thread spins for 0.25 ms: it wants a core of its own.
    ///
    /// # Errors
    /// As [`Engine::run`]; [`Error::Invalid`] also for offsets that descend, are over 2⁶² or not as many as requests.
    pub fn run_open(
        &mut self,
        sequence: Vec<u32>,
        offsets_ns: Vec<u64>,
        width: impl Into<Width>,
        max_failures: u64,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Samples, Error> {
        let width = width.into();
        at_least_one("connections", width.connections > 0)?;
        check_schedule(&offsets_ns, sequence.len())?;
        let samples = Samples::for_schedule(sequence, offsets_ns);
        self.measure(samples, width, max_failures, should_stop, |flight, should_stop| {
            OpenLoop::new(flight).run(should_stop)
        })
    }

    /// One request, the whole answer kept, at most `max_bytes` of body.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub fn fetch(
        &mut self,
        target: u32,
        max_bytes: usize,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Fetched, Error> {
        let mut kept = Kept::new(max_bytes);
        self.check_targets(&[target])?;
        let samples =
            drive(&mut self.first, Samples::for_sequence(vec![target]), 1, &Common::new(1, 1), &mut kept, |flight| {
                ClosedLoop::new(flight).run(should_stop)
            })?;
        let (status, code) = (samples.status[0], samples.outcome[0]);
        let (outcome, detail) = match self.first.last_failure {
            Some(failure) => (failure.outcome(), failure.to_string()),
            None if samples.interrupted => (Outcome::Abandoned, "interrupted".to_owned()),
            None if code == Outcome::WrongStatus as u8 => {
                let expected = self.first.targets[target as usize].expected.status;
                (Outcome::WrongStatus, format!("status {status}, expected {expected}{}", kept.redirection(status)))
            }
            None => (Outcome::Ok, String::new()),
        };
        Ok(Fetched { outcome, status, kept, detail, interrupted: samples.interrupted })
    }

    /// Close the kept connections. The engine may be run again.
    pub fn close(&mut self) {
        self.first.all.clear();
        self.others.clear();
    }

    /// Let the loop of each thread fill in its rows of `samples`.
    fn measure(
        &mut self,
        samples: Samples,
        width: Width,
        max_failures: u64,
        should_stop: &mut dyn FnMut() -> bool,
        run: Loop,
    ) -> Result<Samples, Error> {
        at_least_one("max_failures", max_failures > 0)?;
        self.check_targets(&samples.target)?;
        let common = Common::new(width.connections.min(samples.target.len()), max_failures);
        // Also when there were more threads before: their idle connections would hold workers of the server.
        self.others.truncate(width.threads.get() - 1);
        while self.others.len() < width.threads.get() - 1 {
            self.others.push(self.first.like()?);
        }
        if self.others.is_empty() {
            return drive(&mut self.first, samples, width.connections, &common, &mut Discard, |flight| {
                run(flight, should_stop)
            });
        }
        let mut all: Vec<&mut Connections> = iter::once(&mut self.first).chain(&mut self.others).collect();
        run_on_threads(&mut all, samples, width, &common, run, should_stop)
    }

    fn check_targets(&self, sequence: &[u32]) -> Result<(), Error> {
        let targets = self.first.targets.len();
        match sequence.iter().find(|index| **index as usize >= targets) {
            Some(&index) => Err(Error::NoSuchTarget { index, targets }),
            None => Ok(()),
        }
    }
}

fn check_schedule(offsets_ns: &[u64], rows: usize) -> Result<(), Error> {
    if offsets_ns.len() != rows {
        return Err(Error::Invalid(format!("{} offsets for {rows} requests", offsets_ns.len())));
    }
    if !offsets_ns.is_sorted() {
        return Err(Error::Invalid("the offsets of a schedule must not descend".into()));
    }
    match offsets_ns.last() {
        Some(&last) if last > LAST_OFFSET_NS => {
            Err(Error::Invalid(format!("the offset {last} ns is over {LAST_OFFSET_NS} ns")))
        }
        _ => Ok(()),
    }
}
