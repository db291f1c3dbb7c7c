//! Definitions: how they are kept in SQLite, and the system's own views of them.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension, params};

use crate::sql::ast::{Column, KeyKind, Statement, Table};
use crate::sql::{Parser, ResultColumn, literal, print, quote, table as in_sqlite, tokenize};
use crate::types::code::*;
use crate::types::{Family, Type};

/// Tables of this server beside the users'.
pub const SCHEMA: &str = "
    CREATE TABLE cub_class (name TEXT PRIMARY KEY, kind TEXT, text TEXT, columns TEXT, comment TEXT);
    CREATE TABLE cub_attribute (class TEXT, name TEXT, place INTEGER, type TEXT, precision INTEGER, scale INTEGER,
        nullable TEXT, value TEXT);
    CREATE TABLE cub_index (class TEXT, name TEXT, is_unique TEXT, is_primary TEXT, is_foreign TEXT, keys INTEGER);
    CREATE TABLE cub_key (class TEXT, name TEXT, attribute TEXT, place INTEGER, direction TEXT);
";

/// A definition as SQL that can be read again.
pub fn definition(table: &Table) -> String {
    let mut parts: Vec<String> = table.columns.iter().map(column).collect();
    for key in &table.keys {
        parts.push(self::key(key));
    }
    format!("CREATE TABLE [{}] ({}) COMMENT={}", table.name, parts.join(", "), literal(&table.comment))
}

fn type_text(ty: &Type) -> String {
    match &ty.labels {
        Some(labels) => {
            let labels: Vec<String> = labels.iter().map(|label| literal(label)).collect();
            format!("ENUM({})", labels.join(", "))
        }
        None => ty.name(),
    }
}

fn column(column: &Column) -> String {
    let mut text = format!("[{}] {}", column.name, type_text(&column.ty));
    if let Some(default) = &column.default {
        let _ = write!(text, " DEFAULT {}", print::expression(default));
    }
    if let Some(value) = &column.on_update {
        let _ = write!(text, " ON UPDATE {}", print::expression(value));
    }
    if let Some((start, step)) = column.auto {
        let _ = write!(text, " AUTO_INCREMENT({start}, {step})");
    }
    if column.not_null {
        text += " NOT NULL";
    }
    if !column.comment.is_empty() {
        let _ = write!(text, " COMMENT {}", literal(&column.comment));
    }
    text
}

fn key(key: &crate::sql::ast::Key) -> String {
    let columns: Vec<String> =
        key.columns.iter().map(|(name, down)| format!("[{name}]{}", if *down { " DESC" } else { "" })).collect();
    let columns = columns.join(", ");
    let name = &key.name;
    match key.kind {
        KeyKind::Primary => format!("CONSTRAINT [{name}] PRIMARY KEY ({columns})"),
        KeyKind::Unique => format!("CONSTRAINT [{name}] UNIQUE KEY ({columns})"),
        KeyKind::Index => format!("INDEX [{name}] ({columns})"),
        KeyKind::Foreign => {
            let (table, parents, delete, update) = key.references.clone().unwrap_or_default();
            let parents: Vec<String> = parents.iter().map(|name| format!("[{name}]")).collect();
            let parents = if parents.is_empty() { String::new() } else { format!(" ({})", parents.join(", ")) };
            format!(
                "CONSTRAINT [{name}] FOREIGN KEY ({columns}) REFERENCES [{table}]{parents} ON DELETE {delete} ON UPDATE {update}"
            )
        }
    }
}

/// The table of a name.
pub fn table(connection: &Connection, name: &str) -> Option<Table> {
    let text: String = connection
        .prepare_cached("SELECT text FROM cub_class WHERE name = ? AND kind = 'T'")
        .ok()?
        .query_row([name], |row| row.get(0))
        .optional()
        .ok()??;
    let mut parser = Parser::new(&text, tokenize(&text).ok()?);
    match parser.statement().ok()?? {
        (Statement::CreateTable { table, .. }, _) => Some(table),
        _ => None,
    }
}

