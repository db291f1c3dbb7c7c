//! Histograms of times, in the buckets of HdrHistogram: three significant digits from a nanosecond to an hour.

use hdrhistogram::Histogram as Hdr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Mutex;

/// Nanoseconds: longer times are counted as this one.
const LONGEST: u64 = 3_600_000_000_000;
/// Significant digits: a value is known to a thousandth of it.
const DIGITS: u8 = 3;

/// A histogram of durations in nanoseconds.
#[pyclass(frozen, module = "headrace_lab._iibench")]
#[derive(Debug)]
pub struct Histogram {
    counts: Mutex<Hdr<u64>>,
}

impl Histogram {
    fn with<T>(&self, what: impl FnOnce(&mut Hdr<u64>) -> T) -> T {
        // No change can panic halfway while the lock is held.
        what(&mut self.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

#[pymethods]
impl Histogram {
    #[new]
    fn new() -> PyResult<Self> {
        let made = Hdr::new_with_bounds(1, LONGEST, DIGITS).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(Self { counts: Mutex::new(made) })
    }

    /// Adds a time, `count` times. A time longer than an hour counts as an hour, a negative one as zero.
    #[pyo3(signature = (nanoseconds, count=1))]
    fn record(&self, nanoseconds: i64, count: u64) {
        let value = u64::try_from(nanoseconds).unwrap_or(0).min(LONGEST);
        self.with(|counts| counts.saturating_record_n(value, count));
    }

    /// Adds the :meth:`buckets` of another histogram.
    fn add(&self, buckets: Vec<(u64, u64)>) {
        self.with(|counts| {
            for (value, count) in buckets {
                counts.saturating_record_n(value.min(LONGEST), count);
            }
        });
    }

    /// The buckets that are not empty, as pairs of a value that belongs to the bucket and its count.
    fn buckets(&self) -> Vec<(u64, u64)> {
        self.with(|counts| counts.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect())
    }

    /// The time that `percent` of all times do not exceed, to a thousandth of it; 0 without times.
    fn percentile(&self, percent: f64) -> u64 {
        self.with(|counts| counts.value_at_percentile(percent).min(counts.max()))
    }

    /// The longest time, to a thousandth of it; 0 without times.
    fn max(&self) -> u64 {
        self.with(|counts| counts.max())
    }

    /// The mean, 0 without times.
    fn mean(&self) -> f64 {
        self.with(|counts| counts.mean())
    }

    /// Forgets everything.
    fn clear(&self) {
        self.with(Hdr::reset);
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.with(|counts| counts.len())).unwrap_or(usize::MAX)
    }
}
