//! Values of NumPy, which is not imported for them: what they are in Python's own types.

use super::objects::dumper_of;
use crate::ffi::{Exact, exact, numpy_class};
use crate::globals::globals;
use crate::settings::Settings;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDelta, PyList, PyTuple};

/// A scalar or an array of NumPy in Python's own types: a number, `str`, `bytes`, a date, a datetime, a timedelta, a
/// list. Its missing times are None. Any other value itself, and one of NumPy that Python has no type for, or for whose
/// class the program has a dumper.
#[inline]
pub(super) fn in_python<'py>(value: Bound<'py, PyAny>, settings: &Settings) -> Bound<'py, PyAny> {
    if numpy_class(&value).is_some() { converted(value, settings) } else { value }
}

#[inline(never)]
fn converted<'py>(value: Bound<'py, PyAny>, settings: &Settings) -> Bound<'py, PyAny> {
    if dumper_of(&value, settings).is_some() {
        return value;
    }
    if !is_array(&value) {
        return of_scalar(&value).ok().flatten().unwrap_or(value);
    }
    match of_array(&value) {
        // The item of an array without dimensions.
        Ok(Some(item)) if numpy_class(&item).is_some() && !is_array(&item) => converted(item, settings),
        made => made.ok().flatten().unwrap_or(value),
    }
}

fn is_array(value: &Bound<'_, PyAny>) -> bool {
    numpy_class(value) == Some(b"ndarray")
}

/// The list of an array, and the item of one without dimensions. None for an array of bytes, which lends them as other
/// buffers do.
fn of_array<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    if array.getattr("ndim")?.extract::<usize>()? == 0 {
        return array.get_item(PyTuple::empty(py)).map(Some);
    }
    match (kind(array)?, array.getattr("itemsize")?.extract::<usize>()?) {
        ('u', 1) => Ok(None),
        // Its own list has whole numbers in place of the times that have a unit shorter than Python's.
        ('M' | 'm', _) => PyList::type_object(py).call1((array,)).map(Some),
        _ => array.call_method0("tolist").map(Some),
    }
}

fn of_scalar<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match kind(value)? {
        // A float of more bits than Python's stays one of NumPy's.
        'b' | 'i' | 'u' | 'f' => {
            let number = value.call_method0("item")?;
            Ok(matches!(exact(&number), Exact::Bool | Exact::Int | Exact::Float).then_some(number))
        }
        'U' | 'S' | 'V' => value.call_method0("item").map(Some),
        'M' => of_time::<PyDate>(value, "datetime64[us]"),
        'm' if matches!(unit(value)?.as_str(), "Y" | "M") => of_months(value),
        'm' => of_time::<PyDelta>(value, "timedelta64[us]"),
        _ => Ok(None),
    }
}

/// A time or a span of time; None if it has no unit, or is more precise than a microsecond, or none that Python has.
fn of_time<'py, T: PyTypeInfo>(value: &Bound<'py, PyAny>, micros: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let item = value.call_method0("item")?;
    if item.is_none() || item.is_instance_of::<T>() {
        return Ok(Some(item));
    }
    if !is_finer(&unit(value)?) {
        return Ok(None);
    }
    let rounded = value.call_method1("astype", (micros,))?;
    let item = rounded.call_method0("item")?;
    Ok((rounded.eq(value)? && item.is_instance_of::<T>()).then_some(item))
}

/// Months and years, which have no fixed length.
fn of_months<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let count = value.call_method0("item")?;
    if count.is_none() {
        return Ok(Some(count));
    }
    // As many as an interval has, so that no unit overflows.
    count.extract::<i32>()?;
    let months = value.call_method1("astype", ("timedelta64[M]",))?.call_method0("item")?;
    months.extract::<i32>()?;
    globals(value.py())?.interval.bind(value.py()).call1((months,)).map(Some)
}

fn kind(value: &Bound<'_, PyAny>) -> PyResult<char> {
    value.getattr("dtype")?.getattr("kind")?.extract()
}

/// The unit of a time, `ns` of `<M8[25ns]`; empty if it has none.
fn unit(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let name: String = value.getattr("dtype")?.getattr("str")?.extract()?;
    let unit = name.split_once('[').map_or("", |(_, unit)| unit.trim_end_matches(']'));
    Ok(unit.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned())
}

/// Returns true for units that are shorter than a microsecond.
fn is_finer(unit: &str) -> bool {
    matches!(unit, "ns" | "ps" | "fs" | "as")
}

/// What to do with a value that cannot be sent, for its error: of NumPy, or with a list of its own as pandas' columns.
#[cold]
pub(super) fn advice(value: &Bound<'_, PyAny>) -> Option<&'static str> {
    if numpy_class(value).is_none() || is_array(value) {
        return value.hasattr("tolist").ok()?.then_some("whose .tolist() can be sent");
    }
    match (kind(value).ok()?, unit(value).ok()?.as_str()) {
        ('f', _) => Some("whose float() can be sent"),
        ('M' | 'm', "") => Some("which has no unit"),
        ('M', unit) if is_finer(unit) => Some("whose .astype('datetime64[us]') can be sent"),
        ('m', unit) if is_finer(unit) => Some("whose .astype('timedelta64[us]') can be sent"),
        ('M', _) => Some("which datetime cannot hold"),
        ('m', _) => Some("which timedelta cannot hold"),
        _ => None,
    }
}
