//! Every limit of the engine: its name, its default and its unit.

/// Bytes that the inbox can hold at first. It grows to [`INBOX_BYTES`] once a read fills it.
pub const INBOX_FIRST_BYTES: usize = 16 * 1024;
/// Bytes that the inbox can hold; only a single message larger than this makes it grow further.
pub const INBOX_BYTES: usize = 256 * 1024;
/// Bytes in the outbox at which a batch stops encoding until some have been sent.
pub const OUTBOX_HIGH_BYTES: usize = 256 * 1024;
/// Bytes of one backend message at which the connection is given up as broken. PostgreSQL itself refuses
/// to build a message larger than 1 GiB.
pub const MESSAGE_BYTES: usize = 1 << 30;
/// Prepared statements kept per connection.
pub const STATEMENT_CACHE: usize = 256;
/// Bytes of SQL text above which a statement is not kept in the cache.
pub const STATEMENT_CACHE_SQL_BYTES: usize = 16 * 1024;
/// Notifications kept per connection until someone reads them; the oldest are dropped, and counted, beyond this.
pub const NOTIFICATIONS: usize = 65_536;
/// Depth of arrays, composites and ranges inside each other that is decoded or encoded.
pub const NESTING: usize = 32;
