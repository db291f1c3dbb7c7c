//! SCHEMA_INFO.

use std::collections::VecDeque;

use rusqlite::types::Value;

use super::{CasSession, Handle};
use crate::catalog;
use crate::errors::{Error, Result, cas};
use crate::sql::ast::{Key, KeyKind, Table};
use crate::sql::{ResultColumn, print};
use crate::types::code::*;
use crate::types::{Family, Type};
use crate::wire::{Arguments, Output};

fn column(name: &str, code: u8, precision: i32) -> ResultColumn {
    ResultColumn { name: name.to_owned(), ty: Type { precision, scale: 0, ..Type::of(code) }, meta: None }
}

/// Names with their types: `v` VARCHAR(255), `s` SHORT, `i` INT, `t` VARCHAR without a bound.
fn columns(list: &str) -> Vec<ResultColumn> {
    list.split_whitespace()
        .filter_map(|item| item.split_once(':'))
        .map(|(name, kind)| match kind {
            "s" => column(name, SHORT, 0),
            "i" => column(name, INT, 0),
            "t" => column(name, VARCHAR, 0),
            "r" => column(name, VARCHAR, 1024),
            "c" => column(name, VARCHAR, 2048),
            _ => column(name, VARCHAR, 255),
        })
        .collect()
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn small(value: impl Into<i64>) -> Value {
    Value::Integer(value.into())
}

impl CasSession {
    pub(super) fn schema_info(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let kind = arguments.i32()?;
        let first = arguments.text()?.map(|bytes| self.server.config.charset.decode(bytes).to_lowercase());
        let second = arguments.text()?.map(|bytes| self.server.config.charset.decode(bytes).to_lowercase());
        let pattern = arguments.i8()?;
        let (columns, rows) = self.schema(kind, first.as_deref(), second.as_deref(), pattern)?;
        let executed = self.made(columns.clone(), rows);
        let count = executed.count;
        let handle = Handle {
            text: String::new(),
            holdable: false,
            parts: Vec::new(),
            markers: 0,
            results: VecDeque::from([executed]),
            schema: true,
            generated: None,
            stale: false,
        };
        let number = self.keep_handle(handle)?;
        body.put_i32(number);
        body.put_i32(count);
        body.put_i32(columns.len() as i32);
        for column in &columns {
            if self.version() < 7 {
                self.put_short(body, column, true);
                continue;
            }
            // The code set is there for every type.
            body.push(0x80 | self.server.config.charset.number());
            body.push(column.ty.code);
            body.put_i16(0);
            body.put_i32(column.ty.precision);
            body.put_text(column.name.as_bytes());
        }
        Ok(())
    }

    fn classes(&self, pattern: Option<&str>, like: bool, kinds: &str) -> Vec<(String, String)> {
        let pattern = pattern.unwrap_or("%").trim_start_matches("dba.");
        let test = if like { "cub_like(name, ?1, NULL)" } else { "name = ?1" };
        let sql = format!("SELECT name, kind FROM cub_class WHERE instr(?2, kind) AND {test} ORDER BY name");
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut found| found.query_map([pattern, kinds], |row| Ok((row.get(0)?, row.get(1)?)))?.collect());
        found.unwrap_or_default()
    }

    #[allow(clippy::type_complexity)]
    fn schema(
        &self,
        kind: i32,
        first: Option<&str>,
        second: Option<&str>,
        pattern: i8,
    ) -> Result<(Vec<ResultColumn>, Vec<Vec<Value>>)> {
        // For these the broker writes a query with the name in it.
        let first = match kind {
            1..=4 | 16 => first.map(within_quotes).transpose()?,
            _ => first.map(str::to_owned),
        };
        let first = first.as_deref();
        let name = first.unwrap_or_default().trim_start_matches("dba.");
        let table = || catalog::table(&self.connection, name);
        Ok(match kind {
            1 | 2 => {
                let kinds = if kind == 2 { "V" } else { "TV" };
                let rows =
                    self.classes(first, pattern & 1 != 0 || first.is_none(), kinds).into_iter().map(|(name, kind)| {
                        let comment = catalog::table(&self.connection, &name).map(|table| table.comment);
                        let comment = comment.filter(|comment| !comment.is_empty());
                        vec![
                            text(&format!("dba.{name}")),
                            small(if kind == "V" { 1 } else { 2 }),
                            comment.map_or(Value::Null, Value::Text),
                        ]
                    });
                (columns("NAME:v TYPE:s REMARKS:c"), rows.collect())
            }
            3 => {
                let found = catalog::view(&self.connection, name).map(|(_, query)| vec![text(&query)]);
                (columns("QUERY_SPEC:t"), found.into_iter().collect())
            }
            4 | 5 => {
                let like = pattern & 2 != 0;
                let rows =
                    table().filter(|_| kind == 4).map_or_else(Vec::new, |table| attributes(&table, second, like));
                let list = "ATTR_NAME:v DOMAIN:s SCALE:s PRECISION:i INDEXED:s NON_NULL:s SHARED:s UNIQUE:s DEFAULT:t \
                            ATTR_ORDER:i CLASS_NAME:v SOURCE_CLASS:v IS_KEY:s REMARKS:r";
                (columns(list), rows)
            }
            6 | 7 => (columns("NAME:v RET_DOMAIN:s ARG_DOMAIN:v"), Vec::new()),
            8 => (columns("METHOD_FILE:v"), Vec::new()),
            9 | 10 => (columns("CLASS_NAME:v TYPE:s"), Vec::new()),
            15 => (columns("CLASS_NAME:v SUPER_CLASS_NAME:v"), Vec::new()),
            11 => {
                let list = "TYPE:s NAME:v ATTR_NAME:v NUM_PAGES:i NUM_KEYS:i PRIMARY_KEY:s KEY_ORDER:s ASC_DESC:t";
                (columns(list), table().map_or_else(Vec::new, |table| constraints(&table)))
            }
            12 => (
                columns(
                    "NAME:v STATUS:v EVENT:v TARGET_CLASS:v TARGET_ATTR:v ACTION_TIME:v ACTION:t PRIORITY:i \
                     CONDITION_TIME:v CONDITION:t REMARKS:r",
                ),
                Vec::new(),
            ),
            13 => {
                let all = ["SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "INDEX", "EXECUTE"];
                let rows = table().map_or_else(Vec::new, |_| {
                    all.map(|privilege| vec![text(name), text(privilege), text("YES")]).to_vec()
                });
                (columns("CLASS_NAME:v PRIVILEGE:v GRANTABLE:v"), rows)
            }
            14 => (columns("ATTR_NAME:v PRIVILEGE:v GRANTABLE:v"), Vec::new()),
            16 => {
                let mut rows = Vec::new();
                if let Some(table) = table()
                    && let Some(key) = table.keys.iter().find(|key| key.kind == KeyKind::Primary)
                {
                    // In the order of their names.
                    let mut columns: Vec<_> = key.columns.iter().enumerate().collect();
                    columns.sort_by(|left, right| left.1.0.cmp(&right.1.0));
                    for (place, (column, _)) in columns {
                        rows.push(vec![
                            text(&format!("dba.{name}")),
                            text(column),
                            small(place as i64 + 1),
                            text(&key.name),
                        ]);
                    }
                }
                (columns("CLASS_NAME:v ATTR_NAME:v KEY_SEQ:i KEY_NAME:v"), rows)
            }
            19 if second.is_none() => return Err(Error::cas(cas::ARGUMENTS)),
            17..=19 => {
                let list = "PKTABLE_NAME:v PKCOLUMN_NAME:v FKTABLE_NAME:v FKCOLUMN_NAME:v KEY_SEQ:s UPDATE_RULE:s \
                            DELETE_RULE:s FK_NAME:v PK_NAME:v";
                (columns(list), self.foreign_keys(kind, name, second))
            }
            20 => return self.schema(4, first, second, pattern),
            _ => return Err(Error::cas(cas::SCHEMA_TYPE)),
        })
    }

    fn foreign_keys(&self, kind: i32, name: &str, second: Option<&str>) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for (child, _) in self.classes(None, true, "T") {
            let Some(table) = catalog::table(&self.connection, &child) else { continue };
            for key in table.keys.iter().filter(|key| key.kind == KeyKind::Foreign) {
                let Some((parent, ..)) = &key.references else { continue };
                let wanted = match kind {
                    17 => child == name,
                    18 => parent == name,
                    _ => parent == name && second.is_some_and(|second| second.trim_start_matches("dba.") == child),
                };
                if wanted {
                    rows.extend(self.foreign_key(&child, key, kind));
                }
            }
        }
        rows
    }

    fn foreign_key(&self, child: &str, key: &Key, kind: i32) -> Vec<Vec<Value>> {
        let Some((parent, parents, delete, update)) = &key.references else { return Vec::new() };
        let primary = catalog::table(&self.connection, parent)
            .and_then(|table| table.keys.into_iter().find(|key| key.kind == KeyKind::Primary))
            .map_or(String::new(), |key| key.name);
        let rule = |action: &str| match action {
            "CASCADE" => small(0),
            "RESTRICT" => small(1),
            "NO ACTION" => small(2),
            _ => small(3),
        };
        let pairs = key.columns.iter().zip(parents).enumerate();
        pairs
            .map(|(place, ((column, _), referred))| {
                vec![
                    // The name that was asked for stands as it was asked for.
                    text(&if kind == 17 { format!("dba.{parent}") } else { parent.clone() }),
                    text(referred),
                    text(&if kind == 18 { format!("dba.{child}") } else { child.to_owned() }),
                    text(column),
                    small(place as i64 + 1),
                    rule(update),
                    rule(delete),
                    text(&key.name),
                    text(&primary),
                ]
            })
            .collect()
    }
}

