//! CREATE TYPE in its forms, and CREATE SEQUENCE.

use super::lexer::TokenKind;
use super::parser::Parser;
use super::{Action, Compiled};
use crate::errors::{Result, SqlError};
use crate::usertypes::UserType;

/// Beyond this, no test counts.
const FAR: u64 = 1 << 31;

impl Parser<'_> {
    pub(super) fn create_sequence(&mut self) -> Result<Compiled> {
        let if_not_exists = self.if_exists(true)?;
        let (_, name) = self.object_name()?;
        let (mut start, mut step) = (None, 1);
        loop {
            let offset = self.offset();
            let TokenKind::Word(word) = self.peek().clone() else { break };
            self.at += 1;
            match word.as_str() {
                "start" => {
                    self.accept("with");
                    start = Some(self.integer()?);
                }
                "increment" => {
                    self.accept("by");
                    step = self.integer()?;
                }
                "cache" => {
                    self.integer()?;
                }
                "nocycle" | "nocache" | "order" | "noorder" | "nomaxvalue" | "nominvalue" => {}
                // Bounds that are never reached have no effect.
                "maxvalue" | "minvalue" if self.integer()?.unsigned_abs() > FAR => {}
                "minvalue" if step > 0 => {}
                "maxvalue" if step < 0 => {}
                "cycle" | "maxvalue" | "minvalue" => {
                    return Err(SqlError::unsupported(format!("{} of a sequence", word.to_uppercase())).at(offset));
                }
                _ => return Err(SqlError::syntax(offset, &word)),
            }
        }
        if step == 0 {
            return Err(SqlError::unsupported("a sequence that stands still").at(self.offset()));
        }
        let start = start.unwrap_or(if step > 0 { 1 } else { -1 });
        Ok(self.unless(if_not_exists, -8301, 77, Action::CreateSequence { name, start, step }))
    }

    /// `CREATE DISTINCT TYPE a AS INT`, `CREATE ROW TYPE a (…)`, `CREATE OPAQUE TYPE a (INTERNALLENGTH = 8)`.
    pub(super) fn create_type(&mut self) -> Result<Compiled> {
        let offset = self.offset();
        let TokenKind::Word(form) = self.next() else { return Err(self.syntax()) };
        self.expect("type")?;
        let if_not_exists = self.if_exists(true)?;
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
        Ok(self.unless(if_not_exists, -9631, kind, Action::CreateType(name, definition.column_type(), mode)))
    }
}
