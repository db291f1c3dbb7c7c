//! What the clients of a pool are welcomed with, so that the server need not be asked for each of them.

use super::pool::Parameters;
use crate::limits::WELCOMES;
use crate::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Settings that the server reports, with their values.
pub type Settings = BTreeMap<String, String>;

/// What the server has made of the settings of earlier clients.
#[derive(Debug, Default)]
pub struct Welcomes(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Those of the session that was opened last.
    defaults: Option<Arc<Settings>>,
    welcomes: BTreeMap<Parameters, Settings>,
}

impl Welcomes {
    /// A session was opened, and these are its settings. If they are others than those of the session before, such as
    /// after `ALTER ROLE`, new clients get these, and what was known is forgotten.
    pub fn opened(&self, defaults: &Settings) {
        let mut known = lock(&self.0);
        if known.defaults.as_deref() != Some(defaults) {
            *known = Known { defaults: Some(Arc::new(defaults.clone())), welcomes: BTreeMap::new() };
        }
    }

    /// The settings of a client that sets none; `None` before the first session was opened.
    pub fn defaults(&self) -> Option<Arc<Settings>> {
        lock(&self.0).defaults.clone()
    }

    /// What a client is welcomed with that asks for these settings, if it is known.
    pub fn of(&self, wanted: &Parameters) -> Option<Settings> {
        lock(&self.0).welcomes.get(wanted).cloned()
    }

    /// Remembers what a client was welcomed with, unless sessions have other defaults by now.
    pub fn remember(&self, defaults: &Arc<Settings>, wanted: Parameters, welcome: &Settings) {
        let mut known = lock(&self.0);
        if !known.defaults.as_ref().is_some_and(|now| Arc::ptr_eq(now, defaults)) {
            return;
        }
        if known.welcomes.len() >= WELCOMES {
            known.welcomes.clear();
        }
        known.welcomes.insert(wanted, welcome.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn welcomes_are_forgotten_when_the_defaults_change() {
        let welcomes = Welcomes::default();
        let (before, after) = (settings(&[("TimeZone", "UTC")]), settings(&[("TimeZone", "Asia/Tokyo")]));
        welcomes.opened(&before);
        let first = welcomes.defaults().unwrap();
        welcomes.remember(&first, vec![], &before);
        welcomes.opened(&before);
        assert_eq!(welcomes.of(&vec![]), Some(before.clone()));
        welcomes.opened(&after);
        assert_eq!(welcomes.of(&vec![]), None);
        welcomes.remember(&first, vec![], &before);
        assert_eq!(welcomes.of(&vec![]), None, "learned from a session that was opened before");
        assert_eq!(welcomes.defaults().as_deref(), Some(&after));
    }
}
