//! Which connections are opened, kept, given up, and refused.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixListener;

use crate::fake_servers::{
    FakeServer, HELLO, MS, Peer, always, engine, engine_of, get, hang, http_target, impatient, outcomes, read_http,
    run, sleep_ms, socket_path,
};
use dyno_load::{Expected, Options, Target};

fn close_after_each(peer: &mut dyn Peer, _: usize) -> std::io::Result<()> {
    read_http(peer)?;
    peer.write_all(HELLO)
}

#[test]
fn connections_are_kept_over_requests_and_runs() {
    for server in [FakeServer::tcp(always(HELLO)), FakeServer::unix(always(HELLO))] {
        let mut engine = engine(&server.address, http_target());
        assert_eq!(run(&mut engine, 100, 3).connects, 3);
        assert_eq!(run(&mut engine, 100, 3).connects, 0);
        assert_eq!(run(&mut engine, 10, 5).connects, 2);
        engine.close();
        engine.close();
        assert_eq!(run(&mut engine, 10, 1).connects, 1);
        assert_eq!(server.accepted(), 6);
    }
}

#[test]
fn without_keep_alive_each_request_has_its_own() {
    let server = FakeServer::tcp(always(HELLO));
    let options = Options { keep_alive: false, ..impatient() };
    let samples = run(&mut engine_of(&server.address, vec![http_target()], options), 20, 4);
    assert_eq!(outcomes(&samples), ["ok"; 20]);
    assert_eq!((samples.connects, server.accepted()), (20, 20));
}

