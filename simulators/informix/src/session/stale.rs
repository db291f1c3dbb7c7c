//! Statements that are older than their tables.
//!
//! A server prepares such a statement again by itself if that changes nothing for its client; if columns or parameters
//! differ from DESCRIBE, it answers -710.

use std::sync::atomic::Ordering;

use super::SqliSession;
use crate::errors::{Result, SqlError};
use crate::sql::{self, Action, Catalog, Compiled};

/// Returns true if two translations of one text look the same to a client.
fn alike(one: &Compiled, other: &Compiled) -> bool {
    one.kind == other.kind && one.columns == other.columns && one.parameters == other.parameters
}

/// Returns true if a statement reads or writes tables.
fn has_tables(action: &Action) -> bool {
    matches!(action, Action::Query { .. } | Action::Write { .. } | Action::Call { .. })
}

impl SqliSession {
    /// The number of definitions that the database has seen.
    pub(super) fn generation(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.database.generation.load(Ordering::Acquire))
    }

    /// Records that tables may have changed. A change that is rolled back, or committed later than others looked,
    /// counts again at its end.
    pub(super) fn definitions_change(&mut self) {
        if let Some(open) = &self.open {
            open.database.generation.fetch_add(1, Ordering::AcqRel);
            self.redefined = true;
        }
    }

    /// The end of a transaction in which tables may have changed.
    pub(super) fn definitions_settle(&mut self) {
        if self.redefined {
            self.definitions_change();
        }
        self.redefined = false;
    }

    /// Prepares the current statement again if tables changed since, or refuses it.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let generation = self.generation();
        let prepared = self.prepared()?;
        if prepared.generation == generation || !has_tables(&prepared.compiled.action) {
            return Ok(());
        }
        let text = prepared.text.clone();
        let open = self.opened()?;
        let again = sql::compile(&text, open).map_err(|error| match error.code {
            // The table is gone.
            -206 => SqlError::new(-710, error.text),
            _ => stale(&text, open),
        })?;
        if !alike(&self.prepared()?.compiled, &again) {
            return Err(stale(&text, self.opened()?));
        }
        let prepared = self.prepared()?;
        prepared.compiled = again;
        prepared.put_plan = None;
        prepared.write = None;
        prepared.generation = generation;
        Ok(())
    }
}

/// -710 with the first table that a text names.
fn stale(text: &str, catalog: &dyn Catalog) -> SqlError {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_lowercase);
    SqlError::new(-710, words.into_iter().find(|word| catalog.table(None, word).is_some()).unwrap_or_default())
}
