//! The parser of one connection's answers, of either protocol.

use crate::fastcgi;
use crate::http1::{self, Progress};
use crate::outcome::{Failure, Malformed};
use crate::sink::Sink;
use crate::target::{Target, Transport};

/// The variant is chosen once: all targets of an engine are of one transport.
pub(crate) enum Answer {
    Http(http1::Parser),
    FastCgi(fastcgi::Parser),
}

impl Answer {
    pub(crate) fn new(transport: Transport) -> Self {
        match transport {
            Transport::Http => Self::Http(http1::Parser::default()),
            Transport::FastCgi => Self::FastCgi(fastcgi::Parser::default()),
        }
    }

    pub(crate) fn reset(&mut self, target: &Target) {
        match self {
            Self::Http(parser) => parser.reset(target.no_body),
            Self::FastCgi(parser) => parser.reset(),
        }
    }

    pub(crate) fn feed<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<Progress, Malformed> {
        match self {
            Self::Http(parser) => parser.feed(bytes, sink),
            Self::FastCgi(parser) => parser.feed(bytes, sink),
        }
    }

    /// The peer closed: in HTTP that can be the end of a body, in FastCGI it never is.
    pub(crate) fn close(&self) -> Result<Progress, Failure> {
        match self {
            Self::Http(parser) => parser.close(),
            Self::FastCgi(_) => Err(Failure::Closed),
        }
    }

    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Http(parser) => parser.status(),
            Self::FastCgi(parser) => parser.status(),
        }
    }

    pub(crate) fn body_bytes(&self) -> u64 {
        match self {
            Self::Http(parser) => parser.body_bytes(),
            Self::FastCgi(parser) => parser.body_bytes(),
        }
    }

    pub(crate) fn stderr_bytes(&self) -> u64 {
        match self {
            Self::Http(_) => 0,
            Self::FastCgi(parser) => parser.stderr_bytes(),
        }
    }
}
