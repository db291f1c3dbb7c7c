//! The questions that clients of PostgreSQL ask of any server, and what becomes of others about its catalogue.

use super::replies::Failure;
use super::sql::{Dialect, Tokens, modes};
use super::types::{ANY, TargetColumn};
use headrace_core::Isolation;
use headrace_core::token::TokenKind;
use headrace_postgres::types::{Oid, oid};

/// The version of PostgreSQL whose protocol and answers clients get.
pub const VERSION: &str = "15.0";

/// An answer of the daemon itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The types of its parameters, whose values do not matter.
    pub parameters: Vec<Oid>,
    /// The columns; `None` for a command without rows.
    pub columns: Option<Vec<TargetColumn>>,
    /// Its cells.
    pub rows: Vec<Vec<Cell>>,
    /// For CommandComplete.
    pub command: String,
    /// What it does to the session.
    pub effect: Effect,
}

/// A cell of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A truth value.
    Bool(bool),
    /// NULL.
    Null,
    /// Something that the session has.
    Session(Fact),
}

/// A fact about the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The text of `version()`.
    Version,
    /// A setting, by its name in lower case.
    Setting(String),
    /// The database.
    Database,
    /// The schema.
    Schema,
    /// The user.
    User,
    /// The process id that the client was given.
    ProcessId,
}

/// What an answer does to the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    #[default]
    None,
    /// A setting gets a value.
    Set(String, String),
    /// A setting is as at the beginning.
    Reset(String),
    /// All settings are.
    ResetAll,
    /// Everything of the client's session is.
    Discard,
    /// A prepared statement is forgotten, or all.
    Deallocate(Option<String>),
    /// The isolation of the transactions to come.
    Isolation(Option<Isolation>),
}

/// Settings of PostgreSQL that clients set and read: with their values at the beginning.
pub const SETTINGS: [(&str, &str); 36] = [
    ("application_name", ""),
    ("bytea_output", "hex"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    ("datestyle", "ISO, MDY"),
    ("default_transaction_deferrable", "off"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "off"),
    ("extra_float_digits", "3"),
    ("idle_in_transaction_session_timeout", "0"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("intervalstyle", "postgres"),
    ("is_superuser", "off"),
    ("jit", "off"),
    ("lc_collate", "C"),
    ("lc_messages", "C"),
    ("lc_monetary", "C"),
    ("lc_numeric", "C"),
    ("lc_time", "C"),
    ("lock_timeout", "0"),
    ("max_identifier_length", "63"),
    ("plan_cache_mode", "auto"),
    ("row_security", "on"),
    ("search_path", ""),
    ("server_encoding", "UTF8"),
    ("server_version", VERSION),
    ("server_version_num", "150000"),
    ("session_authorization", ""),
    ("ssl", "off"),
    ("standard_conforming_strings", "on"),
    ("statement_timeout", "0"),
    ("synchronize_seqscans", "on"),
    ("timezone", "UTC"),
    ("transaction_isolation", "read committed"),
    ("transaction_read_only", "off"),
];

/// Values that a setting may have, if only these would be true.
fn accepts(name: &str, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    match name {
        "client_encoding" => matches!(value.as_str(), "utf8" | "utf-8" | "unicode"),
        "datestyle" => value.starts_with("iso"),
        "bytea_output" => value == "hex",
        "intervalstyle" => value == "postgres",
        "standard_conforming_strings" => matches!(value.as_str(), "on" | "true" | "1"),
        "statement_timeout" | "lock_timeout" | "idle_in_transaction_session_timeout" => {
            value.trim_start_matches('0').is_empty() || value == "default"
        }
        "integer_datetimes" | "server_version" | "server_encoding" | "server_version_num" => false,
        _ => true,
    }
}

fn is_setting(name: &str) -> bool {
    SETTINGS.iter().any(|(known, _)| *known == name)
}

/// The name that PostgreSQL shows for a setting.
pub fn shown(name: &str) -> &str {
    match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" => "TimeZone",
        other => other,
    }
}

fn command(command: &str, effect: Effect) -> Answer {
    Answer { command: command.into(), effect, ..Answer::default() }
}

fn one(name: &str, oid: Oid, cell: Cell) -> Answer {
    let columns = Some(vec![TargetColumn::new(name, oid)]);
    Answer { columns, rows: vec![vec![cell]], command: "SELECT 1".into(), ..Answer::default() }
}

/// The statement in lower case, its tokens with a blank between them; without `pg_catalog.`.
fn normal(all: &Tokens<'_>) -> String {
    let mut out = String::new();
    let mut tokens = all.tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        let text = token.text.to_ascii_lowercase();
        if text == "pg_catalog" && tokens.peek().is_some_and(|next| next.is_punctuation(b'.')) {
            tokens.next();
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&text);
    }
    out
}

