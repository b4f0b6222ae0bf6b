//! Bodies held against a pattern: what differs is told and kept, and is no failure.

use std::sync::Arc;

use crate::fake_servers::{FakeServer, Peer, engine, fastcgi_answer, get, outcomes, read_fastcgi, read_http, run};
use dyno_load::{Expected, Gap, Pattern, Target};

const PAGE: &[u8] = b"<p>at 12:00</p><p>right</p>";
const WRONG: &[u8] = b"<p>at 12:00</p><p>wrung</p>";

fn still() -> Option<Arc<Pattern>> {
    Pattern::new(vec![PAGE.to_vec()], vec![]).map(Arc::new)
}

fn with_a_clock() -> Option<Arc<Pattern>> {
    let gap = Gap::new(4, 6, b"0123456789:").unwrap();
    Pattern::new(vec![b"<p>at ".to_vec(), b"</p><p>right</p>".to_vec()], vec![gap]).map(Arc::new)
}

fn target(pattern: Option<Arc<Pattern>>) -> Target {
    Target::http(get("/"), false, Expected::status(200)).like(pattern)
}

fn chunked(peer: &mut dyn Peer, body: &[u8], size: usize) -> std::io::Result<()> {
    peer.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    for piece in body.chunks(size) {
        peer.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
        peer.write_all(piece)?;
        peer.write_all(b"\r\n")?;
    }
    peer.write_all(b"0\r\n\r\n")
}

/// Every third answer is wrong, in chunks of other sizes each time.
fn every_third_wrong() -> FakeServer {
    FakeServer::unix(|peer: &mut dyn Peer, _| {
        for turn in 1.. {
            read_http(peer)?;
            chunked(peer, if turn % 3 == 0 { WRONG } else { PAGE }, turn % 9 + 1)?;
        }
        Ok(())
    })
}

#[test]
fn what_differs_is_told_kept_and_no_failure() {
    for pattern in [still(), with_a_clock()] {
        let server = every_third_wrong();
        let mut engine = engine(&server.address, target(pattern));
        // One failure would end the run.
        let samples = engine.run(vec![0; 60], 1, 1, &mut || false).unwrap();
        let told = outcomes(&samples);
        assert!(told.iter().enumerate().all(|(row, told)| *told == if row % 3 == 2 { "wrong_body" } else { "ok" }));
        assert_eq!(samples.different.len(), 8);
        for (turn, different) in samples.different.iter().enumerate() {
            assert_eq!((different.row, different.body.as_slice()), (3 * turn + 2, WRONG));
        }
        // The next run keeps its own.
        assert_eq!(run(&mut engine, 3, 1).different.len(), 1);
    }
}

#[test]
fn without_a_pattern_no_body_is_looked_at() {
    let server = every_third_wrong();
    let samples = run(&mut engine(&server.address, target(None)), 9, 1);
    assert!(outcomes(&samples).iter().all(|told| *told == "ok") && samples.different.is_empty());
}

#[test]
fn rows_of_several_threads_keep_their_places() {
    let server = every_third_wrong();
    let width = dyno_load::Width::new(4, 2).unwrap();
    let mut engine = engine(&server.address, target(still()));
    let samples = engine.run(vec![0; 120], width, u64::MAX, &mut || false).unwrap();
    let wrong: Vec<usize> = (0..120).filter(|row| outcomes(&samples)[*row] == "wrong_body").collect();
    assert!(!wrong.is_empty() && samples.different.len() <= 16);
    assert!(samples.different.iter().all(|different| wrong.contains(&different.row) && different.body == WRONG));
}

#[test]
fn a_wrong_status_is_said_first_and_a_fetch_judges_no_body() {
    let server = every_third_wrong();
    let strict = Target::http(get("/"), false, Expected::status(404)).like(still());
    assert!(outcomes(&run(&mut engine(&server.address, strict), 3, 1)).iter().all(|told| *told == "wrong_status"));
    let mut engine = engine(&server.address, target(still()));
    for _ in 0..3 {
        let fetched = engine.fetch(0, 1000, &mut || false).unwrap();
        assert_eq!(fetched.detail, "");
    }
}

#[test]
fn fastcgi_bodies_are_compared_as_well() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        read_fastcgi(peer)?;
        peer.write_all(&fastcgi_answer(&[b"Content-Type: text/html\r\n\r\n", WRONG].concat()))
    });
    let target = Target::fastcgi(&[("A", "b")], b"", Expected::status(200)).unwrap().like(still());
    let samples = run(&mut engine(&server.address, target), 2, 1);
    assert_eq!(outcomes(&samples), ["wrong_body"; 2]);
    assert_eq!(samples.different[0].body, WRONG);
}
