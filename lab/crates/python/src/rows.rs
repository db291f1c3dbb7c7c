//! The rows of the insert benchmark, in the forms in which drivers take them. Blocks are made with the interpreter
//! detached: other threads run meanwhile.

use headrace_iibench::rows::{Row, Rows, Shape};
use headrace_iibench::{Sums, text};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDateTime, PyDict, PyList, PyString, PyTuple};

/// A stream of rows: row k is a function of the seed, the stream and k.
#[pyclass(frozen, module = "headrace_lab._iibench")]
#[derive(Debug)]
pub struct IibenchRows {
    rows: Rows,
}

impl IibenchRows {
    fn block(&self, py: Python<'_>, head: &[u8], make: impl FnOnce(&Rows, &mut Vec<u8>) + Send) -> Vec<u8> {
        py.detach(|| {
            let mut out = head.to_vec();
            make(&self.rows, &mut out);
            out
        })
    }

    fn columns<'py>(py: Python<'py>, times: &mut Times<'py>, row: &Row<'_>) -> PyResult<[Bound<'py, PyAny>; 6]> {
        let mut data = Vec::new();
        row.push_data(&mut data);
        let data = String::from_utf8(data).map_err(PyErr::from)?;
        Ok([
            times.of(py, row.time)?.into_any(),
            row.cash_register.into_pyobject(py)?.into_any(),
            row.customer.into_pyobject(py)?.into_any(),
            row.product.into_pyobject(py)?.into_any(),
            row.price.into_pyobject(py)?.into_any(),
            PyString::new(py, &data).into_any(),
        ])
    }
}

/// The time of the last row as an object, which most rows share with the one before.
#[derive(Default)]
struct Times<'py> {
    last: Option<(i64, Bound<'py, PyDateTime>)>,
}

impl<'py> Times<'py> {
    fn of(&mut self, py: Python<'py>, time: i64) -> PyResult<Bound<'py, PyDateTime>> {
        if let Some((known, object)) = &self.last
            && *known == time
        {
            return Ok(object.clone());
        }
        let part = |value: i64| u8::try_from(value).map_err(|_| PyValueError::new_err("a time out of range"));
        let (year, month, day) = headrace_iibench::calendar::date_of_days(time.div_euclid(86_400));
        let year = i32::try_from(year).map_err(|_| PyValueError::new_err("a time out of range"))?;
        let second = time.rem_euclid(86_400);
        let (hour, minute, second) = (part(second / 3600)?, part(second / 60 % 60)?, part(second % 60)?);
        let object = PyDateTime::new(py, year, month, day, hour, minute, second, 0, None)?;
        self.last = Some((time, object.clone()));
        Ok(object)
    }
}

#[pymethods]
impl IibenchRows {
    /// Raises ValueError if a number is out of range.
    #[new]
    #[pyo3(signature = (
        seed, stream=0, *, cash_registers=1_000, customers=100_000, products=10_000, max_price=500,
        data_length_min=10, data_length_max=10, data_random_percent=50
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        seed: u64,
        stream: u32,
        cash_registers: u32,
        customers: u32,
        products: u32,
        max_price: u32,
        data_length_min: u32,
        data_length_max: u32,
        data_random_percent: u32,
    ) -> PyResult<Self> {
        let shape = Shape {
            cash_registers,
            customers,
            products,
            max_price,
            data_length_min,
            data_length_max,
            data_random_percent,
        };
        let rows = py.detach(|| Rows::new(seed, stream, shape));
        Ok(Self { rows: rows.map_err(|invalid| PyValueError::new_err(invalid.0))? })
    }

    /// `head`, and after it `count` rows from row `first` on as `(...),(...)`.
    fn values<'py>(
        &self,
        py: Python<'py>,
        head: &Bound<'py, PyString>,
        first: u64,
        count: u64,
    ) -> PyResult<Bound<'py, PyString>> {
        let made = self.block(py, head.to_str()?.as_bytes(), |rows, out| text::values(rows, first, count, out));
        Ok(PyString::new(py, &String::from_utf8(made)?))
    }

    /// A list of blocks as [`Self::values`] makes them, the first from row `first` on; with `binary` in bytes.
    #[pyo3(signature = (head, first, count, blocks, *, binary=false))]
    fn blocks<'py>(
        &self,
        py: Python<'py>,
        head: &Bound<'py, PyString>,
        first: u64,
        count: u64,
        blocks: u64,
        binary: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let head = head.to_str()?.as_bytes();
        let made = py.detach(|| text::blocks(&self.rows, head, first, count, blocks));
        if binary {
            return PyList::new(py, made.iter().map(|block| PyBytes::new(py, block)));
        }
        let texts = made.into_iter().map(|block| Ok(PyString::new(py, &String::from_utf8(block)?)));
        PyList::new(py, texts.collect::<PyResult<Vec<_>>>()?)
    }

    /// As [`Self::values`], in bytes.
    fn values_bytes<'py>(&self, py: Python<'py>, head: &[u8], first: u64, count: u64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.block(py, head, |rows, out| text::values(rows, first, count, out)))
    }

    /// Lines as COPY's text format has them.
    fn tabbed<'py>(&self, py: Python<'py>, first: u64, count: u64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.block(py, b"", |rows, out| text::tabbed(rows, first, count, out)))
    }

    /// A list of tuples: time, cash register, customer, product, price, data.
    fn tuples<'py>(&self, py: Python<'py>, first: u64, count: u64) -> PyResult<Bound<'py, PyList>> {
        let mut times = Times::default();
        let made = (first..first.saturating_add(count))
            .map(|k| PyTuple::new(py, Self::columns(py, &mut times, &self.rows.row(k))?))
            .collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, made)
    }

    /// The values of all rows one after the other, for a statement with places for all of them.
    fn flat<'py>(&self, py: Python<'py>, first: u64, count: u64) -> PyResult<Bound<'py, PyList>> {
        let mut times = Times::default();
        let mut made = Vec::new();
        for k in first..first.saturating_add(count) {
            made.extend(Self::columns(py, &mut times, &self.rows.row(k))?);
        }
        PyList::new(py, made)
    }

    /// The sums of the columns of `count` rows from row `first` on.
    fn sums<'py>(&self, py: Python<'py>, first: u64, count: u64) -> PyResult<Bound<'py, PyDict>> {
        let sums = py.detach(|| Sums::of(&self.rows, first, count));
        let out = PyDict::new(py);
        for (name, value) in [
            ("rows", sums.rows),
            ("cash_register", sums.cash_register),
            ("customer", sums.customer),
            ("product", sums.product),
            ("price", sums.price),
            ("data_bytes", sums.data_bytes),
            ("data_last", sums.data_last),
            ("checksum", sums.checksum),
        ] {
            out.set_item(name, value)?;
        }
        out.set_item("time_min", sums.time_min)?;
        out.set_item("time_max", sums.time_max)?;
        Ok(out)
    }
}
