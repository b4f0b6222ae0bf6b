//! The loop: order, concurrency, stopping, interrupts, and mistakes of the caller.

use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use crate::fake_servers::{
    FakeServer, HELLO, MS, Peer, always, engine, engine_of, fastcgi_target, get, hang, http_target, impatient,
    outcomes, read_http, run, sleep_ms, socket_path,
};
use dyno_load::{Address, Engine, Error, Expected, Options, Target};

#[test]
fn a_weighted_sequence_keeps_its_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        loop {
            let request = read_http(peer)?;
            let digit = request[b"GET /".len()];
            log.lock().unwrap().push(u32::from(digit - b'0'));
            let length = usize::from(digit - b'0');
            write!(peer, "HTTP/1.1 20{} OK\r\nContent-Length: {length}\r\n\r\n{}", digit as char, "x".repeat(length))?;
        }
    });
    let targets = (0_u16..4).map(|n| Target::http(get(&format!("/{n}")), false, Expected::status(200 + n))).collect();
    let mut engine = engine_of(&server.address, targets, impatient());
    let sequence: Vec<u32> = (0_u32..500).map(|n| n * n % 7 % 4).filter(|n| *n != 0).collect();
    let samples = engine.run(sequence.clone(), 1, u64::MAX, &mut || false).unwrap();
    assert_eq!(*seen.lock().unwrap(), sequence);
    assert_eq!(samples.target, sequence);
    for concurrency in [1, 7] {
        let samples = engine.run(sequence.clone(), concurrency, u64::MAX, &mut || false).unwrap();
        for (row, target) in sequence.iter().enumerate() {
            assert_eq!((samples.outcome[row], samples.body_bytes[row]), (0, u64::from(*target)));
            assert_eq!(u32::from(samples.status[row]), 200 + target);
        }
    }
}

#[test]
fn so_many_are_really_in_flight() {
    const WIDTH: usize = 40;
    // Nobody is answered before all are there.
    let barrier = Arc::new(Barrier::new(WIDTH));
    let server = FakeServer::tcp(move |peer: &mut dyn Peer, _| {
        loop {
            read_http(peer)?;
            barrier.wait();
            peer.write_all(HELLO)?;
        }
    });
    let samples = run(&mut engine(&server.address, http_target()), WIDTH * 20, WIDTH);
    assert!(outcomes(&samples).iter().all(|outcome| *outcome == "ok"));
    assert_eq!(samples.connects, WIDTH as u64);
}

#[test]
fn never_more_than_asked_for_are_in_flight() {
    let busy = Arc::new(Mutex::new((0, 0)));
    let count = Arc::clone(&busy);
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        loop {
            read_http(peer)?;
            {
                let mut busy = count.lock().unwrap();
                busy.0 += 1;
                busy.1 = busy.1.max(busy.0);
            }
            sleep_ms(1);
            count.lock().unwrap().0 -= 1;
            peer.write_all(HELLO)?;
        }
    });
    run(&mut engine(&server.address, http_target()), 200, 5);
    assert_eq!(busy.lock().unwrap().1, 5);
}

#[test]
fn more_concurrency_than_requests() {
    let server = FakeServer::unix(always(HELLO));
    let mut engine = engine(&server.address, http_target());
    assert_eq!(run(&mut engine, 3, 1_000_000).connects, 3);
    assert_eq!(run(&mut engine, 0, 10).outcome, []);
}

#[test]
fn after_max_failures_the_rest_is_abandoned() {
    let server = FakeServer::unix(always(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"));
    let mut engine = engine(&server.address, http_target());
    let samples = engine.run(vec![0; 10], 1, 3, &mut || false).unwrap();
    assert_eq!(outcomes(&samples)[..4], ["wrong_status", "wrong_status", "wrong_status", "abandoned"]);
    assert_eq!((samples.outcome[9], samples.sent_ns[9], samples.target[9]), (7, 0, 0));
    let wide = engine.run(vec![0; 100], 10, 3, &mut || false).unwrap();
    let failed = outcomes(&wide).iter().filter(|outcome| **outcome == "wrong_status").count();
    assert!((3..13).contains(&failed), "what is in flight still ends: {failed}");
    assert!(!wide.interrupted);
}

#[test]
fn a_slow_answer_after_a_failed_run_does_not_meet_the_next() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, number| {
        loop {
            read_http(peer)?;
            if number == 0 {
                sleep_ms(400);
            }
            peer.write_all(HELLO)?;
        }
    });
    let mut engine = engine(&server.address, http_target());
    assert_eq!(outcomes(&run(&mut engine, 1, 1)), ["timed_out"]);
    sleep_ms(150);
    let again = run(&mut engine, 1, 1);
    assert_eq!((outcomes(&again)[0], again.connects), ("ok", 1));
}

#[test]
fn an_interrupt_ends_a_hanging_run_soon() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| hang(peer));
    let options = Options { response_timeout_ns: u64::MAX, ..impatient() };
    let mut engine = engine_of(&server.address, vec![http_target()], options);
    let started = Instant::now();
    let samples = engine.run(vec![0; 10], 4, u64::MAX, &mut || started.elapsed() > Duration::from_millis(100)).unwrap();
    assert!(started.elapsed() < Duration::from_millis(300), "{:?}", started.elapsed());
    assert!(samples.interrupted);
    assert_eq!(outcomes(&samples), ["abandoned"; 10]);
    let fetched = engine.fetch(0, 10, &mut || true).unwrap();
    assert!(fetched.interrupted);
}

