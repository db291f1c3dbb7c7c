//! Ends of transactions and savepoints that another session has interrupted.
//!
//! MariaDB refuses what a KILL QUERY meets at its beginning, also COMMIT, ROLLBACK and the statements of savepoints: the
//! transaction is then as it was. What the program has asked for itself it can ask for again; the end of a block that was
//! left is the driver's. (MySQL executes such statements all the same.)

use super::request::{Request, VerbStatement};
use super::reservation::NOTES;
use super::verb::{COMMIT, ROLLBACK};
use super::{Machine, MyHandler};
use crate::packets::reply::ServerError;
use headrace_core::verb::{Effect, IfUnsent};
use headrace_core::{Fatal, FatalKind, IN_DOUBT, shortened};

/// What was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InterruptedEnd {
    /// COMMIT of a block.
    Commit,
    /// ROLLBACK of a block.
    Rollback,
    /// ROLLBACK TO SAVEPOINT, whose RELEASE may be in flight.
    RollbackTo,
    /// RELEASE SAVEPOINT: the savepoint stays until the transaction ends, without an effect.
    Release,
    /// A setting of the driver's is to be taken back, and the end of what it was for may be in flight.
    Restore,
}

impl Request {
    /// What an interruption of this request leaves to be done; `None` if that is the program's part.
    pub(super) fn interrupted_end(&self) -> Option<InterruptedEnd> {
        let Request::Verb(VerbStatement { sql, effect, discarded: Some(_) }) = self else { return None };
        match (effect, &**sql) {
            (Effect::Ends(IfUnsent::RollBack), COMMIT) => Some(InterruptedEnd::Commit),
            (Effect::Ends(IfUnsent::RollBack), _) => Some(InterruptedEnd::Rollback),
            (_, NOTES) => Some(InterruptedEnd::Restore),
            (_, sql) if sql.starts_with("ROLLBACK TO ") => Some(InterruptedEnd::RollbackTo),
            (_, sql) if sql.starts_with("RELEASE ") => Some(InterruptedEnd::Release),
            _ => None,
        }
    }
}

impl<H: MyHandler> Machine<H> {
    /// The request in front was interrupted by `error`, which is its reply. The end of a block is sent once more: a
    /// ROLLBACK, whose outcome is that of the end, unless the end was a COMMIT, which has failed.
    ///
    /// # Errors
    /// [`Fatal`]: what was to be undone may be committed.
    pub(super) fn end_again(
        &mut self,
        cx: H::Context<'_>,
        interrupted: InterruptedEnd,
        error: ServerError,
    ) -> Result<(), Fatal> {
        let is_alone = self.queue.started() == 1;
        let is_doubled = self.session.mariadb;
        let pending = self.front()?;
        let is_commit = interrupted == InterruptedEnd::Commit;
        // `SET autocommit=1` is in flight, which commits; on MariaDB a second ROLLBACK is before it.
        let is_followed = pending.replies_due > 1;
        match interrupted {
            InterruptedEnd::Release => self.answered(cx),
            InterruptedEnd::Rollback if is_followed && is_doubled => self.answered(cx),
            InterruptedEnd::Commit if is_followed => {
                pending.slot.fail(error.of_unknown_outcome());
                self.answered(cx)
            }
            InterruptedEnd::Commit | InterruptedEnd::Rollback if is_alone && pending.slot.may_repeat() => {
                pending.request = Request::Verb(VerbStatement {
                    sql: ROLLBACK.into(),
                    effect: Effect::Ends(IfUnsent::RollBack),
                    discarded: Some(ROLLBACK.into()),
                });
                self.retry(cx, error.clone())?;
                if is_commit && let Some(pending) = self.queue.first_mut() {
                    pending.slot.fail(error);
                }
                Ok(())
            }
            InterruptedEnd::Restore => Err(Fatal::peer(format!(
                "the server did not take back a setting of the driver's: {}; {IN_DOUBT}",
                error.message
            ))),
            _ => {
                // What is in flight behind it may commit, as START TRANSACTION does.
                let fate = if is_alone && !is_followed { "its changes are rolled back" } else { IN_DOUBT };
                Err(Fatal::new(
                    FatalKind::TransactionInDoubt,
                    shortened(&format!(
                        "the connection was closed, as the end of a transaction block was interrupted; {fate}: {}",
                        error.message
                    )),
                ))
            }
        }
    }
}
