//! Databases, and a session's connection to one.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headrace_simulator_common::lock;
use rusqlite::{Connection, OptionalExtension, params};

use crate::catalog;
use crate::codec::charset::Charset;
use crate::engine::functions::{self, State};
use crate::errors::SqlError;
use crate::limits::{OBJECT_PATIENCE, STEPS_PER_LOOK};
use crate::sql::{Catalog, Column, Constraint, Default, NewIndex, NewTable, Routine, Table};
use crate::types::{Kind, Type};
use crate::usertypes::{self, FIRST_EXTENDED};

/// The transaction mode of a database.
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

/// A database, shared by its sessions.
pub struct InformixDatabase {
    /// Its name.
    pub name: String,
    /// Its transaction mode.
    pub mode: Mode,
    /// Its locale, such as `en_US.819`.
    pub locale: String,
    /// The code set of the locale.
    pub charset: Charset,
    /// The next numbers of its SERIAL columns.
    pub serials: Arc<Mutex<HashMap<String, i64>>>,
    /// Counts the changes of definitions.
    pub generation: AtomicU64,
    /// The number of the next smart large object.
    pub next_object: Arc<AtomicI64>,
    routines: Mutex<HashMap<String, Routine>>,
    types: Mutex<HashMap<String, Type>>,
    /// As long as there is one connection, the last one to close does not tidy up while others open.
    keeper: Mutex<Option<Connection>>,
    path: PathBuf,
}

/// The error of the calls here: SQLite fails only if the disk is full.
pub type Result<T> = rusqlite::Result<T>;

impl InformixDatabase {
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
            generation: AtomicU64::new(0),
            next_object: Arc::new(AtomicI64::new(1)),
            routines: Mutex::default(),
            types: Mutex::default(),
            keeper: Mutex::default(),
            path,
        };
        let connection = database.connection()?;
        functions::register_collation(&connection)?;
        let transaction = connection.unchecked_transaction()?;
        catalog::initialize(&transaction, locale)?;
        transaction.commit()?;
        *lock(&database.keeper) = Some(connection);
        Ok(database)
    }

    fn connection(&self) -> Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
             PRAGMA case_sensitive_like = ON; PRAGMA cache_size = -65536;",
        )?;
        // From here on the session decides how long to wait for a lock.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(connection)
    }
}

