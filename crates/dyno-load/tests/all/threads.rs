//! Runs on several threads: nothing lost, everything in its place, all of them ended together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::fake_servers::{
    FakeServer, HELLO, MS, Peer, always, engine, engine_of, fastcgi_answer, fastcgi_target, get, hang, http_target,
    impatient, outcomes, read_fastcgi, read_http, sleep_ms, socket_path,
};
use dyno_load::{Engine, Error, Expected, Samples, Target, Width};
use proptest::prelude::*;

fn width(connections: usize, threads: usize) -> Width {
    Width::new(connections, threads).unwrap()
}

fn run_on(engine: &mut Engine, rows: usize, width: Width) -> Samples {
    engine.run(vec![0; rows], width, u64::MAX, &mut || false).unwrap()
}

/// Answers `/N` with N bytes.
fn by_length() -> FakeServer {
    FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            let request = String::from_utf8(read_http(peer)?).unwrap();
            let length: usize = request["GET /".len()..].split(' ').next().unwrap().parse().unwrap();
            write!(peer, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length))?;
        }
    })
}

/// Targets `/0` to `/9`.
fn ten_targets() -> Vec<Target> {
    (0..10).map(|length| Target::http(get(&format!("/{length}")), false, Expected::status(200))).collect()
}

#[test]
fn rows_come_back_in_the_order_of_the_sequence() {
    let server = by_length();
    let mut engine = engine_of(&server.address, ten_targets(), impatient());
    let sequence: Vec<u32> = (0..1000).map(|row| row * 7 % 10).collect();
    let samples = engine.run(sequence.clone(), width(5, 3), u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), ["ok"; 1000]);
    assert_eq!(samples.target, sequence);
    assert_eq!(samples.body_bytes, sequence.iter().map(|length| u64::from(*length)).collect::<Vec<_>>());
    assert!(
        (0..1000).all(|row| samples.started_ns <= samples.sent_ns[row] && samples.done_ns[row] <= samples.ended_ns)
    );
    assert_eq!((samples.connects, server.accepted()), (5, 5));
    assert!(samples.other_threads_cpu_ns > 0);
    assert_eq!(run_on(&mut engine, 10, width(5, 1)).other_threads_cpu_ns, 0);
}

#[test]
fn the_same_rows_share_a_connection_in_every_run() {
    // The fake tells the number of its connection by the length of its answer.
    let server = FakeServer::unix(|peer: &mut dyn Peer, number| {
        loop {
            read_http(peer)?;
            write!(peer, "HTTP/1.1 200 OK\r\nContent-Length: {number}\r\n\r\n{}", "x".repeat(number))?;
        }
    });
    let mut engine = engine(&server.address, http_target());
    let rows_of = |samples: &Samples| {
        let mut rows: HashMap<u64, Vec<usize>> = HashMap::new();
        for (row, connection) in samples.body_bytes.iter().enumerate() {
            rows.entry(*connection).or_default().push(row);
        }
        rows
    };
    let first = rows_of(&run_on(&mut engine, 40, width(2, 2)));
    assert_eq!(first.len(), 2);
    assert!(first.values().all(|rows| rows.windows(2).all(|pair| pair[1] == pair[0] + 2)), "{first:?}");
    let again = run_on(&mut engine, 40, width(2, 2));
    assert_eq!((rows_of(&again), again.connects), (first, 0), "and the connections are kept");
}

#[test]
fn so_many_are_in_flight_and_never_more() {
    let in_flight = Arc::new(Mutex::new((0_usize, 0_usize)));
    let seen = Arc::clone(&in_flight);
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        loop {
            read_http(peer)?;
            {
                let mut counts = seen.lock().unwrap();
                counts.0 += 1;
                counts.1 = counts.1.max(counts.0);
            }
            sleep_ms(10);
            seen.lock().unwrap().0 -= 1;
            peer.write_all(HELLO)?;
        }
    });
    run_on(&mut engine(&server.address, http_target()), 35, width(7, 2));
    assert_eq!(in_flight.lock().unwrap().1, 7);
}

