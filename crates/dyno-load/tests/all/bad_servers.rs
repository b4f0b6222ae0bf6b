//! Whatever a server does is an outcome: never a panic, never a hang.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::fake_servers::{
    FakeServer, HELLO, MS, Peer, Serve, always, engine, engine_of, get, hang, http_target, impatient, outcomes,
    read_http, run, sleep_ms,
};
use dyno_load::{Expected, Target, outcome::Outcome};

/// One request to a fake over TCP and one over a unix socket: the same outcome, soon.
fn outcome_of(serve: impl Serve + Clone) -> &'static str {
    let tcp = FakeServer::tcp(serve.clone());
    let unix = FakeServer::unix(serve);
    let over_tcp = outcome_at(&tcp.address);
    assert_eq!(outcome_at(&unix.address), over_tcp);
    over_tcp
}

fn outcome_at(address: &str) -> &'static str {
    let target = Target::http(get("/"), false, Expected { status: 200, min_bytes: 1, max_bytes: 1000 });
    let started = Instant::now();
    let samples = run(&mut engine(address, target), 1, 1);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(samples.sent_ns[0] >= samples.started_ns && samples.ended_ns >= samples.sent_ns[0]);
    let complete = samples.outcome[0] <= Outcome::WrongLength as u8;
    assert_eq!(samples.done_ns[0] > 0, complete, "only a complete response has an end");
    outcomes(&samples)[0]
}

/// Answer with `answer` and close.
fn once(answer: &'static [u8]) -> impl Serve + Clone {
    move |peer: &mut dyn Peer, _| {
        read_http(peer)?;
        peer.write_all(answer)
    }
}

