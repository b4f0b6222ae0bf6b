//! Whatever a server does to a pipeline is an outcome: never a panic, never a hang.

use std::time::{Duration, Instant};

use crate::fake_servers::iproto::{
    NO_SUCH_SPACE, NOTHING, answer, failure, flow, greeting, in_batches, once, packet, pipeline, read_request,
};
use crate::fake_servers::{FakeServer, Peer, Serve, hang, outcomes, sleep_ms, socket_path};

/// Ten requests, five in flight: the outcomes of the first and the last, and why the run ended.
fn fate(serve: impl Serve + Clone) -> (&'static str, &'static str, String) {
    let tcp = FakeServer::tcp(serve.clone());
    let unix = FakeServer::unix(serve);
    let over_tcp = fate_at(&tcp.address);
    assert_eq!(fate_at(&unix.address), over_tcp);
    over_tcp
}

fn fate_at(address: &str) -> (&'static str, &'static str, String) {
    let mut pipeline = pipeline(address);
    let started = Instant::now();
    let samples = flow(&mut pipeline, 10, 5);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(samples.ended_ns >= samples.started_ns && samples.started_ns > 0);
    let outcomes = outcomes(&samples);
    (outcomes[0], outcomes[9], failure(&pipeline))
}

/// The fate of requests whose first is answered so, by a fake that stays.
fn malformed(last: impl Fn(u64) -> Vec<u8> + Clone + Send + Sync + 'static) -> String {
    let stay = move |peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        let (sync, _) = read_request(peer)?;
        peer.write_all(&last(sync))?;
        hang(peer)
    };
    let (first, last, why) = fate(stay);
    assert_eq!((first, last), ("malformed", "abandoned"), "{why}");
    why
}

#[test]
fn nobody_is_there() {
    let missing = format!("unix:{}", socket_path().display());
    assert_eq!(fate_at(&missing), ("connect_failed", "abandoned", "no such socket".into()));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(fate_at(&format!("tcp:{free}")), ("connect_failed", "abandoned", "connection refused".into()));
}

#[test]
fn a_greeting_that_is_cut() {
    for length in [0, 1, 9, 64, 127] {
        let cut = move |peer: &mut dyn Peer, _| peer.write_all(&greeting()[..length]);
        let (first, _, why) = fate(cut);
        assert_eq!((first, why.as_str()), ("closed_early", "the peer closed before the response was complete"));
    }
}

#[test]
fn a_greeting_that_never_ends() {
    for length in [0, 127] {
        let wait = move |peer: &mut dyn Peer, _| {
            peer.write_all(&greeting()[..length])?;
            hang(peer)
        };
        assert_eq!(fate(wait), ("timed_out", "abandoned", "no connection within the connect time-out".into()));
    }
}

#[test]
fn a_greeting_of_another_kind() {
    let ssh = |peer: &mut dyn Peer, _| {
        peer.write_all(b"SSH-2.0-OpenSSH\r\n")?;
        hang(peer)
    };
    assert_eq!(fate(ssh), ("malformed", "abandoned", "the server does not greet as Tarantool does".into()));
}

#[test]
fn a_sync_that_nobody_waits_for() {
    let why = "an answer with a sync that nobody waits for";
    assert_eq!(malformed(|_| answer(0, 99, NOTHING)), why);
    assert_eq!(malformed(|_| answer(0, u64::MAX, NOTHING)), why);
    assert_eq!(malformed(|sync| answer(0x80, sync + 5, NOTHING)), why);
    let twice = in_batches(1, |syncs| answer(0, syncs[0], NOTHING).repeat(2));
    let (first, last, reason) = fate(twice);
    assert_eq!((first, last, reason.as_str()), ("ok", "abandoned", why));
}

#[test]
fn an_answer_that_belongs_to_an_earlier_run() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        let (first, _) = read_request(peer)?;
        peer.write_all(&answer(0, first, NOTHING))?;
        read_request(peer)?;
        peer.write_all(&answer(0, first, NOTHING))?;
        hang(peer)
    });
    let mut pipeline = pipeline(&server.address);
    assert_eq!(outcomes(&flow(&mut pipeline, 1, 1)), ["ok"]);
    assert_eq!(outcomes(&flow(&mut pipeline, 1, 1)), ["malformed"]);
    assert_eq!(failure(&pipeline), "an answer with a sync that nobody waits for");
}

#[test]
fn sync_0() {
    let why = "an answer with sync 0: the server could not read a request";
    assert_eq!(malformed(|_| answer(NO_SUCH_SPACE, 0, NOTHING)), why);
    let (first, _, reason) = fate(once(|_| answer(NO_SUCH_SPACE, 0, NOTHING)));
    assert_eq!((first, reason.as_str()), ("malformed", why), "said before the close");
}