fn attributes(table: &Table, pattern: Option<&str>, like: bool) -> Vec<Vec<Value>> {
    // Without a pattern all are meant if there could be one, and none otherwise.
    let Some(pattern) = pattern.or(like.then_some("%")) else { return Vec::new() };
    let in_key = |kinds: &[KeyKind], name: &str| {
        table.keys.iter().any(|key| kinds.contains(&key.kind) && key.columns.iter().any(|(column, _)| column == name))
    };
    let mut rows = Vec::new();
    for (place, column) in table.columns.iter().enumerate() {
        if !(column.name == pattern || (like && matches(&column.name, pattern))) {
            continue;
        }
        let charset = if column.ty.is_text() || column.ty.family() == Family::Json { 5 } else { 0 };
        let domain = i64::from(i16::from_be_bytes([0x80 | column.ty.collection | charset, column.ty.code]));
        let flag = |test: bool| small(i64::from(test));
        rows.push(vec![
            text(&column.name),
            small(domain),
            small(column.ty.scale),
            small(column.ty.precision),
            flag(in_key(&[KeyKind::Primary, KeyKind::Unique, KeyKind::Index, KeyKind::Foreign], &column.name)),
            flag(column.not_null),
            flag(false),
            flag(in_key(&[KeyKind::Primary, KeyKind::Unique], &column.name)),
            text(&column.default.as_ref().map_or("NULL".into(), print::expression)),
            small(place as i64 + 1),
            text(&format!("dba.{}", table.name)),
            text(&format!("dba.{}", table.name)),
            flag(in_key(&[KeyKind::Primary], &column.name)),
            text(&column.comment),
        ]);
    }
    rows
}

