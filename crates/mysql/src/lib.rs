//! The MySQL and MariaDB client/server protocol as a state machine without sockets, clocks or Python.
//!
//! * [`errors`]: the meaning of the server's errors, in terms that all databases share;
//! * [`packets`]: the packets, by the manuals' names;
//! * [`auth`]: the authentication plugins;
//! * [`types`]: the column types, their decoders and encoders;
//! * [`sql`]: as much of the dialect's lexis as joining rows and placing parameters needs;
//! * [`machine`]: the connection;
//! * [`login_file`]: decrypts the login path file.
//!
//! Section names in the documentation are those of the MySQL Internals manual, "Client/Server Protocol"
//! (dev.mysql.com/doc/dev/mysql-server), and of the MariaDB manual, "Clients & Connectors: MariaDB protocol".
#![forbid(unsafe_code)]

pub mod auth;
pub mod errors;
pub mod limits;
pub mod login_file;
pub mod machine;
pub mod packets;
pub mod sql;
pub mod types;