#[test]
fn the_answer_of_an_interrupted_request_does_not_meet_the_next() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            if read_http(peer)?.starts_with(b"GET /slow") {
                sleep_ms(150);
            }
            peer.write_all(HELLO)?;
        }
    });
    let targets = vec![Target::http(get("/slow"), false, Expected::status(200)), http_target()];
    let mut engine = engine_of(&server.address, targets, impatient());
    assert!(engine.run(vec![0], 1, u64::MAX, &mut || true).unwrap().interrupted);
    let next = engine.run(vec![1], 1, u64::MAX, &mut || false).unwrap();
    assert_eq!((outcomes(&next)[0], next.connects), ("ok", 1));
}

#[test]
fn an_interrupt_ends_a_run_against_nobody() {
    let mut engine = engine(&format!("unix:{}", socket_path().display()), http_target());
    let started = Instant::now();
    let samples = engine.run(vec![0; 50_000_000], 4, u64::MAX, &mut || true).unwrap();
    assert!(samples.interrupted);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn interrupts_are_asked_for_rarely_and_regularly() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            read_http(peer)?;
            sleep_ms(1);
            peer.write_all(HELLO)?;
        }
    });
    let mut engine = engine(&server.address, http_target());
    let mut asked = vec![Instant::now()];
    engine
        .run(vec![0; 300], 1, u64::MAX, &mut || {
            asked.push(Instant::now());
            false
        })
        .unwrap();
    let gaps: Vec<_> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((3..=20).contains(&gaps.len()), "{gaps:?}");
    assert!(gaps.iter().all(|gap| *gap < Duration::from_millis(100)), "{gaps:?}");
}

#[test]
fn time_outs_come_when_they_are_due() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| hang(peer));
    let options = Options { response_timeout_ns: 100 * MS, ..impatient() };
    let mut engine = engine_of(&server.address, vec![http_target()], options);
    let started = Instant::now();
    assert_eq!(outcomes(&run(&mut engine, 4, 4)), ["timed_out"; 4]);
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(100) && took < Duration::from_millis(500), "{took:?}");
}

#[test]
fn a_server_that_hangs_costs_one_time_out_and_not_one_per_round() {
    // Connections of which the first answers do not come at one time: as they run out of time, others have been sent.
    let server = FakeServer::unix(|peer: &mut dyn Peer, number| {
        read_http(peer)?;
        sleep_ms(number as u64 * 60);
        peer.write_all(HELLO)?;
        hang(peer)
    });
    let mut engine = engine(&server.address, http_target());
    let started = Instant::now();
    let samples = run(&mut engine, 1000, 4);
    let took = started.elapsed();
    // The last answer comes after 180 ms, the time-out after 300 more; a time-out for each round would make 75 s.
    assert!(took >= Duration::from_millis(480) && took < Duration::from_secs(5), "{took:?}");
    let count = |name| outcomes(&samples).iter().filter(|outcome| **outcome == name).count();
    assert_eq!(count("ok"), 4);
    assert!((4..8).contains(&count("timed_out")), "{}", count("timed_out"));
    assert_eq!(count("ok") + count("timed_out") + count("abandoned"), 1000);
    assert!(!samples.interrupted);
}

#[test]
fn time_outs_with_answers_in_between_are_no_hang() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            if read_http(peer)?.starts_with(b"GET /hang") {
                return hang(peer);
            }
            sleep_ms(20);
            peer.write_all(HELLO)?;
        }
    });
    let targets = vec![http_target(), Target::http(get("/hang"), false, Expected::status(200))];
    let options = Options { response_timeout_ns: 150 * MS, ..impatient() };
    let mut engine = engine_of(&server.address, targets, options);
    // While one hangs, the others are answered one after another for longer than its time-out.
    let sequence = [vec![1], vec![0; 12]].concat().repeat(3);
    let samples = engine.run(sequence.clone(), 2, u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), [vec!["timed_out"], vec!["ok"; 12]].concat().repeat(3));
    // One at a time, one is as many as may be in flight.
    let alone = engine.run(sequence, 1, u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&alone)[..2], ["timed_out", "abandoned"]);
}

#[test]
fn what_was_given_up_does_not_meet_the_next_run() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, number| {
        loop {
            read_http(peer)?;
            sleep_ms(if number < 2 { 500 } else { 0 });
            peer.write_all(HELLO)?;
        }
    });
    let mut engine = engine(&server.address, http_target());
    assert_eq!(outcomes(&run(&mut engine, 6, 2)), [["timed_out"; 2], ["abandoned"; 2], ["abandoned"; 2]].concat());
    sleep_ms(300);
    let again = run(&mut engine, 6, 2);
    assert_eq!((outcomes(&again), again.connects), (vec!["ok"; 6], 2));
}

#[test]
fn mistakes_of_the_caller() {
    let address = || Address::parse("tcp:127.0.0.1:1").unwrap();
    let empty = Target::http(vec![], false, Expected::status(200));
    for targets in [vec![], vec![http_target(), fastcgi_target()], vec![empty]] {
        assert!(matches!(Engine::new(address(), targets, Options::default()), Err(Error::Invalid(_))));
    }
    let mut engine = Engine::new(address(), vec![http_target()], Options::default()).unwrap();
    let outside = engine.run(vec![0, 1], 1, 1, &mut || false);
    assert!(matches!(outside, Err(Error::NoSuchTarget { index: 1, targets: 1 })));
    assert!(matches!(engine.run(vec![0], 0, 1, &mut || false), Err(Error::Invalid(_))));
    assert!(matches!(engine.run(vec![0], 1, 0, &mut || false), Err(Error::Invalid(_))));
    assert!(matches!(engine.fetch(1, 1, &mut || false), Err(Error::NoSuchTarget { .. })));
}