/// What the daemon answers in the server's place, if the statement is such a question.
pub fn answer(all: &Tokens<'_>, words: &[String], dialect: &dyn Dialect) -> Option<Answer> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.first().copied()? {
        "select" => select(all),
        "with" if all.sql.contains("typeinfo_tree") => Some(typeinfo()),
        "show" => show(&words),
        "set" => set(all, &words, dialect),
        "reset" => match words.get(1..)? {
            ["all"] => Some(command("RESET", Effect::ResetAll)),
            [name] if is_setting(name) => Some(command("RESET", Effect::Reset((*name).into()))),
            _ => None,
        },
        "discard" => match words.get(1..)? {
            ["all"] => Some(command("DISCARD ALL", Effect::Discard)),
            ["plans" | "sequences" | "temp" | "temporary"] => Some(command("DISCARD", Effect::None)),
            _ => None,
        },
        "unlisten" => Some(command("UNLISTEN", Effect::None)),
        "close" if words.get(1) == Some(&"all") => Some(command("CLOSE CURSOR ALL", Effect::None)),
        "deallocate" => deallocate(all, &words),
        _ => None,
    }
}

fn deallocate(all: &Tokens<'_>, words: &[&str]) -> Option<Answer> {
    // MySQL has DEALLOCATE PREPARE for what PREPARE has made there.
    if words.get(1) == Some(&"prepare") {
        return None;
    }
    if words.get(1) == Some(&"all") {
        return Some(command("DEALLOCATE ALL", Effect::Deallocate(None)));
    }
    let name = all.tokens.last()?.text.trim_matches('"').to_owned();
    Some(command("DEALLOCATE", Effect::Deallocate(Some(name))))
}

fn show(words: &[&str]) -> Option<Answer> {
    let name = match words.get(1..)? {
        ["transaction", "isolation", "level"] => "transaction_isolation",
        ["time", "zone"] => "timezone",
        [name] if is_setting(name) => name,
        _ => return None,
    };
    let answer = one(name, oid::TEXT, Cell::Session(Fact::Setting(name.into())));
    Some(Answer { command: "SHOW".into(), ..answer })
}

fn set(all: &Tokens<'_>, words: &[&str], dialect: &dyn Dialect) -> Option<Answer> {
    let rest = match words.get(1..)? {
        ["session", "characteristics", "as", "transaction", rest @ ..] => {
            let modes = modes(rest).ok()?;
            return Some(command("SET", Effect::Isolation(modes.isolation)));
        }
        ["session" | "local", rest @ ..] => rest,
        rest => rest,
    };
    let name = match rest {
        ["time", "zone", ..] => "timezone",
        ["names", ..] if dialect.system() != "MySQL" => "client_encoding",
        [name, ..] if is_setting(name) && !dialect.has_variable(name) => name,
        _ => return None,
    };
    // CUBRID has variables of these names, which are set with `=`, too.
    let after = all.tokens.iter().skip_while(|token| !token.text.eq_ignore_ascii_case(rest[0])).skip(1);
    let value: Vec<&str> = after
        .map(|token| token.text)
        .filter(|text| !matches!(text.to_ascii_lowercase().as_str(), "=" | "to" | "zone"))
        .collect();
    let value = value.iter().map(|text| text.trim_matches('\'')).collect::<Vec<_>>().join(" ").replace(" ,", ",");
    if !accepts(name, &value) {
        return None;
    }
    Some(command("SET", Effect::Set(name.into(), value)))
}

