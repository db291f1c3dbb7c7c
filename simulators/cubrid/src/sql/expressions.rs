//! Reading expressions.

use super::ast::*;
use super::lexer::TokenKind;
use super::parser::{Parser, is_reserved};
use crate::errors::{Error, Result};
use crate::limits::{NESTING, OPERATORS};
use crate::types::code::*;

/// Names that are functions without brackets.
const BARE: [&str; 24] = [
    "sysdate",
    "sys_date",
    "systime",
    "sys_time",
    "systimestamp",
    "sys_timestamp",
    "sysdatetime",
    "sys_datetime",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_datetime",
    "current_user",
    "user",
    "system_user",
    "rownum",
    "localtime",
    "localtimestamp",
    "session_user",
    "curdate",
    "curtime",
    "dbtimezone",
    "sessiontimezone",
    "inst_num",
];

fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Call(Box::new(Call { name: name.to_owned(), arguments, ..Call::default() }))
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.deeper(Self::disjunction)
    }

    fn disjunction(&mut self) -> Result<Expr> {
        self.chain("or", Self::exclusive)
    }

    fn exclusive(&mut self) -> Result<Expr> {
        self.chain("xor", Self::conjunction)
    }

    fn conjunction(&mut self) -> Result<Expr> {
        self.chain("and", Self::negation)
    }

    /// Operands of a logical operator. Their order is all that counts, so that the tree of a thousand is ten deep.
    fn chain(&mut self, operator: &'static str, mut operand: impl FnMut(&mut Self) -> Result<Expr>) -> Result<Expr> {
        let mut operands = vec![operand(self)?];
        while self.accept(operator) {
            operands.push(operand(self)?);
        }
        while operands.len() > 1 {
            let mut rest = operands.into_iter();
            operands = Vec::with_capacity(rest.len().div_ceil(2));
            while let Some(left) = rest.next() {
                operands.push(match rest.next() {
                    Some(right) => Expr::Binary(operator, Box::new(left), Box::new(right)),
                    None => left,
                });
            }
        }
        operands.pop().ok_or_else(|| self.syntax(""))
    }

    /// Operands of other operators, of which each is one deeper than the one before.
    fn operators(
        &mut self,
        operator: impl Fn(&mut Self) -> Option<&'static str>,
        operand: impl Fn(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut left = operand(self)?;
        let mut count = 0;
        while let Some(operator) = operator(self) {
            count += 1;
            if count > OPERATORS {
                return Err(Error::syntax("memory exhausted "));
            }
            left = Expr::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn symbol_of(&mut self, symbols: &[&'static str]) -> Option<&'static str> {
        symbols.iter().copied().find(|symbol| self.accept_symbol(symbol))
    }

    fn negation(&mut self) -> Result<Expr> {
        if self.accept("not") {
            return Ok(Expr::Not(Box::new(self.deeper(Self::negation)?)));
        }
        self.predicate()
    }

    fn predicate(&mut self) -> Result<Expr> {
        let mut left = self.bits()?;
        let mut count = 0;
        loop {
            count += 1;
            if count > NESTING {
                return Err(Error::syntax("memory exhausted "));
            }
            if self.accept("is") {
                let not = self.accept("not");
                self.expect("null")?;
                left = Expr::IsNull(Box::new(left), not);
                continue;
            }
            let not = self.is("not") && !self.is_symbol_ahead(1, "(");
            self.at += usize::from(not);
            if self.accept("in") {
                left = self.membership(left, not)?;
            } else if self.accept("between") {
                let low = self.bits()?;
                self.expect("and")?;
                left = Expr::Between(Box::new(left), not, Box::new(low), Box::new(self.bits()?));
            } else if self.accept("like") {
                let pattern = self.bits()?;
                let escape = if self.accept("escape") { Some(Box::new(self.bits()?)) } else { None };
                left = Expr::Like(Box::new(left), not, Box::new(pattern), escape, "like");
            } else if self.accept("rlike") || self.accept("regexp") {
                let word = if self.accept("binary") { "rlike_binary" } else { "rlike" };
                left = Expr::Like(Box::new(left), not, Box::new(self.bits()?), None, word);
            } else if not {
                return Err(self.syntax(""));
            } else if let Some(word) =
                ["superseteq", "superset", "subseteq", "subset", "seteq", "setneq"].iter().find(|word| self.is(word))
            {
                self.at += 1;
                left = Expr::Contains(word, Box::new(left), Box::new(self.bits()?));
            } else if let Some(operator) = self.comparison() {
                left = self.compared(left, operator)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn comparison(&mut self) -> Option<&'static str> {
        for (symbol, operator) in
            [("<=>", "<=>"), ("=", "="), ("<>", "<>"), ("!=", "<>"), ("<=", "<="), (">=", ">="), ("<", "<"), (">", ">")]
        {
            if self.accept_symbol(symbol) {
                return Some(operator);
            }
        }
        None
    }

    fn compared(&mut self, left: Expr, operator: &'static str) -> Result<Expr> {
        let quantifier = self.is("all") || self.is("any") || self.is("some");
        if quantifier && self.is_symbol_ahead(1, "(") {
            let all = self.is("all");
            self.at += 2;
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(Expr::Quantified(Box::new(left), operator, all, Box::new(query)));
        }
        Ok(Expr::Binary(operator, Box::new(left), Box::new(self.bits()?)))
    }

    fn membership(&mut self, left: Expr, not: bool) -> Result<Expr> {
        if !self.is_symbol("(") {
            let right = self.bits()?;
            return Ok(Expr::In(Box::new(left), not, vec![right]));
        }
        if self.is_ahead(1, "select") || self.is_ahead(1, "with") {
            self.at += 1;
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(Expr::InQuery(Box::new(left), not, Box::new(query)));
        }
        Ok(Expr::In(Box::new(left), not, self.bracketed(Self::expression)?))
    }

    /// `| & << >>`
    fn bits(&mut self) -> Result<Expr> {
        self.operators(|parser| parser.symbol_of(&["|", "&", "<<", ">>"]), Self::sum)
    }

    /// A value without comparisons, as DEFAULT takes it.
    pub(super) fn simple(&mut self) -> Result<Expr> {
        self.sum()
    }

    fn sum(&mut self) -> Result<Expr> {
        self.operators(|parser| parser.symbol_of(&["+", "-", "||"]), Self::product)
    }

    fn product(&mut self) -> Result<Expr> {
        let operator = |parser: &mut Self| match parser.symbol_of(&["*", "/", "%"]) {
            None if parser.accept("mod") => Some("%"),
            None if parser.accept("div") => Some("div"),
            found => found,
        };
        self.operators(operator, Self::different_bits)
    }

    /// `^`, which binds closer than `*`.
    fn different_bits(&mut self) -> Result<Expr> {
        self.operators(|parser| parser.symbol_of(&["^"]), Self::signed)
    }

    fn signed(&mut self) -> Result<Expr> {
        if self.accept_symbol("-") {
            let value = self.deeper(Self::signed)?;
            return Ok(match value {
                Expr::Integer(digits) if !digits.starts_with('-') => Expr::Integer(format!("-{digits}")),
                Expr::Decimal(digits) if !digits.starts_with('-') => Expr::Decimal(format!("-{digits}")),
                Expr::Float(digits) if !digits.starts_with('-') => Expr::Float(format!("-{digits}")),
                value => Expr::Negative(Box::new(value)),
            });
        }
        if self.accept_symbol("+") {
            return self.deeper(Self::signed);
        }
        if self.accept_symbol("~") {
            return Ok(Expr::OtherBits(Box::new(self.primary()?)));
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.peek().clone() {
            TokenKind::Number(number) => {
                self.at += 1;
                Ok(match () {
                    () if number.contains(['e', 'E']) => Expr::Float(number),
                    () if number.contains('.') => Expr::Decimal(number),
                    () => Expr::Integer(number),
                })
            }
            TokenKind::Text(text) => {
                self.at += 1;
                let mut text = text;
                // Strings behind one another are one.
                while let TokenKind::Text(more) = self.peek().clone() {
                    text.push_str(&more);
                    self.at += 1;
                }
                if self.accept("collate") {
                    self.identifier()?;
                }
                Ok(Expr::Text(text))
            }
            TokenKind::National(text) => {
                self.at += 1;
                Ok(Expr::National(text))
            }
            TokenKind::Bits(letter, digits) => {
                self.at += 1;
                Ok(Expr::Bits(letter, digits))
            }
            TokenKind::Parameter(index) => {
                self.at += 1;
                Ok(Expr::Parameter(index))
            }
            TokenKind::Variable(_) => {
                let name = self.variable()?;
                if self.accept_symbol(":=") {
                    return Ok(Expr::Assign(name, Box::new(self.expression()?)));
                }
                Ok(Expr::Variable(name))
            }
            TokenKind::Symbol("(") => self.brackets(),
            TokenKind::Symbol("{") => self.set_literal(0),
            TokenKind::Word(word) => self.word(&word),
            TokenKind::Quoted(_) => self.column(),
            _ => Err(self.syntax("")),
        }
    }

    fn brackets(&mut self) -> Result<Expr> {
        self.at += 1;
        if self.is("select") || self.is("with") || self.is("values") {
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(Expr::Query(Box::new(query)));
        }
        let mut all = self.list(Self::expression)?;
        self.expect_symbol(")")?;
        Ok(if all.len() == 1 { all.remove(0) } else { Expr::Row(all) })
    }

    fn set_literal(&mut self, kind: u8) -> Result<Expr> {
        self.expect_symbol("{")?;
        let elements = if self.is_symbol("}") { Vec::new() } else { self.list(Self::expression)? };
        self.expect_symbol("}")?;
        Ok(Expr::Set(kind, elements))
    }

    fn column(&mut self) -> Result<Expr> {
        let first = self.identifier()?;
        if !self.accept_symbol(".") {
            return Ok(Expr::Name(None, first));
        }
        let second = self.identifier_after_point()?;
        if (second == "next_value" || second == "nextval") || (second == "current_value" || second == "currval") {
            let next = second.starts_with("next");
            return Ok(call(if next { "serial_next_value" } else { "serial_current_value" }, vec![Expr::Text(first)]));
        }
        if self.accept_symbol(".") {
            // The owner cannot be named before a column.
            self.identifier_after_point()?;
            return Err(Error::semantic(format!("before ' '\nAttribute \"{first}\" was not found. ")));
        }
        Ok(Expr::Name(Some(first), second))
    }

    fn identifier_after_point(&mut self) -> Result<String> {
        match self.next() {
            TokenKind::Word(name) | TokenKind::Quoted(name) => Ok(name),
            _ => Err(self.syntax("identifier")),
        }
    }

    fn word(&mut self, word: &str) -> Result<Expr> {
        let text_follows = matches!(self.ahead(1), TokenKind::Text(_));
        if text_follows {
            let ty = match word {
                "date" => DATE,
                "time" => TIME,
                "timestamp" => TIMESTAMP,
                "datetime" => DATETIME,
                "timestamptz" => TIMESTAMPTZ,
                "timestampltz" => TIMESTAMPLTZ,
                "datetimetz" => DATETIMETZ,
                "datetimeltz" => DATETIMELTZ,
                "json" => JSON,
                _ if word.starts_with('_') => CHAR,
                _ => 0,
            };
            if ty != 0 {
                self.at += 1;
                let TokenKind::Text(text) = self.next() else { return Err(self.syntax("")) };
                return Ok(if ty == CHAR { Expr::Text(text) } else { Expr::Typed(ty, text) });
            }
        }
        match word {
            "null" => {
                self.at += 1;
                return Ok(Expr::Null);
            }
            "true" | "false" => {
                self.at += 1;
                return Ok(Expr::Truth(word == "true"));
            }
            "case" => return self.case(),
            "exists" if self.is_symbol_ahead(1, "(") => {
                self.at += 2;
                let query = self.query()?;
                self.expect_symbol(")")?;
                return Ok(Expr::Exists(Box::new(query)));
            }
            "set" | "multiset" | "sequence" | "list" if self.is_symbol_ahead(1, "{") => {
                self.at += 1;
                return self.set_literal(match word {
                    "set" => 0x20,
                    "multiset" => 0x40,
                    _ => 0x60,
                });
            }
            _ => {}
        }
        if self.is_symbol_ahead(1, "(") {
            self.at += 2;
            return self.call(word);
        }
        if BARE.contains(&word) {
            self.at += 1;
            return Ok(Expr::Call(Box::new(Call { name: word.to_owned(), bare: true, ..Call::default() })));
        }
        if is_reserved(word) {
            return Err(self.syntax(""));
        }
        self.column()
    }

    fn case(&mut self) -> Result<Expr> {
        self.at += 1;
        let operand = if self.is("when") { None } else { Some(Box::new(self.expression()?)) };
        let mut whens = Vec::new();
        while self.accept("when") {
            let condition = self.expression()?;
            self.expect("then")?;
            whens.push((condition, self.expression()?));
        }
        let otherwise = if self.accept("else") { Some(Box::new(self.expression()?)) } else { None };
        self.expect("end")?;
        if whens.is_empty() { Err(self.syntax("")) } else { Ok(Expr::Case(operand, whens, otherwise)) }
    }

    /// A call, behind the opening bracket.
    fn call(&mut self, name: &str) -> Result<Expr> {
        let name = match name {
            "ucase" => "upper",
            "lcase" => "lower",
            "ceiling" => "ceil",
            "pow" => "power",
            "character_length" | "length" | "lengthh" => "char_length",
            "schema" => "database",
            "sysdate" | "curdate" | "current_date" if self.is_symbol(")") => "current_date",
            name => name,
        };
        let done = match name {
            "cast" => {
                let value = self.expression()?;
                self.expect("as")?;
                Expr::Cast(Box::new(value), self.data_type()?)
            }
            "extract" => {
                let TokenKind::Word(unit) = self.next() else { return Err(self.syntax("")) };
                self.expect("from")?;
                Expr::Extract(unit, Box::new(self.expression()?))
            }
            "trim" => self.trim()?,
            "position" => {
                let sought = self.bits()?;
                self.expect("in")?;
                call("position", vec![sought, self.expression()?])
            }
            "substring" => {
                let text = self.expression()?;
                let mut arguments = vec![text];
                if self.accept("from") {
                    arguments.push(self.expression()?);
                    if self.accept("for") {
                        arguments.push(self.expression()?);
                    }
                } else {
                    while self.accept_symbol(",") {
                        arguments.push(self.expression()?);
                    }
                }
                call("substring", arguments)
            }
            "date_add" | "date_sub" | "adddate" | "subdate" => {
                let date = self.expression()?;
                self.expect_symbol(",")?;
                if self.accept("interval") {
                    let count = self.bits()?;
                    let TokenKind::Word(unit) = self.next() else { return Err(self.syntax("")) };
                    call(name, vec![date, Expr::Interval(Box::new(count), unit)])
                } else {
                    call(name, vec![date, self.expression()?])
                }
            }
            _ => return self.plain_call(name),
        };
        self.expect_symbol(")")?;
        Ok(done)
    }

    fn trim(&mut self) -> Result<Expr> {
        let word = ["leading", "trailing", "both"].into_iter().find(|word| self.is(word));
        self.at += usize::from(word.is_some());
        let mut arguments = Vec::new();
        if !self.accept("from") {
            arguments.push(self.expression()?);
            if self.accept("from") {
                arguments.insert(0, self.expression()?);
            }
        } else {
            arguments.push(self.expression()?);
        }
        let word = word.unwrap_or("both");
        Ok(Expr::Call(Box::new(Call { name: "trim".into(), arguments, word, ..Call::default() })))
    }

    fn plain_call(&mut self, name: &str) -> Result<Expr> {
        let mut call = Call { name: name.to_owned(), ..Call::default() };
        if self.accept_symbol("*") {
            call.star = true;
        } else if !self.is_symbol(")") {
            call.distinct = self.accept("distinct") || self.accept("unique");
            call.arguments = self.list(Self::expression)?;
            if self.accept("using") {
                self.identifier()?;
            }
            call.order = self.order()?;
            if self.accept("separator") {
                call.separator = Some(self.expression()?);
            }
        }
        self.expect_symbol(")")?;
        if self.accept("over") {
            self.expect_symbol("(")?;
            let mut window = Window::default();
            if self.accept("partition") {
                self.expect("by")?;
                window.partition = self.list(Self::expression)?;
            }
            window.order = self.order()?;
            self.expect_symbol(")")?;
            call.over = Some(window);
        }
        Ok(Expr::Call(Box::new(call)))
    }
}
