//! MySQL and MariaDB.

mod decode;
mod machine;

pub use decode::decode;
pub use machine::machine;
