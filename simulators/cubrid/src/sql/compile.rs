//! Types every expression and writes it for SQLite.

use std::sync::Arc;

use rusqlite::types::Value;

use super::ast::*;
use super::{literal, print};
use crate::convert::{self, Mode};
use crate::errors::{Error, Result};
use crate::types::code::*;
use crate::types::{Family, Type};
use crate::values::Bound;

/// What the metadata of a column says of the column that it stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The table.
    pub class: String,
    /// True if NULL is refused.
    pub not_null: bool,
    /// The default, as text.
    pub default: Option<String>,
    /// True for AUTO_INCREMENT.
    pub auto: bool,
    /// True if it is a unique key.
    pub unique: bool,
    /// True if it is in the primary key.
    pub primary: bool,
    /// True if it is in a foreign key.
    pub foreign: bool,
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type; of the values of this execution, if the metadata has none.
    pub ty: Type,
    /// The column of a table that it stands for.
    pub meta: Option<Meta>,
}

/// What a marker is for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// The type to convert to, if it is known.
    pub ty: Option<Type>,
    /// What is done with the value.
    pub mode: Mode,
}

/// A change of rows.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// SQL for SQLite.
    pub sql: String,
    /// The table.
    pub table: String,
    /// True for REPLACE, whose count has the rows that it removes.
    pub replace: bool,
    /// True for ON DUPLICATE KEY UPDATE, whose count has changed rows twice.
    pub upsert: bool,
    /// The values of a single inserted row in SQLite's SQL, by column.
    pub row: Vec<(String, String)>,
    /// True if rows are deleted.
    pub deletes: bool,
}

/// What a statement does.
#[derive(Clone, Debug)]
pub enum Action {
    /// It returns rows.
    Query(String),
    /// Rows change, by one statement of SQLite's after the other.
    Write(Vec<Write>),
    /// All others.
    Other(Box<Statement>),
}

/// A statement, ready to run.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The number of the kind of statement.
    pub kind: i8,
    /// What it does.
    pub action: Action,
    /// The columns of the result.
    pub columns: Vec<ResultColumn>,
    /// The markers.
    pub parameters: Vec<Parameter>,
    /// True if the types depend on the bound values.
    pub open: bool,
}

/// Where definitions come from.
pub trait Catalog {
    /// The table of a name.
    fn table(&self, name: &str) -> Option<Arc<Table>>;
    /// The columns and the query of a view.
    fn view(&self, name: &str) -> Option<(Vec<String>, String)>;
    /// True if there is a serial of this name.
    fn serial(&self, name: &str) -> bool;
    /// The value of a session variable.
    fn variable(&self, name: &str) -> Option<Bound>;
    /// The time zone of the session.
    fn zone(&self) -> String;
}

/// An expression in SQLite's SQL.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub sql: String,
    pub ty: Type,
    pub form: Form,
    pub meta: Option<Meta>,
}

/// Where the value of an expression comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Column,
    Parameter(usize),
    /// A literal with its value and its text.
    Literal(Value, String),
    Computed,
}

impl Typed {
    pub fn computed(sql: String, ty: Type) -> Self {
        Self { sql, ty, form: Form::Computed, meta: None }
    }
}

#[derive(Clone, Debug)]
pub(super) struct InScope {
    pub alias: String,
    pub columns: Vec<ResultColumn>,
}

/// Translates one statement.
pub struct Compiler<'a> {
    pub(super) catalog: &'a dyn Catalog,
    /// The types of bound values, if they are known.
    pub(super) bound: Option<&'a [Type]>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) scopes: Vec<Vec<InScope>>,
    pub(super) named: Vec<(String, Vec<ResultColumn>)>,
    pub(super) open: bool,
    pub(super) views: usize,
}

/// True for what stands alone as a condition: a number does not.
pub(super) fn is_condition(value: &Expr) -> bool {
    match value {
        Expr::Binary("and" | "or" | "xor", left, right) => is_condition(left) && is_condition(right),
        Expr::Binary("=" | "<>" | "<" | "<=" | ">" | ">=" | "<=>", ..) => true,
        Expr::Not(inner) => is_condition(inner),
        Expr::Truth(_)
        | Expr::IsNull(..)
        | Expr::Between(..)
        | Expr::In(..)
        | Expr::InQuery(..)
        | Expr::Quantified(..)
        | Expr::Like(..)
        | Expr::Exists(_)
        | Expr::Contains(..) => true,
        _ => false,
    }
}

pub(super) fn truth_type() -> Type {
    Type::of(INT)
}

