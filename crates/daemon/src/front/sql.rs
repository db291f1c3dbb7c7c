//! What a text of statements asks for, read with the lexer of the server's dialect: where a statement ends, where its
//! parameters are, and whether the daemon or the server has to do it.

use super::catalog::{self, Answer};
use super::copy::{self, Copy};
use super::replies::Failure;
use super::session_effect::SessionEffect;
use super::types;
use crate::limits::{BODY_TOKENS, BODY_WORDS, COMMAND_WORDS};
use headrace_core::token::{Token, TokenKind};
use headrace_core::{Isolation, Modes};
use headrace_postgres::types::{Oid, oid};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// What differs between the dialects.
pub trait Dialect {
    /// The tokens of a text, without white space and comments.
    fn tokens<'a>(&self, sql: &'a str) -> Vec<Token<'a>>;
    /// Returns true if the server reads `?::name` as a cast to a type of this name.
    fn casts_to(&self, _name: &str) -> bool {
        false
    }
    /// What a statement has to do with the state of its session; `first` is its first word in lower case.
    fn session_effect(&self, first: &str, all: &Tokens<'_>) -> Option<SessionEffect>;
    /// Returns true if the server has a variable with the name of a setting of PostgreSQL: SET is the server's then.
    fn has_variable(&self, _name: &str) -> bool {
        false
    }
    /// The name of the database system.
    fn system(&self) -> &'static str;
}

/// A statement of a client.
#[derive(Debug)]
pub struct ClientStatement {
    /// What it asks for.
    pub action: Action,
    /// The types of its parameters: as the client has declared them, as `$1::name` does, or 0.
    pub types: Vec<Oid>,
    /// For each placeholder of the server's text the parameter that it stands for, from 0.
    pub order: Vec<usize>,
}

/// What a statement asks for.
#[derive(Debug)]
pub enum Action {
    /// Nothing.
    Empty,
    /// The server executes it.
    Server(Server),
    /// A verb of transactions.
    Transaction(Transaction),
    /// The daemon answers it.
    Answer(Answer),
    /// It is not possible.
    Refused(Failure),
}

/// A statement for the server.
#[derive(Debug)]
pub struct Server {
    /// Its text, with the server's placeholders.
    pub sql: Arc<str>,
    /// Its command in upper case, for CommandComplete.
    pub command: String,
    /// It only reads, so that another one may follow before it is answered.
    pub reads: bool,
    /// What it leaves in the session, or asks it for.
    pub session_effect: Option<SessionEffect>,
    /// Its rows go out as COPY.
    pub copy: Option<Copy>,
}

/// A verb of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// BEGIN, with modes.
    Begin(Modes),
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// SAVEPOINT.
    Savepoint(Arc<str>),
    /// RELEASE SAVEPOINT.
    Release(Arc<str>),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(Arc<str>),
}

impl Transaction {
    /// The tag of its CommandComplete.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Begin(_) => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback | Self::RollbackTo(_) => "ROLLBACK",
            Self::Savepoint(_) => "SAVEPOINT",
            Self::Release(_) => "RELEASE",
        }
    }
}

/// Words by which a SELECT locks or stores.
const WRITES: [&str; 7] = ["into", "update", "lock", "outfile", "nextval", "next_value", "call"];

/// A text and its tokens.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    /// The text.
    pub sql: &'a str,
    /// Its tokens.
    pub tokens: &'a [Token<'a>],
}

impl Tokens<'_> {
    /// The first words, in lower case, up to this number.
    fn first_words(&self, count: usize) -> Vec<String> {
        let words = self.tokens.iter().filter(|token| token.kind == TokenKind::Word);
        words.take(count).map(|token| token.text.to_ascii_lowercase()).collect()
    }
}

