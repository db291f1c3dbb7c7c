//! Databases, what their catalogs hold, and a session's connection to one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, OptionalExtension, params};

use crate::codec::charset::Charset;
use crate::engine::functions::{self, State, lock};
use crate::errors::SqlError;
use crate::sql::{Catalog, Column, NewTable, Routine, Table};
use crate::types::{Kind, Type};

/// What a database does about transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// None.
    Unlogged,
    /// On request.
    Logged,
    /// Always.
    Ansi,
}

impl Mode {
    /// The mode of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "unlogged" => Some(Self::Unlogged),
            "logged" => Some(Self::Logged),
            "ansi" => Some(Self::Ansi),
            _ => None,
        }
    }

    /// The warning bits of the DONE that answers SQ_DBOPEN.
    pub fn warnings(self) -> i16 {
        match self {
            Self::Unlogged => 0x14,
            Self::Logged => 0x15,
            Self::Ansi => 0x17,
        }
    }
}

/// A database, whoever is in it.
pub struct Database {
    /// Its name.
    pub name: String,
    /// What it does about transactions.
    pub mode: Mode,
    /// Its locale, such as `en_US.819`.
    pub locale: String,
    /// The code set of the locale.
    pub charset: Charset,
    /// The next numbers of its SERIAL columns.
    pub serials: Arc<Mutex<HashMap<String, i64>>>,
    routines: Mutex<HashMap<String, Routine>>,
    path: PathBuf,
}

const fn varchar(length: i32) -> Type {
    Type::new(Kind::VarChar, length)
}

const INT: Type = Type::of(Kind::Int);
const SMALL: Type = Type::of(Kind::SmallInt);
const CHAR1: Type = Type::of(Kind::Char);
const OWNER: Type = Type::new(Kind::Char, 32);
const WORD: Type = Type::new(Kind::Char, 64);

/// The catalog tables, as far as clients ask for them.
const SYSTEM: &[(&str, &[(&str, Type)])] = &[
    (
        "systables",
        &[
            ("tabname", varchar(128)),
            ("owner", OWNER),
            ("partnum", INT),
            ("tabid", Type::of(Kind::Serial)),
            ("rowsize", SMALL),
            ("ncols", SMALL),
            ("nindexes", SMALL),
            ("nrows", Type::of(Kind::Float)),
            ("created", Type::of(Kind::Date)),
            ("version", INT),
            ("tabtype", CHAR1),
            ("locklevel", CHAR1),
            ("npused", Type::of(Kind::Float)),
            ("fextsize", INT),
            ("nextsize", INT),
            ("flags", SMALL),
            ("site", WORD),
            ("dbname", varchar(128)),
            ("type_xid", INT),
            ("am_id", INT),
            ("dirpath", WORD),
        ],
    ),
    (
        "syscolumns",
        &[
            ("colname", varchar(128)),
            ("tabid", INT),
            ("colno", SMALL),
            ("coltype", SMALL),
            ("collength", SMALL),
            ("colmin", INT),
            ("colmax", INT),
            ("extended_id", INT),
            ("seclabelid", INT),
            ("colattr", SMALL),
        ],
    ),
    (
        "sysindexes",
        &[
            ("idxname", varchar(128)),
            ("owner", OWNER),
            ("tabid", INT),
            ("idxtype", CHAR1),
            ("clustered", CHAR1),
            ("part1", SMALL),
            ("part2", SMALL),
            ("part3", SMALL),
            ("part4", SMALL),
            ("part5", SMALL),
            ("part6", SMALL),
            ("part7", SMALL),
            ("part8", SMALL),
            ("part9", SMALL),
            ("part10", SMALL),
            ("part11", SMALL),
            ("part12", SMALL),
            ("part13", SMALL),
            ("part14", SMALL),
            ("part15", SMALL),
            ("part16", SMALL),
            ("levels", SMALL),
            ("leaves", Type::of(Kind::Float)),
            ("nunique", Type::of(Kind::Float)),
            ("clust", Type::of(Kind::Float)),
        ],
    ),
    (
        "sysconstraints",
        &[
            ("constrid", Type::of(Kind::Serial)),
            ("constrname", varchar(128)),
            ("owner", OWNER),
            ("tabid", INT),
            ("constrtype", CHAR1),
            ("idxname", varchar(128)),
        ],
    ),
    (
        "sysdefaults",
        &[("tabid", INT), ("colno", SMALL), ("type", CHAR1), ("default", Type::new(Kind::Char, 255)), ("class", CHAR1)],
    ),
    ("sysxtdtypes", &[("extended_id", INT), ("name", varchar(128)), ("mode", CHAR1), ("owner", OWNER)]),
    ("sysviews", &[("tabid", INT), ("seqno", SMALL), ("viewtext", Type::new(Kind::Char, 64))]),
    ("sysmaster:sysdual", &[("dummy", CHAR1)]),
];

