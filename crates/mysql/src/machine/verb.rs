//! Verbs of a session as requests.

use super::{Request, VerbStatement};
use crate::sql::quoted;
use headrace_core::Mismatch;
use headrace_core::verb::{Modes, Verb};
use std::sync::Arc;

pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
/// What follows COMMIT or ROLLBACK if the session's `completion_type` may not be the default: it chains another
/// transaction to each, or ends the session after it.
pub(super) const ENDS_ALONE: &str = " AND NO CHAIN NO RELEASE";

/// Sets a savepoint.
pub(super) fn savepoint(name: &str) -> String {
    format!("SAVEPOINT {}", quoted(name))
}

/// Forgets a savepoint.
pub(super) fn release(name: &str) -> String {
    format!("RELEASE SAVEPOINT {}", quoted(name))
}

/// Undoes what came after a savepoint, which stays.
pub(super) fn rollback_to(name: &str) -> String {
    format!("ROLLBACK TO SAVEPOINT {}", quoted(name))
}

fn check_name(name: &str) -> Result<(), Mismatch> {
    match name.contains('\0') {
        true => Err(Mismatch::wrong_type("an identifier cannot hold a NUL character")),
        false => Ok(()),
    }
}

/// MySQL, "SET TRANSACTION Statement": without a scope it applies to the next transaction alone.
fn begin(modes: &Modes) -> Result<Vec<String>, Mismatch> {
    if modes.deferrable.is_some() {
        return Err(Mismatch::wrong_type("MySQL has no deferrable transactions"));
    }
    let level = modes.isolation.map(|level| format!("SET TRANSACTION ISOLATION LEVEL {}", level.name()));
    let start = match modes.read_only {
        None => "START TRANSACTION",
        Some(true) => "START TRANSACTION READ ONLY",
        Some(false) => "START TRANSACTION READ WRITE",
    };
    Ok(level.into_iter().chain([start.to_owned()]).collect())
}

/// The statements of a verb that has any.
fn statements(verb: &Verb) -> Result<Vec<String>, Mismatch> {
    if let Verb::Savepoint { name, .. } | Verb::Release(name) | Verb::RollbackTo(name) = verb {
        check_name(name)?;
    }
    Ok(match verb {
        Verb::Begin(modes) => begin(modes)?,
        Verb::Commit(_) => vec![COMMIT.into()],
        Verb::Rollback(_) => vec![ROLLBACK.into()],
        Verb::Savepoint { name, begin: modes } => {
            let mut statements = modes.as_ref().map_or_else(|| Ok(Vec::new()), begin)?;
            statements.push(savepoint(name));
            statements
        }
        Verb::Release(name) => vec![release(name)],
        Verb::RollbackTo(name) => vec![rollback_to(name), release(name)],
        Verb::Prepare(_) | Verb::CommitPrepared(_) | Verb::RollbackPrepared(_) | Verb::Reset | Verb::Ping => Vec::new(),
    })
}

/// The requests of a verb.
pub(super) fn requests(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
    match verb {
        Verb::Reset => return Ok(vec![Request::ResetConnection]),
        Verb::Ping => return Ok(vec![Request::Ping]),
        Verb::Prepare(_) | Verb::CommitPrepared(_) | Verb::RollbackPrepared(_) => {
            return Err(Mismatch::wrong_type("MySQL prepares only what XA START has begun: execute the XA statements"));
        }
        _ => {}
    }
    // The first statement of the verb that replaces it; the others only release a savepoint.
    let instead = verb.if_discarded().map(|instead| statements(&instead)).transpose()?.unwrap_or_default();
    let discarded = instead.into_iter().next().map(Arc::<str>::from);
    let request = |sql: String| {
        Request::Verb(VerbStatement { sql: sql.into(), effect: verb.effect(), discarded: discarded.clone() })
    };
    Ok(statements(verb)?.into_iter().map(request).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_core::verb::{IfUnsent, Isolation};

    fn texts(verb: &Verb) -> Vec<(String, Option<String>)> {
        let requests = requests(verb).expect("the name is one").into_iter();
        let queries = requests.filter_map(|request| match request {
            Request::Verb(VerbStatement { sql, discarded, .. }) => {
                Some((sql.to_string(), discarded.map(|text| text.to_string())))
            }
            _ => None,
        });
        queries.collect()
    }

    #[test]
    fn a_verb_is_one_query_or_several() {
        let modes = Modes::default();
        let only = Modes { isolation: Some(Isolation::Serializable), read_only: Some(true), deferrable: None };
        let name: Arc<str> = "a`b".into();
        let undo = "ROLLBACK TO SAVEPOINT `a``b`";
        for (verb, wanted) in [
            (Verb::Begin(modes), vec![("START TRANSACTION", None)]),
            (
                Verb::Begin(only),
                vec![("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", None), ("START TRANSACTION READ ONLY", None)],
            ),
            (Verb::Commit(IfUnsent::Forget), vec![("COMMIT", None)]),
            (Verb::Commit(IfUnsent::RollBack), vec![("COMMIT", Some("ROLLBACK"))]),
            (Verb::Rollback(IfUnsent::RollBack), vec![("ROLLBACK", Some("ROLLBACK"))]),
            (Verb::Savepoint { name: name.clone(), begin: None }, vec![("SAVEPOINT `a``b`", None)]),
            (
                Verb::Savepoint { name: name.clone(), begin: Some(modes) },
                vec![("START TRANSACTION", None), ("SAVEPOINT `a``b`", None)],
            ),
            (Verb::Release(name.clone()), vec![("RELEASE SAVEPOINT `a``b`", Some(undo))]),
            (Verb::RollbackTo(name), vec![(undo, Some(undo)), ("RELEASE SAVEPOINT `a``b`", Some(undo))]),
        ] {
            let wanted: Vec<_> =
                wanted.into_iter().map(|(sql, instead)| (sql.to_owned(), instead.map(str::to_owned))).collect();
            assert_eq!(texts(&verb), wanted, "{verb:?}");
        }
        assert!(requests(&Verb::Begin(Modes { deferrable: Some(true), ..modes })).is_err());
        assert!(requests(&Verb::RollbackTo("a\0b".into())).is_err());
        assert!(requests(&Verb::Prepare("a".into())).is_err());
    }
}
