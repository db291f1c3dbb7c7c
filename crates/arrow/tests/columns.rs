//! Values of every kind in their Arrow arrays, and values that do not fit.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType, Float64Type, Int16Type, Int32Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, TimestampSecondType, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::{IntervalMonthDayNano, i256};
use arrow_schema::DataType;
use headrace_arrow::{ArrowOptions, Batches, Numeric};
use headrace_core::column::{ColumnKind, Fraction, Native, NativeType, Part};
use headrace_core::{Cells, Column, ColumnSink, Container, Inet, Sink};
use std::borrow::Cow;

/// A cell, as a protocol would decode it.
type Cell = Box<dyn Fn(&mut dyn Sink)>;

struct Given<'a>(&'a [Cell]);

impl Cells for Given<'_> {
    fn decode<S: Sink>(&self, sink: &mut S) {
        self.0.iter().for_each(|cell| cell(sink));
    }
}

fn cell(put: impl Fn(&mut dyn Sink) + 'static) -> Cell {
    Box::new(put)
}

fn null() -> Cell {
    cell(|sink| sink.null())
}

/// A server's type number 7.
#[derive(Debug)]
struct Seventh;

impl NativeType for Seventh {
    fn system(&self) -> &'static str {
        "TEST"
    }
    fn type_name(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn identification(&self) -> String {
        "7".into()
    }
}

fn column(kind: ColumnKind) -> Column {
    Column { name: "c".into(), kind, nullable: None, native: Native::new(Seventh) }
}

fn batches(kind: &ColumnKind, options: ArrowOptions, runs: &[&[Cell]]) -> Batches {
    let mut batches = Batches::new(&[column(kind.clone())], options);
    for cells in runs {
        batches.begin(cells.len());
        batches.column(0, &Given(cells));
        batches.settle();
    }
    batches.cut();
    batches
}

fn one(kind: &ColumnKind, cells: &[Cell]) -> RecordBatch {
    let mut batches = batches(kind, ArrowOptions::default(), &[cells]);
    assert_eq!(batches.refused(), None);
    batches.take().expect("there are rows")
}

fn refused(kind: &ColumnKind, cells: &[Cell]) -> String {
    let batches = batches(kind, ArrowOptions::default(), &[cells]);
    assert_eq!(batches.ready(), 0, "a batch with a refused value is not given");
    batches.refused().expect("a value does not fit").to_string()
}

const INT32: ColumnKind = ColumnKind::Int { bits: 32, signed: true };
const NUMERIC: ColumnKind = ColumnKind::Decimal { precision: None, scale: None };

fn decimal(precision: u16, scale: i16) -> ColumnKind {
    ColumnKind::Decimal { precision: Some(precision), scale: Some(scale) }
}

#[test]
fn numbers() {
    let batch = one(&INT32, &[cell(|s| s.int(-7)), null(), cell(|s| s.int(i32::MAX.into()))]);
    let array = batch.column(0).as_primitive::<Int32Type>();
    assert_eq!(array.iter().collect::<Vec<_>>(), [Some(-7), None, Some(i32::MAX)]);

    let batch = one(&ColumnKind::Int { bits: 64, signed: false }, &[cell(|s| s.uint(u64::MAX)), cell(|s| s.int(3))]);
    assert_eq!(batch.column(0).as_primitive::<UInt64Type>().values(), &[u64::MAX, 3]);

    let batch = one(&ColumnKind::Bool, &[cell(|s| s.bool(true)), null()]);
    assert_eq!(batch.column(0).as_boolean().iter().collect::<Vec<_>>(), [Some(true), None]);

    let batch = one(&ColumnKind::Float { bits: 64 }, &[cell(|s| s.float(0.1)), cell(|s| s.float(f64::NAN))]);
    let array = batch.column(0).as_primitive::<Float64Type>();
    assert_eq!(array.value(0), 0.1);
    assert!(array.value(1).is_nan());
}

#[test]
fn a_number_that_does_not_fit_names_its_column_and_row() {
    let kind = ColumnKind::Int { bits: 16, signed: true };
    let text = refused(&kind, &[cell(|s| s.int(1)), cell(|s| s.int(40_000)), cell(|s| s.int(50_000))]);
    assert_eq!(text, "column 1 (c), row 2: 40000 does not fit into the column's Arrow type");
}

