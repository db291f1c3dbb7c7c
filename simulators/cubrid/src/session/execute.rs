//! Running statements.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use headrace_simulator_common::lock;
use headrace_simulator_common::sqlite::owned;
use rusqlite::types::{Value, ValueRef};

use super::requests::Options;
use super::{CasSession, Executed, Held};
use crate::convert::{self, Mode};
use crate::engine::Number;
use crate::errors::{Error, Result, cas};
use crate::limits::{COMMITTED_AT_ONCE, RESULTS};
use crate::sql::ast::{Statement, Table};
use crate::sql::{Action, Compiled, Compiler, Parser, ResultColumn, Write, markers, table, tokenize};
use crate::types::code::{ENUM, VARCHAR};
use crate::types::{Family, Type};
use crate::values::{self, Bound};
use crate::{catalog, lobs};

/// The definitions as a session sees them.
struct Seen<'a>(&'a CasSession);

impl crate::sql::Catalog for Seen<'_> {
    fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.0.table_of(name)
    }

    fn view(&self, name: &str) -> Option<(Vec<String>, String)> {
        catalog::view(&self.0.connection, name)
    }

    fn serial(&self, name: &str) -> bool {
        catalog::exists(&self.0.connection, name, "S")
    }

    fn variable(&self, name: &str) -> Option<Bound> {
        lock(&self.0.kept).variables.get(name).cloned()
    }

    fn zone(&self) -> String {
        self.0.zone.clone()
    }
}

impl CasSession {
    /// The table of a name.
    pub(super) fn table_of(&self, name: &str) -> Option<Arc<Table>> {
        let generation = self.server.database.generation.load(Ordering::Relaxed);
        let mut known = self.known.borrow_mut();
        if known.0 != generation {
            *known = (generation, std::collections::HashMap::new());
        }
        if let Some(found) = known.1.get(name) {
            return found.clone();
        }
        let found = catalog::table(&self.connection, name).map(Arc::new);
        known.1.insert(name.to_owned(), found.clone());
        found
    }

