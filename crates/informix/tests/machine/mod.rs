//! The machine, on bytes.

mod definitions;
mod input;
mod insert_cursor;
mod interrupt;
mod locale;
mod replay;
mod side_by_side;
mod stages;
mod transitions;
