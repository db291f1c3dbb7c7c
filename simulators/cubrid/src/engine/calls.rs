//! The functions that the translated SQL calls, given to every SQLite connection.

use std::cmp::Ordering;
use std::sync::Arc;

use headrace_simulator_common::lock;
use rusqlite::functions::{Aggregate, Context, FunctionFlags, WindowAggregate};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::{State, formats, patterns};
use crate::convert::{self, Mode, from_tag};
use crate::decimal::Decimal;
use crate::errors::Error;
use crate::limits::SLEEP_PAUSE;
use crate::lobs;
use crate::times::{self, Fields};
use crate::types::Type;
use crate::types::code::*;
use crate::values::{self, Bound};

/// Text of an argument; nothing for NULL.
pub(super) fn text(context: &Context<'_>, index: usize) -> Option<String> {
    if index >= context.len() {
        return None;
    }
    match context.get_raw(index) {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(convert::shown(&Value::Real(number), &Type::of(DOUBLE))),
        _ => None,
    }
}

fn integer(context: &Context<'_>, index: usize) -> Option<i64> {
    if index >= context.len() {
        return None;
    }
    match context.get_raw(index) {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number.round() as i64),
        ValueRef::Text(bytes) => {
            let number = Decimal::parse(std::str::from_utf8(bytes).ok()?, true)?;
            number.rescale(0)?.to_string().parse().ok()
        }
        _ => None,
    }
}

fn decimal(value: ValueRef<'_>) -> Option<Decimal> {
    match value {
        ValueRef::Integer(number) => Some(Decimal::integer(number)),
        ValueRef::Real(number) => Decimal::from_f64(number),
        ValueRef::Text(bytes) => Decimal::parse(std::str::from_utf8(bytes).ok()?, true),
        _ => None,
    }
}

fn real(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// SUM and AVG of decimal numbers.
struct Sum {
    average: bool,
}

impl Aggregate<(Option<Decimal>, i64), Value> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<(Option<Decimal>, i64)> {
        Ok((None, 0))
    }

    fn step(&self, context: &mut Context<'_>, (sum, count): &mut (Option<Decimal>, i64)) -> Result<()> {
        let Some(value) = decimal(context.get_raw(0)) else { return Ok(()) };
        *count += 1;
        *sum = match *sum {
            Some(sum) => Some(sum.plus(value).ok_or_else(|| Error::overflow("numeric").through_sqlite())?),
            None => Some(value),
        };
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, state: Option<(Option<Decimal>, i64)>) -> Result<Value> {
        self.shown(state.as_ref())
    }
}

impl Sum {
    fn shown(&self, state: Option<&(Option<Decimal>, i64)>) -> Result<Value> {
        let Some((Some(sum), count)) = state else { return Ok(Value::Null) };
        Ok(if self.average { Value::Real(sum.to_f64() / *count as f64) } else { Value::Text(sum.to_string()) })
    }
}

impl WindowAggregate<(Option<Decimal>, i64), Value> for Sum {
    fn value(&self, state: Option<&mut (Option<Decimal>, i64)>) -> Result<Value> {
        self.shown(state.as_deref())
    }

    fn inverse(&self, context: &mut Context<'_>, (sum, count): &mut (Option<Decimal>, i64)) -> Result<()> {
        if let Some(value) = decimal(context.get_raw(0)) {
            *count -= 1;
            *sum = if *count == 0 { None } else { sum.and_then(|sum| sum.plus(value.negated())) };
        }
        Ok(())
    }
}

/// STDDEV and VARIANCE.
struct Spread {
    root: bool,
    sample: bool,
}

impl Aggregate<(f64, f64, f64), Option<f64>> for Spread {
    fn init(&self, _: &mut Context<'_>) -> Result<(f64, f64, f64)> {
        Ok((0.0, 0.0, 0.0))
    }

