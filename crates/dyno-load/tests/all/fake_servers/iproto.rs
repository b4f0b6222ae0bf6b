//! Fakes that speak IPROTO, and pipelines for them.

use std::io;

use dyno_load::iproto::{Frame, Pipeline, Timeouts};
use dyno_load::{Address, Samples};

use super::{MS, Peer, Serve};

pub const SELECT: u8 = 1;
pub const PUSH: u32 = 0x80;
pub const NO_SUCH_SPACE: u32 = 0x8000 + 36;

/// Where the digits of the sync are in a request of `request`.
pub const SYNC_OFFSET: usize = 10;

/// The 128 bytes that a server sends first.
pub fn greeting() -> Vec<u8> {
    format!("{:<63}\n{:<63}\n", "Tarantool 2.6.0 (Binary) a-fake", "c2FsdHNhbHRzYWx0c2FsdHNhbHQ=").into_bytes()
}

/// A whole request with room for a sync.
pub fn request(kind: u8, body: &[u8]) -> Vec<u8> {
    packet(&[&[0x82, 0x00, kind, 0x01, 0xcf], &[0; 8][..], body].concat())
}

/// A whole answer as a server of 2.6 sends it.
pub fn answer(kind: u32, sync: u64, body: &[u8]) -> Vec<u8> {
    let header = [
        &[0x83, 0x00, 0xce],
        &kind.to_be_bytes()[..],
        &[0x01, 0xcf],
        &sync.to_be_bytes()[..],
        &[0x05, 0xce, 0, 0, 0, 80],
        body,
    ];
    packet(&header.concat())
}

/// These bytes behind their length.
pub fn packet(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[0xce], &length[..], bytes].concat()
}

/// Read one request of `request`: its sync and its body.
pub fn read_request(peer: &mut dyn Peer) -> io::Result<(u64, Vec<u8>)> {
    let mut length = [0; 5];
    peer.read_exact(&mut length)?;
    let [_, digits @ ..] = length;
    let mut rest = vec![0; u32::from_be_bytes(digits) as usize];
    peer.read_exact(&mut rest)?;
    let body = rest.split_off(13);
    Ok((u64::from_be_bytes(rest[5..].try_into().unwrap()), body))
}

/// Greet, then answer the syncs of `batch` requests at a time with what `answers` makes of them.
pub fn in_batches(
    batch: usize,
    answers: impl Fn(&[u64]) -> Vec<u8> + Clone + Send + Sync + 'static,
) -> impl Serve + Clone {
    move |peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        loop {
            let mut syncs = Vec::new();
            while syncs.len() < batch {
                syncs.push(read_request(peer)?.0);
            }
            peer.write_all(&answers(&syncs))?;
        }
    }
}

/// Greet, read one request, say `last` and close.
pub fn once(last: impl Fn(u64) -> Vec<u8> + Clone + Send + Sync + 'static) -> impl Serve + Clone {
    move |peer: &mut dyn Peer, _| {
        peer.write_all(&greeting())?;
        let (sync, _) = read_request(peer)?;
        peer.write_all(&last(sync))
    }
}

/// An empty map.
pub const NOTHING: &[u8] = &[0x80];

pub fn frame() -> Frame {
    Frame::new(request(SELECT, NOTHING), SYNC_OFFSET, 1..=1).unwrap()
}

pub fn pipeline(address: &str) -> Pipeline {
    pipeline_of(address, vec![frame()])
}

/// With short time-outs: 500 ms to connect, 300 ms to answer.
pub fn pipeline_of(address: &str, frames: Vec<Frame>) -> Pipeline {
    let timeouts = Timeouts { connect_ns: 500 * MS, response_ns: 300 * MS };
    Pipeline::new(Address::parse(address).unwrap(), frames, timeouts).unwrap()
}

/// Run `rows` requests of frame 0.
pub fn flow(pipeline: &mut Pipeline, rows: usize, window: usize) -> Samples {
    pipeline.run(vec![0; rows], window, u64::MAX, &mut || false).unwrap()
}

/// Why the last run ended early, empty when it did not.
pub fn failure(pipeline: &Pipeline) -> String {
    pipeline.failure().map(|failure| failure.to_string()).unwrap_or_default()
}
