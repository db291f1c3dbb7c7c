//! The ingestion of rows, and of the table that they are to be in.

use super::Core;
use crate::bound::Bound;
use crate::databases::Zone;
use crate::error::{cancelled, of, state, unsupported};
use crate::ingest::{Ingest, Instants, Mode, Plan, Replaced, Step, check_types, dependence, fixed_offset, instants};
use crate::session::BoundRows;
use crate::table::Table;
use adbc_core::error::{Result, Status};
use arrow_schema::Schema;
use headrace_core::{IfUnsent, Modes, Verb};

impl Core {
    /// A transaction of its own is around it where the database can undo the making of a table.
    pub(super) fn ingest(&mut self, plan: &Plan, bound: Bound) -> Result<Option<u64>> {
        self.check_free()?;
        let is_own = self.autocommit
            && !plan.before.is_empty()
            && self.dialect.makes_tables_in_transactions()
            // A database without logging has no transactions.
            && self.verb(&Verb::Begin(Modes::default())).is_ok();
        let ingested = self.ingest_within(plan, bound).and_then(|rows| {
            // What was cancelled is not committed, as long as it is not too late for that.
            if is_own && self.cancel.is_wanted() { Err(cancelled()) } else { Ok(rows) }
        });
        if is_own && ingested.is_ok() {
            self.verb(&Verb::Commit(IfUnsent::Forget))?;
        } else if is_own {
            // What is rolled back is not to be cancelled. The error of the ingestion is the one to report.
            self.cancel.take();
            let _ = self.verb(&Verb::Rollback(IfUnsent::Forget));
        }
        ingested
    }

    pub(super) fn plan(&mut self, ingest: &Ingest, schema: &Schema) -> Result<Plan> {
        let named = [&ingest.catalog, &ingest.schema, &ingest.table].into_iter().flatten().map(String::as_str);
        self.check_names(named.chain(schema.fields().iter().map(|field| field.name().as_str())))?;
        let (located, replaced) = self.located(ingest)?;
        let instants = self.instants(&located, schema)?;
        if ingest.mode != Mode::Append {
            let dialect = self.dialect;
            let mut version = || Ok(self.value(dialect.version_query())?.unwrap_or_default());
            check_types(dialect, schema, &mut version)?;
        }
        Ok(Plan { instants, ..located.plan(self.dialect, schema, replaced)? })
    }

    /// The same ingestion, whose table's name is taken literally: no temporary table of the session unless it is
    /// requested, and no table of another catalog. Also what it replaces, where the dialect returns its definition.
    fn located(&mut self, ingest: &Ingest) -> Result<(Ingest, Replaced)> {
        let Some(table) = ingest.table.as_deref() else { return Ok((ingest.clone(), Replaced::Nothing)) };
        let mut located = ingest.clone();
        self.check_catalog(ingest.catalog.as_deref())?;
        let appended = ingest.mode == Mode::Append;
        if !ingest.temporary
            && ingest.schema.is_none()
            && let Some(query) = self.dialect.schema_of(table, appended)
        {
            located.schema = self.value(&query)?;
        }
        let name = self.dialect.qualified(located.catalog.as_deref(), located.schema.as_deref(), table)?;
        let Some(query) = self.dialect.definition(&name) else { return Ok((located, Replaced::Nothing)) };
        // Without the table, or the right to see what it is made of, the name is not that of a temporary one.
        let found = self.query(&query).ok().and_then(|batches| Table::of(&batches).text(0, 1));
        let begins_with = |words: &str| found.as_ref().is_some_and(|text| text.starts_with(words));
        let (is_temporary, is_table) = (begins_with("CREATE TEMPORARY"), begins_with("CREATE TABLE"));
        let shown = headrace_core::shortened(table);
        if is_temporary && !ingest.temporary {
            return Err(state(format!(
                "a temporary table of this session hides the table '{shown}': drop it first, or ingest into the temporary \
                 one"
            )));
        }
        if ingest.temporary && appended && !is_temporary {
            return Err(of(Status::NotFound, format!("the session has no temporary table '{shown}'")));
        }
        if ingest.mode != Mode::Replace || found.is_none() || is_temporary {
            return Ok((located, Replaced::Nothing));
        }
        if !is_table {
            return Err(of(Status::AlreadyExists, format!("'{shown}' is not a table that could be replaced")));
        }
        let checks = self.dialect.foreign_key_checks().map(|(query, _)| self.value(query)).transpose()?.flatten();
        Ok((located, if checks.as_deref() == Some("0") { Replaced::Unchecked } else { Replaced::Table }))
    }

