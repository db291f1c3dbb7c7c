//! Statements and expressions as they were read.
#![allow(missing_docs)]

use crate::types::Type;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Null,
    Default,
    Integer(String),
    /// TRUE or FALSE.
    Truth(bool),
    Decimal(String),
    Float(String),
    Text(String),
    National(String),
    /// The letter and the digits.
    Bits(char, String),
    /// DATE'…' and the like: the type and the text.
    Typed(u8, String),
    Parameter(usize),
    Name(Option<String>, String),
    /// `*`, of a table if one is named.
    Star(Option<String>),
    Negative(Box<Expr>),
    Not(Box<Expr>),
    /// `~`
    OtherBits(Box<Expr>),
    /// `+ - * / % || = <> < <= > >= <=> and or xor & | ^ << >>`
    Binary(&'static str, Box<Expr>, Box<Expr>),
    IsNull(Box<Expr>, bool),
    Between(Box<Expr>, bool, Box<Expr>, Box<Expr>),
    In(Box<Expr>, bool, Vec<Expr>),
    InQuery(Box<Expr>, bool, Box<Query>),
    /// Left, operator, true for ALL, query.
    Quantified(Box<Expr>, &'static str, bool, Box<Query>),
    /// Value, negated, pattern, escape; `like`, `rlike` or `rlike_binary`.
    Like(Box<Expr>, bool, Box<Expr>, Option<Box<Expr>>, &'static str),
    Exists(Box<Query>),
    Query(Box<Query>),
    Case(Option<Box<Expr>>, Vec<(Expr, Expr)>, Option<Box<Expr>>),
    Cast(Box<Expr>, Type),
    Call(Box<Call>),
    /// `{…}`, with the kind if it was named.
    Set(u8, Vec<Expr>),
    Variable(String),
    Assign(String, Box<Expr>),
    /// EXTRACT
    Extract(String, Box<Expr>),
    /// INTERVAL n unit, an argument of DATE_ADD.
    Interval(Box<Expr>, String),
    /// A row in brackets.
    Row(Vec<Expr>),
    /// `a member of`, superset and the like.
    Contains(&'static str, Box<Expr>, Box<Expr>),
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<Expr>,
    pub distinct: bool,
    /// True for `count(*)`.
    pub star: bool,
    pub order: Vec<Order>,
    pub separator: Option<Expr>,
    pub over: Option<Window>,
    /// True if it was written without brackets.
    pub bare: bool,
    /// The words of `TRIM(LEADING … FROM …)`.
    pub word: &'static str,
}

/// OVER (…).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Window {
    pub partition: Vec<Expr>,
    pub order: Vec<Order>,
}

/// An item of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub value: Expr,
    pub descending: bool,
    /// NULLS FIRST is true, NULLS LAST false.
    pub nulls_first: Option<bool>,
}

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub with: Vec<Named>,
    pub recursive: bool,
    pub body: Body,
    pub order: Vec<Order>,
    /// Offset and count.
    pub limit: Option<(Option<Expr>, Expr)>,
    pub for_update: bool,
}

/// A common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    pub name: String,
    pub columns: Vec<String>,
    pub query: Query,
}

/// The part of a query before ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Select(Box<Select>),
    /// Operator, true for ALL.
    Both(&'static str, bool, Box<Body>, Box<Body>),
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

/// SELECT … HAVING.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Select {
    pub distinct: bool,
    pub items: Vec<(Expr, Option<String>)>,
    pub from: Vec<From>,
    pub condition: Option<Expr>,
    pub group: Vec<Order>,
    pub having: Option<Expr>,
}

/// An item of FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct From {
    /// `""` for the first and after a comma, `join`, `left join`, `right join`, `cross join`.
    pub join: &'static str,
    pub source: Source,
    pub alias: Option<String>,
    pub columns: Vec<String>,
    pub on: Option<Expr>,
    pub using: Vec<String>,
    pub natural: bool,
}

/// What a FROM reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    Table(String),
    Query(Box<Query>),
}

