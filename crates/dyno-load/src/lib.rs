//! The native load core of phpdyno: a closed-loop generator for HTTP/1.1 and FastCGI, one thread, epoll, no async
//! runtime.
//!
//! All times are `CLOCK_MONOTONIC` nanoseconds. What a server does is an [`Outcome`], never an error and never a panic.
//! `Engine` → `closed_loop` → `connection` → `http1` or `fastcgi`; `recorder` keeps the columns.

pub mod address;
mod answer;
mod clock;
mod closed_loop;
mod connection;
pub mod engine;
pub mod fastcgi;
pub mod head;
pub mod http1;
pub mod outcome;
pub mod recorder;
pub mod sink;
mod socket;
pub mod target;

pub use address::Address;
pub use engine::{Engine, Error, Fetched, Options};
pub use outcome::{Failure, Malformed, OUTCOMES, Outcome};
pub use recorder::Samples;
pub use target::{Expected, Target, Transport};
