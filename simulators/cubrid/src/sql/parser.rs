//! The cursor over the tokens, and the statements.

use super::ast::*;
use super::lexer::{Token, TokenKind};
use crate::errors::{Error, Result};
use crate::limits::NESTING;

/// Reads one statement after the other.
pub struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    pub(super) depth: usize,
}

impl<'a> Parser<'a> {
    /// A parser at the first token.
    pub fn new(text: &'a str, tokens: Vec<Token>) -> Self {
        Self { text, tokens, at: 0, depth: 0 }
    }

    pub(super) fn peek(&self) -> &TokenKind {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, by: usize) -> &TokenKind {
        &self.tokens[(self.at + by).min(self.tokens.len() - 1)].kind
    }

    pub(super) fn next(&mut self) -> TokenKind {
        let kind = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        kind
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.is_ahead(0, word)
    }

    pub(super) fn is_ahead(&self, by: usize, word: &str) -> bool {
        matches!(self.ahead(by), TokenKind::Word(found) if found == word)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.is_symbol_ahead(0, symbol)
    }

    pub(super) fn is_symbol_ahead(&self, by: usize, symbol: &str) -> bool {
        matches!(self.ahead(by), TokenKind::Symbol(found) if *found == symbol)
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn accept_all(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(by, word)| self.is_ahead(by, word));
        self.at += if found { words.len() } else { 0 };
        found
    }

