//! What may be another after a command, by its tag.

/// Returns true if tables, types or functions may have changed after a command with this tag. A procedure may do
/// anything, too, but for programs that call some repeatedly each statement would be prepared as often.
pub(super) fn is_about_schema(tag: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 4] = [b"ALTER ", b"CREATE ", b"DROP ", b"IMPORT FOREIGN SCHEMA"];
    tag == b"DO" || BEGINNINGS.iter().any(|beginning| tag.starts_with(beginning))
}

/// Returns true if the columns of a row type may be others after a command with this tag.
pub(super) fn is_about_rows(tag: &[u8]) -> bool {
    tag.starts_with(b"ALTER ") || matches!(tag, b"CREATE VIEW" | b"DO")
}

/// Returns true if the name of a cursor or of a prepared statement may refer to another one after a command with this
/// tag.
pub(super) fn is_about_names(tag: &[u8]) -> bool {
    const TAGS: [&[u8]; 12] = [
        b"DECLARE CURSOR",
        b"CLOSE CURSOR",
        b"CLOSE CURSOR ALL",
        b"PREPARE",
        b"DEALLOCATE",
        b"DEALLOCATE ALL",
        b"DISCARD ALL",
        b"DISCARD PLANS",
        b"COMMIT",
        b"ROLLBACK",
        b"PREPARE TRANSACTION",
        b"DO",
    ];
    TAGS.contains(&tag)
}
