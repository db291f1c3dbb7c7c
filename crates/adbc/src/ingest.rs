//! Tables of record batches: a table is made for them where that is wanted, and their rows are inserted.

use crate::databases::Dialect;
use crate::error::{invalid, state, unsupported};
use adbc_core::constants::{
    ADBC_INGEST_OPTION_MODE_APPEND, ADBC_INGEST_OPTION_MODE_CREATE, ADBC_INGEST_OPTION_MODE_CREATE_APPEND,
    ADBC_INGEST_OPTION_MODE_REPLACE,
};
use adbc_core::error::{Error, Result};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, make_array};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, TimeUnit};
use headrace_arrow::schema::EXTENSION_NAME;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

/// What happens to the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is made; it must not be there.
    #[default]
    Create,
    /// It must be there.
    Append,
    /// It is made in place of one that is there.
    Replace,
    /// It is made unless it is there.
    CreateAppend,
}

const MODES: [(&str, Mode); 4] = [
    (ADBC_INGEST_OPTION_MODE_CREATE, Mode::Create),
    (ADBC_INGEST_OPTION_MODE_APPEND, Mode::Append),
    (ADBC_INGEST_OPTION_MODE_REPLACE, Mode::Replace),
    (ADBC_INGEST_OPTION_MODE_CREATE_APPEND, Mode::CreateAppend),
];

impl Mode {
    /// The mode of an option's value.
    ///
    /// # Errors
    /// There is no such mode.
    pub fn of(text: &str) -> Result<Self> {
        let found = MODES.iter().find(|(name, _)| *name == text);
        found.map(|(_, mode)| *mode).ok_or_else(|| invalid(format!("{text:?} is not a mode of ingestion")))
    }

    /// The option's value.
    pub fn name(self) -> &'static str {
        MODES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

/// Where the rows go.
#[derive(Clone, Debug, Default)]
pub struct Ingest {
    /// The table; without one nothing is ingested.
    pub table: Option<String>,
    /// Its catalog.
    pub catalog: Option<String>,
    /// Its schema.
    pub schema: Option<String>,
    /// What happens to it.
    pub mode: Mode,
    /// It is a temporary table, which ends with the session.
    pub temporary: bool,
}

/// The statements of an ingestion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// They are executed first, one after the other.
    pub before: Vec<Step>,
    /// The statement that is executed for each row.
    pub insert: String,
    /// They are executed last.
    pub after: Vec<Step>,
    /// How instants are inserted.
    pub instants: Instants,
}

/// A statement about tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The statement.
    pub sql: String,
    /// What undoes it if a later statement fails, in a database whose transactions do not. Without, nor is undone what is
    /// before it.
    pub undo: Option<String>,
}

/// What is replaced by a table, in a database that does not make tables in transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replaced {
    /// No table, as far as the user may see.
    #[default]
    Nothing,
    /// A table.
    Table,
    /// The same, in a session in which a table may be dropped to which foreign keys of others refer: they would be left
    /// without one.
    Unchecked,
}

impl Step {
    fn new(sql: String) -> Self {
        Self { sql, undo: None }
    }
}

