//! Verbs of a session as requests.

use super::Request;
use headrace_core::verb::{Modes, Verb};
use headrace_core::{Isolation, Mismatch};

/// CUBRID has no BEGIN: a block is what the client executes without the autocommit byte. The isolation level is one of
/// the session: it is set for the block. No transaction is read-only.
fn check(modes: &Modes) -> Result<(), Mismatch> {
    let reason = match modes {
        Modes { isolation: Some(Isolation::ReadUncommitted), .. } => "CUBRID has no READ UNCOMMITTED",
        Modes { read_only: Some(_), .. } => "CUBRID has no read-only transactions",
        Modes { deferrable: Some(_), .. } => "CUBRID has no deferrable transactions",
        _ => return Ok(()),
    };
    Err(Mismatch::wrong_type(reason))
}

/// The value of the parameter for an isolation level; 1 to 3 are those of earlier versions, which are refused.
pub(super) fn parameter_of(isolation: Isolation) -> i32 {
    match isolation {
        Isolation::ReadUncommitted | Isolation::ReadCommitted => 4,
        Isolation::RepeatableRead => 5,
        Isolation::Serializable => 6,
    }
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

    #[test]
    fn a_verb_is_a_request_or_refused() {
        let name = "a".into();
        let modes = Modes::default();
        let savepoint = Verb::Savepoint { name, begin: Some(modes) };
        assert_eq!(requests(&savepoint).unwrap().len(), 2);
        assert_eq!(requests(&Verb::Ping).unwrap().len(), 1);
        let serializable = Modes { isolation: Some(Isolation::Serializable), ..modes };
        assert_eq!(requests(&Verb::Begin(serializable)).unwrap().len(), 1);
        for refused in [
            Verb::Begin(Modes { isolation: Some(Isolation::ReadUncommitted), ..modes }),
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
