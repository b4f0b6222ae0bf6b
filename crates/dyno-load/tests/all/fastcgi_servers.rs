//! FastCGI responders, good and bad.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fake_servers::{
    FakeServer, MS, Peer, engine, engine_of, fastcgi_answer, fastcgi_target, hang, impatient, outcomes, read_fastcgi,
    record, run, sleep_ms,
};
use dyno_load::{Expected, Options, Target};

const PAGE: &[u8] = b"Content-type: text/html\r\n\r\nhello";

/// As php-fpm does: the connection goes on when the client asked for that.
fn responder(peer: &mut dyn Peer, _: usize) -> std::io::Result<()> {
    while read_fastcgi(peer)? {
        peer.write_all(&fastcgi_answer(PAGE))?;
    }
    peer.write_all(&fastcgi_answer(PAGE))
}

fn outcome_of(answer: Vec<u8>) -> &'static str {
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        read_fastcgi(peer)?;
        peer.write_all(&answer)
    });
    outcomes(&run(&mut engine(&server.address, fastcgi_target()), 1, 1))[0]
}

#[test]
fn keep_alive_is_fcgi_keep_conn() {
    for server in [FakeServer::tcp(responder), FakeServer::unix(responder)] {
        let mut kept = engine(&server.address, fastcgi_target());
        let samples = run(&mut kept, 50, 4);
        assert_eq!((outcomes(&samples), samples.connects), (vec!["ok"; 50], 4));
        assert!(samples.body_bytes.iter().all(|bytes| *bytes == 5));
        let options = Options { keep_alive: false, ..impatient() };
        let samples = run(&mut engine_of(&server.address, vec![fastcgi_target()], options), 50, 4);
        assert_eq!((outcomes(&samples), samples.connects), (vec!["ok"; 50], 50));
    }
}

#[test]
fn a_worker_that_ends_after_its_request_is_a_race() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        read_fastcgi(peer)?;
        peer.write_all(&fastcgi_answer(PAGE))
    });
    let samples = run(&mut engine(&server.address, fastcgi_target()), 50, 2);
    assert_eq!((outcomes(&samples), samples.connects), (vec!["ok"; 50], 50));
}

#[test]
fn large_params_and_stdin_arrive_whole() {
    let bytes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&bytes);
    let server = FakeServer::tcp(move |peer: &mut dyn Peer, _| {
        loop {
            let mut header = [0; 8];
            peer.read_exact(&mut header)?;
            let mut content = vec![0; usize::from(u16::from_be_bytes([header[4], header[5]]))];
            peer.read_exact(&mut content)?;
            count.fetch_add(content.len(), Ordering::SeqCst);
            if header[1] == 5 && content.is_empty() {
                peer.write_all(&fastcgi_answer(PAGE))?;
            }
        }
    });
    let params = [("A".repeat(200), "b".repeat(100_000))];
    let target = Target::fastcgi(&params, &vec![1; 3_000_000], Expected::status(200)).unwrap();
    assert_eq!(outcomes(&run(&mut engine(&server.address, target), 1, 1)), ["ok"]);
    assert_eq!(bytes.load(Ordering::SeqCst), 8 + 8 + 200 + 100_000 + 3_000_000);
}

#[test]
fn outcomes_of_bad_responders() {
    assert_eq!(outcome_of(fastcgi_answer(b"Status: 500\r\n\r\n")), "wrong_status");
    assert_eq!(outcome_of(vec![]), "closed_early");
    assert_eq!(outcome_of(record(6, PAGE)), "closed_early");
    assert_eq!(outcome_of(record(6, PAGE)[..20].to_vec()), "closed_early");
    assert_eq!(outcome_of(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), "malformed");
    assert_eq!(outcome_of(fastcgi_answer(b"")), "malformed");
    assert_eq!(outcome_of([record(6, PAGE), record(3, &[0, 0, 0, 0, 2, 0, 0, 0])].concat()), "malformed");
}