/// Where the statements of a text of the simple protocol are; empty ones are left out, unless there is no semicolon. The
/// body of a routine has semicolons of its own, so the statement that makes one is the last.
///
/// Each of several is read again when its turn comes ([`statement`]): the tokens of all would take many times the memory of
/// the text as long as it is executed, and a SET may have changed how the rest is read.
pub fn statements(dialect: &dyn Dialect, sql: &str) -> VecDeque<Range<usize>> {
    // One, whatever it is, which is not read for this alone.
    if !sql.is_empty() && !sql.contains(';') {
        return std::iter::once(0..sql.len()).collect();
    }
    let tokens = dialect.tokens(sql);
    let (mut from, mut is_empty, mut found) = (0, true, VecDeque::new());
    for (at, token) in tokens.iter().enumerate() {
        if !token.is_punctuation(b';') {
            if is_empty && has_body(&Tokens { sql, tokens: &tokens[at..] }) {
                found.push_back(from..sql.len());
                return found;
            }
            is_empty = false;
            continue;
        }
        if !is_empty {
            found.push_back(from..token.start);
        }
        (from, is_empty) = (token.end(), true);
    }
    if !is_empty {
        found.push_back(from..sql.len());
    }
    found
}

/// Returns true if the statement at the beginning makes a routine, or is one.
fn has_body(all: &Tokens<'_>) -> bool {
    let end = all.tokens.iter().take(BODY_TOKENS).position(|token| token.is_punctuation(b';'));
    let first = Tokens { tokens: &all.tokens[..end.unwrap_or(all.tokens.len().min(BODY_TOKENS))], ..*all };
    let words = first.first_words(BODY_WORDS);
    let is = |place: usize, known: &[&str]| words.get(place).is_some_and(|word| known.contains(&word.as_str()));
    let makes = is(0, &["create", "alter"])
        && words
            .iter()
            .any(|word| ["procedure", "function", "trigger", "event", "package", "dba"].contains(&word.as_str()));
    makes || is(0, &["begin"]) && is(1, &["not"])
}

/// Reads one statement; `declared` are the types that the client gives.
pub fn statement(dialect: &dyn Dialect, sql: &str, declared: &[Oid]) -> ClientStatement {
    let tokens = dialect.tokens(sql);
    let all = without_end(sql, &tokens);
    let tokens = all.tokens;
    let words = all.first_words(COMMAND_WORDS);
    let refused =
        |failure| ClientStatement { action: Action::Refused(failure), types: declared.to_vec(), order: Vec::new() };
    let Some(first) = words.first() else {
        // No statement of any dialect has no word.
        let action = match tokens {
            [] => Action::Empty,
            _ => return of_server(dialect, &all, &words, declared, None).unwrap_or_else(refused),
        };
        return ClientStatement { action, types: declared.to_vec(), order: Vec::new() };
    };
    let leading = tokens[0].kind == TokenKind::Word;
    match leading.then(|| transaction(&all, &words)).flatten() {
        Some(Ok(verb)) => {
            return ClientStatement { action: Action::Transaction(verb), types: Vec::new(), order: Vec::new() };
        }
        Some(Err(failure)) => return refused(failure),
        None => {}
    }
    if leading && first == "copy" {
        return match copy::read(&all) {
            Ok((query, copy)) => {
                let tokens = dialect.tokens(query);
                let inner = without_end(query, &tokens);
                let words = inner.first_words(COMMAND_WORDS);
                of_server(dialect, &inner, &words, declared, Some(copy)).unwrap_or_else(refused)
            }
            Err(failure) => refused(failure),
        };
    }
    if let Some(answer) = catalog::answer(&all, &words, dialect) {
        let types = answer.parameters.clone();
        return ClientStatement { action: Action::Answer(answer), types, order: Vec::new() };
    }
    if let Some(failure) = catalog::refusal(&all, dialect) {
        return refused(failure);
    }
    of_server(dialect, &all, &words, declared, None).unwrap_or_else(refused)
}

/// A statement without the semicolons after it. What else is after its last token stays: the server may need it, such as
/// the end of `/*! ... */`.
fn without_end<'a>(sql: &'a str, tokens: &'a [Token<'a>]) -> Tokens<'a> {
    let end = tokens.iter().rposition(|token| !token.is_punctuation(b';')).map_or(0, |last| last + 1);
    let sql = tokens.get(end).map_or(sql, |semicolon| &sql[..semicolon.start]);
    Tokens { sql, tokens: &tokens[..end] }
}

