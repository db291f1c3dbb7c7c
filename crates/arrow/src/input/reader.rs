//! A stream of Arrow's C stream interface.

use super::{Batch, Meaning, batch_of};
use crate::foreign::mended;
use crate::schema::EXTENSION_NAME;
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{ArrayReader, ArrayRef, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The reason why a stream has no further batch.
#[derive(Debug)]
pub enum InputError {
    /// The program that makes it has failed.
    Producer(String),
    /// The stream is not one of record batches.
    NoBatches(String),
    /// A column of a type that no database takes; its name, and its type.
    Unsupported(String, String),
    /// A column whose buffers contradict each other; its name, and the reason.
    Malformed(String, String),
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputError::Producer(message) => write!(f, "the Arrow stream has failed: {message}"),
            InputError::NoBatches(what) => {
                write!(
                    f,
                    "rows are an Arrow stream of record batches (of structs), not of {what}: make a table or a frame of a \
                     column, such as pyarrow.table([column], names=['name']) or series.to_frame()"
                )
            }
            InputError::Unsupported(name, data_type) => {
                write!(f, "column '{name}' has the Arrow type {data_type}, which cannot be sent")
            }
            InputError::Malformed(name, why) => write!(f, "the Arrow data of column '{name}' is malformed: {why}"),
        }
    }
}

impl std::error::Error for InputError {}

#[derive(Debug)]
enum Arrays {
    Stream(ArrayStreamReader),
    /// One array, until it is taken.
    One(Option<ArrayRef>),
}

/// A stream of record batches.
#[derive(Debug)]
pub struct Input {
    arrays: Arrays,
    fields: Fields,
    meaning: Meaning,
}

impl Input {
    /// Of a stream.
    ///
    /// # Errors
    /// If it was released, fails, has no record batches, or a column that cannot be sent.
    pub fn of_stream(stream: FFI_ArrowArrayStream, meaning: Meaning) -> Result<Self, InputError> {
        if stream.release().is_none() {
            return Err(InputError::Producer("it was released; a stream can be read once".to_owned()));
        }
        let reader = ArrayStreamReader::try_new(mended(stream)).map_err(failed)?;
        let fields = fields_of(reader.field().data_type())?;
        Ok(Self { arrays: Arrays::Stream(reader), fields, meaning })
    }

    /// Of one array of structs.
    ///
    /// # Errors
    /// As [`Input::of_stream`].
    pub fn of_array(array: ArrayRef, meaning: Meaning) -> Result<Self, InputError> {
        let fields = fields_of(array.data_type())?;
        Ok(Self { arrays: Arrays::One(Some(array)), fields, meaning })
    }

    /// The names of the columns.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.fields.iter().map(|field| field.name().as_str())
    }

    /// The name of the first column that is, or has within it, bytes of one length without a meaning of their own.
    pub fn plain_fixed_bytes(&self) -> Option<&str> {
        fn within(field: &Field) -> bool {
            match field.data_type() {
                DataType::FixedSizeBinary(_) => !field.metadata().contains_key(EXTENSION_NAME),
                DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => within(item),
                DataType::Struct(fields) => fields.iter().any(|field| within(field)),
                _ => false,
            }
        }
        self.fields.iter().find(|field| within(field)).map(|field| field.name().as_str())
    }

    /// The next batch that has rows; `None` after the last.
    ///
    /// # Errors
    /// If the program that makes it fails, or a batch cannot be sent.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, InputError> {
        loop {
            let array = match &mut self.arrays {
                Arrays::Stream(reader) => imported(|| reader.next().transpose())?,
                Arrays::One(array) => array.take(),
            };
            let Some(array) = array else { return Ok(None) };
            let structs = array.as_any().downcast_ref::<StructArray>();
            let structs = structs.ok_or_else(|| InputError::NoBatches(array.data_type().to_string()))?;
            let batch = batch_of(structs, self.meaning)?;
            if batch.rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }
}

/// What a program has made, taken over by Arrow's library, which panics if the parts of an array are not those of its
/// type.
///
/// # Errors
/// The program has failed, or the array is malformed.
pub fn imported<T>(import: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, InputError> {
    match catch_unwind(AssertUnwindSafe(import)) {
        Ok(array) => array.map_err(failed),
        Err(_) => Err(InputError::Producer("an array does not have the parts that its type has".to_owned())),
    }
}

fn fields_of(data_type: &DataType) -> Result<Fields, InputError> {
    match data_type {
        DataType::Struct(fields) => {
            for field in fields {
                super::column::check(field)?;
            }
            Ok(fields.clone())
        }
        other => Err(InputError::NoBatches(other.to_string())),
    }
}

fn failed(error: ArrowError) -> InputError {
    // The program's own text ends the message.
    let text = match error {
        ArrowError::CDataInterface(text) => text,
        other => other.to_string(),
    };
    // polars writes integers of 128 bits in formats of its own (`_pli128`, `_plu128`).
    if text.contains("\"_pl") {
        return InputError::Producer(format!(
            "{text}: polars has this type, and Arrow has not; cast it to polars.Decimal(38, 0)"
        ));
    }
    InputError::Producer(match text.split_once("Producer error: ") {
        Some((_, own)) if !own.is_empty() => own.to_owned(),
        _ => text,
    })
}
