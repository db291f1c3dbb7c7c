//! Every limit of the engine that is not of one protocol or crate: its name, its default and its unit. Those are in
//! the `limits.rs` of their crate.

/// Size of the read buffer in bytes at first. It grows to [`READ_BUFFER_BYTES`] once a read fills it.
pub const READ_BUFFER_FIRST_BYTES: usize = 16 * 1024;
/// How long a connection on an event loop may decode received rows within one turn of the loop, whose other tasks wait
/// for that time. It reads fewer bytes at a time while decoding them takes longer than this: see
/// [`ReadBuffer::adapt`](crate::ReadBuffer::adapt).
pub const READ_TURN: std::time::Duration = std::time::Duration::from_micros(400);
/// Bytes that such a connection reads at a time at the least, however long their rows take.
pub const READ_FEWEST_BYTES: usize = 1024;
/// Size of the read buffer in bytes; only a single message larger than this makes it grow further.
pub const READ_BUFFER_BYTES: usize = 256 * 1024;
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
/// Bytes of rows of a batch that travel together in one command. Far below the smallest default of MySQL's
/// `max_allowed_packet` (4 MiB); while the server works on one such command, the next is made.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// Rows of a batch that travel together in one command.
pub const CHUNK_ROWS: usize = 16_384;
/// Commands with many rows that are in flight at a time.
pub const CHUNKS_IN_FLIGHT: usize = 2;
/// Bytes, characters and elements of the values of such rows.
pub const ROWS_KEPT_BYTES: usize = 1024 * 1024;
/// Depth of arrays, composites and ranges inside each other that is decoded or encoded.
pub const NESTING: usize = 32;
/// The highest number of a parameter, where the driver converts numbered ones.
pub const NUMBERED_PARAMETERS: usize = u16::MAX as usize;
