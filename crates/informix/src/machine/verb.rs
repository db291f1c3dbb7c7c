//! Verbs of a session as requests.

use super::Request;
use headrace_core::Mismatch;
use headrace_core::verb::{IfUnsent, Modes, Verb};

/// Of a transaction's modes Informix has the isolation level and read-only, set by statements of their own, for the
/// rest of the session or of the transaction.
fn check(modes: &Modes) -> Result<(), Mismatch> {
    if *modes == Modes::default() {
        return Ok(());
    }
    Err(Mismatch::wrong_type("BEGIN WORK of Informix takes no modes: execute SET ISOLATION or SET TRANSACTION"))
}

fn check_name(name: &str) -> Result<(), Mismatch> {
    let is_start = |first: u8| first.is_ascii_alphabetic() || first == b'_';
    let is_name = name.bytes().next().is_some_and(is_start)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Err(Mismatch::wrong_type(format!(
            "{name:?} cannot be the name of a savepoint: use letters, digits and _, and no digit first"
        )));
    }
    Ok(())
}

/// The request of a verb.
pub(super) fn requests(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
    match verb {
        Verb::Begin(modes) => check(modes)?,
        Verb::Savepoint { name, begin } => {
            check_name(name)?;
            begin.as_ref().map_or(Ok(()), check)?;
        }
        Verb::Release(name) | Verb::RollbackTo(name) => check_name(name)?,
        // A rollback is sent in any case.
        Verb::Rollback(_) => return Ok(vec![Request::Verb(Verb::Rollback(IfUnsent::RollBack))]),
        Verb::Reset => return Err(Mismatch::wrong_type("Informix cannot forget the state of a session: open another")),
        Verb::Prepare(_) | Verb::CommitPrepared(_) | Verb::RollbackPrepared(_) => {
            return Err(Mismatch::wrong_type(
                "a program cannot prepare a transaction of Informix for a two-phase commit",
            ));
        }
        Verb::Commit(_) | Verb::Ping => {}
    }
    Ok(vec![Request::Verb(verb.clone())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn refusal(verb: &Verb) -> Option<String> {
        requests(verb).err().map(|error| error.message)
    }

    #[test]
    fn a_rollback_is_sent_in_any_case() {
        let requests = requests(&Verb::Rollback(IfUnsent::Forget)).expect("Informix has it");
        assert!(matches!(requests[..], [Request::Verb(Verb::Rollback(IfUnsent::RollBack))]), "{requests:?}");
    }

    #[test]
    fn what_informix_cannot_do_is_refused_before_anything_is_queued() {
        let (name, modes): (Arc<str>, _) = ("s1".into(), Modes { read_only: Some(true), ..Modes::default() });
        assert_eq!(refusal(&Verb::Savepoint { name: name.clone(), begin: Some(Modes::default()) }), None);
        for name in ["", "1a", "a b", "a\"b", "ä"] {
            assert!(refusal(&Verb::Savepoint { name: name.into(), begin: None }).is_some(), "{name:?}");
        }
        assert!(refusal(&Verb::Begin(modes)).is_some());
        assert!(refusal(&Verb::Savepoint { name, begin: Some(modes) }).is_some());
        assert!(refusal(&Verb::Prepare("a".into())).is_some());
        assert!(refusal(&Verb::Reset).is_some());
    }
}
