//! A sink for values out of any bytes.

use headrace_core::{Container, Inet, Sink};

/// Checks that containers are balanced, and what a sink may rely on.
#[derive(Default)]
pub struct Depth(pub usize);

macro_rules! swallow {
    ($($name:ident($($arg:ident: $kind:ty),*);)*) => { $(fn $name(&mut self, $($arg: $kind),*) { let _ = ($($arg,)*); })* };
}

impl Sink for Depth {
    swallow! {
        begin_row(n: usize); end_row(); null(); bool(v: bool); int(v: i64); uint(v: u64); float(v: f64);
        text(v: &[u8]); bytes(v: &[u8]); date(v: i32); time(v: i64); timetz(v: i64, o: i32); timestamp(v: i64);
        timestamptz(v: i64); interval(m: i32, d: i32, u: i64); uuid(v: &[u8; 16]); json(v: &[u8]);
        custom(t: u32, b: bool, v: &[u8]); invalid(w: &str);
    }
    fn decimal(&mut self, ascii: &str) {
        assert!(ascii.is_ascii() && !ascii.is_empty());
    }
    fn inet(&mut self, value: Inet<'_>) {
        assert!(matches!(value.address.len(), 4 | 16) && usize::from(value.prefix) <= value.address.len() * 8);
    }
    fn bits(&mut self, bits: usize, bytes: &[u8]) {
        assert_eq!(bytes.len(), bits.div_ceil(8));
    }
    fn begin(&mut self, _: Container, _: usize) {
        self.0 += 1;
    }
    fn end(&mut self) {
        self.0 -= 1;
    }
}
