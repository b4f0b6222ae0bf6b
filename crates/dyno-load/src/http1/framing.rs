//! How the body ends and whether the connection goes on: what three headers say together.

use crate::head::{decimal, tokens};
use crate::outcome::Malformed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    None,
    Chunked,
    /// Another last transfer coding: only the close ends such a body.
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Framing {
    pub(super) length: Option<u64>,
    pub(super) coding: Coding,
    pub(super) keep_alive: bool,
}

impl Framing {
    pub(super) fn read(http_1_1: bool, headers: &[httparse::Header<'_>]) -> Result<Self, Malformed> {
        let mut framing = Self { length: None, coding: Coding::None, keep_alive: http_1_1 };
        let mut close = false;
        for header in headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                framing.add_length(header.value)?;
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                framing.add_codings(header.value)?;
            } else if header.name.eq_ignore_ascii_case("connection") {
                for token in tokens(header.value) {
                    close |= token.eq_ignore_ascii_case(b"close");
                    framing.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
        }
        // Both a length and a coding: the coding wins, but the next response may begin anywhere (RFC 9112, section
        // 6.3). A coding in HTTP/1.0: faulty framing (section 6.1).
        let doubtful = framing.coding != Coding::None && (framing.length.is_some() || !http_1_1);
        framing.keep_alive &= !close && !doubtful;
        Ok(framing)
    }

    /// Equal repetitions are allowed (section 6.3), contradictions are not.
    fn add_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let mut any = false;
        for token in tokens(value) {
            any = true;
            let length = decimal(token).ok_or(Malformed("bad Content-Length"))?;
            if self.length.is_some_and(|known| known != length) {
                return Err(Malformed("conflicting Content-Length"));
            }
            self.length = Some(length);
        }
        if any { Ok(()) } else { Err(Malformed("bad Content-Length")) }
    }

    fn add_codings(&mut self, value: &[u8]) -> Result<(), Malformed> {
        for token in tokens(value) {
            if self.coding == Coding::Chunked {
                return Err(Malformed("chunked is not the last transfer coding"));
            }
            self.coding = if token.eq_ignore_ascii_case(b"chunked") { Coding::Chunked } else { Coding::Other };
        }
        Ok(())
    }
}
