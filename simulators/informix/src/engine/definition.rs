//! Changes to the text of a table's definition, for which SQLite has no statement.
//!
//! SQLite documents this method: the text in its catalog may be rewritten, if the rows stay valid.

use rusqlite::{Connection, Result};

use crate::sql::quote;

/// `CREATE TABLE … (` and its content in brackets: columns, then constraints.
struct Definition<'a> {
    head: &'a str,
    parts: Vec<&'a str>,
    tail: &'a str,
}

/// The positions of characters outside of quotes, each with the number of open brackets before it.
fn open_places(text: &str) -> impl Iterator<Item = (usize, char, i32)> {
    let (mut quote, mut depth) = (None, 0);
    text.char_indices().filter_map(move |(at, character)| {
        match (quote, character) {
            (Some(own), _) if own == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, _) => {
                depth -= i32::from(character == ')');
                let found = (at, character, depth);
                depth += i32::from(character == '(');
                return Some(found);
            }
        }
        None
    })
}

impl<'a> Definition<'a> {
    fn read(sql: &'a str) -> Option<Self> {
        let start = open_places(sql).find(|(_, character, _)| *character == '(')?.0 + 1;
        let end = open_places(sql).filter(|(_, character, depth)| (*character, *depth) == (')', 0)).last()?.0;
        let mut parts = Vec::new();
        let mut from = start;
        for (at, character, depth) in open_places(sql) {
            if (character, depth) == (',', 1) {
                parts.push(sql[from..at].trim());
                from = at + 1;
            }
        }
        parts.push(sql[from..end].trim());
        Some(Self { head: &sql[..start], parts, tail: &sql[end..] })
    }

    fn write(&self, parts: &[String]) -> String {
        format!("{}{}{}", self.head, parts.join(", "), self.tail)
    }
}

/// A definition with another text for one column.
pub fn with_column(sql: &str, column: &str, part: &str) -> Option<String> {
    let definition = Definition::read(sql)?;
    let start = format!("{column} ");
    let change = |own: &&str| if own.starts_with(&start) { part.to_owned() } else { (*own).to_owned() };
    let parts: Vec<String> = definition.parts.iter().map(change).collect();
    Some(definition.write(&parts))
}

/// A definition with one more constraint.
pub fn with_part(sql: &str, part: &str) -> Option<String> {
    let definition = Definition::read(sql)?;
    let mut parts: Vec<String> = definition.parts.iter().map(|own| (*own).to_owned()).collect();
    parts.push(part.trim().to_owned());
    Some(definition.write(&parts))
}

/// A definition without the constraint of a name, which is quoted.
pub fn without_constraint(sql: &str, name: &str) -> Option<String> {
    let definition = Definition::read(sql)?;
    let wanted = format!("CONSTRAINT {name} ");
    let mut parts = Vec::new();
    for part in &definition.parts {
        if part.starts_with(&wanted) {
            continue;
        }
        let begins = |word: &str| {
            let places: Vec<usize> = open_places(part).filter(|(.., depth)| *depth == 0).map(|(at, ..)| at).collect();
            places.into_iter().filter(|at| part[*at..].starts_with(word)).collect::<Vec<usize>>()
        };
        let Some(from) = begins(&format!(" {wanted}")).first().copied() else {
            parts.push((*part).to_owned());
            continue;
        };
        let ends = [begins(" CONSTRAINT "), begins(" NOT NULL")].concat();
        let end = ends.into_iter().filter(|at| *at > from).min().unwrap_or(part.len());
        parts.push(format!("{}{}", &part[..from], &part[end..]));
    }
    Some(definition.write(&parts))
}

/// Returns true if a constraint names a column; both are quoted.
pub fn speaks_of(sql: &str, constraint: &str, column: &str) -> bool {
    let rest = without_constraint(sql, constraint).unwrap_or_default();
    sql.matches(column).count() > rest.matches(column).count()
}

fn definition(connection: &Connection, table: &str, schema: &str) -> Result<String> {
    let select = format!("SELECT sql FROM {schema}.sqlite_schema WHERE type = 'table' AND name = ?");
    connection.query_row(&select, [table], |row| row.get(0))
}

/// The constraints of a table that name a column, which is quoted.
pub fn constraints_about(
    connection: &Connection,
    table: &str,
    constraints: Vec<String>,
    column: &str,
) -> Result<Vec<String>> {
    let sql = definition(connection, table, "main")?;
    Ok(constraints.into_iter().filter(|name| speaks_of(&sql, &quote(name), column)).collect())
}

/// Rewrites the definition of a table.
pub fn redefine(
    connection: &Connection,
    table: &str,
    temporary: bool,
    change: impl FnOnce(&str) -> Option<String>,
) -> Result<()> {
    let schema = if temporary { "temp" } else { "main" };
    let sql = definition(connection, table, schema)?;
    let Some(changed) = change(&sql).filter(|changed| *changed != sql) else { return Ok(()) };
    let version: i64 = connection.query_row(&format!("PRAGMA {schema}.schema_version"), [], |row| row.get(0))?;
    connection.execute_batch("PRAGMA writable_schema = ON")?;
    let update = format!("UPDATE {schema}.sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?");
    let written = connection.execute(&update, [changed.as_str(), table]);
    connection.execute_batch(&format!("PRAGMA {schema}.schema_version = {}", version + 1))?;
    connection.execute_batch("PRAGMA writable_schema = RESET")?;
    written.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQL: &str = "CREATE TABLE \"t\" (\"a\" INTEGER CONSTRAINT \"c1\" CHECK (a > ',)' OR (a)) CONSTRAINT \"r\" \
                       REFERENCES \"p\"(\"x\") ON DELETE CASCADE NOT NULL, \"b\" TEXT, CONSTRAINT \"c2\" CHECK (b))";

    #[test]
    fn a_constraint_goes_and_nothing_else() {
        let without = |name: &str| without_constraint(SQL, name).unwrap();
        assert!(without("\"c1\"").contains("\"a\" INTEGER CONSTRAINT \"r\" REFERENCES"));
        assert!(without("\"r\"").contains("OR (a)) NOT NULL, \"b\""));
        assert!(without("\"c2\"").ends_with("\"b\" TEXT)"));
        assert_eq!(without("\"c3\""), SQL);
    }

    #[test]
    fn a_check_speaks_of_its_columns() {
        assert!(speaks_of("CREATE TABLE \"t\" (\"a\" INT, CONSTRAINT \"c\" CHECK (\"a\" > 1))", "\"c\"", "\"a\""));
        assert!(!speaks_of(SQL, "\"c2\"", "\"a\""));
    }

    #[test]
    fn columns_and_constraints_come() {
        let changed = with_column(SQL, "\"b\"", "\"b\" INTEGER NOT NULL").unwrap();
        assert!(changed.contains("NOT NULL, \"b\" INTEGER NOT NULL, CONSTRAINT \"c2\""));
        assert!(
            with_part(SQL, " CONSTRAINT \"x\" CHECK (1)").unwrap().ends_with("CHECK (b), CONSTRAINT \"x\" CHECK (1))")
        );
    }
}
