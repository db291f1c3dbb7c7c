//! Values as asyncpg sends them: dates and times without what the type does not have, and the last of Python's as infinity;
//! tuples for ranges, numbers for positions in the log and addresses, bytes for addresses and bits.

use super::{Encoder, Form};
use crate::types::builtin::Scalar;
use crate::types::{EPOCH_DAYS, EPOCH_MICROS, Oid};
use headrace_core::civil::DAY_MICROS;
use headrace_core::{Value, ValueKind};

/// `date.min` and `date.max`, in days since 1970.
const DAYS: [i32; 2] = [-719_162, 2_932_896];
/// `datetime.min` and `datetime.max`, in microseconds since 1970.
const MICROS: [i64; 2] = [DAYS[0] as i64 * DAY_MICROS, (DAYS[1] as i64 + 1) * DAY_MICROS - 1];

/// `pg_lsn`.
const LSN: Oid = 3220;
/// `cidr`.
const CIDR: Oid = 650;
/// `tid`.
const TID: Oid = 27;
/// `txid_snapshot` and `pg_snapshot`.
const SNAPSHOTS: [Oid; 2] = [2970, 5038];
/// Bits of an IPv4 address, and bytes of either.
const V4_BITS: u32 = 32;
const ADDRESS_BYTES: [usize; 2] = [4, 16];
/// `RANGE_EMPTY` to `RANGE_UB_INF` of rangetypes.h.
const EMPTY: u8 = 1;
const INCLUSIVE: [u8; 2] = [2, 4];
const INFINITE: [u8; 2] = [8, 16];

impl Encoder {
    /// Returns true if a tuple is one value of this type.
    pub(super) fn takes_tuples(&self) -> bool {
        let is_text_of_tuple = || self.oid == TID || SNAPSHOTS.contains(&self.oid);
        self.is_loose && (matches!(self.form, Form::Range(_)) || is_text_of_tuple())
    }

    /// Writes a range whose bounds are the items of a sequence: none of an empty one, both inclusive.
    pub(super) fn loose_range<V: Value>(&self, bound: &Self, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let count = value.len()?;
        if count > INFINITE.len() {
            return Err(self.wrong(value, ": it has two bounds"));
        }
        if count == 0 {
            out.push(EMPTY);
            return Ok(());
        }
        let at = out.len();
        out.push(0);
        for end in 0..INFINITE.len() {
            let item = if end < count { Some(value.item(end)?) } else { None };
            match item.filter(|item| item.kind() != ValueKind::Null) {
                Some(item) => {
                    out[at] |= INCLUSIVE[end];
                    bound.encode_binary(&item, out)?;
                }
                None => out[at] |= INFINITE[end],
            }
        }
        Ok(())
    }

    /// Writes an address that is a number or bytes, or bits that are bytes; returns false if that is done as for any other
    /// program.
    pub(super) fn loose_bytes<V: Value>(
        &self,
        scalar: Scalar,
        value: &V,
        kind: ValueKind,
        out: &mut Vec<u8>,
    ) -> Result<bool, V::Error> {
        let bytes = match (scalar, kind) {
            (Scalar::Inet | Scalar::Bits, ValueKind::Bytes) => value.with_bytes(<[u8]>::to_vec)?,
            (Scalar::Inet, ValueKind::Int) => match u64::try_from(value.int()?) {
                Ok(number) if number >> V4_BITS == 0 => (number as u32).to_be_bytes().to_vec(),
                Ok(number) => u128::from(number).to_be_bytes().to_vec(),
                Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        };
        if scalar == Scalar::Bits {
            out.extend_from_slice(&(bytes.len() as i32 * 8).to_be_bytes());
        } else if ADDRESS_BYTES.contains(&bytes.len()) {
            let (family, length) = (if bytes.len() == ADDRESS_BYTES[0] { 2 } else { 3 }, bytes.len() as u8);
            out.extend_from_slice(&[family, length * 8, u8::from(self.oid == CIDR), length]);
        } else {
            return Ok(false);
        }
        out.extend_from_slice(&bytes);
        Ok(true)
    }

    /// Writes the text of a position in the log that is a number, or of a snapshot that is a tuple; returns false if that is
    /// done as for any other program.
    pub(super) fn loose_text<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<bool, V::Error> {
        match kind {
            ValueKind::Int if self.oid == LSN => {
                let Ok(number) = u64::try_from(value.int()?) else {
                    return Err(self.outside(value, "a number of 0 or more"));
                };
                out.extend_from_slice(format!("{:X}/{:X}", number >> 32, number as u32).as_bytes());
            }
            ValueKind::Record if SNAPSHOTS.contains(&self.oid) && value.len()? == 3 => {
                let running = value.item(2)?;
                let running = (0..running.len()?).map(|i| running.item(i)?.int()).collect::<Result<Vec<_>, _>>()?;
                let running = running.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
                out.extend_from_slice(
                    format!("{}:{}:{running}", value.item(0)?.int()?, value.item(1)?.int()?).as_bytes(),
                );
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Writes a value of such a type; returns false if that is done as for any other program.
    pub(super) fn loose_time<V: Value>(
        scalar: Scalar,
        value: &V,
        kind: ValueKind,
        out: &mut Vec<u8>,
    ) -> Result<bool, V::Error> {
        match (scalar, kind) {
            (Scalar::Date, ValueKind::Date | ValueKind::Timestamp | ValueKind::TimestampTz) => {
                let days = match kind {
                    ValueKind::Date => value.date()?,
                    _ => value.timestamp()?.div_euclid(DAY_MICROS) as i32,
                };
                let sent = match days {
                    _ if days == DAYS[0] => i32::MIN,
                    _ if days == DAYS[1] => i32::MAX,
                    _ => days - EPOCH_DAYS,
                };
                out.extend_from_slice(&sent.to_be_bytes());
            }
            (Scalar::Timestamp | Scalar::TimestampTz, ValueKind::Timestamp | ValueKind::Date) => {
                let micros = value.timestamp()?;
                let sent = match scalar {
                    _ if micros == MICROS[0] => i64::MIN,
                    _ if micros == MICROS[1] => i64::MAX,
                    Scalar::Timestamp => micros - EPOCH_MICROS,
                    _ => return Ok(false),
                };
                out.extend_from_slice(&sent.to_be_bytes());
            }
            (Scalar::TimestampTz, ValueKind::TimestampTz) => match value.timestamptz()? {
                micros if micros == MICROS[0] => out.extend_from_slice(&i64::MIN.to_be_bytes()),
                micros if micros == MICROS[1] => out.extend_from_slice(&i64::MAX.to_be_bytes()),
                _ => return Ok(false),
            },
            (Scalar::Time, ValueKind::Timestamp | ValueKind::TimestampTz) => {
                out.extend_from_slice(&value.timestamp()?.rem_euclid(DAY_MICROS).to_be_bytes());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
