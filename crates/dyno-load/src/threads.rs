//! One run on several threads, for servers that answer faster than one thread can ask.
//!
//! Connections are dealt to the threads in turn, and rows to the connections in turn, so which thread sends which row
//! is known before the run and the same in every run of this width; a thread with one connection more also has its
//! share of the rows more. A thread never takes a row, or a connection, of another.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use crate::clock::{now_ns, thread_cpu_ns};
use crate::common::{Common, Running};
use crate::connections::Connections;
use crate::error::Error;
use crate::flight::{Flight, drive};
use crate::recorder::Samples;
use crate::sink::Discard;
use crate::width::Width;

/// How long the calling thread waits for the others before it asks again whether to stop.
const WAIT: Duration = Duration::from_millis(10);

/// From the start of the threads of an open run to the zero of their schedule: time to start them all.
const LEAD_NS: u64 = 5_000_000;

/// How a loop fills in the rows of a flight.
pub(crate) type Loop = fn(Flight<'_, Discard>, &mut dyn FnMut() -> bool) -> std::io::Result<Samples>;

/// Let the connections of every thread fill in their part of `whole`: the first on this thread, which alone asks
/// `should_stop`, the others each on one of their own.
pub(crate) fn run_on_threads(
    of_threads: &mut [&mut Connections],
    whole: Samples,
    width: Width,
    common: &Common,
    run: Loop,
    should_stop: &mut dyn FnMut() -> bool,
) -> Result<Samples, Error> {
    let rows: Vec<Vec<usize>> = (0..of_threads.len()).map(|thread| width.rows(thread, whole.target.len())).collect();
    let mut parts: Vec<Samples> = rows.iter().map(|rows| whole.pick(rows)).collect();
    // The zero of a schedule is taken when nothing is left to do but to start: dealing many rows takes its time.
    let started_ns = now_ns() + LEAD_NS;
    for part in &mut parts {
        part.started_ns = started_ns;
    }
    let parts = drive_parts(of_threads, parts, width, common, run, should_stop)?;
    Ok(whole.filled(&rows, parts))
}

fn drive_parts(
    of_threads: &mut [&mut Connections],
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
        let mut shares = of_threads.iter_mut().zip(parts).enumerate().map(|(number, (connections, part))| {
            let most = width.of(number);
            move |stop: &mut dyn FnMut() -> bool| {
                let done = drive(connections, part, most, common, &mut Discard, |flight| run(flight, stop));
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
        while common.others_run() {
            ask();
            thread::park_timeout(WAIT);
        }
        done.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        done.into_iter().collect()
    })
}