    /// Definitions have changed, or what had changed is undone.
    pub(super) fn redefine(&mut self) {
        self.redefined = true;
        self.server.database.generation.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn compiled(&self, statement: &Statement, markers: usize, bound: Option<&[Type]>) -> Result<Compiled> {
        let compiled = Compiler::new(&Seen(self), markers, bound).statement(statement)?;
        match &compiled.action {
            Action::Query(sql) => {
                self.connection.prepare_cached(sql).map_err(|error| self.failure(error, None, &[]))?;
            }
            Action::Write(writes) => {
                for write in writes {
                    self.connection
                        .prepare_cached(&write.sql)
                        .map_err(|error| self.failure(error, Some(write), &[]))?;
                }
            }
            Action::Other(_) => {}
        }
        let mut compiled = compiled;
        if let Action::Other(statement) = &compiled.action {
            if let Statement::Show(show) = &**statement {
                compiled.columns = self.show_columns(show);
            }
            if let Statement::DropTable { names, if_exists: false, .. } = &**statement {
                for name in names {
                    if !catalog::exists(&self.connection, name, "TV") {
                        return Err(Error::semantic(format!("Unknown class \"dba.{name}\". drop [dba.{name}]")));
                    }
                }
            }
        }
        Ok(compiled)
    }

    /// SQLite's text of a value that stands alone.
    pub(super) fn alone(&self, value: &crate::sql::ast::Expr, to: Option<&Type>) -> Result<(String, Type)> {
        Compiler::new(&Seen(self), 0, None).alone(value, to)
    }

    /// SQLite's text and the columns of a query.
    pub(super) fn alone_query(&self, query: &crate::sql::ast::Query) -> Result<(String, Vec<ResultColumn>)> {
        Compiler::new(&Seen(self), 0, None).alone_query(query)
    }

    /// The clock of a statement starts.
    pub(super) fn start(&self, timeout: i32) {
        let deadline = u64::try_from(timeout).ok().filter(|millis| *millis > 0);
        *lock(&self.state.deadline) = deadline.map(|millis| Instant::now() + Duration::from_millis(millis));
    }

    // ---- transactions

    // ---- statements

    /// Makes sure that the first statement of a handle fits the definitions.
    pub(super) fn fresh_part(&mut self, number: i32) -> Result<()> {
        if self.hooks.again != 0 {
            self.hooks.again -= 1;
            return Err(Error::cas(cas::STATEMENT_POOLING));
        }
        let generation = self.server.database.generation.load(Ordering::Relaxed);
        let handle = self.handle_at(number)?;
        if handle.stale {
            return Err(Error::cas(cas::STATEMENT_POOLING));
        }
        if handle.parts.is_empty() || handle.parts[0].generation == generation {
            return Ok(());
        }
        let (statement, markers, before) =
            (handle.parts[0].statement.clone(), handle.markers, handle.parts[0].compiled.columns.clone());
        let compiled = self.compiled(&statement, markers, None);
        let handle = self.handle_at(number)?;
        match compiled {
            Ok(compiled) if compiled.columns == before => {
                handle.parts[0].compiled = compiled;
                handle.parts[0].generation = generation;
                Ok(())
            }
            _ => {
                handle.stale = true;
                Err(Error::cas(cas::STATEMENT_POOLING))
            }
        }
    }

    /// Runs the first statement of a handle.
    pub(super) fn run_first(&mut self, number: i32, binds: &[Bound]) -> Result<Executed> {
        let handle = self.handle_at(number)?;
        let (statement, compiled) = (handle.parts[0].statement.clone(), handle.parts[0].compiled.clone());
        self.run_part(&statement, &compiled, binds, usize::MAX)
    }

    pub(super) fn execute_handle(
        &mut self,
        number: i32,
        binds: Vec<Bound>,
        options: &Options,
        body: &mut Vec<u8>,
    ) -> Result<()> {
        let handle = self.handle_at(number)?;
        if handle.schema {
            return Err(Error::cas(cas::HANDLE));
        }
        if binds.len() != handle.markers {
            return Err(Error::cas(cas::BINDS));
        }
        handle.results = VecDeque::new();
        handle.generated = None;
        let text = handle.text.clone();
        self.fresh_part(number)?;
        let is_open = |result: &Executed| result.held.is_some() && !result.closed;
        let open = self.handles.iter().flatten().filter(|handle| handle.results.iter().any(is_open)).count();
        if open >= RESULTS && !self.handle_at(number)?.parts[0].compiled.columns.is_empty() {
            let text = format!("Cannot allocate query entry any more. Maximum allocatable entries are {RESULTS}.");
            return Err(Error::server(-830, text));
        }
        if std::mem::take(&mut self.hooks.deadlock) {
            self.rollback()?;
            self.open = true;
            return Err(self.deadlock());
        }
        self.start(options.timeout);
        let limit = if options.max_rows == 0 { usize::MAX } else { options.max_rows };
        let handle = self.handle_at(number)?;
        let (statement, compiled) = (handle.parts[0].statement.clone(), handle.parts[0].compiled.clone());
        let own = compiled.parameters.len().min(binds.len());
        let guarded = options.all && is_several(&text);
        if guarded {
            // An error of one statement of a text undoes those before it.
            self.begin(true)?;
            self.guard("SAVEPOINT cub_text")?;
        }
        let done = self.execute_parts(number, &text, (&statement, &compiled, &binds[..own]), limit, options);
        if guarded {
            // A deadlock has ended the transaction, and the savepoint with it.
            let end = if done.is_ok() { "RELEASE cub_text" } else { "ROLLBACK TO cub_text; RELEASE cub_text" };
            let _ = self.guard(end);
        }
        let (results, count) = done?;
        let has_rows = results[0].held.is_some();
        self.handle_at(number)?.results = results;
        self.put_executed(body, number, count, options)?;
        if options.fetch && !has_rows {
            if options.autocommit {
                self.commit()?;
            }
            return Err(Error::cas(cas::NO_MORE_DATA));
        }
        self.first_page(number, options, body)
    }

    /// Runs the statements of a handle: the first, or all of its text. Returns their results, and the number of rows of
    /// the first.
    fn execute_parts(
        &mut self,
        number: i32,
        text: &str,
        (statement, compiled, binds): (&Statement, &Compiled, &[Bound]),
        limit: usize,
        options: &Options,
    ) -> Result<(VecDeque<Executed>, i32)> {
        let first = self.run_part(statement, compiled, binds, limit)?;
        let count = first.count;
        if options.keep_keys
            && let Statement::Insert(insert) = statement
        {
            let numbers = std::mem::take(&mut *lock(&self.state.generated));
            self.handle_at(number)?.generated = Some((insert.table.clone(), numbers));
        }
        let mut results = VecDeque::from([first]);
        if options.all {
            self.run_rest(number, text, limit, &mut results)?;
        }
        Ok((results, count))
    }

    fn guard(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|error| self.failure(error, None, &[]))
    }

