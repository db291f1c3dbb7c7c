//! The system catalog: its tables, and the rows that definitions add to them.

mod tables;

use rusqlite::{Connection, OptionalExtension, Result, params};

use crate::codec::timestamp::{DATE_EPOCH, DAY_UNITS};
use crate::engine::functions;
use crate::sql::{Column, Constraint, Default, NewIndex, Routine};
use crate::types::Type;
use crate::usertypes::UserType;

pub use tables::{Definition, SERVER, SYSTEM};

/// Returns true if a table is one of the catalog's or the server's.
pub fn is_system(name: &str) -> bool {
    SYSTEM.iter().chain(SERVER).any(|(own, _)| *own == name)
}

/// The columns of one of them.
pub fn columns(definition: &Definition) -> Vec<Column> {
    definition.1.iter().map(|(name, ty)| Column { name: (*name).into(), ty: *ty, not_null: false }).collect()
}

/// SQL that makes one of them.
pub fn create(definition: &Definition, temporary: &str) -> String {
    let (name, columns) = definition;
    let list: Vec<String> = columns.iter().map(|(name, ty)| format!("\"{name}\" {}", ty.affinity())).collect();
    format!("CREATE {temporary} TABLE \"{name}\" ({})", list.join(", "))
}

/// Makes the catalog of a new database.
pub fn initialize(connection: &Connection, locale: &str) -> Result<()> {
    connection.execute_batch(
        "CREATE TABLE ifx_lo (id INTEGER PRIMARY KEY, data BLOB);
         CREATE TABLE ifx_constraints (tabname TEXT, name TEXT, columns TEXT);
         CREATE TABLE ifx_defaults (tabname TEXT, colname TEXT, sql TEXT);",
    )?;
    for definition in SYSTEM {
        connection.execute_batch(&create(definition, ""))?;
    }
    // None on the names of tables: unordered rows would come in its order.
    connection.execute_batch("CREATE INDEX ifx_syscolumns ON syscolumns (tabid);")?;
    for definition in SYSTEM {
        add_table(connection, definition.0, 'T', &columns(definition))?;
    }
    // The rows that clients query at connect have names that begin with a blank.
    for (tabid, name, site) in [(90, " GL_COLLATE", locale), (91, " GL_CTYPE", locale), (92, " VERSION", "")] {
        connection.execute(
            "INSERT INTO systables (tabname, owner, tabid, tabtype, flags, site, dirpath) VALUES (?, '', ?, '', 0, ?, ?)",
            params![name, tabid, site, site],
        )?;
    }
    for (id, name, kind) in [
        (1, "lvarchar", 'B'),
        (2, "sendrecv", 'B'),
        (3, "impexp", 'B'),
        (4, "impexpbin", 'B'),
        (5, "boolean", 'B'),
        (6, "pointer", 'B'),
        (10, "blob", 'B'),
        (11, "clob", 'B'),
        (25, "json", 'B'),
        (26, "bson", 'B'),
    ] {
        connection.execute(
            "INSERT INTO sysxtdtypes (extended_id, domain, mode, owner, name, type, source) VALUES (?, 'U', ?, 'informix', ?, ?, 0)",
            params![id, kind.to_string(), name, if matches!(id, 5 | 6 | 10 | 11) { 41 } else { 40 }],
        )?;
    }
    connection.execute("INSERT INTO sysusers VALUES ('informix', 'D', 9, '')", [])?;
    connection.execute_batch("INSERT INTO \"sysmaster:sysdual\" VALUES ('X');")
}

/// The number of a table.
pub fn table_id(connection: &Connection, name: &str) -> Result<Option<i64>> {
    let mut select = connection.prepare_cached("SELECT tabid FROM systables WHERE tabname = ?")?;
    select.query_row([name], |row| row.get(0)).optional()
}

