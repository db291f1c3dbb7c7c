//! Informix.

use super::common;
use crate::SettingKind::{Number, Object, Seconds, Secret, Text};
use crate::{Database, Driver, Error, Login, Repeats, Setting, Sockets, TlsNames, Unusable};
use headrace_connection::Connection;
use headrace_core::{ResponseHandler, WriteBuffer};
use headrace_informix::LOGIN_VARIABLES;
use headrace_informix::machine::{self, Columns, Execute, Machine, ParameterRows, Request, SessionOptions};
use headrace_informix::messages::server::ServerError;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

static DRIVER: Driver = Driver {
    name: "informix",
    title: "Informix",
    schemes: &["informix"],
    port: 9088,
    sockets: Sockets::None,
    negotiates_tls: false,
    tls: TlsNames { mode: "sslmode", roots: "sslrootcert", client: None, switch: None },
    has_system_user: false,
    has_session_variables: true,
    ignores_case_of_aliases: false,
    rewritten: &[],
    settings: &[
        Setting::new("host", Text, "The host; by default that of the sqlhosts file.").adbc().daemon("host"),
        Setting::new("port", Number, "The port.").or("9088").adbc().daemon("port"),
        Setting::new("server", Text, "The DBSERVERNAME of the instance, which is needed.")
            .env("INFORMIXSERVER")
            .adbc()
            .daemon("server"),
        Setting::new("user", Text, "The user.").also(&["username"]).adbc().daemon("user"),
        Setting::new("password", Secret, "The password.").also(&["passwd"]).adbc().daemon("password"),
        Setting::new("database", Text, "The database.").also(&["db", "dbname"]).adbc().daemon("dbname"),
        Setting::new("pam", Object, "A function that answers the server's questions at login."),
        Setting::new("connect_timeout", Seconds, "Seconds to open a session; 0 is no limit.")
            .or("30")
            .adbc()
            .daemon("connect_timeout"),
        Setting::new("command_timeout", Seconds, "Seconds that a call may wait for the server."),
        common::SSLMODE,
        common::SSLROOTCERT,
        Setting::new("codeset", Text, "The encoding of text, if it is not that of DB_LOCALE."),
        Setting::new("isolation_level", Text, "The isolation level of the session."),
        Setting::new("lock_wait", Text, "Seconds to wait for a lock; -1 is no limit."),
        Setting::new("application_name", Text, "The name of the program.").adbc(),
        common::KEEPALIVES,
        common::STATEMENT_CACHE_SIZE,
        common::UNREPRESENTABLE,
        common::ENABLE_TIMING,
        Setting::new("env", Object, "Variables of the session, such as DB_LOCALE, by their names."),
    ],
};

/// Informix.
#[derive(Debug)]
pub struct Informix;

impl Database for Informix {
    const DRIVER: &'static Driver = &DRIVER;

    type Columns = Arc<Columns>;
    type Error = ServerError;
    type Request = Request;
    type Machine<H>
        = Machine<H>
    where
        H: ResponseHandler<Columns = Self::Columns, ServerError = Self::Error> + Debug + Send + 'static;

    fn connection<H>(login: &Login<'_>) -> Result<Connection<Machine<H>>, Unusable>
    where
        H: ResponseHandler<Columns = Self::Columns, ServerError = Self::Error> + Debug + Send + 'static,
    {
        let server = login.settings.text("server").ok_or_else(|| {
            Error::invalid("no server was named: the setting server is the DBSERVERNAME of the instance")
        })?;
        let (environment, session) = variables(&login.settings.variables);
        let options = SessionOptions {
            user: login.user.to_owned(),
            password: login.password().map(machine::Secret),
            server: server.to_owned(),
            database: login.database.map(str::to_owned),
            environment,
            session,
            tls: login.encryption.settings().is_some(),
            program: login.settings.text("application_name").unwrap_or(login.program).to_owned(),
            ..SessionOptions::default()
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = Machine::new(options, login.statements, &mut write_buffer)?;
        Ok(Connection::new(Box::new(machine), write_buffer, login.encryption.settings().cloned()))
    }

    fn execute(sql: Arc<str>, _: Repeats) -> Request {
        Request::Execute(Execute { sql, rows: ParameterRows::One, begin: false, strategy: None })
    }

    fn may_write(sql: &str) -> bool {
        headrace_informix::lexer::may_write(sql)
    }

    fn prepare(sql: Arc<str>) -> Request {
        Request::Prepare { sql }
    }

    /// A name that is a word has no quotes, which enclose text unless DELIMIDENT is set.
    fn quote(name: &str) -> String {
        let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80;
        let is_word = name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit() || byte == b'$');
        match is_word && name.bytes().next().is_some_and(is_letter) {
            true => name.to_owned(),
            false => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }
}

/// Names and values.
type Variables = Vec<(String, String)>;

/// The variables of the login, and those of the session, as `headrace.informix` sends them.
fn variables(given: &BTreeMap<String, String>) -> (Variables, Variables) {
    let locale = given.get("DB_LOCALE").map_or("en_US.8859-1", String::as_str);
    let usual = [
        ("CLIENT_LOCALE", locale),
        ("CLNT_PAM_CAPABLE", "1"),
        ("DBDATE", "Y4MD-"),
        ("DBPATH", "."),
        ("DBTEMP", "/tmp"),
        ("IFX_UPDDESC", "1"),
        ("NODEFDAC", "no"),
        ("SUBQCACHESZ", "10"),
    ];
    let mut all: BTreeMap<String, String> = usual.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    all.extend(given.clone());
    all.into_iter().partition(|(name, _)| LOGIN_VARIABLES.contains(&name.as_str()))
}
