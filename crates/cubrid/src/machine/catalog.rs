//! What the server reports about statements and tables: the catalogue (SCHEMA_INFO), and plans (GET_QUERY_INFO).

use super::pages::Pages;
use super::pending::Stage;
use super::request::Request;
use super::stage::Event;
use super::statement::Statement;
use super::{CasHandler, Expect, Machine};
use crate::messages::server::SchemaInfo;
use crate::messages::{Reader, client, server};
use crate::types::code;
use crate::types::encode::coded;
use headrace_core::{CodeSet, Fatal, Mismatch, WriteBuffer};
use std::borrow::Cow;
use std::sync::Arc;

fn name(name: Option<&Arc<str>>, codeset: CodeSet) -> Result<Option<Cow<'_, [u8]>>, Mismatch> {
    name.map(|name| coded(name.as_bytes(), codeset)).transpose()
}

impl<H: CasHandler> Machine<H> {
    /// Starts a query of the catalogue, or the request for a plan.
    pub(super) fn start_catalog(&mut self, at: usize, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let (info, codeset) = (self.info, self.options.codeset);
        let (pending, out) = (&mut self.queue[at], write_buffer.tail());
        let sent = match &pending.request {
            Request::SchemaInfo { query, first, second, patterns } => {
                let names =
                    name(first.as_ref(), codeset).and_then(|first| Ok((first, name(second.as_ref(), codeset)?)));
                names.map(|(first, second)| {
                    client::schema_info(out, info, *query, first.as_deref(), second.as_deref(), *patterns);
                    Expect::Schema
                })
            }
            Request::Plan { sql } => coded(sql.as_bytes(), codeset).map(|sql| {
                client::plan_of(out, info, &sql);
                Expect::Plan
            }),
            _ => return,
        };
        match sent {
            Ok(expect) => {
                match expect {
                    Expect::Schema => {
                        pending.go(Event::Opened, Stage::Reading { rows: 0, total: 0, pages: Pages::default() })
                    }
                    _ => pending.go(Event::StartWhole, Stage::Sent),
                };
                self.expect(expect);
            }
            Err(mismatch) => {
                pending.refuse(mismatch.into());
                self.complete(cx, write_buffer);
            }
        }
    }

    /// The reply to a query of the catalogue: its rows come with FETCH.
    pub(super) fn schema(
        &mut self,
        cx: H::Context<'_>,
        mut reader: Reader<'_>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let SchemaInfo { handle, count, fields } = SchemaInfo::read(&mut reader)?;
        let epoch = self.statements.epoch();
        let statement = Arc::new(Statement::of_catalog(handle, fields, epoch));
        // It is closed with the next PREPARE.
        self.statements.close(&statement);
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        if let (Some(columns), Some(handler)) = (&statement.columns, &mut pending.slot.handler) {
            handler.columns(cx, columns);
        }
        pending.statement = Some(statement);
        let Stage::Reading { total, .. } = pending.stage_mut() else {
            return Err(Fatal::peer("the server sent a result that was not requested"));
        };
        *total = count;
        if count > 0 && pending.slot.handler.is_some() {
            pending.replies_due += 1;
            client::fetch(write_buffer.tail(), self.info, handle, 1);
            self.expects.push_back(Expect::Page);
        } else {
            self.last_page(cx, write_buffer);
        }
        Ok(())
    }

    /// A plan, as one row of one value.
    pub(super) fn plan(&mut self, cx: H::Context<'_>, mut reader: Reader<'_>) -> Result<(), Fatal> {
        let text = server::text(&mut reader)?;
        let text = reader.string(text);
        self.one_value(cx, code::VARCHAR, text.as_bytes())
    }
}