/// A statement for the server: `$1` becomes its placeholder, and the type of `$1::name` is noted.
fn of_server(
    dialect: &dyn Dialect,
    all: &Tokens<'_>,
    words: &[String],
    declared: &[Oid],
    copy: Option<Copy>,
) -> Result<ClientStatement, Failure> {
    let (mut out, mut from) = (String::with_capacity(all.sql.len()), 0);
    let (mut order, mut types) = (Vec::new(), declared.to_vec());
    for (at, token) in all.tokens.iter().enumerate() {
        if matches!(token.kind, TokenKind::Placeholder | TokenKind::Numbered) {
            return Err(Failure::new("42601", "headraced: parameters are written $1, $2, not ?"));
        }
        let Some(number) = number_of(token.text).filter(|_| token.kind == TokenKind::Word) else { continue };
        let number =
            number.ok_or_else(|| Failure::new("42P02", format!("headraced: there is no parameter {}", token.text)))?;
        if types.len() <= number {
            types.resize(number + 1, oid::UNSPECIFIED);
        }
        order.push(number);
        out.push_str(&all.sql[from..token.start]);
        out.push('?');
        from = token.end();
        if let Some((name, end)) = cast(all, at)
            && let Some(known) = types::of_name(name)
        {
            if types[number] == oid::UNSPECIFIED {
                types[number] = known;
            }
            if !dialect.casts_to(name) {
                from = end;
            }
        }
    }
    out.push_str(&all.sql[from..]);
    let command = command(words);
    let first = words.first().map_or("", String::as_str);
    let session_effect = dialect.session_effect(first, all);
    let reads = first == "select" && session_effect.is_none() && copy.is_none() && !all.has_word(&WRITES);
    let server = Server { sql: out.trim().into(), command, reads, session_effect, copy };
    Ok(ClientStatement { action: Action::Server(server), types, order })
}

/// `$1` is 0; `None` in it if the number is out of range.
fn number_of(text: &str) -> Option<Option<usize>> {
    let digits = text.strip_prefix('$')?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(
        digits
            .parse::<usize>()
            .ok()
            .filter(|number| (1..=headrace_postgres::limits::PARAMETERS).contains(number))
            .map(|n| n - 1),
    )
}

/// The name of the type that the token at `at` is cast to by `::`, and its end.
fn cast<'a>(all: &Tokens<'a>, at: usize) -> Option<(&'a str, usize)> {
    let colon = |place: usize| all.tokens.get(place).is_some_and(|token| token.is_punctuation(b':'));
    let name = all.tokens.get(at + 3).filter(|token| token.kind == TokenKind::Word)?;
    (colon(at + 1) && colon(at + 2)).then(|| (name.text, name.end()))
}

/// The command for CommandComplete.
fn command(words: &[String]) -> String {
    let first = words.first().map_or("", String::as_str);
    let pairs = ["create", "drop", "alter", "rename", "truncate", "lock", "unlock"];
    let second = words.get(1).filter(|_| pairs.contains(&first));
    [Some(first), second.map(String::as_str)].into_iter().flatten().collect::<Vec<_>>().join(" ").to_ascii_uppercase()
}

/// A verb of transactions, if the statement is one.
fn transaction(all: &Tokens<'_>, words: &[String]) -> Option<Result<Transaction, Failure>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let name = || all.tokens.last().map(|token| unquoted(token.text));
    let rest = match words[..] {
        ["begin", "work" | "transaction", ref rest @ ..]
        | ["begin", ref rest @ ..]
        | ["start", "transaction", ref rest @ ..] => {
            // MariaDB's compound statement.
            if rest.first() == Some(&"not") && rest.get(1) != Some(&"deferrable") {
                return None;
            }
            return Some(modes(rest).map(Transaction::Begin));
        }
        ["commit" | "end"] | ["commit" | "end", "work" | "transaction"] => return Some(Ok(Transaction::Commit)),
        ["rollback" | "abort"] | ["rollback" | "abort", "work" | "transaction"] => {
            return Some(Ok(Transaction::Rollback));
        }
        ["savepoint", ..] => return name().map(|name| Ok(Transaction::Savepoint(name))),
        ["release", "savepoint", ..] | ["release", ..] => return name().map(|name| Ok(Transaction::Release(name))),
        ["rollback", "work" | "transaction", ref rest @ ..] | ["rollback", ref rest @ ..] => rest,
        ["commit" | "end" | "prepare", ..] if words.contains(&"prepared") || words.get(1) == Some(&"transaction") => {
            return Some(Err(Failure::unsupported("headraced: two-phase commit is not possible here")));
        }
        _ => return None,
    };
    match rest {
        ["to", ..] => name().map(|name| Ok(Transaction::RollbackTo(name))),
        _ => Some(Err(Failure::unsupported("headraced: a ROLLBACK of this form is not possible here"))),
    }
}