/// A column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub ty: Type,
    pub not_null: bool,
    /// NULL is written: a MODIFY without it keeps NOT NULL.
    pub says_null: bool,
    pub default: Option<Expr>,
    /// Start and step of AUTO_INCREMENT.
    pub auto: Option<(i64, i64)>,
    pub comment: String,
    /// A comment is written: a MODIFY without one keeps it.
    pub says_comment: bool,
    pub on_update: Option<Expr>,
}

/// A key or constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub name: String,
    pub kind: KeyKind,
    pub columns: Vec<(String, bool)>,
    /// The table and columns of a foreign key, and its actions on DELETE and UPDATE.
    pub references: Option<(String, Vec<String>, String, String)>,
}

/// Kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    Primary,
    Unique,
    Foreign,
    Index,
}

/// A table's definition.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub keys: Vec<Key>,
    pub comment: String,
}

/// What ALTER TABLE does.
#[derive(Clone, Debug, PartialEq)]
pub enum Alter {
    Add(Vec<Column>, Vec<Key>),
    Drop(Vec<String>),
    DropKey(String),
    DropPrimary,
    RenameColumn(String, String),
    Rename(String),
    /// The old name and the new definition, with the keys that it brings.
    Change(String, Box<Column>, Vec<Key>),
    Default(String, Option<Expr>),
    AutoIncrement(i64),
    Comment(String),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Query(Query),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete {
        /// The tables of WITH; the query itself is empty.
        with: Option<Query>,
        table: String,
        alias: Option<String>,
        from: Vec<From>,
        condition: Option<Expr>,
        limit: Option<Expr>,
    },
    Merge(Box<Merge>),
    CreateTable {
        table: Table,
        if_not_exists: bool,
        like: Option<String>,
        query: Option<Query>,
        replace: bool,
    },
    CreateView {
        name: String,
        columns: Vec<String>,
        text: String,
        replace: bool,
    },
    CreateIndex {
        table: String,
        key: Key,
    },
    DropTable {
        names: Vec<String>,
        if_exists: bool,
        cascade: bool,
    },
    DropView {
        names: Vec<String>,
        if_exists: bool,
    },
    DropIndex {
        name: String,
        table: Option<String>,
    },
    AlterTable {
        table: String,
        steps: Vec<Alter>,
    },
    RenameTable(Vec<(String, String)>),
    Truncate(String),
    CreateSerial {
        name: String,
        start: i64,
        step: i64,
        if_not_exists: bool,
    },
    DropSerial {
        name: String,
        if_exists: bool,
    },
    Commit,
    Rollback(Option<String>),
    Savepoint(String),
    SetVariables(Vec<(String, Expr)>),
    SetIsolation(i32),
    SetLockTimeout(i32),
    SetTimeZone(String),
    SetParameters(String),
    Show(Show),
    /// Nothing to do here: its number of statement.
    Nothing(i8),
    /// A setting is asked for, which the reply does not show: its number of statement, and the variable for it.
    Get(i8, Option<String>),
    /// A value is computed, and not returned.
    Do(Expr),
    Call(Expr),
    Evaluate(Expr),
}

/// SHOW and DESC.
#[derive(Clone, Debug, PartialEq)]
pub enum Show {
    Tables(Option<String>),
    Columns(String),
    Create(String),
    CreateView(String),
    Indexes(String),
}

/// INSERT and REPLACE.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub replace: bool,
    pub table: String,
    pub columns: Option<Vec<String>>,
    pub rows: Vec<Vec<Expr>>,
    pub query: Option<Query>,
    pub duplicate: Vec<(String, Expr)>,
    pub duplicate_given: bool,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The tables of WITH; the query itself is empty.
    pub with: Option<Query>,
    pub from: Vec<From>,
    pub set: Vec<(Option<String>, String, Expr)>,
    pub condition: Option<Expr>,
    pub order: Vec<Order>,
    pub limit: Option<Expr>,
}

/// Columns with their new values.
pub type Assignments = Vec<(String, Expr)>;

/// MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    pub table: String,
    pub alias: Option<String>,
    pub source: From,
    pub on: Expr,
    pub update: Option<(Assignments, Option<Expr>)>,
    pub insert: Option<(Vec<String>, Vec<Expr>, Option<Expr>)>,
}
