//! The functions that the translator's SQL calls, given to every SQLite connection.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering as Atomic};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use headrace_simulator_common::lock;
use rusqlite::functions::{Aggregate, Context, FunctionFlags, WindowAggregate};
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use super::convert::{convert, writes_dates};
use super::texts::text;
use crate::codec::charset::Charset;
use crate::codec::complex;
use crate::codec::decimal::Decimal;
use crate::codec::timestamp;
use crate::errors::SqlError;
use crate::limits::{CHANGE_PATIENCE, SLEEP_PAUSE};
use crate::types::{Kind, Type};

/// The state that the functions of one session share with it.
pub struct State {
    /// The next numbers of SERIAL columns, by table; a roll-back does not take them back.
    pub serials: Arc<Mutex<HashMap<String, i64>>>,
    /// The last value of each sequence that this session has used.
    pub sequences: Mutex<HashMap<String, i64>>,
    /// The tables that only this session has.
    pub temporary: Mutex<HashSet<String>>,
    /// The last number given to a SERIAL.
    pub last_serial: AtomicI64,
    /// Rows changed by the last statement.
    pub rows: AtomicI64,
    /// True if the client has interrupted the running statement.
    pub interrupted: AtomicBool,
    /// When the change of rows began that is running.
    pub changing: Mutex<Option<Instant>>,
    /// True if the client requested a form of dates that this server does not write.
    pub foreign_dates: bool,
    /// True if messages are printed on standard error.
    pub trace: bool,
    /// The number of the session.
    pub session: i64,
    /// The user.
    pub user: String,
    /// The name of the server.
    pub server: String,
    /// The name of the database.
    pub database: String,
    /// The version, in full.
    pub version: String,
    /// The code set of the database.
    pub charset: Charset,
    /// The open update cursors: name, table, and the rowid of their current row.
    pub cursors: Mutex<HashMap<String, (String, Option<i64>)>>,
    /// Smart large objects that SQL opened: the number the client was given, and the object.
    pub opened: Mutex<Vec<(i64, i64)>>,
    /// The number of the last one that was opened.
    pub next_handle: AtomicI64,
    /// Work on smart large objects to do after the running step.
    pub objects: Mutex<Vec<ObjectRequest>>,
    /// The number of the next smart large object.
    pub next_object: Arc<AtomicI64>,
    /// The time at which the running statement began, which is its CURRENT.
    pub clock: AtomicI64,
    /// Checks whether the client sent its urgent byte, which is taken, or has gone.
    pub urgent: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// Work that is not done after an interrupt.
pub const FOREIGN_DATES: &str = "dates as text where DBDATE is not Y4MD-";

/// Work on smart large objects that a function requested and the session does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectRequest {
    /// The client's file becomes an object.
    FromFile {
        /// The object.
        id: i64,
        /// The file.
        path: String,
    },
    /// An object becomes the client's file.
    ToFile {
        /// The object.
        id: i64,
        /// The file.
        path: String,
    },
    /// An object is copied.
    Copy {
        /// The one that is there.
        from: i64,
        /// The new one.
        to: i64,
    },
}

impl State {
    /// Returns true if the client has interrupted the running statement, now or since the flag was last reset.
    pub fn poll_urgent(&self) -> bool {
        if self.urgent.as_ref().is_some_and(|take| take()) {
            self.interrupted.store(true, Atomic::Relaxed);
        }
        self.interrupted.load(Atomic::Relaxed)
    }

    /// Returns true if the running step is to be interrupted. A change of rows may end if that does not take long.
    pub fn breaks_off(&self) -> bool {
        self.poll_urgent() && lock(&self.changing).is_none_or(|since| since.elapsed() >= CHANGE_PATIENCE)
    }

    /// A change of rows, which an interrupt does not break off at once.
    pub fn change<T>(&self, work: impl FnOnce() -> T) -> T {
        *lock(&self.changing) = Some(Instant::now());
        let done = work();
        *lock(&self.changing) = None;
        done
    }

