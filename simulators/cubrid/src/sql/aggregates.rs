//! The types of aggregate and window functions.

use super::ast::*;
use super::compile::{Compiler, Typed, collation};
use super::functions::text_type;
use crate::errors::{Error, Result};
use crate::limits::STRING;
use crate::types::code::*;
use crate::types::{Family, Type};

impl Compiler<'_> {
    fn window(&mut self, call: &Call) -> Result<String> {
        let Some(window) = &call.over else { return Ok(String::new()) };
        let mut partition = Vec::new();
        for value in &window.partition {
            let value = self.expression(value)?;
            partition.push(format!("{}{}", value.sql, collation(&value.ty)));
        }
        let order = self.ordered(&window.order)?;
        let partition =
            if partition.is_empty() { String::new() } else { format!("PARTITION BY {} ", partition.join(", ")) };
        Ok(format!(" OVER ({partition}{order})"))
    }

    fn ordered(&mut self, items: &[Order]) -> Result<String> {
        let mut by = Vec::new();
        for item in items {
            let value = self.expression(&item.value)?;
            let direction = if item.descending { " DESC" } else { "" };
            by.push(format!("{}{}{direction}", value.sql, collation(&value.ty)));
        }
        Ok(if by.is_empty() { String::new() } else { format!("ORDER BY {}", by.join(", ")) })
    }

    pub(super) fn aggregate(&mut self, call: &Call) -> Result<Option<Typed>> {
        let name = call.name.as_str();
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let ranking = matches!(
            name,
            "row_number"
                | "rank"
                | "dense_rank"
                | "percent_rank"
                | "cume_dist"
                | "ntile"
                | "lead"
                | "lag"
                | "first_value"
                | "last_value"
                | "nth_value"
        );
        if ranking {
            let over = self.window(call)?;
            let mut arguments = Vec::new();
            let mut ty = Type::of(if matches!(name, "percent_rank" | "cume_dist") { DOUBLE } else { INT });
            for (index, argument) in call.arguments.iter().enumerate() {
                let value = self.expression(argument)?;
                if index == 0 && name != "ntile" {
                    ty = value.ty.clone();
                }
                arguments.push(value.sql);
            }
            return Ok(Some(Typed::computed(format!("{name}({}){over}", arguments.join(", ")), ty)));
        }
        if call.star {
            if name != "count" {
                return Err(Error::syntax("syntax error, unexpected '*' "));
            }
            let over = self.window(call)?;
            return Ok(Some(Typed::computed(format!("count(*){over}"), Type::of(BIGINT))));
        }
        const NAMES: [&str; 16] = [
            "count",
            "sum",
            "avg",
            "min",
            "max",
            "stddev",
            "stddev_pop",
            "stddev_samp",
            "variance",
            "var_pop",
            "var_samp",
            "group_concat",
            "median",
            "bit_and",
            "json_arrayagg",
            "bit_or",
        ];
        if !NAMES.contains(&name) || (call.arguments.len() != 1 && name != "group_concat") {
            return Ok(None);
        }
        let value = self.expression(&call.arguments[0])?;
        let over = self.window(call)?;
        let (sql, own) = (value.sql.clone(), value.ty.clone());
        let collate = collation(&own);
        let double = Type::of(DOUBLE);
        let (sql, ty) = match name {
            "count" => (format!("count({distinct}{sql}{collate})"), Type::of(BIGINT)),
            "min" | "max" => (format!("{name}({sql}{collate})"), own),
            "group_concat" => {
                let text = self.as_type(value, &text_type(STRING))?;
                let separator = match &call.separator {
                    Some(separator) => format!(", {}", self.expression(separator)?.sql),
                    None if call.distinct => String::new(),
                    None => ", ','".into(),
                };
                let order = self.ordered(&call.order)?;
                (format!("group_concat({distinct}{text}{separator} {order})"), text_type(-1))
            }
            "sum" | "avg" => match own.family() {
                Family::Numeric => {
                    let ty = if name == "avg" { double } else { Type { precision: 38, ..own } };
                    (format!("cub_{name}({distinct}{sql})"), ty)
                }
                Family::Integer | Family::Real if name == "sum" => (format!("sum({distinct}{sql})"), own),
                Family::Integer | Family::Real => (format!("avg({distinct}{sql})"), double),
                Family::Collection | Family::Bits | Family::Lob | Family::Json | Family::Time => {
                    return Err(Error::semantic(format!(
                        "'{name}' operator is not defined on type {}. ",
                        own.long_name()
                    )));
                }
                _ => (format!("{name}({distinct}{})", self.as_type(value, &double)?), double),
            },
            "bit_and" | "bit_or" | "median" => {
                return Err(Error::semantic(format!("Function {name} is undefined. ")));
            }
            "json_arrayagg" => (format!("json_group_array({sql})"), Type::of(JSON)),
            _ => (format!("cub_{name}({distinct}CAST({sql} AS REAL))"), double),
        };
        Ok(Some(Typed::computed(format!("{sql}{over}"), ty)))
    }
}
