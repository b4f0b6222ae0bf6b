//! The open loop: what is sent when, what waits, and what a slow or dead server changes about it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::fake_servers::{
    FakeServer, HELLO, MS, Peer, always, engine, engine_of, get, hang, http_target, impatient, outcomes, read_http,
    run, sleep_ms, socket_path,
};
use dyno_load::{Engine, Error, Expected, Samples, Target, Width};
use proptest::prelude::*;

const SECOND: u64 = 1000 * MS;

/// Requests of target 0 at these offsets.
fn run_at(engine: &mut Engine, offsets_ns: Vec<u64>, connections: usize) -> Samples {
    engine.run_open(vec![0; offsets_ns.len()], offsets_ns, connections, u64::MAX, &mut || false).unwrap()
}

fn every(ns: u64, rows: u64) -> Vec<u64> {
    (0..rows).map(|row| row * ns).collect()
}

fn less(later: &[u64], earlier: &[u64]) -> Vec<u64> {
    later.iter().zip(earlier).map(|(later, earlier)| later.checked_sub(*earlier).unwrap()).collect()
}

/// The rows that had to wait for a connection.
fn queued(samples: &Samples) -> Vec<usize> {
    (0..samples.target.len()).filter(|row| samples.ready_ns[*row] > samples.intended_ns[*row]).collect()
}

/// The median: this machine may be busy with other tests, and then single requests are late.
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Takes so long for a request to `/slow`, and no time for others.
fn slow_at(ms: u64) -> FakeServer {
    FakeServer::unix(move |peer: &mut dyn Peer, _| {
        loop {
            if read_http(peer)?.starts_with(b"GET /slow") {
                sleep_ms(ms);
            }
            peer.write_all(HELLO)?;
        }
    })
}

fn quick_and_slow() -> Vec<Target> {
    vec![http_target(), Target::http(get("/slow"), false, Expected::status(200))]
}

#[test]
fn requests_go_out_when_they_are_due() {
    let server = FakeServer::unix(always(HELLO));
    let offsets = every(MS, 300);
    let samples = run_at(&mut engine(&server.address, http_target()), offsets.clone(), 50);
    assert_eq!(outcomes(&samples), ["ok"; 300]);
    assert_eq!(less(&samples.intended_ns, &vec![samples.started_ns; 300]), offsets);
    assert_eq!(queued(&samples), [0; 0]);
    // No request before its time (`less` asserts it), and most of them at it: a wait in milliseconds would be 0.5 ms
    // late.
    let lag_ns = median(less(&samples.sent_ns, &samples.ready_ns));
    assert!(lag_ns < MS / 10, "{lag_ns}");
    assert!(samples.ended_ns >= samples.started_ns + 299 * MS);
}

#[test]
fn a_long_schedule_on_two_threads_does_not_begin_before_they_do() {
    let server = FakeServer::unix(always(HELLO));
    let mut engine = engine(&server.address, http_target());
    // To deal a million rows takes longer than to start two threads.
    let offsets = [every(MS / 10, 10), vec![3600 * SECOND; 1_000_000]].concat();
    let (rows, width) = (offsets.len(), Width::new(20, 2).unwrap());
    let mut begins_late = || {
        let started = Instant::now();
        let stop = &mut || started.elapsed() > Duration::from_millis(400);
        let samples = engine.run_open(vec![0; rows], offsets.clone(), width, u64::MAX, stop).unwrap();
        assert_eq!(samples.intended_ns[rows - 1], samples.started_ns + 3600 * SECOND, "also of what was never sent");
        let late_ns = less(&samples.sent_ns[..10], &samples.intended_ns[..10]);
        late_ns.iter().all(|late_ns| *late_ns >= MS)
    };
    // A busy host starts threads late now and then; a schedule that begins too early is late every time.
    assert!((0..5).any(|_| !begins_late()));
}

#[test]
fn a_request_that_is_due_does_not_wait_for_the_answers_of_others() {
    let server = slow_at(150);
    let mut engine = engine_of(&server.address, quick_and_slow(), impatient());
    let samples = engine.run_open(vec![1; 10], every(10 * MS, 10), 10, u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), ["ok"; 10]);
    assert_eq!((samples.connects, queued(&samples)), (10, vec![]));
    assert!(samples.sent_ns[9] < samples.done_ns[0]);
    assert!(less(&samples.done_ns, &samples.intended_ns).iter().all(|response_ns| *response_ns >= 150 * MS));
}

