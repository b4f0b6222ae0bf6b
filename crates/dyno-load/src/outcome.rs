//! What became of a request.

use std::fmt;

use rustix::io::Errno;

/// The outcome codes of the columns; the discriminants are part of the contract with Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// Valid: status and length as expected.
    Ok = 0,
    /// A complete response with another status.
    WrongStatus = 1,
    /// A complete response whose body is too short or too long.
    WrongLength = 2,
    /// No connection: refused, missing socket, backlog full.
    ConnectFailed = 3,
    /// The peer closed or reset before the response was complete.
    ClosedEarly = 4,
    /// No complete response, or no connection, in time.
    TimedOut = 5,
    /// Bytes that are not the protocol.
    Malformed = 6,
    /// Never sent, or in flight when the run ended: interrupted, or the server hangs.
    Abandoned = 7,
    /// A complete response of the expected length whose body is not the expected one.
    WrongBody = 8,
}

/// The names of the outcomes, by code.
pub const OUTCOMES: [&str; 9] = [
    "ok",
    "wrong_status",
    "wrong_length",
    "connect_failed",
    "closed_early",
    "timed_out",
    "malformed",
    "abandoned",
    "wrong_body",
];

/// Bytes that are not the protocol, and why. Static text: a hostile server must not make us allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// Why there is no complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// `connect` (or, for a connect under way, the first send) failed.
    Connect(Errno),
    /// No connection within the time-out.
    ConnectTimeout,
    /// The peer closed its side.
    Closed,
    /// The connection broke.
    Broken(Errno),
    /// No complete response within the time-out.
    ResponseTimeout,
    /// The peer does not speak the protocol.
    Malformed(Malformed),
}

impl Failure {
    /// The outcome code of this failure.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Connect(_) => Outcome::ConnectFailed,
            Self::ConnectTimeout | Self::ResponseTimeout => Outcome::TimedOut,
            Self::Closed | Self::Broken(_) => Outcome::ClosedEarly,
            Self::Malformed(_) => Outcome::Malformed,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(Errno::CONNREFUSED) => f.write_str("connection refused"),
            Self::Connect(Errno::NOENT) => f.write_str("no such socket"),
            Self::Connect(Errno::AGAIN) => f.write_str("the listen backlog is full"),
            Self::Connect(errno) => write!(f, "cannot connect: {errno}"),
            Self::ConnectTimeout => f.write_str("no connection within the connect time-out"),
            Self::Closed => f.write_str("the peer closed before the response was complete"),
            Self::Broken(errno) => write!(f, "the connection broke before the response was complete: {errno}"),
            Self::ResponseTimeout => f.write_str("no complete response within the response time-out"),
            Self::Malformed(Malformed(why)) => f.write_str(why),
        }
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_name() {
        assert_eq!(OUTCOMES[Outcome::Ok as usize], "ok");
        assert_eq!(OUTCOMES[Outcome::Malformed as usize], "malformed");
        assert_eq!(OUTCOMES.len(), Outcome::WrongBody as usize + 1);
    }
}
