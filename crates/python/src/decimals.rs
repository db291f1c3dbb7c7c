//! `decimal.Decimal` made from its coefficient, without a detour over text.
//!
//! CPython has no C API for this. Its `decimal` module keeps a small number inside the object (libmpdec's `mpd_t` with
//! static data), and has done so in the same form since Python 3.3. [`Maker::probe`] verifies that: it makes some
//! numbers both ways and compares the objects field by field. If one differs (another implementation, another word
//! size, a future Python) there is no maker, and decimals are made from text.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// The limit of one word of a coefficient (`MPD_RADIX` of a 64-bit build).
const RADIX: u64 = 10_000_000_000_000_000_000;
/// Words inside the object (`_Py_DEC_MINALLOC`).
const WORDS: usize = 4;
/// `MPD_NEG`.
const NEGATIVE: u8 = 1;

/// `PyDecObject`: the object, its cached hash, `mpd_t`, and the words that its `data` points to.
#[repr(C)]
struct DecimalObject {
    head: ffi::PyObject,
    hash: ffi::Py_hash_t,
    flags: u8,
    exponent: ffi::Py_ssize_t,
    digits: ffi::Py_ssize_t,
    len: ffi::Py_ssize_t,
    alloc: ffi::Py_ssize_t,
    data: *mut u64,
    words: [u64; WORDS],
}

/// Makes decimals. Its existence is the proof that the layout is right.
#[derive(Debug)]
pub struct Maker {
    kind: Py<PyType>,
    flags: u8,
}

impl Maker {
    /// A maker for `kind`, which is `decimal.Decimal`; `None` if the layout differs from the one here.
    pub fn probe(kind: &Bound<'_, PyAny>) -> Option<Self> {
        let kind = kind.cast_exact::<PyType>().ok()?;
        if !has_layout(kind) {
            return None;
        }
        let zero = kind.call1(("0",)).ok()?;
        // SAFETY: `zero` is an instance of exactly `kind`, whose instances are as large as DecimalObject (has_layout),
        // so all of its bytes can be read.
        let flags = unsafe { (*zero.as_ptr().cast::<DecimalObject>()).flags };
        let maker = Self { kind: kind.clone().unbind(), flags };
        let radix = u128::from(RADIX);
        let coefficients = [0, 7, 12_345, radix - 1, radix, radix + 7, 1 << 64, 10u128.pow(38) - 1, 10u128.pow(38)];
        for coefficient in coefficients {
            for negative in [false, true] {
                for scale in [0, 2, 40] {
                    let sign = if negative { "-" } else { "" };
                    let text = PyString::new(kind.py(), &format!("{sign}{coefficient}E-{scale}"));
                    let right = kind.call1((text,)).ok()?;
                    let made = maker.make(kind.py(), negative, coefficient, scale)?;
                    if !same(&made, &right) {
                        return None;
                    }
                }
            }
        }
        Some(maker)
    }

    /// coefficient × 10^-scale. `None` with an exception set if there is no memory.
    #[inline]
    pub fn make<'py>(
        &self,
        py: Python<'py>,
        negative: bool,
        coefficient: u128,
        scale: u32,
    ) -> Option<Bound<'py, PyAny>> {
        let (words, len, digits) = match u64::try_from(coefficient) {
            Ok(small) => {
                let high = small / RADIX;
                ([small % RADIX, high, 0, 0], 1 + isize::from(high > 0), small.checked_ilog10())
            }
            Err(_) => {
                let radix = u128::from(RADIX);
                let high = coefficient / radix;
                let words = [(coefficient % radix) as u64, (high % radix) as u64, (high / radix) as u64, 0];
                (words, 2 + isize::from(words[2] > 0), coefficient.checked_ilog10())
            }
        };
        let kind = self.kind.as_ptr().cast::<ffi::PyTypeObject>();
        // SAFETY: `kind` is a type whose instances are DecimalObject (checked by `probe`; before that, has_layout has
        // checked the size, which is all that memory safety needs here). tp_alloc returns a new, zeroed instance
        // without other references. Every field is written before it is returned, and `data` points into the object
        // itself; the flags (static data) keep libmpdec from freeing it.
        unsafe {
            let object = (*kind).tp_alloc?(kind, 0);
            if object.is_null() {
                return None;
            }
            let decimal = object.cast::<DecimalObject>();
            (*decimal).hash = -1;
            (*decimal).flags = self.flags | if negative { NEGATIVE } else { 0 };
            (*decimal).exponent = -(scale as ffi::Py_ssize_t);
            (*decimal).digits = digits.map_or(1, |power| power as ffi::Py_ssize_t + 1);
            (*decimal).len = len;
            (*decimal).alloc = WORDS as ffi::Py_ssize_t;
            (*decimal).data = (&raw mut (*decimal).words).cast();
            (*decimal).words = words;
            Some(Bound::from_owned_ptr(py, object))
        }
    }
}

/// Returns true if instances of `kind` have the size of [`DecimalObject`]. Since Python 3.13 the collector tracks them;
/// tp_alloc sees to that.
fn has_layout(kind: &Bound<'_, PyType>) -> bool {
    let object = kind.as_type_ptr();
    // SAFETY: `kind` is a live type object, so its slots can be read.
    unsafe {
        (*object).tp_basicsize == size_of::<DecimalObject>() as ffi::Py_ssize_t
            && (*object).tp_itemsize == 0
            && (*object).tp_alloc.is_some()
    }
}

/// Returns true if two decimals are the same, field by field and by their repr in Python.
fn same(made: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> bool {
    let fields = |decimal: &Bound<'_, PyAny>| {
        let object = decimal.as_ptr().cast::<DecimalObject>();
        // SAFETY: both are instances of the type that has_layout checked. `words` is read only up to `len`, and never
        // beyond the array.
        unsafe {
            let used = usize::try_from((*object).len).unwrap_or(0).min(WORDS);
            let inside = (*object).data == (&raw mut (*object).words).cast();
            let words = (*object).words;
            (
                (*object).hash,
                (*object).flags,
                (*object).exponent,
                (*object).digits,
                (*object).alloc,
                inside,
                words[..used].to_vec(),
            )
        }
    };
    let shown = |decimal: &Bound<'_, PyAny>| decimal.str().ok().map(|text| text.to_string());
    fields(made) == fields(right) && shown(made) == shown(right) && shown(made).is_some()
}
