//! Whether a statement that returns rows may change something.

/// First words of statements that only read, unless they contain one of [`WRITES`].
const READS: [&str; 11] =
    ["select", "with", "values", "table", "show", "desc", "describe", "explain", "check", "checksum", "help"];

/// Words of statements within others: common table expressions of PostgreSQL, EXPLAIN ANALYZE, several in one text.
const WRITES: [&str; 6] = ["insert", "update", "delete", "merge", "call", "execute"];

/// Returns true if a statement may change something: to cancel it while its rows are received may undo that. It is asked
/// for safety, so words within constants count, and what is not known does.
pub(crate) fn may_write(sql: &str) -> bool {
    let Some(text) = after_comments(sql) else { return true };
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let is_one_of = |word: &str, of: &[&str]| of.iter().any(|known| word.eq_ignore_ascii_case(known));
    !words.next().is_some_and(|first| is_one_of(first, &READS)) || words.any(|word| is_one_of(word, &WRITES))
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

#[cfg(test)]
mod tests {
    use super::may_write;

    #[test]
    fn only_what_is_known_to_read_does_not_write() {
        let reads = [
            "select 1",
            "  (SELECT 1) union (select 2)",
            "/* insert */ with a as (select 1) select * from a",
            "-- a\n# b\nshow tables",
            "select replace(a, 'x', 'y') from t",
            "explain select 1",
        ];
        let writes = [
            "insert into t values (1) returning id",
            "/* select */ replace into t values (1) returning id",
            "/*!50000 select 1 */",
            "/* no end",
            "call p()",
            "execute procedure p()",
            "with a as (delete from t returning id) select * from a",
            "explain analyze update t set a = 1",
            "select 1; insert into t values (1)",
            "",
        ];
        let taken = |texts: &[&str]| texts.iter().map(|sql| may_write(sql)).collect::<Vec<_>>();
        assert_eq!(taken(&reads), vec![false; reads.len()]);
        assert_eq!(taken(&writes), vec![true; writes.len()]);
    }
}
