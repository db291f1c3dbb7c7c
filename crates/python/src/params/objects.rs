//! What Python objects are, whatever their class claims, and what their parts come to.

use super::numpy::in_python;
use crate::errors::ClientError;
use crate::ffi::{Exact, exact, is_of_plain_class, numpy_class};
use crate::globals::{globals, is};
use crate::limits;
use crate::settings::Settings;
use headrace_core::Mismatch;
use headrace_core::civil::{DAY_MICROS, days_from_civil};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{
    PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFrozenSet, PyInt, PySet, PyString, PyTimeAccess,
};

/// What a geometric value's numbers are in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A sequence of numbers, and of points.
    Any,
    /// A sequence of points.
    Points,
    /// A point: two numbers.
    Point,
    /// A number, or a sequence of numbers.
    NumberOrPoint,
    /// A number.
    Number,
}

/// Sets and mappings have items in no order that means anything.
pub fn is_unordered(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>() || value.is_instance_of::<PyDict>()
}

/// The attribute of a class of rows that are no tuples, if its values are taken by their numbers.
#[cold]
pub(super) fn is_row(value: &Bound<'_, PyAny>) -> bool {
    value.get_type().hasattr(pyo3::intern!(value.py(), "__headrace_row__")).unwrap_or(false)
}

#[cold]
pub(super) fn too_deep() -> Mismatch {
    Mismatch::wrong_type(format!("a value contains itself, or is nested deeper than {}", limits::NESTING))
}

pub(super) fn dumper_of<'a>(value: &Bound<'a, PyAny>, settings: &Settings) -> Option<Bound<'a, PyAny>> {
    let dumpers = settings.dumpers.as_ref()?.bind(value.py());
    let mro = value.get_type().mro();
    mro.iter().find_map(|class| dumpers.get_item(class).ok().flatten())
}

/// What a value of a type other than the usual ones stands for, and the exact type of that: of a member of an enumeration
/// that has no dumper its value, a value of NumPy in Python's own types; another value itself. A member whose value is
/// itself stays, and is a value of no kind.
#[inline]
pub(super) fn meant<'a>(value: Bound<'a, PyAny>, settings: &Settings) -> (Bound<'a, PyAny>, Exact) {
    // Every enumeration has a metaclass of its own; what is sent most, dates and decimals, has none.
    if is_of_plain_class(&value) && numpy_class(&value).is_none() {
        return (value, Exact::Other);
    }
    let value = converted(value, settings);
    let class = exact(&value);
    (value, class)
}

#[inline(never)]
fn converted<'a>(value: Bound<'a, PyAny>, settings: &Settings) -> Bound<'a, PyAny> {
    if is_of_plain_class(&value) {
        return in_python(value, settings);
    }
    let Ok(g) = globals(value.py()) else { return value };
    let mut found = value.clone();
    for _ in 0..limits::NESTING {
        if !is(&found, &g.enum_type) || dumper_of(&found, settings).is_some() {
            return in_python(found, settings);
        }
        let Ok(inner) = found.getattr("value") else { return found };
        found = inner;
    }
    value
}

/// Returns true for what pandas has in place of a value that is missing: NaT, which is a datetime whose fields hold the
/// year 1, and NA.
pub(super) fn is_missing(value: &Bound<'_, PyAny>) -> bool {
    let class = value.get_type();
    !value.is_exact_instance_of::<PyDateTime>()
        && class.name().is_ok_and(|name| name == "NaTType" || name == "NAType")
        && class.module().is_ok_and(|module| module.to_str().is_ok_and(|module| module.starts_with("pandas.")))
}

/// The text in UTF-8, which it has none of if it has a lone surrogate.
#[inline]
pub(super) fn utf8<'a>(text: &'a Bound<'_, PyString>) -> Result<&'a str, ClientError> {
    text.to_str()
        .map_err(|error| Mismatch::out_of_range(format!("the text is not Unicode: {}", error.value(text.py()))).into())
}

/// The digits of a whole number of which `str` makes no text: Python refuses it from
/// `sys.get_int_max_str_digits()` digits on, as int's own conversion takes time that grows with their square. That of
/// Decimal, which is exact, does not.
#[cold]
pub(super) fn digits<'py>(number: &Bound<'py, PyAny>, error: PyErr) -> PyResult<Bound<'py, PyString>> {
    let py = number.py();
    if !number.is_instance_of::<PyInt>() || !error.is_instance_of::<PyValueError>(py) {
        return Err(error);
    }
    globals(py)?.decimal.get(py)?.bind(py).call1((number,))?.str()
}

pub(super) fn days_of(date: &Bound<'_, PyDate>) -> i32 {
    // Year, month and day of a Python date are in range, and so are their days.
    days_from_civil(i64::from(date.get_year()), u32::from(date.get_month()), u32::from(date.get_day())) as i32
}

pub(super) fn micros_of(time: &impl PyTimeAccess) -> i64 {
    (i64::from(time.get_hour()) * 3600 + i64::from(time.get_minute()) * 60 + i64::from(time.get_second())) * 1_000_000
        + i64::from(time.get_microsecond())
}

pub(super) fn micros_since_epoch(timestamp: &Bound<'_, PyDateTime>) -> i64 {
    let days = days_from_civil(
        i64::from(timestamp.get_year()),
        u32::from(timestamp.get_month()),
        u32::from(timestamp.get_day()),
    );
    days * DAY_MICROS + micros_of(timestamp)
}

pub(super) fn delta_micros(delta: &Bound<'_, PyDelta>) -> i64 {
    i64::from(delta.get_days()) * DAY_MICROS
        + i64::from(delta.get_seconds()) * 1_000_000
        + i64::from(delta.get_microseconds())
}