    fn step(&self, context: &mut Context<'_>, (count, sum, squares): &mut (f64, f64, f64)) -> Result<()> {
        if let Some(value) = real(context.get_raw(0)) {
            *count += 1.0;
            *sum += value;
            *squares += value * value;
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, state: Option<(f64, f64, f64)>) -> Result<Option<f64>> {
        let Some((count, sum, squares)) = state else { return Ok(None) };
        let divisor = if self.sample { count - 1.0 } else { count };
        if divisor <= 0.0 {
            return Ok(None);
        }
        // As the server computes it, with the digits that it loses.
        let mean = sum / count;
        let variance =
            if self.sample { (squares - count * mean * mean) / divisor } else { squares / count - mean * mean };
        Ok(Some(if self.root { variance.sqrt() } else { variance }))
    }
}

fn arithmetic(context: &Context<'_>) -> Result<Value> {
    let (left, right) = (context.get_raw(1), context.get_raw(2));
    if matches!(left, ValueRef::Null) || matches!(right, ValueRef::Null) {
        return Ok(Value::Null);
    }
    let operator = context.get_raw(0).as_str().unwrap_or_default();
    let mut kind = context.get_raw(3).as_str().unwrap_or_default();
    if kind == "a" {
        kind = match (left, right) {
            (ValueRef::Integer(_), ValueRef::Integer(_)) => "b",
            (ValueRef::Real(_), _) | (_, ValueRef::Real(_)) => "d",
            _ => "n",
        };
    }
    let failed = |error: Error| error.through_sqlite();
    let overflow = || {
        let word = match operator {
            "+" => "addition",
            "-" => "subtraction",
            _ => "multiplication",
        };
        let code = match operator {
            "+" => -458,
            "-" => -459,
            _ => -460,
        };
        Error::server(code, format!("Overflow occurred in {word} context.")).through_sqlite()
    };
    match kind {
        "s" | "i" | "b" => {
            let (Some(left), Some(right)) = (left.whole()?, right.whole()?) else {
                return Ok(Value::Null);
            };
            let result = match operator {
                "+" => left.checked_add(right),
                "-" => left.checked_sub(right),
                "*" => left.checked_mul(right),
                _ if right == 0 => return Err(failed(Error::zero())),
                "%" => left.checked_rem(right),
                _ => left.checked_div(right),
            };
            let fits = |value: &i64| match kind {
                "s" => i16::try_from(*value).is_ok(),
                "i" => i32::try_from(*value).is_ok(),
                _ => true,
            };
            Ok(Value::Integer(result.filter(fits).ok_or_else(overflow)?))
        }
        "n" => {
            let (Some(left), Some(right)) = (decimal(left), decimal(right)) else { return Ok(Value::Null) };
            let result = match operator {
                "+" => left.plus(right),
                "-" => left.plus(right.negated()),
                "*" => left.times(right),
                _ if right.is_zero() => return Err(failed(Error::zero())),
                "%" => left.modulo(right),
                "div" => left.whole_over(right),
                _ => left.over(right),
            };
            Ok(Value::Text(result.ok_or_else(overflow)?.to_string()))
        }
        _ => {
            let (Some(left), Some(right)) = (real(left), real(right)) else { return Ok(Value::Null) };
            let result = match operator {
                "+" => left + right,
                "-" => left - right,
                "*" => left * right,
                _ if right == 0.0 => return Err(failed(Error::zero())),
                "%" => left % right,
                "div" => (left / right).trunc(),
                _ => left / right,
            };
            let result = if kind == "f" { f64::from(result as f32) } else { result };
            if result.is_finite() { Ok(Value::Real(result)) } else { Err(overflow()) }
        }
    }
}

trait AsInteger {
    fn whole(&self) -> Result<Option<i64>>;
}

impl AsInteger for ValueRef<'_> {
    fn whole(&self) -> Result<Option<i64>> {
        Ok(match self {
            Self::Integer(number) => Some(*number),
            Self::Real(number) => Some(number.round() as i64),
            Self::Text(bytes) => std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok()),
            _ => None,
        })
    }
}

