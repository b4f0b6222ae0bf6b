//! Non-blocking stream sockets.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::address::Address;

/// What came of opening a socket.
pub(crate) enum Opened {
    Connected(OwnedFd),
    Connecting(OwnedFd),
    Failed(Errno),
}

/// Begin a connection.
///
/// A unix socket with a full backlog fails at once with `EAGAIN`: that is what a web server in front of php-fpm gets
/// too (and answers 502), and retrying would add a polling interval to the service time of the request.
///
/// # Errors
/// When this process cannot make a socket at all (`EMFILE`, `ENFILE`, `ENOBUFS`): no server's fault.
pub(crate) fn open(address: &Address) -> io::Result<Opened> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (socket, connected) = match address {
        Address::Unix(path) => {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let connected = connect(&socket, path);
            (socket, connected)
        }
        Address::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = socket_with(family, SocketType::STREAM, flags, None)?;
            sockopt::set_tcp_nodelay(&socket, true)?;
            let connected = connect(&socket, address);
            (socket, connected)
        }
    };
    Ok(match connected {
        Ok(()) => Opened::Connected(socket),
        Err(Errno::INPROGRESS | Errno::INTR) => Opened::Connecting(socket),
        Err(errno) => Opened::Failed(errno),
    })
}