    /// NEXTVAL or CURRVAL; nothing if this session has not used NEXTVAL yet.
    fn sequence(&self, name: &str, next: bool, start: i64, step: i64) -> Option<i64> {
        let mut seen = lock(&self.sequences);
        if next {
            let mut serials = lock(&self.serials);
            let last = serials.entry(format!("sequence {name}")).or_insert(start - step);
            *last += step;
            seen.insert(name.to_owned(), *last);
        }
        seen.get(name).copied()
    }

    /// The name that the numbers of a table are counted under.
    pub fn serial_key(&self, table: &str) -> String {
        let temporary = lock(&self.temporary).contains(table);
        if temporary { format!("{}:{table}", self.session) } else { table.to_owned() }
    }

    fn next_serial(&self, table: &str, asked: i64) -> i64 {
        let key = self.serial_key(table);
        let mut serials = lock(&self.serials);
        let last = serials.entry(key).or_insert(0);
        let given = if asked == 0 { *last + 1 } else { asked };
        *last = (*last).max(given);
        self.last_serial.store(given, Atomic::Relaxed);
        given
    }
}

/// The current time, as a DATETIME.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() as i64 * timestamp::SECOND_UNITS + i64::from(since.subsec_micros() / 10)
}

fn decimal(value: &Value) -> Result<Option<Decimal>> {
    let parsed = match value {
        Value::Null => return Ok(None),
        Value::Integer(value) => Some(Decimal::new(i128::from(*value), 0)),
        Value::Real(value) => Decimal::parse(&format!("{value:e}")),
        Value::Text(text) => Decimal::parse(text),
        Value::Blob(_) => None,
    };
    parsed.map(Some).ok_or_else(|| SqlError::new(-1213, "").through_sqlite())
}

fn shown(value: Option<Decimal>) -> Value {
    value.map_or(Value::Null, |value| Value::Text(value.to_string()))
}

/// Decimals in order; other text sorts as text, so that the order stays total.
fn compare_decimals(left: &str, right: &str) -> Ordering {
    match (Decimal::parse(left), Decimal::parse(right)) {
        (Some(left), Some(right)) => left.compare(right),
        _ => left.cmp(right),
    }
}

/// STDEV, VARIANCE and RANGE.
struct Spread {
    form: char,
}

#[derive(Default)]
struct Timestamps {
    count: f64,
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Aggregate<Timestamps, Option<f64>> for Spread {
    fn init(&self, _: &mut Context<'_>) -> Result<Timestamps> {
        Ok(Timestamps::default())
    }

    fn step(&self, context: &mut Context<'_>, all: &mut Timestamps) -> Result<()> {
        let Some(value) = decimal_or_float(&context.get(0)?) else { return Ok(()) };
        all.least = if all.count == 0.0 { value } else { all.least.min(value) };
        all.most = if all.count == 0.0 { value } else { all.most.max(value) };
        all.count += 1.0;
        let distance = value - all.mean;
        all.mean += distance / all.count;
        all.squares += distance * (value - all.mean);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, all: Option<Timestamps>) -> Result<Option<f64>> {
        let Some(all) = all.filter(|all| all.count > 0.0) else { return Ok(None) };
        // Of a sample, as the server computes it; a single value has no deviation.
        let variance = if all.count > 1.0 { all.squares / (all.count - 1.0) } else { 0.0 };
        Ok(Some(match self.form {
            'r' => all.most - all.least,
            's' => variance.sqrt(),
            _ => variance,
        }))
    }
}

struct Sum {
    average: bool,
}

impl Aggregate<Option<(Decimal, i64)>, Value> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<(Decimal, i64)>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, total: &mut Option<(Decimal, i64)>) -> Result<()> {
        if let Some(value) = decimal(&context.get(0)?)? {
            let (sum, count) = total.unwrap_or((Decimal::new(0, 0), 0));
            *total = Some((sum.plus(value), count + 1));
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, total: Option<Option<(Decimal, i64)>>) -> Result<Value> {
        Ok(self.shown(total.flatten()))
    }
}

impl Sum {
    fn shown(&self, total: Option<(Decimal, i64)>) -> Value {
        let total = total.filter(|(_, count)| *count > 0);
        shown(total.and_then(
            |(sum, count)| {
                if self.average { sum.divided_by(Decimal::new(i128::from(count), 0)) } else { Some(sum) }
            },
        ))
    }
}

