//! The databases: of each a file with its [`Driver`], and the [`Database`] that programs in Rust use.

mod common;

use crate::{Database, Driver};

/// The list of all databases: the crate of each, its module here, and its type.
macro_rules! databases {
    ($($protocol:ident: $module:ident::$database:ident,)*) => {
        $(mod $module;)*
        $(pub use $module::$database;)*

        /// The crates of the protocols.
        pub mod protocols {
            $(pub use $protocol as $module;)*
        }

        /// All databases.
        pub static DRIVERS: &[&Driver] = &[$($database::DRIVER),*];

        impl Driver {
            /// Runs code that is compiled for each database, for this one.
            pub fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                $(if self == $database::DRIVER {
                    return visitor.visit::<$database>();
                })*
                unreachable!("{} is not in the list of databases", self.name)
            }
        }
    };
}

databases! {
    headrace_postgres: postgres::Postgres,
    headrace_mysql: mysql::MySql,
    headrace_informix: informix::Informix,
    headrace_cubrid: cubrid::Cubrid,
}

/// Code that is compiled for each database: see [`Driver::visit`].
pub trait Visitor {
    /// Its result.
    type Output;

    /// Runs it for a database.
    fn visit<D: Database>(self) -> Self::Output;
}
