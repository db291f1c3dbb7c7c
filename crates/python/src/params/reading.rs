//! Which kind a Python object is of, what is read of it where that is more than a call, and the errors of what is not.

use super::PyValue;
use super::objects::{Shape, digits, is_missing, is_row, is_unordered};
use crate::errors::ClientError;
use crate::ffi::Exact;
use crate::globals::{globals, is, is_exactly, type_name};
use headrace_core::{Mismatch, Value, ValueKind};
use pyo3::PyTypeInfo;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOverflowError, PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTime, PyTuple,
    PyTzInfoAccess,
};

impl<'a> PyValue<'a> {
    #[inline(never)]
    pub(super) fn other_kind(&self) -> ValueKind {
        let Ok(g) = globals(self.py()) else { return ValueKind::Other };
        let v = &self.value;
        if self.settings.dumpers.is_some() && self.has_dumper() {
            return ValueKind::Custom;
        }
        if let Ok(timestamp) = v.cast::<PyDateTime>() {
            return match timestamp.get_tzinfo() {
                Some(_) => ValueKind::TimestampTz,
                None if is_missing(v) => ValueKind::Null,
                None => ValueKind::Timestamp,
            };
        }
        if v.is_instance_of::<PyDate>() {
            ValueKind::Date
        } else if g.decimal.is_exactly(v) {
            ValueKind::Decimal
        } else if g.uuid.is_exactly(v) {
            ValueKind::Uuid
        } else if v.is_instance_of::<PyTime>() {
            match v.cast::<PyTime>() {
                Ok(time) if time.get_tzinfo().is_some() => ValueKind::TimeTz,
                _ => ValueKind::Time,
            }
        } else if v.is_instance_of::<PyDelta>() || is(v, &g.interval) {
            ValueKind::Interval
        } else if is(v, &g.jsonb) {
            ValueKind::Jsonb
        } else if is(v, &g.json) {
            ValueKind::Json
        } else if is(v, &g.range) {
            ValueKind::Range
        } else if is(v, &g.multirange) {
            ValueKind::Multirange
        } else if is(v, &g.bits) {
            ValueKind::Bits
        } else if v.is_instance_of::<PyString>() {
            ValueKind::Text
        } else if v.is_instance_of::<PyInt>() {
            ValueKind::Int
        } else if v.is_instance_of::<PyFloat>() {
            ValueKind::Float
        } else if g.decimal.is(v) {
            ValueKind::Decimal
        } else if g.uuid.is(v) {
            ValueKind::Uuid
        } else if is(v, &g.ipv4_interface)
            || is(v, &g.ipv6_interface)
            || is(v, &g.ipv4_address)
            || is(v, &g.ipv6_address)
        {
            ValueKind::Inet
        } else if is(v, &g.ipv4_network) || is(v, &g.ipv6_network) {
            ValueKind::Cidr
        } else if v.is_instance_of::<PyDict>() {
            ValueKind::Json
        } else if v.is_instance_of::<PyList>() {
            ValueKind::List
        } else if v.is_instance_of::<PyTuple>() {
            ValueKind::Record
        } else if v.is_instance_of::<PySet>() || v.is_instance_of::<PyFrozenSet>() {
            ValueKind::Set
        } else if is(v, &g.opaque) {
            ValueKind::Opaque
        } else if is_missing(v) {
            ValueKind::Null
        } else if PyBuffer::<u8>::get(v).is_ok() {
            ValueKind::Bytes
        } else if is_row(v) {
            ValueKind::Record
        } else {
            ValueKind::Other
        }
    }

    /// The error for a value of a composite type with missing attributes.
    #[cold]
    pub(super) fn no_field<E: PyTypeInfo>(&self, name: &str, error: PyErr) -> ClientError {
        if error.is_instance_of::<E>(self.py()) {
            self.wrong(&format!("a composite value: it has no attribute {name}"))
        } else {
            error.into()
        }
    }

    /// The error for a value of which `json.dumps` makes no text: it has an int of too many digits, is in itself, or is
    /// nested too deep. What a serialiser of the program raises stays as it is.
    #[cold]
    pub(super) fn not_json(&self, wrapped: bool, error: PyErr) -> ClientError {
        let py = self.py();
        let is_plain =
            |own: &Bound<'_, PyAny>| own.is_none() || globals(py).is_ok_and(|g| own.is(g.json_dumps.bind(py)));
        let is_ours = !wrapped || self.value.getattr("dumps_with").is_ok_and(|own| is_plain(&own));
        if is_ours && (error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyRecursionError>(py)) {
            let class = type_name(&self.value);
            let message = format!("a value of type {class} cannot be sent as JSON: {}", error.value(py));
            return Mismatch::out_of_range(message).into();
        }
        error.into()
    }

