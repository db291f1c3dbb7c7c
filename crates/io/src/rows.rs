//! A response handler for programs that have no types of their own for rows: it keeps them as [`Datum`]s.
//!
//! It works with every protocol, and costs an allocation for each text. A program that needs speed or types of its own
//! implements [`ResponseHandler`] with a [`Sink`].

use headrace_core::params::RangeParts;
use headrace_core::protocol::Summary;
use headrace_core::{
    Column, Container, Described, Diagnostics, Fatal, Inet, Mismatch, Outcome, Parameters, ResponseHandler, Room, Run,
    Sink, Value, ValueKind,
};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A decoded value. Units and epochs are those of [`Sink`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Datum {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above `i64::MAX`.
    Uint(u64),
    /// A floating-point number.
    Float(f64),
    /// An exact decimal number.
    Decimal(String),
    /// Text; bytes that are not UTF-8 are replaced.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A date.
    Date(i32),
    /// A time of day.
    Time(i64),
    /// A time of day with the seconds of its zone east of UTC.
    TimeTz(i64, i32),
    /// A date and time without zone.
    Timestamp(i64),
    /// An instant.
    TimestampTz(i64),
    /// Months, days and microseconds.
    Interval(i32, i32, i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// A JSON document.
    Json(String),
    /// A network address: 4 or 16 bytes, and the bits of the network.
    Inet(Vec<u8>, u8),
    /// This number of bits.
    Bits(usize, Vec<u8>),
    /// A value of a type that the program has registered.
    Custom(Vec<u8>),
    /// A value of parts.
    Parts(Container, Vec<Datum>),
    /// A value that could not be decoded, and why.
    Invalid(String),
}

/// Keeps the rows of one request. `C` and `E` are the protocol's columns and its servers' error.
#[derive(Debug)]
pub struct Collector<C, E> {
    params: Vec<Datum>,
    reply: Arc<Mutex<Kept<E>>>,
    columns: PhantomData<fn(C)>,
}

/// The part of the reply that a [`Collector`] has received.
#[derive(Debug)]
pub struct Reply<E>(Arc<Mutex<Kept<E>>>);

#[derive(Debug)]
struct Kept<E> {
    columns: Arc<[Column]>,
    rows: Vec<Vec<Datum>>,
    affected: u64,
    outcome: Option<Outcome<E, Mismatch>>,
    /// It has ended, whether or not its reply was taken.
    over: bool,
}

/// The reply to a request.
#[derive(Debug)]
pub struct Received<E> {
    /// The columns of its last result that has rows.
    pub columns: Arc<[Column]>,
    /// The rows of all its results.
    pub rows: Vec<Vec<Datum>>,
    /// Rows that its results count.
    pub affected: u64,
    /// How the request ended.
    pub outcome: Outcome<E, Mismatch>,
}

impl<C, E> Collector<C, E> {
    /// A handler for a request with these parameters, and the place of its reply.
    pub fn new(params: Vec<Datum>) -> (Self, Reply<E>) {
        let reply = Arc::new(Mutex::new(Kept {
            columns: Arc::default(),
            rows: Vec::new(),
            affected: 0,
            outcome: None,
            over: false,
        }));
        (Self { params, reply: reply.clone(), columns: PhantomData }, Reply(reply))
    }

    fn over(self, outcome: Outcome<E, Mismatch>) {
        let mut kept = open(&self.reply);
        kept.outcome = Some(outcome);
        kept.over = true;
    }
}

fn open<E>(kept: &Mutex<Kept<E>>) -> MutexGuard<'_, Kept<E>> {
    // Nothing is left half done in it.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E> Reply<E> {
    /// Returns true once the request is over, also after its reply was taken.
    pub fn is_over(&self) -> bool {
        open(&self.0).over
    }

    /// Takes the reply, once the request is over.
    pub fn take(&self) -> Option<Received<E>> {
        let mut kept = open(&self.0);
        let outcome = kept.outcome.take()?;
        let (columns, rows) = (kept.columns.clone(), std::mem::take(&mut kept.rows));
        Some(Received { columns, rows, affected: kept.affected, outcome })
    }
}

impl<C: Described, E: Diagnostics> ResponseHandler for Collector<C, E> {
    type Context<'a> = ();
    type Params<'s, 'c: 's>
        = Row<'s>
    where
        Self: 's;
    type Error = Mismatch;
    type Columns = C;
    type ServerError = E;

    fn next_row(&mut self, (): ()) -> Result<bool, Mismatch> {
        Ok(false)
    }
    fn params<'s, 'c: 's>(&'s mut self, (): ()) -> Row<'s> {
        Row(&self.params)
    }
    fn columns(&mut self, (): (), columns: &C) {
        open(&self.reply).columns = columns.columns().clone();
    }
    fn rows<R: Run>(&mut self, (): (), run: &mut R) -> Result<Room, Fatal> {
        run.each(&mut DatumRows { rows: &mut open(&self.reply).rows, open: Vec::new() })?;
        Ok(Room::More)
    }
    fn rereads(&self) -> bool {
        false
    }
    fn rewind(&mut self, (): ()) -> bool {
        false
    }
    fn bulk_ready(&mut self, (): (), _: bool, _: usize) {}
    fn block(&mut self, (): (), _: &[u8]) -> Room {
        Room::More
    }
    fn result(&mut self, (): (), summary: Summary<'_>) {
        open(&self.reply).affected += summary.rows.unwrap_or_default();
    }
    fn finish(self, (): (), outcome: Outcome<E, Mismatch>) {
        self.over(outcome);
    }
}