#[test]
fn batches_before_that_of_a_value_that_does_not_fit_are_given() {
    let options = ArrowOptions { batch_rows: 2, ..ArrowOptions::default() };
    let wrong = || cell(|s| s.int(i64::MAX));
    let right = || cell(|s| s.int(1));
    for (runs, given) in [
        // Of one run that is longer than a batch.
        (&[&[right(), right(), right(), right(), right(), wrong(), right()][..]][..], &[2, 2][..]),
        (&[&[right(), right(), wrong(), right()]], &[2]),
        (&[&[wrong(), right(), right(), right()]], &[]),
        // None after it, either.
        (&[&[right(), right()], &[right(), wrong()], &[right(), right()]], &[2]),
    ] {
        let mut batches = batches(&INT32, options, runs);
        let row = batches.refused().map(|refused| refused.row);
        let all: Vec<_> = std::iter::from_fn(|| batches.take()).map(|batch| batch.num_rows()).collect();
        assert_eq!(all, given);
        assert!(row.is_some_and(|row| row >= all.iter().sum::<usize>() as u64));
    }
}

#[test]
fn exact_numbers_keep_every_digit() {
    let cells = [
        cell(|s| s.decimal("-12.50")),
        cell(|s| s.decimal128(true, 5, 2)),
        cell(|s| s.decimal128(false, 7, 0)),
        cell(|s| s.decimal("-0.05000")),
        null(),
    ];
    let batch = one(&decimal(10, 2), &cells);
    let array = batch.column(0).as_primitive::<Decimal128Type>();
    assert_eq!(array.iter().collect::<Vec<_>>(), [Some(-1250), Some(-5), Some(700), Some(-5), None]);
    assert_eq!((array.precision(), array.scale()), (10, 2));

    let batch = one(&decimal(50, 3), &[cell(|s| s.decimal("12345678901234567890123456789012345678901234567.125"))]);
    let wanted = i256::from_string("12345678901234567890123456789012345678901234567125").expect("a number");
    assert_eq!(batch.column(0).as_primitive::<Decimal256Type>().value(0), wanted);
}

#[test]
fn a_digit_is_never_lost() {
    for put in ["NaN", "Infinity", "-Infinity"] {
        let text = refused(&NUMERIC, &[cell(move |s| s.decimal(put))]);
        assert!(text.contains(put) && text.contains("numeric='string'"), "{text}");
    }
    let text = refused(&decimal(4, 2), &[cell(|s| s.decimal128(false, 12345, 2))]);
    assert!(text.contains("123.45") && !text.contains("numeric='string'"), "{text}");
    assert!(refused(&decimal(4, 1), &[cell(|s| s.decimal128(false, 125, 2))]).contains("1.25"));
}

#[test]
fn numbers_without_a_precision_have_the_type_of_the_first_batch() {
    let of = |put: &'static str| vec![cell(move |s| s.decimal(put))];
    let options = ArrowOptions { batch_rows: 1, ..ArrowOptions::default() };
    for (first, later, scale) in
        [("1.5", "1000000000000000000", 20), ("1000000000000000000", "0.12345678901234567891", 19)]
    {
        let mut made = batches(&NUMERIC, options, &[&of(first), &of("-2.5"), &of(later)]);
        let types: Vec<DataType> =
            std::iter::from_fn(|| made.take()).map(|batch| batch.schema().field(0).data_type().clone()).collect();
        assert_eq!(types, [DataType::Decimal128(38, scale), DataType::Decimal128(38, scale)]);
        assert_eq!(made.fixed().field(0).data_type(), &types[0]);
        assert!(made.refused().is_some_and(|refused| refused.row == 2 && refused.reason.contains(later)));
    }
    // Others may have the types already.
    let fixed = ArrowOptions { fixed: true, ..ArrowOptions::default() };
    assert!(batches(&NUMERIC, fixed, &[&of("1000000000000000000")]).refused().is_some());
    let mut none = batches(&NUMERIC, ArrowOptions::default(), &[]);
    assert_eq!(none.fixed().field(0).data_type(), &DataType::Decimal128(38, 20));
}

