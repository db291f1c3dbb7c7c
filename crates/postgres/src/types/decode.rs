//! Binary values into sinks: the hot loop of every fetch.

use super::builtin::Scalar;
use super::inside::text_of_vectors;
use super::refusal::EXECUTED;
use super::registry::{TypeKind, TypeRegistry};
use super::scalars::scalar_value;
use super::text::{self, Styled};
use super::{DIMENSIONS, Format, Oid, extension, oid};
use crate::limits;
use headrace_core::run::{DecodeCell, Grid};
use headrace_core::{Container, Fatal, Sink};

/// The decoder of one column.
#[derive(Clone, Debug)]
pub enum Decoder {
    /// A built-in scalar in binary form.
    Scalar(Scalar),
    /// A built-in scalar in text form.
    Parse(Scalar),
    /// A type whose text depends on the session or on another type: cidr, and dates in the session's style.
    ParseStyled(Styled),
    /// Text as received, whatever the type.
    AsText,
    /// The user's own loader.
    Custom {
        /// The type.
        oid: Oid,
        /// The format that the loader needs.
        binary: bool,
        /// The decoder of the type without that loader, if there is one.
        plain: Option<Box<Decoder>>,
    },
    /// The user's own loader, which needs the binary form, of a type of an extension that came as text.
    ParseCustom {
        /// The type.
        oid: Oid,
        /// How it is read without that loader.
        scalar: Scalar,
    },
    /// An array in binary form: the type of its elements, and their decoder.
    Array(Box<ArrayPlan>),
    /// An array in text form: the parser of its elements, and their delimiter.
    ParseArray(Box<Decoder>, u8),
    /// A range.
    Range(Box<Decoder>),
    /// A multirange, with the decoder of its ranges.
    Multirange(Box<Decoder>),
    /// int2vector or oidvector in text form.
    ParseVector,
    /// A range in text form.
    ParseRange(Box<Decoder>),
    /// A multirange in text form, with the parser of its ranges.
    ParseMultirange(Box<Decoder>),
    /// A composite type, with the decoder of each attribute.
    Composite(Box<CompositePlan>),
    /// A composite type in text form.
    ParseComposite(Box<CompositePlan>),
    /// An anonymous record, which contains the types of its attributes.
    Record(Box<RecordPlan>),
    /// A type whose binary form is unknown, but which came in that form.
    Unreadable(String),
    /// A type that came as text, of which only the binary form contains the types of its parts.
    OnlyBinary(String),
    /// A type that came as text, and was dropped or altered before it could be looked up.
    Gone(String),
}

/// The decoder of an array.
#[derive(Clone, Debug)]
pub struct ArrayPlan {
    element: Oid,
    decoder: Decoder,
    registry: TypeRegistry,
    depth: usize,
}

/// The decoder of a record: the types that its attributes may have.
#[derive(Clone, Debug)]
pub struct RecordPlan {
    registry: TypeRegistry,
    depth: usize,
}

/// The decoder of a composite type, as it was learnt: the type of each attribute, and its decoder.
#[derive(Clone, Debug)]
pub struct CompositePlan {
    oid: Oid,
    attributes: Vec<(Oid, Decoder)>,
    registry: TypeRegistry,
    depth: usize,
}

impl CompositePlan {
    fn new(registry: &TypeRegistry, oid: Oid, attributes: Vec<(Oid, Decoder)>, depth: usize) -> Box<Self> {
        Box::new(Self { oid, attributes, registry: registry.clone(), depth })
    }

    /// The container that its values are.
    pub(super) fn container(&self, is_described: bool) -> Container {
        Container::Record { type_id: self.oid, is_described }
    }

    /// Returns true if the type has no attribute.
    pub(super) fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// The decoders of the attributes, when there are `n`; the type has changed otherwise.
    pub(super) fn attributes(&self, n: usize) -> Option<impl Iterator<Item = &Decoder>> {
        if n != self.attributes.len() {
            self.registry.mark_stale();
            return None;
        }
        Some(self.attributes.iter().map(|(_, decoder)| decoder))
    }
}

