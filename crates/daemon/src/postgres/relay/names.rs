//! What a client's names of prepared statements mean.
//!
//! A message that the server has not answered yet may be skipped, because of an error in one before it. So what it does
//! to a name is kept apart until its reply has come.

use crate::limits::STATEMENT_NAME_BYTES;
use crate::postgres::counted::Counted;
use crate::postgres::description::Description;
use crate::postgres::statements::PreparedStatement;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// What is kept by a name: a few bytes, looked for several times for each message. The hash has a random seed, and is less work
/// than the standard library's: 92 to 130 instructions for a name in such a table, and 240 to 355.
type ByName<T> = HashMap<Vec<u8>, T, RandomState>;

/// What a message does to a name: it gives it to a statement, or takes it from one.
#[derive(Debug)]
pub struct Change {
    pub name: Vec<u8>,
    pub to: Option<Arc<PreparedStatement>>,
}

/// The names of one client.
#[derive(Debug, Default)]
pub struct Names {
    /// As the server's replies have left them.
    known: ByName<Named>,
    changing: ByName<Changing>,
    /// The same of the unnamed statement, which ends with each Query.
    unnamed: Option<Named>,
    unnamed_changing: Option<Changing>,
}

/// A statement, and what the client was told of it last.
#[derive(Debug)]
struct Named {
    statement: Arc<PreparedStatement>,
    told: Option<Description>,
    _counted: Counted,
}

/// Changes of one name that were not answered yet.
#[derive(Debug)]
struct Changing {
    last: Option<Arc<PreparedStatement>>,
    /// The group of the last one.
    group: u64,
    count: usize,
}

impl Names {
    fn named(&self, name: &[u8]) -> Option<&Named> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.known.get(name) }
    }

    fn named_mut(&mut self, name: &[u8]) -> Option<&mut Named> {
        if name.is_empty() { self.unnamed.as_mut() } else { self.known.get_mut(name) }
    }

    fn changing(&self, name: &[u8]) -> Option<&Changing> {
        if name.is_empty() { self.unnamed_changing.as_ref() } else { self.changing.get(name) }
    }

    fn changing_mut(&mut self, name: &[u8]) -> Option<&mut Changing> {
        if name.is_empty() { self.unnamed_changing.as_mut() } else { self.changing.get_mut(name) }
    }

    /// The statement that a name stands for, if nothing before is skipped.
    pub fn get(&self, name: &[u8]) -> Option<&Arc<PreparedStatement>> {
        match self.changing(name) {
            Some(changing) => changing.last.as_ref(),
            None => self.named(name).map(|named| &named.statement),
        }
    }

    /// The statement that a name stands for, and what the client was told of it; `None` while the name changes, as it was
    /// told nothing then.
    pub fn known(&self, name: &[u8]) -> Option<(&Arc<PreparedStatement>, Option<&Description>)> {
        if self.changing(name).is_some() {
            return None;
        }
        let named = self.named(name)?;
        Some((&named.statement, named.told.as_ref()))
    }

    /// The client is told of the statement of a name of its own, or of the one that [`Names::replace`] has replaced
    /// since.
    pub fn tell(&mut self, name: &[u8], statement: &PreparedStatement, description: &Description) {
        if let Some(named) = self.named_mut(name)
            && (named.statement.id() == statement.id() || named.statement.body == statement.body)
        {
            named.told = Some(description.clone().after(named.told.as_ref()));
        }
    }

    /// Returns true if what a name stands for depends on a message of an earlier group that was not answered.
    pub fn is_uncertain(&self, name: &[u8], group: u64) -> bool {
        self.changing(name).is_some_and(|changing| changing.group < group)
    }

    /// A message of this group that changes a name is sent.
    pub fn sent(&mut self, change: &Change, group: u64) {
        let first = || Changing { last: None, group, count: 0 };
        let entry = match change.name.is_empty() {
            true => self.unnamed_changing.get_or_insert_with(first),
            false => self.changing.entry(change.name.clone()).or_insert_with(first),
        };
        entry.last = change.to.clone();
        entry.group = group;
        entry.count += 1;
    }

    /// It was answered.
    pub fn done(&mut self, change: Change) {
        self.over(&change.name);
        self.set(change);
    }

    /// It was skipped.
    pub fn skipped(&mut self, change: &Change) {
        self.over(&change.name);
    }

    fn over(&mut self, name: &[u8]) {
        let Some(changing) = self.changing_mut(name) else { return };
        changing.count -= 1;
        if changing.count > 0 {
            return;
        }
        if name.is_empty() {
            self.unnamed_changing = None;
        } else {
            self.changing.remove(name);
            if self.changing.is_empty() {
                // An idle client has no memory for it.
                self.changing = ByName::default();
            }
        }
    }

    /// A change that nothing can undo.
    pub fn set(&mut self, change: Change) {
        let named = change.to.map(|statement| Named {
            statement,
            told: None,
            _counted: Counted::new(STATEMENT_NAME_BYTES + change.name.len()),
        });
        match (change.name.is_empty(), named) {
            (true, named) => self.unnamed = named,
            (false, Some(named)) => drop(self.known.insert(change.name, named)),
            (false, None) => drop(self.known.remove(&change.name)),
        }
    }

    /// The statement of a name is prepared again, with the same text. What the client was told of it is what it expects.
    pub fn replace(&mut self, name: &[u8], statement: &Arc<PreparedStatement>) {
        if let Some(changing) = self.changing_mut(name) {
            changing.last = Some(Arc::clone(statement));
        }
        if let Some(known) = self.named_mut(name) {
            known.statement = Arc::clone(statement);
        }
    }

    /// Takes all names away, but not that of the unnamed statement: DEALLOCATE ALL leaves it.
    pub fn take(&mut self) -> Vec<Arc<PreparedStatement>> {
        self.known.drain().map(|(_, named)| named.statement).collect()
    }
}