#[test]
fn fewer_threads_close_the_connections_of_the_others() {
    // A kept FastCGI connection holds its worker: it must not be held by a thread that no longer takes part.
    let open = Arc::new(Mutex::new(0_usize));
    let count = Arc::clone(&open);
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        *count.lock().unwrap() += 1;
        while read_fastcgi(peer).is_ok() {
            peer.write_all(&fastcgi_answer(b"Content-type: text/plain\r\n\r\nhello"))?;
        }
        *count.lock().unwrap() -= 1;
        Ok(())
    });
    let mut engine = engine(&server.address, fastcgi_target());
    assert_eq!(run_on(&mut engine, 20, width(4, 4)).connects, 4);
    assert_eq!(run_on(&mut engine, 20, width(1, 1)).connects, 0);
    let deadline = Instant::now() + Duration::from_secs(2);
    while *open.lock().unwrap() > 1 && Instant::now() < deadline {
        sleep_ms(5);
    }
    assert_eq!(*open.lock().unwrap(), 1);
}

#[test]
fn more_threads_than_rows() {
    let server = FakeServer::unix(always(HELLO));
    let mut engine = engine(&server.address, http_target());
    for rows in [0, 1, 2] {
        let samples = run_on(&mut engine, rows, width(4, 4));
        assert_eq!(outcomes(&samples), vec!["ok"; rows]);
        assert!(samples.started_ns > 0 && samples.ended_ns >= samples.started_ns);
    }
}

#[test]
fn failures_of_all_threads_count_together() {
    let server = FakeServer::unix(always(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"));
    let mut engine = engine(&server.address, http_target());
    let samples = engine.run(vec![0; 1000], width(4, 2), 10, &mut || false).unwrap();
    let wrong = outcomes(&samples).iter().filter(|outcome| **outcome == "wrong_status").count();
    assert!((10..=14).contains(&wrong), "ten, and what was in flight: {wrong}");
    assert!(!samples.interrupted);
}

#[test]
fn a_server_that_hangs_costs_one_time_out() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| hang(peer));
    let started = Instant::now();
    let samples = run_on(&mut engine(&server.address, http_target()), 1000, width(4, 2));
    assert!(started.elapsed() < Duration::from_millis(700), "{:?}", started.elapsed());
    let count = |name| outcomes(&samples).iter().filter(|outcome| **outcome == name).count();
    assert_eq!((count("timed_out"), count("abandoned")), (4, 996));
}

#[test]
fn a_time_out_of_one_thread_is_no_hang_of_the_server() {
    // As on one thread: only as many time-outs in a row as requests may be in flight, of all threads, are one.
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        while !read_http(peer)?.starts_with(b"GET /hang") {
            peer.write_all(HELLO)?;
        }
        hang(peer)
    });
    let targets = vec![http_target(), Target::http(get("/hang"), false, Expected::status(200))];
    let mut engine = engine_of(&server.address, targets, impatient());
    let samples = engine.run(vec![0, 1, 0, 0, 0, 0], width(2, 2), u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), ["ok", "timed_out", "ok", "ok", "ok", "ok"]);
}

/// From the first time that `should_stop` said yes to the end of the run.
fn time_to_end(run: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<Samples, Error>) -> Duration {
    let started = Instant::now();
    let mut stopped = None;
    let samples = run(&mut || {
        if started.elapsed() > Duration::from_millis(100) {
            stopped.get_or_insert_with(Instant::now);
        }
        stopped.is_some()
    });
    assert!(samples.unwrap().interrupted);
    stopped.unwrap().elapsed()
}

#[test]
fn an_interrupt_ends_all_within_100_ms() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| hang(peer));
    let mut options = impatient();
    options.response_timeout_ns = 60_000 * MS;
    let mut engine = engine_of(&server.address, vec![http_target()], options);
    for threads in [1, 2, 4] {
        let took = time_to_end(|stop| engine.run(vec![0; 100], width(4, threads), u64::MAX, stop));
        assert!(took < Duration::from_millis(100), "{threads} threads: {took:?}");
        let hour = vec![3_600_000 * MS; 8];
        let took = time_to_end(|stop| engine.run_open(vec![0; 8], hour, width(4, threads), u64::MAX, stop));
        assert!(took < Duration::from_millis(100), "{threads} threads, open: {took:?}");
    }
}