impl WindowAggregate<Option<(Decimal, i64)>, Value> for Sum {
    fn value(&self, total: Option<&mut Option<(Decimal, i64)>>) -> Result<Value> {
        Ok(self.shown(total.copied().flatten()))
    }

    fn inverse(&self, context: &mut Context<'_>, total: &mut Option<(Decimal, i64)>) -> Result<()> {
        if let (Some(value), Some((sum, count))) = (decimal(&context.get(0)?)?, total.as_mut()) {
            *sum = sum.plus(value.negated());
            *count -= 1;
        }
        Ok(())
    }
}

/// The order of DECIMAL columns, without which a table that has one cannot be read.
pub fn register_collation(connection: &Connection) -> Result<()> {
    connection.create_collation("IFXDECIMAL", compare_decimals)
}

/// Registers all of them with a connection.
pub fn register(connection: &Connection, state: &Arc<State>) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let impure = FunctionFlags::SQLITE_UTF8;
    let charset = state.charset;
    register_collation(connection)?;
    let foreign_dates = state.foreign_dates;
    connection.create_scalar_function("ifx_conv", 3, pure, move |context| {
        let from = Type::from_tag(context.get(1)?);
        let to = Type::from_tag(context.get(2)?).ok_or(rusqlite::Error::InvalidParameterCount(3, 3))?;
        if foreign_dates && writes_dates(from, to) {
            return Err(SqlError::unsupported(FOREIGN_DATES).through_sqlite());
        }
        convert(context.get(0)?, from, to, charset).map_err(|error| error.through_sqlite())
    })?;
    connection.create_scalar_function("ifx_dcmp", 2, pure, |context| {
        let (left, right) = (decimal(&context.get(0)?)?, decimal(&context.get(1)?)?);
        Ok(left.zip(right).map(|(left, right)| left.compare(right) as i32))
    })?;
    type Operation = fn(Decimal, Decimal) -> Option<Decimal>;
    let operations: [(&str, Operation); 4] = [
        ("ifx_dadd", |left, right| Some(left.plus(right))),
        ("ifx_dsub", |left, right| Some(left.plus(right.negated()))),
        ("ifx_dmul", |left, right| Some(left.times(right))),
        ("ifx_ddiv", Decimal::divided_by),
    ];
    for (name, operation) in operations {
        connection.create_scalar_function(name, 2, pure, move |context| {
            let Some((left, right)) = decimal(&context.get(0)?)?.zip(decimal(&context.get(1)?)?) else {
                return Ok(Value::Null);
            };
            let result = operation(left, right).ok_or_else(|| SqlError::new(-1202, "").through_sqlite())?;
            Ok(shown(Some(result.checked().map_err(|error| error.through_sqlite())?)))
        })?;
    }
    type Rounding = fn(Decimal, i32) -> Decimal;
    let roundings: [(&str, i32, Rounding); 5] = [
        ("ifx_dround", 2, Decimal::round),
        ("ifx_dtrunc", 2, Decimal::truncate),
        (
            "ifx_dabs",
            1,
            |value, _| if value.compare(Decimal::new(0, 0)) == Ordering::Less { value.negated() } else { value },
        ),
        ("ifx_dfloor", 1, |value, _| {
            let cut = value.truncate(0);
            if cut.compare(value) == Ordering::Greater { cut.plus(Decimal::new(-1, 0)) } else { cut }
        }),
        ("ifx_dceil", 1, |value, _| {
            let cut = value.truncate(0);
            if cut.compare(value) == Ordering::Less { cut.plus(Decimal::new(1, 0)) } else { cut }
        }),
    ];
    for (name, arguments, operation) in roundings {
        connection.create_scalar_function(name, arguments, pure, move |context| {
            let digits: i32 = if context.len() == 2 { context.get(1)? } else { 0 };
            Ok(shown(decimal(&context.get(0)?)?.map(|value| operation(value, digits))))
        })?;
    }
    connection.create_window_function("ifx_dsum", 1, pure, Sum { average: false })?;
    connection.create_window_function("ifx_davg", 1, pure, Sum { average: true })?;
    connection.create_scalar_function("ifx_scalar", 2, pure, |context| {
        if context.get::<i64>(0)? > 1 {
            return Err(SqlError::new(-284, "").through_sqlite());
        }
        context.get::<Value>(1)
    })?;
    connection.create_scalar_function("ifx_fail", 1, impure, |context| -> Result<Value> {
        Err(SqlError::new(context.get::<i64>(0)? as i16, "").through_sqlite())
    })?;
    type Whole = fn(i64, i64) -> Option<i64>;
    let wholes: [(&str, Whole); 3] =
        [("ifx_iadd", i64::checked_add), ("ifx_isub", i64::checked_sub), ("ifx_imul", i64::checked_mul)];
    for (name, operation) in wholes {
        connection.create_scalar_function(name, 3, pure, move |context| {
            let (left, right): (Option<i64>, Option<i64>) = (context.get(0)?, context.get(1)?);
            let Some((left, right)) = left.zip(right) else { return Ok(None) };
            let code = context.get::<i64>(2)? as i16;
            operation(left, right).map(Some).ok_or_else(|| SqlError::new(code, "").through_sqlite())
        })?;
    }
    connection.create_scalar_function("ifx_fdiv", 2, pure, |context| {
        let number = |index| -> Result<Option<f64>> { Ok(decimal_or_float(&context.get(index)?)) };
        let Some((left, right)) = number(0)?.zip(number(1)?) else { return Ok(None) };
        if right == 0.0 { Err(SqlError::new(-1202, "").through_sqlite()) } else { Ok(Some(left / right)) }
    })?;
    connection.create_scalar_function("ifx_mod", 2, pure, |context| {
        let (left, right): (Option<i64>, Option<i64>) = (context.get(0)?, context.get(1)?);
        let Some((left, right)) = left.zip(right) else { return Ok(None) };
        left.checked_rem(right).map(Some).ok_or_else(|| SqlError::new(-1202, "").through_sqlite())
    })?;
    connection.create_scalar_function("ifx_math", 3, pure, |context| {
        let name: String = context.get(0)?;
        let (Some(x), Some(y)) = (context.get::<Option<f64>>(1)?, context.get::<Option<f64>>(2)?) else {
            return Ok(None);
        };
        let result = match name.as_str() {
            "sqrt" => x.sqrt(),
            "root" => x.powf(1.0 / y),
            "degrees" => x.to_degrees(),
            "radians" => x.to_radians(),
            "sinh" => x.sinh(),
            "cosh" => x.cosh(),
            "tanh" => x.tanh(),
            "exp" => x.exp(),
            "logn" => x.ln(),
            "log10" => x.log10(),
            "sin" => x.sin(),
            "cos" => x.cos(),
            "tan" => x.tan(),
            "asin" => x.asin(),
            "acos" => x.acos(),
            "atan" => x.atan(),
            "atan2" => x.atan2(y),
            _ => x.powf(y),
        };
        if result.is_finite() { Ok(Some(result)) } else { Err(SqlError::new(-1226, "").through_sqlite()) }
    })?;
    for (name, form) in [("ifx_stdev", 's'), ("ifx_variance", 'v'), ("ifx_range", 'r')] {
        connection.create_aggregate_function(name, 1, pure, Spread { form })?;
    }
    super::texts::register(connection)?;
    super::times::register(connection, state)?;
    super::schema::register(connection)?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_sequence", 4, impure, move |context| {
        let (name, next): (String, bool) = (context.get(0)?, context.get(1)?);
        let (start, step): (i64, i64) = (context.get(2)?, context.get(3)?);
        shared.sequence(&name, next, start, step).ok_or_else(|| SqlError::new(-8315, name).through_sqlite())
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_serial", 2, impure, move |context| {
        let table: String = context.get(0)?;
        let Some(asked) = context.get::<Option<i64>>(1)? else { return Ok(None) };
        Ok(Some(shared.next_serial(&table, asked)))
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_session", 1, impure, move |context| {
        Ok(if context.get::<String>(0)? == "user" { shared.user.clone() } else { shared.server.clone() })
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_dbinfo", 2, impure, move |context| {
        Ok(match context.get::<String>(0)?.as_str() {
            "sqlca.sqlerrd1" | "serial8" | "bigserial" => Value::Integer(shared.last_serial.load(Atomic::Relaxed)),
            "sqlca.sqlerrd2" => Value::Integer(shared.rows.load(Atomic::Relaxed)),
            "sessionid" => Value::Integer(shared.session),
            "utc_current" => Value::Integer(shared.clock.load(Atomic::Relaxed) / timestamp::SECOND_UNITS),
            "dbname" => Value::Text(shared.database.clone()),
            "dbhostname" => Value::Text("localhost".into()),
            _ => {
                let number = shared.version.rsplit(' ').next().unwrap_or_default();
                let part = |index| Value::Text(number.split('.').nth(index).unwrap_or_default().to_owned());
                match context.get::<String>(1)?.as_str() {
                    "major" => part(0),
                    "minor" => part(1),
                    "level" => part(2),
                    "os" => Value::Text("F".into()),
                    "server-type" => Value::Text("IBM Informix Dynamic Server".into()),
                    _ => Value::Text(shared.version.clone()),
                }
            }
        })
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_filetolob", 1, impure, move |context| {
        let Some(path) = text(context, 0)? else { return Ok(None) };
        let id = shared.next_object.fetch_add(1, Atomic::Relaxed);
        lock(&shared.objects).push(ObjectRequest::FromFile { id, path });
        Ok(Some(id))
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_lotofile", 2, impure, move |context| {
        let (Some(id), Some(path)) = (context.get::<Option<i64>>(0)?, text(context, 1)?) else { return Ok(None) };
        // An exclamation mark requests the exact name; otherwise the server makes it unique.
        let path = match path.strip_suffix('!') {
            Some(path) => path.to_owned(),
            None => format!("{path}.{:016x}", shared.next_object.fetch_add(1, Atomic::Relaxed)),
        };
        lock(&shared.objects).push(ObjectRequest::ToFile { id, path: path.clone() });
        Ok(Some(path))
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_locopy", 1, impure, move |context| {
        let Some(from) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        let to = shared.next_object.fetch_add(1, Atomic::Relaxed);
        lock(&shared.objects).push(ObjectRequest::Copy { from, to });
        Ok(Some(to))
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_lo_open", 1, impure, move |context| {
        let Some(id) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        let number = shared.next_handle.fetch_add(1, Atomic::Relaxed) + 1;
        lock(&shared.opened).push((number, id));
        Ok(Some(number))
    })?;
    connection.create_scalar_function("ifx_field", 3, pure, move |context| {
        let Some(row) = text(context, 0)? else { return Ok(Value::Null) };
        let ty = Type::from_tag(context.get(2)?).unwrap_or(Type::of(Kind::LVarChar));
        let found = complex::field(&row, context.get::<i64>(1)? as usize, ty, charset);
        found.map_err(|error| error.through_sqlite())
    })?;
    connection.create_scalar_function("ifx_cardinality", 1, pure, |context| {
        Ok(text(context, 0)?.map(|value| complex::elements(&value).len() as i64))
    })?;
    connection.create_scalar_function("ifx_member", 2, pure, |context| {
        let (Some(value), Some(collection)) = (text(context, 0)?, text(context, 1)?) else { return Ok(None) };
        Ok(Some(complex::elements(&collection).contains(&value)))
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_current_row", 1, impure, move |context| {
        let found = lock(&shared.cursors).get(&context.get::<String>(0)?).and_then(|(_, rowid)| *rowid);
        found.ok_or_else(|| SqlError::new(-266, "").through_sqlite())
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_sleep", 1, impure, move |context| {
        let until = now() + (context.get::<f64>(0)? * timestamp::SECOND_UNITS as f64) as i64;
        while now() < until {
            if shared.poll_urgent() {
                return Err(SqlError::new(-213, "").through_sqlite());
            }
            std::thread::sleep(SLEEP_PAUSE);
        }
        Ok(0)
    })
}

fn decimal_or_float(value: &Value) -> Option<f64> {
    match value {
        Value::Real(value) => Some(*value),
        value => decimal(value).ok().flatten().map(Decimal::to_f64),
    }
}