/// How timestamps with a zone are inserted into a database whose values have none: a column that has them changes neither
/// the other columns nor the defaults of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instants {
    /// There are none, or the values of the database have a zone.
    #[default]
    AsTheyAre,
    /// In the session's time zone, which is so many seconds east of UTC all year.
    Moved(i32),
    /// In UTC, between these statements: in the session's time zone an hour comes twice a year. Nothing else may depend on
    /// the zone then.
    InUtc([&'static str; 2]),
}

/// The zone of a session, in seconds east of UTC, if it is the same all year: that which is set, or the system's.
pub fn fixed_offset(zone: &str, system: &str) -> Option<i32> {
    if zone.eq_ignore_ascii_case("SYSTEM") {
        // An abbreviation, of the day on which the server was started: in winter London's is GMT.
        return system.eq_ignore_ascii_case("UTC").then_some(0);
    }
    if matches!(zone.to_ascii_uppercase().as_str(), "UTC" | "GMT" | "ETC/UTC" | "ETC/GMT" | "ZULU" | "UNIVERSAL") {
        return Some(0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    Some(sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60))
}

impl Ingest {
    /// The statements for rows of a schema.
    ///
    /// # Errors
    /// The database has no type for a column, or no such tables.
    pub fn plan(&self, dialect: &dyn Dialect, schema: &Schema, replaced: Replaced) -> Result<Plan> {
        let table = self.table.as_deref().ok_or_else(|| state("no table was named to ingest into"))?;
        if schema.fields().is_empty() {
            return Err(invalid("the record batches to ingest have no columns"));
        }
        if self.temporary && (self.catalog.is_some() || self.schema.is_some()) {
            return Err(invalid("a temporary table belongs to the session, not to a catalog or schema"));
        }
        let name = dialect.qualified(self.catalog.as_deref(), self.schema.as_deref(), table)?;
        let name = dialect.ingested(&name, table, self.temporary)?;
        let mut plan = Plan::default();
        let mut filled = name.clone();
        if self.mode == Mode::Replace {
            if self.temporary || dialect.makes_tables_in_transactions() {
                let drop = if self.temporary { dialect.drop_temporary()? } else { "DROP TABLE" };
                plan.before.push(Step::new(format!("{drop} IF EXISTS {name}")));
            } else {
                (filled, plan.after) = self.renaming(dialect, &name, replaced)?;
            }
        }
        if self.mode != Mode::Append {
            plan.before.push(self.create(dialect, schema, &filled)?);
        }
        let columns =
            schema.fields().iter().map(|field| dialect.identifier(field.name())).collect::<Result<Vec<_>>>()?;
        let values: Vec<String> = (1..=columns.len()).map(|number| dialect.placeholder(number)).collect();
        plan.insert = format!("INSERT INTO {filled} ({}) VALUES ({})", columns.join(", "), values.join(", "));
        Ok(plan)
    }

    /// The statement that makes the table.
    fn create(&self, dialect: &dyn Dialect, schema: &Schema, name: &str) -> Result<Step> {
        let columns = schema.fields().iter().map(|field| {
            let ty = column_type(dialect, field)?;
            Ok(format!("{} {ty}", dialect.identifier(field.name())?))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?.join(", ");
        let create = if self.temporary { dialect.create_temporary()? } else { "CREATE TABLE" };
        let unless = if self.mode == Mode::CreateAppend { " IF NOT EXISTS" } else { "" };
        // One that is made unless it is there may have been there.
        let undo = if self.mode == Mode::CreateAppend || dialect.makes_tables_in_transactions() {
            None
        } else {
            let drop = if self.temporary { dialect.drop_temporary()? } else { "DROP TABLE" };
            Some(format!("{drop} {name}"))
        };
        Ok(Step { sql: format!("{create}{unless} {name} ({columns})"), undo })
    }

    /// How a table is replaced where DROP TABLE and CREATE TABLE cannot be undone: the name of the table that is filled
    /// first, and the statements that put it in the place of the other one, which is there until then.
    fn renaming(&self, dialect: &dyn Dialect, name: &str, replaced: Replaced) -> Result<(String, Vec<Step>)> {
        let number = RandomState::new().hash_one(std::process::id());
        let beside = |role: &str| {
            let table = format!("headrace_{role}_{number:016x}");
            dialect.qualified(self.catalog.as_deref(), self.schema.as_deref(), &table)
        };
        let (new, old) = (beside("new")?, beside("old")?);
        if replaced == Replaced::Nothing {
            let named = Step::new(dialect.renamed(&[[&new, name]]));
            return Ok((new, vec![named]));
        }
        let undo = Some(dialect.renamed(&[[name, &new], [&old, name]]));
        let swap = Step { sql: dialect.renamed(&[[name, &old], [&new, name]]), undo };
        let mut steps = vec![swap, Step::new(format!("DROP TABLE {old}"))];
        if let (Replaced::Unchecked, Some((_, [on, off]))) = (replaced, dialect.foreign_key_checks()) {
            steps.insert(0, Step { sql: on.to_owned(), undo: Some(off.to_owned()) });
            steps.push(Step::new(off.to_owned()));
        }
        Ok((new, steps))
    }
}

/// The name of the first column of timestamps with a zone.
pub fn instants(schema: &Schema) -> Option<&str> {
    schema.fields().iter().find(|field| are_instants(field)).map(|field| field.name().as_str())
}

fn are_instants(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Timestamp(_, Some(_)))
}

/// Why rows of a schema, whose instants are inserted while the session's time zone is UTC, become others by that: what a
/// column of their table is. Its name, type, default, and how the server computes its values are as `SHOW COLUMNS` has them.
pub fn dependence(schema: &Schema, column: [&str; 2], default: Option<&str>, extra: &str) -> Option<String> {
    let [name, ty] = column;
    // Names of columns are the same in any case.
    let given = schema.fields().iter().find(|field| field.name().to_lowercase() == name.to_lowercase());
    let is_timestamp = ty.to_ascii_lowercase().starts_with("timestamp");
    let extra = extra.to_ascii_uppercase();
    let what = match given {
        _ if ["VIRTUAL", "STORED", "PERSISTENT"].iter().any(|word| extra.contains(word)) => {
            "is computed in the session's time zone".to_owned()
        }
        Some(field) if are_instants(field) && !is_timestamp => {
            format!("has the type {ty}, whose values are in the session's time zone")
        }
        Some(field) if is_timestamp && !are_instants(field) && field.data_type() != &DataType::Null => {
            format!("is given values without a zone, and has the type {ty}, which takes them for the session's")
        }
        None if default.is_some_and(|text| is_timestamp || text.parse::<f64>().is_err()) => {
            "has a default, which may depend on the session's time zone".to_owned()
        }
        _ => return None,
    };
    Some(format!("column '{}' of the table {what}", headrace_core::shortened(name)))
}

/// The schema of the same rows whose instants are timestamps without a zone.
fn in_zone(schema: &Schema) -> Schema {
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Timestamp(*unit, None)))
        }
        _ => field.clone(),
    };
    Schema::new_with_metadata(schema.fields().iter().map(field).collect::<Fields>(), schema.metadata().clone())
}

