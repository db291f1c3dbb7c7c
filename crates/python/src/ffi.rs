//! The only unsafe CPython calls of the extension.
//!
//! PyO3's safe constructors check more than a row out of a million needs. Each function here states its preconditions;
//! all of them need the interpreter attached, which the `Python` token proves.

use crate::utf8::{SHORT_TEXT, characters, is_ascii};
use headrace_arrow::ArrowError;
use headrace_arrow::export::{ArrowArray, ArrowArrayStream, ArrowSchema};
use headrace_arrow::input::{ArrayRef, InputError, from_ffi, imported, make_array};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyInt, PyList, PyString, PyTuple, PyType};
use pyo3::{PyClass, PyTypeInfo, ffi};
use std::ffi::CStr;

/// An owned reference: the result of every constructor here. `None` means that Python raised.
pub type Object<'py> = Option<Bound<'py, PyAny>>;

/// A tuple that is filled in place and has no other references until it is finished.
///
/// Invariant: every slot below `filled` has an owned reference, every other slot is NULL. A tuple with NULL slots never
/// leaves this type: [`RowTuple::finish`] puts None into empty slots, and dropping it early is sound because CPython's
/// tuple deallocation skips NULL.
pub struct RowTuple<'py> {
    tuple: Bound<'py, PyAny>,
    filled: usize,
    len: usize,
}

impl<'py> RowTuple<'py> {
    /// An empty tuple of `len` slots.
    pub fn new(py: Python<'py>, len: usize) -> PyResult<Self> {
        // SAFETY: PyTuple_New returns a new reference or NULL with an exception set.
        let tuple = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(len as ffi::Py_ssize_t))? };
        Ok(Self { tuple, filled: 0, len })
    }

    /// Puts `value` in the next slot; drops it when the tuple is full.
    #[inline]
    pub fn push(&mut self, value: Bound<'py, PyAny>) {
        if self.filled < self.len {
            // SAFETY: the tuple has `len` slots, `filled < len`, the slot is NULL (invariant), the tuple has no other
            // references, and the reference is passed on.
            unsafe { ffi::PyTuple_SET_ITEM(self.tuple.as_ptr(), self.filled as ffi::Py_ssize_t, value.into_ptr()) };
            self.filled += 1;
        }
    }

    /// The number of slots with a value.
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// The finished tuple. `atomic` promises that no item can be part of a reference cycle; the collector then need not
    /// visit it, which it would find out itself at its first pass.
    #[inline]
    pub fn finish(mut self, atomic: bool) -> Bound<'py, PyAny> {
        while self.filled < self.len {
            let none = self.tuple.py().None().into_bound(self.tuple.py());
            self.push(none);
        }
        #[cfg(not(Py_GIL_DISABLED))]
        if atomic && self.len > 0 {
            // SAFETY: a tuple made by PyTuple_New with a length above 0 is tracked until it is untracked here.
            unsafe { ffi::PyObject_GC_UnTrack(self.tuple.as_ptr().cast()) };
        }
        #[cfg(Py_GIL_DISABLED)]
        let _ = atomic;
        self.tuple
    }
}

