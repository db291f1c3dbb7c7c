//! Verbs of a session as requests.

use super::{Request, Savepoint};
use headrace_core::Mismatch;
use headrace_core::verb::{IfUnsent, Modes, Verb};
use std::sync::Arc;

/// Of a transaction's modes Informix has the isolation level and read-only, set by statements of their own, for the
/// rest of the session or of the transaction.
fn check(modes: &Modes) -> Result<(), Mismatch> {
    if *modes == Modes::default() {
        return Ok(());
    }
    Err(Mismatch::wrong_type("BEGIN WORK of Informix takes no modes: execute SET ISOLATION or SET TRANSACTION"))
}

fn name_of(name: &Arc<str>) -> Result<Arc<str>, Mismatch> {
    let is_start = |first: u8| first.is_ascii_alphabetic() || first == b'_';
    let is_name = name.bytes().next().is_some_and(is_start)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Err(Mismatch::wrong_type(format!(
            "{name:?} cannot be the name of a savepoint: use letters, digits and _, and no digit first"
        )));
    }
    Ok(name.clone())
}

/// The requests of a verb.
pub(super) fn requests(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
    Ok(match verb {
        Verb::Begin(modes) => {
            check(modes)?;
            vec![Request::Begin]
        }
        Verb::Commit(unsent) => vec![Request::Commit { block: *unsent == IfUnsent::RollBack }],
        // Always sent: see `replace_discarded`.
        Verb::Rollback(_) => vec![Request::Rollback],
        Verb::Savepoint { name, begin } => {
            let set = Request::Savepoint(Savepoint::Set, name_of(name)?);
            match begin {
                None => vec![set],
                Some(modes) => {
                    check(modes)?;
                    vec![Request::Begin, set]
                }
            }
        }
        Verb::Release(name) => vec![Request::Savepoint(Savepoint::Release, name_of(name)?)],
        Verb::RollbackTo(name) => {
            let name = name_of(name)?;
            vec![Request::Savepoint(Savepoint::Rollback, name.clone()), Request::Savepoint(Savepoint::Release, name)]
        }
        Verb::Reset => return Err(Mismatch::wrong_type("Informix cannot forget the state of a session: open another")),
        Verb::Ping => vec![Request::Ping],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(verb: &Verb) -> Result<String, String> {
        requests(verb).map(|requests| format!("{requests:?}")).map_err(|error| error.message)
    }

    #[test]
    fn a_verb_is_one_request_or_two() {
        let (name, modes): (Arc<str>, _) = ("s1".into(), Modes::default());
        for (verb, wanted) in [
            (Verb::Begin(modes), "[Begin]"),
            (Verb::Commit(IfUnsent::Forget), "[Commit { block: false }]"),
            (Verb::Commit(IfUnsent::RollBack), "[Commit { block: true }]"),
            (Verb::Rollback(IfUnsent::Forget), "[Rollback]"),
            (Verb::Savepoint { name: name.clone(), begin: None }, "[Savepoint(Set, \"s1\")]"),
            (Verb::Savepoint { name: name.clone(), begin: Some(modes) }, "[Begin, Savepoint(Set, \"s1\")]"),
            (Verb::Release(name.clone()), "[Savepoint(Release, \"s1\")]"),
            (Verb::RollbackTo(name), "[Savepoint(Rollback, \"s1\"), Savepoint(Release, \"s1\")]"),
            (Verb::Ping, "[Ping]"),
        ] {
            assert_eq!(asked(&verb).as_deref(), Ok(wanted), "{verb:?}");
        }
    }

    #[test]
    fn what_informix_cannot_do_is_refused_before_anything_is_queued() {
        for name in ["", "1a", "a b", "a\"b", "ä"] {
            assert!(asked(&Verb::Savepoint { name: name.into(), begin: None }).is_err(), "{name:?}");
        }
        assert!(asked(&Verb::Begin(Modes { read_only: Some(true), ..Modes::default() })).is_err());
        assert!(asked(&Verb::Reset).is_err());
    }
}