/// Decodes one value: `decode` passes it to the sink that it is given. `None` if it passes no value.
pub fn value(decode: impl FnOnce(&mut DatumRows<'_>)) -> Option<Datum> {
    let mut rows = vec![Vec::with_capacity(1)];
    decode(&mut DatumRows { rows: &mut rows, open: Vec::new() });
    rows.pop()?.pop()
}

/// A sink that keeps rows of values.
#[derive(Debug)]
pub struct DatumRows<'a> {
    rows: &'a mut Vec<Vec<Datum>>,
    /// Containers that have begun and not ended.
    open: Vec<(Container, Vec<Datum>)>,
}

impl DatumRows<'_> {
    fn put(&mut self, value: Datum) {
        match self.open.last_mut() {
            Some((_, parts)) => parts.push(value),
            None => self.rows.last_mut().expect("a row has begun").push(value),
        }
    }
}

fn text(utf8: &[u8]) -> String {
    String::from_utf8_lossy(utf8).into_owned()
}

macro_rules! put {
    ($($name:ident($($value:ident: $kind:ty),*) => $datum:expr;)*) => {
        $(fn $name(&mut self, $($value: $kind),*) { self.put($datum); })*
    };
}

impl Sink for DatumRows<'_> {
    fn begin_row(&mut self, columns: usize) {
        self.rows.push(Vec::with_capacity(columns));
    }
    fn end_row(&mut self) {}
    fn begin(&mut self, container: Container, len: usize) {
        self.open.push((container, Vec::with_capacity(len)));
    }
    fn end(&mut self) {
        let (container, parts) = self.open.pop().expect("a container has begun");
        self.put(Datum::Parts(container, parts));
    }
    put! {
        null() => Datum::Null;
        bool(value: bool) => Datum::Bool(value);
        int(value: i64) => Datum::Int(value);
        uint(value: u64) => Datum::Uint(value);
        float(value: f64) => Datum::Float(value);
        decimal(ascii: &str) => Datum::Decimal(ascii.to_owned());
        text(utf8: &[u8]) => Datum::Text(text(utf8));
        bytes(value: &[u8]) => Datum::Bytes(value.to_vec());
        date(days: i32) => Datum::Date(days);
        time(micros: i64) => Datum::Time(micros);
        timetz(micros: i64, offset: i32) => Datum::TimeTz(micros, offset);
        timestamp(micros: i64) => Datum::Timestamp(micros);
        timestamptz(micros: i64) => Datum::TimestampTz(micros);
        interval(months: i32, days: i32, micros: i64) => Datum::Interval(months, days, micros);
        uuid(value: &[u8; 16]) => Datum::Uuid(*value);
        json(utf8: &[u8]) => Datum::Json(text(utf8));
        inet(value: Inet<'_>) => Datum::Inet(value.address.to_vec(), value.prefix);
        bits(bits: usize, bytes: &[u8]) => Datum::Bits(bits, bytes.to_vec());
        custom(_type_id: u32, _binary: bool, bytes: &[u8]) => Datum::Custom(bytes.to_vec());
        invalid(why: &str) => Datum::Invalid(why.to_owned());
    }
}

/// Values as the parameters of a request.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a>(&'a [Datum]);

impl<'a> Row<'a> {
    /// These values, in order.
    pub fn new(values: &'a [Datum]) -> Self {
        Self(values)
    }
}

