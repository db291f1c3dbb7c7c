//! Bytes from other sources: of genuine servers, as the tests of informix-driver publish them, of a server and a client
//! of the same lineage, and of IBM's JDBC driver as recorded on the socket.

use headrace_simulator_informix::capabilities::{Capabilities, Release};
use headrace_simulator_informix::codec::charset::Charset;
use headrace_simulator_informix::codec::decimal::Decimal;
use headrace_simulator_informix::codec::int8;
use headrace_simulator_informix::codec::timestamp::{self, Qualifier};
use headrace_simulator_informix::login;
use headrace_simulator_informix::messages::{self, Message};
use headrace_simulator_informix::types::{Kind, Type};
use headrace_simulator_informix::wire::{Input, Output};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn int8_is_a_sign_and_two_words() {
    for (value, vector) in [
        (123_456_789_012, "0001be991a140000001c"),
        (-123_456_789_012, "ffffbe991a140000001c"),
        (42, "00010000002a00000000"),
        (-42, "ffff0000002a00000000"),
        (1, "00010000000100000000"),
        (4_294_967_296, "00010000000000000001"),
    ] {
        assert_eq!(hex(&int8::encode(Some(value))), vector);
        assert_eq!(int8::decode(&bytes(vector).try_into().unwrap()), Some(value));
    }
    assert_eq!(hex(&int8::encode(None)), "00000000000000000000");
    // 2^64 - 1 is more than this server keeps.
    assert_eq!(int8::decode(&bytes("0001ffffffffffffffff").try_into().unwrap()), None);
}

#[test]
fn decimals_are_pairs_of_digits() {
    for (text, vector) in [
        ("1234.56", "c20c2238"),
        ("-1234.56", "3d57412c"),
        ("0.001", "bf0a"),
        ("100000000000000000000", "cb01"),
        ("-0.0000000001", "4363"),
        ("1.5", "c10132"),
        ("0", "80"),
        ("12345678901234567890123456789012", "d00c22384e5a0c22384e5a0c22384e5a0c"),
    ] {
        let number = Decimal::parse(text).unwrap();
        assert_eq!(hex(&number.encode()), vector, "{text}");
        assert_eq!(Decimal::decode(&bytes(vector)), Some(number), "{text}");
    }
    assert_eq!(Decimal::decode(&bytes("0000000000")), None);
}

#[test]
fn widths_in_a_row() {
    for (kind, length, width) in [
        (Kind::Decimal, 0x0802, 5),
        (Kind::Decimal, 0x0a04, 6),
        (Kind::Decimal, 0x0500, 4),
        (Kind::Decimal, 0x200a, 17),
        (Kind::Decimal, 16 << 8 | 255, 10),
        (Kind::DateTime, 0x0e0a, 8),
        (Kind::DateTime, 0x130f, 11),
        (Kind::DateTime, 0x0804, 5),
        (Kind::DateTime, 0x066a, 4),
        (Kind::DateTime, 0x0468, 3),
    ] {
        assert_eq!(Type::new(kind, length).width(false), width, "{length:04x}");
    }
}

#[test]
fn timestamps_are_packed_like_decimals() {
    for (text, qualifier, vector) in [
        ("2026-08-31 12:30:15", 0x0e0a, "c7141a081f0c1e0f"),
        ("2024-01-02 03:04:05.12345", 0x130f, "c7141801020304050c2232"),
        ("23:59:58", 0x066a, "c3173b3a"),
    ] {
        let qualifier = Qualifier(qualifier);
        let value = timestamp::parse_datetime(text, qualifier).unwrap();
        let mut packed = Vec::new();
        timestamp::encode_datetime(&mut packed, value, qualifier);
        assert_eq!(hex(&packed), vector, "{text}");
        assert_eq!(timestamp::decode_datetime(&bytes(vector), qualifier), Some(value));
        assert_eq!(timestamp::format_datetime(value, qualifier), text);
    }
    for (text, qualifier, vector) in [
        ("5-03", 0x0602, "c7000503"),
        ("3 04:05:06.00000", 0x0d4f, "c403040506000000"),
        ("-3 04:05:06.00000", 0x0d4f, "3b605f5e5e000000"),
        ("3 04:05:06.500", 0x0c4d, "c500030405063200"),
    ] {
        let qualifier = Qualifier(qualifier);
        let value = timestamp::parse_interval(text, qualifier).unwrap();
        assert_eq!(hex(&timestamp::encode_interval(value, qualifier).unwrap()), vector, "{text}");
        assert_eq!(timestamp::decode_interval(&bytes(vector), qualifier), Some(value));
        assert_eq!(timestamp::format_interval(value, qualifier).trim_start(), text);
    }
}

#[test]
fn dates_count_from_the_last_day_of_1899() {
    for (text, days) in [("2020-02-29", 0x0000_ab71), ("1800-01-01", 0xffff_7155_u32 as i32)] {
        assert_eq!(timestamp::parse_date(text), Some(i64::from(days)));
        assert_eq!(timestamp::format_date(days.into()), text);
    }
}

