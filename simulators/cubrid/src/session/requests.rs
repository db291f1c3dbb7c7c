//! One function for each function code.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use headrace_simulator_common::lock;

use super::batches::Short;
use super::{After, CasSession, Executed, Handle, Part, VERSION};
use crate::errors::{Error, Origin, Result, cas};
use crate::limits::STRING;
use crate::sql::{Parser, ResultColumn, markers, tokenize};
use crate::types::Type;
use crate::values::{self, Bound};
use crate::wire::{Arguments, Output};

/// What an EXECUTE says beside its values.
pub(super) struct Options {
    pub all: bool,
    pub keep_keys: bool,
    pub max_rows: usize,
    pub fetch: bool,
    pub autocommit: bool,
    pub forward_only: bool,
    pub timeout: i32,
}

impl CasSession {
    pub(super) fn handle(&mut self, payload: &[u8], body: &mut Vec<u8>) -> Result<After> {
        let (code, rest) = payload.split_first().ok_or_else(|| Error::cas(cas::COMMUNICATION))?;
        if self.server.config.trace {
            let hex: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("{} > {code} {hex} {}", self.number, String::from_utf8_lossy(payload).replace('\0', "."));
        }
        let mut arguments = Arguments::split(rest)?;
        let arguments = &mut arguments;
        if let Some(error) = self.lost_server(*code, arguments) {
            return Err(error);
        }
        // Almost all requests open a transaction.
        let before = self.open;
        self.open = true;
        match code {
            1 => self.end_transaction(arguments, body)?,
            2 => self.prepare(arguments, body)?,
            3 => self.execute(arguments, body)?,
            4 | 5 => {
                self.open = before;
                self.parameter(*code == 5, arguments, body)?;
            }
            6 => {
                self.open = before;
                self.close_handle(arguments, body)?;
            }
            7 => self.cursor(arguments, body)?,
            8 => self.fetch(arguments, body)?,
            9 => self.schema_info(arguments, body)?,
            15 => {
                body.put_i32(0);
                body.extend(VERSION.as_bytes());
                body.push(0);
                return Ok(After::Restore);
            }
            19 => self.next_result(arguments, body)?,
            20 => self.execute_batch(arguments, body)?,
            21 => {
                if let Err(code) = self.execute_array(arguments, body) {
                    match code {
                        Short::Code(code) => {
                            body.clear();
                            body.put_i32(self.renumbered(&Error::cas(code)));
                        }
                        Short::Error(error) => return Err(error),
                    }
                }
            }
            23 => {
                self.open = before;
                self.attribute_type(arguments, body)?;
            }
            24 => {
                let _handle = arguments.i32()?;
                let _plan = arguments.i8()?;
                let text = arguments.text()?.map(|bytes| self.text(Some(bytes)));
                let plan = text.map(|text| self.plan(&text)).transpose()?.unwrap_or_default();
                body.put_i32(0);
                body.extend(plan.as_bytes());
                body.push(0);
            }
            26 => self.savepoint(arguments, body)?,
            27 => self.parameter_info(arguments, body)?,
            31 => {
                body.put_i32(0);
                return Ok(After::Close);
            }
            32 => {}
            34 => self.generated_keys(arguments, body)?,
            35..=37 => {
                let wanted = if *code == 35 { 1 } else { 3 };
                if arguments.left() != wanted {
                    body.put_i32(self.renumbered(&Error::cas(cas::ARGUMENTS)));
                    return Ok(After::Status);
                }
                match code {
                    35 => self.lob_new(arguments, body)?,
                    36 => self.lob_write(arguments, body)?,
                    _ => self.lob_read(arguments, body)?,
                }
            }
            38 => {
                body.put_i32(0);
                return Ok(After::Restore);
            }
            39 => {
                body.put_i32(0);
                body.put_i32(lock(&self.kept).rows as i32);
            }
            40 => self.last_insert_id(body),
            41 => self.prepare_and_execute(arguments, body)?,
            42 => {
                self.open = before;
                let handle = self.handle_at(arguments.i32()?)?;
                for result in &mut handle.results {
                    result.closed = true;
                }
            }
            43 => return Err(Error::cas(cas::NOT_IMPLEMENTED)),
            44 => {
                self.open = before;
                let keep = arguments.i32()? == 2;
                body.put_i32(0);
                body.put_i32(self.server.broker.set_mode(self.place, keep));
            }
            10..=14 | 16..=18 | 22 | 25 | 28..=30 | 33 => return Err(Error::cas(cas::NOT_IMPLEMENTED)),
            _ => return Err(Error::cas(cas::COMMUNICATION)),
        }
        Ok(After::Status)
    }

