//! An ADBC driver (Arrow Database Connectivity) for PostgreSQL, MySQL, MariaDB, Informix and CUBRID: a library with a C
//! interface, which programs in any language load through their ADBC driver manager. The URI determines the database.
//!
//! * [`driver`], [`database`], [`connection`], [`statement`]: the objects of ADBC;
//! * [`uri`] and [`target`]: what to connect to;
//! * [`session`]: a connection of `headrace-io`, whichever protocol it has; [`call`]: the response handler of its
//!   requests, which makes record batches; [`bound`]: the rows of parameters;
//! * [`link`]: what the objects of one connection share; [`reader`]: a result that is read batch by batch;
//! * [`ingest`]: tables of record batches; [`objects`], [`statistics`], [`info`]: metadata;
//! * [`databases`]: what differs between databases;
//! * `exported`: the functions that a driver manager looks for; [`outcome`]: what they return beside streams.
#![deny(unsafe_code)]

pub mod bound;
pub mod call;
pub mod connection;
pub mod database;
pub mod databases;
pub mod driver;
pub mod error;
#[allow(unsafe_code)]
mod exported;
pub mod info;
pub mod ingest;
mod limits;
pub mod link;
mod nested;
pub mod objects;
pub mod options;
pub mod outcome;
pub mod partition;
pub mod reader;
pub mod session;
pub mod statement;
pub mod statistics;
pub mod table;
pub mod target;

pub use driver::HeadraceDriver;
