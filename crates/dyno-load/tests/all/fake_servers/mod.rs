//! Fake servers: `std::net` threads in the test's own process that answer exactly as badly as a test wants.
#![allow(unreachable_pub, reason = "a module of a test program is reachable from there only")]

pub mod iproto;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use dyno_load::{Address, Engine, Expected, OUTCOMES, Options, Samples, Target};

pub const MS: u64 = 1_000_000;

/// One accepted connection of either family.
pub trait Peer: Read + Write + Send {}

impl Peer for TcpStream {}
impl Peer for UnixStream {}

/// What a fake does with a connection; the number counts connections from 0.
pub trait Serve: Fn(&mut dyn Peer, usize) -> io::Result<()> + Send + Sync + 'static {}

impl<F: Fn(&mut dyn Peer, usize) -> io::Result<()> + Send + Sync + 'static> Serve for F {}

/// A listening fake; a thread per connection. Dropped, it listens no more.
pub struct FakeServer {
    pub address: String,
    pub accepted: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    path: Option<PathBuf>,
}

impl FakeServer {
    pub fn tcp(serve: impl Serve) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp:{}", listener.local_addr().unwrap());
        Self::start(address, None, serve, move || Ok(Box::new(listener.accept()?.0)))
    }

    pub fn unix(serve: impl Serve) -> Self {
        let path = socket_path();
        let listener = UnixListener::bind(&path).unwrap();
        let address = format!("unix:{}", path.display());
        Self::start(address, Some(path), serve, move || Ok(Box::new(listener.accept()?.0)))
    }

    fn start(
        address: String,
        path: Option<PathBuf>,
        serve: impl Serve,
        accept: impl Fn() -> io::Result<Box<dyn Peer>> + Send + 'static,
    ) -> Self {
        let (serve, stop, accepted) =
            (Arc::new(serve), Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&accepted));
        thread::spawn(move || {
            while let Ok(mut peer) = accept() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let number = count.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                // A client that hangs up is the fate of a fake.
                thread::spawn(move || serve(&mut *peer, number).unwrap_or_default());
            }
        });
        Self { address, accepted, stop, path }
    }

    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(path) = &self.path {
            drop(UnixStream::connect(path));
            drop(std::fs::remove_file(path));
        } else if let Some(address) = self.address.strip_prefix("tcp:") {
            drop(TcpStream::connect(address));
        }
    }
}

/// A fresh path for a unix socket.
pub fn socket_path() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    std::env::temp_dir().join(format!("dyno-load-fake-{}-{number}.sock", std::process::id()))
}

/// Read one HTTP request without a body; an error when the client closed.
pub fn read_http(peer: &mut dyn Peer) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.ends_with(b"\r\n\r\n") {
        let got = peer.read(&mut buffer)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        request.extend_from_slice(&buffer[..got]);
    }
    Ok(request)
}

/// Read one FastCGI request, up to its empty STDIN record; whether `FCGI_KEEP_CONN` was set.
pub fn read_fastcgi(peer: &mut dyn Peer) -> io::Result<bool> {
    let mut keep = false;
    loop {
        let mut header = [0; 8];
        peer.read_exact(&mut header)?;
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut content = vec![0; length + usize::from(header[6])];
        peer.read_exact(&mut content)?;
        match header[1] {
            1 => keep = content[2] & 1 == 1,
            5 if length == 0 => return Ok(keep),
            _ => {}
        }
    }
}

/// A FastCGI record of the responder.
pub fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    let mut bytes = vec![1, kind, 0, 1, high, low, 0, 0];
    bytes.extend_from_slice(content);
    bytes
}

/// A whole FastCGI answer.
pub fn fastcgi_answer(stdout: &[u8]) -> Vec<u8> {
    [record(6, stdout), record(6, b""), record(3, &[0; 8])].concat()
}

/// Wait until the client closes.
pub fn hang(peer: &mut dyn Peer) -> io::Result<()> {
    let mut buffer = [0; 4096];
    while peer.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Answer every HTTP request of a connection with the same bytes.
pub fn always(answer: &'static [u8]) -> impl Serve {
    move |peer: &mut dyn Peer, _| loop {
        read_http(peer)?;
        peer.write_all(answer)?;
    }
}

pub const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: fake\r\n\r\n").into_bytes()
}

pub fn http_target() -> Target {
    Target::http(get("/"), false, Expected::status(200))
}

pub fn fastcgi_target() -> Target {
    Target::fastcgi(&[("SCRIPT_FILENAME", "/x.php")], b"", Expected::status(200)).unwrap()
}

/// Short time-outs: 1 s to connect, 300 ms to answer.
pub fn impatient() -> Options {
    Options { keep_alive: true, connect_timeout_ns: 1000 * MS, response_timeout_ns: 300 * MS }
}

pub fn engine(address: &str, target: Target) -> Engine {
    engine_of(address, vec![target], impatient())
}

pub fn engine_of(address: &str, targets: Vec<Target>, options: Options) -> Engine {
    Engine::new(Address::parse(address).unwrap(), targets, options).unwrap()
}

/// Run `rows` requests of target 0.
pub fn run(engine: &mut Engine, rows: usize, concurrency: usize) -> Samples {
    engine.run(vec![0; rows], concurrency, u64::MAX, &mut || false).unwrap()
}

/// The names of the outcomes.
pub fn outcomes(samples: &Samples) -> Vec<&'static str> {
    samples.outcome.iter().map(|code| OUTCOMES[usize::from(*code)]).collect()
}

pub fn sleep_ms(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}
