//! Statistics of tables and columns, as ADBC's `GetStatistics` returns them: those that the server keeps for its planner.

use crate::error::{of, unsupported};
use crate::link::Core;
use crate::nested::{field, lists, structs, texts};
use crate::objects::{fields, passes, query};
use adbc_core::constants::ADBC_STATISTIC_AVERAGE_BYTE_WIDTH_KEY;
use adbc_core::error::{Result, Status};
use adbc_core::schemas::{
    GET_STATISTICS_SCHEMA, STATISTIC_VALUE_SCHEMA, STATISTICS_DB_SCHEMA_SCHEMA, STATISTICS_SCHEMA,
};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int16Array, Int64Array, RecordBatch, UnionArray, new_empty_array,
};
use arrow_schema::{ArrowError, DataType};
use std::sync::Arc;

/// One number about a table, or about a column of it.
#[derive(Debug)]
struct Statistic {
    table: String,
    column: Option<String>,
    key: i16,
    value: i64,
}

#[derive(Debug, Default)]
struct Group<T> {
    name: Option<String>,
    items: Vec<T>,
}

type Schema = Group<Statistic>;
type Catalog = Group<Schema>;

/// The statistics of the tables whose names match these patterns. All of them are approximate.
///
/// # Errors
/// The driver has none for this database, or the query for them has failed.
pub fn statistics(
    core: &mut Core,
    catalog: Option<&str>,
    schema: Option<&str>,
    table: Option<&str>,
) -> Result<RecordBatch> {
    let Some(sql) = core.dialect.statistics(table) else {
        return Err(unsupported(format!("statistics of {}", core.dialect.vendor())));
    };
    let mut catalogs: Vec<Catalog> = Vec::new();
    for row in query(core, &sql)? {
        let [of_catalog, of_schema, of_table, column, key, value] = fields(row);
        let is_wanted = passes(of_catalog.as_deref(), catalog)
            && passes(of_schema.as_deref(), schema)
            && passes(of_table.as_deref(), table);
        let numbers = key.and_then(|key| Some((key.parse().ok()?, value?.parse().ok()?)));
        if let (true, Some(table), Some((key, value))) = (is_wanted, of_table, numbers) {
            let statistic = Statistic { table, column, key, value };
            group(&mut group(&mut catalogs, of_catalog).items, of_schema).items.push(statistic);
        }
    }
    batch(&catalogs).map_err(|error| of(Status::Internal, error.to_string()))
}

/// The group of a name, which is the last one or a new one: rows come in order.
fn group<T>(groups: &mut Vec<Group<T>>, name: Option<String>) -> &mut Group<T> {
    let at = match groups.last() {
        Some(last) if last.name == name => groups.len() - 1,
        _ => {
            groups.push(Group { name, items: Vec::new() });
            groups.len() - 1
        }
    };
    &mut groups[at]
}

fn batch(catalogs: &[Catalog]) -> std::result::Result<RecordBatch, ArrowError> {
    let schemas: Vec<&Schema> = catalogs.iter().flat_map(|catalog| &catalog.items).collect();
    let all: Vec<&Statistic> = schemas.iter().flat_map(|schema| &schema.items).collect();
    let statistic_array = structs(
        &STATISTICS_SCHEMA,
        vec![
            texts(all.iter().map(|one| Some(one.table.as_str()))),
            texts(all.iter().map(|one| one.column.as_deref())),
            Arc::new(all.iter().map(|one| Some(one.key)).collect::<Int16Array>()),
            values(&all)?,
            Arc::new(BooleanArray::from(vec![true; all.len()])),
        ],
    )?;
    let statistic_lists: Vec<_> = schemas.iter().map(|schema| Some(&schema.items)).collect();
    let list_type = field(&STATISTICS_DB_SCHEMA_SCHEMA, "db_schema_statistics")?;
    let schema_array = structs(
        &STATISTICS_DB_SCHEMA_SCHEMA,
        vec![
            texts(schemas.iter().map(|schema| schema.name.as_deref())),
            lists(list_type, &statistic_lists, statistic_array)?,
        ],
    )?;
    let schema_lists: Vec<_> = catalogs.iter().map(|catalog| Some(&catalog.items)).collect();
    let list_type = GET_STATISTICS_SCHEMA.field_with_name("catalog_db_schemas")?.data_type();
    RecordBatch::try_new(
        GET_STATISTICS_SCHEMA.clone(),
        vec![
            texts(catalogs.iter().map(|catalog| catalog.name.as_deref())),
            lists(list_type, &schema_lists, schema_array)?,
        ],
    )
}

/// The values as ADBC has them: widths are floating-point numbers, counts are whole ones.
fn values(all: &[&Statistic]) -> std::result::Result<ArrayRef, ArrowError> {
    let DataType::Union(children, _) = &*STATISTIC_VALUE_SCHEMA else {
        return Err(ArrowError::SchemaError("not a union".to_owned()));
    };
    let (mut counts, mut widths) = (Vec::new(), Vec::new());
    let (mut types, mut offsets) = (Vec::<i8>::new(), Vec::<i32>::new());
    for one in all {
        let (ty, at) = if one.key == ADBC_STATISTIC_AVERAGE_BYTE_WIDTH_KEY {
            widths.push(one.value as f64);
            (2, widths.len())
        } else {
            counts.push(one.value);
            (0, counts.len())
        };
        types.push(ty);
        offsets.push(at as i32 - 1);
    }
    let (counts, widths) = (Int64Array::from(counts), Float64Array::from(widths));
    let arrays = children.iter().map(|(_, child)| -> ArrayRef {
        match child.data_type() {
            DataType::Int64 => Arc::new(counts.clone()),
            DataType::Float64 => Arc::new(widths.clone()),
            other => new_empty_array(other),
        }
    });
    let arrays = arrays.collect();
    Ok(Arc::new(UnionArray::try_new(children.clone(), types.into(), Some(offsets.into()), arrays)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_have_the_schema_of_adbc() {
        let of = |column: Option<&str>, key, value| Statistic {
            table: "t".to_owned(),
            column: column.map(str::to_owned),
            key,
            value,
        };
        let schema = Schema { name: None, items: vec![of(None, 6, 3), of(Some("a"), 0, 8), of(Some("a"), 1, 2)] };
        let batch = batch(&[Catalog { name: Some("c".to_owned()), items: vec![schema] }]).unwrap();
        assert_eq!((batch.num_rows(), batch.schema()), (1, GET_STATISTICS_SCHEMA.clone()));
        assert_eq!(super::batch(&[]).unwrap().num_rows(), 0);
    }
}