/// Writes a table into the catalog, replacing one of the same name.
pub fn add_table(connection: &Connection, name: &str, kind: char, columns: &[Column]) -> Result<()> {
    let tabid = match table_id(connection, name)? {
        Some(tabid) => tabid,
        None => connection.query_row(
            "SELECT CASE WHEN ?1 THEN max(coalesce(max(tabid), 0) + 1, 100) ELSE count(*) + 1 END FROM systables",
            [!SYSTEM.iter().any(|(system, _)| *system == name)],
            |row| row.get(0),
        )?,
    };
    connection.execute("DELETE FROM syscolumns WHERE tabid = ?", [tabid])?;
    connection.execute("DELETE FROM systables WHERE tabid = ?", [tabid])?;
    let width: i32 = columns.iter().map(|column| column.ty.width(false)).sum();
    connection.execute(
        "INSERT INTO systables (tabname, owner, tabid, rowsize, ncols, nindexes, nrows, created, version, tabtype, \
         locklevel, npused, fextsize, nextsize, flags, site, dbname, type_xid, am_id, partnum, dirpath) \
         VALUES (?1, 'informix', ?2, ?3, ?4, (SELECT count(*) FROM sysindices WHERE tabid = ?2), 0.0, ?, 1, ?, 'R', 1.0, 16, 16, 0, '', '', 0, 0, ?, '')",
        params![
            name,
            tabid,
            width.min(32_767),
            columns.len() as i64,
            functions::now().div_euclid(DAY_UNITS) - DATE_EPOCH,
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

/// Writes the columns of a table that changed; entries about a column stay with it, whatever its new position is.
pub fn change_table(
    connection: &Connection,
    name: &str,
    columns: &[Column],
    renamed: Option<&(String, String)>,
) -> Result<()> {
    let Some(tabid) = table_id(connection, name)? else { return Ok(()) };
    let mut moved = String::new();
    {
        let mut select = connection.prepare("SELECT colno, colname FROM syscolumns WHERE tabid = ?")?;
        let old = select.query_map([tabid], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
        for (number, old) in old.collect::<Result<Vec<_>>>()? {
            let now = renamed.filter(|(from, _)| *from == old).map_or(&old, |(_, to)| to);
            if let Some(place) = columns.iter().position(|column| column.name == *now) {
                moved += &format!(" WHEN {number} THEN {0} WHEN -{number} THEN -{0}", place + 1);
            }
        }
    }
    let parts = (1..=16).map(|part| format!("part{part}"));
    let parts: Vec<String> = parts.map(|part| format!("{part} = CASE {part}{moved} ELSE 0 END")).collect();
    for (table, change) in [
        ("syscoldepend", format!("colno = CASE colno{moved} ELSE 0 END")),
        ("sysdefaults", format!("colno = CASE colno{moved} ELSE 0 END")),
        ("sysindexes", parts.join(", ")),
    ] {
        connection.execute(&format!("UPDATE {table} SET {change} WHERE tabid = ?"), [tabid])?;
    }
    connection.execute("DELETE FROM sysdefaults WHERE tabid = ? AND colno = 0", [tabid])?;
    add_table(connection, name, 'T', columns)
}

/// The views of a database that read objects that are gone.
pub fn broken_views(connection: &Connection) -> Result<Vec<String>> {
    let mut select = connection.prepare("SELECT tabname FROM systables WHERE tabtype = 'V'")?;
    let names: Vec<String> = select.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    let broken = |name: &String| {
        let sql = format!("SELECT 1 FROM \"{}\"", name.replace('"', "\"\""));
        connection.prepare(&sql).is_err()
    };
    Ok(names.into_iter().filter(broken).collect())
}

/// Takes a table out, with all that hangs on it.
pub fn remove_table(connection: &Connection, name: &str) -> Result<()> {
    let Some(tabid) = table_id(connection, name)? else { return Ok(()) };
    connection.execute("DELETE FROM ifx_constraints WHERE tabname = ?", [name])?;
    connection.execute("DELETE FROM ifx_defaults WHERE tabname = ?", [name])?;
    for table in ["sysreferences", "syschecks", "syscoldepend"] {
        let sql =
            format!("DELETE FROM {table} WHERE constrid IN (SELECT constrid FROM sysconstraints WHERE tabid = ?)");
        connection.execute(&sql, [tabid])?;
    }
    for table in ["sysconstraints", "sysindices", "sysindexes", "sysdefaults", "sysviews", "syscolumns", "systables"] {
        connection.execute(&format!("DELETE FROM {table} WHERE tabid = ?"), [tabid])?;
    }
    Ok(())
}

/// The kind of a name in the catalog: `T` a table, `V` a view, `S` a synonym, `Q` a sequence.
pub fn table_kind(connection: &Connection, name: &str) -> Result<Option<char>> {
    let mut select = connection.prepare_cached("SELECT tabtype FROM systables WHERE tabname = ?")?;
    let kind: Option<String> = select.query_row([name], |row| row.get(0)).optional()?;
    Ok(kind.and_then(|kind| kind.chars().next()))
}

/// The foreign keys of other tables that point to one: table and name.
pub fn pointing(connection: &Connection, name: &str) -> Result<Vec<(String, String)>> {
    let mut select = connection.prepare_cached(
        "SELECT t.tabname, c.constrname FROM sysreferences r JOIN sysconstraints c ON c.constrid = r.constrid \
         JOIN systables t ON t.tabid = c.tabid JOIN systables p ON p.tabid = r.ptabid \
         WHERE p.tabname = ?1 AND t.tabname <> ?1",
    )?;
    select.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Removes the entries of a column that is gone: NOT NULL, foreign keys of this column alone, its default.
pub fn forget_column_rules(connection: &Connection, table: &str, column: &str) -> Result<()> {
    let mut select = connection.prepare(
        "SELECT c.constrname FROM sysconstraints c JOIN systables t ON t.tabid = c.tabid \
         JOIN syscoldepend d ON d.constrid = c.constrid JOIN syscolumns s ON s.tabid = t.tabid AND s.colno = d.colno \
         WHERE t.tabname = ?1 AND c.constrtype IN ('N', 'R') GROUP BY c.constrid \
         HAVING count(*) = 1 AND max(s.colname) = ?2",
    )?;
    let names: Vec<String> = select.query_map([table, column], |row| row.get(0))?.collect::<Result<_>>()?;
    for name in names {
        remove_constraint(connection, table, &name)?;
    }
    connection.execute("DELETE FROM ifx_defaults WHERE tabname = ? AND colname = ?", [table, column])?;
    let Some(tabid) = table_id(connection, table)? else { return Ok(()) };
    let delete = "DELETE FROM sysdefaults WHERE tabid = ?1 AND colno = \
                  (SELECT colno FROM syscolumns WHERE tabid = ?1 AND colname = ?2)";
    connection.execute(delete, params![tabid, column])?;
    Ok(())
}

/// The keys, foreign keys and indexes of a table that a column is in.
pub fn keys_of_column(connection: &Connection, table: &str, column: &str) -> Result<Vec<String>> {
    let mut select = connection.prepare(
        "SELECT substr(l.name, 4) FROM pragma_index_list(?1) l JOIN pragma_index_info(l.name) i ON i.name = ?2 \
         WHERE l.name LIKE 'ix %' \
         UNION SELECT c.constrname FROM sysconstraints c JOIN systables t ON t.tabid = c.tabid \
         JOIN syscoldepend d ON d.constrid = c.constrid JOIN syscolumns s ON s.tabid = t.tabid AND s.colno = d.colno \
         WHERE t.tabname = ?1 AND s.colname = ?2",
    )?;
    select.query_map([table, column], |row| row.get(0))?.collect()
}

fn column_numbers(connection: &Connection, tabid: i64, names: &[String]) -> Result<Vec<i64>> {
    let mut select = connection.prepare_cached("SELECT colno FROM syscolumns WHERE tabid = ? AND colname = ?")?;
    names.iter().map(|name| select.query_row(params![tabid, name], |row| row.get(0))).collect()
}

/// Writes an index.
pub fn add_index(connection: &Connection, index: &NewIndex) -> Result<()> {
    let Some(tabid) = table_id(connection, &index.table)? else { return Ok(()) };
    let kind = if index.unique { "U" } else { "D" };
    connection.execute(
        "INSERT INTO sysindices VALUES (?, 'informix', ?, ?, '-', 1, 1.0, 0.0, 0.0, 0.0, 1)",
        params![index.name, tabid, kind],
    )?;
    let mut parts = [0i64; 16];
    let numbers = column_numbers(connection, tabid, &index.columns)?;
    for ((part, number), descending) in parts.iter_mut().zip(numbers).zip(&index.descending) {
        *part = if *descending { -number } else { number };
    }
    let parts: Vec<String> = parts.iter().map(i64::to_string).collect();
    connection.execute(
        &format!("INSERT INTO sysindexes VALUES (?, 'informix', ?, ?, '-', {}, 1, 1.0, 0.0, 0.0)", parts.join(", ")),
        params![index.name, tabid, kind],
    )?;
    connection.execute("UPDATE systables SET nindexes = nindexes + 1 WHERE tabid = ?", [tabid])?;
    Ok(())
}

/// Takes an index out.
pub fn remove_index(connection: &Connection, name: &str) -> Result<()> {
    connection.execute(
        "UPDATE systables SET nindexes = nindexes - 1 WHERE tabid = (SELECT tabid FROM sysindices WHERE idxname = ?)",
        [name],
    )?;
    for table in ["sysindices", "sysindexes"] {
        connection.execute(&format!("DELETE FROM {table} WHERE idxname = ?"), [name])?;
    }
    Ok(())
}

/// Writes a constraint.
pub fn add_constraint(connection: &Connection, table: &str, constraint: &Constraint) -> Result<()> {
    let Some(tabid) = table_id(connection, table)? else { return Ok(()) };
    let id: i64 =
        connection.query_row("SELECT coalesce(max(constrid), 0) + 1 FROM sysconstraints", [], |row| row.get(0))?;
    // The names of the indexes that constraints make begin with a blank.
    let index = format!(" {tabid}_{id}");
    connection.execute(
        "INSERT INTO sysconstraints VALUES (?, ?, 'informix', ?, ?, ?)",
        params![
            id,
            constraint.name,
            tabid,
            constraint.kind.to_string(),
            if matches!(constraint.kind, 'P' | 'U' | 'R') { index.as_str() } else { "" }
        ],
    )?;
    for table in ["sysindices", "sysindexes"] {
        let sql = format!("UPDATE {table} SET idxname = ? WHERE tabid = ? AND idxname = ?");
        connection.execute(&sql, params![index, tabid, constraint.name])?;
    }
    for number in column_numbers(connection, tabid, &constraint.columns)? {
        connection.execute("INSERT INTO syscoldepend VALUES (?, ?, ?)", params![id, tabid, number])?;
    }
    if let Some((parent, referred, cascade)) = &constraint.references {
        // The key of these columns, which `ifx_constraints` has in their order.
        let primary: Option<i64> = connection
            .query_row(
                "SELECT c.constrid FROM sysconstraints c JOIN systables t ON t.tabid = c.tabid \
                 JOIN ifx_constraints k ON k.tabname = t.tabname AND k.name = c.constrname \
                 WHERE t.tabname = ? AND k.columns = ? ORDER BY constrtype",
                [parent, &referred.join(",")],
                |row| row.get(0),
            )
            .optional()?;
        let parent = table_id(connection, parent)?;
        connection.execute(
            "INSERT INTO sysreferences VALUES (?, ?, ?, 'R', ?, 'N', 'N')",
            params![id, primary, parent, if *cascade { "C" } else { "R" }],
        )?;
    }
    if let Some(text) = &constraint.check {
        let characters: Vec<char> = text.chars().collect();
        for (number, part) in characters.chunks(32).enumerate() {
            connection.execute(
                "INSERT INTO syschecks VALUES (?, 'T', ?, ?)",
                params![id, number as i64, part.iter().collect::<String>()],
            )?;
        }
    }
    Ok(())
}

/// Takes a constraint out; false if the table has none of that name.
pub fn remove_constraint(connection: &Connection, table: &str, name: &str) -> Result<bool> {
    connection.execute("DELETE FROM ifx_constraints WHERE tabname = ? AND name = ?", [table, name])?;
    let found: Option<(i64, String)> = connection
        .query_row(
            "SELECT constrid, idxname FROM sysconstraints c JOIN systables t ON t.tabid = c.tabid \
             WHERE tabname = ? AND constrname = ?",
            [table, name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let Some((id, index)) = found else { return Ok(false) };
    if !index.is_empty() {
        remove_index(connection, &index)?;
    }
    for table in ["sysreferences", "syschecks", "syscoldepend", "sysconstraints"] {
        connection.execute(&format!("DELETE FROM {table} WHERE constrid = ?"), [id])?;
    }
    Ok(true)
}

/// Writes the default of a column, in place of an older one.
pub fn add_default(connection: &Connection, table: &str, default: &Default) -> Result<()> {
    let Some(tabid) = table_id(connection, table)? else { return Ok(()) };
    let Default { column, class, text, sql } = default;
    connection.execute("DELETE FROM ifx_defaults WHERE tabname = ? AND colname = ?", [table, column])?;
    connection.execute("INSERT INTO ifx_defaults VALUES (?, ?, ?)", [table, column, sql])?;
    for number in column_numbers(connection, tabid, std::slice::from_ref(column))? {
        connection.execute("DELETE FROM sysdefaults WHERE tabid = ? AND colno = ?", [tabid, number])?;
        connection.execute(
            "INSERT INTO sysdefaults VALUES (?, ?, ?, ?, 'T')",
            params![tabid, number, class.to_string(), text],
        )?;
    }
    Ok(())
}

/// Entries about the old name of a column are moved to the new one.
pub fn rename_column(connection: &Connection, table: &str, from: &str, to: &str) -> Result<()> {
    let update = "UPDATE ifx_defaults SET colname = ?3 WHERE tabname = ?1 AND colname = ?2";
    connection.execute(update, [table, from, to])?;
    let update = "UPDATE ifx_constraints SET columns = trim(replace(',' || columns || ',', ',' || ?2 || ',', \
                  ',' || ?3 || ','), ',') WHERE tabname = ?1";
    connection.execute(update, [table, from, to])?;
    Ok(())
}

/// Writes the text of a view.
pub fn add_view(connection: &Connection, name: &str, text: &str) -> Result<()> {
    let Some(tabid) = table_id(connection, name)? else { return Ok(()) };
    let characters: Vec<char> = text.chars().collect();
    for (number, part) in characters.chunks(64).enumerate() {
        connection.execute(
            "INSERT INTO sysviews VALUES (?, ?, ?)",
            params![tabid, number as i64, part.iter().collect::<String>()],
        )?;
    }
    Ok(())
}

/// The table that a synonym refers to.
pub fn synonym(connection: &Connection, name: &str) -> Option<String> {
    let sql = "SELECT b.tabname FROM systables s JOIN syssyntable y ON y.tabid = s.tabid \
               JOIN systables b ON b.tabid = y.btabid WHERE s.tabname = ?";
    let mut select = connection.prepare_cached(sql).ok()?;
    select.query_row([name], |row| row.get(0)).optional().ok()?
}

/// Writes a synonym.
pub fn add_synonym(connection: &Connection, name: &str, table: &str) -> Result<()> {
    let base = table_id(connection, table)?;
    add_table(connection, name, 'S', &[])?;
    let tabid = table_id(connection, name)?;
    connection.execute("INSERT INTO syssyntable VALUES (?, '', '', 'informix', '', ?)", params![tabid, base])?;
    connection.execute(
        "INSERT INTO syssynonyms SELECT owner, tabname, created, tabid FROM systables WHERE tabid = ?",
        [tabid],
    )?;
    Ok(())
}

/// Takes a synonym or a sequence out; false if there is none of that name.
pub fn remove_named(connection: &Connection, name: &str, kind: char) -> Result<bool> {
    let sql = "SELECT tabid FROM systables WHERE tabname = ? AND tabtype = ?";
    let tabid: Option<i64> = connection.query_row(sql, params![name, kind.to_string()], |row| row.get(0)).optional()?;
    for table in ["syssyntable", "syssynonyms", "syssequences", "systables"] {
        connection.execute(&format!("DELETE FROM {table} WHERE tabid = ?"), [tabid])?;
    }
    Ok(tabid.is_some())
}

/// Writes a sequence.
pub fn add_sequence(connection: &Connection, name: &str, start: i64, step: i64) -> Result<()> {
    add_table(connection, name, 'Q', &[])?;
    let tabid = table_id(connection, name)?;
    connection.execute("INSERT INTO syssequences VALUES (?, ?, ?, ?)", params![tabid, tabid, start, step])?;
    Ok(())
}

/// Writes a routine, replacing one of the same name.
pub fn set_routine(connection: &Connection, name: &str, routine: Option<&Routine>) -> Result<()> {
    let old = "SELECT procid FROM sysprocedures WHERE procname = ?";
    connection.execute(&format!("DELETE FROM sysproccolumns WHERE procid IN ({old})"), [name])?;
    connection.execute("DELETE FROM sysprocedures WHERE procname = ?", [name])?;
    let Some(routine) = routine else { return Ok(()) };
    let id: i64 =
        connection.query_row("SELECT coalesce(max(procid), 0) + 1 FROM sysprocedures", [], |row| row.get(0))?;
    connection.execute(
        "INSERT INTO sysprocedures VALUES (?, 'informix', ?, 'O', ?, ?, ?)",
        params![name, id, routine.parameters.len() as i64, if routine.procedure { "t" } else { "f" }, name],
    )?;
    let returned = routine.returns.iter().map(|ty| (String::new(), *ty, 3));
    let taken = routine.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.ty, 1));
    for (number, (name, ty, attribute)) in taken.chain(returned).enumerate() {
        connection.execute(
            "INSERT INTO sysproccolumns VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![id, number as i64 + 1, name, ty.number(), ty.length, ty.extended(), attribute],
        )?;
    }
    Ok(())
}

/// Writes a type that a user made.
pub fn add_type(connection: &Connection, name: &str, ty: Type, mode: char) -> Result<()> {
    connection.execute(
        "INSERT INTO sysxtdtypes VALUES (?, 'U', ?, 'informix', ?, ?, ?, 0, ?)",
        params![ty.extended(), mode.to_string(), name, ty.number(), ty.source(), ty.length],
    )?;
    // The first member is the whole.
    connection
        .execute("INSERT INTO sysattrtypes VALUES (?, 1, 0, 0, '', 0, ?, 0, 0)", params![ty.extended(), ty.number()])?;
    add_members(connection, ty.extended(), ty, 1, &mut 1)
}

/// Writes the fields of a row and the elements of a collection, each below its container.
fn add_members(connection: &Connection, extended: i32, ty: Type, parent: i64, count: &mut i64) -> Result<()> {
    let members = match ty.definition().as_deref() {
        Some(UserType::Row { fields, .. }) => fields.clone(),
        Some(UserType::Collection { element, .. }) => vec![(String::new(), *element)],
        _ => Vec::new(),
    };
    for (index, (name, ty)) in members.iter().enumerate() {
        *count += 1;
        let own = *count;
        connection.execute(
            "INSERT INTO sysattrtypes VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)",
            params![extended, own, parent, name, index as i64 + 1, ty.number(), ty.length, ty.extended()],
        )?;
        add_members(connection, extended, *ty, own, count)?;
    }
    Ok(())
}

/// Takes a type out.
pub fn remove_type(connection: &Connection, name: &str) -> Result<()> {
    let ids = "SELECT extended_id FROM sysxtdtypes WHERE name = ? AND extended_id >= 2048";
    connection.execute(&format!("DELETE FROM sysattrtypes WHERE extended_id IN ({ids})"), [name])?;
    connection.execute("DELETE FROM sysxtdtypes WHERE name = ? AND extended_id >= 2048", [name])?;
    Ok(())
}