impl Drop for InformixDatabase {
    fn drop(&mut self) {
        drop(lock(&self.keeper).take());
        for end in ["", "-wal", "-shm"] {
            let mut path = self.path.clone().into_os_string();
            path.push(end);
            // Another database of that name may be created; files that cannot be removed are removed with the folder.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// State outside of SQLite's own catalog that a rollback restores.
#[derive(Clone)]
pub struct Known {
    temporary: HashMap<String, Vec<Column>>,
    names: HashSet<String>,
    defaults: Vec<(String, String, String)>,
    constraints: Vec<(String, String, String)>,
    routines: HashMap<String, Routine>,
    types: HashMap<String, Type>,
}

/// A session's connection to a database.
pub struct Open {
    /// The database.
    pub database: Arc<InformixDatabase>,
    /// SQLite's connection.
    pub connection: Rc<Connection>,
    /// The state that the functions share with the session.
    pub state: Arc<State>,
    /// The tables that only this session has.
    pub temporary: RefCell<HashMap<String, Vec<Column>>>,
    /// True if double quotes delimit identifiers.
    pub delimited: bool,
    /// The defaults of those: table, column, SQLite's text.
    defaults: RefCell<Vec<(String, String, String)>>,
    /// The unique constraints of those: table, columns, name.
    constraints: RefCell<Vec<(String, String, String)>>,
    all: Databases,
}

/// Lists all databases: names, modes, locales.
pub type Databases = Box<dyn Fn() -> Vec<(String, Mode, String)>>;

impl Open {
    /// Opens a database for a session; `all` lists all databases of the server.
    pub fn new(database: &Arc<InformixDatabase>, state: Arc<State>, delimited: bool, all: Databases) -> Result<Self> {
        let connection = database.connection()?;
        functions::register(&connection, &state)?;
        let looking = Arc::clone(&state);
        connection.progress_handler(STEPS_PER_LOOK, Some(move || looking.breaks_off()))?;
        Ok(Self {
            database: Arc::clone(database),
            connection: Rc::new(connection),
            state,
            temporary: RefCell::default(),
            constraints: RefCell::default(),
            defaults: RefCell::default(),
            delimited,
            all,
        })
    }

    /// The current state.
    pub fn known(&self) -> Known {
        Known {
            temporary: self.temporary.borrow().clone(),
            names: lock(&self.state.temporary).clone(),
            defaults: self.defaults.borrow().clone(),
            constraints: self.constraints.borrow().clone(),
            routines: lock(&self.database.routines).clone(),
            types: lock(&self.database.types).clone(),
        }
    }

    /// Restores a state. While this session could change it, no other could.
    pub fn forget_since(&self, then: Known) {
        self.temporary.replace(then.temporary);
        *lock(&self.state.temporary) = then.names;
        self.defaults.replace(then.defaults);
        self.constraints.replace(then.constraints);
        *lock(&self.database.routines) = then.routines;
        *lock(&self.database.types) = then.types;
    }

    /// Waits for the locks of others, as the parts of large objects do.
    pub fn patient<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.connection.busy_timeout(OBJECT_PATIENCE)?;
        let done = work(&self.connection);
        self.connection.busy_timeout(Duration::ZERO)?;
        done
    }

    /// Makes a table that shows the current state of the server.
    fn show_server(&self, definition: &catalog::Definition) -> Result<()> {
        let name = definition.0;
        if !self.temporary.borrow().contains_key(name) {
            self.connection.execute_batch(&catalog::create(definition, "TEMP"))?;
            self.temporary.borrow_mut().insert(name.to_owned(), catalog::columns(definition));
        }
        self.connection.execute(&format!("DELETE FROM \"{name}\""), [])?;
        for (index, (database, mode, locale)) in (self.all)().iter().enumerate() {
            if name == "sysmaster:sysdbslocale" {
                let sql = "INSERT INTO \"sysmaster:sysdbslocale\" VALUES (?, ?)";
                self.connection.execute(sql, params![database, locale])?;
                continue;
            }
            self.connection.execute(
                "INSERT INTO \"sysmaster:sysdatabases\" VALUES (?, ?, 'informix', 45000, ?, 0, ?, 0, 0)",
                params![database, 0x10_0000 + index as i64, *mode != Mode::Unlogged, *mode == Mode::Ansi],
            )?;
        }
        Ok(())
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
            let (number, extended): (i64, i32) = (row.get(1)?, row.get(3)?);
            let user = extended - FIRST_EXTENDED + 1;
            let ty = match u16::try_from(user).ok().filter(|user| *user > 0).and_then(usertypes::get) {
                Some(definition) => (*definition).clone().column_type(),
                None => Type::new(
                    Kind::from_number((number & 0xff) as i16, extended).unwrap_or(Kind::LVarChar),
                    row.get(2)?,
                ),
            };
            Ok(Column { name: row.get(0)?, ty, not_null: number & 0x100 != 0 })
        });
        let columns: Vec<Column> = rows.ok()?.collect::<Result<_>>().ok()?;
        (!columns.is_empty()).then_some(columns)
    }

    /// Puts a table into the catalog and forgets the counters of an older one of that name.
    pub fn add_table(&self, table: &NewTable) -> Result<()> {
        if table.temporary {
            lock(&self.state.temporary).insert(table.name.clone());
        }
        lock(&self.database.serials).remove(&self.state.serial_key(&table.name));
        if let Some(first) = table.serial {
            self.start_serial(&table.name, first);
        }
        if table.temporary {
            self.temporary.borrow_mut().insert(table.name.clone(), table.columns.clone());
            self.add_defaults(&table.name, &table.defaults)?;
            return self.add_constraints(&table.name, &table.constraints);
        }
        catalog::add_table(&self.connection, &table.name, table.kind, &table.columns)?;
        self.add_defaults(&table.name, &table.defaults)?;
        if table.kind == 'V' {
            catalog::add_view(&self.connection, &table.name, &table.text)?;
        }
        self.add_constraints(&table.name, &table.constraints)
    }

