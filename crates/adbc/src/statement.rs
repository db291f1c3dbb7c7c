//! A statement.

use crate::bound::Bound;
use crate::call::Reply;
use crate::connection::Canceller;
use crate::database::{get_arrow, number, set_arrow};
use crate::error::{of, state, unsupported};
use crate::ingest::{Ingest, Instants, Mode, batch_in_zone, stream_in_zone};
use crate::link::{EXECUTED, Link};
use crate::options::{flag, missing, text, unknown};
use crate::outcome;
use crate::partition;
use crate::reader::Reader;
use adbc_core::error::{Result, Status};
use adbc_core::options::{OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult, Statement};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{Schema, SchemaRef};
use headrace_arrow::ArrowOptions;
use headrace_arrow::input::Meaning;
use headrace_core::Mismatch;
use std::sync::Arc;

/// A statement.
pub struct HeadraceStatement {
    link: Link,
    sql: Option<Arc<str>>,
    bound: Option<BoundRows>,
    arrow: ArrowOptions,
    ingest: Ingest,
    /// The result of its last execution.
    last: Option<Arc<Reply>>,
}

/// What was bound.
enum BoundRows {
    Batch(RecordBatch),
    Stream(Box<dyn RecordBatchReader + Send>),
}

impl BoundRows {
    fn schema(&self) -> SchemaRef {
        match self {
            Self::Batch(batch) => batch.schema(),
            Self::Stream(stream) => stream.schema(),
        }
    }

    /// See [`batch_in_zone`].
    fn in_zone(self, offset: i32) -> Result<Self> {
        Ok(match self {
            Self::Batch(batch) => Self::Batch(
                batch_in_zone(&batch, offset).map_err(|error| of(Status::InvalidArguments, error.to_string()))?,
            ),
            Self::Stream(stream) => Self::Stream(stream_in_zone(stream, offset)),
        })
    }

    fn bound(self, meaning: Meaning) -> Result<Bound> {
        let bound = match self {
            Self::Batch(batch) => Bound::batch(batch, meaning),
            Self::Stream(stream) => Bound::stream(stream, meaning),
        };
        bound.map_err(|error| error.into_error(None))
    }
}

impl HeadraceStatement {
    /// On a connection.
    pub fn new(link: Link, arrow: ArrowOptions) -> Self {
        Self { link, sql: None, bound: None, arrow, ingest: Ingest::default(), last: None }
    }

    fn sql(&self) -> Result<Arc<str>> {
        self.sql.clone().ok_or_else(|| state("the statement has no SQL: set a query first"))
    }

    /// The rows of parameters. They are those of one execution: another without parameters does not send them again.
    fn rows(&mut self) -> Result<Option<Bound>> {
        let Some(rows) = self.bound.take() else { return Ok(None) };
        rows.bound(self.meaning()?).map(Some)
    }

    fn meaning(&self) -> Result<Meaning> {
        let structs = self.link.lock()?.dialect.structs();
        Ok(Meaning { structs, local: no_instant, nanoseconds: self.arrow.nanoseconds })
    }

    fn ingest(&mut self) -> Result<Option<u64>> {
        let rows = self.bound.take().ok_or_else(|| state("no rows are bound to ingest"))?;
        let (schema, meaning) = (rows.schema(), self.meaning()?);
        self.link.ingest(&self.ingest, &schema, |instants| {
            let rows = match instants {
                Instants::AsTheyAre => rows,
                Instants::Moved(offset) => rows.in_zone(offset)?,
                Instants::InUtc(_) => rows.in_zone(0)?,
            };
            rows.bound(meaning)
        })
    }

    /// Ends the result of the last execution, which the next one makes invalid.
    fn release_last(&mut self) {
        if let Some(last) = self.last.take() {
            self.link.release(&last, EXECUTED);
        }
    }
}

