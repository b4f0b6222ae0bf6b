//! What is not an outcome: a mistake of the caller, or a fault of this host.

use std::fmt;
use std::io;

/// What is not an outcome: a mistake of the caller, or a fault of this host.
#[derive(Debug)]
pub enum Error {
    /// The caller's values, in words.
    Invalid(String),
    /// An entry of the sequence, or a fetch, names a target that does not exist.
    NoSuchTarget {
        /// The index asked for.
        index: u32,
        /// How many targets there are.
        targets: usize,
    },
    /// An entry of the sequence of a pipeline names a frame that does not exist.
    NoSuchFrame {
        /// The index asked for.
        index: u32,
        /// How many frames there are.
        frames: usize,
    },
    /// epoll, or no more file descriptors.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) => f.write_str(why),
            Self::NoSuchTarget { index, targets } => {
                write!(f, "target {index} does not exist: the engine has {targets}, counted from 0")
            }
            Self::NoSuchFrame { index, frames } => {
                write!(f, "frame {index} does not exist: the pipeline has {frames}, counted from 0")
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(crate) fn at_least_one(name: &str, is: bool) -> Result<(), Error> {
    if is { Ok(()) } else { Err(Error::Invalid(format!("{name} must be at least 1"))) }
}
