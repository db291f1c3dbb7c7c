//! The functions that IBM's JDBC driver calls to describe columns; a genuine server has them in every database.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use crate::types::{Kind, Type};
use crate::usertypes::{self, FIRST_EXTENDED};

/// Names and the types of their results.
pub const FUNCTIONS: [(&str, Type); 12] = [
    ("get_data_type", Type::of(Kind::Int)),
    ("schema_coltypename", Type::new(Kind::VarChar, 128)),
    ("schema_precision", Type::of(Kind::Int)),
    ("schema_numscale", Type::of(Kind::Int)),
    ("schema_numprecradix", Type::of(Kind::Int)),
    ("schema_isnullable", Type::of(Kind::Int)),
    ("schema_nullable", Type::new(Kind::VarChar, 3)),
    ("schema_isautoincr", Type::new(Kind::VarChar, 3)),
    ("schema_charlen", Type::of(Kind::Int)),
    ("schema_datetype", Type::of(Kind::Int)),
    ("schema_bufflen", Type::of(Kind::Int)),
    ("get_default_value", Type::new(Kind::VarChar, 254)),
];

/// `java.sql.Types` of a kind.
fn jdbc_type(kind: Kind) -> i64 {
    match kind {
        Kind::Char | Kind::NChar => 1,
        Kind::SmallInt => 5,
        Kind::Int | Kind::Serial => 4,
        Kind::Float => 8,
        Kind::SmallFloat => 7,
        Kind::Decimal | Kind::Money => 3,
        Kind::Date => 91,
        Kind::DateTime => 93,
        Kind::Byte => -4,
        Kind::Text | Kind::LVarChar => -1,
        Kind::VarChar | Kind::NVarChar => 12,
        Kind::BigInt | Kind::BigSerial | Kind::Int8 | Kind::Serial8 => -5,
        Kind::Row => 2002,
        Kind::Boolean => 16,
        Kind::Blob => 2004,
        Kind::Clob => 2005,
        _ => 1111,
    }
}

fn numeric(kind: Kind) -> bool {
    kind.is_integer() || kind.is_decimal() || kind.is_float()
}

fn precision(ty: Type) -> i64 {
    i64::from(match ty.kind {
        kind if kind.is_decimal() => ty.precision(),
        Kind::SmallInt => 5,
        Kind::Int | Kind::Serial => 10,
        kind if kind.is_integer() => 19,
        Kind::Float => 15,
        Kind::SmallFloat => 7,
        Kind::Date => 10,
        Kind::VarChar | Kind::NVarChar => ty.length & 255,
        Kind::DateTime => 25,
        _ => ty.length,
    })
}

fn answer(name: &str, coltype: i64, extended: i64, length: i64, text: Value) -> Value {
    let user = u16::try_from(extended - i64::from(FIRST_EXTENDED) + 1).ok().filter(|user| *user > 0);
    let ty = match user.and_then(usertypes::get) {
        Some(definition) => (*definition).clone().column_type(),
        None => {
            let kind = Kind::from_number((coltype & 0xff) as i16, extended as i32).unwrap_or(Kind::LVarChar);
            Type::new(kind, length as i32)
        }
    };
    let word = |yes| Value::Text(if yes { "YES" } else { "NO" }.to_owned());
    let nullable = coltype & 0x100 == 0;
    match name {
        "get_data_type" => Value::Integer(jdbc_type(ty.kind)),
        "schema_coltypename" => Value::Text(if ty.user == 0 { ty.name().to_owned() } else { ty.declaration() }),
        "schema_precision" => Value::Integer(precision(ty)),
        "schema_numscale" if ty.kind.is_decimal() && ty.scale() != 255 => Value::Integer(ty.scale().into()),
        "schema_numscale" if ty.kind.is_integer() => Value::Integer(0),
        "schema_numprecradix" if numeric(ty.kind) => Value::Integer(10),
        "schema_isnullable" => Value::Integer(nullable.into()),
        "schema_nullable" => word(nullable),
        "schema_isautoincr" => word(ty.kind.is_serial()),
        "schema_bufflen" => Value::Integer(ty.width(false).into()),
        "schema_charlen" if ty.kind.is_text() => Value::Integer(precision(ty)),
        "get_default_value" => text,
        _ => Value::Null,
    }
}

/// Registers all of them with a connection as `ifx_schema(name, coltype, extended id, length, text)`.
pub fn register(connection: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("ifx_schema", 5, pure, |context| {
        let name: String = context.get(0)?;
        let number = |index| context.get::<Option<i64>>(index).map(Option::unwrap_or_default);
        Ok(answer(&name, number(1)?, number(2)?, number(3)?, context.get(4)?))
    })
}
