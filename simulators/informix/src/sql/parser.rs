//! The cursor over the tokens, and the statements that are neither queries nor definitions.

use super::lexer::{Token, TokenKind};
use super::{Action, Catalog, Column, Compiled, Isolation, Table};
use crate::errors::{Result, SqlError};
use crate::limits::NESTING;
use crate::types::{Kind, Type};

/// A table in a FROM clause with its name there.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its alias or name.
    pub alias: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// True if they are those of a query.
    pub derived: bool,
}

impl Source {
    /// A table under a name.
    pub fn new(alias: &str, columns: Vec<Column>) -> Self {
        Self { alias: alias.to_owned(), columns, derived: false }
    }
}

/// Reads one statement and writes SQLite's.
pub struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    pub(super) parameters: Vec<Option<Type>>,
    pub(super) catalog: &'a dyn Catalog,
    /// The FROM clauses around the place being read, the innermost last.
    pub(super) scopes: Vec<Vec<Source>>,
    /// Common table expressions in sight.
    pub(super) named: Vec<Table>,
    /// The parameters of the routine being read, with the replacement of each.
    pub(super) given: Vec<(Column, String)>,
    /// The tables that were named since this was last emptied.
    pub(super) touched: Vec<String>,
    /// The columns that were named outside of aggregates: the depth of their FROM clause, SQLite's text, the name.
    pub(super) plain: Vec<(usize, String, String)>,
    /// The depths of the queries that had an aggregate.
    pub(super) aggregates: Vec<usize>,
    /// The depth in brackets, queries and signs of the current position.
    pub(super) depth: usize,
    /// True if names are read without being resolved, to find where the syntax breaks.
    pub(super) blind: bool,
    /// The sequences whose next or current value was read, with which of them.
    pub(super) sequences: Vec<(String, bool)>,
}

/// Quotes an identifier for SQLite.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name of an index in SQLite: SQLite has one namespace for tables and indexes, a server does not.
pub fn index_name(name: &str) -> String {
    quote(&format!("ix {name}"))
}

/// Quotes a string for SQLite.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The options after the table of UPDATE STATISTICS; nothing here depends on them.
const STATISTICS: [&str; 10] =
    ["drop", "distributions", "only", "resolution", "sampling", "size", "force", "auto", "keep", "indexes"];

impl<'a> Parser<'a> {
    /// A parser at the first token.
    pub fn new(text: &'a str, tokens: Vec<Token>, parameters: usize, catalog: &'a dyn Catalog) -> Self {
        let parameters = vec![None; parameters];
        Self {
            text,
            tokens,
            at: 0,
            parameters,
            catalog,
            scopes: Vec::new(),
            named: Vec::new(),
            given: Vec::new(),
            touched: Vec::new(),
            plain: Vec::new(),
            aggregates: Vec::new(),
            depth: 0,
            blind: false,
            sequences: Vec::new(),
        }
    }

    /// Reads one level deeper; the number of levels is limited, as the parser is recursive.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= NESTING {
            return Err(SqlError::unsupported("an expression as deep as this").at(self.offset()));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    pub(super) fn peek(&self) -> &TokenKind {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, by: usize) -> &TokenKind {
        &self.tokens[(self.at + by).min(self.tokens.len() - 1)].kind
    }

    pub(super) fn offset(&self) -> usize {
        self.tokens[self.at].offset
    }

