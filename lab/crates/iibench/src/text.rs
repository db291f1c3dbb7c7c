//! Whole blocks of rows as text. The data has no character that a database requires to be escaped.

use crate::calendar::date_of_days;
use crate::rows::{ROWS_PER_SECOND, Row, Rows};
use std::hint::black_box;

/// Maximum size of a row in bytes, without its data: the time in quotes, four numbers of ten digits, and what is
/// between.
const ROW_BYTES: usize = 80;
const STAMP_BYTES: usize = 19;
/// The number of rows whose data is fetched from memory at a time.
const GROUP: u64 = 32;
const DAY: i64 = 86_400;

/// Adds `count` rows from row `first` on as `(...),(...)`, the order of columns being that of the table.
///
/// # Examples
/// ```
/// # use headrace_iibench::{Rows, Shape, text};
/// let rows = Rows::new(1, 0, Shape { data_random_percent: 0, data_length_max: 10, ..Shape::default() })?;
/// let mut out = b"INSERT INTO t VALUES ".to_vec();
/// text::values(&rows, 0, 1, &mut out);
/// assert!(out.starts_with(b"INSERT INTO t VALUES ('2020-01-01 00:00:00',"));
/// assert!(out.ends_with(b",'aaaaaaaaaa')"));
/// # Ok::<(), headrace_iibench::Invalid>(())
/// ```
pub fn values(rows: &Rows, first: u64, count: u64, out: &mut Vec<u8>) {
    lines(rows, first, count, out, VALUES);
    if count > 0 {
        out.pop();
    }
}

/// Adds `count` rows from row `first` on as lines of columns separated by tabs: the text format of COPY, and the
/// default of LOAD DATA.
pub fn tabbed(rows: &Rows, first: u64, count: u64, out: &mut Vec<u8>) {
    lines(rows, first, count, out, TABBED);
}

/// `blocks` blocks of `count` rows each, from row `first` on, each after a copy of `head`: the same as that many calls
/// of [`values`], but cheaper for small blocks.
pub fn blocks(rows: &Rows, head: &[u8], first: u64, count: u64, blocks: u64) -> Vec<Vec<u8>> {
    let mut writer = Writer::new(rows, VALUES, first, first.saturating_add(count.saturating_mul(blocks)));
    let made = (0..blocks).map(|_| {
        let mut out = Vec::with_capacity(head.len() + writer.bytes(count));
        out.extend_from_slice(head);
        writer.write(count, &mut out);
        if count > 0 {
            out.pop();
        }
        out
    });
    made.collect()
}

/// The text before the time, after it, between numbers, before the data, and after it.
struct Marks {
    open: &'static str,
    after_time: &'static str,
    between: u8,
    before_data: &'static str,
    close: &'static [u8],
}

const VALUES: Marks = Marks { open: "('", after_time: "',", between: b',', before_data: ",'", close: b"')," };
const TABBED: Marks = Marks { open: "", after_time: "\t", between: b'\t', before_data: "\t", close: b"\n" };

fn lines(rows: &Rows, first: u64, count: u64, out: &mut Vec<u8>, marks: Marks) {
    let mut writer = Writer::new(rows, marks, first, first.saturating_add(count));
    out.reserve(writer.bytes(count));
    writer.write(count, out);
}

/// Writes rows one after the other.
struct Writer<'a> {
    rows: &'a Rows,
    marks: Marks,
    start: Start,
    digits: itoa::Buffer,
    /// The next row, and the one after the last.
    next: u64,
    end: u64,
    /// Rows from the next one on, the last of them first.
    group: Vec<Row<'a>>,
}

impl<'a> Writer<'a> {
    fn new(rows: &'a Rows, marks: Marks, first: u64, end: u64) -> Self {
        let group = Vec::with_capacity(GROUP as usize);
        Self { rows, marks, start: Start::default(), digits: itoa::Buffer::new(), next: first, end, group }
    }

    /// Maximum size of `rows` rows in bytes.
    fn bytes(&self, count: u64) -> usize {
        usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(ROW_BYTES + self.rows.data_max())
    }

    /// Makes a group of rows and prefetches their data. Its positions in the noise are random, and their cache lines
    /// are evicted before the next block; requested together they are fetched in parallel. With cold caches 1,000 rows
    /// took 0.29 µs each one by one, and 0.12 µs in groups.
    fn make(&mut self) {
        let last = self.next.saturating_add(GROUP).min(self.end);
        self.group.extend((self.next..last).rev().map(|k| self.rows.row(k)));
        black_box(self.group.iter().fold(0, |sum, row| sum ^ row.random.first().copied().unwrap_or_default()));
    }

