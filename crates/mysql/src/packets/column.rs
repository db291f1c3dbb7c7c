//! Column definitions and the first packet of a prepared statement. MySQL: "Column Definition", "COM_STMT_PREPARE
//! Response"; MariaDB: "Column definition packet", "COM_STMT_PREPARE response".

use super::body::Body;
use super::capabilities::{Capabilities, ColumnFlags};
use crate::types::ColumnType;
use headrace_core::Fatal;

/// The number of the collation and character set of bytes.
pub const BINARY_COLLATION: u16 = 63;

/// One column of a result, or one parameter: `Protocol::ColumnDefinition41`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its schema.
    pub schema: String,
    /// The alias of its table.
    pub table: String,
    /// Its table.
    pub org_table: String,
    /// Its alias.
    pub name: String,
    /// Its name in the table.
    pub org_name: String,
    /// MariaDB's name of a type that has no number of its own: `uuid`, `inet6`, `point`.
    pub extended_type: Option<String>,
    /// MariaDB's name of a format: `json`.
    pub extended_format: Option<String>,
    /// The collation; [`BINARY_COLLATION`] for bytes and numbers.
    pub collation: u16,
    /// The longest value in bytes; for BIT in bits.
    pub length: u32,
    /// Its type.
    pub kind: ColumnType,
    /// Its flags.
    pub flags: ColumnFlags,
    /// Digits after the point; 31 if they vary.
    pub decimals: u8,
}

impl Column {
    /// Reads a column definition.
    ///
    /// # Errors
    /// [`Fatal`] if it is malformed.
    pub fn read(payload: &[u8], capabilities: Capabilities) -> Result<Self, Fatal> {
        const WHAT: &str = "column definition";
        let mut body = Body::new(WHAT, payload);
        body.lenenc_bytes()?; // the catalog, always "def"
        let schema = body.lenenc_text()?;
        let table = body.lenenc_text()?;
        let org_table = body.lenenc_text()?;
        let name = body.lenenc_text()?;
        let org_name = body.lenenc_text()?;
        let (mut extended_type, mut extended_format) = (None, None);
        if capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            let mut extended = Body::new(WHAT, body.lenenc_bytes()?);
            while !extended.is_empty() {
                let (kind, value) = (extended.u8()?, extended.lenenc_text()?);
                match kind {
                    0 => extended_type = Some(value),
                    1 => extended_format = Some(value),
                    _ => {}
                }
            }
        }
        let mut fixed = Body::new(WHAT, body.lenenc_bytes()?);
        Ok(Self {
            schema,
            table,
            org_table,
            name,
            org_name,
            extended_type,
            extended_format,
            collation: fixed.u16()?,
            length: fixed.u32()?,
            kind: ColumnType(fixed.u8()?),
            flags: ColumnFlags::from_bits_retain(fixed.u16()?),
            decimals: fixed.u8()?,
        })
    }
}

/// The first packet of the reply to COM_STMT_PREPARE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// The statement's number on the server.
    pub statement_id: u32,
    /// The number of its columns; their definitions follow those of the parameters.
    pub columns: u16,
    /// The number of its parameters; their definitions follow.
    pub params: u16,
    /// The number of warnings.
    pub warnings: u16,
}

impl PrepareOk {
    /// Reads `COM_STMT_PREPARE_OK`, header included.
    ///
    /// # Errors
    /// [`Fatal`] if it is malformed.
    pub fn read(payload: &[u8]) -> Result<Self, Fatal> {
        let mut body = Body::new("COM_STMT_PREPARE_OK", payload);
        if body.u8()? != 0 {
            return Err(Fatal::peer("the server answered COM_STMT_PREPARE with a packet of another kind"));
        }
        let (statement_id, columns, params) = (body.u32()?, body.u16()?, body.u16()?);
        body.u8()?;
        let warnings = if body.is_empty() { 0 } else { body.u16()? };
        Ok(Self { statement_id, columns, params, warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_with_and_without_extended_metadata() {
        let mut plain = b"\x03def\x04test\x01t\x01t\x01u\x01u".to_vec();
        let fixed = b"\x0c\x21\x00\x24\x00\x00\x00\xfe\x80\x00\x00\x00\x00";
        let mut extended = plain.clone();
        extended.extend_from_slice(b"\x0c\x00\x04uuid\x01\x04json");
        extended.extend_from_slice(fixed);
        plain.extend_from_slice(fixed);
        let column = Column::read(&plain, Capabilities::empty()).unwrap();
        assert_eq!((column.name.as_str(), column.collation, column.length), ("u", 33, 36));
        assert_eq!((column.kind, column.flags), (ColumnType::STRING, ColumnFlags::BINARY));
        let column = Column::read(&extended, Capabilities::MARIADB_EXTENDED_METADATA).unwrap();
        assert_eq!(column.extended_type.as_deref(), Some("uuid"));
        assert_eq!(column.extended_format.as_deref(), Some("json"));
        for cut in 0..extended.len() - 1 {
            assert!(Column::read(&extended[..cut], Capabilities::MARIADB_EXTENDED_METADATA).is_err());
        }
    }

    #[test]
    fn prepare_ok() {
        let read = PrepareOk::read(&[0, 1, 0, 0, 0, 2, 0, 3, 0, 0, 4, 0]).unwrap();
        assert_eq!(read, PrepareOk { statement_id: 1, columns: 2, params: 3, warnings: 4 });
        assert!(PrepareOk::read(&[1, 1, 0, 0, 0, 2, 0, 3, 0, 0, 4, 0]).is_err());
    }
}
