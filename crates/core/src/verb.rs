//! Operations on a session and its transaction that every database has: as data, from which each protocol makes its own
//! requests.

use std::sync::Arc;

/// An isolation level of the SQL standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED
    ReadUncommitted,
    /// READ COMMITTED
    ReadCommitted,
    /// REPEATABLE READ
    RepeatableRead,
    /// SERIALIZABLE
    Serializable,
}

impl Isolation {
    /// Every level.
    pub const ALL: [Self; 4] = [Self::ReadUncommitted, Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

/// The modes of a transaction; `None` is the session's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// The isolation level.
    pub isolation: Option<Isolation>,
    /// It only reads.
    pub read_only: Option<bool>,
    /// It may wait at its beginning for a snapshot that no other transaction can spoil.
    pub deferrable: Option<bool>,
}

/// What happens to the end of a transaction that is discarded before it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfUnsent {
    /// It leaves the queue.
    Forget,
    /// A rollback is sent in its place: otherwise later statements would run in the transaction that stays open.
    RollBack,
}

/// The operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Begin a transaction.
    Begin(Modes),
    /// Commit the transaction.
    Commit(IfUnsent),
    /// Roll the transaction back.
    Rollback(IfUnsent),
    /// Set a savepoint of this name.
    Savepoint {
        /// Its name.
        name: Arc<str>,
        /// Begin a transaction with these modes first. PostgreSQL and Informix do so only if none is open then.
        begin: Option<Modes>,
    },
    /// Forget a savepoint. Discarded unsent, it becomes [`Verb::RollbackTo`].
    Release(Arc<str>),
    /// Undo what came after a savepoint, and release it.
    RollbackTo(Arc<str>),
    /// Forget all state of the session.
    Reset,
    /// A round trip that changes nothing.
    Ping,
}
