//! The pipeline against fakes that answer well, in all the orders and pieces that a server may choose.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fake_servers::iproto::{
    NO_SUCH_SPACE, NOTHING, PUSH, SELECT, SYNC_OFFSET, answer, failure, flow, frame, greeting, in_batches, pipeline,
    pipeline_of, read_request, request,
};
use crate::fake_servers::{FakeServer, Peer, outcomes, sleep_ms};
use dyno_load::iproto::Frame;

fn each(syncs: &[u64]) -> Vec<u8> {
    syncs.iter().flat_map(|sync| answer(0, *sync, NOTHING)).collect()
}

#[test]
fn in_order_over_either_family() {
    for server in [FakeServer::unix(in_batches(1, each)), FakeServer::tcp(in_batches(1, each))] {
        let mut pipeline = pipeline(&server.address);
        let samples = flow(&mut pipeline, 1000, 16);
        assert_eq!((outcomes(&samples), failure(&pipeline)), (vec!["ok"; 1000], String::new()));
        assert_eq!((samples.connects, server.accepted()), (1, 1));
        assert_eq!((samples.status, samples.body_bytes), (vec![0; 1000], vec![1; 1000]));
        for row in 0..1000 {
            let times = [samples.started_ns, samples.sent_ns[row], samples.first_byte_ns[row], samples.done_ns[row]];
            assert!(times.is_sorted() && samples.done_ns[row] <= samples.ended_ns, "{times:?}");
        }
    }
}

#[test]
fn out_of_order() {
    let server = FakeServer::unix(in_batches(50, |syncs| each(&syncs.iter().rev().copied().collect::<Vec<_>>())));
    let samples = flow(&mut pipeline(&server.address), 500, 50);
    assert_eq!(outcomes(&samples), ["ok"; 500]);
}

#[test]
fn split_at_every_byte() {
    let server = FakeServer::tcp(|peer: &mut dyn Peer, _| {
        for byte in greeting() {
            peer.write_all(&[byte])?;
        }
        loop {
            let (sync, _) = read_request(peer)?;
            for byte in answer(0, sync, NOTHING) {
                peer.write_all(&[byte])?;
            }
        }
    });
    assert_eq!(outcomes(&flow(&mut pipeline(&server.address), 50, 7)), ["ok"; 50]);
    let server = FakeServer::unix(|peer: &mut dyn Peer, number| {
        peer.write_all(&greeting())?;
        let (sync, _) = read_request(peer)?;
        let bytes = answer(0, sync, NOTHING);
        let (early, late) = bytes.split_at(number);
        peer.write_all(early)?;
        sleep_ms(2);
        peer.write_all(late)?;
        read_request(peer).map(|_| ())
    });
    let mut pipeline = pipeline(&server.address);
    for _ in 0..answer(0, 1, NOTHING).len() {
        assert_eq!(outcomes(&flow(&mut pipeline, 1, 1)), ["ok"], "{}", failure(&pipeline));
        pipeline.close();
    }
}

#[test]
fn each_request_has_its_own_frame_and_answer() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        loop {
            let (sync, body) = read_request(peer)?;
            peer.write_all(&answer(0, sync, &body))?;
        }
    });
    let echo = |body: &[u8]| Frame::new(request(SELECT, body), SYNC_OFFSET, 0..=9).unwrap();
    let frames = vec![
        echo(b"even").with_body(b"even".to_vec()),
        echo(b"odd").with_body(b"ood".to_vec()),
        echo(b"long").with_body(b"lo".to_vec()),
        echo(b"ten bytes!"),
        echo(b""),
    ];
    let samples = pipeline_of(&server.address, frames).run(vec![0, 1, 2, 3, 4, 0], 3, u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), ["ok", "wrong_body", "wrong_length", "wrong_length", "ok", "ok"]);
    assert_eq!(samples.body_bytes, [4, 3, 4, 10, 0, 4]);
}

#[test]
fn pushes_are_no_end() {
    let server = FakeServer::unix(in_batches(1, |syncs| {
        let push = answer(PUSH, syncs[0], b"a longer body");
        [push.clone(), push, answer(0, syncs[0], NOTHING)].concat()
    }));
    let samples = flow(&mut pipeline(&server.address), 30, 4);
    assert_eq!((outcomes(&samples), samples.body_bytes), (vec!["ok"; 30], vec![1; 30]));
}