/// The outcome when the connection stays open afterwards, as that of a worker that hangs does.
fn outcome_of_open(answer: Vec<u8>) -> &'static str {
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        read_fastcgi(peer)?;
        peer.write_all(&answer)?;
        hang(peer)
    });
    outcomes(&run(&mut engine(&server.address, fastcgi_target()), 1, 1))[0]
}

#[test]
fn an_answer_without_its_end() {
    let stdout = [record(6, PAGE), record(6, b"")].concat();
    let half = [record(6, PAGE), record(3, &[0; 8])[..9].to_vec()].concat();
    assert_eq!(outcome_of(stdout.clone()), "closed_early");
    assert_eq!(outcome_of(half.clone()), "closed_early");
    for answer in [vec![], stdout, half, record(7, b"PHP Warning: x")] {
        assert_eq!(outcome_of_open(answer), "timed_out");
    }
}

#[test]
fn nothing_but_stderr() {
    assert_eq!(outcome_of(record(7, b"PHP Fatal error: x")), "closed_early");
    let ended = [record(7, b"PHP Fatal error: x"), record(3, &[0; 8])].concat();
    assert_eq!(outcome_of(ended), "malformed", "no CGI headers");
}

#[test]
fn a_flood_of_stderr_stops_neither_the_others_nor_the_time_out() {
    let flood = record(7, &vec![b'x'; 60_000]);
    let server = FakeServer::unix(move |peer: &mut dyn Peer, number| {
        if number > 0 {
            return responder(peer, number);
        }
        loop {
            peer.write_all(&flood)?;
        }
    });
    let samples = run(&mut engine(&server.address, fastcgi_target()), 50, 2);
    assert_eq!(outcomes(&samples).iter().filter(|outcome| **outcome == "ok").count(), 49);
    assert_eq!(outcomes(&samples)[0], "timed_out");
    assert!(samples.stderr_bytes > 0);
}

#[test]
fn a_reset() {
    // Closing with the request unread makes the kernel send a reset.
    let server = FakeServer::tcp(|_: &mut dyn Peer, _| {
        sleep_ms(50);
        Ok(())
    });
    assert_eq!(outcomes(&run(&mut engine(&server.address, fastcgi_target()), 2, 1)), ["closed_early"; 2]);
}

#[test]
fn a_gibibyte_is_counted_and_not_kept() {
    const RECORD_BYTES: usize = 65_535;
    const RECORDS: usize = 16_384;
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        read_fastcgi(peer)?;
        peer.write_all(&record(6, b"\r\n"))?;
        let piece = record(6, &vec![b'x'; RECORD_BYTES]);
        (0..RECORDS).try_for_each(|_| peer.write_all(&piece))?;
        peer.write_all(&record(3, &[0; 8]))
    });
    let options = Options { response_timeout_ns: 30_000 * MS, ..impatient() };
    let samples = run(&mut engine_of(&server.address, vec![fastcgi_target()], options), 1, 1);
    assert_eq!((outcomes(&samples)[0], samples.body_bytes[0]), ("ok", (RECORD_BYTES * RECORDS) as u64));
}

#[test]
fn stderr_is_counted_and_fetched() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            read_fastcgi(peer)?;
            peer.write_all(&record(7, b"PHP Warning: x"))?;
            peer.write_all(&fastcgi_answer(b"Status: 404 Not Found\r\nA: b\r\n\r\ngone"))?;
        }
    });
    let target = Target::fastcgi(&[("A", "b")], b"", Expected::status(404)).unwrap();
    let mut engine = engine(&server.address, target);
    assert_eq!(run(&mut engine, 3, 1).stderr_bytes, 3 * 14);
    let fetched = engine.fetch(0, 100, &mut || false).unwrap();
    assert_eq!((fetched.outcome as u8, fetched.status), (0, 404));
    assert_eq!((&fetched.kept.body[..], &fetched.kept.stderr[..]), (&b"gone"[..], &b"PHP Warning: x"[..]));
    assert_eq!(fetched.kept.headers, [(b"A".to_vec(), b"b".to_vec())]);
}
