//! Rows and values as bytes: tables, and properties that are true for any value.

use headrace_mysql::packets::capabilities::ColumnFlags;
use headrace_mysql::packets::column::Column;
use headrace_mysql::types::{
    ColumnType, Decoder, Destination, Lists, decode_binary_row, decode_text_row, encode_param, encode_param_for_mysql,
    splice_literal, write_literal,
};
use headrace_testkit::{TestValue as V, TextSink};
use proptest::prelude::*;

fn column(kind: ColumnType) -> Column {
    Column {
        schema: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: String::new(),
        org_name: String::new(),
        extended_type: None,
        extended_format: None,
        collation: 45,
        length: 10,
        kind,
        flags: ColumnFlags::empty(),
        decimals: 0,
    }
}

fn binary(decoder: Decoder, value: &[u8]) -> Result<String, String> {
    let sink = TextSink::default();
    let row = [&[0, 0], value].concat();
    decode_binary_row(&[decoder], &row, &mut sink.clone()).map_err(|reason| reason.message)?;
    Ok(sink.take().remove(0).remove(0))
}

fn text(decoder: Decoder, value: &str) -> String {
    let sink = TextSink::default();
    let mut row = Vec::new();
    headrace_mysql::packets::body::put_lenenc_bytes(&mut row, value.as_bytes());
    decode_text_row(&[decoder], &row, &mut sink.clone()).unwrap();
    sink.take().remove(0).remove(0)
}

#[test]
fn each_column_type_has_its_decoder() {
    for (kind, flags, collation, decoder) in [
        (ColumnType::TINY, 0, 63, Decoder::Int(1)),
        (ColumnType::TINY, 32, 63, Decoder::UInt(1)),
        (ColumnType::INT24, 0, 63, Decoder::Int(4)),
        (ColumnType::LONGLONG, 32, 63, Decoder::UInt(8)),
        (ColumnType::YEAR, 32, 63, Decoder::UInt(2)),
        (ColumnType::BIT, 32, 63, Decoder::DoubtfulBits(10)),
        (ColumnType::BIT, 160, 63, Decoder::DecimalBits(10)),
        (ColumnType::BLOB, 0x90, 63, Decoder::Bytes),
        (ColumnType::BLOB, 0x10, 45, Decoder::Text),
        (ColumnType::STRING, 0x80, 83, Decoder::Text),
        (ColumnType::STRING, 0x100, 45, Decoder::Text),
        (ColumnType::VAR_STRING, 0x80, 63, Decoder::Bytes),
        (ColumnType::JSON, 0x90, 63, Decoder::Json),
        (ColumnType::GEOMETRY, 0x90, 63, Decoder::Bytes),
        (ColumnType::VECTOR, 0, 63, Decoder::Vector),
        (ColumnType::NULL, 0x80, 63, Decoder::Null),
        (ColumnType(200), 0, 45, Decoder::Text),
        (ColumnType(200), 0, 63, Decoder::Bytes),
    ] {
        let flags = ColumnFlags::from_bits_retain(flags);
        assert_eq!(Decoder::new(&Column { flags, collation, ..column(kind) }), decoder, "{kind:?}");
    }
    let bits = Column { org_table: "t".into(), flags: ColumnFlags::UNSIGNED, ..column(ColumnType::BIT) };
    assert_eq!(Decoder::new(&bits), Decoder::Bits(10));
    assert_eq!(ColumnType::LONGLONG.name(), Some("LONGLONG"));
    assert_eq!(ColumnType(200).name(), None);
    let uuid = Column { extended_type: Some("uuid".into()), ..column(ColumnType::STRING) };
    assert_eq!(Decoder::new(&uuid), Decoder::Uuid);
    let json = Column { extended_format: Some("json".into()), ..column(ColumnType::BLOB) };
    assert_eq!(Decoder::new(&json), Decoder::Json);
}

