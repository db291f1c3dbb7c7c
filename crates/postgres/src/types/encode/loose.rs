//! Dates and times as asyncpg sends them: without what the type does not have, and the last of Python's as infinity.

use super::Encoder;
use crate::types::builtin::Scalar;
use crate::types::{EPOCH_DAYS, EPOCH_MICROS};
use headrace_core::civil::DAY_MICROS;
use headrace_core::{Value, ValueKind};

/// `date.min` and `date.max`, in days since 1970.
const DAYS: [i32; 2] = [-719_162, 2_932_896];
/// `datetime.min` and `datetime.max`, in microseconds since 1970.
const MICROS: [i64; 2] = [DAYS[0] as i64 * DAY_MICROS, (DAYS[1] as i64 + 1) * DAY_MICROS - 1];

impl Encoder {
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
