//! The driver.

use crate::database::HeadraceDatabase;
use crate::options::text;
use adbc_core::error::Result;
use adbc_core::options::{OptionDatabase, OptionValue};
use adbc_core::{Driver, Optionable as _};

/// The driver, which has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadraceDriver;

impl Driver for HeadraceDriver {
    type DatabaseType = HeadraceDatabase;

    fn new_database(&mut self) -> Result<HeadraceDatabase> {
        Ok(HeadraceDatabase::default())
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<HeadraceDatabase> {
        let mut database = HeadraceDatabase::default();
        for (key, value) in options {
            // What a driver manager has used itself to find this library.
            if matches!(key.as_ref(), "driver" | "entrypoint") && text(&key, &value).is_ok() {
                continue;
            }
            database.set_option(key, value)?;
        }
        database.check()?;
        Ok(database)
    }
}