#[test]
fn numbers_within_others_have_the_type_that_they_need() {
    let (sum, ratio, number) = ("18446744073709551614", "0.0000000000333333333333333333", "12345678901234567890.5");
    let items = |texts: Vec<&'static str>| {
        cell(move |s| {
            s.begin(Container::List, texts.len());
            texts.iter().for_each(|text| s.decimal(text));
            s.end();
        })
    };
    let ranges = |bounds: [&'static str; 2]| {
        cell(move |s| {
            let whole =
                Container::Range { empty: false, has_lower: true, has_upper: true, lower_inc: true, upper_inc: true };
            s.begin(whole, bounds.len());
            bounds.iter().for_each(|text| s.decimal(text));
            s.end();
        })
    };
    let pair = |texts: [&'static str; 2]| {
        cell(move |s| {
            s.begin(Container::Record { type_id: 1, is_described: true }, 2);
            texts.iter().for_each(|text| s.decimal(text));
            s.end();
        })
    };
    let list = |number| DataType::new_list(number, true);
    let digits = |scale| DataType::Decimal128(38, scale);
    let record = ColumnKind::Record([("a".into(), NUMERIC), ("b".into(), NUMERIC)].into());
    for (kind, cells, later, wanted) in [
        (ColumnKind::List(NUMERIC.into()), vec![items(vec![sum]), null()], items(vec!["1.5"]), vec![list(digits(18))]),
        (ColumnKind::List(NUMERIC.into()), vec![null(), items(vec![])], items(vec!["1.5"]), vec![list(digits(20))]),
        (
            ColumnKind::List(NUMERIC.into()),
            vec![items(vec![sum, ratio])],
            items(vec![]),
            vec![list(DataType::Decimal256(76, 38))],
        ),
        (record, vec![pair([sum, ratio])], pair([sum, "1"]), vec![digits(18), digits(28)]),
        (
            ColumnKind::Range(NUMERIC.into()),
            vec![ranges(["1", number])],
            ranges(["0.5", number]),
            vec![digits(18), digits(18)],
        ),
        (
            ColumnKind::Range(NUMERIC.into()),
            vec![ranges([ratio, "5"])],
            ranges([ratio, "6"]),
            vec![digits(28), digits(28)],
        ),
    ] {
        let mut made = batches(&kind, ArrowOptions { batch_rows: 1, ..ArrowOptions::default() }, &[&cells, &[later]]);
        assert_eq!(made.refused(), None, "{kind:?}");
        let schema = made.fixed().clone();
        let inner = match schema.field(0).data_type() {
            DataType::Struct(fields) => fields.iter().take(2).map(|field| field.data_type().clone()).collect(),
            other => vec![other.clone()],
        };
        assert_eq!(inner, wanted);
        let rows: Vec<RecordBatch> = std::iter::from_fn(|| made.take()).collect();
        assert_eq!(rows.len(), cells.len() + 1);
        for batch in rows {
            assert_eq!(batch.schema(), schema);
            batch.column(0).to_data().validate_full().unwrap();
        }
    }
    // The type is that of the first batch, or what others have already.
    let kind = ColumnKind::List(NUMERIC.into());
    let later = batches(&kind, ArrowOptions::default(), &[&[items(vec!["1"])]]);
    assert_eq!(later.schema().field(0).data_type(), &list(digits(20)));
    let fixed = ArrowOptions { fixed: true, ..ArrowOptions::default() };
    assert!(
        batches(&kind, fixed, &[&[items(vec!["1"]), items(vec![sum])]])
            .refused()
            .is_some_and(|refused| refused.row == 1)
    );
}

#[test]
fn numbers_without_a_precision_are_what_the_caller_wants() {
    let cells = [cell(|s| s.decimal("1.50")), cell(|s| s.decimal("NaN"))];
    let with = |numeric| {
        let options = ArrowOptions { numeric, ..ArrowOptions::default() };
        batches(&NUMERIC, options, &[&cells]).take().expect("no value is refused")
    };
    let texts = with(Numeric::Text);
    assert_eq!(texts.column(0).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("1.50"), Some("NaN")]);
    let floats = with(Numeric::Float64);
    assert_eq!(floats.column(0).as_primitive::<Float64Type>().value(0), 1.5);
}

/// Rows whose nulls are in each place of a byte and of a word of the validity, and at their ends.
const MANY: usize = 200;

fn is_null_row(row: usize) -> bool {
    row > 70 && (row.is_multiple_of(3) || matches!(row % 64, 0 | 63) || row + 1 == MANY)
}

