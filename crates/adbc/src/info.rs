//! Facts about the driver and the server, as ADBC's `GetInfo` returns them.

use crate::link::Core;
use adbc_core::constants::ADBC_VERSION_1_1_0;
use adbc_core::error::{Result, Status};
use adbc_core::options::InfoCode;
use adbc_core::schemas::GET_INFO_SCHEMA;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray, new_empty_array,
};
use arrow_schema::{ArrowError, DataType};
use std::collections::HashSet;
use std::sync::Arc;

/// The version of the libraries for Arrow that this one is built with, as drivers report it.
const ARROW_VERSION: &str = "v60.1.0";

enum Value {
    Text(String),
    Flag(bool),
    Number(i64),
}

/// The facts that are wanted, all of them without `codes`.
///
/// # Errors
/// The query for the server's version has failed.
pub fn info(core: &mut Core, codes: Option<&HashSet<InfoCode>>) -> Result<RecordBatch> {
    let all = [
        InfoCode::VendorName,
        InfoCode::VendorVersion,
        InfoCode::VendorSql,
        InfoCode::VendorSubstrait,
        InfoCode::DriverName,
        InfoCode::DriverVersion,
        InfoCode::DriverArrowVersion,
        InfoCode::DriverAdbcVersion,
    ];
    let mut facts = Vec::new();
    for code in all.into_iter().filter(|code| codes.is_none_or(|codes| codes.contains(code))) {
        let value = match code {
            InfoCode::VendorName => Value::Text(vendor(core)?),
            InfoCode::VendorVersion => Value::Text(core.server_version()?),
            InfoCode::VendorSql => Value::Flag(true),
            InfoCode::VendorSubstrait => Value::Flag(false),
            InfoCode::DriverName => Value::Text("ADBC driver of headrace".to_owned()),
            InfoCode::DriverVersion => Value::Text(env!("CARGO_PKG_VERSION").to_owned()),
            InfoCode::DriverArrowVersion => Value::Text(ARROW_VERSION.to_owned()),
            _ => Value::Number(ADBC_VERSION_1_1_0.into()),
        };
        facts.push((u32::from(&code), value));
    }
    batch(&facts).map_err(|error| crate::error::of(Status::Internal, error.to_string()))
}

/// The name of the database: MariaDB speaks MySQL's protocol.
fn vendor(core: &mut Core) -> Result<String> {
    let vendor = core.dialect.vendor();
    if vendor == "MySQL" && core.server_version()?.contains("MariaDB") {
        return Ok("MariaDB".to_owned());
    }
    Ok(vendor.to_owned())
}

fn batch(facts: &[(u32, Value)]) -> std::result::Result<RecordBatch, ArrowError> {
    let (mut texts, mut flags, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut types, mut offsets) = (Vec::<i8>::new(), Vec::<i32>::new());
    for (_, value) in facts {
        let (ty, at) = match value {
            Value::Text(text) => {
                texts.push(text.as_str());
                (0, texts.len())
            }
            Value::Flag(flag) => {
                flags.push(*flag);
                (1, flags.len())
            }
            Value::Number(number) => {
                numbers.push(*number);
                (2, numbers.len())
            }
        };
        types.push(ty);
        offsets.push(at as i32 - 1);
    }
    let schema = GET_INFO_SCHEMA.clone();
    let DataType::Union(fields, _) = schema.field(1).data_type() else {
        return Err(ArrowError::SchemaError("not a union".to_owned()));
    };
    let mut children: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(texts)),
        Arc::new(BooleanArray::from(flags)),
        Arc::new(Int64Array::from(numbers)),
    ];
    children.extend(fields.iter().skip(3).map(|(_, field)| new_empty_array(field.data_type())));
    let values = UnionArray::try_new(fields.clone(), types.into(), Some(offsets.into()), children)?;
    debug_assert_eq!(values.len(), facts.len());
    let names: UInt32Array = facts.iter().map(|(code, _)| *code).collect();
    RecordBatch::try_new(schema, vec![Arc::new(names), Arc::new(values)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_a_dense_union() {
        let facts = [(0, Value::Text("x".to_owned())), (3, Value::Flag(true)), (103, Value::Number(7))];
        let batch = batch(&facts).unwrap();
        assert_eq!((batch.num_rows(), batch.schema()), (3, GET_INFO_SCHEMA.clone()));
    }
}
