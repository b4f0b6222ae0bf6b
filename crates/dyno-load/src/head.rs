//! A block of header lines that arrives in pieces: found, bounded, and parsed once, in place when it came whole.

use memchr::memchr_iter;

use crate::outcome::Malformed;

/// The largest head we read. nginx's own default for an upstream is 4 to 8 KiB, Apache's limit is about 50 KiB.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The most header lines of one head.
pub const MAX_HEADERS: usize = 128;

/// The memory of a connection whose heads come in pieces: enough for nearly all, so that it is allocated once.
const FIRST_BYTES: usize = 4096;

/// Collects one head. The memory is kept from response to response.
#[derive(Clone, Debug, Default)]
pub struct HeadBuffer {
    bytes: Vec<u8>,
}

impl HeadBuffer {
    /// Forget a head that is not complete.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// What has come of an incomplete head.
    #[must_use]
    pub fn partial(&self) -> &[u8] {
        &self.bytes
    }

    /// Take from `input` up to the blank line; when it is there, call `parse` with the whole head and return how many
    /// bytes of `input` belonged to it.
    ///
    /// # Errors
    /// A head over [`MAX_HEAD_BYTES`], and what `parse` refuses.
    pub fn take<F>(&mut self, input: &[u8], parse: F) -> Result<Option<usize>, Malformed>
    where
        F: FnOnce(&[u8]) -> Result<(), Malformed>,
    {
        if self.bytes.is_empty()
            && let Some(end) = end_of_head(input, 0)
        {
            if end > MAX_HEAD_BYTES {
                return Err(Malformed("headers over 64 KiB"));
            }
            parse(&input[..end])?;
            return Ok(Some(end));
        }
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(FIRST_BYTES);
        }
        let before = self.bytes.len();
        let room = MAX_HEAD_BYTES - before;
        self.bytes.extend_from_slice(&input[..input.len().min(room)]);
        // Two bytes back: a line feed and a carriage return that were waiting for the last line feed.
        match end_of_head(&self.bytes, before.saturating_sub(2)) {
            Some(end) => {
                parse(&self.bytes[..end])?;
                self.bytes.clear();
                Ok(Some(end - before))
            }
            None if self.bytes.len() == MAX_HEAD_BYTES => Err(Malformed("headers over 64 KiB")),
            None => Ok(None),
        }
    }
}

/// The index after the first blank line, looking at line ends from `from` on. A bare line feed ends a line too, as
/// `httparse` has it.
fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let blank = |at: usize| match bytes.get(at) {
        Some(b'\n') => Some(at + 1),
        Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => Some(at + 2),
        _ => None,
    };
    if from == 0
        && let Some(end) = blank(0)
    {
        return Some(end);
    }
    memchr_iter(b'\n', &bytes[from..]).find_map(|at| blank(from + at + 1))
}

/// `value` without the blanks around it.
pub(crate) fn trim(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

/// The comma-separated tokens of a header value, trimmed, empty ones left out.
pub(crate) fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(trim).filter(|token| !token.is_empty())
}

/// An unsigned decimal number of digits only.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_in_pieces(bytes: &[u8], size: usize) -> Result<Option<usize>, Malformed> {
        let mut buffer = HeadBuffer::default();
        let mut used = 0;
        for piece in bytes.chunks(size) {
            match buffer.take(piece, |_| Ok(()))? {
                Some(end) => return Ok(Some(used + end)),
                None => used += piece.len(),
            }
        }
        Ok(None)
    }

    #[test]
    fn the_blank_line_is_found_however_the_bytes_arrive() {
        for (bytes, end) in [
            (&b"a: b\r\n\r\nrest"[..], Some(8)),
            (b"a: b\n\nrest", Some(6)),
            (b"a: b\n\r\nrest", Some(7)),
            (b"\r\nrest", Some(2)),
            (b"\nrest", Some(1)),
            (b"a: b\r\n\r", None),
            (b"a: b\r\n\rx\n", None),
        ] {
            for size in 1..=bytes.len() {
                assert_eq!(take_in_pieces(bytes, size), Ok(end), "{bytes:?} by {size}");
            }
        }
    }

    #[test]
    fn a_head_over_the_limit_is_refused_however_it_arrives() {
        let mut bytes = vec![b'x'; MAX_HEAD_BYTES];
        bytes.extend_from_slice(b"\r\n\r\n");
        for size in [1000, 65_536, bytes.len()] {
            assert!(take_in_pieces(&bytes, size).is_err(), "by {size}");
        }
    }

    #[test]
    fn decimals() {
        assert_eq!(decimal(b"0"), Some(0));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for text in [&b""[..], b"18446744073709551616", b"-1", b"+1", b" 1", b"1a"] {
            assert_eq!(decimal(text), None, "{text:?}");
        }
    }
}