#[test]
fn only_as_many_connections_as_are_needed_are_opened_and_they_are_kept() {
    let server = slow_at(30);
    let mut engine = engine_of(&server.address, quick_and_slow(), impatient());
    assert_eq!(run_at(&mut engine, every(20 * MS, 10), 1000).connects, 1);
    let slow = engine.run_open(vec![1; 10], every(50 * MS, 10), 1000, u64::MAX, &mut || false).unwrap();
    assert_eq!(slow.connects, 0, "one at a time");
    assert_eq!(run(&mut engine, 5, 1).connects, 0, "a closed loop goes on with them");
}

#[test]
fn what_waits_for_a_connection_keeps_its_intended_time_and_is_not_the_generators_lag() {
    let server = slow_at(100);
    let mut engine = engine_of(&server.address, quick_and_slow(), impatient());
    // The first two occupy both connections for 100 ms; the other eight are due meanwhile.
    let sequence = vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let samples = engine.run_open(sequence, every(5 * MS, 10), 2, u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), ["ok"; 10]);
    assert_eq!((samples.connects, queued(&samples)), (2, (2..10).collect()));
    let response_ns = less(&samples.done_ns, &samples.intended_ns);
    assert!(response_ns[2] >= 90 * MS && response_ns[9] >= 50 * MS, "{response_ns:?}");
    assert!(samples.done_ns[2] - samples.sent_ns[2] < 50 * MS, "its service was quick");
    assert!(samples.sent_ns.is_sorted(), "first come, first served");
    let lag_ns = median(less(&samples.sent_ns, &samples.ready_ns));
    assert!(lag_ns < 5 * MS, "{lag_ns}");
}

#[test]
fn a_burst_goes_out_whole() {
    let server = FakeServer::unix(always(HELLO));
    let samples = run_at(&mut engine(&server.address, http_target()), [vec![0; 200], vec![20 * MS; 200]].concat(), 400);
    assert_eq!(outcomes(&samples), ["ok"; 400]);
    assert!(samples.sent_ns.is_sorted());
    assert_eq!(samples.intended_ns.iter().filter(|at| **at == samples.started_ns).count(), 200);
}

#[test]
fn a_server_that_hangs_costs_one_time_out() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| hang(peer));
    let started = Instant::now();
    let samples = run_at(&mut engine(&server.address, http_target()), every(MS, 10_000), 20);
    assert!(started.elapsed() < Duration::from_millis(600), "{:?}", started.elapsed());
    let count = |name| outcomes(&samples).iter().filter(|outcome| **outcome == name).count();
    assert!(count("timed_out") >= 20);
    assert_eq!(count("timed_out") + count("abandoned"), 10_000);
    assert_eq!((samples.sent_ns[9999], samples.ready_ns[9999]), (0, 0));
    assert_eq!(samples.intended_ns[9999], samples.started_ns + 9999 * MS);
}

#[test]
fn after_max_failures_the_rest_is_abandoned_at_once() {
    let mut engine = engine(&format!("unix:{}", socket_path().display()), http_target());
    let started = Instant::now();
    let samples = engine.run_open(vec![0; 10], every(10 * SECOND, 10), 1, 1, &mut || false).unwrap();
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(outcomes(&samples), [vec!["connect_failed"], vec!["abandoned"; 9]].concat());
}

#[test]
fn an_interrupt_ends_a_wait_for_the_next_request_and_a_flood_against_nobody() {
    let mut engine = engine(&format!("unix:{}", socket_path().display()), http_target());
    for offsets in [vec![3600 * SECOND], vec![0; 5_000_000]] {
        let started = Instant::now();
        let samples = engine.run_open(vec![0; offsets.len()], offsets, 4, u64::MAX, &mut || true).unwrap();
        assert!(samples.interrupted);
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }
}

