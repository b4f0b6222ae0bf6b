//! Where the server listens.

use std::net::SocketAddr;

use rustix::net::SocketAddrUnix;

/// A parsed `unix:/path` or `tcp:HOST:PORT`.
#[derive(Clone, Debug)]
pub enum Address {
    /// A stream socket in the file system.
    Unix(SocketAddrUnix),
    /// A numeric IPv4 or IPv6 address.
    Tcp(SocketAddr),
}

impl Address {
    /// Parse `unix:/path` or `tcp:HOST:PORT`; IPv6 in brackets.
    ///
    /// # Errors
    /// In words, for anything else: an unknown scheme, a relative or too long path (108 bytes), a name instead of a
    /// number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("bad address {text:?}: {why}; write unix:/path or tcp:HOST:PORT");
        if let Some(path) = text.strip_prefix("unix:") {
            if !path.starts_with('/') {
                return Err(bad("the path of a unix socket must be absolute"));
            }
            return SocketAddrUnix::new(path)
                .map(Self::Unix)
                .map_err(|_| bad("the path is too long for a unix socket, or holds a NUL"));
        }
        if let Some(rest) = text.strip_prefix("tcp:") {
            return rest
                .parse()
                .map(Self::Tcp)
                .map_err(|_| bad("HOST must be a numeric address (IPv6 in brackets) and PORT a number up to 65535"));
        }
        Err(bad("unknown scheme"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_addresses() {
        assert!(matches!(Address::parse("unix:/run/x.sock"), Ok(Address::Unix(_))));
        assert!(matches!(Address::parse("tcp:127.0.0.1:80"), Ok(Address::Tcp(_))));
        assert!(matches!(Address::parse("tcp:[::1]:80"), Ok(Address::Tcp(_))));
    }

    #[test]
    fn bad_addresses_are_named() {
        let long = format!("unix:/{}", "x".repeat(200));
        for text in [
            "",
            "unix:",
            "unix:x",
            "unix:/a\0b",
            "tcp:localhost:80",
            "tcp:1.2.3.4",
            "tcp:1.2.3.4:70000",
            "http://x",
            &long,
        ] {
            let error = Address::parse(text).expect_err(text);
            assert!(error.contains("bad address"), "{error}");
        }
    }
}
