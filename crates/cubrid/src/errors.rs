//! The meaning of CUBRID's error numbers.
//!
//! The CAS has numbers from -10000 on (`src/broker/cas_error.h`), which it sends as -1000 and so on to clients that do
//! not have them; the database has those of `src/base/error_code.h`. The server sends a text for most of the latter,
//! and none for the former: those texts are here, in words of our own.

use crate::messages::server::{Origin, ServerError, renewed};
use headrace_core::IN_DOUBT;
use headrace_core::sqlstate::*;
use std::borrow::Cow;
use std::fmt;

use Condition::{Class, State};
use ErrorClass::{Database, Internal, NotSupported, Operational, Programming};

/// Numbers of the CAS that the machine acts on.
pub mod cas {
    /// The arguments are wrong; of EXECUTE_ARRAY also its handle.
    pub const ARGS: i32 = -10_004;
    /// The handle of a statement is unknown, or was closed.
    pub const SRV_HANDLE: i32 = -10_006;
    /// A statement has to be prepared again.
    pub const STMT_POOLING: i32 = -10_024;
    /// CHECK_CAS: the process is not connected with the database server.
    pub const NOT_CONNECTED: i32 = -1;
}

/// Numbers of the database that the machine acts on.
pub mod dbms {
    /// The transaction was chosen to end a deadlock: all of it is rolled back.
    pub const UNILATERALLY_ABORTED: i32 = -72;
    /// The statement was cancelled, or has reached its time limit.
    pub const INTERRUPTED: i32 = -4;
    /// A name or a type in the statement, or the type of a parameter, is wrong.
    pub const SEMANTIC: i32 = -494;
}

/// Errors after which a session is of no use: the CAS has lost the database server, or ends the connection.
///
/// Each further request on it fails, a rollback too, until the CAS gets another client. Sources: the numbers for which the
/// CAS sets `reset_flag` (`src/broker/cas_error.c`, which are `IS_SERVER_DOWN` of CUBRID's own client, too), CHECK_CAS
/// (`ux_check_connection`), and `src/broker/cas.c` for a request that cannot be read.
pub const ENDS_SESSION: &[(Origin, i32)] = &[
    (Origin::Dbms, -677),
    (Origin::Dbms, -224),
    (Origin::Dbms, -199),
    (Origin::Dbms, -111),
    (Origin::Cas, -10_025),
    (Origin::Cas, -10_003),
    (Origin::Cas, cas::NOT_CONNECTED),
];

