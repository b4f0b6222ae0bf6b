//! `Engine` and `Response`.

use dyno_load::{Address, Error, Fetched, Options, Width};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyIndexError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::samples::Samples;
use crate::target::Target;

/// A generator for one address; epoll, one thread unless a run asks for more, connections kept over runs when
/// `keep_alive`.
#[pyclass(module = "phpdyno._native")]
pub(crate) struct Engine {
    engine: dyno_load::Engine,
}

/// One whole answer, as fetched by `Engine.fetch`.
#[pyclass(module = "phpdyno._native", frozen, get_all)]
pub(crate) struct Response {
    outcome: u8,
    status: u16,
    headers: Py<PyList>,
    body: Py<PyBytes>,
    stderr: Py<PyBytes>,
    detail: String,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (
        address, targets, *, keep_alive = true, connect_timeout_ns = 2_000_000_000, response_timeout_ns = 30_000_000_000
    ))]
    fn new(
        address: &str,
        targets: Vec<Bound<'_, Target>>,
        keep_alive: bool,
        connect_timeout_ns: u64,
        response_timeout_ns: u64,
    ) -> PyResult<Self> {
        let address = Address::parse(address).map_err(PyValueError::new_err)?;
        let targets = targets.iter().map(|target| target.get().request.clone()).collect();
        let options = Options { keep_alive, connect_timeout_ns, response_timeout_ns };
        let engine = dyno_load::Engine::new(address, targets, options).map_err(python_error)?;
        Ok(Self { engine })
    }

    /// Send `targets[i]` for every i of `sequence`, `concurrency` at a time on `threads` threads, and return when each has
    /// an outcome.
    #[pyo3(signature = (sequence, *, concurrency = 1, max_failures = 1 << 62, threads = 1))]
    fn run(
        &mut self,
        py: Python<'_>,
        sequence: PyReadonlyArray1<'_, u32>,
        concurrency: usize,
        max_failures: u64,
        threads: usize,
    ) -> PyResult<Samples> {
        let width = Width::new(concurrency, threads).map_err(python_error)?;
        // A copy: it becomes the `target` column, and Python may write to its own array while we run without the GIL.
        let sequence = sequence.as_array().to_vec();
        let engine = &mut self.engine;
        let columns = interruptible(py, |stop| engine.run(sequence, width, max_failures, stop))?;
        Samples::new(py, columns)
    }

    /// Send `targets[sequence[i]]` `offsets_ns[i]` after the zero of the schedule, on at most `connections` connections,
    /// which are dealt to `threads` threads.
    #[pyo3(signature = (sequence, offsets_ns, *, connections, max_failures = 1 << 62, threads = 1))]
    fn run_open(
        &mut self,
        py: Python<'_>,
        sequence: PyReadonlyArray1<'_, u32>,
        offsets_ns: PyReadonlyArray1<'_, u64>,
        connections: usize,
        max_failures: u64,
        threads: usize,
    ) -> PyResult<Samples> {
        let width = Width::new(connections, threads).map_err(python_error)?;
        let (sequence, offsets_ns) = (sequence.as_array().to_vec(), offsets_ns.as_array().to_vec());
        let engine = &mut self.engine;
        let columns = interruptible(py, |stop| engine.run_open(sequence, offsets_ns, width, max_failures, stop))?;
        Samples::new(py, columns)
    }

    /// One request, the whole answer kept. Does not check the expected length.
    #[pyo3(signature = (target, *, max_bytes = 64 << 20))]
    fn fetch(&mut self, py: Python<'_>, target: i64, max_bytes: usize) -> PyResult<Response> {
        let target = u32::try_from(target)
            .map_err(|_| PyIndexError::new_err(format!("target {target} does not exist: they are counted from 0")))?;
        let engine = &mut self.engine;
        let fetched = interruptible(py, |stop| engine.fetch(target, max_bytes, stop))?;
        Response::new(py, fetched)
    }

    /// Close the kept connections. Idempotent; the engine may be run again.
    fn close(&mut self) {
        self.engine.close();
    }
}

impl Response {
    fn new(py: Python<'_>, fetched: Fetched) -> PyResult<Self> {
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
        let headers = fetched.kept.headers.iter().map(|(name, value)| (bytes(name), bytes(value)));
        Ok(Self {
            outcome: fetched.outcome as u8,
            status: fetched.status,
            headers: PyList::new(py, headers.collect::<Vec<_>>())?.unbind(),
            body: bytes(&fetched.kept.body).unbind(),
            stderr: bytes(&fetched.kept.stderr).unbind(),
            detail: fetched.detail,
        })
    }
}

/// Run `work` without the GIL; when it asks whether to stop, let Python handle its signals and pass on what a handler
/// raised.
#[allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the method itself is not general enough over the lifetime"
)]
pub(crate) fn interruptible<T, F>(py: Python<'_>, work: F) -> PyResult<T>
where
    T: Send,
    F: FnOnce(&mut dyn FnMut() -> bool) -> Result<T, Error> + Send,
{
    let (done, raised) = py.detach(|| {
        let mut raised = None;
        let done = work(&mut || {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_some()
        });
        (done, raised)
    });
    match raised {
        Some(error) => Err(error),
        None => done.map_err(python_error),
    }
}

pub(crate) fn python_error(error: Error) -> PyErr {
    match error {
        Error::Invalid(_) => PyValueError::new_err(error.to_string()),
        Error::NoSuchTarget { .. } | Error::NoSuchFrame { .. } => PyIndexError::new_err(error.to_string()),
        // With the number, Python chooses the subclass and fills in errno.
        Error::Io(error) => PyOSError::new_err((error.raw_os_error(), error.to_string())),
    }
}
