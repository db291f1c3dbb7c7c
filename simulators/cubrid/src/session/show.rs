//! SHOW and DESC.

use rusqlite::types::Value;

use super::{CasSession, Executed, Held};
use crate::catalog;
use crate::decimal::Decimal;
use crate::errors::{Error, Result};
use crate::limits::STRING;
use crate::sql::ResultColumn;
use crate::sql::ast::{Column, Expr, KeyKind, Show, Table};
use crate::sql::print;
use crate::types::Type;
use crate::types::code::*;
use crate::values;

fn text(name: &str, precision: i32) -> ResultColumn {
    ResultColumn { name: name.to_owned(), ty: Type::sized(VARCHAR, precision), meta: None }
}

fn number(name: &str) -> ResultColumn {
    ResultColumn { name: name.to_owned(), ty: Type::of(INT), meta: None }
}

fn some(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

impl CasSession {
    pub(super) fn show_columns(&self, show: &Show) -> Vec<ResultColumn> {
        match show {
            Show::Tables(_) => vec![text(&format!("Tables_in_{}", self.server.config.database), 255)],
            Show::Columns(_) => {
                ["Field", "Type", "Null", "Key", "Default", "Extra"].map(|name| text(name, STRING)).to_vec()
            }
            Show::Create(_) => vec![text("TABLE", 255), text("CREATE TABLE", STRING)],
            Show::CreateView(_) => vec![text("View", 255), text("Create View", STRING)],
            Show::Indexes(_) => {
                let mut columns = vec![text("Table", 255), number("Non_unique")];
                columns.push(text("Key_name", 255));
                columns.push(number("Seq_in_index"));
                columns.push(text("Column_name", 255));
                columns.push(text("Collation", 1));
                columns
            }
        }
    }

    pub(super) fn show(&mut self, show: &Show) -> Result<Executed> {
        let rows = match show {
            Show::Tables(pattern) => {
                let pattern = pattern.clone().unwrap_or_else(|| "%".into());
                let sql =
                    "SELECT name FROM cub_class WHERE kind IN ('T', 'V') AND cub_like(name, ?, NULL) ORDER BY name";
                let names = self.connection.prepare_cached(sql).and_then(|mut found| {
                    found.query_map([pattern], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
                });
                let names = names.map_err(|error| self.failure(error, None, &[]))?;
                names.into_iter().map(|name| vec![some(name)]).collect()
            }
            Show::Columns(name) => {
                let table = self.shown_table(name)?;
                table.columns.iter().map(|column| described(&table, column)).collect()
            }
            Show::Create(name) => {
                let table = self.shown_table(name)?;
                vec![vec![some(format!("dba.{name}")), some(catalog::definition(&table))]]
            }
            Show::CreateView(name) => {
                let (_, query) = catalog::view(&self.connection, name)
                    .ok_or_else(|| Error::semantic(format!("Unknown class \"dba.{name}\". ")))?;
                vec![vec![some(format!("dba.{name}")), some(query)]]
            }
            Show::Indexes(name) => {
                let table = self.shown_table(name)?;
                let mut rows = Vec::new();
                for key in &table.keys {
                    for (place, (column, down)) in key.columns.iter().enumerate() {
                        let unique = matches!(key.kind, KeyKind::Primary | KeyKind::Unique);
                        rows.push(vec![
                            some(format!("dba.{name}")),
                            Value::Integer(i64::from(!unique)),
                            some(&*key.name),
                            Value::Integer(place as i64 + 1),
                            some(&**column),
                            some(if *down { "D" } else { "A" }),
                        ]);
                    }
                }
                rows
            }
        };
        Ok(self.made(self.show_columns(show), rows))
    }

    /// A result of values that this server made.
    pub(super) fn made(&self, columns: Vec<ResultColumn>, rows: Vec<Vec<Value>>) -> Executed {
        let encoded: Vec<Vec<u8>> = rows
            .iter()
            .map(|row| {
                let mut cells = Vec::new();
                for (value, column) in row.iter().zip(&columns) {
                    values::put_cell(&mut cells, &column.ty, value.into(), self.server.config.charset);
                }
                cells
            })
            .collect();
        let count = encoded.len() as i32;
        Executed {
            kind: 21,
            count,
            held: Some(Held { columns, kind: 21, rows: encoded, commits: false, next: 1 }),
            closed: false,
        }
    }

    fn shown_table(&self, name: &str) -> Result<Table> {
        if let Some(table) = catalog::table(&self.connection, name) {
            return Ok(table);
        }
        Err(Error::semantic(format!("Unknown class \"dba.{name}\". ")))
    }
}

fn described(table: &Table, column: &Column) -> Vec<Value> {
    let in_key = |kind: KeyKind| {
        table.keys.iter().any(|key| key.kind == kind && key.columns.iter().any(|(name, _)| *name == column.name))
    };
    let key = match () {
        () if in_key(KeyKind::Primary) => "PRI",
        () if in_key(KeyKind::Unique) => "UNI",
        () if in_key(KeyKind::Index) || in_key(KeyKind::Foreign) => "MUL",
        () => "",
    };
    let ty = match &column.ty.labels {
        Some(labels) => format!("ENUM('{}')", labels.join("', '")),
        None => shown_type(&column.ty),
    };
    vec![
        some(&*column.name),
        some(ty),
        some(if column.not_null { "NO" } else { "YES" }),
        some(key),
        column.default.as_ref().map_or(Value::Null, |value| match value {
            Expr::Text(text) => some(&**text),
            Expr::Integer(text) | Expr::Decimal(text) if column.ty.code == NUMERIC => {
                let number =
                    Decimal::parse(text, false).and_then(|number| number.rescale(column.ty.scale.max(0) as u32));
                some(number.map_or_else(|| text.clone(), |number| number.to_string()))
            }
            value => some(print::expression(value)),
        }),
        some(if column.auto.is_some() { "auto_increment" } else { "" }),
    ]
}

fn shown_type(ty: &Type) -> String {
    if ty.collection != 0 {
        let element = Type { collection: 0, ..ty.clone() };
        let name = if ty.collection == 0x60 { "SEQUENCE" } else { ty.base_name() }.to_uppercase();
        return format!("{name} OF {}", shown_type(&element).split('(').next().unwrap_or_default());
    }
    match ty.code {
        VARCHAR | VARNCHAR | VARBIT => {
            let base = match ty.code {
                VARCHAR => "VARCHAR",
                VARNCHAR => "NCHAR VARYING",
                _ => "BIT VARYING",
            };
            format!("{base}({})", ty.precision)
        }
        SHORT => "SHORT".into(),
        _ => ty.name().to_uppercase(),
    }
}