    /// The text of the value. That of a number, a UUID or an address of a subclass is its value's, whatever the subclass
    /// shows.
    pub(super) fn str_of(&self) -> PyResult<Bound<'a, PyString>> {
        if let Ok(text) = self.value.cast::<PyString>() {
            return Ok(text.clone());
        }
        let py = self.py();
        let plain = &self.value;
        let base = match self.class {
            Exact::Other if plain.is_instance_of::<PyInt>() => PyInt::type_object(py).getattr("__repr__")?,
            Exact::Other if plain.is_instance_of::<PyFloat>() => PyFloat::type_object(py).getattr("__repr__")?,
            Exact::Other => {
                let g = globals(py)?;
                // Of those that are subclasses of each other the narrower one is first.
                let lazy = [g.decimal.imported(py), g.uuid.imported(py)];
                let classes = [
                    &g.ipv4_interface,
                    &g.ipv6_interface,
                    &g.ipv4_address,
                    &g.ipv6_address,
                    &g.ipv4_network,
                    &g.ipv6_network,
                ];
                match lazy.into_iter().flatten().chain(classes).find(|class| is(plain, class)) {
                    Some(class) if !is_exactly(plain, class) => class.bind(py).getattr("__str__")?,
                    _ => return plain.str(),
                }
            }
            _ => return plain.str().or_else(|error| digits(plain, error)),
        };
        match base.call1((plain,)) {
            Ok(text) => Ok(text.cast_into::<PyString>()?),
            Err(error) => digits(plain, error),
        }
    }

    /// A timestamp whose C fields hold its value: those of a subclass may not, which its attributes do.
    pub(super) fn exact_timestamp(&self) -> Result<Bound<'a, PyDateTime>, ClientError> {
        let Ok(timestamp) = self.value.cast::<PyDateTime>() else { return Err(self.wrong("a timestamp")) };
        if timestamp.is_exact_instance_of::<PyDateTime>() {
            return Ok(timestamp.clone());
        }
        self.check_precision("nanosecond")?;
        let read = || -> PyResult<Bound<'a, PyAny>> {
            let part = |name: &str| self.value.getattr(name);
            let date = (part("year")?, part("month")?, part("day")?);
            let clock = (part("hour")?, part("minute")?, part("second")?, part("microsecond")?);
            let class = PyDateTime::type_object(self.py());
            let rest = (date.0, date.1, date.2, clock.0, clock.1, clock.2, clock.3, part("tzinfo")?);
            let fold = PyDict::new(self.py());
            fold.set_item("fold", part("fold")?)?;
            class.call(rest, Some(&fold))
        };
        let made = read().map_err(|error| self.not_read("a timestamp", error))?;
        made.cast_into::<PyDateTime>().map_err(|_| self.wrong("a timestamp"))
    }

    /// Refuses what is more precise than a microsecond, which pandas' times and spans of time can be.
    pub(super) fn check_precision(&self, nanoseconds: &str) -> Result<(), ClientError> {
        if !self.value.getattr(nanoseconds).is_ok_and(|count| count.is_truthy().unwrap_or(false)) {
            return Ok(());
        }
        let what = self.describe();
        Err(Mismatch::out_of_range(format!("{what} is more precise than a microsecond: .round('us') rounds it")).into())
    }

    /// The error for an object whose attributes are not those of what it seems to be.
    #[cold]
    pub(super) fn not_read(&self, what: &str, error: PyErr) -> ClientError {
        let py = self.py();
        if error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyTypeError>(py)
            || error.is_instance_of::<PyOverflowError>(py)
        {
            return self.wrong(&format!("{what}: {}", error.value(py)));
        }
        error.into()
    }

    /// The numbers of a geometric value, each a number or inside of one sequence.
    pub(super) fn numbers(
        &self,
        value: &Bound<'a, PyAny>,
        shape: Shape,
        max: usize,
        into: &mut Vec<f64>,
    ) -> Result<(), ClientError> {
        if value.is_instance_of::<PyString>() || is_unordered(value) {
            return Err(self.wrong("a geometric value"));
        }
        if let Ok(number) = value.extract::<f64>() {
            if matches!(shape, Shape::Points | Shape::Point) {
                return Err(self.wrong("a geometric value: its points are pairs of numbers"));
            }
            into.push(number);
            return Ok(());
        }
        let inner = match shape {
            Shape::Any => Shape::NumberOrPoint,
            Shape::Points => Shape::Point,
            Shape::Point | Shape::NumberOrPoint => Shape::Number,
            Shape::Number => return Err(self.wrong("a geometric value")),
        };
        let before = into.len();
        let items = value.try_iter().map_err(|error| match error.is_instance_of::<PyTypeError>(value.py()) {
            true => self.wrong("a geometric value"),
            false => error.into(),
        })?;
        for item in items {
            if into.len() > max {
                break;
            }
            self.numbers(&item?, inner, max, into)?;
        }
        if shape == Shape::Point && into.len() - before != 2 {
            return Err(self.wrong("a geometric value: its points are pairs of numbers"));
        }
        Ok(())
    }
}
