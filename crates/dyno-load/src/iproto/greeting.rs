//! The way to a connection: `connect`, and the greeting that the server sends first.

use std::io;

use rustix::event::epoll::EventFlags;

use super::link::Link;
use crate::address::Address;
use crate::clock::now_ns;
use crate::flight::TICK;
use crate::outcome::{Failure, Malformed};
use crate::socket::{Opened, open};

const GREETING_BYTES: usize = 128;
const BEGINNING: &[u8] = b"Tarantool ";

/// What came of connecting.
pub(super) enum Greeted {
    Link(Link),
    Failed(Failure),
    Interrupted,
}

/// Connect and read the greeting, both within `timeout_ns`.
///
/// # Errors
/// When this process cannot make a socket or an epoll.
pub(super) fn connect(
    address: &Address,
    timeout_ns: u64,
    should_stop: &mut dyn FnMut() -> bool,
) -> io::Result<Greeted> {
    let until_ns = now_ns().saturating_add(timeout_ns);
    let (socket, mut connected) = match open(address)? {
        Opened::Connected(socket) => (socket, true),
        Opened::Connecting(socket) => (socket, false),
        Opened::Failed(errno) => return Ok(Greeted::Failed(Failure::Connect(errno))),
    };
    let mut link = Link::new(socket)?;
    let (mut greeting, mut got) = ([0; GREETING_BYTES], 0);
    while got < GREETING_BYTES {
        let heard = link.wait(if connected { EventFlags::IN } else { EventFlags::OUT }, &TICK)?;
        let step = if heard.is_empty() {
            Ok(())
        } else if connected {
            read(&link, &mut greeting, &mut got)
        } else {
            connected = true;
            link.connected()
        };
        if let Err(failure) = step {
            return Ok(Greeted::Failed(failure));
        }
        if now_ns() >= until_ns && got < GREETING_BYTES {
            return Ok(Greeted::Failed(Failure::ConnectTimeout));
        }
        if should_stop() {
            return Ok(Greeted::Interrupted);
        }
    }
    Ok(Greeted::Link(link))
}

/// Read more of the greeting; what does not begin like one is refused at once, however short.
fn read(link: &Link, greeting: &mut [u8; GREETING_BYTES], got: &mut usize) -> Result<(), Failure> {
    *got += link.receive(&mut greeting[*got..])?;
    let seen = (*got).min(BEGINNING.len());
    if greeting[..seen] == BEGINNING[..seen] {
        Ok(())
    } else {
        Err(Malformed("the server does not greet as Tarantool does").into())
    }
}
