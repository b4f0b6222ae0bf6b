//! The chunked transfer coding (RFC 9112, section 7.1), byte by byte outside the data.

use super::prefix;
use crate::outcome::Malformed;

/// The longest chunk extension, and all trailers together: enough for any real one, little for a flood.
const MAX_OVERHEAD_BYTES: u32 = 16 * 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// The first digit of a chunk's size.
    #[default]
    Start,
    Size,
    Extension,
    SizeLineFeed,
    Data,
    DataReturn,
    DataLineFeed,
    TrailerStart,
    Trailer,
    TrailerLineFeed,
    LastLineFeed,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Chunked {
    step: Step,
    left: u64,
    overhead: u32,
}

impl Chunked {
    /// Take the next bytes; the number of bytes used when this was the end of the body, else nothing.
    pub(super) fn feed<F>(&mut self, input: &[u8], data: &mut F) -> Result<Option<usize>, Malformed>
    where
        F: FnMut(&[u8]) -> Result<(), Malformed>,
    {
        let mut at = 0;
        while at < input.len() {
            if self.step == Step::Data {
                let piece = prefix(&input[at..], self.left);
                data(piece)?;
                at += piece.len();
                self.left -= piece.len() as u64;
                if self.left == 0 {
                    self.step = Step::DataReturn;
                }
                continue;
            }
            let last = self.step == Step::LastLineFeed;
            self.step = self.control(input[at])?;
            at += 1;
            if last {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn control(&mut self, byte: u8) -> Result<Step, Malformed> {
        match (self.step, byte) {
            (Step::Start | Step::Size, digit) if digit.is_ascii_hexdigit() => self.digit(digit),
            (Step::Size | Step::Extension, b'\r') => Ok(Step::SizeLineFeed),
            (Step::Size, b';' | b' ' | b'\t') => Ok(Step::Extension),
            (Step::Extension, byte) if byte != b'\n' => self.spend(Step::Extension),
            (Step::SizeLineFeed, b'\n') => {
                self.overhead = 0;
                Ok(if self.left == 0 { Step::TrailerStart } else { Step::Data })
            }
            (Step::DataReturn, b'\r') => Ok(Step::DataLineFeed),
            (Step::DataLineFeed | Step::LastLineFeed, b'\n') => Ok(Step::Start),
            (Step::TrailerStart, b'\r') => Ok(Step::LastLineFeed),
            (Step::Trailer, b'\r') => Ok(Step::TrailerLineFeed),
            (Step::TrailerStart | Step::Trailer, byte) if byte != b'\n' => self.spend(Step::Trailer),
            (Step::TrailerLineFeed, b'\n') => Ok(Step::TrailerStart),
            (Step::DataReturn | Step::DataLineFeed, _) => Err(Malformed("chunk longer than its size")),
            (Step::Start | Step::Size, _) => Err(Malformed("bad chunk size")),
            _ => Err(Malformed("bad line end in the chunked coding")),
        }
    }

    fn digit(&mut self, digit: u8) -> Result<Step, Malformed> {
        let value = u64::from((digit as char).to_digit(16).unwrap_or(0));
        if self.left >> 60 != 0 {
            return Err(Malformed("chunk size over 64 bits"));
        }
        self.left = self.left << 4 | value;
        self.spend(Step::Size)
    }

    fn spend(&mut self, next: Step) -> Result<Step, Malformed> {
        self.overhead += 1;
        if self.overhead > MAX_OVERHEAD_BYTES {
            return Err(Malformed("chunk extension or trailers over 16 KiB"));
        }
        Ok(next)
    }
}
