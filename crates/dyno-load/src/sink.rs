//! Where the content of a response goes: nowhere while measuring, into memory when one answer is fetched.

use crate::outcome::Malformed;
use crate::pattern::{Follower, Pattern};

/// Receives the content of one response, in order, in pieces of any size.
pub trait Sink {
    /// One header of the final response.
    fn header(&mut self, _name: &[u8], _value: &[u8]) {}

    /// A piece of the body.
    ///
    /// # Errors
    /// When the sink takes no more.
    fn body(&mut self, _piece: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }

    /// A piece of FastCGI STDERR.
    fn stderr(&mut self, _piece: &[u8]) {}
}

/// Keeps nothing: the parsers count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Sink for Discard {}

/// Hands everything on, and shows the body to a follower on the way.
pub(crate) struct Tee<'a, S> {
    pub(crate) sink: &'a mut S,
    pub(crate) follower: &'a mut Follower,
    pub(crate) pattern: &'a Pattern,
}

impl<S: Sink> Sink for Tee<'_, S> {
    fn header(&mut self, name: &[u8], value: &[u8]) {
        self.sink.header(name, value);
    }

    fn body(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        self.follower.take(self.pattern, piece);
        self.sink.body(piece)
    }

    fn stderr(&mut self, piece: &[u8]) {
        self.sink.stderr(piece);
    }
}

/// Keeps one whole answer.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Names and values as sent, in order.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The decoded body.
    pub body: Vec<u8>,
    /// What FastCGI STDERR carried; cut at `max_bytes`.
    pub stderr: Vec<u8>,
    max_bytes: usize,
}

impl Kept {
    /// A sink for a body of at most `max_bytes` bytes.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// Where a redirect leads, for a message (nothing here follows it); empty for any other status.
    pub(crate) fn redirection(&self, status: u16) -> String {
        let location = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"location"));
        match location {
            Some((_, value)) if (300..400).contains(&status) => {
                let shown: String =
                    String::from_utf8_lossy(value).chars().filter(|char| !char.is_control()).take(200).collect();
                format!(", Location: {shown}")
            }
            _ => String::new(),
        }
    }
}

impl Sink for Kept {
    fn header(&mut self, name: &[u8], value: &[u8]) {
        self.headers.push((name.to_vec(), value.to_vec()));
    }

    fn body(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        if piece.len() > self.max_bytes - self.body.len() {
            return Err(Malformed("the body is larger than the limit of this fetch"));
        }
        self.body.extend_from_slice(piece);
        Ok(())
    }

    fn stderr(&mut self, piece: &[u8]) {
        let room = self.max_bytes - self.stderr.len();
        self.stderr.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}