    fn end_transaction(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        match arguments.i8()? {
            1 if std::mem::take(&mut self.hooks.deadlock) => {
                self.rollback()?;
                return Err(self.deadlock());
            }
            1 => self.commit()?,
            2 => self.rollback()?,
            _ => return Err(Error::cas(-10005)),
        }
        body.put_i32(0);
        Ok(())
    }

    pub(super) fn text(&self, bytes: Option<&[u8]>) -> String {
        self.server.config.charset.decode(bytes.unwrap_or_default())
    }

    fn prepare(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let text = arguments.text()?;
        let text = self.text(text);
        let flags = arguments.i8()?;
        let autocommit = arguments.i8()? != 0;
        while arguments.left() > 0 {
            let number = arguments.i32()?;
            self.forget_handle(number);
        }
        let prepared = self.prepared(text, flags);
        if prepared.is_err() && autocommit {
            self.rollback()?;
        }
        let number = prepared?;
        self.put_prepared(body, number)
    }

    /// The plan of a statement, which is compiled for it: there is none to tell about.
    fn plan(&self, text: &str) -> Result<String> {
        let mut parser = Parser::new(text, tokenize(text)?);
        let (statement, _) =
            parser.statement()?.ok_or_else(|| Error::syntax("syntax error, unexpected end of file "))?;
        self.part(statement, markers(text))?;
        Ok("Query plan:\n".into())
    }

    pub(super) fn put_prepared(&mut self, body: &mut Vec<u8>, number: i32) -> Result<()> {
        let handle = self.handle_at(number)?;
        let (kind, markers) = (handle.parts[0].compiled.kind, handle.markers);
        let columns = handle.parts[0].compiled.columns.clone();
        body.put_i32(number);
        body.put_i32(-1);
        body.put_i8(kind);
        body.put_i32(markers as i32);
        body.put_i8(0);
        self.put_columns(body, &columns);
        Ok(())
    }

    pub(super) fn prepared(&mut self, text: String, flags: i8) -> Result<i32> {
        if flags & 0x0a == 0x0a {
            return Err(Error::cas(cas::HOLDABLE));
        }
        let tokens = tokenize(&text)?;
        let mut parser = Parser::new(&text, tokens);
        let (statement, _) =
            parser.statement()?.ok_or_else(|| Error::syntax("syntax error, unexpected end of file "))?;
        let markers = markers(&text);
        let part = self.part(statement, markers)?;
        let handle = Handle {
            text,
            holdable: flags & 0x08 != 0,
            parts: vec![part],
            markers,
            results: VecDeque::new(),
            schema: false,
            generated: None,
            stale: false,
        };
        self.keep_handle(handle)
    }

    pub(super) fn part(&self, statement: crate::sql::ast::Statement, markers: usize) -> Result<Part> {
        let generation = self.server.database.generation.load(Ordering::Relaxed);
        let compiled = self.compiled(&statement, markers, None)?;
        Ok(Part { statement, compiled, generation })
    }

    fn forget_handle(&mut self, number: i32) {
        if let Some(slot) = usize::try_from(number - 1).ok().and_then(|at| self.handles.get_mut(at)) {
            *slot = None;
        }
    }

    fn close_handle(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let number = arguments.i32()?;
        self.forget_handle(number);
        if arguments.left() > 0 && arguments.i8()? != 0 {
            self.commit()?;
        }
        body.put_i32(0);
        Ok(())
    }

    /// The pairs of type and value that are left.
    pub(super) fn binds(&self, arguments: &mut Arguments<'_>) -> Result<Vec<Bound>> {
        let mut all = Vec::new();
        while arguments.left() >= 2 {
            let ty = arguments.i8()? as u8;
            all.push(values::bound(ty, arguments.bytes()?, self.server.config.charset)?);
        }
        Ok(all)
    }

    fn execute(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let number = arguments.i32()?;
        let flags = arguments.i8()?;
        let _max_column_size = arguments.i32()?;
        let max_rows = arguments.i32()?.max(0) as usize;
        let _modes = arguments.bytes()?;
        let fetch = arguments.i8()? != 0;
        let autocommit = arguments.i8()? != 0;
        let forward_only = arguments.i8()? != 0;
        let _cache = arguments.bytes()?;
        let timeout = if self.version() >= 1 { arguments.i32()? } else { 0 };
        let options = Options {
            all: flags & 2 != 0,
            keep_keys: flags & 0x40 != 0,
            max_rows,
            fetch,
            autocommit,
            forward_only,
            timeout,
        };
        let done = (|| {
            self.handle_at(number)?;
            let binds = self.binds(arguments)?;
            self.execute_handle(number, binds, &options, body)
        })();
        self.autocommit_after_error(done, autocommit)
    }

