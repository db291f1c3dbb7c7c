//! Verbs of a session as requests.

use super::Request;
use headrace_core::Mismatch;
use headrace_core::verb::{IfUnsent, Modes, Verb};
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

fn script(sql: String, prelude: Option<String>, ends_block: bool, discarded: Option<String>) -> Request {
    let text = |text: Option<String>| text.map(Arc::from);
    Request::Script { sql: sql.into(), prelude: text(prelude), copy: false, ends_block, discarded: text(discarded) }
}

/// The requests of a verb.
pub(super) fn requests(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
    let end = |word: &str, unsent: IfUnsent| {
        script(word.into(), None, true, (unsent == IfUnsent::RollBack).then(|| "ROLLBACK".into()))
    };
    Ok(vec![match verb {
        Verb::Begin(modes) => script(begin_statement(modes), None, false, None),
        Verb::Commit(unsent) => end("COMMIT", *unsent),
        Verb::Rollback(unsent) => end("ROLLBACK", *unsent),
        Verb::Savepoint { name, begin } => {
            script(format!("SAVEPOINT {}", quoted(name)?), begin.as_ref().map(begin_statement), false, None)
        }
        Verb::Release(name) | Verb::RollbackTo(name) => {
            let release = format!("RELEASE SAVEPOINT {}", quoted(name)?);
            let undo = format!("ROLLBACK TO SAVEPOINT {}; {release}", quoted(name)?);
            let sql = if matches!(verb, Verb::Release(_)) { release } else { undo.clone() };
            script(sql, None, false, Some(undo))
        }
        Verb::Reset => script("DISCARD ALL".into(), None, false, None),
        Verb::Ping => Request::Sync,
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_core::verb::Isolation;

    fn texts(verb: &Verb) -> Vec<(String, Option<String>, bool, Option<String>)> {
        let own = |text: Option<Arc<str>>| text.map(|text| text.to_string());
        let requests = requests(verb).expect("the name is one").into_iter();
        let scripts = requests.filter_map(|request| match request {
            Request::Script { sql, prelude, ends_block, discarded, .. } => {
                Some((sql.to_string(), own(prelude), ends_block, own(discarded)))
            }
            _ => None,
        });
        scripts.collect()
    }

    #[test]
    fn a_verb_is_one_script() {
        let (undo, modes) = ("ROLLBACK TO SAVEPOINT \"a\"\"b\"; RELEASE SAVEPOINT \"a\"\"b\"", Modes::default());
        let name: Arc<str> = "a\"b".into();
        for (verb, sql, prelude, ends_block, discarded) in [
            (Verb::Begin(modes), "BEGIN", None, false, None),
            (Verb::Commit(IfUnsent::Forget), "COMMIT", None, true, None),
            (Verb::Commit(IfUnsent::RollBack), "COMMIT", None, true, Some("ROLLBACK")),
            (Verb::Rollback(IfUnsent::RollBack), "ROLLBACK", None, true, Some("ROLLBACK")),
            (Verb::Savepoint { name: name.clone(), begin: None }, "SAVEPOINT \"a\"\"b\"", None, false, None),
            (
                Verb::Savepoint { name: name.clone(), begin: Some(modes) },
                "SAVEPOINT \"a\"\"b\"",
                Some("BEGIN"),
                false,
                None,
            ),
            (Verb::Release(name.clone()), "RELEASE SAVEPOINT \"a\"\"b\"", None, false, Some(undo)),
            (Verb::RollbackTo(name), undo, None, false, Some(undo)),
            (Verb::Reset, "DISCARD ALL", None, false, None),
        ] {
            let own = |text: Option<&str>| text.map(str::to_owned);
            assert_eq!(texts(&verb), [(sql.to_owned(), own(prelude), ends_block, own(discarded))], "{verb:?}");
        }
        assert!(requests(&Verb::Release("a\0b".into())).is_err());
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
