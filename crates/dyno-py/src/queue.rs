//! `pool_passage`.

use dyno_queue::{Requests, passage};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// When each request was answered, when a worker took it, and whether it waited in the queue.
type Passage<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>);

/// Runs requests through an empty pool of workers.
#[pyfunction]
pub(crate) fn pool_passage<'py>(
    py: Python<'py>,
    arrivals_s: PyReadonlyArray1<'py, f64>,
    works_s: PyReadonlyArray1<'py, f64>,
    apart_s: PyReadonlyArray1<'py, f64>,
    speeds: PyReadonlyArray1<'py, f64>,
    backlog: usize,
) -> PyResult<Passage<'py>> {
    let (arrivals_s, works_s, apart_s) = (arrivals_s.as_slice()?, works_s.as_slice()?, apart_s.as_slice()?);
    if works_s.len() != arrivals_s.len() || apart_s.len() != arrivals_s.len() {
        return Err(PyValueError::new_err("every request has an arrival, work and a time apart"));
    }
    let speeds = speeds.as_slice()?;
    let found = py.detach(|| passage(Requests { arrivals_s, works_s, apart_s }, speeds, backlog));
    Ok((found.ended_s.into_pyarray(py), found.started_s.into_pyarray(py), found.waited.into_pyarray(py)))
}
