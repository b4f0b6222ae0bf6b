//! The FastCGI protocol, version 1, as a web server speaks it to one responder: one request at a time on a connection.

mod cgi;
mod encode;
mod record;

pub use self::encode::{Oversized, encode_request, set_keep_conn};
pub use self::record::Parser;

const VERSION: u8 = 1;
/// The id of our only request; 0 is the management id, which only we could ask with.
const REQUEST_ID: u16 = 1;
const HEADER_BYTES: usize = 8;

const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;

#[cfg(test)]
mod tests;
