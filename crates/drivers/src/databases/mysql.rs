//! MySQL and MariaDB: the settings of MySQLdb, PyMySQL and libmysqlclient, and those of headrace.

use super::common;
use crate::SettingKind::{Choice, Ignored, List, Number, Only, Path, Refused, Seconds, Secret, Switch, Text};
use crate::{Database, Driver, Encryption, Login, Repeats, Setting, Sockets, TlsNames, Unusable};
use headrace_connection::Connection;
use headrace_core::{ResponseHandler, WriteBuffer};
use headrace_mysql::auth;
use headrace_mysql::machine::{AsText, Columns, Execute, Machine, ParameterRows, Request, SessionOptions, Tls, own_number};
use headrace_mysql::packets::reply::ServerError;
use std::fmt::Debug;
use std::sync::Arc;

/// libpq's names of the modes, which headraced and URLs have too.
const LIKE_LIBPQ: &[&str] = &[
    "disabled",
    "preferred",
    "required",
    "verify_ca",
    "verify_identity",
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
];

static DRIVER: Driver = Driver {
    name: "mysql",
    title: "MySQL and MariaDB",
    schemes: &["mysql", "mariadb"],
    port: 3306,
    sockets: Sockets::OfSetting {
        name: "socket",
        paths: &["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"],
    },
    negotiates_tls: true,
    tls: TlsNames { mode: "ssl_mode", roots: "ssl_ca", client: Some(["ssl_cert", "ssl_key"]), switch: None },
    has_system_user: true,
    has_session_variables: false,
    ignores_case_of_aliases: false,
    rewritten: &[],
    settings: &[
        Setting::new("host", List, "Names or addresses, tried in order.").env("MYSQL_HOST").adbc().daemon("host"),
        Setting::new("port", List, "One port for all hosts, or one for each.")
            .or("3306")
            .env("MYSQL_TCP_PORT")
            .adbc()
            .daemon("port"),
        Setting::new("socket", Path, "The Unix socket, which goes before hosts.")
            .also(&["unix_socket"])
            .env("MYSQL_UNIX_PORT")
            .adbc()
            .daemon("host"),
        Setting::new("user", Text, "The user.").also(&["username"]).adbc().daemon("user"),
        Setting::new("password", Secret, "The password.").also(&["passwd"]).env("MYSQL_PWD").adbc().daemon("password"),
        Setting::new("database", Text, "The schema.").also(&["db", "dbname"]).adbc().daemon("dbname"),
        Setting::new("load_balance_hosts", Choice(&["disable", "random"], &[]), "`random` shuffles the hosts.")
            .or("disable")
            .adbc(),
        Setting::new("read_default_file", Path, "An option file, of which `[client]` and others are read."),
        Setting::new("read_default_group", Text, "One more group of the option files that is read."),
        Setting::new("login_path", Text, "The part of the file of `mysql_config_editor` that is read."),
        Setting::new("connect_timeout", Seconds, "Seconds to open a session at one address; 0 is no limit.")
            .also(&["timeout"])
            .or("30")
            .adbc()
            .daemon("connect_timeout"),
        Setting::new("command_timeout", Seconds, "Seconds that a call may wait for the server."),
        Setting::new("read_timeout", Seconds, "Seconds without a byte of the server after which the connection ends."),
        Setting::new("write_timeout", Seconds, "Seconds without a byte to the server after which the connection ends."),
        common::KEEPALIVES,
        common::KEEPALIVES_IDLE,
        common::KEEPALIVES_INTERVAL,
        common::KEEPALIVES_COUNT,
        common::TCP_USER_TIMEOUT,
        Setting::new(
            "ssl_mode",
            Choice(&["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"], LIKE_LIBPQ),
            "Whether TLS is used, and what is verified; libpq's names are understood, too.",
        )
        .also(&["sslmode"])
        .or("PREFERRED")
        .adbc()
        .daemon("sslmode"),
        Setting::new(
            "ssl_ca",
            Path,
            "The file of trusted certificates, without it the system's; alone it means `VERIFY_CA`.",
        )
        .also(&["sslrootcert"])
        .adbc()
        .daemon("sslrootcert"),
        Setting::new("ssl_cert", Path, "The client's certificate.").also(&["sslcert"]).adbc().daemon("sslcert"),
        Setting::new("ssl_key", Path, "The key of the certificate.").also(&["sslkey"]).adbc().daemon("sslkey"),
        Setting::new("ssl", Switch, "On: as `ssl_mode=REQUIRED`. Python also takes a mapping with files."),
        Setting::new("ssl_disabled", Switch, "On: as `ssl_mode=DISABLED`."),
        Setting::new("ssl_verify_cert", Switch, "On: as `ssl_mode=VERIFY_CA`."),
        Setting::new("ssl_verify_identity", Switch, "On: as `ssl_mode=VERIFY_IDENTITY`."),
        Setting::new("ssl_verify_server_cert", Switch, "Without `ssl_ca`, the password proves the certificate."),
        Setting::new("tls_version", List, "`TLSv1.3` refuses TLS 1.2."),
        Setting::new("auth_plugins", List, "The methods by which the server may ask for the password.")
            .also(&["auth_plugin"]),
        Setting::new("server_public_key", Text, "The server's RSA key, for a password without TLS."),
        Setting::new("server_public_key_path", Path, "The file with it."),
        Setting::new("get_server_public_key", Switch, "The server is asked for its RSA key.").or("0"),
        Setting::new("compression", Text, "`zlib` or `zstd`."),
        Setting::new("zstd_level", Number, "The level of zstd, from 1 to 22."),
        Setting::new("local_infile", Switch, "LOAD DATA LOCAL is possible.").or("0"),
        Setting::new("client_found_rows", Switch, "Rows that are found are counted, not those that change.").or("0"),
        Setting::new("multi_statements", Switch, "A text may have several statements.").or("0"),
        Setting::new("interactive", Switch, "`interactive_timeout` applies, not `wait_timeout`.").or("0"),
        Setting::new("client_flag", Number, "Features of the protocol by their bits, as in MySQLdb."),
        Setting::new("init_command", Text, "A statement that each session begins with."),
        Setting::new("sql_mode", Text, "The variable `sql_mode` of the session."),
        Setting::new("time_zone", Text, "The variable `time_zone` of the session."),
        Setting::new(
            "charset",
            Only(&["utf8mb4", "utf8", "utf8mb3"], "text travels as utf8mb4, whatever the tables' own"),
            "Always utf8mb4.",
        ),
        Setting::new("collation", Text, "The collation of the session."),
        Setting::new("program_name", Text, "The name in `performance_schema.session_connect_attrs`.").adbc(),
        Setting::new("prepared", Switch, "Off: parameters become literals in the statement.").or("1"),
        common::STATEMENT_CACHE_SIZE,
        common::UNREPRESENTABLE,
        Setting::new("json_text", Switch, "JSON is read as text.").or("0"),
        common::ENABLE_TIMING,
        Setting::new("use_unicode", Only(&["1", "true", "on", "yes"], "text is str"), "Always on."),
        Setting::new("named_pipe", Only(&["0", "false", "off", "no"], "headrace has no named pipes"), "Always off."),
        Setting::new(
            "defer_connect",
            Only(&["0", "false", "off", "no"], "call connect() when you want the connection"),
            "Always off.",
        ),
        Setting::new("binary_prefix", Ignored, "Without effect."),
        Setting::new("max_allowed_packet", Ignored, "Without effect."),
        Setting::new("executemany_fallback", Ignored, "Without effect."),
        Setting::new("ssl_key_password", Refused("headrace reads keys that are not encrypted"), "Refused."),
        Setting::new("conv", Refused("values have the types of the documentation"), "Refused."),
        Setting::new("cursorclass", Refused("give row_factory"), "Refused."),
        Setting::new("auth_plugin_map", Refused("headrace has its authentication plugins built in"), "Refused."),
        Setting::new("local_infile_dir", Refused("the data of LOAD DATA LOCAL are handed over"), "Refused."),
        Setting::new("bind_address", Refused("the system chooses the local address"), "Refused."),
    ],
};

