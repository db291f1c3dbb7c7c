//! The startup replies of the clients of a pool, so that the server need not be asked for each of them.
//!
//! A setting whose value is the one of the defaults changes nothing. The name of an application is reported as it was set,
//! if it is short and in ASCII; others are cut, and changed in ways that depend on the version of the server. The server
//! is asked for each set of other settings once: it reports them in other words, or refuses them.

use crate::limits::{APPLICATION_NAME_BYTES, STARTUP_REPLIES};
use crate::lock;
use crate::pool::Parameters;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Settings that the server reports, with their values.
pub type Settings = BTreeMap<String, String>;

/// What the server has made of the settings of earlier clients.
#[derive(Debug, Default)]
pub struct StartupReplies(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Those of the session that was opened last.
    defaults: Option<Arc<Settings>>,
    startup_replies: BTreeMap<Parameters, KnownReplies>,
}

/// What a client gets that sets none of them, and the last one with another name of its application: clients of one
/// application are many, and their settings are in memory once.
#[derive(Debug)]
struct KnownReplies {
    plain: Arc<Settings>,
    last: Arc<Settings>,
}

impl StartupReplies {
    /// A session was opened, and these are its settings. If they are others than those of the session before, such as
    /// after `ALTER ROLE`, new clients get these, and what was known is forgotten.
    pub fn opened(&self, defaults: &Settings) {
        let mut known = lock(&self.0);
        if known.defaults.as_deref() != Some(defaults) {
            *known = Known { defaults: Some(Arc::new(defaults.clone())), startup_replies: BTreeMap::new() };
        }
    }

    /// The settings of a client that sets none; `None` before the first session was opened.
    pub fn defaults(&self) -> Option<Arc<Settings>> {
        lock(&self.0).defaults.clone()
    }

    /// The startup replies of a client that asks for these settings, if they are known.
    pub fn of(&self, wanted: &Parameters) -> Option<Arc<Settings>> {
        let known = &mut *lock(&self.0);
        let StartupSettings { application, others } = StartupSettings::of(wanted, known.defaults.as_deref()?);
        let KnownReplies { plain, last } = known.startup_replies.get_mut(&others)?;
        let Some((name, value)) = application else { return Some(Arc::clone(plain)) };
        if last.get(&name) != Some(&value) {
            *last = Arc::clone(plain);
            Arc::make_mut(last).insert(name, value);
        }
        Some(Arc::clone(last))
    }

    /// Remembers the startup replies of a client, unless sessions have other defaults by now.
    pub fn remember(&self, defaults: &Arc<Settings>, wanted: &Parameters, replies: &Settings) {
        let mut known = lock(&self.0);
        if !known.defaults.as_ref().is_some_and(|now| Arc::ptr_eq(now, defaults)) {
            return;
        }
        if known.startup_replies.len() >= STARTUP_REPLIES {
            known.startup_replies.clear();
        }
        let StartupSettings { application, others } = StartupSettings::of(wanted, defaults);
        let last = Arc::new(replies.clone());
        let mut plain = Arc::clone(&last);
        if let Some((name, _)) = application {
            let default = defaults[&name].clone();
            Arc::make_mut(&mut plain).insert(name, default);
        }
        known.startup_replies.insert(others, KnownReplies { plain, last });
    }
}

/// What a client asks for.
struct StartupSettings {
    /// The name of its application, if the server reports it as it is.
    application: Option<(String, String)>,
    /// What else is not as in the defaults.
    others: Parameters,
}

impl StartupSettings {
    fn of(wanted: &Parameters, defaults: &Settings) -> Self {
        let mut found = Self { application: None, others: Vec::new() };
        for (given, value) in wanted {
            let Some((name, default)) = defaults.iter().find(|(name, _)| name.eq_ignore_ascii_case(given)) else {
                found.others.push((given.clone(), value.clone()));
                continue;
            };
            let is_plain =
                value.len() <= APPLICATION_NAME_BYTES && value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            if name == "application_name" && is_plain && found.application.is_none() {
                found.application = Some((name.clone(), value.clone()));
            } else if value != default {
                found.others.push((name.clone(), value.clone()));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn startup_replies_are_forgotten_when_the_defaults_change() {
        let startup_replies = StartupReplies::default();
        let (before, after) = (settings(&[("TimeZone", "UTC")]), settings(&[("TimeZone", "Asia/Tokyo")]));
        startup_replies.opened(&before);
        let first = startup_replies.defaults().unwrap();
        startup_replies.remember(&first, &vec![], &before);
        startup_replies.opened(&before);
        assert_eq!(startup_replies.of(&vec![]).as_deref(), Some(&before));
        startup_replies.opened(&after);
        assert_eq!(startup_replies.of(&vec![]), None);
        startup_replies.remember(&first, &vec![], &before);
        assert_eq!(startup_replies.of(&vec![]), None, "learned from a session that was opened before");
        assert_eq!(startup_replies.defaults().as_deref(), Some(&after));
    }
    #[test]
    fn application_names_are_reported_as_they_are_set_if_they_are_plain() {
        let startup_replies = StartupReplies::default();
        let defaults =
            settings(&[("application_name", "of the role"), ("client_encoding", "UTF8"), ("TimeZone", "UTC")]);
        startup_replies.opened(&defaults);
        let asks = |pairs: &[(&str, &str)]| settings(pairs).into_iter().collect::<Parameters>();
        let first = asks(&[("application_name", "first"), ("client_encoding", "UTF8")]);
        let told = settings(&[("application_name", "first"), ("client_encoding", "UTF8"), ("TimeZone", "UTC")]);
        assert_eq!(startup_replies.of(&first), None);
        startup_replies.remember(&startup_replies.defaults().unwrap(), &first, &told);
        let long = "x".repeat(APPLICATION_NAME_BYTES + 1);
        for (wanted, application) in [
            (asks(&[]), Some("of the role")),
            (asks(&[("timezone", "UTC")]), Some("of the role")),
            (asks(&[("application_name", "")]), Some("")),
            (asks(&[("Application_Name", "~ \\'other")]), Some("~ \\'other")),
            (asks(&[("application_name", &long[1..])]), Some(&long[1..])),
            (asks(&[("application_name", &long)]), None),
            (asks(&[("application_name", "\u{e4}")]), None),
            (asks(&[("application_name", "a\tb")]), None),
            (asks(&[("client_encoding", "utf8")]), None),
            (asks(&[("search_path", "x")]), None),
        ] {
            let found = startup_replies.of(&wanted);
            assert_eq!(found.as_ref().map(|told| told["application_name"].as_str()), application, "{wanted:?}");
            let others = found.map(|told| told["client_encoding"].clone() + &told["TimeZone"]);
            assert!(others.is_none_or(|others| others == "UTF8UTC"));
        }
    }
}
