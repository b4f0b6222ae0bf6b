use super::Frame;
use super::head::Head;
use crate::outcome::Outcome;

/// A ping: type 64, its sync at offset 10, an empty body.
const PING: &[u8] = b"\xce\0\0\0\x0e\x82\0\x40\x01\xcf\0\0\0\0\0\0\0\0\x80";

fn frame(bytes: &[u8], sync_offset: usize) -> Result<Frame, String> {
    Frame::new(bytes.to_vec(), sync_offset, 0..=9).map_err(|error| error.to_string())
}

#[test]
fn a_frame_is_sent_with_the_sync_of_its_request() {
    let frame = frame(PING, 10).unwrap();
    let mut out = b"before".to_vec();
    frame.put(0x1122, &mut out);
    let (head, bytes) = Head::parse(&out[6..]).unwrap().unwrap();
    assert_eq!(head, Head { kind: 64, sync: 0x1122, body_bytes: 1 });
    assert_eq!((bytes, frame.len()), (18, 19));
}

#[test]
fn a_frame_is_one_request_with_a_sync_where_it_is_said_to_be() {
    for offset in [0, 5, 11, 12, usize::MAX] {
        let why = format!("no sync as an MP_UINT64 (0xcf) just before offset {offset}");
        assert_eq!(frame(PING, offset).unwrap_err(), why);
    }
    let long = [PING, b"\x80"].concat();
    let why = "not an IPROTO request: 2 bytes follow the header, its length says 1";
    assert_eq!(frame(&long, 10).unwrap_err(), why);
    let other = b"\x17\x82\0\x40\x01\xcf\0\0\0\0\0\0\0\0\x81\0\xcf\0\0\0\0\0\0\0\0";
    assert_eq!(frame(other, 17).unwrap_err(), "not an IPROTO request: the sync of its header is not at offset 17");
    assert!(frame(b"\xc1\xcf\0\0\0\0\0\0\0\0", 2).unwrap_err().contains("does not begin with its length"));
    assert!(frame(b"\x20\x8f\x01\xcf\0\0\0\0\0\0\0\0", 4).unwrap_err().contains("its header is cut"));
}

#[test]
fn a_frame_judges_the_body_of_its_answer() {
    let any = frame(PING, 10).unwrap();
    assert_eq!((any.judge(9, true), any.judge(10, true)), (Outcome::Ok, Outcome::WrongLength));
    let exact = any.with_body(b"body".to_vec());
    assert!(exact.allows(0, b"bo") && exact.allows(2, b"dy") && exact.allows(4, b""));
    assert!(!exact.allows(0, b"dy") && !exact.allows(2, b"dy!") && !exact.allows(9, b""));
    assert_eq!((exact.judge(4, true), exact.judge(4, false)), (Outcome::Ok, Outcome::WrongBody));
    assert_eq!(exact.judge(3, true), Outcome::WrongLength);
}

#[test]
fn numbers_of_any_width_and_keys_that_nobody_knows() {
    let scalars = [
        &b"\x07\x07"[..],
        b"\x08\xe0",
        b"\x09\xc0",
        b"\x0a\xc2",
        b"\x0b\xcc\x01",
        b"\x0c\xd1\0\x01",
        b"\x0d\xca\0\0\0\0",
        b"\x0e\xcb\0\0\0\0\0\0\0\0",
        b"\x0f\xd3\0\0\0\0\0\0\0\0",
    ]
    .concat();
    let header = [&b"\x8b\x01\xcd\x12\x34"[..], &scalars, b"\x00\xcc\x80"].concat();
    let length = u8::try_from(header.len() + 4).unwrap();
    let head = Head { kind: 0x80, sync: 0x1234, body_bytes: 4 };
    for prefix in [vec![length], vec![0xcc, length], vec![0xcf, 0, 0, 0, 0, 0, 0, 0, length]] {
        let bytes = [&prefix[..], &header].concat();
        assert_eq!(Head::parse(&bytes), Ok(Some((head, bytes.len()))));
        assert!((0..bytes.len()).all(|cut| Head::parse(&bytes[..cut]) == Ok(None)));
    }
    assert!(Head::parse(b"\x10\x82\x05\xa1x\x01\x01").is_err(), "a string in a header");
    assert!(Head::parse(b"\x10\xde\0\x01\0\0").is_err(), "a header of more than 15 pairs");
}
