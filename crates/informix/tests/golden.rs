//! Bytes of real conversations, decoded and encoded exactly.

use crate::support::{self, bytes, fields, golden};
use headrace_informix::capabilities::{Capabilities, OFFER};
use headrace_informix::codeset::CodeSet;
use headrace_informix::messages::login::{self, Answer, ConnectionRequest};
use headrace_informix::messages::server::{Message, read};
use headrace_informix::messages::{client, tag};
use headrace_informix::types::{Decoder, code, decode_row, encode, packed_width};
use headrace_testkit::{TestParameters, TestValue, TextSink, unhex};

fn negotiated() -> Capabilities {
    Capabilities::negotiate(&OFFER, &unhex("bdbe9ffe7fb7ffeff8"))
}

const ALL: [&str; 19] = [
    "42",
    "-7",
    "1099511627776",
    "-123456789012",
    "f1.5",
    "f2.25",
    "d1234.56",
    "d-1234.56",
    "d0.5",
    "abc       ",
    "nch       ",
    "vc",
    "nvc",
    "PackageRoot",
    "day 18321",
    "at 1704164645123450",
    "time 86398000000",
    "true",
    "999",
];

#[test]
fn rows_decode_to_their_values() {
    for row in golden("row") {
        let [name, types, bytes, expected] = row[..] else { panic!("{row:?}") };
        let decoders: Vec<Decoder> = fields(types).iter().map(|f| Decoder::new(f, negotiated())).collect();
        let mut sink = TextSink::default();
        decode_row(&decoders, CodeSet::Utf8, &unhex(bytes), &mut std::iter::empty(), &mut sink).unwrap();
        let expected: Vec<String> = match expected {
            "@NULLS" => Vec::new(),
            "@ALL" => ALL.map(String::from).to_vec(),
            text => text.split('|').map(String::from).collect(),
        };
        let got = sink.take().remove(0);
        if expected.is_empty() {
            assert!(got[1..got.len() - 1].iter().all(|v| v == "NULL"), "{name}: {got:?}");
        } else {
            assert_eq!(got, expected, "{name}");
        }
    }
}

#[test]
fn a_row_cut_or_lengthened_is_refused() {
    for row in golden("row") {
        let decoders: Vec<Decoder> = fields(row[1]).iter().map(|f| Decoder::new(f, negotiated())).collect();
        let whole = unhex(row[2]);
        let mut wrong = vec![[whole.as_slice(), &[0]].concat()];
        wrong.extend((0..whole.len()).map(|n| whole[..n].to_vec()));
        for bytes in wrong {
            let mut sink = TextSink::default();
            let read = decode_row(&decoders, CodeSet::Utf8, &bytes, &mut std::iter::empty(), &mut sink);
            assert!(read.is_err(), "{} of {} bytes", row[0], bytes.len());
        }
    }
}

#[test]
fn widths_follow_from_encoded_lengths() {
    for row in golden("width") {
        let length = i32::from_str_radix(row[1], 16).unwrap();
        assert_eq!(packed_width(length).to_string(), row[2], "{}", row[0]);
    }
}

#[test]
fn parameters_are_bound_as_the_manufacturers_driver_binds_them() {
    for row in golden("bind") {
        let [name, targets, expected, value] = row[..] else { panic!("{row:?}") };
        let mut out = Vec::new();
        encode::bind(
            &TestParameters(&[support::value(value)]),
            &fields(targets).into_iter().map(Some).collect::<Vec<_>>(),
            false,
            CodeSet::Utf8,
            &mut out,
        )
        .unwrap();
        assert_eq!(out, unhex(expected), "{name} {value}");
    }
}

