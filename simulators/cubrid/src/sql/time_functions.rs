//! The types of functions of times.

use super::ast::*;
use super::compile::{Compiler, Form, Typed};
use super::functions::{constant_length, text_type};
use super::{literal, print};
use crate::errors::{Error, Result};
use crate::limits::STRING;
use crate::types::code::*;
use crate::types::{Family, Type};

impl Compiler<'_> {
    pub(super) fn time_function(&mut self, name: &str, mut arguments: Vec<Typed>, call: &Call) -> Result<Typed> {
        if arguments.is_empty() {
            let text = print::expression(&Expr::Call(Box::new(call.clone())));
            return Err(Error::semantic(format!("Function {name} is undefined. select {text}")));
        }
        let zone = literal(&self.catalog.zone());
        let first = arguments[0].ty.clone();
        let int = Type::of(INT);
        let fields = ["year", "month", "day", "hour", "minute", "second", "quarter", "week", "weekday"];
        let (sql, ty) = match name {
            _ if fields.contains(&name) || matches!(name, "dayofmonth" | "dayofweek" | "dayofyear") => {
                let mode = arguments.get(1).map_or("0", |mode| mode.sql.trim_matches(['(', ')']));
                let unit = match name {
                    "dayofmonth" => "day",
                    "week" => &format!("week{mode}"),
                    _ => name,
                };
                let clock = matches!(name, "hour" | "minute" | "second");
                let value = arguments.remove(0);
                let text = value.ty.is_text();
                let value = self.as_time(value, if clock && text { TIME } else { DATETIME })?;
                (format!("cub_extract({}, {value})", literal(unit)), int)
            }
            "to_char" if first.family() == Family::Time || first.is_number() => {
                let format = arguments.get(1).map(|value| value.sql.clone()).unwrap_or_else(|| "NULL".into());
                let tag = literal(&crate::convert::tag(&first));
                let length = constant_length(name, &arguments);
                (format!("cub_to_char({}, {format}, {tag})", arguments[0].sql), text_type(length))
            }
            "to_char" => (self.as_type(arguments.remove(0), &text_type(STRING))?, text_type(STRING)),
            "date_format" | "time_format" => {
                let format = arguments.remove(1);
                let value = arguments.remove(0);
                let value = self.as_time(value, if name == "date_format" { DATETIME } else { TIME })?;
                (format!("cub_date_format({value}, {})", format.sql), text_type(STRING))
            }
            "to_date" | "to_time" | "to_timestamp" | "to_datetime" | "str_to_date" => {
                let code = match name {
                    "to_date" => DATE,
                    "to_time" => TIME,
                    "to_timestamp" => TIMESTAMP,
                    "to_datetime" => DATETIME,
                    _ => DATE,
                };
                let format = arguments.get(1).map(|value| value.sql.clone()).unwrap_or_else(|| "NULL".into());
                let percent = u8::from(name == "str_to_date");
                let ty = match (&arguments.get(1).map(|value| &value.form), percent) {
                    (Some(Form::Literal(rusqlite::types::Value::Text(text), _)), 1)
                        if ["%H", "%i", "%s", "%T"].iter().any(|part| text.contains(part)) =>
                    {
                        DATETIME
                    }
                    _ => code,
                };
                let value = self.as_type(arguments.remove(0), &text_type(STRING))?;
                (format!("cub_from_text({value}, {format}, {ty}, {percent})"), Type::of(ty))
            }
            "to_number" => {
                let value = self.as_type(arguments.remove(0), &text_type(STRING))?;
                (format!("cub_to_number({value})"), Type::numeric(38, 9))
            }
            "date" | "time" if first.is_text() => {
                let value = arguments.remove(0);
                let value = self.as_time(value, DATETIME)?;
                let sql = match name {
                    "date" => {
                        let (from, to) = (Type::of(DATE), text_type(STRING));
                        super::compile::cast(
                            &format!("cub_part({value}, {DATE})"),
                            &from,
                            &to,
                            crate::convert::Mode::Cast,
                        )
                    }
                    _ => format!("cub_part({value}, {TIME})"),
                };
                (sql, text_type(STRING))
            }
            "date" | "time" | "timestamp" => {
                let code = match name {
                    "date" => DATE,
                    "time" => TIME,
                    _ => TIMESTAMP,
                };
                let value = arguments.remove(0);
                let value = if value.ty.family() == Family::Time { value.sql } else { self.as_time(value, DATETIME)? };
                let ty = if name == "timestamp" { DATETIME } else { code };
                (format!("cub_part({value}, {ty})"), Type::of(ty))
            }
            "datediff" | "timediff" => {
                let (left, right) = (arguments.remove(0), arguments.remove(0));
                let kind = if name == "datediff" { DATETIME } else { TIME };
                let (left, right) = (self.as_time(left, kind)?, self.as_time(right, kind)?);
                (format!("cub_{name}({left}, {right})"), if name == "datediff" { int } else { Type::of(TIME) })
            }
            "last_day" | "to_days" => {
                let value = arguments.remove(0);
                let value = self.as_time(value, DATE)?;
                (format!("cub_{name}({value})"), if name == "to_days" { int } else { Type::of(DATE) })
            }
            "add_months" => {
                let months = arguments.remove(1);
                let months = self.as_type(months, &text_type(STRING))?;
                let value = arguments.remove(0);
                let value = self.as_time(value, DATE)?;
                (format!("cub_interval({value}, {months}, 'month', 1, {DATE})"), Type::of(DATE))
            }
            "unix_timestamp" => {
                let value = arguments.remove(0);
                let value = self.as_time(value, TIMESTAMP)?;
                (format!("cub_unix({value}, {zone})"), int)
            }
            "from_unixtime" => {
                let value = self.as_type(arguments.remove(0), &Type::of(BIGINT))?;
                (format!("cub_from_unix({value}, {zone})"), Type::of(TIMESTAMP))
            }
            "new_time" if arguments.len() == 3 && first.code != TIME => {
                let [to, from] = [2, 1].map(|at| self.as_type(arguments.remove(at), &text_type(STRING)));
                let value = self.coerce(arguments.remove(0), &Type::of(DATETIME), crate::convert::Mode::Compare)?;
                (format!("cub_new_time({value}, {}, {})", from?, to?), Type::of(DATETIME))
            }
            "time_to_sec" => {
                let value = arguments.remove(0);
                let value = self.as_time(value, TIME)?;
                (format!("cub_time_to_sec({value})"), int)
            }
            _ => {
                let text = print::expression(&Expr::Call(Box::new(call.clone())));
                return Err(Error::semantic(format!("Function {name} is undefined. select {text}")));
            }
        };
        Ok(Typed::computed(sql, ty))
    }
}
