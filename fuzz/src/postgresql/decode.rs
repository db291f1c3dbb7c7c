//! Any bytes into every PostgreSQL decoder, binary and text: no panic, no unbounded memory.

use headrace_postgres::types::{Decoder, TypeRegistry, decode_row};
use headrace_testkit::CheckedSink;

const TYPES: &[u32] = &[
    16, 17, 18, 20, 21, 23, 25, 26, 114, 142, 600, 601, 602, 603, 604, 628, 650, 700, 701, 718, 774, 829, 869, 1007,
    1009, 1082, 1083, 1114, 1184, 1186, 1231, 1266, 1560, 1562, 1700, 2249, 2287, 2950, 3802, 3904, 3906, 3910, 4451,
    6150,
];

/// Gives the input to every decoder.
pub fn decode(data: &[u8]) {
    let Some((choice, rest)) = data.split_first() else { return };
    let registry = TypeRegistry::default();
    let oid = TYPES[usize::from(*choice) % TYPES.len()];
    for decoder in [Decoder::new(&registry, oid, -1).0, Decoder::new_text(&registry, oid, -1)] {
        let mut sink = CheckedSink::default();
        decoder.decode(rest, &mut sink);
        assert_eq!(sink.depth, 0, "a container was left open");
        let mut row = vec![0, 1];
        row.extend_from_slice(&(rest.len() as i32).to_be_bytes());
        row.extend_from_slice(rest);
        decode_row(std::slice::from_ref(&decoder), &row, &mut CheckedSink::default()).expect("well framed");
        let _ = decode_row(&[decoder], rest, &mut CheckedSink::default());
    }
}