fn select(all: &Tokens<'_>) -> Option<Answer> {
    // Nothing of what follows is longer.
    if all.tokens.len() > 48 {
        return None;
    }
    let text = normal(all);
    let fact = |name: &str, fact: Fact| Some(one(name, oid::TEXT, Cell::Session(fact)));
    let text = text.strip_prefix("select ")?;
    match text {
        "version ( )" => return fact("version", Fact::Version),
        "current_schema" | "current_schema ( )" => return fact("current_schema", Fact::Schema),
        "current_database ( )" | "current_catalog" => return fact("current_database", Fact::Database),
        "session_user" => return fact("session_user", Fact::User),
        "pg_backend_pid ( )" => return Some(one("pg_backend_pid", oid::INT4, Cell::Session(Fact::ProcessId))),
        "pg_is_in_recovery ( )" => return Some(one("pg_is_in_recovery", oid::BOOL, Cell::Bool(false))),
        "pg_advisory_unlock_all ( )" => {
            return Some(one("pg_advisory_unlock_all", oid::TEXT, Cell::Text(String::new())));
        }
        _ => {}
    }
    if let Some(name) = text.strip_prefix("current_setting ( '").and_then(|rest| rest.strip_suffix("' )")) {
        return is_setting(name).then(|| fact("current_setting", Fact::Setting(name.into())))?;
    }
    // asyncpg, before it looks types up.
    if text.starts_with("current_setting ( 'jit' ) as cur , set_config ( 'jit'") {
        let columns = Some(vec![TargetColumn::new("cur", oid::TEXT), TargetColumn::new("new", oid::TEXT)]);
        let off = || Cell::Text("off".into());
        return Some(Answer {
            columns,
            rows: vec![vec![off(), off()]],
            command: "SELECT 1".into(),
            ..Answer::default()
        });
    }
    None
}

/// asyncpg's question for types that are new to it: the daemon has one of these, a domain of text.
fn typeinfo() -> Answer {
    let columns = [
        ("oid", oid::OID),
        ("ns", oid::TEXT),
        ("name", oid::TEXT),
        ("kind", 18),
        ("basetype", oid::OID),
        ("elemtype", oid::OID),
        ("elemdelim", 18),
        ("range_subtype", oid::OID),
        ("attrtypoids", 1028),
        ("attrnames", 1009),
        ("depth", oid::INT4),
        ("basetype_name", oid::TEXT),
        ("elemtype_name", oid::TEXT),
        ("range_subtype_name", oid::TEXT),
    ];
    let text = |text: &str| Cell::Text(text.into());
    let row = vec![
        Cell::Number(i64::from(ANY)),
        text("headrace"),
        text("any"),
        text("d"),
        Cell::Number(i64::from(oid::TEXT)),
        Cell::Null,
        text(","),
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Number(0),
        text("text"),
        Cell::Null,
        Cell::Null,
    ];
    Answer {
        parameters: vec![1028],
        columns: Some(columns.iter().map(|(name, oid)| TargetColumn::new(name, *oid)).collect()),
        rows: vec![row],
        command: "SELECT 1".into(),
        effect: Effect::None,
    }
}

/// Why a statement is refused that reads PostgreSQL's catalogue, or needs something that only PostgreSQL has.
pub fn refusal(all: &Tokens<'_>, dialect: &dyn Dialect) -> Option<Failure> {
    let system = dialect.system();
    let first = all.tokens.first().map(|token| token.text.to_ascii_lowercase()).unwrap_or_default();
    if matches!(first.as_str(), "listen" | "notify") {
        return Some(Failure::unsupported(format!("headraced: {system} has no notifications")));
    }
    let name = (0..all.tokens.len()).find_map(|at| of_postgres(all, at))?;
    let message = format!("headraced: {name} exists only in PostgreSQL, and this database is {system}");
    Some(Failure::unsupported(message).hint(format!("ask {system}'s own catalogue")))
}

