//! The transaction of a client.
//!
//! All of it is committed, or nothing: PostgreSQL executes nothing after an error that has ended it, so that a client can
//! send its statements without waiting for the reply to each. Other servers would execute them, and commit each by
//! itself.

use super::backend::Backend;
use super::replies::{self, Failure};
use super::session::FrontSession;
use super::sql::Transaction;
use crate::replies::Ended;
use headrace_core::{IfUnsent, Modes, TransactionStatus, Verb};

/// SQLSTATE: the transaction has failed, and only its end is possible.
pub(super) const IN_FAILED_TRANSACTION: &str = "25P02";

/// The message of a statement that is refused for it.
pub(super) const ABORTED: &str = "current transaction is aborted, commands ignored until end of transaction block";

/// The transaction as the client was told of it, where the server's word is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// It has begun none.
    None,
    /// It has begun one.
    Open,
    /// It has begun one, and the server has ended it because of an error.
    Failed,
}

impl<B: Backend> FrontSession<'_, B> {
    /// The status of the client's transaction.
    pub(super) fn status(&self) -> TransactionStatus {
        if self.block == Block::Failed {
            return TransactionStatus::Failed;
        }
        self.lent.as_ref().map_or(TransactionStatus::Idle, |lent| lent.server.client.connection.machine.transaction())
    }

    /// Returns true if the client has begun a transaction that it has not ended, or the server reports that one is open.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.block != Block::None || self.status() != TransactionStatus::Idle
    }

    /// The transaction as the client is told of it from now on. The machine executes nothing more of one that the
    /// server has ended because of an error.
    pub(super) fn set_block(&mut self, block: Block) {
        let is_same = block == Block::Failed || block == self.block;
        if let Some(lent) = self.lent.as_mut().filter(|_| !is_same) {
            lent.server.mark_block(block == Block::Open);
        }
        self.block = block;
    }

    /// Ends the client's transaction, whatever the server has left of it.
    pub(super) async fn roll_back(&mut self) -> Result<Result<(), Failure>, Ended> {
        let done = self.verb(&Verb::Rollback(IfUnsent::RollBack)).await?;
        self.set_block(if done.is_ok() { Block::None } else { Block::Failed });
        Ok(done)
    }

    pub(super) async fn transaction(&mut self, verb: &Transaction) -> Result<Result<(), Failure>, Ended> {
        let status = self.status();
        let is_idle = !self.is_in_transaction();
        let verbs = match verb {
            Transaction::Begin(_) if status == TransactionStatus::Failed => {
                return Ok(Err(Failure::new(IN_FAILED_TRANSACTION, ABORTED)));
            }
            Transaction::Begin(_) if !is_idle => {
                let notice = Failure::new("25001", "there is already a transaction in progress");
                self.local(|out| notice.write_notice(out));
                self.set_block(Block::Open);
                Vec::new()
            }
            Transaction::Begin(modes) => return self.begin(*modes).await,
            Transaction::Commit | Transaction::Rollback if is_idle => {
                let notice = Failure::new("25P01", "there is no transaction in progress");
                self.local(|out| notice.write_notice(out));
                Vec::new()
            }
            Transaction::Commit | Transaction::Rollback => {
                return self.end(*verb == Transaction::Commit && status != TransactionStatus::Failed).await;
            }
            _ if is_idle => {
                return Ok(Err(Failure::new("25P01", "SAVEPOINT can only be used in transaction blocks")));
            }
            _ if status == TransactionStatus::Failed => {
                let what = "the server has ended the transaction: only ROLLBACK is possible";
                return Ok(Err(Failure::new(IN_FAILED_TRANSACTION, what)));
            }
            Transaction::Savepoint(name) => vec![Verb::Savepoint { name: name.clone(), begin: None }],
            Transaction::Release(name) => vec![Verb::Release(name.clone())],
            // The savepoint stays in PostgreSQL.
            Transaction::RollbackTo(name) => {
                vec![Verb::RollbackTo(name.clone()), Verb::Savepoint { name: name.clone(), begin: None }]
            }
        };
        for verb in verbs {
            if let Err(failure) = self.verb(&verb).await? {
                return Ok(Err(failure));
            }
        }
        self.local(|out| replies::complete(out, verb.command()));
        Ok(Ok(()))
    }

    async fn begin(&mut self, modes: Modes) -> Result<Result<(), Failure>, Ended> {
        let isolation = modes.isolation.or(self.isolation);
        let begun = self.verb(&Verb::Begin(Modes { isolation, ..modes })).await?;
        match &begun {
            Ok(()) => {
                self.set_block(Block::Open);
                self.local(|out| replies::complete(out, "BEGIN"));
            }
            // What the client has sent after it, without waiting, is not to be executed outside of a transaction.
            Err(_) => self.set_block(Block::Failed),
        }
        Ok(begun)
    }

    /// Ends the transaction, and commits it if that is to be.
    async fn end(&mut self, commits: bool) -> Result<Result<(), Failure>, Ended> {
        self.close_portals().await?;
        if commits {
            match self.verb(&Verb::Commit(IfUnsent::RollBack)).await? {
                Ok(()) => {
                    self.set_block(Block::None);
                    self.local(|out| replies::complete(out, "COMMIT"));
                    return Ok(Ok(()));
                }
                // The server had ended it, because of an error that the client was told of.
                Err(failure) if failure.sqlstate == IN_FAILED_TRANSACTION => {}
                Err(failure) => {
                    // As in PostgreSQL, nothing is open after it.
                    let _ = self.roll_back().await?;
                    return Ok(Err(failure));
                }
            }
        }
        let done = self.roll_back().await?;
        if done.is_ok() {
            self.local(|out| replies::complete(out, "ROLLBACK"));
        }
        Ok(done)
    }
}