    /// The first page, if it was asked for, and the commit.
    fn first_page(&mut self, number: i32, options: &Options, body: &mut Vec<u8>) -> Result<()> {
        let handle = self.handle_at(number)?;
        let holdable = handle.holdable;
        let Some(mut front) = handle.results.pop_front() else { return Ok(()) };
        let mut done = true;
        if let Some(held) = &mut front.held {
            done = false;
            if options.fetch {
                body.put_i32(0);
                done = self.put_page(body, held, 1, usize::MAX);
            }
            // The server takes what is left of the result for a part of the page that it has sent.
            let committed = options.autocommit && !holdable && !done && held.own_bytes() < COMMITTED_AT_ONCE;
            front.closed = committed;
            done |= committed;
            held.commits = options.autocommit && options.forward_only && !done;
        }
        let rows = front.held.is_some();
        self.handle_at(number)?.results.push_front(front);
        if options.autocommit && done {
            let kept = rows.then_some(number);
            self.commit()?;
            // What was just read to its end stays, to be read again.
            if let Some(number) = kept
                && let Some(front) = self.handle_at(number)?.results.front_mut()
            {
                front.closed = true;
            }
        }
        Ok(())
    }

    /// The statements behind the first of a text.
    fn run_rest(&mut self, number: i32, text: &str, limit: usize, results: &mut VecDeque<Executed>) -> Result<()> {
        let mut parser = Parser::new(text, tokenize(text)?);
        parser.statement()?;
        let mut parts = Vec::new();
        while let Some((statement, own)) = parser.statement()? {
            let part = self.part(statement, markers(own))?;
            results.push_back(self.run_part(&part.statement, &part.compiled, &[], limit)?);
            parts.push(part);
        }
        let handle = self.handle_at(number)?;
        handle.parts.truncate(1);
        handle.parts.extend(parts);
        Ok(())
    }

    pub(super) fn run_part(
        &mut self,
        statement: &Statement,
        compiled: &Compiled,
        binds: &[Bound],
        limit: usize,
    ) -> Result<Executed> {
        lock(&self.state.generated).clear();
        let again;
        let compiled = if compiled.open {
            let types: Vec<Type> = binds.iter().map(|bound| bound.ty.clone()).collect();
            again = self.compiled(statement, compiled.parameters.len(), Some(&types))?;
            again.described_by(compiled)
        } else {
            (compiled.clone(), compiled.columns.clone())
        };
        let (compiled, described) = compiled;
        let values = self.converted(&compiled, binds)?;
        let done = match &compiled.action {
            Action::Query(sql) => self.query(sql, &compiled, &described, &values, limit),
            Action::Write(writes) => self.write(compiled.kind, writes, &values),
            Action::Other(statement) => self.define(compiled.kind, statement),
        };
        let done = match done {
            Err(error) if error.code == -72 => {
                self.rollback()?;
                self.open = true;
                Err(error)
            }
            done => done,
        }?;
        let mut kept = lock(&self.kept);
        kept.rows = i64::from(done.count);
        if compiled.kind == 20
            && let Some(first) = lock(&self.state.generated).first()
        {
            kept.last_insert_id = Some(*first);
        }
        Ok(done)
    }

