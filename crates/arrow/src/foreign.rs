//! Streams that other programs have made, in Arrow's C stream interface.
//!
//! This is the only module of this crate with unsafe code. Its structures are those of Arrow's documentation, "The
//! Arrow C data interface" and "The Arrow C stream interface"; the ones of `arrow_array` and `arrow_schema` have the
//! same layout, and no fields for others.

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use std::ffi::{CStr, c_char, c_int, c_void};

/// `struct ArrowArrayStream`
#[derive(Debug)]
#[repr(C)]
pub struct Stream {
    /// Writes the schema of its batches; returns an error of the operating system.
    pub get_schema: Option<unsafe extern "C" fn(*mut Self, *mut FFI_ArrowSchema) -> c_int>,
    /// Writes the next batch, or a released one after the last.
    pub get_next: Option<unsafe extern "C" fn(*mut Self, *mut FFI_ArrowArray) -> c_int>,
    /// The text of the last error.
    pub get_last_error: Option<unsafe extern "C" fn(*mut Self) -> *const c_char>,
    /// Ends it; null once that is done.
    pub release: Option<unsafe extern "C" fn(*mut Self)>,
    /// The producer's own.
    pub private_data: *mut c_void,
}

/// The beginning of `struct ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    _name: *const c_char,
    _metadata: *const c_char,
    _flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
}

/// `struct ArrowArray`
#[repr(C)]
struct Array {
    _length: i64,
    _null_count: i64,
    _offset: i64,
    n_buffers: i64,
    n_children: i64,
    _buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    _private_data: *mut c_void,
}

/// Where a type has columns of nulls.
#[derive(Debug, PartialEq, Eq)]
struct Nulls {
    is_null: bool,
    children: Vec<(usize, Nulls)>,
    dictionary: Option<Box<Nulls>>,
}

impl Nulls {
    /// Those of a type; `None` if it has none.
    ///
    /// # Safety
    /// The pointer is null, or leads to a schema that was not released.
    unsafe fn of(schema: *const Schema) -> Option<Self> {
        // SAFETY: the caller's promise. A schema has as many children as `n_children`, and a format that ends with a NUL.
        unsafe {
            let schema = schema.as_ref()?;
            let is_null = !schema.format.is_null() && CStr::from_ptr(schema.format) == c"n";
            let count = if schema.children.is_null() { 0 } else { usize::try_from(schema.n_children).unwrap_or(0) };
            let children = (0..count)
                .filter_map(|number| Some((number, Self::of(*schema.children.add(number))?)))
                .collect::<Vec<_>>();
            let dictionary = Self::of(schema.dictionary).map(Box::new);
            (is_null || !children.is_empty() || dictionary.is_some()).then_some(Self { is_null, children, dictionary })
        }
    }

    /// Takes from each array of nulls the buffer that it does not have by the specification.
    ///
    /// # Safety
    /// The pointer is null, or leads to an array of the type that this is of.
    unsafe fn mend(&self, array: *mut Array) {
        // SAFETY: the caller's promise. An array has as many children as `n_children`.
        unsafe {
            let Some(array) = array.as_mut().filter(|array| array.release.is_some()) else { return };
            if self.is_null && array.n_buffers == 1 {
                array.n_buffers = 0;
            }
            let count = if array.children.is_null() { 0 } else { usize::try_from(array.n_children).unwrap_or(0) };
            for (number, nulls) in self.children.iter().filter(|(number, _)| *number < count) {
                nulls.mend(*array.children.add(*number));
            }
            if let Some(nulls) = &self.dictionary {
                nulls.mend(array.dictionary);
            }
        }
    }
}

/// What lies between a stream and its consumer: it asks the stream in the consumer's place.
pub trait Layer {
    /// The stream.
    fn within(&mut self) -> &mut FFI_ArrowArrayStream;

    /// A batch has come, or a released array after the last one.
    ///
    /// # Safety
    /// The array is one of the stream's type that nobody else has, or a released one.
    unsafe fn received(&mut self, _: *mut FFI_ArrowArray) {}
}

/// A stream that consists of a layer and the stream within.
pub fn layered<L: Layer>(layer: L) -> Stream {
    Stream {
        get_schema: Some(get_schema::<L>),
        get_next: Some(get_next::<L>),
        get_last_error: Some(get_last_error::<L>),
        release: Some(release::<L>),
        private_data: Box::into_raw(Box::new(layer)).cast::<c_void>(),
    }
}

/// `EINVAL`: a stream that was released, or has no such function.
const INVALID: c_int = 22;

/// The layer of a stream; `None` of one that was released.
///
/// # Safety
/// The pointer is null, or leads to a stream that was made by [`layered`] of a layer of this type.
pub unsafe fn layer<'a, L: Layer>(stream: *mut Stream) -> Option<&'a mut L> {
    // SAFETY: the caller's promise.
    unsafe { stream.as_mut()?.private_data.cast::<L>().as_mut() }
}

/// The stream within. Its pointer is valid for as long as the layer.
fn within(layer: &mut impl Layer) -> *mut Stream {
    // The layout is the same.
    std::ptr::from_mut(layer.within()).cast()
}

unsafe extern "C" fn get_schema<L: Layer>(stream: *mut Stream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: the consumer of a stream passes it to its own functions only; the one within is asked as its consumer asks.
    unsafe {
        let Some(layer) = layer::<L>(stream) else { return INVALID };
        let stream = within(layer);
        (*stream).get_schema.map_or(INVALID, |get| get(stream, out))
    }
}

unsafe extern "C" fn get_next<L: Layer>(stream: *mut Stream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: as above; what was written is an array of the stream's type, or a released one.
    unsafe {
        let Some(layer) = layer::<L>(stream) else { return INVALID };
        let stream = within(layer);
        let Some(get) = (*stream).get_next else { return INVALID };
        let failed = get(stream, out);
        if failed == 0 {
            layer.received(out);
        }
        failed
    }
}