/// A table that each session makes for itself: it shows the server, not the database.
const DATABASES: (&str, &[(&str, Type)]) = (
    "sysmaster:sysdatabases",
    &[
        ("name", varchar(128)),
        ("partnum", INT),
        ("owner", OWNER),
        ("created", Type::of(Kind::Date)),
        ("is_logging", INT),
        ("is_buff_log", INT),
        ("is_ansi", INT),
        ("is_nls", INT),
        ("flags", SMALL),
    ],
);

fn definition(name: &str, columns: &[(&str, Type)], temporary: &str) -> String {
    let list: Vec<String> = columns.iter().map(|(name, ty)| format!("\"{name}\" {}", ty.affinity())).collect();
    format!("CREATE {temporary} TABLE \"{name}\" ({})", list.join(", "))
}

/// What the calls in here fail with: SQLite would not, unless the disk is full.
pub type Result<T> = rusqlite::Result<T>;

impl Database {
    /// A new and empty database in a folder.
    pub fn create(folder: &Path, name: &str, mode: Mode, locale: &str) -> Result<Self> {
        let charset = Charset::of_locale(locale).unwrap_or(Charset::Latin1);
        let path = folder.join(format!("{name}.sqlite"));
        let database = Self {
            name: name.to_owned(),
            mode,
            locale: locale.to_owned(),
            charset,
            serials: Arc::default(),
            routines: Mutex::default(),
            path,
        };
        let connection = database.connection()?;
        functions::register_collation(&connection)?;
        let transaction = connection.unchecked_transaction()?;
        transaction.execute_batch(
            "CREATE TABLE ifx_lo (id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB);
             CREATE TABLE ifx_constraints (tabname TEXT, name TEXT, columns TEXT);",
        )?;
        for (name, columns) in SYSTEM {
            transaction.execute_batch(&definition(name, columns, ""))?;
        }
        for (name, columns) in SYSTEM {
            let columns: Vec<Column> =
                columns.iter().map(|(name, ty)| Column { name: (*name).into(), ty: *ty, not_null: false }).collect();
            add_table(&transaction, name, 'T', &columns)?;
        }
        for (tabid, name, site) in [(90, " GL_COLLATE", locale), (91, " GL_CTYPE", locale), (92, " VERSION", "")] {
            transaction.execute(
                "INSERT INTO systables (tabname, owner, tabid, tabtype, flags, site, dirpath) VALUES (?, '', ?, '', 0, ?, ?)",
                params![name, tabid, site, site],
            )?;
        }
        transaction.execute_batch("INSERT INTO \"sysmaster:sysdual\" VALUES ('X');")?;
        transaction.commit()?;
        Ok(database)
    }

    fn connection(&self) -> Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
             PRAGMA case_sensitive_like = ON; PRAGMA cache_size = -65536;",
        )?;
        Ok(connection)
    }
}

