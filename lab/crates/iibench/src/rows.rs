//! The columns of a row.

use crate::random::{below, halves, output};
use std::fmt;
use std::sync::Arc;

/// Seconds from 1970 to the time of every stream's first rows, 2020-01-01 00:00:00.
pub const TIME_ORIGIN: i64 = 1_577_836_800;
/// The number of consecutive rows with the same time: the clock of a stream advances by a second after that many rows.
pub const ROWS_PER_SECOND: u64 = 1_000;
/// Bytes of random text that the data of rows is cut from.
pub const NOISE_BYTES: usize = 4 << 20;
/// Bytes of data that a row may have: the width of the column.
pub const DATA_BYTES_MAX: u32 = 4_000;
/// Streams of one seed.
pub const STREAMS: u32 = 1 << 20;

/// The output of the seed's own generator from which the noise begins; the outputs before it seed the streams.
const NOISE_KEY: u64 = 1 << 63;
/// Outputs that each row has to itself.
const OUTPUTS_PER_ROW: u64 = 3;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The ranges of the values of rows: all uniform, all below these limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Cash registers.
    pub cash_registers: u32,
    /// Customers.
    pub customers: u32,
    /// Products.
    pub products: u32,
    /// Prices.
    pub max_price: u32,
    /// Bytes of data, at least.
    pub data_length_min: u32,
    /// Bytes of data, at most.
    pub data_length_max: u32,
    /// Of each row's data, the percentage that is random text; the rest is the letter `a`, which compresses to nothing.
    pub data_random_percent: u32,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            cash_registers: 1_000,
            customers: 100_000,
            products: 10_000,
            max_price: 500,
            data_length_min: 10,
            data_length_max: 10,
            data_random_percent: 50,
        }
    }
}

/// Why rows of this shape cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// A stream of rows.
#[derive(Clone, Debug)]
pub struct Rows {
    key: u64,
    shape: Shape,
    noise: Arc<[u8]>,
}

/// One row. The server generates its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Seconds since 1970, without a time zone.
    pub time: i64,
    /// Cash register.
    pub cash_register: u32,
    /// Customer.
    pub customer: u32,
    /// Product.
    pub product: u32,
    /// Price.
    pub price: u32,
    /// The number of letters `a` that the data begins with.
    pub plain: usize,
    /// The rest of the data.
    pub random: &'a [u8],
}

impl Rows {
    /// The rows of stream number `stream` of a seed.
    ///
    /// # Errors
    /// [`Invalid`] if the shape or the stream is out of range.
    pub fn new(seed: u64, stream: u32, shape: Shape) -> Result<Self, Invalid> {
        for (name, value) in [
            ("cash registers", shape.cash_registers),
            ("customers", shape.customers),
            ("products", shape.products),
            ("the highest price", shape.max_price),
        ] {
            if !(1..=i32::MAX as u32).contains(&value) {
                return Err(Invalid(format!("{name} must be 1 to {}, not {value}", i32::MAX)));
            }
        }
        if shape.data_length_min > shape.data_length_max || shape.data_length_max > DATA_BYTES_MAX {
            return Err(Invalid(format!(
                "the length of data must be a range within 0 to {DATA_BYTES_MAX}, not {} to {}",
                shape.data_length_min, shape.data_length_max
            )));
        }
        if shape.data_random_percent > 100 {
            return Err(Invalid(format!("{} % of the data cannot be random", shape.data_random_percent)));
        }
        if stream >= STREAMS {
            return Err(Invalid(format!("the stream must be below {STREAMS}, not {stream}")));
        }
        let random = shape.data_random_percent > 0 && shape.data_length_max > 0;
        let noise = if random { noise(output(seed, NOISE_KEY)) } else { Arc::from([]) };
        Ok(Self { key: output(seed, u64::from(stream)), shape, noise })
    }

