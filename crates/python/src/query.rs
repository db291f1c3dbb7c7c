//! Python's parameters to those of a statement in the server's style (`headrace_core::placeholders`).

use crate::args::{as_mapping, sequence};
use crate::columns::Columns;
use crate::engine::Dialect;
use crate::errors::{ClientError, client_error, programming};
use crate::ffi;
use crate::globals::type_name;
use headrace_core::Mismatch;
use headrace_core::placeholders::{Converted, Style};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMapping, PyString, PyTuple};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// A statement in the server's style, and the order of its parameters.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug)]
pub struct Query {
    /// The text with the server's placeholders.
    pub sql: Arc<str>,
    /// What the machine reads in it, if that is kept with the text: of a type that belongs to the database.
    facts: Option<Box<dyn Any + Send + Sync>>,
    style: Style,
    names: Vec<String>,
    count: usize,
    /// The index of each place's parameter, if one can be in several places and the server has no numbers.
    order: Vec<usize>,
    has_letters: bool,
    /// The columns of its last result, as Python has them.
    columns: Mutex<Option<Py<Columns>>>,
    /// The [`crate::engine::Dialect::reading`] that it was read under, if it may be another statement under another.
    reading: Option<u8>,
}

#[pymethods]
impl Query {
    /// The text as the server gets it.
    #[getter]
    fn sql(&self) -> &str {
        &self.sql
    }

    /// Returns true if the types of `%s` parameters are determined by the values.
    #[getter]
    fn hinted(&self) -> bool {
        matches!(self.style, Style::Format | Style::Pyformat)
    }
}

impl Query {
    /// The dialect's conversion of a statement.
    ///
    /// # Errors
    /// ProgrammingError with its message.
    pub fn new(py: Python<'_>, converted: Result<Converted, String>) -> PyResult<Self> {
        let Converted { sql, style, names, count, order, has_letters } =
            converted.map_err(|message| programming(py, &message))?;
        let (sql, columns) = (sql.into(), Mutex::default());
        Ok(Self { sql, facts: None, style, names, count, order, has_letters, columns, reading: None })
    }

    /// The same, of a text that is another statement under another [`crate::engine::Dialect::reading`].
    pub fn read_under(mut self, reading: u8) -> Self {
        self.reading = Some(reading);
        self
    }

    /// Returns true if its text would be read in the same way by a session that reads as `reading` returns.
    #[inline]
    pub fn stands(&self, reading: impl FnOnce() -> u8) -> bool {
        self.reading.is_none_or(|known| known == reading())
    }

    /// The same with facts of its text.
    pub fn with_facts<F: Any + Send + Sync>(mut self, of: impl FnOnce(&str) -> F) -> Self {
        self.facts = Some(Box::new(of(&self.sql)));
        self
    }

    /// The facts that were kept with it.
    pub fn facts<F: Any + Copy>(&self) -> Option<F> {
        self.facts.as_ref()?.downcast_ref().copied()
    }

    /// The columns of a result for Python: those of its last one, if they have the same plan.
    ///
    /// # Errors
    /// MemoryError.
    pub fn columns<D: Dialect>(&self, py: Python<'_>, plan: &Arc<D::Columns>) -> PyResult<Py<Columns>> {
        let last = || self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last().as_ref().filter(|known| known.get().is_of(plan)) {
            return Ok(known.clone_ref(py));
        }
        let columns = ffi::unseen(py, Columns::new::<D>(plan.clone()))?;
        let before = last().replace(columns.clone_ref(py));
        drop(before);
        Ok(columns)
    }

    /// Returns true if the types of the parameters are determined by the values.
    pub fn is_hinted(&self) -> bool {
        matches!(self.style, Style::Format | Style::Pyformat)
    }

    /// Returns true if a row of parameters has to be reordered before it is sent.
    pub fn arranges(&self) -> bool {
        self.style != Style::Native
    }

    /// The parameters in the statement's order.
    ///
    /// # Errors
    /// ProgrammingError if their number or their names do not fit, TypeError for an object that is not a sequence or
    /// mapping.
    pub fn arrange<'py>(&self, py: Python<'py>, params: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyTuple>> {
        match params {
            Some(params) => self.arrange_row(py, params).map_err(|error| client_error(py, error, None)),
            None => Ok(PyTuple::empty(py)),
        }
    }

