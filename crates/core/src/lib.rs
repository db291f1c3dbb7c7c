//! The parts that every wire protocol of headrace shares. Nothing here depends on a socket, a clock, a thread or
//! Python.
//!
//! * [`buffer`]: the read buffer and the write buffer;
//! * [`sink`]: the destination of decoded values;
//! * [`column`]: the columns of a result, described alike for every database;
//! * [`params`]: the source of the values to encode;
//! * [`protocol`]: the interface between a driver loop, a protocol and its response handlers;
//! * [`placeholders`]: `%s` and `%(name)s` to the server's own;
//! * [`run`]: rows in the read buffer, and the ways to decode them;
//! * [`queue`]: requests that wait to be sent or are in flight; [`pending`]: such a request;
//! * [`cancel`]: cancelling a request, and a cancelled one whose reply nobody waits for;
//! * [`session`]: the operations of a session that do not depend on its requests: opening, cancelling, closing, what is
//!   in flight;
//! * [`sqlstate`]: the meaning of a server's error: SQLSTATEs, and PEP 249's classes;
//! * [`statements`]: the cache of prepared statements, the statements to close, and epochs;
//! * [`token`]: tokens of SQL text, which the lexer of each dialect returns;
//! * [`transaction`]: the transaction of a session, as of what was answered and as of what was sent;
//! * [`transitions`]: state machines as tables, checked in debug builds;
//! * [`verb`]: begin, commit, savepoints, reset, ping: operations that every database has, as data;
//! * [`civil`]: days and microseconds to calendar fields, for values that the types of the language cannot represent;
//! * [`number_text`]: numbers as Python writes them;
//! * [`codeset`]: the code sets of databases that are not in UTF-8;
//! * [`limits`]: every limit of the engine, by name and with its unit.
#![forbid(unsafe_code)]

pub mod block;
pub mod buffer;
mod cache;
pub mod cancel;
pub mod civil;
pub mod codeset;
pub mod column;
pub mod limits;
pub mod number_text;
pub mod params;
pub mod pending;
pub mod placeholders;
pub mod protocol;
pub mod queue;
pub mod run;
pub mod session;
pub mod sink;
pub mod sqlstate;
pub mod statements;
pub mod token;
pub mod transaction;
pub mod transitions;
pub mod verb;
pub mod words;

pub use block::WhenLost;
pub use buffer::{ReadBuffer, WriteBuffer};
pub use cancel::CancelledRequest;
pub use codeset::CodeSet;
pub use column::{Column, Described};
pub use params::{Mismatch, MismatchKind, Parameters, Value, ValueKind};
pub use pending::{Failure, Pending, Pipelining, Slot};
pub use protocol::{Discarded, Fatal, FatalKind, IN_DOUBT, Outcome, Protocol, ResponseHandler, Room, shortened};
pub use queue::{Queue, Requests};
pub use run::{Cells, ColumnSink, Run};
pub use session::{
    CancelStatement, CancelStep, Cancellation, Certificate, Interrupt, NextStep, Session, TransactionStatus,
};
pub use sink::{Container, Inet, Sink};
pub use sqlstate::{Condition, Diagnostics, ErrorClass, SqlState};
pub use statements::{Epoch, Prepared, Statements};
pub use transaction::{Reported, Sent, Transaction};
pub use verb::{Effect, IfUnsent, Isolation, Modes, Verb};
