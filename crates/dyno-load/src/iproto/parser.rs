//! An incremental parser of the answers on one connection.

use super::head::{Head, MAX_HEAD_BYTES};
use crate::outcome::Malformed;

/// Hears of answers, one after the other: the head, its body in pieces of any size, the end.
pub trait Receiver {
    /// The head of the next answer.
    ///
    /// # Errors
    /// When nobody waits for this answer.
    fn head(&mut self, head: &Head) -> Result<(), Malformed>;

    /// A piece of the body.
    fn body(&mut self, piece: &[u8]);

    /// The answer is complete.
    fn end(&mut self);
}

/// Parses answers as they come, however they are cut. Allocates nothing.
#[derive(Clone, Debug)]
pub struct Parser {
    /// The bytes that came of a head that is cut.
    held: [u8; MAX_HEAD_BYTES],
    held_bytes: usize,
    in_body: bool,
    body_left: u64,
}

impl Default for Parser {
    fn default() -> Self {
        Self { held: [0; MAX_HEAD_BYTES], held_bytes: 0, in_body: false, body_left: 0 }
    }
}

impl Parser {
    /// Whether the last answer is complete and nothing has come of the next.
    #[must_use]
    pub fn is_between_answers(&self) -> bool {
        self.held_bytes == 0 && !self.in_body
    }

    /// Take the next bytes.
    ///
    /// # Errors
    /// Bytes that are not IPROTO, and what the receiver refuses. Nothing more may be fed then.
    pub fn feed<R: Receiver>(&mut self, mut input: &[u8], receiver: &mut R) -> Result<(), Malformed> {
        while !input.is_empty() {
            if !self.in_body {
                let Some(head) = self.take_head(&mut input)? else { break };
                receiver.head(&head)?;
                self.in_body = true;
                self.body_left = head.body_bytes;
            }
            let here = usize::try_from(self.body_left).map_or(input.len(), |left| left.min(input.len()));
            let (piece, rest) = input.split_at(here);
            input = rest;
            receiver.body(piece);
            self.body_left -= here as u64;
            if self.body_left == 0 {
                self.in_body = false;
                receiver.end();
            }
        }
        Ok(())
    }

    /// Split a head off the front of `input`; a cut one is held, and `input` used up.
    fn take_head(&mut self, input: &mut &[u8]) -> Result<Option<Head>, Malformed> {
        let before = self.held_bytes;
        if before == 0
            && let Some((head, bytes)) = Head::parse(input)?
        {
            *input = &input[bytes..];
            return Ok(Some(head));
        }
        let more = input.len().min(MAX_HEAD_BYTES - before);
        self.held[before..][..more].copy_from_slice(&input[..more]);
        self.held_bytes += more;
        let parsed = Head::parse(&self.held[..self.held_bytes])?;
        let used = if let Some((_, bytes)) = parsed { bytes - before } else { more };
        *input = &input[used..];
        if parsed.is_some() {
            self.held_bytes = 0;
        }
        Ok(parsed.map(|(head, _)| head))
    }
}
