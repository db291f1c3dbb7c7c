//! CREATE TYPE in its forms, and CREATE SEQUENCE.

use super::lexer::TokenKind;
use super::parser::Parser;
use super::{Action, Compiled};
use crate::errors::{Result, SqlError};
use crate::usertypes::UserType;

impl Parser<'_> {
    pub(super) fn create_sequence(&mut self) -> Result<Compiled> {
        self.if_exists(true)?;
        let (_, name) = self.object_name()?;
        let (mut start, mut step) = (1, 1);
        loop {
            if self.accept("start") {
                self.accept("with");
                start = self.integer()?;
            } else if self.accept("increment") {
                self.accept("by");
                step = self.integer()?;
            } else if matches!(self.peek(), TokenKind::Word(_) | TokenKind::Number(_)) {
                // Bounds, cycles and caches are what a long run would show.
                self.at += 1;
            } else {
                return Ok(self.compiled(77, Action::CreateSequence { name, start, step }, Vec::new()));
            }
        }
    }

    /// `CREATE DISTINCT TYPE a AS INT`, `CREATE ROW TYPE a (…)`, `CREATE OPAQUE TYPE a (INTERNALLENGTH = 8)`.
    pub(super) fn create_type(&mut self) -> Result<Compiled> {
        let offset = self.offset();
        let TokenKind::Word(form) = self.next() else { return Err(self.syntax()) };
        self.expect("type")?;
        self.if_exists(true)?;
        let (_, name) = self.object_name()?;
        let (definition, mode, kind) = match form.as_str() {
            "distinct" => {
                self.expect("as")?;
                (UserType::Distinct { name: name.clone(), source: self.type_declaration()? }, 'D', 92)
            }
            "row" => (UserType::Row { name: Some(name.clone()), fields: self.row_fields()? }, 'R', 90),
            "opaque" => {
                self.expect_symbol("(")?;
                self.expect("internallength")?;
                self.expect_symbol("=")?;
                let length = if self.accept("variable") { None } else { Some(self.integer()? as i32) };
                while !self.is_symbol(")") && *self.peek() != TokenKind::End {
                    self.at += 1;
                }
                self.expect_symbol(")")?;
                (UserType::Opaque { name: name.clone(), length }, 'B', 95)
            }
            _ => return Err(SqlError::syntax(offset, &form)),
        };
        Ok(self.compiled(kind, Action::CreateType(name, definition.column_type(), mode), Vec::new()))
    }
}
