//! The description of a prepared statement, and what of that has to be the same for a client that was told of it.

use super::counted::Counted;
use super::statements::PreparedStatement;
use crate::limits::DESCRIPTION_BYTES;
use sha2::{Digest, Sha256};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// The replies to Describe of a statement, or of a portal that was bound from it.
#[derive(Clone, Debug)]
pub struct Description {
    /// ParameterDescription; `None` if only portals were described.
    parameters: Option<Kept>,
    /// RowDescription or NoData, with the formats that a statement's columns have.
    columns: Kept,
}

/// A message that is kept: as it is, or in short if it is larger than [`DESCRIPTION_BYTES`].
#[derive(Clone, Debug)]
struct Kept(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    bytes: Box<[u8]>,
    _counted: Counted,
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The tag of a message that is kept in short, which no message of a server has.
const SHORT: u8 = b'#';

/// The first description of each kind that a server has sent of a statement: most often all are the same, and share it.
#[derive(Debug, Default)]
pub struct FirstDescription {
    parameters: OnceLock<Kept>,
    columns: OnceLock<Kept>,
}

/// What the comparison of a description with an earlier one shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// A program that was told of the earlier one reads the rows, and writes the parameters, of this one.
    Fits,
    /// It does not.
    Differs,
    /// The types of the parameters, of which the program was told, are not known of this one.
    Unknown,
}

impl Description {
    /// The description of a statement by these two messages.
    pub fn of_statement(statement: &PreparedStatement, parameters: &[u8], columns: &[u8]) -> Self {
        let first = &statement.first_description;
        Self {
            parameters: Some(Kept::shared(&first.parameters, parameters, short_of_parameters)),
            columns: Kept::shared(&first.columns, columns, short_of_columns),
        }
    }

    /// The description of the statement that a portal was bound from, by RowDescription or NoData of the portal: the
    /// formats of its columns are those of the Bind, and those of a statement are all text.
    pub fn of_portal(statement: &PreparedStatement, columns: &[u8]) -> Self {
        let first = &statement.first_description.columns;
        if let Some(first) = first.get().filter(|first| **first.0 == *columns) {
            return Self { parameters: None, columns: first.clone() };
        }
        let mut columns = columns.to_vec();
        clear_formats(&mut columns);
        Self { parameters: None, columns: Kept::shared(first, columns, short_of_columns) }
    }

    /// Returns true if a comparison with `told` is sure to find that it fits, without looking at the messages.
    pub fn is_shared_with(&self, told: &Self) -> bool {
        let parameters = match (&self.parameters, &told.parameters) {
            (_, None) => true,
            (Some(own), Some(told)) => Arc::ptr_eq(&own.0, &told.0),
            (None, Some(_)) => false,
        };
        parameters && Arc::ptr_eq(&self.columns.0, &told.columns.0)
    }

    /// Compares it with what a client was told: what the server compares before it reports that a cached plan must not
    /// change its result (`equalRowTypes`), and the types of the parameters. Which table a column comes from may
    /// differ.
    pub fn compare(&self, told: &Self) -> Comparison {
        if !self.columns.has_columns_of(&told.columns) {
            return Comparison::Differs;
        }
        match (&self.parameters, &told.parameters) {
            (_, None) => Comparison::Fits,
            (None, Some(_)) => Comparison::Unknown,
            (Some(own), Some(told)) if **own.0 == **told.0 => Comparison::Fits,
            (Some(_), Some(_)) => Comparison::Differs,
        }
    }

    /// What is known after `earlier`, if this is the newer one: a portal's has no parameters.
    pub fn after(mut self, earlier: Option<&Self>) -> Self {
        if self.parameters.is_none() {
            self.parameters = earlier.and_then(|earlier| earlier.parameters.clone());
        }
        self
    }

    /// The part of it that a client has received which was sent `told`.
    pub fn as_far_as(&self, told: &Self) -> Self {
        let parameters = self.parameters.clone().filter(|_| told.parameters.is_some());
        Self { parameters, columns: self.columns.clone() }
    }

    /// ParameterDescription, and RowDescription or NoData, if both are known as they are.
    pub fn messages(&self) -> Option<[&[u8]; 2]> {
        let messages: [&[u8]; 2] = [&self.parameters.as_ref()?.0, &self.columns.0];
        messages.iter().all(|message| message.first() != Some(&SHORT)).then_some(messages)
    }
}

impl Kept {
    fn shared<M>(first: &OnceLock<Self>, message: M, short: fn(&[u8]) -> Vec<u8>) -> Self
    where
        M: AsRef<[u8]> + Into<Box<[u8]>>,
    {
        let bytes = message.as_ref();
        if bytes.len() > DESCRIPTION_BYTES {
            return Self::shared(first, short(bytes), short);
        }
        match first.get() {
            Some(first) if **first.0 == *bytes => first.clone(),
            _ => {
                let bytes: Box<[u8]> = message.into();
                let kept = Self(Arc::new(Bytes { _counted: Counted::new(bytes.len()), bytes }));
                // What another thread has kept meanwhile may be another message.
                let _ = first.set(kept.clone());
                kept
            }
        }
    }

