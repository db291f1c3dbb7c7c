//! The statement that loads rows from the client. MySQL: "LOAD DATA Statement".

use crate::packets::column::Column;
use crate::types::{ColumnType, FieldKind};

/// A name in backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// LOAD DATA LOCAL for the lines that [`crate::types::write_line`] writes for these columns, into `table`, a name
/// quoted for SQL. `duplicates` selects what to do with rows whose key exists: `IGNORE`, `REPLACE` or nothing.
pub fn load_data(table: &str, columns: &[Column], duplicates: &str) -> String {
    let (mut targets, mut assigned) = (Vec::new(), Vec::new());
    for (i, column) in columns.iter().enumerate() {
        let name = quoted(&column.name);
        // Bytes are in hexadecimal, because the file as a whole is text. As text, the year 0 would be 2000, and bits
        // would be characters.
        let value = match (column.field_kind(), column.kind) {
            (FieldKind::Bytes | FieldKind::Vector, _) => format!("UNHEX(@headrace_{i})"),
            (_, ColumnType::BIT | ColumnType::YEAR) => format!("CAST(@headrace_{i} AS UNSIGNED)"),
            _ => {
                targets.push(name);
                continue;
            }
        };
        targets.push(format!("@headrace_{i}"));
        assigned.push(format!("{name} = {value}"));
    }
    let sets = if assigned.is_empty() { String::new() } else { format!(" SET {}", assigned.join(", ")) };
    let duplicates = if duplicates.is_empty() { String::new() } else { format!("{duplicates} ") };
    // Written so that no SQL mode changes its meaning.
    format!(
        "LOAD DATA LOCAL INFILE 'rows' {duplicates}INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY x'09' \
         ENCLOSED BY '' ESCAPED BY x'5C' LINES STARTING BY '' TERMINATED BY x'0A' ({}){sets}",
        targets.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::capabilities::ColumnFlags;
    use crate::packets::column::BINARY_COLLATION;

    fn column(name: &str, kind: ColumnType, collation: u16) -> Column {
        Column {
            schema: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: name.into(),
            org_name: String::new(),
            extended_type: None,
            extended_format: None,
            collation,
            length: 0,
            kind,
            flags: ColumnFlags::empty(),
            decimals: 0,
        }
    }

    #[test]
    fn bytes_bits_and_years_go_by_a_variable() {
        let columns = [
            column("id", ColumnType::LONG, BINARY_COLLATION),
            column("a`b", ColumnType::BLOB, BINARY_COLLATION),
            column("y", ColumnType::YEAR, BINARY_COLLATION),
        ];
        let sql = load_data("`t`", &columns, "IGNORE");
        assert!(sql.starts_with("LOAD DATA LOCAL INFILE 'rows' IGNORE INTO TABLE `t` CHARACTER SET utf8mb4 FIELDS "));
        assert!(sql.ends_with(
            "TERMINATED BY x'0A' (`id`, @headrace_1, @headrace_2) SET `a``b` = UNHEX(@headrace_1), \
             `y` = CAST(@headrace_2 AS UNSIGNED)"
        ));
        let sql = load_data("shop.books", &columns[..1], "");
        assert!(sql.starts_with("LOAD DATA LOCAL INFILE 'rows' INTO TABLE shop.books CHARACTER SET"));
        assert!(sql.ends_with(
            "TERMINATED BY x'09' ENCLOSED BY '' ESCAPED BY x'5C' LINES STARTING BY '' TERMINATED BY x'0A' (`id`)"
        ));
    }
}
