//! The thin Python binding of `dyno-load` and `dyno-queue`: values in, columns out, the GIL released in between.

mod engine;
mod histogram;
mod pattern;
mod pipeline;
mod queue;
mod samples;
mod target;

#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_export]
    use crate::engine::{Engine, Response};
    #[pymodule_export]
    use crate::histogram::Histogram;
    #[pymodule_export]
    use crate::pattern::BodyPattern;
    #[pymodule_export]
    use crate::pipeline::{Frame, Pipeline};
    #[pymodule_export]
    use crate::queue::pool_passage;
    #[pymodule_export]
    use crate::samples::Samples;
    #[pymodule_export]
    use crate::target::Target;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("OUTCOMES", PyTuple::new(module.py(), dyno_load::OUTCOMES)?)
    }
}
