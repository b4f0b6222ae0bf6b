//! Properties of the parsers: how the bytes are cut does not matter, and no bytes make them panic.

use dyno_load::Malformed;
use dyno_load::fastcgi;
use dyno_load::http1::{self, Progress};
use dyno_load::sink::Kept;
use proptest::collection::vec;
use proptest::prelude::*;

/// What a parser made of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
struct Parsed {
    complete: bool,
    status: u16,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    body: Vec<u8>,
    stderr: Vec<u8>,
}

/// One step of a parser, whichever it is.
trait Feed {
    fn feed(&mut self, bytes: &[u8], kept: &mut Kept) -> Result<Progress, Malformed>;
    fn status(&self) -> u16;
}

impl Feed for http1::Parser {
    fn feed(&mut self, bytes: &[u8], kept: &mut Kept) -> Result<Progress, Malformed> {
        self.feed(bytes, kept)
    }

    fn status(&self) -> u16 {
        self.status()
    }
}

impl Feed for fastcgi::Parser {
    fn feed(&mut self, bytes: &[u8], kept: &mut Kept) -> Result<Progress, Malformed> {
        self.feed(bytes, kept)
    }

    fn status(&self) -> u16 {
        self.status()
    }
}

/// Feed `bytes`, cut at `cuts` (in any order, taken modulo the length); the end of the stream completes what only the
/// close ends.
fn parse(mut parser: impl Feed, bytes: &[u8], cuts: &[usize]) -> Result<Parsed, Malformed> {
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
    Ok(Parsed { complete, status: parser.status(), headers: kept.headers, body: kept.body, stderr: kept.stderr })
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    vec(any::<usize>(), 0..40)
}

