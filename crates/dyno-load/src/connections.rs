//! The connections of one thread to an address, kept between runs, and the targets that they are asked for.

use std::io;
use std::sync::Arc;

use rustix::event::epoll::{self, CreateFlags};

use crate::address::Address;
use crate::connection::{Connection, Peer};
use crate::error::Error;
use crate::options::Options;
use crate::outcome::Failure;
use crate::target::{Target, Transport};

/// One read takes a whole page of most sites.
const BUFFER_BYTES: usize = 64 * 1024;

pub(crate) struct Connections {
    pub(crate) targets: Arc<[Target]>,
    pub(crate) options: Options,
    pub(crate) peer: Peer,
    pub(crate) all: Vec<Connection>,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) last_failure: Option<Failure>,
    transport: Transport,
}

impl Connections {
    /// None is open yet.
    ///
    /// # Errors
    /// [`Error::Io`]: no epoll.
    pub(crate) fn new(
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
            all: Vec::new(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            last_failure: None,
            transport,
        })
    }

    /// Those of one thread more, none of them open yet.
    ///
    /// # Errors
    /// As [`Connections::new`].
    pub(crate) fn like(&self) -> Result<Self, Error> {
        Self::new(self.peer.address.clone(), Arc::clone(&self.targets), self.options, self.transport)
    }

    /// Have so many of them, open or not.
    pub(crate) fn widen(&mut self, width: usize) {
        for token in self.all.len()..width {
            self.all.push(Connection::new(token, self.transport));
        }
    }

    /// Close those with a request: its answer must not meet the next run.
    pub(crate) fn close_busy(&mut self) {
        self.all.iter_mut().filter(|connection| !connection.is_idle()).for_each(Connection::close);
    }
}