    pub(super) fn next(&mut self) -> TokenKind {
        let kind = self.tokens[self.at].kind.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        kind
    }

    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(found) if found == word)
    }

    pub(super) fn is_ahead(&self, by: usize, word: &str) -> bool {
        matches!(self.ahead(by), TokenKind::Word(found) if found == word)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(found) if *found == symbol)
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.is(word);
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn accept_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.at += 1;
        }
        found
    }

    /// Returns true if a comma follows, with another item after it.
    pub(super) fn another(&mut self, closing: &str) -> Result<bool> {
        let comma = self.accept_symbol(",");
        if comma && self.is_symbol(closing) { Err(self.syntax()) } else { Ok(comma) }
    }

    pub(super) fn syntax(&self) -> SqlError {
        let (start, end) = self.tokens[self.at].span;
        SqlError::syntax(self.offset(), &self.text[start..end])
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { Err(self.syntax()) }
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.accept_symbol(symbol) { Ok(()) } else { Err(self.syntax()) }
    }

    /// A word or a delimited identifier.
    pub(super) fn identifier(&mut self) -> Result<String> {
        match self.peek().clone() {
            TokenKind::Word(name) | TokenKind::Quoted(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.syntax()),
        }
    }

    pub(super) fn integer(&mut self) -> Result<i64> {
        let negative = self.accept_symbol("-");
        match self.peek() {
            TokenKind::Number(number) => {
                let value: i64 = number.parse().map_err(|_| self.syntax())?;
                self.at += 1;
                Ok(if negative { -value } else { value })
            }
            _ => Err(self.syntax()),
        }
    }

    /// `[database[@server]:][owner.]name`, the database apart.
    pub(super) fn object_name(&mut self) -> Result<(Option<String>, String)> {
        match self.owned_name()? {
            (database, None, name) => Ok((database, name)),
            (_, Some(owner), _) => Err(SqlError::unsupported(format!("objects of the owner {owner}"))),
        }
    }

    /// The same, with the owner if nothing here belongs to him.
    fn owned_name(&mut self) -> Result<(Option<String>, Option<String>, String)> {
        let (mut database, mut owner) = (None, None);
        let mut name = self.object_word()?;
        if self.accept_symbol("@") {
            self.identifier()?;
        }
        if self.accept_symbol(":") {
            database = Some(name);
            name = self.object_word()?;
        }
        if self.accept_symbol(".") {
            owner = Some(name).filter(|name| !self.catalog.is_owner(name));
            name = self.object_word()?;
        }
        Ok((database, owner, name))
    }

    /// An owner may be in quotes even if quotes do not delimit identifiers.
    fn object_word(&mut self) -> Result<String> {
        if let TokenKind::Text(name) = self.peek().clone()
            && matches!(self.ahead(1), TokenKind::Symbol("."))
        {
            self.at += 1;
            return Ok(name);
        }
        self.identifier()
    }

    /// A table that exists.
    pub(super) fn table(&mut self) -> Result<Table> {
        let offset = self.offset();
        let (database, owner, name) = self.owned_name()?;
        if let Some(owner) = owner {
            return Err(SqlError::isam(-206, -111, format!("{owner}.{name}")).at(offset));
        }
        if database.is_none()
            && let Some(table) = self.named.iter().rev().find(|table| table.name == name)
        {
            return Ok(table.clone());
        }
        let found = self.catalog.table(database.as_deref(), &name);
        found.ok_or_else(|| SqlError::isam(-206, -111, name).at(offset))
    }

    /// The source text between two tokens.
    pub(super) fn source(&self, from: usize, to: usize) -> &'a str {
        if to <= from { "" } else { &self.text[self.tokens[from].span.0..self.tokens[to - 1].span.1] }
    }

    /// Moves past a bracketed list; the current token is its opening bracket.
    pub(super) fn skip_brackets(&mut self) -> Result<()> {
        self.expect_symbol("(")?;
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                TokenKind::Symbol("(") => depth += 1,
                TokenKind::Symbol(")") => depth -= 1,
                TokenKind::End => return Err(self.syntax()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves to the end of the statement; another may follow in the same text.
    pub(super) fn skip_statement(&mut self) {
        let mut depth = 0;
        loop {
            match self.peek() {
                TokenKind::End => return,
                TokenKind::Symbol(";") if depth == 0 => return,
                TokenKind::Symbol("(") => depth += 1,
                TokenKind::Symbol(")") => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    pub(super) fn compiled(&self, kind: i16, action: Action, columns: Vec<Column>) -> Compiled {
        // A parameter of unknown type is described as text, which every value can be sent as.
        let unknown = Type::new(Kind::Char, 255);
        let parameters = self.parameters.iter().map(|ty| ty.unwrap_or(unknown)).collect();
        Compiled { kind, action, columns, parameters }
    }

    /// The number of parameters before the current position.
    pub fn parameters_read(&self) -> usize {
        self.tokens[..self.at].iter().filter(|token| matches!(token.kind, TokenKind::Parameter(_))).count()
    }

    /// The first statement of the text, and the position of the next one, if there is one.
    pub fn statement(&mut self) -> Result<(Compiled, Option<usize>)> {
        let compiled = self.any_statement()?;
        let several = self.is_symbol(";");
        while self.accept_symbol(";") {}
        match self.peek() {
            TokenKind::End => Ok((compiled, None)),
            _ if several => Ok((compiled, Some(self.tokens[self.at].span.0))),
            _ => Err(self.syntax()),
        }
    }

    pub(super) fn any_statement(&mut self) -> Result<Compiled> {
        if self.is_symbol("(") || self.is("select") || self.is("with") {
            return self.query_statement();
        }
        let start = self.at;
        let TokenKind::Word(verb) = self.next() else {
            self.at = start;
            return Err(self.syntax());
        };
        match verb.as_str() {
            "insert" => self.insert(),
            "update" if self.is("statistics") => self.statistics(),
            "update" => self.update(),
            "delete" => self.delete(),
            "truncate" => self.truncate(),
            "create" => self.create(),
            "drop" => self.drop(),
            "alter" => self.alter(),
            "rename" => self.rename(),
            "execute" | "call" => self.execute_routine(verb == "call"),
            "begin" => self.work(34, Action::Begin),
            "commit" => self.work(35, Action::Commit),
            "rollback" => self.rollback(),
            "savepoint" => {
                let name = self.identifier()?;
                self.accept("unique");
                Ok(self.compiled(37, Action::Savepoint(name), Vec::new()))
            }
            "release" => {
                self.expect("savepoint")?;
                let name = self.identifier()?;
                Ok(self.compiled(37, Action::ReleaseSavepoint(name), Vec::new()))
            }
            "set" => self.set(),
            "database" => {
                let name = self.identifier()?;
                self.accept("exclusive");
                Ok(self.compiled(1, Action::OpenDatabase(name), Vec::new()))
            }
            "close" if self.accept("database") => Ok(self.compiled(31, Action::CloseDatabase, Vec::new())),
            "grant" => self.privileges(18, "to"),
            "revoke" => self.privileges(19, "from"),
            "lock" | "unlock" => self.lock_table(verb == "lock"),
            "merge" => Err(SqlError::unsupported("MERGE").at(self.tokens[start].offset)),
            _ => {
                self.at = start;
                Err(self.syntax())
            }
        }
    }

    /// GRANT and REVOKE: privileges are not checked, but their objects must exist.
    fn privileges(&mut self, kind: i16, whom: &str) -> Result<Compiled> {
        while !self.is("on") && !self.is(whom) {
            match self.next() {
                TokenKind::Word(_) => {}
                TokenKind::Symbol("(") => {
                    self.at -= 1;
                    self.skip_brackets()?;
                }
                TokenKind::Symbol(",") => {}
                _ => {
                    self.at -= usize::from(*self.peek() != TokenKind::End);
                    return Err(self.syntax());
                }
            }
        }
        if self.accept("on") && !["type", "language", "row"].iter().any(|word| self.is(word)) {
            let offset = self.offset();
            let (database, name) = self.object_name()?;
            let known = self.catalog.table(database.as_deref(), &name).is_some()
                || self.catalog.sequence(&name).is_some()
                || self.catalog.routine(&name).is_some();
            if !known {
                return Err(SqlError::isam(-206, -111, name).at(offset));
            }
        }
        self.expect(whom)?;
        self.users()?;
        if self.accept("with") {
            self.expect("grant")?;
            self.expect("option")?;
        }
        if self.accept("as") {
            self.users()?;
        }
        let _ = self.accept("cascade") || self.accept("restrict");
        Ok(self.compiled(kind, Action::Nothing, Vec::new()))
    }

    /// Users or roles, as words or in quotes.
    fn users(&mut self) -> Result<()> {
        loop {
            match self.next() {
                TokenKind::Word(_) | TokenKind::Quoted(_) | TokenKind::Text(_) => {}
                _ => {
                    self.at -= 1;
                    return Err(self.syntax());
                }
            }
            if !self.accept_symbol(",") {
                return Ok(());
            }
        }
    }

    /// UPDATE STATISTICS.
    fn statistics(&mut self) -> Result<Compiled> {
        self.at += 1;
        let _ = self.accept("low") || self.accept("medium") || self.accept("high");
        if self.accept("for") {
            if self.accept("table") {
                let only = self.accept("only");
                if only {
                    self.expect_symbol("(")?;
                }
                if matches!(self.peek(), TokenKind::Word(word) if only || !STATISTICS.contains(&word.as_str())) {
                    self.table()?;
                }
                if only {
                    self.expect_symbol(")")?;
                }
            } else {
                self.accept("specific");
                let _ = self.accept("procedure") || self.accept("function") || {
                    self.expect("routine")?;
                    true
                };
                if matches!(self.peek(), TokenKind::Word(_)) {
                    self.object_name()?;
                }
            }
            if self.is_symbol("(") {
                self.skip_brackets()?;
            }
        }
        loop {
            match self.peek() {
                TokenKind::Word(word) if STATISTICS.contains(&word.as_str()) => self.at += 1,
                TokenKind::Number(_) => self.at += 1,
                _ => return Ok(self.compiled(30, Action::Nothing, Vec::new())),
            }
        }
    }

    /// LOCK TABLE and UNLOCK TABLE.
    fn lock_table(&mut self, lock: bool) -> Result<Compiled> {
        self.expect("table")?;
        self.table()?;
        if !lock {
            return Ok(self.compiled(11, Action::Nothing, Vec::new()));
        }
        self.expect("in")?;
        if !self.accept("share") {
            self.expect("exclusive")?;
        }
        self.expect("mode")?;
        Ok(self.compiled(10, Action::LockTable, Vec::new()))
    }

    /// SET CONSTRAINTS: foreign keys can wait for the end of the transaction, nothing can be switched off.
    fn set_constraints(&mut self) -> Result<Compiled> {
        let offset = self.offset();
        let all = self.accept("all");
        while !all && matches!(self.peek(), TokenKind::Word(_)) && !self.is_constraint_mode() {
            self.at += 1;
            self.accept_symbol(",");
        }
        let action = match self.next() {
            TokenKind::Word(word) if word == "immediate" || word == "enabled" => Action::Nothing,
            TokenKind::Word(word) if word == "deferred" && all => Action::DeferConstraints,
            TokenKind::Word(word) if word == "deferred" || word == "disabled" || word == "filtering" => {
                let what = format!("SET CONSTRAINTS {}", word.to_uppercase());
                return Err(SqlError::unsupported(what).at(offset));
            }
            _ => {
                self.at -= usize::from(*self.peek() != TokenKind::End);
                return Err(self.syntax());
            }
        };
        Ok(self.compiled(55, action, Vec::new()))
    }

    fn is_constraint_mode(&self) -> bool {
        ["immediate", "deferred", "enabled", "disabled", "filtering"].iter().any(|word| self.is(word))
    }

    fn work(&mut self, kind: i16, action: Action) -> Result<Compiled> {
        self.accept("work");
        if kind == 34 && self.accept("without") {
            self.expect("replication")?;
        }
        Ok(self.compiled(kind, action, Vec::new()))
    }

    fn rollback(&mut self) -> Result<Compiled> {
        self.accept("work");
        let mut savepoint = None;
        if self.accept("to") {
            self.expect("savepoint")?;
            savepoint = Some(if let TokenKind::Word(name) = self.next() { name } else { String::new() });
        }
        Ok(self.compiled(36, Action::Rollback(savepoint), Vec::new()))
    }

    fn set(&mut self) -> Result<Compiled> {
        if self.accept("lock") {
            self.expect("mode")?;
            self.expect("to")?;
            let wait = if self.accept("not") {
                self.expect("wait")?;
                Some(0)
            } else {
                self.expect("wait")?;
                match self.peek() {
                    TokenKind::Number(_) => Some(self.integer()?.unsigned_abs()),
                    _ => None,
                }
            };
            return Ok(self.compiled(52, Action::LockMode(wait), Vec::new()));
        }
        if self.accept("environment") {
            let name = self.identifier()?;
            let value = match self.next() {
                TokenKind::Text(value) | TokenKind::Word(value) | TokenKind::Number(value) => value,
                _ => return Err(self.syntax()),
            };
            return Ok(self.compiled(110, Action::Environment(name, value), Vec::new()));
        }
        let TokenKind::Word(what) = self.next() else { return Err(self.syntax()) };
        let kind = match what.as_str() {
            "isolation" => return self.isolation(),
            "transaction" => return self.transaction_mode(),
            "constraints" => return self.set_constraints(),
            "log" => 49,
            "buffered" => {
                self.expect("log")?;
                49
            }
            "explain" => {
                self.explain()?;
                50
            }
            "optimization" => {
                self.one_of(&["high", "low", "first_rows", "all_rows"])?;
                52
            }
            "dataskip" => {
                if self.one_of(&["on", "off", "default"])? == "on" && matches!(self.peek(), TokenKind::Word(_)) {
                    self.users()?;
                }
                73
            }
            "pdqpriority" => {
                if !matches!(self.peek(), TokenKind::Number(_)) {
                    self.one_of(&["default", "low", "off", "high"])?;
                } else if !(0..=100).contains(&self.integer()?) {
                    self.at -= 1;
                    return Err(self.syntax());
                }
                74
            }
            "role" if self.accept("none") || self.accept("null") || self.accept("default") => 85,
            "statement" => {
                self.expect("cache")?;
                self.one_of(&["on", "off"])?;
                115
            }
            "debug" => {
                self.expect("file")?;
                self.file()?;
                76
            }
            "role" | "session" | "collation" | "indexes" | "triggers" | "encryption" => {
                return Err(SqlError::unsupported(format!("SET {}", what.to_uppercase())).at(self.offset()));
            }
            _ => {
                self.at -= 1;
                return Err(self.syntax());
            }
        };
        Ok(self.compiled(kind, Action::Nothing, Vec::new()))
    }

    /// One of these words.
    fn one_of(&mut self, words: &[&'static str]) -> Result<&'static str> {
        words.iter().find(|word| self.accept(word)).copied().ok_or_else(|| self.syntax())
    }

    /// SET EXPLAIN.
    fn explain(&mut self) -> Result<()> {
        if self.accept("file") {
            return self.file();
        }
        if self.one_of(&["on", "off"])? == "on" {
            self.accept("avoid_execute");
        }
        Ok(())
    }

    /// `TO 'path' [WITH APPEND]`: a file of the server's, which is not written.
    fn file(&mut self) -> Result<()> {
        self.expect("to")?;
        let TokenKind::Text(_) = self.peek() else { return Err(self.syntax()) };
        self.at += 1;
        if self.accept("with") {
            self.expect("append")?;
        }
        Ok(())
    }

    /// SET ISOLATION.
    fn isolation(&mut self) -> Result<Compiled> {
        self.accept("to");
        let level = self.one_of(&["dirty", "committed", "cursor", "repeatable"])?;
        match level {
            "cursor" => self.expect("stability")?,
            _ => self.expect("read")?,
        }
        if level == "dirty" && (self.accept("with") || self.is("warning")) {
            self.expect("warning")?;
        }
        if level == "committed" && self.accept("last") {
            self.expect("committed")?;
        }
        if self.accept("retain") {
            self.expect("update")?;
            self.expect("locks")?;
        }
        Ok(self.isolated(level == "repeatable"))
    }

    /// SET TRANSACTION; a transaction may read and write.
    fn transaction_mode(&mut self) -> Result<Compiled> {
        let mut repeatable = false;
        loop {
            let offset = self.offset();
            if self.accept("isolation") {
                self.expect("level")?;
                match self.one_of(&["read", "repeatable", "serializable"])? {
                    "read" => drop(self.one_of(&["uncommitted", "committed"])?),
                    "repeatable" => {
                        self.expect("read")?;
                        repeatable = true;
                    }
                    _ => repeatable = true,
                }
            } else {
                self.expect("read")?;
                if self.one_of(&["write", "only"])? == "only" {
                    return Err(SqlError::unsupported("a transaction that is READ ONLY").at(offset));
                }
            }
            if !self.accept_symbol(",") {
                return Ok(self.isolated(repeatable));
            }
        }
    }

    fn isolated(&self, repeatable: bool) -> Compiled {
        let level = if repeatable { Isolation::Repeatable } else { Isolation::Committed };
        self.compiled(48, Action::Isolation(level), Vec::new())
    }
}