#[test]
fn nulls_are_in_their_rows_also_of_many() {
    let int = |bits, signed| ColumnKind::Int { bits, signed };
    let span = ColumnKind::Interval { first: Part::Hour, last: Part::Second, fraction: Fraction::MICROS };
    let kinds: [(ColumnKind, fn() -> Cell); 18] = [
        (ColumnKind::Bool, || cell(|s| s.bool(true))),
        (int(16, true), || cell(|s| s.int(1))),
        (INT32, || cell(|s| s.int(1))),
        (int(64, true), || cell(|s| s.int(1))),
        (int(64, false), || cell(|s| s.uint(1))),
        (ColumnKind::Float { bits: 32 }, || cell(|s| s.float(1.0))),
        (ColumnKind::Float { bits: 64 }, || cell(|s| s.float(1.0))),
        (decimal(10, 2), || cell(|s| s.decimal("1.5"))),
        (decimal(50, 2), || cell(|s| s.decimal("1.5"))),
        (NUMERIC, || cell(|s| s.decimal("1.5"))),
        (ColumnKind::Text, || cell(|s| s.text(b"x"))),
        (ColumnKind::Bytes, || cell(|s| s.bytes(b"x"))),
        (ColumnKind::Uuid, || cell(|s| s.uuid(&[7; 16]))),
        (ColumnKind::Date, || cell(|s| s.date(1))),
        (ColumnKind::Time(Fraction::MICROS), || cell(|s| s.time(1))),
        (ColumnKind::Timestamp(Fraction::MICROS), || cell(|s| s.timestamp(1))),
        (span, || cell(|s| s.interval(0, 0, 1))),
        (ColumnKind::List(Box::new(INT32)), || list(&[1, 2])),
    ];
    for (kind, put) in kinds {
        let cells: Vec<Cell> = (0..MANY).map(|row| if is_null_row(row) { null() } else { put() }).collect();
        let batch = one(&kind, &cells);
        let found: Vec<usize> = (0..MANY).filter(|row| batch.column(0).is_null(*row)).collect();
        assert_eq!(found, (0..MANY).filter(|row| is_null_row(*row)).collect::<Vec<_>>(), "{kind:?}");
    }
}

#[test]
fn text_and_bytes() {
    let batch = one(&ColumnKind::Text, &[cell(|s| s.text("grün".as_bytes())), null(), cell(|s| s.text(b""))]);
    let array = batch.column(0).as_string::<i32>();
    assert_eq!(array.iter().collect::<Vec<_>>(), [Some("grün"), None, Some("")]);
    // Each half is no UTF-8, though both together are.
    let text = refused(&ColumnKind::Text, &[cell(|s| s.text(b"gr\xc3")), cell(|s| s.text(b"\xbcn"))]);
    assert!(text.contains("UTF-8"), "{text}");

    let batch = one(&ColumnKind::Bytes, &[cell(|s| s.bytes(b"\0\xff")), null()]);
    assert_eq!(batch.column(0).as_binary::<i32>().iter().collect::<Vec<_>>(), [Some(&b"\0\xff"[..]), None]);

    let batch = one(&ColumnKind::Uuid, &[null(), cell(|s| s.uuid(&[7; 16]))]);
    assert_eq!(batch.column(0).as_fixed_size_binary().iter().collect::<Vec<_>>(), [None, Some(&[7; 16][..])]);
    let field = batch.schema().field(0).clone();
    assert_eq!(field.metadata().get("ARROW:extension:name").map(String::as_str), Some("arrow.uuid"));
}

