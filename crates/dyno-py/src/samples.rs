//! `Samples`: the columns become numpy arrays that own the memory of the run; nothing is copied.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// The columns of one `Engine.run`, `Engine.run_open` or `Pipeline.run`: one row per requested index, in the order of the sequence.
#[pyclass(module = "phpdyno._native", frozen, get_all)]
pub(crate) struct Samples {
    intended_ns: Py<PyArray1<u64>>,
    ready_ns: Py<PyArray1<u64>>,
    sent_ns: Py<PyArray1<u64>>,
    first_byte_ns: Py<PyArray1<u64>>,
    done_ns: Py<PyArray1<u64>>,
    status: Py<PyArray1<u16>>,
    body_bytes: Py<PyArray1<u64>>,
    target: Py<PyArray1<u32>>,
    outcome: Py<PyArray1<u8>>,
    different: Py<PyList>,
    started_ns: u64,
    ended_ns: u64,
    connects: u64,
    stderr_bytes: u64,
    other_threads_cpu_ns: u64,
}

impl Samples {
    pub(crate) fn new(py: Python<'_>, columns: dyno_load::Samples) -> PyResult<Self> {
        let different = columns.different.iter().map(|each| (each.row, PyBytes::new(py, &each.body)));
        let different = PyList::new(py, different.collect::<Vec<_>>())?.unbind();
        Ok(Self {
            different,
            intended_ns: columns.intended_ns.into_pyarray(py).unbind(),
            ready_ns: columns.ready_ns.into_pyarray(py).unbind(),
            sent_ns: columns.sent_ns.into_pyarray(py).unbind(),
            first_byte_ns: columns.first_byte_ns.into_pyarray(py).unbind(),
            done_ns: columns.done_ns.into_pyarray(py).unbind(),
            status: columns.status.into_pyarray(py).unbind(),
            body_bytes: columns.body_bytes.into_pyarray(py).unbind(),
            target: columns.target.into_pyarray(py).unbind(),
            outcome: columns.outcome.into_pyarray(py).unbind(),
            started_ns: columns.started_ns,
            ended_ns: columns.ended_ns,
            connects: columns.connects,
            stderr_bytes: columns.stderr_bytes,
            other_threads_cpu_ns: columns.other_threads_cpu_ns,
        })
    }
}
