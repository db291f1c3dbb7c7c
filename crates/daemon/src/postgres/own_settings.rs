//! The settings that the server does not report, and that follow their client nevertheless: the server is asked for them
//! where a client may have set one, and a session is given them before it is lent.

use crate::limits::{LEAST_IDLE_TIMEOUT, OWN_SETTINGS_BYTES};
use std::collections::{BTreeMap, BTreeSet};

/// The settings of a client, or of a session, that are not as the session was opened: names in lower case, and values.
pub type OwnSettings = BTreeMap<String, String>;

/// The settings of the server that follow, which anybody may set. Who has others shares no statements ([`planned`]):
/// the search path, which servers report since version 18, decides what a text means.
const FOLLOW: [&str; 16] = [
    "bytea_output",
    "client_min_messages",
    "default_transaction_deferrable",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "extra_float_digits",
    "idle_in_transaction_session_timeout",
    "jit",
    "lock_timeout",
    "maintenance_work_mem",
    "plan_cache_mode",
    SEARCH_PATH,
    "statement_timeout",
    "synchronous_commit",
    "transaction_timeout",
    "work_mem",
];

const SEARCH_PATH: &str = "search_path";

/// Returns true if a setting follows its client though the server may not report it: one of the server (its name in lower
/// case), or one that an application has named, which is nameless where a text that sets it is read.
pub fn may_follow(name: &str) -> bool {
    name.is_empty() || name.contains('.') || FOLLOW.contains(&name)
}

/// What the answer to [`question`] is if the session has something that keeps it with its client.
const KEPT: &str = "!";

/// Asks a session for what its client has left there, apart from what nothing undoes: for its settings as
/// `name value,name value`, the value in hexadecimal digits, or [`KEPT`].
pub fn question(custom: &BTreeSet<String>) -> String {
    let mut own = String::new();
    for name in custom {
        // Its name was read from a text, and has nothing that would have to be escaped.
        own.push_str(&format!(", ('{name}', pg_catalog.current_setting('{name}', true))"));
    }
    format!(
        "SELECT CASE WHEN pg_catalog.current_setting('role') <> 'none' \
         OR EXISTS (SELECT FROM pg_catalog.pg_depend WHERE refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass \
         AND refobjid = pg_catalog.pg_my_temp_schema()) \
         OR EXISTS (SELECT FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND pid = pg_catalog.pg_backend_pid()) \
         OR EXISTS (SELECT FROM pg_catalog.pg_cursors WHERE is_holdable) \
         OR EXISTS (SELECT FROM pg_catalog.pg_listening_channels()) \
         OR EXISTS (SELECT FROM pg_catalog.pg_prepared_statements WHERE from_sql) \
         THEN '{KEPT}' ELSE (SELECT pg_catalog.string_agg(name || ' ' || \
         pg_catalog.encode(pg_catalog.convert_to(value, 'UTF8'), 'hex'), ',') \
         FROM (SELECT name, setting FROM pg_catalog.pg_settings WHERE source = 'session' \
         UNION ALL SELECT name, value FROM (VALUES ('', NULL){own}) AS of_applications (name, value)) AS all_settings (name, value) \
         WHERE value IS NOT NULL) END"
    )
}

/// What a session has, by its answer to [`question`]; `None` if that keeps it with its client. `reported` are the
/// settings that follow because the server reports them.
pub fn found(answer: &str, custom: &BTreeSet<String>, reported: impl Fn(&str) -> bool) -> Option<OwnSettings> {
    let (mut own, mut bytes) = (OwnSettings::new(), 0);
    for pair in answer.split(',').filter(|pair| !pair.is_empty()) {
        let (name, digits) = pair.split_once(' ')?;
        let name = name.to_ascii_lowercase();
        let is_custom = custom.contains(&name);
        if reported(&name) || name.starts_with("transaction_") && !FOLLOW.contains(&name.as_str()) {
            continue;
        }
        let value = text(digits)?;
        let is_short =
            name.ends_with("_timeout") && value.parse::<u64>().is_ok_and(|ms| ms > 0 && ms < LEAST_IDLE_TIMEOUT);
        // What is created there is the session's own.
        let is_temporary = name == SEARCH_PATH && value.to_ascii_lowercase().contains("pg_temp");
        if is_short || is_temporary || !is_custom && !FOLLOW.contains(&name.as_str()) {
            return None;
        }
        bytes += name.len() + value.len();
        // One that was set back is as one that nobody has set, but that its value is empty.
        if !is_custom || !value.is_empty() {
            own.insert(name, value);
        }
    }
    (bytes <= OWN_SETTINGS_BYTES).then_some(own)
}

