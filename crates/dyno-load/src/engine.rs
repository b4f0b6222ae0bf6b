//! The engine: one address, its targets, and the connections kept between runs.

use std::fmt;
use std::io;

use rustix::event::epoll::{self, CreateFlags};

use crate::address::Address;
use crate::closed_loop::ClosedLoop;
use crate::connection::{Connection, Peer};
use crate::outcome::{Failure, Outcome};
use crate::recorder::Samples;
use crate::sink::{Discard, Kept, Sink};
use crate::target::{Target, Transport};

/// One read takes a whole page of most sites.
const BUFFER_BYTES: usize = 64 * 1024;

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

/// A closed-loop generator for one address.
pub struct Engine {
    pub(crate) targets: Vec<Target>,
    pub(crate) options: Options,
    pub(crate) peer: Peer,
    pub(crate) connections: Vec<Connection>,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) last_failure: Option<Failure>,
    transport: Transport,
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
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        Ok(Self {
            targets,
            options,
            peer: Peer { address, epoll, connects: 0 },
            connections: Vec::new(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            last_failure: None,
            transport,
        })
    }

    /// Send the targets of `sequence`, `concurrency` at a time, until each has an outcome or `max_failures` of them are
    /// not ok.
    ///
    /// `should_stop` is asked about every 50 ms; when it says yes, requests in flight are abandoned and their
    /// connections closed.
    ///
    /// # Errors
    /// [`Error::Invalid`]: concurrency or `max_failures` of 0. [`Error::NoSuchTarget`]. [`Error::Io`]: no more file
    /// descriptors, epoll.
    pub fn run(
        &mut self,
        sequence: Vec<u32>,
        concurrency: usize,
        max_failures: u64,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Samples, Error> {
        if concurrency == 0 {
            return Err(Error::Invalid("concurrency must be at least 1".into()));
        }
        if max_failures == 0 {
            return Err(Error::Invalid("max_failures must be at least 1".into()));
        }
        self.drive(sequence, concurrency, max_failures, should_stop, &mut Discard)
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
        let samples = self.drive(vec![target], 1, 1, should_stop, &mut kept)?;
        let (status, code) = (samples.status[0], samples.outcome[0]);
        let (outcome, detail) = match self.last_failure {
            Some(failure) => (failure.outcome(), failure.to_string()),
            None if samples.interrupted => (Outcome::Abandoned, "interrupted".to_owned()),
            None if code == Outcome::WrongStatus as u8 => {
                let expected = self.targets[target as usize].expected.status;
                (Outcome::WrongStatus, format!("status {status}, expected {expected}"))
            }
            None => (Outcome::Ok, String::new()),
        };
        Ok(Fetched { outcome, status, kept, detail, interrupted: samples.interrupted })
    }

    /// Close the kept connections. The engine may be run again.
    pub fn close(&mut self) {
        self.connections.clear();
    }

    fn drive<S: Sink>(
        &mut self,
        sequence: Vec<u32>,
        concurrency: usize,
        max_failures: u64,
        should_stop: &mut dyn FnMut() -> bool,
        sink: &mut S,
    ) -> Result<Samples, Error> {
        let targets = self.targets.len();
        if let Some(&index) = sequence.iter().find(|index| **index as usize >= targets) {
            return Err(Error::NoSuchTarget { index, targets });
        }
        let width = concurrency.min(sequence.len());
        for token in self.connections.len()..width {
            self.connections.push(Connection::new(token, self.transport));
        }
        let done = ClosedLoop::new(self, sequence, width, max_failures, sink).run(should_stop);
        // A fault or an interrupt leaves requests in flight: their answers must not meet the next run.
        self.connections.iter_mut().filter(|connection| !connection.is_idle()).for_each(Connection::close);
        done.map_err(Error::Io)
    }
}