    /// An error in autocommit rolls back.
    pub(super) fn autocommit_after_error<T>(&mut self, done: Result<T>, autocommit: bool) -> Result<T> {
        if let Err(error) = &done
            && autocommit
            && !(error.code == cas::NO_MORE_DATA && error.origin == Origin::Cas)
        {
            self.rollback()?;
        }
        done
    }

    fn prepare_and_execute(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let count = arguments.i32()?;
        let text = arguments.text()?;
        let text = self.text(text);
        let flags = arguments.i8()?;
        let autocommit = arguments.i8()? != 0;
        for _ in 3..count {
            let number = arguments.i32()?;
            self.forget_handle(number);
        }
        let execute = arguments.i8()?;
        let _max_column_size = arguments.i32()?;
        let max_rows = arguments.i32()?.max(0) as usize;
        let _ = arguments.bytes()?;
        let _cache = arguments.bytes()?;
        let timeout = if arguments.left() > 0 { arguments.i32()? } else { 0 };
        let done = (|| {
            let number = self.prepared(text, flags)?;
            self.put_prepared(body, number)?;
            let handle = self.handle_at(number)?;
            let fetch = matches!(handle.parts[0].compiled.kind, 21);
            let options = Options {
                all: execute & 2 != 0,
                keep_keys: execute & 0x40 != 0,
                max_rows,
                fetch,
                autocommit,
                forward_only: true,
                timeout,
            };
            let executed = self.execute_handle(number, Vec::new(), &options, body);
            if executed.is_err() {
                self.forget_handle(number);
            }
            executed
        })();
        self.autocommit_after_error(done, autocommit)
    }

    fn fetch(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let number = arguments.i32()?;
        let position = usize::try_from(arguments.i32()?).unwrap_or(0).max(1);
        let handle = self.handle_at(number)?;
        // Of rows of a statement the server sends as many as a page has, whatever the number is.
        let most = if handle.schema { usize::try_from(arguments.i32()?).unwrap_or(0).max(1) } else { usize::MAX };
        let result = handle.results.pop_front().filter(|result| result.held.is_some() && !result.closed);
        let Some(mut result) = result else { return Err(Error::cas(cas::NO_MORE_DATA)) };
        let Some(held) = &mut result.held else { return Err(Error::cas(cas::NO_MORE_DATA)) };
        let total = held.rows.len();
        if position == total + 1 && total > 0 {
            self.handle_at(number)?.results.push_front(result);
            return Err(Error::server(-440, "Invalid cursor position."));
        }
        let commits = held.commits;
        body.put_i32(0);
        let position = position.min(total + 1);
        let end = self.put_page(body, held, position, most);
        if end && commits {
            held.commits = false;
        }
        self.handle_at(number)?.results.push_front(result);
        if end && commits {
            if let Ok(handle) = self.handle_at(number) {
                for result in &mut handle.results {
                    result.closed = true;
                }
            }
            self.commit()?;
        }
        Ok(())
    }

    fn cursor(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let number = arguments.i32()?;
        let result = self.handle_at(number)?.results.front().filter(|result| !result.closed);
        let held = result.and_then(|result| result.held.as_ref());
        let count = held.ok_or_else(|| Error::cas(cas::NO_MORE_DATA))?.rows.len();
        body.put_i32(0);
        body.put_i32(count as i32);
        Ok(())
    }

    fn next_result(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let number = arguments.i32()?;
        let handle = self.handle_at(number)?;
        if handle.results.len() < 2 {
            return Err(Error::cas(cas::NO_MORE_RESULT));
        }
        handle.results.pop_front();
        let Some(front) = handle.results.front() else { return Err(Error::cas(cas::NO_MORE_RESULT)) };
        let (kind, count) = (front.kind, front.count);
        let columns: Vec<ResultColumn> = front.held.as_ref().map_or_else(Vec::new, |held| held.columns.clone());
        body.put_i32(0);
        body.put_i32(count);
        body.put_i8(kind);
        body.put_i8(0);
        self.put_columns(body, &columns);
        Ok(())
    }

    fn parameter(&mut self, set: bool, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let id = arguments.i32()?;
        if set {
            let value = arguments.i32()?;
            match id {
                1 => self.set_isolation(value)?,
                2 => self.lock_timeout = if value == -2 { -1 } else { value },
                4 => {}
                _ => return Err(Error::cas(cas::PARAMETER)),
            }
            body.put_i32(0);
            return Ok(());
        }
        let value = match id {
            1 => self.isolation,
            2 => self.lock_timeout,
            3 => STRING,
            4 => 0,
            5 => -2,
            _ => return Err(Error::cas(cas::PARAMETER)),
        };
        body.put_i32(0);
        body.put_i32(value);
        Ok(())
    }