#[test]
fn masks_are_those_of_the_releases() {
    assert_eq!(hex(&Release::V12.mask()), "bdbe9ffe7fb7ffeff0");
    assert_eq!(hex(&Release::V14.mask()), "bdbe9ffe7fb7ffeff8");
    assert_eq!(hex(&Release::V15.mask()), "bdbe9ffe7fb7ffefff");
}

#[test]
fn the_login_of_a_client_of_the_same_lineage_is_read() {
    let packet = bytes(
        "01e9013c0000006400650000003d0006494545454d00006c73716c6578656300000000000006392e32383000000c524453235230303030\
         303000000573716c69000000013c000000000000000000010009676261736564627400002101010101010101016c765a707862674d46777\
         8386a7270656569635145513d3d006f6c0000000000000000003d746c697463700000000000010068000b00000003000e6f6c5f67626173\
         656462745f310000000000000000000000006a000600074442504154480000022e00000744424441544500000659344d442d00000c494658\
         5f5550444445534300000231000011434c4e545f50414d5f43415041424c450000023100000853514c4d4f44450000066762617365000009\
         4e4f4445464441430000036e6f00006b00000000000000000000000100114d617274696e50726f2d38332e6c616e000000002b2f55736572\
         732f6d617274696e2f70726f6a656374732f387370726f6a656374732f4a44424354657374000074006f0000000000000000006\
         52f55736572732f6d617274696e2f70726f6a656374732f387370726f6a656374732f4a444243546573742f6c69622f67626173656462746a\
         6462635f332e332e305f322e6a6172436f6e6e656374696f6e546573742f436f6e6e656374696f6e5465737400007f"
            .replace(' ', "")
            .as_str(),
    );
    let request = login::read_request(&mut Input::new(&packet[..])).unwrap();
    assert_eq!((request.user.as_str(), request.server.as_str()), ("gbasedbt", "ol_gbasedbt_1"));
    assert_eq!(request.environment.len(), 6);
    assert!(request.environment.contains(&("DBDATE".into(), "Y4MD-".into())));
}

fn negotiated() -> Capabilities {
    Capabilities::common(&bytes("fffc7ffc3c8caa97"), &Release::V14.mask())
}

#[test]
fn messages_of_a_client_of_the_same_lineage_are_read() {
    let read = |hex: &str| messages::read(&mut Input::new(&bytes(hex)[..]), &negotiated(), Charset::Latin1).unwrap();
    assert_eq!(
        read("000200000000001d73656c656374202a2066726f6d2073746f7265735f64656d6f3a74616200"),
        Message::Prepare { sql: b"select * from stores_demo:tab".to_vec() }
    );
    assert_eq!(read("00240004746573740000"), Message::DatabaseOpen(b"test".to_vec()));
    assert_eq!(
        read("000300125f6966786330303030303030303030303038"),
        Message::CursorName(b"_ifxc0000000000008".to_vec())
    );
    assert_eq!(read("0009000010000000"), Message::Fetch { buffer: 4096 });
    assert_eq!(
        read("006400010001002c000867626173656462740004636c6f6200000048"),
        Message::ReturnTypes { fetch: true, types: vec![44] }
    );
    let Message::Bind(bound) = read("0005000100000000000000097a68616e6773616e3100") else { panic!("no SQ_BIND") };
    assert_eq!(bound[0].value, headrace_simulator_informix::engine::Value::Text("zhangsan1".into()));
}

#[test]
fn every_group_that_ibms_driver_sent_is_read_to_its_last_byte() {
    let groups: Vec<(String, String)> = serde_json::from_str(include_str!("client_messages.json")).unwrap();
    assert!(groups.len() > 150);
    for (name, group) in groups {
        let group = bytes(&group);
        let mut input = Input::new(&group[..]);
        let mut last = None;
        while !input.is_at_end().unwrap() {
            let message = messages::read(&mut input, &negotiated(), Charset::Latin1);
            let message = message.unwrap_or_else(|error| panic!("{name}: {error} after {last:?}"));
            assert!(!matches!(message, Message::Unknown(_)), "{name}: {message:?} after {last:?}");
            last = Some(message);
        }
        assert!(matches!(last, Some(Message::End | Message::Exit)), "{name} ends with {last:?}");
    }
}

#[test]
fn a_group_cut_anywhere_is_an_end_and_not_a_message() {
    let groups: Vec<(String, String)> = serde_json::from_str(include_str!("client_messages.json")).unwrap();
    for (name, group) in groups.iter().filter(|(_, group)| group.len() < 200) {
        let group = bytes(group);
        for length in 1..group.len() {
            let mut input = Input::new(&group[..length]);
            while let Ok(message) = messages::read(&mut input, &negotiated(), Charset::Latin1) {
                assert_ne!(message, Message::End, "{name} cut at {length}");
            }
        }
    }
}

#[test]
fn odd_fields_are_padded() {
    let mut out = Vec::new();
    out.put_chars(b"odd");
    out.put_login_string("informix");
    assert_eq!(hex(&out), "00036f6464000009696e666f726d697800");
}
