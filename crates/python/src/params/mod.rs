//! Python objects into parameters.

mod numpy;
mod objects;
mod reading;

pub use objects::is_unordered;

use objects::{
    Shape, days_of, delta_micros, digits, dumper_of, is_row, meant, micros_of, micros_since_epoch, too_deep, utf8,
};

use crate::errors::ClientError;
use crate::ffi::{Exact, exact, small_int};
use crate::globals::{Globals, globals, is, type_name};
use crate::limits;
use crate::settings::Settings;
use headrace_core::civil::DAY_MICROS;
use headrace_core::number_text::{NumberText, float_text, int_text};
use headrace_core::params::RangeParts;
use headrace_core::{Container, Mismatch, Parameters, Value, ValueKind};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyAttributeError, PyKeyError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt, PyList, PyString, PyTime, PyTuple,
    PyTzInfoAccess,
};

/// One row of parameters, awake.
pub struct PyParams<'a> {
    py: Python<'a>,
    row: Option<&'a Bound<'a, PyTuple>>,
    settings: &'a Settings,
}

impl<'a> PyParams<'a> {
    /// One row of parameters; `None` has none.
    #[inline]
    pub fn new(py: Python<'a>, row: Option<&'a Bound<'a, PyTuple>>, settings: &'a Settings) -> Self {
        Self { py, row, settings }
    }
}

impl Parameters for PyParams<'_> {
    type Value<'v>
        = PyValue<'v>
    where
        Self: 'v;
    type Error = ClientError;

    #[inline]
    fn count(&self) -> usize {
        self.row.map_or(0, |row| row.len())
    }

    // Of each value twice in a batch, so that a call would cost more than what it does.
    #[inline(always)]
    fn get(&self, i: usize) -> Result<PyValue<'_>, ClientError> {
        let row = self.row.ok_or_else(|| Mismatch::wrong_type("the batch has no current row of parameters"))?;
        let _ = self.py;
        // Without the calls of `get_item`.
        let value =
            row.as_slice().get(i).ok_or_else(|| Mismatch::wrong_type("the row has fewer values than parameters"))?;
        Ok(PyValue::new(value.clone(), self.settings))
    }
}

/// One Python value: of a member of an enumeration its value, of NumPy's what they are in Python's types.
pub struct PyValue<'a> {
    value: Bound<'a, PyAny>,
    /// Its exact type, which is asked for once.
    class: Exact,
    /// How many others it is inside of. What encodes values goes from one to those inside of it by [`PyValue::inside`]
    /// alone, so that nothing recurses without an end, whatever contains itself.
    depth: u8,
    settings: &'a Settings,
}

const _: () = assert!(limits::NESTING <= u8::MAX as usize);

impl<'a> PyValue<'a> {
    /// A value, with the settings of its connection.
    #[inline(always)]
    pub fn new(value: Bound<'a, PyAny>, settings: &'a Settings) -> Self {
        Self::at(value, settings, 0)
    }

    #[inline(always)]
    fn at(value: Bound<'a, PyAny>, settings: &'a Settings, depth: u8) -> Self {
        let (value, class) = match exact(&value) {
            Exact::Other => meant(value, settings),
            class => (value, class),
        };
        Self { value, class, depth, settings }
    }

    /// A value inside of this one.
    ///
    /// # Errors
    /// It is inside of too many.
    #[inline]
    fn inside(&self, value: Bound<'a, PyAny>) -> Result<Self, ClientError> {
        if usize::from(self.depth) == limits::NESTING {
            return Err(too_deep().into());
        }
        Ok(Self::at(value, self.settings, self.depth + 1))
    }

    fn py(&self) -> Python<'a> {
        self.value.py()
    }

    fn globals(&self) -> Result<&'a Globals, ClientError> {
        Ok(globals(self.py())?)
    }

    fn wrong(&self, expected: &str) -> ClientError {
        Mismatch::wrong_type(format!("{} cannot be sent as {expected}", self.describe())).into()
    }

    fn dumper(&self) -> Option<Bound<'a, PyAny>> {
        dumper_of(&self.value, self.settings)
    }

    #[inline(never)]
    fn has_dumper(&self) -> bool {
        self.dumper().is_some()
    }

    /// What `str` makes of a number of a usual type, without an object for it. `None` of any other value, and of a
    /// number that has to be asked for it.
    #[inline]
    fn number_text(&self) -> Option<NumberText> {
        match self.class {
            Exact::Int => self.value.cast_exact::<PyInt>().ok().and_then(small_int).map(int_text),
            Exact::Float => self.value.cast_exact::<PyFloat>().ok().and_then(|float| float_text(float.value())),
            _ => None,
        }
    }
}