    pub(super) fn accept_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { Err(self.syntax("")) }
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.accept_symbol(symbol) { Ok(()) } else { Err(self.syntax("")) }
    }

    /// -493 at the current token.
    pub(super) fn syntax(&self, expected: &str) -> Error {
        let token = &self.tokens[self.at];
        let before = &self.text[..token.span.0];
        let (line, column) =
            (before.matches('\n').count() + 1, token.span.0 - before.rfind('\n').map_or(0, |at| at + 1) + 1);
        if token.kind == TokenKind::End {
            return Error::syntax("syntax error, unexpected end of file ");
        }
        let expecting = if expected.is_empty() { String::new() } else { format!(", expecting {expected}") };
        let rest = &self.text[token.span.1..];
        let place = if rest.is_empty() { "END OF STATEMENT".to_owned() } else { format!("'{rest}'") };
        let found = &self.text[token.span.0..token.span.1];
        Error::syntax(format!(
            "In line {line}, column {column} before {place}\nSyntax error: unexpected '{found}'{expecting} "
        ))
    }

    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= NESTING {
            return Err(Error::syntax("memory exhausted "));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    pub(super) fn identifier(&mut self) -> Result<String> {
        match self.peek() {
            TokenKind::Word(name) if !is_reserved(name) => {}
            TokenKind::Quoted(_) => {}
            _ => return Err(self.syntax("identifier")),
        }
        match self.next() {
            TokenKind::Word(name) | TokenKind::Quoted(name) => Ok(name),
            _ => Err(self.syntax("identifier")),
        }
    }

    /// The name of a variable, after its `@`.
    pub(super) fn variable(&mut self) -> Result<String> {
        match self.peek() {
            TokenKind::Variable(name) if !is_reserved(name) => {}
            _ => return Err(self.syntax("")),
        }
        match self.next() {
            TokenKind::Variable(name) => Ok(name),
            _ => Err(self.syntax("")),
        }
    }

    /// The name of a table. All tables are DBA's, and another owner has none.
    pub(super) fn table_name(&mut self) -> Result<String> {
        let name = self.identifier()?;
        let name = if self.accept_symbol(".") {
            let table = self.identifier()?;
            if !name.eq_ignore_ascii_case("dba") {
                return Err(Error::syntax(format!("Unknown class \"{}.{table}\". ", name.to_lowercase())));
            }
            table
        } else {
            name
        };
        // [dba.name] in one pair of brackets
        Ok(name.rsplit_once('.').map_or(name.clone(), |(_, last)| last.to_owned()))
    }

    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut all = vec![read(self)?];
        while self.accept_symbol(",") {
            all.push(read(self)?);
        }
        Ok(all)
    }

    pub(super) fn bracketed<T>(&mut self, read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_symbol("(")?;
        let all = self.list(read)?;
        self.expect_symbol(")")?;
        Ok(all)
    }

    /// The next statement of the text, and the text of it; nothing at the end.
    ///
    /// # Errors
    /// -493.
    pub fn statement(&mut self) -> Result<Option<(Statement, &'a str)>> {
        while self.accept_symbol(";") {}
        if *self.peek() == TokenKind::End {
            return Ok(None);
        }
        let from = self.tokens[self.at].span.0;
        let statement = self.any()?;
        if !self.is_symbol(";") && *self.peek() != TokenKind::End {
            return Err(self.syntax(""));
        }
        Ok(Some((statement, &self.text[from..self.tokens[self.at].span.0])))
    }

    fn any(&mut self) -> Result<Statement> {
        let start = self.at;
        if self.is_symbol("(") {
            return Ok(Statement::Query(self.query()?));
        }
        let TokenKind::Word(verb) = self.next() else {
            self.at = start;
            return Err(self.syntax("SELECT or VALUE or VALUES or '('"));
        };
        match verb.as_str() {
            "with" => {
                self.at = start;
                self.statement_after_with()
            }
            "select" | "values" | "value" => {
                self.at = start;
                Ok(Statement::Query(self.query()?))
            }
            "insert" | "replace" => self.insert(verb == "replace"),
            "update" if self.is("statistics") => self.ignored(19),
            "update" => self.update(None),
            "delete" => self.delete(None),
            "merge" => self.merge(),
            "create" => self.create(),
            "drop" => self.drop(),
            "alter" => self.alter(),
            "rename" => self.rename(),
            "truncate" => {
                self.accept("table");
                let name = self.table_name()?;
                self.accept("cascade");
                Ok(Statement::Truncate(name))
            }
            "commit" => {
                self.accept("work");
                Ok(Statement::Commit)
            }
            "rollback" => self.rollback(),
            "savepoint" => Ok(Statement::Savepoint(self.identifier()?)),
            "set" => self.set(),
            "show" => self.show(),
            "desc" | "describe" => Ok(Statement::Show(Show::Columns(self.table_name()?))),
            "grant" => self.ignored(17),
            "revoke" => self.ignored(18),
            "get" if self.accept_all(&["transaction", "isolation", "level"]) => self.got(25),
            "get" if self.accept_all(&["transaction", "lock", "timeout"]) => self.got(26),
            "get" if self.accept_all(&["optimization", "level"]) => self.got(27),
            "do" => Ok(Statement::Do(self.expression()?)),
            "call" => Ok(Statement::Call(self.expression()?)),
            "evaluate" => Ok(Statement::Evaluate(self.expression()?)),
            _ => {
                self.at = start;
                Err(self.syntax("SELECT or VALUE or VALUES or '('"))
            }
        }
    }

    /// The rest of GET: where the value goes to.
    fn got(&mut self, kind: i8) -> Result<Statement> {
        let is_kept = self.accept("to") || self.accept("into");
        Ok(Statement::Get(kind, if is_kept { Some(self.identifier()?) } else { None }))
    }

    /// Taken and left.
    fn ignored(&mut self, kind: i8) -> Result<Statement> {
        while !self.is_symbol(";") && *self.peek() != TokenKind::End {
            self.at += 1;
        }
        Ok(Statement::Nothing(kind))
    }

    fn rollback(&mut self) -> Result<Statement> {
        self.accept("work");
        if self.accept("to") {
            self.accept("savepoint");
            return Ok(Statement::Rollback(Some(self.identifier()?)));
        }
        Ok(Statement::Rollback(None))
    }

    fn insert(&mut self, replace: bool) -> Result<Statement> {
        self.accept("into");
        let table = self.table_name()?;
        let mut insert = Insert {
            replace,
            table,
            columns: None,
            rows: Vec::new(),
            query: None,
            duplicate: Vec::new(),
            duplicate_given: false,
        };
        if self.accept("set") {
            let set = self.list(Self::assignment)?;
            insert.columns = Some(set.iter().map(|(_, name, _)| name.clone()).collect());
            insert.rows = vec![set.into_iter().map(|(.., value)| value).collect()];
        } else {
            let query = self.is_symbol("(") && (self.is_ahead(1, "select") || self.is_ahead(1, "with"));
            if self.is_symbol("(") && !query {
                insert.columns = Some(self.bracketed(Self::identifier)?);
            }
            if self.accept("values") || self.accept("value") {
                insert.rows = self.list(Self::row)?;
            } else if self.accept("default") {
                self.accept("values");
                insert.rows = vec![Vec::new()];
            } else {
                insert.query = Some(self.query()?);
            }
        }
        if self.accept_all(&["on", "duplicate", "key", "update"]) {
            insert.duplicate_given = true;
            insert.duplicate = self.list(Self::assignment)?.into_iter().map(|(_, name, value)| (name, value)).collect();
        }
        Ok(Statement::Insert(Box::new(insert)))
    }

    fn row(&mut self) -> Result<Vec<Expr>> {
        self.expect_symbol("(")?;
        if self.accept_symbol(")") {
            return Ok(Vec::new());
        }
        let row = self.list(Self::expression_or_default)?;
        self.expect_symbol(")")?;
        Ok(row)
    }

    fn expression_or_default(&mut self) -> Result<Expr> {
        if self.is("default") && !self.is_symbol_ahead(1, "(") {
            self.at += 1;
            return Ok(Expr::Default);
        }
        self.expression()
    }

    fn assignment(&mut self) -> Result<(Option<String>, String, Expr)> {
        let name = self.identifier()?;
        let (table, name) = if self.accept_symbol(".") { (Some(name), self.identifier()?) } else { (None, name) };
        self.expect_symbol("=")?;
        Ok((table, name, self.expression_or_default()?))
    }

    pub(super) fn update(&mut self, with: Option<Query>) -> Result<Statement> {
        let from = self.sources()?;
        self.expect("set")?;
        let set = self.list(Self::assignment)?;
        let condition = self.condition()?;
        let order = self.order()?;
        let limit = if self.accept("limit") { Some(self.expression()?) } else { None };
        Ok(Statement::Update(Box::new(Update { with, from, set, condition, order, limit })))
    }

    pub(super) fn condition(&mut self) -> Result<Option<Expr>> {
        Ok(if self.accept("where") { Some(self.expression()?) } else { None })
    }

    pub(super) fn delete(&mut self, with: Option<Query>) -> Result<Statement> {
        let mut target = None;
        if !self.accept("from") {
            target = Some(self.table_name()?);
            if !self.accept("from") {
                let condition = self.condition()?;
                let limit = if self.accept("limit") { Some(self.expression()?) } else { None };
                let table = target.unwrap_or_default();
                return Ok(Statement::Delete { with, table, alias: None, from: Vec::new(), condition, limit });
            }
        }
        let mut from = self.sources()?;
        if self.accept("using") {
            // Before USING stand names of its tables.
            if let (None, [From { source: Source::Table(name), .. }, ..]) = (&target, &from[..]) {
                target = Some(name.clone());
            }
            from = self.sources()?;
        }
        let condition = self.condition()?;
        let limit = if self.accept("limit") { Some(self.expression()?) } else { None };
        let named = |item: &From| match &item.source {
            Source::Table(name) => Some((name.clone(), item.alias.clone())),
            Source::Query(_) => None,
        };
        let found = match &target {
            Some(target) => {
                from.iter().filter_map(named).find(|(name, alias)| name == target || alias.as_ref() == Some(target))
            }
            None => from.iter().find_map(named),
        };
        let (table, alias) = found.ok_or_else(|| self.syntax(""))?;
        if from.len() == 1 {
            from.clear();
        }
        Ok(Statement::Delete { with, table, alias, from, condition, limit })
    }

    fn merge(&mut self) -> Result<Statement> {
        self.expect("into")?;
        let table = self.table_name()?;
        let alias = self.alias()?;
        self.expect("using")?;
        let source = self.source_item("")?;
        self.expect("on")?;
        let on = self.expression()?;
        let (mut update, mut insert) = (None, None);
        while self.accept("when") {
            let not = self.accept("not");
            self.expect("matched")?;
            self.expect("then")?;
            if not {
                self.expect("insert")?;
                let columns = if self.is_symbol("(") { self.bracketed(Self::identifier)? } else { Vec::new() };
                self.expect("values")?;
                let row = self.row()?;
                insert = Some((columns, row, self.condition()?));
            } else {
                self.expect("update")?;
                self.expect("set")?;
                let set = self.list(Self::assignment)?.into_iter().map(|(_, name, value)| (name, value)).collect();
                update = Some((set, self.condition()?));
            }
        }
        Ok(Statement::Merge(Box::new(Merge { table, alias, source, on, update, insert })))
    }

    fn set(&mut self) -> Result<Statement> {
        if let TokenKind::Variable(_) = self.peek() {
            let set = self.list(|parser| {
                let name = parser.variable()?;
                if !parser.accept_symbol("=") {
                    parser.expect_symbol(":=")?;
                }
                Ok((name, parser.expression()?))
            })?;
            return Ok(Statement::SetVariables(set));
        }
        if self.accept("transaction") {
            return self.set_transaction();
        }
        if self.accept_all(&["time", "zone"]) || self.accept("timezone") {
            return match self.next() {
                TokenKind::Text(zone) => Ok(Statement::SetTimeZone(zone)),
                _ => Err(self.syntax("")),
            };
        }
        if self.accept_all(&["system", "parameters"]) {
            let all = self.list(|parser| match parser.next() {
                TokenKind::Text(text) => Ok(text),
                _ => Err(parser.syntax("")),
            })?;
            return Ok(Statement::SetParameters(all.join(";")));
        }
        if self.is("names") {
            return self.ignored(58);
        }
        if self.is("optimization") || self.is("trigger") || self.is("trace") {
            return self.ignored(22);
        }
        Err(self.syntax(""))
    }

    fn set_transaction(&mut self) -> Result<Statement> {
        if self.accept_all(&["lock", "timeout"]) {
            if self.accept("infinite") {
                return Ok(Statement::SetLockTimeout(-1));
            }
            if self.accept("off") {
                return Ok(Statement::SetLockTimeout(0));
            }
            let TokenKind::Number(number) = self.next() else { return Err(self.syntax("")) };
            let seconds: f64 = number.parse().unwrap_or(0.0);
            return Ok(Statement::SetLockTimeout((seconds * 1000.0) as i32));
        }
        self.expect("isolation")?;
        self.expect("level")?;
        let level = if self.accept("serializable") {
            6
        } else if self.accept_all(&["repeatable", "read"]) {
            5
        } else if self.accept_all(&["read", "committed"]) || self.accept_all(&["cursor", "stability"]) {
            4
        } else if let TokenKind::Number(number) = self.next() {
            number.parse().unwrap_or(0)
        } else {
            return Err(self.syntax(""));
        };
        Ok(Statement::SetIsolation(level))
    }

    fn show(&mut self) -> Result<Statement> {
        if self.accept("tables") || self.accept_all(&["full", "tables"]) {
            if self.accept("like") {
                return match self.next() {
                    TokenKind::Text(pattern) => Ok(Statement::Show(Show::Tables(Some(pattern)))),
                    _ => Err(self.syntax("")),
                };
            }
            return Ok(Statement::Show(Show::Tables(None)));
        }
        if self.accept("columns") || self.accept("fields") || self.accept_all(&["full", "columns"]) {
            if !self.accept("from") {
                self.expect("in")?;
            }
            return Ok(Statement::Show(Show::Columns(self.table_name()?)));
        }
        if self.accept_all(&["create", "table"]) {
            return Ok(Statement::Show(Show::Create(self.table_name()?)));
        }
        if self.accept_all(&["create", "view"]) {
            return Ok(Statement::Show(Show::CreateView(self.table_name()?)));
        }
        if self.accept("index") || self.accept("indexes") || self.accept("keys") {
            if !self.accept("from") {
                self.expect("in")?;
            }
            return Ok(Statement::Show(Show::Indexes(self.table_name()?)));
        }
        Err(self.syntax(""))
    }
}