fn rounded(context: &Context<'_>) -> Result<Value> {
    let name = context.get_raw(0).as_str().unwrap_or_default();
    let digits = integer(context, 2).unwrap_or(0) as i32;
    let scale: i64 = context.get(3)?;
    Ok(match context.get_raw(1) {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => match name {
            "abs" => Value::Integer(number.abs()),
            "sign" => Value::Integer(number.signum()),
            "round" | "trunc" | "truncate" if digits < 0 => {
                let unit = 10i64.checked_pow(digits.unsigned_abs()).unwrap_or(i64::MAX);
                let half = if name == "round" { unit / 2 * number.signum() } else { 0 };
                Value::Integer((number + half) / unit * unit)
            }
            _ => Value::Integer(number),
        },
        ValueRef::Real(number) => {
            let unit = 10f64.powi(digits);
            match name {
                "abs" => Value::Real(number.abs()),
                "sign" => Value::Integer(if number == 0.0 { 0 } else { number.signum() as i64 }),
                "floor" => Value::Real(number.floor()),
                "ceil" => Value::Real(number.ceil()),
                "round" => Value::Real((number * unit).round() / unit),
                _ => Value::Real((number * unit).trunc() / unit),
            }
        }
        value => {
            let Some(number) = decimal(value) else { return Ok(Value::Null) };
            let negative = number.compare(Decimal::integer(0)) == Ordering::Less;
            let digits = digits.max(0) as u32;
            let result = match name {
                "abs" => Some(if negative { number.negated() } else { number }),
                "sign" => {
                    let sign = if negative { -1 } else { i64::from(!number.is_zero()) };
                    return Ok(Value::Integer(sign));
                }
                "floor" => Some(number.floor()),
                "ceil" => Some(number.negated().floor().negated()),
                "round" => number.rescale(digits.min(number.scale())),
                _ => Some(number.truncate(digits)),
            };
            let result = result.and_then(|value| if scale < 0 { Some(value) } else { value.rescale(scale as u32) });
            result.map_or(Value::Null, |value| Value::Text(value.to_string()))
        }
    })
}

fn math(context: &Context<'_>) -> Result<Option<f64>> {
    let Some(x) = real(context.get_raw(1)) else { return Ok(None) };
    let y = if context.len() > 2 { real(context.get_raw(2)) } else { Some(0.0) };
    let Some(y) = y else { return Ok(None) };
    let result = match context.get_raw(0).as_str().unwrap_or_default() {
        "sqrt" => x.sqrt(),
        "exp" => x.exp(),
        "ln" => x.ln(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "cot" => 1.0 / x.tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" if context.len() > 2 => x.atan2(y),
        "atan" => x.atan(),
        "atan2" => x.atan2(y),
        "degrees" => x.to_degrees(),
        "radians" => x.to_radians(),
        "log" => y.log(x),
        _ => x.powf(y),
    };
    if result.is_finite() {
        return Ok(Some(result));
    }
    Err(Error::server(-204, "Function called with missing or invalid arguments.").through_sqlite())
}

/// LIKE with `%` and `_`; there is no escape unless one is given.
fn like(text: &[char], pattern: &[char], escape: Option<char>) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    if Some(*first) == escape
        && let Some((wanted, rest)) = rest.split_first()
    {
        return text.first() == Some(wanted) && like(&text[1..], rest, escape);
    }
    match first {
        '%' => (0..=text.len()).any(|at| like(&text[at..], rest, escape)),
        '_' => !text.is_empty() && like(&text[1..], rest, escape),
        wanted => text.first() == Some(wanted) && like(&text[1..], rest, escape),
    }
}

fn contains(context: &Context<'_>) -> Result<Option<bool>> {
    let (Ok(left), Ok(right)) = (context.get_raw(1).as_blob(), context.get_raw(2).as_blob()) else { return Ok(None) };
    let (left, right) = (values::elements(left).1, values::elements(right).1);
    let within = |inner: &[Value], outer: &[Value]| inner.iter().all(|value| outer.contains(value));
    Ok(Some(match context.get_raw(0).as_str().unwrap_or_default() {
        "superseteq" => within(&right, &left),
        "superset" => within(&right, &left) && right.len() < left.len(),
        "subseteq" => within(&left, &right),
        "subset" => within(&left, &right) && left.len() < right.len(),
        "seteq" => left == right,
        _ => left != right,
    }))
}

