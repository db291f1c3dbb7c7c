//! Columns of lists, composite values and ranges, whose parts are columns of their own.

use crate::builder::Builder;
use crate::flat::Fault;
use crate::options::ArrowOptions;
use arrow_array::{ArrayRef, BooleanArray, ListArray, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields};
use headrace_core::{Container, Inet, Sink};
use std::sync::Arc;

/// What a query can do about a type that has changed since it was read.
const READ_AGAIN: &str = ": it has changed since; execute the statement again";
/// What a query can do about arrays of more than one dimension.
const TO_TEXT: &str = "; return it as text (column::text) or as JSON (to_jsonb(column))";

/// The form of a nested column.
#[derive(Debug)]
enum Form {
    /// Items of lists and multiranges, one after the other.
    List { item: FieldRef, offsets: Vec<i32> },
    /// Attributes.
    Struct { fields: Fields },
    /// Bounds, whether they are in the range, and whether the range is empty.
    Range { fields: Fields, flags: [BooleanBufferBuilder; 3] },
}

impl Form {
    /// The parts have these types.
    fn follow<'a>(&mut self, types: impl Iterator<Item = &'a DataType>) {
        let retyped = |(field, ty): (&FieldRef, &DataType)| match field.data_type() == ty {
            true => field.clone(),
            false => Arc::new(field.as_ref().clone().with_data_type(ty.clone())),
        };
        match self {
            Self::List { item, .. } => types.for_each(|ty| *item = retyped((item, ty))),
            Self::Struct { fields } | Self::Range { fields, .. } => {
                let found: Vec<FieldRef> = fields.iter().zip(types).map(retyped).collect();
                // The flags of a range have the types that they had.
                *fields = found.iter().chain(fields.iter().skip(found.len())).cloned().collect();
            }
        }
    }
}

/// A nested column.
#[derive(Debug)]
pub struct Nested {
    form: Form,
    parts: Vec<Builder>,
    nulls: NullBufferBuilder,
    /// The part that the next value is for.
    at: usize,
    /// A range's upper bound follows.
    has_upper: bool,
    /// Containers that have begun.
    depth: usize,
    /// The depth below which everything is skipped, because it does not fit the column's type.
    skipped: Option<usize>,
    null_unrepresentable: bool,
    /// The value that has begun is null, as there is no place for a part of it.
    is_nulled: bool,
    fault: Option<Fault>,
}

impl Nested {
    fn new(form: Form, parts: Vec<Builder>, null_unrepresentable: bool) -> Self {
        Self {
            form,
            parts,
            nulls: NullBufferBuilder::new(0),
            at: 0,
            has_upper: false,
            depth: 0,
            skipped: None,
            null_unrepresentable,
            is_nulled: false,
            fault: None,
        }
    }

    /// Lists of items.
    pub fn list(item: FieldRef, items: Builder, null_unrepresentable: bool) -> Self {
        Self::new(Form::List { item, offsets: vec![0] }, vec![items], null_unrepresentable)
    }

    /// Composite values.
    pub fn record(fields: Fields, attributes: Vec<Builder>, null_unrepresentable: bool) -> Self {
        Self::new(Form::Struct { fields }, attributes, null_unrepresentable)
    }

    /// Ranges.
    pub fn range(fields: Fields, lower: Builder, upper: Builder, null_unrepresentable: bool) -> Self {
        let flags = std::array::from_fn(|_| BooleanBufferBuilder::new(0));
        Self::new(Form::Range { fields, flags }, vec![lower, upper], null_unrepresentable)
    }

    /// [`Builder::fix`]
    pub(crate) fn fix(&mut self, data_type: &DataType, options: &ArrowOptions) {
        let types: Vec<&DataType> = match data_type {
            DataType::List(item) => vec![item.data_type()],
            DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
            _ => return,
        };
        self.form.follow(types.iter().copied().take(self.parts.len()));
        self.parts.iter_mut().zip(&types).for_each(|(part, ty)| part.fix(ty, options));
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.nulls.len()
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// [`crate::flat::Build::bytes`]
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(Builder::bytes).sum::<usize>() + self.len() * size_of::<i32>()
    }