/// The same rows, whose instants are timestamps without a zone, of a zone that is so many seconds east of UTC. In UTC no
/// value is copied.
///
/// # Errors
/// The batch contradicts its schema, or a timestamp is out of range.
pub fn batch_in_zone(batch: &RecordBatch, offset: i32) -> std::result::Result<RecordBatch, ArrowError> {
    let schema = in_zone(&batch.schema());
    let array = |(array, field): (&ArrayRef, &Arc<Field>)| {
        if array.data_type() == field.data_type() {
            return Ok(array.clone());
        }
        let local = make_array(array.to_data().into_builder().data_type(field.data_type().clone()).build()?);
        if offset == 0 {
            return Ok(local);
        }
        let DataType::Timestamp(unit, _) = field.data_type() else { return Ok(local) };
        match unit {
            TimeUnit::Second => moved::<TimestampSecondType>(&local, offset, 1),
            TimeUnit::Millisecond => moved::<TimestampMillisecondType>(&local, offset, 1000),
            TimeUnit::Microsecond => moved::<TimestampMicrosecondType>(&local, offset, 1_000_000),
            TimeUnit::Nanosecond => moved::<TimestampNanosecondType>(&local, offset, 1_000_000_000),
        }
    };
    let arrays = batch.columns().iter().zip(schema.fields()).map(array).collect::<std::result::Result<_, _>>()?;
    RecordBatch::try_new(Arc::new(schema), arrays)
}

fn moved<T: ArrowPrimitiveType<Native = i64>>(
    array: &ArrayRef,
    offset: i32,
    unit: i64,
) -> std::result::Result<ArrayRef, ArrowError> {
    let by = i64::from(offset) * unit;
    let out_of_range = || ArrowError::ComputeError("a timestamp is out of range in the session's time zone".to_owned());
    let moved = array.as_primitive::<T>().try_unary::<_, T, _>(|at| at.checked_add(by).ok_or_else(out_of_range))?;
    Ok(Arc::new(moved))
}

/// The same for the batches of a stream.
pub fn stream_in_zone(reader: Box<dyn RecordBatchReader + Send>, offset: i32) -> Box<dyn RecordBatchReader + Send> {
    let schema = Arc::new(in_zone(&reader.schema()));
    Box::new(RecordBatchIterator::new(reader.map(move |batch| batch_in_zone(&batch?, offset)), schema))
}

/// The SQL type for the values of a column.
fn column_type(dialect: &dyn Dialect, field: &Field) -> Result<String> {
    sql_type(dialect, field).ok_or_else(|| untyped(dialect, field, ""))
}

/// The error for a column for whose values there is no type.
fn untyped(dialect: &dyn Dialect, field: &Field, reason: &str) -> Error {
    let (name, ty) = (headrace_core::shortened(field.name()), field.data_type());
    unsupported(format!("column '{name}' has the Arrow type {ty}, for which {} has no type{reason}", dialect.vendor()))
}

/// Checks that the server is of a version that has the types of the columns of a table that is made.
///
/// # Errors
/// It has not; or those of `version`, which asks for it.
pub fn check_types(dialect: &dyn Dialect, schema: &Schema, version: &mut dyn FnMut() -> Result<String>) -> Result<()> {
    schema.fields().iter().try_for_each(|field| match dialect.missing_type(field.data_type(), version)? {
        Some(reason) => Err(untyped(dialect, field, &format!(": {reason}"))),
        None => Ok(()),
    })
}