#[test]
fn connection_close_is_honoured() {
    let server = FakeServer::unix(always(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"));
    let samples = run(&mut engine(&server.address, http_target()), 7, 2);
    assert_eq!(outcomes(&samples), ["ok"; 7]);
    assert_eq!(samples.connects, 7);
}

#[test]
fn a_lost_keep_alive_race_is_not_a_failure() {
    // The answers promise to keep the connection, the server does not.
    for server in [FakeServer::tcp(close_after_each), FakeServer::unix(close_after_each)] {
        let samples = run(&mut engine(&server.address, http_target()), 200, 2);
        assert_eq!(outcomes(&samples), ["ok"; 200]);
        assert_eq!(samples.connects, 200);
    }
}

#[test]
fn the_race_is_run_again_only_once() {
    let server = FakeServer::tcp(|peer: &mut dyn Peer, number| {
        read_http(peer)?;
        if number == 0 { peer.write_all(HELLO) } else { Ok(()) }
    });
    let samples = run(&mut engine(&server.address, http_target()), 2, 1);
    assert_eq!(outcomes(&samples), ["ok", "closed_early"]);
    assert_eq!(server.accepted(), 2);
}

#[test]
fn an_answer_that_had_begun_is_never_asked_for_again() {
    let server = FakeServer::tcp(|peer: &mut dyn Peer, _| {
        read_http(peer)?;
        peer.write_all(HELLO)?;
        read_http(peer)?;
        peer.write_all(b"H")
    });
    let samples = run(&mut engine(&server.address, http_target()), 2, 1);
    assert_eq!(outcomes(&samples), ["ok", "closed_early"]);
    assert_eq!(samples.connects, 1);
}

#[test]
fn stale_connections_are_dropped_before_a_run() {
    // Bytes that nobody asked for, between two runs: they must not be taken for the next answer.
    let server = FakeServer::tcp(|peer: &mut dyn Peer, _| {
        read_http(peer)?;
        peer.write_all(HELLO)?;
        sleep_ms(30);
        peer.write_all(b"HTTP/1.1 500 Stray\r\nContent-Length: 0\r\n\r\n")?;
        hang(peer)
    });
    let mut engine = engine(&server.address, http_target());
    assert_eq!(outcomes(&run(&mut engine, 2, 2)), ["ok"; 2]);
    sleep_ms(100);
    let again = run(&mut engine, 2, 2);
    assert_eq!(outcomes(&again), ["ok"; 2]);
    assert_eq!(again.connects, 2);
}

#[test]
fn nobody_listens() {
    let server = FakeServer::tcp(always(HELLO));
    let address = server.address.clone();
    drop(server);
    sleep_ms(50);
    let samples = run(&mut engine(&address, http_target()), 5, 2);
    assert_eq!(outcomes(&samples), ["connect_failed"; 5]);
    assert_eq!(samples.connects, 0);
    assert!(samples.sent_ns.iter().all(|sent| *sent > 0));

    let missing = format!("unix:{}", socket_path().display());
    let mut engine = engine(&missing, http_target());
    assert_eq!(outcomes(&run(&mut engine, 5, 2)), ["connect_failed"; 5]);
    let fetched = engine.fetch(0, 10, &mut || false).unwrap();
    assert_eq!((fetched.detail.as_str(), fetched.status), ("no such socket", 0));
}

#[test]
fn a_full_backlog_of_a_unix_socket() {
    let path = socket_path();
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = format!("unix:{}", path.display());
    let samples = run(&mut engine(&address, http_target()), 4, 4);
    std::fs::remove_file(&path).unwrap();
    // One connection waits in the backlog and is never served.
    assert_eq!(outcomes(&samples), ["timed_out", "connect_failed", "connect_failed", "connect_failed"]);
}

#[test]
fn a_tcp_handshake_that_never_ends() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let _fills_the_backlog = TcpStream::connect(address).unwrap();
    let options = Options { connect_timeout_ns: 100 * MS, ..impatient() };
    let mut engine = engine_of(&format!("tcp:{address}"), vec![http_target()], options);
    let samples = run(&mut engine, 1, 1);
    assert_eq!((outcomes(&samples)[0], samples.connects), ("timed_out", 0));
    assert!(engine.fetch(0, 10, &mut || false).unwrap().detail.contains("connect time-out"));
}

#[test]
fn times_are_in_order_and_hold_the_waiting() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            read_http(peer)?;
            sleep_ms(20);
            peer.write_all(b"HTTP/1.1 200 OK\r\n")?;
            sleep_ms(20);
            peer.write_all(b"Content-Length: 1\r\n\r\nx")?;
        }
    });
    let samples = run(&mut engine(&server.address, http_target()), 4, 2);
    assert_eq!(outcomes(&samples), ["ok"; 4]);
    for row in 0..4 {
        let (sent, first, done) = (samples.sent_ns[row], samples.first_byte_ns[row], samples.done_ns[row]);
        assert!(samples.started_ns <= sent && done <= samples.ended_ns);
        assert!(first - sent >= 20 * MS && done - first >= 15 * MS, "{sent} {first} {done}");
        assert!(done - sent < 250 * MS);
    }
}

#[test]
fn a_fetch_keeps_the_whole_answer() {
    let server = FakeServer::tcp(always(
        b"HTTP/1.1 500 Oops\r\nA: b\r\na: c\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
    ));
    let strict = Target::http(get("/"), false, Expected { status: 500, min_bytes: 100, max_bytes: 200 });
    let mut engine = engine_of(&server.address, vec![strict, http_target()], impatient());
    let fetched = engine.fetch(0, 4, &mut || false).unwrap();
    assert_eq!((fetched.outcome as u8, fetched.status, fetched.detail.as_str()), (0, 500, ""));
    assert_eq!((&fetched.kept.body[..], fetched.kept.headers.len()), (&b"abcd"[..], 3));
    assert_eq!(fetched.kept.headers[1], (b"a".to_vec(), b"c".to_vec()));
    assert_eq!(engine.fetch(0, 3, &mut || false).unwrap().outcome as u8, 6);
    assert_eq!(engine.fetch(1, 4, &mut || false).unwrap().detail, "status 500, expected 200");
}

#[test]
fn a_head_request_has_no_body() {
    let server = FakeServer::tcp(always(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"));
    let target = Target::http(b"HEAD / HTTP/1.1\r\nHost: fake\r\n\r\n".to_vec(), true, Expected::status(200));
    let samples = run(&mut engine(&server.address, target), 5, 1);
    assert_eq!((outcomes(&samples), samples.connects), (vec!["ok"; 5], 1));
}
