//! The codecs alone: each type decoded into a sink that only counts and encoded from a value that is cheap to read, and
//! a row of five columns in both directions.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use headrace_postgres::types::{Decoder, Encoder, TypeRegistry, decode_row};
use headrace_testkit::{DiscardSink, TestValue};
use std::hint::black_box;

fn row(values: &[&[u8]]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        body.extend_from_slice(&(value.len() as i32).to_be_bytes());
        body.extend_from_slice(value);
    }
    body
}

fn decode(c: &mut Criterion) {
    let registry = TypeRegistry::default();
    let numeric = [0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1A, 0x7C];
    let array =
        [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 2];
    let types: &[(&str, u32, &[u8])] = &[
        ("int4", 23, &[0, 0, 1, 0]),
        ("int8", 20, &[0, 0, 0, 0, 0, 0, 1, 0]),
        ("float8", 701, &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0]),
        ("bool", 16, &[1]),
        ("text", 25, b"name of row 12345"),
        ("bytea", 17, b"name of row 12345"),
        ("date", 1082, &[0, 0, 0x1c, 0x89]),
        ("timestamptz", 1184, &[0, 2, 0x3e, 0x1d, 0x7d, 0x3c, 0, 0]),
        ("uuid", 2950, &[7; 16]),
        ("jsonb", 3802, b"\x01{\"a\": [1, 2]}"),
        ("numeric", 1700, &numeric),
        ("int4[]", 1007, &array),
    ];
    let mut group = c.benchmark_group("decode");
    for (name, oid, value) in types {
        let decoders = [Decoder::new(&registry, *oid, -1).0];
        let body = row(&[value]);
        group.bench_function(*name, |b| {
            b.iter(|| decode_row(&decoders, black_box(&body), &mut DiscardSink));
        });
    }
    let five: Vec<Decoder> = [23, 1043, 23, 701, 1082].iter().map(|oid| Decoder::new(&registry, *oid, -1).0).collect();
    let body = row(&[types[0].2, types[4].2, types[0].2, types[2].2, types[6].2]);
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("row of five columns", |b| {
        b.iter(|| decode_row(&five, black_box(&body), &mut DiscardSink));
    });
    group.finish();
}

fn encode(c: &mut Criterion) {
    let registry = TypeRegistry::default();
    let types = [
        ("int4", 23, TestValue::Int(256)),
        ("int8", 20, TestValue::Int(256)),
        ("float8", 701, TestValue::Float(1.0)),
        ("bool", 16, TestValue::Bool(true)),
        ("text", 25, TestValue::text("name of row 12345")),
        ("bytea", 17, TestValue::bytes(b"name of row 12345")),
        ("date", 1082, TestValue::Date(18_262)),
        ("timestamptz", 1184, TestValue::TimestampTz(1_577_836_800_000_000)),
        ("uuid", 2950, TestValue::Uuid([7; 16])),
        ("jsonb", 3802, TestValue::Json("{\"a\": [1, 2]}")),
        ("numeric", 1700, TestValue::decimal("1234567.891")),
        ("int4[]", 1007, TestValue::List(vec![TestValue::Int(1), TestValue::Int(2)])),
    ];
    let mut out = Vec::with_capacity(1024);
    let mut group = c.benchmark_group("encode");
    for (name, oid, value) in &types {
        let encoder = Encoder::new(&registry, *oid);
        encoder.encode_binary(value, &mut out).expect("the value fits its type");
        group.bench_function(*name, |b| {
            b.iter(|| {
                out.clear();
                encoder.encode_binary(black_box(value), &mut out)
            });
        });
    }
    let five = [(23, 0), (1043, 4), (23, 0), (701, 2), (1082, 6)];
    let five = five.map(|(oid, i): (u32, usize)| (Encoder::new(&registry, oid), types[i].2.clone()));
    group.bench_function("row of five columns", |b| {
        b.iter(|| {
            out.clear();
            five.iter().try_for_each(|(encoder, value)| encoder.encode_binary(black_box(value), &mut out))
        });
    });
    group.finish();
}

criterion_group!(codecs, decode, encode);
criterion_main!(codecs);
