//! CUBRID.

use super::common;
use crate::SettingKind::{Ignored, List, Milliseconds, Seconds, Secret, Switch, Text};
use crate::{Database, Driver, Error, Login, Repeats, Setting, Sockets, TlsNames, Unusable};
use headrace_connection::Connection;
use headrace_core::{CodeSet, ResponseHandler, WriteBuffer};
use headrace_cubrid::machine::{self, Columns, Execute, Machine, ParameterRows, Request, SessionOptions};
use headrace_cubrid::messages::server::ServerError;
use std::fmt::Debug;
use std::sync::Arc;

static DRIVER: Driver = Driver {
    name: "cubrid",
    title: "CUBRID",
    schemes: &["cubrid"],
    port: 33_000,
    sockets: Sockets::None,
    negotiates_tls: false,
    tls: TlsNames { mode: "sslmode", roots: "sslrootcert", client: None, switch: Some("ssl") },
    has_system_user: false,
    has_session_variables: false,
    ignores_case_of_aliases: true,
    rewritten: &[],
    settings: &[
        Setting::new("host", List, "Names or addresses of brokers, tried in order.").adbc().daemon("host"),
        Setting::new("port", List, "One port for all brokers, or one for each.").or("33000").adbc().daemon("port"),
        Setting::new("alt_hosts", List, "More brokers, each `host:port`.").also(&["althosts"]),
        Setting::new("user", Text, "The user.").also(&["username"]).or("dba").adbc().daemon("user"),
        Setting::new("password", Secret, "The password.").also(&["passwd"]).adbc().daemon("password"),
        Setting::new("database", Text, "The database.").also(&["db", "dbname"]).adbc().daemon("dbname"),
        Setting::new("load_balance", Switch, "The brokers are shuffled.").also(&["loadbalance"]).or("0").adbc(),
        Setting::new("rc_time", Seconds, "Seconds in which a broker that was not reached is tried last.")
            .also(&["rctime"])
            .or("600"),
        Setting::new("connect_timeout", Seconds, "Seconds to open a session; 0 is no limit.")
            .also(&["connecttimeout"])
            .or("30")
            .adbc()
            .daemon("connect_timeout"),
        Setting::new("login_timeout_millis", Milliseconds, "The same in milliseconds.")
            .also(&["logintimeout", "login_timeout"]),
        Setting::new("command_timeout", Seconds, "Seconds that a call may wait for the server."),
        Setting::new("query_timeout_millis", Milliseconds, "Milliseconds that the server gives each statement.")
            .also(&["querytimeout", "query_timeout"]),
        Setting::new("read_timeout", Seconds, "Seconds without a reply after which the connection ends."),
        Setting::new("charset", Text, "The encoding of the database: utf8, euckr, iso88591; Python can ask: auto.")
            .or("utf8")
            .adbc(),
        Setting::new("isolation_level", Text, "The isolation level of the session."),
        Setting::new("lock_timeout", Text, "Seconds to wait for a lock; -1 is no limit."),
        Setting::new("ssl", Switch, "On: as `sslmode=verify-full`.").also(&["usessl"]).or("0").adbc(),
        common::SSLMODE,
        common::SSLROOTCERT,
        Setting::new("keep_cas", Switch, "The process of the broker stays between transactions.").or("0"),
        Setting::new("windows_broker", Switch, "The broker runs on Windows.").or("0"),
        common::KEEPALIVES,
        common::STATEMENT_CACHE_SIZE,
        common::UNREPRESENTABLE,
        common::ENABLE_TIMING,
        Setting::new("logfile", Ignored, "Without effect."),
        Setting::new("logonexception", Ignored, "Without effect."),
        Setting::new("logslowqueries", Ignored, "Without effect."),
        Setting::new("slowquerythresholdmillis", Ignored, "Without effect."),
        Setting::new("logtraceapi", Ignored, "Without effect."),
    ],
};

/// CUBRID.
#[derive(Debug)]
pub struct Cubrid;

impl Database for Cubrid {
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
        let options = SessionOptions {
            host: login.host.to_owned(),
            port: login.port,
            database: login.database.unwrap_or_default().to_owned(),
            user: login.user.to_owned(),
            password: login.password().map(machine::Secret),
            tls: login.encryption.settings().is_some(),
            keeps_cas: login.settings.switch("keep_cas", false)?,
            codeset: codeset(login.settings.text("charset"))?,
            ..SessionOptions::default()
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = Machine::new(&options, login.statements, &mut write_buffer)?;
        Ok(Connection::new(Box::new(machine), write_buffer, login.encryption.settings().cloned()))
    }

    fn execute(sql: Arc<str>, _: Repeats) -> Request {
        Request::Execute(Execute { facts: None, sql, rows: ParameterRows::One, begin: false })
    }

    fn may_write(sql: &str) -> bool {
        headrace_cubrid::lexer::may_write(sql)
    }

    fn prepare(sql: Arc<str>) -> Request {
        Request::Prepare { sql }
    }
}

/// The encoding of the database, by Python's names for it, of which the case and the hyphens do not matter.
fn codeset(charset: Option<&str>) -> Result<CodeSet, Error> {
    let Some(charset) = charset else { return Ok(CodeSet::default()) };
    let name = match charset.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "utf8" => "utf8",
        "euckr" => "euckr",
        "iso88591" | "latin1" => "iso88591",
        _ => {
            let what = format!("charset={charset:?} is not one of utf-8, euc-kr, iso-8859-1");
            return Err(Error::Unsupported(what));
        }
    };
    CodeSet::of_locale(name).ok_or_else(|| Error::invalid(format!("charset={charset:?} is not known")))
}
