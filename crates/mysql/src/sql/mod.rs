//! The part of the dialect's lexis that the driver needs: the placeholders of a statement, its first word, and the part
//! of an INSERT that can be repeated for more rows. MySQL: "Language Structure"; MariaDB: "SQL language structure".

mod bare;
mod bound;
mod effect;
mod insert;
mod lexer;
mod load;
mod modes;
mod nested;
mod tokens;

use bare::Bare;
pub(crate) use bound::limits;
pub use bound::{Placement, placements};
pub use effect::{
    Changes, Facts, TableChanges, TableLocks, changes_session, is_harmless_variable, may_change_role,
    may_set_next_transaction, only_reads_or_writes, table_locks,
};
pub(crate) use effect::{verb, words};
use headrace_core::placeholders::{self, Converted, Marks};
use headrace_core::token::TokenKind;
use headrace_core::words;
pub use insert::{Insert, Table};
pub use lexer::{Lexer, Modes};
pub use load::{load_data, quoted};
pub use modes::ModesAfter;
use nested::Nested;

/// Returns true if a statement that returns rows may change something: see [`words::may_write`]. The SQL modes are not
/// known: of a text with a backslash it is not certain where its strings end.
pub fn may_write(sql: &str) -> bool {
    let mut lexer = Lexer::new(sql, Modes::default());
    let writes = words::may_write(sql, lexer.by_ref());
    // What some versions execute of a comment may be another first word.
    writes || lexer.is_uncertain() || sql.contains('\\') && words::has_writing_word(sql)
}

/// Returns true if a text has several statements, read with the SQL `modes`.
pub fn is_several(sql: &str, modes: Modes) -> bool {
    // Most texts have one, and at most a semicolon at their end.
    sql.trim_end_matches([';', ' ', '\n']).contains(';') && Scan::new(sql, modes).several
}

/// A statement with the server's own parameters, read with the SQL `modes`. `with_params` indicates whether parameters
/// are given: without them a percent sign is an ordinary character.
///
/// # Errors
/// A message, for a NUL character, a stray percent sign, or mixed styles.
pub fn convert(sql: &str, with_params: bool, modes: Modes) -> Result<Converted, String> {
    placeholders::check(sql)?;
    if !with_params {
        return Ok(Converted::native(sql));
    }
    if !Scan::new(sql, modes).placeholders.is_empty() {
        // A percent sign in a string, a name or a comment is not Python's then.
        if placeholders::are_in(sql) && has_python_parameter(sql, modes) {
            return Err(placeholders::mixed("?"));
        }
        return Ok(Converted::native(sql));
    }
    placeholders::rewrite(sql, Marks::Questions)
}

/// Returns true if a statement has a parameter in Python's style outside of strings, names and comments.
fn has_python_parameter(sql: &str, modes: Modes) -> bool {
    let mut literal = false;
    Lexer::new(sql, modes).any(|token| {
        let percent = token.is_punctuation(b'%');
        let found = percent && !literal && placeholders::begins(&sql[token.start..]);
        // Two percent signs are one.
        literal = percent && !literal && sql[token.end()..].starts_with('%');
        found
    })
}

/// Returns true if the values of a statement's parameters mean the same bound as written in their places.
pub fn is_bindable(sql: &str, modes: Modes) -> bool {
    placements(sql, modes).is_some()
}

/// The result of one scan of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The positions of its placeholders (`?`), in bytes.
    pub placeholders: Vec<usize>,
    /// Its first word, in lower case.
    pub verb: String,
    /// It has a RETURNING clause (or a part in parentheses has: a statement that may return rows).
    pub returning: bool,
    /// It is an INSERT or REPLACE of explicit rows (VALUES, SET), or an UPDATE or DELETE, and has the same effect in
    /// MariaDB's bulk execution as row by row.
    pub bulk: bool,
    /// There is more than one statement.
    pub several: bool,
    /// A placeholder comes directly after IN, which no server prepares: it is for a list.
    pub lists: bool,
    /// A placeholder is in the parentheses of an IN: it is for one value, never for a list.
    pub listed: bool,
    /// A placeholder follows a VALUES that is a query of its own (a table value constructor).
    pub constructed: bool,
    /// There is a query after IN, EXISTS and the like, or several in parentheses.
    pub nests: bool,
    /// The number of times that it names user variables (`@a`).
    pub variables: usize,
    /// It may ask for the warnings or errors of the statement before it. MySQL (9.7 is one) does not prepare such a
    /// statement, and would answer it with the error by which it has refused that.
    pub diagnoses: bool,
    /// The counts may differ from the server's: there is a comment that some versions execute (`/*! ... */`), a
    /// string or comment without end, or a statement that may change where the strings of a later one end.
    pub uncertain: bool,
}