/// A valid HTTP response, and its status and body.
fn http_response() -> impl Strategy<Value = (Vec<u8>, u16, Vec<u8>)> {
    let headers = vec("[A-Za-z-]{1,12}: [ -~]{0,30}", 0..5);
    let interim = 0..3_usize;
    (200_u16..600, headers, interim, vec(vec(any::<u8>(), 1..50), 0..6), any::<bool>()).prop_map(
        |(status, headers, interim, pieces, chunked)| {
            let mut bytes = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(interim);
            bytes.extend_from_slice(format!("HTTP/1.1 {status} Reason\r\n").as_bytes());
            for header in headers {
                bytes.extend_from_slice(format!("X-{header}\r\n").as_bytes());
            }
            let has_body = status != 204 && status != 304;
            let body = if has_body { pieces.concat() } else { vec![] };
            if chunked {
                bytes.extend_from_slice(b"transfer-encoding: Chunked\r\n\r\n");
                for piece in pieces.iter().filter(|_| has_body) {
                    bytes.extend_from_slice(format!("{:x};ext=\"1\"\r\n", piece.len()).as_bytes());
                    bytes.extend_from_slice(piece);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(if has_body { b"0\r\nTrailer: x\r\n\r\n" } else { b"" });
            } else {
                bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                bytes.extend_from_slice(&body);
            }
            (bytes, status, body)
        },
    )
}

/// A valid FastCGI answer, its status, its body, its STDERR.
fn fastcgi_response() -> impl Strategy<Value = (Vec<u8>, u16, Vec<u8>, Vec<u8>)> {
    let piece = (vec(any::<u8>(), 1..60), any::<u8>(), any::<bool>());
    (200_u16..600, vec(piece, 0..8), 1..20_usize).prop_map(|(status, pieces, head_cut)| {
        let head = format!("Status: {status} Reason\r\nContent-type: text/html\r\n\r\n").into_bytes();
        let (mut bytes, mut body, mut stderr) = (vec![], vec![], vec![]);
        put_record(&mut bytes, 6, &head[..head_cut], 3);
        put_record(&mut bytes, 6, &head[head_cut..], 0);
        for (content, padding, to_stderr) in pieces {
            put_record(&mut bytes, if to_stderr { 7 } else { 6 }, &content, padding);
            if to_stderr { &mut stderr } else { &mut body }.extend_from_slice(&content);
        }
        put_record(&mut bytes, 6, &[], 0);
        put_record(&mut bytes, 3, &[0; 8], 1);
        (bytes, status, body, stderr)
    })
}

fn put_record(out: &mut Vec<u8>, kind: u8, content: &[u8], padding: u8) {
    let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    out.extend_from_slice(&[1, kind, 0, 1, high, low, padding, 0]);
    out.extend_from_slice(content);
    out.resize(out.len() + usize::from(padding), 0);
}

/// Some bytes of a valid stream changed: such streams come much further than random ones.
fn damage(mut bytes: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        let length = bytes.len();
        bytes[at % length] = *byte;
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn http_does_not_mind_how_it_is_cut((bytes, status, body) in http_response(), cuts in cuts()) {
        let parsed = parse(http1::Parser::default(), &bytes, &cuts).unwrap();
        prop_assert_eq!(&parsed, &parse(http1::Parser::default(), &bytes, &[]).unwrap());
        prop_assert_eq!((parsed.complete, parsed.status, parsed.body), (true, status, body));
    }

    #[test]
    fn fastcgi_does_not_mind_how_it_is_cut((bytes, status, body, stderr) in fastcgi_response(), cuts in cuts()) {
        let parsed = parse(fastcgi::Parser::default(), &bytes, &cuts).unwrap();
        prop_assert_eq!(&parsed, &parse(fastcgi::Parser::default(), &bytes, &[]).unwrap());
        prop_assert_eq!((parsed.complete, parsed.status), (true, status));
        prop_assert_eq!((parsed.body, parsed.stderr), (body, stderr));
    }

    #[test]
    fn damaged_http_is_judged_alike_however_it_is_cut(
        (bytes, ..) in http_response(), changes in vec(any::<(usize, u8)>(), 1..4), cuts in cuts()
    ) {
        let bytes = damage(bytes, &changes);
        prop_assert_eq!(
            parse(http1::Parser::default(), &bytes, &cuts), parse(http1::Parser::default(), &bytes, &[])
        );
    }

    #[test]
    fn damaged_fastcgi_is_judged_alike_however_it_is_cut(
        (bytes, ..) in fastcgi_response(), changes in vec(any::<(usize, u8)>(), 1..4), cuts in cuts()
    ) {
        let bytes = damage(bytes, &changes);
        prop_assert_eq!(
            parse(fastcgi::Parser::default(), &bytes, &cuts), parse(fastcgi::Parser::default(), &bytes, &[])
        );
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in vec(any::<u8>(), 0..300), cuts in cuts()) {
        let _ = parse(fastcgi::Parser::default(), &bytes, &cuts);
        let _ = parse(http1::Parser::default(), &bytes, &cuts);
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice();
        let _ = parse(http1::Parser::default(), &[head, &bytes].concat(), &cuts);
        let mut record = vec![1, 6, 0, 1, 1, 44, 0, 0];
        record.extend_from_slice(&bytes);
        let _ = parse(fastcgi::Parser::default(), &record, &cuts);
    }

    #[test]
    fn any_request_can_be_encoded(
        params in vec((vec(any::<u8>(), 0..300), vec(any::<u8>(), 0..300)), 0..6), stdin in vec(any::<u8>(), 0..300)
    ) {
        let wire = fastcgi::encode_request(&params, &stdin).unwrap();
        let bytes: usize = params.iter().map(|(name, value)| {
            let length = |text: &Vec<u8>| if text.len() < 128 { 1 } else { 4 } + text.len();
            length(name) + length(value)
        }).sum();
        let records = 3 + usize::from(bytes > 0) + usize::from(!stdin.is_empty());
        prop_assert_eq!(wire.len(), 8 * records + 8 + bytes + stdin.len());
    }
}