impl Decoder {
    /// The decoder of a type, and the format to request.
    pub fn new(registry: &TypeRegistry, oid: Oid, _modifier: i32) -> (Self, Format) {
        match Self::binary(registry, oid, 0) {
            Some(decoder) => (decoder, Format::Binary),
            // Types with parts that have no binary form are parsed from their text.
            None => (Self::new_text(registry, oid, -1), Format::Text),
        }
    }

    /// The decoder of a type that came in binary form, even if the type is unknown.
    pub fn new_binary(registry: &TypeRegistry, oid: Oid) -> Self {
        Self::binary(registry, oid, 0).unwrap_or_else(|| Decoder::Unreadable(registry.name(oid)))
    }

    /// The decoder of a type in binary form, `None` if text must be requested.
    fn binary(registry: &TypeRegistry, oid: Oid, depth: usize) -> Option<Self> {
        if depth > limits::NESTING {
            return None;
        }
        match registry.custom(oid) {
            None => Self::plain_binary(registry, oid, depth),
            Some(false) => None,
            Some(true) => {
                let plain = Self::plain_binary(registry, oid, depth).map(Box::new);
                Some(Decoder::Custom { oid, binary: true, plain })
            }
        }
    }

    /// Returns true if values of a type with a loader of the user's own can be read without it, in the form that it needs.
    pub(super) fn is_plain(registry: &TypeRegistry, oid: Oid, depth: usize) -> bool {
        registry.custom(oid) != Some(true) || Self::plain_binary(registry, oid, depth).is_some()
    }

    /// The same as [`Self::binary`], whether the type has a loader of the user's own or not.
    fn plain_binary(registry: &TypeRegistry, oid: Oid, depth: usize) -> Option<Self> {
        let inner = |oid| Self::binary(registry, oid, depth + 1).map(Box::new);
        Some(match registry.kind(oid) {
            TypeKind::Scalar(Scalar::AsText) | TypeKind::Unknown => return None,
            TypeKind::Scalar(scalar) if registry.is_read_as_text(scalar) => return None,
            TypeKind::Scalar(Scalar::Record) => {
                // Attributes may be of any type, those without binary form included; the server would then fail.
                Decoder::Record(Box::new(RecordPlan { registry: registry.clone(), depth }))
            }
            TypeKind::Scalar(scalar) => Decoder::Scalar(scalar),
            TypeKind::Enum => Decoder::Scalar(Scalar::Text),
            TypeKind::Domain { base, .. } => Self::binary(registry, base, depth + 1)?,
            TypeKind::Array { element } => {
                let decoder = *inner(element)?;
                Decoder::Array(Box::new(ArrayPlan { element, decoder, registry: registry.clone(), depth }))
            }
            TypeKind::Range { subtype } => Decoder::Range(inner(subtype)?),
            TypeKind::Multirange { range } => Decoder::Multirange(inner(range)?),
            TypeKind::Composite { fields } => {
                let attributes: Option<Vec<_>> = fields
                    .iter()
                    .map(|field| Some((field.oid, Self::binary(registry, field.oid, depth + 1)?)))
                    .collect();
                Decoder::Composite(CompositePlan::new(registry, oid, attributes?, depth))
            }
        })
    }

    /// The decoder of an attribute that is preceded by the OID of its type, and came in binary form whatever it is.
    pub(super) fn named(registry: &TypeRegistry, oid: Oid, depth: usize) -> Option<Self> {
        Self::binary(registry, oid, depth).or_else(|| match registry.kind(oid) {
            // For these types the two forms are the same.
            TypeKind::Enum | TypeKind::Scalar(Scalar::Text | Scalar::Json)
                if depth <= limits::NESTING && registry.custom(oid) == Some(false) =>
            {
                Some(Self::text(registry, oid, depth))
            }
            _ => None,
        })
    }

