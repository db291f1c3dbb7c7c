//! Databases of PostgreSQL: server connections that are lent to one client after the other.

pub mod counted;
mod description;
mod lag;
mod own_settings;
pub mod pool;
pub mod relay;
pub mod server;
pub mod session;
pub mod standbys;
pub mod startup_replies;
pub mod statements;
