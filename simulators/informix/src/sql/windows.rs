//! OLAP functions: the text after OVER, and the functions that require it.

use super::expr::Expr;
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

const INT: Type = Type::of(Kind::Int);
const FLOAT: Type = Type::of(Kind::Float);

/// Returns true if a function has no meaning without OVER.
pub fn needs_window(name: &str) -> bool {
    matches!(
        name,
        "row_number"
            | "rank"
            | "dense_rank"
            | "ntile"
            | "percent_rank"
            | "cume_dist"
            | "lag"
            | "lead"
            | "first_value"
            | "last_value"
    )
}

impl Parser<'_> {
    /// A call of one of those; its bracket is next.
    pub(super) fn window_call(&mut self, name: &str, offset: usize) -> Result<Expr> {
        let arguments = self.arguments()?;
        let count = arguments.len();
        let first = arguments.first().and_then(|argument| argument.ty);
        let (ty, types) = match (name, count) {
            ("row_number" | "rank" | "dense_rank", 0) => (INT, vec![]),
            ("percent_rank" | "cume_dist", 0) => (FLOAT, vec![]),
            ("ntile", 1) => (INT, vec![INT]),
            ("first_value" | "last_value", 1) | ("lag" | "lead", 1..=3) => {
                let own = first.ok_or_else(|| SqlError::new(-674, name).at(offset))?;
                (own, [own, INT, own][..count].to_vec())
            }
            _ => return Err(SqlError::new(-674, name).at(offset)),
        };
        let list: Vec<String> =
            arguments.into_iter().zip(types).map(|(argument, ty)| self.coerce(argument, ty)).collect();
        let window = self.window()?;
        Ok(Expr::computed(format!("{name}({}){window}", list.join(", ")), ty))
    }

    /// `OVER (PARTITION BY … ORDER BY … ROWS …)`.
    pub(super) fn window(&mut self) -> Result<String> {
        self.expect("over")?;
        self.expect_symbol("(")?;
        let mut parts = Vec::new();
        if self.accept("partition") {
            self.expect("by")?;
            let mut list = Vec::new();
            loop {
                let item = self.expression()?;
                list.push(self.ordered(item));
                if !self.accept_symbol(",") {
                    break;
                }
            }
            parts.push(format!("PARTITION BY {}", list.join(", ")));
        }
        if self.accept("order") {
            self.expect("by")?;
            parts.push(format!("ORDER BY {}", self.order_list(&[], false)?));
        }
        for unit in ["rows", "range"] {
            if self.accept(unit) {
                let frame = match self.accept("between") {
                    true => {
                        let from = self.frame_end()?;
                        self.expect("and")?;
                        format!("BETWEEN {from} AND {}", self.frame_end()?)
                    }
                    false => self.frame_end()?,
                };
                parts.push(format!("{unit} {frame}"));
            }
        }
        self.expect_symbol(")")?;
        Ok(format!(" OVER ({})", parts.join(" ")))
    }

    /// `UNBOUNDED PRECEDING`, `2 FOLLOWING`, `CURRENT ROW`.
    fn frame_end(&mut self) -> Result<String> {
        if self.accept("current") {
            self.expect("row")?;
            return Ok("CURRENT ROW".into());
        }
        let distance = match self.peek() {
            TokenKind::Number(_) => self.integer()?.to_string(),
            _ => {
                self.expect("unbounded")?;
                "UNBOUNDED".into()
            }
        };
        if self.accept("preceding") {
            return Ok(distance + " PRECEDING");
        }
        self.expect("following")?;
        Ok(distance + " FOLLOWING")
    }
}
