//! The limits of CUBRID's protocol, each with its unit, and those of the engine.

pub use headrace_core::limits::*;

/// How many times in a row a session that is being resumed may be lost again, before its settings are all set.
pub const RESUMES: usize = 1000;
/// How many processes are asked for a session that is being resumed: those that a broker has, if it is not told otherwise.
pub const SESSION_MISSES: usize = 40;
/// The beginning of a session's identification, which is that of the database server.
pub const SERVER_KEY_BYTES: usize = 8;
/// Rows of a statement. The server needs longer to prepare a statement the more rows it has, and hardly executes one of
/// more rows faster: measured with CUBRID 11.3.2, 4.2 microseconds a row for 100 rows, 3.5 for 200.
pub const JOINED_ROWS: usize = 100;
/// Parameters of a statement at most: its preparation then takes 5 ms.
pub const JOINED_PARAMETERS: usize = 4000;
/// Rows of a statement from which on it is worth its preparation.
pub const JOINED_ROWS_FEWEST: usize = 10;
/// Values that are sent as JSON, in a request of a batch. The CAS needs 100 kB of memory for each, however short it is,
/// until the request has ended: measured with CUBRID 11.3.2.
pub const DOCUMENTS: usize = 200;
/// Pages in flight at first, and after one that began too late: those in flight with it are dropped. With two the server
/// is not idle while the client decodes.
pub const FIRST_PAGES_IN_FLIGHT: usize = 2;
/// Pages in flight at most. With 8 a client that is slower than the server needs a fourth of the system calls.
pub const PAGES_IN_FLIGHT: usize = 8;
/// The number of results that are kept. The client may have opened cursors besides.
pub const RESULTS_KEPT: usize = 40;
/// The part of a page of rows, as its divisor, by which pages may be shorter than expected; where they differ by more,
/// nothing is read ahead.
pub const PAGE_SLACK: i32 = 4;