    /// The decoder of a type that came as text.
    pub fn new_text(registry: &TypeRegistry, oid: Oid, _modifier: i32) -> Self {
        Self::text(registry, oid, 0)
    }

    fn text(registry: &TypeRegistry, oid: Oid, depth: usize) -> Self {
        let kind = registry.kind(oid);
        match registry.custom(oid) {
            _ if depth > limits::NESTING => return Decoder::AsText,
            Some(false) => {
                let plain = Some(Box::new(Self::plain_text(registry, oid, depth)));
                return Decoder::Custom { oid, binary: false, plain };
            }
            Some(true) => {
                return match kind {
                    // For these types the two forms are the same.
                    TypeKind::Enum | TypeKind::Scalar(Scalar::Text | Scalar::Json) => {
                        let plain = Some(Box::new(Self::plain_text(registry, oid, depth)));
                        Decoder::Custom { oid, binary: true, plain }
                    }
                    TypeKind::Scalar(scalar) if extension::has_both_forms(scalar) => {
                        Decoder::ParseCustom { oid, scalar }
                    }
                    _ => Decoder::OnlyBinary(registry.name(oid)),
                };
            }
            None => {}
        }
        Self::plain_text(registry, oid, depth)
    }

    /// The same as [`Self::text`], whether the type has a loader of the user's own or not.
    fn plain_text(registry: &TypeRegistry, oid: Oid, depth: usize) -> Self {
        let kind = registry.kind(oid);
        let inner = |oid| Box::new(Self::text(registry, oid, depth + 1));
        match kind {
            TypeKind::Scalar(Scalar::Record) => Decoder::OnlyBinary(registry.name(oid)),
            TypeKind::Scalar(Scalar::AsText) => Decoder::AsText,
            TypeKind::Scalar(scalar) if registry.is_read_as_text(scalar) => Decoder::AsText,
            TypeKind::Scalar(Scalar::Inet) if oid == oid::CIDR => Decoder::ParseStyled(Styled::Cidr),
            TypeKind::Scalar(scalar @ (Scalar::Date | Scalar::Timestamp | Scalar::TimestampTz)) => {
                Decoder::ParseStyled(Styled::Date(scalar, registry.date_order))
            }
            TypeKind::Scalar(scalar) => Decoder::Parse(scalar),
            TypeKind::Domain { base, .. } => Self::text(registry, base, depth + 1),
            TypeKind::Array { .. } if oid::VECTORS.contains(&oid) => Decoder::ParseVector,
            TypeKind::Array { element } => Decoder::ParseArray(inner(element), registry.separator(element)),
            TypeKind::Range { subtype } => Decoder::ParseRange(inner(subtype)),
            TypeKind::Multirange { range } => Decoder::ParseMultirange(inner(range)),
            TypeKind::Composite { fields } => {
                let attributes =
                    fields.iter().map(|field| (field.oid, Self::text(registry, field.oid, depth + 1))).collect();
                Decoder::ParseComposite(CompositePlan::new(registry, oid, attributes, depth))
            }
            TypeKind::Enum | TypeKind::Unknown => Decoder::AsText,
        }
    }

    /// Decodes one value that is not NULL. A malformed value is passed to [`Sink::invalid`].
    #[inline]
    pub fn decode<S: Sink>(&self, body: &[u8], sink: &mut S) {
        let done = match self {
            Decoder::Scalar(scalar) => scalar_value(*scalar, body, sink),
            Decoder::AsText => {
                sink.text(body);
                Some(())
            }
            Decoder::Parse(scalar) => {
                text::parse(*scalar, body, sink);
                Some(())
            }
            other => other.nested(body, sink),
        };
        if done.is_none() {
            self.refuse(body, sink);
        }
    }

