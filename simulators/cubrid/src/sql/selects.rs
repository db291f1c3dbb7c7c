//! Reading queries: WITH, SELECT and what is in it.

use super::ast::*;
use super::lexer::TokenKind;
use super::parser::{Parser, is_reserved};
use crate::errors::Result;

impl Parser<'_> {
    /// WITH, if it is there: its tables, and whether they may refer to themselves.
    fn with(&mut self) -> Result<(Vec<Named>, bool)> {
        if !self.accept("with") {
            return Ok((Vec::new(), false));
        }
        let recursive = self.accept("recursive");
        let with = self.list(|parser| {
            let name = parser.identifier()?;
            let columns = if parser.is_symbol("(") { parser.bracketed(Self::identifier)? } else { Vec::new() };
            parser.expect("as")?;
            parser.expect_symbol("(")?;
            let query = parser.query()?;
            parser.expect_symbol(")")?;
            Ok(Named { name, columns, query })
        })?;
        Ok((with, recursive))
    }

    /// A query, or an UPDATE or DELETE with tables before it.
    pub(super) fn statement_after_with(&mut self) -> Result<Statement> {
        let start = self.at;
        let (with, recursive) = self.with()?;
        let tables = Query {
            with,
            recursive,
            body: Body::Values(Vec::new()),
            order: Vec::new(),
            limit: None,
            for_update: false,
        };
        if self.accept("update") {
            return self.update(Some(tables));
        }
        if self.accept("delete") {
            return self.delete(Some(tables));
        }
        self.at = start;
        Ok(Statement::Query(self.query()?))
    }

    pub(super) fn query(&mut self) -> Result<Query> {
        self.deeper(|parser| {
            let (with, recursive) = parser.with()?;
            let body = parser.body()?;
            let order = parser.order()?;
            let limit = parser.limit()?;
            let for_update = parser.accept("for");
            if for_update {
                parser.expect("update")?;
                if parser.accept("of") {
                    parser.list(Self::identifier)?;
                }
            }
            Ok(Query { with, recursive, body, order, limit, for_update })
        })
    }

    fn limit(&mut self) -> Result<Option<(Option<Expr>, Expr)>> {
        if !self.accept("limit") {
            return Ok(None);
        }
        let first = self.expression()?;
        if self.accept_symbol(",") {
            return Ok(Some((Some(first), self.expression()?)));
        }
        if self.accept("offset") {
            return Ok(Some((Some(self.expression()?), first)));
        }
        Ok(Some((None, first)))
    }

    pub(super) fn order(&mut self) -> Result<Vec<Order>> {
        if !self.is("order") {
            return Ok(Vec::new());
        }
        self.at += 1;
        self.accept("siblings");
        self.expect("by")?;
        self.list(Self::order_item)
    }

    /// Refuses what begins a condition where a value is needed.
    fn refuse_condition(&mut self) -> Result<()> {
        match (self.is("exists") && self.is_symbol_ahead(1, "(")) || self.is("not") {
            true => Err(self.syntax("")),
            false => Ok(()),
        }
    }

    fn order_item(&mut self) -> Result<Order> {
        self.refuse_condition()?;
        let value = self.expression()?;
        let descending = self.accept("desc");
        if !descending {
            self.accept("asc");
        }
        let mut nulls_first = None;
        if self.accept("nulls") {
            nulls_first = Some(self.accept("first"));
            if nulls_first == Some(false) {
                self.expect("last")?;
            }
        }
        Ok(Order { value, descending, nulls_first })
    }

    fn body(&mut self) -> Result<Body> {
        let mut left = self.body_part()?;
        loop {
            let operator = if self.accept("union") {
                "UNION"
            } else if self.accept("intersect") || self.accept("intersection") {
                "INTERSECT"
            } else if self.accept("except") || self.accept("difference") {
                "EXCEPT"
            } else {
                return Ok(left);
            };
            let all = self.accept("all");
            if !all {
                self.accept("distinct");
            }
            left = Body::Both(operator, all, Box::new(left), Box::new(self.body_part()?));
        }
    }

    fn body_part(&mut self) -> Result<Body> {
        if self.accept_symbol("(") {
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(Body::Query(Box::new(query)));
        }
        if self.accept("values") || self.accept("value") {
            return Ok(Body::Values(self.list(|parser| parser.bracketed(Self::expression))?));
        }
        if !self.accept("select") {
            return Err(self.syntax("SELECT or VALUE or VALUES or '('"));
        }
        let mut select = Select { distinct: self.accept("distinct") || self.accept("unique"), ..Select::default() };
        if !select.distinct {
            self.accept("all");
        }
        select.items = self.list(Self::item)?;
        if self.accept("from") {
            select.from = self.sources()?;
        } else if ["where", "group", "having"].iter().any(|word| self.is(word)) {
            return Err(self.syntax("end of file"));
        }
        select.condition = self.condition()?;
        if self.accept("group") {
            self.expect("by")?;
            select.group = self.list(Self::order_item)?;
        }
        if self.accept("having") {
            select.having = Some(self.expression()?);
        }
        Ok(Body::Select(Box::new(select)))
    }

    fn item(&mut self) -> Result<(Expr, Option<String>)> {
        if self.accept_symbol("*") {
            return Ok((Expr::Star(None), None));
        }
        let named = matches!(self.peek(), TokenKind::Word(_) | TokenKind::Quoted(_));
        if named && self.is_symbol_ahead(1, ".") && self.is_symbol_ahead(2, "*") {
            let table = self.identifier()?;
            self.at += 2;
            return Ok((Expr::Star(Some(table)), None));
        }
        let start = self.at;
        self.refuse_condition()?;
        let value = self.expression()?;
        if matches!(value, Expr::Not(_) | Expr::Binary("and" | "or" | "xor", ..)) {
            // A condition is no value here.
            self.at = start;
            return Err(self.syntax(""));
        }
        Ok((value, self.alias()?))
    }

    pub(super) fn alias(&mut self) -> Result<Option<String>> {
        if self.accept("as") {
            // An alias may be a reserved word here.
            return match self.next() {
                TokenKind::Word(name) | TokenKind::Quoted(name) => Ok(Some(name)),
                TokenKind::Text(name) => Ok(Some(name)),
                _ => Err(self.syntax("identifier")),
            };
        }
        // FORCE INDEX and IGNORE KEY after a table are not its alias.
        let is_hint = (self.is("force") || self.is("ignore")) && (self.is_ahead(1, "index") || self.is_ahead(1, "key"));
        match self.peek() {
            TokenKind::Word(word) if !is_reserved(word) && word != "difference" && word != "nulls" && !is_hint => {
                Ok(Some(self.identifier()?))
            }
            TokenKind::Quoted(_) => Ok(Some(self.identifier()?)),
            _ => Ok(None),
        }
    }

    pub(super) fn sources(&mut self) -> Result<Vec<From>> {
        let mut all = vec![self.source_item("")?];
        loop {
            if self.accept_symbol(",") {
                all.push(self.source_item("")?);
                continue;
            }
            let natural = self.accept("natural");
            let join = if self.accept("join") {
                "JOIN"
            } else if self.accept("inner") {
                self.expect("join")?;
                "JOIN"
            } else if self.accept("cross") {
                self.expect("join")?;
                "CROSS JOIN"
            } else if self.is("left") || self.is("right") {
                let left = self.next() == TokenKind::Word("left".into());
                self.accept("outer");
                self.expect("join")?;
                if left { "LEFT JOIN" } else { "RIGHT JOIN" }
            } else if natural {
                return Err(self.syntax("JOIN"));
            } else {
                return Ok(all);
            };
            let mut item = self.source_item(join)?;
            item.natural = natural;
            if self.accept("on") {
                item.on = Some(self.expression()?);
            } else if self.accept("using") {
                item.using = self.bracketed(Self::identifier)?;
            }
            all.push(item);
        }
    }

    pub(super) fn source_item(&mut self, join: &'static str) -> Result<From> {
        let source = if self.accept_symbol("(") {
            let query = self.query()?;
            self.expect_symbol(")")?;
            Source::Query(Box::new(query))
        } else {
            self.accept("only");
            Source::Table(self.table_name()?)
        };
        let alias = self.alias()?;
        let columns = if alias.is_some() && self.is_symbol("(") && matches!(source, Source::Query(_)) {
            self.bracketed(Self::identifier)?
        } else {
            Vec::new()
        };
        if self.accept("use") || self.accept("force") || self.accept("ignore") {
            if !self.accept("index") {
                self.expect("key")?;
            }
            self.bracketed(Self::identifier)?;
        }
        Ok(From { join, source, alias, columns, on: None, using: Vec::new(), natural: false })
    }
}
