//! One connection with its buffers: requests go out while answers come in.

use std::io;

use rustix::event::epoll::EventFlags;

use super::link::Link;
use super::outgoing::Outgoing;
use super::parser::Parser;
use super::round::Round;
use crate::clock::now_ns;
use crate::flight::{AT_ONCE, TICK};
use crate::outcome::Failure;

/// One read takes the answers of a wide window.
const BUFFER_BYTES: usize = 256 * 1024;

pub(super) struct Wire {
    link: Link,
    outgoing: Outgoing,
    parser: Parser,
    buffer: Box<[u8]>,
    /// The server takes no more. What it still says may tell why.
    deaf: bool,
}

impl Wire {
    pub(super) fn new(link: Link, longest_frame: usize) -> Self {
        Self {
            link,
            outgoing: Outgoing::new(longest_frame),
            parser: Parser::default(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            deaf: false,
        }
    }

    /// Fill the window and hand over what the kernel takes in one write.
    ///
    /// Only one, and never one that blocks: a server whose answers nobody reads stops reading, so reading gets its turn
    /// after every write.
    pub(super) fn send(&mut self, round: &mut Round<'_>) {
        if self.deaf {
            return;
        }
        round.fill(&mut self.outgoing);
        if self.outgoing.unsent().is_empty() {
            return;
        }
        let at_ns = now_ns();
        match self.link.send(self.outgoing.unsent()) {
            Ok(sent) => {
                self.outgoing.take(sent);
                round.handed(at_ns, self.outgoing.total);
            }
            Err(_) => self.deaf = true,
        }
    }

    /// Wait for something to read and, while something is left to send, for room for it; nothing when nothing happened
    /// for a tick, or a signal came.
    pub(super) fn wait(&mut self, round: &Round<'_>) -> io::Result<EventFlags> {
        let more = !self.deaf && (!self.outgoing.unsent().is_empty() || round.next().is_some());
        let wanted = if more { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        self.link.wait(wanted, &TICK)
    }

    /// Read what is there, once.
    pub(super) fn receive(&mut self, round: &mut Round<'_>) -> Result<(), Failure> {
        let got = self.link.receive(&mut self.buffer)?;
        round.now_ns = now_ns();
        Ok(self.parser.feed(&self.buffer[..got], round)?)
    }

    /// Bytes that the kernel has taken since the connection was made.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.outgoing.total
    }

    /// Whether the next run may use this connection: nothing is half sent, half answered, or said without being asked.
    pub(super) fn is_idle(&mut self) -> io::Result<bool> {
        let between = !self.deaf && self.outgoing.unsent().is_empty() && self.parser.is_between_answers();
        Ok(between && self.link.wait(EventFlags::IN, &AT_ONCE)?.is_empty())
    }
}