    /// Advances the SERIAL of a table to a number, if it is larger.
    pub fn start_serial(&self, table: &str, next: i64) {
        let mut serials = lock(&self.database.serials);
        let last = serials.entry(self.state.serial_key(table)).or_insert(0);
        *last = (*last).max(next - 1);
    }

    /// Returns true if a table has a constraint of a name.
    pub fn has_constraint(&self, table: &str, name: &str) -> bool {
        let sql = "SELECT count(*) FROM sysconstraints c JOIN systables t ON t.tabid = c.tabid \
                   WHERE t.tabname = ? AND c.constrname = ?";
        self.constraints.borrow().iter().any(|(own, _, called)| own == table && called == name)
            || self.connection.query_row(sql, [table, name], |row| row.get::<_, i64>(0)).is_ok_and(|count| count > 0)
    }

    /// The names of a table's constraints of one kind.
    pub fn constraints_of(&self, table: &str, kind: char) -> Vec<String> {
        let sql = "SELECT c.constrname FROM sysconstraints c JOIN systables t ON t.tabid = c.tabid \
                   WHERE t.tabname = ? AND c.constrtype = ?";
        let found = self.connection.prepare_cached(sql).and_then(|mut select| {
            select.query_map([table, &kind.to_string()], |row| row.get(0))?.collect::<Result<Vec<String>>>()
        });
        found.unwrap_or_default()
    }

    /// Forgets the default of a column of a table that only this session has.
    pub fn forget_default(&self, table: &str, column: &str) {
        self.defaults.borrow_mut().retain(|(own, name, _)| !(own == table && name == column));
    }

    /// Entries about the old name of a column of such a table are moved to the new one.
    pub fn rename_own_column(&self, table: &str, from: &str, to: &str) {
        for (_, column, _) in self.defaults.borrow_mut().iter_mut().filter(|(own, ..)| own == table) {
            if column == from {
                to.clone_into(column);
            }
        }
        for (_, columns, _) in self.constraints.borrow_mut().iter_mut().filter(|(own, ..)| own == table) {
            let renamed: Vec<&str> = columns.split(',').map(|name| if name == from { to } else { name }).collect();
            *columns = renamed.join(",");
        }
    }

    /// Forgets a constraint of a table that only this session has.
    pub fn forget_constraint(&self, table: &str, name: &str) {
        self.constraints.borrow_mut().retain(|(own, _, called)| !(own == table && called == name));
    }

    /// Remembers the defaults of columns.
    pub fn add_defaults(&self, table: &str, defaults: &[Default]) -> Result<()> {
        for default in defaults {
            if self.temporary.borrow().contains_key(table) {
                self.forget_default(table, &default.column);
                let mut own = self.defaults.borrow_mut();
                own.push((table.to_owned(), default.column.clone(), default.sql.clone()));
            } else {
                catalog::add_default(&self.connection, table, default)?;
            }
        }
        Ok(())
    }

    fn defaults(&self, table: &str) -> Vec<(String, String)> {
        let temporary = self.defaults.borrow();
        let own = temporary.iter().filter(|(of, ..)| of == table).map(|(_, column, sql)| (column.clone(), sql.clone()));
        if self.temporary.borrow().contains_key(table) {
            return own.collect();
        }
        let sql = "SELECT colname, sql FROM ifx_defaults WHERE tabname = ?";
        let found = self.connection.prepare_cached(sql).and_then(|mut select| {
            select.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>>>()
        });
        found.unwrap_or_default()
    }

