//! The types of functions.

use super::ast::*;
use super::compile::{Compiler, Form, Typed, collation};
use super::values::{is_null, late, untyped};
use super::{literal, print, quote};
use crate::errors::{Error, Result};
use crate::limits::STRING;
use crate::types::code::*;
use crate::types::{Family, Type};

/// Functions whose type the server decides when it executes them, if something is bound to an argument.
const LATE: [&str; 17] = [
    "abs", "ceil", "floor", "round", "trunc", "truncate", "mod", "coalesce", "ifnull", "nvl", "nvl2", "nullif",
    "least", "greatest", "to_char", "hex", "ascii",
];

pub(super) fn text_type(precision: i32) -> Type {
    Type::sized(VARCHAR, precision)
}

impl Compiler<'_> {
    pub(super) fn call(&mut self, call: &Call) -> Result<Typed> {
        if call.bare && call.name == "user" {
            return Ok(Typed::computed("cub_session('user')".into(), text_type(STRING)));
        }
        if (call.bare || (call.arguments.is_empty() && !call.star))
            && let Some(found) = self.constant(&call.name)
        {
            return Ok(found);
        }
        let name = call.name.as_str();
        if let Some(done) = self.aggregate(call)? {
            return Ok(done);
        }
        if let Some(done) = self.special(name, &call.arguments)? {
            return Ok(done);
        }
        if let ("if", Some(test)) = (name, call.arguments.first()) {
            self.truth(test)?;
        }
        let mut arguments = Vec::new();
        for argument in &call.arguments {
            arguments.push(self.expression(argument)?);
        }
        self.plain(name, arguments, call)
    }

    fn constant(&mut self, name: &str) -> Option<Typed> {
        let zone = literal(&self.catalog.zone());
        let clock = |ty: u8| Typed::computed(format!("cub_now({ty}, {zone})"), Type::of(ty));
        Some(match name {
            "sysdate" | "sys_date" | "current_date" | "curdate" => clock(DATE),
            "systime" | "sys_time" | "current_time" | "curtime" => clock(TIME),
            "systimestamp" | "sys_timestamp" | "current_timestamp" | "localtime" | "localtimestamp" => clock(TIMESTAMP),
            "sysdatetime" | "sys_datetime" | "current_datetime" | "now" => clock(DATETIME),
            "unix_timestamp" => Typed::computed("cub_unix()".into(), Type::of(INT)),
            "current_user" | "session_user" => Typed::computed("cub_session('user')".into(), text_type(STRING)),
            "user" | "system_user" => Typed::computed("cub_session('user@host')".into(), text_type(STRING)),
            "database" => Typed::computed("cub_session('database')".into(), text_type(STRING)),
            "version" => Typed::computed("cub_session('version')".into(), text_type(16)),
            "dbtimezone" | "sessiontimezone" => Typed::computed(zone, text_type(STRING)),
            "last_insert_id" => Typed::computed("cub_session('last')".into(), Type::numeric(38, 0)),
            "row_count" => Typed::computed("cub_session('rows')".into(), Type::of(INT)),
            "rownum" | "inst_num" => Typed::computed("(row_number() OVER ())".into(), Type::of(BIGINT)),
            "pi" => Typed::computed("3.141592653589793e0".into(), Type::of(DOUBLE)),
            "rand" | "random" => Typed::computed("abs(random() % 2147483647)".into(), Type::of(INT)),
            "drand" | "drandom" => {
                Typed::computed("(abs(random() % 1000000007) / 1000000007.0)".into(), Type::of(DOUBLE))
            }
            "sys_guid" => Typed::computed("upper(hex(randomblob(16)))".into(), text_type(32)),
            _ => return None,
        })
    }

    /// Functions whose arguments are not all values.
    fn special(&mut self, name: &str, arguments: &[Expr]) -> Result<Option<Typed>> {
        match (name, arguments) {
            ("date_add" | "adddate" | "date_sub" | "subdate", [date, Expr::Interval(count, unit)]) => {
                let date = untyped(self.expression(date)?);
                let ty = match (date.ty.code, unit.as_str()) {
                    (DATE, "day" | "week" | "month" | "quarter" | "year" | "year_month") => Type::of(DATE),
                    (DATE, _) => Type::of(DATETIME),
                    (TIMESTAMP, _) => Type::of(TIMESTAMP),
                    (TIME, _) => Type::of(TIME),
                    (_, _) if date.ty.family() == Family::Text => text_type(STRING),
                    _ => Type::of(DATETIME),
                };
                let kind = if ty.code == VARCHAR { DATETIME } else { ty.code };
                let date = self.as_time(date, DATETIME)?;
                let count = untyped(self.expression(count)?);
                let count = self.as_type(count, &text_type(STRING))?;
                let sign = if name.ends_with("add") || name == "adddate" { 1 } else { -1 };
                let sql = format!("cub_interval({date}, {count}, {}, {sign}, {kind})", literal(unit));
                Ok(Some(Typed::computed(sql, ty)))
            }
            ("date_add" | "adddate" | "date_sub" | "subdate", [date, days]) => {
                let date = untyped(self.expression(date)?);
                let ty = if date.ty.family() == Family::Time { date.ty.clone() } else { Type::of(DATE) };
                let date = self.as_time(date, DATE)?;
                let days = untyped(self.expression(days)?);
                let days = self.as_type(days, &text_type(STRING))?;
                let sign = if name.ends_with("add") || name == "adddate" { 1 } else { -1 };
                let sql = format!("cub_interval({date}, {days}, 'day', {sign}, {})", ty.code);
                Ok(Some(Typed::computed(sql, ty)))
            }
            ("default", [Expr::Name(table, name)]) => {
                let column = self.name(table.as_deref(), name)?;
                let text = column.meta.and_then(|meta| meta.default).unwrap_or_else(|| "NULL".into());
                let mut parser = super::Parser::new(&text, super::tokenize(&text)?);
                let value = parser.expression()?;
                Ok(Some(self.expression(&value)?))
            }
            ("values", [Expr::Name(None, name)]) => {
                let column = self.name(None, name)?;
                Ok(Some(Typed::computed(format!("excluded.{}", quote(name)), column.ty)))
            }
            ("serial_next_value" | "serial_current_value", [Expr::Text(serial), ..]) => {
                if !self.catalog.serial(serial) {
                    return Err(Error::semantic(format!("Serial 'dba.{serial}' not defined. ")));
                }
                let step = match arguments.get(1) {
                    Some(count) => self.expression(count)?.sql,
                    None => "1".into(),
                };
                let sql = format!("cub_{name}({}, {step})", literal(serial));
                Ok(Some(Typed::computed(sql, Type::numeric(15, 0))))
            }
            ("serial_next_value" | "serial_current_value", [Expr::Name(_, serial), rest @ ..]) => {
                let mut all = vec![Expr::Text(serial.clone())];
                all.extend(rest.iter().cloned());
                self.special(name, &all)
            }
            _ => Ok(None),
        }
    }

    fn texts(&mut self, arguments: Vec<Typed>) -> Result<Vec<String>> {
        let text = text_type(STRING);
        arguments.into_iter().map(|value| self.as_type(value, &text)).collect()
    }

    fn plain(&mut self, name: &str, mut arguments: Vec<Typed>, call: &Call) -> Result<Typed> {
        let is_late = LATE.contains(&name);
        arguments = arguments.into_iter().map(if is_late { late } else { untyped }).collect();
        let unknown = |value: &Typed| value.ty.family() == Family::Unknown && !is_null(value);
        if is_late && !self.has_values() && arguments.iter().any(unknown) {
            self.open = true;
            return Ok(Typed::computed("NULL".into(), Type::unknown()));
        }
        let count = arguments.len();
        let first = arguments.first().map_or_else(Type::unknown, |value| value.ty.clone());
        let first_text = if first.is_text() && first.precision >= 0 { first.precision } else { STRING };
        let constant = constant_length(name, &arguments);
        let (int, double, big) = (Type::of(INT), Type::of(DOUBLE), Type::of(BIGINT));
        let own = |sql: String, ty: Type| Ok(Typed::computed(sql, ty));
        let arity = |least: usize, most: usize| (least..=most).contains(&count);
        let undefined = || {
            let text = print::expression(&Expr::Call(Box::new(call.clone())));
            Err(Error::semantic(format!("Function {name} is undefined. select {text}")))
        };
        match name {
            "abs" | "floor" | "ceil" | "sign" | "round" | "trunc" | "truncate" if arity(1, 2) => {
                let ty = match (name, first.family()) {
                    ("sign", _) => int,
                    ("floor" | "ceil", Family::Numeric) => first.clone(),
                    (_, Family::Integer | Family::Real | Family::Numeric) => first.clone(),
                    _ => double,
                };
                if matches!(first.family(), Family::Time) {
                    return undefined();
                }
                let digits = if count == 2 { arguments.remove(1).sql } else { "0".into() };
                let value = arguments.remove(0);
                let value = if value.ty.is_number() { value.sql } else { self.as_type(value, &Type::of(DOUBLE))? };
                let scale = if ty.family() == Family::Numeric { ty.scale } else { -1 };
                own(format!("cub_round({}, {value}, {digits}, {scale})", literal(name)), ty)
            }
            "sqrt" | "exp" | "ln" | "log2" | "log10" | "sin" | "cos" | "tan" | "cot" | "asin" | "acos" | "atan"
            | "atan2" | "degrees" | "radians" | "power" | "log"
                if arity(1, 2) =>
            {
                let mut sqls = vec![literal(name)];
                for value in arguments {
                    let sql = if value.ty.family() == Family::Numeric {
                        format!("CAST({} AS REAL)", value.sql)
                    } else {
                        self.as_type(value, &double)?
                    };
                    sqls.push(sql);
                }
                own(format!("cub_math({})", sqls.join(", ")), double)
            }
            "mod" if arity(2, 2) => {
                let right = arguments.remove(1);
                self.arithmetic("%", arguments.remove(0), right)
            }
            "rand" | "random" | "drand" | "drandom" => {
                own("abs(random() % 2147483647)".into(), if name.starts_with('d') { double } else { int })
            }
            "upper" | "lower" if arity(1, 1) => {
                let sqls = self.texts(arguments)?;
                own(format!("cub_{name}({})", sqls[0]), if first.is_text() { first } else { text_type(STRING) })
            }
            "char_length" if arity(1, 1) => {
                if matches!(first.family(), Family::Bits) {
                    return own(format!("length({})", arguments[0].sql), int);
                }
                let sqls = self.texts(arguments)?;
                own(format!("length({})", sqls[0]), int)
            }
            "octet_length" | "bit_length" | "lengthb" if arity(1, 1) => {
                let factor = if name == "bit_length" { 8 } else { 1 };
                let value = arguments.remove(0);
                if first.family() == Family::Bits {
                    return own(format!("(length({}) * {factor})", value.sql), int);
                }
                let value = self.as_type(value, &text_type(STRING))?;
                own(format!("(length(CAST({value} AS BLOB)) * {factor})"), int)
            }
            "concat" if count > 0 => {
                let sqls = self.texts(arguments)?;
                own(format!("({})", sqls.join(" || ")), text_type(STRING))
            }
            "concat_ws" if count > 1 => {
                let sqls = self.texts(arguments)?;
                own(format!("cub_concat_ws({})", sqls.join(", ")), text_type(STRING))
            }
            "substr" | "substring" | "mid" if arity(2, 3) => {
                let from_literal = if matches!(arguments[0].form, Form::Literal(..)) { STRING } else { -1 };
                let mut rest = Vec::new();
                for value in arguments.split_off(1) {
                    rest.push(self.as_type(value, &int)?);
                }
                let text = self.texts(arguments)?;
                let ty = if name == "substring" { text_type(first_text) } else { text_type(from_literal) };
                own(format!("cub_substr({}, {})", text[0], rest.join(", ")), ty)
            }
            "left" | "right" if arity(2, 2) => {
                let number = arguments.remove(1);
                let number = self.as_type(number, &int)?;
                let text = self.texts(arguments)?;
                own(format!("cub_{name}({}, {number})", text[0]), text_type(STRING))
            }
            "lpad" | "rpad" if arity(2, 3) => {
                let number = arguments.remove(1);
                let number = self.as_type(number, &int)?;
                let sqls = self.texts(arguments)?;
                let fill = sqls.get(1).cloned().unwrap_or_else(|| "' '".into());
                own(format!("cub_pad({}, {number}, {fill}, '{}')", sqls[0], &name[..1]), text_type(constant))
            }
            "trim" | "ltrim" | "rtrim" if arity(1, 2) => {
                let side = match (name, call.word) {
                    ("ltrim", _) | (_, "leading") => "l",
                    ("rtrim", _) | (_, "trailing") => "r",
                    _ => "b",
                };
                let sqls = self.texts(arguments)?;
                let sought = sqls.get(1).cloned().unwrap_or_else(|| "' '".into());
                own(format!("cub_trim({}, {sought}, '{side}')", sqls[0]), text_type(first_text))
            }
            "replace" | "translate" if arity(2, 3) => {
                let mut sqls = self.texts(arguments)?;
                if sqls.len() == 2 {
                    sqls.push("''".into());
                }
                own(format!("cub_{name}({})", sqls.join(", ")), text_type(constant))
            }
            "position" | "instr" | "locate" if arity(2, 3) => {
                let from = if count == 3 { Some(arguments.remove(2)) } else { None };
                let from = match from {
                    Some(from) => self.as_type(from, &int)?,
                    None => "1".into(),
                };
                let sqls = self.texts(arguments)?;
                let (text, sought) = if name == "instr" { (&sqls[0], &sqls[1]) } else { (&sqls[1], &sqls[0]) };
                own(format!("cub_find({text}, {sought}, {from})"), int)
            }
            "reverse" | "md5" | "sha1" | "hex" | "to_base64" | "quote" if arity(1, 1) => {
                if !matches!(name, "reverse" | "hex") {
                    return undefined();
                }
                let raw = name == "hex" && first.family() == Family::Integer;
                let sql = if raw { arguments.remove(0).sql } else { self.texts(arguments)?.remove(0) };
                own(format!("cub_{name}({sql})"), text_type(STRING))
            }
            "bin" | "space" | "chr" if arity(1, 1) => {
                let value = self.as_type(arguments.remove(0), &big)?;
                own(format!("cub_{name}({value})"), text_type(constant))
            }
            "ascii" | "ord" if arity(1, 1) => {
                let sqls = self.texts(arguments)?;
                own(format!("cub_ascii({})", sqls[0]), Type::of(SHORT))
            }
            "strcmp" if arity(2, 2) => {
                let sqls = self.texts(arguments)?;
                own(format!("(({0} COLLATE RTRIM > {1}) - ({0} COLLATE RTRIM < {1}))", sqls[0], sqls[1]), int)
            }
            "repeat" if arity(2, 2) => {
                let number = arguments.remove(1);
                let number = self.as_type(number, &int)?;
                let text = self.texts(arguments)?;
                own(format!("cub_repeat({}, {number})", text[0]), text_type(constant))
            }
            "coalesce" | "nvl" | "ifnull" | "greatest" | "least" if count > 0 => {
                let word = match name {
                    "greatest" => "max",
                    "least" => "min",
                    _ => "coalesce",
                };
                let (sqls, ty) = self.unified(arguments)?;
                let ty = if ty.code == CHAR { text_type(STRING) } else { ty };
                if sqls.len() == 1 {
                    return own(sqls[0].clone(), ty);
                }
                let collate = collation(&ty);
                own(format!("{word}({}{collate})", sqls.join(&format!("{collate}, "))), ty)
            }
            "nvl2" | "if" if arity(3, 3) => {
                let test = arguments.remove(0);
                let test = if name == "if" { test.sql } else { format!("{} IS NOT NULL", test.sql) };
                let (sqls, ty) = if name == "if" { self.results(arguments)? } else { self.unified(arguments)? };
                let ty = if ty.code == CHAR { text_type(STRING) } else { ty };
                own(format!("(CASE WHEN {test} THEN {} ELSE {} END)", sqls[0], sqls[1]), ty)
            }
            "nullif" if arity(2, 2) => {
                let (left, right) = (arguments[0].clone(), arguments[1].clone());
                let test = self.compare("=", left, right)?;
                own(format!("(CASE WHEN {test} THEN NULL ELSE {} END)", arguments[0].sql), first)
            }
            "isnull" if arity(1, 1) => own(format!("({} IS NULL)", arguments[0].sql), int),
            "decode" if count >= 3 => self.decode(arguments),
            "field" | "elt" if count >= 2 => undefined(),
            "cardinality" if arity(1, 1) => own(format!("cub_cardinality({})", arguments[0].sql), int),
            "to_char" | "to_date" | "to_time" | "to_timestamp" | "to_datetime" | "to_number" | "date_format"
            | "time_format" | "str_to_date" | "date" | "time" | "timestamp" | "year" | "month" | "day"
            | "dayofmonth" | "hour" | "minute" | "second" | "quarter" | "week" | "weekday" | "dayofweek"
            | "dayofyear" | "datediff" | "timediff" | "last_day" | "add_months" | "months_between" | "to_days"
            | "from_days" | "unix_timestamp" | "from_unixtime" | "makedate" | "maketime" | "from_tz" | "new_time"
            | "sec_to_time" | "time_to_sec" => self.time_function(name, arguments, call),
            "char_to_clob" | "char_to_blob" | "bit_to_blob" if arity(1, 1) => {
                let clob = name == "char_to_clob";
                let value = arguments.remove(0);
                let value = match (name, value.ty.family()) {
                    ("bit_to_blob", Family::Bits) => value.sql,
                    ("bit_to_blob", _) => self.as_type(value, &Type::of(VARBIT))?,
                    _ => self.as_type(value, &text_type(STRING))?,
                };
                let code = if clob { CLOB } else { BLOB };
                own(format!("cub_new_lob({code}, {value})"), Type::of(code))
            }
            "clob_to_char" | "blob_to_bit" | "clob_length" | "blob_length" if arity(1, 1) => {
                let ty = match name {
                    "clob_to_char" => text_type(STRING),
                    "blob_to_bit" => Type::of(VARBIT),
                    _ => big,
                };
                own(format!("cub_{name}({})", arguments[0].sql), ty)
            }
            "json_extract" | "json_object" | "json_array" | "json_type" | "json_valid" | "json_length"
            | "json_keys" | "json_unquote" | "json_set" | "json_insert" | "json_replace" | "json_remove"
            | "json_depth" | "json_contains" | "json_contains_path" | "json_pretty" | "json_quote" | "json_merge" => {
                self.json(name, arguments)
            }
            "regexp_replace" if arity(3, 6) => {
                let texts: Vec<String> = arguments
                    .into_iter()
                    .enumerate()
                    .map(|(index, value)| {
                        let ty = if matches!(index, 3 | 4) { int.clone() } else { text_type(STRING) };
                        self.coerce(value, &ty, crate::convert::Mode::Compare)
                    })
                    .collect::<Result<_>>()?;
                own(format!("cub_regexp_replace({})", texts.join(", ")), text_type(STRING))
            }
            "sleep" if arity(1, 1) => own(format!("cub_sleep({})", arguments[0].sql), int),
            "typeof" if arity(1, 1) => own(literal(&type_text(&first)), text_type(STRING)),
            "charset" | "collation" | "coercibility" if arity(1, 1) => {
                own(if name == "charset" { "'utf8'" } else { "'utf8_bin'" }.into(), text_type(STRING))
            }
            "bit_count" if arity(1, 1) => own(format!("cub_bit_count({})", arguments[0].sql), int),
            _ => undefined(),
        }
    }

    fn decode(&mut self, mut arguments: Vec<Typed>) -> Result<Typed> {
        let subject = arguments.remove(0);
        let (mut tests, mut results) = (Vec::new(), Vec::new());
        let mut rest = arguments.into_iter();
        let mut otherwise = false;
        while let Some(value) = rest.next() {
            match rest.next() {
                Some(result) => {
                    tests.push(self.compare("<=>", subject.clone(), value)?);
                    results.push(result);
                }
                None => {
                    otherwise = true;
                    results.push(value);
                }
            }
        }
        let (sqls, ty) = self.results(results)?;
        let mut sql = String::from("(CASE");
        for (test, result) in tests.iter().zip(&sqls) {
            sql += &format!(" WHEN {test} THEN {result}");
        }
        if otherwise {
            sql += &format!(" ELSE {}", sqls[sqls.len() - 1]);
        }
        Ok(Typed::computed(sql + " END)", ty))
    }

    fn json(&mut self, name: &str, arguments: Vec<Typed>) -> Result<Typed> {
        let mut sqls = Vec::new();
        for (index, value) in arguments.into_iter().enumerate() {
            let document = index == 0 && !matches!(name, "json_object" | "json_array" | "json_valid" | "json_quote");
            sqls.push(match value.ty.family() {
                Family::Json => format!("json({})", value.sql),
                _ if document => value.sql,
                Family::Numeric => format!("CAST({} AS REAL)", value.sql),
                _ => value.sql,
            });
        }
        let list = sqls.join(", ");
        let (sql, ty) = match name {
            // A null of a document is NULL.
            "json_extract" if sqls.len() == 2 => {
                (format!("nullif({} -> {}, 'null')", sqls[0], sqls[1]), Type::of(JSON))
            }
            "json_extract" => (format!("json_extract({list})"), Type::of(JSON)),
            "json_contains_path" if sqls.len() > 2 => {
                let found: Vec<String> =
                    sqls[2..].iter().map(|path| format!("json_type({}, {path}) IS NOT NULL", sqls[0])).collect();
                let (every, one) = (found.join(" AND "), found.join(" OR "));
                let test = format!("CASE lower({}) WHEN 'all' THEN {every} ELSE {one} END", sqls[1]);
                (format!("iif({} IS NULL, NULL, {test})", sqls[0]), Type::of(INT))
            }
            "json_valid" => (format!("json_valid({list})"), Type::of(INT)),
            "json_length" => (format!("cub_json_length({})", sqls[0]), Type::of(INT)),
            "json_type" => (format!("cub_json_type({})", sqls[0]), text_type(STRING)),
            "json_unquote" => (format!("cub_json_unquote({})", sqls[0]), text_type(STRING)),
            "json_depth" | "json_contains" | "json_contains_path" | "json_pretty" | "json_keys" | "json_merge" => {
                return Err(Error::semantic(format!("Function {name} is undefined. ")));
            }
            _ => (format!("{name}({list})"), Type::of(JSON)),
        };
        Ok(Typed::computed(sql, ty))
    }
}

