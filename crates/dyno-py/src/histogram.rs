//! `Histogram`.

use dyno_load::Histogram as Times;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How often which time was measured, to three significant digits.
#[pyclass(module = "phpdyno._native")]
#[derive(Default)]
pub(crate) struct Histogram {
    times: Times,
}

/// Times and how often each was counted.
type Counts<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

#[pymethods]
impl Histogram {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The histogram that `counts` told of.
    #[staticmethod]
    fn from_counts(times_ns: PyReadonlyArray1<'_, u64>, counts: PyReadonlyArray1<'_, u64>) -> PyResult<Self> {
        let (times_ns, counts) = (times_ns.as_array(), counts.as_array());
        if times_ns.len() != counts.len() {
            return Err(PyValueError::new_err(format!("{} counts for {} times", counts.len(), times_ns.len())));
        }
        let mut times = Times::new();
        times_ns.iter().zip(counts).for_each(|(time_ns, count)| times.record(*time_ns, *count));
        Ok(Self { times })
    }

    /// Count each of these times once.
    fn record(&mut self, times_ns: PyReadonlyArray1<'_, u64>) {
        times_ns.as_array().iter().for_each(|time_ns| self.times.record(*time_ns, 1));
    }

    /// Count what another one counted.
    fn add(&mut self, other: &Self) {
        self.times.add(&other.times);
    }

    /// How many times were counted.
    #[getter]
    fn count(&self) -> u64 {
        self.times.count()
    }

    /// The time that `percent` % of all are not above.
    fn percentile(&self, percent: f64) -> PyResult<u64> {
        let problem = || match self.times.count() {
            0 => "a percentile needs at least one value".to_owned(),
            _ => format!("a percentile lies between 0 and 100, not {percent}"),
        };
        self.times.percentile(percent).ok_or_else(|| PyValueError::new_err(problem()))
    }

    /// The times that were counted, ascending, and how often.
    fn counts<'py>(&self, py: Python<'py>) -> Counts<'py> {
        let (times_ns, counts): (Vec<u64>, Vec<u64>) = self.times.counts().unzip();
        (times_ns.into_pyarray(py), counts.into_pyarray(py))
    }
}
