//! `Frame` and `Pipeline`.

use dyno_load::{Address, iproto};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::engine::{interruptible, python_error};
use crate::samples::Samples;

/// One whole IPROTO request, built once, with what a valid answer looks like.
#[pyclass(module = "phpdyno._native", frozen)]
pub(crate) struct Frame {
    frame: iproto::Frame,
}

#[pymethods]
impl Frame {
    #[new]
    #[pyo3(signature = (request, sync_offset, *, min_bytes = 0, max_bytes = 1 << 62, body = None))]
    fn new(request: &[u8], sync_offset: usize, min_bytes: u64, max_bytes: u64, body: Option<&[u8]>) -> PyResult<Self> {
        let frame = iproto::Frame::new(request.to_vec(), sync_offset, min_bytes..=max_bytes).map_err(python_error)?;
        Ok(Self { frame: if let Some(body) = body { frame.with_body(body.to_vec()) } else { frame } })
    }
}

/// A generator that keeps many prebuilt requests in flight on one connection.
#[pyclass(module = "phpdyno._native")]
pub(crate) struct Pipeline {
    pipeline: iproto::Pipeline,
}

#[pymethods]
impl Pipeline {
    #[new]
    #[pyo3(signature = (
        address, frames, *, connect_timeout_ns = 2_000_000_000, response_timeout_ns = 30_000_000_000
    ))]
    fn new(
        address: &str,
        frames: Vec<Bound<'_, Frame>>,
        connect_timeout_ns: u64,
        response_timeout_ns: u64,
    ) -> PyResult<Self> {
        let address = Address::parse(address).map_err(PyValueError::new_err)?;
        let frames = frames.iter().map(|frame| frame.get().frame.clone()).collect();
        let timeouts = iproto::Timeouts { connect_ns: connect_timeout_ns, response_ns: response_timeout_ns };
        let pipeline = iproto::Pipeline::new(address, frames, timeouts).map_err(python_error)?;
        Ok(Self { pipeline })
    }

    /// Send `frames[i]` for every i of `sequence`, `window` of them in flight, and return when each has an outcome.
    #[pyo3(signature = (sequence, *, window = 1, max_failures = 1 << 62))]
    fn run(
        &mut self,
        py: Python<'_>,
        sequence: PyReadonlyArray1<'_, u32>,
        window: usize,
        max_failures: u64,
    ) -> PyResult<Samples> {
        let sequence = sequence.as_array().to_vec();
        let pipeline = &mut self.pipeline;
        let columns = interruptible(py, |stop| pipeline.run(sequence, window, max_failures, stop))?;
        Samples::new(py, columns)
    }

    /// Why the last run ended early, in words.
    #[getter]
    fn failure(&self) -> String {
        self.pipeline.failure().map(|failure| failure.to_string()).unwrap_or_default()
    }

    /// Close the kept connection. Idempotent; the pipeline may be run again.
    fn close(&mut self) {
        self.pipeline.close();
    }
}
