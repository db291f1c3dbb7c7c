//! Tables of record batches: a table is made for them where that is wanted, and their rows are inserted.

use crate::databases::Dialect;
use crate::error::{invalid, state, unsupported};
use adbc_core::constants::{
    ADBC_INGEST_OPTION_MODE_APPEND, ADBC_INGEST_OPTION_MODE_CREATE, ADBC_INGEST_OPTION_MODE_CREATE_APPEND,
    ADBC_INGEST_OPTION_MODE_REPLACE,
};
use adbc_core::error::Result;
use arrow_schema::{DataType, Field, Schema};
use headrace_arrow::schema::EXTENSION_NAME;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// They are executed first, one after the other.
    pub prepare: Vec<String>,
    /// The statement that is executed for each row.
    pub insert: String,
}

impl Ingest {
    /// The statements for rows of a schema.
    ///
    /// # Errors
    /// The database has no type for a column, or no such tables.
    pub fn plan(&self, dialect: &dyn Dialect, schema: &Schema) -> Result<Plan> {
        let table = self.table.as_deref().ok_or_else(|| state("no table was named to ingest into"))?;
        if schema.fields().is_empty() {
            return Err(invalid("the record batches to ingest have no columns"));
        }
        if self.temporary && (self.catalog.is_some() || self.schema.is_some()) {
            return Err(invalid("a temporary table belongs to the session, not to a catalog or schema"));
        }
        let name = dialect.qualified(self.catalog.as_deref(), self.schema.as_deref(), table)?;
        let name = dialect.ingested(&name, table, self.temporary)?;
        let mut prepare = Vec::new();
        if self.mode == Mode::Replace {
            let drop = if self.temporary { dialect.drop_temporary()? } else { "DROP TABLE" };
            prepare.push(format!("{drop} IF EXISTS {name}"));
        }
        if self.mode != Mode::Append {
            let columns = schema.fields().iter().map(|field| {
                let ty = column_type(dialect, field)?;
                Ok(format!("{} {ty}", dialect.quote(field.name())))
            });
            let columns = columns.collect::<Result<Vec<_>>>()?.join(", ");
            let create = if self.temporary { dialect.create_temporary()? } else { "CREATE TABLE" };
            let unless = if self.mode == Mode::CreateAppend { " IF NOT EXISTS" } else { "" };
            prepare.push(format!("{create}{unless} {name} ({columns})"));
        }
        let columns: Vec<String> = schema.fields().iter().map(|field| dialect.quote(field.name())).collect();
        let values: Vec<String> = (1..=columns.len()).map(|number| dialect.placeholder(number)).collect();
        let insert = format!("INSERT INTO {name} ({}) VALUES ({})", columns.join(", "), values.join(", "));
        Ok(Plan { prepare, insert })
    }
}

/// The SQL type for the values of a column.
fn column_type(dialect: &dyn Dialect, field: &Field) -> Result<String> {
    let extension = field.metadata().get(EXTENSION_NAME).map(String::as_str);
    let ty = match (extension, field.data_type()) {
        (Some("arrow.json"), _) => dialect.json_type(),
        (Some("arrow.uuid"), DataType::FixedSizeBinary(16)) => dialect.uuid_type(),
        (_, ty) => dialect.column_type(plain(ty)),
    };
    ty.ok_or_else(|| {
        let (name, ty) = (headrace_core::shortened(field.name()), field.data_type());
        unsupported(format!("column '{name}' has the Arrow type {ty}, for which {} has no type", dialect.vendor()))
    })
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
    use crate::target::Kind;

    #[test]
    fn each_mode_has_its_statements() {
        let schema =
            Schema::new(vec![Field::new("a\"b", DataType::Int64, true), Field::new("c", DataType::Utf8, true)]);
        let ingest = |mode| Ingest { table: Some("t".to_owned()), mode, ..Ingest::default() };
        let plan = |mode| ingest(mode).plan(dialect(Kind::Postgres), &schema).unwrap();
        let insert = r#"INSERT INTO "t" ("a""b", "c") VALUES ($1, $2)"#;
        assert_eq!(plan(Mode::Append), Plan { prepare: vec![], insert: insert.to_owned() });
        let create = r#"CREATE TABLE "t" ("a""b" BIGINT, "c" TEXT)"#;
        assert_eq!(plan(Mode::Create).prepare, [create]);
        assert_eq!(plan(Mode::Replace).prepare, [r#"DROP TABLE IF EXISTS "t""#, create]);
        assert_eq!(plan(Mode::CreateAppend).prepare, [create.replace("TABLE", "TABLE IF NOT EXISTS")]);
        let temporary = Ingest { temporary: true, ..ingest(Mode::Create) };
        let plan = temporary.plan(dialect(Kind::MySql), &schema).unwrap();
        assert_eq!(plan.prepare, ["CREATE TEMPORARY TABLE `t` (`a\"b` BIGINT, `c` LONGTEXT)"]);
    }
}
