//! Declarations of types and qualifiers.

use super::lexer::TokenKind;
use super::parser::Parser;
use crate::codec::timestamp::Qualifier;
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};
use crate::usertypes::UserType;

impl Parser<'_> {
    fn one_length(&mut self) -> Result<Option<i64>> {
        if !self.accept_symbol("(") {
            return Ok(None);
        }
        let length = self.integer()?;
        if self.accept_symbol(",") {
            // The minimum of VARCHAR and the start value of SERIAL's relatives.
            self.integer()?;
        }
        self.expect_symbol(")")?;
        Ok(Some(length))
    }

    fn sized(&mut self, kind: Kind, default: i64, most: i64) -> Result<Type> {
        let offset = self.offset();
        let length = self.one_length()?.unwrap_or(default);
        if !(1..=most).contains(&length) {
            return Err(SqlError::syntax(offset, &length.to_string()));
        }
        Ok(Type::new(kind, length as i32))
    }

    /// `name TO name`, of a DATETIME or an INTERVAL.
    pub(super) fn qualifier(&mut self, interval: bool) -> Result<Qualifier> {
        let offset = self.offset();
        let (start, leading) = self.qualifier_field()?;
        self.expect("to")?;
        let (end, digits) = self.qualifier_field()?;
        let end = if end >= 11 { 10 + digits.unwrap_or(3) as i32 } else { end };
        let start = if start >= 11 { 11 } else { start };
        if start > end || (interval && start <= 2 && end > 2) {
            return Err(SqlError::syntax(offset, "to"));
        }
        if !interval {
            return Ok(Qualifier::datetime(start, end));
        }
        let leading = leading.map_or(if start == 0 { 4 } else { 2 }, |digits| digits as i32);
        Ok(Qualifier::interval(start, end, leading))
    }

    fn qualifier_field(&mut self) -> Result<(i32, Option<i64>)> {
        let TokenKind::Word(name) = self.peek().clone() else { return Err(self.syntax()) };
        let field = Qualifier::field(&name).ok_or_else(|| self.syntax())?;
        self.at += 1;
        let digits = self.one_length()?;
        Ok((field, digits))
    }

    /// A type as CREATE TABLE and CAST write it.
    pub(super) fn type_declaration(&mut self) -> Result<Type> {
        self.deeper(Self::declared)
    }

    fn declared(&mut self) -> Result<Type> {
        let offset = self.offset();
        let name = self.identifier()?;
        let ty = match name.as_str() {
            "char" | "character" if self.accept("varying") => self.sized(Kind::VarChar, 1, 255)?,
            "char" | "character" => self.sized(Kind::Char, 1, 32_767)?,
            "nchar" => self.sized(Kind::NChar, 1, 32_767)?,
            "varchar" => self.sized(Kind::VarChar, 1, 255)?,
            "nvarchar" => self.sized(Kind::NVarChar, 1, 255)?,
            "lvarchar" => self.sized(Kind::LVarChar, 2048, 32_739)?,
            "varchar2" => self.sized(Kind::VarChar, 255, 255)?,
            "smallint" => Type::of(Kind::SmallInt),
            "int" | "integer" => Type::of(Kind::Int),
            "bigint" => Type::of(Kind::BigInt),
            "int8" => Type::of(Kind::Int8),
            "serial" | "serial8" | "bigserial" => {
                self.one_length()?;
                Type::of(match name.as_str() {
                    "serial" => Kind::Serial,
                    "serial8" => Kind::Serial8,
                    _ => Kind::BigSerial,
                })
            }
            "double" => {
                self.expect("precision")?;
                Type::of(Kind::Float)
            }
            "float" => {
                self.one_length()?;
                Type::of(Kind::Float)
            }
            "smallfloat" | "real" => Type::of(Kind::SmallFloat),
            "decimal" | "dec" | "numeric" | "money" | "number" => self.decimal(name == "money")?,
            "date" => Type::of(Kind::Date),
            "datetime" => Type::new(Kind::DateTime, self.qualifier(false)?.0),
            "timestamp" => Type::new(Kind::DateTime, Qualifier::datetime(0, 15).0),
            "interval" => Type::new(Kind::Interval, self.qualifier(true)?.0),
            "boolean" => Type::of(Kind::Boolean),
            "byte" | "text" => {
                if self.accept("in") {
                    self.identifier()?;
                }
                Type::of(if name == "byte" { Kind::Byte } else { Kind::Text })
            }
            "blob" => Type::of(Kind::Blob),
            "clob" => Type::of(Kind::Clob),
            "json" => Type::of(Kind::Json),
            "bson" => Type::of(Kind::Bson),
            "set" => self.collection_type(Kind::Set)?,
            "multiset" => self.collection_type(Kind::MultiSet)?,
            "list" => self.collection_type(Kind::List)?,
            "row" => UserType::Row { name: None, fields: self.row_fields()? }.column_type(),
            _ => {
                // An owner may precede a user's name.
                let name = if self.accept_symbol(".") { self.identifier()? } else { name };
                self.catalog.user_type(&name).ok_or_else(|| SqlError::new(-9628, name).at(offset))?
            }
        };
        Ok(ty)
    }

    /// `(INT NOT NULL)`, of a collection.
    fn collection_type(&mut self, kind: Kind) -> Result<Type> {
        self.expect_symbol("(")?;
        let element = self.type_declaration()?;
        if self.accept("not") {
            self.expect("null")?;
        }
        self.expect_symbol(")")?;
        Ok(UserType::Collection { kind, element }.column_type())
    }

    /// `(a INT, b VARCHAR(9))`, of a row.
    pub(super) fn row_fields(&mut self) -> Result<Vec<(String, Type)>> {
        self.expect_symbol("(")?;
        let mut fields = Vec::new();
        loop {
            let name = self.identifier()?;
            fields.push((name, self.type_declaration()?));
            if self.accept("not") {
                self.expect("null")?;
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(fields)
    }

    fn decimal(&mut self, money: bool) -> Result<Type> {
        let kind = if money { Kind::Money } else { Kind::Decimal };
        let offset = self.offset();
        let (mut precision, mut scale) = (16, if money { 2 } else { 255 });
        if self.accept_symbol("(") {
            precision = self.integer()?;
            if self.accept_symbol(",") {
                scale = self.integer()?;
            }
            self.expect_symbol(")")?;
        }
        if !(1..=32).contains(&precision) || (scale != 255 && !(0..=precision).contains(&scale)) {
            return Err(SqlError::new(if scale == 255 { -1226 } else { -366 }, "").at(offset));
        }
        Ok(Type::new(kind, (precision << 8 | scale) as i32))
    }
}
