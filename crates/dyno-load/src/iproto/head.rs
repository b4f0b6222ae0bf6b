//! What stands before the body of every packet: its length and its header map.

use crate::outcome::Malformed;

/// The longest head that can be valid: a length, a map of 15 pairs, nine bytes for each number.
pub(super) const MAX_HEAD_BYTES: usize = 9 + 1 + 15 * 18;

/// The largest packet of a Tarantool server.
const MAX_PACKET_BYTES: u64 = 2 << 30;

const TYPE: u64 = 0x00;
const SYNC: u64 = 0x01;

const NO_LENGTH: Malformed = Malformed("not IPROTO: a packet does not begin with its length");
const NO_HEADER: Malformed = Malformed("not IPROTO: a packet without a header map of numbers");

/// The length and the header map of one packet; other keys than these two are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The type: 0 is a complete answer, 0x80 a push before it, 0x8000 | code an error.
    pub kind: u64,
    /// The number of the request.
    pub sync: u64,
    /// Bytes of the body that follows.
    pub body_bytes: u64,
}

impl Head {
    /// Parse the head at the front of `bytes`, and tell how many bytes it has; nothing when it is cut.
    ///
    /// # Errors
    /// A length or a header map that is none, a packet over 2 GiB, or shorter than its header.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        match parse(bytes) {
            Ok(parsed) => Ok(Some(parsed)),
            Err(Unread::Cut) => Ok(None),
            Err(Unread::Malformed(malformed)) => Err(malformed),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<(Head, usize), Unread> {
    let mut rest = Rest(bytes);
    let length = rest.uint(NO_LENGTH)?;
    if length > MAX_PACKET_BYTES {
        return Err(Unread::Malformed(Malformed("a packet over 2 GiB")));
    }
    let length_bytes = bytes.len() - rest.0.len();
    let (mut kind, mut sync) = (None, None);
    for _ in 0..rest.pairs()? {
        match rest.uint(NO_HEADER)? {
            TYPE => kind = Some(rest.uint(NO_HEADER)?),
            SYNC => sync = Some(rest.uint(NO_HEADER)?),
            _ => rest.skip()?,
        }
    }
    let head_bytes = bytes.len() - rest.0.len();
    let header_bytes = (head_bytes - length_bytes) as u64;
    let body_bytes = length.checked_sub(header_bytes).ok_or(Malformed("a packet shorter than its header"))?;
    let kind = kind.ok_or(Malformed("a packet without a type"))?;
    let sync = sync.ok_or(Malformed("a packet without a sync"))?;
    Ok((Head { kind, sync, body_bytes }, head_bytes))
}

enum Unread {
    Cut,
    Malformed(Malformed),
}

impl From<Malformed> for Unread {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// The bytes that are not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Unread> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Unread::Cut)?;
        self.0 = rest;
        Ok(taken)
    }

    fn uint(&mut self, otherwise: Malformed) -> Result<u64, Unread> {
        match self.take(1)?[0] {
            small @ 0..=0x7f => Ok(u64::from(small)),
            wide @ 0xcc..=0xcf => {
                let digits = self.take(1 << (wide - 0xcc))?;
                Ok(digits.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            _ => Err(otherwise.into()),
        }
    }

    /// The pairs of a map; more than 15 has no header.
    fn pairs(&mut self) -> Result<u8, Unread> {
        match self.take(1)?[0] {
            map @ 0x80..=0x8f => Ok(map & 0x0f),
            _ => Err(NO_HEADER.into()),
        }
    }

    /// Skip a number, a boolean or nil.
    fn skip(&mut self) -> Result<(), Unread> {
        let bytes = match self.take(1)?[0] {
            0..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => 0,
            0xcc | 0xd0 => 1,
            0xcd | 0xd1 => 2,
            0xce | 0xd2 | 0xca => 4,
            0xcf | 0xd3 | 0xcb => 8,
            _ => return Err(NO_HEADER.into()),
        };
        self.take(bytes).map(|_| ())
    }
}
