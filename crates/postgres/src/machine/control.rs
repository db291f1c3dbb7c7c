//! Which statements of the user's begin or end a transaction block.
//!
//! The machine puts BEGIN in front of a statement where no block is open, by what it has sent. A COMMIT in the user's
//! own words changes that, and with AND CHAIN, or an error, not in a way that its text tells. So the text only says that
//! the answer has to be waited for.

/// What a text may do to the transaction block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// Nothing.
    None,
    /// It may begin one.
    Begins,
    /// It may end one.
    Ends,
}

/// What one statement may do, by its first words.
pub(super) fn of_statement(sql: &str) -> Control {
    let mut words = Words { rest: sql.as_bytes() };
    match words.next() {
        Some(word) => of_word(word, &mut words.clone()),
        None => Control::None,
    }
}

/// What several statements may do: any of their words counts, also in a string or a comment, where all that it costs is
/// to wait for the answer.
pub(super) fn of_script(sql: &str) -> Control {
    let mut words = Words { rest: sql.as_bytes() };
    let mut control = Control::None;
    while let Some(word) = words.next_anywhere() {
        match of_word(word, &mut words.clone()) {
            Control::Ends => return Control::Ends,
            Control::Begins => control = Control::Begins,
            Control::None => {}
        }
    }
    control
}

fn of_word(word: &[u8], following: &mut Words<'_>) -> Control {
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    match word.first().map(u8::to_ascii_lowercase) {
        Some(b'c') if is("commit") => Control::Ends,
        Some(b'e') if is("end") => Control::Ends,
        Some(b'a') if is("abort") => Control::Ends,
        Some(b'p') if is("prepare") && following.next_is("transaction") => Control::Ends,
        Some(b'r') if is("rollback") => {
            // ROLLBACK [WORK | TRANSACTION] TO SAVEPOINT stays in the block.
            let optional = following
                .clone()
                .next()
                .is_some_and(|word| word.eq_ignore_ascii_case(b"work") || word.eq_ignore_ascii_case(b"transaction"));
            if optional {
                following.next();
            }
            if following.next_is("to") { Control::None } else { Control::Ends }
        }
        Some(b'b') if is("begin") => Control::Begins,
        Some(b's') if is("start") && following.next_is("transaction") => Control::Begins,
        _ => Control::None,
    }
}

#[derive(Clone)]
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The next word, if nothing but space, semicolons and comments is in front of it.
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            match self.rest {
                [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | b';', rest @ ..] => self.rest = rest,
                [b'-', b'-', rest @ ..] => {
                    let end = rest.iter().position(|b| *b == b'\n' || *b == b'\r').unwrap_or(rest.len());
                    self.rest = &rest[end..];
                }
                [b'/', b'*', rest @ ..] => self.rest = after_comment(rest),
                _ => break,
            }
        }
        let length = self.rest.iter().take_while(|b| is_word(**b)).count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (length > 0).then_some(word)
    }

    fn next_is(&mut self, name: &str) -> bool {
        self.next().is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// The next word, whatever is in front of it.
    fn next_anywhere(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|b| is_word(*b))?;
        self.rest = &self.rest[start..];
        self.next()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// What is behind a comment whose opening was read; comments nest.
fn after_comment(mut rest: &[u8]) -> &[u8] {
    let mut depth = 1;
    while depth > 0 {
        match rest {
            [b'*', b'/', behind @ ..] => {
                depth -= 1;
                rest = behind;
            }
            [b'/', b'*', behind @ ..] => {
                depth += 1;
                rest = behind;
            }
            [_, behind @ ..] => rest = behind,
            [] => break,
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::{Control, of_script, of_statement};

    #[test]
    fn statements_that_begin_or_end_a_block_are_known_by_their_first_words() {
        let cases = [
            ("COMMIT", Control::Ends),
            (" ;\n-- really\n/* a /* nested */ one */ commit and chain", Control::Ends),
            ("End Work", Control::Ends),
            ("abort", Control::Ends),
            ("ROLLBACK", Control::Ends),
            ("rollback work", Control::Ends),
            ("ROLLBACK TO SAVEPOINT s", Control::None),
            ("rollback transaction/**/to s", Control::None),
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
            ("ROLLBACK TO SAVEPOINT \"s\"; RELEASE SAVEPOINT \"s\"", Control::None),
            ("SAVEPOINT \"headrace_1\"", Control::None),
            ("INSERT INTO recommitted VALUES (1)", Control::None),
        ];
        for (sql, control) in cases {
            assert_eq!(of_script(sql), control, "{sql}");
        }
    }
}
