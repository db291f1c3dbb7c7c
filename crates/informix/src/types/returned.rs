//! The values that a routine returned over the fast path: in the form of SQ_BIND, converted to a row in the columns'
//! own form.

use super::decode::{Decoder, Inner};
use super::{code, extended};
use crate::capabilities::Capabilities;
use crate::messages::server::{Field, Returned};

/// The decoders for the values, and the row that they decode.
pub fn row(values: &[Returned<'_>], capabilities: Capabilities) -> (Vec<Decoder>, Vec<u8>) {
    let mut row = Vec::new();
    let decoders = values.iter().map(|value| cell(value, capabilities, &mut row)).collect();
    (decoders, row)
}

fn cell(returned: &Returned<'_>, capabilities: Capabilities, row: &mut Vec<u8>) -> Decoder {
    let Some(value) = returned.value else {
        row.extend_from_slice(&[1, 0, 0, 0, 0]);
        return Decoder::Envelope(Inner::Text);
    };
    let field = &returned.field;
    let type_code = field.type_word & 0xff;
    let decoder = match type_code {
        code::DECIMAL | code::MONEY => Decoder::Decimal(value.len(), None),
        code::DATETIME => Decoder::DateTime(value.len(), (field.length >> 4 & 15) as u8, (field.length & 15) as u8),
        code::INTERVAL => Decoder::Interval(value.len(), (field.length >> 4 & 15) as u8),
        code::CHAR | code::NCHAR | code::VARCHAR | code::NVARCHAR => Decoder::Envelope(Inner::Text),
        _ => Decoder::new(&Field { extended_id: number(&field.type_name), ..field.clone() }, capabilities),
    };
    if let Decoder::Envelope(_) = decoder {
        row.push(0);
        row.extend_from_slice(&(value.len() as u32).to_be_bytes());
    }
    row.extend_from_slice(value);
    decoder
}

/// The number of an extended type, which travels by its name here.
fn number(name: &str) -> i32 {
    match name {
        "lvarchar" => extended::LVARCHAR,
        "boolean" => extended::BOOLEAN,
        "blob" => extended::BLOB,
        "clob" => extended::CLOB,
        "json" => extended::JSON,
        "bson" => extended::BSON,
        _ => 0,
    }
}

/// The arguments of a signature such as `function informix.ifx_lo_seek(integer,int8,integer,int8)`, as far as their
/// types decide how a value is sent.
pub fn arguments(signature: &str) -> Vec<Option<Field>> {
    let inside =
        signature.split_once('(').map_or("", |(_, rest)| rest.rsplit_once(')').map_or(rest, |(inside, _)| inside));
    let mut depth = 0;
    let parts = inside.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    let parts = parts.map(|part| part.trim().to_ascii_lowercase()).filter(|part| !part.is_empty());
    parts.map(|part| Some(Field { type_word: argument(&part), name: part, ..Field::default() })).collect()
}

fn argument(name: &str) -> u16 {
    match name.split('(').next().unwrap_or_default().trim() {
        "smallint" => code::SMALLINT,
        "int" | "integer" => code::INTEGER,
        "int8" => code::INT8,
        "bigint" => code::BIGINT,
        "boolean" => code::BOOLEAN,
        "lvarchar" => code::LVARCHAR,
        "set" => code::SET,
        "multiset" => code::MULTISET,
        "list" => code::LIST,
        "row" => code::ROW,
        _ => code::CHAR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_has_the_types_of_its_arguments() {
        let types = |signature| arguments(signature).iter().flatten().map(|field| field.type_word).collect::<Vec<_>>();
        assert_eq!(types("function informix.ifx_lo_open(blob ,integer)"), [code::CHAR, code::INTEGER]);
        assert_eq!(types("procedure p(decimal(8,2), INT8, set(int not null))"), [code::CHAR, code::INT8, code::SET]);
        assert_eq!(types("function f()"), []);
        assert_eq!(types("function f"), []);
    }
}