#[test]
fn binary_values_as_the_manual_lists_them() {
    for (decoder, bytes, expected) in [
        (Decoder::Int(8), &[1, 0, 0, 0, 0, 0, 0, 0][..], "1"),
        (Decoder::UInt(8), &[0xff; 8], "u18446744073709551615"),
        (Decoder::Int(4), &[0xff; 4], "-1"),
        (Decoder::UInt(4), &[0xff; 4], "4294967295"),
        (Decoder::Int(2), &[0, 0x80], "-32768"),
        (Decoder::Int(1), &[0x80], "-128"),
        (Decoder::UInt(1), &[0x80], "128"),
        (Decoder::Double, &[0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x24, 0x40], "f10.2"),
        (Decoder::Float, &[0x00, 0x00, 0x24, 0x41], "f10.25"),
        (Decoder::Date, &[4, 0xda, 0x07, 10, 17], "day 14899"),
        (Decoder::Date, &[0], "no date 0000-00-00"),
        (Decoder::DateTime, &[4, 0xda, 0x07, 10, 17], "at 1287273600000000"),
        (Decoder::DateTime, &[11, 0xda, 7, 10, 17, 19, 27, 30, 1, 0, 0, 0], "at 1287343650000001"),
        (Decoder::DateTime, &[7, 0xda, 7, 10, 17, 24, 0, 0], "no date 2010-10-17 24:00:00"),
        (Decoder::Time, &[12, 1, 120, 0, 0, 0, 19, 27, 30, 1, 0, 0, 0], "span -10438050000001"),
        (Decoder::Time, &[8, 0, 0, 0, 0, 0, 1, 0, 0], "span 3600000000"),
        (Decoder::Time, &[0], "span 0"),
        (Decoder::Time, &[8, 0, 255, 255, 255, 255, 1, 0, 0], "invalid: the server sent a malformed TIME"),
        (Decoder::Time, &[8, 0, 170, 170, 170, 10, 1, 0, 0], "invalid: the server sent a malformed TIME"),
        (Decoder::Decimal, b"\x05-1.50", "d-1.50"),
        (Decoder::Decimal, b"\x03abc", "invalid: the server sent \"abc\" as DECIMAL"),
        (Decoder::Bits(10), &[2, 2, 1], "bits 10 8040"),
        (Decoder::DecimalBits(10), b"\x03513", "bits 10 8040"),
        (Decoder::DecimalBits(10), b"\x041024", "invalid: the server sent \"1024\" as BIT"),
        (Decoder::DoubtfulBits(10), b"\x03513", "bits 10 8040"),
        (Decoder::DoubtfulBits(10), &[2, 2, 1], "bits 10 8040"),
        (Decoder::DoubtfulBits(10), b"\x0212", "bits 10 0300"),
        (Decoder::DoubtfulBits(64), b"\x02-1", "bits 64 ffffffffffffffff"),
        (Decoder::DoubtfulBits(64), b"\x14-9223372036854775808", "bits 64 8000000000000000"),
        (
            Decoder::DoubtfulBits(16),
            b"\x0212",
            "invalid: the server sent \"12\" as BIT, which may be these digits or these bytes: add 0 to the expression \
             or cast it to UNSIGNED, or give an OUT parameter a type of whole numbers",
        ),
        (Decoder::Vector, &[4, 0, 0, 0x80, 0x3f], "list 1"),
        (Decoder::Inet, b"\x03::1", "inet 00000000000000000000000000000001/128"),
    ] {
        let seen = binary(decoder, bytes);
        assert_eq!(seen.as_deref(), Ok(expected), "{decoder:?}");
        if decoder != Decoder::Null {
            assert!(binary(decoder, &bytes[..bytes.len() - 1]).is_err(), "{decoder:?} cut short");
            assert!(binary(decoder, &[bytes, &[0]].concat()).is_err(), "{decoder:?} with more after");
        }
    }
}

