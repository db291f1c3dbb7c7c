//! CASE, and literals that are more than a word: DATETIME and INTERVAL, rows and collections.

use super::expr::{Expr, Form};
use super::operators::common_type;
use super::parser::Parser;
use crate::engine::convert::timestamp_error;
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

impl Parser<'_> {
    pub(super) fn case(&mut self) -> Result<Expr> {
        let subject = if self.is("when") { None } else { Some(self.expression()?) };
        let mut sql = "CASE".to_owned();
        let mut results = Vec::new();
        while self.accept("when") {
            let condition = self.expression()?;
            let condition = match &subject {
                Some(subject) => self.compare(subject.clone(), "=", condition).sql,
                None => condition.sql,
            };
            self.expect("then")?;
            results.push((Some(condition), self.expression()?));
        }
        if self.accept("else") {
            results.push((None, self.expression()?));
        }
        self.expect("end")?;
        let types: Vec<Type> = results.iter().filter_map(|(_, expr)| expr.ty).collect();
        let ty = common_type(&types);
        for (condition, result) in results {
            let value = match ty {
                Some(ty) => self.coerce(result, ty),
                None => result.sql,
            };
            match condition {
                Some(condition) => sql += &format!(" WHEN {condition} THEN {value}"),
                None => sql += &format!(" ELSE {value}"),
            }
        }
        Ok(Expr { sql: sql + " END", ty, form: Form::Computed, name: "(expression)".into() })
    }

    /// `DATETIME (2024-01-02 03:04) YEAR TO MINUTE`: its fields are not an expression, they are literal text.
    pub(super) fn timestamp_literal(&mut self, word: &str, offset: usize) -> Result<Expr> {
        let from = self.at + 1;
        self.skip_brackets()?;
        let text = self.source(from, self.at - 1).to_owned();
        let interval = word == "interval";
        let qualifier = self.qualifier(interval)?;
        let value = if interval {
            crate::codec::timestamp::parse_interval(&text, qualifier)
        } else {
            crate::codec::timestamp::parse_datetime(&text, qualifier)
        };
        let value = value.ok_or_else(|| timestamp_error(&text).at(offset))?;
        // Excess that is allowed in a text is not allowed in a literal.
        let fields = text.trim().split(['-', ' ', ':', '.']).filter(|field| !field.is_empty()).count() as i32;
        if !interval && fields > qualifier.fields() {
            return Err(SqlError::new(-1264, "").at(offset));
        }
        let kind = if interval { Kind::Interval } else { Kind::DateTime };
        Ok(Expr { name: "(constant)".into(), ..Expr::computed(value.to_string(), Type::new(kind, qualifier.0)) })
    }

    /// `SET{1, 2}` and `ROW(1, 'x')`, kept as the text that a server shows for them.
    pub(super) fn collection(&mut self, word: &str, closing: &'static str) -> Result<Expr> {
        self.at += 1;
        let kind = match word {
            "set" => Kind::Set,
            "multiset" => Kind::MultiSet,
            "list" => Kind::List,
            _ => Kind::Row,
        };
        let mut items = Vec::new();
        while !self.is_symbol(closing) {
            let item = self.expression()?;
            let quoted =
                item.ty.is_some_and(|ty| !ty.kind.is_integer() && !ty.kind.is_decimal() && !ty.kind.is_complex());
            let text = self.coerce(item, Type::new(Kind::LVarChar, 32_739));
            items.push(if quoted { format!("quote({text})") } else { format!("ifnull({text}, 'NULL')") });
            if !self.another(closing)? {
                break;
            }
        }
        let opening = if closing == "}" { "{" } else { "(" };
        self.expect_symbol(closing)?;
        let inner = if items.is_empty() { "''".to_owned() } else { items.join(" || ',' || ") };
        let sql = format!("('{}{opening}' || {inner} || '{closing}')", word.to_uppercase());
        Ok(Expr { name: "(expression)".into(), ..Expr::computed(sql, Type::of(kind)) })
    }
}