    /// Row `k`, counted from 0.
    pub fn row(&self, k: u64) -> Row<'_> {
        let first = k.wrapping_mul(OUTPUTS_PER_ROW);
        let (cash_register, customer) = halves(output(self.key, first));
        let (product, price) = halves(output(self.key, first.wrapping_add(1)));
        let (length, place) = halves(output(self.key, first.wrapping_add(2)));
        let Shape { data_length_min, data_length_max, data_random_percent, .. } = self.shape;
        let length = data_length_min + below(length, data_length_max - data_length_min + 1);
        let random = (length * data_random_percent / 100) as usize;
        let random = if random == 0 {
            &[][..]
        } else {
            let place = below(place, (NOISE_BYTES - random) as u32 + 1) as usize;
            &self.noise[place..place + random]
        };
        Row {
            time: TIME_ORIGIN.saturating_add((k / ROWS_PER_SECOND) as i64),
            cash_register: below(cash_register, self.shape.cash_registers),
            customer: below(customer, self.shape.customers),
            product: below(product, self.shape.products),
            price: below(price, self.shape.max_price),
            plain: length as usize - random.len(),
            random,
        }
    }

    /// The most bytes of data that a row has.
    pub fn data_max(&self) -> usize {
        self.shape.data_length_max as usize
    }
}

impl Row<'_> {
    /// Adds the data to `out`.
    pub fn push_data(&self, out: &mut Vec<u8>) {
        out.resize(out.len() + self.plain, b'a');
        out.extend_from_slice(self.random);
    }
}

/// Random text: ten characters of base64 from each output.
fn noise(key: u64) -> Arc<[u8]> {
    let mut out = Vec::with_capacity(NOISE_BYTES + 10);
    let mut n = 0;
    while out.len() < NOISE_BYTES {
        let mut bits = output(key, n);
        for _ in 0..10 {
            out.push(ALPHABET[(bits & 63) as usize]);
            bits >>= 6;
        }
        n += 1;
    }
    out.truncate(NOISE_BYTES);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_that_cannot_be_is_refused() {
        let shape = Shape::default;
        for wrong in [
            Shape { customers: 0, ..shape() },
            Shape { max_price: u32::MAX, ..shape() },
            Shape { data_length_min: 11, ..shape() },
            Shape { data_length_max: DATA_BYTES_MAX + 1, ..shape() },
            Shape { data_random_percent: 101, ..shape() },
        ] {
            assert!(Rows::new(1, 0, wrong.clone()).is_err(), "{wrong:?}");
        }
        assert!(Rows::new(1, STREAMS, shape()).is_err());
        assert!(Rows::new(1, STREAMS - 1, shape()).is_ok());
    }

    #[test]
    fn values_are_uniform_below_their_bounds() {
        let shape =
            Shape { cash_registers: 10, products: 7, data_length_min: 0, data_length_max: 9, ..Shape::default() };
        let rows = Rows::new(3, 0, shape).expect("a valid shape");
        let mut registers = [0u32; 10];
        let mut products = [0u32; 7];
        let mut lengths = [0u32; 10];
        for k in 0..70_000 {
            let row = rows.row(k);
            registers[row.cash_register as usize] += 1;
            products[row.product as usize] += 1;
            lengths[row.plain + row.random.len()] += 1;
            assert!(row.customer < 100_000 && row.price < 500);
            assert_eq!(row.random.len(), (row.plain + row.random.len()) / 2);
        }
        // Five standard deviations of a count.
        for (counts, expected) in [(&registers[..], 7_000.0f64), (&products[..], 10_000.0), (&lengths[..], 7_000.0)] {
            for count in counts {
                assert!((f64::from(*count) - expected).abs() < 5.0 * expected.sqrt(), "{counts:?}");
            }
        }
    }

    #[test]
    fn streams_and_seeds_have_rows_of_their_own() {
        let row = |seed, stream, k| {
            let rows = Rows::new(seed, stream, Shape::default()).expect("a valid shape");
            let row = rows.row(k);
            (row.customer, row.product, row.price, row.random.to_vec())
        };
        assert_eq!(row(1, 0, 5), row(1, 0, 5));
        assert_ne!(row(1, 0, 5), row(1, 0, 6));
        assert_ne!(row(1, 0, 5), row(1, 1, 5));
        assert_ne!(row(1, 0, 5), row(2, 0, 5));
    }

    #[test]
    fn rows_can_be_numbered_to_the_end() {
        let rows = Rows::new(1, 0, Shape::default()).expect("a valid shape");
        assert!(rows.row(u64::MAX).customer < 100_000);
        assert_eq!(rows.row(1 << 33).time, TIME_ORIGIN + (1 << 33) / 1_000);
    }
}
