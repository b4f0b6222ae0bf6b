use super::*;
use crate::http1::Progress;
use crate::outcome::Malformed;
use crate::sink::Kept;

const COMPLETE: Progress = Progress::Complete { reusable: true };

fn record(kind: u8, content: &[u8], padding: u8) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let mut bytes = vec![VERSION, kind, 0, 1, length[0], length[1], padding, 0];
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len() + usize::from(padding), 0xff);
    bytes
}

fn end(protocol_status: u8) -> Vec<u8> {
    record(END_REQUEST, &[0, 0, 0, 255, protocol_status, 0, 0, 0], 0)
}

struct Parsed {
    progress: Progress,
    status: u16,
    kept: Kept,
}

fn parse_by(bytes: &[u8], size: usize) -> Result<Parsed, Malformed> {
    let mut parser = Parser::default();
    let mut kept = Kept::new(1 << 20);
    let mut progress = Progress::More;
    for piece in bytes.chunks(size) {
        progress = parser.feed(piece, &mut kept)?;
        if progress != Progress::More {
            break;
        }
    }
    assert_eq!(parser.body_bytes(), kept.body.len() as u64);
    assert_eq!(parser.stderr_bytes(), kept.stderr.len() as u64);
    Ok(Parsed { progress, status: parser.status(), kept })
}

fn parse(records: &[Vec<u8>]) -> Result<Parsed, Malformed> {
    let bytes = records.concat();
    let single = parse_by(&bytes, 1);
    let whole = parse_by(&bytes, bytes.len());
    assert_eq!(single.as_ref().err(), whole.as_ref().err());
    if let (Ok(single), Ok(whole)) = (&single, &whole) {
        assert_eq!((single.status, &single.kept.body), (whole.status, &whole.kept.body));
    }
    whole
}

fn status_of(head: &str) -> Result<u16, Malformed> {
    parse(&[record(STDOUT, format!("{head}\r\n\r\nbody").as_bytes(), 0), end(0)]).map(|parsed| parsed.status)
}

#[test]
fn a_request_is_records() {
    let wire = encode_request(&[("A", "b")], b"xy").unwrap();
    let expected = [
        record(BEGIN_REQUEST, &[0, 1, 0, 0, 0, 0, 0, 0], 0),
        record(PARAMS, &[1, 1, b'A', b'b'], 0),
        record(PARAMS, &[], 0),
        record(STDIN, b"xy", 0),
        record(STDIN, &[], 0),
    ];
    assert_eq!(wire, expected.concat());
}

#[test]
fn keep_conn_is_a_flag() {
    let mut wire = encode_request(&[("A", "b")], b"").unwrap();
    let without = wire.clone();
    set_keep_conn(&mut wire, true);
    assert_eq!(wire[..16], record(BEGIN_REQUEST, &[0, 1, 1, 0, 0, 0, 0, 0], 0));
    set_keep_conn(&mut wire, false);
    assert_eq!(wire, without);
}

#[test]
fn long_names_values_and_streams() {
    let value = "v".repeat(70_000);
    let wire = encode_request(&[("n".repeat(128), value)], &vec![7; 65_536]).unwrap();
    let mut pairs = vec![0x80, 0, 0, 128, 0x80, 1, 0x11, 0x70];
    pairs.extend_from_slice(&[b'n'; 128]);
    pairs.extend_from_slice(&vec![b'v'; 70_000]);
    let expected = [
        record(BEGIN_REQUEST, &[0, 1, 0, 0, 0, 0, 0, 0], 0),
        record(PARAMS, &pairs[..65_535], 0),
        record(PARAMS, &pairs[65_535..], 0),
        record(PARAMS, &[], 0),
        record(STDIN, &vec![7; 65_535], 0),
        record(STDIN, &[7], 0),
        record(STDIN, &[], 0),
    ];
    assert_eq!(wire, expected.concat());
}

#[test]
fn a_response_in_records_with_padding_and_stderr() {
    let parsed = parse(&[
        record(STDOUT, b"Content-type: text/", 5),
        record(STDERR, b"oops", 4),
        record(STDOUT, b"html\r\nX: y\r\n\r\nhel", 0),
        record(STDERR, b"", 8),
        record(STDOUT, b"lo", 255),
        record(STDOUT, b"", 0),
        end(0),
    ])
    .unwrap();
    assert_eq!((parsed.progress, parsed.status), (COMPLETE, 200));
    assert_eq!((&parsed.kept.body[..], &parsed.kept.stderr[..]), (&b"hello"[..], &b"oops"[..]));
    assert_eq!(parsed.kept.headers.len(), 2);
}

#[test]
fn the_status_comes_from_the_cgi_headers() {
    assert_eq!(status_of("Content-type: x"), Ok(200));
    assert_eq!(status_of("Status: 404 Not Found\r\nLocation: /"), Ok(404));
    assert_eq!(status_of("status: 500"), Ok(500));
    assert_eq!(status_of("Location: /x"), Ok(302));
    for bad in [
        "Status: 20",
        "Status: x00",
        "Status: 2000",
        "Status: 099",
        "Status:",
        "Status: 200\r\nStatus: 500",
        "no colon",
    ] {
        assert!(status_of(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_response_without_any_header_is_good() {
    let parsed = parse(&[record(STDOUT, b"\r\nbody", 0), end(0)]).unwrap();
    assert_eq!((parsed.status, &parsed.kept.body[..]), (200, &b"body"[..]));
}

#[test]
fn the_status_header_is_not_kept() {
    let parsed = parse(&[record(STDOUT, b"Status: 201\r\nA: b\r\n\r\n", 0), end(0)]).unwrap();
    assert_eq!(parsed.kept.headers, [(b"A".to_vec(), b"b".to_vec())]);
}

#[test]
fn records_out_of_place() {
    let head = record(STDOUT, b"A: b\r\n\r\n", 0);
    let mut other_version = head.clone();
    other_version[0] = 2;
    let mut other_request = head.clone();
    other_request[3] = 2;
    for records in [
        vec![other_version],
        vec![other_request],
        vec![record(PARAMS, b"", 0)],
        vec![record(11, &[0; 8], 0)],
        vec![head.clone(), record(END_REQUEST, &[0; 4], 0)],
        vec![head.clone(), record(STDOUT, b"", 0), record(STDOUT, b"x", 0)],
        vec![record(STDERR, b"", 0), record(STDERR, b"", 0)],
        vec![record(STDOUT, b"A: b\r\n", 0), end(0)],
        vec![end(0)],
        vec![head.clone(), end(1)],
        vec![head.clone(), end(2)],
        vec![head.clone(), end(3)],
        vec![head, end(4)],
        vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()],
    ] {
        assert!(parse(&records).is_err(), "{records:?}");
    }
}

#[test]
fn cgi_headers_are_bounded() {
    let records = vec![record(STDOUT, &vec![b'x'; 65_535], 0); 2];
    assert!(parse(&records).is_err());
}

#[test]
fn what_is_left_over_ends_the_connection() {
    let records = [record(STDOUT, b"A: b\r\n\r\n", 0), end(0), vec![1]];
    assert_eq!(parse(&records).unwrap().progress, Progress::Complete { reusable: false });
}
