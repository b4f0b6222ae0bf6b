//! An incremental parser of the records that a responder sends.

use super::cgi::Response;
use super::{END_REQUEST, HEADER_BYTES, REQUEST_ID, STDERR, STDOUT, VERSION};
use crate::http1::Progress;
use crate::outcome::Malformed;
use crate::sink::Sink;

/// One response at a time; `reset` between them keeps the memory.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    /// The bytes of a record header, or of the body of `END_REQUEST`, that came so far.
    held: [u8; HEADER_BYTES],
    held_bytes: usize,
    step: Step,
    content_left: usize,
    padding_left: usize,
    stdout_ended: bool,
    stderr_ended: bool,
    response: Response,
    stderr_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Header,
    Stdout,
    Stderr,
    EndRequest,
    Padding,
    LastPadding,
}

impl Parser {
    /// Make ready for the next response.
    pub fn reset(&mut self) {
        self.response.reset();
        *self = Self { response: std::mem::take(&mut self.response), ..Self::default() };
    }

    /// The status of the CGI response; 0 before its header lines came.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status
    }

    /// Bytes of the body so far.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.response.body_bytes
    }

    /// Bytes of the STDERR stream so far.
    #[must_use]
    pub fn stderr_bytes(&self) -> u64 {
        self.stderr_bytes
    }

    /// Take the next bytes.
    ///
    /// # Errors
    /// Records that are not the answer to our request, bad CGI headers, a refused request, and what the sink refuses.
    pub fn feed<S: Sink>(&mut self, mut input: &[u8], sink: &mut S) -> Result<Progress, Malformed> {
        loop {
            match self.step {
                Step::Header => {
                    if !self.hold(&mut input) {
                        return Ok(Progress::More);
                    }
                    self.begin_record()?;
                }
                Step::EndRequest => {
                    if !self.hold(&mut input) {
                        return Ok(Progress::More);
                    }
                    self.end_request()?;
                }
                Step::Stdout | Step::Stderr => {
                    let piece = take(&mut input, &mut self.content_left);
                    if self.step == Step::Stdout {
                        self.response.feed(piece, sink)?;
                    } else {
                        self.stderr_bytes += piece.len() as u64;
                        sink.stderr(piece);
                    }
                    if self.content_left > 0 {
                        return Ok(Progress::More);
                    }
                    self.step = Step::Padding;
                }
                Step::Padding | Step::LastPadding => {
                    take(&mut input, &mut self.padding_left);
                    if self.padding_left > 0 {
                        return Ok(Progress::More);
                    }
                    if self.step == Step::LastPadding {
                        return Ok(Progress::Complete { reusable: input.is_empty() });
                    }
                    self.step = Step::Header;
                }
            }
        }
    }

    /// Collect eight bytes; true when they are all there.
    fn hold(&mut self, input: &mut &[u8]) -> bool {
        let mut missing = HEADER_BYTES - self.held_bytes;
        let piece = take(input, &mut missing);
        self.held[self.held_bytes..][..piece.len()].copy_from_slice(piece);
        self.held_bytes += piece.len();
        if missing > 0 {
            return false;
        }
        self.held_bytes = 0;
        true
    }

    fn begin_record(&mut self) -> Result<(), Malformed> {
        let [version, kind, id_high, id_low, length_high, length_low, padding, _] = self.held;
        if version != VERSION {
            return Err(Malformed("not a FastCGI version 1 record"));
        }
        if u16::from_be_bytes([id_high, id_low]) != REQUEST_ID {
            return Err(Malformed("a FastCGI record of another request"));
        }
        self.content_left = usize::from(u16::from_be_bytes([length_high, length_low]));
        self.padding_left = usize::from(padding);
        self.step = match kind {
            STDOUT => stream(Step::Stdout, self.content_left, &mut self.stdout_ended)?,
            STDERR => stream(Step::Stderr, self.content_left, &mut self.stderr_ended)?,
            END_REQUEST if self.content_left == HEADER_BYTES => Step::EndRequest,
            END_REQUEST => return Err(Malformed("an END_REQUEST record of a wrong length")),
            _ => return Err(Malformed("a FastCGI record of a kind that is no answer")),
        };
        Ok(())
    }

    /// The application status (the exit code of a script) says nothing about the response: php-fpm sends 255 with a
    /// good 500 page.
    fn end_request(&mut self) -> Result<(), Malformed> {
        let [_, _, _, _, protocol_status, ..] = self.held;
        match protocol_status {
            0 if self.response.has_head() => {
                self.step = Step::LastPadding;
                Ok(())
            }
            0 => Err(Malformed("the FastCGI request ended before its CGI headers did")),
            1 => Err(Malformed("the FastCGI server refused the request: it cannot multiplex")),
            2 => Err(Malformed("the FastCGI server refused the request: overloaded")),
            3 => Err(Malformed("the FastCGI server refused the request: unknown role")),
            _ => Err(Malformed("unknown FastCGI protocol status")),
        }
    }
}

/// An empty record ends its stream, and nothing may follow.
fn stream(step: Step, content: usize, ended: &mut bool) -> Result<Step, Malformed> {
    if *ended {
        return Err(Malformed("a FastCGI record after the end of its stream"));
    }
    *ended = content == 0;
    Ok(if *ended { Step::Padding } else { step })
}

/// Split at most `left` bytes off the front of `input`, and count them down.
fn take<'a>(input: &mut &'a [u8], left: &mut usize) -> &'a [u8] {
    let (piece, rest) = input.split_at((*left).min(input.len()));
    *input = rest;
    *left -= piece.len();
    piece
}
