//! Poolers that prepare statements by themselves (PgBouncer 1.21 and later).
//!
//! A pooler prepares a session's statements again on other server connections, invisibly, perhaps after another session
//! has changed a table. The portal of each execution is then described in the same round trip, and statements are
//! prepared with the types that the server chose for their parameters the first time: values in the binary form of an
//! `int4` would be something else for a parameter of another type. Without a pooler neither is needed, as the server
//! compares a statement's columns with those that it was prepared with. So once a statement is used again, the process
//! that answers is queried for its number: if it is the process that the connection was opened to, there is no pooler
//! between.

use super::pending::PendingRequest;
use super::request::Request;
use super::statement::{Key, Lookup, Statement};
use super::work::Source;
use super::{Machine, PgHandler, Server};
use crate::messages::frontend;
use headrace_core::WriteBuffer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

impl<H: PgHandler> Machine<H> {
    /// Queries the process that answers before the next request, if that matters. Outside of a transaction block and in
    /// a group of its own, so that it is harmless if the server refuses the query.
    pub(super) fn query_server_process(&mut self) {
        let at = self.queue.started();
        let grouped = at > 0 && !self.queue[at - 1].request.syncs();
        if self.server != Server::QueryDue || grouped || self.block_is_open(at) {
            return;
        }
        let Some(lane) = self.queue.get(at).map(|next| next.slot.lane) else { return };
        self.queue.insert_own(lane, |slot| PendingRequest::new(slot, Request::QueryServerProcess));
    }

    /// The statement `known` for the request `at`, in a form that stays valid if a pooler prepares it again.
    pub(super) fn known_to_a_pooler(
        &mut self,
        at: usize,
        known: Arc<Statement>,
        write_buffer: &mut WriteBuffer,
    ) -> Option<Source> {
        if self.server == Server::Unknown {
            self.server = Server::QueryDue;
        }
        let pending = &self.queue[at];
        let described_before = pending.typing().is_some() || matches!(pending.request, Request::Describe { .. });
        if known.columns.is_some() && described_before {
            self.forget(at);
            return None;
        }
        if known.typed || known.name.is_empty() {
            return Some(Source::Cached(known));
        }
        let key = Key { sql: known.sql.clone(), hints: pending.hints().to_vec() };
        let name = self.names_of_statements.next_name();
        frontend::parse(write_buffer.tail(), &name, &known.sql, &known.parameters);
        let typed = Arc::new(Statement {
            name,
            typed: true,
            sql: known.sql.clone(),
            parameters: known.parameters.clone(),
            encoders: known.encoders.clone(),
            columns: known.columns.clone(),
            unjoinable: AtomicBool::new(known.unjoinable.load(Ordering::Relaxed)),
            ..*known
        });
        self.forget(at);
        self.statements.keep(key, typed.clone());
        Some(Source::Reprepared(typed))
    }

    /// A request has ended that prepared its statement without waiting: if it failed, it is unknown whether the server
    /// has the statement.
    pub(super) fn forget_unbound(&mut self, pending: &PendingRequest<H>) {
        let Some(unbound) = pending.preparation().filter(|preparation| !preparation.bound) else { return };
        let Some((hints, statement)) = unbound.reprepared() else { return };
        let key = (statement.sql.as_ref(), hints);
        if self.statements.get(&key as &dyn Lookup).is_some_and(|known| Arc::ptr_eq(known, statement)) {
            self.statements.take(&key as &dyn Lookup);
        }
        self.statements.close(statement);
    }
}