#[test]
fn text_values_that_are_none_are_invalid_not_wrong() {
    for (decoder, value, expected) in [
        (Decoder::Int(8), "-9223372036854775808", "-9223372036854775808"),
        (Decoder::Int(8), "9223372036854775808", "invalid"),
        (Decoder::Int(8), "-9223372036854775809", "invalid"),
        (Decoder::Int(4), "00042", "42"),
        (Decoder::Int(4), "", "invalid"),
        (Decoder::Int(4), "-", "invalid"),
        (Decoder::Int(4), "1x", "invalid"),
        (Decoder::UInt(8), "18446744073709551616", "invalid"),
        (Decoder::UInt(8), "-1", "invalid"),
        (Decoder::Double, "1e-5", "f0.00001"),
        (Decoder::Double, "x", "invalid"),
        (Decoder::Float, "0.1", "f0.10000000149011612"),
        (Decoder::Date, "2024-02-29", "day 19782"),
        (Decoder::Date, "2024-02-30", "no date 2024-02-30"),
        (Decoder::Date, "2024-02-29 ", "invalid"),
        (Decoder::Date, "24-02-29", "invalid"),
        (Decoder::DateTime, "1970-01-01 00:00:00.5", "at 500000"),
        (Decoder::DateTime, "1970-01-01 00:00:60", "no date 1970-01-01 00:00:60"),
        (Decoder::DateTime, "1970-01-01 00:00", "invalid"),
        (Decoder::Time, "-838:59:59.000001", "span -3020399000001"),
        (Decoder::Time, "1:2:3", "invalid"),
        (Decoder::Uuid, "00000000-0000-0000-0000-0000000000ff", "uuid 000000000000000000000000000000ff"),
        (Decoder::Uuid, "+0000000-0000-0000-0000-0000000000ff", "invalid"),
        (Decoder::Inet, "1.2.3", "invalid"),
        (Decoder::Null, "x", "invalid"),
    ] {
        let seen = text(decoder, value);
        assert!(seen == expected || (expected == "invalid" && seen.starts_with("invalid: ")), "{value}: {seen}");
    }
}

