//! The functions that a driver manager looks for: `AdbcDriverHeadraceInit`, which is named after the library, and
//! `AdbcDriverInit`.
//!
//! This is the only module with unsafe code. It is made by the macro of `adbc_ffi`, and has no name in common with any
//! other library. The driver manager has to keep what `adbc.h` demands of it: the pointer leads to a `struct AdbcDriver`
//! of the version that is passed with it, and that to an error is null or leads to a `struct AdbcError`. The macro checks
//! both for null, refuses every version but 1.1.0, and writes the whole structure.
#![allow(missing_docs, clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]

adbc_ffi::export_driver!(AdbcDriverHeadraceInit, crate::HeadraceDriver);
