//! The result of a request.

use pyo3::prelude::*;
use pyo3::types::PyAny;
use std::borrow::Cow;

/// One result of a statement.
#[pyclass(frozen, name = "Result", module = "headrace._native")]
#[derive(Debug)]
pub struct RequestResult {
    /// The columns, None when the statement returns no rows.
    #[pyo3(get)]
    pub columns: Py<PyAny>,
    /// A list of tuples, None when the statement returns no rows.
    #[pyo3(get)]
    pub rows: Py<PyAny>,
    /// The bytes of the server's command tag.
    pub tag: Tag,
    /// Rows affected or returned, -1 if the server does not report it.
    #[pyo3(get)]
    pub rowcount: i64,
    /// More rows can be fetched from the portal.
    #[pyo3(get)]
    pub suspended: bool,
    /// The serial value that an INSERT generated, if the protocol reports it.
    #[pyo3(get)]
    pub generated: Option<i128>,
    /// The number of warnings that can be fetched, if the protocol reports it.
    #[pyo3(get)]
    pub warnings: u32,
    /// True if the only row has the OUT parameters of a procedure.
    #[pyo3(get)]
    pub out_params: bool,
}

#[pymethods]
impl RequestResult {
    /// The server's command tag: `INSERT 0 5`. Empty for an empty statement and a suspended portal.
    #[getter]
    fn tag(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.tag.bytes())
    }
}

/// Bytes of a command tag that are where the result is, without memory of their own.
const SHORT_TAG: usize = 31;

/// A command tag. Few programs look at it, so that its bytes are copied, and read when somebody does.
#[derive(Debug)]
pub enum Tag {
    /// A usual one.
    Short([u8; SHORT_TAG], u8),
    /// A longer one.
    Long(Box<[u8]>),
}

impl Tag {
    fn bytes(&self) -> &[u8] {
        match self {
            Tag::Short(bytes, len) => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Tag::Long(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Tag {
    #[inline]
    fn from(tag: &[u8]) -> Self {
        let mut bytes = [0; SHORT_TAG];
        match bytes.get_mut(..tag.len()) {
            Some(place) => {
                place.copy_from_slice(tag);
                Tag::Short(bytes, tag.len() as u8)
            }
            None => Tag::Long(tag.into()),
        }
    }
}
