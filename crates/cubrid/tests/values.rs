//! Values of every type out of cells, and any bytes as cells.

use headrace_core::CodeSet;
use headrace_core::Sink as _;
use headrace_core::run::DecodeCell;
use headrace_cubrid::messages::Reader;
use headrace_cubrid::messages::description::{Collection, Type};
use headrace_cubrid::types::{Decoder, code, decode_row, encode_param};
use headrace_testkit::{CheckedSink, TestValue, TextSink, unhex};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

fn shown(ty: Type, cell: Option<&[u8]>) -> String {
    let mut sink = TextSink::default();
    sink.begin_row(1);
    Decoder::new(ty).decode(cell, &mut sink);
    sink.end_row();
    sink.take().remove(0).join(" ")
}

fn of(code: u8) -> Type {
    Type { collection: Collection::None, charset: 5, code }
}

#[test]
fn cells_become_values() {
    for (number, cell, value) in [
        (code::SHORT, "8000", "-32768"),
        (code::INT, "7fffffff", "2147483647"),
        (code::BIGINT, "8000000000000000", "-9223372036854775808"),
        (code::FLOAT, "3fc00000", "f1.5"),
        (code::DOUBLE, "3ff8000000000000", "f1.5"),
        (code::MONETARY, "4029000000000000", "f12.5"),
        (code::NUMERIC, "2d302e353000", "d-0.50"),
        (code::CHAR, "616220202000", "ab   "),
        (code::VARCHAR, "6100620000", "a\0b\0"),
        (code::VARCHAR, "00", ""),
        (code::NCHAR, "e9be8d00", "龍"),
        (code::VARNCHAR, "6100", "a"),
        (code::ENUM, "7265640000", "red\0"),
        (code::BIT, "a0", "xa0"),
        (code::VARBIT, "", "x"),
        (code::DATE, "07e80002001d", "day 19782"),
        (code::DATE, "000000000000", "no date 0000-00-00"),
        (code::DATE, "07e70002001d", "no date 2023-02-29"),
        (code::TIME, "0017003b003b", "time 86399000000"),
        (code::TIMESTAMP, "07b200010001000000000000", "at 0"),
        (code::TIMESTAMP, "000000000000000000000000", "no date 0000-00-00 00:00:00"),
        (code::DATETIME, "07b20001000100000000000003e7", "at 999000"),
        (code::TIMESTAMPTZ, "07b200010001000900000000417369612f53656f756c204b535400", "at 0 UTC"),
        (code::TIMESTAMPLTZ, "07b2000100010000000000002b30303a303000", "at 0 UTC"),
        (code::DATETIMETZ, "07b200010001000000000000 00012d30313a303000", "at 3600001000 UTC"),
        (
            code::DATETIMELTZ,
            "07b200010001000000000000 00014e6f776865726500",
            "invalid: the time zone Nowhere is not known",
        ),
        (code::JSON, "7b7d00", "json {}"),
        (code::OBJECT, "0000000100020003", "@1|2|3"),
        (code::RESULTSET, "0000000000000007", "7"),
        (code::BLOB, "00000021", "custom 23 true 00000021"),
        (code::CLOB, "00000022", "custom 24 true 00000022"),
        (code::NULL, "850700 00", "invalid: the server sent a value that does not have the form of its type"),
        (code::NULL, "8507 3100", "d1"),
        (code::NULL, "7b7d00", "json {}"),
        (code::NULL, "a501 02 00000001 00000002 6100", "list 1 a end"),
        (code::NULL, "8500", "invalid: the server sent a value that does not have the form of its type"),
        (code::SEQUENCE, "08 00000002 00000004 00000001 ffffffff", "list 2 1 NULL end"),
        (
            code::SEQUENCE,
            "08 00000002 00000004 00000001",
            "invalid: the server sent a value that does not have the form of its type",
        ),
        (code::SEQUENCE, "00 00000001 ffffffff", "list 1 NULL end"),
        (code::INT, "00", "invalid: the server sent a value that does not have the form of its type"),
        (code::TIME, "001800000000", "invalid: the server sent a value that does not have the form of its type"),
        (99, "00", "invalid: the type 99 is not known"),
    ] {
        let bytes = unhex(&cell.replace(' ', ""));
        assert_eq!(shown(of(number), Some(&bytes)), value, "{} {cell}", code::name(number).unwrap_or("?"));
        assert_eq!(shown(of(number), None), "NULL");
    }
}

#[test]
fn texts_are_converted_from_the_character_set_of_their_column() {
    let text = |charset, bytes: &[u8]| shown(Type { charset, ..of(code::VARCHAR) }, Some(bytes));
    assert_eq!(text(3, b"\xe9t\xe9\0"), "été");
    assert_eq!(text(3, b"abc\0"), "abc");
    assert_eq!(text(5, "été\0".as_bytes()), "été");
    assert_eq!(text(4, b"\xb0\xa1\0"), "가");
    assert!(text(4, b"\xb0\0").starts_with("invalid: the text is not in EUC-KR"));
}

#[test]
fn a_row_has_a_cell_for_each_column() {
    let row = unhex("0000000100000000000000000000000400000007");
    let mut sink = TextSink::default();
    let head = decode_row(&[Decoder::Int], &mut Reader::new(&row), &mut sink).unwrap();
    assert_eq!((head.position, sink.take()), (1, vec![vec!["7".to_owned()]]));
    assert!(decode_row(&[Decoder::Int; 2], &mut Reader::new(&row), &mut sink).is_err());
}

/// A parameter's value as a cell: numbers, texts and bytes have the same form in both.
fn returned(value: &TestValue) -> String {
    let mut bytes = Vec::new();
    encode_param(value, CodeSet::Utf8, &mut bytes).unwrap();
    shown(of(bytes[4]), Some(&bytes[9..]))
}

proptest! {
    #[test]
    fn numbers_texts_and_bytes_return_as_they_were_sent(
        int in any::<i64>(), float in any::<f64>(), text in ".*", bytes in vec(any::<u8>(), 1..100),
    ) {
        assert_eq!(returned(&TestValue::Int(int)), int.to_string());
        if float.is_finite() {
            assert_eq!(returned(&TestValue::Float(float)), format!("f{float}"));
        }
        assert_eq!(returned(&TestValue::from(text.clone())), text);
        assert!(returned(&TestValue::Bytes(bytes.into())).starts_with('x'));
        let micros = int.rem_euclid(4_102_444_800_000_000) / 1000 * 1000;
        assert_eq!(returned(&TestValue::Timestamp(micros)), format!("at {micros}"));
    }

    #[test]
    fn any_bytes_as_a_cell_are_one_value(
        number in 0u8..40, collection in 0usize..4, charset in 0u8..8, cell in vec(any::<u8>(), 0..60),
    ) {
        let kinds = [Collection::None, Collection::Set, Collection::Multiset, Collection::Sequence];
        let ty = Type { collection: kinds[collection], charset, code: number };
        let mut sink = CheckedSink::default();
        Decoder::new(ty).decode(Some(&cell), &mut sink);
        assert_eq!(sink.depth, 0);
        let mut shown = TextSink::default();
        shown.begin_row(1);
        Decoder::new(ty).decode(Some(&cell), &mut shown);
        assert!(!shown.take()[0].is_empty());
    }
}