#[test]
fn dates_and_times() {
    let batch = one(&ColumnKind::Date, &[cell(|s| s.date(-1)), null()]);
    assert_eq!(batch.column(0).as_primitive::<Date32Type>().iter().collect::<Vec<_>>(), [Some(-1), None]);
    let batch = one(&ColumnKind::Time(Fraction::MICROS), &[cell(|s| s.time(1))]);
    assert_eq!(batch.column(0).as_primitive::<Time64MicrosecondType>().values(), &[1]);
    let batch = one(&ColumnKind::Timestamp(Fraction::NONE), &[cell(|s| s.timestamp(-2_000_000))]);
    assert_eq!(batch.column(0).as_primitive::<TimestampSecondType>().values(), &[-2]);
    let batch = one(&ColumnKind::TimestampTz(Fraction::MICROS), &[cell(|s| s.timestamptz(5))]);
    let array = batch.column(0).as_primitive::<TimestampMicrosecondType>();
    assert_eq!((array.value(0), array.timezone()), (5, Some("UTC")));

    for (kind, put) in [
        (ColumnKind::Date, cell(|s| s.date(i32::MAX))),
        (ColumnKind::Date, cell(|s| s.no_such_date("0000-00-00"))),
        (ColumnKind::Time(Fraction::MICROS), cell(|s| s.time(86_400_000_000))),
        (ColumnKind::Timestamp(Fraction::MICROS), cell(|s| s.timestamp(i64::MIN))),
        (ColumnKind::Timestamp(Fraction::NONE), cell(|s| s.timestamp(1))),
    ] {
        assert!(refused(&kind, &[put]).starts_with("column 1 (c), row 1: "));
    }
}

#[test]
fn spans_of_time() {
    let span = |first, last| ColumnKind::Interval { first, last, fraction: Fraction::MICROS };
    let batch = one(&span(Part::Hour, Part::Second), &[cell(|s| s.interval(0, 1, -1))]);
    assert_eq!(batch.column(0).as_primitive::<DurationMicrosecondType>().values(), &[86_399_999_999]);
    let batch = one(&span(Part::Year, Part::Month), &[cell(|s| s.months(14))]);
    let wanted = IntervalMonthDayNano::new(14, 0, 0);
    assert_eq!(batch.column(0).as_primitive::<IntervalMonthDayNanoType>().values(), &[wanted]);
    let batch = one(&span(Part::Year, Part::Second), &[cell(|s| s.interval(1, 2, 3))]);
    let wanted = IntervalMonthDayNano::new(1, 2, 3000);
    assert_eq!(batch.column(0).as_primitive::<IntervalMonthDayNanoType>().values(), &[wanted]);
    assert!(refused(&span(Part::Day, Part::Second), &[cell(|s| s.interval(1, 0, 0))]).contains("1 months"));
}

#[test]
fn values_that_arrow_lacks_are_null_if_the_caller_wants_it() {
    let options = ArrowOptions { null_unrepresentable: true, ..ArrowOptions::default() };
    let cells = [cell(|s| s.date(i32::MIN)), cell(|s| s.date(3)), cell(|s| s.no_such_date("2024-02-31"))];
    let mut made = batches(&ColumnKind::Date, options, &[&cells]);
    let batch = made.take().expect("no value is refused");
    assert_eq!(batch.column(0).as_primitive::<Date32Type>().iter().collect::<Vec<_>>(), [None, Some(3), None]);
    // Bytes that are no value at all stay an error.
    assert!(batches(&ColumnKind::Date, options, &[&[cell(|s| s.invalid("short"))]]).refused().is_some());
}

#[test]
fn a_list_of_lists_is_null_as_a_whole_if_the_caller_wants_it() {
    let options = ArrowOptions { null_unrepresentable: true, ..ArrowOptions::default() };
    let square = || {
        cell(|s| {
            s.begin(Container::List, 2);
            for _ in 0..2 {
                s.begin(Container::List, 1);
                s.int(1);
                s.end();
            }
            s.end();
        })
    };
    let of = |kind: &ColumnKind, cells: &[Cell]| {
        let batch = batches(kind, options, &[cells]).take().expect("no value is refused");
        let array = batch.column(0).clone();
        array.to_data().validate_full().unwrap();
        (0..array.len()).map(|row| array.is_null(row)).collect::<Vec<_>>()
    };
    let kind = ColumnKind::List(Box::new(INT32));
    assert_eq!(of(&kind, &[list(&[1, 2]), square(), list(&[]), square()]), [false, true, false, true]);
    // In a composite value it is the attribute that is null.
    let attribute = cell(|s| {
        s.begin(Container::Record { type_id: 1, is_described: true }, 1);
        s.begin(Container::List, 1);
        s.begin(Container::List, 0);
        s.end();
        s.end();
        s.end();
    });
    let record = ColumnKind::Record([("a".into(), kind)].into());
    let batch = batches(&record, options, &[&[attribute]]).take().expect("no value is refused");
    let array = batch.column(0).as_struct();
    assert!(array.is_valid(0) && array.column(0).is_null(0));
}

