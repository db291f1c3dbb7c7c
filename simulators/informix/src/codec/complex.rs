//! The text that rows and collections are written as: `SET{'red', 'green'}`, `ROW('Alice', 30)`.

use crate::codec::charset::Charset;
use crate::engine::Value;
use crate::engine::convert::{convert, render};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};
use crate::usertypes::UserType;

/// The parts of such a text.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Null,
    /// A quoted string.
    Text(String),
    /// A number, a date or a word.
    Bare(String),
    Group(Kind, Vec<Part>),
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if character != quote {
                text.push(character);
            } else if characters.next_if(|(_, next)| *next == quote).is_some() {
                text.push(quote);
            } else {
                self.rest = &self.rest[at + 1..];
                return Some(text);
            }
        }
        None
    }

    fn part(&mut self) -> Option<Part> {
        self.skip_blanks();
        let first = self.rest.chars().next()?;
        if first == '\'' || first == '"' {
            return self.quoted(first).map(Part::Text);
        }
        for (word, opening, closing, kind) in [
            ("multiset", '{', '}', Kind::MultiSet),
            ("set", '{', '}', Kind::Set),
            ("list", '{', '}', Kind::List),
            ("row", '(', ')', Kind::Row),
        ] {
            let Some(start) = self.rest.get(..word.len()) else { continue };
            if start.eq_ignore_ascii_case(word) && self.rest[word.len()..].trim_start().starts_with(opening) {
                self.rest = &self.rest[word.len()..].trim_start()[1..];
                return self.items(closing).map(|items| Part::Group(kind, items));
            }
        }
        let end = self.rest.find([',', '}', ')']).unwrap_or(self.rest.len());
        let bare = self.rest[..end].trim_end().to_owned();
        self.rest = &self.rest[end..];
        Some(if bare.eq_ignore_ascii_case("null") { Part::Null } else { Part::Bare(bare) })
    }

    fn items(&mut self, closing: char) -> Option<Vec<Part>> {
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if let Some(rest) = self.rest.strip_prefix(closing) {
                self.rest = rest;
                return Some(items);
            }
            items.push(self.part()?);
            self.skip_blanks();
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
            } else if !self.rest.starts_with(closing) {
                return None;
            }
        }
    }
}

