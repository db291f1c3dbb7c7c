//! What a fuzzer's input is given to, for each database of `headrace-drivers`.

mod cubrid;
mod informix;
mod mysql;
mod postgresql;

use headrace_drivers::{Cubrid, DRIVERS, Database, Driver, Informix, MySql, Postgres};
use std::env;
use std::sync::LazyLock;

/// The variable that names the database, as `headrace-drivers` does; without it the first byte of each input chooses one.
const DATABASE: &str = "HEADRACE_FUZZ";

/// The code of a database that reads what a server sends.
#[derive(Clone, Copy)]
pub struct Fuzzed {
    driver: &'static Driver,
    /// Every decoder: no panic, no unbounded memory.
    pub decode: fn(&[u8]),
    /// The machine of a session, whose server sends the input: no panic, and each response handler receives exactly one
    /// outcome.
    pub machine: fn(&[u8]),
}

const FUZZED: [Fuzzed; 4] = [
    Fuzzed { driver: Postgres::DRIVER, decode: postgresql::decode, machine: postgresql::machine },
    Fuzzed { driver: MySql::DRIVER, decode: mysql::decode, machine: mysql::machine },
    Fuzzed { driver: Informix::DRIVER, decode: informix::decode, machine: informix::machine },
    Fuzzed { driver: Cubrid::DRIVER, decode: cubrid::decode, machine: cubrid::machine },
];

/// The databases that inputs are for: that of the variable, or all that there are.
static CHOSEN: LazyLock<Vec<Fuzzed>> = LazyLock::new(|| {
    let named = env::var(DATABASE).ok();
    let drivers = DRIVERS.iter().filter(|driver| named.as_ref().is_none_or(|name| name == driver.name));
    let chosen: Vec<Fuzzed> = drivers
        .map(|driver| {
            let known = FUZZED.iter().find(|fuzzed| fuzzed.driver == *driver);
            *known.unwrap_or_else(|| panic!("{} has no row in fuzz/src/lib.rs", driver.name))
        })
        .collect();
    assert!(!chosen.is_empty(), "{DATABASE} names none of the databases");
    chosen
});

/// The database that an input is for, and the rest of the input; `None` if it is empty.
pub fn database(data: &[u8]) -> Option<(Fuzzed, &[u8])> {
    let chosen = &*CHOSEN;
    if let [one] = chosen[..] {
        return Some((one, data));
    }
    let (first, rest) = data.split_first()?;
    Some((chosen[usize::from(*first) % chosen.len()], rest))
}
