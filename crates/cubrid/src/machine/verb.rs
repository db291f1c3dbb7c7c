//! Verbs of a session as requests.

use super::Request;
use headrace_core::Mismatch;
use headrace_core::verb::{Modes, Verb};

/// CUBRID has no BEGIN: a block is what the client executes without the autocommit byte. The isolation level is one of
/// the session, and no transaction is read-only.
fn check(modes: &Modes) -> Result<(), Mismatch> {
    let reason = match modes {
        Modes { isolation: Some(_), .. } => {
            "CUBRID has no isolation level of one transaction: execute SET TRANSACTION ISOLATION LEVEL, which is for the session"
        }
        Modes { read_only: Some(_), .. } => "CUBRID has no read-only transactions",
        Modes { deferrable: Some(_), .. } => "CUBRID has no deferrable transactions",
        _ => return Ok(()),
    };
    Err(Mismatch::wrong_type(reason))
}

/// The requests of a verb.
pub(super) fn requests(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
    match verb {
        Verb::Begin(modes) => check(modes)?,
        Verb::Savepoint { name, begin: Some(modes) } => {
            check(modes)?;
            let savepoint = requests(&Verb::Savepoint { name: name.clone(), begin: None })?;
            return Ok([vec![Request::Verb(Verb::Begin(*modes))], savepoint].concat());
        }
        Verb::Savepoint { name, begin: None } | Verb::Release(name) | Verb::RollbackTo(name) if name.contains('\0') => {
            return Err(Mismatch::wrong_type("an identifier cannot hold a NUL character"));
        }
        Verb::Prepare(_) | Verb::CommitPrepared(_) | Verb::RollbackPrepared(_) => {
            return Err(Mismatch::wrong_type("two-phase commit is not supported with CUBRID"));
        }
        Verb::Reset => return Err(Mismatch::wrong_type("CUBRID cannot reset a session: connect again")),
        _ => {}
    }
    Ok(vec![Request::Verb(verb.clone())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_core::Isolation;

    #[test]
    fn a_verb_is_a_request_or_refused() {
        let name = "a".into();
        let modes = Modes::default();
        let savepoint = Verb::Savepoint { name, begin: Some(modes) };
        assert_eq!(requests(&savepoint).unwrap().len(), 2);
        assert_eq!(requests(&Verb::Ping).unwrap().len(), 1);
        for refused in [
            Verb::Begin(Modes { isolation: Some(Isolation::Serializable), ..modes }),
            Verb::Begin(Modes { read_only: Some(true), ..modes }),
            Verb::Begin(Modes { deferrable: Some(true), ..modes }),
            Verb::RollbackTo("a\0".into()),
            Verb::Prepare("a".into()),
            Verb::Reset,
        ] {
            assert!(requests(&refused).is_err(), "{refused:?}");
        }
    }
}
