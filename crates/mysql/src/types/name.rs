//! The SQL name of a column's type, the size of its values, and the kind of its field in LOAD DATA.

use super::{ColumnType, FieldKind};
use crate::packets::capabilities::ColumnFlags;
use crate::packets::column::{BINARY_COLLATION, Column};

impl Column {
    /// The name of its type in SQL, without its length: `varchar`, `varbinary`, `enum`; MariaDB's own for those that it
    /// names.
    pub fn type_name(&self) -> &str {
        // MySQL and MariaDB send ENUM and SET as CHAR, with a flag.
        if self.flags.contains(ColumnFlags::ENUM) {
            return "enum";
        }
        if self.flags.contains(ColumnFlags::SET) {
            return "set";
        }
        self.extended().unwrap_or_else(|| name(self.kind, self.collation == BINARY_COLLATION))
    }

    /// Precision and scale of a DECIMAL.
    pub fn decimal(&self) -> Option<(i64, u8)> {
        // The length counts the sign of a number that can have one, and a point if there are digits after it.
        let signed = !self.flags.contains(ColumnFlags::UNSIGNED);
        let others = i64::from(signed) + i64::from(self.decimals != 0);
        (self.type_name() == "decimal").then(|| (i64::from(self.length) - others, self.decimals))
    }

    /// Returns true if it can be NULL.
    pub fn is_nullable(&self) -> bool {
        !self.flags.contains(ColumnFlags::NOT_NULL)
    }

    /// The kind of its field in LOAD DATA.
    pub fn field_kind(&self) -> FieldKind {
        let extended = self.extended();
        let is_bytes = extended.is_none() && is_string(self.kind) && self.collation == BINARY_COLLATION;
        match self.kind {
            ColumnType::VECTOR => FieldKind::Vector,
            _ if extended == Some("vector") => FieldKind::Vector,
            ColumnType::GEOMETRY if extended.is_none() => FieldKind::Bytes,
            _ if self.flags.intersects(ColumnFlags::ENUM | ColumnFlags::SET) => FieldKind::Members,
            ColumnType::ENUM | ColumnType::SET => FieldKind::Members,
            _ if is_bytes => FieldKind::Bytes,
            ColumnType::TINY | ColumnType::SHORT | ColumnType::LONG | ColumnType::LONGLONG | ColumnType::INT24 => {
                FieldKind::Integer
            }
            ColumnType::YEAR => FieldKind::Year,
            ColumnType::BIT => FieldKind::Bit,
            ColumnType::TIME => FieldKind::Time,
            ColumnType::FLOAT | ColumnType::DOUBLE => FieldKind::Float,
            ColumnType::DECIMAL | ColumnType::NEWDECIMAL => FieldKind::Decimal,
            ColumnType::TIMESTAMP | ColumnType::DATE | ColumnType::DATETIME => FieldKind::Date,
            _ => FieldKind::Text,
        }
    }

    /// MariaDB's name of a type or format that has no number of its own.
    fn extended(&self) -> Option<&str> {
        self.extended_type.as_deref().or(self.extended_format.as_deref()).filter(|name| !name.is_empty())
    }
}

fn is_string(kind: ColumnType) -> bool {
    use ColumnType as T;
    matches!(kind, T::VARCHAR | T::TINY_BLOB | T::MEDIUM_BLOB | T::LONG_BLOB | T::BLOB | T::VAR_STRING | T::STRING)
}

