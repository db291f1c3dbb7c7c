//! The types of comparisons.

use super::ast::*;
use super::compile::{Compiler, Form, Typed, collation, common, truth_type};
use super::values::{late, marker_type, untyped};
use crate::convert::Mode;
use crate::errors::{Error, Result};
use crate::types::code::*;
use crate::types::{Family, Type};

impl Compiler<'_> {
    /// Two values compared, in SQLite's SQL.
    pub(super) fn compare(&mut self, operator: &str, left: Typed, right: Typed) -> Result<String> {
        self.compare_beside(Beside::Operator, operator, left, right)
    }

    /// Two values compared that stand beside an operator, or in a part of one.
    pub(super) fn compare_beside(
        &mut self,
        beside: Beside,
        operator: &str,
        mut left: Typed,
        mut right: Typed,
    ) -> Result<String> {
        use Family::*;
        let word = if operator == "<=>" { "IS" } else { operator };
        let unknown = |side: &Typed| side.ty.family() == Unknown;
        let is_parameter = |side: &Typed| matches!(side.form, Form::Parameter(_));
        // The other side says what a marker is compared with, whatever is bound to it; two markers are what is bound.
        if (is_parameter(&left) && is_parameter(&right)) || beside == Beside::List {
            (left, right) = (late(left), late(right));
            self.open |= unknown(&left) || unknown(&right);
        } else {
            (left, right) = (untyped(left), untyped(right));
        }
        match (&left.form, &right.form) {
            (_, Form::Parameter(_)) if !unknown(&left) => {
                let ty = left.ty.clone();
                let sql = self.coerce(right, &marker_type(&ty), Mode::Compare)?;
                return Ok(compared(&left.sql, word, &sql, &ty, &left.form));
            }
            (Form::Parameter(_), _) if !unknown(&right) => {
                let ty = right.ty.clone();
                let sql = self.coerce(left, &marker_type(&ty), Mode::Compare)?;
                return Ok(compared(&sql, word, &right.sql, &ty, &right.form));
            }
            _ => {}
        }
        if unknown(&left) || unknown(&right) {
            return Ok(format!("({} {word} {})", left.sql, right.sql));
        }
        let (l, r) = (left.ty.family(), right.ty.family());
        if (l, r) == (Time, Time) && (left.ty.code == TIME) != (right.ty.code == TIME) {
            return Err(not_comparable(beside, operator, &left.ty, &right.ty));
        }
        let ty = match (l, r) {
            (Integer | Real, Integer | Real) => Type::of(DOUBLE),
            (Numeric, Numeric) => left.ty.clone(),
            (Numeric, Integer) | (Integer, Numeric) => {
                return Ok(format!("(cub_compare({}, {}) {word} 0)", left.sql, right.sql));
            }
            (Numeric, Real) | (Real, Numeric) => {
                return Ok(format!("(cub_compare({}, {}) {word} 0)", left.sql, right.sql));
            }
            (Text, Text) => {
                let form = if left.form == Form::Column { &left.form } else { &Form::Computed };
                return Ok(compared(&left.sql, word, &right.sql, &left.ty, form));
            }
            (Text, Integer | Numeric | Real) | (Integer | Numeric | Real, Text) => {
                let number = if l == Text { right.ty.clone() } else { left.ty.clone() };
                // The literal gets the type of the column beside these operators alone.
                let literal_text =
                    l == Text && is_beside_column(&left, &right) || r == Text && is_beside_column(&right, &left);
                let converts = beside == Beside::Operator && matches!(operator, "=" | "<" | "<=" | ">" | ">=");
                if literal_text && converts && number.family() == Integer { number } else { Type::of(DOUBLE) }
            }
            (Time, Time) if left.ty.code == right.ty.code => left.ty.clone(),
            // A literal beside a column gets the column's type, as a marker does.
            (Time, Time) if beside.types_literals() && is_beside_column(&right, &left) => left.ty.clone(),
            (Time, Time) if beside.types_literals() && is_beside_column(&left, &right) => right.ty.clone(),
            (Text, Time) => right.ty.clone(),
            (Time, Text) => left.ty.clone(),
            _ => common(&left.ty, &right.ty),
        };
        for side in [&mut left, &mut right] {
            let number = matches!(side.ty.family(), Integer | Real) && ty.code == DOUBLE;
            if side.ty != ty && !number {
                let sql = self.coerce(side.clone(), &ty, Mode::Compare)?;
                *side = Typed::computed(sql, ty.clone());
            }
        }
        // A column that is converted has lost its collation.
        Ok(compared(&left.sql, word, &right.sql, &ty, &left.form))
    }

    pub(super) fn membership(&mut self, inner: &Expr, not: bool, all: &[Expr]) -> Result<Typed> {
        let not = if not { "NOT " } else { "" };
        if let Expr::Row(items) = inner {
            let mut tests = Vec::new();
            for row in all {
                let Expr::Row(values) = row else { return Err(Error::semantic("Context requires rows. ")) };
                let mut parts = Vec::new();
                for (item, value) in items.iter().zip(values) {
                    let (left, right) = (self.expression(item)?, self.expression(value)?);
                    let beside = if all.len() > 1 { Beside::List } else { Beside::Operator };
                    parts.push(self.compare_beside(beside, "=", left, right)?);
                }
                tests.push(format!("({})", parts.join(" AND ")));
            }
            return Ok(Typed::computed(format!("({not}({}))", tests.join(" OR ")), truth_type()));
        }
        let left = self.expression(inner)?;
        if let [only] = all
            && let Ok(right) = self.expression(only)
            && right.ty.family() == Family::Collection
        {
            let sql = format!("({not}cub_member({}, {}))", left.sql, right.sql);
            return Ok(Typed::computed(sql, truth_type()));
        }
        if let [only] = all {
            let right = self.expression(only)?;
            let operator = if not.is_empty() { "=" } else { "<>" };
            return Ok(Typed::computed(self.compare(operator, left, right)?, truth_type()));
        }
        let mut tests = Vec::new();
        // Several values are a set, whose elements keep their types. With NULL among them it is none.
        let is_set = !all.iter().any(|value| matches!(value, Expr::Null)) && !matches!(left.form, Form::Parameter(_));
        for value in all {
            let right = self.expression(value)?;
            let beside = if is_set { Beside::List } else { Beside::Operator };
            tests.push(self.compare_beside(beside, "=", left.clone(), right)?);
        }
        Ok(Typed::computed(format!("({not}({}))", any_of(&tests)), truth_type()))
    }

    pub(super) fn membership_of_query(&mut self, inner: &Expr, not: bool, query: &Query) -> Result<Typed> {
        let not_word = if not { "NOT " } else { "" };
        let (sql, columns) = self.query(query)?;
        if let Expr::Row(items) = inner {
            let mut parts = Vec::new();
            for (index, item) in items.iter().enumerate() {
                let left = self.expression(item)?;
                let ty = columns.get(index).map_or_else(Type::unknown, |column| column.ty.clone());
                parts.push(self.compare("=", left, Typed::computed(format!("cub_each.c{index}"), ty))?);
            }
            let names: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
            let sql = format!(
                "({not_word}EXISTS (WITH cub_each({}) AS ({sql}) SELECT 1 FROM cub_each WHERE {}))",
                names.join(", "),
                parts.join(" AND ")
            );
            return Ok(Typed::computed(sql, truth_type()));
        }
        let left = self.expression(inner)?;
        let ty = columns.first().map_or_else(Type::unknown, |column| column.ty.clone());
        let plain = left.ty.family() == ty.family() && matches!(ty.family(), Family::Integer | Family::Real);
        if plain {
            return Ok(Typed::computed(format!("({} {not_word}IN ({sql}))", left.sql), truth_type()));
        }
        let test = self.compare("=", left, Typed::computed("cub_each.c".into(), ty))?;
        let sql = format!(
            "({not_word}(WITH cub_each(c) AS ({sql}) SELECT CASE WHEN max({test}) = 1 THEN 1 \
             WHEN count({test}) < count(*) THEN NULL ELSE 0 END FROM cub_each))"
        );
        Ok(Typed::computed(sql, truth_type()))
    }
}