/// A name as it stands in a literal: a quotation mark is written twice.
fn within_quotes(name: &str) -> Result<String> {
    let parts: Vec<String> = name.split("''").map(str::to_owned).collect();
    if parts.iter().any(|part| part.contains('\'')) {
        return Err(Error::syntax("Syntax error: unexpected end of a literal "));
    }
    Ok(parts.join("'"))
}

/// `%` and `_`.
fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_at_checked(1) {
        None => name.is_empty(),
        Some(("%", rest)) => (0..=name.len()).any(|at| name.get(at..).is_some_and(|tail| matches(tail, rest))),
        Some(("_", rest)) => name.chars().next().is_some_and(|first| matches(&name[first.len_utf8()..], rest)),
        Some((first, rest)) => name.strip_prefix(first).is_some_and(|tail| matches(tail, rest)),
    }
}

fn constraints(table: &Table) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for key in table.keys.iter().filter(|key| matches!(key.kind, KeyKind::Unique | KeyKind::Index)) {
        for (place, (column, _)) in key.columns.iter().enumerate() {
            rows.push(vec![
                small(i64::from(key.kind == KeyKind::Index)),
                text(&key.name),
                text(column),
                small(0),
                small(0),
                small(0),
                small(place as i64 + 1),
                // A genuine broker says so of columns that descend, too.
                text("A"),
            ]);
        }
    }
    rows
}