fn sql_type(dialect: &dyn Dialect, field: &Field) -> Option<String> {
    let extension = field.metadata().get(EXTENSION_NAME).map(String::as_str);
    match (extension, field.data_type()) {
        (Some("arrow.json"), _) => dialect.json_type(),
        (Some("arrow.uuid"), DataType::FixedSizeBinary(16)) => dialect.uuid_type(),
        (Some("arrow.bool8"), DataType::Int8) => dialect.column_type(&DataType::Boolean),
        (_, ty) => dialect.column_type(plain(ty)),
    }
}

/// The type of the values of an encoded column.
fn plain(ty: &DataType) -> &DataType {
    match ty {
        DataType::Dictionary(_, values) => values,
        DataType::RunEndEncoded(_, values) => values.data_type(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::databases::dialect;
    use arrow_array::{TimestampMillisecondArray, TimestampSecondArray};
    use headrace_drivers::{Database as _, MySql, Postgres};
    use std::collections::HashMap;

    #[test]
    fn each_mode_has_its_statements() {
        let schema =
            Schema::new(vec![Field::new("a\"b", DataType::Int64, true), Field::new("c", DataType::Utf8, true)]);
        let ingest = |mode| Ingest { table: Some("t".to_owned()), mode, ..Ingest::default() };
        let sql = |steps: &[Step]| steps.iter().map(|step| step.sql.clone()).collect::<Vec<_>>();
        let plan = |mode| ingest(mode).plan(dialect(Postgres::DRIVER).unwrap(), &schema, Replaced::Table).unwrap();
        let insert = r#"INSERT INTO "t" ("a""b", "c") VALUES ($1, $2)"#;
        assert_eq!(plan(Mode::Append), Plan { insert: insert.to_owned(), ..Plan::default() });
        let create = r#"CREATE TABLE "t" ("a""b" BIGINT, "c" TEXT)"#;
        assert_eq!(plan(Mode::Create).before, [Step::new(create.to_owned())]);
        assert_eq!(sql(&plan(Mode::Replace).before), [r#"DROP TABLE IF EXISTS "t""#, create]);
        assert_eq!(plan(Mode::Replace).after, []);
        assert_eq!(sql(&plan(Mode::CreateAppend).before), [create.replace("TABLE", "TABLE IF NOT EXISTS")]);
        let temporary = Ingest { temporary: true, ..ingest(Mode::Create) };
        let plan = temporary.plan(dialect(MySql::DRIVER).unwrap(), &schema, Replaced::Nothing).unwrap();
        let create = "CREATE TEMPORARY TABLE `t` (`a\"b` BIGINT, `c` LONGTEXT CHARACTER SET utf8mb4)".to_owned();
        assert_eq!(plan.before, [Step { sql: create, undo: Some("DROP TEMPORARY TABLE `t`".to_owned()) }]);
    }

    #[test]
    fn arrows_extension_types_have_columns_of_their_own() {
        let field = |ty, extension: &str| {
            let metadata = HashMap::from([(EXTENSION_NAME.to_owned(), extension.to_owned())]);
            Field::new("a", ty, true).with_metadata(metadata)
        };
        let made = |driver, field: Field| sql_type(dialect(driver).unwrap(), &field).unwrap();
        assert_eq!(made(Postgres::DRIVER, field(DataType::Int8, "arrow.bool8")), "BOOLEAN");
        assert_eq!(made(MySql::DRIVER, field(DataType::Int8, "arrow.bool8")), "BOOLEAN");
        assert_eq!(made(Postgres::DRIVER, field(DataType::Int8, "other")), "SMALLINT");
        assert_eq!(made(Postgres::DRIVER, field(DataType::FixedSizeBinary(16), "arrow.uuid")), "UUID");
    }

    #[test]
    fn a_table_is_replaced_by_renaming_where_dropping_it_is_not_undone() {
        let schema = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
        let ingest = Ingest {
            table: Some("t".to_owned()),
            catalog: Some("d".to_owned()),
            mode: Mode::Replace,
            ..Ingest::default()
        };
        let plan = |replaced| {
            let plan = ingest.plan(dialect(MySql::DRIVER).unwrap(), &schema, replaced).unwrap();
            let number = plan.insert.split('_').nth(2).and_then(|rest| rest.get(..16)).unwrap().to_owned();
            let plain = move |sql: &String| sql.replace(&number, "");
            let plain = |steps: &[Step]| {
                let texts = |step: &Step| [plain(&step.sql), step.undo.as_ref().map(&plain).unwrap_or_default()];
                steps.iter().map(texts).collect::<Vec<_>>()
            };
            (plain(&plan.before), plain(&plan.after))
        };
        let create = ["CREATE TABLE `d`.`headrace_new_` (`a` BIGINT)", "DROP TABLE `d`.`headrace_new_`"];
        let swap = [
            "RENAME TABLE `d`.`t` TO `d`.`headrace_old_`, `d`.`headrace_new_` TO `d`.`t`",
            "RENAME TABLE `d`.`t` TO `d`.`headrace_new_`, `d`.`headrace_old_` TO `d`.`t`",
        ];
        let drop = ["DROP TABLE `d`.`headrace_old_`", ""];
        assert_eq!(
            plan(Replaced::Table),
            (vec![create.map(str::to_owned)], [swap, drop].map(|step| step.map(str::to_owned)).into())
        );
        let name = ["RENAME TABLE `d`.`headrace_new_` TO `d`.`t`".to_owned(), String::new()];
        assert_eq!(plan(Replaced::Nothing).1, [name]);
        let unchecked = plan(Replaced::Unchecked).1;
        assert_eq!(
            unchecked.iter().map(|step| step[0].split_at(8).0).collect::<Vec<_>>(),
            ["SET SESS", "RENAME T", "DROP TAB", "SET SESS"]
        );
        assert_eq!(unchecked[0][1], unchecked[3][0]);
    }

    #[test]
    fn zones_that_are_the_same_all_year_have_an_offset() {
        for (zone, system, offset) in [
            ("+09:00", "CET", Some(9 * 3600)),
            ("-03:30", "UTC", Some(-3 * 3600 - 1800)),
            ("SYSTEM", "UTC", Some(0)),
            ("utc", "CEST", Some(0)),
            ("SYSTEM", "CEST", None),
            ("SYSTEM", "GMT", None),
            ("GMT", "CEST", Some(0)),
            ("Europe/Berlin", "UTC", None),
            ("", "", None),
        ] {
            assert_eq!(fixed_offset(zone, system), offset, "{zone} {system}");
        }
    }

    #[test]
    fn columns_that_depend_on_the_zone_are_found() {
        let instant = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let schema = Schema::new(vec![
            Field::new("at", instant, true),
            Field::new("Naive", DataType::Timestamp(TimeUnit::Second, None), true),
            Field::new("none", DataType::Null, true),
        ]);
        for (column, default, extra, wanted) in [
            (["at", "timestamp(6)"], Some("current_timestamp(6)"), "on update current_timestamp(6)", None),
            (["AT", "datetime"], None, "", Some("column 'AT' of the table has the type datetime")),
            (["naive", "datetime"], None, "", None),
            (["naive", "TIMESTAMP"], None, "", Some("column 'naive' of the table is given values without a zone")),
            (["none", "timestamp"], None, "", None),
            (["id", "int"], None, "auto_increment", None),
            (["n", "int"], Some("0"), "", None),
            (["at2", "timestamp"], Some("0"), "", Some("column 'at2' of the table has a default")),
            (["made", "datetime"], Some("CURRENT_TIMESTAMP"), "DEFAULT_GENERATED", Some("column 'made'")),
            (["day", "date"], None, "STORED GENERATED", Some("column 'day' of the table is computed")),
            (["day", "date"], None, "VIRTUAL GENERATED", Some("column 'day' of the table is computed")),
        ] {
            let found = dependence(&schema, column, default, extra);
            match (&found, wanted) {
                (None, None) => {}
                (Some(found), Some(wanted)) if found.starts_with(wanted) => {}
                _ => panic!("{column:?}: {found:?}, wanted {wanted:?}"),
            }
        }
    }

    #[test]
    fn instants_are_moved_and_naive_timestamps_are_not() {
        let instants = TimestampMillisecondArray::from(vec![Some(1000), None]).with_timezone("Europe/Paris");
        let naive = TimestampSecondArray::from(vec![Some(7), None]);
        let columns: [(_, ArrayRef); 2] = [("at", Arc::new(instants)), ("plain", Arc::new(naive))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let moved = batch_in_zone(&batch, -3600).unwrap();
        let at = moved.column(0).as_primitive::<TimestampMillisecondType>();
        assert_eq!((at.value(0), at.is_null(1), at.timezone()), (1000 - 3_600_000, true, None));
        assert_eq!(moved.column(1), batch.column(1));
        let far = TimestampSecondArray::from(vec![i64::MAX]).with_timezone("UTC");
        let far = RecordBatch::try_from_iter([("at", Arc::new(far) as ArrayRef)]).unwrap();
        assert!(batch_in_zone(&far, 3600).is_err());
    }
}