#[test]
fn an_interrupt_is_heard_when_only_other_threads_are_still_at_work() {
    // The calling thread has the rows of `/0`, the other one those of `/slow`.
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            if read_http(peer)?.starts_with(b"GET /slow") {
                hang(peer)?;
            }
            peer.write_all(HELLO)?;
        }
    });
    let mut options = impatient();
    options.response_timeout_ns = 60_000 * MS;
    let targets = vec![http_target(), Target::http(get("/slow"), false, Expected::status(200))];
    let mut engine = engine_of(&server.address, targets, options);
    let took = time_to_end(|stop| engine.run(vec![0, 1, 0, 1], width(2, 2), u64::MAX, stop));
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[test]
fn nobody_is_asked_again_after_a_yes() {
    // The binding keeps what a signal handler raised from the first yes.
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| hang(peer));
    let mut asked_after = 0;
    let mut said_yes = false;
    let mut engine = engine(&server.address, http_target());
    let stop = &mut || {
        asked_after += u32::from(said_yes);
        said_yes = true;
        true
    };
    assert!(engine.run(vec![0; 8], width(4, 4), u64::MAX, stop).unwrap().interrupted);
    assert_eq!(asked_after, 0);
}

#[test]
fn a_schedule_has_one_zero() {
    let server = by_length();
    let mut engine = engine_of(&server.address, ten_targets(), impatient());
    let offsets: Vec<u64> = (0..200).map(|row| row * MS / 2).collect();
    let sequence: Vec<u32> = (0..200).map(|row| row % 10).collect();
    let samples = engine.run_open(sequence.clone(), offsets.clone(), width(6, 2), u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), ["ok"; 200]);
    assert_eq!(samples.target, sequence);
    for (row, offset) in offsets.iter().enumerate() {
        assert_eq!(samples.intended_ns[row], samples.started_ns + offset);
        assert!(samples.intended_ns[row] <= samples.ready_ns[row] && samples.ready_ns[row] <= samples.sent_ns[row]);
    }
}

#[test]
fn nobody_listens() {
    let mut engine = engine(&format!("unix:{}", socket_path().display()), http_target());
    assert_eq!(outcomes(&run_on(&mut engine, 100, width(8, 4))), ["connect_failed"; 100]);
}

#[test]
fn mistakes_of_the_caller() {
    let mut engine = engine("tcp:127.0.0.1:1", http_target());
    for (connections, threads) in [(4, 0), (1, 2), (4, 5)] {
        assert!(matches!(Width::new(connections, threads), Err(Error::Invalid(_))), "{connections} {threads}");
    }
    let outside = engine.run(vec![0, 0, 9], width(2, 2), 1, &mut || false);
    assert!(matches!(outside, Err(Error::NoSuchTarget { index: 9, targets: 1 })));
    assert!(matches!(engine.run(vec![0], width(2, 2), 0, &mut || false), Err(Error::Invalid(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the width: every request is sent once and its row is where its sequence has it.
    #[test]
    fn counts_are_exact(sequence in prop::collection::vec(0_u32..10, 0..120), connections in 1_usize..9, more in 0_usize..8) {
        let threads = 1 + more % connections;
        let seen = Arc::new(Mutex::new(vec![0_usize; 10]));
        let log = Arc::clone(&seen);
        let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
            loop {
                let request = read_http(peer)?;
                let length = usize::from(request[b"GET /".len()] - b'0');
                log.lock().unwrap()[length] += 1;
                write!(peer, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length))?;
            }
        });
        let mut engine = engine_of(&server.address, ten_targets(), impatient());
        let samples = engine.run(sequence.clone(), width(connections, threads), u64::MAX, &mut || false).unwrap();
        prop_assert!(outcomes(&samples).iter().all(|outcome| *outcome == "ok"), "{:?}", outcomes(&samples));
        prop_assert_eq!(&samples.target, &sequence);
        for (row, length) in sequence.iter().enumerate() {
            prop_assert_eq!(samples.body_bytes[row], u64::from(*length));
            prop_assert!(samples.sent_ns[row] < samples.done_ns[row]);
        }
        for (length, count) in seen.lock().unwrap().iter().enumerate() {
            prop_assert_eq!(*count, sequence.iter().filter(|target| **target as usize == length).count());
        }
        prop_assert!(samples.connects <= connections as u64);
    }
}