/// The type that two values have in common.
pub(super) fn common(left: &Type, right: &Type) -> Type {
    if left.code == NULL && left.collection == 0 {
        return right.clone();
    }
    if right.code == NULL && right.collection == 0 {
        return left.clone();
    }
    use Family::*;
    match (left.family(), right.family()) {
        (Integer, Integer) => {
            if left.precision >= right.precision {
                left.clone()
            } else {
                right.clone()
            }
        }
        (Real, Real) if left.code == FLOAT && right.code == FLOAT => left.clone(),
        (Real, Integer | Real | Numeric) | (Integer | Numeric, Real) => Type::of(DOUBLE),
        (Numeric | Integer, Numeric | Integer) => {
            let scale = left.scale.max(right.scale);
            let whole = (left.precision - i32::from(left.scale)).max(right.precision - i32::from(right.scale));
            Type::numeric((whole + i32::from(scale)).min(38), scale)
        }
        (Text, Text) => {
            let precision =
                if left.precision < 0 || right.precision < 0 { -1 } else { left.precision.max(right.precision) };
            let both = left.code == CHAR && right.code == CHAR;
            Type::sized(if both && left.precision == right.precision { CHAR } else { VARCHAR }, precision)
        }
        (Text, Integer | Real | Numeric) | (Integer | Real | Numeric, Text) => {
            Type::sized(VARCHAR, crate::limits::STRING)
        }
        (Time, Time) if left.code == right.code => left.clone(),
        (Time, Time) if left.has_zone() || right.has_zone() => Type::of(DATETIMETZ),
        (Time, Time) => Type::of(DATETIME),
        (Text, _) => right.clone(),
        _ => left.clone(),
    }
}

/// The collation that values of a type sort by.
pub(super) fn collation(ty: &Type) -> &'static str {
    match ty.family() {
        Family::Numeric => " COLLATE CUBNUM",
        Family::Text => " COLLATE RTRIM",
        Family::Time if ty.has_zone() => " COLLATE CUBTZ",
        _ => "",
    }
}

impl<'a> Compiler<'a> {
    /// A compiler for a text with `markers` markers.
    pub fn new(catalog: &'a dyn Catalog, markers: usize, bound: Option<&'a [Type]>) -> Self {
        Self {
            catalog,
            bound,
            parameters: vec![Parameter::default(); markers],
            scopes: Vec::new(),
            named: Vec::new(),
            open: false,
            views: 0,
        }
    }

    /// Translates a statement.
    ///
    /// # Errors
    /// -493 and -494, as the server has them.
    pub fn statement(mut self, statement: &Statement) -> Result<Compiled> {
        let (kind, action, columns) = match statement {
            Statement::Query(query) => {
                let (sql, columns) = self.query(query)?;
                (21, Action::Query(sql), columns)
            }
            Statement::Insert(insert) => (20, Action::Write(vec![self.insert(insert)?]), Vec::new()),
            Statement::Update(update) => (22, Action::Write(vec![self.update(update)?]), Vec::new()),
            Statement::Delete { with, table, alias, from, condition, limit } => {
                let (condition, limit) = (condition.as_ref(), limit.as_ref());
                let write = self.delete(with.as_ref(), table, alias.as_deref(), from, condition, limit)?;
                (23, Action::Write(vec![write]), Vec::new())
            }
            Statement::Merge(merge) => (57, Action::Write(self.merge(merge)?), Vec::new()),
            Statement::Call(value) | Statement::Evaluate(value) => {
                let value = self.expression(value)?;
                let kind = if matches!(statement, Statement::Call(_)) { 24 } else { 14 };
                self.open = true;
                // The type is in the value.
                let ty = if self.has_values() { value.ty } else { Type::unknown() };
                let column = ResultColumn { name: String::new(), ty, meta: None };
                (kind, Action::Query(format!("SELECT {}", value.sql)), vec![column])
            }
            other => {
                let kind = match other {
                    Statement::CreateTable { .. } => 4,
                    Statement::CreateView { .. } => 4,
                    Statement::CreateIndex { .. } => 5,
                    Statement::CreateSerial { .. } => 7,
                    Statement::DropTable { .. } | Statement::DropView { .. } => 9,
                    Statement::DropIndex { .. } => 10,
                    Statement::DropSerial { .. } => 12,
                    Statement::AlterTable { .. } => 0,
                    Statement::RenameTable(_) => 15,
                    Statement::Truncate(_) => 52,
                    Statement::Commit => 2,
                    Statement::Rollback(_) => 16,
                    Statement::Savepoint(_) => 19,
                    Statement::SetVariables(_) => 55,
                    Statement::SetIsolation(_) | Statement::SetLockTimeout(_) => 25,
                    Statement::SetTimeZone(_) => 62,
                    Statement::SetParameters(_) => 54,
                    Statement::Show(_) => 21,
                    Statement::Nothing(kind) | Statement::Get(kind, _) => *kind,
                    Statement::Do(_) => 53,
                    _ => 0x7f,
                };
                (kind, Action::Other(Box::new(other.clone())), Vec::new())
            }
        };
        Ok(Compiled { kind, action, columns, parameters: self.parameters, open: self.open })
    }

