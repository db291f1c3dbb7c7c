//! Informix.

use crate::Kind::{Number, Object, Seconds, Secret, Text};
use crate::{Driver, Id, Setting, Sockets, TlsNames, common};

pub(crate) static DRIVER: Driver = Driver {
    id: Id::Informix,
    name: "informix",
    title: "Informix",
    schemes: &["informix"],
    port: 9088,
    sockets: Sockets::None,
    negotiates_tls: false,
    tls: TlsNames { mode: "sslmode", roots: "sslrootcert", client: None, switch: None },
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
