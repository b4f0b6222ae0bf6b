//! Tarantool's IPROTO, as far as a pipeline of prebuilt requests needs it: the greeting, and the length and the header
//! map of every packet. Bodies are counted and compared, never read as `MessagePack`.
//!
//! `Pipeline` → `wire` (one connection and its buffers) → `link` (its socket), `parser` (answers) → `round` (the rows).

mod frame;
mod greeting;
mod head;
mod link;
mod outgoing;
mod parser;
mod pipeline;
mod round;
mod wire;

pub use self::frame::Frame;
pub use self::head::Head;
pub use self::parser::{Parser, Receiver};
pub use self::pipeline::{Pipeline, Timeouts};

#[cfg(test)]
mod tests;
