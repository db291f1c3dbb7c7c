//! The built-in functions, with the types of their results.

use super::expr::{Expr, Form};
use super::lexer::TokenKind;
use super::operators::common_type;
use super::parser::{Parser, literal};
use crate::codec::timestamp::Qualifier;
use crate::engine::schema;
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

const TEXT: Type = Type::new(Kind::LVarChar, 32_739);
const DECIMAL: Type = Type::decimal(32, 255);
const INT: Type = Type::of(Kind::Int);

impl Parser<'_> {
    pub(super) fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect_symbol("(")?;
        let mut list = Vec::new();
        while !self.is_symbol(")") {
            list.push(self.expression()?);
            if !self.another(")")? {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(list)
    }

    /// A call; the name is read, the bracket is next.
    pub(super) fn call(&mut self, name: &str, offset: usize) -> Result<Expr> {
        match name {
            "count" | "sum" | "avg" | "max" | "min" | "stdev" | "variance" | "range" => {
                return self.aggregate(name, offset);
            }
            "extend" => return self.extend(),
            "trim" => return self.trim(),
            "substring" => return self.substring(),
            "dbinfo" => return self.dbinfo(offset),
            "lotofile" | "filetoblob" | "filetoclob" => return self.client_file(name, offset),
            _ => {}
        }
        if let Some((_, ty)) = schema::FUNCTIONS.iter().find(|(known, _)| *known == name) {
            return self.schema_function(name, *ty);
        }
        if super::windows::needs_window(name) {
            return self.window_call(name, offset);
        }
        if let Some(routine) = self.catalog.routine(name) {
            return self.routine_call(name, &routine, offset);
        }
        let mut arguments = self.arguments()?;
        let count = arguments.len();
        let types: Vec<Type> = arguments.iter().filter_map(|argument| argument.ty).collect();
        let common = common_type(&types);
        let first = types.first().copied();
        // A stored CHAR has no trailing blanks; functions that count characters count them.
        if matches!(name, "char_length" | "character_length" | "octet_length")
            && let [argument] = &mut arguments[..]
            && matches!(argument.form, Form::Column | Form::Derived)
            && let Some(ty) = first.filter(|ty| matches!(ty.kind, Kind::Char | Kind::NChar))
        {
            argument.sql = format!("ifx_pad({}, {})", argument.sql, ty.length);
        }
        let mut arguments = arguments.into_iter();
        let mut next = |parser: &mut Self, ty: Type| {
            arguments.next().map_or("NULL".into(), |argument| parser.coerce(argument, ty))
        };
        let text_type = match first {
            Some(ty) if ty.kind.is_text() && ty.length & 0x7fff <= 255 => Type::new(Kind::VarChar, ty.length & 255),
            Some(ty) if ty.kind == Kind::LVarChar => ty,
            _ => Type::new(Kind::LVarChar, 2048),
        };
        let done = |sql: String, ty: Type| Ok(Expr::computed(sql, ty));
        match (name, count) {
            ("nvl" | "isnull", 2) | ("coalesce", 1..) => {
                let ty = common.unwrap_or(TEXT);
                let list: Vec<String> = (0..count).map(|_| next(self, ty)).collect();
                done(if count == 1 { list[0].clone() } else { format!("coalesce({})", list.join(", ")) }, ty)
            }
            ("nvl2", 3) => {
                let ty = common_type(&types[types.len().saturating_sub(2)..]).unwrap_or(TEXT);
                let test = next(self, first.unwrap_or(TEXT));
                done(format!("iif({test} IS NOT NULL, {}, {})", next(self, ty), next(self, ty)), ty)
            }
            ("decode", 3..) => {
                let all: Vec<Expr> = arguments.collect();
                let mut results: Vec<Type> = all.iter().skip(2).step_by(2).filter_map(|result| result.ty).collect();
                if count % 2 == 0 {
                    results.extend(all[count - 1].ty);
                }
                let ty = common_type(&results).unwrap_or(TEXT);
                let mut sql = "CASE".to_owned();
                for pair in all[1..].chunks(2) {
                    if let [value, result] = pair {
                        let test = self.compare(all[0].clone(), "IS", value.clone()).sql;
                        sql += &format!(" WHEN {test} THEN {}", self.coerce(result.clone(), ty));
                    } else {
                        sql += &format!(" ELSE {}", self.coerce(pair[0].clone(), ty));
                    }
                }
                done(sql + " END", ty)
            }
            ("length" | "char_length" | "character_length", 1) => {
                let trim = if name == "length" { "rtrim" } else { "" };
                done(format!("length({trim}({}))", next(self, TEXT)), INT)
            }
            ("octet_length", 1) => done(format!("length(CAST({} AS BLOB))", next(self, TEXT)), INT),
            ("len", 1) => done(format!("length(rtrim({}))", next(self, TEXT)), INT),
            ("reverse", 1) => done(format!("ifx_reverse({})", next(self, TEXT)), text_type),
            ("left" | "right", 2) => done(format!("ifx_{name}({}, {})", next(self, TEXT), next(self, INT)), text_type),
            ("ascii", 1) => done(format!("unicode({})", next(self, TEXT)), INT),
            ("chr", 1) => {
                let code = next(self, INT);
                let sql = format!("iif({code} NOT BETWEEN 0 AND 255, ifx_fail(-1226), char({code}))");
                done(format!("iif({code} IS NULL, NULL, {sql})"), Type::new(Kind::VarChar, 1))
            }
            ("space", 1) => done(format!("ifx_lpad('', {}, ' ')", next(self, INT)), Type::new(Kind::LVarChar, 2048)),
            ("substring_index", 3) => done(
                format!("ifx_substring_index({}, {}, {})", next(self, TEXT), next(self, TEXT), next(self, INT)),
                text_type,
            ),
            ("nullif", 2) => {
                let (one, two) = (arguments.next(), arguments.next());
                let (Some(one), Some(two)) = (one, two) else { return Err(self.syntax()) };
                let test = self.compare(one.clone(), "=", two).sql;
                done(format!("CASE WHEN {test} THEN NULL ELSE {} END", one.sql), one.ty.unwrap_or(TEXT))
            }
            ("bitand" | "bitor" | "bitxor" | "bitandnot", 2) => {
                let whole = Type::of(Kind::BigInt);
                let (one, two) = (next(self, whole), next(self, whole));
                let sql = match name {
                    "bitand" => format!("({one} & {two})"),
                    "bitor" => format!("({one} | {two})"),
                    "bitxor" => format!("(({one} | {two}) - ({one} & {two}))"),
                    _ => format!("({one} & ~{two})"),
                };
                done(sql, common.filter(|ty| ty.kind.is_integer()).unwrap_or(whole))
            }
            ("bitnot", 1) => {
                let ty = first.filter(|ty| ty.kind.is_integer()).unwrap_or(Type::of(Kind::BigInt));
                done(format!("(~{})", next(self, ty)), ty)
            }
            ("sign", 1) => done(format!("ifx_dcmp({}, 0)", next(self, DECIMAL)), INT),
            ("upper" | "lower" | "ucase" | "lcase", 1) => {
                let upper = matches!(name, "upper" | "ucase");
                let function = if upper { "ifx_upper" } else { "ifx_lower" };
                done(format!("{function}({})", next(self, TEXT)), text_type)
            }
            ("initcap", 1) => done(format!("ifx_initcap({})", next(self, TEXT)), text_type),
            ("ltrim" | "rtrim", 1 | 2) => {
                let list: Vec<String> = (0..count).map(|_| next(self, TEXT)).collect();
                done(format!("{name}({})", list.join(", ")), text_type)
            }
            ("substr", 2 | 3) => {
                let (text, start) = (next(self, TEXT), next(self, INT));
                let length = if count == 3 { next(self, INT) } else { "NULL".into() };
                done(format!("ifx_substring({text}, {start}, {length}, 1)"), text_type)
            }
            ("replace", 2 | 3) => {
                let (text, from) = (next(self, TEXT), next(self, TEXT));
                let to = if count == 3 { next(self, TEXT) } else { "''".into() };
                done(format!("replace({text}, {from}, {to})"), Type::new(Kind::LVarChar, 2048))
            }
            ("lpad" | "rpad", 2 | 3) => {
                let (text, length) = (next(self, TEXT), next(self, INT));
                let fill = if count == 3 { next(self, TEXT) } else { "' '".into() };
                done(format!("ifx_{name}({text}, {length}, {fill})"), Type::new(Kind::LVarChar, 2048))
            }
            ("concat", 2) => {
                done(format!("({} || {})", next(self, TEXT), next(self, TEXT)), Type::new(Kind::LVarChar, 2048))
            }
            ("instr", 2..=4) => {
                let (text, wanted) = (next(self, TEXT), next(self, TEXT));
                let start = if count > 2 { next(self, INT) } else { "1".into() };
                let nth = if count > 3 { next(self, INT) } else { "1".into() };
                done(format!("ifx_place({text}, {wanted}, {start}, {nth})"), INT)
            }
            ("charindex", 2 | 3) => {
                let (wanted, text) = (next(self, TEXT), next(self, TEXT));
                let start = if count == 3 { next(self, INT) } else { "1".into() };
                done(format!("ifx_place({text}, {wanted}, max({start}, 1), 1)"), INT)
            }
            ("abs" | "floor" | "ceil", 1) => {
                let ty = first.filter(|ty| ty.kind.is_integer() || ty.kind.is_float()).unwrap_or(DECIMAL);
                let value = next(self, ty);
                if ty.kind.is_decimal() {
                    done(format!("ifx_d{name}({value})"), ty)
                } else {
                    done(format!("{name}({value})"), ty)
                }
            }
            ("mod", 2) => {
                let whole = Type::of(Kind::BigInt);
                done(
                    format!("ifx_mod({}, {})", next(self, whole), next(self, whole)),
                    common.filter(|ty| ty.kind.is_integer()).unwrap_or(whole),
                )
            }
            ("round" | "trunc", 1 | 2) => {
                if first.is_some_and(|ty| matches!(ty.kind, Kind::DateTime | Kind::Date)) {
                    return Err(SqlError::unsupported(format!("{name} of a date")).at(offset));
                }
                let value = next(self, DECIMAL);
                let digits = if count == 2 { next(self, INT) } else { "0".into() };
                done(format!("ifx_d{name}({value}, {digits})"), DECIMAL)
            }
            ("sqrt" | "exp" | "logn" | "log10" | "sin" | "cos" | "tan" | "asin" | "acos" | "atan", 1) => {
                done(format!("ifx_math('{name}', {}, 0)", next(self, Type::of(Kind::Float))), Type::of(Kind::Float))
            }
            ("degrees" | "radians" | "sinh" | "cosh" | "tanh", 1) => {
                done(format!("ifx_math('{name}', {}, 0)", next(self, Type::of(Kind::Float))), Type::of(Kind::Float))
            }
            ("root", 1) => {
                done(format!("ifx_math('root', {}, 2)", next(self, Type::of(Kind::Float))), Type::of(Kind::Float))
            }
            ("pow" | "power" | "atan2" | "root", 2) => {
                let float = Type::of(Kind::Float);
                done(format!("ifx_math('{name}', {}, {})", next(self, float), next(self, float)), float)
            }
            ("year" | "month" | "day" | "weekday" | "quarter" | "hour" | "minute" | "second", 1) => {
                let timestamp = Type::new(Kind::DateTime, 0x130f);
                let of_day = !matches!(name, "hour" | "minute" | "second");
                let value = match first {
                    Some(ty) if of_day && ty.kind.is_text() => {
                        let date = Type::of(Kind::Date);
                        format!("ifx_conv({}, {}, {})", next(self, date), date.tag(), timestamp.tag())
                    }
                    // Of a time of day alone, the day is not known.
                    Some(ty) if of_day && ty.kind == Kind::DateTime && ty.qualifier().start() > 4 => {
                        return Err(SqlError::new(-1268, "").at(offset));
                    }
                    _ => next(self, timestamp),
                };
                done(format!("ifx_part('{name}', {value})"), Type::of(Kind::SmallInt))
            }
            ("mdy", 3) => done(
                format!("ifx_mdy({}, {}, {})", next(self, INT), next(self, INT), next(self, INT)),
                Type::of(Kind::Date),
            ),
            ("date", 1) => done(next(self, Type::of(Kind::Date)), Type::of(Kind::Date)),
            ("add_months", 2) => {
                let ty = first.filter(|ty| ty.kind == Kind::DateTime).unwrap_or(Type::of(Kind::Date));
                done(format!("ifx_add_months({}, {}, {}, 1)", next(self, ty), next(self, INT), ty.tag()), ty)
            }
            ("last_day", 1) => {
                done(format!("ifx_last_day({})", next(self, Type::of(Kind::Date))), Type::of(Kind::Date))
            }
            ("to_char", 1) => done(next(self, TEXT), Type::new(Kind::LVarChar, 255)),
            ("to_char", 2) => {
                let ty = Type::new(Kind::DateTime, 0x130f);
                if first.is_some_and(|ty| ty.kind.is_integer() || ty.kind.is_decimal() || ty.kind.is_float()) {
                    return Err(SqlError::unsupported("TO_CHAR of a number with a format").at(offset));
                }
                done(format!("ifx_format({}, {})", next(self, ty), next(self, TEXT)), Type::new(Kind::LVarChar, 255))
            }
            ("to_date", 2) => {
                let sql = format!("ifx_parse({}, {})", next(self, TEXT), next(self, TEXT));
                done(sql, Type::new(Kind::DateTime, 0x130f))
            }
            ("to_date", 1) => done(next(self, Type::new(Kind::DateTime, 0x130f)), Type::new(Kind::DateTime, 0x130f)),
            ("to_number", 1) => done(next(self, DECIMAL), DECIMAL),
            ("hex", 1) => {
                let wide = first.is_some_and(|ty| !matches!(ty.kind, Kind::SmallInt | Kind::Int | Kind::Serial));
                let value = next(self, Type::of(Kind::BigInt));
                let sql = match wide {
                    true => format!("printf('0x%016X', {value})"),
                    false => format!("printf('0x%08X', {value} & 0xffffffff)"),
                };
                done(format!("iif({value} IS NULL, NULL, {sql})"), Type::new(Kind::Char, 18))
            }
            ("locopy", 1..) if first.is_some_and(|ty| ty.kind.is_smart_lob()) => {
                let ty = first.unwrap_or(Type::of(Kind::Blob));
                done(format!("ifx_locopy({})", next(self, ty)), ty)
            }
            ("ifx_lo_open", 2) if first.is_some_and(|ty| ty.kind.is_smart_lob()) => {
                let ty = first.unwrap_or(Type::of(Kind::Blob));
                done(format!("ifx_lo_open({})", next(self, ty)), INT)
            }
            ("cardinality", 1) if first.is_some_and(|ty| ty.kind.is_complex()) => {
                let ty = first.unwrap_or(TEXT);
                done(format!("ifx_cardinality({})", next(self, ty)), INT)
            }
            ("ifx_sleep" | "sleep", 1) => done(format!("ifx_sleep({})", next(self, Type::of(Kind::Float))), INT),
            _ => Err(SqlError::new(-674, name).at(offset)),
        }
    }

    /// A function that describes a column of the catalog: type number, extended id and length, as far as it has them.
    fn schema_function(&mut self, name: &str, ty: Type) -> Result<Expr> {
        let given: Vec<String> = self.arguments()?.into_iter().map(|argument| argument.sql).collect();
        let at = |index: usize| given.get(index).map_or("NULL", String::as_str);
        // Those about numbers and dates do not get the extended id.
        let (extended, length, text) = match name {
            "schema_numscale" | "schema_datetype" => ("0", at(1), "NULL"),
            _ => (at(1), at(2), at(3)),
        };
        Ok(Expr::computed(format!("ifx_schema('{name}', {}, {extended}, {length}, {text})", at(0)), ty))
    }

    fn literal_argument(&mut self) -> Result<String> {
        match self.next() {
            TokenKind::Text(text) => Ok(text),
            _ => {
                self.at -= 1;
                Err(self.syntax())
            }
        }
    }

    /// `dbinfo('version', 'full')`: both are names, not values.
    fn dbinfo(&mut self, offset: usize) -> Result<Expr> {
        self.expect_symbol("(")?;
        let what = self.literal_argument()?.to_lowercase();
        let detail = if self.accept_symbol(",") { self.literal_argument()?.to_lowercase() } else { String::new() };
        self.expect_symbol(")")?;
        let ty = match what.as_str() {
            "sqlca.sqlerrd1" | "sqlca.sqlerrd2" | "sessionid" | "utc_current" => INT,
            "serial8" => Type::of(Kind::Int8),
            "bigserial" => Type::of(Kind::BigInt),
            "version" | "dbname" | "dbhostname" => Type::new(Kind::Char, 128),
            _ => return Err(SqlError::new(-728, "").at(offset)),
        };
        Ok(Expr::computed(format!("ifx_dbinfo({}, {})", literal(&what), literal(&detail)), ty))
    }

    /// `lotofile(object, 'path', 'client')` and `filetoblob('path', 'client')`.
    fn client_file(&mut self, name: &str, offset: usize) -> Result<Expr> {
        let mut arguments = self.arguments()?.into_iter();
        let object = if name == "lotofile" { arguments.next() } else { None };
        let path = arguments.next().map(|path| self.coerce(path, TEXT)).ok_or_else(|| self.syntax())?;
        let place = arguments.next().map(|place| place.sql).unwrap_or_default();
        if !place.eq_ignore_ascii_case("'client'") {
            return Err(SqlError::unsupported(format!("{name} with files of the server")).at(offset));
        }
        Ok(match object {
            Some(object) => {
                let ty = object.ty.filter(|ty| ty.kind.is_smart_lob());
                let ty = ty.ok_or_else(|| SqlError::new(-674, name).at(offset))?;
                let object = self.coerce(object, ty);
                Expr::computed(format!("ifx_lotofile({object}, {path})"), Type::new(Kind::LVarChar, 2048))
            }
            None => {
                let kind = if name == "filetoblob" { Kind::Blob } else { Kind::Clob };
                Expr::computed(format!("ifx_filetolob({path})"), Type::of(kind))
            }
        })
    }

    fn aggregate(&mut self, name: &str, offset: usize) -> Result<Expr> {
        self.expect_symbol("(")?;
        let own = self.aggregates.len();
        self.aggregates.push(self.scopes.len());
        let label = if name == "count" { "(count)".to_owned() } else { format!("({name})") };
        if name == "count" && self.accept_symbol("*") {
            self.expect_symbol(")")?;
            let sql = self.over("count(*)".into(), own)?;
            return Ok(Expr { name: "(count(*))".into(), ..Expr::computed(sql, Type::decimal(15, 0)) });
        }
        let distinct = if self.accept("distinct") || self.accept("unique") { "DISTINCT " } else { "" };
        self.accept("all");
        let plain = self.plain.len();
        let argument = self.expression()?;
        self.plain.truncate(plain);
        self.expect_symbol(")")?;
        let ty = argument.ty.unwrap_or(DECIMAL);
        let argument = match argument.form {
            Form::Parameter(_) | Form::Null => self.coerce(argument, ty),
            _ => argument.sql,
        };
        let (sql, ty) = match name {
            "count" => (format!("count({distinct}{argument})"), Type::decimal(15, 0)),
            "max" | "min" if ty.kind.is_decimal() => (format!("{name}({distinct}{argument} COLLATE IFXDECIMAL)"), ty),
            "max" | "min" => (format!("{name}({distinct}{argument})"), ty),
            "stdev" | "variance" | "range" if ty.kind.is_float() || ty.kind.is_integer() || ty.kind.is_decimal() => {
                let float = ty.kind.is_float();
                let result = if float { Type::of(Kind::Float) } else { DECIMAL };
                (format!("ifx_{name}({distinct}{argument})"), result)
            }
            "sum" if ty.kind.is_float() || ty.kind == Kind::Interval => (format!("sum({distinct}{argument})"), ty),
            "avg" if ty.kind.is_float() => (format!("avg({distinct}{argument})"), ty),
            "sum" | "avg" if ty.kind.is_decimal() || ty.kind.is_integer() => {
                let ty = if ty.kind.is_integer() { Type::decimal(32, 0) } else { ty };
                let result = if name == "sum" && ty.scale() != 255 { Type::decimal(32, ty.scale()) } else { DECIMAL };
                (format!("ifx_d{name}({distinct}{argument})"), result)
            }
            "sum" | "avg" if ty.kind.is_text() => return Err(SqlError::new(-367, "").at(offset)),
            _ => return Err(SqlError::unsupported(format!("{name} of {}", ty.declaration())).at(offset)),
        };
        if self.is("over") && (!distinct.is_empty() || matches!(name, "stdev" | "variance" | "range")) {
            return Err(SqlError::unsupported(format!("{name} {distinct}OVER")).at(offset));
        }
        let sql = self.over(sql, own)?;
        Ok(Expr { name: label, ..Expr::computed(sql, ty) })
    }

    /// An aggregate with the window after it, if there is one: then it is not one of the query's aggregates.
    fn over(&mut self, sql: String, own: usize) -> Result<String> {
        if !self.is("over") {
            return Ok(sql);
        }
        self.aggregates.remove(own);
        Ok(sql + &self.window()?)
    }

    fn extend(&mut self) -> Result<Expr> {
        self.expect_symbol("(")?;
        let value = self.expression()?;
        let qualifier = if self.accept_symbol(",") { self.qualifier(false)? } else { Qualifier::datetime(0, 13) };
        self.expect_symbol(")")?;
        let target = Type::new(Kind::DateTime, qualifier.0);
        let from = value.ty.filter(|ty| matches!(ty.kind, Kind::Date | Kind::DateTime));
        let from = from.unwrap_or(Type::new(Kind::DateTime, Qualifier::datetime(0, 13).0));
        let value = self.coerce(value, from);
        Ok(Expr::computed(format!("ifx_extend({value}, {}, {})", from.tag(), qualifier.0), target))
    }

    fn trim(&mut self) -> Result<Expr> {
        self.expect_symbol("(")?;
        let mut function = "trim";
        for (word, trimming) in [("leading", "ltrim"), ("trailing", "rtrim"), ("both", "trim")] {
            if self.accept(word) {
                function = trimming;
            }
        }
        let mut pad = "' '".to_owned();
        if !self.is("from") {
            let first = self.expression()?;
            if !self.is("from") {
                self.expect_symbol(")")?;
                let ty = first.ty.filter(|ty| ty.kind.is_text()).unwrap_or(TEXT);
                let ty = if ty.length & 0x7fff <= 255 { Type::new(Kind::VarChar, ty.length & 255) } else { ty };
                return Ok(Expr::computed(format!("{function}({})", self.coerce(first, TEXT)), ty));
            }
            pad = self.coerce(first, TEXT);
        }
        self.expect("from")?;
        let text = self.expression()?;
        self.expect_symbol(")")?;
        let text = self.coerce(text, TEXT);
        Ok(Expr::computed(format!("{function}({text}, {pad})"), Type::new(Kind::LVarChar, 2048)))
    }

    fn substring(&mut self) -> Result<Expr> {
        self.expect_symbol("(")?;
        let text = self.expression()?;
        if !self.accept("from") {
            self.expect_symbol(",")?;
        }
        let ty = text.ty.filter(|ty| ty.kind == Kind::VarChar).unwrap_or(Type::new(Kind::LVarChar, 2048));
        let text = self.coerce(text, TEXT);
        let from = self.expression()?;
        let from = self.coerce(from, INT);
        let mut length = "NULL".to_owned();
        if self.accept("for") || self.accept_symbol(",") {
            let count = self.expression()?;
            length = self.coerce(count, INT);
        }
        self.expect_symbol(")")?;
        Ok(Expr::computed(format!("ifx_substring({text}, {from}, {length}, 0)"), ty))
    }
}
