//! Rows into Python objects.

use crate::ffi::{self, RowTuple};
use crate::globals::{Globals, globals};
use crate::limits::{DATES, DATES_FIRST};
use crate::settings::{Settings, Unrepresentable};
use headrace_core::civil::{self, DAY_MICROS};
use headrace_core::sink::{Pair, decimal_parts, decimal_text};
use headrace_core::{Container, Inet, Sink};
use pyo3::exceptions::{PyArithmeticError, PyRecursionError, PyTypeError, PyUnicodeDecodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateTime, PyDelta, PyDict, PyTime, PyType, PyTzInfo};

/// The rows of one result so far; asleep between two runs of messages.
#[derive(Debug, Default)]
pub struct ResultRows {
    /// Finished rows.
    pub rows: Vec<Py<PyAny>>,
    /// The first value that could not be represented.
    pub error: Option<PyErr>,
    dates: Vec<Option<(i32, Py<PyAny>)>>,
}

impl ResultRows {
    /// The date of a day that was seen before, if it was not displaced.
    #[inline]
    fn known_date(&self, days: i32) -> Option<&Py<PyAny>> {
        let slot = days as usize & self.dates.len().wrapping_sub(1);
        self.dates.get(slot)?.as_ref().filter(|(known, _)| *known == days).map(|(_, date)| date)
    }

    /// Remembers the date of a day, in a wider table if it would displace another one.
    fn keep_date(&mut self, days: i32, date: Py<PyAny>) {
        let slot = |slots: usize, days: i32| days as usize & (slots - 1);
        while self.dates.is_empty() || (self.dates.len() < DATES && self.dates[slot(self.dates.len(), days)].is_some())
        {
            let slots = (self.dates.len() * 8).clamp(DATES_FIRST, DATES);
            let narrow = std::mem::replace(&mut self.dates, std::iter::repeat_with(|| None).take(slots).collect());
            for (days, date) in narrow.into_iter().flatten() {
                self.dates[slot(slots, days)] = Some((days, date));
            }
        }
        let slots = self.dates.len();
        self.dates[slot(slots, days)] = Some((days, date));
    }
}

struct Open<'py> {
    container: Container,
    items: Vec<Bound<'py, PyAny>>,
}

/// The rows, awake.
pub struct RowSink<'a> {
    py: Python<'a>,
    store: &'a mut ResultRows,
    settings: &'a Settings,
    globals: Option<&'a Globals>,
    /// The columns as Python has them, for the names in errors.
    columns: Option<&'a Py<PyAny>>,
    row: Option<RowTuple<'a>>,
    open: Vec<Open<'a>>,
    atomic: bool,
}

impl<'a> RowSink<'a> {
    /// Wakes `store`.
    pub fn new(py: Python<'a>, store: &'a mut ResultRows, settings: &'a Settings) -> Self {
        let globals = match globals(py) {
            Ok(globals) => Some(globals),
            Err(error) => {
                store.error.get_or_insert(error);
                None
            }
        };
        Self { py, store, settings, globals, columns: None, row: None, open: Vec::new(), atomic: true }
    }

    /// Names the columns in errors.
    pub fn naming(self, columns: Option<&'a Py<PyAny>>) -> Self {
        Self { columns, ..self }
    }

    #[inline]
    fn put(&mut self, value: Bound<'a, PyAny>) {
        match self.open.last_mut() {
            Some(open) => open.items.push(value),
            None => {
                if let Some(row) = &mut self.row {
                    row.push(value);
                }
            }
        }
    }

    #[inline]
    fn made(&mut self, value: ffi::Object<'a>) {
        match value {
            Some(value) => self.put(value),
            None => {
                let error = PyErr::fetch(self.py);
                self.failed(error);
            }
        }
    }

    fn tried(&mut self, value: PyResult<Bound<'a, PyAny>>) {
        match value {
            Ok(value) => self.put(value),
            Err(error) => self.failed(error),
        }
    }

    #[cold]
    fn failed(&mut self, error: PyErr) {
        self.store.error.get_or_insert(error);
        let none = self.py.None().into_bound(self.py);
        self.put(none);
    }

