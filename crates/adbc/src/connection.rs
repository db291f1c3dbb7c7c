//! A connection.

use crate::database::{get_arrow, number, set_arrow};
use crate::error::{no_table, of, unsupported};
use crate::info::info;
use crate::link::{Core, Link};
use crate::objects::{Filter, objects};
use crate::options::{flag, missing, text, unknown};
use crate::outcome;
use crate::partition;
use crate::reader::Reader;
use crate::statement::HeadraceStatement;
use crate::statistics::statistics;
use adbc_core::constants::{
    ADBC_OPTION_ISOLATION_LEVEL_DEFAULT, ADBC_OPTION_ISOLATION_LEVEL_READ_COMMITTED,
    ADBC_OPTION_ISOLATION_LEVEL_READ_UNCOMMITTED, ADBC_OPTION_ISOLATION_LEVEL_REPEATABLE_READ,
    ADBC_OPTION_ISOLATION_LEVEL_SERIALIZABLE,
};
use adbc_core::error::{Result, Status};
use adbc_core::options::{InfoCode, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::schemas::{GET_STATISTIC_NAMES_SCHEMA, GET_TABLE_TYPES_SCHEMA};
use adbc_core::{CancelHandle, Connection, Optionable};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray};
use arrow_schema::Schema;
use headrace_arrow::ArrowOptions;
use headrace_core::{Isolation, Modes};
use std::collections::HashSet;
use std::sync::Arc;

/// A connection.
pub struct HeadraceConnection {
    link: Link,
    arrow: ArrowOptions,
}

/// A stream of record batches.
type Batches = Box<dyn RecordBatchReader + Send + 'static>;

/// Cancels what a connection or a statement has under way.
pub struct Canceller {
    /// Its link.
    pub link: Link,
    /// What any of the connection's statements has, too.
    pub any: bool,
}

impl CancelHandle for Canceller {
    fn try_cancel(&self) -> Result<()> {
        self.link.request_cancel(self.any)
    }
}

impl HeadraceConnection {
    /// Of a session.
    pub fn new(link: Link, arrow: ArrowOptions) -> Self {
        Self { link, arrow }
    }
}

impl Drop for HeadraceConnection {
    fn drop(&mut self) {
        // In the child of a fork the session is the parent's, which goes on with it.
        if let Ok(mut core) = self.link.lock() {
            core.close();
        }
    }
}

const LEVELS: [(&str, Option<Isolation>); 5] = [
    (ADBC_OPTION_ISOLATION_LEVEL_DEFAULT, None),
    (ADBC_OPTION_ISOLATION_LEVEL_READ_UNCOMMITTED, Some(Isolation::ReadUncommitted)),
    (ADBC_OPTION_ISOLATION_LEVEL_READ_COMMITTED, Some(Isolation::ReadCommitted)),
    (ADBC_OPTION_ISOLATION_LEVEL_REPEATABLE_READ, Some(Isolation::RepeatableRead)),
    (ADBC_OPTION_ISOLATION_LEVEL_SERIALIZABLE, Some(Isolation::Serializable)),
];