#[test]
fn a_list_is_one_value_except_after_in() {
    let list = V::List(vec![V::Float(1.0), V::Float(0.5)]);
    for (before, expected) in [
        ("a in ", "a in (1e0,5e-1)"),
        ("a NOT IN\n", "a NOT IN\n(1e0,5e-1)"),
        ("in", "in (1e0,5e-1)"),
        ("min ", "min  _binary x'0000803f0000003f'"),
        ("values (", "values ( _binary x'0000803f0000003f'"),
    ] {
        let mut out = before.as_bytes().to_vec();
        splice_literal(&list, Lists::Floats, b"", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
    let words = V::List(vec![V::from("a")]);
    assert!(splice_literal(&words, Lists::Vector, b"", &mut b"values (".to_vec()).is_err());
    assert!(splice_literal(&words, Lists::Refused, b"", &mut b"in".to_vec()).is_ok());
    assert!(splice_literal(&list, Lists::Refused, b"", &mut b"values (".to_vec()).is_err());
    assert!(splice_literal(&list, Lists::Vector, b"", &mut b"a in (".to_vec()).is_err());
}

#[test]
fn a_list_is_a_vector_only_where_one_can_be() {
    let (floats, numbers) = (V::List(vec![V::Float(0.5)]), V::List(vec![V::Float(0.5), V::Int(1)]));
    for (value, lists, taken) in [
        (&floats, Lists::Refused, false),
        (&floats, Lists::Floats, true),
        (&floats, Lists::Vector, true),
        (&numbers, Lists::Floats, false),
        (&numbers, Lists::Vector, true),
        (&V::List(vec![]), Lists::Vector, false),
    ] {
        assert_eq!(encode_param(value, || lists, &mut Vec::new()).is_ok(), taken, "{value:?} {lists:?}");
    }
}

#[test]
fn times_that_mysql_refuses_in_binary_form_travel_as_text() {
    const HOUR: i64 = 3_600_000_000;
    for (micros, text) in [
        (838 * HOUR, None),
        (838 * HOUR + 1_000_000, None),
        (837 * HOUR + 1, None),
        (838 * HOUR + 1, Some("838:00:00.000001")),
        (-838 * HOUR - 59 * 60_000_000 - 500_000, Some("-838:59:00.500000")),
    ] {
        let (mut out, mut plain) = (Vec::new(), Vec::new());
        let kind =
            encode_param_for_mysql(&V::Interval(0, 0, micros), Destination::Column, none, &mut out).unwrap().unwrap();
        encode_param(&V::Interval(0, 0, micros), none, &mut plain).unwrap();
        match text {
            Some(text) => assert_eq!((kind[0], &out[1..]), (ColumnType::VAR_STRING.0, text.as_bytes())),
            None => assert_eq!((kind[0], out), (ColumnType::TIME.0, plain)),
        }
    }
}

#[test]
fn timestamps_that_mysql_stores_keep_their_fraction_as_text() {
    let encoded = |micros: i64, target: Destination| {
        let mut out = Vec::new();
        let kind = encode_param_for_mysql(&V::Timestamp(micros), target, none, &mut out).unwrap().unwrap();
        (kind[0], out)
    };
    for target in [Destination::Column, Destination::Text] {
        let (kind, out) = encoded(1_500_000, target);
        assert_eq!((kind, &out[1..]), (ColumnType::VAR_STRING.0, &b"1970-01-01 00:00:01.500000"[..]));
        assert_eq!(encoded(1_000_000, target).0, ColumnType::VAR_STRING.0);
    }
    assert_eq!(encoded(1_500_000, Destination::Expression).0, ColumnType::DATETIME.0);
}

#[test]
fn times_that_mysql_stores_as_text_have_all_their_decimals() {
    let encoded = |value: V, target: Destination| {
        let mut out = Vec::new();
        let kind = encode_param_for_mysql(&value, target, none, &mut out).unwrap().unwrap();
        (kind[0], String::from_utf8_lossy(&out[1..]).into_owned())
    };
    let text = |text: &str| (ColumnType::VAR_STRING.0, text.to_owned());
    assert_eq!(encoded(V::Time(1_500_000), Destination::Text), text("00:00:01.500000"));
    assert_eq!(encoded(V::Interval(0, 0, -1_500_000), Destination::Text), text("-00:00:01.500000"));
    assert_eq!(encoded(V::Time(1_000_000), Destination::Text), text("00:00:01"));
    for target in [Destination::Column, Destination::Expression] {
        assert_eq!(encoded(V::Time(1_500_000), target).0, ColumnType::TIME.0);
    }
}

#[test]
fn literals_mean_the_same_under_every_sql_mode() {
    for (value, expected) in [
        (V::Null, "NULL"),
        (V::Bool(true), "1"),
        (V::Int(i64::MIN), "-9223372036854775808"),
        (V::Float(1.0), "1e0"),
        (V::Float(-1.5e-7), "-1.5e-7"),
        (V::decimal("1.50"), "1.50"),
        (V::from("it's"), "'it''s'"),
        (V::from("''"), "''''''"),
        (V::from("\\'; drop"), "_utf8mb4 x'5c273b2064726f70'"),
        (V::bytes(&[0, 255]), "_binary x'00ff'"),
        (V::bytes(b"a'b"), "_binary 'a''b'"),
        (V::Date(0), "DATE'1970-01-01'"),
        (V::Timestamp(-1), "TIMESTAMP'1969-12-31 23:59:59.999999'"),
        (V::Time(1_000_000), "TIME'00:00:01'"),
        (V::Interval(0, -1, 0), "TIME'-24:00:00'"),
        (V::Inet([1, 2, 3, 4]), "'1.2.3.4'"),
        (V::List(vec![V::Int(1), V::from("x")]), "(1,'x')"),
    ] {
        let mut out = Vec::new();
        write_literal(&value, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
    assert!(write_literal(&V::List(vec![]), &mut Vec::new()).is_err());
}

/// There are no lists.
fn none() -> Lists {
    Lists::Refused
}

/// A value that is sent as a parameter and received as a column.
fn there_and_back(value: V, decoder: Decoder) -> String {
    let mut out = Vec::new();
    encode_param(&value, none, &mut out).unwrap().expect("it is not NULL");
    binary(decoder, &out).unwrap()
}

proptest! {
    #[test]
    fn numbers_come_back(n: i64, x in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
        prop_assert_eq!(there_and_back(V::Int(n), Decoder::Int(8)), n.to_string());
        prop_assert_eq!(there_and_back(V::Float(x), Decoder::Double), format!("f{x}"));
        let mut out = Vec::new();
        write_literal(&V::Float(x), &mut out).unwrap();
        prop_assert_eq!(text(Decoder::Double, std::str::from_utf8(&out).unwrap()), format!("f{x}"));
    }

    #[test]
    fn points_in_time_come_back(micros in -62_167_219_200_000_000i64..253_402_300_800_000_000) {
        prop_assert_eq!(there_and_back(V::Timestamp(micros), Decoder::DateTime), format!("at {micros}"));
        let mut out = Vec::new();
        write_literal(&V::Timestamp(micros), &mut out).unwrap();
        let quoted = std::str::from_utf8(&out).unwrap();
        prop_assert_eq!(text(Decoder::DateTime, quoted.trim_start_matches("TIMESTAMP").trim_matches('\'')), format!("at {micros}"));
        let days = micros.div_euclid(86_400_000_000) as i32;
        prop_assert_eq!(there_and_back(V::Date(days), Decoder::Date), format!("day {days}"));
    }

    #[test]
    fn spans_come_back(micros in -3_020_399_999_999i64..=3_020_399_999_999) {
        prop_assert_eq!(there_and_back(V::Interval(0, 0, micros), Decoder::Time), format!("span {micros}"));
        let mut out = Vec::new();
        write_literal(&V::Interval(0, 0, micros), &mut out).unwrap();
        let quoted = std::str::from_utf8(&out).unwrap();
        prop_assert_eq!(text(Decoder::Time, quoted.trim_start_matches("TIME").trim_matches('\'')), format!("span {micros}"));
    }

    #[test]
    fn strings_come_back(s: String, bytes: Vec<u8>) {
        prop_assert_eq!(there_and_back(V::from(s.clone()), Decoder::Text), s.clone());
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert_eq!(there_and_back(V::Bytes(bytes.into()), Decoder::Bytes), format!("x{hex}"));
        // A literal ends where it should, whatever a backslash means.
        let mut out = Vec::new();
        write_literal(&V::from(s), &mut out).unwrap();
        let literal = String::from_utf8(out).unwrap();
        for no_backslash_escapes in [false, true] {
            let modes = headrace_mysql::sql::Modes { no_backslash_escapes, ansi_quotes: false };
            let sql = format!("{literal}?");
            let scan = headrace_mysql::sql::Scan::new(&sql, modes);
            prop_assert_eq!(scan.placeholders, vec![literal.len()]);
            prop_assert!(!scan.uncertain);
        }
    }

    #[test]
    fn any_bytes_are_a_row_or_an_error(bytes: Vec<u8>, kinds in proptest::collection::vec(any::<u8>(), 1..12)) {
        let decoders: Vec<Decoder> = kinds.into_iter().map(|kind| Decoder::new(&column(ColumnType(kind)))).collect();
        let _ = decode_binary_row(&decoders, &bytes, &mut TextSink::default());
        let _ = decode_text_row(&decoders, &bytes, &mut TextSink::default());
    }

    #[test]
    fn any_text_can_be_looked_over(sql: String, words in "[a-z?'\"`#/*!()=,;\\\\ -]{0,60}") {
        for sql in [sql, words.clone(), format!("insert into t values (?) {words}")] {
            for no_backslash_escapes in [false, true] {
                let modes = headrace_mysql::sql::Modes { no_backslash_escapes, ansi_quotes: no_backslash_escapes };
                let scan = headrace_mysql::sql::Scan::new(&sql, modes);
                prop_assert!(scan.placeholders.iter().all(|at| sql.as_bytes()[*at] == b'?'));
                if let Some(insert) = headrace_mysql::sql::Insert::new(&sql, modes) {
                    prop_assert_eq!(insert.parameters(), scan.placeholders.len());
                    let again = format!("{}{}{}", insert.prefix, insert.row.join("?"), insert.suffix);
                    prop_assert!(sql.starts_with(&again[..insert.prefix.len()]));
                }
            }
        }
    }
}
