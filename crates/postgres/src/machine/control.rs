//! Which statements of the user's begin or end a transaction block, or are about savepoints. A verb of the session is
//! data, which has the same meaning without its text.
//!
//! The machine sends BEGIN before a statement if no block is open according to what it has sent. A COMMIT in the user's
//! own SQL changes that, and with AND CHAIN, or after an error, the text does not show how. So the text only indicates
//! that the reply has to be awaited.

use crate::sql::{self, Lexer, is_word, leading_word};
use headrace_core::token::TokenKind;
use headrace_core::verb::{Effect, Verb};

/// The possible effect of a text on the transaction block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Control {
    /// Nothing.
    #[default]
    None,
    /// It sets a savepoint, or returns to one.
    Nests,
    /// It may begin one.
    Begins,
    /// It may end one.
    Ends,
}

impl Control {
    /// Returns true if a block may be open or not once the text was executed.
    pub(super) fn is_about_block(self) -> bool {
        matches!(self, Control::Begins | Control::Ends)
    }
}

/// The effect of a statement on savepoints. A name is `None` if it is written with escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nesting {
    /// SAVEPOINT
    Savepoint(Option<String>),
    /// RELEASE
    Release(Option<String>),
    /// ROLLBACK TO
    RollbackTo(Option<String>),
}

/// The effect of a verb.
pub(super) fn of_verb(verb: &Verb) -> Control {
    match (verb, verb.effect()) {
        (Verb::Savepoint { .. } | Verb::Release(_) | Verb::RollbackTo(_), _) => Control::Nests,
        (_, Effect::Begins) => Control::Begins,
        (_, Effect::Ends(_)) => Control::Ends,
        // DISCARD ALL is refused in a block.
        (_, Effect::Keeps | Effect::MayEnd | Effect::Unknown) => Control::None,
    }
}

/// The possible effect of one statement, by its first words, and the first of them.
pub(super) fn first_words(sql: &str) -> (Control, Option<&str>) {
    let mut words = Words { rest: sql };
    let first = words.next();
    (first.map_or(Control::None, |word| of_word(word, &mut words)), first)
}

/// The possible effect of one statement.
fn of_statement(sql: &str) -> Control {
    first_words(sql).0
}

/// The possible effect of several statements: any of their words counts, also in a string or a comment; the only cost
/// of a false match is to wait for the reply.
pub(super) fn of_script(sql: &str) -> Control {
    let mut words = Words { rest: sql };
    let mut control = Control::None;
    while let Some(word) = words.next_anywhere() {
        match of_word(word, &mut words.clone()) {
            Control::Ends => return Control::Ends,
            Control::Begins => control = Control::Begins,
            Control::Nests if control == Control::None => control = Control::Nests,
            Control::Nests | Control::None => {}
        }
    }
    control
}

/// Returns true if one of several statements may be a COPY: the word counts anywhere in the text.
pub(super) fn may_copy(sql: &str) -> bool {
    let mut words = Words { rest: sql };
    std::iter::from_fn(|| words.next_anywhere()).any(|word| word.eq_ignore_ascii_case("copy"))
}

/// The effect of the statements of a text on the transaction block and its savepoints.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Effects {
    /// One of them ends the block.
    pub ends: bool,
    /// Their effects on savepoints, in order.
    pub nestings: Vec<Nesting>,
}

impl Effects {
    pub(super) fn of(sql: &str) -> Self {
        let statements = sql::statements(sql);
        let ends = statements.iter().any(|statement| of_statement(statement) == Control::Ends);
        Self { ends, nestings: statements.into_iter().filter_map(nesting).collect() }
    }

    /// Those of a verb.
    pub(super) fn of_verb(verb: &Verb) -> Self {
        let name = |name: &str| Some(name.to_owned());
        let nestings = match verb {
            Verb::Savepoint { name: set, .. } => vec![Nesting::Savepoint(name(set))],
            Verb::Release(released) => vec![Nesting::Release(name(released))],
            Verb::RollbackTo(left) => vec![Nesting::RollbackTo(name(left)), Nesting::Release(name(left))],
            _ => Vec::new(),
        };
        Self { ends: of_verb(verb) == Control::Ends, nestings }
    }
}

