//! The CGI response inside the STDOUT stream: header lines, a blank line, the body.

use crate::head::{HeadBuffer, MAX_HEADERS, decimal, trim};
use crate::outcome::Malformed;
use crate::sink::Sink;

#[derive(Clone, Debug, Default)]
pub(super) struct Response {
    head: HeadBuffer,
    in_body: bool,
    pub(super) status: u16,
    pub(super) body_bytes: u64,
}

impl Response {
    pub(super) fn reset(&mut self) {
        self.head.clear();
        self.in_body = false;
        self.status = 0;
        self.body_bytes = 0;
    }

    /// Whether the header lines came to their end.
    pub(super) fn has_head(&self) -> bool {
        self.in_body
    }

    pub(super) fn feed<S: Sink>(&mut self, mut piece: &[u8], sink: &mut S) -> Result<(), Malformed> {
        if !self.in_body {
            let mut status = 0;
            match self.head.take(piece, |bytes| {
                status = parse_head(bytes, sink)?;
                Ok(())
            })? {
                Some(used) => piece = &piece[used..],
                None => return Ok(()),
            }
            self.status = status;
            self.in_body = true;
        }
        self.body_bytes += piece.len() as u64;
        sink.body(piece)
    }
}

/// RFC 3875, section 6.3: the status is 200 unless `Status` says otherwise, 302 when there is only a `Location`.
fn parse_head<S: Sink>(bytes: &[u8], sink: &mut S) -> Result<u16, Malformed> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let parsed = httparse::parse_headers(bytes, &mut headers).map_err(|error| match error {
        httparse::Error::TooManyHeaders => Malformed("more than 128 CGI header lines"),
        _ => Malformed("bad CGI header line"),
    })?;
    let httparse::Status::Complete((_, headers)) = parsed else {
        return Err(Malformed("bad CGI header line"));
    };
    let mut status = None;
    let mut location = false;
    for header in headers {
        if header.name.eq_ignore_ascii_case("status") {
            let code = parse_status(header.value).ok_or(Malformed("bad Status header"))?;
            if status.is_some_and(|known| known != code) {
                return Err(Malformed("conflicting Status headers"));
            }
            status = Some(code);
            continue;
        }
        location |= header.name.eq_ignore_ascii_case("location");
        sink.header(header.name.as_bytes(), header.value);
    }
    Ok(status.unwrap_or(if location { 302 } else { 200 }))
}

/// Three digits, then nothing or a blank and the reason.
fn parse_status(value: &[u8]) -> Option<u16> {
    let value = trim(value);
    let (code, reason) = value.split_at_checked(3)?;
    if !(reason.is_empty() || reason.starts_with(b" ")) {
        return None;
    }
    let code = u16::try_from(decimal(code)?).ok()?;
    (code >= 100).then_some(code)
}
