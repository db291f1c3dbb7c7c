//! Any bytes into every MySQL decoder, of both protocols, and any text past the lexer: no panic, no unbounded memory.
#![no_main]

use headrace_core::{Container, Inet, Sink};
use headrace_mysql::packets::capabilities::{Capabilities, ColumnFlags};
use headrace_mysql::packets::column::Column;
use headrace_mysql::packets::handshake::{HandshakeV10, auth_switch_request};
use headrace_mysql::packets::reply::{Completion, ServerError};
use headrace_mysql::sql::{Insert, Modes, Scan};
use headrace_mysql::types::{ColumnType, Decoder, decode_binary_row, decode_text_row};
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
        custom(t: u32, b: bool, v: &[u8]); no_such_date(t: &str); invalid(w: &str);
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

const EXTENDED: [Option<&str>; 4] = [None, Some("uuid"), Some("inet6"), Some("vector")];

fuzz_target!(|data: &[u8]| {
    let [kind, choice, rest @ ..] = data else { return };
    let column = Column {
        kind: ColumnType(*kind),
        flags: ColumnFlags::from_bits_retain(u16::from(choice & 1) << 5),
        collation: if choice & 2 == 0 { 45 } else { 63 },
        length: u32::from(choice >> 5),
        extended_type: EXTENDED[usize::from(choice >> 2 & 3)].map(str::to_owned),
        extended_format: (choice & 16 != 0).then(|| "json".to_owned()),
        schema: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: String::new(),
        org_name: String::new(),
        decimals: 0,
    };
    let decoders = vec![Decoder::new(&column); 1 + usize::from(choice >> 6)];
    for decode in [decode_binary_row::<Depth>, decode_text_row::<Depth>] {
        let mut sink = Depth::default();
        let _ = decode(&decoders, rest, &mut sink);
        assert_eq!(sink.0, 0, "a container was left open");
    }
    for capabilities in [Capabilities::all(), Capabilities::PROTOCOL_41] {
        let _ = Column::read(rest, capabilities);
        let _ = Completion::read_ok(rest, capabilities);
    }
    let _ = (Completion::read_eof(rest), ServerError::read(rest), HandshakeV10::read(rest), auth_switch_request(rest));
    let sql = String::from_utf8_lossy(rest);
    for no_backslash_escapes in [false, true] {
        let modes = Modes { no_backslash_escapes, ansi_quotes: choice & 1 == 1 };
        let scan = Scan::new(&sql, modes);
        assert!(scan.placeholders.iter().all(|at| sql.as_bytes()[*at] == b'?'));
        if let Some(insert) = Insert::new(&sql, modes) {
            assert_eq!(insert.parameters(), scan.placeholders.len());
        }
    }
});
