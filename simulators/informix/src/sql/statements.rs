//! Statements that are neither queries nor definitions: transactions, settings, privileges and statistics.

use super::lexer::TokenKind;
use super::parser::Parser;
use super::{Action, Compiled, Isolation};
use crate::errors::{Result, SqlError};

/// The options after the table of UPDATE STATISTICS; nothing here depends on them.
const STATISTICS: [&str; 10] =
    ["drop", "distributions", "only", "resolution", "sampling", "size", "force", "auto", "keep", "indexes"];

impl Parser<'_> {
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