    /// The handle of a new object with the content of a bound value.
    fn object_of(&self, ty: &Type, bound: &Bound) -> Result<Vec<u8>> {
        let text = Type::sized(VARCHAR, crate::limits::STRING);
        let content = match &bound.value {
            Value::Blob(bytes) if bound.ty.family() == Family::Bits => bytes.clone(),
            value => match convert::convert(value.clone(), &bound.ty, &text, Mode::Cast, &self.zone)? {
                Value::Text(text) => self.server.config.charset.encode(&text),
                _ => Vec::new(),
            },
        };
        let size = content.len();
        Ok(lobs::handle(ty.code, size, &self.state.lobs.create(content)))
    }

    /// The bound values as SQLite gets them.
    fn converted(&self, compiled: &Compiled, binds: &[Bound]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(binds.len());
        for (bound, parameter) in binds.iter().zip(&compiled.parameters) {
            let Some(ty) = &parameter.ty else {
                values.push(bound.value.clone());
                continue;
            };
            let mode = parameter.mode;
            if mode == Mode::Assign
                && ty.family() == Family::Lob
                && let Value::Blob(handle) = &bound.value
                && let Some(name) = lobs::name(handle)
            {
                lock(&self.state.own_lobs).retain(|own| *own != name);
            }
            if ty.family() == Family::Lob && bound.ty.family() != Family::Lob && bound.value != Value::Null {
                values.push(Value::Blob(self.object_of(ty, bound)?));
                continue;
            }
            if mode == Mode::Compare && ty.is_number() && bound.ty.is_number() {
                // A number keeps its fraction in a comparison.
                let fraction = ty.family() == Family::Numeric;
                values.push(match (&bound.value, fraction, bound.ty.family()) {
                    (Value::Text(text), false, Family::Numeric) => Value::Real(text.parse().unwrap_or(0.0)),
                    (value, true, _) => {
                        convert::convert(value.clone(), &bound.ty, &Type::numeric(38, -1), mode, &self.zone)?
                    }
                    (value, ..) => value.clone(),
                });
                continue;
            }
            let value = convert::convert(bound.value.clone(), &bound.ty, ty, mode, &self.zone);
            values.push(value.map_err(|error| match error.code {
                -181 | -427 | -494 if ty.code != ENUM || ty.collection != 0 => {
                    Error::semantic(format!("Cannot coerce host var to type {}. ", ty.host_name()))
                }
                _ => error,
            })?);
        }
        Ok(values)
    }

    fn query(
        &mut self,
        sql: &str,
        compiled: &Compiled,
        described: &[ResultColumn],
        values: &[Value],
        limit: usize,
    ) -> Result<Executed> {
        self.begin(false)?;
        let charset = self.server.config.charset;
        let typed: Vec<(&Type, &Type)> =
            described.iter().zip(&compiled.columns).map(|(described, actual)| (&described.ty, &actual.ty)).collect();
        let rows = self.waiting(
            |session| {
                let mut statement = session.connection.prepare_cached(sql)?;
                for index in 1..=statement.parameter_count() {
                    let value = values.get(index - 1).unwrap_or(&Value::Null);
                    statement.raw_bind_parameter(index, value)?;
                }
                let mut found = statement.raw_query();
                let mut rows = Vec::new();
                while let Some(row) = found.next()? {
                    let mut cells = Vec::new();
                    for (index, (described, ty)) in typed.iter().enumerate() {
                        let value = row.get_ref(index)?;
                        if described.code != 0 || described.collection != 0 {
                            if (described.code, described.collection) == (ty.code, ty.collection) {
                                values::put_cell(&mut cells, ty, value, charset);
                                continue;
                            }
                            let value = convert::convert(owned(value), ty, described, Mode::Compare, &session.zone);
                            let value = value.map_err(|error| error.through_sqlite())?;
                            values::put_cell(&mut cells, described, ValueRef::from(&value), charset);
                        } else if ty.code == 0 && ty.collection == 0 {
                            values::put_typed_cell(&mut cells, &engine_type(&owned(value)), value, charset);
                        } else {
                            values::put_typed_cell(&mut cells, ty, value, charset);
                        }
                    }
                    rows.push(cells);
                    if rows.len() >= limit {
                        break;
                    }
                }
                Ok(rows)
            },
            None,
            values,
        )?;
        let held = Held { columns: described.to_vec(), kind: compiled.kind, rows, commits: false, next: 1 };
        Ok(Executed { kind: held.kind, count: held.rows.len() as i32, held: Some(held), closed: false })
    }