impl Value for PyValue<'_> {
    type Error = ClientError;

    #[inline(always)]
    fn kind(&self) -> ValueKind {
        match self.class {
            Exact::None => ValueKind::Null,
            _ if self.settings.dumpers.is_some() && self.has_dumper() => ValueKind::Custom,
            Exact::Bool => ValueKind::Bool,
            Exact::Int => ValueKind::Int,
            Exact::Float => ValueKind::Float,
            Exact::Str => ValueKind::Text,
            Exact::Bytes => ValueKind::Bytes,
            Exact::List => ValueKind::List,
            Exact::Tuple => ValueKind::Record,
            Exact::Dict => ValueKind::Json,
            Exact::Date => ValueKind::Date,
            Exact::DateTime => match self.value.cast_exact::<PyDateTime>() {
                Ok(timestamp) if timestamp.get_tzinfo().is_some() => ValueKind::TimestampTz,
                _ => ValueKind::Timestamp,
            },
            Exact::Other => self.other_kind(),
        }
    }

    fn describe(&self) -> String {
        let repr = self.value.repr().or_else(|error| digits(&self.value, error));
        let text = repr.map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
        let short: String =
            if text.chars().count() > 60 { text.chars().take(57).chain("...".chars()).collect() } else { text };
        let advice = numpy::advice(&self.value).map(|advice| format!(", {advice}")).unwrap_or_default();
        format!("{short} (of type {}{advice})", type_name(&self.value))
    }

    #[inline]
    fn bool(&self) -> Result<bool, ClientError> {
        Ok(self.value.is_truthy()?)
    }

    #[inline]
    fn int(&self) -> Result<i64, ClientError> {
        if let Ok(number) = self.value.cast_exact::<PyInt>()
            && let Some(number) = small_int(number)
        {
            return Ok(number);
        }
        match self.value.extract::<i64>() {
            Ok(value) => Ok(value),
            Err(error) => {
                if error.is_instance_of::<PyOverflowError>(self.py()) {
                    return Err(Mismatch::out_of_range(format!("{} does not fit 64 bits", self.describe())).into());
                }
                Err(self.wrong("a whole number"))
            }
        }
    }

    #[inline]
    fn float(&self) -> Result<f64, ClientError> {
        if let Ok(float) = self.value.cast_exact::<PyFloat>() {
            return Ok(float.value());
        }
        let plain = &self.value;
        let float = plain.extract::<f64>().map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(self.py()) {
                let what = self.describe();
                return Mismatch::out_of_range(format!("{what} does not fit a floating-point number of 64 bits"))
                    .into();
            }
            self.wrong("a floating-point number")
        })?;
        // What has no exponent that small or large is infinite or zero without an error.
        if (float.is_infinite() || float == 0.0) && self.globals()?.decimal.is(plain) {
            let (fits, bound) = match float == 0.0 {
                true => (!plain.is_truthy()?, "is nearer to zero than"),
                false => (plain.call_method0("is_infinite")?.is_truthy()?, "does not fit"),
            };
            if !fits {
                let message = format!("{} {bound} a floating-point number of 64 bits", self.describe());
                return Err(Mismatch::out_of_range(message).into());
            }
        }
        Ok(float)
    }

    fn with_decimal<R>(&self, use_it: impl FnOnce(&str) -> R) -> Result<R, ClientError> {
        if let Some(text) = self.number_text() {
            return Ok(use_it(&text));
        }
        let text = self.str_of()?;
        Ok(use_it(utf8(&text)?))
    }

    #[inline]
    fn with_text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, ClientError> {
        if let Ok(text) = self.value.cast_exact::<PyString>() {
            return Ok(use_it(utf8(text)?.as_bytes()));
        }
        if let Some(text) = self.number_text() {
            return Ok(use_it(text.as_bytes()));
        }
        let text = self.str_of()?;
        let text = utf8(&text)?;
        Ok(use_it(text.as_bytes()))
    }

    fn with_bytes<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, ClientError> {
        if let Ok(bytes) = self.value.cast::<PyBytes>() {
            return Ok(use_it(bytes.as_bytes()));
        }
        let buffer = PyBuffer::<u8>::get(&self.value).map_err(|_| self.wrong("bytes"))?;
        Ok(use_it(&buffer.to_vec(self.py())?))
    }

    #[inline]
    fn date(&self) -> Result<i32, ClientError> {
        if let Ok(date) = self.value.cast_exact::<PyDate>() {
            return Ok(days_of(date));
        }
        self.value.cast::<PyDate>().map(days_of).map_err(|_| self.wrong("a date"))
    }

    fn time(&self) -> Result<i64, ClientError> {
        self.value.cast::<PyTime>().map(micros_of).map_err(|_| self.wrong("a time"))
    }

    fn timetz(&self) -> Result<(i64, i32), ClientError> {
        let micros = self.time()?;
        let offset = self.value.call_method0("utcoffset")?;
        match offset.cast::<PyDelta>() {
            Ok(delta) => Ok((micros, (delta_micros(delta) / 1_000_000) as i32)),
            Err(_) if self.value.cast::<PyTime>().is_ok_and(|time| time.get_tzinfo().is_some()) => {
                Err(self.wrong("a time with time zone: its zone has no offset without a date"))
            }
            Err(_) => Ok((micros, 0)),
        }
    }

    #[inline]
    fn timestamp(&self) -> Result<i64, ClientError> {
        if let Ok(timestamp) = self.value.cast_exact::<PyDateTime>() {
            return Ok(micros_since_epoch(timestamp));
        }
        if self.value.is_instance_of::<PyDateTime>() {
            return Ok(micros_since_epoch(&self.exact_timestamp()?));
        }
        Ok(i64::from(self.date()?) * DAY_MICROS)
    }

    fn timestamptz(&self) -> Result<i64, ClientError> {
        if !self.value.is_instance_of::<PyDateTime>() {
            let timestamp = self
                .globals()?
                .datetime
                .bind(self.py())
                .call_method1("combine", (&self.value, PyTime::new(self.py(), 0, 0, 0, 0, None)?))?;
            return PyValue::new(timestamp, self.settings).timestamptz();
        }
        let timestamp = self.exact_timestamp()?;
        let zone = timestamp.get_tzinfo();
        if let Some(zone) = &zone
            && zone.is(self.globals()?.utc.bind(self.py()))
        {
            return Ok(micros_since_epoch(&timestamp));
        }
        // A time that the clock skipped becomes another one, of which the offset is.
        let aware = if zone.is_some() {
            timestamp
        } else {
            let aware = timestamp.call_method0("astimezone").map_err(|_| {
                let what = self.describe();
                Mismatch::out_of_range(format!("{what} has no time in UTC that Python can hold: give it a zone"))
            })?;
            aware.cast_into::<PyDateTime>().map_err(PyErr::from)?
        };
        let offset = aware.call_method0(pyo3::intern!(self.py(), "utcoffset"))?;
        match offset.cast::<PyDelta>() {
            Ok(delta) => Ok(micros_since_epoch(&aware) - delta_micros(delta)),
            Err(_) => Err(self.wrong("a timestamp with time zone: its zone has no offset")),
        }
    }

    fn is_calendar(&self) -> bool {
        !self.value.is_instance_of::<PyDelta>()
    }

    fn interval(&self) -> Result<(i32, i32, i64), ClientError> {
        if let Ok(delta) = self.value.cast::<PyDelta>() {
            if !delta.is_exact_instance_of::<PyDelta>() {
                self.check_precision("nanoseconds")?;
            }
            let micros = i64::from(delta.get_seconds()) * 1_000_000 + i64::from(delta.get_microseconds());
            return Ok((0, delta.get_days(), micros));
        }
        let parts = || -> PyResult<(i32, i32, i64)> {
            Ok((
                self.value.getattr("months")?.extract()?,
                self.value.getattr("days")?.extract()?,
                self.value.getattr("microseconds")?.extract()?,
            ))
        }();
        parts.map_err(|_| self.wrong("an interval"))
    }

    fn uuid(&self) -> Result<[u8; 16], ClientError> {
        let number: PyResult<u128> =
            self.value.getattr(pyo3::intern!(self.py(), "int")).and_then(|number| number.extract());
        number.map(u128::to_be_bytes).map_err(|_| self.wrong("a uuid"))
    }

    fn with_json<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, ClientError> {
        let g = self.globals()?;
        let wrapped = is(&self.value, &g.json) || is(&self.value, &g.jsonb);
        let own = self.settings.json_dumps.as_ref().map(|dumps| dumps.bind(self.py()));
        let text = match own {
            None if wrapped => self.value.call_method0("dumps"),
            None => g.json_dumps.bind(self.py()).call1((&self.value,)),
            // What a wrapper was not given one of its own for.
            Some(dumps) if wrapped => match self.value.getattr("dumps_with")?.is_none() {
                true => dumps.call1((self.value.getattr("value")?,)),
                false => self.value.call_method0("dumps"),
            },
            Some(dumps) => dumps.call1((&self.value,)),
        };
        let text = text.map_err(|error| self.not_json(wrapped || own.is_some(), error))?;
        if let Ok(bytes) = text.cast::<PyBytes>() {
            return Ok(use_it(bytes.as_bytes()));
        }
        let text = text.cast::<PyString>().map_err(PyErr::from)?;
        Ok(use_it(utf8(text)?.as_bytes()))
    }

    fn inet(&self) -> Result<([u8; 16], usize, u8), ClientError> {
        let wrong = |_| self.wrong("a network address");
        let v = &self.value;
        let g = self.globals()?;
        let network = is(v, &g.ipv4_network) || is(v, &g.ipv6_network);
        let address = if network { v.getattr("network_address").map_err(wrong)? } else { v.clone() };
        // No type of a server has the zone of a link-local address.
        if let Ok(scope) = address.getattr("scope_id")
            && !scope.is_none()
        {
            return Err(self.wrong("a network address: it has a scope, which the server's types do not have"));
        }
        let packed = address.getattr("packed").map_err(wrong)?;
        let packed = packed.cast::<PyBytes>().map_err(|_| self.wrong("a network address"))?.as_bytes();
        let mut bytes = [0; 16];
        bytes.get_mut(..packed.len()).ok_or_else(|| self.wrong("a network address"))?.copy_from_slice(packed);
        let prefix = if network {
            v.getattr("prefixlen")?.extract()?
        } else if v.hasattr("network")? {
            v.getattr("network")?.getattr("prefixlen")?.extract()?
        } else {
            (packed.len() * 8) as u8
        };
        Ok((bytes, packed.len(), prefix))
    }

    fn bits(&self) -> Result<(usize, Vec<u8>), ClientError> {
        let text = self.str_of()?;
        let text = utf8(&text)?;
        let mut bytes = vec![0u8; text.len().div_ceil(8)];
        for (i, c) in text.bytes().enumerate() {
            match c {
                b'1' => bytes[i / 8] |= 0x80 >> (i % 8),
                b'0' => {}
                _ => return Err(self.wrong("a string of bits (only 0 and 1)")),
            }
        }
        Ok((text.len(), bytes))
    }

    fn len(&self) -> Result<usize, ClientError> {
        Ok(self.value.len()?)
    }

    fn item(&self, i: usize) -> Result<Self, ClientError> {
        self.inside(self.value.get_item(i)?)
    }

    fn items(&self) -> Result<Vec<Self>, ClientError> {
        self.value.try_iter()?.map(|value| self.inside(value?)).collect()
    }

    fn with_opaque<R>(&self, use_it: impl FnOnce(&str, &[u8]) -> R) -> Result<R, ClientError> {
        let name: String = self.value.getattr("type_name")?.extract()?;
        let data = self.value.getattr("data")?;
        let data = data.cast::<PyBytes>().map_err(|_| self.wrong("the bytes of an opaque type"))?;
        Ok(use_it(&name, data.as_bytes()))
    }

    fn entries(&self) -> Result<Option<Vec<(Self, Self)>>, ClientError> {
        let Ok(dict) = self.value.cast::<PyDict>() else { return Ok(None) };
        dict.iter().map(|(key, value)| Ok((self.inside(key)?, self.inside(value)?))).collect::<Result<_, _>>().map(Some)
    }

    fn sparse_vector(&self) -> Result<Option<(u32, Vec<(u32, f32)>)>, ClientError> {
        if !is(&self.value, &self.globals()?.sparse_vector) {
            return Ok(None);
        }
        let numbers = self.value.getattr("numbers")?;
        let numbers = numbers.cast::<PyDict>().map_err(|_| self.wrong("a sparse vector"))?;
        let mut items: Vec<(u32, f32)> = numbers
            .iter()
            .map(|(index, number)| Ok((index.extract()?, number.extract()?)))
            .collect::<PyResult<_>>()
            .map_err(|_| self.wrong("a sparse vector: its numbers are floats by whole numbers"))?;
        items.sort_unstable_by_key(|(index, _)| *index);
        Ok(Some((self.value.getattr("dimensions")?.extract()?, items)))
    }

    fn is_untyped(&self) -> bool {
        self.class == Exact::Other
            && self.globals().is_ok_and(|g| is(&self.value, &g.vector) || is(&self.value, &g.hstore))
    }

    fn field(&self, i: usize, name: &str) -> Result<Self, ClientError> {
        let value = if self.value.is_instance_of::<PyTuple>() || self.value.is_instance_of::<PyList>() {
            self.value.get_item(i)?
        } else if self.value.is_instance_of::<PyDict>() {
            self.value.get_item(name).map_err(|error| self.no_field::<PyKeyError>(name, error))?
        } else if is_row(&self.value) {
            self.value.get_item(i)?
        } else {
            self.value.getattr(name).map_err(|error| self.no_field::<PyAttributeError>(name, error))?
        };
        self.inside(value)
    }

    fn range(&self) -> Result<RangeParts<Self>, ClientError> {
        let v = &self.value;
        let bound = |name: &str| -> Result<Option<Self>, ClientError> {
            let value = v.getattr(name)?;
            if value.is_none() { Ok(None) } else { self.inside(value).map(Some) }
        };
        Ok(RangeParts {
            empty: v.getattr("isempty")?.is_truthy()?,
            lower: bound("lower")?,
            upper: bound("upper")?,
            lower_inc: v.getattr("lower_inc")?.is_truthy()?,
            upper_inc: v.getattr("upper_inc")?.is_truthy()?,
        })
    }

    fn floats(&self, max: usize) -> Result<Vec<f64>, ClientError> {
        let mut numbers = Vec::new();
        self.numbers(&self.value, Shape::Any, max, &mut numbers)?;
        Ok(numbers)
    }

    fn points(&self) -> Result<(Vec<f64>, Option<bool>), ClientError> {
        let g = self.globals()?;
        let mut numbers = Vec::new();
        let is_path = is(&self.value, &g.path);
        let has_points = is_path || is(&self.value, &g.polygon);
        let points = if has_points { self.value.getattr("points")? } else { self.value.clone() };
        self.numbers(&points, Shape::Points, usize::MAX, &mut numbers)?;
        let closed = if is_path { Some(self.value.getattr("closed")?.is_truthy()?) } else { None };
        Ok((numbers, closed))
    }

    fn geometry(&self) -> Option<Container> {
        let g = self.globals().ok()?;
        let classes = [
            (&g.point, Container::Point),
            (&g.line, Container::Line),
            (&g.line_segment, Container::LineSegment),
            (&g.box_, Container::Box),
            (&g.path, Container::Path { closed: false }),
            (&g.polygon, Container::Polygon),
            (&g.circle, Container::Circle),
        ];
        let found = classes.into_iter().find(|(class, _)| is(&self.value, class));
        found.map(|(_, shape)| shape)
    }

    fn with_custom<R>(&self, _type_id: u32, use_it: impl FnOnce(&[u8], bool) -> R) -> Result<R, ClientError> {
        let dumper = self.dumper().ok_or_else(|| self.wrong("a value with a dumper"))?;
        let made = dumper.call1((&self.value,))?;
        if let Ok(bytes) = made.cast::<PyBytes>() {
            return Ok(use_it(bytes.as_bytes(), true));
        }
        match made.cast::<PyString>() {
            Ok(text) => Ok(use_it(utf8(text)?.as_bytes(), false)),
            Err(_) => Err(Mismatch::wrong_type(format!(
                "the dumper for {} returned {}; it must return bytes (binary format) or str (text format)",
                type_name(&self.value),
                type_name(&made)
            ))
            .into()),
        }
    }

    fn has_custom(&self, _type_id: u32) -> bool {
        self.has_dumper()
    }
}
