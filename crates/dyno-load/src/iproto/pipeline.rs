//! The pipeline: one connection, prebuilt requests, many of them in flight.

use std::io;

use rustix::event::epoll::EventFlags;

use super::frame::Frame;
use super::greeting::{Greeted, connect};
use super::round::{Limits, Round};
use super::wire::Wire;
use crate::address::Address;
use crate::clock::now_ns;
use crate::error::{Error, at_least_one};
use crate::flight::TICK_NS;
use crate::outcome::Failure;
use crate::recorder::Samples;

/// How long a pipeline waits, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From `connect` to the end of the greeting.
    pub connect_ns: u64,
    /// From sending a request to its complete answer.
    pub response_ns: u64,
}

/// Keeps many prebuilt requests in flight on one connection, to find what a server can do at most.
///
/// By default an answer is ok when its type is 0 and the length of its body is one that its frame allows; a frame may
/// also ask for an exact body.
pub struct Pipeline {
    address: Address,
    frames: Vec<Frame>,
    timeouts: Timeouts,
    wire: Option<Wire>,
    next_sync: u64,
    failure: Option<Failure>,
}

/// How the exchange of a run ended.
enum End {
    Complete,
    Failed(Failure),
    Interrupted,
}

impl Pipeline {
    /// A pipeline without a connection yet.
    ///
    /// # Errors
    /// [`Error::Invalid`]: no frames.
    pub fn new(address: Address, frames: Vec<Frame>, timeouts: Timeouts) -> Result<Self, Error> {
        if frames.is_empty() {
            return Err(Error::Invalid("a pipeline needs at least one frame".into()));
        }
        // Sync 0 is the server's, for what it cannot read.
        Ok(Self { address, frames, timeouts, wire: None, next_sync: 1, failure: None })
    }

    /// Send the frames of `sequence`, `window` of them in flight, until each has an outcome or `max_failures` of them
    /// are not ok.
    ///
    /// What breaks the connection ends the run: requests in flight get it as their outcome (of a time-out only those
    /// that are overdue), the others are abandoned, and [`Pipeline::failure`] says why. `should_stop` is asked about
    /// every 50 ms; when it says yes, requests in flight are abandoned and the connection closed.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a window or `max_failures` of 0. [`Error::NoSuchFrame`]. [`Error::Io`]: no more file
    /// descriptors, epoll.
    pub fn run(
        &mut self,
        sequence: Vec<u32>,
        window: usize,
        max_failures: u64,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Samples, Error> {
        at_least_one("window", window > 0)?;
        at_least_one("max_failures", max_failures > 0)?;
        let frames = self.frames.len();
        if let Some(&index) = sequence.iter().find(|index| **index as usize >= frames) {
            return Err(Error::NoSuchFrame { index, frames });
        }
        let (first_sync, limits) = (self.next_sync, Limits { window, max_failures });
        self.next_sync += sequence.len() as u64;
        let mut round = Round::new(&self.frames, Samples::for_sequence(sequence), limits, first_sync);
        let kept = match self.wire.take() {
            Some(mut wire) => wire.is_idle()?.then_some(wire),
            None => None,
        };
        let (wire, end) = drive(kept, &self.address, self.timeouts, &mut round, should_stop)?;
        self.wire = wire;
        self.failure = if let End::Failed(failure) = end { Some(failure) } else { None };
        let interrupted = matches!(end, End::Interrupted);
        Ok(Samples { ended_ns: now_ns(), interrupted, ..round.samples })
    }

    /// Why the last run ended early; nothing when it did not, or was interrupted.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Close the kept connection. The pipeline may be run again.
    pub fn close(&mut self) {
        self.wire = None;
    }
}

/// Make a connection if none is kept, and let the round take its course; the connection, if the next run may try it.
fn drive(
    kept: Option<Wire>,
    address: &Address,
    timeouts: Timeouts,
    round: &mut Round<'_>,
    should_stop: &mut dyn FnMut() -> bool,
) -> io::Result<(Option<Wire>, End)> {
    round.begin(now_ns(), 0);
    let mut wire = match kept {
        Some(wire) => wire,
        None => match connect(address, timeouts.connect_ns, should_stop)? {
            Greeted::Link(link) => {
                round.samples.connects = 1;
                Wire::new(link, round.longest_frame())
            }
            Greeted::Failed(failure) => {
                round.refuse(failure);
                return Ok((None, End::Failed(failure)));
            }
            Greeted::Interrupted => return Ok((None, End::Interrupted)),
        },
    };
    let end = exchange(&mut wire, round, timeouts.response_ns, should_stop)?;
    Ok((matches!(end, End::Complete).then_some(wire), end))
}

fn exchange(
    wire: &mut Wire,
    round: &mut Round<'_>,
    response_ns: u64,
    should_stop: &mut dyn FnMut() -> bool,
) -> io::Result<End> {
    let mut at_ns = now_ns();
    round.begin(at_ns, wire.sent_bytes());
    let mut next_tick_ns = at_ns + TICK_NS;
    loop {
        wire.send(round);
        if round.is_over() {
            return Ok(End::Complete);
        }
        let heard = wire.wait(round)?;
        if heard.intersects(!EventFlags::OUT)
            && let Err(failure) = wire.receive(round)
        {
            round.fail(failure, u64::MAX);
            return Ok(End::Failed(failure));
        }
        at_ns = now_ns();
        // Nothing heard may be a signal: look now whether it means us.
        if at_ns < next_tick_ns && !heard.is_empty() {
            continue;
        }
        next_tick_ns = at_ns + TICK_NS;
        if should_stop() {
            return Ok(End::Interrupted);
        }
        if round.is_overdue(at_ns, response_ns) {
            round.fail(Failure::ResponseTimeout, at_ns.saturating_sub(response_ns));
            return Ok(End::Failed(Failure::ResponseTimeout));
        }
    }
}
