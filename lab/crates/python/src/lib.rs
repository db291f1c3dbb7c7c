//! The CPython extension `headrace_lab._iibench`: what the insert benchmark needs that Python is too slow for.
//!
//! * [`rows`]: the rows of the insert benchmark, in the forms in which drivers take them;
//! * [`histogram`]: histograms of times.

mod histogram;
mod rows;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _iibench {
    #[pymodule_export]
    use crate::histogram::Histogram;
    #[pymodule_export]
    use crate::rows::IibenchRows;
}
