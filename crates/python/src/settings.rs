//! How values are converted to and from Python objects.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;

/// The policy for values that Python cannot represent: infinity, BC, a year above 9999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unrepresentable {
    /// The request fails with DataError, after all its rows were read.
    #[default]
    Raise,
    /// None.
    None,
    /// The text that the server would show.
    Text,
}

/// What a connection has set for that.
#[derive(Debug, Default)]
pub struct Settings {
    /// See the type.
    pub unrepresentable: Unrepresentable,
    /// JSON stays text.
    pub json_text: bool,
    /// Makes an object of JSON text, in the place of `json.loads`.
    pub json_loads: Option<Py<PyAny>>,
    /// Makes JSON text of an object, in the place of `json.dumps`.
    pub json_dumps: Option<Py<PyAny>>,
    /// The user's own loaders by type number, if there are any: callables that take bytes.
    pub loaders: Option<Py<PyDict>>,
    /// The factories of the user's own objects for composite values, by type number.
    pub records: HashMap<u32, Py<PyAny>>,
    /// The user's own dumpers by class, if there are any: callables that take the value and return bytes or str.
    pub dumpers: Option<Py<PyDict>>,
}

impl Settings {
    /// The same, for a change: requests that are under way keep theirs.
    pub fn copied(&self, py: Python<'_>) -> Self {
        let cloned = |object: &Option<Py<PyAny>>| object.as_ref().map(|object| object.clone_ref(py));
        let dict = |dict: &Option<Py<PyDict>>| dict.as_ref().map(|dict| dict.clone_ref(py));
        Self {
            unrepresentable: self.unrepresentable,
            json_text: self.json_text,
            json_loads: cloned(&self.json_loads),
            json_dumps: cloned(&self.json_dumps),
            loaders: dict(&self.loaders),
            records: self.records.iter().map(|(id, factory)| (*id, factory.clone_ref(py))).collect(),
            dumpers: dict(&self.dumpers),
        }
    }
}
