//! Operations on a session and its transaction that every database has: as data, from which each protocol makes its own
//! requests.

use crate::block::WhenLost;
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
    /// Undo what came after a savepoint, and release it. Discarded unsent, it is sent nevertheless.
    RollbackTo(Arc<str>),
    /// First phase of a two-phase commit: the transaction ends here, and waits under this identifier.
    Prepare(Arc<str>),
    /// Commit the transaction that waits under this identifier.
    CommitPrepared(Arc<str>),
    /// Roll it back.
    RollbackPrepared(Arc<str>),
    /// Forget all state of the session.
    Reset,
    /// A round trip that changes nothing.
    Ping,
}

impl Verb {
    /// Its effect on the transaction.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Begin(_) | Self::Savepoint { begin: Some(_), .. } => Effect::Begins,
            Self::Commit(unsent) | Self::Rollback(unsent) => Effect::Ends(*unsent),
            Self::Prepare(_) => Effect::Ends(IfUnsent::Forget),
            Self::Savepoint { begin: None, .. } | Self::Release(_) | Self::RollbackTo(_) => Effect::Keeps,
            // Another transaction is what they end.
            Self::CommitPrepared(_) | Self::RollbackPrepared(_) | Self::Ping => Effect::Keeps,
            // It ends the transaction, or is refused in one.
            Self::Reset => Effect::Unknown,
        }
    }

    /// What becomes of it in a block whose transaction the server has ended.
    pub fn when_lost(&self) -> WhenLost {
        match self {
            Self::Commit(IfUnsent::RollBack) => WhenLost::Commits,
            Self::Rollback(IfUnsent::RollBack) => WhenLost::RollsBack,
            // Ends that are not a block's come after it; the others are not of the transaction.
            Self::Commit(IfUnsent::Forget) | Self::Rollback(IfUnsent::Forget) | Self::Reset | Self::Ping => {
                WhenLost::Sent
            }
            Self::Begin(_) | Self::Savepoint { .. } | Self::Release(_) | Self::RollbackTo(_) => WhenLost::Refused,
            Self::Prepare(_) | Self::CommitPrepared(_) | Self::RollbackPrepared(_) => WhenLost::Refused,
        }
    }

    /// The verb that is sent in its place if it is discarded before it was sent. Without one it leaves the queue.
    pub fn if_discarded(&self) -> Option<Self> {
        match self {
            Self::Commit(IfUnsent::RollBack) | Self::Rollback(IfUnsent::RollBack) => {
                Some(Self::Rollback(IfUnsent::RollBack))
            }
            Self::Release(name) | Self::RollbackTo(name) => Some(Self::RollbackTo(name.clone())),
            _ => None,
        }
    }
}

/// The effect of a request on the transaction, as far as it is known before the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It has none.
    Keeps,
    /// It begins a transaction, unless one is open.
    Begins,
    /// It ends the transaction.
    Ends(IfUnsent),
    /// It may end the transaction, and begins none.
    MayEnd,
    /// Only the reply shows it.
    Unknown,
}

impl Effect {
    /// True if a transaction is open after the request, given whether one was before, and whether it is `sent`. `None`
    /// if only the reply shows it: a beginning may be refused, or leave the queue before it is sent, and so may an end
    /// that is not replaced by a rollback then.
    pub fn leaves_open(self, open: bool, sent: bool) -> Option<bool> {
        match self {
            Self::Keeps => Some(open),
            Self::Begins => open.then_some(true),
            Self::Ends(unsent) => (sent || unsent == IfUnsent::RollBack).then_some(false),
            Self::MayEnd => (!open).then_some(false),
            Self::Unknown => None,
        }
    }

    /// Returns true if it is the end of a block, which has to be sent.
    pub fn is_owed_end(self) -> bool {
        self == Self::Ends(IfUnsent::RollBack)
    }

    /// Returns true if it ends a transaction that is not that of a block: the program may ask for the same end again.
    pub fn is_end_of_program(self) -> bool {
        self == Self::Ends(IfUnsent::Forget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_verb_leaves_of_the_transaction() {
        let (name, modes): (Arc<str>, _) = ("a".into(), Modes::default());
        // After it if none was open and if one was; before it was sent, and after.
        let (no, yes, reply) = (Some(false), Some(true), None);
        for (verb, unsent, sent) in [
            (Verb::Begin(modes), [reply, yes], [reply, yes]),
            (Verb::Commit(IfUnsent::Forget), [reply, reply], [no, no]),
            (Verb::Commit(IfUnsent::RollBack), [no, no], [no, no]),
            (Verb::Rollback(IfUnsent::RollBack), [no, no], [no, no]),
            (Verb::Savepoint { name: name.clone(), begin: None }, [no, yes], [no, yes]),
            (Verb::Savepoint { name: name.clone(), begin: Some(modes) }, [reply, yes], [reply, yes]),
            (Verb::Release(name.clone()), [no, yes], [no, yes]),
            (Verb::RollbackTo(name.clone()), [no, yes], [no, yes]),
            (Verb::Prepare(name.clone()), [reply, reply], [no, no]),
            (Verb::CommitPrepared(name.clone()), [no, yes], [no, yes]),
            (Verb::RollbackPrepared(name), [no, yes], [no, yes]),
            (Verb::Reset, [reply, reply], [reply, reply]),
            (Verb::Ping, [no, yes], [no, yes]),
        ] {
            let leaves = |sent| [false, true].map(|open| verb.effect().leaves_open(open, sent));
            assert_eq!((leaves(false), leaves(true)), (unsent, sent), "{verb:?}");
        }
    }

    #[test]
    fn the_end_of_a_block_that_is_discarded_undoes_the_block() {
        let (name, owed): (Arc<str>, _) = ("a".into(), IfUnsent::RollBack);
        for (verb, instead) in [
            (Verb::Commit(owed), Some(Verb::Rollback(owed))),
            (Verb::Rollback(owed), Some(Verb::Rollback(owed))),
            (Verb::Release(name.clone()), Some(Verb::RollbackTo(name.clone()))),
            (Verb::RollbackTo(name.clone()), Some(Verb::RollbackTo(name.clone()))),
            (Verb::Commit(IfUnsent::Forget), None),
            (Verb::Savepoint { name, begin: None }, None),
            (Verb::Begin(Modes::default()), None),
            (Verb::Ping, None),
        ] {
            assert_eq!(verb.if_discarded(), instead, "{verb:?}");
        }
    }
}
