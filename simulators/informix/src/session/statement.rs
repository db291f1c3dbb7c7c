//! Prepared statements of a session, and the messages that are meant for one.

use std::rc::Rc;

use super::cursor::Cursor;
use super::{SqliSession, replies};
use crate::codec::charset::Charset;
use crate::engine::convert::{convert, writes_dates};
use crate::engine::functions::FOREIGN_DATES;
use crate::engine::{Statement, Value};
use crate::errors::{Result, SqlError};
use crate::messages::{Bound, Keys, Message};
use crate::sql::{self, Action, Catalog, Column, Compiled};
use crate::types::Type;

/// A statement between PREPARE and RELEASE.
pub struct Prepared {
    pub(super) text: String,
    /// The number of definitions that the database had seen when it was prepared.
    pub(super) generation: u64,
    pub(super) compiled: Compiled,
    pub(super) values: Vec<Value>,
    pub(super) bound: Vec<Bound>,
    pub(super) cursor: Option<Cursor>,
    pub(super) cursor_name: String,
    pub(super) scroll: bool,
    pub(super) hold: bool,
    pub(super) auto_free: bool,
    /// The columns for which SQ_RET_TYPE requested the binary form.
    pub(super) binary: Vec<bool>,
    pub(super) insert_open: bool,
    pub(super) put_rows: i64,
    /// The data of an insert cursor, once it was used: the statement, its table, its parameters.
    pub(super) put_plan: Option<Rc<(String, String, Vec<Type>)>>,
    /// The columns of an inserted row that its client requests.
    pub(super) keys: Vec<Column>,
    /// The SQLite statement of a change, kept for the next execution.
    pub(super) write: Option<Statement>,
}

impl Prepared {
    fn new(text: String, generation: u64, compiled: Compiled) -> Self {
        Self {
            text,
            generation,
            compiled,
            values: Vec::new(),
            bound: Vec::new(),
            cursor: None,
            cursor_name: String::new(),
            scroll: false,
            hold: false,
            auto_free: false,
            binary: Vec::new(),
            insert_open: false,
            put_rows: 0,
            put_plan: None,
            keys: Vec::new(),
            write: None,
        }
    }
}

impl SqliSession {
    pub(super) fn prepare(&mut self, sql: &[u8], immediate: bool) -> Result<()> {
        self.forget_interrupt();
        let text = self.text(sql);
        let generation = self.generation();
        let compiled = match &self.open {
            Some(open) => sql::compile(&text, open)?,
            // Without a database the error is not a missing table, but a missing database.
            None => sql::compile(&text, &NoDatabase)
                .map_err(|error| if error.code == -206 { SqlError::new(-349, "") } else { error })?,
        };
        let free = self.statements.iter().position(Option::is_none);
        let id = free.unwrap_or(self.statements.len());
        if free.is_none() {
            self.statements.push(None);
        }
        let charset = self.charset();
        replies::describe(&mut self.link.out, &self.caps, charset, id as i16, &compiled);
        if compiled.kind == 6 && !immediate {
            replies::insert_done(&mut self.link.out, 0, None);
        }
        if !immediate {
            replies::done(&mut self.link.out, &self.caps, 0, 0, 0, 0);
            replies::cost(&mut self.link.out, 1);
        }
        self.statements[id] = Some(Prepared::new(text, generation, compiled));
        self.current = id;
        Ok(())
    }

    pub(super) fn prepared(&mut self) -> Result<&mut Prepared> {
        let statement = self.statements.get_mut(self.current).and_then(Option::as_mut);
        statement.ok_or_else(|| SqlError::new(-258, ""))
    }

    pub(super) fn statement_message(&mut self, message: Message) -> Result<()> {
        match message {
            Message::CursorName(name) => {
                let name = self.text(&name).to_lowercase();
                self.prepared()?.cursor_name = name;
            }
            Message::Bind(bound) => self.bind(bound)?,
            Message::BlobBind(blobs) => self.bind_blobs(blobs)?,
            Message::Scroll => self.prepared()?.scroll = true,
            Message::Hold => self.prepared()?.hold = true,
            Message::AutoFree => self.prepared()?.auto_free = true,
            Message::ReturnTypes { fetch, types } => {
                // Types 44 and 45 are the forms that programs use; without them extended types travel as text.
                self.prepared()?.binary = types.iter().map(|ty| fetch && matches!(ty & 0xff, 44 | 45)).collect();
            }
            Message::Open => self.open_cursor()?,
            Message::Fetch { buffer } => self.fetch(buffer)?,
            Message::ScrollFetch { kind, row } => self.scroll_fetch(kind, row)?,
            Message::Execute => self.execute()?,
            Message::Put { rows, bytes } => self.put(rows, &bytes)?,
            Message::Close => self.close_cursor()?,
            Message::Release => {
                // Releasing a statement that was not made because of an error is not an error: batches of commands do
                // so.
                if let Some(slot) = self.statements.get_mut(self.current) {
                    *slot = None;
                }
            }
            Message::DescribeInput => {
                let parameters = self.prepared()?.compiled.parameters.clone();
                replies::describe_input(&mut self.link.out, &self.caps, &parameters);
            }
            Message::GeneratedKeys(wanted) => self.generated_keys(&wanted)?,
            other => return Err(SqlError::unsupported(format!("{other:?}"))),
        }
        Ok(())
    }