#[test]
fn an_error_fails_its_request_only() {
    let server = FakeServer::unix(in_batches(2, |syncs| {
        [answer(NO_SUCH_SPACE, syncs[0], &[0x81, 0x31, 0xa1, b'x']), answer(0, syncs[1], NOTHING)].concat()
    }));
    let mut pipeline = pipeline(&server.address);
    let samples = flow(&mut pipeline, 4, 2);
    assert_eq!(outcomes(&samples), ["wrong_status", "ok", "wrong_status", "ok"]);
    assert_eq!((samples.status, failure(&pipeline)), (vec![36, 0, 36, 0], String::new()));
    assert!(samples.done_ns.iter().all(|done| *done > 0));
}

#[test]
fn after_max_failures_nothing_more_is_sent_and_what_is_in_flight_ends() {
    let server = FakeServer::unix(in_batches(5, |syncs| {
        syncs.iter().flat_map(|sync| answer(NO_SUCH_SPACE, *sync, NOTHING)).collect()
    }));
    let samples = pipeline(&server.address).run(vec![0; 20], 5, 3, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), [["wrong_status"; 5].as_slice(), &["abandoned"; 15]].concat());
    assert_eq!(&samples.sent_ns[5..], [0; 15]);
}

#[test]
fn no_more_than_the_window_is_in_flight() {
    // It answers when nothing more has come for a while: so it sees how many were in flight.
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        let mut buffer = [0; 4096];
        let bytes = request(SELECT, NOTHING).len();
        let mut sync = 0;
        loop {
            sleep_ms(5);
            let came = peer.read(&mut buffer)? / bytes;
            seen.fetch_max(came, Ordering::SeqCst);
            for _ in 0..came {
                sync += 1;
                peer.write_all(&answer(0, sync, NOTHING))?;
            }
        }
    });
    assert_eq!(outcomes(&flow(&mut pipeline(&server.address), 64, 8)), ["ok"; 64]);
    assert_eq!(most.load(Ordering::SeqCst), 8);
}

#[test]
fn a_window_wider_than_the_sequence() {
    let server = FakeServer::unix(in_batches(3, each));
    let mut pipeline = pipeline(&server.address);
    assert_eq!(outcomes(&flow(&mut pipeline, 3, 1_000_000)), ["ok"; 3]);
    assert_eq!(outcomes(&flow(&mut pipeline, 0, 5)), [""; 0]);
}

#[test]
fn a_server_that_reads_nothing_until_its_output_is_drained() {
    // Requests and answers are far more than both socket buffers hold, and the fake does one thing at a time.
    let body = vec![0x90; 40_000];
    let reply = body.clone();
    let server = FakeServer::tcp(in_batches(1, move |syncs| answer(0, syncs[0], &reply)));
    let frame = Frame::new(request(SELECT, &body), SYNC_OFFSET, 40_000..=40_000).unwrap().with_body(body);
    let samples = pipeline_of(&server.address, vec![frame]).run(vec![0; 1000], 1000, u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), ["ok"; 1000]);
}

#[test]
fn a_frame_longer_than_any_buffer() {
    let body = vec![0x90; 3_000_000];
    let server = FakeServer::unix(in_batches(1, each));
    let long = Frame::new(request(SELECT, &body), SYNC_OFFSET, 1..=1).unwrap();
    let sequence = vec![1, 0, 1, 0, 0];
    let samples = pipeline_of(&server.address, vec![frame(), long]).run(sequence, 4, u64::MAX, &mut || false).unwrap();
    assert_eq!(outcomes(&samples), ["ok"; 5]);
}

#[test]
fn a_connection_is_kept_until_the_server_gives_it_up() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        for _ in 0..20 {
            let (sync, _) = read_request(peer)?;
            peer.write_all(&answer(0, sync, NOTHING))?;
        }
        Ok(())
    });
    let mut pipeline = pipeline(&server.address);
    let mut connects = || {
        let samples = flow(&mut pipeline, 10, 3);
        assert_eq!(outcomes(&samples), ["ok"; 10]);
        sleep_ms(20);
        samples.connects
    };
    assert_eq!([connects(), connects(), connects(), connects()], [1, 0, 1, 0]);
}