/// The name at a token, if it can only be PostgreSQL's: its schema, one of its tables after FROM or JOIN, or one of its
/// functions. The user's columns and tables may begin with `pg_`, too.
fn of_postgres<'a>(all: &Tokens<'a>, at: usize) -> Option<&'a str> {
    let token = all.tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
    let name = token.text;
    name.get(..3).filter(|start| start.eq_ignore_ascii_case("pg_"))?;
    let rest = name[3..].to_ascii_lowercase();
    let next = all.tokens.get(at + 1).map(|token| token.kind);
    let before = at.checked_sub(1).and_then(|before| all.tokens.get(before)).map_or("", |token| token.text);
    let is_read = ["from", "join"].iter().any(|word| before.eq_ignore_ascii_case(word));
    let is_relation =
        || RELATIONS.contains(&rest.as_str()) || ["stat_", "statio_"].iter().any(|start| rest.starts_with(start));
    let is_function = || FUNCTIONS.iter().any(|start| rest.starts_with(start));
    let found = match next {
        Some(TokenKind::Punctuation(b'.')) => rest == "catalog",
        Some(TokenKind::Punctuation(b'(')) => is_function(),
        _ => is_read && is_relation(),
    };
    found.then_some(name)
}

/// Tables and views of `pg_catalog`, without `pg_` (manual, "System Catalogs" and "System Views").
const RELATIONS: [&str; 82] = [
    "aggregate",
    "am",
    "amop",
    "amproc",
    "attrdef",
    "attribute",
    "auth_members",
    "authid",
    "available_extensions",
    "cast",
    "class",
    "collation",
    "config",
    "constraint",
    "conversion",
    "cursors",
    "database",
    "db_role_setting",
    "default_acl",
    "depend",
    "description",
    "enum",
    "event_trigger",
    "extension",
    "file_settings",
    "foreign_data_wrapper",
    "foreign_server",
    "foreign_table",
    "group",
    "hba_file_rules",
    "index",
    "indexes",
    "inherits",
    "init_privs",
    "language",
    "largeobject",
    "largeobject_metadata",
    "locks",
    "matviews",
    "namespace",
    "opclass",
    "operator",
    "opfamily",
    "partitioned_table",
    "policies",
    "policy",
    "prepared_statements",
    "prepared_xacts",
    "proc",
    "publication",
    "publication_rel",
    "publication_tables",
    "range",
    "replication_slots",
    "rewrite",
    "roles",
    "rules",
    "seclabel",
    "seclabels",
    "sequence",
    "sequences",
    "settings",
    "shadow",
    "shdepend",
    "shdescription",
    "shseclabel",
    "statistic",
    "statistic_ext",
    "stats",
    "stats_ext",
    "subscription",
    "tables",
    "tablespace",
    "timezone_abbrevs",
    "timezone_names",
    "transform",
    "trigger",
    "type",
    "user",
    "user_mapping",
    "user_mappings",
    "views",
];

/// How the names of functions of `pg_catalog` begin that clients call, without `pg_`.
const FUNCTIONS: [&str; 22] = [
    "advisory_",
    "backend_pid",
    "cancel_backend",
    "collation_is_visible",
    "column_",
    "current_",
    "database_size",
    "encoding_to_char",
    "function_is_visible",
    "get_",
    "indexes_size",
    "is_in_recovery",
    "notify",
    "relation_",
    "size_pretty",
    "sleep",
    "stat_",
    "table_",
    "terminate_backend",
    "try_advisory_",
    "type_is_visible",
    "typeof",
];

#[cfg(test)]
mod tests {
    use crate::front::backend::MySqlDialect;
    use crate::front::sql::{Action, statement};

    #[test]
    fn only_names_of_postgresql_are_refused() {
        for (sql, is_refused) in [
            ("select * from pg_catalog.pg_class", true),
            ("select oid from PG_TYPE where typname = $1", true),
            ("select 1 from a join pg_namespace n on true", true),
            ("select n from pg_stat_activity", true),
            ("select pg_sleep(1)", true),
            ("select pg_get_userbyid(1), pg_table_is_visible(2)", true),
            ("select pg_rating from ratings", false),
            ("create table ratings (pg_rating int, pg_type int)", false),
            ("insert into pg_ratings (pg_rating) values ($1)", false),
            ("select a.pg_type, pg_index from pg_ratings a", false),
        ] {
            let action = statement(&MySqlDialect::default(), sql, &[]).action;
            assert_eq!(matches!(action, Action::Refused(_)), is_refused, "{sql}");
        }
    }
}