/// Writes a table into the catalog, in place of one of the same name.
fn add_table(connection: &Connection, name: &str, kind: char, columns: &[Column]) -> Result<()> {
    let old: Option<i64> =
        connection.query_row("SELECT tabid FROM systables WHERE tabname = ?", [name], |row| row.get(0)).optional()?;
    let tabid = match old {
        Some(tabid) => tabid,
        None => connection.query_row(
            "SELECT CASE WHEN ?1 THEN max(coalesce(max(tabid), 0) + 1, 100) ELSE count(*) + 1 END FROM systables",
            [!SYSTEM.iter().any(|(system, _)| *system == name)],
            |row| row.get(0),
        )?,
    };
    remove_table(connection, name)?;
    let width: i32 = columns.iter().map(|column| column.ty.width(false)).sum();
    connection.execute(
        "INSERT INTO systables (tabname, owner, tabid, rowsize, ncols, nindexes, nrows, created, version, tabtype, \
         locklevel, npused, fextsize, nextsize, flags, site, dbname, type_xid, am_id, partnum, dirpath) \
         VALUES (?, 'informix', ?, ?, ?, 0, 0.0, ?, 1, ?, 'R', 1.0, 16, 16, 0, '', '', 0, 0, ?, '')",
        params![
            name,
            tabid,
            width.min(32_767),
            columns.len() as i64,
            functions::now().div_euclid(crate::codec::moment::DAY_UNITS) - crate::codec::moment::DATE_EPOCH,
            kind.to_string(),
            0x10_0000 + tabid,
        ],
    )?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO syscolumns (colname, tabid, colno, coltype, collength, extended_id, seclabelid, colattr) \
         VALUES (?, ?, ?, ?, ?, ?, 0, 0)",
    )?;
    for (index, column) in columns.iter().enumerate() {
        let number = i64::from(column.ty.number()) | if column.not_null { 0x100 } else { 0 };
        insert.execute(params![
            column.name,
            tabid,
            index as i64 + 1,
            number,
            column.ty.length,
            column.ty.extended()
        ])?;
    }
    Ok(())
}

fn remove_table(connection: &Connection, name: &str) -> Result<()> {
    connection
        .execute("DELETE FROM syscolumns WHERE tabid = (SELECT tabid FROM systables WHERE tabname = ?)", [name])?;
    connection.execute("DELETE FROM systables WHERE tabname = ?", [name])?;
    Ok(())
}

/// A session's way into a database.
pub struct Open {
    /// The database.
    pub database: Arc<Database>,
    /// SQLite's connection.
    pub connection: Rc<Connection>,
    /// What the functions share with the session.
    pub state: Arc<State>,
    /// The tables that only this session has.
    pub temporary: RefCell<HashMap<String, Vec<Column>>>,
    /// Whether double quotes delimit identifiers.
    pub delimited: bool,
    /// The cursors for WHERE CURRENT OF: name, table, rowid.
    pub cursors: RefCell<HashMap<String, (String, i64)>>,
}

impl Open {
    /// Opens a database for a session.
    pub fn new(database: &Arc<Database>, state: Arc<State>, delimited: bool, all: &[(String, Mode)]) -> Result<Self> {
        let connection = database.connection()?;
        functions::register(&connection, &state)?;
        let (name, columns) = DATABASES;
        connection.execute_batch(&definition(name, columns, "TEMP"))?;
        for (index, (name, mode)) in all.iter().enumerate() {
            connection.execute(
                "INSERT INTO \"sysmaster:sysdatabases\" VALUES (?, ?, 'informix', 45000, ?, 0, ?, 0, 0)",
                params![name, 0x10_0000 + index as i64, *mode != Mode::Unlogged, *mode == Mode::Ansi],
            )?;
        }
        let described = columns.iter().map(|(name, ty)| Column { name: (*name).into(), ty: *ty, not_null: false });
        let temporary = HashMap::from([(name.to_owned(), described.collect())]);
        Ok(Self {
            database: Arc::clone(database),
            connection: Rc::new(connection),
            state,
            temporary: RefCell::new(temporary),
            delimited,
            cursors: RefCell::default(),
        })
    }

