//! One non-blocking socket, watched by an epoll of its own.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};

use crate::outcome::Failure;

pub(super) struct Link {
    socket: OwnedFd,
    epoll: OwnedFd,
    watched: EventFlags,
}

impl Link {
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let watched = EventFlags::IN;
        epoll::add(&epoll, &socket, EventData::new_u64(0), watched)?;
        Ok(Self { socket, epoll, watched })
    }

    /// Wait for one of `wanted`, or for an error; nothing when `patience` is over or a signal came.
    pub(super) fn wait(&mut self, wanted: EventFlags, patience: &Timespec) -> io::Result<EventFlags> {
        if self.watched != wanted {
            epoll::modify(&self.epoll, &self.socket, EventData::new_u64(0), wanted)?;
            self.watched = wanted;
        }
        let mut events = [MaybeUninit::uninit()];
        match epoll::wait(&self.epoll, &mut events, Some(patience)) {
            Ok((ready, _)) => Ok(ready.first().map_or(EventFlags::empty(), |event| event.flags)),
            Err(Errno::INTR) => Ok(EventFlags::empty()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What became of a `connect`, once the socket can be written to.
    pub(super) fn connected(&self) -> Result<(), Failure> {
        sockopt::socket_error(&self.socket).and_then(|connected| connected).map_err(Failure::Connect)
    }

    /// Hand over as many bytes as the kernel takes now: 0 when it is full.
    pub(super) fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            sent => sent,
        }
    }

    /// Read what is there: 0 bytes when nothing is.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> Result<usize, Failure> {
        match recv(&self.socket, buffer, RecvFlags::empty()) {
            Ok((0, _)) => Err(Failure::Closed),
            Ok((got, _)) => Ok(got),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(errno) => Err(Failure::Broken(errno)),
        }
    }
}