    #[inline(never)]
    fn nested<S: Sink>(&self, body: &[u8], sink: &mut S) -> Option<()> {
        match self {
            Decoder::Custom { plain: Some(plain), .. } if !sink.takes_custom() => plain.decode(body, sink),
            Decoder::Custom { oid, binary, .. } => sink.custom(*oid, *binary, body),
            Decoder::ParseCustom { scalar, .. } if !sink.takes_custom() => text::parse(*scalar, body, sink),
            Decoder::ParseCustom { oid, scalar } => {
                let text = std::str::from_utf8(body).ok()?;
                sink.custom(*oid, true, &extension::binary_of_text(*scalar, text)?);
            }
            Decoder::Array(plan) => return array(plan, body, sink),
            Decoder::ParseStyled(styled) => text::parse_styled(*styled, body, sink),
            Decoder::ParseArray(element, separator) => return text::array(element, *separator, body, sink),
            Decoder::ParseVector => return text::vector(body, sink),
            Decoder::ParseRange(bound) => return text::range(bound, body, sink),
            Decoder::ParseMultirange(inner) => return text::multirange(inner, body, sink),
            Decoder::ParseComposite(plan) => return text::composite(plan, body, sink),
            Decoder::OnlyBinary(name) => sink.invalid(&format!(
                "a value of the type {name} came as text, from which it cannot be read: use execute() where it is \
                 executescript() or a COPY with columns that have no binary form"
            )),
            Decoder::Gone(name) => sink.invalid(&format!(
                "a value of the type {name} cannot be read: it came as text, and the type was altered or dropped, or what made \
                 it was rolled back, before it could be looked up; do not change the type before the result has come"
            )),
            Decoder::Range(bound) => return range(bound, body, sink),
            Decoder::Multirange(inner) => {
                let (count, mut rest) = split_u32(body)?;
                let mut ranges = Vec::new();
                for _ in 0..count {
                    let (item, after) = sized(rest)?;
                    ranges.push(item?);
                    rest = after;
                }
                if !rest.is_empty() {
                    return None;
                }
                sink.begin(Container::Multirange, ranges.len());
                for item in ranges {
                    inner.decode(item, sink);
                }
                sink.end();
            }
            Decoder::Composite(plan) => {
                let values = attributes(body)?;
                let known = values.iter().map(|(oid, _)| *oid).eq(plan.attributes.iter().map(|(oid, _)| *oid));
                sink.begin(plan.container(known), values.len());
                if known {
                    for ((_, decoder), (_, value)) in plan.attributes.iter().zip(values) {
                        item(decoder, value, sink);
                    }
                } else {
                    // The type has changed since it was learnt. Its values contain the types of their parts.
                    plan.registry.mark_stale();
                    for (oid, value) in values {
                        named_by_itself(&plan.registry, oid, value, plan.depth + 1, sink);
                    }
                }
                sink.end();
            }
            Decoder::Record(plan) => {
                let attributes = attributes(body)?;
                sink.begin(Container::Record { type_id: 0, is_described: true }, attributes.len());
                for (oid, value) in attributes {
                    named_by_itself(&plan.registry, oid, value, plan.depth + 1, sink);
                }
                sink.end();
            }
            Decoder::Unreadable(name) => sink.invalid(&format!(
                "a value of the type {name} came in binary form, which is not known here, as the columns of the statement \
                 have changed since it was prepared. It was executed, and what it has changed stays: select the column as \
                 text, or read it by another statement"
            )),
            Decoder::Scalar(_) | Decoder::AsText | Decoder::Parse(_) => {}
        }
        Some(())
    }
}

/// A value that is preceded by the OID of its type.
fn named_by_itself<S: Sink>(registry: &TypeRegistry, oid: Oid, value: Option<&[u8]>, depth: usize, sink: &mut S) {
    let Some(value) = value else { return sink.null() };
    if let Some(decoder) = Decoder::named(registry, oid, depth) {
        return decoder.decode(value, sink);
    }
    if let Some(text) = text_of_vectors(oid, value) {
        return sink.text(text.as_bytes());
    }
    if let Some(text) = registry.text_of(oid, value) {
        return Decoder::new_text(registry, oid, -1).decode(text, sink);
    }
    if depth > limits::NESTING {
        return sink.invalid(&format!("records are nested deeper than {}: {EXECUTED}", limits::NESTING));
    }
    // The bytes of a type that is not known do not show what it is: those of a number may be letters.
    sink.invalid(&format!(
        "an attribute of the type {} inside of a record came in binary form, which is not known here: {EXECUTED}. Select \
         it as a column of its own, or as text",
        registry.name(oid)
    ));
}