    /// Remembers which unique keys are constraints, by name, and writes all constraints into the catalog.
    pub fn add_constraints(&self, table: &str, constraints: &[Constraint]) -> Result<()> {
        for constraint in constraints {
            let columns = constraint.columns.join(",");
            if self.temporary.borrow().contains_key(table) {
                self.constraints.borrow_mut().push((table.to_owned(), columns, constraint.name.clone()));
                continue;
            }
            if matches!(constraint.kind, 'P' | 'U' | 'R') {
                if constraint.kind != 'R' {
                    let sql = "INSERT INTO ifx_constraints VALUES (?, ?, ?)";
                    self.connection.execute(sql, params![table, constraint.name, columns])?;
                }
                let index = NewIndex {
                    name: constraint.name.clone(),
                    table: table.to_owned(),
                    descending: vec![false; constraint.columns.len()],
                    columns: constraint.columns.clone(),
                    unique: constraint.kind != 'R',
                    sql: Vec::new(),
                };
                catalog::add_index(&self.connection, &index)?;
            }
            catalog::add_constraint(&self.connection, table, constraint)?;
        }
        Ok(())
    }

    /// New columns for a table that stays.
    pub fn change_table(&self, name: &str, columns: &[Column], renamed: Option<&(String, String)>) -> Result<()> {
        if let Some(known) = self.temporary.borrow_mut().get_mut(name) {
            *known = columns.to_vec();
            return Ok(());
        }
        catalog::change_table(&self.connection, name, columns, renamed)
    }

    /// Takes a table out of the catalog.
    pub fn remove_table(&self, name: &str) -> Result<()> {
        if self.temporary.borrow_mut().remove(name).is_some() {
            lock(&self.state.temporary).remove(name);
            self.constraints.borrow_mut().retain(|(table, ..)| table != name);
            self.defaults.borrow_mut().retain(|(table, ..)| table != name);
            return Ok(());
        }
        catalog::remove_table(&self.connection, name)
    }

    /// Makes a type, or forgets one.
    pub fn set_type(&self, name: &str, ty: Option<(Type, char)>) -> std::result::Result<(), SqlError> {
        let mut types = lock(&self.database.types);
        let written = match ty {
            Some(_) if types.contains_key(name) => return Err(SqlError::new(-9631, name)),
            Some((ty, mode)) => {
                types.insert(name.to_owned(), ty);
                catalog::add_type(&self.connection, name, ty, mode)
            }
            None if types.remove(name).is_none() => return Err(SqlError::new(-9628, name)),
            None => catalog::remove_type(&self.connection, name),
        };
        written.map_err(|_| SqlError::isam(-271, -100, name))
    }

    /// Returns true if a name is that of a unique constraint, and not only of an index.
    pub fn constraint_named(&self, name: &str) -> bool {
        let sql = "SELECT count(*) FROM ifx_constraints WHERE name = ?";
        self.constraints.borrow().iter().any(|(.., own)| own == name)
            || self.connection.query_row(sql, [name], |row| row.get::<_, i64>(0)).is_ok_and(|count| count > 0)
    }

    /// Returns true if a column, as `table.column`, may not be NULL only because it is in the primary key.
    pub fn only_key(&self, column: &str) -> bool {
        let Some((table, column)) = column.split_once('.') else { return false };
        let sql = "SELECT c.constrtype FROM sysconstraints c JOIN systables t ON t.tabid = c.tabid \
                   JOIN syscoldepend d ON d.constrid = c.constrid JOIN syscolumns s ON s.tabid = t.tabid \
                   AND s.colno = d.colno WHERE t.tabname = ? AND s.colname = ? AND c.constrtype IN ('P', 'N')";
        let kinds = self.connection.prepare(sql).and_then(|mut select| {
            select.query_map([table, column], |row| row.get::<_, String>(0))?.collect::<Result<Vec<String>>>()
        });
        kinds.is_ok_and(|kinds| kinds == ["P"])
    }

    /// The table of an index.
    pub fn table_of_key(&self, name: &str) -> String {
        let sql = "SELECT tabname FROM systables t JOIN sysindices i ON i.tabid = t.tabid \
                   LEFT JOIN sysconstraints c ON c.tabid = t.tabid AND c.idxname = i.idxname \
                   WHERE ?1 IN (i.idxname, c.constrname)";
        self.connection.query_row(sql, [name], |row| row.get(0)).unwrap_or_default()
    }