/// The class of [`crate::records`]: a tuple whose items are found by the name of their column, too, by the numbers in the
/// dict `_index` of its class.
pub fn record_base(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    /// `row[key]`
    unsafe extern "C" fn subscript(row: *mut ffi::PyObject, key: *mut ffi::PyObject) -> *mut ffi::PyObject {
        // SAFETY: called by the interpreter with a live tuple of a subclass, and a live key. Each reference that is made
        // here is released here, but the one that is returned; the class keeps its dict alive, and that its numbers.
        unsafe {
            if ffi::PyUnicode_Check(key) == 0 {
                let tuples = ffi::PyTuple_Type.tp_as_mapping;
                return match (*tuples).mp_subscript {
                    Some(subscript) => subscript(row, key),
                    None => std::ptr::null_mut(),
                };
            }
            let index = ffi::PyObject_GetAttrString(ffi::Py_TYPE(row).cast(), c"_index".as_ptr());
            if index.is_null() {
                return index;
            }
            let number = ffi::PyDict_GetItemWithError(index, key);
            let found = if number.is_null() {
                if ffi::PyErr_Occurred().is_null() {
                    ffi::PyErr_SetObject(ffi::PyExc_KeyError, key);
                }
                std::ptr::null_mut()
            } else {
                // Raises IndexError for a number that the row does not have.
                let item = ffi::PyTuple_GetItem(row, ffi::PyLong_AsSsize_t(number));
                ffi::Py_XINCREF(item);
                item
            };
            ffi::Py_DECREF(index);
            found
        }
    }
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_mp_subscript, pfunc: subscript as *mut std::ffi::c_void },
        ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"headrace._native.RecordBase".as_ptr(),
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    let bases = pyo3::types::PyTuple::new(py, [pyo3::types::PyTuple::type_object(py)])?;
    // SAFETY: the specification and its slots live until the call has returned, and are not used after it; sizes of 0 are
    // those of the base. Returns a new reference or NULL with an exception set.
    let made =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()))? };
    Ok(made.cast_into::<PyType>()?)
}

/// Returns true if the instances of a subclass of tuple are laid out as tuples: it adds no attribute, dict or list of
/// weak references.
pub fn is_laid_out_as_tuple(class: &Bound<'_, PyType>) -> bool {
    let tuple = pyo3::types::PyTuple::type_object(class.py());
    // SAFETY: both are live, readied types.
    unsafe {
        let is_of_the_heap = ffi::PyType_HasFeature(class.as_type_ptr(), ffi::Py_TPFLAGS_HEAPTYPE) != 0;
        let (class, tuple) = (&*class.as_type_ptr(), &*tuple.as_type_ptr());
        is_of_the_heap
            && (class.tp_basicsize, class.tp_itemsize) == (tuple.tp_basicsize, tuple.tp_itemsize)
            && (class.tp_dictoffset, class.tp_weaklistoffset) == (0, 0)
    }
}

/// How a row of a class that [`as_records`] has met ends: as the tuple that it was, whose memory the interpreter keeps for
/// the next tuple of this length.
#[cfg(not(Py_GIL_DISABLED))]
unsafe extern "C" fn end_record(row: *mut ffi::PyObject) {
    // SAFETY: called by the interpreter with an object that nothing refers to any more. Its class is the one that was given
    // this function, whose layout is tuple's, or a subclass of it, for which the interpreter's function has ended what the
    // subclass adds. As the class that has this function is of the heap, the reference to the object's own class is
    // released here. An empty tuple of a subclass is not the interpreter's only one, so it stays one of a subclass.
    unsafe {
        let class = ffi::Py_TYPE(row);
        if (*class).tp_dealloc.is_some_and(|end| std::ptr::fn_addr_eq(end, end_record as ffi::destructor))
            && ffi::PyTuple_GET_SIZE(row) > 0
        {
            (*row).ob_type = &raw mut ffi::PyTuple_Type;
        }
        if let Some(end) = ffi::PyTuple_Type.tp_dealloc {
            end(row);
        }
        ffi::Py_DECREF(class.cast());
    }
}

