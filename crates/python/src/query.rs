//! Python's parameter styles to the server's.
//!
//! `%s` and `%(name)s` become `$1`, `$2`, ... for PostgreSQL and `?` for MySQL; a statement with the server's own
//! placeholders is left as it is, and so is one of Informix, but for `:1`. Where a placeholder may stand is decided by a
//! lexer of the server's own rules (for PostgreSQL section 4.1 of its manual): nothing inside a string, a quoted
//! identifier, a dollar-quoted body or a comment is a native parameter. A percent sign is one everywhere, as in every
//! driver of this style: a literal one is written `%%`.

use crate::errors::programming;
use crate::globals::type_name;
use crate::params::sequence;
use headrace_mysql::sql::{Modes, Scan};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMapping, PyString, PyTuple};
use std::sync::Arc;

/// How a statement writes its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// The text is the server's as it stands: no parameters were given, or they are written its way.
    Native,
    /// `%s`
    Format,
    /// `%(name)s`
    Pyformat,
    /// `:1`
    Numeric,
}

/// A statement in the server's style, and how to put Python's parameters in its order.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug)]
pub struct Query {
    /// The text with the server's placeholders.
    pub sql: Arc<str>,
    style: Style,
    names: Vec<String>,
    count: usize,
    /// The number of each place's parameter, where one can stand in several and the server knows no numbers.
    order: Vec<usize>,
}

#[pymethods]
impl Query {
    /// The text as the server gets it.
    #[getter]
    fn sql(&self) -> &str {
        &self.sql
    }

    /// Whether the types of `%s` parameters are told from the values given.
    #[getter]
    fn hinted(&self) -> bool {
        matches!(self.style, Style::Format | Style::Pyformat)
    }
}

impl Query {
    /// Whether the types of the parameters are told from the values given.
    pub fn is_hinted(&self) -> bool {
        matches!(self.style, Style::Format | Style::Pyformat)
    }

    /// Whether a row of parameters has to be arranged before it is sent.
    pub fn arranges(&self) -> bool {
        self.style != Style::Native
    }

    /// The parameters in the statement's order.
    ///
    /// # Errors
    /// ProgrammingError when their number or their names do not fit, TypeError for what is no sequence or mapping.
    pub fn arrange<'py>(&self, py: Python<'py>, params: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyTuple>> {
        let Some(params) = params else { return Ok(PyTuple::empty(py)) };
        if self.style == Style::Numeric {
            if params.is_instance_of::<PyDict>() {
                return Err(programming(py, self.no_names()));
            }
            let row = sequence(params)?;
            if row.len() != self.count {
                let message =
                    format!("the statement has parameters up to :{}, but {} were given", self.count, row.len());
                return Err(programming(py, &message));
            }
            return self.reorder(&row);
        }
        if self.style != Style::Pyformat {
            if params.is_instance_of::<PyDict>() {
                return Err(programming(py, self.no_names()));
            }
            let row = sequence(params)?;
            if self.style == Style::Format && row.len() != self.count {
                return Err(programming(
                    py,
                    &format!(
                        "the statement has {} parameter{}, but {} {} given{}",
                        self.count,
                        if self.count == 1 { "" } else { "s" },
                        row.len(),
                        if row.len() == 1 { "was" } else { "were" },
                        self.advice(&row),
                    ),
                ));
            }
            return Ok(row);
        }
        // The short forms (fetch, fetchrow, fetchval) take values one by one: a mapping is then the only one.
        let only =
            params.cast_exact::<PyTuple>().ok().filter(|row| row.len() == 1).and_then(|row| row.get_item(0).ok());
        let params = only.as_ref().filter(|only| only.cast::<PyMapping>().is_ok()).unwrap_or(params);
        let Ok(mapping) = params.cast::<PyMapping>() else {
            return Err(programming(py, "the statement has %(name)s parameters, so they are given as a mapping"));
        };
        let values = self.names.iter().map(|name| {
            mapping.get_item(name).map_err(|error| {
                if error.is_instance_of::<pyo3::exceptions::PyKeyError>(py) {
                    programming(py, &format!("no value was given for the parameter %({name})s"))
                } else {
                    error
                }
            })
        });
        let row = PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?;
        if self.order.is_empty() { Ok(row) } else { self.reorder(&row) }
    }

    /// What is wrong with a mapping where the parameters have no names.
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

