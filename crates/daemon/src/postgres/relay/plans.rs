//! The plans that a session keeps, of functions (in PL/pgSQL, and since PostgreSQL 18 in SQL) and of prepared statements.
//!
//! A plan has the objects that names meant when it was made, and constants as the settings of then read them. The server
//! makes it again if one of these objects is changed, or for another search path; not if a table is made that comes
//! earlier in the same search path, as a temporary table does, nor if the setting is another one. In a session of
//! its own a client has no plans of others. Here DISCARD PLANS has the server make them again: where a session is lent to a
//! client whose settings are others, or after something was made, and before the client's next message that may use a plan
//! after one that may have changed what plans depend on. Clients with the same settings that make nothing cause none.
//!
//! A client that does not wait for answers is not kept waiting: DISCARD PLANS is a group of its own before its message, or
//! becomes a part of the group that has begun ([`Relay::put_into_group`]). Nothing else is put before SET TRANSACTION and
//! its like, which have to come first in their transaction.

use super::expected::Expected;
use super::{Relay, ServerState};
use headrace_core::transitions::Transitions;
use headrace_core::{TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::StatementOrPortal;
use headrace_postgres::sql::{
    Facts, commits, may_call_after_change, may_set_constants, only_sets_reported_constants, plans_nothing,
};
use std::sync::Arc;

/// What has the server make plans again.
pub(super) const DISCARD_PLANS: &str = "DISCARD PLANS";

/// Name of the portal and the statement of what the daemon puts into a client's transaction.
const OWN_NAME: &str = "headraced_restoring";

headrace_core::names! {
    /// What is known of the plans of a session.
    pub enum PlansState {
        Unread = "none was made since the session was opened, or since DISCARD ALL",
        Read = "all were made by settings that are known, and since something was made or changed last that names may mean",
        Mixed = "some may have been made by other settings, or before that",
    }
}

headrace_core::names! {
    /// An event that changes it.
    pub enum PlansEvent {
        Used = "the session is lent to a client, or used by it",
        Changed = "a text was sent, or has been executed, that may set such a setting, or make something to which names refer",
        Discarded = "DISCARD PLANS is sent, with the client's settings or before its message",
        Refused = "DISCARD PLANS was refused, in a transaction that has failed",
        Reset = "DISCARD ALL was executed",
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<PlansState, PlansEvent> = {
    use PlansEvent::*;
    use PlansState::*;
    Transitions {
        machine: "relay-plans",
        rows: &[
            (Unread, Used, Read),
            (Unread, Changed, Mixed),
            (Read, Changed, Mixed),
            (Mixed, Changed, Mixed),
            (Read, Discarded, Read),
            (Mixed, Discarded, Read),
            (Read, Refused, Mixed),
            (Mixed, Refused, Mixed),
            (Unread, Reset, Unread),
            (Read, Reset, Unread),
            (Mixed, Reset, Unread),
        ],
    }
};

/// The plans of a session.
#[derive(Debug)]
pub struct Plans {
    state: PlansState,
    /// The settings by which constants were read.
    settings: Arc<str>,
    /// What the catalog had seen made then ([`Catalog::generation`](crate::postgres::statements::Catalog::generation)).
    generation: u64,
}

impl Default for Plans {
    fn default() -> Self {
        Self { state: PlansState::Unread, settings: "".into(), generation: 0 }
    }
}

impl Plans {
    fn go(&mut self, event: PlansEvent, to: PlansState) {
        TRANSITIONS.take(self.state, event, to);
        self.state = to;
    }

    /// They are used by who has these settings. Returns true if he may, as they are what he would have made himself.
    #[must_use]
    pub(super) fn are_used(&mut self, settings: &Arc<str>, generation: u64) -> bool {
        if self.state == PlansState::Unread {
            (self.settings, self.generation) = (Arc::clone(settings), generation);
            self.go(PlansEvent::Used, PlansState::Read);
        }
        self.state == PlansState::Read && self.generation == generation && self.settings == *settings
    }

    /// Returns true if something may have been made since they were.
    pub(super) fn are_older_than(&self, generation: u64) -> bool {
        self.state == PlansState::Read && self.generation != generation
    }

    /// Returns true if there may be any.
    fn exist(&self) -> bool {
        self.state != PlansState::Unread
    }

    /// What they depend on may be another now.
    pub(super) fn may_have_changed(&mut self) {
        self.go(PlansEvent::Changed, PlansState::Mixed);
    }

    pub(super) fn discarded(&mut self, settings: &Arc<str>, generation: u64) {
        (self.settings, self.generation) = (Arc::clone(settings), generation);
        self.go(PlansEvent::Discarded, PlansState::Read);
    }

    pub(super) fn not_discarded(&mut self) {
        self.go(PlansEvent::Refused, PlansState::Mixed);
    }

    /// The session was reset.
    pub fn reset(&mut self) {
        self.go(PlansEvent::Reset, PlansState::Unread);
    }
}

/// What a text does to the plans of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnPlans {
    #[default]
    Nothing,
    /// It changes a setting by which constants are read, and the server reports what that is then.
    Reported,
    /// They may not be those that would be made after it.
    Changes,
}

impl OnPlans {
    /// Of a statement, or a script.
    pub(super) fn of(sql: &str, facts: &Facts) -> Self {
        match facts.effects.settings && may_set_constants(sql) {
            _ if facts.effects.creates || facts.has_lasting_block => Self::Changes,
            true if only_sets_reported_constants(sql) => Self::Reported,
            true => Self::Changes,
            false => Self::Nothing,
        }
    }

    /// Returns false if a text does nothing to them, whatever it is in particular.
    pub(super) fn may_be_any(facts: &Facts) -> bool {
        facts.effects.settings || facts.effects.creates || facts.session_state.is_some()
    }

    /// Returns true if a statement may change something, and use a plan after that.
    pub(super) fn is_within(sql: &str, facts: &Facts) -> bool {
        Self::of(sql, facts) != Self::Nothing && may_call_after_change(sql)
    }
}

/// Whether the client's next message may need other plans than the session has.
#[derive(Debug, Default)]
pub struct PlansInDoubt {
    /// They are to be compared.
    pub(super) is_to_be_compared: bool,
    /// What changes a setting was not answered, so the setting is not known.
    pub(super) is_unanswered: bool,
    /// They were made by settings that were not known, and are to be compared when they are.
    is_compared_later: bool,
    /// What is bound does this when it is executed.
    pub(super) bound: OnPlans,
    /// Since DISCARD PLANS nothing has come that may use one.
    pub(super) are_unused: bool,
}

impl PlansInDoubt {
    /// Returns true if something has to be looked at before a message.
    pub(super) fn are(&self) -> bool {
        self.is_to_be_compared || self.is_unanswered
    }
}

impl Relay {
    /// A text was sent that does this to the plans.
    pub(super) fn note_plans(&mut self, what: OnPlans, server: &mut ServerState) {
        match what {
            OnPlans::Nothing => {}
            OnPlans::Reported => self.plans.is_unanswered = true,
            OnPlans::Changes => self.plans_may_have_changed(server),
        }
    }

    /// What the plans of the session depend on may have changed.
    pub(super) fn plans_may_have_changed(&mut self, server: &mut ServerState) {
        server.plans.may_have_changed();
        self.plans.is_to_be_compared = true;
    }

    /// Another client may have made something to which names refer, while this one keeps the session.
    pub(super) fn compare_plans(&mut self, server: &ServerState) {
        self.plans.is_to_be_compared |= server.plans.are_older_than(self.catalog.generation());
    }

    /// A text follows, or what is bound, that may use plans after it has changed what they depend on: they are made in it.
    pub(super) fn make_plans_within(
        &mut self,
        sql: &str,
        facts: &Facts,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) {
        if server.plans.exist() && !self.plans.are_unused && OnPlans::is_within(sql, facts) {
            self.plans_may_have_changed(server);
            self.check_plans(sql, server, output);
        }
    }

    /// What the daemon has put into a group is skipped with the rest of it.
    pub(super) fn plans_are_not_discarded(&mut self, server: &mut ServerState) {
        self.plans.are_unused = false;
        self.plans_may_have_changed(server);
    }

    /// A message follows that may use a plan: a text, or what is bound.
    pub(super) fn check_plans(&mut self, sql: &str, server: &mut ServerState, output: &mut WriteBuffer) {
        if self.plans.is_unanswered {
            server.plans.may_have_changed();
        }
        let settings = Arc::clone(self.client.settings.of_constants());
        let generation = self.catalog.generation();
        if server.plans.are_used(&settings, generation) {
            self.plans.is_to_be_compared = false;
            return;
        }
        self.plans.is_to_be_compared = true;
        let is_refused = match server.status {
            TransactionStatus::Idle => !server.is_idle(),
            status => status == TransactionStatus::Failed,
        };
        if is_refused || self.has_nothing_before(sql) {
            return;
        }
        // A Sync would end the transaction that a Query without one has left open.
        match self.group.is_open() || server.is_unfinished {
            true => self.put_into_group(DISCARD_PLANS, output),
            false => {
                put_messages(DISCARD_PLANS, output);
                frontend::sync(output.tail());
                self.in_flight.replies.push(Expected::Discard);
            }
        }
        server.plans.discarded(&settings, generation);
        (self.plans.is_to_be_compared, self.plans.are_unused) = (false, true);
        if std::mem::take(&mut self.plans.is_unanswered) || self.client.settings.certain().is_none() {
            // By which settings they are made from now on is known later.
            server.plans.may_have_changed();
            self.plans.is_compared_later = true;
        }
    }

    /// Returns true if nothing is put in before a statement, even if plans are in doubt.
    pub(super) fn has_nothing_before(&self, sql: &str) -> bool {
        // COMMIT of a transaction that has failed rolls it back; with something before it in its group, which is refused, the
        // server would skip it, and the transaction would stay open. Whether it has failed shows when all is answered.
        plans_nothing(sql) || (self.group.is_open() && commits(sql) && self.has_unanswered_groups())
    }

    /// Returns true if a group before the one that is open has not been answered.
    fn has_unanswered_groups(&self) -> bool {
        let ends =
            |expected: &Expected| matches!(expected, Expected::Ready | Expected::Sync { .. } | Expected::Query(..));
        self.in_flight.replies.iter().any(ends)
    }

    /// The settings are known.
    pub(super) fn compare_plans_later(&mut self) {
        self.plans.is_to_be_compared |= std::mem::take(&mut self.plans.is_compared_later);
    }

    /// A statement of the daemon comes next in the client's group: in the same transaction. The client sees none of its
    /// replies, but for an error.
    pub(super) fn put_into_group(&mut self, sql: &str, output: &mut WriteBuffer) {
        for _ in 0..put_messages(sql, output) {
            self.expect(Expected::Restoring);
        }
    }
}

/// The messages of a statement of the daemon, which leave the unnamed statement and portal as they are; returns their
/// number.
fn put_messages(sql: &str, output: &mut WriteBuffer) -> usize {
    let out = output.tail();
    // A cancel between the Parse and the Close of the last time has left it, where its name would be taken.
    frontend::close(out, StatementOrPortal::Statement, OWN_NAME);
    frontend::parse(out, OWN_NAME, sql, &[]);
    frontend::bind_empty(out, OWN_NAME, OWN_NAME);
    frontend::execute(out, OWN_NAME, 0);
    frontend::close(out, StatementOrPortal::Portal, OWN_NAME);
    frontend::close(out, StatementOrPortal::Statement, OWN_NAME);
    6
}
