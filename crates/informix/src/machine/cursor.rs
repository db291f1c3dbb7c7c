//! Cursors: those of a query, which close by themselves, and those that a response handler keeps open.

use super::pending::{Source, Stage, Used};
use super::query::Query;
use super::request::{Declare, Expect, Position, Request};
use super::stage::RequestEvent;
use super::statement::Statement;
use super::{IfxHandler, Machine};
use crate::limits as own;
use crate::messages::{client, scroll, tag};
use headrace_core::WriteBuffer;
use std::sync::Arc;

/// A cursor that a response handler keeps open. It has its statement for itself.
#[derive(Debug)]
pub(super) struct Open {
    statement: Arc<Statement>,
    scroll: bool,
}

/// The options of a cursor.
pub(super) struct Opening {
    name: Option<Arc<str>>,
    scroll: bool,
    with_hold: bool,
    bytes: i32,
}

impl Opening {
    pub(super) fn of(request: &Request) -> Self {
        match request {
            Request::Declare(Declare { name, scroll, with_hold, bytes, .. }) => {
                Self { name: name.clone(), scroll: *scroll, with_hold: *with_hold, bytes: *bytes }
            }
            _ => Self { name: None, scroll: false, with_hold: false, bytes: own::FIRST_FETCH_BYTES },
        }
    }
}

impl<H: IfxHandler> Machine<H> {
    /// Opens a cursor and requests its first rows, in one group. Those of a scroll cursor are requested by number.
    pub(super) fn open_cursor(
        &mut self,
        statement: &Statement,
        opening: &Opening,
        wanted: &[client::ReturnType],
        bound: &[u8],
        write_buffer: &mut WriteBuffer,
    ) {
        let size = self.buffer(opening.bytes);
        let made = self.cursor_name();
        let out = write_buffer.tail();
        client::id(out, statement.id);
        client::curname(out, opening.name.as_deref().unwrap_or(&made));
        out.extend_from_slice(bound);
        for (asked, tag) in [(opening.scroll, tag::SQ_SCROLL), (opening.with_hold, tag::SQ_HOLD)] {
            if asked {
                client::plain(out, tag);
            }
        }
        client::plain(out, tag::SQ_OPEN);
        if !wanted.is_empty() || !opening.scroll {
            client::id(out, statement.id);
        }
        if !wanted.is_empty() {
            client::ret_type(out, false, wanted);
        }
        if !opening.scroll {
            client::nfetch(out, size);
        }
        client::eot(out);
        self.expect(Expect::Fetch);
        if let Some(pending) = self.queue.last_mut() {
            pending.go(RequestEvent::Opened, Stage::Query(Query::fetching()));
        }
    }

    /// A name that no other cursor of the session has.
    pub(super) fn cursor_name(&mut self) -> String {
        self.cursors += 1;
        // Not by `format!`, which took 1,200 instructions: a twentieth of a query of one row; nor character by character
        // into a String that grows, which took 650.
        let mut name = *b"_hr0000000000000";
        let mut left = self.cursors;
        for digit in name[3..].iter_mut().rev() {
            *digit = b"0123456789abcdef"[left as usize & 15];
            left >>= 4;
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    /// Requests more rows of a cursor that is kept open.
    pub(super) fn fetch_cursor(&mut self, cx: H::Context<'_>, at: usize, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let Some(cursor) = pending.request.cursor().and_then(|cursor| self.open_cursors.get(&cursor)) else {
            return pending.refuse("the cursor is not open".into());
        };
        let scroll = matches!(pending.request, Request::Scroll { .. });
        if scroll != cursor.scroll {
            return pending.refuse("only the rows of a scroll cursor are fetched by number, and only so".into());
        }
        let statement = cursor.statement.clone();
        let columns = statement.columns.clone();
        pending.used = Some(Used { statement: statement.clone(), source: Source::Cursor });
        if let (Some(handler), Some(columns)) = (&mut pending.slot.handler, &columns) {
            handler.columns(cx, columns);
        }
        // A row by number is one group, and others may follow it at once; unless values are to be fetched besides.
        match &columns {
            Some(columns) if scroll && !columns.large => {
                pending.go(RequestEvent::StartWhole, Stage::Query(Query::sent()));
            }
            _ => pending.go(RequestEvent::StartFetch, Stage::Query(Query::fetching())),
        }
        let request = pending.request.clone();
        let out = write_buffer.tail();
        client::id(out, statement.id);
        match request {
            Request::Scroll { to: Position::Row(row), .. } => {
                client::sfetch(out, scroll::ABSOLUTE, row, self.buffer(own::FIRST_FETCH_BYTES));
            }
            Request::Scroll { to: Position::Last, .. } => {
                client::sfetch(out, scroll::LAST, 0, self.buffer(own::FIRST_FETCH_BYTES));
            }
            Request::Fetch { bytes, .. } => client::nfetch(out, self.buffer(bytes)),
            _ => {}
        }
        client::eot(out);
        self.expect(Expect::Fetch);
    }

    /// Closes a cursor; its statement is kept for the next one.
    pub(super) fn close_cursor(&mut self, cursor: u64, write_buffer: &mut WriteBuffer) {
        if let Some(open) = self.open_cursors.remove(&cursor) {
            self.put_back_statement(open.statement, write_buffer);
        }
    }

    fn put_back_statement(&mut self, statement: Arc<Statement>, write_buffer: &mut WriteBuffer) {
        let (id, sql) = (statement.id, statement.sql.clone());
        let keep = self.statements.keeps(&sql) && self.statements.get(&*sql).is_none();
        self.clean_up(write_buffer, id, true, !keep);
        if keep {
            self.statements.keep(sql, statement);
        }
    }

    /// A request about a cursor has ended: the cursor stays open if it may have more rows and a response handler to
    /// take them.
    pub(super) fn keep_cursor(
        &mut self,
        cursor: u64,
        request: &Request,
        statement: Arc<Statement>,
        keep: bool,
        write_buffer: &mut WriteBuffer,
    ) {
        match request {
            Request::Declare(declare) if keep => {
                self.close_cursor(cursor, write_buffer);
                self.open_cursors.insert(cursor, Open { statement, scroll: declare.scroll });
            }
            Request::Declare(_) => self.put_back_statement(statement, write_buffer),
            _ if keep => {}
            _ => self.close_cursor(cursor, write_buffer),
        }
    }
}