    /// What to do where the count of parameters is wrong.
    fn advice(&self, row: &Bound<'_, PyTuple>) -> &'static str {
        if self.count == 0 && self.sql.contains('?') {
            return "; parameters are written %s, %(name)s or the server's own way here, not ?";
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

    fn native(sql: &str) -> Self {
        Self { sql: sql.into(), style: Style::Native, names: Vec::new(), count: 0, order: Vec::new() }
    }
}

/// What placeholders become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    /// `$1`
    Numbers,
    /// `?`
    Questions,
}

/// The text of a statement.
pub struct Sql<'py>(pub Bound<'py, PyString>);

impl<'a, 'py> FromPyObject<'a, 'py> for Sql<'py> {
    type Error = PyErr;

    #[inline]
    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(Self(text.to_owned())),
            Err(_) => Err(no_text(&given)),
        }
    }
}

#[cold]
fn no_text(given: &Bound<'_, PyAny>) -> PyErr {
    let class = type_name(given);
    let bytes = given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>();
    let todo = if bytes { ": decode it" } else { "" };
    PyTypeError::new_err(format!("SQL is str, not {class}{todo}"))
}

fn check(py: Python<'_>, sql: &str) -> PyResult<()> {
    match sql.find('\0') {
        Some(at) => Err(programming(py, &format!("the statement has a NUL character at position {at}; remove it"))),
        None => Ok(()),
    }
}

/// Converts a statement of PostgreSQL. `with_params` says whether parameters are given: without them a percent sign is only that.
///
/// # Errors
/// ProgrammingError for a NUL byte, a stray percent sign, or mixed styles.
#[pyfunction]
pub fn convert(py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
    check(py, sql)?;
    if !with_params || (has_native(sql) && !has_placeholder(sql)) {
        return Ok(Query::native(sql));
    }
    rewrite(sql, Marks::Numbers).map_err(|message| programming(py, &message))
}

/// Converts a statement of MySQL, as [`convert`] does. `modes` says what a string is on that server.
///
/// # Errors
/// As [`convert`].
pub fn convert_mysql(py: Python<'_>, sql: &str, with_params: bool, modes: Modes) -> PyResult<Query> {
    check(py, sql)?;
    if !with_params || (!has_placeholder(sql) && !Scan::new(sql, modes).placeholders.is_empty()) {
        return Ok(Query::native(sql));
    }
    rewrite(sql, Marks::Questions).map_err(|message| programming(py, &message))
}

/// Converts a statement of Informix: `?` is its own style, and `:1` becomes it.
///
/// # Errors
/// ProgrammingError for a NUL byte or mixed styles.
pub fn convert_informix(py: Python<'_>, sql: &str) -> PyResult<Query> {
    check(py, sql)?;
    let found = headrace_informix::lexer::placeholders(sql).map_err(|message| programming(py, &message))?;
    if !found.numbered {
        return Ok(Query::native(sql));
    }
    let count = found.order.iter().max().map_or(0, |last| last + 1);
    Ok(Query { sql: found.sql.as_ref().into(), style: Style::Numeric, names: Vec::new(), count, order: found.order })
}

/// Whether `%s` or `%(` stands anywhere.
fn has_placeholder(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let mut i = 0;
    while i + 1 < bytes.len() {
        if bytes[i] == b'%' {
            match bytes[i + 1] {
                b'%' => i += 1,
                b's' | b'(' | b'b' | b't' => return true,
                _ => {}
            }
        }
        i += 1;
    }
    false
}

fn rewrite(sql: &str, marks: Marks) -> Result<Query, String> {
    let mut out = String::with_capacity(sql.len() + 16);
    let (mut names, mut count): (Vec<String>, usize) = (Vec::new(), 0);
    let mut order = Vec::new();
    let mark = |out: &mut String, number: usize| match marks {
        Marks::Numbers => out.push_str(&format!("${number}")),
        Marks::Questions => out.push('?'),
    };
    let mut rest = sql;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let position = sql.len() - rest.len() + at;
        let tail = &rest[at + 1..];
        match tail.as_bytes().first() {
            Some(b'%') => {
                out.push('%');
                rest = &tail[1..];
            }
            // %b and %t are psycopg's spellings for a fixed format; ours is chosen by type.
            Some(b's' | b'b' | b't') => {
                if !names.is_empty() {
                    return Err("the statement mixes %s and %(name)s parameters".into());
                }
                count += 1;
                mark(&mut out, count);
                rest = &tail[1..];
            }
            Some(b'(') => {
                if count > names.len() {
                    return Err("the statement mixes %s and %(name)s parameters".into());
                }
                let close =
                    tail.find(')').filter(|&close| matches!(tail.as_bytes().get(close + 1), Some(b's' | b'b' | b't')));
                let Some(close) = close else {
                    return Err(format!("the parameter at position {position} is not of the form %(name)s"));
                };
                let name = &tail[1..close];
                let number = names.iter().position(|known| known == name).map_or_else(
                    || {
                        names.push(name.to_owned());
                        names.len()
                    },
                    |known| known + 1,
                );
                count = names.len();
                order.push(number - 1);
                mark(&mut out, number);
                rest = &tail[close + 2..];
            }
            _ => {
                return Err(format!(
                    "the percent sign at position {position} begins no parameter (%s, %(name)s); a literal one is \
                     written %% when parameters are given"
                ));
            }
        }
    }
    out.push_str(rest);
    let style = if names.is_empty() { Style::Format } else { Style::Pyformat };
    if marks == Marks::Numbers {
        order.clear();
    }
    Ok(Query { sql: out.into(), style, names, count, order })
}