    fn bind(&mut self, bound: Vec<Bound>) -> Result<()> {
        let prepared = self.prepared()?;
        if bound.len() != prepared.compiled.parameters.len() {
            return Err(SqlError::new(-254, ""));
        }
        prepared.bound = bound;
        if prepared.bound.iter().any(|bound| bound.blob_follows) {
            return Ok(());
        }
        self.convert_bound()
    }

    fn bind_blobs(&mut self, blobs: Vec<Vec<u8>>) -> Result<()> {
        let mut blobs = blobs.into_iter();
        for bound in &mut self.prepared()?.bound {
            if bound.blob_follows {
                bound.value = blobs.next().map_or(Value::Null, Value::Blob);
                bound.blob_follows = false;
            }
        }
        self.convert_bound()
    }

    fn convert_bound(&mut self) -> Result<()> {
        let charset = self.charset();
        let foreign_dates = self.foreign_dates;
        let prepared = self.prepared()?;
        let types: &[Type] = &prepared.compiled.parameters;
        let bound = prepared.bound.drain(..).zip(types);
        match bound.map(|(bound, target)| taken(bound, *target, charset, foreign_dates)).collect() {
            Ok(values) => {
                prepared.values = values;
                Ok(())
            }
            // A server converts values when it executes the statement, after it has looked whether that is older than its
            // table.
            Err(error) => self.refresh().and(Err(error)),
        }
    }

    /// The values of the parameters, all of which must be there.
    pub(super) fn parameter_values(&mut self) -> Result<Vec<Value>> {
        let prepared = self.prepared()?;
        if prepared.values.len() < prepared.compiled.parameters.len() {
            return Err(SqlError::new(-254, ""));
        }
        Ok(prepared.values.clone())
    }

    /// SQ_SGKPREPARE: notes which columns of the rows that an INSERT makes are sent back, and describes them.
    fn generated_keys(&mut self, wanted: &Keys) -> Result<()> {
        let prepared = self.prepared()?;
        let (6, Action::Write { table, .. }) = (prepared.compiled.kind, &prepared.compiled.action) else {
            return Ok(());
        };
        let table = table.clone();
        let Some(known) = self.opened()?.table(None, &table) else { return Ok(()) };
        let find = |name: &str| {
            let found = known.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
            found.cloned().ok_or_else(|| SqlError::new(-217, name))
        };
        let keys = match wanted {
            Keys::All => known.columns.iter().filter(|column| column.ty.kind.is_serial()).cloned().collect(),
            Keys::Names(names) => names.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?,
            Keys::Numbers(numbers) => numbers
                .iter()
                .map(|number| {
                    let column = usize::from(*number).checked_sub(1).and_then(|index| known.columns.get(index));
                    column.cloned().ok_or_else(|| SqlError::new(-217, number.to_string()))
                })
                .collect::<Result<Vec<_>>>()?,
        };
        let charset = self.charset();
        replies::describe_keys(&mut self.link.out, &self.caps, charset, self.current as i16, &keys);
        self.prepared()?.keys = keys;
        Ok(())
    }

    fn execute(&mut self) -> Result<()> {
        self.refresh()?;
        let prepared = self.prepared()?;
        let action = prepared.compiled.action.clone();
        let kind = prepared.compiled.kind;
        if let Action::Write { sql, table, serial } = &action {
            return self.execute_write(kind, sql, table, *serial);
        }
        if matches!(action, Action::Query { .. } | Action::Call { query: Some(_), .. }) {
            return Err(SqlError::new(-260, ""));
        }
        self.run_action(kind, action)
    }
}

/// A client's value, converted to the type that it is for.
pub fn taken(bound: Bound, target: Type, charset: Charset, foreign_dates: bool) -> Result<Value> {
    if foreign_dates && writes_dates(Some(bound.ty), target) {
        return Err(SqlError::unsupported(FOREIGN_DATES));
    }
    convert(bound.value, Some(bound.ty), target, charset)
}

/// The catalog of a session that has no database open.
struct NoDatabase;

impl Catalog for NoDatabase {
    fn table(&self, _: Option<&str>, _: &str) -> Option<sql::Table> {
        None
    }

    fn is_owner(&self, _: &str) -> bool {
        true
    }

    fn sequence(&self, _: &str) -> Option<(i64, i64)> {
        None
    }

    fn user_type(&self, _: &str) -> Option<Type> {
        None
    }

    fn primary_key(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn unique_keys(&self, _: &str) -> Vec<Vec<String>> {
        Vec::new()
    }

    fn is_temporary(&self, _: &str) -> bool {
        false
    }

    fn routine(&self, _: &str) -> Option<sql::Routine> {
        None
    }

    fn delimited_identifiers(&self) -> bool {
        false
    }

    fn cursor(&self, _: &str) -> Option<String> {
        None
    }
}