    /// Returns true if the columns that are described are read in the same way.
    fn has_columns_of(&self, other: &Self) -> bool {
        let (one, other): (&[u8], &[u8]) = (&self.0, &other.0);
        match (one.first(), other.first()) {
            _ if one == other => true,
            (Some(&SHORT), _) | (_, Some(&SHORT)) => false,
            (tag, other_tag) => tag == other_tag && fields(one).eq(fields(other)),
        }
    }
}

fn short_of_parameters(message: &[u8]) -> Vec<u8> {
    [&[SHORT][..], &Sha256::digest(message)].concat()
}

fn short_of_columns(message: &[u8]) -> Vec<u8> {
    let mut digest = Sha256::new();
    for (name, read_by) in fields(message) {
        digest.update(name);
        digest.update(read_by);
    }
    [&[SHORT][..], &digest.finalize()].concat()
}

/// Bytes of a column in RowDescription after its name: the table and the column there; the type with its length and its
/// modifier; the format.
const ORIGIN: usize = 4 + 2;
const TYPE: usize = 4 + 2 + 4;
const FORMAT: usize = 2;

/// The columns of a RowDescription: name, and type with its length, modifier and format. Of NoData there is one without
/// either.
fn fields(message: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut left = message.get(7..);
    std::iter::from_fn(move || {
        let bytes = left?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let (name, rest) = bytes.split_at(end + 1);
        left = rest.get(ORIGIN + TYPE + FORMAT..);
        Some((name, rest.get(ORIGIN..ORIGIN + TYPE + FORMAT).unwrap_or_default()))
    })
}

/// Sets the format of each column of a RowDescription to text.
fn clear_formats(message: &mut [u8]) {
    let mut at = 7;
    while let Some(end) = message.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0)) {
        let format = at + end + 1 + ORIGIN + TYPE;
        at = format + FORMAT;
        if let Some(format) = message.get_mut(format..at) {
            format.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::statements::own;
    use super::*;
    use headrace_postgres::messages::frontend;

    /// RowDescription with a column of a table.
    fn columns(name: &str, table: u32, oid: u32, format: u16) -> Vec<u8> {
        let mut out = Vec::new();
        frontend::message(&mut out, b'T', |out| {
            out.extend_from_slice(&[0, 1]);
            out.extend_from_slice(name.as_bytes());
            out.push(0);
            out.extend_from_slice(&table.to_be_bytes());
            out.extend_from_slice(&[0, 1]);
            out.extend_from_slice(&oid.to_be_bytes());
            out.extend_from_slice(&[0, 4, 255, 255, 255, 255]);
            out.extend_from_slice(&format.to_be_bytes());
        });
        out
    }

    fn parameters(oid: u8) -> Vec<u8> {
        vec![b't', 0, 0, 0, 10, 0, 1, 0, 0, 0, oid]
    }

    const NO_DATA: &[u8] = b"n\0\0\0\x04";

    #[test]
    fn description_fits_if_rows_and_parameters_are_read_alike() {
        use Comparison::{Differs, Fits};
        let statement = own(b"\0\0\0");
        let long = "c".repeat(DESCRIPTION_BYTES);
        for name in ["a", &long] {
            let of = |parameters: &[u8], columns: &[u8]| Description::of_statement(&statement, parameters, columns);
            let told = of(&parameters(23), &columns(name, 16400, 23, 0));
            for (parameters, columns, expected) in [
                (parameters(23), columns(name, 16400, 23, 0), Fits),
                (parameters(23), columns(name, 16999, 23, 0), Fits),
                (parameters(20), columns(name, 16400, 23, 0), Differs),
                (parameters(23), columns("b", 16400, 23, 0), Differs),
                (parameters(23), columns(name, 16400, 700, 0), Differs),
                (parameters(23), columns(name, 16400, 23, 0)[..7 + name.len()].to_vec(), Differs),
                (parameters(23), NO_DATA.to_vec(), Differs),
                (parameters(23), Vec::new(), Differs),
            ] {
                assert_eq!(of(&parameters, &columns).compare(&told), expected);
                assert_eq!(told.compare(&of(&parameters, &columns)), expected);
            }
        }
    }

    #[test]
    fn description_of_a_portal_is_that_of_its_statement_but_for_the_parameters() {
        let statement = own(b"\0\0\0");
        let portal = Description::of_portal(&statement, &columns("a", 16400, 23, 1));
        let whole = Description::of_statement(&statement, &parameters(23), &columns("a", 16400, 23, 0));
        assert!(whole.is_shared_with(&portal) && !portal.is_shared_with(&whole));
        assert_eq!((whole.compare(&portal), portal.compare(&whole)), (Comparison::Fits, Comparison::Unknown));
        assert_eq!(portal.messages(), None);
        assert_eq!(portal.after(Some(&whole)).messages(), whole.messages());
        let other = Description::of_portal(&statement, &columns("a", 16400, 700, 1));
        assert_eq!(other.compare(&whole), Comparison::Differs);
    }
}