fn nesting(statement: &str) -> Option<Nesting> {
    let mut words = Words { rest: statement };
    let word = words.next()?;
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    if is("savepoint") {
        Some(Nesting::Savepoint(words.name()))
    } else if is("release") {
        words.skip("savepoint");
        Some(Nesting::Release(words.name()))
    } else if is("rollback") && words.is_back_to() {
        words.skip("savepoint");
        Some(Nesting::RollbackTo(words.name()))
    } else {
        None
    }
}

/// Returns true if a statement that begins with this word may change the meaning of others: tables, types, the search
/// path; or may deallocate them. The effects of a function are not seen.
pub(super) fn may_change_schema(word: &str) -> bool {
    const WORDS: [&str; 11] =
        ["alter", "create", "drop", "set", "reset", "rollback", "import", "do", "call", "discard", "deallocate"];
    WORDS.iter().any(|other| word.eq_ignore_ascii_case(other))
}

fn of_word(word: &str, following: &mut Words<'_>) -> Control {
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    match word.as_bytes().first().map(u8::to_ascii_lowercase) {
        Some(b'c') if is("commit") => Control::Ends,
        Some(b'e') if is("end") => Control::Ends,
        Some(b'a') if is("abort") => Control::Ends,
        Some(b'p') if is("prepare") && following.next_is("transaction") => Control::Ends,
        Some(b'r') if is("rollback") => {
            // ROLLBACK [WORK | TRANSACTION] TO SAVEPOINT stays in the block.
            if following.is_back_to() { Control::Nests } else { Control::Ends }
        }
        Some(b's') if is("savepoint") => Control::Nests,
        Some(b'r') if is("release") => Control::Nests,
        Some(b'b') if is("begin") => Control::Begins,
        Some(b's') if is("start") && following.next_is("transaction") => Control::Begins,
        _ => Control::None,
    }
}

