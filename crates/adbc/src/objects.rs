//! The hierarchy of catalogs, schemas, tables and columns, as ADBC's `GetObjects` returns it.

use crate::link::Core;
use crate::nested::{field, lists, structs, texts};
use crate::table::Table as Rows;
use adbc_core::error::Result;
use adbc_core::options::ObjectDepth;
use adbc_core::schemas::{
    COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA, TABLE_SCHEMA, USAGE_SCHEMA,
};
use arrow_array::{ArrayRef, BooleanArray, Int16Array, Int32Array, RecordBatch};
use arrow_schema::{ArrowError, Field};
use std::sync::Arc;

/// What to list.
#[derive(Clone, Copy, Debug)]
pub struct Filter<'a> {
    /// How deep.
    pub depth: ObjectDepth,
    /// A pattern for catalogs.
    pub catalog: Option<&'a str>,
    /// A pattern for schemas.
    pub schema: Option<&'a str>,
    /// A pattern for tables.
    pub table: Option<&'a str>,
    /// Types of tables.
    pub types: Option<&'a [&'a str]>,
    /// A pattern for columns.
    pub column: Option<&'a str>,
}

#[derive(Debug, Default)]
struct Catalog {
    name: Option<String>,
    schemas: Option<Vec<Schema>>,
}

#[derive(Debug, Default)]
struct Schema {
    name: Option<String>,
    tables: Option<Vec<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    name: String,
    kind: String,
    columns: Option<Vec<Column>>,
    constraints: Option<Vec<Constraint>>,
}

/// The values of a row of [`crate::databases::Dialect::columns`], without its first three.
type Column = Vec<Option<String>>;

#[derive(Debug, Default)]
struct Constraint {
    name: Option<String>,
    kind: String,
    columns: Vec<String>,
    /// Catalog, schema, table and column that a foreign key refers to.
    usage: Vec<[Option<String>; 4]>,
}

impl Constraint {
    /// Returns true if it refers to columns of another table; others have no such list.
    fn is_foreign(&self) -> bool {
        self.kind == "FOREIGN KEY"
    }
}

/// Returns true if a name matches a pattern of SQL's LIKE: `%` for any text, `_` for any character.
pub fn is_like(name: &str, pattern: &str) -> bool {
    fn matches(name: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => name.is_empty(),
            ['%', rest @ ..] => (0..=name.len()).any(|at| matches(&name[at..], rest)),
            ['_', rest @ ..] => name.split_first().is_some_and(|(_, after)| matches(after, rest)),
            ['\\', literal @ ('%' | '_' | '\\'), rest @ ..] | [literal, rest @ ..] => {
                name.split_first().is_some_and(|(first, after)| first == literal && matches(after, rest))
            }
        }
    }
    matches(&name.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>())
}

/// Returns true if a name passes a filter: a pattern, or the empty text for names that are empty or null.
pub fn passes(name: Option<&str>, pattern: Option<&str>) -> bool {
    match pattern {
        None => true,
        Some("") => name.unwrap_or_default().is_empty(),
        Some(pattern) => is_like(name.unwrap_or_default(), pattern),
    }
}

/// The objects that pass a filter.
///
/// # Errors
/// A query for them has failed.
pub fn objects(core: &mut Core, filter: &Filter<'_>) -> Result<RecordBatch> {
    let dialect = core.dialect;
    let mut catalogs = Vec::new();
    for row in query(core, dialect.catalogs())? {
        let [name] = fields(row);
        if passes(name.as_deref(), filter.catalog) {
            let schemas = (filter.depth != ObjectDepth::Catalogs).then(Vec::new);
            catalogs.push(Catalog { name, schemas });
        }
    }
    if filter.depth != ObjectDepth::Catalogs {
        for row in query(core, dialect.schemas())? {
            let [catalog, name] = fields(row);
            let is_hidden = filter.schema.is_none() && name.as_deref().is_some_and(|name| dialect.is_own_schema(name));
            if let Some(catalog) = catalogs.iter_mut().find(|known| known.name == catalog)
                && passes(name.as_deref(), filter.schema)
                && !is_hidden
            {
                let tables = (filter.depth != ObjectDepth::Schemas).then(Vec::new);
                catalog.schemas.get_or_insert_default().push(Schema { name, tables });
            }
        }
    }
    if !matches!(filter.depth, ObjectDepth::Catalogs | ObjectDepth::Schemas) {
        tables(core, filter, &mut catalogs)?;
    }
    batch(&catalogs).map_err(|error| crate::error::of(adbc_core::error::Status::Internal, error.to_string()))
}

/// The rows of a query for metadata.
///
/// # Errors
/// It has failed.
pub fn query(core: &mut Core, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
    Ok(Rows::of(&core.query(sql)?).into_rows())
}

/// The first values of a row, null where it has fewer.
pub fn fields<const N: usize>(row: Vec<Option<String>>) -> [Option<String>; N] {
    let mut values = row.into_iter();
    std::array::from_fn(|_| values.next().flatten())
}

