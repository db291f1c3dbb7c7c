//! Any bytes into every PostgreSQL decoder, binary and text: no panic, no unbounded memory.
#![no_main]

use headrace_core::{Container, Inet, Sink};
use headrace_postgres::types::{Decoder, TypeRegistry, decode_row};
use libfuzzer_sys::fuzz_target;

/// Checks that containers are balanced.
#[derive(Default)]
struct Depth(usize);

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

const TYPES: &[u32] = &[
    16, 17, 18, 20, 21, 23, 25, 26, 114, 142, 600, 601, 602, 603, 604, 628, 650, 700, 701, 718, 774, 829, 869, 1007, 1009, 1082,
    1083, 1114, 1184, 1186, 1231, 1266, 1560, 1562, 1700, 2249, 2287, 2950, 3802, 3904, 3906, 3910, 4451, 6150,
];

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let registry = TypeRegistry::default();
    let oid = TYPES[usize::from(*choice) % TYPES.len()];
    for decoder in [Decoder::new(&registry, oid, -1).0, Decoder::new_text(&registry, oid, -1)] {
        let mut sink = Depth::default();
        decoder.decode(rest, &mut sink);
        assert_eq!(sink.0, 0, "a container was left open");
        let mut row = vec![0, 1];
        row.extend_from_slice(&(rest.len() as i32).to_be_bytes());
        row.extend_from_slice(rest);
        decode_row(std::slice::from_ref(&decoder), &row, &mut Depth::default()).expect("well framed");
        let _ = decode_row(&[decoder], rest, &mut Depth::default());
    }
});
