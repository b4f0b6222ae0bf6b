//! Proof that a run allocates its columns and nothing per request: counted by the allocator, on the thread of the
//! engine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::fake_servers::iproto::{NOTHING, answer, in_batches, pipeline};
use crate::fake_servers::{
    FakeServer, HELLO, Peer, always, engine, engine_of, fastcgi_answer, fastcgi_target, get, http_target, impatient,
    outcomes, read_fastcgi, read_http, run, sleep_ms, socket_path,
};
use dyno_load::{Engine, Expected, Options, Target};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

#[allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait; every call goes on to the system's allocator")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

fn allocations_of(engine: &mut Engine, rows: usize, expected: &str) -> usize {
    let before = ALLOCATIONS.get();
    let samples = run(engine, rows, 4);
    let allocations = ALLOCATIONS.get() - before;
    assert!(outcomes(&samples).iter().all(|outcome| *outcome == expected), "{:?}", outcomes(&samples));
    allocations
}

fn assert_no_allocation_per_request(mut engine: Engine, expected: &str) {
    allocations_of(&mut engine, 100, expected);
    let few = allocations_of(&mut engine, 10, expected);
    let many = allocations_of(&mut engine, 1000, expected);
    assert_eq!(few, many);
    assert!(few <= 12, "the sequence, 6 columns, the free list, the events: {few}");
}

#[test]
fn http() {
    let server = FakeServer::unix(always(HELLO));
    assert_no_allocation_per_request(engine(&server.address, http_target()), "ok");
}

#[test]
fn an_open_loop() {
    let server = FakeServer::unix(always(HELLO));
    let mut engine = engine(&server.address, http_target());
    let mut allocations = |rows: usize| {
        let offsets = (0..rows as u64).map(|row| row * 20_000).collect();
        let sequence = vec![0; rows];
        let before = ALLOCATIONS.get();
        let samples = engine.run_open(sequence, offsets, 4, u64::MAX, &mut || false).unwrap();
        let allocations = ALLOCATIONS.get() - before;
        assert!(outcomes(&samples).iter().all(|outcome| *outcome == "ok"));
        allocations
    };
    // All connections are opened once.
    allocations(1000);
    let few = allocations(10);
    assert_eq!(few, allocations(1000));
    assert!(few <= 12, "7 columns, the free list, the events: {few}");
}

#[test]
fn http_with_a_new_connection_each() {
    let server = FakeServer::tcp(always(HELLO));
    let options = Options { keep_alive: false, ..impatient() };
    assert_no_allocation_per_request(engine_of(&server.address, vec![http_target()], options), "ok");
}

#[test]
fn chunks_and_split_heads() {
    let server = FakeServer::unix(|peer: &mut dyn Peer, _| {
        loop {
            read_http(peer)?;
            for piece in
                ["HTTP/1.1 200 OK\r\nTransfer-Enc", "oding: chunked\r\n\r\n5;x\r", "\nhello\r\n0\r\nT: x\r\n\r\n"]
            {
                peer.write_all(piece.as_bytes())?;
                sleep_ms(1);
            }
        }
    });
    assert_no_allocation_per_request(engine(&server.address, http_target()), "ok");
}

#[test]
fn fastcgi() {
    let answer = fastcgi_answer(b"Content-type: text/html\r\n\r\nhello");
    let server = FakeServer::unix(move |peer: &mut dyn Peer, _| {
        loop {
            read_fastcgi(peer)?;
            let (head, rest) = answer.split_at(20);
            peer.write_all(head)?;
            sleep_ms(1);
            peer.write_all(rest)?;
        }
    });
    assert_no_allocation_per_request(engine(&server.address, fastcgi_target()), "ok");
}

#[test]
fn failures() {
    let missing = format!("unix:{}", socket_path().display());
    assert_no_allocation_per_request(engine(&missing, http_target()), "connect_failed");
    let server = FakeServer::unix(always(b"SSH-2.0-OpenSSH"));
    let target = Target::http(get("/"), false, Expected::status(200));
    assert_no_allocation_per_request(engine(&server.address, target), "malformed");
}

#[test]
fn a_pipeline() {
    let pushes_and_answers = |syncs: &[u64]| [answer(0x80, syncs[0], b"a push"), answer(0, syncs[0], NOTHING)].concat();
    let server = FakeServer::tcp(in_batches(1, pushes_and_answers));
    let mut pipeline = pipeline(&server.address);
    let mut allocations = |rows: usize| {
        let sequence = vec![0; rows];
        let before = ALLOCATIONS.get();
        let samples = pipeline.run(sequence, 64, u64::MAX, &mut || false).unwrap();
        let allocations = ALLOCATIONS.get() - before;
        assert!(outcomes(&samples).iter().all(|outcome| *outcome == "ok"));
        allocations
    };
    allocations(10);
    let few = allocations(10);
    assert_eq!(few, allocations(10_000));
    assert!(few <= 6, "6 columns: {few}");
}

#[test]
fn a_body_with_gaps() {
    let server = FakeServer::unix(always(HELLO));
    let gap = dyno_load::Gap::new(1, 4, b"l").unwrap();
    let pattern = dyno_load::Pattern::new(vec![b"he".to_vec(), b"o".to_vec()], vec![gap]).map(std::sync::Arc::new);
    assert_no_allocation_per_request(engine(&server.address, http_target().like(pattern)), "ok");
}