/// A name without its quotes; one without quotes is the same in every case.
fn unquoted(text: &str) -> Arc<str> {
    match text.as_bytes() {
        [quote @ (b'"' | b'`'), .., end] if quote == end => text[1..text.len() - 1].into(),
        [b'[', .., b']'] => text[1..text.len() - 1].into(),
        _ => text.to_ascii_lowercase().into(),
    }
}

/// The modes of a transaction: `ISOLATION LEVEL SERIALIZABLE READ ONLY`.
pub fn modes(words: &[&str]) -> Result<Modes, Failure> {
    let (mut modes, mut rest) = (Modes::default(), words);
    while !rest.is_empty() {
        rest = match rest {
            ["isolation", "level", "serializable", rest @ ..] => {
                modes.isolation = Some(Isolation::Serializable);
                rest
            }
            ["isolation", "level", "repeatable", "read", rest @ ..] => {
                modes.isolation = Some(Isolation::RepeatableRead);
                rest
            }
            ["isolation", "level", "read", "committed", rest @ ..] => {
                modes.isolation = Some(Isolation::ReadCommitted);
                rest
            }
            ["isolation", "level", "read", "uncommitted", rest @ ..] => {
                modes.isolation = Some(Isolation::ReadUncommitted);
                rest
            }
            ["read", "only", rest @ ..] => {
                modes.read_only = Some(true);
                rest
            }
            // The default of every server.
            ["read", "write", rest @ ..] | ["not", "deferrable", rest @ ..] => rest,
            ["deferrable", rest @ ..] => {
                modes.deferrable = Some(true);
                rest
            }
            [word, ..] => {
                return Err(Failure::new("42601", format!("headraced: {word:?} is not a mode of a transaction")));
            }
            [] => rest,
        };
    }
    Ok(modes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::backend::{CubridDialect, InformixDialect, MySqlDialect};

    fn sent(dialect: &dyn Dialect, sql: &str) -> Arc<str> {
        match statement(dialect, sql, &[]).action {
            Action::Server(server) => server.sql,
            action => panic!("{sql}: {action:?}"),
        }
    }

    #[test]
    fn only_semicolons_are_cut_from_the_end_of_a_statement() {
        let mysql = &MySqlDialect::default();
        for (sql, wanted) in [
            ("/*!40101 SET @a=1 */;", "/*!40101 SET @a=1 */"),
            ("select 1 /*! + 1 */", "select 1 /*! + 1 */"),
            ("select $1 /*! + $2 */ ; -- and no more", "select ? /*! + ? */"),
            ("select 1 ; ; ", "select 1"),
            ("select ';' -- ;", "select ';' -- ;"),
        ] {
            assert_eq!(&*sent(mysql, sql), wanted);
        }
        assert_eq!(&*sent(&InformixDialect, "select 1 from a {all}; "), "select 1 from a {all}");
        assert_eq!(&*sent(&CubridDialect, "select 1 // one"), "select 1 // one");
    }

    #[test]
    fn statements_of_a_text_are_separated_in_one_pass() {
        let mysql = &MySqlDialect::default();
        let found = |sql: &str| -> Vec<String> {
            statements(mysql, sql).into_iter().map(|place| sql[place].to_owned()).collect()
        };
        assert_eq!(found(" ; select ';' ;; /* ; */ ; select 2 /*! */"), [" select ';' ", " select 2 /*! */"]);
        assert!(found(";-- none\n;").is_empty() && found("").is_empty());
        assert_eq!(found(" select 1 -- one"), [" select 1 -- one"]);
        let body = "create procedure p() begin do 1; do 2; end;";
        assert_eq!(found(&format!("do 0;{body}")), ["do 0", body]);
        assert_eq!(found("create table t (n int); drop function f"), ["create table t (n int)", " drop function f"]);
        let count = 200_000;
        assert_eq!(found(&"do 1;".repeat(count)).len(), count);
    }
}
