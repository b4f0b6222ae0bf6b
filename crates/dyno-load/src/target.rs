//! What to send, and what a valid answer looks like.

use std::sync::Arc;

use crate::fastcgi::{Oversized, encode_request, set_keep_conn};
use crate::outcome::Outcome;
use crate::pattern::Pattern;

/// The protocol of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1.
    Http,
    /// A FastCGI responder request.
    FastCgi,
}

/// What a valid answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The status.
    pub status: u16,
    /// The shortest valid body, in bytes.
    pub min_bytes: u64,
    /// The longest valid body, in bytes.
    pub max_bytes: u64,
}

impl Expected {
    /// Any length of body with this status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, min_bytes: 0, max_bytes: 1 << 62 }
    }

    /// Judge a complete response; a wrong status is said first.
    #[must_use]
    pub fn judge(&self, status: u16, body_bytes: u64) -> Outcome {
        if status != self.status {
            Outcome::WrongStatus
        } else if body_bytes < self.min_bytes || body_bytes > self.max_bytes {
            Outcome::WrongLength
        } else {
            Outcome::Ok
        }
    }
}

/// One request, rendered once.
#[derive(Clone, Debug)]
pub struct Target {
    /// The bytes on the wire.
    pub request: Vec<u8>,
    /// The protocol of these bytes.
    pub transport: Transport,
    /// What a valid answer looks like.
    pub expected: Expected,
    /// The answer has no body whatever its headers say (HEAD).
    pub no_body: bool,
    /// What its body is like; nothing where only status and length are judged.
    pub pattern: Option<Arc<Pattern>>,
}

impl Target {
    /// A complete HTTP/1.1 request; `head`: it is a HEAD request.
    #[must_use]
    pub fn http(request: Vec<u8>, head: bool, expected: Expected) -> Self {
        Self { request, transport: Transport::Http, expected, no_body: head, pattern: None }
    }

    /// A FastCGI responder request.
    ///
    /// # Errors
    /// [`Oversized`] when a name or a value is over 2³¹ − 1 bytes.
    pub fn fastcgi<N, V>(params: &[(N, V)], stdin: &[u8], expected: Expected) -> Result<Self, Oversized>
    where
        N: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let request = encode_request(params, stdin)?;
        Ok(Self { request, transport: Transport::FastCgi, expected, no_body: false, pattern: None })
    }

    /// The same target, of whose valid answers the bodies are like `pattern` (none: any body).
    #[must_use]
    pub fn like(self, pattern: Option<Arc<Pattern>>) -> Self {
        Self { pattern, ..self }
    }

    /// The same target for an engine that does, or does not, keep connections. HTTP requests say it themselves.
    pub(crate) fn set_keep_alive(&mut self, keep_alive: bool) {
        if self.transport == Transport::FastCgi {
            set_keep_conn(&mut self.request, keep_alive);
        }
    }
}