/// What a comparison is part of. It says whether a value gets the type of the column that it is compared with.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Beside {
    /// One of the comparison operators, or IN with one value.
    Operator,
    Between,
    NotBetween,
    /// IN with several values.
    List,
}

impl Beside {
    /// True if a literal of a time gets the type of the column.
    fn types_literals(self) -> bool {
        matches!(self, Self::Operator | Self::Between)
    }
}

/// True for a literal beside a column.
fn is_beside_column(value: &Typed, other: &Typed) -> bool {
    other.form == Form::Column && matches!(value.form, Form::Literal(..))
}

/// A TIME compared with a date.
fn not_comparable(beside: Beside, operator: &str, left: &Type, right: &Type) -> Error {
    let operator = match beside {
        Beside::List => return Error::coerce(left.long_name(), right.long_name()),
        Beside::Operator => operator,
        Beside::Between => " between ",
        Beside::NotBetween => " not between ",
    };
    let (left, right) = (left.long_name(), right.long_name());
    Error::semantic(format!("before ' '\n'{operator}' operator is not defined on types {left} and {right}. "))
}

fn compared(left: &str, word: &str, right: &str, ty: &Type, form: &Form) -> String {
    let collate = if *form == Form::Column { "" } else { collation(ty) };
    format!("({left}{collate} {word} {right})")
}

pub(super) fn set_word(operator: &str) -> &'static str {
    match operator {
        "+" => "plus",
        "-" => "minus",
        _ => "times",
    }
}

/// The OR of all tests, which is no deeper than it has to be: SQLite takes a depth of 1000.
fn any_of(tests: &[String]) -> String {
    match tests {
        [] => "0".into(),
        [only] => only.clone(),
        _ => {
            let (left, right) = tests.split_at(tests.len() / 2);
            format!("({} OR {})", any_of(left), any_of(right))
        }
    }
}
