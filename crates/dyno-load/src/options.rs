//! How an engine treats its connections.

/// How an engine treats its connections.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Use a connection for more than one request.
    pub keep_alive: bool,
    /// From the start of a request to its connection, in nanoseconds.
    pub connect_timeout_ns: u64,
    /// From the start of a request to its complete response, in nanoseconds.
    pub response_timeout_ns: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { keep_alive: true, connect_timeout_ns: 2_000_000_000, response_timeout_ns: 30_000_000_000 }
    }
}
