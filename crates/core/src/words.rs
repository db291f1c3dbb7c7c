//! The meaning of the words of a statement, in every dialect of SQL.

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

/// First words of statements that only read, unless they contain one of [`WRITES`].
const READS: [&str; 11] =
    ["select", "with", "values", "table", "show", "desc", "describe", "explain", "check", "checksum", "help"];

/// Words of statements within others: common table expressions of PostgreSQL, EXPLAIN ANALYZE, several in one text.
const WRITES: [&str; 6] = ["insert", "update", "delete", "merge", "call", "execute"];

/// Returns true if a statement that returns rows may change something: to cancel it while its rows are received may undo
/// that. What is not known to read counts as writing, and so do words within constants where it is not certain that they
/// are in one.
pub fn may_write(sql: &str) -> bool {
    let Some(text) = after_comments(sql) else { return true };
    let is_one_of = |word: &str, of: &[&str]| of.iter().any(|known| word.eq_ignore_ascii_case(known));
    let mut words = words(text);
    if !words.next().is_some_and(|first| is_one_of(first, &READS)) {
        return true;
    }
    // Of most texts this is all.
    if !words.any(|word| is_one_of(word, &WRITES)) {
        return false;
    }
    let mut previous = "";
    outside_of_quotes(text).into_iter().flat_map(self::words).any(|word| {
        // FOR UPDATE, FOR NO KEY UPDATE
        let locks = word.eq_ignore_ascii_case("update") && is_one_of(previous, &["for", "key"]);
        previous = word;
        !locks && is_one_of(word, &WRITES)
    })
}

/// The words of a text, wherever they are.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// What follows the comments and parentheses before a statement; `None` if a comment has no end, or MySQL may execute what
/// it contains.
fn after_comments(sql: &str) -> Option<&str> {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        rest = if let Some(comment) = rest.strip_prefix("/*") {
            if comment.starts_with(['!', 'M']) {
                return None;
            }
            comment.split_once("*/")?.1
        } else if rest.starts_with("--") || rest.starts_with('#') {
            rest.split_once('\n')?.1
        } else {
            return Some(rest);
        };
    }
}

/// The parts of a text that are in no quotes; all of it where the end of a string depends on the dialect or on a setting,
/// or where a quote may be in a comment.
fn outside_of_quotes(text: &str) -> Vec<&str> {
    let is_plain = !text.contains(['\\', '#', '$']) && !text.contains("--") && !text.contains("/*");
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(['\'', '"', '`']).filter(|_| is_plain) {
        let quote = char::from(rest.as_bytes()[at]);
        let Some((_, after)) = rest[at + 1..].split_once(quote) else { break };
        parts.push(&rest[..at]);
        rest = after;
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::{keeps_transaction, may_write};

    #[test]
    fn only_what_is_known_to_read_does_not_write() {
        let reads = [
            "select 1",
            "  (SELECT 1) union (select 2)",
            "/* insert */ with a as (select 1) select * from a",
            "-- a\n# b\nshow tables",
            "select replace(a, 'x', 'y') from t",
            "explain select 1",
            "select * from t for update",
            "select * from t for no key update",
            "select * from t where a = 'please delete' and \"update\" = 1 and `call` = 'it''s insert'",
        ];
        let writes = [
            "insert into t values (1) returning id",
            "/* select */ replace into t values (1) returning id",
            "/*!50000 select 1 */",
            "/*M! select 1 */",
            "/* no end",
            "call p()",
            "execute procedure p()",
            "with a as (delete from t returning id) select * from a",
            "explain analyze update t set a = 1",
            "select 1; insert into t values (1)",
            "select 1; update t set a = 'x'",
            "select 'a\\'; insert into t values ('b",
            "select 1 -- it's\n; insert into t values ('x')",
            "select 'no end; delete from t",
            "",
        ];
        let taken = |texts: &[&str]| texts.iter().map(|sql| may_write(sql)).collect::<Vec<_>>();
        assert_eq!(taken(&reads), vec![false; reads.len()]);
        assert_eq!(taken(&writes), vec![true; writes.len()]);
    }

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