    /// Adds the next `count` rows, of those that the writer was made for.
    fn write(&mut self, count: u64, out: &mut Vec<u8>) {
        for _ in 0..count {
            if self.group.is_empty() {
                self.make();
            }
            let Some(row) = self.group.pop() else { return };
            out.extend_from_slice(self.start.text(&self.marks, &row, self.next));
            self.next += 1;
            out.extend_from_slice(self.digits.format(row.cash_register).as_bytes());
            for number in [row.customer, row.product, row.price] {
                out.push(self.marks.between);
                out.extend_from_slice(self.digits.format(number).as_bytes());
            }
            out.extend_from_slice(self.marks.before_data.as_bytes());
            row.push_data(out);
            out.extend_from_slice(self.marks.close);
        }
    }
}

/// The beginning of the last row, up to its first number: most rows share it with the one before.
#[derive(Debug, Default)]
struct Start {
    second: Option<u64>,
    text: Vec<u8>,
}

impl Start {
    fn text(&mut self, marks: &Marks, row: &Row<'_>, k: u64) -> &[u8] {
        let second = k / ROWS_PER_SECOND;
        if self.second != Some(second) {
            self.second = Some(second);
            let mut time = [0; STAMP_BYTES];
            stamp(row.time, &mut time);
            self.text.clear();
            for part in [marks.open.as_bytes(), &time, marks.after_time.as_bytes()] {
                self.text.extend_from_slice(part);
            }
        }
        &self.text
    }
}

/// Seconds since 1970 as `YYYY-MM-DD HH:MM:SS`, up to the year 9999. Not by `format!`: small blocks are made of little
/// else, and five rows took 0.73 µs with it and take 0.53 µs so.
fn stamp(time: i64, out: &mut [u8; STAMP_BYTES]) {
    let (year, month, day) = date_of_days(time.div_euclid(DAY));
    let second = time.rem_euclid(DAY);
    out.copy_from_slice(b"0000-00-00 00:00:00");
    let mut put = |at: usize, width: usize, mut value: i64| {
        for digit in out[at..at + width].iter_mut().rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
        }
    };
    put(0, 4, year);
    put(5, 2, i64::from(month));
    put(8, 2, i64::from(day));
    put(11, 2, second / 3600);
    put(14, 2, second / 60 % 60);
    put(17, 2, second % 60);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn text(make: fn(&Rows, u64, u64, &mut Vec<u8>), first: u64, count: u64) -> String {
        let rows = Rows::new(42, 0, Shape::default()).expect("a valid shape");
        let mut out = Vec::new();
        make(&rows, first, count, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn the_first_rows_of_a_seed_are_what_they_were() {
        // Published results stay comparable only while this test passes.
        assert_eq!(text(tabbed, 0, 3), KNOWN);
    }

    const KNOWN: &str = "2020-01-01 00:00:00\t343\t39478\t9557\t497\taaaaal2uYQ\n\
                         2020-01-01 00:00:00\t67\t43578\t6769\t193\taaaaaiNdrJ\n\
                         2020-01-01 00:00:00\t195\t20359\t7347\t398\taaaaaNpG2d\n";

    #[test]
    fn a_block_is_its_rows_one_after_the_other() {
        for make in [values, tabbed] {
            let comma = if text(make, 0, 1).ends_with('\n') { "" } else { "," };
            let one_by_one: Vec<String> = (990..1_010).map(|k| text(make, k, 1)).collect();
            assert_eq!(text(make, 990, 20), one_by_one.join(comma));
            assert_eq!(text(make, 7, 0), "");
        }
    }

    #[test]
    fn blocks_made_together_are_those_made_one_by_one() {
        let rows = Rows::new(42, 0, Shape::default()).expect("a valid shape");
        for (count, number) in [(5, 20), (1, 3), (50, 2), (0, 2), (7, 0)] {
            let together = blocks(&rows, b"head ", 990, count, number);
            let alone: Vec<Vec<u8>> = (0..number)
                .map(|n| {
                    let mut out = b"head ".to_vec();
                    values(&rows, 990 + n * count, count, &mut out);
                    out
                })
                .collect();
            assert_eq!(together, alone);
        }
    }

    #[test]
    fn both_formats_have_the_same_values() {
        let bare = |text: String| text.replace(['(', ')', '\''], "").replace([',', '\n'], "\t");
        let one = |make, k| bare(text(make, k, 1)).trim_end().to_owned();
        for k in [0, 999, 1_000, 123_456_789] {
            assert_eq!(one(values, k), one(tabbed, k));
        }
    }

    #[test]
    fn times_are_civil() {
        for (time, expected) in [
            (1_577_836_800, "2020-01-01 00:00:00"),
            (1_709_164_800, "2024-02-29 00:00:00"),
            (1_735_689_599, "2024-12-31 23:59:59"),
            (253_402_300_799, "9999-12-31 23:59:59"),
        ] {
            let mut out = [0; STAMP_BYTES];
            stamp(time, &mut out);
            assert_eq!(out, expected.as_bytes());
        }
    }
}