    fn columns(&self, name: &str) -> Option<Vec<Column>> {
        if let Some(columns) = self.temporary.borrow().get(name) {
            return Some(columns.clone());
        }
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT c.colname, c.coltype, c.collength, c.extended_id FROM syscolumns c JOIN systables t \
                 ON t.tabid = c.tabid WHERE t.tabname = ? ORDER BY c.colno",
            )
            .ok()?;
        let rows = statement.query_map([name], |row| {
            let number: i64 = row.get(1)?;
            let kind = Kind::from_number((number & 0xff) as i16, row.get(3)?).unwrap_or(Kind::LVarChar);
            Ok(Column { name: row.get(0)?, ty: Type::new(kind, row.get(2)?), not_null: number & 0x100 != 0 })
        });
        let columns: Vec<Column> = rows.ok()?.collect::<Result<_>>().ok()?;
        (!columns.is_empty()).then_some(columns)
    }

    /// Puts a table into the catalog and forgets what an older one of that name had counted.
    pub fn add_table(&self, table: &NewTable) -> Result<()> {
        lock(&self.database.serials).remove(&table.name);
        if table.temporary {
            lock(&self.state.temporary).insert(table.name.clone());
            self.temporary.borrow_mut().insert(table.name.clone(), table.columns.clone());
            return Ok(());
        }
        add_table(&self.connection, &table.name, table.kind, &table.columns)?;
        self.add_constraints(&table.name, &table.constraints)
    }

    /// Remembers which unique keys are constraints, by name.
    pub fn add_constraints(&self, table: &str, constraints: &[(String, Vec<String>)]) -> Result<()> {
        for (name, columns) in constraints {
            self.connection
                .execute("INSERT INTO ifx_constraints VALUES (?, ?, ?)", params![table, name, columns.join(",")])?;
        }
        Ok(())
    }

    /// New columns for a table that stays.
    pub fn change_table(&self, name: &str, columns: &[Column]) -> Result<()> {
        if let Some(known) = self.temporary.borrow_mut().get_mut(name) {
            *known = columns.to_vec();
            return Ok(());
        }
        add_table(&self.connection, name, 'T', columns)
    }

    /// Takes a table out of the catalog.
    pub fn remove_table(&self, name: &str) -> Result<()> {
        if self.temporary.borrow_mut().remove(name).is_some() {
            lock(&self.state.temporary).remove(name);
            return Ok(());
        }
        self.connection.execute("DELETE FROM ifx_constraints WHERE tabname = ?", [name])?;
        remove_table(&self.connection, name)
    }

    /// The constraint that a unique key of these columns is, if it is one and no index only.
    pub fn constraint(&self, table: &str, columns: &str) -> Option<String> {
        let sql = "SELECT name FROM ifx_constraints WHERE tabname = ? AND columns = ?";
        self.connection.query_row(sql, [table, columns], |row| row.get(0)).optional().ok()?
    }

    /// Adds or drops a routine.
    pub fn set_routine(&self, name: &str, routine: Option<Routine>) -> std::result::Result<(), SqlError> {
        let mut routines = lock(&self.database.routines);
        match routine {
            Some(_) if routines.contains_key(name) => return Err(SqlError::new(-673, name)),
            Some(routine) => routines.insert(name.to_owned(), routine),
            None => routines.remove(name),
        };
        Ok(())
    }
}

impl Catalog for Open {
    fn table(&self, database: Option<&str>, name: &str) -> Option<Table> {
        let own = database.is_none_or(|database| database == self.database.name);
        let master = database == Some("sysmaster") || (own && self.database.name == "sysmaster");
        if own && let Some(columns) = self.columns(name) {
            return Some(Table { name: name.to_owned(), columns });
        }
        let name = format!("sysmaster:{name}");
        let columns = if master { self.columns(&name) } else { None }?;
        Some(Table { name, columns })
    }

    fn routine(&self, name: &str) -> Option<Routine> {
        lock(&self.database.routines).get(name).cloned()
    }

    fn delimited_identifiers(&self) -> bool {
        self.delimited
    }

    fn cursor(&self, name: &str) -> Option<(String, i64)> {
        self.cursors.borrow().get(name).cloned()
    }
}