impl Optionable for HeadraceConnection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        match &key {
            OptionConnection::AutoCommit => self.link.lock()?.set_autocommit(flag(&key, &value)?),
            OptionConnection::ReadOnly => {
                let read_only = Some(flag(&key, &value)?).filter(|only| *only);
                let mut core = self.link.lock()?;
                let modes = Modes { read_only, ..core.modes() };
                core.set_modes(modes)
            }
            OptionConnection::IsolationLevel => {
                let given = text(&key, &value)?;
                let level = LEVELS.iter().find(|(name, _)| *name == given);
                let (_, level) = level.ok_or_else(|| unsupported(format!("the isolation level {given:?}")))?;
                let mut core = self.link.lock()?;
                let modes = Modes { isolation: *level, ..core.modes() };
                core.set_modes(modes)
            }
            OptionConnection::CurrentCatalog => {
                let name = text(&key, &value)?;
                let mut core = self.link.lock()?;
                core.check_names([name.as_str()])?;
                let statement = core.dialect.set_catalog(&name);
                match statement {
                    Some(statement) => core.command(&statement),
                    None if core.current_catalog()? == name => Ok(()),
                    None => Err(unsupported("another catalog than the database that the connection was opened with")),
                }
            }
            OptionConnection::CurrentSchema => {
                let name = text(&key, &value)?;
                let mut core = self.link.lock()?;
                core.check_names([name.as_str()])?;
                let statement = core.dialect.set_schema(&name);
                match statement {
                    Some(statement) => core.command(&statement),
                    None if core.current_schema()? == name => Ok(()),
                    None => Err(unsupported("another current schema")),
                }
            }
            other => {
                if set_arrow(&mut self.arrow, other.as_ref(), &value)? {
                    return Ok(());
                }
                Err(unknown("connection", other.as_ref()))
            }
        }
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        match &key {
            OptionConnection::AutoCommit => Ok(self.link.lock()?.autocommit.to_string()),
            OptionConnection::ReadOnly => Ok(self.link.lock()?.modes().read_only.unwrap_or(false).to_string()),
            OptionConnection::IsolationLevel => {
                let level = self.link.lock()?.modes().isolation;
                let known = LEVELS.iter().find(|(_, known)| *known == level);
                Ok(known.map_or(ADBC_OPTION_ISOLATION_LEVEL_DEFAULT, |(name, _)| name).to_owned())
            }
            OptionConnection::CurrentCatalog => self.link.running(Core::current_catalog),
            OptionConnection::CurrentSchema => self.link.running(Core::current_schema),
            other => get_arrow(&self.arrow, other.as_ref()).ok_or_else(|| missing(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionConnection) -> Result<Vec<u8>> {
        self.get_option_string(key).map(String::into_bytes)
    }

    fn get_option_int(&self, key: OptionConnection) -> Result<i64> {
        number(key.as_ref(), &self.get_option_string(key.clone())?)
    }

    fn get_option_double(&self, key: OptionConnection) -> Result<f64> {
        number(key.as_ref(), &self.get_option_string(key.clone())?)
    }
}

impl Connection for HeadraceConnection {
    type StatementType = HeadraceStatement;

    fn new_statement(&mut self) -> Result<HeadraceStatement> {
        Ok(HeadraceStatement::new(self.link.of_statement(), self.arrow))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Canceller { link: self.link.clone(), any: true })
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Batches> {
        one(self.link.running(|core| info(core, codes.as_ref()))?)
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        schema: Option<&str>,
        table: Option<&str>,
        types: Option<Vec<&str>>,
        column: Option<&str>,
    ) -> Result<Batches> {
        let filter = Filter { depth, catalog, schema, table, types: types.as_deref(), column };
        one(self.link.running(|core| objects(core, &filter))?)
    }

    fn get_table_schema(&self, catalog: Option<&str>, schema: Option<&str>, table: &str) -> Result<Schema> {
        self.link.running(|core| {
            core.check_catalog(catalog)?;
            core.check_names([catalog, schema, Some(table)].into_iter().flatten())?;
            let name = core.dialect.qualified(catalog, schema, table)?;
            if let Some(query) = core.dialect.finding(&name)
                && core.value(&query)?.is_none()
            {
                return Err(no_table(&name));
            }
            let query = core.dialect.no_rows(&name);
            Ok(core.schema(&query, self.arrow)?.as_ref().clone())
        })
    }

    fn get_table_types(&self) -> Result<Batches> {
        let types = self.link.lock()?.dialect.table_types();
        let column: ArrayRef = Arc::new(types.iter().map(|name| Some(*name)).collect::<StringArray>());
        let batch = RecordBatch::try_new(GET_TABLE_TYPES_SCHEMA.clone(), vec![column]);
        one(batch.map_err(|error| of(Status::Internal, error.to_string()))?)
    }

    fn get_statistic_names(&self) -> Result<Batches> {
        // Those of the driver's own, beside the ones that ADBC has names for: there are none.
        one(RecordBatch::new_empty(GET_STATISTIC_NAMES_SCHEMA.clone()))
    }

    fn get_statistics(
        &self,
        catalog: Option<&str>,
        schema: Option<&str>,
        table: Option<&str>,
        _approximate: bool,
    ) -> Result<Batches> {
        one(self.link.running(|core| statistics(core, catalog, schema, table))?)
    }

    fn commit(&mut self) -> Result<()> {
        self.link.lock()?.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.link.lock()?.rollback()
    }

    fn read_partition(&self, partition: impl AsRef<[u8]>) -> Result<Batches> {
        let sql = partition::query(partition.as_ref())?;
        // The program has the schema of the partitions already.
        let options = ArrowOptions { fixed: true, ..self.arrow };
        let reply = self.link.execute(&sql.into(), None, options)?;
        let reader = Reader::begin(self.link.clone(), reply)?;
        outcome::report(None, Some(reader.failure()));
        Ok(Box::new(reader))
    }
}

/// A batch as a stream.
#[expect(clippy::unnecessary_wraps, reason = "its callers return a result")]
fn one(batch: RecordBatch) -> Result<Batches> {
    let schema = batch.schema();
    Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}
