//! Verbs of a session as requests.

use super::Request;
use headrace_core::Mismatch;
use headrace_core::verb::{Modes, Verb};
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
