//! Dates, times and intervals in binary form.

use super::Encoder;
use crate::types::builtin::Scalar;
use crate::types::{EPOCH_DAYS, EPOCH_MICROS};
use headrace_core::{Value, ValueKind};

impl Encoder {
    #[inline]
    pub(super) fn temporal<V: Value>(
        &self,
        scalar: Scalar,
        value: &V,
        kind: ValueKind,
        out: &mut Vec<u8>,
    ) -> Result<(), V::Error> {
        match (scalar, kind) {
            (Scalar::Date, ValueKind::Date) => {
                out.extend_from_slice(&(value.date()? - EPOCH_DAYS).to_be_bytes());
            }
            (Scalar::Date, ValueKind::Timestamp) => {
                let micros = value.timestamp()?;
                let day = headrace_core::civil::DAY_MICROS;
                if micros.rem_euclid(day) != 0 {
                    return Err(self.wrong(value, ": its time of day would be lost; call .date() on it"));
                }
                out.extend_from_slice(&((micros.div_euclid(day)) as i32 - EPOCH_DAYS).to_be_bytes());
            }
            (Scalar::Timestamp, ValueKind::Timestamp | ValueKind::Date) => {
                out.extend_from_slice(&(value.timestamp()? - EPOCH_MICROS).to_be_bytes());
            }
            (Scalar::Timestamp, ValueKind::TimestampTz) => {
                return Err(self.wrong(value, ": its zone would be lost; the column could be timestamptz"));
            }
            (Scalar::TimestampTz, ValueKind::TimestampTz | ValueKind::Timestamp | ValueKind::Date) => {
                out.extend_from_slice(&(value.timestamptz()? - EPOCH_MICROS).to_be_bytes());
            }
            (Scalar::Time, ValueKind::Time) => out.extend_from_slice(&value.time()?.to_be_bytes()),
            (Scalar::TimeTz, ValueKind::TimeTz | ValueKind::Time) => {
                let (micros, east) = value.timetz()?;
                out.extend_from_slice(&micros.to_be_bytes());
                out.extend_from_slice(&(-east).to_be_bytes());
            }
            (Scalar::Interval, ValueKind::Interval) => {
                let (months, days, micros) = value.interval()?;
                out.extend_from_slice(&micros.to_be_bytes());
                out.extend_from_slice(&days.to_be_bytes());
                out.extend_from_slice(&months.to_be_bytes());
            }
            _ => return Err(self.wrong(value, "")),
        }
        Ok(())
    }
}
