//! Python objects that are looked up once: types of the standard library and of headrace's own Python half.

use crate::decimals::Maker;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

macro_rules! globals {
    ($($name:ident: $module:literal, $attribute:literal;)*) => {
        /// See the module.
        pub struct Globals {
            $(#[doc = concat!("`", $module, ".", $attribute, "`")] pub $name: Py<PyAny>,)*
            /// `datetime.timezone.utc`
            pub utc: Py<PyAny>,
            /// `uuid.SafeUUID.unknown`
            pub uuid_unknown: Py<PyAny>,
            /// Makes decimals from coefficients, if this Python's layout is the known one.
            pub decimals: Option<Maker>,
        }

        impl Globals {
            fn load(py: Python<'_>) -> PyResult<Self> {
                Ok(Self {
                    $($name: py.import($module)?.getattr($attribute)?.unbind(),)*
                    uuid_unknown: py.import("uuid")?.getattr("SafeUUID")?.getattr("unknown")?.unbind(),
                    decimals: Maker::probe(&py.import("decimal")?.getattr("Decimal")?),
                    utc: py.import("datetime")?.getattr("timezone")?.getattr("utc")?.unbind(),
                })
            }
        }
    };
}

globals! {
    decimal: "decimal", "Decimal";
    uuid: "uuid", "UUID";
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
    Ok(globals(py)?.decimals.is_some())
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
