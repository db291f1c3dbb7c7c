//! Record batches of a bounded size.

use crate::builder::Builder;
use crate::options::ArrowOptions;
use crate::schema::schema;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use headrace_core::{Cells, Column, ColumnSink};
use std::collections::VecDeque;
use std::sync::Arc;

/// A value that could not be put into its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The column's number, from 0.
    pub column: usize,
    /// The column's name.
    pub name: String,
    /// The row's number in the result, from 0.
    pub row: u64,
    /// The reason, for people.
    pub reason: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = headrace_core::shortened(&self.name);
        write!(f, "column {} ({name}), row {}: {}", self.column + 1, self.row + 1, self.reason)
    }
}

/// The rows of a result as record batches: finished ones, and one that is being built.
#[derive(Debug)]
pub struct Batches {
    schema: SchemaRef,
    builders: Vec<Builder>,
    options: ArrowOptions,
    /// Rows of the batch that is being built.
    rows: usize,
    /// Rows of the batches before it.
    earlier: u64,
    /// Approximate bytes of those.
    earlier_bytes: u64,
    done: VecDeque<RecordBatch>,
    refused: Option<Refused>,
}

impl Batches {
    /// Without rows.
    pub fn new(columns: &[Column], options: ArrowOptions) -> Self {
        let schema = Arc::new(schema(columns, &options));
        let builder = |(column, field): (&Column, &Arc<Field>)| Builder::new(&column.kind, field.data_type(), &options);
        let builders = columns.iter().zip(schema.fields()).map(builder).collect();
        Self { schema, builders, options, rows: 0, earlier: 0, earlier_bytes: 0, done: VecDeque::new(), refused: None }
    }

    /// The same with other metadata of the fields: of each column what `metadata` returns is added.
    #[must_use]
    pub fn annotated(mut self, columns: &[Column], metadata: impl Fn(&Column) -> Option<(String, String)>) -> Self {
        let field = |(field, column): (&Arc<Field>, &Column)| {
            let mut all = field.metadata().clone();
            all.extend(metadata(column));
            field.as_ref().clone().with_metadata(all)
        };
        let fields: Vec<Field> = self.schema.fields().iter().zip(columns).map(field).collect();
        self.schema = Arc::new(Schema::new(fields));
        self
    }

    /// The schema of every batch that has ended. Before the first one it may change with that.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The schema of every batch, from now on.
    pub fn fixed(&mut self) -> &SchemaRef {
        if !self.options.fixed {
            // What the batch that is being built needs, if there is one.
            self.cut();
            self.fix(None);
        }
        &self.schema
    }

    /// The types are those of these arrays, or else those that they are now.
    fn fix(&mut self, arrays: Option<&[ArrayRef]>) {
        if std::mem::replace(&mut self.options.fixed, true) {
            return;
        }
        if let Some(arrays) = arrays {
            let field = |(field, array): (&Arc<Field>, &ArrayRef)| {
                field.as_ref().clone().with_data_type(array.data_type().clone())
            };
            let fields: Vec<Field> = self.schema.fields().iter().zip(arrays).map(field).collect();
            self.schema = Arc::new(Schema::new_with_metadata(fields, self.schema.metadata().clone()));
        }
        for (builder, field) in self.builders.iter_mut().zip(self.schema.fields()) {
            builder.fix(field.data_type(), &self.options);
        }
    }

    /// Rows of all batches so far.
    pub fn rows(&self) -> u64 {
        self.earlier + self.rows as u64
    }

    /// Approximate bytes of the batch that is being built.
    pub fn bytes(&self) -> usize {
        self.builders.iter().map(Builder::bytes).sum()
    }

    /// Approximate bytes of all batches so far, also of those that were taken.
    pub fn all_bytes(&self) -> u64 {
        self.earlier_bytes + self.bytes() as u64
    }

    /// Ends the batch that is being built if it has its size. To be called after each run.
    pub fn settle(&mut self) {
        if self.rows >= self.options.batch_rows || self.bytes() >= self.options.batch_bytes {
            self.cut();
        }
    }

    /// Ends the batch that is being built. What a run brought beyond the size of a batch becomes one of its own, so
    /// that no row is copied.
    pub fn cut(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return;
        }
        let bytes = self.bytes() as u64;
        let (batch, refused) = self.batch(rows);
        // Nothing is given after a value that does not fit.
        if let (Some(batch), None) = (batch, &self.refused) {
            let step = self.options.batch_rows.max(1);
            // The batches before its own are.
            let given = refused.as_ref().map_or(rows, |refused| {
                let before = refused.row.saturating_sub(self.earlier) as usize;
                before - before % step
            });
            let starts = (0..given).step_by(step);
            self.done.extend(starts.map(|start| batch.slice(start, step.min(given - start))));
        }
        self.refused = self.refused.take().or(refused);
        self.earlier += rows as u64;
        self.earlier_bytes += bytes;
    }

    /// The first value that could not be put into its column, once its batch has ended.
    pub fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// The number of batches that have ended and were not taken.
    pub fn ready(&self) -> usize {
        self.done.len()
    }

    /// Takes the next batch that has ended.
    pub fn take(&mut self) -> Option<RecordBatch> {
        self.done.pop_front()
    }

    /// The rows as one batch, unless they cannot be one, and the first value that does not fit, in whose place the batch
    /// has a null.
    fn batch(&mut self, rows: usize) -> (Option<RecordBatch>, Option<Refused>) {
        let (schema, earlier) = (self.schema.clone(), self.earlier);
        let refused = |column: usize, row: usize, reason: String| Refused {
            column,
            name: schema.field(column).name().clone(),
            row: earlier + row as u64,
            reason,
        };
        let mut arrays = Vec::with_capacity(self.builders.len());
        let mut first: Option<Refused> = None;
        let mut broken = false;
        for (number, builder) in self.builders.iter_mut().enumerate() {
            // First: a list has its rows only until it is finished.
            let fault = builder.fault();
            let array = builder.finish();
            if let Some(fault) = fault {
                let fault = refused(number, fault.index, fault.reason);
                if first.as_ref().is_none_or(|first| fault.row < first.row) {
                    first = Some(fault);
                }
            }
            let reason = match array {
                Ok(array) if array.len() == rows => {
                    arrays.push(array);
                    continue;
                }
                Ok(array) => format!("{} values were decoded for {rows} rows", array.len()),
                Err(error) => format!("the server sent bytes that are not text in UTF-8: {}", plain(&error)),
            };
            broken = true;
            first.get_or_insert(refused(number, 0, reason));
        }
        if broken {
            return (None, first);
        }
        self.fix(Some(&arrays));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        match RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options) {
            Ok(batch) => (Some(batch), first),
            Err(error) => (None, first.or_else(|| Some(refused(0, 0, plain(&error))))),
        }
    }
}

fn plain(error: &ArrowError) -> String {
    error.to_string()
}

impl ColumnSink for Batches {
    fn begin(&mut self, rows: usize) {
        self.rows += rows;
    }

    fn column<C: Cells>(&mut self, number: usize, cells: &C) {
        if let Some(builder) = self.builders.get_mut(number) {
            builder.decode(cells);
        }
    }
}