/// Whether `$1` stands outside strings, quoted identifiers, dollar quotes and comments.
fn has_native(sql: &str) -> bool {
    if !sql.contains('$') {
        return false;
    }
    let bytes = sql.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let next = bytes.get(i + 1).copied();
        match bytes[i] {
            b'\'' => {
                let escapes = i > 0 && matches!(bytes[i - 1], b'e' | b'E') && !(i > 1 && is_word(bytes[i - 2]));
                i = skip_quoted(bytes, i, b'\'', escapes);
            }
            b'"' => i = skip_quoted(bytes, i, b'"', false),
            b'-' if next == Some(b'-') => i += bytes[i..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - i),
            b'/' if next == Some(b'*') => i = skip_comment(bytes, i),
            b'$' if i > 0 && is_word(bytes[i - 1]) => i += 1,
            b'$' if next.is_some_and(|b| b.is_ascii_digit()) => return true,
            b'$' => {
                let tag = bytes[i + 1..].iter().position(|&b| !is_word(b)).unwrap_or(0);
                if bytes.get(i + 1 + tag) == Some(&b'$') {
                    let quote = &sql[i..i + tag + 2];
                    let body = i + tag + 2;
                    i = sql[body..].find(quote).map_or(bytes.len(), |end| body + end + quote.len());
                } else {
                    i += 1;
                }
            }
            _ => i += 1,
        }
    }
    false
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

/// The position behind the quoted text that begins at `i`.
fn skip_quoted(bytes: &[u8], mut i: usize, quote: u8, escapes: bool) -> usize {
    i += 1;
    while i < bytes.len() {
        if escapes && bytes[i] == b'\\' {
            i += 2;
        } else if bytes[i] == quote {
            return i + 1;
        } else {
            i += 1;
        }
    }
    i
}

/// The position behind the comment that begins at `i`; comments nest.
fn skip_comment(bytes: &[u8], mut i: usize) -> usize {
    let mut depth = 0;
    while i < bytes.len() {
        match (bytes[i], bytes.get(i + 1)) {
            (b'/', Some(b'*')) => {
                depth += 1;
                i += 2;
            }
            (b'*', Some(b'/')) => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return i;
                }
            }
            _ => i += 1,
        }
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_numbers() {
        for (given, expected, names) in [
            ("select %s, %s", "select $1, $2", &[][..]),
            ("select %(a)s, %(b)s, %(a)s", "select $1, $2, $1", &["a", "b"]),
            ("select 5 %% %s", "select 5 % $1", &[]),
            ("select %b::bytea", "select $1::bytea", &[]),
        ] {
            let query = rewrite(given, Marks::Numbers).unwrap();
            assert_eq!(&*query.sql, expected);
            assert_eq!(query.names, names);
        }
        let query = rewrite("select %(a)s, %(b)s, %(a)s, 5 %% 2", Marks::Questions).unwrap();
        assert_eq!((&*query.sql, query.order), ("select ?, ?, ?, 5 % 2", vec![0, 1, 0]));
        let query = rewrite("select %s, %s", Marks::Questions).unwrap();
        assert_eq!((&*query.sql, query.count, query.order), ("select ?, ?", 2, vec![]));
    }

    #[test]
    fn what_is_no_placeholder_is_an_error_with_its_position() {
        for bad in ["select 5 % 2, %s", "select %(a", "select %(a)d", "select %s, %(a)s", "select %(a)s, %s", "%"] {
            assert!(rewrite(bad, Marks::Numbers).is_err(), "{bad}");
        }
    }

    #[test]
    fn native_parameters_are_found_only_where_they_are_parameters() {
        for (sql, native) in [
            ("select $1", true),
            ("select '$1'", false),
            ("select e'\\'$1'", false),
            ("select \"$1\"", false),
            ("select $$ $1 $$", false),
            ("select $a$ $1 $a$, $2", true),
            ("select 1 -- $1", false),
            ("select 1 -- c\n, $1", true),
            ("select /* /* $1 */ $2 */ 1", false),
            ("select a$1 from t", false),
            ("select 'it''s', $1", true),
        ] {
            assert_eq!(has_native(sql), native, "{sql}");
        }
    }
}