impl Parameters for Row<'_> {
    type Value<'v>
        = &'v Datum
    where
        Self: 'v;
    type Error = Mismatch;

    fn count(&self) -> usize {
        self.0.len()
    }
    fn get(&self, i: usize) -> Result<&Datum, Mismatch> {
        Ok(&self.0[i])
    }
    fn has_untyped_text(&self) -> bool {
        // A client of headraced that has sent a number as text has sent a number.
        true
    }
}

impl Datum {
    fn is_not<T>(&self, what: &str) -> Result<T, Mismatch> {
        Err(Mismatch::wrong_type(format!("{self:.40?} is not {what}")))
    }
}

macro_rules! getters {
    ($($name:ident -> $out:ty, $what:literal { $($pattern:pat => $value:expr),+ })*) => {
        $(fn $name(&self) -> Result<$out, Mismatch> {
            match self { $($pattern => Ok($value),)+ other => other.is_not($what) }
        })*
    };
}

macro_rules! lenders {
    ($($name:ident($lent:ty), $what:literal { $($pattern:pat => $value:expr),+ })*) => {
        $(fn $name<R>(&self, use_it: impl FnOnce($lent) -> R) -> Result<R, Mismatch> {
            match self { $($pattern => Ok(use_it($value)),)+ other => other.is_not($what) }
        })*
    };
}

impl Value for &Datum {
    type Error = Mismatch;

    fn kind(&self) -> ValueKind {
        match self {
            Datum::Null => ValueKind::Null,
            Datum::Bool(_) => ValueKind::Bool,
            Datum::Int(_) | Datum::Uint(_) => ValueKind::Int,
            Datum::Float(_) => ValueKind::Float,
            Datum::Decimal(_) => ValueKind::Decimal,
            Datum::Text(_) => ValueKind::Text,
            Datum::Bytes(_) | Datum::Custom(_) => ValueKind::Bytes,
            Datum::Date(_) => ValueKind::Date,
            Datum::Time(_) => ValueKind::Time,
            Datum::TimeTz(..) => ValueKind::TimeTz,
            Datum::Timestamp(_) => ValueKind::Timestamp,
            Datum::TimestampTz(_) => ValueKind::TimestampTz,
            Datum::Interval(..) => ValueKind::Interval,
            Datum::Uuid(_) => ValueKind::Uuid,
            Datum::Json(_) => ValueKind::Json,
            Datum::Inet(..) => ValueKind::Inet,
            Datum::Bits(..) => ValueKind::Bits,
            Datum::Parts(Container::List, _) => ValueKind::List,
            Datum::Parts(..) | Datum::Invalid(_) => ValueKind::Other,
        }
    }
    fn describe(&self) -> String {
        format!("{self:.40?}")
    }
    fn int(&self) -> Result<i64, Mismatch> {
        match self {
            Datum::Int(n) => Ok(*n),
            Datum::Uint(n) => Err(Mismatch::out_of_range(format!("{n} does not fit 64 bits with a sign"))),
            other => other.is_not("a whole number"),
        }
    }
    getters! {
        bool -> bool, "a truth value" { Datum::Bool(value) => *value }
        float -> f64, "a number" { Datum::Float(n) => *n, Datum::Int(n) => *n as f64 }
        date -> i32, "a date" { Datum::Date(days) => *days }
        time -> i64, "a time of day" { Datum::Time(micros) => *micros }
        timetz -> (i64, i32), "a time of day with a zone" { Datum::TimeTz(micros, offset) => (*micros, *offset) }
        timestamp -> i64, "a date and time" { Datum::Timestamp(micros) => *micros }
        timestamptz -> i64, "an instant" { Datum::TimestampTz(micros) => *micros }
        interval -> (i32, i32, i64), "a span" { Datum::Interval(months, days, micros) => (*months, *days, *micros) }
        uuid -> [u8; 16], "a UUID" { Datum::Uuid(bytes) => *bytes }
        bits -> (usize, Vec<u8>), "a string of bits" { Datum::Bits(bits, bytes) => (*bits, bytes.clone()) }
        len -> usize, "a list" { Datum::Parts(Container::List, parts) => parts.len() }
    }
    lenders! {
        with_decimal(&str), "a number" {
            Datum::Decimal(text) => text,
            Datum::Int(n) => &n.to_string(),
            Datum::Uint(n) => &n.to_string(),
            Datum::Float(n) => &n.to_string()
        }
        with_text(&[u8]), "text" { Datum::Text(text) => text.as_bytes() }
        with_bytes(&[u8]), "bytes" { Datum::Bytes(bytes) => bytes }
        with_json(&[u8]), "a JSON document" { Datum::Json(text) => text.as_bytes() }
    }
    fn inet(&self) -> Result<([u8; 16], usize, u8), Mismatch> {
        let Datum::Inet(address, prefix) = self else { return self.is_not("a network address") };
        let mut bytes = [0; 16];
        let len = address.len().min(bytes.len());
        bytes[..len].copy_from_slice(&address[..len]);
        Ok((bytes, len, *prefix))
    }
    fn item(&self, i: usize) -> Result<Self, Mismatch> {
        match self {
            Datum::Parts(Container::List, parts) if i < parts.len() => Ok(&parts[i]),
            other => other.is_not("a list of so many items"),
        }
    }
    fn field(&self, _: usize, _: &str) -> Result<Self, Mismatch> {
        self.is_not("a value with fields")
    }
    fn range(&self) -> Result<RangeParts<Self>, Mismatch> {
        self.is_not("a range")
    }
    fn floats(&self, _: usize) -> Result<Vec<f64>, Mismatch> {
        self.is_not("a geometric value")
    }
    fn points(&self) -> Result<(Vec<f64>, Option<bool>), Mismatch> {
        self.is_not("a geometric value")
    }
    fn with_custom<R>(&self, _: u32, _: impl FnOnce(&[u8], bool) -> R) -> Result<R, Mismatch> {
        self.is_not("a value with a dumper of its own")
    }
    fn has_custom(&self, _: u32) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_parts_keep_their_positions() {
        let mut rows = Vec::new();
        let mut sink = DatumRows { rows: &mut rows, open: Vec::new() };
        sink.begin_row(3);
        sink.int(1);
        sink.begin(Container::List, 2);
        sink.text(b"a");
        sink.begin(Container::Point, 2);
        sink.float(0.5);
        sink.float(1.5);
        sink.end();
        sink.end();
        sink.null();
        sink.end_row();
        let point = Datum::Parts(Container::Point, vec![Datum::Float(0.5), Datum::Float(1.5)]);
        let list = Datum::Parts(Container::List, vec![Datum::Text("a".into()), point]);
        assert_eq!(rows, [[Datum::Int(1), list, Datum::Null]]);
    }