fn tables(core: &mut Core, filter: &Filter<'_>, catalogs: &mut [Catalog]) -> Result<()> {
    let dialect = core.dialect;
    let is_deep = matches!(filter.depth, ObjectDepth::All | ObjectDepth::Columns);
    for row in query(core, dialect.tables())? {
        let [catalog, schema, name, kind] = fields(row);
        let (name, kind) = (name.unwrap_or_default(), kind.unwrap_or_default());
        let wanted = filter.types.is_none_or(|types| types.iter().any(|one| one.eq_ignore_ascii_case(&kind)));
        if !wanted || !passes(Some(&name), filter.table) {
            continue;
        }
        if let Some(schema) = find_schema(catalogs, &catalog, &schema) {
            let has_constraints = is_deep && dialect.constraints(None).is_some();
            let (columns, constraints) = (is_deep.then(Vec::new), has_constraints.then(Vec::new));
            schema.tables.get_or_insert_default().push(Table { name, kind, columns, constraints });
        }
    }
    if !is_deep {
        return Ok(());
    }
    for row in query(core, &dialect.columns(filter.table))? {
        let mut row = row;
        let values = row.split_off(row.len().min(3));
        let [catalog, schema, table] = fields(row);
        if let Some(table) = find_table(catalogs, &catalog, &schema, &table)
            && passes(values.first().and_then(Option::as_deref), filter.column)
        {
            let mut values = values;
            if let Some(Some(ty)) = values.get_mut(3) {
                *ty = dialect.type_name(ty);
            }
            table.columns.get_or_insert_default().push(values);
        }
    }
    let Some(constraints) = dialect.constraints(filter.table) else { return Ok(()) };
    for row in query(core, &constraints)? {
        let [catalog, schema, table, name, kind, column, to_catalog, to_schema, to_table, to_column] = fields(row);
        let Some(table) = find_table(catalogs, &catalog, &schema, &table) else { continue };
        let constraints = table.constraints.get_or_insert_default();
        if constraints.last().is_none_or(|last| last.name != name) {
            let kind = kind.unwrap_or_default();
            constraints.push(Constraint { name, kind, ..Constraint::default() });
        }
        if let Some(constraint) = constraints.last_mut() {
            constraint.columns.extend(column);
            if to_table.is_some() {
                constraint.usage.push([to_catalog, to_schema, to_table, to_column]);
            }
        }
    }
    Ok(())
}

fn find_schema<'a>(
    catalogs: &'a mut [Catalog],
    catalog: &Option<String>,
    schema: &Option<String>,
) -> Option<&'a mut Schema> {
    let catalog = catalogs.iter_mut().find(|known| known.name == *catalog)?;
    catalog.schemas.as_mut()?.iter_mut().find(|known| known.name == *schema)
}

fn find_table<'a>(
    catalogs: &'a mut [Catalog],
    catalog: &Option<String>,
    schema: &Option<String>,
    table: &Option<String>,
) -> Option<&'a mut Table> {
    let schema = find_schema(catalogs, catalog, schema)?;
    // Rows come in the order of their tables.
    schema.tables.as_mut()?.iter_mut().rev().find(|known| Some(&known.name) == table.as_ref())
}

fn batch(catalogs: &[Catalog]) -> std::result::Result<RecordBatch, ArrowError> {
    let schemas: Vec<&Schema> = catalogs.iter().flat_map(|catalog| catalog.schemas.iter().flatten()).collect();
    let tables: Vec<&Table> = schemas.iter().flat_map(|schema| schema.tables.iter().flatten()).collect();
    let columns: Vec<&Column> = tables.iter().flat_map(|table| table.columns.iter().flatten()).collect();
    let constraints: Vec<&Constraint> = tables.iter().flat_map(|table| table.constraints.iter().flatten()).collect();

    let column_lists: Vec<_> = tables.iter().map(|table| table.columns.as_ref()).collect();
    let constraint_lists: Vec<_> = tables.iter().map(|table| table.constraints.as_ref()).collect();
    let table_array = structs(
        &TABLE_SCHEMA,
        vec![
            texts(tables.iter().map(|table| Some(table.name.as_str()))),
            texts(tables.iter().map(|table| Some(table.kind.as_str()))),
            lists(field(&TABLE_SCHEMA, "table_columns")?, &column_lists, column_array(&columns)?)?,
            lists(field(&TABLE_SCHEMA, "table_constraints")?, &constraint_lists, constraint_array(&constraints)?)?,
        ],
    )?;
    let table_lists: Vec<_> = schemas.iter().map(|schema| schema.tables.as_ref()).collect();
    let schema_array = structs(
        &OBJECTS_DB_SCHEMA_SCHEMA,
        vec![
            texts(schemas.iter().map(|schema| schema.name.as_deref())),
            lists(field(&OBJECTS_DB_SCHEMA_SCHEMA, "db_schema_tables")?, &table_lists, table_array)?,
        ],
    )?;
    let schema_lists: Vec<_> = catalogs.iter().map(|catalog| catalog.schemas.as_ref()).collect();
    let schema_field: &Field = GET_OBJECTS_SCHEMA.field_with_name("catalog_db_schemas")?;
    RecordBatch::try_new(
        GET_OBJECTS_SCHEMA.clone(),
        vec![
            texts(catalogs.iter().map(|catalog| catalog.name.as_deref())),
            lists(schema_field.data_type(), &schema_lists, schema_array)?,
        ],
    )
}

