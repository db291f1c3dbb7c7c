//! PostgreSQL: libpq's settings ("Parameter Key Words", PostgreSQL manual), and those of headrace.

use super::common;
use crate::SettingKind::{Choice, Ignored, List, Only, Path, Refused, Seconds, Secret, Switch, Text};
use crate::{Database, Driver, Encryption, Login, Repeats, Setting, Sockets, TlsNames, Unusable};
use headrace_connection::Connection;
use headrace_core::{ResponseHandler, WriteBuffer};
use headrace_postgres::machine::{self, Binding, Columns, Execute, Machine, Prepare, Purpose, Request, SessionOptions};
use headrace_postgres::messages::backend::ServerError;
use std::fmt::Debug;
use std::sync::Arc;

const NO_REVOCATION: &str = "headrace does not read revocation lists";
const NO_OAUTH: &str = "headrace has no OAuth; where the server takes a token as the password, give it as that";
const TLS_VERSIONS: &[&str] = &["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];

static DRIVER: Driver = Driver {
    name: "postgresql",
    title: "PostgreSQL",
    schemes: &["postgresql", "postgres"],
    port: 5432,
    sockets: Sockets::InFolder { prefix: ".s.PGSQL.", folders: &["/var/run/postgresql", "/tmp"] },
    negotiates_tls: true,
    tls: TlsNames { mode: "sslmode", roots: "sslrootcert", client: Some(["sslcert", "sslkey"]), switch: None },
    has_system_user: true,
    has_session_variables: false,
    ignores_case_of_aliases: false,
    // As JDBC's URLs have it, and libpq understands it.
    rewritten: &[["ssl", "true", "sslmode", "require"]],
    settings: &[
        Setting::new("host", List, "Names, addresses, or folders of Unix sockets, tried in order.")
            .env("PGHOST")
            .adbc()
            .daemon("host"),
        Setting::new("hostaddr", List, "Addresses of the hosts, which are not looked up.").env("PGHOSTADDR"),
        Setting::new("port", List, "One port for all hosts, or one for each.")
            .or("5432")
            .env("PGPORT")
            .adbc()
            .daemon("port"),
        Setting::new("user", Text, "The role.").also(&["username"]).env("PGUSER").adbc().daemon("user"),
        Setting::new("password", Secret, "The password.").env("PGPASSWORD").adbc().daemon("password"),
        Setting::new("dbname", Text, "The database; by default it has the name of the role.")
            .also(&["database"])
            .env("PGDATABASE")
            .adbc()
            .daemon("dbname"),
        Setting::new("passfile", Path, "The password file.").env("PGPASSFILE").daemon("passfile"),
        Setting::new("service", Text, "The service whose settings are read.").env("PGSERVICE"),
        Setting::new("servicefile", Path, "The file with services.").env("PGSERVICEFILE"),
        Setting::new(
            "target_session_attrs",
            Choice(&["any", "read-write", "read-only", "primary", "standby", "prefer-standby"], &[]),
            "Which of the hosts will do.",
        )
        .or("any")
        .env("PGTARGETSESSIONATTRS")
        .adbc()
        .daemon("target_session_attrs"),
        Setting::new("load_balance_hosts", Choice(&["disable", "random"], &[]), "`random` shuffles the hosts.")
            .or("disable")
            .env("PGLOADBALANCEHOSTS")
            .adbc()
            .daemon("load_balance_hosts"),
        Setting::of_daemon("standby_reads", Switch, "What is declared to be read-only is executed on standbys.")
            .or("0"),
        Setting::of_daemon("max_lag", Seconds, "Seconds that they may be behind the primary; 0 is no limit.").or("10"),
        Setting::of_daemon("read_only", Switch, "Clients begin with `default_transaction_read_only = on`.").or("0"),
        Setting::new("connect_timeout", Seconds, "Seconds to open a session at one address; 0 is no limit.")
            .also(&["timeout"])
            .or("30")
            .env("PGCONNECT_TIMEOUT")
            .adbc()
            .daemon("connect_timeout"),
        Setting::new("command_timeout", Seconds, "Seconds that a call may wait for the server."),
        Setting::new("application_name", Text, "The name in `pg_stat_activity`.")
            .or("headrace")
            .env("PGAPPNAME")
            .adbc(),
        Setting::new("fallback_application_name", Text, "The same, if `application_name` is not given.").adbc(),
        Setting::new("options", Text, "Settings of the session, as `-c statement_timeout=5s`.").env("PGOPTIONS").adbc(),
        Setting::new("replication", Text, "A session of the replication protocol."),
        Setting::new(
            "sslmode",
            Choice(&["disable", "allow", "prefer", "require", "verify-ca", "verify-full"], &[]),
            "Whether TLS is used, and what is verified.",
        )
        .or("prefer")
        .env("PGSSLMODE")
        .adbc()
        .daemon("sslmode"),
        Setting::new(
            "sslrootcert",
            Path,
            "The file of trusted certificates, or `system`. Python alone looks for `~/.postgresql/root.crt`, too.",
        )
        .env("PGSSLROOTCERT")
        .adbc()
        .daemon("sslrootcert"),
        Setting::new("sslcert", Path, "The client's certificate.").env("PGSSLCERT").adbc().daemon("sslcert"),
        Setting::new("sslkey", Path, "The key of the certificate.").env("PGSSLKEY").adbc().daemon("sslkey"),
        Setting::new("sslnegotiation", Choice(&["postgres", "direct"], &[]), "`direct` begins with TLS at once.")
            .or("postgres")
            .env("PGSSLNEGOTIATION"),
        Setting::new("sslcertmode", Choice(&["disable", "allow", "require"], &[]), "Whether the certificate is sent.")
            .or("allow")
            .env("PGSSLCERTMODE"),
        Setting::new("sslsni", Switch, "Whether the host's name is sent before the connection is encrypted.")
            .or("1")
            .env("PGSSLSNI"),
        Setting::new("ssl_min_protocol_version", Choice(TLS_VERSIONS, &[]), "`TLSv1.3` refuses TLS 1.2.")
            .or("TLSv1.2")
            .env("PGSSLMINPROTOCOLVERSION"),
        Setting::new(
            "ssl_max_protocol_version",
            Only(&["tlsv1.3"], "headrace always offers TLS 1.3"),
            "Always TLS 1.3.",
        )
        .env("PGSSLMAXPROTOCOLVERSION"),
        Setting::new("channel_binding", Choice(&["disable", "prefer", "require"], &[]), "SCRAM is bound to TLS.")
            .or("prefer")
            .env("PGCHANNELBINDING"),
        Setting::new("require_auth", List, "The methods by which the server may ask for the password.")
            .env("PGREQUIREAUTH"),
        common::KEEPALIVES,
        common::KEEPALIVES_IDLE,
        common::KEEPALIVES_INTERVAL,
        common::KEEPALIVES_COUNT,
        common::TCP_USER_TIMEOUT,
        Setting::new("prepared", Switch, "Off: no named statement is left on the server.").or("1").adbc(),
        common::STATEMENT_CACHE_SIZE,
        Setting::new("batch_strategy", Choice(&["auto", "pipelined", "copy", "joined"], &[]), "How rows are inserted.")
            .or("auto"),
        common::UNREPRESENTABLE,
        common::ENABLE_TIMING,
        Setting::new(
            "extension_types",
            Choice(&["values", "text"], &[]),
            "`text` receives hstore, vectors, geometry as text.",
        )
        .or("values"),
        Setting::new("daemon", Switch, "The connection is one of headraced.").or("0").env("HEADRACE_DAEMON"),
        Setting::new(
            "client_encoding",
            Only(&["utf8", "utf-8", "unicode", "auto"], "headrace always speaks UTF8, the server converts"),
            "Always UTF8.",
        )
        .env("PGCLIENTENCODING"),
        Setting::new(
            "gssencmode",
            Only(&["disable", "prefer"], "headrace has no GSSAPI encryption; use TLS (sslmode)"),
            "There is no GSSAPI encryption.",
        )
        .env("PGGSSENCMODE"),
        Setting::new(
            "min_protocol_version",
            Only(&["3.0"], "headrace speaks version 3.0 of the protocol"),
            "The protocol is 3.0.",
        )
        .env("PGMINPROTOCOLVERSION"),
        Setting::new(
            "max_protocol_version",
            Only(&["3.0", "3.2", "latest"], "there is no such version of the protocol"),
            "The protocol is 3.0.",
        )
        .env("PGMAXPROTOCOLVERSION"),
        Setting::new("sslcrl", Refused(NO_REVOCATION), "Refused.").env("PGSSLCRL"),
        Setting::new("sslcrldir", Refused(NO_REVOCATION), "Refused.").env("PGSSLCRLDIR"),
        Setting::new("sslpassword", Refused("headrace reads no encrypted keys"), "Refused."),
        Setting::new("sslkeylogfile", Refused("headrace writes no TLS keys to files"), "Refused."),
        Setting::new("requirepeer", Refused("headrace does not look at who owns the server's process"), "Refused.")
            .env("PGREQUIREPEER"),
        Setting::new("scram_client_key", Refused("give the password itself"), "Refused."),
        Setting::new("scram_server_key", Refused("give the password itself"), "Refused."),
        Setting::new("oauth_issuer", Refused(NO_OAUTH), "Refused."),
        Setting::new("oauth_client_id", Refused(NO_OAUTH), "Refused."),
        Setting::new("oauth_client_secret", Refused(NO_OAUTH), "Refused."),
        Setting::new("oauth_scope", Refused(NO_OAUTH), "Refused."),
        Setting::new("krbsrvname", Ignored, "Without effect."),
        Setting::new("gsslib", Ignored, "Without effect."),
        Setting::new("gssdelegation", Ignored, "Without effect."),
        Setting::new("sslcompression", Ignored, "Without effect."),
    ],
};

/// PostgreSQL.
#[derive(Debug)]
pub struct Postgres;

impl Database for Postgres {
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
        // It is for whoever sends the statements; what it is otherwise is found out before the server is asked.
        login.settings.switch("prepared", true)?;
        let name = login.settings.text("application_name").or_else(|| login.settings.text("fallback_application_name"));
        let mut parameters = vec![
            ("user".to_owned(), login.user.to_owned()),
            ("database".to_owned(), login.database.unwrap_or(login.user).to_owned()),
            ("application_name".to_owned(), name.unwrap_or(login.program).to_owned()),
            ("client_encoding".to_owned(), "UTF8".to_owned()),
        ];
        parameters.extend(login.settings.text("options").map(|options| ("options".to_owned(), options.to_owned())));
        let options = SessionOptions {
            purpose: Purpose::Session,
            user: login.user.to_owned(),
            parameters,
            password: login.password().map(machine::Secret),
            tls: match login.encryption {
                Encryption::No => machine::Tls::No,
                Encryption::Prefer(_) => machine::Tls::Prefer,
                Encryption::Require(_) => machine::Tls::Require,
            },
            binding: Binding::Prefer,
            methods: Vec::new(),
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = Machine::new(options, login.statements, &mut write_buffer);
        Ok(Connection::new(Box::new(machine), write_buffer, login.encryption.settings().cloned()))
    }

    fn execute(sql: Arc<str>, repeats: Repeats) -> Request {
        let mut execute = Execute::new(sql);
        if repeats == Repeats::Once {
            execute.prepare = Prepare::Unnamed;
        }
        Request::Execute(execute)
    }

    fn may_write(sql: &str) -> bool {
        headrace_postgres::sql::may_write(sql)
    }

    fn prepare(sql: Arc<str>) -> Request {
        Request::Describe { sql }
    }

    fn reset(_: &str) -> Option<Vec<Request>> {
        Some(vec![Request::Script { sql: "DISCARD ALL".into(), prelude: None, copy: false }])
    }
}