fn parse(text: &str) -> Option<Part> {
    let mut reader = Reader { rest: text.trim() };
    let part = reader.part()?;
    reader.skip_blanks();
    reader.rest.is_empty().then_some(part)
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn value_of(part: &Part) -> Value {
    match part {
        Part::Null => Value::Null,
        Part::Text(text) | Part::Bare(text) => Value::Text(text.clone()),
        Part::Group(..) => Value::Text(show(part)),
    }
}

fn show(part: &Part) -> String {
    match part {
        Part::Null => "NULL".into(),
        Part::Text(text) => quote(text),
        Part::Bare(text) => text.clone(),
        Part::Group(kind, items) => join(*kind, items.iter().map(show).collect()),
    }
}

fn join(kind: Kind, items: Vec<String>) -> String {
    let (opening, closing) = if kind == Kind::Row { ('(', ')') } else { ('{', '}') };
    format!("{}{opening}{}{closing}", Type::of(kind).name().to_uppercase(), items.join(","))
}

/// One element as the text of its type.
fn element(part: &Part, ty: Type, charset: Charset) -> Result<String> {
    let value = convert(value_of(part), Some(Type::new(Kind::LVarChar, 32_739)), ty, charset)?;
    Ok(element_text(&value, ty))
}

fn element_text(value: &Value, ty: Type) -> String {
    match value {
        Value::Null => "NULL".into(),
        value if ty.kind.is_text() || ty.kind.is_opaque() => quote(&render(value, Some(ty))),
        value if matches!(ty.kind, Kind::Date | Kind::DateTime | Kind::Interval | Kind::Boolean) => {
            quote(&render(value, Some(ty)))
        }
        value => render(value, Some(ty)),
    }
}

/// Values of known types as the text of a row or collection.
pub fn written(kind: Kind, values: &[(Type, Value)]) -> String {
    join(kind, values.iter().map(|(ty, value)| element_text(value, *ty)).collect())
}

/// The elements of a collection as values of their type.
pub fn values(text: &str, ty: Type, charset: Charset) -> Result<Vec<Value>> {
    let Some(Part::Group(_, items)) = parse(text) else { return Ok(Vec::new()) };
    items.iter().map(|item| convert(value_of(item), Some(Type::new(Kind::LVarChar, 32_739)), ty, charset)).collect()
}

/// A text as the value of a row or collection type, each element as its type writes it.
pub fn shaped(text: &str, ty: Type, charset: Charset) -> Result<String> {
    let wrong = || SqlError::new(-9632, ty.declaration());
    let part = parse(text).ok_or_else(wrong)?;
    let Part::Group(kind, items) = &part else { return Err(wrong()) };
    match ty.definition().as_deref() {
        Some(UserType::Row { fields, .. }) if *kind == Kind::Row && fields.len() == items.len() => {
            let items = items.iter().zip(fields).map(|(item, (_, ty))| element(item, *ty, charset));
            Ok(join(Kind::Row, items.collect::<Result<_>>()?))
        }
        Some(UserType::Collection { kind: own, element: ty }) if own == kind => {
            let mut items = items.iter().map(|item| element(item, *ty, charset)).collect::<Result<Vec<_>>>()?;
            if *kind == Kind::Set {
                let mut seen = std::collections::HashSet::new();
                items.retain(|item| seen.insert(item.clone()));
            }
            Ok(join(*kind, items))
        }
        None if *kind == ty.kind => Ok(show(&part)),
        _ => Err(wrong()),
    }
}

/// A field of a row, by its place, as a value of its type.
pub fn field(text: &str, place: usize, ty: Type, charset: Charset) -> Result<Value> {
    match parse(text) {
        Some(Part::Group(Kind::Row, items)) if place < items.len() => {
            convert(value_of(&items[place]), Some(Type::new(Kind::LVarChar, 32_739)), ty, charset)
        }
        _ => Ok(Value::Null),
    }
}

/// The elements of a collection as text.
pub fn elements(text: &str) -> Vec<String> {
    match parse(text) {
        Some(Part::Group(_, items)) => {
            items.iter().map(|item| if let Value::Text(text) = value_of(item) { text } else { String::new() }).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_form_of_their_type() {
        let int = Type::of(Kind::Int);
        let row =
            UserType::Row { name: None, fields: vec![("a".into(), Type::new(Kind::VarChar, 9)), ("b".into(), int)] };
        let row = row.column_type();
        assert_eq!(row.declaration(), "ROW(a varchar(9), b integer)");
        assert_eq!(shaped(" row ( 'it''s' , 30 )", row, Charset::Utf8).unwrap(), "ROW('it''s',30)");
        assert_eq!(shaped("ROW(NULL, '7')", row, Charset::Utf8).unwrap(), "ROW(NULL,7)");
        assert_eq!(field("ROW('it''s',30)", 1, int, Charset::Utf8).unwrap(), Value::Integer(30));
        assert_eq!(shaped("ROW('x')", row, Charset::Utf8).unwrap_err().code, -9632);
        let set = UserType::Collection { kind: Kind::Set, element: int }.column_type();
        assert_eq!(shaped("set{1, 2,1}", set, Charset::Utf8).unwrap(), "SET{1,2}");
        assert!(shaped("list{1}", set, Charset::Utf8).is_err());
        let nested = UserType::Collection { kind: Kind::List, element: row }.column_type();
        assert_eq!(shaped("LIST{ROW('a', 1)}", nested, Charset::Utf8).unwrap(), "LIST{ROW('a',1)}");
        assert_eq!(elements("LIST{'a',2}"), ["a", "2"]);
    }
}
