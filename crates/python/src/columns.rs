//! The columns of a result, for Python's `description`.

use headrace_informix::machine::Columns as Described;
use headrace_informix::types::{code, name};
use headrace_mysql::machine::Columns as MyDescribed;
use headrace_postgres::machine::Columns;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;

/// The columns of a PostgreSQL result.
#[pyclass(frozen, module = "headrace._native")]
pub struct PgColumns {
    /// The engine's own view.
    pub columns: Arc<Columns>,
    names: PyOnceLock<Py<PyTuple>>,
}

impl std::fmt::Debug for PgColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PgColumns").field(&self.columns).finish()
    }
}

impl PgColumns {
    /// For Python.
    pub fn new(columns: Arc<Columns>) -> Self {
        Self { columns, names: PyOnceLock::new() }
    }
}

#[pymethods]
impl PgColumns {
    /// The names, in order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let names = self.names.get_or_try_init(py, || {
            PyTuple::new(py, self.columns.fields.iter().map(|field| field.name.as_str())).map(Bound::unbind)
        })?;
        Ok(names.bind(py).clone())
    }

    /// One tuple per column: name, type oid, type size in bytes, type modifier, table oid, column number, SQL name
    /// of the type.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self
            .columns
            .fields
            .iter()
            .map(|f| (f.name.as_str(), f.type_oid, f.type_size, f.type_modifier, f.table, f.number));
        PyList::new(py, rows.collect::<Vec<_>>())
    }

    fn __len__(&self) -> usize {
        self.columns.fields.len()
    }
}

/// The columns of an Informix result.
#[pyclass(frozen, module = "headrace._native")]
pub struct IfxColumns {
    columns: Arc<Described>,
    names: PyOnceLock<Py<PyTuple>>,
}

impl std::fmt::Debug for IfxColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("IfxColumns").field(&self.columns).finish()
    }
}

impl IfxColumns {
    /// For Python.
    pub fn new(columns: Arc<Described>) -> Self {
        Self { columns, names: PyOnceLock::new() }
    }
}

#[pymethods]
impl IfxColumns {
    /// The names, in order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let names = self.names.get_or_try_init(py, || {
            PyTuple::new(py, self.columns.fields.iter().map(|field| field.name.as_str())).map(Bound::unbind)
        })?;
        Ok(names.bind(py).clone())
    }

    /// One tuple per column: name, type number, SQL name of the type, size in bytes or None, precision, scale,
    /// whether it can be NULL.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        const NOT_NULL: u16 = 0x0100;
        let rows = self.columns.fields.iter().map(|f| {
            let kind = f.type_word & 0xff;
            let (high, low) = (f.length >> 8 & 0xff, f.length & 0xff);
            let size = match kind {
                code::VARCHAR | code::NVARCHAR => Some(low),
                code::DECIMAL | code::MONEY | code::DATETIME | code::INTERVAL | code::BYTE | code::TEXT => None,
                _ => Some(f.length),
            };
            let (precision, scale) = match kind {
                code::DECIMAL | code::MONEY => (Some(high), (low != 255).then_some(low)),
                _ => (None, None),
            };
            let sql = name(f.type_word, &f.type_name, f.length);
            (f.name.as_str(), kind, sql, size, precision, scale, f.type_word & NOT_NULL == 0)
        });
        PyList::new(py, rows.collect::<Vec<_>>())
    }

    fn __len__(&self) -> usize {
        self.columns.fields.len()
    }
}

/// The columns of a result of MySQL or MariaDB.
#[pyclass(frozen, module = "headrace._native")]
pub struct MyColumns {
    columns: Arc<MyDescribed>,
    names: PyOnceLock<Py<PyTuple>>,
}

impl std::fmt::Debug for MyColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MyColumns").field(&self.columns).finish()
    }
}

impl MyColumns {
    /// For Python.
    pub fn new(columns: Arc<MyDescribed>) -> Self {
        Self { columns, names: PyOnceLock::new() }
    }
}

#[pymethods]
impl MyColumns {
    /// The names, in order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let names = self.names.get_or_try_init(py, || {
            PyTuple::new(py, self.columns.fields.iter().map(|field| field.name.as_str())).map(Bound::unbind)
        })?;
        Ok(names.bind(py).clone())
    }

    /// One tuple per column: name, type number, MariaDB's name of an extended type or format ('' for none), flags,
    /// collation number, length in bytes, decimals, table.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.columns.fields.iter().map(|f| {
            let extended = f.extended_type.as_deref().or(f.extended_format.as_deref()).unwrap_or("");
            let flags = f.flags.bits();
            (f.name.as_str(), f.kind.0, extended, flags, f.collation, f.length, f.decimals, f.table.as_str())
        });
        PyList::new(py, rows.collect::<Vec<_>>())
    }

    fn __len__(&self) -> usize {
        self.columns.fields.len()
    }
}