    /// Translates an expression that stands alone, as a default and the value of a variable do.
    ///
    /// # Errors
    /// -494.
    pub fn alone(mut self, value: &Expr, to: Option<&Type>) -> Result<(String, Type)> {
        let typed = self.expression(value)?;
        match to {
            Some(to) => {
                let sql = self.coerce(typed, to, Mode::Assign)?;
                Ok((sql, to.clone()))
            }
            None => Ok((typed.sql, typed.ty)),
        }
    }

    /// The columns and SQLite's text of a query, for CREATE TABLE AS.
    ///
    /// # Errors
    /// -494.
    pub fn alone_query(mut self, query: &Query) -> Result<(String, Vec<ResultColumn>)> {
        self.query(query)
    }

    /// True if the values of this execution are known.
    pub(super) fn has_values(&self) -> bool {
        self.bound.is_some()
    }

    pub(super) fn parameter_type(&self, index: usize) -> Option<Type> {
        self.bound.and_then(|bound| bound.get(index)).cloned()
    }

    /// A condition.
    pub(super) fn truth(&mut self, value: &Expr) -> Result<String> {
        if !is_condition(value) {
            return Err(Error::syntax("before ' '\noperand must be logical expression. "));
        }
        Ok(self.expression(value)?.sql)
    }

    pub(super) fn name(&mut self, table: Option<&str>, name: &str) -> Result<Typed> {
        match self.find(table, name)? {
            Some((sql, column)) => {
                let form = Form::Column;
                Ok(Typed { sql, ty: column.ty, form, meta: column.meta })
            }
            None => match (table, self.catalog.variable(&interpreted(name))) {
                (Some(table), _) => Err(self.missing(table, name)),
                (None, Some(Bound { ty, value })) => Ok(Typed::computed(literal_of(&value), ty)),
                (None, None) => Err(not_found(name)),
            },
        }
    }

    /// The error for a column that a table does not have.
    pub(super) fn missing(&self, table: &str, name: &str) -> Error {
        let mut sources = self.scopes.iter().rev().flatten();
        let class = sources.find(|source| source.alias == table).and_then(|source| {
            source.columns.first().and_then(|column| column.meta.as_ref()).map(|meta| meta.class.clone())
        });
        Error::semantic(match class {
            Some(class) => format!("Class ([{class}]) does not have attribute {name}. "),
            None => format!("{table}.{name} is not defined. "),
        })
    }

    pub(super) fn parameter(&mut self, index: usize) -> Typed {
        let ty = self.parameter_type(index).unwrap_or_else(Type::unknown);
        Typed { sql: format!("?{}", index + 1), ty, form: Form::Parameter(index), meta: None }
    }

    /// The text of a value in another type.
    pub(super) fn coerce(&mut self, value: Typed, to: &Type, mode: Mode) -> Result<String> {
        match value.form {
            Form::Parameter(index) => {
                self.parameters[index] = Parameter { ty: Some(to.clone()), mode };
                Ok(value.sql)
            }
            Form::Literal(Value::Null, _) => Ok(value.sql),
            // Each execution makes an object.
            Form::Literal(..) if to.family() == Family::Lob => Ok(cast(&value.sql, &value.ty, to, mode)),
            Form::Literal(kept, text) => {
                let zone = self.catalog.zone();
                let converted = convert::convert(kept, &value.ty, to, mode, &zone).map_err(|error| match mode {
                    Mode::Cast => error,
                    _ if error.code == -1197 => Error::semantic(format!("before ' '\n{} ", error.text)),
                    _ if error.code <= -10000 => error,
                    _ if to.family() == Family::Time && value.ty.is_text() => {
                        let format = match to.code {
                            DATE => "date",
                            TIME => "time",
                            _ => "timestamp",
                        };
                        Error::semantic(format!("before ' '\nConversion error in {format} format. "))
                    }
                    _ => Error::semantic(format!("before ' '\nCannot coerce {text} to type {}. ", to.base_name())),
                });
                match converted {
                    Ok(value) => Ok(literal_of(&value)),
                    // CAST fails when it is executed.
                    Err(_) if mode == Mode::Cast => Ok(cast(&value.sql, &value.ty, to, mode)),
                    Err(error) => Err(error),
                }
            }
            _ if value.ty.code == NULL && value.ty.collection == 0 => {
                self.open = true;
                Ok(cast(&value.sql, &value.ty, to, mode))
            }
            _ if same(&value.ty, to, mode) => Ok(value.sql),
            _ => Ok(cast(&value.sql, &value.ty, to, mode)),
        }
    }
}