/// The columns and the query of a view.
pub fn view(connection: &Connection, name: &str) -> Option<(Vec<String>, String)> {
    let found = connection
        .prepare_cached("SELECT columns, text FROM cub_class WHERE name = ? AND kind = 'V'")
        .ok()?
        .query_row([name], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    let (columns, text) = found.optional().ok()??;
    Some((columns.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(), text))
}

/// True if there is a table, view or serial of a name.
pub fn exists(connection: &Connection, name: &str, kind: &str) -> bool {
    let sql = "SELECT 1 FROM cub_class WHERE name = ? AND instr(?, kind)";
    connection.prepare_cached(sql).and_then(|mut found| found.exists([name, kind])).unwrap_or(false)
}

/// Writes a table's definition.
///
/// # Errors
/// SQLite's.
pub fn save(connection: &Connection, table: &Table) -> rusqlite::Result<()> {
    forget(connection, &table.name)?;
    connection.execute(
        "INSERT INTO cub_class VALUES (?, 'T', ?, '', ?)",
        [&table.name, &definition(table), &table.comment],
    )?;
    for (place, column) in table.columns.iter().enumerate() {
        connection.execute(
            "INSERT INTO cub_attribute VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                table.name,
                column.name,
                place as i64,
                attribute_type(&column.ty),
                if matches!(column.ty.family(), Family::Collection | Family::Json | Family::Lob) {
                    0
                } else {
                    column.ty.precision
                },
                column.ty.scale,
                if column.not_null { "NO" } else { "YES" },
                column.default.as_ref().map(print::expression),
            ],
        )?;
    }
    let word = |test: bool| if test { "YES" } else { "NO" };
    for key in &table.keys {
        connection.execute(
            "INSERT INTO cub_index VALUES (?, ?, ?, ?, ?, ?)",
            params![
                table.name,
                key.name,
                word(matches!(key.kind, KeyKind::Primary | KeyKind::Unique)),
                word(key.kind == KeyKind::Primary),
                word(key.kind == KeyKind::Foreign),
                key.columns.len() as i64,
            ],
        )?;
        for (place, (column, descending)) in key.columns.iter().enumerate() {
            connection.execute(
                "INSERT INTO cub_key VALUES (?, ?, ?, ?, ?)",
                params![table.name, key.name, column, place as i64, if *descending { "DESC" } else { "ASC" }],
            )?;
        }
    }
    Ok(())
}

fn attribute_type(ty: &Type) -> String {
    match (ty.collection, ty.code) {
        (0, CHAR) => "CHAR".into(),
        (0, VARCHAR) => "STRING".into(),
        (0, VARBIT) => "VARBIT".into(),
        (0, SHORT) => "SHORT".into(),
        _ => ty.base_name().to_uppercase(),
    }
}

/// Removes a table's definition.
///
/// # Errors
/// SQLite's.
pub fn forget(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    for (table, column) in
        [("cub_class", "name"), ("cub_attribute", "class"), ("cub_index", "class"), ("cub_key", "class")]
    {
        connection.execute(&format!("DELETE FROM {table} WHERE {column} = ?"), [name])?;
    }
    Ok(())
}

/// SQLite's statements that make a table.
pub fn create(table: &Table, name: &str) -> Vec<String> {
    let mut parts: Vec<String> = table.columns.iter().map(sqlite_column).collect();
    for key in table.keys.iter().filter(|key| key.kind == KeyKind::Foreign) {
        let (parent, parents, delete, update) = key.references.clone().unwrap_or_default();
        let own: Vec<String> = key.columns.iter().map(|(name, _)| quote(name)).collect();
        let parents: Vec<String> = parents.iter().map(|name| quote(name)).collect();
        parts.push(format!(
            "FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE {delete} ON UPDATE {update}",
            own.join(", "),
            in_sqlite(&parent),
            parents.join(", ")
        ));
    }
    vec![format!("CREATE TABLE {} ({})", in_sqlite(name), parts.join(", "))]
}

/// SQLite's statement for an index.
pub fn create_index(table: &str, key: &crate::sql::ast::Key) -> Option<String> {
    if key.columns.is_empty() || key.kind == KeyKind::Foreign {
        return None;
    }
    let unique = if matches!(key.kind, KeyKind::Primary | KeyKind::Unique) { "UNIQUE " } else { "" };
    let columns: Vec<String> =
        key.columns.iter().map(|(name, down)| format!("{}{}", quote(name), if *down { " DESC" } else { "" })).collect();
    Some(format!("CREATE {unique}INDEX {} ON {} ({})", index(table, &key.name), in_sqlite(table), columns.join(", ")))
}