    /// An exception of a Python class or function about the server's value, as DataError with the column's name: a
    /// program does not expect Python's limits (nesting, digits of a number) and syntax errors of a value from a fetch.
    #[cold]
    fn refused(&mut self, what: &str, cause: PyErr) {
        let py = self.py;
        let expected = cause.is_instance_of::<PyValueError>(py)
            || cause.is_instance_of::<PyRecursionError>(py)
            || cause.is_instance_of::<PyArithmeticError>(py)
            || cause.is_instance_of::<PyTypeError>(py);
        if !expected || self.store.error.is_some() {
            return self.failed(cause);
        }
        let column = self.column();
        let reason = headrace_core::shortened(&cause.value(py).to_string());
        let message = format!("{column}: the server sent {what} that Python cannot take: {reason}");
        let error = crate::errors::client_error(
            py,
            crate::errors::ClientError::Mismatch(headrace_core::Mismatch::out_of_range(message)),
            None,
        );
        error.set_cause(py, Some(cause));
        self.failed(error);
    }

    /// The column that is being filled, for people.
    fn column(&self) -> String {
        let at = self.row.as_ref().map_or(0, RowTuple::filled);
        let name = self.columns.and_then(|columns| {
            let names = columns.bind(self.py).getattr(pyo3::intern!(self.py, "names")).ok()?;
            names.get_item(at).ok()?.extract::<String>().ok()
        });
        match name {
            Some(name) => format!("column {} ({})", at + 1, headrace_core::shortened(&name)),
            None => format!("column {}", at + 1),
        }
    }

    /// Python's exception for bytes that are not valid text, as an error of PEP 249.
    #[cold]
    fn no_text(&mut self) {
        let cause = PyErr::fetch(self.py);
        if !cause.is_instance_of::<PyUnicodeDecodeError>(self.py) {
            return self.failed(cause);
        }
        let message = format!("the server sent bytes that are not text in UTF-8: {}", cause.value(self.py));
        let mismatch = headrace_core::Mismatch::out_of_range(message);
        let error = crate::errors::client_error(self.py, crate::errors::ClientError::Mismatch(mismatch), None);
        error.set_cause(self.py, Some(cause));
        self.failed(error);
    }

    #[cold]
    fn unrepresentable(&mut self, what: &str, text: &str) {
        match self.settings.unrepresentable {
            Unrepresentable::None => self.null(),
            Unrepresentable::Text => self.text(text.as_bytes()),
            Unrepresentable::Raise => {
                let message = format!(
                    "Python cannot hold the {what} '{text}'; connect with unrepresentable='none' or 'text' to get \
                     None or the text instead"
                );
                let error = crate::errors::client_error(
                    self.py,
                    crate::errors::ClientError::Mismatch(headrace_core::Mismatch::out_of_range(message)),
                    None,
                );
                self.failed(error);
            }
        }
    }

    /// Makes `what` by calling a Python class or function with arguments.
    fn call(&mut self, what: &str, of: impl Fn(&Globals) -> &Py<PyAny>, args: impl pyo3::call::PyCallArgs<'a>) {
        if let Some(globals) = self.globals {
            match of(globals).bind(self.py).call1(args) {
                Ok(value) => self.put(value),
                Err(error) => self.refused(what, error),
            }
        } else {
            self.null();
        }
    }

    /// A container of which nothing can be part of a cycle stays invisible to the collector's row check.
    fn close(&mut self, open: Open<'a>) {
        let py = self.py;
        let items = open.items;
        let Some(globals) = self.globals else { return self.null() };
        let value = match open.container {
            Container::List => {
                self.atomic = false;
                ffi::list(py, items.into_iter().map(Bound::unbind).collect())
            }
            Container::Record { type_id, .. } => {
                self.atomic = false;
                let factory = self.settings.records.get(&type_id);
                pyo3::types::PyTuple::new(py, items).and_then(|attributes| match factory {
                    Some(factory) => factory.bind(py).call1(attributes),
                    None => Ok(attributes.into_any()),
                })
            }
            Container::Range { empty, has_lower, has_upper, lower_inc, upper_inc } => {
                self.atomic = false;
                let mut items = items.into_iter();
                let lower = if has_lower { items.next() } else { None };
                let upper = if has_upper { items.next() } else { None };
                let bounds = match (lower_inc, upper_inc) {
                    (true, true) => "[]",
                    (true, false) => "[)",
                    (false, true) => "(]",
                    (false, false) => "()",
                };
                if empty {
                    let kwargs = PyDict::new(py);
                    kwargs.set_item("empty", true).and_then(|()| globals.range.bind(py).call((), Some(&kwargs)))
                } else {
                    globals.range.bind(py).call1((lower, upper, bounds))
                }
            }
            Container::Multirange => {
                self.atomic = false;
                ffi::list(py, items.into_iter().map(Bound::unbind).collect())
                    .and_then(|list| globals.multirange.bind(py).call1((list,)))
            }
            Container::Point => construct(py, &globals.point, items),
            Container::Line => construct(py, &globals.line, items),
            Container::Circle => construct(py, &globals.circle, items),
            Container::LineSegment => construct(py, &globals.line_segment, items),
            Container::Box => construct(py, &globals.box_, items),
            Container::Path { closed } => {
                pyo3::types::PyTuple::new(py, items).and_then(|points| globals.path.bind(py).call1((points, closed)))
            }
            Container::Polygon => {
                pyo3::types::PyTuple::new(py, items).and_then(|points| globals.polygon.bind(py).call1((points,)))
            }
        };
        self.tried(value);
    }
}