#[inline]
fn item<S: Sink>(decoder: &Decoder, value: Option<&[u8]>, sink: &mut S) {
    match value {
        Some(value) => decoder.decode(value, sink),
        None => sink.null(),
    }
}

/// Decodes the body of one DataRow.
///
/// # Errors
/// [`Fatal`] when the body's own lengths do not add up, or it has another number of columns than was announced. A
/// value that is malformed inside its length is the sink's business.
#[inline]
pub fn decode_row<S: Sink>(decoders: &[Decoder], body: &[u8], sink: &mut S) -> Result<(), Fatal> {
    let Some((count, mut rest)) = body.split_first_chunk::<2>() else { return Err(broken_row()) };
    if usize::from(u16::from_be_bytes(*count)) != decoders.len() {
        return Err(broken_row());
    }
    sink.begin_row(decoders.len());
    for decoder in decoders {
        let Some((len, after)) = rest.split_first_chunk::<4>() else { return Err(broken_row()) };
        let len = i32::from_be_bytes(*len);
        if len < 0 {
            if len != -1 {
                return Err(broken_row());
            }
            sink.null();
            rest = after;
            continue;
        }
        let Some((value, after)) = after.split_at_checked(len as usize) else { return Err(broken_row()) };
        rest = after;
        decoder.decode(value, sink);
    }
    if !rest.is_empty() {
        return Err(broken_row());
    }
    sink.end_row();
    Ok(())
}

/// Finds the cells of the body of one DataRow with this number of columns.
///
/// # Errors
/// [`Fatal`] as for [`decode_row`].
pub fn find_cells<'a>(body: &'a [u8], columns: usize, grid: &mut Grid<'a>) -> Result<(), Fatal> {
    let Some((count, mut rest)) = body.split_first_chunk::<2>() else { return Err(broken_row()) };
    if usize::from(u16::from_be_bytes(*count)) != columns {
        return Err(broken_row());
    }
    for _ in 0..columns {
        let Some((len, after)) = rest.split_first_chunk::<4>() else { return Err(broken_row()) };
        let (cell, after) = match i32::from_be_bytes(*len) {
            -1 => (None, after),
            len => {
                let cell = usize::try_from(len).ok().and_then(|len| after.split_at_checked(len));
                let (cell, after) = cell.ok_or_else(broken_row)?;
                (Some(cell), after)
            }
        };
        grid.push(cell);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(broken_row());
    }
    grid.end_row();
    Ok(())
}

impl DecodeCell for &Decoder {
    #[inline]
    fn decode<S: Sink>(&self, cell: Option<&[u8]>, sink: &mut S) {
        item(self, cell, sink);
    }
}

#[cold]
fn broken_row() -> Fatal {
    Fatal::peer("the server sent a malformed DataRow")
}

pub(super) fn split_u32(body: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = body.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*head), rest))
}

