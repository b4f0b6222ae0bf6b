//! One run on several threads, for servers that answer faster than one thread can ask.
//!
//! Connections are dealt to the threads in turn, and rows to the connections in turn, so which thread sends which row
//! is known before the run and the same in every run of this width; a thread with one connection more also has its
//! share of the rows more. A thread never takes a row, or a connection, of another.

use std::mem;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::clock::{now_ns, thread_cpu_ns};
use crate::engine::{Engine, Error, at_least_one};
use crate::flight::Flight;
use crate::recorder::Samples;
use crate::sink::Discard;

/// How long the calling thread waits for the others before it asks again whether to stop.
const WAIT: Duration = Duration::from_millis(10);

/// From the start of the threads of an open run to the zero of their schedule: time to start them all.
const LEAD_NS: u64 = 5_000_000;

/// Connections, and the threads that share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// The most requests in flight.
    pub connections: usize,
    /// 1, or as many as there are cores to spare.
    pub threads: NonZero<usize>,
}

impl From<usize> for Width {
    fn from(connections: usize) -> Self {
        Self { connections, threads: NonZero::<usize>::MIN }
    }
}

impl Width {
    /// So many connections on so many threads.
    ///
    /// # Errors
    /// [`Error::Invalid`]: no thread, or more of them than connections.
    pub fn new(connections: usize, threads: usize) -> Result<Self, Error> {
        let threads = NonZero::new(threads).ok_or_else(|| Error::Invalid("threads must be at least 1".into()))?;
        if threads.get() > connections.max(1) {
            return Err(Error::Invalid(format!(
                "{threads} threads for {connections} connections: each thread needs one of its own"
            )));
        }
        Ok(Self { connections, threads })
    }

    /// The connections of one thread.
    fn of(self, thread: usize) -> usize {
        self.connections / self.threads + usize::from(thread < self.connections % self.threads)
    }

    /// The rows of one thread, ascending.
    fn rows(self, thread: usize, rows: usize) -> Vec<usize> {
        (0..rows).filter(|row| row % self.connections % self.threads == thread).collect()
    }
}

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

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Says that a thread is over, also when it panics.
struct Running<'a> {
    common: &'a Common,
    waiting: Thread,
}

impl<'a> Running<'a> {
    fn new(common: &'a Common) -> Self {
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

/// How a loop fills in the rows of a flight.
pub(crate) type Loop = fn(Flight<'_, Discard>, &mut dyn FnMut() -> bool) -> std::io::Result<Samples>;

impl Engine {
    /// Let the loop of each thread fill in its rows of `samples`.
    pub(crate) fn measure(
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
            let address = self.peer.address.clone();
            self.others.push(Self::with(address, Arc::clone(&self.targets), self.options, self.transport)?);
        }
        if self.others.is_empty() {
            return self.drive(samples, width.connections, &common, &mut Discard, |flight| run(flight, should_stop));
        }
        let mut others = mem::take(&mut self.others);
        let mut engines: Vec<&mut Self> = std::iter::once(&mut *self).chain(&mut others).collect();
        let done = run_on_threads(&mut engines, samples, width, &common, run, should_stop);
        self.others = others;
        done
    }
}

/// Let every engine fill in its part of `whole`: the first on this thread, which alone asks `should_stop`, the others
/// each on one of their own.
fn run_on_threads(
    engines: &mut [&mut Engine],
    whole: Samples,
    width: Width,
    common: &Common,
    run: Loop,
    should_stop: &mut dyn FnMut() -> bool,
) -> Result<Samples, Error> {
    let rows: Vec<Vec<usize>> = (0..engines.len()).map(|thread| width.rows(thread, whole.target.len())).collect();
    let mut parts: Vec<Samples> = rows.iter().map(|rows| whole.pick(rows)).collect();
    // The zero of a schedule is taken when nothing is left to do but to start: dealing many rows takes its time.
    let started_ns = now_ns() + LEAD_NS;
    for part in &mut parts {
        part.started_ns = started_ns;
    }
    let parts = drive_parts(engines, parts, width, common, run, should_stop)?;
    Ok(whole.filled(&rows, parts))
}

fn drive_parts(
    engines: &mut [&mut Engine],
    parts: Vec<Samples>,
    width: Width,
    common: &Common,
    run: Loop,
    should_stop: &mut dyn FnMut() -> bool,
) -> Result<Vec<Samples>, Error> {
    let mut ask = || {
        if !common.stopped() && should_stop() {
            common.stop();
        }
        common.stopped()
    };
    thread::scope(|scope| {
        let mut shares = engines.iter_mut().zip(parts).enumerate().map(|(number, (engine, part))| {
            let connections = width.of(number);
            move |stop: &mut dyn FnMut() -> bool| {
                let done = engine.drive(part, connections, common, &mut Discard, |flight| run(flight, stop));
                if done.is_err() {
                    common.stop();
                }
                done
            }
        });
        let mine = shares.next();
        let mut others = Vec::new();
        for share in shares {
            let running = Running::new(common);
            let work = move || {
                let _running = running;
                share(&mut || false).map(|part| Samples { other_threads_cpu_ns: thread_cpu_ns(), ..part })
            };
            others.push(
                thread::Builder::new().name("load".into()).spawn_scoped(scope, work).inspect_err(|_| common.stop())?,
            );
        }
        let mut done: Vec<_> = mine.into_iter().map(|share| share(&mut ask)).collect();
        while common.running.load(Ordering::Acquire) > 0 {
            ask();
            thread::park_timeout(WAIT);
        }
        done.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        done.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_and_every_connection_belongs_to_one_thread() {
        for (connections, threads, rows) in [(1, 1, 5), (4, 2, 10), (5, 2, 11), (7, 3, 100), (3, 3, 1), (2, 2, 0)] {
            let width = Width::new(connections, threads).unwrap();
            let mut dealt: Vec<usize> = (0..threads).flat_map(|thread| width.rows(thread, rows)).collect();
            dealt.sort_unstable();
            assert_eq!(dealt, (0..rows).collect::<Vec<_>>());
            assert_eq!((0..threads).map(|thread| width.of(thread)).sum::<usize>(), connections);
        }
    }

    #[test]
    fn rows_are_dealt_in_proportion_to_connections() {
        let width = Width::new(3, 2).unwrap();
        assert_eq!((width.of(0), width.of(1)), (2, 1));
        assert_eq!((width.rows(0, 9), width.rows(1, 9)), (vec![0, 2, 3, 5, 6, 8], vec![1, 4, 7]));
    }

    #[test]
    fn a_thread_needs_a_connection() {
        for (connections, threads) in [(1, 0), (1, 2), (0, 2)] {
            assert!(Width::new(connections, threads).is_err(), "{connections} {threads}");
        }
    }

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