impl Optionable for HeadraceStatement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        if set_arrow(&mut self.arrow, key.as_ref(), &value)? {
            return Ok(());
        }
        let given = |value| text(&key, value).map(|name| Some(name).filter(|name| !name.is_empty()));
        match &key {
            OptionStatement::TargetTable => self.ingest.table = given(&value)?,
            OptionStatement::TargetCatalog => self.ingest.catalog = given(&value)?,
            OptionStatement::TargetDbSchema => self.ingest.schema = given(&value)?,
            OptionStatement::IngestMode => self.ingest.mode = Mode::of(&text(&key, &value)?)?,
            OptionStatement::Temporary => {
                self.ingest.temporary = flag(&key, &value)?;
                if self.ingest.temporary {
                    self.ingest.catalog = None;
                    self.ingest.schema = None;
                }
            }
            OptionStatement::Incremental if !flag(&key, &value)? => {}
            _ => return Err(unknown("statement", key.as_ref())),
        }
        if key == OptionStatement::TargetTable {
            self.sql = None;
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        let found = match &key {
            OptionStatement::TargetTable => self.ingest.table.clone(),
            OptionStatement::TargetCatalog => self.ingest.catalog.clone(),
            OptionStatement::TargetDbSchema => self.ingest.schema.clone(),
            OptionStatement::IngestMode => Some(self.ingest.mode.name().to_owned()),
            OptionStatement::Temporary => Some(self.ingest.temporary.to_string()),
            OptionStatement::Incremental => Some(false.to_string()),
            other => get_arrow(&self.arrow, other.as_ref()),
        };
        found.ok_or_else(|| missing(key.as_ref()))
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        self.get_option_string(key).map(String::into_bytes)
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        number(key.as_ref(), &self.get_option_string(key.clone())?)
    }

    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        number(key.as_ref(), &self.get_option_string(key.clone())?)
    }
}

impl Statement for HeadraceStatement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        self.bound = Some(BoundRows::Batch(batch));
        Ok(())
    }

    fn bind_stream(&mut self, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.bound = Some(BoundRows::Stream(reader));
        Ok(())
    }

    fn execute(&mut self) -> Result<Box<dyn RecordBatchReader + Send + 'static>> {
        if self.ingest.table.is_some() {
            let affected = self.execute_update()?;
            outcome::report(affected, None);
            return Ok(Box::new(RecordBatchIterator::new([], Arc::new(Schema::empty()))));
        }
        let sql = self.sql()?;
        self.release_last();
        let bound = self.rows()?;
        let reply = self.link.execute(&sql, bound, self.arrow)?;
        self.last = Some(reply.clone());
        let affected = reply.affected().map(|rows| i64::try_from(rows).unwrap_or(i64::MAX));
        let reader = Reader::begin(self.link.clone(), reply)?;
        outcome::report(affected, Some(reader.failure()));
        Ok(Box::new(reader))
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        self.release_last();
        let affected = if self.ingest.table.is_some() {
            self.ingest()?
        } else {
            let sql = self.sql()?;
            let bound = self.rows()?;
            self.link.update(&sql, bound)?
        };
        Ok(affected.map(|rows| i64::try_from(rows).unwrap_or(i64::MAX)))
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let sql = self.sql()?;
        self.release_last();
        let reply = self.link.running(|core| core.describe(&sql, self.arrow))?;
        Ok(reply.schema().as_ref().clone())
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        let sql = self.sql()?;
        if self.bound.is_some() {
            return Err(unsupported("partitions of a statement with parameters"));
        }
        let schema = self.execute_schema()?;
        Ok(PartitionedResult { partitions: vec![partition::of_query(&sql)], schema, rows_affected: -1 })
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        let sql = self.sql()?;
        let reply = self.link.running(|core| core.describe(&sql, self.arrow))?;
        Ok(reply.parameters())
    }

    fn prepare(&mut self) -> Result<()> {
        self.sql().map(drop)
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.release_last();
        self.bound = None;
        self.ingest.table = None;
        self.sql = Some(query.as_ref().into());
        Ok(())
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        Err(unsupported("Substrait"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Canceller { link: self.link.clone(), any: false })
    }
}

/// A timestamp without zone is no instant: which zone was meant is unknown here.
fn no_instant(_: i64) -> std::result::Result<i64, Mismatch> {
    Err(Mismatch::wrong_type("a timestamp without zone is not an instant: give its column a zone"))
}