fn combined(context: &Context<'_>, word: &str) -> Result<Value> {
    let (Ok(left), Ok(right)) = (context.get_raw(0).as_blob(), context.get_raw(1).as_blob()) else {
        return Ok(Value::Null);
    };
    let ((code, mut left), (other, right)) = (values::elements(left), values::elements(right));
    match word {
        "plus" => left.extend(right),
        "minus" => left.retain(|value| !right.contains(value)),
        _ => left.retain(|value| right.contains(value)),
    }
    Ok(Value::Blob(values::collected(&Type::of(if code == 0 { other } else { code }), 0x20, left)))
}

/// Registers the functions.
///
/// # Errors
/// SQLite's.
pub fn register(connection: &Connection, state: &Arc<State>) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let impure = FunctionFlags::SQLITE_UTF8;
    super::register_collations(connection)?;
    connection.create_scalar_function("cub_cast", 4, pure, |context| {
        let value: Value = context.get(0)?;
        if value == Value::Null {
            return Ok(value);
        }
        let from = context.get_or_create_aux(1, |tag| tag.as_str().map(from_tag))?;
        let to = context.get_or_create_aux(2, |tag| tag.as_str().map(from_tag))?;
        let from = if from.code == NULL && from.collection == 0 { of_value(&value) } else { (*from).clone() };
        let mode = Mode::from_number(context.get(3)?);
        convert::convert(value, &from, &to, mode, "UTC").map_err(|error| error.through_sqlite())
    })?;
    connection.create_scalar_function("cub_arith", 4, pure, arithmetic)?;
    connection
        .create_scalar_function("cub_real", 1, pure, |context| Ok(f64::from_bits(context.get::<i64>(0)? as u64)))?;
    connection.create_scalar_function("cub_shift", 3, pure, |context| {
        let (number, count) = (context.get::<Option<i64>>(0)?, context.get::<Option<i64>>(1)?);
        let (Some(number), Some(count)) = (number, count) else { return Ok(None) };
        // The sign is a bit like others.
        let (number, count) = (number as u64, u32::try_from(count).unwrap_or(u32::MAX));
        let shifted = match context.get::<String>(2)?.as_str() {
            "<<" => number.checked_shl(count),
            _ => number.checked_shr(count),
        };
        Ok(Some(shifted.unwrap_or(0) as i64))
    })?;
    connection.create_scalar_function("cub_compare", 2, pure, |context| {
        let both = decimal(context.get_raw(0)).zip(decimal(context.get_raw(1)));
        Ok(both.map(|(left, right)| left.compare(right) as i64))
    })?;
    connection.create_scalar_function("cub_round", 4, pure, rounded)?;
    connection.create_scalar_function("cub_math", -1, pure, math)?;
    connection.create_window_function("cub_sum", 1, pure, Sum { average: false })?;
    connection.create_window_function("cub_avg", 1, pure, Sum { average: true })?;
    for (name, root, sample) in [
        ("cub_stddev", true, false),
        ("cub_stddev_pop", true, false),
        ("cub_stddev_samp", true, true),
        ("cub_variance", false, false),
        ("cub_var_pop", false, false),
        ("cub_var_samp", false, true),
    ] {
        connection.create_aggregate_function(name, 1, pure, Spread { root, sample })?;
    }
    connection.create_scalar_function("cub_like", 3, pure, |context| {
        let (Some(value), Some(pattern)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
        let escape = text(context, 2).and_then(|escape| escape.chars().next());
        let (value, pattern): (Vec<char>, Vec<char>) = (value.chars().collect(), pattern.chars().collect());
        Ok(Some(like(&value, &pattern, escape)))
    })?;
    // The server computes the number of the last row.
    connection.create_scalar_function("cub_limit", 2, pure, |context| {
        let (count, offset) = (context.get::<Option<i64>>(0)?, context.get::<Option<i64>>(1)?);
        let (Some(count), Some(offset)) = (count, offset) else { return Ok(count) };
        match count.checked_add(offset) {
            Some(_) => Ok(Some(count)),
            None => Err(Error::server(-458, "Overflow occurred in addition context.").through_sqlite()),
        }
    })?;
    for (name, any_case) in [("cub_rlike", true), ("cub_rlike_binary", false)] {
        connection.create_scalar_function(name, 3, pure, move |context| {
            let (Some(value), Some(pattern)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
            Ok(Some(patterns::compiled(&pattern, any_case)?.is_match(&value)))
        })?;
    }
    connection.create_scalar_function("cub_regexp_replace", -1, pure, patterns::replaced)?;
    connection.create_scalar_function("cub_single", 2, pure, |context| {
        if context.get::<i64>(0)? > 1 {
            return Err(Error::server(-459, "Query result contains more than a single tuple.").through_sqlite());
        }
        context.get::<Value>(1)
    })?;
    connection.create_scalar_function("cub_contains", 3, pure, contains)?;
    for (name, word) in [("cub_set_plus", "plus"), ("cub_set_minus", "minus"), ("cub_set_times", "times")] {
        connection.create_scalar_function(name, 2, pure, move |context| combined(context, word))?;
    }
    connection.create_scalar_function("cub_set", -1, pure, |context| {
        let kind: i64 = context.get(0)?;
        let element = from_tag(context.get_raw(1).as_str().unwrap_or_default());
        let all: Result<Vec<Value>> = (2..context.len()).map(|index| context.get(index)).collect();
        let all = all?;
        let element = match all.iter().find(|value| **value != Value::Null) {
            Some(value) if element.code == NULL => of_value(value),
            _ => element,
        };
        Ok(values::collected(&element, kind as u8, all))
    })?;
    connection.create_scalar_function("cub_member", 2, pure, |context| {
        let value: Value = context.get(0)?;
        Ok(context.get_raw(1).as_blob().ok().map(|bytes| values::elements(bytes).1.contains(&value)))
    })?;
    connection.create_scalar_function("cub_cardinality", 1, pure, |context| {
        Ok(context.get_raw(0).as_blob().ok().map(|bytes| values::elements(bytes).1.len() as i64))
    })?;
    connection.create_scalar_function("cub_join", 2, pure, |context| {
        let (Ok(left), Ok(right)) = (context.get_raw(0).as_blob(), context.get_raw(1).as_blob()) else {
            return Ok(None);
        };
        Ok(Some([left, right].concat()))
    })?;
    formats::register(connection)?;
    register_session(connection, state, impure)
}

/// The type of a value that SQLite made.
pub fn of_value(value: &Value) -> Type {
    match value {
        Value::Null => Type::unknown(),
        Value::Integer(number) if i32::try_from(*number).is_ok() => Type::of(INT),
        Value::Integer(_) => Type::of(BIGINT),
        Value::Real(_) => Type::of(DOUBLE),
        Value::Text(text) => Type::sized(CHAR, text.chars().count() as i32),
        Value::Blob(bytes) => Type::sized(BIT, bytes.len() as i32 * 8),
    }
}

fn register_session(connection: &Connection, state: &Arc<State>, impure: FunctionFlags) -> Result<()> {
    let shared = Arc::clone(state);
    connection.create_scalar_function("cub_auto", 1, impure, move |context| {
        let table: String = context.get(0)?;
        let number = shared.take(&format!("table {table}"), 1);
        if let Some(number) = number {
            lock(&shared.generated).push(number);
        }
        Ok(number)
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("cub_serial_next_value", 2, impure, move |context| {
        let serial: String = context.get(0)?;
        let count = integer(context, 1).unwrap_or(1);
        Ok(shared.take(&format!("serial {serial}"), count).map(|number| number.to_string()))
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("cub_serial_current_value", 2, impure, move |context| {
        let serial: String = context.get(0)?;
        let number = lock(&shared.numbers).get(&format!("serial {serial}")).copied();
        Ok(number.map(|it| if it.used { it.next - it.step } else { it.next }.to_string()))
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("cub_variable", 1, impure, move |context| {
        let name: String = context.get(0)?;
        let found = lock(&shared.kept).variables.get(&name).map(|bound| bound.value.clone());
        found.ok_or_else(|| Error::server(-1070, format!("Session variable '@{name}' not defined.")).through_sqlite())
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("cub_assign", 3, impure, move |context| {
        let (name, value): (String, Value) = (context.get(0)?, context.get(1)?);
        let ty = from_tag(context.get_raw(2).as_str().unwrap_or_default());
        lock(&shared.kept).variables.insert(name, Bound { ty, value: value.clone() });
        Ok(value)
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("cub_session", 1, impure, move |context| {
        Ok(match context.get_raw(0).as_str().unwrap_or_default() {
            "user" => Value::Text(shared.user.clone()),
            "user@host" => Value::Text(format!("{}@localhost", shared.user)),
            "database" => Value::Text(shared.database.clone()),
            "charset" => Value::Integer(shared.charset.number().into()),
            "last" => lock(&shared.kept).last_insert_id.map_or(Value::Null, |id| Value::Text(id.to_string())),
            "rows" => Value::Integer(lock(&shared.kept).rows),
            _ => Value::Text(crate::session::VERSION.into()),
        })
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("cub_sleep", 1, impure, move |context| {
        let seconds = real(context.get_raw(0)).unwrap_or(0.0).clamp(0.0, 86_400.0);
        let until = std::time::Instant::now() + std::time::Duration::from_secs_f64(seconds);
        while std::time::Instant::now() < until {
            if shared.must_end() {
                return Err(Error::interrupted().through_sqlite());
            }
            std::thread::sleep(SLEEP_PAUSE);
        }
        Ok(0)
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("cub_new_lob", 2, impure, move |context| {
        let code: i64 = context.get(0)?;
        let data = match context.get_raw(1) {
            ValueRef::Null => return Ok(None),
            ValueRef::Text(bytes) => shared.charset.encode(&String::from_utf8_lossy(bytes)),
            ValueRef::Blob(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        };
        let size = data.len();
        let name = shared.lobs.create(data);
        Ok(Some(lobs::handle(code as u8, size, &name)))
    })?;
    for name in ["clob_to_char", "blob_to_bit", "clob_length", "blob_length"] {
        let shared = Arc::clone(state);
        connection.create_scalar_function(format!("cub_{name}").as_str(), 1, impure, move |context| {
            let Ok(handle) = context.get_raw(0).as_blob() else { return Ok(Value::Null) };
            let found = lobs::name(handle).and_then(|name| shared.lobs.all(&name));
            let Some(data) = found else {
                return Err(
                    Error::server(-1016, "External file does not exist external storage error.").through_sqlite()
                );
            };
            Ok(match name {
                "clob_to_char" => Value::Text(shared.charset.decode(&data)),
                "blob_to_bit" => Value::Blob(data),
                _ => Value::Integer(data.len() as i64),
            })
        })?;
    }
    connection.create_scalar_function("cub_now", 2, impure, |context| {
        let ty: i64 = context.get(0)?;
        let zone: String = context.get(1)?;
        Ok(times::now(&zone).text(ty as u8))
    })?;
    connection.create_scalar_function("cub_unix", -1, impure, |context| {
        if context.is_empty() {
            return Ok(times::epoch(&times::now("UTC"), "UTC"));
        }
        let (Some(time), Some(zone)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
        Ok(times::epoch(&Fields::kept(&time), &zone))
    })?;
    connection.create_scalar_function("cub_new_time", 3, impure, |context| {
        let (Some(time), Some(from), Some(to)) = (text(context, 0), text(context, 1), text(context, 2)) else {
            return Ok(None);
        };
        let moved = times::zoned(&Fields::kept(&time), &from).and_then(|kept| times::moved(&kept, &to));
        Ok(moved.and_then(|kept| times::local(&kept)).map(|(fields, _)| fields.text(DATETIME)))
    })?;
    connection.create_scalar_function("cub_from_unix", 2, impure, |context| {
        let (Some(seconds), Some(zone)) = (integer(context, 0), text(context, 1)) else { return Ok(None) };
        Ok(times::from_epoch(seconds, &zone).map(|fields| fields.text(TIMESTAMP)))
    })
}