/// Makes the tuples of a list rows of `class`, whose layout is tuple's: [`is_laid_out_as_tuple`].
pub fn as_records(rows: &Bound<'_, PyList>, class: &Bound<'_, PyType>) -> PyResult<()> {
    #[cfg(not(Py_GIL_DISABLED))]
    // SAFETY: the class is one of the heap, of which each instance owns a reference, and adds nothing to tuple that would
    // have to end; so its instances may end by either function.
    unsafe {
        (*class.as_type_ptr()).tp_dealloc = Some(end_record);
    }
    for at in 0..rows.len() {
        #[cfg(not(Py_GIL_DISABLED))]
        // SAFETY: the list has an item at `at`: its length is asked for before each. A tuple that only the list refers to
        // is nobody else's, so nobody sees it change its class, whose layout and deallocation are those of any other
        // instance of it, as it is of a heap type with the garbage collector's header and owns a reference to its type.
        // The empty tuple, of which there is only one, is left out.
        unsafe {
            let row = ffi::PyList_GET_ITEM(rows.as_ptr(), at as ffi::Py_ssize_t);
            if ffi::Py_REFCNT(row) == 1 && ffi::PyTuple_CheckExact(row) != 0 && ffi::PyTuple_GET_SIZE(row) > 0 {
                ffi::Py_INCREF(class.as_ptr());
                (*row).ob_type = class.as_type_ptr();
                continue;
            }
        }
        let row = rows.get_item(at)?;
        if !row.get_type().is(class) {
            rows.set_item(at, class.call1((row,))?)?;
        }
    }
    Ok(())
}

/// A new object that the garbage collector does not track: for classes without a `__traverse__`, of which there are
/// several for each statement. For the collector they refer to nothing but their class, so it cannot collect their
/// cycles in any case; yet every class of PyO3 is tracked by default.
pub fn unseen<T>(py: Python<'_>, value: T) -> PyResult<Py<T>>
where
    T: PyClass<BaseType = PyAny> + Into<PyClassInitializer<T>>,
{
    let object = Py::new(py, value)?;
    #[cfg(not(Py_GIL_DISABLED))]
    // SAFETY: the object is new and of a class with the collector's header, which every class of PyO3 has. It may be taken
    // out of the collector's list at any time, and more than once: its deallocation does it again.
    unsafe {
        ffi::PyObject_GC_UnTrack(object.as_ptr().cast());
    }
    Ok(object)
}

/// `event_loop.call_soon(function, argument, context=context)`, without a dict for the keyword.
pub fn call_soon(
    event_loop: &Bound<'_, PyAny>,
    function: &Bound<'_, PyAny>,
    argument: &Bound<'_, PyAny>,
    context: &Bound<'_, PyAny>,
) -> PyResult<()> {
    static KEYWORDS: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
    let py = event_loop.py();
    let keywords = KEYWORDS.get_or_try_init(py, || PyTuple::new(py, ["context"]).map(Bound::unbind))?;
    let arguments = [event_loop.as_ptr(), function.as_ptr(), argument.as_ptr(), context.as_ptr()];
    // SAFETY: all are live objects; the method's own object and two arguments are positional, and the tuple names the one
    // after them. Returns a new reference or NULL with an exception set.
    let handle = unsafe {
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyObject_VectorcallMethod(
                pyo3::intern!(py, "call_soon").as_ptr(),
                arguments.as_ptr(),
                3,
                keywords.as_ptr(),
            ),
        )?
    };
    drop(handle);
    Ok(())
}

/// The address of the function that a builtin function or method calls.
pub fn address_of_function(object: &Bound<'_, PyAny>) -> Option<usize> {
    // SAFETY: the object is live, and of the type that the second call is for.
    unsafe {
        if ffi::PyCFunction_CheckExact(object.as_ptr()) == 0 {
            return None;
        }
        ffi::PyCFunction_GetFunction(object.as_ptr()).map(|function| function as usize)
    }
}

/// A list of exactly the given items.
pub fn list<'py>(py: Python<'py>, items: Vec<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: PyList_New returns a new reference or NULL with an exception set; the list has `items.len()` NULL slots
    // and no other references, and each slot gets one owned reference.
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(items.len() as ffi::Py_ssize_t))?;
        for (i, item) in items.into_iter().enumerate() {
            ffi::PyList_SET_ITEM(list.as_ptr(), i as ffi::Py_ssize_t, item.into_ptr());
        }
        Ok(list)
    }
}