impl Scan {
    /// Returns true if literals can be put in the place of its parameters.
    pub fn takes_literals(&self) -> bool {
        !self.uncertain && !self.several
    }

    /// Scans a statement.
    pub fn new(sql: &str, modes: Modes) -> Self {
        let mut scan = Self::default();
        let mut lexer = Lexer::new(sql, modes);
        let (mut ended, mut decided, mut spelt_out) = (false, false, false);
        let mut after_in = false;
        let mut after_at = 0;
        let mut scoped = false;
        let mut opened = false;
        let mut constructs = false;
        let mut names_modes = false;
        let (mut bare, mut nested) = (Bare::default(), Nested::default());
        for token in lexer.by_ref() {
            bare.token(&token);
            nested.token(&token);
            let was_in = std::mem::take(&mut after_in);
            let ats = std::mem::take(&mut after_at);
            // `@@session` was before this token.
            let was_scoped = std::mem::take(&mut scoped);
            scan.variables += usize::from(ats == 1 && token.is_name());
            let in_parentheses = std::mem::take(&mut opened);
            names_modes |= token.is_name() && token.text.trim_matches('`').eq_ignore_ascii_case("sql_mode");
            if ended {
                scan.several = true;
            }
            match token.kind {
                TokenKind::Placeholder => {
                    scan.lists |= was_in;
                    scan.listed |= in_parentheses;
                    scan.constructed |= constructs;
                    scan.placeholders.push(token.start);
                }
                TokenKind::Punctuation(b';') => ended = true,
                TokenKind::Punctuation(b'(') => opened = was_in,
                TokenKind::Punctuation(b'@') => after_at = ats + 1,
                TokenKind::Punctuation(b'.') => scoped = was_scoped,
                TokenKind::Word => {
                    let word = token.text;
                    if scan.verb.is_empty() {
                        scan.verb = word.to_ascii_lowercase();
                    }
                    scoped = ats == 2 && is_one_of(word, &["session", "local"]);
                    scan.diagnoses |= match scan.verb.as_str() {
                        "show" => is_one_of(word, &["warnings", "errors"]),
                        "get" => true,
                        _ => (ats == 2 || was_scoped) && is_one_of(word, &["warning_count", "error_count"]),
                    };
                    if !decided && is_one_of(word, &["values", "value", "set", "select", "with", "table"]) {
                        decided = true;
                        spelt_out = is_one_of(word, &["values", "value", "set"])
                            && is_one_of(&scan.verb, &["insert", "replace"]);
                    }
                    // In an INSERT the first VALUES begins its rows, and a later one is a function.
                    constructs |= !spelt_out && word.eq_ignore_ascii_case("values");
                    after_in = word.eq_ignore_ascii_case("in");
                    scan.returning |= word.eq_ignore_ascii_case("returning");
                }
                _ => {}
            }
        }
        scan.uncertain = lexer.is_uncertain() || scan.several && names_modes && sql.contains(['\\', '"']);
        scan.nests = nested.is_so();
        scan.bulk = match scan.verb.as_str() {
            "insert" | "replace" => spelt_out && bare.is_so(),
            "update" | "delete" => !bare.looks_back(),
            _ => false,
        };
        scan
    }
}

/// Functions that return the result of the statement before, which is another one in a batch.
const LOOKING_BACK: [&str; 3] = ["last_insert_id", "row_count", "found_rows"];

