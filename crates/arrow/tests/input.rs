//! Record batches as rows of parameters: the places that the tests of the databases do not reach.

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, StringArray, StructArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, Fields};
use headrace_arrow::Nanoseconds;
use headrace_arrow::input::{Input, InputError, Meaning};
use headrace_core::{Mismatch, MismatchKind, Parameters, Value, ValueKind};
use std::sync::Arc;

const MEANING: Meaning =
    Meaning { structs: ValueKind::Record, local: |micros| Ok(micros + 1), nanoseconds: Nanoseconds::Refused };

fn rows(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let fields: Fields =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    StructArray::new(fields, columns.into_iter().map(|(_, array)| array).collect(), None)
}

fn input(array: StructArray) -> Input {
    Input::of_array(Arc::new(array), MEANING).expect("rows")
}

#[test]
fn a_part_of_a_microsecond_is_refused_or_cut_off() {
    for (nanoseconds, wanted) in [(Nanoseconds::Refused, None), (Nanoseconds::Truncated, Some([1, -2]))] {
        let instants: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_999, -1_001]));
        let meaning = Meaning { nanoseconds, ..MEANING };
        let mut input = Input::of_array(Arc::new(rows(vec![("at", instants)])), meaning).expect("rows");
        let batch = input.next_batch().expect("no error").expect("a batch");
        for at in 0..2 {
            let value = batch.row::<Mismatch>(at, None).get(0).expect("a cell").timestamp();
            assert_eq!(value.ok(), wanted.map(|wanted| wanted[at]), "{nanoseconds:?}");
        }
    }
}

#[test]
fn a_slice_begins_at_its_own_row() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let keys = vec![Some("a"), Some("b"), None, Some("a")].into_iter().collect::<DictionaryArray<Int8Type>>();
    let batch = rows(vec![("n", numbers), ("key", Arc::new(keys))]).slice(1, 3);
    let batch = input(batch).next_batch().expect("no error").expect("a batch");
    assert_eq!(batch.rows(), 3);
    let row = batch.row::<Mismatch>(0, None);
    assert_eq!((row.count(), row.get(0).expect("a cell").kind()), (2, ValueKind::Null));
    assert_eq!(row.get(1).expect("a cell").with_text(<[u8]>::to_vec), Ok(b"b".to_vec()));
    let row = batch.row::<Mismatch>(1, Some(&[1, 0, 0]));
    assert_eq!(row.count(), 3);
    assert_eq!(row.get(0).expect("a cell").kind(), ValueKind::Null);
    assert_eq!(row.get(2).expect("a cell").int(), Ok(3));
    assert!(row.get(3).is_err());
}

#[test]
fn the_column_that_was_read_last_is_known() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let batch = input(rows(vec![("a", Arc::new(Int64Array::from(vec![7]))), ("b", text)]));
    let batch = { batch }.next_batch().expect("no error").expect("a batch");
    assert_eq!(batch.last_read(), None);
    let row = batch.row::<Mismatch>(0, None);
    let cell = row.get(1).expect("a cell");
    assert!(cell.int().is_err_and(|error| error.kind != MismatchKind::OutOfRange));
    assert_eq!(batch.last_read().as_deref(), Some("column 'b' (Arrow type Utf8)"));
    batch.settle();
    assert_eq!(batch.last_read(), None);
}

#[test]
fn timestamps_without_zone_have_a_local_instant() {
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![5_000, 5_001]));
    let zoned: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![5_000, 5_001]).with_timezone("UTC"));
    let batch = input(rows(vec![("at", times), ("instant", zoned)])).next_batch().expect("no error").expect("a batch");
    let row = batch.row::<Mismatch>(0, None);
    let cell = |i: usize| row.get(i).expect("a cell");
    assert_eq!((cell(0).timestamp(), cell(0).timestamptz()), (Ok(5), Ok(6)));
    assert_eq!((cell(1).kind(), cell(1).timestamptz()), (ValueKind::TimestampTz, Ok(5)));
    let row = batch.row::<Mismatch>(1, None);
    assert!(row.get(0).expect("a cell").timestamp().is_err_and(|error| error.kind == MismatchKind::OutOfRange));
}

#[test]
fn what_is_no_stream_of_rows_is_refused() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    assert!(matches!(Input::of_array(numbers, MEANING), Err(InputError::NoBatches(_))));
    let union = DataType::Union(
        arrow_schema::UnionFields::from_fields([Field::new("x", DataType::Int8, true)]),
        arrow_schema::UnionMode::Sparse,
    );
    let list = DataType::List(Arc::new(Field::new("item", union, true)));
    let array = StructArray::new_null(Fields::from(vec![Field::new("deep", list, true)]), 1);
    let refused = Input::of_array(Arc::new(array), MEANING).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|text| text.contains("column 'deep' has the Arrow type List(Union(")));
}

#[test]
fn batches_without_rows_are_passed_over() {
    let none: ArrayRef = Arc::new(Int32Array::from(Vec::<i32>::new()));
    assert!(input(rows(vec![("n", none)])).next_batch().expect("no error").is_none());
}