    fn write(&mut self, kind: i8, writes: &[Write], values: &[Value]) -> Result<Executed> {
        self.begin(true)?;
        let several = writes.len() > 1;
        if several {
            self.connection.execute_batch("SAVEPOINT cub_several").map_err(|error| self.failure(error, None, &[]))?;
        }
        let mut total = 0;
        let mut failed = None;
        for write in writes {
            match self.write_one(write, values) {
                Ok(count) => total += count,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        if several {
            let end =
                if failed.is_some() { "ROLLBACK TO cub_several; RELEASE cub_several" } else { "RELEASE cub_several" };
            self.connection.execute_batch(end).map_err(|error| self.failure(error, None, &[]))?;
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Executed::changed(kind, total)),
        }
    }

    fn write_one(&mut self, write: &Write, values: &[Value]) -> Result<i64> {
        let rows_of = |session: &Self| -> i64 {
            let sql = format!("SELECT count(*) FROM {}", table(&write.table));
            session.connection.query_row(&sql, [], |row| row.get(0)).unwrap_or(0)
        };
        let before = if write.replace { rows_of(self) } else { 0 };
        self.state.inserted.store(0, Ordering::Relaxed);
        self.state.updated.store(0, Ordering::Relaxed);
        let changed = self.waiting(
            |session| {
                let mut statement = session.connection.prepare_cached(&write.sql)?;
                for index in 1..=statement.parameter_count() {
                    let value = values.get(index - 1).unwrap_or(&Value::Null);
                    statement.raw_bind_parameter(index, value)?;
                }
                statement.raw_execute()
            },
            Some(write),
            values,
        )?;
        let mut count = changed as i64;
        if write.upsert {
            count += self.state.updated.load(Ordering::Relaxed);
        }
        if write.replace {
            // The rows that made place count, too.
            count += before + count - rows_of(self);
        }
        Ok(count)
    }

    /// The numbers of a table's AUTO_INCREMENT or of a serial.
    pub(super) fn set_number(&self, key: &str, start: i64, step: i64) {
        lock(&self.server.database.numbers).insert(key.to_owned(), Number { next: start, step, used: false });
    }

    /// The foreign key that refers to a table.
    pub(super) fn referring(&self, name: &str, is_asked: impl Fn(&str) -> bool) -> Option<String> {
        let sql = "SELECT name FROM cub_class WHERE kind = 'T'";
        let mut statement = self.connection.prepare_cached(sql).ok()?;
        let names: Vec<String> = statement.query_map([], |row| row.get(0)).ok()?.flatten().collect();
        names.iter().filter(|table| is_asked(table)).filter_map(|table| self.table_of(table)).find_map(|table| {
            let refers = |key: &&crate::sql::ast::Key| key.references.as_ref().is_some_and(|it| it.0 == name);
            table.keys.iter().find(refers).map(|key| key.name.clone())
        })
    }
}

/// The type of a value in a column without one.
fn engine_type(value: &Value) -> Type {
    use crate::types::code::*;
    match value {
        Value::Integer(number) if i32::try_from(*number).is_ok() => Type::of(INT),
        Value::Integer(_) => Type::of(BIGINT),
        Value::Real(_) => Type::of(DOUBLE),
        Value::Blob(_) => Type::of(BIT),
        _ => Type::of(CHAR),
    }
}

impl Compiled {
    /// This statement, typed by its values, with the columns that its metadata has.
    fn described_by(&self, prepared: &Self) -> (Self, Vec<ResultColumn>) {
        (self.clone(), prepared.columns.clone())
    }
}

use crate::wire::Output;

/// Returns true if a statement, or an error, comes after the first of a text.
fn is_several(text: &str) -> bool {
    let second = || {
        let mut parser = Parser::new(text, tokenize(text)?);
        parser.statement()?;
        parser.statement()
    };
    !matches!(second(), Ok(None))
}
