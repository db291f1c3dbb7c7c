//! The sums of the columns over a range of rows, which a server can compute as well.

use crate::rows::Rows;
use crate::text::tabbed;

/// The number of rows whose text is in memory at a time.
const BLOCK_ROWS: u64 = 1_024;
/// FNV-1a with 64 bits.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Sums over rows. Two of them can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Rows.
    pub rows: u64,
    /// Of the column cashregisterid.
    pub cash_register: u64,
    /// Of the column customerid.
    pub customer: u64,
    /// Of the column productid.
    pub product: u64,
    /// Of the column price.
    pub price: u64,
    /// Of the lengths of data, in bytes.
    pub data_bytes: u64,
    /// Of the codes of the last characters of data; 0 for a row without.
    pub data_last: u64,
    /// Seconds since 1970 of the earliest row. 0 without rows.
    pub time_min: i64,
    /// Seconds since 1970 of the latest row. 0 without rows.
    pub time_max: i64,
    /// The checksum: FNV-1a of each row's line in the text format of COPY, added without regard to order or overflow.
    pub checksum: u64,
}

impl Sums {
    /// Of `count` rows from row `first` on.
    pub fn of(rows: &Rows, first: u64, count: u64) -> Self {
        let end = first.saturating_add(count);
        let mut sums = Self { rows: end - first, ..Self::default() };
        if end > first {
            (sums.time_min, sums.time_max) = (rows.row(first).time, rows.row(end - 1).time);
        }
        let mut text = Vec::new();
        let mut at = first;
        while at < end {
            let block = BLOCK_ROWS.min(end - at);
            text.clear();
            tabbed(rows, at, block, &mut text);
            for (k, line) in (at..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
                let row = rows.row(k);
                sums.cash_register += u64::from(row.cash_register);
                sums.customer += u64::from(row.customer);
                sums.product += u64::from(row.product);
                sums.price += u64::from(row.price);
                sums.data_bytes += (row.plain + row.random.len()) as u64;
                let plain = if row.plain > 0 { b'a' } else { 0 };
                sums.data_last += u64::from(row.random.last().copied().unwrap_or(plain));
                sums.checksum = sums.checksum.wrapping_add(fnv(line));
            }
            at += block;
        }
        sums
    }
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn rows() -> Rows {
        Rows::new(42, 0, Shape { data_length_min: 0, data_length_max: 12, ..Shape::default() }).expect("a valid shape")
    }

    #[test]
    fn sums_are_those_of_the_text() {
        let rows = rows();
        let mut text = Vec::new();
        tabbed(&rows, 5_000, 2_500, &mut text);
        let mut plain = Sums { rows: 2_500, time_min: 1_577_836_805, time_max: 1_577_836_807, ..Sums::default() };
        for line in String::from_utf8(text).expect("text").lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| columns[at].parse::<u64>().expect("a number");
            plain.cash_register += number(1);
            plain.customer += number(2);
            plain.product += number(3);
            plain.price += number(4);
            plain.data_bytes += columns[5].len() as u64;
            plain.data_last += u64::from(columns[5].bytes().last().unwrap_or(0));
            plain.checksum = plain.checksum.wrapping_add(fnv(format!("{line}\n").as_bytes()));
        }
        assert_eq!(Sums::of(&rows, 5_000, 2_500), plain);
    }

    #[test]
    fn no_rows_add_up_to_nothing() {
        assert_eq!(Sums::of(&rows(), 7, 0), Sums::default());
    }

    #[test]
    fn the_checksum_is_fnv() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
