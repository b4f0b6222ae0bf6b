//! The engine: one address, its targets, and the connections kept between runs.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustix::event::epoll::{self, CreateFlags};

use crate::address::Address;
use crate::closed_loop::ClosedLoop;
use crate::connection::{Connection, Peer};
use crate::flight::Flight;
use crate::open_loop::OpenLoop;
use crate::outcome::{Failure, Outcome};
use crate::recorder::Samples;
use crate::sink::{Kept, Sink};
use crate::target::{Target, Transport};
use crate::threads::{Common, Width};

/// One read takes a whole page of most sites.
const BUFFER_BYTES: usize = 64 * 1024;

/// The latest offset of a schedule, in nanoseconds: 146 years, which leaves room for the clock.
const LAST_OFFSET_NS: u64 = 1 << 62;

/// How an engine treats its connections.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Use a connection for more than one request.
    pub keep_alive: bool,
    /// From the start of a request to its connection, in nanoseconds.
    pub connect_timeout_ns: u64,
    /// From the start of a request to its complete response, in nanoseconds.
    pub response_timeout_ns: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { keep_alive: true, connect_timeout_ns: 2_000_000_000, response_timeout_ns: 30_000_000_000 }
    }
}

/// What is not an outcome: a mistake of the caller, or a fault of this host.
#[derive(Debug)]
pub enum Error {
    /// The caller's values, in words.
    Invalid(String),
    /// An entry of the sequence, or a fetch, names a target that does not exist.
    NoSuchTarget {
        /// The index asked for.
        index: u32,
        /// How many targets there are.
        targets: usize,
    },
    /// An entry of the sequence of a pipeline names a frame that does not exist.
    NoSuchFrame {
        /// The index asked for.
        index: u32,
        /// How many frames there are.
        frames: usize,
    },
    /// epoll, or no more file descriptors.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) => f.write_str(why),
            Self::NoSuchTarget { index, targets } => {
                write!(f, "target {index} does not exist: the engine has {targets}, counted from 0")
            }
            Self::NoSuchFrame { index, frames } => {
                write!(f, "frame {index} does not exist: the pipeline has {frames}, counted from 0")
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

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
    pub(crate) targets: Arc<[Target]>,
    pub(crate) options: Options,
    pub(crate) peer: Peer,
    pub(crate) connections: Vec<Connection>,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) last_failure: Option<Failure>,
    pub(crate) transport: Transport,
    /// For the further threads of a run, each with connections of its own.
    pub(crate) others: Vec<Engine>,
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
        Self::with(address, targets.into(), options, transport)
    }

    pub(crate) fn with(
        address: Address,
        targets: Arc<[Target]>,
        options: Options,
        transport: Transport,
    ) -> Result<Self, Error> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        Ok(Self {
            targets,
            options,
            peer: Peer { address, epoll, connects: 0 },
            connections: Vec::new(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            last_failure: None,
            transport,
            others: Vec::new(),
        })
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
        let samples = self.drive(Samples::for_sequence(vec![target]), 1, &Common::new(1, 1), &mut kept, |flight| {
            ClosedLoop::new(flight).run(should_stop)
        })?;
        let (status, code) = (samples.status[0], samples.outcome[0]);
        let (outcome, detail) = match self.last_failure {
            Some(failure) => (failure.outcome(), failure.to_string()),
            None if samples.interrupted => (Outcome::Abandoned, "interrupted".to_owned()),
            None if code == Outcome::WrongStatus as u8 => {
                let expected = self.targets[target as usize].expected.status;
                (Outcome::WrongStatus, format!("status {status}, expected {expected}{}", kept.redirection(status)))
            }
            None => (Outcome::Ok, String::new()),
        };
        Ok(Fetched { outcome, status, kept, detail, interrupted: samples.interrupted })
    }

    /// Close the kept connections. The engine may be run again.
    pub fn close(&mut self) {
        self.connections.clear();
        self.others.clear();
    }

    pub(crate) fn check_targets(&self, sequence: &[u32]) -> Result<(), Error> {
        let targets = self.targets.len();
        match sequence.iter().find(|index| **index as usize >= targets) {
            Some(&index) => Err(Error::NoSuchTarget { index, targets }),
            None => Ok(()),
        }
    }

    /// Let a loop fill in the rows of `samples`, with at most `width` requests in flight.
    pub(crate) fn drive<S: Sink>(
        &mut self,
        samples: Samples,
        width: usize,
        common: &Common,
        sink: &mut S,
        run: impl FnOnce(Flight<'_, S>) -> io::Result<Samples>,
    ) -> Result<Samples, Error> {
        let width = width.min(samples.target.len());
        for token in self.connections.len()..width {
            self.connections.push(Connection::new(token, self.transport));
        }
        let done = run(Flight::new(self, samples, width, common, sink));
        // A fault or an interrupt leaves requests in flight: their answers must not meet the next run.
        self.connections.iter_mut().filter(|connection| !connection.is_idle()).for_each(Connection::close);
        done.map_err(Error::Io)
    }
}

pub(crate) fn at_least_one(name: &str, is: bool) -> Result<(), Error> {
    if is { Ok(()) } else { Err(Error::Invalid(format!("{name} must be at least 1"))) }
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