fn type_text(ty: &Type) -> String {
    match ty.code {
        CHAR | VARCHAR | NCHAR | VARNCHAR | BIT | VARBIT => format!("{} ({})", ty.long_name(), ty.precision),
        NUMERIC => format!("numeric ({}, {})", ty.precision, ty.scale),
        _ => ty.long_name().to_owned(),
    }
}

/// The length of a text that is made of constants alone; the longest text otherwise.
pub(super) fn constant_length(name: &str, arguments: &[Typed]) -> i32 {
    use rusqlite::types::Value;
    let value = |index: usize| match arguments.get(index).map(|argument| &argument.form) {
        Some(Form::Literal(value, _)) => Some(value),
        _ => None,
    };
    let text = |index: usize| match value(index)? {
        Value::Text(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    };
    let number = |index: usize| match value(index)? {
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    let length = |text: String| text.chars().count() as i64;
    let found = match name {
        "lpad" | "rpad" => number(1),
        "space" => number(0),
        "bin" => number(0).map(|number| length(format!("{number:b}"))),
        "repeat" => text(0).zip(number(1)).map(|(text, count)| length(text) * count),
        "translate" => text(0).map(length),
        "replace" => text(0).zip(text(1)).map(|(all, from)| {
            let to = text(2).unwrap_or_default();
            length(if from.is_empty() { all } else { all.replace(&from, &to) })
        }),
        "to_char" if arguments.len() > 1 => text(1).map(|format| length(format) * 5),
        "to_char" => text(0).map(length),
        _ => None,
    };
    found.and_then(|length| i32::try_from(length).ok()).unwrap_or(STRING)
}