/// A Python int.
#[inline]
pub fn int(py: Python<'_>, value: i64) -> Object<'_> {
    // SAFETY: returns a new reference or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyLong_FromLongLong(value)) }
}

/// A Python float.
#[inline]
pub fn float(py: Python<'_>, value: f64) -> Object<'_> {
    // SAFETY: returns a new reference or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyFloat_FromDouble(value)) }
}

/// A Python str; `None` with an exception set when the bytes are not UTF-8.
#[inline]
pub fn text<'py>(py: Python<'py>, utf8: &[u8]) -> Object<'py> {
    if is_ascii(utf8) {
        // The same result as the decoder's, without its checks byte by byte. SAFETY: PyUnicode_New returns a new
        // compact ASCII string of this length (or NULL with an exception set), without other references; its data is
        // `len` bytes and a zero that is in place already. The empty string and the one-character ones are shared: they
        // are not written to.
        unsafe {
            if let [] | [_] = utf8 {
                let data = utf8.as_ptr().cast();
                return Bound::from_owned_ptr_or_opt(py, ffi::PyUnicode_FromStringAndSize(data, utf8.len() as _));
            }
            let text = ffi::PyUnicode_New(utf8.len() as ffi::Py_ssize_t, 127);
            if !text.is_null() {
                std::ptr::copy_nonoverlapping(utf8.as_ptr(), ffi::PyUnicode_DATA(text).cast(), utf8.len());
            }
            return Bound::from_owned_ptr_or_opt(py, text);
        }
    }
    wide_text(py, utf8)
}

/// [`text`] for text that is not ASCII. Not inlined: its array would make all text pay for it.
#[inline(never)]
fn wide_text<'py>(py: Python<'py>, utf8: &[u8]) -> Object<'py> {
    let mut place = [0; SHORT_TEXT];
    if let Some((characters, all)) = characters(utf8, &mut place)
        && characters.len() > 1
    {
        // SAFETY: as below, with `characters` in the place of the text's.
        unsafe {
            let object = ffi::PyUnicode_New(characters.len() as ffi::Py_ssize_t, all.min(0x10_FFFF));
            if !object.is_null() {
                let data = ffi::PyUnicode_DATA(object);
                match all {
                    0..=0xFF => narrow(characters, data.cast::<u8>(), |c| c as u8),
                    0x100..=0xFFFF => narrow(characters, data.cast::<u16>(), |c| c as u16),
                    _ => narrow(characters, data.cast::<u32>(), |c| c),
                }
            }
            return Bound::from_owned_ptr_or_opt(py, object);
        }
    }
    // CPython's decoder guesses the width of the characters, and copies once it is known; two passes with the known
    // width are faster.
    let (mut len, mut all) = (0, 0);
    if let Ok(text) = std::str::from_utf8(utf8) {
        for character in text.chars() {
            len += 1;
            all |= character as u32;
        }
        // SAFETY: PyUnicode_New returns a new compact string of `len` characters without other references (or NULL with
        // an exception set), each 1, 2 or 4 bytes wide, as the largest character requires: the bitwise or of all of
        // them is below 256 or 65536 exactly if each of them is. `len` characters are written. A string of one
        // character may be shared, and is made by CPython.
        unsafe {
            if len > 1 {
                let object = ffi::PyUnicode_New(len, all.min(0x10_FFFF));
                if !object.is_null() {
                    let data = ffi::PyUnicode_DATA(object);
                    match all {
                        0..=0xFF => fill(text, data.cast::<u8>(), |c| c as u8),
                        0x100..=0xFFFF => fill(text, data.cast::<u16>(), |c| c as u16),
                        _ => fill(text, data.cast::<u32>(), |c| c as u32),
                    }
                }
                return Bound::from_owned_ptr_or_opt(py, object);
            }
        }
    }
    // SAFETY: the pointer and length describe `utf8`; returns a new reference or NULL with an exception set.
    unsafe {
        let data = utf8.as_ptr().cast();
        let strict = c"strict".as_ptr();
        Bound::from_owned_ptr_or_opt(py, ffi::PyUnicode_DecodeUTF8(data, utf8.len() as ffi::Py_ssize_t, strict))
    }
}

