//! Values in the forms that travel: base-100 numbers, dates and times, code sets.

pub mod charset;
pub mod clientvalue;
pub mod complex;
pub mod decimal;
pub mod int8;
pub mod timestamp;