#[derive(Clone)]
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    /// The next word, if only white space, semicolons and comments precede it.
    fn next(&mut self) -> Option<&'a str> {
        // Most texts begin with a word, and this is called several times per statement.
        if !self.rest.bytes().next().is_some_and(is_word) {
            self.skip_to_word();
        }
        let word = leading_word(self.rest);
        self.rest = &self.rest[word.len()..];
        (!word.is_empty()).then_some(word)
    }

    fn skip_to_word(&mut self) {
        let mut lexer = Lexer::new(self.rest);
        loop {
            lexer.skip_blank();
            match lexer.rest().strip_prefix(';') {
                Some(rest) => lexer = Lexer::new(rest),
                None => break,
            }
        }
        self.rest = lexer.rest();
    }

    fn next_is(&mut self, name: &str) -> bool {
        self.next().is_some_and(|word| word.eq_ignore_ascii_case(name))
    }

    /// Skips the next word if it is `word`; returns true if it was.
    fn skip(&mut self, name: &str) -> bool {
        let found = self.clone().next_is(name);
        if found {
            self.next();
        }
        found
    }

    /// Returns true if ROLLBACK is followed by TO.
    fn is_back_to(&mut self) -> bool {
        let _optional = self.skip("work") || self.skip("transaction");
        self.next_is("to")
    }

    /// The next identifier, folded as the server folds it.
    fn name(&mut self) -> Option<String> {
        if let Some(word) = self.next() {
            let escaped = word.eq_ignore_ascii_case("u") && self.rest.starts_with('&');
            return (!escaped).then(|| word.to_ascii_lowercase());
        }
        let mut lexer = Lexer::new(self.rest);
        let quoted = lexer.next().filter(|token| token.kind == TokenKind::Quoted)?.text;
        self.rest = lexer.rest();
        (!lexer.uncertain).then(|| quoted[1..quoted.len() - 1].replace("\"\"", "\""))
    }

    /// The next word, whatever precedes it.
    fn next_anywhere(&mut self) -> Option<&'a str> {
        let start = self.rest.bytes().position(is_word)?;
        self.rest = &self.rest[start..];
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Effects, Nesting, of_script, of_statement, of_verb};
    use headrace_core::verb::{IfUnsent, Modes, Verb};

    #[test]
    fn statements_that_begin_or_end_a_block_are_recognised_by_their_first_words() {
        let cases = [
            ("COMMIT", Control::Ends),
            (" ;\n-- really\n/* a /* nested */ one */ commit and chain", Control::Ends),
            ("End Work", Control::Ends),
            ("abort", Control::Ends),
            ("ROLLBACK", Control::Ends),
            ("rollback work", Control::Ends),
            ("ROLLBACK TO SAVEPOINT s", Control::Nests),
            ("rollback transaction/**/to s", Control::Nests),
            ("savepoint s", Control::Nests),
            ("release s", Control::Nests),
            ("PREPARE TRANSACTION 'x'", Control::Ends),
            ("PREPARE p AS SELECT 1", Control::None),
            ("BEGIN", Control::Begins),
            ("START TRANSACTION READ ONLY", Control::Begins),
            ("SELECT 'COMMIT'", Control::None),
            ("committed", Control::None),
            ("/* open", Control::None),
            ("", Control::None),
        ];
        for (sql, control) in cases {
            assert_eq!(of_statement(sql), control, "{sql}");
        }
    }

    #[test]
    fn a_script_counts_all_of_its_words() {
        let cases = [
            ("INSERT INTO t VALUES (1); COMMIT", Control::Ends),
            ("BEGIN; INSERT INTO t VALUES (1)", Control::Begins),
            ("BEGIN; INSERT INTO t VALUES (1); END", Control::Ends),
            ("ROLLBACK TO SAVEPOINT \"s\"; RELEASE SAVEPOINT \"s\"", Control::Nests),
            ("SAVEPOINT \"headrace_1\"", Control::Nests),
            ("SAVEPOINT a; BEGIN", Control::Begins),
            ("INSERT INTO recommitted VALUES (1)", Control::None),
        ];
        for (sql, control) in cases {
            assert_eq!(of_script(sql), control, "{sql}");
        }
    }

    /// For a name that is no word of SQL, the text of a verb and the verb have the same effects.
    #[test]
    fn a_verb_has_the_effects_of_its_text() {
        let end = IfUnsent::Forget;
        for (verb, sql) in [
            (Verb::Begin(Modes::default()), "BEGIN"),
            (Verb::Commit(end), "COMMIT"),
            (Verb::Rollback(end), "ROLLBACK"),
            (Verb::Savepoint { name: "Big".into(), begin: None }, "SAVEPOINT \"Big\""),
            (Verb::Release("a\"b".into()), "RELEASE SAVEPOINT \"a\"\"b\""),
            (Verb::RollbackTo("s".into()), "ROLLBACK TO SAVEPOINT \"s\"; RELEASE SAVEPOINT \"s\""),
            (Verb::Prepare("a".into()), "PREPARE TRANSACTION 'a'"),
            (Verb::Reset, "DISCARD ALL"),
        ] {
            assert_eq!(of_verb(&verb), of_script(sql), "{sql}");
            assert_eq!(Effects::of_verb(&verb), Effects::of(sql), "{sql}");
        }
        let misleading = Verb::Savepoint { name: "commit".into(), begin: None };
        assert_eq!(of_verb(&misleading), Control::Nests);
        assert_eq!(of_verb(&Verb::CommitPrepared("a".into())), Control::None, "another transaction ends");
    }

    #[test]
    fn savepoints_are_named_as_the_server_names_them() {
        let name = |name: &str| Some(name.to_owned());
        let cases = [
            ("SAVEPOINT \"headrace_1\"", vec![Nesting::Savepoint(name("headrace_1"))]),
            ("savepoint Big", vec![Nesting::Savepoint(name("big"))]),
            ("savepoint \"a\"\"b\"", vec![Nesting::Savepoint(name("a\"b"))]),
            ("savepoint U&\"d\\0061t\"", vec![Nesting::Savepoint(None)]),
            ("rollback to a", vec![Nesting::RollbackTo(name("a"))]),
            ("rollback work to savepoint a", vec![Nesting::RollbackTo(name("a"))]),
            ("rollback", vec![]),
            (
                "ROLLBACK TO SAVEPOINT \"s\"; RELEASE SAVEPOINT \"s\"",
                vec![Nesting::RollbackTo(name("s")), Nesting::Release(name("s"))],
            ),
            ("release savepoint s", vec![Nesting::Release(name("s"))]),
        ];
        for (sql, expected) in cases {
            assert_eq!(Effects::of(sql).nestings, expected, "{sql}");
        }
        let texts = ["SELECT 'COMMIT'; ROLLBACK TO a", "BEGIN; COMMIT; SAVEPOINT a", "DO $$BEGIN COMMIT; END$$"];
        assert_eq!(texts.map(|sql| Effects::of(sql).ends), [false, true, false]);
    }
}
