//! The meaning of the first word of a statement, in every dialect of SQL.

/// Statements that read or change rows, and savepoints.
const KEEP_TRANSACTION: [&str; 10] =
    ["select", "insert", "update", "delete", "merge", "replace", "values", "with", "savepoint", "release"];

/// Returns true if a text is a single statement that neither begins nor ends a transaction, judged by its own words.
/// False in case of doubt.
pub fn keeps_transaction(sql: &str) -> bool {
    let text = sql.trim_matches(|c: char| c.is_ascii_whitespace() || c == ';');
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    !text.contains(';') && KEEP_TRANSACTION.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::keeps_transaction;

    #[test]
    fn what_may_end_a_transaction_is_in_doubt() {
        for sql in ["select 1", " INSERT INTO t VALUES (1);", "with a as (select 1) select * from a", "savepoint s"] {
            assert!(keeps_transaction(sql), "{sql}");
        }
        for sql in [
            "",
            "commit",
            "begin work",
            "create table t (a int)",
            "/* select */ commit",
            "select 1; commit",
            "call p()",
        ] {
            assert!(!keeps_transaction(sql), "{sql}");
        }
    }
}
