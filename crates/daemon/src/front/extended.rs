//! The messages of the extended protocol: statements and portals.

use super::backend::Backend;
use super::memory::MemoryReservation;
use super::parameter::parameter;
use super::portal::{Portal, Prepared};
use super::replies::{self, Failure};
use super::requests::Item;
use super::session::{Execution, FrontSession};
use super::sql::{self, Action};
use super::types::ANY;
use crate::limits::BOUND_BYTES;
use crate::replies::{Ended, PROTOCOL_VIOLATION};
use headrace_postgres::messages::tag::backend as tag;
use headrace_postgres::types::Format;
use std::sync::Arc;

impl<B: Backend> FrontSession<'_, B> {
    pub(super) async fn parse(&mut self, name: &str, sql: &str, types: &[u32]) -> Result<Result<(), Failure>, Ended> {
        if self.queue.front().is_some_and(|item| item.running.changes_session) {
            self.settle().await?;
            if self.skipping {
                return Ok(Ok(()));
            }
        }
        self.refresh_dialect();
        let held = MemoryReservation::of_statement(&self.hub, name.len() + sql.len())?;
        let prepared = match Prepared::new(sql::statement(&self.dialect, sql, types), held) {
            Ok(prepared) => prepared,
            Err(failure) => return Ok(Err(failure)),
        };
        self.statements.insert(name.to_owned(), Arc::new(prepared));
        self.local(|out| replies::bare(out, tag::PARSE_COMPLETE));
        Ok(Ok(()))
    }

    pub(super) async fn bind(&mut self, bind: &super::messages::Bind<'_>) -> Result<Result<(), Failure>, Ended> {
        let Some(prepared) = self.statements.get(bind.statement).cloned() else {
            return Ok(Err(unknown_statement(bind.statement)));
        };
        let (types, given) = (&prepared.statement.types, bind.values.len());
        if given != types.len() {
            let what = format!("headraced: the statement has {} parameters, and {given} are given", types.len());
            return Ok(Err(Failure::new(PROTOCOL_VIOLATION, what)));
        }
        let order = &prepared.statement.order;
        let bytes: usize = order.iter().map(|number| bind.values[*number].1.map_or(0, <[u8]>::len)).sum();
        if bytes > BOUND_BYTES {
            let what =
                format!("headraced: the parameters have {bytes} bytes in all of their places, more than {BOUND_BYTES}");
            return Ok(Err(Failure::new("54000", what)));
        }
        let held = MemoryReservation::new(&self.hub, bytes)?;
        let mut values = Vec::with_capacity(given);
        if let Action::Server(_) = prepared.statement.action {
            for (number, ((format, value), oid)) in bind.values.iter().zip(types).enumerate() {
                match parameter(&self.registry, *oid, *format, *value) {
                    Ok(value) => values.push(value),
                    Err(why) => {
                        return Ok(Err(Failure::new("22P02", format!("headraced: parameter ${}: {why}", number + 1))));
                    }
                }
            }
        }
        let is_plain = order.len() == values.len() && order.iter().enumerate().all(|(at, number)| at == *number);
        if !is_plain {
            values = order.iter().map(|number| values[*number].clone()).collect();
        }
        self.close_portal(bind.portal).await?;
        if self.skipping {
            return Ok(Ok(()));
        }
        let portal = Portal::new(prepared, values, held, bind.results.clone());
        self.portals.insert(bind.portal.to_owned(), portal);
        self.local(|out| replies::bare(out, tag::BIND_COMPLETE));
        Ok(Ok(()))
    }

    pub(super) async fn describe_statement(&mut self, name: &str) -> Result<Result<(), Failure>, Ended> {
        let Some(prepared) = self.statements.get(name).cloned() else { return Ok(Err(unknown_statement(name))) };
        let types: Vec<u32> = prepared.statement.types.iter().map(|oid| if *oid == 0 { ANY } else { *oid }).collect();
        if let Err(failure) = self.describe(&prepared).await? {
            return Ok(Err(failure));
        }
        self.local(|out| replies::parameters(out, &types));
        self.write_columns(&prepared, &[]);
        Ok(Ok(()))
    }

    pub(super) fn defer_description(&mut self, name: &str) -> Result<(), Failure> {
        let portal = self.portals.get(name).ok_or_else(|| unknown_portal(name))?;
        let prepared = portal.prepared.clone();
        match prepared.statement.action {
            // The execution will describe it, if it comes next.
            Action::Server(_) if portal.running.is_none() => self.describing = Some(name.to_owned()),
            _ => {
                let formats = portal.formats.clone();
                self.write_columns(&prepared, &formats);
            }
        }
        Ok(())
    }

    pub(super) async fn describe_portal(&mut self, name: &str) -> Result<Result<(), Failure>, Ended> {
        let Some(portal) = self.portals.get(name) else { return Ok(Err(unknown_portal(name))) };
        let (prepared, formats) = (portal.prepared.clone(), portal.formats.clone());
        if let Err(failure) = self.describe(&prepared).await? {
            return Ok(Err(failure));
        }
        self.write_columns(&prepared, &formats);
        Ok(Ok(()))
    }

    /// RowDescription or NoData.
    fn write_columns(&mut self, prepared: &Prepared, formats: &[Format]) {
        match prepared.columns() {
            Some(columns) => self.local(|out| replies::columns(out, &columns, formats)),
            None => self.local(|out| replies::bare(out, tag::NO_DATA)),
        }
    }

    pub(super) async fn execute_portal(&mut self, name: &str, rows: u32) -> Result<Result<(), Failure>, Ended> {
        let describes = self.describing.take().is_some();
        self.settle_portal(name).await?;
        if self.portals.get(name).is_some_and(|portal| portal.running.is_some()) {
            self.settle().await?;
        }
        if self.skipping {
            return Ok(Ok(()));
        }
        let Some(portal) = self.portals.get_mut(name) else { return Ok(Err(unknown_portal(name))) };
        let rows = (rows > 0).then_some(u64::from(rows));
        portal.is_limited = rows.is_some();
        if let Some(running) = portal.running.take() {
            self.queue.push_back(Item::resumed(running, rows, name));
            return self.settle().await.map(Ok);
        }
        let (prepared, formats) = (portal.prepared.clone(), portal.formats.clone());
        let values = match prepared.statement.action {
            Action::Server(_) => std::mem::take(&mut portal.values),
            _ => Vec::new(),
        };
        let held = portal.held.take();
        if portal.is_done {
            return Ok(Err(Failure::new("55000", format!("headraced: portal {name:?} was executed"))));
        }
        portal.is_done = matches!(prepared.statement.action, Action::Server(_));
        match &prepared.statement.action {
            Action::Server(server) => {
                let limit = rows.map(|rows| (rows, name.to_owned()));
                let promised = prepared.described().filter(|_| !describes);
                let execution = Execution {
                    server,
                    values,
                    formats: &formats,
                    describes,
                    promised,
                    prepared: Some(prepared.clone()).filter(|_| describes && server.copy.is_none()),
                    is_text: false,
                    limit,
                    held,
                };
                self.start(execution).await
            }
            action => self.act(action, &formats).await,
        }
    }
}

fn unknown_statement(name: &str) -> Failure {
    Failure::new("26000", format!("prepared statement {name:?} does not exist"))
}

fn unknown_portal(name: &str) -> Failure {
    Failure::new("34000", format!("portal {name:?} does not exist"))
}