#[test]
fn bytes_that_are_not_iproto() {
    assert_eq!(malformed(|_| b"\xc1".to_vec()), "not IPROTO: a packet does not begin with its length");
    assert_eq!(malformed(|_| b"HTTP/1.1 400 Bad\r\n".to_vec()), "not IPROTO: a packet without a header map of numbers");
    assert_eq!(malformed(|_| vec![0xce, 0xff, 0xff, 0xff, 0xff]), "a packet over 2 GiB");
    assert_eq!(malformed(|_| vec![0xcf; 9]), "a packet over 2 GiB");
    assert_eq!(malformed(|_| vec![0x01, 0x82, 0x00, 0x00, 0x01, 0x01]), "a packet shorter than its header");
    assert_eq!(malformed(|_| packet(&[0x80])), "a packet without a type");
    assert_eq!(malformed(|_| packet(&[0x81, 0x00, 0x00])), "a packet without a sync");
    assert_eq!(malformed(|sync| answer(0x7fff, sync, NOTHING)), "an answer of an unknown type");
    assert_eq!(malformed(|sync| answer(0x1_0000, sync, NOTHING)), "an answer of an unknown type");
}

#[test]
fn a_close_in_mid_flight() {
    let why = "the peer closed before the response was complete";
    let closes = in_batches_then_close();
    let server = FakeServer::tcp(closes);
    let mut pipeline = pipeline(&server.address);
    let samples = flow(&mut pipeline, 10, 4);
    let mut expected = [["ok"; 3].as_slice(), &["closed_early"; 4], &["abandoned"; 3]].concat();
    assert_eq!((outcomes(&samples), failure(&pipeline)), (expected.clone(), why.into()));
    assert!(samples.sent_ns[..7].iter().all(|sent| *sent > 0) && samples.sent_ns[7..].iter().all(|sent| *sent == 0));
    // Half an answer is none.
    let server = FakeServer::unix(once(|sync| answer(0, sync, b"half of it")[..33].to_vec()));
    let mut pipeline = crate::fake_servers::iproto::pipeline(&server.address);
    let samples = flow(&mut pipeline, 10, 1);
    expected = [["closed_early"; 1].as_slice(), &["abandoned"; 9]].concat();
    assert_eq!((outcomes(&samples), samples.body_bytes[0], samples.done_ns[0]), (expected, 5, 0));
}

/// Read all that was asked, so that the close is no reset; answer three and close.
fn in_batches_then_close() -> impl Serve {
    |peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        for _ in 0..3 {
            let (sync, _) = read_request(peer)?;
            peer.write_all(&answer(0, sync, NOTHING))?;
        }
        for _ in 0..4 {
            read_request(peer)?;
        }
        Ok(())
    }
}

#[test]
fn a_server_that_never_answers() {
    let silent = |peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        hang(peer)
    };
    let why = "no complete response within the response time-out";
    assert_eq!(fate(silent), ("timed_out", "abandoned", why.into()));
    // Nor does it read: most requests never leave.
    let deaf = FakeServer::unix(|peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        sleep_ms(1500);
        Ok(())
    });
    let mut pipeline = pipeline(&deaf.address);
    let samples = flow(&mut pipeline, 1_000_000, 1_000_000);
    assert_eq!((outcomes(&samples)[0], outcomes(&samples)[999_999]), ("timed_out", "abandoned"));
    assert_eq!(failure(&pipeline), why);
}

#[test]
fn an_answer_in_time_for_some_only() {
    // One request is never answered, others always: it is not forgotten among them.
    let serve = |peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        read_request(peer)?;
        loop {
            let (sync, _) = read_request(peer)?;
            sleep_ms(5);
            peer.write_all(&answer(0, sync, NOTHING))?;
        }
    };
    let server = FakeServer::unix(serve);
    let samples = flow(&mut pipeline(&server.address), 1000, 3);
    let outcomes = outcomes(&samples);
    assert_eq!((outcomes[0], outcomes[1], outcomes[999]), ("timed_out", "ok", "abandoned"));
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == "timed_out").count(), 1);
}

#[test]
fn an_interruption_abandons_what_is_in_flight() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, number| {
        if number > 1 {
            return in_batches(1, |syncs| answer(0, syncs[0], NOTHING))(peer, number);
        }
        peer.write_all(&greeting())?;
        hang(peer)
    });
    let mut pipeline = pipeline(&server.address);
    for (patience, sent) in [(Duration::ZERO, 0), (Duration::from_millis(60), 5)] {
        let started = Instant::now();
        let samples = pipeline.run(vec![0; 10], 5, u64::MAX, &mut || started.elapsed() >= patience).unwrap();
        assert!(samples.interrupted && failure(&pipeline).is_empty());
        assert_eq!(outcomes(&samples), ["abandoned"; 10]);
        assert_eq!(samples.sent_ns.iter().filter(|sent| **sent > 0).count(), sent);
    }
    let again = flow(&mut pipeline, 10, 5);
    assert_eq!((outcomes(&again), again.connects), (vec!["ok"; 10], 1));
}

#[test]
fn mistakes_of_the_caller() {
    let mut pipeline = pipeline("unix:/nowhere");
    let mut error = |sequence, window, failures| {
        pipeline.run(sequence, window, failures, &mut || false).expect_err("a mistake").to_string()
    };
    assert_eq!(error(vec![0], 0, 1), "window must be at least 1");
    assert_eq!(error(vec![0], 1, 0), "max_failures must be at least 1");
    assert_eq!(error(vec![0, 7], 1, 1), "frame 7 does not exist: the pipeline has 1, counted from 0");
}