    /// The first fault, its own or of a part, at a value of this column.
    pub fn fault(&mut self) -> Option<Fault> {
        let of_parts = self.parts.iter_mut().find_map(Builder::fault);
        self.fault.take().or(of_parts.map(|fault| match &self.form {
            Form::List { offsets, .. } => {
                let index = offsets.partition_point(|offset| *offset as usize <= fault.index).saturating_sub(1);
                Fault { index, ..fault }
            }
            _ => fault,
        }))
    }

    /// [`crate::flat::Build::finish`]
    ///
    /// # Errors
    /// As there.
    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let len = self.len();
        let nulls = self.nulls.finish();
        if let (Form::Range { .. }, [lower, upper]) = (&self.form, self.parts.as_mut_slice())
            && let (Some(lower), Some(upper)) = (lower.unconstrained(), upper.unconstrained())
        {
            lower.agree(upper);
        }
        let mut parts = self.parts.iter_mut().map(Builder::finish).collect::<Result<Vec<_>, _>>()?;
        self.form.follow(parts.iter().map(|part| part.data_type()));
        match &mut self.form {
            Form::List { item, offsets } => {
                let offsets = ScalarBuffer::from(std::mem::replace(offsets, vec![0]));
                let items = parts.pop().expect("a list has one part");
                Ok(Arc::new(ListArray::try_new(item.clone(), OffsetBuffer::new(offsets), items, nulls)?))
            }
            Form::Struct { fields } => {
                Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), parts, nulls, len)?))
            }
            Form::Range { fields, flags } => {
                let flags = flags.iter_mut().map(|flag| Arc::new(BooleanArray::new(flag.finish(), None)) as ArrayRef);
                parts.extend(flags);
                Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), parts, nulls, len)?))
            }
        }
    }

    #[cold]
    fn misfit(&mut self, what: &str) {
        self.misfit_with(what, "");
    }

    #[cold]
    fn misfit_with(&mut self, what: &str, hint: &str) {
        if self.null_unrepresentable {
            self.is_nulled = self.depth > 0;
        } else {
            let (index, reason) = (self.len(), format!("{what} does not fit into the column's Arrow type{hint}"));
            self.fault.get_or_insert(Fault { index, reason });
        }
    }

    /// Ends a value of this column.
    fn close(&mut self, mut is_value: bool) {
        let is_nulled = std::mem::take(&mut self.is_nulled);
        if !matches!(self.form, Form::Range { .. }) {
            is_value &= !is_nulled;
        }
        match &mut self.form {
            Form::List { offsets, .. } => {
                let items = self.parts.first().map_or(0, Builder::len);
                match i32::try_from(items) {
                    Ok(end) => offsets.push(end),
                    Err(_) => {
                        offsets.push(offsets.last().copied().unwrap_or_default());
                        is_value = false;
                        self.misfit("a list that makes the batch longer than 2^31 items");
                    }
                }
            }
            Form::Struct { .. } | Form::Range { .. } => {
                let len = self.nulls.len() + 1;
                for part in &mut self.parts {
                    while part.len() < len {
                        part.null();
                    }
                }
            }
        }
        if let (Form::Range { flags, .. }, false) = (&mut self.form, is_value) {
            flags.iter_mut().for_each(|flag| flag.append(false));
        }
        self.nulls.append(is_value);
        self.at = 0;
    }

    /// The part that the next value is for.
    fn part(&mut self) -> Option<&mut Builder> {
        let at = match self.form {
            Form::List { .. } => 0,
            _ => self.at,
        };
        self.parts.get_mut(at)
    }

    /// Passes a value on. `what` names it where it is none of this column.
    #[inline]
    fn value(&mut self, what: &str, put: impl FnOnce(&mut Builder)) {
        if self.skipped.is_some() {
            return;
        }
        if self.depth == 0 {
            self.misfit(what);
            return self.close(false);
        }
        let depth = self.depth;
        match self.part() {
            Some(part) => put(part),
            None => return self.misfit("a value with more attributes than its type"),
        }
        if depth == 1 {
            self.at += 1;
        }
    }
}