#[test]
fn what_informix_cannot_hold_is_refused_before_it_is_sent() {
    for (targets, value, why) in [
        ("-", "dec NaN", "not a finite number"),
        ("-", "dec 123456789012345678901234567890123", "33 significant digits"),
        ("-", "dec 1E+200", "exponent"),
        ("-", "float inf", "does not fit FLOAT"),
        ("-", "interval 1 1 0", "both"),
        ("0:3", "text abcd", "does not fit CHAR(3)"),
        ("13:3", "text äa€", "does not fit VARCHAR(3)"),
        ("-", "timestamp 999999999999999999", "years 1 to 9999"),
    ] {
        let mut out = Vec::new();
        let error = encode::bind(
            &TestParameters(&[support::value(value)]),
            &fields(targets).into_iter().map(Some).collect::<Vec<_>>(),
            false,
            CodeSet::Utf8,
            &mut out,
        )
        .unwrap_err();
        assert!(error.message.contains(why), "{value}: {}", error.message);
        assert!(error.message.starts_with("parameter 1"), "{}", error.message);
    }
    let mut out = Vec::new();
    let error =
        encode::bind(&TestParameters(&[TestValue::text("€")]), &[], false, CodeSet::Latin1, &mut out).unwrap_err();
    assert!(error.message.contains("'€' is not in the database's code set"), "{}", error.message);
}

#[test]
fn messages_are_written_as_real_clients_write_them() {
    let caps = negotiated();
    let pairs = |list: &[(&str, &str)]| list.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect::<Vec<_>>();
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out
    };
    let group = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = written(write);
        client::eot(&mut out);
        out
    };
    let clob = client::ReturnType { type_code: 44, owner: "gbasedbt".into(), name: "clob".into(), length: 72 };
    let descriptor = bytes("message", "jdbc_t2_text_160");
    for (name, out) in [
        (
            "info_env_default",
            group(&|o| client::info_environment(o, &pairs(&[("DBTEMP", "/tmp"), ("SUBQCACHESZ", "10")]))),
        ),
        ("gb_dbopen", written(&|o| client::dbopen(o, b"test"))),
        ("gb_curname", written(&|o| client::curname(o, "_ifxc0000000000008"))),
        ("gb_nfetch", written(&|o| client::nfetch(o, 4096))),
        ("gb_rettype_clob", written(&|o| client::ret_type(o, false, std::slice::from_ref(&clob)))),
        ("jdbc_t2_prep_select_031", group(&|o| client::prepare(o, b"select a from t where a > ?", 1, caps))),
        ("jdbc_t2_stmt_insert_019", group(&|o| client::command(o, b"insert into t values (1,'x',1.5)", caps))),
        ("jdbc_t2_tx_055", group(&|o| client::plain(o, tag::SQ_BEGIN))),
        ("jdbc_t2_tx_059", group(&|o| client::plain(o, tag::SQ_CMMTWORK))),
        ("jdbc_t2_tx_065", group(&client::rollback)),
        ("jdbc_t2_savepoint_071", group(&|o| client::savepoint(o, tag::SQ_SQLISETSVPT, b"sp1"))),
        ("jdbc_t2_savepoint_079", group(&|o| client::savepoint(o, tag::SQ_SQLIRELSVPT, b"sp22"))),
        ("jdbc_t2_isvalid_180", group(&|o| client::plain(o, tag::SQ_VERSION))),
        (
            "jdbc_t2_text_160",
            group(&|o| {
                client::id(o, 0);
                client::fetchblob(o, &descriptor[6..62]);
            }),
        ),
    ] {
        assert_eq!(out, bytes("message", name), "{name}");
    }
    let prepared = written(&|o| client::prepare(o, b"select * from stores_demo:tab", 0, caps));
    assert!(prepared.starts_with(&bytes("message", "gb_prepare")));
}

#[test]
fn a_login_request_has_the_layout_of_a_real_one() {
    let golden = bytes("message", "conreq_gbase_client");
    // The password is a token that only that server understands; its bytes are as good as any.
    let at = golden.windows(4).position(|w| w == [0, 0x21, 1, 1]).unwrap() + 2;
    let directory = "/Users/martin/projects/8sprojects/JDBCTest";
    let program = "/Users/martin/projects/8sprojects/JDBCTest/lib/gbasedbtjdbc_\
                   3.3.0_2.jarConnectionTest/ConnectionTest";
    let environment = [
        ("DBPATH", "."),
        ("DBDATE", "Y4MD-"),
        ("IFX_UPDDESC", "1"),
        ("CLNT_PAM_CAPABLE", "1"),
        ("SQLMODE", "gbase"),
        ("NODEFDAC", "no"),
    ];
    let environment: Vec<(String, String)> = environment.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let request = ConnectionRequest {
        user: "gbasedbt",
        password: Some(&golden[at..at + 32]),
        server: "ol_gbasedbt_1",
        environment: &environment,
        process_id: 0,
        host: "MartinPro-83.lan",
        directory,
        program,
    };
    let mut out = Vec::new();
    request.write(&mut out).unwrap();
    assert_eq!(out, golden);
}

