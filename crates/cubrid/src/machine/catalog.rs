//! What the server reports about statements and tables: the catalogue (SCHEMA_INFO), plans (GET_QUERY_INFO) and the types
//! of parameters (PARAMETER_INFO). The rows of a CURSOR that a procedure returns (MAKE_OUT_RS) come as those of the
//! catalogue do.

use super::pages::Pages;
use super::pending::Stage;
use super::request::Request;
use super::stage::RequestEvent;
use super::statement::{Columns, Statement};
use super::{CasHandler, Expect, Machine};
use crate::messages::description::Field;
use crate::messages::login::BrokerInfo;
use crate::messages::server::Made;
use crate::messages::{Reader, client, function, server};
use crate::types::code;
use crate::types::encode::coded;
use headrace_core::protocol::Summary;
use headrace_core::{CodeSet, Fatal, Mismatch, WriteBuffer};
use std::borrow::Cow;
use std::sync::Arc;

fn name(name: Option<&Arc<str>>, codeset: CodeSet) -> Result<Option<Cow<'_, [u8]>>, Mismatch> {
    name.map(|name| coded(name.as_bytes(), codeset)).transpose()
}

impl<H: CasHandler> Machine<H> {
    /// Starts a query of the catalogue, the request for a plan, or for the rows of a CURSOR.
    pub(super) fn start_catalog(&mut self, at: usize, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let (in_block, info, codeset) = (self.transaction.is_open_ahead(), self.info, self.options.codeset);
        let has_query_ids = self.broker().is_none_or(BrokerInfo::has_query_ids);
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
            Request::Returned { .. } if !in_block => Err(Mismatch::wrong_type(
                "the rows of a CURSOR are read in the transaction of the procedure that has returned it",
            )),
            Request::Returned { value } => {
                client::make_out_rs(out, info, *value, has_query_ids);
                Ok(Expect::Returned)
            }
            _ => return,
        };
        match sent {
            Ok(expect) => {
                match expect {
                    Expect::Schema | Expect::Returned => {
                        pending.go(RequestEvent::Opened, Stage::Reading { rows: 0, total: 0, pages: Pages::default() })
                    }
                    _ => pending.go(RequestEvent::StartWhole, Stage::Sent),
                };
                self.expect(expect);
            }
            Err(mismatch) => {
                pending.refuse(mismatch.into());
                self.complete(cx, write_buffer);
            }
        }
    }

    /// The result of a query of the catalogue, or of a CURSOR: its rows come with FETCH.
    pub(super) fn made(&mut self, cx: H::Context<'_>, made: Made, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let Made { handle, count, fields } = made;
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

    /// The statement of the request that was started last is known: the types of its parameters are requested.
    pub(super) fn request_parameter_types(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let Some(handle) = pending.statement.as_ref().map(|statement| statement.handle) else { return };
        pending.go(RequestEvent::Executed, Stage::Sent);
        client::of_handle(write_buffer.tail(), self.info, function::PARAMETER_INFO, handle);
        self.expect(Expect::ParameterTypes);
    }

    /// The types of parameters, as the columns of a result without rows. Their names are their numbers.
    pub(super) fn parameter_types(&mut self, cx: H::Context<'_>, mut reader: Reader<'_>) -> Result<(), Fatal> {
        let infos = server::parameter_info(&mut reader)?;
        let field = |(number, info): (usize, &server::ParameterInfo)| Field {
            ty: info.ty,
            scale: info.scale,
            precision: info.precision,
            name: (number + 1).to_string(),
            ..Field::default()
        };
        let columns = Arc::new(Columns::new(infos.iter().enumerate().map(field).collect()));
        if let Some(handler) = self.queue.first_mut().and_then(|pending| pending.slot.handler.as_mut()) {
            handler.columns(cx, &columns);
            handler.result(cx, Summary { rows: Some(0), ..Summary::default() });
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
