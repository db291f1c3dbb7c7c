//! The databases, a file each.

pub(crate) mod common;
pub(crate) mod cubrid;
pub(crate) mod informix;
pub(crate) mod mysql;
pub(crate) mod postgres;
