//! Rows and collections in the binary form of IBM's JDBC driver: a description of the type, node by node, and the data
//! after it. The layout is known only from what that driver sends.
//!
//! 132 zero bytes, int32 count of nodes; each node 414 bytes; int32 0, int32 length of the data, int32 1 (or 0x80000000
//! if there is nothing: NULL in a row, an empty collection as a parameter), the data. Data of a fixed size is
//! contiguous; data of varying size is followed by int32 -1 and the offset of each item, the last first.

use crate::codec::charset::Charset;
use crate::codec::complex;
use crate::engine::Value;
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};
use crate::usertypes::UserType;
use crate::wire::{Input, Output};

const HEADER: usize = 136;
const NODE: usize = 414;
const NAME: usize = 128;
const NOTHING: i32 = i32::MIN;

/// Writes one value of a type, as a column of a row has it.
pub type WriteValue<'a> = &'a mut dyn FnMut(&mut Vec<u8>, Type, &Value) -> Result<()>;

fn members(ty: Type) -> Result<Vec<(String, Type)>> {
    let members = match ty.definition().as_deref() {
        Some(UserType::Row { fields, .. }) => fields.clone(),
        Some(UserType::Collection { element, .. }) => vec![(String::new(), *element)],
        _ => Vec::new(),
    };
    if members.is_empty() || members.iter().any(|(_, ty)| ty.kind.is_complex()) {
        return Err(SqlError::unsupported(format!("{} in binary form", ty.declaration())));
    }
    Ok(members)
}

fn fixed(kind: Kind) -> bool {
    !(kind.is_opaque() || matches!(kind, Kind::VarChar | Kind::NVarChar | Kind::LVarChar | Kind::Boolean))
}

fn node(out: &mut Vec<u8>, place: (u16, u16, u16), name: &str, number: u16, ty: Type) {
    out.put_u16(place.0);
    out.put_u16(place.1);
    out.put_u16(place.2);
    out.put_u16(name.len() as u16);
    let start = out.len();
    out.extend_from_slice(name.as_bytes());
    out.resize(start + NAME, b' ');
    out.put_u16(number);
    out.put_i16(if place.1 > 0 { ty.number() | if name.is_empty() { 0x100 } else { 0 } } else { ty.number() });
    out.put_u16(if ty.kind.is_complex() { 0 } else { ty.length as u16 });
    out.put_i32(if ty.kind.is_complex() { 0 } else { ty.extended() });
    out.put_u16(0);
    // Name and owner of a row type that has them.
    let definition = ty.definition();
    let named = match definition.as_deref() {
        Some(UserType::Row { name: Some(name), .. }) => [name.as_str(), "informix"],
        _ => ["", ""],
    };
    for text in named {
        out.put_u16(text.len() as u16);
        let start = out.len();
        out.extend_from_slice(text.as_bytes());
        out.resize(start + NAME, b' ');
    }
    out.extend_from_slice(&[0; 6]);
}

/// The description of a type.
fn described(ty: Type, members: &[(String, Type)]) -> Vec<u8> {
    let mut out = vec![0; HEADER - 4];
    out.put_i32(members.len() as i32 + 1);
    node(&mut out, (1, 0, 0), "", 0, ty);
    for (index, (name, member)) in members.iter().enumerate() {
        let number = if ty.kind == Kind::Row { index as u16 + 1 } else { 0 };
        node(&mut out, (index as u16 + 2, 1, 1), name, number, *member);
    }
    out
}

/// The binary form of a text that [`complex::shaped`] made.
pub fn encode(text: &str, ty: Type, charset: Charset, write: WriteValue<'_>) -> Result<Vec<u8>> {
    let members = members(ty)?;
    let row = ty.kind == Kind::Row;
    let mut out = described(ty, &members);
    let values: Vec<(Type, Value)> = if row {
        let fields = members.iter().enumerate();
        fields.map(|(place, (_, ty))| Ok((*ty, complex::field(text, place, *ty, charset)?))).collect::<Result<_>>()?
    } else {
        let ty = members[0].1;
        complex::values(text, ty, charset)?.into_iter().map(|value| (ty, value)).collect()
    };
    let (mut data, mut offsets) = (Vec::new(), Vec::new());
    for (ty, value) in &values {
        offsets.push(data.len() as i32);
        write(&mut data, *ty, value)?;
    }
    if row || (!fixed(members[0].1.kind) && !offsets.is_empty()) {
        data.put_i32(-1);
        for offset in offsets.iter().rev() {
            data.put_i32(*offset);
        }
    }
    out.put_i32(0);
    out.put_i32(data.len() as i32);
    out.put_i32(1);
    out.extend_from_slice(&data);
    Ok(out)
}

/// NULL in the binary form.
pub fn encode_null(ty: Type) -> Result<Vec<u8>> {
    let mut out = described(ty, &members(ty)?);
    out.put_i32(0);
    out.put_i32(0);
    out.put_i32(NOTHING);
    Ok(out)
}

/// Returns true if bytes are of this form.
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER + NODE + 12 && bytes[..HEADER - 4].iter().all(|&byte| byte == 0)
}

/// The text of such a value as a row or a collection of the target's kind; `read` takes one value of a type from the
/// data.
pub fn decode(
    bytes: &[u8],
    kind: Kind,
    read: impl Fn(&mut Input<&[u8]>, Type) -> std::io::Result<(Type, Value)>,
) -> std::io::Result<String> {
    let wrong =
        |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, format!("a row or collection: {what}"));
    let mut input = Input::whole(bytes);
    input.bytes(HEADER - 4)?;
    let count = input.i32()?;
    let mut nodes = Vec::new();
    for _ in 0..count {
        input.bytes(8 + NAME + 2)?;
        let (number, length, extended) = (input.i16()?, input.u16()?, input.i32()?);
        input.bytes(NODE - 8 - NAME - 2 - 8)?;
        let kind = Kind::from_number(number & 0xff, extended).ok_or_else(|| wrong("a type that is not known"))?;
        nodes.push(Type::new(kind, i32::from(length)));
    }
    let Some((outer, inner)) = nodes.split_first() else { return Err(wrong("no nodes")) };
    input.i32()?;
    let length = usize::try_from(input.i32()?).map_err(|_| wrong("a negative length"))?;
    let empty = input.i32()? == NOTHING;
    let data = input.bytes(if empty { 0 } else { length })?;
    let row = outer.kind == Kind::Row;
    let element = *inner.first().ok_or_else(|| wrong("no elements"))?;
    // Offsets follow data of varying size; the first item has offset 0, which is the last of them.
    let tail = |items: usize| 4 + 4 * items;
    let items: usize = if row {
        inner.len()
    } else if empty {
        0
    } else if fixed(element.kind) {
        usize::MAX
    } else {
        (0..data.len() / 4)
            .find(|items| {
                let at = data.len().saturating_sub(tail(*items));
                data.len() >= tail(*items) && data[at..at + 4] == [0xff; 4] && data.ends_with(&[0; 4])
            })
            .ok_or_else(|| wrong("no offsets"))?
    };
    let end =
        if row || (items != usize::MAX && items > 0) { data.len().saturating_sub(tail(items)) } else { data.len() };
    let mut values = Vec::new();
    let mut part = Input::whole(&data[..end]);
    let mut types = inner.iter().chain(std::iter::repeat(&element));
    while values.len() < items && !(items == usize::MAX && part.is_at_end()?) {
        values.push(read(&mut part, *types.next().unwrap_or(&element))?);
    }
    Ok(complex::written(if row { Kind::Row } else { kind }, &values))
}
