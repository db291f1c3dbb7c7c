//! Databases that are not PostgreSQL's, for clients that speak its protocol.
//!
//! SQL goes through as it is written, in the server's dialect. [`sql`] finds out who has to do a statement: the server,
//! the daemon ([`catalog`]), or the session, as a verb of transactions. [`session`] has the client's messages,
//! `extended` those of statements and portals, `requests` the way of replies, `outcomes` how they end, `lending` the
//! session that a client has, `transactions` its transaction, `cancelling` the end of a statement; [`handler`] and
//! [`values`] (with `value_texts`) make PostgreSQL's rows of the server's, and [`parameter`] values of a client's. What
//! differs between the databases is in [`backend`].

pub mod backend;
mod cancelling;
pub mod catalog;
pub mod copy;
mod extended;
pub mod front_registry;
pub mod handler;
mod lending;
mod memory;
pub mod messages;
mod outcomes;
pub mod parameter;
mod portal;
pub mod replies;
mod requests;
pub mod server;
pub mod session;
pub mod session_effect;
pub mod sql;
mod transactions;
pub mod types;
mod value_texts;
pub mod values;