fn name(kind: ColumnType, is_binary: bool) -> &'static str {
    match (kind, is_binary) {
        (ColumnType::DECIMAL | ColumnType::NEWDECIMAL, _) => "decimal",
        (ColumnType::TINY, _) => "tinyint",
        (ColumnType::SHORT, _) => "smallint",
        (ColumnType::LONG, _) => "int",
        (ColumnType::FLOAT, _) => "float",
        (ColumnType::DOUBLE, _) => "double",
        (ColumnType::NULL, _) => "null",
        (ColumnType::TIMESTAMP, _) => "timestamp",
        (ColumnType::LONGLONG, _) => "bigint",
        (ColumnType::INT24, _) => "mediumint",
        (ColumnType::DATE | ColumnType::NEWDATE, _) => "date",
        (ColumnType::TIME, _) => "time",
        (ColumnType::DATETIME, _) => "datetime",
        (ColumnType::YEAR, _) => "year",
        (ColumnType::BIT, _) => "bit",
        (ColumnType::VECTOR, _) => "vector",
        (ColumnType::JSON, _) => "json",
        (ColumnType::ENUM, _) => "enum",
        (ColumnType::SET, _) => "set",
        (ColumnType::GEOMETRY, _) => "geometry",
        (ColumnType::VARCHAR | ColumnType::VAR_STRING, false) => "varchar",
        (ColumnType::VARCHAR | ColumnType::VAR_STRING, true) => "varbinary",
        (ColumnType::STRING, false) => "char",
        (ColumnType::STRING, true) => "binary",
        (ColumnType::TINY_BLOB, false) => "tinytext",
        (ColumnType::TINY_BLOB, true) => "tinyblob",
        (ColumnType::MEDIUM_BLOB, false) => "mediumtext",
        (ColumnType::MEDIUM_BLOB, true) => "mediumblob",
        (ColumnType::LONG_BLOB, false) => "longtext",
        (ColumnType::LONG_BLOB, true) => "longblob",
        (ColumnType::BLOB, false) => "text",
        (ColumnType::BLOB, true) => "blob",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FieldKind::{Bit, Bytes, Date, Decimal, Float, Integer, Members, Text, Time, Vector, Year};

    fn column(kind: u8, collation: u16) -> Column {
        Column {
            schema: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: String::new(),
            org_name: String::new(),
            extended_type: None,
            extended_format: None,
            collation,
            length: 12,
            kind: ColumnType(kind),
            flags: ColumnFlags::empty(),
            decimals: 2,
        }
    }

    /// Number, name and kind of field as text, and as bytes.
    #[rustfmt::skip]
    const TYPES: &[(u8, &str, &str, FieldKind, FieldKind)] = &[
        (0, "decimal", "decimal", Decimal, Decimal),
        (1, "tinyint", "tinyint", Integer, Integer),
        (2, "smallint", "smallint", Integer, Integer),
        (3, "int", "int", Integer, Integer),
        (4, "float", "float", Float, Float),
        (5, "double", "double", Float, Float),
        (6, "null", "null", Text, Text),
        (7, "timestamp", "timestamp", Date, Date),
        (8, "bigint", "bigint", Integer, Integer),
        (9, "mediumint", "mediumint", Integer, Integer),
        (10, "date", "date", Date, Date),
        (11, "time", "time", Time, Time),
        (12, "datetime", "datetime", Date, Date),
        (13, "year", "year", Year, Year),
        (14, "date", "date", Text, Text),
        (15, "varchar", "varbinary", Text, Bytes),
        (16, "bit", "bit", Bit, Bit),
        (242, "vector", "vector", Vector, Vector),
        (245, "json", "json", Text, Text),
        (246, "decimal", "decimal", Decimal, Decimal),
        (247, "enum", "enum", Members, Members),
        (248, "set", "set", Members, Members),
        (249, "tinytext", "tinyblob", Text, Bytes),
        (250, "mediumtext", "mediumblob", Text, Bytes),
        (251, "longtext", "longblob", Text, Bytes),
        (252, "text", "blob", Text, Bytes),
        (253, "varchar", "varbinary", Text, Bytes),
        (254, "char", "binary", Text, Bytes),
        (255, "geometry", "geometry", Bytes, Bytes),
    ];

    #[test]
    fn every_number_has_its_name_and_its_kind_of_field() {
        for (number, text, bytes, text_kind, bytes_kind) in TYPES.iter().copied() {
            let (plain, binary) = (column(number, 33), column(number, BINARY_COLLATION));
            assert_eq!((plain.type_name(), plain.field_kind()), (text, text_kind), "{number}");
            let binary_kind = binary.field_kind();
            assert_eq!((binary.type_name(), binary_kind), (bytes, bytes_kind), "{number}");
        }
        for number in (0..=255).filter(|number| TYPES.iter().all(|(known, ..)| known != number)) {
            assert_eq!((column(number, 33).type_name(), column(number, 33).field_kind()), ("unknown", Text));
        }
    }

    #[test]
    fn flags_and_names_of_mariadb_are_more_specific_than_the_number() {
        let uuid = Column { extended_type: Some("uuid".into()), ..column(254, BINARY_COLLATION) };
        assert_eq!((uuid.type_name(), uuid.field_kind()), ("uuid", Text));
        let vector = Column { extended_type: Some("vector".into()), ..column(253, BINARY_COLLATION) };
        assert_eq!((vector.type_name(), vector.field_kind()), ("vector", Vector));
        let json = Column { extended_format: Some("json".into()), ..column(252, 33) };
        assert_eq!(json.type_name(), "json");
        let choice = Column { flags: ColumnFlags::ENUM | ColumnFlags::NOT_NULL, ..column(254, 33) };
        assert_eq!((choice.type_name(), choice.is_nullable()), ("enum", false));
        assert_eq!(choice.field_kind(), Members);
        let several = Column { flags: ColumnFlags::SET, ..column(254, 33) };
        assert_eq!((several.type_name(), several.field_kind()), ("set", Members));
    }

    #[test]
    fn a_decimal_has_the_digits_that_its_length_leaves() {
        assert_eq!(column(246, 63).decimal(), Some((10, 2)));
        assert_eq!(Column { decimals: 0, ..column(246, 63) }.decimal(), Some((11, 0)));
        assert_eq!(column(3, 63).decimal(), None);
    }
}
