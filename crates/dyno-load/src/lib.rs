//! The native load core of phpdyno: closed and open loops for HTTP/1.1 and FastCGI, one thread unless asked for more;
//! a pipeline of prebuilt requests for Tarantool's IPROTO; epoll, no async runtime.
//!
//! All times are `CLOCK_MONOTONIC` nanoseconds. What a server does is an [`Outcome`], never an error and never a panic.
//! `Engine` (→ `threads`) → `closed_loop` or `open_loop` → `flight` → `connections` → `connection` → `http1` or `fastcgi`; `recorder`
//! keeps the columns, `histogram` what is left of them. `iproto` has a loop of its own and the same columns.

pub mod address;
mod answer;
mod clock;
mod closed_loop;
mod common;
mod connection;
mod connections;
pub mod engine;
pub mod error;
pub mod fastcgi;
mod flight;
pub mod head;
pub mod histogram;
pub mod http1;
pub mod iproto;
mod open_loop;
pub mod options;
pub mod outcome;
pub mod pattern;
pub mod recorder;
pub mod sink;
mod socket;
pub mod target;
mod threads;
pub mod width;

pub use address::Address;
pub use engine::{Engine, Fetched};
pub use error::Error;
pub use histogram::Histogram;
pub use options::Options;
pub use outcome::{Failure, Malformed, OUTCOMES, Outcome};
pub use pattern::{Gap, Pattern};
pub use recorder::{Different, Samples};
pub use target::{Expected, Target, Transport};
pub use width::Width;
