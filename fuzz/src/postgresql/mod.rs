//! PostgreSQL.

mod decode;
mod machine;

pub use decode::decode;
pub use machine::machine;