fn construct<'py>(py: Python<'py>, class: &Py<PyAny>, items: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    class.bind(py).call1(pyo3::types::PyTuple::new(py, items)?)
}

fn year_fits(year: i64) -> bool {
    (1..=9999).contains(&year)
}

fn clock(micros: i64) -> (u8, u8, u8, u32) {
    let seconds = micros / 1_000_000;
    ((seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8, (micros % 1_000_000) as u32)
}

/// 0001-01-01 00:00 and the first instant of year 10000, in microseconds since 1970.
const FIRST_MICROS: i64 = -62_135_596_800_000_000;
const END_MICROS: i64 = 253_402_300_800_000_000;

impl<'a> RowSink<'a> {
    fn timestamp(&mut self, micros: i64, zone: Option<&Bound<'a, PyTzInfo>>) {
        if !(FIRST_MICROS..END_MICROS).contains(&micros) {
            let what = if zone.is_some() { "timestamp with time zone" } else { "timestamp" };
            return self.unrepresentable(what, &civil::timestamp_text(micros, zone.is_some()));
        }
        let (year, month, day) = civil::civil_from_days(micros.div_euclid(DAY_MICROS));
        let (hour, minute, second, micro) = clock(micros.rem_euclid(DAY_MICROS));
        let value = PyDateTime::new(self.py, year as i32, month as u8, day as u8, hour, minute, second, micro, zone);
        self.tried(value.map(Bound::into_any));
    }
}

impl Sink for RowSink<'_> {
    #[inline]
    fn begin_row(&mut self, columns: usize) {
        self.open.clear();
        self.atomic = true;
        match RowTuple::new(self.py, columns) {
            Ok(row) => self.row = Some(row),
            Err(error) => {
                self.store.error.get_or_insert(error);
            }
        }
    }

    #[inline]
    fn end_row(&mut self) {
        if let Some(row) = self.row.take() {
            self.store.rows.push(row.finish(self.atomic).unbind());
        }
    }

    #[inline]
    fn null(&mut self) {
        self.put(self.py.None().into_bound(self.py));
    }

    #[inline]
    fn bool(&mut self, value: bool) {
        self.put(pyo3::types::PyBool::new(self.py, value).to_owned().into_any());
    }

    #[inline]
    fn int(&mut self, value: i64) {
        self.made(ffi::int(self.py, value));
    }

    fn uint(&mut self, value: u64) {
        let value = value.into_pyobject(self.py).map(Bound::into_any).map_err(PyErr::from);
        self.tried(value);
    }

    #[inline]
    fn float(&mut self, value: f64) {
        self.made(ffi::float(self.py, value));
    }

    fn decimal(&mut self, ascii: &str) {
        let Some(globals) = self.globals else { return self.null() };
        let maker = match globals.maker(self.py) {
            Ok(maker) => maker,
            Err(error) => return self.failed(error),
        };
        if let Some(maker) = maker
            && let Some((negative, coefficient, scale)) = decimal_parts(ascii)
        {
            return self.made(maker.make(self.py, negative, coefficient, scale));
        }
        let Some(text) = ffi::text(self.py, ascii.as_bytes()) else { return self.null() };
        let value = globals.decimal.get(self.py).and_then(|class| class.bind(self.py).call1((text,)));
        self.tried(value);
    }

    #[inline]
    fn decimal128(&mut self, negative: bool, coefficient: u128, scale: u32) {
        let Some(globals) = self.globals else { return self.null() };
        match globals.maker(self.py) {
            Err(error) => self.failed(error),
            Ok(Some(maker)) => self.made(maker.make(self.py, negative, coefficient, scale)),
            Ok(None) => self.decimal(&decimal_text(negative, coefficient, scale)),
        }
    }

    #[inline]
    fn text(&mut self, utf8: &[u8]) {
        match ffi::text(self.py, utf8) {
            Some(text) => self.put(text),
            None => self.no_text(),
        }
    }

    #[inline]
    fn bytes(&mut self, value: &[u8]) {
        self.made(ffi::bytes(self.py, value));
    }

    fn date(&mut self, days: i32) {
        if let Some(date) = self.store.known_date(days) {
            let date = date.bind(self.py).clone();
            return self.put(date);
        }
        let (year, month, day) = civil::civil_from_days(i64::from(days));
        if !year_fits(year) {
            return self.unrepresentable("date", &civil::date_text(days));
        }
        match PyDate::new(self.py, year as i32, month as u8, day as u8) {
            Ok(date) => {
                let date = date.into_any();
                self.store.keep_date(days, date.clone().unbind());
                self.put(date);
            }
            Err(error) => self.failed(error),
        }
    }

    fn time(&mut self, micros: i64) {
        if !(0..DAY_MICROS).contains(&micros) {
            return self.unrepresentable("time", &civil::time_text(micros));
        }
        let (hour, minute, second, micro) = clock(micros);
        let value = PyTime::new(self.py, hour, minute, second, micro, None);
        self.tried(value.map(Bound::into_any));
    }

    fn timetz(&mut self, micros: i64, offset: i32) {
        if !(0..DAY_MICROS).contains(&micros) {
            let (sign, east) = if offset < 0 { ('-', -offset) } else { ('+', offset) };
            let zone = format!("{sign}{:02}:{:02}:{:02}", east / 3600, east / 60 % 60, east % 60);
            return self.unrepresentable("time with time zone", &(civil::time_text(micros) + &zone));
        }
        let (hour, minute, second, micro) = clock(micros);
        let value = || -> PyResult<Bound<'_, PyAny>> {
            let globals = globals(self.py)?;
            let delta = PyDelta::new(self.py, 0, offset, 0, true)?;
            let zone = globals.timezone.bind(self.py).call1((delta,))?;
            let zone = zone.cast::<PyTzInfo>()?;
            Ok(PyTime::new(self.py, hour, minute, second, micro, Some(zone))?.into_any())
        }();
        self.tried(value);
    }

    fn timestamp(&mut self, micros: i64) {
        self.timestamp(micros, None);
    }

    fn timestamptz(&mut self, micros: i64) {
        let Some(globals) = self.globals else { return self.null() };
        match globals.utc.bind(self.py).cast::<PyTzInfo>() {
            Ok(utc) => self.timestamp(micros, Some(utc)),
            Err(error) => {
                let error = PyErr::from(error);
                self.failed(error);
            }
        }
    }

    fn months(&mut self, months: i32) {
        self.call("an interval", |g| &g.interval, (months, 0, 0));
    }

    fn interval(&mut self, months: i32, days: i32, micros: i64) {
        // A calendar month is not a fixed span of time: only an interval that a timedelta represents exactly becomes
        // one.
        if months != 0 {
            return self.call("an interval", |g| &g.interval, (months, days, micros));
        }
        let days = i64::from(days) + micros.div_euclid(DAY_MICROS);
        let rest = micros.rem_euclid(DAY_MICROS);
        if days.abs() > 999_999_999 {
            return self.call("an interval", |g| &g.interval, (months, days, rest));
        }
        let value = PyDelta::new(self.py, days as i32, (rest / 1_000_000) as i32, (rest % 1_000_000) as i32, false);
        self.tried(value.map(Bound::into_any));
    }

    fn uuid(&mut self, value: &[u8; 16]) {
        let Some(globals) = self.globals else { return self.null() };
        // Its constructor is Python code that distinguishes six kinds of arguments; here the kind is known.
        let made = || -> PyResult<Bound<'_, PyAny>> {
            let class = globals.uuid.get(self.py)?.bind(self.py).cast::<PyType>()?;
            let uuid = ffi::instance(class).ok_or_else(|| PyErr::fetch(self.py))?;
            let int = u128::from_be_bytes(*value).into_pyobject(self.py)?;
            ffi::set_attribute(&uuid, pyo3::intern!(self.py, "int"), &int)?;
            ffi::set_attribute(&uuid, pyo3::intern!(self.py, "is_safe"), globals.uuid_unknown(self.py)?.bind(self.py))?;
            Ok(uuid)
        }();
        self.tried(made);
    }

    fn json(&mut self, utf8: &[u8]) {
        if self.settings.json_text {
            return self.text(utf8);
        }
        self.atomic = false;
        match (ffi::text(self.py, utf8), &self.settings.json_loads) {
            (Some(text), None) => self.call("JSON", |g| &g.json_loads, (text,)),
            (Some(text), Some(loads)) => match loads.bind(self.py).call1((text,)) {
                Ok(value) => self.put(value),
                Err(error) => self.refused("JSON", error),
            },
            (None, _) => self.no_text(),
        }
    }

    fn inet(&mut self, value: Inet<'_>) {
        let full = value.prefix as usize == value.address.len() * 8;
        let Some(address) = ffi::bytes(self.py, value.address) else { return self.made(None) };
        match (value.address.len(), value.network, full) {
            (4, true, _) => self.call("an address", |g| &g.ipv4_network, ((address, value.prefix),)),
            (4, false, true) => self.call("an address", |g| &g.ipv4_address, (address,)),
            (4, false, false) => self.call("an address", |g| &g.ipv4_interface, ((address, value.prefix),)),
            (_, true, _) => self.call("an address", |g| &g.ipv6_network, ((address, value.prefix),)),
            (_, false, true) => self.call("an address", |g| &g.ipv6_address, (address,)),
            (_, false, false) => self.call("an address", |g| &g.ipv6_interface, ((address, value.prefix),)),
        }
    }

    fn bits(&mut self, bits: usize, bytes: &[u8]) {
        let text: String = (0..bits).map(|i| if bytes[i / 8] & (0x80 >> (i % 8)) != 0 { '1' } else { '0' }).collect();
        self.call("bits", |g| &g.bits, (text,));
    }

    fn pairs(&mut self, pairs: &[Pair<'_>], _text: fn(&[Pair<'_>]) -> Vec<u8>) {
        self.atomic = false;
        let dict = PyDict::new(self.py);
        for (key, value) in pairs {
            let value = match value {
                Some(value) => ffi::text(self.py, value),
                None => Some(self.py.None().into_bound(self.py)),
            };
            let (Some(key), Some(value)) = (ffi::text(self.py, key), value) else { return self.no_text() };
            if let Err(error) = dict.set_item(key, value) {
                return self.failed(error);
            }
        }
        self.put(dict.into_any());
    }

    fn sparse_vector(&mut self, dimensions: u32, items: &[(u32, f32)]) {
        self.atomic = false;
        let numbers = PyDict::new(self.py);
        for (index, number) in items {
            if let Err(error) = numbers.set_item(index, f64::from(*number)) {
                return self.failed(error);
            }
        }
        self.call("a sparse vector", |g| &g.sparse_vector, (numbers, dimensions));
    }

    fn custom(&mut self, type_id: u32, _binary: bool, bytes: &[u8]) {
        self.atomic = false;
        let loader =
            self.settings.loaders.as_ref().and_then(|loaders| loaders.bind(self.py).get_item(type_id).ok().flatten());
        match (loader, ffi::bytes(self.py, bytes)) {
            (Some(loader), Some(bytes)) => {
                let value = loader.call1((bytes,));
                self.tried(value);
            }
            _ => self.bytes(bytes),
        }
    }

    fn begin(&mut self, container: Container, len: usize) {
        // The length comes from the server: room is made as the items really come.
        self.open.push(Open { container, items: Vec::with_capacity(len.min(1024)) });
    }

    fn end(&mut self) {
        if let Some(open) = self.open.pop() {
            self.close(open);
        }
    }

    #[cold]
    fn no_such_date(&mut self, text: &str) {
        self.unrepresentable("date", text);
    }

    #[cold]
    fn invalid(&mut self, why: &str) {
        let error = crate::errors::client_error(
            self.py,
            crate::errors::ClientError::Mismatch(headrace_core::Mismatch::out_of_range(headrace_core::shortened(why))),
            None,
        );
        self.failed(error);
    }
}