/// Words that are no identifiers.
pub fn is_reserved(word: &str) -> bool {
    const WORDS: &str = " absolute add all allocate alter and any are as asc assertion at attach attribute avg before \
        between bigint bit bit_length blob boolean both by call cascade cascaded case cast check class classes clob \
        collate column commit connect constraint convert create cross current current_date current_datetime \
        current_time current_timestamp current_user cursor date datetime deferrable deferred delete desc describe \
        distinct div domain double drop duplicate each else elseif end escape evaluate except exception exec execute \
        exists extract false fetch file first float for foreign from full function get global go grant group having \
        if in index inherit inner inout insert int integer intersect intersection interval into is join key last \
        leading leave left level like limit list local loop lower match method mod monetary month multiset \
        national natural nchar next none not null nullif numeric object of off on only open optimization option or \
        order out outer overlaps parameters partial position precision prepare preserve primary prior privileges \
        procedure query read real recursive ref references relative rename replace restrict return returns revoke \
        right rollback rows savepoint schema scroll select sensitive sequence serializable session set setneq shared \
        siblings size smallint some sql string substring subset subseteq sum superset superseteq table \
        temporary then time timestamp timezone_hour to trailing transaction translate translation trigger trim true \
        truncate under union unique unknown update upper usage use user using utime values vclass varchar variable \
        varying view when whenever where while with without work write xor zone ";
    WORDS.split_whitespace().any(|reserved| reserved == word)
}