macro_rules! pass {
    ($($name:ident($($value:ident: $kind:ty),*) $what:literal;)*) => {
        $(fn $name(&mut self, $($value: $kind),*) { self.value($what, |part| part.$name($($value),*)); })*
    };
}

impl Sink for Nested {
    fn takes_custom(&self) -> bool {
        false
    }
    fn begin_row(&mut self, _: usize) {}
    fn end_row(&mut self) {}
    fn null(&mut self) {
        if self.depth == 0 {
            return self.close(false);
        }
        self.value("null", |part| part.null());
    }
    pass! {
        bool(value: bool) "a truth value";
        int(value: i64) "a number";
        uint(value: u64) "a number";
        float(value: f64) "a number";
        decimal(ascii: &str) "a number";
        decimal128(negative: bool, coefficient: u128, scale: u32) "a number";
        text(utf8: &[u8]) "text";
        bytes(value: &[u8]) "bytes";
        date(days: i32) "a date";
        time(micros: i64) "a time";
        timetz(micros: i64, offset: i32) "a time";
        timestamp(micros: i64) "a timestamp";
        timestamptz(micros: i64) "a timestamp";
        months(months: i32) "an interval";
        interval(months: i32, days: i32, micros: i64) "an interval";
        uuid(value: &[u8; 16]) "a UUID";
        json(utf8: &[u8]) "a JSON document";
        inet(value: Inet<'_>) "an address";
        bits(bits: usize, bytes: &[u8]) "bits";
        custom(type_id: u32, binary: bool, bytes: &[u8]) "a value";
        no_such_date(text: &str) "a date";
    }

    fn begin(&mut self, container: Container, len: usize) {
        self.depth += 1;
        if self.skipped.is_some() {
            return;
        }
        if self.depth > 1 {
            // The number of dimensions is not part of a list's type: a list within is refused if the items are none.
            // Nor is one an item that is shown as text, but for the lists within such an item.
            let is_dimension =
                self.depth == 2 && container == Container::List && matches!(self.form, Form::List { .. });
            match self.part() {
                Some(part) if part.is_nested() && !(is_dimension && part.is_rendered()) => part.begin(container, len),
                _ => {
                    self.skipped = Some(self.depth - 1);
                    self.misfit_with("an array of more than one dimension", TO_TEXT);
                    if let Some(part) = self.part() {
                        part.null();
                    }
                }
            }
            return;
        }
        let fits = match (&mut self.form, container) {
            (Form::List { .. }, Container::List | Container::Multirange) => true,
            (Form::Struct { .. }, Container::Record { is_described, .. }) => {
                if !is_described {
                    self.skipped = Some(0);
                    return self.misfit_with("a record with other attributes than its type had", READ_AGAIN);
                }
                true
            }
            (Form::Range { flags, .. }, Container::Range { empty, has_lower, has_upper, lower_inc, upper_inc }) => {
                for (flag, value) in flags.iter_mut().zip([lower_inc, upper_inc, empty]) {
                    flag.append(value);
                }
                self.at = usize::from(!has_lower);
                self.has_upper = has_upper;
                true
            }
            _ => false,
        };
        if !fits {
            self.misfit(&format!("{container:?}"));
            self.skipped = Some(0);
        }
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if let Some(depth) = self.skipped {
            if self.depth > depth {
                return;
            }
            self.skipped = None;
            match self.depth {
                0 => self.close(false),
                1 => self.at += 1,
                _ => {}
            }
            return;
        }
        match self.depth {
            0 => self.close(true),
            depth => {
                if let Some(part) = self.part() {
                    part.end();
                }
                if depth == 1 {
                    self.at += 1;
                }
            }
        }
    }

    fn invalid(&mut self, why: &str) {
        if self.depth == 0 {
            let index = self.len();
            self.fault.get_or_insert_with(|| Fault { index, reason: why.to_owned() });
            return self.close(false);
        }
        self.value("a value", |part| part.invalid(why));
    }
}
