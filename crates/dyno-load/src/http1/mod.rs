//! An incremental HTTP/1 response parser; the header lines themselves are `httparse`'s work.

mod chunked;
mod framing;

use std::mem::{self, MaybeUninit};

use self::chunked::Chunked;
use self::framing::Framing;
use crate::head::{HeadBuffer, MAX_HEAD_BYTES, MAX_HEADERS};
use crate::outcome::{Failure, Malformed};
use crate::sink::Sink;

/// How far a response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The response is complete. `reusable`: another request may follow on this connection.
    Complete {
        /// False when the peer closes, when only the close ended the body, or when bytes were left over.
        reusable: bool,
    },
}

#[derive(Clone, Debug)]
enum State {
    Head,
    Length { left: u64 },
    Chunked(Chunked),
    UntilClose,
    Done,
}

/// One response at a time; `reset` between them keeps the memory.
#[derive(Clone, Debug)]
pub struct Parser {
    state: State,
    head: HeadBuffer,
    interim_bytes: usize,
    no_body: bool,
    keep_alive: bool,
    status: u16,
    body_bytes: u64,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            state: State::Head,
            head: HeadBuffer::default(),
            interim_bytes: 0,
            no_body: false,
            keep_alive: false,
            status: 0,
            body_bytes: 0,
        }
    }
}

impl Parser {
    /// Make ready for the next response; `no_body`: it answers a HEAD request.
    pub fn reset(&mut self, no_body: bool) {
        self.head.clear();
        *self = Self { head: mem::take(&mut self.head), no_body, ..Self::default() };
    }

    /// The status of the final response; 0 before its head came.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of the decoded body so far.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Take the next bytes.
    ///
    /// # Errors
    /// Bytes that are not HTTP/1, heads over the limits, and what the sink refuses.
    pub fn feed<S: Sink>(&mut self, mut input: &[u8], sink: &mut S) -> Result<Progress, Malformed> {
        loop {
            match &mut self.state {
                State::Head => match self.take_head(input, sink)? {
                    Some(used) => input = &input[used..],
                    None => return Ok(Progress::More),
                },
                State::Length { left } => {
                    let piece = prefix(input, *left);
                    *left -= piece.len() as u64;
                    let done = *left == 0;
                    self.body_bytes += piece.len() as u64;
                    sink.body(piece)?;
                    input = &input[piece.len()..];
                    if !done {
                        return Ok(Progress::More);
                    }
                    self.state = State::Done;
                }
                State::Chunked(chunked) => {
                    let count = &mut self.body_bytes;
                    let fed = chunked.feed(input, &mut |piece| {
                        *count += piece.len() as u64;
                        sink.body(piece)
                    })?;
                    match fed {
                        Some(used) => input = &input[used..],
                        None => return Ok(Progress::More),
                    }
                    self.state = State::Done;
                }
                State::UntilClose => {
                    self.body_bytes += input.len() as u64;
                    sink.body(input)?;
                    return Ok(Progress::More);
                }
                State::Done => return Ok(Progress::Complete { reusable: self.keep_alive && input.is_empty() }),
            }
        }
    }

    /// The peer closed: either that was the end of the body, or it came too early.
    ///
    /// # Errors
    /// [`Failure::Closed`], or malformed when what came of the head could never have become one.
    pub fn close(&self) -> Result<Progress, Failure> {
        match self.state {
            State::UntilClose | State::Done => Ok(Progress::Complete { reusable: false }),
            State::Head if !self.head.partial().is_empty() => {
                let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
                match parse_response(self.head.partial(), &mut headers) {
                    Ok(_) => Err(Failure::Closed),
                    Err(malformed) => Err(malformed.into()),
                }
            }
            _ => Err(Failure::Closed),
        }
    }

    fn take_head<S: Sink>(&mut self, input: &[u8], sink: &mut S) -> Result<Option<usize>, Malformed> {
        check_prefix(self.head.partial(), input)?;
        let mut head = mem::take(&mut self.head);
        let taken = head.take(input, |bytes| self.parse_head(bytes, sink));
        self.head = head;
        taken
    }

    fn parse_head<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), Malformed> {
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let response = parse_response(bytes, &mut headers)?;
        let status = response.code.unwrap_or(0);
        if status < 100 {
            return Err(Malformed("bad status code"));
        }
        if status == 101 {
            return Err(Malformed("101: the server switched protocols unasked"));
        }
        if (100..200).contains(&status) {
            self.interim_bytes += bytes.len();
            if self.interim_bytes > MAX_HEAD_BYTES {
                return Err(Malformed("interim responses over 64 KiB"));
            }
            return Ok(());
        }
        let framing = Framing::read(response.version == Some(1), response.headers)?;
        self.status = status;
        self.keep_alive = framing.keep_alive;
        self.state = self.body_state(&framing);
        for header in &*response.headers {
            sink.header(header.name.as_bytes(), header.value);
        }
        Ok(())
    }

    /// RFC 9112, section 6.3, in its order.
    fn body_state(&mut self, framing: &Framing) -> State {
        if self.no_body || self.status == 204 || self.status == 304 {
            return State::Done;
        }
        match (framing.coding, framing.length) {
            (framing::Coding::Chunked, _) => State::Chunked(Chunked::default()),
            (framing::Coding::None, Some(left)) => State::Length { left },
            (framing::Coding::None, None) | (framing::Coding::Other, _) => {
                self.keep_alive = false;
                State::UntilClose
            }
        }
    }
}

/// At most `limit` bytes from the front of `input`.
fn prefix(input: &[u8], limit: u64) -> &[u8] {
    let end = usize::try_from(limit).map_or(input.len(), |limit| limit.min(input.len()));
    &input[..end]
}

/// Refuse at once what does not begin as HTTP: a peer of another protocol often waits, and would be a time-out.
fn check_prefix(partial: &[u8], input: &[u8]) -> Result<(), Malformed> {
    const START: &[u8] = b"HTTP/1.";
    if partial.len() >= START.len() {
        return Ok(());
    }
    let same = partial.iter().chain(input).zip(START).all(|(got, want)| got == want);
    if same { Ok(()) } else { Err(Malformed("the answer does not begin with HTTP/1.")) }
}

fn parse_response<'h, 'b>(
    bytes: &'b [u8],
    headers: &'h mut [MaybeUninit<httparse::Header<'b>>],
) -> Result<httparse::Response<'h, 'b>, Malformed> {
    let mut response = httparse::Response::new(&mut []);
    httparse::ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, headers).map_err(
        |error| match error {
            httparse::Error::TooManyHeaders => Malformed("more than 128 header lines"),
            httparse::Error::Status => Malformed("bad status code"),
            httparse::Error::Version => Malformed("bad HTTP version"),
            httparse::Error::HeaderName | httparse::Error::HeaderValue => Malformed("bad header line"),
            httparse::Error::NewLine | httparse::Error::Token => Malformed("bad status line"),
        },
    )?;
    Ok(response)
}

#[cfg(test)]
mod tests;