#[test]
fn the_answer_of_an_interrupted_request_does_not_meet_the_next() {
    let server = slow_at(150);
    let mut engine = engine_of(&server.address, quick_and_slow(), impatient());
    assert!(engine.run_open(vec![1], vec![0], 1, u64::MAX, &mut || true).unwrap().interrupted);
    let next = run_at(&mut engine, vec![0], 1);
    assert_eq!((outcomes(&next)[0], next.connects), ("ok", 1));
}

#[test]
fn mistakes_of_the_caller() {
    let mut engine = engine("tcp:127.0.0.1:1", http_target());
    let mut invalid = |rows: usize, offsets: &[u64], connections, max_failures| {
        let found = engine.run_open(vec![0; rows], offsets.to_vec(), connections, max_failures, &mut || false);
        matches!(found, Err(Error::Invalid(_)))
    };
    assert!(invalid(1, &[0], 0, 1));
    assert!(invalid(1, &[0], 1, 0));
    assert!(invalid(2, &[0], 1, 1));
    assert!(invalid(2, &[1, 0], 1, 1));
    assert!(invalid(1, &[u64::MAX], 1, 1));
    assert!(!invalid(0, &[], 1, 1));
    let outside = engine.run_open(vec![1], vec![0], 1, 1, &mut || false);
    assert!(matches!(outside, Err(Error::NoSuchTarget { index: 1, targets: 1 })));
}

#[test]
fn nothing_to_send_takes_no_time() {
    let mut engine = engine("tcp:127.0.0.1:1", http_target());
    for threads in [1, 3] {
        let width = Width::new(3, threads).unwrap();
        let samples = engine.run_open(vec![], vec![], width, 1, &mut || false).unwrap();
        assert!(samples.started_ns > 0 && samples.ended_ns >= samples.started_ns, "{threads} threads");
    }
}

#[test]
fn a_closed_loop_intends_no_times() {
    let server = FakeServer::unix(always(HELLO));
    let samples = run(&mut engine(&server.address, http_target()), 3, 1);
    assert_eq!((samples.intended_ns, samples.ready_ns), (vec![], vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever the schedule and however few the connections: every arrival is sent once, in order, not before its
    /// time, and what it says of itself adds up.
    #[test]
    fn no_arrival_is_lost(gaps_us in prop::collection::vec(0_u64..400, 0..80), connections in 1_usize..6) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
            loop {
                let request = read_http(peer)?;
                log.lock().unwrap().push(request[b"GET /".len()] - b'0');
                peer.write_all(HELLO)?;
            }
        });
        let targets = (0..3).map(|n| Target::http(get(&format!("/{n}")), false, Expected::status(200))).collect();
        let mut engine = engine_of(&server.address, targets, impatient());
        let offsets: Vec<u64> = gaps_us.iter().scan(0, |at, gap| { *at += gap * 1000; Some(*at) }).collect();
        let sequence: Vec<u32> = (0..3).cycle().take(offsets.len()).collect();
        let samples = engine.run_open(sequence.clone(), offsets.clone(), connections, u64::MAX, &mut || false).unwrap();
        prop_assert!(outcomes(&samples).iter().all(|outcome| *outcome == "ok"), "{:?}", outcomes(&samples));
        prop_assert_eq!(&samples.target, &sequence);
        prop_assert!(samples.connects <= connections as u64);
        prop_assert!(samples.sent_ns.is_sorted());
        for (row, offset) in offsets.iter().enumerate() {
            prop_assert_eq!(samples.intended_ns[row], samples.started_ns + offset);
            prop_assert!(samples.intended_ns[row] <= samples.ready_ns[row]);
            prop_assert!(samples.ready_ns[row] <= samples.sent_ns[row]);
            prop_assert!(samples.sent_ns[row] < samples.done_ns[row] && samples.done_ns[row] <= samples.ended_ns);
            let busy = (0..row).filter(|other| samples.done_ns[*other] > samples.sent_ns[row]).count();
            prop_assert!(busy < connections, "{busy} others were under way");
        }
        let mut seen = seen.lock().unwrap().clone();
        let mut sent: Vec<u8> = sequence.iter().map(|target| u8::try_from(*target).unwrap()).collect();
        seen.sort_unstable();
        sent.sort_unstable();
        prop_assert_eq!(seen, sent);
    }
}