#[test]
fn login_answers_are_read_whole_or_not_at_all() {
    for name in ["conacc_gbase_1", "conacc_gbase_2", "connect_002"] {
        let packet = bytes("reply", name);
        assert_eq!(login::length(&packet).unwrap(), Some(packet.len()), "{name}");
        let Answer::Accepted { banner, .. } = login::answer(&packet).unwrap_or_else(|e| panic!("{name}: {e}")) else {
            panic!("{name}")
        };
        assert!(banner.contains("Server Version"), "{banner}");
        for n in 0..packet.len() {
            assert!(login::answer(&packet[..n]).is_err());
        }
        let mut rejected = packet.clone();
        rejected[2] = 3;
        let at = rejected.windows(2).position(|w| w == [0, 0x66]).unwrap();
        rejected[at + 8..at + 10].copy_from_slice(&(-951i16).to_be_bytes());
        assert!(matches!(login::answer(&rejected).unwrap(), Answer::Rejected { sqlcode: -951, .. }));
    }
    assert!(login::length(b"HTTP/1.1 400").is_err());
}

#[test]
fn replies_are_read_to_their_end_whatever_the_cut() {
    for row in golden("reply") {
        let [name, text] = row[..] else { panic!("{row:?}") };
        if name.contains("conacc") || name.ends_with("connect_002") {
            continue;
        }
        let reply = unhex(text);
        let wide = name.contains("long");
        let offer = if wide { [OFFER.as_slice(), &[6]].concat() } else { OFFER.to_vec() };
        let caps = Capabilities::negotiate(&offer, &unhex("bdbe9ffe7fb7ffefff"));
        let mut at = 0;
        while at < reply.len() {
            let (message, used) = read(&reply[at..], caps, CodeSet::Utf8).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            assert!(used > 0);
            for cut in 0..used {
                let short = read(&reply[at..at + cut], caps, CodeSet::Utf8);
                assert!(
                    matches!(short, Err(Ok(n)) if n > cut && n <= used),
                    "{name} at {at}, {cut} bytes: {message:?}"
                );
            }
            at += used;
        }
    }
}

#[test]
fn descriptions_and_errors_are_decoded() {
    let caps = negotiated();
    let reply = bytes("reply", "srv_lob_connect_018");
    let Ok((Message::Describe(described), _)) = read(&reply, caps, CodeSet::Utf8) else { panic!() };
    let names: Vec<&str> = described.fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["i", "b", "c", "z"]);
    assert_eq!(described.fields[1].type_word & 0xff, code::UDTFIXED);
    assert_eq!(described.fields[2].type_name, "clob");
    let reply = bytes("reply", "srv_t2_error_177");
    let Ok((Message::Err(error), _)) = read(&reply, caps, CodeSet::Utf8) else { panic!() };
    assert_eq!((error.sqlcode, error.isam, error.token.as_str()), (-206, -111, "nosuch"));
}

#[test]
fn fields_that_are_skipped_have_a_documented_source() {
    let page = include_str!("../../../docs/reference/informix.md");
    let (_, section) = page.split_once("## Skipped fields").expect("the section is there");
    let section = section.split("\n## ").next().unwrap_or_default();
    let sources = [
        include_str!("../src/messages/login.rs"),
        include_str!("../src/messages/server.rs"),
        include_str!("../src/messages/description.rs"),
    ];
    let bindings =
        sources.iter().flat_map(|source| source.split("let ").skip(1)).filter_map(|rest| rest.split_once('='));
    let names =
        bindings.flat_map(|(pattern, _)| pattern.split(['(', ')', ',', ' '])).filter_map(|n| n.strip_prefix('_'));
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    assert!(names.len() > 30, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !section.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // A field without a meaning is `reserved`; these name a value or nothing.
    assert!(!names.iter().any(|name| ["zero", "zeros", "on", "marker", "unused", "unread"].contains(name)));
}
