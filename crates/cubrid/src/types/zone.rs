//! The instant of a local time in a zone.
//!
//! The server sends a TIMESTAMPTZ or DATETIMETZ as local time and the zone in which it was written: an offset
//! (`+09:30`), or a region and the abbreviation in force then (`Asia/Seoul KST`): it distinguishes both occurrences of a
//! repeated hour. The regions are those of the tz database that is compiled into this crate; a server whose own
//! version is older or newer may differ in regions whose rules have changed since.

use headrace_core::civil::{DAY_MICROS, civil_from_days};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use std::cell::RefCell;

thread_local! {
    /// The last region: the values of a column are mostly of one.
    static LAST: RefCell<Option<(String, TimeZone)>> = const { RefCell::new(None) };
}

/// The offset in seconds east of UTC of a zone at a local time in microseconds since 1970-01-01 00:00; `None` for a
/// zone that is not known.
pub fn offset(zone: &str, local_micros: i64) -> Option<i32> {
    match zone.as_bytes().first()? {
        b'+' | b'-' => fixed(zone),
        _ => {
            let (region, abbreviation) = zone.split_once(' ').unwrap_or((zone, ""));
            in_region(region, |zone| of_region(zone, abbreviation, local_micros)).flatten()
        }
    }
}

/// `+09:30`, `-08:00:30`.
fn fixed(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let mut parts = text[1..].split(':').map(|part| part.parse::<u16>().ok());
    let mut part = || parts.next().unwrap_or(Some(0)).map(i32::from);
    let seconds = part()? * 3600 + part()? * 60 + part()?;
    (seconds < 86_400 && parts.next().is_none()).then_some(sign * seconds)
}

fn in_region<R>(region: &str, use_it: impl FnOnce(&TimeZone) -> R) -> Option<R> {
    LAST.with_borrow_mut(|last| {
        if last.as_ref().is_none_or(|(name, _)| name != region) {
            *last = Some((region.to_owned(), TimeZoneDatabase::bundled().get(region).ok()?));
        }
        last.as_ref().map(|(_, zone)| use_it(zone))
    })
}

fn of_region(zone: &TimeZone, abbreviation: &str, local_micros: i64) -> Option<i32> {
    let (days, micros) = (local_micros.div_euclid(DAY_MICROS), local_micros.rem_euclid(DAY_MICROS));
    let (year, month, day) = civil_from_days(days);
    let seconds = micros / 1_000_000;
    let local = DateTime::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
        i8::try_from(seconds / 3600).ok()?,
        i8::try_from(seconds / 60 % 60).ok()?,
        i8::try_from(seconds % 60).ok()?,
        0,
    );
    let local = local.ok()?;
    let is_named = |offset: Offset| {
        let instant = offset.to_timestamp(local).ok()?;
        Some(zone.to_offset_info(instant).abbreviation() == abbreviation)
    };
    let offset =
        match zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { before, after } => {
                if is_named(before) != Some(true) && is_named(after) == Some(true) { after } else { before }
            }
        };
    Some(offset.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_core::civil::days_from_civil;

    #[test]
    fn zones_have_offsets() {
        let at = |year, month, day, hour: i64| days_from_civil(year, month, day) * DAY_MICROS + hour * 3_600_000_000;
        let summer = at(2024, 7, 1, 12);
        let winter = at(2024, 1, 1, 12);
        let repeated = at(2024, 11, 3, 1);
        for (zone, local, hours) in [
            ("+09:30", summer, Some(9.5)),
            ("-08:00", summer, Some(-8.0)),
            ("+00:00", winter, Some(0.0)),
            ("Asia/Seoul KST", winter, Some(9.0)),
            ("America/New_York EDT", summer, Some(-4.0)),
            ("America/New_York EST", winter, Some(-5.0)),
            ("America/New_York EDT", repeated, Some(-4.0)),
            ("America/New_York EST", repeated, Some(-5.0)),
            ("Asia/Seoul", winter, Some(9.0)),
            ("No/Where XXX", winter, None),
            ("+99:00", winter, None),
            ("+1:2:3:4", winter, None),
            ("", winter, None),
        ] {
            let found = offset(zone, local).map(|seconds| f64::from(seconds) / 3600.0);
            assert_eq!(found, hours, "{zone}");
        }
        assert_eq!(offset("-00:30:15", 0), Some(-1815));
    }
}
