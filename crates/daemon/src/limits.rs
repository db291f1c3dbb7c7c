//! Every limit and default of the daemon, with its unit.

use std::time::Duration;

/// How long what the server has answered to an `auth_query` is taken to hold: how long a password that was changed still
/// lets in.
pub const VERIFIER_LIFETIME: Duration = Duration::from_secs(5);
/// Answers of that kind that are kept.
pub const VERIFIERS: usize = 10_000;
/// Server connections of one pool: one server, database, user and set of startup parameters.
pub const POOL_SIZE: usize = 10;
/// Server connections of a database in all its pools, below the 100 that a PostgreSQL server has by default.
pub const MAX_CONNECTIONS: usize = 80;
/// Clients of one pool that may wait for a server connection: all of them.
pub const QUEUE_LENGTH: usize = CLIENTS;
/// How long a client waits for a server connection.
pub const QUEUE_WAIT: Duration = Duration::from_secs(30);
/// How long opening a server connection may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two rounds of asking all hosts of a database for one that will do: at first, twice as long after each, and at
/// most.
pub const FAILOVER_PAUSE: Duration = Duration::from_millis(50);
/// The longest of these.
pub const FAILOVER_PAUSE_MOST: Duration = Duration::from_secs(1);
/// How far a standby may be behind the primary to be read from.
pub const MAX_LAG: Duration = Duration::from_secs(10);
/// How often servers are asked how far they are, in each [`MAX_LAG`], or what is configured in its place.
pub const LAG_QUESTIONS: u32 = 4;
/// How long servers are asked that after the last transaction that could be executed on a standby.
pub const LAG_LINGER: Duration = Duration::from_secs(60);
/// How long the first such transaction waits until it is known which servers are standbys.
pub const FIRST_LAG: Duration = Duration::from_secs(1);
/// How soon a standby is asked again meanwhile, and the shortest time between two questions to a server, however short
/// `max_lag` is.
pub const LAG_PAUSE_LEAST: Duration = Duration::from_millis(10);
/// How long a client may take to log in.
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take to receive the last that it is sent, and who asks on the second socket to ask.
pub const FAREWELL: Duration = Duration::from_secs(10);
/// How long a message of a client may take to be complete, or to bring [`BORROW_BYTES`] more.
pub const MESSAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a message, or of a group of messages without its end, for which a server connection is borrowed before it is
/// complete.
pub const BORROW_BYTES: usize = 256 * 1024;
/// Clients of TCP that may be logging in at one time.
pub const LOGINS: usize = 200;
/// How long an idle server connection is kept.
pub const IDLE_SERVER: Duration = Duration::from_secs(300);
/// How long a server connection may take to become usable again after a client has left it.
pub const RESET_TIMEOUT: Duration = Duration::from_secs(5);
/// How soon a cancel request is repeated: it may have come when the server had nothing to do, before the statement or
/// between two steps of it.
pub const CANCEL_AGAIN: Duration = Duration::from_millis(100);
/// Prepared statements of one server connection.
pub const SERVER_STATEMENTS: usize = 500;
/// Prepared statements that a server connection of another database than PostgreSQL keeps.
pub const FRONT_STATEMENTS: usize = 250;
/// Bytes of the description of a statement that is kept for those who ask for it again.
pub const DESCRIPTION_BYTES: usize = 16 * 1024;
/// Bytes of a group of messages that is sent together with the question whether the statement fits that it prepares.
pub const ATTEMPT_BYTES: usize = 16 * 1024;
/// Messages of it.
pub const ATTEMPT_MESSAGES: usize = 16;
/// How long a prepared statement is what everybody gets who prepares its text. What its text means may be changed by
/// others than the daemon's clients: a table of the same name in an earlier schema of the search path, another function.
pub const SHARED_FOR: Duration = Duration::from_secs(60);
/// Bytes that a prepared statement is taken to need besides its text.
pub const STATEMENT_BYTES: usize = 256;
/// Bytes that each name is taken to need that a client has for a prepared statement, besides the name.
pub const STATEMENT_NAME_BYTES: usize = 96;
/// Portals of one client that are open at one time, beyond which it keeps its server connection.
pub const PORTALS: usize = 1000;
/// Texts of prepared statements that a pool remembers, in addition to those that a client holds.
pub const KNOWN_STATEMENTS: usize = 5000;
/// Bytes of those texts.
pub const KNOWN_STATEMENT_BYTES: usize = 16 * 1024 * 1024;
/// Statements that a client has closed, of which is remembered for [`SHARED_FOR`] that it has.
pub const CLOSED_STATEMENTS: usize = 500;
/// Replies to one client that are to come, from which on nothing more is passed on.
pub const REPLIES: usize = 65_536;
/// Bytes of a message that has to be complete before it is passed on: Parse, Query, Describe, Close.
pub const WHOLE_MESSAGE: usize = 64 * 1024 * 1024;
/// Bytes of the parameters of an execution that a database other than PostgreSQL receives, where one may be in several
/// places.
pub const BOUND_BYTES: usize = WHOLE_MESSAGE;
/// Statements of a script that set settings back, each of which may be followed by SETs.
pub const RESETS: usize = 100;
/// Bytes of a StartupMessage, as PostgreSQL has it.
pub const STARTUP_BYTES: usize = 10_000;
/// Bytes of an `application_name`; the server cuts longer ones (`NAMEDATALEN` - 1).
pub const APPLICATION_NAME_BYTES: usize = 63;
/// Sets of settings of which a pool remembers what the server makes of them.
pub const STARTUP_REPLIES: usize = 256;
/// How long a client that keeps its server connection is idle before the server is asked whether what keeps it is still
/// there, where nothing that was sent shows it.
pub const PINNED_PAUSE: Duration = Duration::from_millis(50);
/// How often idle connections are looked for.
pub const EXPIRY: Duration = Duration::from_secs(10);
/// The shortest time between two of these, with a short `idle_exit`.
pub const EXPIRY_LEAST: Duration = Duration::from_millis(1);
/// Between two looks at whether server connections were closed.
pub const LOOK: Duration = Duration::from_millis(20);
/// The period of the averages that the console shows.
pub const STATS_PERIOD: Duration = Duration::from_secs(60);
/// How long clients may take to end their transactions after SIGTERM.
pub const DRAIN: Duration = Duration::from_secs(30);
/// How long a daemon that takes over may take to be ready, and each answer of the two.
pub const TAKEOVER: Duration = Duration::from_secs(10);
/// How long a daemon from which another one has taken over may take to answer a question of an operator: less than
/// [`FAREWELL`], which is the time for the operator's whole request.
pub const ANSWER: Duration = Duration::from_secs(5);
/// How long clients may stay with a daemon from which another one has taken over, before they leave at the end of their
/// transactions.
pub const RESTART: Duration = Duration::from_secs(60);
/// How long a client is idle before it leaves a daemon from which another one has taken over: much longer than from the
/// check of a connection by a pool to its use.
pub const IDLE_BEFORE_LEAVING: Duration = Duration::from_secs(1);
/// The same after [`RESTART`], where no client that is busy is that idle.
pub const SHORT_IDLE_BEFORE_LEAVING: Duration = Duration::from_millis(50);
/// How long a server connection is used.
pub const LIFETIME: Duration = Duration::from_secs(3600);
/// The same where clients give the server's passwords.
pub const PASSWORD_LIFETIME: Duration = Duration::from_secs(60);
/// How long a server connection may be unused before it is checked when it is lent.
pub const CHECK_AFTER: Duration = Duration::from_secs(30);
/// Clients at one time.
pub const CLIENTS: usize = 10_000;
/// Megabytes for messages of all clients that have to be complete before they are passed on.
pub const MEMORY_MB: usize = 512;
/// Bytes of a client's buffers that always may be taken.
pub const SMALL: usize = 512 * 1024;
/// Bytes of a request up to which a client that waits for a server connection keeps them alone, without its buffers.
pub const KEPT_REQUEST_BYTES: usize = 4096;
/// Pairs of a read buffer and a write buffer, each of at most [`SMALL`] bytes, that a thread keeps for the next client
/// that needs some.
pub const SPARE_BUFFERS: usize = 8;
/// Statements that are parsed between two ReadyForQuery whose numbers are kept; after more all of a connection count as such.
pub const PARSED: usize = 256;
/// Entries of a table of what is under way between a client and its server connection for which the client keeps memory
/// when it has none.
pub const KEPT_ENTRIES: usize = 8;
/// Larger tables of replies that are to come which a thread keeps for the next client that pipelines.
pub const SPARE_TABLES: usize = 8;
/// Entries for which such a table may have memory to be kept.
pub const SPARE_REPLIES: usize = 1024;
/// How long a command that prints a password may take.
pub const PASSWORD_COMMAND: Duration = Duration::from_secs(30);
/// The fewest seconds of a setting that must be above 0: one microsecond.
pub const LEAST_SECONDS: f64 = 1e-6;
/// The most seconds that a setting may have: 31 years.
pub const MOST_SECONDS: f64 = 1e9;
/// Seconds without a client after which a daemon ends that was started on demand.
pub const IDLE_EXIT: f64 = 600.0;
/// How long a daemon that is started on demand waits for one that is about to end.
pub const HANDOVER: Duration = Duration::from_secs(10);
/// SQLSTATEs of which errors are counted apart.
pub const COUNTED_SQLSTATES: usize = 200;
/// Lines of one kind that are written to the log in a second.
pub const LOG_LINES: u32 = 20;
/// Lines of the log that wait to be written, beyond which they are left out.
pub const LOG_BACKLOG: usize = 1000;
/// Bytes of a request to the socket of the metrics.
pub const REQUEST_BYTES: usize = 8192;
/// Bytes that a client's request and its answer may have before the client is served by the threads for bulk traffic.
pub const BULK_BYTES: u64 = 256 * 1024;
/// Requests below that, one after the other, after which a client is served by the threads for interactive traffic again.
pub const INTERACTIVE_REQUESTS: u32 = 16;
/// Requests of a client that are passed on before others that wait get their turn.
pub const TURN: usize = 32;
/// How soon a cancel request is tried again that the server cannot take yet.
pub const CANCEL_SOON: Duration = Duration::from_millis(20);
/// Bytes of rows of one request that wait in the daemon until the client takes them.
pub const FRONT_WAITING_BYTES: usize = 256 * 1024;
/// The same for a portal that the client has not read to its end, while another statement is executed.
pub const FRONT_HELD_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of rows from which on they are passed on before their result is complete.
pub const FRONT_PASSED_ON_BYTES: usize = 16 * 1024;
/// Bytes of a client's messages that are read ahead.
pub const FRONT_READ_AHEAD_BYTES: usize = 128 * 1024;
/// Requests of a client that may be in flight.
pub const FRONT_IN_FLIGHT: usize = 512;
/// Errors that are counted by SQLSTATE while a server connection is lent.
pub const COUNTED_ERRORS: usize = 64;
/// Settings of applications that a client may set by names of its own, if they are to follow it.
pub const CUSTOM_SETTINGS: usize = 64;
/// Bytes of the name and value of all settings of a client that follow it.
pub const OWN_SETTINGS_BYTES: usize = 4096;
/// Milliseconds of a timeout that a session may have while it is idle: the statements by which it is made another
/// client's need less.
pub const LEAST_IDLE_TIMEOUT: u64 = 100;
/// Words from the beginning of a statement that are looked at to find what it is: no command has more.
pub const COMMAND_WORDS: usize = 64;
/// Words from the beginning of a statement that show whether it has a body: `CREATE OR REPLACE DEFINER = 'a'@'b' AGGREGATE
/// FUNCTION`.
pub const BODY_WORDS: usize = 8;
/// Tokens in which these words are.
pub const BODY_TOKENS: usize = 64;