fn text(digits: &str) -> Option<String> {
    let bytes = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

/// The text that gives a session that `has` these settings those of a client (`requested`); empty if they are the same.
pub fn adaptation(has: &OwnSettings, requested: &OwnSettings) -> String {
    let mut sql = String::new();
    for name in has.keys().filter(|name| !requested.contains_key(*name)) {
        match name.contains('.') {
            true => sql.push_str(&set(name, "")),
            false => sql.push_str(&format!("RESET {name};")),
        }
    }
    for (name, value) in requested.iter().filter(|(name, value)| has.get(*name) != Some(*value)) {
        sql.push_str(&set(name, value));
    }
    sql
}

/// In ASCII: the encoding of the session may be another client's.
fn set(name: &str, value: &str) -> String {
    let mut literal = String::new();
    for c in value.chars() {
        match c {
            '\\' => literal.push_str("\\\\"),
            '\'' => literal.push_str("''"),
            c if c.is_ascii() => literal.push(c),
            c => literal.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    format!("SELECT pg_catalog.set_config('{name}', E'{literal}', false);")
}

/// The part of these settings that may be in the plan of a statement, so that clients with others do not share it.
pub fn planned(own: &OwnSettings) -> String {
    let concerns = |name: &str| !name.contains('.') && !name.ends_with("_timeout") && name != "client_min_messages";
    own.iter().filter(|(name, _)| concerns(name)).map(|(name, value)| format!("{name}={value}\0")).collect()
}

/// The part of these settings by which constants are read, or computed with when a plan is made.
pub fn of_own_constants(own: &OwnSettings) -> String {
    let concerns = |name: &str| matches!(name, "bytea_output" | "extra_float_digits");
    own.iter().filter(|(name, _)| concerns(name)).map(|(name, value)| format!("{name}={value}\0")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(pairs: &[(&str, &str)]) -> OwnSettings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn answer(pairs: &[(&str, &str)]) -> String {
        let hex = |value: &str| value.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        pairs.iter().map(|(name, value)| format!("{name} {}", hex(value))).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn settings_that_follow_are_read_and_others_keep_the_session() {
        let custom = BTreeSet::from(["app.tenant".to_owned(), "app.none".to_owned()]);
        let reported = |name: &str| name == "timezone";
        for (pairs, expected) in [
            (&[][..], Some(own(&[]))),
            (&[("TimeZone", "UTC")], Some(own(&[]))),
            (&[("transaction_isolation", "serializable")], Some(own(&[]))),
            (
                &[("statement_timeout", "5000"), ("work_mem", "64")],
                Some(own(&[("statement_timeout", "5000"), ("work_mem", "64")])),
            ),
            (&[("app.tenant", "\u{e4} '7'"), ("app.none", "")], Some(own(&[("app.tenant", "\u{e4} '7'")]))),
            (&[("statement_timeout", "0")], Some(own(&[("statement_timeout", "0")]))),
            (&[("statement_timeout", "5")], None),
            (&[("search_path", "\"a, b\", c")], Some(own(&[("search_path", "\"a, b\", c")]))),
            (&[("search_path", "public, PG_Temp")], None),
            (&[("enable_seqscan", "off")], None),
            (&[("app.other", "7")], None),
        ] {
            assert_eq!(found(&answer(pairs), &custom, reported), expected, "{pairs:?}");
        }
        assert_eq!(found(KEPT, &custom, reported), None);
        assert_eq!(found(&answer(&[("app.tenant", &"x".repeat(OWN_SETTINGS_BYTES))]), &custom, reported), None);
    }

    #[test]
    fn session_is_given_what_differs() {
        let (has, requested) = (
            own(&[("app.gone", "7"), ("app.same", "7"), ("statement_timeout", "5000"), ("work_mem", "64")]),
            own(&[("app.other", "\u{e4}\\'"), ("app.same", "7"), ("work_mem", "128")]),
        );
        let expected = "SELECT pg_catalog.set_config('app.gone', E'', false);\
                        RESET statement_timeout;\
                        SELECT pg_catalog.set_config('app.other', E'\\U000000e4\\\\''', false);\
                        SELECT pg_catalog.set_config('work_mem', E'128', false);";
        assert_eq!(adaptation(&has, &requested), expected);
        assert_eq!(adaptation(&requested, &requested), "");
        assert_eq!(
            planned(&own(&[("app.x", "7"), ("search_path", "a"), ("statement_timeout", "5000")])),
            "search_path=a\0"
        );
    }
}
