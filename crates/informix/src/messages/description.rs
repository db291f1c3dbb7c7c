//! SQ_DESCRIBE and SQ_IDESCRIBE: the kind of a statement, and the types of its columns or parameters. The source of
//! each skipped field is in docs/reference/informix.md, "Skipped fields".

use super::reader::{Reader, Stop};
use crate::capabilities::{Capabilities, Feature};
use crate::codeset::CodeSet;
use crate::limits as own;
use headrace_core::Fatal;

/// A column of SQ_DESCRIBE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The type in the low byte, flags above.
    pub type_word: u16,
    /// The extended type's number, 0 for built-in ones.
    pub extended_id: i32,
    /// The extended type's owner.
    pub owner: String,
    /// The extended type's name.
    pub type_name: String,
    /// The type that a distinct type is made of.
    pub source_type: i32,
    /// The encoded length: see [`crate::types`].
    pub length: i32,
}

/// SQ_DESCRIBE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// See [`super::kind`].
    pub kind: u16,
    /// The number that SQ_ID names the statement by.
    pub id: u16,
    /// The columns of the result; for an INSERT those that it fills.
    pub fields: Vec<Field>,
}

/// The head of SQ_DESCRIBE.
pub(super) struct Head {
    kind: u16,
    id: u16,
    /// The number of columns that follow.
    pub count: usize,
    /// Bytes of the names after them.
    pub table: usize,
}

pub(super) fn description_head(r: &mut Reader<'_>, capabilities: Capabilities) -> Result<Head, Stop> {
    let (kind, id) = (r.u16()?, r.u16()?);
    let _estimated_cost = r.i32()?;
    let _row_bytes = if capabilities.has(Feature::WideTuple) { r.i32()? } else { i32::from(r.u16()?) };
    let count = usize::from(r.u16()?);
    let wide = capabilities.has(Feature::WideStringTable);
    let table = if wide { r.len32("a string table")? } else { usize::from(r.u16()?) };
    bounded(r.at.saturating_add(table))?;
    Ok(Head { kind, id, count, table })
}

fn bounded(bytes: usize) -> Result<(), Stop> {
    if bytes > own::DESCRIPTION_BYTES {
        let most = own::DESCRIPTION_BYTES;
        return Err(Stop::Bad(Fatal::peer(format!("the server described a statement in more than {most} bytes"))));
    }
    Ok(())
}

/// The number of parameters in SQ_IDESCRIBE, and the bytes of the names after them. Without parameters nothing follows.
pub(super) fn input_head(r: &mut Reader<'_>) -> Result<(usize, usize), Stop> {
    let count = usize::from(r.u16()?);
    let table = if count > 0 { usize::from(r.u16()?) } else { 0 };
    Ok((count, table + table % 2))
}

/// A type in SQ_DESCRIBE and SQ_IDESCRIBE.
pub(super) struct Described<'a> {
    type_word: u16,
    extended_id: i32,
    owner: &'a [u8],
    type_name: &'a [u8],
    source_type: i32,
    length: i32,
}

impl Described<'_> {
    pub fn field(&self, name: String, codeset: CodeSet) -> Field {
        Field {
            name,
            type_word: self.type_word,
            extended_id: self.extended_id,
            owner: codeset.decode_string(self.owner),
            type_name: codeset.decode_string(self.type_name),
            source_type: self.source_type,
            length: self.length,
        }
    }
}

pub(super) fn described_type<'a>(r: &mut Reader<'a>) -> Result<Described<'a>, Stop> {
    let (type_word, extended_id) = (r.u16()?, r.i32()?);
    let (owner, type_name) = (r.chars()?, r.chars()?);
    let (_by_reference, _alignment) = (r.u16()?, r.u16()?);
    let (source_type, length) = (r.i32()?, r.i32()?);
    bounded(r.at)?;
    Ok(Described { type_word, extended_id, owner, type_name, source_type, length })
}

/// A column of SQ_DESCRIBE: the position of its name, and its type.
pub(super) fn described_field<'a>(
    r: &mut Reader<'a>,
    capabilities: Capabilities,
) -> Result<(usize, Described<'a>), Stop> {
    let wide = capabilities.has(Feature::WideStringTable);
    let offset = if wide { r.len32("a name")? } else { usize::from(r.u16()?) };
    // With every column at its largest width.
    let _start_position = r.i32()?;
    Ok((offset, described_type(r)?))
}

pub(super) fn description(
    r: &mut Reader<'_>,
    capabilities: Capabilities,
    codeset: CodeSet,
) -> Result<Description, Stop> {
    let Head { kind, id, count, table } = description_head(r, capabilities)?;
    let mut described = Vec::new();
    for _ in 0..count {
        described.push(described_field(r, capabilities)?);
    }
    let table = r.padded(table)?;
    let mut fields = Vec::with_capacity(described.len());
    for (offset, described) in described {
        let Some(name) = table.get(offset..) else {
            return Err(Stop::Bad(Fatal::peer("the server described a column whose name is outside its string table")));
        };
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        let name = codeset.decode_string(&name[..end]);
        fields.push(described.field(name, codeset));
    }
    Ok(Description { kind, id, fields })
}