/// A length word and that many bytes (`None` for NULL), and the rest.
#[allow(clippy::type_complexity)]
pub(super) fn sized(body: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (len, rest) = split_u32(body)?;
    match len as i32 {
        -1 => Some((None, rest)),
        len => {
            let (value, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            Some((Some(value), rest))
        }
    }
}

/// The head of `array_send`: dimensions, a flag for NULLs, the element type; then each dimension's length and lower bound.
/// Returns the element type, the lengths, and the elements, of which the last dimension varies fastest.
pub(super) fn elements(body: &[u8]) -> Option<(Oid, Vec<usize>, &[u8])> {
    let (dimensions, rest) = split_u32(body)?;
    let (_flags, rest) = split_u32(rest)?;
    let (oid, mut rest) = split_u32(rest)?;
    let dimensions = usize::try_from(dimensions).ok().filter(|dimensions| *dimensions <= DIMENSIONS)?;
    let mut lengths = Vec::with_capacity(dimensions);
    for _ in 0..dimensions {
        let (length, after) = split_u32(rest)?;
        let (_lower, after) = split_u32(after)?;
        lengths.push(length as usize);
        rest = after;
    }
    Some((oid, lengths, rest))
}

fn array<S: Sink>(plan: &ArrayPlan, body: &[u8], sink: &mut S) -> Option<()> {
    let (oid, lengths, mut rest) = elements(body)?;
    let by_itself;
    let element = if oid == plan.element {
        &plan.decoder
    } else {
        // A cast that changes no bytes leaves the element's type in the array. Of an unknown one only text is sure.
        by_itself = Decoder::binary(&plan.registry, oid, plan.depth + 1)
            .or_else(|| Some(plan.decoder.clone()).filter(|decoder| matches!(decoder, Decoder::Scalar(Scalar::Text))));
        if by_itself.is_none() {
            plan.registry.mark_stale();
        }
        by_itself.as_ref()?
    };
    let total = lengths.iter().try_fold(1usize, |total, length| total.checked_mul(*length))?;
    // An empty oidvector has a dimension, of length 0.
    if rest.is_empty() && (lengths.is_empty() || total == 0) {
        sink.begin(Container::List, 0);
        sink.end();
        return Some(());
    }
    if lengths.is_empty() {
        return None;
    }
    // Every element takes at least its length word, so a wrong dimension is found before any work is done; and because
    // the lengths are checked first, a truncated array passes nothing to the sink.
    if total == 0 || total > rest.len() / 4 {
        return None;
    }
    let mut check = rest;
    for _ in 0..total {
        check = sized(check)?.1;
    }
    if !check.is_empty() {
        return None;
    }
    dimension(element, &lengths, &mut rest, sink)
}

fn dimension<S: Sink>(element: &Decoder, lengths: &[usize], rest: &mut &[u8], sink: &mut S) -> Option<()> {
    let (length, inner) = lengths.split_first()?;
    sink.begin(Container::List, *length);
    for _ in 0..*length {
        if inner.is_empty() {
            let (value, after) = sized(rest)?;
            *rest = after;
            item(element, value, sink);
        } else {
            dimension(element, inner, rest, sink)?;
        }
    }
    sink.end();
    Some(())
}

/// `range_send`: flags, then the bounds that are neither infinite nor missing.
fn range<S: Sink>(bound: &Decoder, body: &[u8], sink: &mut S) -> Option<()> {
    let (flags, mut rest) = body.split_first()?;
    let (empty, lower_inf, upper_inf) = (flags & 1 != 0, flags & 8 != 0, flags & 16 != 0);
    let (has_lower, has_upper) = (!empty && !lower_inf, !empty && !upper_inf);
    let mut bounds = [None, None];
    for (i, has) in [has_lower, has_upper].into_iter().enumerate() {
        if has {
            let (value, after) = sized(rest)?;
            bounds[i] = Some(value?);
            rest = after;
        }
    }
    if !rest.is_empty() {
        return None;
    }
    let container =
        Container::Range { empty, has_lower, has_upper, lower_inc: flags & 2 != 0, upper_inc: flags & 4 != 0 };
    sink.begin(container, bounds.iter().flatten().count());
    for value in bounds.into_iter().flatten() {
        bound.decode(value, sink);
    }
    sink.end();
    Some(())
}

/// `record_send`: each attribute with its type.
#[allow(clippy::type_complexity)]
pub(super) fn attributes(body: &[u8]) -> Option<Vec<(Oid, Option<&[u8]>)>> {
    let (count, mut rest) = split_u32(body)?;
    let mut attributes = Vec::new();
    for _ in 0..count {
        let (oid, after) = split_u32(rest)?;
        let (value, after) = sized(after)?;
        attributes.push((oid, value));
        rest = after;
    }
    rest.is_empty().then_some(attributes)
}