    /// A row of parameters in the statement's order.
    ///
    /// # Errors
    /// If their number or their names do not fit, or for an object that is not a sequence or mapping.
    pub fn arrange_row<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyTuple>, ClientError> {
        if self.style == Style::Numeric {
            let row = self.unnamed(params)?;
            if row.len() != self.count {
                let message =
                    format!("the statement has parameters up to :{}, but {} were given", self.count, row.len());
                return Err(misfit(message));
            }
            return Ok(self.reorder(&row)?);
        }
        if self.style != Style::Pyformat {
            let row = self.unnamed(params)?;
            if self.style == Style::Format && row.len() != self.count {
                return Err(misfit(format!(
                    "the statement has {} parameter{}, but {} {} given{}",
                    self.count,
                    if self.count == 1 { "" } else { "s" },
                    row.len(),
                    if row.len() == 1 { "was" } else { "were" },
                    self.advice(&row),
                )));
            }
            return Ok(row);
        }
        // The short forms (fetch, fetchrow, fetchval) take values one by one: a mapping is then the only one.
        let only =
            params.cast_exact::<PyTuple>().ok().filter(|row| row.len() == 1).and_then(|row| row.get_item(0).ok());
        let params = only.as_ref().filter(|only| only.cast::<PyMapping>().is_ok()).unwrap_or(params);
        let Ok(mapping) = params.cast::<PyMapping>() else {
            return Err(misfit("the statement has %(name)s parameters, so they are given as a mapping"));
        };
        let values = self.names.iter().map(|name| {
            mapping.get_item(name).map_err(|error| {
                if error.is_instance_of::<pyo3::exceptions::PyKeyError>(py) {
                    misfit(format!("no value was given for the parameter %({name})s"))
                } else {
                    error.into()
                }
            })
        });
        let row = PyTuple::new(py, values.collect::<Result<Vec<_>, ClientError>>()?)?;
        if self.order.is_empty() { Ok(row) } else { Ok(self.reorder(&row)?) }
    }