/// Each number of the CAS, its condition and its text.
#[rustfmt::skip]
const CAS: &[(i32, Condition, &str)] = &[
    (-10_103, State(SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION), "the broker accepts TLS only, or no TLS"),
    (-10_102, State(INVALID_CURSOR_STATE), "the cursor cannot be at this position"),
    (-10_101, State(TOO_MANY_CONNECTIONS), "the broker has too many clients"),
    (-10_100, State(FEATURE_NOT_SUPPORTED), "the broker does not implement the function"),
    (-10_027, State(FEATURE_NOT_SUPPORTED), "a result cannot both be updatable and survive a commit"),
    (-10_026, State(CONFIGURATION_LIMIT_EXCEEDED), "the session has too many prepared statements"),
    (-10_025, State(CONNECTION_FAILURE), "the broker's process has lost the database server"),
    (-10_024, State(INVALID_SQL_STATEMENT_NAME), "the statement has to be prepared again; a value that its column cannot be assigned has the same effect"),
    (-10_023, Class(Programming), "the CALL is malformed"),
    (-10_022, State(NO_ADDITIONAL_DYNAMIC_RESULT_SETS_RETURNED), "the statement has no more results"),
    (-10_021, State(CANNOT_COERCE), "the elements of the collection are of different types"),
    (-10_020, State(WRONG_OBJECT_TYPE), "the attribute is not a collection"),
    (-10_019, Class(Operational), "the broker has no such session to cancel"),
    (-10_018, State(SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION), "the broker does not admit this client"),
    (-10_017, State(TOO_MANY_CONNECTIONS), "the broker has no free process, and its queue is full"),
    (-10_016, Class(Operational), "the broker cannot open a file"),
    (-10_015, State(INVALID_PARAMETER_VALUE), "the catalogue has no query of this number"),
    (-10_014, Class(Programming), "an object has no such operation"),
    (-10_013, State(UNDEFINED_OBJECT), "the object does not exist"),
    (-10_012, State(INVALID_CURSOR_STATE), "the result has no such row, was closed by the end of its transaction, or does not exist"),
    (-10_011, State(INVALID_PARAMETER_VALUE), "the session has no parameter of this number"),
    (-10_010, State(INVALID_TEXT_REPRESENTATION), "a value cannot be converted to the expected type"),
    (-10_009, State(INVALID_PARAMETER_VALUE), "a parameter cannot be bound to this place"),
    (-10_008, State(FEATURE_NOT_SUPPORTED), "a parameter is of a type that cannot be bound"),
    (-10_007, State(UNDEFINED_PARAMETER), "the number of parameters is not that of the statement's placeholders"),
    (-10_006, State(INVALID_SQL_STATEMENT_NAME), "the prepared statement is not known"),
    (-10_005, State(INVALID_TRANSACTION_TERMINATION), "a transaction cannot be ended so"),
    (-10_004, State(PROTOCOL_VIOLATION), "the arguments of a function are wrong"),
    (-10_003, State(CONNECTION_FAILURE), "the broker's process could not read the request"),
    (-10_002, State(OUT_OF_MEMORY), "the broker's process has no memory"),
    (-10_001, State(INTERNAL_ERROR), "the broker's process failed"),
    (-10_000, State(INTERNAL_ERROR), "the broker's process failed"),
    (cas::NOT_CONNECTED, State(CONNECTION_FAILURE), "the broker's process has lost the database server"),
];