    pub(super) fn set_isolation(&mut self, level: i32) -> Result<()> {
        if !(4..=6).contains(&level) {
            let text = "Isolation level value in MVCC must be 'read committed', 'repeatable read' or 'serializable'.";
            return Err(Error::server(-1157, text));
        }
        self.isolation = level;
        Ok(())
    }

    fn savepoint(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let command = arguments.i8()?;
        let name = arguments.text()?;
        let name = self.text(name);
        match command {
            1 => self.set_savepoint(&name)?,
            2 => self.rollback_to(&name)?,
            _ => return Err(Error::cas(cas::ARGUMENTS)),
        }
        body.put_i32(0);
        Ok(())
    }

    fn parameter_info(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let number = arguments.i32()?;
        let parameters = self.handle_at(number)?.parts[0].compiled.parameters.clone();
        body.put_i32(parameters.len() as i32);
        for parameter in &parameters {
            let ty = parameter.ty.clone().unwrap_or_else(Type::unknown);
            body.put_i8(1);
            self.put_type(body, &ty);
            body.put_i16(ty.scale);
            body.put_i32(ty.precision);
        }
        Ok(())
    }

    fn generated_keys(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let number = arguments.i32()?;
        let generated = self.handle_at(number)?.generated.clone();
        let Some((table, numbers)) = generated else { return Err(Error::server(0, "")) };
        let defined = self.table_of(&table).ok_or_else(|| Error::server(0, ""))?;
        let column = defined.columns.iter().find(|column| column.auto.is_some()).ok_or_else(|| Error::server(0, ""))?;
        let shown = ResultColumn { name: column.name.clone(), ty: column.ty.clone(), meta: None };
        body.put_i32(0);
        body.put_i8(21);
        body.put_i32(numbers.len() as i32);
        body.put_i8(1);
        body.put_i32(1);
        self.put_short(body, &shown, true);
        body.put_i32(numbers.len() as i32);
        for (index, number) in numbers.iter().enumerate() {
            body.put_i32(index as i32 + 1);
            body.put_zeros(8);
            let value = rusqlite::types::Value::Integer(*number);
            values::put_cell(body, &shown.ty, (&value).into(), self.server.config.charset);
        }
        Ok(())
    }

    fn last_insert_id(&self, body: &mut Vec<u8>) {
        let last = lock(&self.kept).last_insert_id;
        body.put_i32(0);
        let value = last.map_or(rusqlite::types::Value::Null, |id| rusqlite::types::Value::Text(id.to_string()));
        values::put_typed_cell(body, &Type::numeric(38, 0), (&value).into(), self.server.config.charset);
    }

    pub(super) fn put_executed(
        &mut self,
        body: &mut Vec<u8>,
        number: i32,
        first: i32,
        options: &Options,
    ) -> Result<()> {
        let handle = self.handle_at(number)?;
        let all: Vec<(i8, i32)> = handle.results.iter().map(|result| (result.kind, result.count)).collect();
        let several = handle.parts.len() > 1;
        let (kind, markers) = (handle.parts[0].compiled.kind, handle.markers);
        let columns = handle.parts[0].compiled.columns.clone();
        body.put_i32(first);
        body.put_i8(0);
        body.put_i32(all.len() as i32);
        for (kind, count) in all {
            body.put_i8(kind);
            body.put_i32(count);
            body.put_zeros(16);
        }
        if self.version() > 1 {
            body.put_i8(i8::from(several));
            if several {
                body.put_i32(-1);
                body.put_i8(kind);
                body.put_i32(markers as i32);
                body.put_i8(0);
                self.put_columns(body, &columns);
            }
        }
        if self.version() >= 5 {
            body.put_i32(-2);
        }
        let _ = options;
        Ok(())
    }

    fn attribute_type(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let table = arguments.text()?;
        let column = arguments.text()?;
        let (table, column) = (self.text(table).to_lowercase(), self.text(column).to_lowercase());
        let table = table.rsplit('.').next().unwrap_or_default().to_owned();
        let defined = self.table_of(&table).ok_or_else(|| Error::server(-64, format!("Unknown class \"{table}\".")))?;
        let found = defined.columns.iter().find(|it| it.name == column);
        let ty = &found.ok_or_else(|| Error::server(-202, format!("Attribute \"{column}\" was not found.")))?.ty;
        let text = match ty.name().split_once('(') {
            Some((_, rest)) if ty.collection == 0 => format!("{}({rest}", ty.long_name()),
            _ => ty.long_name().to_owned(),
        };
        body.put_i32(0);
        body.extend(text.as_bytes());
        body.push(0);
        Ok(())
    }
}

impl Executed {
    /// A statement that returned no rows.
    pub(super) fn changed(kind: i8, count: i64) -> Self {
        Self { kind, count: count as i32, held: None, closed: false }
    }
}
