use super::*;
use crate::sink::{Discard, Kept};

const COMPLETE: Progress = Progress::Complete { reusable: true };
const LAST: Progress = Progress::Complete { reusable: false };

/// Feed everything at once and byte by byte: both must say the same.
fn parse(bytes: &[u8], no_body: bool) -> Result<(Progress, u16, Vec<u8>), Malformed> {
    let whole = parse_pieces(bytes.chunks(bytes.len().max(1)), no_body);
    let single = parse_pieces(bytes.chunks(1), no_body);
    match (&whole, &single) {
        // Byte by byte there is nothing left over.
        (Ok((LAST, status, body)), Ok((COMPLETE, ..))) => {
            assert_eq!((status, body), single.as_ref().map(rest).unwrap());
        }
        _ => assert_eq!(whole, single, "{:?}", String::from_utf8_lossy(bytes)),
    }
    whole
}

fn rest(parsed: &(Progress, u16, Vec<u8>)) -> (&u16, &Vec<u8>) {
    (&parsed.1, &parsed.2)
}

fn parse_pieces<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    no_body: bool,
) -> Result<(Progress, u16, Vec<u8>), Malformed> {
    let mut parser = Parser::default();
    parser.reset(no_body);
    let mut kept = Kept::new(1 << 20);
    let mut progress = Progress::More;
    for piece in pieces {
        progress = parser.feed(piece, &mut kept)?;
        if progress != Progress::More {
            break;
        }
    }
    assert_eq!(parser.body_bytes(), kept.body.len() as u64);
    Ok((progress, parser.status(), kept.body))
}

fn ok(bytes: &[u8]) -> (Progress, u16, Vec<u8>) {
    parse(bytes, false).unwrap_or_else(|why| panic!("{why:?}: {:?}", String::from_utf8_lossy(bytes)))
}

#[test]
fn content_length() {
    assert_eq!(ok(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), (COMPLETE, 200, b"hello".to_vec()));
    assert_eq!(ok(b"HTTP/1.1 200\r\ncontent-length:0\r\n\r\n"), (COMPLETE, 200, vec![]));
    assert_eq!(ok(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"), (Progress::More, 200, b"hell".to_vec()));
}

#[test]
fn repeated_lengths_must_agree() {
    let same = b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi";
    assert_eq!(ok(same), (COMPLETE, 200, b"hi".to_vec()));
    for lengths in ["2\r\nContent-Length: 3", "2, 3", "-2", "+2", "2x", "", ",", "99999999999999999999"] {
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {lengths}\r\n\r\nhi");
        assert!(parse(bytes.as_bytes(), false).is_err(), "{lengths}");
    }
}

#[test]
fn responses_without_a_body() {
    for status in [204, 304] {
        let bytes = format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n");
        assert_eq!(ok(bytes.as_bytes()), (COMPLETE, status, vec![]));
    }
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(parse(head, true), Ok((COMPLETE, 200, vec![])));
}

#[test]
fn chunks_with_extensions_and_trailers() {
    let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;a=\"b\"\r\nhello\r\n00B \t;x\r\n, wonderful\r\n0;last\r\nX-Sum: 1\r\nY: 2\r\n\r\n";
    assert_eq!(ok(bytes), (COMPLETE, 200, b"hello, wonderful".to_vec()));
}

#[test]
fn bad_chunks() {
    let flood = "x".repeat(17 * 1024);
    for body in [
        "\r\n",
        "g\r\n",
        ";\r\n",
        "-1\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "10000000000000000\r\n",
        "5;a\nb\r\nhello",
        "0\r\nTrailer\n\r\n",
        "0\r\n\rx",
        &format!("5;{flood}"),
        &format!("{}5", "0".repeat(17 * 1024)),
        &format!("0\r\nT: {flood}"),
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        assert!(parse(bytes.as_bytes(), false).is_err(), "{body}");
    }
}

#[test]
fn many_small_chunks_are_no_flood() {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..20_000 {
        bytes.extend_from_slice(b"1;extension\r\nx\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(ok(&bytes).2.len(), 20_000);
}

#[test]
fn a_coding_beats_a_length_but_ends_the_connection() {
    let both = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    assert_eq!(ok(both), (LAST, 200, b"x".to_vec()));
    assert!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", false).is_err());
}

#[test]
fn the_close_ends_a_body_without_length() {
    for headers in ["", "Transfer-Encoding: gzip\r\n"] {
        let mut parser = Parser::default();
        let bytes = format!("HTTP/1.1 200 OK\r\n{headers}\r\nhello");
        assert_eq!(parser.feed(bytes.as_bytes(), &mut Discard), Ok(Progress::More));
        assert_eq!(parser.close(), Ok(LAST));
        assert_eq!(parser.body_bytes(), 5);
    }
}

#[test]
fn who_closes_the_connection() {
    for (start, headers, expected) in [
        ("HTTP/1.1", "", COMPLETE),
        ("HTTP/1.1", "Connection: close\r\n", LAST),
        ("HTTP/1.1", "connection: x, CLOSE\r\n", LAST),
        ("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n", LAST),
        ("HTTP/1.0", "", LAST),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", COMPLETE),
    ] {
        let bytes = format!("{start} 200 OK\r\nContent-Length: 0\r\n{headers}\r\n");
        assert_eq!(ok(bytes.as_bytes()).0, expected, "{start} {headers}");
    }
}

#[test]
fn interim_responses_are_skipped() {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
        HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(ok(bytes), (COMPLETE, 404, b"x".to_vec()));
    assert!(parse(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", false).is_err());
    assert!(parse(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(4000), false).is_err());
}

#[test]
fn what_is_left_over_ends_the_connection() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!";
    assert_eq!(ok(bytes), (LAST, 200, b"hi".to_vec()));
}

#[test]
fn bytes_that_are_not_http() {
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(MAX_HEADERS + 1));
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(MAX_HEAD_BYTES));
    for bytes in [
        "x",
        "SSH-2.0-OpenSSH",
        "\r\n",
        "HTTP/2",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
        &many,
        &long,
    ] {
        assert!(parse(bytes.as_bytes(), false).is_err(), "{bytes}");
    }
}

#[test]
fn an_early_close_is_told_from_rubbish() {
    for (bytes, expected) in [
        (&b""[..], Failure::Closed),
        (b"HTTP/1.1 200 O", Failure::Closed),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx", Failure::Closed),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", Failure::Closed),
        (b"HTTP/1.1 rubbish", Failure::Malformed(Malformed("bad status code"))),
    ] {
        let mut parser = Parser::default();
        assert_eq!(parser.feed(bytes, &mut Discard), Ok(Progress::More));
        assert_eq!(parser.close(), Err(expected), "{bytes:?}");
    }
}

#[test]
fn a_parser_begins_anew_after_a_reset() {
    let mut parser = Parser::default();
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-", &mut Discard).unwrap();
    parser.reset(false);
    assert_eq!(parser.feed(b"HTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\n", &mut Discard), Ok(COMPLETE));
    assert_eq!(parser.status(), 201);
}

#[test]
fn a_sink_can_refuse_a_body() {
    let mut parser = Parser::default();
    let refused = parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", &mut Kept::new(4));
    assert!(refused.is_err());
}