unsafe extern "C" fn get_last_error<L: Layer>(stream: *mut Stream) -> *const c_char {
    // SAFETY: as above.
    unsafe {
        let Some(layer) = layer::<L>(stream) else { return std::ptr::null() };
        let stream = within(layer);
        (*stream).get_last_error.map_or(std::ptr::null(), |get| get(stream))
    }
}

/// Ends a stream that was made by [`layered`], and the one within.
///
/// # Safety
/// The pointer is null, or leads to such a stream, of a layer of this type.
pub unsafe extern "C" fn release<L: Layer>(stream: *mut Stream) {
    // SAFETY: the caller's promise. The stream within is released as the layer is dropped.
    unsafe {
        let Some(stream) = stream.as_mut() else { return };
        let data = std::mem::replace(&mut stream.private_data, std::ptr::null_mut());
        stream.release = None;
        if !data.is_null() {
            drop(Box::from_raw(data.cast::<L>()));
        }
    }
}

/// Where the batches of a stream have columns of nulls.
struct Mended {
    stream: FFI_ArrowArrayStream,
    nulls: Nulls,
}

impl Layer for Mended {
    fn within(&mut self) -> &mut FFI_ArrowArrayStream {
        &mut self.stream
    }

    unsafe fn received(&mut self, array: *mut FFI_ArrowArray) {
        // SAFETY: the caller's promise, and the layout is the same.
        unsafe { self.nulls.mend(array.cast::<Array>()) }
    }
}

/// The same stream, whose columns of nulls have no buffers. Those of polars have one, which Arrow's library refuses and
/// others accept.
pub fn mended(mut stream: FFI_ArrowArrayStream) -> FFI_ArrowArrayStream {
    let own = (&raw mut stream).cast::<Stream>();
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: a stream that was not released writes its schema, which is released as it is dropped.
    let nulls = unsafe {
        match ((*own).release, (*own).get_schema) {
            (Some(_), Some(get)) if get(own, &raw mut schema) == 0 => Nulls::of((&raw const schema).cast::<Schema>()),
            _ => None,
        }
    };
    let Some(nulls) = nulls else { return stream };
    let mut made = layered(Mended { stream, nulls });
    // SAFETY: the layout is the same, and what is left is marked as released, so that it is released once.
    unsafe { FFI_ArrowArrayStream::from_raw((&raw mut made).cast::<FFI_ArrowArrayStream>()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::ffi_stream::ArrayStreamReader;
    use arrow_array::{
        Array as _, ArrayRef, Int32Array, NullArray, RecordBatch, RecordBatchIterator, StructArray, new_null_array,
    };
    use arrow_schema::{DataType, Field};
    use std::sync::Arc;

    /// A stream of two batches, whose arrays of nulls have a buffer as those of polars have.
    fn of_polars(columns: Vec<(&str, ArrayRef)>) -> FFI_ArrowArrayStream {
        unsafe extern "C" fn next(stream: *mut Stream, out: *mut FFI_ArrowArray) -> c_int {
            // SAFETY: only streams made below have this function.
            unsafe {
                let mended = layer::<Mended>(stream).unwrap();
                let within = within(mended);
                assert_eq!((*within).get_next.unwrap()(within, out), 0);
                let add = |array: *mut Array| (*array).n_buffers = 1;
                each(&mended.nulls, out.cast(), &add);
            }
            0
        }
        /// Every array of nulls that was not released.
        unsafe fn each(nulls: &Nulls, array: *mut Array, work: &dyn Fn(*mut Array)) {
            // SAFETY: an array of the type that `nulls` is of.
            unsafe {
                if (*array).release.is_none() {
                    return;
                }
                if nulls.is_null {
                    work(array);
                }
                for (number, nulls) in &nulls.children {
                    each(nulls, *(*array).children.add(*number), work);
                }
            }
        }
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name.to_owned(), array, true)),
        )
        .unwrap();
        let schema = batch.schema();
        let reader = RecordBatchIterator::new([Ok(batch.clone()), Ok(batch)], schema);
        let mut made = mended(FFI_ArrowArrayStream::new(Box::new(reader)));
        // SAFETY: it has columns of nulls, so it was made by `mended`.
        unsafe { (*(&raw mut made).cast::<Stream>()).get_next = Some(next) };
        made
    }

    fn columns() -> Vec<(&'static str, ArrayRef)> {
        let fields = vec![Arc::new(Field::new("x", DataType::Null, true))];
        let nested = StructArray::new(fields.into(), vec![Arc::new(NullArray::new(2)) as ArrayRef], None);
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::Null, true)));
        vec![
            ("id", Arc::new(Int32Array::from(vec![1, 2]))),
            ("note", Arc::new(NullArray::new(2))),
            ("nested", Arc::new(nested)),
            ("list", new_null_array(&list, 2)),
        ]
    }

    #[test]
    fn buffers_of_nulls_are_not_taken_over() {
        let refused = ArrayStreamReader::try_new(of_polars(columns())).unwrap().next().unwrap();
        assert!(refused.unwrap_err().to_string().contains("doesn't expect buffer"));
        let batches = ArrayStreamReader::try_new(mended(of_polars(columns()))).unwrap();
        let rows: usize = batches.map(|batch| batch.unwrap().len()).sum();
        assert_eq!(rows, 4);
    }

    #[test]
    fn streams_without_nulls_are_as_they_were() {
        let batch = RecordBatch::try_from_iter([("id", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]).unwrap();
        let schema = batch.schema();
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        let data = stream.private_data();
        assert_eq!(mended(stream).private_data(), data);
    }
}