    #[test]
    fn a_request_whose_reply_was_taken_is_still_over() {
        let (collector, reply) = Collector::<(), ()>::new(Vec::new());
        assert!(!reply.is_over() && reply.take().is_none());
        collector.over(Outcome::Done);
        assert!(reply.take().is_some() && reply.is_over(), "a second wait for it ends at once");
        assert!(reply.take().is_none());
    }

    #[test]
    fn a_value_that_does_not_fit_is_named() {
        let (number, text) = (&Datum::Int(7), &Datum::Text("seven".into()));
        assert_eq!((number.int(), number.float(), number.kind()), (Ok(7), Ok(7.0), ValueKind::Int));
        assert_eq!(number.with_decimal(str::to_owned), Ok("7".to_owned()));
        assert_eq!(text.int().unwrap_err().message, r#"Text("seven") is not a whole number"#);
        assert_eq!((&Datum::Uint(u64::MAX)).int().unwrap_err().kind, headrace_core::MismatchKind::OutOfRange);
    }

    #[test]
    fn a_reply_is_taken_once_and_when_it_is_whole() {
        #[derive(Debug)]
        struct Nothing(Arc<[Column]>);
        impl Described for Nothing {
            fn columns(&self) -> &Arc<[Column]> {
                &self.0
            }
        }
        #[derive(Debug)]
        struct Refusal;
        impl Diagnostics for Refusal {
            fn condition(&self) -> headrace_core::sqlstate::Condition {
                headrace_core::sqlstate::Condition::of_sqlstate("42601")
            }
            fn message(&self) -> std::borrow::Cow<'_, str> {
                "no".into()
            }
        }
        let (mut collector, reply) = Collector::<Nothing, Refusal>::new(vec![Datum::Null]);
        collector.columns((), &Nothing(Arc::default()));
        collector.result((), Summary { rows: Some(3), ..Summary::default() });
        collector.result((), Summary { rows: Some(4), ..Summary::default() });
        assert!(!reply.is_over() && reply.take().is_none());
        collector.finish((), Outcome::Server { error: Refusal, row: None });
        let received = reply.take().expect("it is over");
        assert_eq!(received.affected, 7);
        assert!(matches!(received.outcome, Outcome::Server { error: Refusal, .. }) && reply.take().is_none());
    }
}