/// Writes characters one after the other.
///
/// # Safety
/// `to` must have room for all of them.
unsafe fn narrow<T>(characters: &[u32], to: *mut T, narrow: impl Fn(u32) -> T) {
    for (i, character) in characters.iter().enumerate() {
        // SAFETY: by this function's own contract.
        unsafe { to.add(i).write(narrow(*character)) };
    }
}

/// Writes the characters of `text` one after the other.
///
/// # Safety
/// `to` must have room for all of them.
unsafe fn fill<T>(text: &str, to: *mut T, narrow: impl Fn(char) -> T) {
    for (i, character) in text.chars().enumerate() {
        // SAFETY: by this function's own contract.
        unsafe { to.add(i).write(narrow(character)) };
    }
}

/// A Python bytes.
#[inline]
pub fn bytes<'py>(py: Python<'py>, value: &[u8]) -> Object<'py> {
    // SAFETY: the pointer and length describe `value`; returns a new reference or NULL with an exception set.
    unsafe {
        let data = value.as_ptr().cast();
        Bound::from_owned_ptr_or_opt(py, ffi::PyBytes_FromStringAndSize(data, value.len() as ffi::Py_ssize_t))
    }
}

/// An instance of `class`, a class written in Python, whose `__init__` has not run: the result of `object.__new__`.
pub fn instance<'py>(class: &Bound<'py, PyType>) -> Object<'py> {
    // SAFETY: `class` is a live type; allocation returns a new reference to a zeroed instance, which is valid for a
    // class without C members of its own, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_opt(class.py(), ffi::PyType_GenericAlloc(class.as_type_ptr(), 0)) }
}

/// `object.__setattr__`, past the class's own.
pub fn set_attribute(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    // SAFETY: three live objects; the references are borrowed.
    let done = unsafe { ffi::PyObject_GenericSetAttr(object.as_ptr(), name.as_ptr(), value.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(PyErr::fetch(object.py())) }
}

/// The exact types by which parameters are distinguished, without a call into Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// None
    None,
    /// bool
    Bool,
    /// int
    Int,
    /// float
    Float,
    /// str
    Str,
    /// bytes
    Bytes,
    /// list
    List,
    /// tuple
    Tuple,
    /// dict
    Dict,
    /// datetime.date
    Date,
    /// datetime.datetime
    DateTime,
    /// anything else, subclasses included
    Other,
}

/// The exact type of `value`.
#[inline]
pub fn exact(value: &Bound<'_, PyAny>) -> Exact {
    let object = value.as_ptr();
    // SAFETY: `object` is a live object, so its type pointer is valid; the type objects compared with are static.
    unsafe {
        let kind = ffi::Py_TYPE(object);
        if kind == &raw mut ffi::PyLong_Type {
            Exact::Int
        } else if kind == &raw mut ffi::PyUnicode_Type {
            Exact::Str
        } else if object == ffi::Py_None() {
            Exact::None
        } else if kind == &raw mut ffi::PyFloat_Type {
            Exact::Float
        } else if kind == &raw mut ffi::PyBool_Type {
            Exact::Bool
        } else if kind == &raw mut ffi::PyBytes_Type {
            Exact::Bytes
        } else if kind == &raw mut ffi::PyList_Type {
            Exact::List
        } else if kind == &raw mut ffi::PyTuple_Type {
            Exact::Tuple
        } else if kind == &raw mut ffi::PyDict_Type {
            Exact::Dict
        } else {
            exact_time(kind)
        }
    }
}

/// The exact type of a date or a datetime.
///
/// # Safety
/// `kind` must be the type of a live object.
#[inline]
unsafe fn exact_time(kind: *mut ffi::PyTypeObject) -> Exact {
    // SAFETY: what the module datetime gives lives as long as the interpreter. It is NULL before that is imported for the
    // extension, and its values are others then, which are looked at one by one.
    let Some(api) = (unsafe { ffi::PyDateTimeAPI().as_ref() }) else { return Exact::Other };
    if kind == api.DateType {
        Exact::Date
    } else if kind == api.DateTimeType {
        Exact::DateTime
    } else {
        Exact::Other
    }
}

