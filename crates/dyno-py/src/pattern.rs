//! `BodyPattern`.

use std::sync::Arc;

use dyno_load::{Gap, Pattern};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// What the body of a valid answer is like: literals with a volatile gap between each two of them.
#[pyclass(module = "phpdyno._native", frozen)]
pub(crate) struct BodyPattern {
    pub(crate) pattern: Arc<Pattern>,
}

#[pymethods]
impl BodyPattern {
    /// A gap is its least and greatest length in bytes, and the bytes that may stand in it.
    #[new]
    #[pyo3(signature = (literals, gaps = vec![]))]
    fn new(literals: Vec<PyBackedBytes>, gaps: Vec<(usize, usize, PyBackedBytes)>) -> PyResult<Self> {
        let gaps = gaps.iter().map(|(low, high, allowed)| {
            Gap::new(*low, *high, allowed)
                .ok_or_else(|| PyValueError::new_err(format!("a gap of {low} to {high} bytes")))
        });
        let gaps = gaps.collect::<PyResult<Vec<_>>>()?;
        let counts = format!("{} gaps between {} literals", gaps.len(), literals.len());
        let pattern = Pattern::new(literals.iter().map(|literal| literal.to_vec()).collect(), gaps);
        pattern.map(|pattern| Self { pattern: Arc::new(pattern) }).ok_or_else(|| PyValueError::new_err(counts))
    }

    /// Whether a whole body is like this.
    fn fits(&self, body: &[u8]) -> bool {
        self.pattern.fits(body)
    }
}
