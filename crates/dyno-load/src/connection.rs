//! One non-blocking connection and the request on it: a state machine that the loop pokes.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::address::Address;
use crate::answer::Answer;
use crate::clock::now_ns;
use crate::http1::Progress;
use crate::options::Options;
use crate::outcome::{Failure, Malformed, Outcome};
use crate::pattern::Follower;
use crate::sink::{Sink, Tee};
use crate::socket::{Opened, open};
use crate::target::{Target, Transport};

/// Full reads per wake-up before the others get their turn, so that an endless body stops neither them nor the
/// time-outs.
const READS_PER_EVENT: usize = 16;

/// What all connections of an engine share.
pub(crate) struct Peer {
    pub(crate) address: Address,
    pub(crate) epoll: OwnedFd,
    /// Connections opened.
    pub(crate) connects: u64,
}

/// What a poke led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Pending,
    /// `reusable`: as far as the bytes say.
    Complete {
        reusable: bool,
    },
    Failed(Failure),
}

impl From<Malformed> for Step {
    fn from(malformed: Malformed) -> Self {
        Self::Failed(malformed.into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Connecting,
    Sending,
    Receiving,
}

pub(crate) struct Connection {
    token: u64,
    socket: Option<OwnedFd>,
    state: State,
    watched: EventFlags,
    pub(crate) answer: Answer,
    follower: Follower,
    written: usize,
    /// This socket has already carried an answer, so its end before the next one may be a keep-alive race.
    used: bool,
    /// The row of the present request.
    pub(crate) row: usize,
    pub(crate) sent_ns: u64,
    pub(crate) first_byte_ns: u64,
    pub(crate) done_ns: u64,
}

impl Connection {
    pub(crate) fn new(token: usize, transport: Transport) -> Self {
        Self {
            token: token as u64,
            socket: None,
            state: State::Idle,
            watched: EventFlags::empty(),
            answer: Answer::new(transport),
            follower: Follower::default(),
            written: 0,
            used: false,
            row: 0,
            sent_ns: 0,
            first_byte_ns: 0,
            done_ns: 0,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Send a request, on a new connection if there is none. `sent_ns` is taken first: making the connection belongs to
    /// the request.
    pub(crate) fn start(&mut self, peer: &mut Peer, row: usize, target: &Target) -> io::Result<Step> {
        self.answer.reset(target);
        self.follower.reset();
        self.row = row;
        self.written = 0;
        self.first_byte_ns = 0;
        self.done_ns = 0;
        self.sent_ns = now_ns();
        if self.socket.is_some() {
            self.state = State::Sending;
            return self.send(peer, target);
        }
        self.open(peer, target)
    }

    /// React to what epoll saw. Flags only say where to look: the truth is in what `send` and `recv` return.
    pub(crate) fn poke<S: Sink>(
        &mut self,
        peer: &mut Peer,
        flags: EventFlags,
        target: &Target,
        buffer: &mut [u8],
        sink: &mut S,
    ) -> io::Result<Step> {
        let gone = EventFlags::ERR | EventFlags::HUP;
        if matches!(self.state, State::Connecting | State::Sending) && flags.intersects(EventFlags::OUT | gone) {
            let step = self.send(peer, target)?;
            if step != Step::Pending {
                return Ok(step);
            }
        }
        // An answer may come, and end, before the request is out: a 413, for example.
        if matches!(self.state, State::Sending | State::Receiving) && flags.intersects(EventFlags::IN | gone) {
            return self.receive(peer, target, buffer, sink);
        }
        Ok(Step::Pending)
    }

    /// Judge the complete answer to `target`.
    pub(crate) fn judge(&mut self, target: &Target) -> Outcome {
        let judged = target.expected.judge(self.answer.status(), self.answer.body_bytes());
        match &target.pattern {
            Some(pattern) if judged == Outcome::Ok && !self.follower.fits(pattern) => Outcome::WrongBody,
            _ => judged,
        }
    }

    /// The body of the answer to `target`, where it was held against a pattern.
    pub(crate) fn body(&self, target: &Target) -> Option<Vec<u8>> {
        target.pattern.as_ref().map(|pattern| self.follower.body(pattern))
    }

    /// The failure of a request that has run out of time at `now_ns`.
    pub(crate) fn overdue(&self, now_ns: u64, options: &Options) -> Option<Failure> {
        let (limit_ns, failure) = match self.state {
            State::Idle => return None,
            State::Connecting => (options.connect_timeout_ns, Failure::ConnectTimeout),
            State::Sending | State::Receiving => (options.response_timeout_ns, Failure::ResponseTimeout),
        };
        (now_ns.saturating_sub(self.sent_ns) >= limit_ns).then_some(failure)
    }

    /// The request is over; `keep` the connection for the next one, or close it.
    pub(crate) fn finish(&mut self, keep: bool) {
        self.state = State::Idle;
        self.used = true;
        if !keep {
            self.close();
        }
    }

    /// Close the socket, which also takes it out of epoll.
    pub(crate) fn close(&mut self) {
        self.state = State::Idle;
        self.socket = None;
    }

    fn open(&mut self, peer: &mut Peer, target: &Target) -> io::Result<Step> {
        self.written = 0;
        self.used = false;
        self.watched = EventFlags::empty();
        let socket = match open(&peer.address)? {
            Opened::Connected(socket) => {
                peer.connects += 1;
                self.state = State::Sending;
                socket
            }
            Opened::Connecting(socket) => {
                self.state = State::Connecting;
                socket
            }
            Opened::Failed(errno) => return Ok(Step::Failed(Failure::Connect(errno))),
        };
        self.socket = Some(socket);
        // Even while connecting: over loopback the handshake is usually over by now, and the send saves a trip through
        // epoll.
        self.send(peer, target)
    }

    fn send(&mut self, peer: &mut Peer, target: &Target) -> io::Result<Step> {
        while self.written < target.request.len() {
            let Some(socket) = &self.socket else {
                return Ok(Step::Failed(Failure::Closed));
            };
            match send(socket, &target.request[self.written..], SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    self.connected(peer);
                    self.written += sent;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return self.watch(peer, EventFlags::IN | EventFlags::OUT),
                Err(errno) if self.state == State::Connecting => return Ok(Step::Failed(Failure::Connect(errno))),
                Err(_) if self.lost_race() => return self.reopen(peer, target),
                // The peer may have answered before it closed: what it said comes with the next read.
                Err(_) => break,
            }
        }
        self.state = State::Receiving;
        self.watch(peer, EventFlags::IN)
    }

    fn connected(&mut self, peer: &mut Peer) {
        if self.state == State::Connecting {
            self.state = State::Sending;
            peer.connects += 1;
        }
    }

    fn receive<S: Sink>(
        &mut self,
        peer: &mut Peer,
        target: &Target,
        buffer: &mut [u8],
        sink: &mut S,
    ) -> io::Result<Step> {
        for _ in 0..READS_PER_EVENT {
            let Some(socket) = &self.socket else {
                return Ok(Step::Failed(Failure::Closed));
            };
            let got = match recv(socket, &mut *buffer, RecvFlags::empty()) {
                Ok((got, _)) => got,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(Step::Pending),
                Err(_) if self.lost_race() => return self.reopen(peer, target),
                Err(errno) => return Ok(Step::Failed(Failure::Broken(errno))),
            };
            if got == 0 {
                if self.lost_race() {
                    return self.reopen(peer, target);
                }
                return Ok(self.peer_closed());
            }
            let step = self.take(&buffer[..got], target, sink);
            // A short read has emptied the socket: asking again would cost a syscall to hear EAGAIN.
            if step != Step::Pending || got < buffer.len() {
                return Ok(step);
            }
        }
        Ok(Step::Pending)
    }

    fn take<S: Sink>(&mut self, bytes: &[u8], target: &Target, sink: &mut S) -> Step {
        let now_ns = now_ns();
        if self.first_byte_ns == 0 {
            self.first_byte_ns = now_ns;
        }
        let fed = match &target.pattern {
            Some(pattern) => self.answer.feed(bytes, &mut Tee { sink, follower: &mut self.follower, pattern }),
            None => self.answer.feed(bytes, sink),
        };
        match fed {
            Ok(Progress::More) => Step::Pending,
            Ok(Progress::Complete { reusable }) => {
                self.done_ns = now_ns;
                Step::Complete { reusable: reusable && self.written == target.request.len() }
            }
            Err(malformed) => malformed.into(),
        }
    }

    fn peer_closed(&mut self) -> Step {
        match self.answer.close() {
            Ok(_) => {
                self.done_ns = now_ns();
                Step::Complete { reusable: false }
            }
            Err(failure) => Step::Failed(failure),
        }
    }

    /// Whether the end of the connection means only that the peer had given up an idle connection as we were about to
    /// use it. At most once for a request: the connection that `reopen` makes is not a used one.
    fn lost_race(&self) -> bool {
        self.used && self.first_byte_ns == 0
    }

    fn reopen(&mut self, peer: &mut Peer, target: &Target) -> io::Result<Step> {
        self.socket = None;
        self.open(peer, target)
    }

    /// Change what epoll watches, if it changes: a kept connection that can always send at once costs no `epoll_ctl`.
    fn watch(&mut self, peer: &Peer, flags: EventFlags) -> io::Result<Step> {
        if let Some(socket) = &self.socket {
            if self.watched.is_empty() {
                epoll::add(&peer.epoll, socket, EventData::new_u64(self.token), flags)?;
            } else if self.watched != flags {
                epoll::modify(&peer.epoll, socket, EventData::new_u64(self.token), flags)?;
            }
            self.watched = flags;
        }
        Ok(Step::Pending)
    }
}