/// MySQL and MariaDB.
#[derive(Debug)]
pub struct MySql;

impl Database for MySql {
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
        let program = login.settings.text("program_name").unwrap_or(login.program);
        let options = SessionOptions {
            user: login.user.to_owned(),
            password: login.password().map(auth::Secret),
            database: login.database.map(str::to_owned),
            tls: match login.encryption {
                Encryption::No => Tls::No,
                Encryption::Prefer(_) => Tls::Prefer,
                Encryption::Require(_) => Tls::Require,
            },
            local: login.is_local,
            found_rows: login.settings.switch("client_found_rows", false)?,
            attributes: vec![own_number(), ("program_name".to_owned(), program.to_owned())],
            ..SessionOptions::default()
        };
        let machine = Machine::new(options, login.statements)?;
        Ok(Connection::new(Box::new(machine), WriteBuffer::new(), login.encryption.settings().cloned()))
    }

    fn execute(sql: Arc<str>, repeats: Repeats) -> Request {
        match repeats {
            Repeats::Once => Request::Query { sql, infile: false },
            Repeats::Often => Request::Execute(Execute {
                facts: None,
                sql,
                rows: ParameterRows::One,
                text: AsText::IfUnprepared,
                cursor: None,
            }),
        }
    }

    fn may_write(sql: &str) -> bool {
        headrace_mysql::sql::may_write(sql)
    }

    fn prepare(sql: Arc<str>) -> Request {
        Request::Prepare { sql }
    }

    fn quote(name: &str) -> String {
        headrace_mysql::sql::quoted(name)
    }

    /// COM_RESET_CONNECTION keeps the default schema, which USE may have changed.
    fn reset(name: &str) -> Option<Vec<Request>> {
        Some(vec![Request::ResetConnection, Request::InitDb { schema: name.into() }])
    }
}