/// The positions of what [`crate::databases::Dialect::columns`] returns, after the table.
mod place {
    pub const NAME: usize = 0;
    pub const ORDINAL: usize = 1;
    pub const REMARKS: usize = 2;
    pub const TYPE: usize = 3;
    pub const SIZE: usize = 4;
    pub const DIGITS: usize = 5;
    pub const RADIX: usize = 6;
    pub const NULLABLE: usize = 7;
    pub const DEFAULT: usize = 8;
    pub const OCTETS: usize = 9;
    pub const IS_AUTO: usize = 10;
    pub const IS_GENERATED: usize = 11;
}

fn column_array(columns: &[&Column]) -> std::result::Result<ArrayRef, ArrowError> {
    let get = |at: usize| columns.iter().map(move |column| column.get(at).and_then(Option::as_deref));
    let text = |at| texts(get(at));
    let int32 = |at| -> ArrayRef { Arc::new(get(at).map(|text| text?.parse().ok()).collect::<Int32Array>()) };
    let int16 = |at| -> ArrayRef { Arc::new(get(at).map(|text| text?.parse().ok()).collect::<Int16Array>()) };
    let flag = |at| -> ArrayRef {
        let is_true = |text: &str| matches!(text, "1" | "true" | "t" | "YES");
        Arc::new(get(at).map(|text| text.map(is_true)).collect::<BooleanArray>())
    };
    let none16 = || -> ArrayRef { Arc::new(Int16Array::new_null(columns.len())) };
    let none = || texts(columns.iter().map(|_| None));
    let nullable = get(place::NULLABLE).map(|text| text.map(|text| i16::from(text == "YES")));
    structs(
        &COLUMN_SCHEMA,
        vec![
            text(place::NAME),
            int32(place::ORDINAL),
            text(place::REMARKS),
            none16(),
            text(place::TYPE),
            int32(place::SIZE),
            int16(place::DIGITS),
            int16(place::RADIX),
            Arc::new(nullable.collect::<Int16Array>()),
            text(place::DEFAULT),
            none16(),
            none16(),
            int32(place::OCTETS),
            text(place::NULLABLE),
            none(),
            none(),
            none(),
            flag(place::IS_AUTO),
            flag(place::IS_GENERATED),
        ],
    )
}

fn constraint_array(constraints: &[&Constraint]) -> std::result::Result<ArrayRef, ArrowError> {
    let names: Vec<_> = constraints.iter().map(|constraint| Some(&constraint.columns)).collect();
    let usages: Vec<_> =
        constraints.iter().map(|constraint| constraint.is_foreign().then_some(&constraint.usage)).collect();
    let used: Vec<_> = constraints.iter().flat_map(|constraint| &constraint.usage).collect();
    let part = |at: usize| texts(used.iter().map(move |usage| usage[at].as_deref().or((at > 1).then_some(""))));
    let usage = structs(&USAGE_SCHEMA, (0..4).map(part).collect())?;
    let columns = texts(constraints.iter().flat_map(|constraint| &constraint.columns).map(|name| Some(name.as_str())));
    structs(
        &CONSTRAINT_SCHEMA,
        vec![
            texts(constraints.iter().map(|constraint| constraint.name.as_deref())),
            texts(constraints.iter().map(|constraint| Some(constraint.kind.as_str()))),
            lists(field(&CONSTRAINT_SCHEMA, "constraint_column_names")?, &names, columns)?,
            lists(field(&CONSTRAINT_SCHEMA, "constraint_column_usage")?, &usages, usage)?,
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_sql() {
        for (name, pattern, wanted) in [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "a_c", true),
            ("abc", "a_", false),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("", "%", true),
            ("abc", "ABC", false),
        ] {
            assert_eq!(is_like(name, pattern), wanted, "{name} {pattern}");
        }
        assert!(passes(None, Some("")) && !passes(Some("a"), Some("")));
    }

    #[test]
    fn nested_objects_have_the_schema_of_adbc() {
        let column = vec![Some("id".to_owned()), Some("1".to_owned())];
        let constraint = Constraint {
            name: Some("fk".to_owned()),
            kind: "FOREIGN KEY".to_owned(),
            columns: vec!["id".to_owned()],
            usage: vec![[None, None, Some("u".to_owned()), Some("id".to_owned())]],
        };
        let table = Table {
            name: "t".to_owned(),
            kind: "table".to_owned(),
            columns: Some(vec![column]),
            constraints: Some(vec![constraint]),
        };
        let schema = Schema { name: Some("s".to_owned()), tables: Some(vec![table]) };
        let full = Catalog { name: Some("c".to_owned()), schemas: Some(vec![schema]) };
        let batch = batch(&[full, Catalog::default()]).unwrap();
        assert_eq!((batch.num_rows(), batch.schema()), (2, GET_OBJECTS_SCHEMA.clone()));
    }
}