    /// How the instants among rows of a schema are inserted.
    fn instants(&mut self, ingest: &Ingest, schema: &Schema) -> Result<Instants> {
        let (Some(zone), Some(column)) = (self.dialect.zone(), instants(schema)) else {
            return Ok(Instants::AsTheyAre);
        };
        let found = Table::of(&self.query(zone.query())?);
        let name = found.text(0, 0).unwrap_or_default();
        if let Some(offset) = fixed_offset(&name, &found.text(0, 1).unwrap_or_default()) {
            return Ok(Instants::Moved(offset));
        }
        let refused = |other: String| {
            unsupported(format!(
                "column '{}' has timestamps with a zone, and in the session's time zone {name} an hour comes twice a year. \
                 They would be inserted in UTC, but {other}: execute SET time_zone = '+00:00', or another offset, first",
                headrace_core::shortened(column)
            ))
        };
        if let (Mode::Append | Mode::CreateAppend, Some(table)) = (ingest.mode, &ingest.table)
            && let Some(other) = self.dependence(zone, ingest, table, schema)?
        {
            return Err(refused(other));
        }
        Ok(Instants::InUtc(zone.in_utc()))
    }

    /// Why rows cannot be inserted into a table that is there while the session's time zone is another.
    fn dependence(&mut self, zone: &dyn Zone, ingest: &Ingest, table: &str, schema: &Schema) -> Result<Option<String>> {
        let catalog = ingest.catalog.as_deref().or(ingest.schema.as_deref());
        let name = self.dialect.qualified(ingest.catalog.as_deref(), ingest.schema.as_deref(), table)?;
        let columns = match self.query(&zone.columns(&name)) {
            Ok(columns) => Table::of(&columns).into_rows(),
            // It is made.
            Err(error) if error.status == Status::NotFound && ingest.mode == Mode::CreateAppend => return Ok(None),
            Err(error) => return Err(error),
        };
        let depends = |column: &Vec<Option<String>>| {
            let text = |at: usize| column.get(at).and_then(Option::as_deref);
            let [name, ty, extra] = [0, 1, 5].map(|at| text(at).unwrap_or_default());
            dependence(schema, [name, ty], text(4), extra)
        };
        if let Some(found) = columns.iter().find_map(depends) {
            return Ok(Some(found));
        }
        // A temporary table has none, whatever another one of its name has.
        let has_triggers = !ingest.temporary && self.value(&zone.triggers(catalog, table))?.as_deref() != Some("0");
        Ok(has_triggers.then(|| "the table has triggers, or is a view".to_owned()))
    }

    /// The statements of an ingestion; if one fails, those before it that the database would not undo are undone.
    fn ingest_within(&mut self, plan: &Plan, bound: Bound) -> Result<Option<u64>> {
        let mut undos = Vec::new();
        let ingested = self.steps(&plan.before, &mut undos).and_then(|()| {
            let inserted = self.insert(plan, bound)?;
            self.steps(&plan.after, &mut undos).map(|()| inserted)
        });
        if ingested.is_err() && !undos.is_empty() {
            // What is undone is not to be cancelled. The error of the ingestion is the one to report.
            self.cancel.take();
            for undo in undos.into_iter().rev() {
                let _ = self.update(&undo.into(), None, BoundRows::One);
            }
        }
        ingested
    }

    fn steps<'a>(&mut self, steps: &'a [Step], undos: &mut Vec<&'a str>) -> Result<()> {
        steps.iter().try_for_each(|step| {
            self.update(&step.sql.as_str().into(), None, BoundRows::One)?;
            match step.undo.as_deref() {
                Some(undo) => undos.push(undo),
                None => undos.clear(),
            }
            Ok(())
        })
    }

    fn insert(&mut self, plan: &Plan, bound: Bound) -> Result<Option<u64>> {
        let insert = plan.insert.as_str().into();
        let Instants::InUtc([utc, back]) = plan.instants else {
            return self.update(&insert, Some(bound), BoundRows::Bulk);
        };
        self.command(utc)?;
        let inserted = self.update(&insert, Some(bound), BoundRows::Bulk);
        // The session has its time zone again also after what was cancelled.
        let was_cancelled = self.cancel.take();
        let restored = self.command(back);
        if was_cancelled {
            self.cancel.request();
        }
        let inserted = inserted?;
        restored.map(|()| inserted)
    }
}