pub(crate) fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_beside_native_parameters_is_python_s_only_outside_of_strings() {
        for sql in ["select '%s', ?", "select `%(n)s` from t where a = ?", "select ? /* %s */ -- %s", "select ? % size"]
        {
            assert_eq!(convert(sql, true, Modes::default()), Ok(Converted::native(sql)), "{sql}");
        }
        let mixed = Err("the statement mixes ? and %s parameters".to_owned());
        assert_eq!(convert("select ?, %s", true, Modes::default()), mixed);
        assert_eq!(convert("select '?', %s", true, Modes::default()).unwrap().sql, "select '?', ?");
    }

    #[test]
    fn a_semicolon_in_a_string_or_at_the_end_begins_no_statement() {
        for (sql, expected) in [
            ("select 1; select 2", true),
            ("select 'a'; ; select 'b'", true),
            ("select ';'; select 2;", true),
            ("select 1;", false),
            ("select 'a;b', `c;d` -- e;f", false),
            ("select 1 /* a;b */; -- c", false),
            ("select ';' ; \n", false),
        ] {
            assert_eq!(is_several(sql, Modes::default()), expected, "{sql}");
        }
        assert!(is_several(r"select 'a\'; select 2", Modes { no_backslash_escapes: true, ..Modes::default() }));
        assert!(!is_several(r"select 'a\'; select 2'", Modes::default()));
    }

    #[test]
    fn after_a_mode_was_set_in_the_same_text_no_string_with_a_backslash_is_certain() {
        for (sql, expected) in [
            (r"set sql_mode = ''; select 'it\'s ?', 'it\'s'", true),
            (r"select @@session.`SQL_MODE`; select 'a\\', ?", true),
            ("set sql_mode = 'ansi'; select \"a\", ?", true),
            ("set sql_mode = ''; select 'a', ?", false),
            (r"set @a = 'sql_mode'; select '\\', ?", false),
            (r"select @@sql_mode, 'a\\', ?", false),
        ] {
            assert_eq!(Scan::new(sql, Modes::default()).uncertain, expected, "{sql}");
        }
    }

    #[test]
    fn what_asks_for_warnings_is_known_by_its_words() {
        for (sql, expected) in [
            ("show warnings", true),
            ("SHOW /* x */ COUNT(*) ERRORS", true),
            ("get diagnostics condition 1 @a = message_text", true),
            ("select @@warning_count", true),
            ("set @n = @@session . error_count", true),
            ("show tables like 'warnings'", false),
            ("select warning_count, t.error_count, @error_count, @@sql_mode from warnings", false),
            ("select @@session.sql_mode, error_count from get", false),
        ] {
            assert_eq!(Scan::new(sql, Modes::default()).diagnoses, expected, "{sql}");
        }
    }

    #[test]
    fn queries_within_a_statement_are_known() {
        for (sql, expected) in [
            ("select 1 from a where d in (select e from f)", true),
            ("select 1 from a where not exists ((with x as (select 1) select 1))", true),
            ("delete from a where b <> all (select 1)", true),
            ("select (select 1), (select 2) from a", true),
            ("insert into t select 1 from (select 1 from b where c = (select 1 from d)) q", true),
            ("with q as (select 1) select 1 from q where b = (select 1)", true),
            ("select 1 from (select 1) q where a in (1, 2)", false),
            ("(select 1) union all select 2 from a where b = (select 1)", false),
            ("((select 1 from a where b in (?)))", false),
            ("insert into t (a) select b from c", false),
            ("select `in` (a), `exists` from `select`", false),
        ] {
            assert_eq!(Scan::new(sql, Modes::default()).nests, expected, "{sql}");
        }
    }

    #[test]
    fn placeholders_of_a_table_value_constructor_are_told_from_inserted_ones() {
        for (sql, expected) in [
            ("values (?, ?)", true),
            ("with c as (values (1), (?)) select * from c", true),
            ("insert into t select * from (values (?)) v", true),
            ("update t set a = (values (?))", true),
            ("insert into t values (?)", false),
            ("insert into t (a) values (?) on duplicate key update a = values(a) + ?", false),
            ("replace t set a = ?", false),
            ("values (1)", false),
            ("select ? from `values`", false),
        ] {
            assert_eq!(Scan::new(sql, Modes::default()).constructed, expected, "{sql}");
        }
    }
}