fn list(items: &'static [i64]) -> Cell {
    cell(move |s| {
        s.begin(Container::List, items.len());
        items.iter().for_each(|item| s.int(*item));
        s.end();
    })
}

#[test]
fn lists() {
    let kind = ColumnKind::List(Box::new(INT32));
    let with_null = cell(|s| {
        s.begin(Container::List, 2);
        s.null();
        s.int(9);
        s.end();
    });
    let batch = one(&kind, &[list(&[1, 2]), null(), list(&[]), with_null]);
    let array = batch.column(0).as_list::<i32>();
    let rows: Vec<Option<Vec<Option<i32>>>> = (0..4)
        .map(|row| array.is_valid(row).then(|| array.value(row).as_primitive::<Int32Type>().iter().collect()))
        .collect();
    assert_eq!(rows, [Some(vec![Some(1), Some(2)]), None, Some(vec![]), Some(vec![None, Some(9)])]);

    let of_lists = cell(|s| {
        s.begin(Container::List, 1);
        s.begin(Container::List, 1);
        s.int(1);
        s.end();
        s.end();
    });
    let text = refused(&kind, &[list(&[1, 2, 3]), of_lists, list(&[4])]);
    assert!(text.starts_with("column 1 (c), row 2: an array of more than one dimension does not fit"), "{text}");
    assert!(text.ends_with("return it as text (column::text) or as JSON (to_jsonb(column))"), "{text}");
    let times = cell(|s| {
        s.begin(Container::List, 1);
        s.begin(Container::List, 1);
        s.timetz(0, 0);
        s.end();
        s.end();
    });
    let text = refused(&ColumnKind::List(Box::new(ColumnKind::TimeTz(Fraction::MICROS))), &[null(), times]);
    assert!(text.starts_with("column 1 (c), row 2: an array of more than one dimension does not fit"), "{text}");
    let too_large = list(&[1, 1 << 40]);
    assert!(refused(&kind, &[list(&[1, 2, 3]), too_large]).contains("row 2: 1099511627776"));
}

#[test]
fn pairs_and_sparse_vectors_are_text() {
    let pairs =
        cell(|s| s.pairs(&[(b"a", Some(b"b")), (b"", None)], |pairs| format!("{} pairs", pairs.len()).into_bytes()));
    let sparse = cell(|s| s.sparse_vector(5, &[(0, 2.5), (3, 1.0)]));
    let batch = one(&ColumnKind::Text, &[pairs, sparse, cell(|s| s.sparse_vector(2, &[]))]);
    let texts = batch.column(0).as_string::<i32>();
    assert_eq!([0, 1, 2].map(|at| texts.value(at)), ["2 pairs", "{1:2.5,4:1}/5", "{}/2"]);
}

#[test]
fn records_and_ranges() {
    let kind =
        ColumnKind::Record([("a".into(), INT32), ("b".into(), ColumnKind::List(Box::new(ColumnKind::Text)))].into());
    let record = cell(|s| {
        s.begin(Container::Record { type_id: 1, is_described: true }, 2);
        s.int(5);
        s.begin(Container::List, 1);
        s.text(b"x");
        s.end();
        s.end();
    });
    let batch = one(&kind, &[record, null()]);
    let array = batch.column(0).as_struct();
    assert!(array.is_valid(0) && array.is_null(1));
    assert_eq!(array.column(0).as_primitive::<Int32Type>().value(0), 5);
    assert_eq!(array.column(1).as_list::<i32>().value(0).as_string::<i32>().value(0), "x");

    let range = |empty, has_lower, has_upper| Container::Range {
        empty,
        has_lower,
        has_upper,
        lower_inc: has_lower,
        upper_inc: false,
    };
    let cells = [
        cell(move |s| {
            s.begin(range(false, true, true), 2);
            s.int(1);
            s.int(3);
            s.end();
        }),
        cell(move |s| {
            s.begin(range(false, false, true), 1);
            s.int(8);
            s.end();
        }),
        null(),
        cell(move |s| {
            s.begin(range(true, false, false), 0);
            s.end();
        }),
    ];
    let batch = one(&ColumnKind::Range(Box::new(INT32)), &cells);
    let array = batch.column(0).as_struct();
    let bound = |number: usize| array.column(number).as_primitive::<Int32Type>().iter().collect::<Vec<_>>();
    let flag = |number: usize| array.column(number).as_boolean().iter().flatten().collect::<Vec<_>>();
    assert_eq!(bound(0), [Some(1), None, None, None]);
    assert_eq!(bound(1), [Some(3), Some(8), None, None]);
    assert_eq!((flag(2), flag(4)), (vec![true, false, false, false], vec![false, false, false, true]));
    assert_eq!(array.null_count(), 1);
}

