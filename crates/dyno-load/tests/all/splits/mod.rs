//! What a parser makes of a stream, however it is cut: for the property tests and for the fuzz targets.
#![allow(dead_code, reason = "every test program uses its own part of this")]
#![allow(unreachable_pub, reason = "a module of a test program is reachable from there only")]

pub mod iproto;

use dyno_load::http1::{self, Progress};
use dyno_load::sink::Kept;
use dyno_load::{Failure, Malformed, fastcgi};

/// What a parser made of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    pub complete: bool,
    pub status: u16,
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub body: Vec<u8>,
    pub stderr: Vec<u8>,
    /// What the close of the peer made of it, when it was not complete by then.
    pub at_close: Option<Result<(), Failure>>,
}

/// One step of a parser, whichever it is.
pub trait Feed {
    fn feed(&mut self, bytes: &[u8], kept: &mut Kept) -> Result<Progress, Malformed>;
    fn close(&self) -> Result<(), Failure>;
    fn status(&self) -> u16;
    fn body_bytes(&self) -> u64;
    fn stderr_bytes(&self) -> u64;
    /// Make ready for the next answer on the connection.
    fn again(&mut self);
}

/// A parser of HTTP, and whether it reads the answer to a HEAD request.
#[derive(Clone, Debug, Default)]
pub struct Http {
    pub parser: http1::Parser,
    pub head: bool,
}

impl Http {
    pub fn new(head: bool) -> Self {
        let mut http = Self { parser: http1::Parser::default(), head };
        http.again();
        http
    }
}

impl Feed for Http {
    fn feed(&mut self, bytes: &[u8], kept: &mut Kept) -> Result<Progress, Malformed> {
        self.parser.feed(bytes, kept)
    }

    fn close(&self) -> Result<(), Failure> {
        self.parser.close().map(|_| ())
    }

    fn status(&self) -> u16 {
        self.parser.status()
    }

    fn body_bytes(&self) -> u64 {
        self.parser.body_bytes()
    }

    fn stderr_bytes(&self) -> u64 {
        0
    }

    fn again(&mut self) {
        self.parser.reset(self.head);
    }
}

impl Feed for fastcgi::Parser {
    fn feed(&mut self, bytes: &[u8], kept: &mut Kept) -> Result<Progress, Malformed> {
        self.feed(bytes, kept)
    }

    fn close(&self) -> Result<(), Failure> {
        Err(Failure::Closed)
    }

    fn status(&self) -> u16 {
        self.status()
    }

    fn body_bytes(&self) -> u64 {
        self.body_bytes()
    }

    fn stderr_bytes(&self) -> u64 {
        self.stderr_bytes()
    }

    fn again(&mut self) {
        self.reset();
    }
}

/// Feed `bytes`, cut at `cuts` (in any order, taken modulo the length); the end of the stream completes what only the
/// close ends.
///
/// Whether the connection may go on is left out: that an answer has bytes behind it shows only when they came with it.
pub fn parse(parser: &mut impl Feed, bytes: &[u8], cuts: &[usize]) -> Result<Parsed, Malformed> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let mut kept = Kept::new(1 << 30);
    let mut complete = false;
    for cut in cuts.windows(2) {
        if let Progress::Complete { .. } = parser.feed(&bytes[cut[0]..cut[1]], &mut kept)? {
            complete = true;
            break;
        }
    }
    assert_eq!((parser.body_bytes(), parser.stderr_bytes()), (kept.body.len() as u64, kept.stderr.len() as u64));
    let at_close = if complete { None } else { Some(parser.close()) };
    let Kept { headers, body, stderr, .. } = kept;
    Ok(Parsed { complete, status: parser.status(), headers, body, stderr, at_close })
}

/// Any bytes: the same whole, byte by byte, cut at `cuts`, and by a parser that has read them before; nothing kept that
/// did not come, and no more of a head than its limits.
pub fn assert_alike(parser: &mut impl Feed, bytes: &[u8], cuts: &[usize]) {
    let whole = parse(parser, bytes, &[]);
    parser.again();
    assert_eq!(whole, parse(parser, bytes, cuts), "cut at {cuts:?}");
    parser.again();
    let single: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(whole, parse(parser, bytes, &single), "byte by byte");
    let Ok(parsed) = whole else { return };
    assert!(parsed.status == 0 || (100..1000).contains(&parsed.status), "{}", parsed.status);
    assert!(!parsed.complete || parsed.status != 0, "complete without a status");
    assert!(parsed.body.len() + parsed.stderr.len() <= bytes.len());
    let head: usize = parsed.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(parsed.headers.len() <= dyno_load::head::MAX_HEADERS && head <= dyno_load::head::MAX_HEAD_BYTES);
}

/// What a fuzz target reads from its input: the last byte says how many cuts (its upper four bits) come before it, two
/// bytes each, and its lowest bit whether the request was HEAD. A text that ends with a line feed is one without cuts.
pub fn split_input(data: &[u8]) -> (&[u8], Vec<usize>, bool) {
    let Some((&last, rest)) = data.split_last() else { return (data, vec![], false) };
    let (bytes, cuts) = rest.split_at(rest.len().saturating_sub(2 * usize::from(last >> 4)));
    let cuts = cuts.chunks(2).map(|pair| pair.iter().fold(0, |cut, byte| cut << 8 | usize::from(*byte))).collect();
    if last == b'\n' { (data, vec![], false) } else { (bytes, cuts, last & 1 == 1) }
}
