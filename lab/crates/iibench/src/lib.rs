//! The rows of iiBench's table, made as fast as a server can take them.
//!
//! Row `k` of a stream is a function of the seed, the stream and `k`, and of nothing else: the same on every machine,
//! in any order, by any number of processes. So the expected content of a table can be computed after a run.
//!
//! * [`calendar`]: the date of a time;
//! * [`random`]: SplitMix64, which can be entered at any place;
//! * [`rows`]: the columns of a row;
//! * [`text`]: whole blocks of rows as `VALUES` of an INSERT, or as COPY and LOAD DATA take them;
//! * [`sums`]: the sums of the columns over a range of rows.
#![forbid(unsafe_code)]

pub mod calendar;
pub mod random;
pub mod rows;
pub mod sums;
pub mod text;

pub use rows::{Invalid, Row, Rows, Shape};
pub use sums::Sums;