/// The name of an index in SQLite.
pub fn index(table: &str, name: &str) -> String {
    quote(&format!("i {table} {name}"))
}

fn sqlite_column(column: &Column) -> String {
    let (ty, collation) = match column.ty.family() {
        Family::Integer => ("INTEGER", ""),
        Family::Real => ("REAL", ""),
        Family::Numeric => ("TEXT", " COLLATE CUBNUM"),
        Family::Text => ("TEXT", " COLLATE RTRIM"),
        Family::Time if column.ty.has_zone() => ("TEXT", " COLLATE CUBTZ"),
        Family::Time | Family::Json => ("TEXT", ""),
        _ => ("BLOB", ""),
    };
    let null = if column.not_null { " NOT NULL" } else { "" };
    format!("{} {ty}{collation}{null}", quote(&column.name))
}

/// A view of the system: its query in SQLite's SQL and its columns.
pub fn system(name: &str) -> Option<(String, Vec<ResultColumn>)> {
    let text = |name: &str| ResultColumn { name: name.to_owned(), ty: Type::sized(VARCHAR, 255), meta: None };
    let number = |name: &str| ResultColumn { name: name.to_owned(), ty: Type::of(INT), meta: None };
    let short = |name: &str| ResultColumn { name: name.to_owned(), ty: Type::sized(VARCHAR, 6), meta: None };
    let (sql, columns) = match name {
        "db_class" => (
            "SELECT name AS class_name, 'DBA' AS owner_name, CASE kind WHEN 'V' THEN 'VCLASS' ELSE 'CLASS' END AS \
             class_type, 'NO' AS is_system_class, 'NO' AS partitioned, 'YES' AS is_reuse_oid_class, comment FROM cub_class \
             WHERE kind IN ('T', 'V')",
            [
                "class_name",
                "owner_name",
                "class_type",
                "is_system_class",
                "partitioned",
                "is_reuse_oid_class",
                "comment",
            ]
            .map(|name| if name == "class_type" { short(name) } else { text(name) })
            .to_vec(),
        ),
        "db_attribute" => (
            "SELECT name AS attr_name, class AS class_name, 'DBA' AS owner_name, 'INSTANCE' AS attr_type, place AS \
             def_order, type AS data_type, precision AS prec, scale, value AS default_value, nullable AS is_nullable \
             FROM cub_attribute",
            vec![
                text("attr_name"),
                text("class_name"),
                text("owner_name"),
                text("attr_type"),
                number("def_order"),
                text("data_type"),
                number("prec"),
                number("scale"),
                text("default_value"),
                text("is_nullable"),
            ],
        ),
        "db_index" => (
            "SELECT name AS index_name, class AS class_name, is_unique, 'NO' AS is_reverse, keys AS key_count, \
             is_primary AS is_primary_key, is_foreign AS is_foreign_key FROM cub_index",
            vec![
                text("index_name"),
                text("class_name"),
                text("is_unique"),
                text("is_reverse"),
                number("key_count"),
                text("is_primary_key"),
                text("is_foreign_key"),
            ],
        ),
        "db_index_key" => (
            "SELECT name AS index_name, class AS class_name, 'DBA' AS owner_name, attribute AS key_attr_name, place AS \
             key_order, direction AS asc_desc, -1 AS key_prefix_length FROM cub_key",
            vec![
                text("index_name"),
                text("class_name"),
                text("owner_name"),
                text("key_attr_name"),
                number("key_order"),
                text("asc_desc"),
                number("key_prefix_length"),
            ],
        ),
        "db_serial" => {
            ("SELECT name, 'DBA' AS owner_name FROM cub_class WHERE kind = 'S'", vec![text("name"), text("owner_name")])
        }
        "db_user" => ("SELECT 'DBA' AS name UNION ALL SELECT 'PUBLIC'", vec![text("name")]),
        _ => return None,
    };
    Some((format!("({sql})"), columns))
}
