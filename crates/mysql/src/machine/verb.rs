//! Verbs of a session as requests.

use super::Request;
use crate::sql::quoted;
use headrace_core::Mismatch;
use headrace_core::verb::{IfUnsent, Modes, Verb};
use std::sync::Arc;

fn query(sql: impl Into<Arc<str>>, discarded: Option<&str>) -> Request {
    Request::Query { sql: sql.into(), infile: false, discarded: discarded.map(Arc::from) }
}

fn name_of(name: &str) -> Result<String, Mismatch> {
    if name.contains('\0') {
        return Err(Mismatch::wrong_type("an identifier cannot hold a NUL character"));
    }
    Ok(quoted(name))
}

/// MySQL, "SET TRANSACTION Statement": without a scope it applies to the next transaction alone.
fn begin(modes: &Modes) -> Result<Vec<Request>, Mismatch> {
    if modes.deferrable.is_some() {
        return Err(Mismatch::wrong_type("MySQL has no deferrable transactions"));
    }
    let mut requests = Vec::new();
    if let Some(level) = modes.isolation {
        requests.push(query(format!("SET TRANSACTION ISOLATION LEVEL {}", level.name()), None));
    }
    requests.push(match modes.read_only {
        None => query("START TRANSACTION", None),
        Some(true) => query("START TRANSACTION READ ONLY", None),
        Some(false) => query("START TRANSACTION READ WRITE", None),
    });
    Ok(requests)
}

/// The requests of a verb.
pub(super) fn requests(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
    let end = |word: &str, unsent: IfUnsent| vec![query(word, (unsent == IfUnsent::RollBack).then_some("ROLLBACK"))];
    Ok(match verb {
        Verb::Begin(modes) => begin(modes)?,
        Verb::Commit(unsent) => end("COMMIT", *unsent),
        Verb::Rollback(unsent) => end("ROLLBACK", *unsent),
        Verb::Savepoint { name, begin: modes } => {
            let set = query(format!("SAVEPOINT {}", name_of(name)?), None);
            let mut requests = modes.as_ref().map_or_else(|| Ok(Vec::new()), begin)?;
            requests.push(set);
            requests
        }
        Verb::Release(name) | Verb::RollbackTo(name) => {
            let name = name_of(name)?;
            let undo = format!("ROLLBACK TO SAVEPOINT {name}");
            let release = query(format!("RELEASE SAVEPOINT {name}"), Some(&undo));
            match verb {
                Verb::Release(_) => vec![release],
                _ => vec![query(undo.as_str(), Some(&undo)), release],
            }
        }
        Verb::Reset => vec![Request::ResetConnection],
        Verb::Ping => vec![Request::Ping],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_core::verb::Isolation;

    fn texts(verb: &Verb) -> Vec<(String, Option<String>)> {
        let requests = requests(verb).expect("the name is one").into_iter();
        let queries = requests.filter_map(|request| match request {
            Request::Query { sql, infile: false, discarded } => {
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
    }
}
