//! The types of values, and the description of a column.

use super::Reader;
use headrace_core::Fatal;

/// The type of a column, a parameter or a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Type {
    /// Whether it is a collection.
    pub collection: Collection,
    /// The character set: see [`charset`]. Zero in the form of one byte, which does not have it.
    pub charset: u8,
    /// The type's number: see [`crate::types::code`]; that of the elements, if it is a collection.
    pub code: u8,
}

/// Whether a type is a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Collection {
    /// It is not.
    #[default]
    None,
    /// SET.
    Set,
    /// MULTISET.
    Multiset,
    /// LIST or SEQUENCE.
    Sequence,
}

/// Character sets of texts, in the type's first byte.
pub mod charset {
    /// ISO-8859-1.
    pub const ISO_8859_1: u8 = 3;
    /// EUC-KR.
    pub const EUC_KR: u8 = 4;
}

/// Marks the form of a type that has two bytes.
const TWO_BYTES: u8 = 0x80;
/// The bits of a type's first byte that have the collection.
const COLLECTION: u8 = 0x60;
/// The bits of it that have the character set.
const CHARSET: u8 = 0x07;
/// The bits of a type of one byte that have its number.
const ONE_BYTE_CODE: u8 = 0x1f;

impl Type {
    fn collection_of(first: u8) -> Collection {
        match first & COLLECTION {
            0 => Collection::None,
            0x20 => Collection::Set,
            0x40 => Collection::Multiset,
            _ => Collection::Sequence,
        }
    }

    /// Reads the form that descriptions have: two bytes, or one if the first has no mark (GET_GENERATED_KEYS).
    ///
    /// # Errors
    /// [`Fatal`] at the end of the payload.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let first = reader.u8()?;
        let collection = Self::collection_of(first);
        if first & TWO_BYTES == 0 {
            return Ok(Self { collection, charset: 0, code: first & ONE_BYTE_CODE });
        }
        Ok(Self { collection, charset: first & CHARSET, code: reader.u8()? })
    }

    /// The two bytes at the beginning of a typed cell; `None` for a JSON value, which has none.
    pub fn of_cell(cell: &[u8]) -> Option<(Self, &[u8])> {
        match cell {
            [first, code, value @ ..] if first & TWO_BYTES != 0 => {
                let collection = Self::collection_of(*first);
                Some((Self { collection, charset: first & CHARSET, code: *code }, value))
            }
            _ => None,
        }
    }
}

/// A column, as PREPARE, EXECUTE, NEXT_RESULT and MAKE_OUT_RS describe it; SCHEMA_INFO and GET_GENERATED_KEYS describe
/// only type, scale, precision and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Its type.
    pub ty: Type,
    /// Digits after the point; of a DATETIME 3.
    pub scale: i16,
    /// Digits, characters or bits; -1 without a limit.
    pub precision: i32,
    /// Its name.
    pub name: String,
    /// The name of the attribute, if the result is updatable.
    pub attribute: String,
    /// `owner.table`, of a column of a table.
    pub class: String,
    /// It has NOT NULL. Primary keys may lack it.
    pub is_non_null: bool,
    /// The text of its DEFAULT.
    pub default: String,
    /// It has AUTO_INCREMENT.
    pub is_auto_increment: bool,
    /// It is of a unique key.
    pub is_unique: bool,
    /// It is of the primary key.
    pub is_primary: bool,
    /// It is of a descending index.
    pub is_reverse_index: bool,
    /// It is of a descending unique index.
    pub is_reverse_unique: bool,
    /// It is of a foreign key.
    pub is_foreign: bool,
    /// It is SHARED.
    pub is_shared: bool,
}

fn string(reader: &mut Reader<'_>) -> Result<String, Fatal> {
    let text = reader.text()?;
    Ok(reader.string(text))
}

impl Field {
    /// Reads the short form.
    ///
    /// # Errors
    /// [`Fatal`] at the end of the payload, as of all functions here.
    pub fn read_short(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let ty = Type::read(reader)?;
        let (scale, precision) = (reader.i16()?, reader.i32()?);
        Ok(Self { ty, scale, precision, name: string(reader)?, ..Self::default() })
    }

    /// Reads the long form.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let short = Self::read_short(reader)?;
        Ok(Self {
            attribute: string(reader)?,
            class: string(reader)?,
            is_non_null: reader.u8()? != 0,
            default: string(reader)?,
            is_auto_increment: reader.u8()? != 0,
            is_unique: reader.u8()? != 0,
            is_primary: reader.u8()? != 0,
            is_reverse_index: reader.u8()? != 0,
            is_reverse_unique: reader.u8()? != 0,
            is_foreign: reader.u8()? != 0,
            is_shared: reader.u8()? != 0,
            ..short
        })
    }
}