/// True if no value changes on its way from one type to the other.
pub(super) fn same(from: &Type, to: &Type, mode: Mode) -> bool {
    if from.collection != 0 || to.collection != 0 {
        return from == to;
    }
    match (from.family(), to.family()) {
        (Family::Integer, Family::Integer) => mode == Mode::Compare || from.precision <= to.precision,
        (Family::Real, Family::Real) => to.code != FLOAT || from.code == FLOAT,
        (Family::Numeric, Family::Numeric) => from == to || mode == Mode::Compare,
        (Family::Text, Family::Text) => {
            mode == Mode::Compare
                || (to.code == VARCHAR && from.code != ENUM && from.precision >= 0 && from.precision <= to.precision)
                || (from.code == CHAR && to.code == CHAR && from.precision == to.precision)
        }
        (Family::Time, Family::Time) | (Family::Lob, Family::Lob) => from.code == to.code,
        (Family::Json, Family::Json) => true,
        _ => from == to,
    }
}

/// The call that converts a value when it is executed.
pub(super) fn cast(sql: &str, from: &Type, to: &Type, mode: Mode) -> String {
    if to.family() == Family::Lob && !matches!(from.family(), Family::Lob | Family::Unknown) {
        // An object with this content.
        let content = match from.family() {
            Family::Bits => sql.to_owned(),
            _ => cast(sql, from, &Type::sized(VARCHAR, crate::limits::STRING), Mode::Cast),
        };
        return format!("cub_new_lob({}, {content})", to.code);
    }
    format!("cub_cast({sql}, {}, {}, {})", literal(&convert::tag(from)), literal(&convert::tag(to)), mode as u8)
}

/// A value in SQLite's SQL.
pub(super) fn literal_of(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Integer(i64::MIN) => "(-9223372036854775807 - 1)".into(),
        Value::Integer(number) => number.to_string(),
        // Of a zero SQLite keeps no sign.
        Value::Real(number) if number.fract() == 0.0 && number.abs() < 1e15 && number.to_bits() != 1 << 63 => {
            format!("{number:e}")
        }
        // SQLite does not read every decimal text as the nearest number.
        Value::Real(number) if number.is_finite() => format!("cub_real({})", number.to_bits() as i64),
        Value::Real(number) if number.is_nan() => "NULL".into(),
        Value::Real(number) => if *number > 0.0 { "9e999" } else { "-9e999" }.into(),
        Value::Text(text) if text.contains('\0') => {
            let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("CAST(X'{hex}' AS TEXT)")
        }
        Value::Text(text) => literal(text),
        Value::Blob(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("X'{hex}'")
        }
    }
}

/// The columns of a table as the metadata of results has them.
pub(super) fn table_columns(table: &Table) -> Vec<ResultColumn> {
    let in_key = |kind: &[KeyKind], name: &str| {
        table.keys.iter().any(|key| kind.contains(&key.kind) && key.columns.iter().any(|(column, _)| column == name))
    };
    table
        .columns
        .iter()
        .map(|column| ResultColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            meta: Some(Meta {
                class: format!("dba.{}", table.name),
                not_null: column.not_null,
                default: Some(column.default.as_ref().map_or("NULL".to_owned(), print::expression)),
                auto: column.auto.is_some(),
                unique: in_key(&[KeyKind::Primary, KeyKind::Unique], &column.name),
                primary: in_key(&[KeyKind::Primary], &column.name),
                foreign: in_key(&[KeyKind::Foreign], &column.name),
            }),
        })
        .collect()
}

/// A column of a table.
pub(super) fn column_of<'t>(table: &'t Table, name: &str) -> Result<&'t Column> {
    table.columns.iter().find(|column| column.name == name).ok_or_else(|| not_found(name))
}

/// The key of a variable that GET … TO has set, among those of the session.
pub fn interpreted(name: &str) -> String {
    format!("to {name}")
}

pub(super) fn not_found(name: &str) -> Error {
    Error::semantic(format!("before ' '\nAttribute \"{name}\" was not found. "))
}

pub(super) fn unknown_class(name: &str, text: &str) -> Error {
    Error::syntax(format!("Unknown class \"dba.{name}\". {text}"))
}