    /// A row of parameters without names. A mapping is one if it is empty, or if the statement has no parameters that
    /// it could be meant for: programs pass one to every statement, and other drivers take it.
    ///
    /// # Errors
    /// For any other mapping, and for an object that is not a sequence.
    fn unnamed<'py>(&self, params: &Bound<'py, PyAny>) -> Result<Bound<'py, PyTuple>, ClientError> {
        if let Ok(row) = params.cast_exact::<PyTuple>() {
            // The short forms (fetch, fetchrow, fetchval) take values one by one: an empty mapping is then the only one.
            let is_empty = |only: Bound<'py, PyAny>| only.cast::<PyDict>().is_ok_and(|only| only.is_empty());
            let none = self.has_none() && row.len() == 1 && is_empty(row.get_item(0)?);
            return Ok(if none { PyTuple::empty(params.py()) } else { row.clone() });
        }
        let Some(mapping) = as_mapping(params) else { return sequence(params) };
        if mapping.is_empty()? || self.has_none() && !self.mentions(mapping)? {
            return Ok(PyTuple::empty(params.py()));
        }
        Err(misfit(self.no_names()))
    }

    /// Returns true if it is known to have no parameters.
    fn has_none(&self) -> bool {
        self.style == Style::Format && self.count == 0
    }

    /// Returns true if one of a mapping's names is in the text as `:name`, `@name` or `$name`, styles that are not read
    /// here. `::name` is a type and `@@name` a variable of the server.
    #[cold]
    fn mentions(&self, mapping: &Bound<'_, PyMapping>) -> PyResult<bool> {
        for name in mapping.keys()?.iter() {
            let Ok(name) = name.extract::<String>() else { continue };
            for sign in [':', '@', '$'] {
                let written = format!("{sign}{name}");
                if self.sql.match_indices(&written).any(|(at, _)| !self.sql[..at].ends_with(sign)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The columns that are the parameters, in the statement's order; `None` if they are all columns as they are. The
    /// server's own placeholders are not counted here.
    ///
    /// # Errors
    /// If their number or their names do not fit.
    pub fn project(&self, columns: &[String]) -> Result<Option<Vec<usize>>, ClientError> {
        let order: Vec<usize> = match self.style {
            Style::Native => return Ok(None),
            Style::Format | Style::Numeric if columns.len() != self.count => {
                return Err(misfit(format!(
                    "the statement has {} parameter{}, but the rows have {} column{}",
                    self.count,
                    if self.count == 1 { "" } else { "s" },
                    columns.len(),
                    if columns.len() == 1 { "" } else { "s" },
                )));
            }
            Style::Format | Style::Numeric => (0..columns.len()).collect(),
            Style::Pyformat => {
                let named = self.names.iter().map(|name| {
                    let mut found = (0..columns.len()).filter(|i| columns[*i] == *name);
                    match (found.next(), found.next()) {
                        (Some(i), None) => Ok(i),
                        (None, _) => Err(misfit(format!("the rows have no column for the parameter %({name})s"))),
                        _ => Err(misfit(format!("the rows have several columns for the parameter %({name})s"))),
                    }
                });
                named.collect::<Result<_, _>>()?
            }
        };
        let ordered = if self.order.is_empty() { order } else { self.order.iter().map(|i| order[*i]).collect() };
        Ok(Some(ordered))
    }

    /// The error for a mapping if the parameters have no names.
    #[cold]
    fn no_names(&self) -> &'static str {
        match self.style {
            Style::Format if self.count > 0 => "the statement has %s parameters, so they are given as a sequence",
            Style::Format => "the statement has no parameters that are written %(name)s, so it takes no mapping",
            Style::Native | Style::Numeric | Style::Pyformat => {
                "the statement's parameters have no names, so they are given as a sequence"
            }
        }
    }

    /// The hint for a wrong number of parameters.
    fn advice(&self, row: &Bound<'_, PyTuple>) -> &'static str {
        if self.count == 0 && self.sql.contains('?') {
            return "; parameters are written %s, %(name)s or the server's own way here, not ?";
        }
        if self.has_letters && self.count > row.len() {
            return "; %b and %t are parameters as %s is: a percent sign is written %% beside parameters";
        }
        let only = row.get_item(0).ok().filter(|_| row.len() == 1);
        match only {
            Some(only) if self.count == 0 && only.is_instance_of::<PyDict>() => {
                "; a mapping is for parameters that are written %(name)s"
            }
            Some(only) if self.count > 1 && (only.is_instance_of::<PyTuple>() || only.is_instance_of::<PyList>()) => {
                "; the only value is a sequence: fetch(), fetchrow() and fetchval() take the values one by one"
            }
            _ => "",
        }
    }

    fn reorder<'py>(&self, row: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
        let values = self.order.iter().map(|i| row.get_item(*i)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(row.py(), values)
    }
}

/// The error for parameters that are not those of the statement.
#[cold]
fn misfit(message: impl Into<String>) -> ClientError {
    Mismatch::wrong_type(message).into()
}

/// A statement as a program gives it.
pub enum Sql<'py> {
    /// Its text.
    Text(Bound<'py, PyString>),
    /// What `headrace.sql` makes a text of for one database.
    Composed(Bound<'py, PyAny>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Sql<'py> {
    type Error = PyErr;

    #[inline]
    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(Self::Text(text.to_owned())),
            Err(_) => Self::composed(given.to_owned()),
        }
    }
}

impl<'py> Sql<'py> {
    #[cold]
    fn composed(given: Bound<'py, PyAny>) -> PyResult<Self> {
        let is_one = given.py().import("headrace.sql")?.call_method1("is_composed", (&given,))?;
        if is_one.is_truthy()? { Ok(Self::Composed(given)) } else { Err(no_text(&given)) }
    }

    /// The text for a connection, and the parameters: those that were given, or those of a template.
    ///
    /// # Errors
    /// What composing it raises.
    #[inline]
    pub fn with_params<W>(
        self,
        wire: &Bound<'py, W>,
        params: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyString>, Option<Bound<'py, PyAny>>)> {
        match self {
            Self::Text(text) => Ok((text, params.cloned())),
            Self::Composed(composed) => compose(&composed, wire.as_any(), params),
        }
    }

    /// The text for a connection, of a statement that takes its parameters from elsewhere, if `with_params`, or
    /// has none.
    ///
    /// # Errors
    /// What composing it raises.
    #[inline]
    pub fn text<W>(self, wire: &Bound<'py, W>, with_params: bool) -> PyResult<Bound<'py, PyString>> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Composed(composed) => {
                let text = composed
                    .py()
                    .import("headrace.sql")?
                    .call_method1("text_of", (&composed, wire.as_any(), with_params))?;
                Ok(text.cast_into::<PyString>()?)
            }
        }
    }
}

#[cold]
fn compose<'py>(
    composed: &Bound<'py, PyAny>,
    wire: &Bound<'py, PyAny>,
    params: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyString>, Option<Bound<'py, PyAny>>)> {
    let made = composed.py().import("headrace.sql")?.call_method1("statement_of", (composed, wire, params))?;
    let (text, params): (Bound<'py, PyString>, Option<Bound<'py, PyAny>>) = made.extract()?;
    Ok((text, params))
}

/// The text of a statement as Rust has it.
///
/// # Errors
/// ProgrammingError if it is not Unicode: it has a lone surrogate.
pub fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    text.to_str().map_err(|error| not_unicode(text.py(), &error))
}

/// The exception for a statement that has no UTF-8.
#[cold]
pub fn not_unicode(py: Python<'_>, error: &PyErr) -> PyErr {
    programming(py, &format!("the statement is not Unicode: {}", error.value(py)))
}

#[cold]
fn no_text(given: &Bound<'_, PyAny>) -> PyErr {
    let class = type_name(given);
    let bytes = given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>();
    let todo = if bytes { ": decode it" } else { "" };
    PyTypeError::new_err(format!("SQL is str, not {class}{todo}"))
}