    /// The constraint of a unique key of these columns, if it is one and not only an index.
    pub fn constraint(&self, table: &str, columns: &str) -> Option<String> {
        let temporary = self.constraints.borrow();
        if let Some((.., name)) = temporary.iter().find(|(own, list, _)| own == table && list == columns) {
            return Some(name.clone());
        }
        let sql = "SELECT name FROM ifx_constraints WHERE tabname = ? AND columns = ?";
        self.connection.query_row(sql, [table, columns], |row| row.get(0)).optional().ok()?
    }

    /// Adds or drops a routine.
    pub fn set_routine(&self, name: &str, routine: Option<Routine>) -> std::result::Result<(), SqlError> {
        let mut routines = lock(&self.database.routines);
        let written = catalog::set_routine(&self.connection, name, routine.as_ref());
        written.map_err(|_| SqlError::isam(-271, -100, name))?;
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
            let temporary = self.temporary.borrow().contains_key(name);
            let derived = !temporary && catalog::table_kind(&self.connection, name).ok().flatten() == Some('V');
            return Some(Table { name: name.to_owned(), columns, defaults: self.defaults(name), derived });
        }
        if own && let Some(base) = catalog::synonym(&self.connection, name) {
            return self.table(None, &base);
        }
        let name = format!("sysmaster:{name}");
        if master && let Some(definition) = catalog::SERVER.iter().find(|(server, _)| *server == name) {
            self.show_server(definition).ok()?;
        }
        let columns = if master { self.columns(&name) } else { None }?;
        Some(Table { name, columns, defaults: Vec::new(), derived: false })
    }

    fn is_owner(&self, name: &str) -> bool {
        // All objects are the administrator's, and a user's name means the same ones.
        let name = name.trim_end();
        name.eq_ignore_ascii_case("informix") || name.eq_ignore_ascii_case(&self.state.user)
    }

    fn primary_key(&self, table: &str) -> Vec<String> {
        let sql = "SELECT columns FROM ifx_constraints i JOIN sysconstraints c ON c.constrname = i.name \
                   WHERE i.tabname = ? AND c.constrtype = 'P'";
        let found = self.connection.query_row(sql, [table], |row| row.get::<_, String>(0)).optional().ok().flatten();
        found.map(|columns| columns.split(',').map(str::to_owned).collect()).unwrap_or_default()
    }

    fn unique_keys(&self, table: &str) -> Vec<Vec<String>> {
        let sql = "SELECT columns FROM ifx_constraints WHERE tabname = ?";
        let found = self.connection.prepare_cached(sql).and_then(|mut select| {
            select.query_map([table], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>>>()
        });
        let own = self.constraints.borrow();
        let own = own.iter().filter(|(of, ..)| of == table).map(|(_, columns, _)| columns.clone());
        let all = found.unwrap_or_default().into_iter().chain(own);
        all.map(|columns| columns.split(',').map(str::to_owned).collect()).collect()
    }

    fn is_temporary(&self, table: &str) -> bool {
        self.temporary.borrow().contains_key(table)
    }

    fn sequence(&self, name: &str) -> Option<(i64, i64)> {
        let sql =
            "SELECT start_val, inc_val FROM syssequences s JOIN systables t ON t.tabid = s.tabid WHERE tabname = ?";
        self.connection.query_row(sql, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional().ok()?
    }

    fn user_type(&self, name: &str) -> Option<Type> {
        lock(&self.database.types).get(name).copied()
    }

    fn routine(&self, name: &str) -> Option<Routine> {
        lock(&self.database.routines).get(name).cloned()
    }

    fn delimited_identifiers(&self) -> bool {
        self.delimited
    }

    fn cursor(&self, name: &str) -> Option<String> {
        lock(&self.state.cursors).get(name).map(|(table, _)| table.clone())
    }
}
