//! The cursor over the tokens of a statement.

use super::lexer::{Token, TokenKind};
use super::{Action, Catalog, Column, Compiled, Table};
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
}
