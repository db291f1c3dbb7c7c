//! Verbs of a session as requests.

use super::answer::Ending;
use super::pending::PendingRequest;
use super::{Machine, PgHandler, Request};
use headrace_core::verb::{IfUnsent, Modes, Verb};
use headrace_core::{Fatal, Mismatch};
use std::sync::Arc;

/// The statement that begins a transaction.
pub fn begin_statement(modes: &Modes) -> String {
    let mut words = vec!["BEGIN"];
    if let Some(level) = modes.isolation {
        words.extend(["ISOLATION LEVEL", level.name()]);
    }
    words.extend(modes.read_only.map(|only| if only { "READ ONLY" } else { "READ WRITE" }));
    words.extend(modes.deferrable.map(|may| if may { "DEFERRABLE" } else { "NOT DEFERRABLE" }));
    words.join(" ")
}

/// A name in double quotes.
fn quoted(name: &str) -> Result<String, Mismatch> {
    if name.contains('\0') {
        return Err(Mismatch::wrong_type("an identifier cannot hold a NUL character"));
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

/// An identifier of a prepared transaction as a literal, whatever standard_conforming_strings is.
fn literal(text: &str) -> Result<String, Mismatch> {
    if text.contains('\0') {
        return Err(Mismatch::wrong_type("the identifier of a transaction cannot hold a NUL character"));
    }
    let escape = if text.contains('\\') { "E" } else { "" };
    Ok(format!("{escape}'{}'", text.replace('\\', "\\\\").replace('\'', "''")))
}

/// The statements of a verb that has any, and the BEGIN before them.
fn statements(verb: &Verb) -> Result<(String, Option<String>), Mismatch> {
    let release = |name: &str| Ok(format!("RELEASE SAVEPOINT {}", quoted(name)?));
    let sql = match verb {
        Verb::Begin(modes) => begin_statement(modes),
        Verb::Commit(_) => "COMMIT".into(),
        Verb::Rollback(_) => "ROLLBACK".into(),
        Verb::Savepoint { name, begin } => {
            return Ok((format!("SAVEPOINT {}", quoted(name)?), begin.as_ref().map(begin_statement)));
        }
        Verb::Release(name) => release(name)?,
        Verb::RollbackTo(name) => format!("ROLLBACK TO SAVEPOINT {}; {}", quoted(name)?, release(name)?),
        Verb::Prepare(id) => format!("PREPARE TRANSACTION {}", literal(id)?),
        Verb::CommitPrepared(id) => format!("COMMIT PREPARED {}", literal(id)?),
        Verb::RollbackPrepared(id) => format!("ROLLBACK PREPARED {}", literal(id)?),
        Verb::Reset => "DISCARD ALL".into(),
        Verb::Ping => String::new(),
    };
    Ok((sql, None))
}

/// The request of a verb.
pub(super) fn request(verb: &Verb) -> Result<Request, Mismatch> {
    if let Verb::Ping = verb {
        return Ok(Request::Sync);
    }
    let (sql, prelude) = statements(verb)?;
    Ok(Request::Verb { verb: verb.clone(), sql: sql.into(), prelude: prelude.map(Arc::from) })
}

impl<H: PgHandler> Machine<H> {
    /// The first request is the end of a block of the driver's, is answered, and has left the block open: another session
    /// has cancelled it. What comes next would be in a transaction that has failed, and nobody would end it, so a ROLLBACK
    /// is sent, once. Its outcome is that of the end, unless the end was a COMMIT, which has failed.
    ///
    /// # Errors
    /// Nobody waits for the end, or the ROLLBACK has failed too.
    pub(super) fn end_again(&mut self) -> Result<(), Fatal> {
        let refused = |pending: &PendingRequest<H>| pending.slot.may_repeat() && pending.slot.failure.is_some();
        let (Some(mut pending), Ok(rollback)) = (
            self.queue.first().is_some_and(refused).then(|| self.queue.pop_front()).flatten(),
            request(&Verb::Rollback(IfUnsent::RollBack)),
        ) else {
            return Err(Fatal::end_failed("its transaction is still open"));
        };
        if pending.block.ending != Ending::Irrelevant {
            self.portals.block_ended(false);
        }
        let is_commit = matches!(pending.request, Request::Verb { verb: Verb::Commit(_), .. });
        let failure = pending.slot.failure.take().filter(|_| is_commit);
        pending.slot.repeat();
        pending.slot.failure = failure;
        self.queue.put_back(PendingRequest::new(pending.slot, rollback));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_core::verb::{IfUnsent, Isolation};

    #[test]
    fn a_verb_is_one_script() {
        let (undo, modes) = ("ROLLBACK TO SAVEPOINT \"a\"\"b\"; RELEASE SAVEPOINT \"a\"\"b\"", Modes::default());
        let name: Arc<str> = "a\"b".into();
        for (verb, sql, begin) in [
            (Verb::Begin(modes), "BEGIN", None),
            (Verb::Commit(IfUnsent::Forget), "COMMIT", None),
            (Verb::Rollback(IfUnsent::RollBack), "ROLLBACK", None),
            (Verb::Savepoint { name: name.clone(), begin: None }, "SAVEPOINT \"a\"\"b\"", None),
            (Verb::Savepoint { name: name.clone(), begin: Some(modes) }, "SAVEPOINT \"a\"\"b\"", Some("BEGIN")),
            (Verb::Release(name.clone()), "RELEASE SAVEPOINT \"a\"\"b\"", None),
            (Verb::RollbackTo(name), undo, None),
            (Verb::Prepare("it's".into()), "PREPARE TRANSACTION 'it''s'", None),
            (Verb::CommitPrepared("a\\b".into()), "COMMIT PREPARED E'a\\\\b'", None),
            (Verb::RollbackPrepared("a".into()), "ROLLBACK PREPARED 'a'", None),
            (Verb::Reset, "DISCARD ALL", None),
        ] {
            let made = statements(&verb).expect("the name is one");
            assert_eq!((made.0.as_str(), made.1.as_deref()), (sql, begin), "{verb:?}");
        }
        assert!(request(&Verb::Release("a\0b".into())).is_err());
        assert!(request(&Verb::Prepare("a\0b".into())).is_err());
    }

    #[test]
    fn begin_has_the_requested_modes() {
        let modes =
            Modes { isolation: Some(Isolation::RepeatableRead), read_only: Some(true), deferrable: Some(false) };
        assert_eq!(begin_statement(&modes), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY NOT DEFERRABLE");
        let modes = Modes { read_only: Some(false), ..Modes::default() };
        assert_eq!(begin_statement(&modes), "BEGIN READ WRITE");
    }
}
