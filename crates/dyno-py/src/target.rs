//! `Target`.

use std::sync::Arc;

use dyno_load::{Expected, Pattern, Target as Request};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::pattern::BodyPattern;

/// One request template, rendered once for one transport, with what a valid answer looks like.
#[pyclass(module = "phpdyno._native", frozen)]
pub(crate) struct Target {
    pub(crate) request: Request,
}

#[pymethods]
impl Target {
    /// A complete HTTP/1.1 request (request line, headers, blank line, body).
    #[staticmethod]
    #[pyo3(signature = (request, *, status, min_bytes = 0, max_bytes = 1 << 62, head = false, body = None))]
    fn http(
        request: &[u8],
        status: u16,
        min_bytes: u64,
        max_bytes: u64,
        head: bool,
        body: Option<&BodyPattern>,
    ) -> PyResult<Self> {
        if !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            return Err(PyValueError::new_err("an HTTP request needs a blank line (CR LF CR LF) after its headers"));
        }
        let expected = expected(status, min_bytes, max_bytes)?;
        Ok(Self { request: Request::http(request.to_vec(), head, expected).like(pattern_of(body)) })
    }

    /// A FastCGI responder request; records are encoded here, once.
    #[staticmethod]
    #[pyo3(signature = (params, stdin = b"".as_slice(), *, status, min_bytes = 0, max_bytes = 1 << 62, body = None))]
    fn fastcgi(
        params: Vec<(PyBackedBytes, PyBackedBytes)>,
        stdin: &[u8],
        status: u16,
        min_bytes: u64,
        max_bytes: u64,
        body: Option<&BodyPattern>,
    ) -> PyResult<Self> {
        let expected = expected(status, min_bytes, max_bytes)?;
        Request::fastcgi(&params, stdin, expected)
            .map(|request| Self { request: request.like(pattern_of(body)) })
            .map_err(|_| PyValueError::new_err("a FastCGI parameter name or value is over 2**31 - 1 bytes"))
    }
}

fn pattern_of(body: Option<&BodyPattern>) -> Option<Arc<Pattern>> {
    body.map(|body| Arc::clone(&body.pattern))
}

fn expected(status: u16, min_bytes: u64, max_bytes: u64) -> PyResult<Expected> {
    if !(100..1000).contains(&status) {
        return Err(PyValueError::new_err(format!("status {status} is not between 100 and 999")));
    }
    if min_bytes > max_bytes {
        return Err(PyValueError::new_err(format!("min_bytes {min_bytes} is over max_bytes {max_bytes}")));
    }
    Ok(Expected { status, min_bytes, max_bytes })
}
