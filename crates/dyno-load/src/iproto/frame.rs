//! A prebuilt request, and what a valid answer to it looks like.

use std::ops::RangeInclusive;

use super::head::Head;
use crate::error::Error;
use crate::outcome::Outcome;

const MP_UINT64: u8 = 0xcf;
const SYNC_BYTES: usize = 8;

/// One whole IPROTO request, built once; each time it is sent only its sync is written anew.
#[derive(Clone, Debug)]
pub struct Frame {
    bytes: Box<[u8]>,
    sync_offset: usize,
    body_bytes: RangeInclusive<u64>,
    body: Option<Box<[u8]>>,
}

impl Frame {
    /// A request whose sync is eight bytes at `sync_offset`, and the lengths of a valid answer's body.
    ///
    /// # Errors
    /// [`Error::Invalid`]: not exactly one IPROTO request, no `MP_UINT64` of the sync there, no length is valid.
    pub fn new(bytes: Vec<u8>, sync_offset: usize, body_bytes: RangeInclusive<u64>) -> Result<Self, Error> {
        let end = sync_offset.saturating_add(SYNC_BYTES);
        if sync_offset == 0 || end > bytes.len() || bytes[sync_offset - 1] != MP_UINT64 {
            return Err(Error::Invalid(format!("no sync as an MP_UINT64 (0xcf) just before offset {sync_offset}")));
        }
        if body_bytes.is_empty() {
            let (low, high) = body_bytes.into_inner();
            return Err(Error::Invalid(format!("min_bytes {low} is over max_bytes {high}")));
        }
        let mut frame = Self { bytes: bytes.into(), sync_offset, body_bytes, body: None };
        frame.check()?;
        Ok(frame)
    }

    /// The same request, whose valid answers have exactly this body.
    #[must_use]
    pub fn with_body(self, body: Vec<u8>) -> Self {
        let bytes = body.len() as u64;
        Self { body_bytes: bytes..=bytes, body: Some(body.into()), ..self }
    }

    /// A server reads one frame out of step as the end of the connection, for all requests on it.
    fn check(&mut self) -> Result<(), Error> {
        // No two bytes of it are alike, so it is found nowhere but where it was written.
        const MARK: u64 = 0x0102_0304_0506_0708;
        self.bytes[self.sync_offset..][..SYNC_BYTES].copy_from_slice(&MARK.to_be_bytes());
        let invalid = |why: String| Error::Invalid(format!("not an IPROTO request: {why}"));
        let parsed = Head::parse(&self.bytes).map_err(|malformed| invalid(malformed.0.into()))?;
        let (head, head_bytes) = parsed.ok_or_else(|| invalid("its header is cut".into()))?;
        if head.sync != MARK {
            return Err(invalid(format!("the sync of its header is not at offset {}", self.sync_offset)));
        }
        let follow = (self.bytes.len() - head_bytes) as u64;
        if follow != head.body_bytes {
            return Err(invalid(format!("{follow} bytes follow the header, its length says {}", head.body_bytes)));
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Append the request with this sync.
    pub(super) fn put(&self, sync: u64, out: &mut Vec<u8>) {
        let at = out.len() + self.sync_offset;
        out.extend_from_slice(&self.bytes);
        out[at..][..SYNC_BYTES].copy_from_slice(&sync.to_be_bytes());
    }

    /// Whether an answer may have this piece of body behind `before` bytes of it.
    pub(super) fn allows(&self, before: u64, piece: &[u8]) -> bool {
        let Some(body) = &self.body else { return true };
        let rest = usize::try_from(before).ok().and_then(|before| body.get(before..));
        rest.is_some_and(|rest| rest.starts_with(piece))
    }

    /// Judge a complete answer that is no error; `alike`: every piece of its body was allowed.
    pub(super) fn judge(&self, body_bytes: u64, alike: bool) -> Outcome {
        if !self.body_bytes.contains(&body_bytes) {
            Outcome::WrongLength
        } else if alike {
            Outcome::Ok
        } else {
            Outcome::WrongBody
        }
    }
}
