//! Properties of the parsers: how the bytes are cut does not matter, and no bytes make them panic.

use crate::splits::{Feed, Http, Parsed, assert_alike, split_input};
use dyno_load::fastcgi;
use proptest::collection::vec;
use proptest::prelude::*;

fn parse(mut parser: impl Feed, bytes: &[u8], cuts: &[usize]) -> Result<Parsed, dyno_load::Malformed> {
    crate::splits::parse(&mut parser, bytes, cuts)
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
        let parsed = parse(Http::default(), &bytes, &cuts).unwrap();
        prop_assert_eq!(&parsed, &parse(Http::default(), &bytes, &[]).unwrap());
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
            parse(Http::default(), &bytes, &cuts), parse(Http::default(), &bytes, &[])
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
        let _ = parse(Http::default(), &bytes, &cuts);
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice();
        let _ = parse(Http::default(), &[head, &bytes].concat(), &cuts);
        let mut record = vec![1, 6, 0, 1, 1, 44, 0, 0];
        record.extend_from_slice(&bytes);
        let _ = parse(fastcgi::Parser::default(), &record, &cuts);
    }

    #[test]
    fn damaged_answers_are_read_alike_by_a_parser_that_was_used_before(
        (http, ..) in http_response(), (fastcgi, ..) in fastcgi_response(), changes in vec(any::<(usize, u8)>(), 0..4),
        cuts in cuts(), head in any::<bool>()
    ) {
        assert_alike(&mut Http::new(head), &damage(http, &changes), &cuts);
        assert_alike(&mut fastcgi::Parser::default(), &damage(fastcgi, &changes), &cuts);
    }

    /// Whatever a flood repeats, it is refused before it has cost more than the limits.
    #[test]
    fn a_flood_of_headers_is_refused(line in "[ -~]{1,200}", piece in 1_usize..5000) {
        let starts = [&b"HTTP/1.1 200 OK\r\n"[..], b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"];
        let line = format!("A: {line}\r\n").into_bytes();
        for start in starts {
            let flood = [start, &line.repeat(200_000 / line.len() + 1)].concat();
            let (mut parser, mut kept) = (Http::default(), dyno_load::sink::Kept::new(1 << 20));
            let refused = flood.chunks(piece).position(|bytes| parser.feed(bytes, &mut kept).is_err());
            prop_assert!(refused.is_some_and(|pieces| pieces * piece <= 70_000), "{:?} pieces of {}", refused, piece);
            prop_assert_eq!(kept.body.len(), 0);
        }
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

/// The seeds of the fuzz targets stay good, and any input of theirs can be read.
#[test]
fn the_seeds_of_the_fuzz_targets() {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let read = |target: &str| {
        let files = std::fs::read_dir(seeds.join(target)).unwrap();
        let seeds: Vec<Vec<u8>> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
        assert!(seeds.len() > 5, "{target}");
        seeds
    };
    for seed in read("http_response") {
        let (bytes, cuts, head) = split_input(&seed);
        assert_alike(&mut Http::new(head), bytes, &cuts);
    }
    for seed in read("fastcgi_records") {
        let (bytes, cuts, _) = split_input(&seed);
        assert_alike(&mut fastcgi::Parser::default(), bytes, &cuts);
    }
    assert_eq!(split_input(b""), (&b""[..], vec![], false));
    assert_eq!(split_input(b"text\n"), (&b"text\n"[..], vec![], false));
    assert_eq!(split_input(b"text\0\x02\x11"), (&b"text"[..], vec![2], true));
    assert_eq!(split_input(b"x\xf0"), (&b""[..], vec![usize::from(b'x')], false));
}