/// A whole number, if it fits 64 bits.
#[inline]
pub fn small_int(number: &Bound<'_, PyInt>) -> Option<i64> {
    let mut overflow = 0;
    // SAFETY: `number` is a live int, of which the call raises nothing.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &raw mut overflow) };
    (overflow == 0).then_some(value)
}

/// Returns true if the class of an object has no metaclass of its own.
#[inline]
pub fn is_of_plain_class(value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: `value` is a live object, so its type is one, and so is the type of that; the object that this is compared
    // with is static.
    unsafe { ffi::Py_TYPE(ffi::Py_TYPE(value.as_ptr()).cast()) == &raw mut ffi::PyType_Type }
}

/// The name of the class of an object whose class is one of NumPy's own that are written in C, such as `ndarray`: in C
/// these have the module in their names. A few comparisons for all other objects.
#[inline]
pub fn numpy_class<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    const MODULE: &[u8] = b"numpy.";
    // SAFETY: `value` is a live object, so its type is one. The name of a static type ends with a NUL, at which the
    // comparison ends, and stays as it is; that of another type can be set, so it is not read.
    unsafe {
        let class = ffi::Py_TYPE(value.as_ptr());
        if ffi::PyType_HasFeature(class, ffi::Py_TPFLAGS_HEAPTYPE) != 0 {
            return None;
        }
        let name = (*class).tp_name;
        let is_numpy = MODULE.iter().enumerate().all(|(i, byte)| *name.cast::<u8>().add(i) == *byte);
        is_numpy.then(|| CStr::from_ptr(name.add(MODULE.len())).to_bytes())
    }
}

/// Fills `view` with writable memory that `owner` lends.
///
/// # Safety
/// `view` must be valid for writing, and `memory` must not move until the buffer is released.
pub unsafe fn lend(
    owner: &Bound<'_, PyAny>,
    memory: &mut [u8],
    view: *mut ffi::Py_buffer,
    flags: std::os::raw::c_int,
) -> PyResult<()> {
    // SAFETY: by this function's own contract; PyBuffer_FillInfo takes its own reference to `owner`.
    let done = unsafe {
        let (data, len) = (memory.as_mut_ptr().cast(), memory.len() as ffi::Py_ssize_t);
        ffi::PyBuffer_FillInfo(view, owner.as_ptr(), data, len, 0, flags)
    };
    if done == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}

/// The stream of a capsule that `__arrow_c_stream__` has returned, which is empty from then on.
pub fn arrow_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrowArrayStream> {
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name has a pointer to a struct ArrowArrayStream, which a consumer moves out of it (Arrow's
    // documentation, "The Arrow PyCapsule Interface"); what is left is marked as released.
    Ok(unsafe { ArrowArrayStream::from_raw(stream.cast().as_ptr()) })
}

/// The array of the capsules that `__arrow_c_array__` has returned; that of the array is empty from then on.
pub fn arrow_array(
    schema: &Bound<'_, PyCapsule>,
    array: &Bound<'_, PyCapsule>,
) -> PyResult<Result<ArrayRef, InputError>> {
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?;
    let array = array.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: capsules of these names have pointers to a struct ArrowSchema, which is read and stays, and to a struct
    // ArrowArray, which a consumer moves out of it. That the array is one of the schema's type is the producer's promise.
    let import = || unsafe {
        let array = ArrowArray::from_raw(array.cast().as_ptr());
        if array.is_released() {
            return Err(ArrowError::CDataInterface("the array was released".to_owned()));
        }
        from_ffi(array, schema.cast::<ArrowSchema>().as_ref()).map(make_array)
    };
    Ok(imported(import))
}
