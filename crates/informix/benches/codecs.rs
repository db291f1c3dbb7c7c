//! The codecs alone: each type decoded into a sink that only counts and bound from a value that is cheap to read, and a
//! row of five columns in both directions.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use headrace_informix::capabilities::{Capabilities, OFFER};
use headrace_informix::codeset::CodeSet;
use headrace_informix::messages::server::Field;
use headrace_informix::types::{Decoder, code, decode_row, encode};
use headrace_testkit::{DiscardSink, TestParameters, TestValue};
use std::hint::black_box;

/// A name, the type with its encoded length, and the bytes of a value in a row.
type Case = (&'static str, u16, i32, &'static [u8]);

const TYPES: &[Case] = &[
    ("smallint", code::SMALLINT, 2, &[1, 0]),
    ("integer", code::INTEGER, 4, &[0, 0, 1, 0]),
    ("int8", code::INT8, 10, &[0, 1, 0xbe, 0x99, 0x1a, 0x14, 0, 0, 0, 0x1c]),
    ("bigint", code::BIGINT, 8, &[0, 0, 0, 0, 0, 0, 1, 0]),
    ("smallfloat", code::SMALLFLOAT, 4, &[0x3f, 0x80, 0, 0]),
    ("float", code::FLOAT, 8, &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0]),
    ("decimal(10,2)", code::DECIMAL, 0x0a02, &[0xc2, 0x0c, 0x22, 0x38, 0, 0]),
    ("char(17)", code::CHAR, 17, b"name of row 12345"),
    ("varchar", code::VARCHAR, 64, b"\x11name of row 12345"),
    ("lvarchar", code::LVARCHAR, 500, b"\0\0\0\0\x11name of row 12345"),
    ("boolean", code::BOOLEAN, 1, b"\0\0\0\0\x01t"),
    ("date", code::DATE, 4, &[0, 0, 0xab, 0x71]),
    ("datetime year to second", code::DATETIME, 0x0e0a, &[0xc7, 20, 24, 1, 2, 3, 4, 5]),
    ("datetime year to fraction(5)", code::DATETIME, 0x130f, &[0xc7, 20, 24, 1, 2, 3, 4, 5, 12, 34, 50]),
    ("interval day to fraction(3)", code::INTERVAL, 0x0c4d, &[0xc5, 0, 3, 4, 5, 6, 50, 0]),
    ("interval year to month", code::INTERVAL, 0x0602, &[0xc7, 0, 5, 3]),
];

fn field(type_word: u16, length: i32) -> Field {
    Field { type_word, length, ..Field::default() }
}

fn decode(c: &mut Criterion) {
    let capabilities = Capabilities::negotiate(&OFFER, &[0xff; 9]);
    let mut group = c.benchmark_group("decode");
    let read = |group: &mut criterion::BenchmarkGroup<'_, _>, name: &str, cases: &[Case]| {
        let decoders: Vec<_> = cases.iter().map(|case| Decoder::new(&field(case.1, case.2), capabilities)).collect();
        let row: Vec<u8> = cases.iter().flat_map(|case| case.3).copied().collect();
        let mut once =
            || decode_row(&decoders, CodeSet::Utf8, black_box(&row), &mut std::iter::empty(), &mut DiscardSink);
        once().expect("the bytes fit the type");
        group.throughput(Throughput::Bytes(row.len() as u64));
        group.bench_function(name, |b| b.iter(&mut once));
    };
    for case in TYPES {
        read(&mut group, case.0, &[*case]);
    }
    read(&mut group, "row of five columns", &[TYPES[1], TYPES[8], TYPES[1], TYPES[5], TYPES[11]]);
    group.finish();
}

fn bind(c: &mut Criterion) {
    let values = [
        ("integer", TestValue::Int(256)),
        ("bigint", TestValue::Int(1 << 40)),
        ("float", TestValue::Float(1.0)),
        ("decimal", TestValue::decimal("1234.56")),
        ("text", TestValue::text("name of row 12345")),
        ("boolean", TestValue::Bool(true)),
        ("bytes", TestValue::bytes(b"name of row 12345")),
        ("date", TestValue::Date(18_262)),
        ("datetime", TestValue::Timestamp(1_577_836_800_000_000)),
        ("interval", TestValue::Interval(0, 3, 14_706_500_000)),
    ];
    let mut out = Vec::with_capacity(1024);
    let mut group = c.benchmark_group("bind");
    let mut write = |group: &mut criterion::BenchmarkGroup<'_, _>, name: &str, row: &[TestValue]| {
        encode::bind(&TestParameters(row), &[], false, CodeSet::Utf8, &mut out).expect("Informix holds these");
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                encode::bind(black_box(&TestParameters(row)), &[], false, CodeSet::Utf8, &mut out)
            });
        });
    };
    for (name, value) in &values {
        write(&mut group, name, std::slice::from_ref(value));
    }
    let five = [0, 4, 0, 2, 7].map(|i: usize| values[i].1.clone());
    write(&mut group, "row of five columns", &five);
    group.finish();
}

criterion_group!(codecs, decode, bind);
criterion_main!(codecs);
