//! Every limit of the engine: its name, its default and its unit.

/// Size of the read buffer in bytes at first. It grows to [`READ_BUFFER_BYTES`] once a read fills it.
pub const READ_BUFFER_FIRST_BYTES: usize = 16 * 1024;
/// Size of the read buffer in bytes; only a single message larger than this makes it grow further.
pub const READ_BUFFER_BYTES: usize = 256 * 1024;
/// Time for which a thread lets bytes of the server accumulate instead of being woken by each piece of a long answer.
pub const GATHER: std::time::Duration = std::time::Duration::from_micros(50);
/// Bytes of an answer after which it is a long one. With 32 KiB an answer of 40 KiB takes a tenth longer.
pub const GATHER_AFTER_BYTES: usize = 128 * 1024;
/// Replies in flight from which on they are let accumulate, however short they are. A server needs longer than
/// [`GATHER`] for so many.
pub const GATHER_REPLIES: usize = 128;
/// How many times [`GATHER`] a thread sleeps at most for replies in flight, each time twice as long while few have come,
/// and never longer than for [`GATHER_REPLIES`] each.
pub const GATHER_PATIENCE: u32 = 8;
/// Bytes that the last call has received from which on the client is the slower one, and need not wait.
pub const GATHERED_BYTES: usize = 64 * 1024;
/// Bytes below which waiting was in vain: two pieces of PostgreSQL, which sends 8 KiB each.
pub const GATHERED_FEWEST_BYTES: usize = 16 * 1024;
/// Bytes in the write buffer at which the first batch on an event loop stops encoding.
pub const WRITE_BUFFER_CAREFUL_BYTES: usize = 16 * 1024;
/// Bytes in the write buffer at which a batch stops encoding at the soonest: see [`FLUSH_TURN`].
pub const WRITE_BUFFER_FEWEST_BYTES: usize = 4 * 1024;
/// How long a connection on an event loop may send within one turn of the loop, whose other tasks wait for that time. It
/// is looked at from the second time on that the write buffer is full, which is sooner while filling it takes longer than
/// this.
pub const FLUSH_TURN: std::time::Duration = std::time::Duration::from_millis(2);
/// Bytes in the write buffer at which a batch stops encoding until some have been sent.
pub const WRITE_BUFFER_HIGH_BYTES: usize = 256 * 1024;
/// Bytes of memory that a buffer keeps after a large value; the rest is returned to the allocator.
pub const BUFFER_KEPT_BYTES: usize = 1024 * 1024;
/// Size in bytes of one backend message from which on the connection is closed as broken. PostgreSQL itself refuses to
/// build a message larger than 1 GiB.
pub const MESSAGE_BYTES: usize = 1 << 30;
/// Bytes from the server that an error message shows at most.
pub const SHOWN_BYTES: usize = 512;
/// Prepared statements kept per connection.
pub const STATEMENT_CACHE: usize = 256;
/// Bytes of SQL text above which a statement is not kept in the cache.
pub const STATEMENT_CACHE_SQL_BYTES: usize = 16 * 1024;
/// Commands in flight on a connection whose server accepts commands before it has answered earlier ones, but has no
/// pipeline mode.
pub const COMMANDS_IN_FLIGHT: usize = 4096;
/// Default level of zstd compression (1 to 22); 3 is the algorithm's own default.
pub const ZSTD_LEVEL: u8 = 3;
/// Bytes of rows of a batch that travel together in one command. Far below the smallest default of MySQL's
/// `max_allowed_packet` (4 MiB); while the server works on one such command, the next is made.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// Rows of a batch that travel together in one command.
pub const CHUNK_ROWS: usize = 16_384;
/// Commands with many rows that are in flight at a time.
pub const CHUNKS_IN_FLIGHT: usize = 2;
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
/// Rows of a batch that are kept while an iterator gives them, so that a batch whose statement turns out to be stale can
/// be repeated. Those of a list or a tuple can be read again in any number.
pub const ROWS_KEPT: usize = 1024;
/// Bytes, characters and elements of the values of such rows.
pub const ROWS_KEPT_BYTES: usize = 1024 * 1024;
/// Texts of which PostgreSQL's driver remembers that their columns have changed within a transaction; after that many it
/// forgets all, and each can fail once more.
pub const UNSTEADY_STATEMENTS: usize = 256;
/// Named prepared statements that one batch to PostgreSQL uses at most, if its rows differ in the types of their
/// values; rows of further types share the unnamed statement.
pub const BATCH_STATEMENTS: usize = 32;
/// Parameters of a statement to PostgreSQL: its messages count them in 16 bits.
pub const PARAMETERS: usize = u16::MAX as usize;
/// Notifications kept per connection until they are read; beyond this the oldest are dropped and counted.
pub const NOTIFICATIONS: usize = 65_536;
/// Bytes of an identifier that PostgreSQL keeps.
pub const NAME_BYTES: usize = 63;
/// Depth of arrays, composites and ranges inside each other that is decoded or encoded.
pub const NESTING: usize = 32;
/// How long the blocking loop may sleep before its owner checks for interrupts: Ctrl-C is then handled well within 0.2
/// s even if the signal went to another thread.
pub const TICK: std::time::Duration = std::time::Duration::from_millis(100);
/// Bytes of plaintext that are encrypted at a time, so that ciphertext never outgrows the write buffer by much.
pub const TLS_PLAINTEXT_BYTES: usize = 64 * 1024;
/// Bytes of ciphertext that are read at a time.
pub const TLS_CIPHERTEXT_BYTES: usize = 64 * 1024;
/// TLS configurations that a process keeps, each with the certificates that it read and the sessions that can be
/// resumed.
pub const TLS_CONFIGURATIONS: usize = 64;
/// Seconds after which the system's certificate store is read again.
pub const TLS_STORE_SECONDS: u64 = 60;
/// How many times in a row a server may redirect to another server.
pub const REDIRECTS: usize = 8;
/// How many times in a row a session that is being resumed may be lost again, before its settings are all set.
pub const RESUMES: usize = 1000;
/// Seconds within which a blocking connection opens a socket for a session that was lost. The session itself is waited
/// for as its requests are.
pub const RECONNECT_SECONDS: f64 = 30.0;
/// Statements whose parameter style was converted that are cached per connection; beyond this the cache is emptied.
pub const QUERIES: usize = 1024;
/// Bytes of the texts of all cached statements whose parameter style was converted.
pub const QUERIES_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of one such text: a longer one is converted each time.
pub const QUERY_BYTES: usize = 64 * 1024;
/// Notices kept per connection until they are read; beyond this the oldest are dropped.
pub const NOTICES: usize = 1024;
/// Milliseconds of a transfer after which a blocking call checks for interrupts, whatever has come.
pub const LOOK_MILLIS: u64 = 50;
/// Bytes of the values of an Arrow record batch after which it ends, however few its rows are.
pub const ARROW_BATCH_BYTES: usize = 64 * 1024 * 1024;
/// The largest number of such bytes that a caller may choose: with one more message of [`MESSAGE_BYTES`] the offsets of
/// texts are still 32 bits.
pub const ARROW_BATCH_BYTES_MAX: usize = 1 << 30;
/// Bytes of Arrow values that a stream of record batches asks a portal of PostgreSQL for at a time, as far as they can
/// be foreseen: a portal counts rows.
pub const ARROW_FETCH_BYTES: u64 = 4 * 1024 * 1024;
/// Rows that such a stream asks for first.
pub const ARROW_FETCH_ROWS_FIRST: u64 = 1024;
/// How many times as many rows as for the last time it asks for at most.
pub const ARROW_FETCH_GROWTH: u64 = 16;
/// Dates that a result caches at most, a power of two: dates repeat often within a result, and a look-up costs a tenth
/// of making one. Consecutive days do not displace each other; the size covers five years of them.
pub const DATES: usize = 2048;
/// Dates that the cache of a result has room for at first.
pub const DATES_FIRST: usize = 32;
