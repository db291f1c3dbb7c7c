//! A server connection, as far as the clients to which it is lent are concerned.

use super::plans::Plans;
use crate::postgres::own_settings::OwnSettings;
use crate::postgres::statements::OnServer;
use headrace_core::TransactionStatus;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// What a server connection has, independent of the client that it is lent to.
#[derive(Debug)]
pub struct ServerState {
    /// The prepared statements.
    pub prepared: OnServer,
    /// The settings that the server reports, and their values.
    pub parameters: Reported,
    /// Their values when the session was opened, which RESET gives them.
    pub defaults: BTreeMap<String, String>,
    /// The status of the transaction, of the last ReadyForQuery.
    pub status: TransactionStatus,
    /// The plans that it keeps.
    pub plans: Plans,
    /// A Query has come after messages without a Sync, and nothing has ended their transaction for certain: since version 18
    /// the server reports that none is open, after a Sync that has nothing else before it, though it is.
    pub(super) is_unfinished: bool,
    /// The transaction has changed what texts mean.
    pub(super) changed: bool,
    /// Statements that do not fit their tables any more, to be closed before anything is prepared.
    pub(super) stale: Vec<u64>,
    /// The server has reported that it ends the session, when no client had asked for anything.
    pub(super) ends: bool,
    /// What the session has that DISCARD ALL does not undo.
    pub(super) spoiled: Option<&'static str>,
    /// It waits for the data of a COPY, and ignores Sync.
    pub(super) copies_in: bool,
    /// The settings that it does not report, where they are not as it was opened.
    pub own_settings: OwnSettings,
}

/// What a server has reported last of its settings.
#[derive(Debug)]
pub struct Reported {
    values: BTreeMap<String, String>,
    /// The settings of a client that these are, as long as nothing was reported since.
    fit: Option<Arc<BTreeMap<String, String>>>,
}

impl Reported {
    /// The server has reported a setting.
    pub fn insert(&mut self, name: String, value: String) {
        self.fit = None;
        self.values.insert(name, value);
    }

    /// Returns true if these settings of a client need not be compared, as they are known to be those of the session.
    pub fn fit(&self, wanted: &Arc<BTreeMap<String, String>>) -> bool {
        self.fit.as_ref().is_some_and(|fit| Arc::ptr_eq(fit, wanted))
    }

    /// They were compared, and are those of the session.
    pub fn do_fit(&mut self, wanted: &Arc<BTreeMap<String, String>>) {
        self.fit = Some(Arc::clone(wanted));
    }
}

impl Deref for Reported {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

impl ServerState {
    /// Of a session that was just opened.
    pub fn new(parameters: BTreeMap<String, String>, statements: usize) -> Self {
        Self {
            prepared: OnServer::new(statements),
            defaults: parameters.clone(),
            parameters: Reported { values: parameters, fit: None },
            status: TransactionStatus::Idle,
            plans: Plans::default(),
            is_unfinished: false,
            changed: false,
            stale: Vec::new(),
            ends: false,
            spoiled: None,
            copies_in: false,
            own_settings: OwnSettings::new(),
        }
    }

    /// Returns true if the session can be another client's after DISCARD ALL.
    pub fn can_be_lent_again(&self) -> bool {
        !self.ends && self.spoiled.is_none() && !self.is_unfinished
    }

    /// Returns true if no transaction is open, for certain.
    pub fn is_idle(&self) -> bool {
        self.status == TransactionStatus::Idle && !self.is_unfinished
    }

    /// Returns true if the server waits for the client's data of a COPY.
    pub fn is_copying_in(&self) -> bool {
        self.copies_in
    }
}