#[test]
fn other_types_are_text_with_their_name() {
    let point = cell(|s| {
        s.begin(Container::Point, 2);
        s.float(1.5);
        s.float(-2.0);
        s.end();
    });
    for (kind, put, wanted) in [
        (ColumnKind::Other("point".into()), point, "(1.5,-2)"),
        (ColumnKind::TimeTz(Fraction::MICROS), cell(|s| s.timetz(1_000_000, -5400)), "00:00:01-01:30"),
        (ColumnKind::Bits, cell(|s| s.bits(5, &[0b1010_1000])), "10101"),
        (ColumnKind::Inet, cell(|s| s.inet(Inet { address: &[10, 0, 0, 1], prefix: 8, network: false })), "10.0.0.1/8"),
        (ColumnKind::Other("ltree".into()), cell(|s| s.custom(1, false, b"a.b")), "a.b"),
        (ColumnKind::Other("blob".into()), cell(|s| s.bytes(&[1, 0xfe])), "\\x01fe"),
    ] {
        let batch = one(&kind, &[put, null()]);
        assert_eq!(batch.column(0).as_string::<i32>().iter().collect::<Vec<_>>(), [Some(wanted), None]);
        assert!(batch.schema().field(0).metadata().contains_key("headrace:server_type"), "{kind:?}");
    }
}

#[test]
fn bits_of_a_number_are_its_bytes() {
    use headrace_arrow::flat::{Binaries, Build as _};
    let mut bytes = Binaries::default();
    for (bits, given) in
        [(1, [0x80_u8].as_slice()), (8, &[0x05]), (9, &[0x82, 0x80]), (16, &[0x01, 0x02]), (3, &[0xa0])]
    {
        bytes.bits(bits, given).unwrap();
    }
    let array = bytes.finish().unwrap();
    let values: Vec<&[u8]> = array.as_binary::<i32>().iter().flatten().collect();
    assert_eq!(values, [&[0x01][..], &[0x05], &[0x01, 0x05], &[0x01, 0x02], &[0x05]]);
}

#[test]
fn a_batch_has_at_most_its_rows() {
    let options = ArrowOptions { batch_rows: 3, ..ArrowOptions::default() };
    let kind = ColumnKind::Int { bits: 16, signed: true };
    let cells = |numbers: std::ops::Range<i64>| numbers.map(|n| cell(move |s| s.int(n))).collect::<Vec<_>>();
    let mut made = batches(&kind, options, &[&cells(0..2), &cells(2..7), &cells(7..9)]);
    assert_eq!(made.rows(), 9);
    let all: Vec<RecordBatch> = std::iter::from_fn(|| made.take()).collect();
    assert!(all.iter().all(|batch| (1..=3).contains(&batch.num_rows())));
    let numbers: Vec<i16> =
        all.iter().flat_map(|batch| batch.column(0).as_primitive::<Int16Type>().values().to_vec()).collect();
    assert_eq!(numbers, (0..9).collect::<Vec<i16>>());
}

#[test]
fn a_fault_of_a_later_batch_has_its_row_in_the_result() {
    let options = ArrowOptions { batch_rows: 2, ..ArrowOptions::default() };
    let good = [cell(|s| s.int(1)), cell(|s| s.int(2))];
    let bad = [cell(|s| s.int(3)), cell(|s| s.int(1 << 40))];
    let made = batches(&INT32, options, &[&good, &bad]);
    assert_eq!(made.refused().map(|refused| refused.row), Some(3));
}

#[test]
fn rows_without_columns_are_counted() {
    let mut batches = Batches::new(&[], ArrowOptions::default());
    batches.begin(4);
    batches.cut();
    assert_eq!(batches.take().map(|batch| batch.num_rows()), Some(4));
}
