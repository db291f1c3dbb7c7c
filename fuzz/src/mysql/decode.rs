//! Any bytes into every decoder of MySQL's two protocols, and any text past the lexer: no panic, no unbounded memory.

use headrace_mysql::errors::Numbering;
use headrace_mysql::packets::capabilities::Capabilities;
use headrace_mysql::packets::column::{Column, PrepareOk};
use headrace_mysql::packets::compress::{self, Algorithm};
use headrace_mysql::packets::handshake::{HandshakeV10, auth_switch_request};
use headrace_mysql::packets::reply::{Completion, ServerError};
use headrace_mysql::sql::{Insert, Modes, Scan};
use headrace_mysql::types::{Decoder, decode_binary_row, decode_text_row};
use headrace_testkit::CheckedSink;

const DECODERS: [Decoder; 24] = [
    Decoder::Null,
    Decoder::Int(1),
    Decoder::Int(2),
    Decoder::Int(4),
    Decoder::Int(8),
    Decoder::UInt(1),
    Decoder::UInt(2),
    Decoder::UInt(4),
    Decoder::UInt(8),
    Decoder::Float,
    Decoder::Double,
    Decoder::Decimal,
    Decoder::Date,
    Decoder::DateTime,
    Decoder::Time,
    Decoder::Bits(13),
    Decoder::DecimalBits(13),
    Decoder::DoubtfulBits(16),
    Decoder::Text,
    Decoder::Bytes,
    Decoder::Json,
    Decoder::Uuid,
    Decoder::Inet,
    Decoder::Vector,
];

/// Gives the input to every decoder.
pub fn decode(data: &[u8]) {
    let [choice, other, rest @ ..] = data else { return };
    let decoders = [DECODERS[usize::from(*choice) % 22], DECODERS[usize::from(*other) % 22]];
    for decoders in [&decoders[..1], &decoders] {
        for decode in [decode_binary_row::<CheckedSink>, decode_text_row::<CheckedSink>] {
            let mut sink = CheckedSink::default();
            if decode(decoders, rest, &mut sink).is_ok() {
                assert_eq!(sink.depth, 0, "a container was left open");
            }
        }
        // A well-formed row around a value of any bytes.
        if let Ok(len) = u8::try_from(rest.len())
            && len < 0xfb
        {
            let row = [&[len], rest].concat();
            let _ = decode_text_row(&decoders[..1], &row, &mut CheckedSink::default());
            let _ = decode_binary_row(&decoders[..1], &[&[0, 0], &row[..]].concat(), &mut CheckedSink::default());
        }
    }
    for capabilities in [Capabilities::empty(), Capabilities::all()] {
        let _ = Column::read(rest, capabilities).map(|column| Decoder::new(&column));
        let _ = Completion::read_ok(rest, capabilities);
    }
    let _ = PrepareOk::read(rest);
    let _ = Completion::read_eof(rest);
    let _ = ServerError::read(rest, Numbering::MySql);
    let _ = HandshakeV10::read(rest).map(|hello| hello.version());
    let _ = auth_switch_request(rest);
    if let Some((_, _, plain)) = compress::header(rest) {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd(3)] {
            let _ = compress::decompress(algorithm, &rest[compress::HEADER_BYTES..], plain);
        }
    }
    let sql = String::from_utf8_lossy(rest);
    for no_backslash_escapes in [false, true] {
        let modes = Modes { no_backslash_escapes, ansi_quotes: choice & 1 == 1 };
        let scan = Scan::new(&sql, modes);
        assert!(scan.placeholders.iter().all(|at| sql.as_bytes()[*at] == b'?'));
        if let Some(insert) = Insert::new(&sql, modes) {
            assert_eq!(insert.parameters(), scan.placeholders.len());
        }
    }
}
