//! The limits of PostgreSQL's protocol, each with its unit, and those of the engine.

pub use headrace_core::limits::*;

/// Rows of a batch to PostgreSQL that may be unanswered when its end, which commits it, is sent. Before that, a batch
/// that is cancelled is certain to be rolled back; this number of rows keeps the server busy for longer than a round
/// trip takes.
pub const ROWS_UNANSWERED: u64 = 1024;
/// Rows of a batch to PostgreSQL that are executed one by one before the rest of them is sent by COPY, if the table
/// allows it: for fewer, the question to the catalogue costs more than is won.
pub const COPY_AFTER_ROWS: u64 = 1024;
/// Rows of a batch to PostgreSQL from which on it is sent in statements of many rows, if the table allows it: for fewer, the
/// question to the catalogue and the preparation of such a statement cost more than is won. If the number of rows is not
/// known, as many are executed one by one before.
pub const JOIN_FROM_ROWS: u64 = 5000;
/// Rows of one such statement.
pub const JOINED_ROWS: usize = 100;
/// Parameters of one such statement: with more of them each row takes the server longer.
pub const JOINED_PARAMETERS: usize = 1000;
/// The fewest rows that such a statement is prepared for.
pub const JOINED_ROWS_FEWEST: usize = 10;
/// Bytes of the text of such a statement.
pub const JOINED_SQL_BYTES: usize = 64 * 1024;
/// Bytes of the parameters of such a statement: larger rows win little.
pub const JOINED_BYTES: usize = 128 * 1024;
/// Such statements that one batch prepares at most, if its rows differ in the types of their values.
pub const JOINED_STATEMENTS: usize = 8;
/// Texts of which PostgreSQL's driver remembers that their columns have changed within a transaction; after that many it
/// forgets all, and each can fail once more.
pub const UNSTEADY_STATEMENTS: usize = 256;
/// Named prepared statements that one batch to PostgreSQL uses at most, if its rows differ in the types of their
/// values; rows of further types share the unnamed statement.
pub const BATCH_STATEMENTS: usize = 32;
/// Parameters of a statement to PostgreSQL: its messages count them in 16 bits.
pub const PARAMETERS: usize = u16::MAX as usize;
/// Parts of records of which PostgreSQL is asked at once to make text, as they have no binary form here.
pub const PARTS: usize = 4096;
/// Bytes of such parts; a larger one is sent alone.
pub const PARTS_BYTES: usize = 1024 * 1024;
/// Bytes of a COPY's rows that are kept until types that stand only inside of their records are known.
pub const COPY_DEFERRED_BYTES: usize = 64 * 1024 * 1024;
/// Dimensions of a `vector` or `halfvec` of pgvector (`VECTOR_MAX_DIM` in its `vector.h`).
pub const VECTOR_DIMENSIONS: usize = 16_000;
/// Notifications kept per connection until they are read; beyond this the oldest are dropped and counted.
pub const NOTIFICATIONS: usize = 65_536;
/// Bytes of an identifier that PostgreSQL keeps.
pub const NAME_BYTES: usize = 63;
/// Notices kept per connection until they are read; beyond this the oldest are dropped.
pub const NOTICES: usize = 1024;
/// Bytes of a text up to which PostgreSQL's driver reads which settings it changes; a longer one, of several statements or
/// with a call of `set_config()`, counts as changing those by which constants are read.
pub const SETTING_SQL_BYTES: usize = 64 * 1024;