/// Each number of the database, its condition and a text for errors that come without one.
#[rustfmt::skip]
const DBMS: &[(i32, Condition, &str)] = &[
    (-1349, State(UNDEFINED_OBJECT), "the synonym does not exist"),
    (-1348, State(DUPLICATE_OBJECT), "the synonym exists already"),
    (-1347, State(UNDEFINED_OBJECT), "the synonym does not exist"),
    (-1346, State(DUPLICATE_OBJECT), "the synonym exists already"),
    (-1345, State(INSUFFICIENT_PRIVILEGE), "no privilege to create a trigger"),
    (-1344, State(INSUFFICIENT_PRIVILEGE), "no privilege to create a serial"),
    (-1285, State(FOREIGN_KEY_VIOLATION), "a foreign key forbids to empty the table"),
    (-1284, State(FOREIGN_KEY_VIOLATION), "a foreign key is violated"),
    (-1205, State(INVALID_JSON_TEXT), "the value is not JSON"),
    (-1204, State(DUPLICATE_JSON_OBJECT_KEY_VALUE), "a key of the JSON value occurs twice"),
    (-1203, State(INVALID_JSON_TEXT), "the JSON value has another type at this path"),
    (-1202, State(SQL_JSON_MEMBER_NOT_FOUND), "the JSON value has nothing at this path"),
    (-1200, State(INVALID_JSON_TEXT), "the JSON path is malformed"),
    (-1199, State(CHECK_VIOLATION), "the JSON value does not conform to the schema of its column"),
    (-1198, State(INVALID_JSON_TEXT), "a JSON object is needed"),
    (-1197, State(INVALID_JSON_TEXT), "the text is not JSON"),
    (-1196, State(STATEMENT_TOO_COMPLEX), "a recursive query has recursed too often"),
    (-1192, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number has too many digits"),
    (-1189, State(DATETIME_FIELD_OVERFLOW), "the time does not exist in its zone"),
    (-1166, State(DATETIME_FIELD_OVERFLOW), "the time does not exist in its zone"),
    (-1165, State(INVALID_DATETIME_FORMAT), "the time zone is not one of this date"),
    (-1164, State(INVALID_DATETIME_FORMAT), "the time zone has no daylight saving time"),
    (-1163, State(INVALID_DATETIME_FORMAT), "the text is not daylight saving time of the zone"),
    (-1162, State(INVALID_DATETIME_FORMAT), "the text is not a time zone"),
    (-1158, State(SERIALIZATION_FAILURE), "another transaction has changed the row since the beginning of this one"),
    (-1157, State(INVALID_PARAMETER_VALUE), "the isolation level is not supported"),
    (-1155, State(SERIALIZATION_FAILURE), "another transaction has changed the row"),
    (-1154, State(SERIALIZATION_FAILURE), "another transaction has changed the row"),
    (-1150, State(COLLATION_MISMATCH), "the collations are incompatible"),
    (-1130, State(SERIALIZATION_FAILURE), "the transaction was rolled back, as it has too many locks"),
    (-1121, State(NOT_NULL_VIOLATION), "a column that takes no NULL was set to NULL"),
    (-1086, State(INVALID_REGULAR_EXPRESSION), "the regular expression failed"),
    (-1085, State(INVALID_REGULAR_EXPRESSION), "the text is not a regular expression"),
    (-1071, State(CONFIGURATION_LIMIT_EXCEEDED), "the session has too many variables"),
    (-1070, State(UNDEFINED_OBJECT), "the session variable is not defined"),
    (-1069, State(CONFIGURATION_LIMIT_EXCEEDED), "the session has too many prepared statements"),
    (-1066, State(CONNECTION_DOES_NOT_EXIST), "the session has ended"),
    (-1042, State(PROGRAM_LIMIT_EXCEEDED), "a text is too long"),
    (-1021, State(SERIALIZATION_FAILURE), "a deadlock was found"),
    (-1016, State(IO_ERROR), "the external file of a BLOB or CLOB cannot be accessed"),
    (-982, State(QUERY_CANCELED), "the statement was interrupted"),
    (-970, State(CANNOT_CONNECT_NOW), "the server has changed its role"),
    (-968, State(LOCK_NOT_AVAILABLE), "the wait for a lock was too long"),
    (-967, State(LOCK_NOT_AVAILABLE), "the wait for a lock was too long"),
    (-966, State(LOCK_NOT_AVAILABLE), "the wait for a lock was too long"),
    (-936, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-935, State(INVALID_PARAMETER_VALUE), "an argument of a function is wrong"),
    (-926, State(FOREIGN_KEY_VIOLATION), "a foreign key forbids to delete the row"),
    (-925, State(LOCK_NOT_AVAILABLE), "the lock that a foreign key needs was not granted"),
    (-924, State(FOREIGN_KEY_VIOLATION), "a foreign key is violated"),
    (-923, State(DEPENDENT_OBJECTS_STILL_EXIST), "a foreign key refers to the primary key"),
    (-922, State(FOREIGN_KEY_VIOLATION), "a foreign key is violated"),
    (-921, State(DATATYPE_MISMATCH), "a foreign key has another type than its primary key"),
    (-919, State(INVALID_FOREIGN_KEY), "the table of a foreign key has no primary key"),
    (-918, State(UNDEFINED_TABLE), "the table of a foreign key does not exist"),
    (-908, State(TOO_MANY_ARGUMENTS), "the procedure has too many arguments"),
    (-907, State(INSUFFICIENT_PRIVILEGE), "no privilege to drop the procedure"),
    (-906, State(UNDEFINED_FUNCTION), "the procedure has no such method in Java"),
    (-905, State(EXTERNAL_ROUTINE_EXCEPTION), "the connection with Java's machine was lost"),
    (-903, State(EXTERNAL_ROUTINE_EXCEPTION), "Java's machine cannot be reached"),
    (-902, State(EXTERNAL_ROUTINE_EXCEPTION), "Java's machine does not run"),
    (-901, State(EXTERNAL_ROUTINE_EXCEPTION), "Java's machine cannot be started"),
    (-895, State(DATATYPE_MISMATCH), "the type of a procedure's argument is wrong"),
    (-894, State(UNDEFINED_FUNCTION), "the procedure does not exist"),
    (-891, State(UNDEFINED_OBJECT), "the partition does not exist"),
    (-889, State(EXTERNAL_ROUTINE_EXCEPTION), "the procedure has failed"),
    (-888, State(UNDEFINED_FUNCTION), "the procedure has another number of arguments"),
    (-887, State(DUPLICATE_FUNCTION), "the procedure exists already"),
    (-886, State(UNIQUE_VIOLATION), "a unique key is violated"),
    (-875, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-874, State(INVALID_ARGUMENT_FOR_POWER_FUNCTION), "the power does not exist"),
    (-834, State(INVALID_TEXT_REPRESENTATION), "the text is not a number of this format"),
    (-831, State(TOO_MANY_CONNECTIONS), "the database has too many clients"),
    (-788, State(INVALID_DATETIME_FORMAT), "the text is not a date and time"),
    (-787, State(INVALID_DATETIME_FORMAT), "the text is not a date and time"),
    (-784, State(INVALID_DATETIME_FORMAT), "the text does not have this format"),
    (-783, State(INVALID_DATETIME_FORMAT), "the format is wrong"),
    (-779, State(DATETIME_FIELD_OVERFLOW), "the date is out of range"),
    (-775, State(SEQUENCE_GENERATOR_LIMIT_EXCEEDED), "the serial has no further value"),
    (-774, State(DUPLICATE_OBJECT), "the serial exists already"),
    (-773, State(UNDEFINED_OBJECT), "the serial does not exist"),
    (-733, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-732, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-731, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-730, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-729, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-714, State(DISK_FULL), "the volume for temporary results is full"),
    (-712, State(DUPLICATE_OBJECT), "the constraint exists already"),
    (-709, State(UNDEFINED_OBJECT), "the constraint does not exist"),
    (-693, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-677, State(SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION), "the database server cannot be reached"),
    (-673, State(ADMIN_SHUTDOWN), "the server is shut down"),
    (-672, State(CONNECTION_FAILURE), "the database server has ended the connection"),
    (-671, State(CONNECTION_FAILURE), "the database server cannot be reached"),
    (-670, State(UNIQUE_VIOLATION), "a unique key is violated"),
    (-669, State(TOO_MANY_CONNECTIONS), "the database has too many clients"),
    (-649, State(NUMERIC_VALUE_OUT_OF_RANGE), "a NUMERIC has at most 38 digits"),
    (-631, State(NOT_NULL_VIOLATION), "a column that takes no NULL was set to NULL"),
    (-624, State(INVALID_ESCAPE_CHARACTER), "the character of ESCAPE is wrong"),
    (-623, State(INVALID_ESCAPE_SEQUENCE), "the pattern ends within an escape sequence"),
    (-622, State(COLLATION_MISMATCH), "the character sets are incompatible"),
    (-581, State(READ_ONLY_SQL_TRANSACTION), "the database is read-only"),
    (-553, State(DATETIME_FIELD_OVERFLOW), "a time is out of range"),
    (-552, State(DATETIME_FIELD_OVERFLOW), "a date is out of range"),
    (-550, State(INVALID_SAVEPOINT_SPECIFICATION), "the savepoint does not exist"),
    (-539, State(DIVISION_BY_ZERO), "a division by zero"),
    (-529, State(TRIGGERED_ACTION_EXCEPTION), "a trigger has made the transaction invalid"),
    (-517, State(TRIGGERED_ACTION_EXCEPTION), "a trigger has rejected the statement"),
    (-516, State(STATEMENT_TOO_COMPLEX), "triggers call each other too often"),
    (-505, State(DUPLICATE_OBJECT), "the trigger exists already"),
    (-503, State(UNDEFINED_OBJECT), "the trigger does not exist"),
    (-495, State(SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION), "the statement cannot be executed"),
    (-494, State(SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION), "the statement, or the type of a parameter, is wrong"),
    (-493, State(SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION), "the statement is wrong"),
    (-492, State(SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION), "the statement is wrong"),
    (-459, State(CARDINALITY_VIOLATION), "a subquery returns more than one row"),
    (-458, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-456, State(DATATYPE_MISMATCH), "the types are incompatible"),
    (-454, Class(NotSupported), "a value is of a type that is not valid here"),
    (-447, State(INVALID_CURSOR_STATE), "the result is closed"),
    (-440, State(INVALID_CURSOR_STATE), "the cursor is not at a row"),
    (-427, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of range"),
    (-273, State(UNDEFINED_OBJECT), "the index does not exist"),
    (-272, State(DUPLICATE_OBJECT), "the index exists already"),
    (-266, State(DUPLICATE_COLUMN), "the column exists already"),
    (-239, State(UNDEFINED_COLUMN), "the column does not exist"),
    (-224, State(CONNECTION_DOES_NOT_EXIST), "the broker's process is not connected with the database"),
    (-222, State(STRING_DATA_RIGHT_TRUNCATION), "a text is too long for its column"),
    (-212, State(UNIQUE_VIOLATION), "a unique key is violated"),
    (-205, State(NOT_NULL_VIOLATION), "a column that takes no NULL was set to NULL"),
    (-204, State(INVALID_TEXT_REPRESENTATION), "the text is not a NUMERIC"),
    (-203, State(DATATYPE_MISMATCH), "the value is of another type than its column"),
    (-202, State(UNDEFINED_COLUMN), "the column does not exist"),
    (-199, State(CONNECTION_FAILURE), "the database server does not answer"),
    (-191, State(CONNECTION_FAILURE), "the database server cannot be reached"),
    (-182, State(NUMERIC_VALUE_OUT_OF_RANGE), "a number is out of the range of its column"),
    (-181, State(CANNOT_COERCE_VALUE), "a value cannot be converted to the type of its column"),
    (-180, State(CANNOT_COERCE_VALUE), "a value cannot be converted to the type of its column"),
    (-179, State(DATATYPE_MISMATCH), "the types are incompatible"),
    (-176, State(INVALID_DATETIME_FORMAT), "the text is not a date"),
    (-171, State(INVALID_PASSWORD), "wrong password"),
    (-170, State(INVALID_AUTHORIZATION_SPECIFICATION), "no user has logged in"),
    (-167, State(INSUFFICIENT_PRIVILEGE), "the user is not the owner"),
    (-166, State(INVALID_AUTHORIZATION_SPECIFICATION), "the user does not exist"),
    (-165, State(INVALID_AUTHORIZATION_SPECIFICATION), "the user does not exist"),
    (-164, State(DUPLICATE_OBJECT), "the user exists already"),
    (-163, State(INSUFFICIENT_PRIVILEGE), "no privilege to execute"),
    (-162, State(INSUFFICIENT_PRIVILEGE), "no privilege to make an index"),
    (-161, State(INSUFFICIENT_PRIVILEGE), "no privilege to delete"),
    (-160, State(INSUFFICIENT_PRIVILEGE), "no privilege to insert"),
    (-159, State(INSUFFICIENT_PRIVILEGE), "no privilege to update"),
    (-158, State(INSUFFICIENT_PRIVILEGE), "no privilege to alter the table"),
    (-157, State(INSUFFICIENT_PRIVILEGE), "no privilege"),
    (-156, State(INSUFFICIENT_PRIVILEGE), "no privilege"),
    (-154, State(INSUFFICIENT_PRIVILEGE), "no privilege"),
    (-153, State(INSUFFICIENT_PRIVILEGE), "no privilege"),
    (-147, State(INSUFFICIENT_PRIVILEGE), "no privilege to grant"),
    (-140, State(INSUFFICIENT_PRIVILEGE), "only DBA may do this"),
    (-116, State(INVALID_CATALOG_NAME), "the database does not exist"),
    (-111, State(CRASH_SHUTDOWN), "the database server has ended the transaction"),
    (-76, State(LOCK_NOT_AVAILABLE), "the wait for a lock was too long"),
    (-75, State(LOCK_NOT_AVAILABLE), "the wait for a lock was too long"),
    (-74, State(LOCK_NOT_AVAILABLE), "the wait for a lock was too long"),
    (-73, State(LOCK_NOT_AVAILABLE), "the wait for a lock was too long"),
    (-72, State(SERIALIZATION_FAILURE), "the transaction was rolled back to end a deadlock"),
    (-65, State(DUPLICATE_TABLE), "the table exists already"),
    (-64, State(UNDEFINED_TABLE), "the table does not exist"),
    (-48, Class(Operational), "the object was deleted"),
    (-15, State(IO_ERROR), "a volume of the database cannot be accessed"),
    (-14, State(IO_ERROR), "a volume of the database cannot be written"),
    (-13, State(IO_ERROR), "a volume of the database cannot be read"),
    (-9, State(DISK_FULL), "a volume of the database is full"),
    (-4, State(QUERY_CANCELED), "the statement was interrupted: cancelled, or at its time limit"),
    (-3, State(OUT_OF_MEMORY), "the database server has no memory"),
    (-2, State(INTERNAL_ERROR), "the database server failed"),
    (-1, State(INTERNAL_ERROR), "the database server failed"),
];

/// A value that has no conversion to a type: data, not the statement, is wrong.
const CANNOT_COERCE_VALUE: SqlState = INVALID_CHARACTER_VALUE_FOR_CAST;

impl ServerError {
    /// Returns true if the session is of no use after it.
    pub fn ends_session(&self) -> bool {
        ENDS_SESSION.contains(&(self.origin, self.code))
    }

    /// Its text, or what its number means.
    fn words(&self) -> &str {
        match self.message.trim() {
            "" => self.meaning().map_or("the server reports an error", |(_, _, text)| text),
            text => text,
        }
    }

    /// The same error of a statement that may have been executed: the server has gone before it had answered.
    pub(crate) fn of_unknown_outcome(self) -> Self {
        let message = format!("{}; {IN_DOUBT}", self.words());
        Self { message, ..self }
    }

    fn meaning(&self) -> Option<&'static (i32, Condition, &'static str)> {
        let (table, code) = match self.origin {
            Origin::Cas => (CAS, renewed(self.code)),
            Origin::Dbms => (DBMS, self.code),
        };
        let at = table.binary_search_by_key(&code, |(code, ..)| *code).ok()?;
        table.get(at)
    }
}

/// Numbers that the parser has for all it refuses, what the text then begins with or has in it, and the condition. The
/// server writes these texts in English unless it is configured otherwise (CUBRID_MSG_LANG); then the condition is the
/// one of the number.
const PARSER: &[(i32, [&str; 2], SqlState)] = &[
    (-493, ["Syntax: Unknown class ", ""], UNDEFINED_TABLE),
    // INSERT and REPLACE; the line before it has what follows in the statement.
    (-493, ["Syntax: before '", "'\nUnknown class "], UNDEFINED_TABLE),
    (-493, ["Syntax error: ", ""], SYNTAX_ERROR),
    // DROP, TRUNCATE and CREATE VIEW; CREATE INDEX; ALTER.
    (-494, ["Semantic: Unknown class ", ""], UNDEFINED_TABLE),
    (-494, ["Semantic: before '", "'\nUnknown class "], UNDEFINED_TABLE),
    (-494, ["\nClass ", " does not exist. "], UNDEFINED_TABLE),
    (-494, ["\" was not found. ", ""], UNDEFINED_COLUMN),
    (-494, ["Cannot coerce ", ""], CANNOT_COERCE_VALUE),
    (-494, ["Class ", " already exists"], DUPLICATE_TABLE),
];

impl Diagnostics for ServerError {
    fn condition(&self) -> Condition {
        if self.origin == Origin::Dbms
            && let Some((.., state)) = PARSER
                .iter()
                .find(|(code, texts, _)| *code == self.code && texts.iter().all(|text| self.message.contains(text)))
        {
            return State(*state);
        }
        match (self.meaning(), self.origin) {
            (Some((_, condition, _)), _) => *condition,
            (None, Origin::Cas) => Class(Internal),
            (None, Origin::Dbms) => Class(Database),
        }
    }

    fn message(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())?;
        let of = match self.origin {
            Origin::Cas => "CAS error",
            Origin::Dbms => "error",
        };
        write!(f, " ({of} {})", self.code)
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(origin: Origin, code: i32, message: &str) -> ServerError {
        ServerError { origin, code, message: message.into() }
    }

    #[test]
    fn the_tables_are_in_order() {
        assert!(CAS.is_sorted_by(|(a, ..), (b, ..)| a < b));
        assert!(DBMS.is_sorted_by(|(a, ..), (b, ..)| a < b));
    }

    #[test]
    fn numbers_have_a_condition_and_a_text() {
        for (origin, code, message, condition, text) in [
            (Origin::Dbms, -670, "Unique. ", State(UNIQUE_VIOLATION), "Unique. (error -670)"),
            (
                Origin::Dbms,
                -72,
                "",
                State(SERIALIZATION_FAILURE),
                "the transaction was rolled back to end a deadlock (error -72)",
            ),
            (Origin::Dbms, -5555, "New.", Class(Database), "New. (error -5555)"),
            (Origin::Dbms, -5555, "", Class(Database), "the server reports an error (error -5555)"),
            (
                Origin::Cas,
                -10_006,
                "",
                State(INVALID_SQL_STATEMENT_NAME),
                "the prepared statement is not known (CAS error -10006)",
            ),
            (Origin::Cas, -10_099, "", Class(Internal), "the server reports an error (CAS error -10099)"),
        ] {
            let error = error(origin, code, message);
            assert_eq!((error.condition(), error.to_string().as_str()), (condition, text), "{code}");
        }
    }

    #[test]
    fn what_the_parser_refuses_has_the_condition_of_its_text() {
        for (code, message, condition) in [
            (-493, "Syntax: Unknown class \"dba.nope\". select 1 from nope", UNDEFINED_TABLE),
            (
                -493,
                "Syntax: before '  values (?)'\nUnknown class \"dba.nope\". insert into [dba.nope]",
                UNDEFINED_TABLE,
            ),
            (-494, "Semantic: Unknown class \"dba.nope\". drop [dba.nope]", UNDEFINED_TABLE),
            (-494, "Semantic: before ' (a)'\nUnknown class \"dba.nope\". create index [i]", UNDEFINED_TABLE),
            (-494, "Semantic: before '  add x int'\nClass dba.nope does not exist. alter class", UNDEFINED_TABLE),
            (-493, "Syntax: In line 1, column 1 before ' 1'\nSyntax error: unexpected 'selekt'", SYNTAX_ERROR),
            (-493, "Syntax: something else", SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION),
            (-494, "Semantic: before ' from t'\nAttribute \"nope\" was not found. select nope", UNDEFINED_COLUMN),
            (-494, "Semantic: Cannot coerce host var to type integer. ", CANNOT_COERCE_VALUE),
            (-494, "Semantic: before ' (a int)'\nClass dba.t already exists. create class [dba.t]", DUPLICATE_TABLE),
            (-494, "Semantic: something else", SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION),
        ] {
            assert_eq!(error(Origin::Dbms, code, message).condition(), State(condition), "{message}");
            assert_eq!(error(Origin::Cas, code, message).condition(), Class(Internal), "{message}");
        }
    }

    #[test]
    fn numbers_of_the_database_have_the_classes_of_pep_249() {
        use ErrorClass::*;
        for (class, codes) in [
            (Operational, &[-4, -13, -14, -15, -3, -48, -72, -73, -74, -75, -76, -966, -111, -199, -224, -191][..]),
            (Operational, &[-677, -671, -165, -171, -1016, -1158, -1021, -967, -968, -831, -1066]),
            (Programming, &[-64, -65, -156, -157, -493, -494, -495, -492, -1070, -894, -887, -202, -239, -272, -773]),
            (Data, &[-176, -787, -1162, -181, -427, -458, -539, -204, -649, -1197, -1157, -693, -733]),
            (Integrity, &[-631, -670, -886, -922, -924, -1284, -205, -1121, -212]),
            (NotSupported, &[-454]),
            (Internal, &[-440, -447, -581]),
        ] {
            for code in codes {
                assert_eq!(error(Origin::Dbms, *code, "").class(), class, "{code}");
            }
        }
    }

    #[test]
    fn the_cas_has_two_numberings_for_the_same_errors() {
        for (code, ..) in CAS.iter().filter(|(code, ..)| *code <= -10_000) {
            let old = error(Origin::Cas, code + 9000, "");
            assert_eq!(old.condition(), error(Origin::Cas, *code, "").condition(), "{code}");
            assert_eq!(ServerError::cas(code + 9000).code, *code);
        }
    }
}
