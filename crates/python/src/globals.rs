//! Python objects that are looked up once: types of the standard library and of headrace's own Python half.

use crate::decimals::Maker;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// A class of a module that is imported with the first value of it: `decimal` and `uuid` with all that they import take
/// longer than the rest of a process's first query.
pub struct Lazy {
    module: &'static str,
    attribute: &'static str,
    modules: Py<PyDict>,
    class: PyOnceLock<Py<PyAny>>,
}

impl Lazy {
    fn new(py: Python<'_>, module: &'static str, attribute: &'static str) -> PyResult<Self> {
        let modules = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind();
        Ok(Self { module, attribute, modules, class: PyOnceLock::new() })
    }

    /// The class.
    ///
    /// # Errors
    /// What the import raises.
    pub fn get(&self, py: Python<'_>) -> PyResult<&Py<PyAny>> {
        self.class.get_or_try_init(py, || Ok(py.import(self.module)?.getattr(self.attribute)?.unbind()))
    }

    /// The class, if anything has imported its module: otherwise there is no value of it.
    pub fn imported(&self, py: Python<'_>) -> Option<&Py<PyAny>> {
        if let Some(class) = self.class.get(py) {
            return Some(class);
        }
        let module = self.modules.bind(py).get_item(self.module).ok()??;
        // Another thread may be importing it.
        let class = module.getattr(self.attribute).ok()?.unbind();
        Some(self.class.get_or_init(py, || class))
    }

    /// Returns true if `value` is an instance of the class (a subclass counts).
    pub fn is(&self, value: &Bound<'_, PyAny>) -> bool {
        self.imported(value.py()).is_some_and(|class| is(value, class))
    }

    /// Returns true if the exact type of `value` is the class.
    pub fn is_exactly(&self, value: &Bound<'_, PyAny>) -> bool {
        self.imported(value.py()).is_some_and(|class| is_exactly(value, class))
    }
}

macro_rules! globals {
    ($($name:ident: $module:literal, $attribute:literal;)*) => {
        /// See the module.
        pub struct Globals {
            $(#[doc = concat!("`", $module, ".", $attribute, "`")] pub $name: Py<PyAny>,)*
            /// `datetime.timezone.utc`
            pub utc: Py<PyAny>,
            /// `decimal.Decimal`
            pub decimal: Lazy,
            /// `uuid.UUID`
            pub uuid: Lazy,
            uuid_unknown: PyOnceLock<Py<PyAny>>,
            maker: PyOnceLock<Option<Maker>>,
        }

        impl Globals {
            fn load(py: Python<'_>) -> PyResult<Self> {
                Ok(Self {
                    $($name: py.import($module)?.getattr($attribute)?.unbind(),)*
                    decimal: Lazy::new(py, "decimal", "Decimal")?,
                    uuid: Lazy::new(py, "uuid", "UUID")?,
                    uuid_unknown: PyOnceLock::new(),
                    maker: PyOnceLock::new(),
                    utc: py.import("datetime")?.getattr("timezone")?.getattr("utc")?.unbind(),
                })
            }
        }
    };
}

globals! {
    datetime: "datetime", "datetime";
    timezone: "datetime", "timezone";
    ipv4_address: "ipaddress", "IPv4Address";
    ipv6_address: "ipaddress", "IPv6Address";
    ipv4_interface: "ipaddress", "IPv4Interface";
    ipv6_interface: "ipaddress", "IPv6Interface";
    ipv4_network: "ipaddress", "IPv4Network";
    ipv6_network: "ipaddress", "IPv6Network";
    json_loads: "json", "loads";
    json_dumps: "json", "dumps";
    enum_type: "enum", "Enum";
    json: "headrace.types", "Json";
    jsonb: "headrace.types", "Jsonb";
    transaction_status: "headrace.types", "TransactionStatus";
    interval: "headrace.types", "Interval";
    range: "headrace.types", "Range";
    multirange: "headrace.types", "Multirange";
    bits: "headrace.types", "BitString";
    hstore: "headrace.types", "Hstore";
    vector: "headrace.types", "Vector";
    sparse_vector: "headrace.types", "SparseVector";
    opaque: "headrace.types", "Opaque";
    blob_locator: "headrace.types", "BlobLocator";
    clob_locator: "headrace.types", "ClobLocator";
    point: "headrace.types", "Point";
    line: "headrace.types", "Line";
    line_segment: "headrace.types", "LSeg";
    box_: "headrace.types", "Box";
    path: "headrace.types", "Path";
    polygon: "headrace.types", "Polygon";
    circle: "headrace.types", "Circle";
    timed_row: "headrace._shared.arguments", "TimedRow";
    timed_rows: "headrace._shared.arguments", "TimedRows";
    errors: "headrace", "errors";
    error_for: "headrace.errors", "error_for";
    data_error: "headrace.errors", "DataError";
    not_supported_error: "headrace.errors", "NotSupportedError";
    programming_error: "headrace.errors", "ProgrammingError";
    interface_error: "headrace.errors", "InterfaceError";
    operational_error: "headrace.errors", "OperationalError";
    connection_closed: "headrace.errors", "ConnectionClosed";
    pipeline_aborted: "headrace.errors", "PipelineAborted";
    in_failed_transaction: "headrace.errors", "InFailedSqlTransaction";
}

impl Globals {
    /// Makes decimals from coefficients, if this Python's layout is the known one.
    ///
    /// # Errors
    /// What the import of `decimal` raises.
    #[inline]
    pub fn maker(&self, py: Python<'_>) -> PyResult<Option<&Maker>> {
        let made = || Ok::<_, PyErr>(Maker::probe(self.decimal.get(py)?.bind(py)));
        self.maker.get_or_try_init(py, made).map(Option::as_ref)
    }

    /// `uuid.SafeUUID.unknown`
    ///
    /// # Errors
    /// What the import of `uuid` raises.
    pub fn uuid_unknown(&self, py: Python<'_>) -> PyResult<&Py<PyAny>> {
        let find = || Ok(py.import("uuid")?.getattr("SafeUUID")?.getattr("unknown")?.unbind());
        self.uuid_unknown.get_or_try_init(py, find)
    }
}

static GLOBALS: PyOnceLock<Globals> = PyOnceLock::new();

/// The objects, loaded at first use.
///
/// # Errors
/// When the package is incomplete.
pub fn globals(py: Python<'_>) -> PyResult<&Globals> {
    GLOBALS.get_or_try_init(py, || Globals::load(py))
}

/// Returns true if decimals are made from their coefficients here, not from text; checked by the tests for CPython's
/// own implementation.
#[pyfunction]
pub fn makes_decimals(py: Python<'_>) -> PyResult<bool> {
    Ok(globals(py)?.maker(py)?.is_some())
}

/// Returns true if `value` is an instance of the class `class` (a subclass counts).
pub fn is(value: &Bound<'_, PyAny>, class: &Py<PyAny>) -> bool {
    value.is_instance(class.bind(value.py())).unwrap_or(false)
}

/// Returns true if the exact type of `value` is `class`.
pub fn is_exactly(value: &Bound<'_, PyAny>, class: &Py<PyAny>) -> bool {
    value.get_type().is(class.bind(value.py()))
}

/// The name of the type of `value`.
pub fn type_name(value: &Bound<'_, PyAny>) -> String {
    let kind: Bound<'_, PyType> = value.get_type();
    kind.name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}