#[test]
fn ok_and_what_was_not_expected() {
    assert_eq!(outcome_of(once(HELLO)), "ok");
    assert_eq!(outcome_of(once(b"HTTP/1.0 200 OK\r\n\r\nuntil the close")), "ok");
    assert_eq!(outcome_of(once(b"HTTP/1.1 500 Oops\r\nContent-Length: 1\r\n\r\nx")), "wrong_status");
    assert_eq!(outcome_of(once(b"HTTP/1.1 204 None\r\n\r\n")), "wrong_status");
    assert_eq!(outcome_of(once(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")), "wrong_length");
}

#[test]
fn a_server_that_never_answers() {
    assert_eq!(outcome_of(hang_up_never), "timed_out");
}

fn hang_up_never(peer: &mut dyn Peer, _: usize) -> std::io::Result<()> {
    hang(peer)
}

#[test]
fn a_byte_now_and_then() {
    let serve = |peer: &mut dyn Peer, _| loop {
        for byte in HELLO {
            peer.write_all(&[*byte])?;
            sleep_ms(20);
        }
    };
    assert_eq!(outcome_of(serve), "timed_out");
}

#[test]
fn half_an_answer() {
    assert_eq!(outcome_of(once(b"HTTP/1.1 200 OK\r\nContent-Le")), "closed_early");
    assert_eq!(outcome_of(once(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")), "closed_early");
    assert_eq!(
        outcome_of(once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")),
        "closed_early"
    );
    assert_eq!(outcome_of(once(b"")), "closed_early");
}

#[test]
fn a_content_length_that_promises_too_much_and_a_connection_that_stays_open() {
    let serve = |peer: &mut dyn Peer, _| {
        read_http(peer)?;
        peer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nhello")?;
        hang(peer)
    };
    assert_eq!(outcome_of(serve), "timed_out");
    assert_eq!(outcome_of(once(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nx")), "malformed");
    assert_eq!(outcome_of(once(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx")), "malformed");
}

#[test]
fn a_content_length_that_promises_too_little_does_not_poison_the_next_answer() {
    // What is left of the first answer would read as the head of the second.
    let lie = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n";
    let server = FakeServer::unix(always(lie));
    let samples = run(&mut engine(&server.address, http_target()), 20, 2);
    assert_eq!(outcomes(&samples), ["ok"; 20]);
    assert_eq!(samples.connects, 20);
}

#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        loop {
            read_http(peer)?;
            count.fetch_add(1, Ordering::SeqCst);
            peer.write_all(b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n")?;
        }
    });
    let mut engine = engine(&server.address, http_target());
    let samples = run(&mut engine, 3, 1);
    assert_eq!((outcomes(&samples), samples.status), (vec!["wrong_status"; 3], vec![302; 3]));
    assert_eq!(seen.load(Ordering::SeqCst), 3);
    assert_eq!(engine.fetch(0, 100, &mut || false).unwrap().detail, "status 302, expected 200, Location: /login");
}

#[test]
fn ten_thousand_targets() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            let request = read_http(peer)?;
            let path = request.split(|byte| *byte == b' ').nth(1).unwrap();
            write!(peer, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", path.len())?;
            peer.write_all(path)?;
        }
    });
    let path = |number: u32| format!("/{}", "x".repeat(number as usize % 100));
    let targets = (0..10_000).map(|number| {
        let length = path(number).len() as u64;
        Target::http(get(&path(number)), false, Expected { status: 200, min_bytes: length, max_bytes: length })
    });
    let mut engine = engine_of(&server.address, targets.collect(), impatient());
    let samples = engine.run((0..10_000).rev().collect(), 4, 1, &mut || false).unwrap();
    assert!(outcomes(&samples).iter().all(|outcome| *outcome == "ok"));
    assert_eq!(samples.connects, 4);
}

#[test]
fn a_reset() {
    // Closing with the request unread makes the kernel send a reset.
    let serve = |_: &mut dyn Peer, _| {
        sleep_ms(50);
        Ok(())
    };
    assert_eq!(outcome_of(serve), "closed_early");
}

#[test]
fn garbage() {
    assert_eq!(outcome_of(once(b"\x16\x03\x01\x02\x00")), "malformed");
    assert_eq!(outcome_of(once(b"HTTP/1.1 rubbish")), "malformed");
    assert_eq!(outcome_of(once(b"HTTP/1.1 000 OK\r\nContent-Length: 1\r\n\r\nx")), "malformed");
    assert_eq!(outcome_of(once(b"HTTP/1.1 099 OK\r\nContent-Length: 1\r\n\r\nx")), "malformed");
    assert_eq!(outcome_of(once(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx")), "malformed");
    assert_eq!(outcome_of(once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")), "malformed");
}

#[test]
fn floods_of_headers() {
    let flood = |start: &'static [u8], line: &'static [u8]| {
        move |peer: &mut dyn Peer, _| {
            peer.write_all(start)?;
            loop {
                peer.write_all(line)?;
            }
        }
    };
    assert_eq!(outcome_of(flood(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n")), "malformed");
    assert_eq!(outcome_of(flood(b"HTTP/1.1 200 OK\r\n", b"no line end at all ")), "malformed");
    assert_eq!(outcome_of(flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n")), "malformed");
}

#[test]
fn a_body_without_end_stops_neither_the_others_nor_the_time_out() {
    let endless = |peer: &mut dyn Peer| {
        peer.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        loop {
            peer.write_all(&vec![b'x'; 65_536])?;
        }
    };
    let server = FakeServer::unix(
        move |peer: &mut dyn Peer, number| {
            if number == 0 { endless(peer) } else { always(HELLO)(peer, number) }
        },
    );
    let samples = run(&mut engine(&server.address, http_target()), 50, 2);
    assert_eq!(outcomes(&samples).iter().filter(|outcome| **outcome == "ok").count(), 49);
    assert_eq!(outcomes(&samples)[0], "timed_out");
    assert!(samples.body_bytes[0] > 0);
}

#[test]
fn a_gibibyte_is_counted_and_not_kept() {
    const GIBIBYTE: u64 = 1 << 30;
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        read_http(peer)?;
        write!(peer, "HTTP/1.1 200 OK\r\nContent-Length: {GIBIBYTE}\r\n\r\n")?;
        let piece = vec![b'x'; 1 << 20];
        (0..1024).try_for_each(|_| peer.write_all(&piece))
    });
    let target = Target::http(get("/"), false, Expected { status: 200, min_bytes: 0, max_bytes: GIBIBYTE - 1 });
    let mut options = impatient();
    options.response_timeout_ns = 30_000 * MS;
    let samples = run(&mut engine_of(&server.address, vec![target], options), 1, 1);
    assert_eq!((outcomes(&samples)[0], samples.body_bytes[0]), ("wrong_length", GIBIBYTE));
}

#[test]
fn bytes_after_the_answer_cost_the_connection_not_the_answer() {
    let server = FakeServer::tcp(always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more"));
    let samples = run(&mut engine(&server.address, http_target()), 5, 1);
    assert_eq!(outcomes(&samples), ["ok"; 5]);
    assert_eq!(samples.connects, 5);
}

#[test]
fn a_large_request_whose_answer_comes_early() {
    // 413 before the request is out: the answer counts, the connection does not go on.
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        peer.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 1\r\n\r\nx")?;
        sleep_ms(1000);
        Ok(())
    });
    let mut request = b"POST / HTTP/1.1\r\nHost: fake\r\nContent-Length: 10000000\r\n\r\n".to_vec();
    request.resize(10_000_000, b'x');
    let target = Target::http(request, false, Expected::status(413));
    let samples = run(&mut engine(&server.address, target), 3, 1);
    assert_eq!(outcomes(&samples), ["ok"; 3]);
    assert_eq!(samples.connects, 3);
}

#[test]
fn a_large_request_goes_out_in_pieces() {
    const BYTES: usize = 5_000_000;
    let server = FakeServer::tcp(|peer: &mut dyn Peer, _| {
        let mut request = vec![0; BYTES];
        loop {
            peer.read_exact(&mut request)?;
            let intact = request.starts_with(b"POST") && request.ends_with(b"end");
            peer.write_all(if intact { HELLO } else { b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n" })?;
        }
    });
    let mut request = b"POST / HTTP/1.1\r\nHost: fake\r\nContent-Length: 0\r\n\r\n".to_vec();
    request.resize(BYTES - 3, b'x');
    request.extend_from_slice(b"end");
    let target = Target::http(request, false, Expected::status(200));
    let samples = run(&mut engine(&server.address, target), 5, 2);
    assert_eq!(outcomes(&samples), ["ok"; 5]);
    assert_eq!(samples.connects, 2);
}
