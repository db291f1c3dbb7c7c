//! A row of parameters of either source: Python objects, or an Arrow stream.

use crate::errors::ClientError;
use crate::params::{PyParams, PyValue};
use headrace_arrow::input::{Cell, Row};
use headrace_core::params::RangeParts;
use headrace_core::{Parameters, Value, ValueKind};

/// One row of parameters.
pub enum AnyParams<'a> {
    /// Python objects.
    Python(PyParams<'a>),
    /// A row of a record batch.
    Arrow(Row<'a, ClientError>),
}

impl Parameters for AnyParams<'_> {
    type Value<'v>
        = AnyValue<'v>
    where
        Self: 'v;
    type Error = ClientError;

    #[inline]
    fn count(&self) -> usize {
        match self {
            AnyParams::Python(row) => row.count(),
            AnyParams::Arrow(row) => row.count(),
        }
    }

    #[inline(always)]
    fn get(&self, i: usize) -> Result<AnyValue<'_>, ClientError> {
        match self {
            AnyParams::Python(row) => row.get(i).map(AnyValue::Python),
            AnyParams::Arrow(row) => row.cell(i).map(AnyValue::Arrow),
        }
    }
}

/// One value.
pub enum AnyValue<'a> {
    /// A Python object.
    Python(PyValue<'a>),
    /// A value of a record batch.
    Arrow(Cell<'a, ClientError>),
}

macro_rules! either {
    ($value:ident, $inner:ident => $result:expr) => {
        match $value {
            AnyValue::Python($inner) => $result,
            AnyValue::Arrow($inner) => $result,
        }
    };
}

macro_rules! pass_on {
    ($($name:ident -> $result:ty;)*) => {
        $(
            #[inline(always)]
            fn $name(&self) -> Result<$result, ClientError> {
                either!(self, value => value.$name())
            }
        )*
    };
}

impl Value for AnyValue<'_> {
    type Error = ClientError;

    #[inline(always)]
    fn kind(&self) -> ValueKind {
        either!(self, value => value.kind())
    }

    fn describe(&self) -> String {
        either!(self, value => value.describe())
    }

    pass_on! {
        bool -> bool;
        int -> i64;
        float -> f64;
        date -> i32;
        time -> i64;
        timetz -> (i64, i32);
        timestamp -> i64;
        timestamptz -> i64;
        interval -> (i32, i32, i64);
        uuid -> [u8; 16];
        inet -> ([u8; 16], usize, u8);
        bits -> (usize, Vec<u8>);
        len -> usize;
    }

    fn with_decimal<R>(&self, use_it: impl FnOnce(&str) -> R) -> Result<R, ClientError> {
        either!(self, value => value.with_decimal(use_it))
    }

    #[inline(always)]
    fn with_text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, ClientError> {
        either!(self, value => value.with_text(use_it))
    }

    fn with_bytes<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, ClientError> {
        either!(self, value => value.with_bytes(use_it))
    }

    fn is_calendar(&self) -> bool {
        either!(self, value => value.is_calendar())
    }

    fn with_json<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, ClientError> {
        either!(self, value => value.with_json(use_it))
    }

    fn item(&self, i: usize) -> Result<Self, ClientError> {
        Ok(match self {
            AnyValue::Python(value) => AnyValue::Python(value.item(i)?),
            AnyValue::Arrow(value) => AnyValue::Arrow(value.item(i)?),
        })
    }

    fn items(&self) -> Result<Vec<Self>, ClientError> {
        Ok(match self {
            AnyValue::Python(value) => value.items()?.into_iter().map(AnyValue::Python).collect(),
            AnyValue::Arrow(value) => value.items()?.into_iter().map(AnyValue::Arrow).collect(),
        })
    }

    fn with_opaque<R>(&self, use_it: impl FnOnce(&str, &[u8]) -> R) -> Result<R, ClientError> {
        either!(self, value => value.with_opaque(use_it))
    }

    fn entries(&self) -> Result<Option<Vec<(Self, Self)>>, ClientError> {
        match self {
            AnyValue::Python(value) => {
                let wrapped = |(key, value)| (AnyValue::Python(key), AnyValue::Python(value));
                Ok(value.entries()?.map(|entries| entries.into_iter().map(wrapped).collect()))
            }
            AnyValue::Arrow(_) => Ok(None),
        }
    }

    fn sparse_vector(&self) -> Result<Option<(u32, Vec<(u32, f32)>)>, ClientError> {
        either!(self, value => value.sparse_vector())
    }

    fn is_untyped(&self) -> bool {
        either!(self, value => value.is_untyped())
    }

    fn field(&self, i: usize, name: &str) -> Result<Self, ClientError> {
        Ok(match self {
            AnyValue::Python(value) => AnyValue::Python(value.field(i, name)?),
            AnyValue::Arrow(value) => AnyValue::Arrow(value.field(i, name)?),
        })
    }

    fn range(&self) -> Result<RangeParts<Self>, ClientError> {
        fn wrapped<'a, V>(parts: RangeParts<V>, wrap: impl Fn(V) -> AnyValue<'a>) -> RangeParts<AnyValue<'a>> {
            let RangeParts { empty, lower, upper, lower_inc, upper_inc } = parts;
            RangeParts { empty, lower: lower.map(&wrap), upper: upper.map(&wrap), lower_inc, upper_inc }
        }
        Ok(match self {
            AnyValue::Python(value) => wrapped(value.range()?, AnyValue::Python),
            AnyValue::Arrow(value) => wrapped(value.range()?, AnyValue::Arrow),
        })
    }

    fn floats(&self, max: usize) -> Result<Vec<f64>, ClientError> {
        either!(self, value => value.floats(max))
    }

    fn points(&self) -> Result<(Vec<f64>, Option<bool>), ClientError> {
        either!(self, value => value.points())
    }

    fn with_custom<R>(&self, type_id: u32, use_it: impl FnOnce(&[u8], bool) -> R) -> Result<R, ClientError> {
        either!(self, value => value.with_custom(type_id, use_it))
    }

    fn has_custom(&self, type_id: u32) -> bool {
        either!(self, value => value.has_custom(type_id))
    }
}
