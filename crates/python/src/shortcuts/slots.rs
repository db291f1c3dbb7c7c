//! The slots of Python's objects (`__slots__`), read and written where they are.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::num::NonZeroU32;

/// A slot: how many bytes after the beginning of an object it is.
pub(super) type Place = usize;

/// The class of objects that have slots, and the classes that inherit from it.
pub(super) struct Class(pub(super) Py<PyType>);

/// The place of a slot that a class has itself, or inherits.
///
/// # Errors
/// TypeError if it has no such slot.
pub(super) fn place(class: &Bound<'_, PyType>, name: &str) -> PyResult<Place> {
    let descriptor = class.getattr(name)?;
    // SAFETY: the type of the descriptor is checked before it is read as one; its member lives as long as the class.
    let found = unsafe {
        if ffi::Py_TYPE(descriptor.as_ptr()) != &raw mut ffi::PyMemberDescr_Type {
            None
        } else {
            let member = (*descriptor.as_ptr().cast::<ffi::PyMemberDescrObject>()).d_member;
            let member = member.cast::<ffi::PyMemberDef>();
            ((*member).type_code == ffi::Py_T_OBJECT_EX).then(|| (*member).offset)
        }
    };
    found
        .and_then(|offset| Place::try_from(offset).ok())
        .ok_or_else(|| PyTypeError::new_err(format!("{name} is not a slot")))
}

impl Class {
    /// Returns true if an object is of the class, or of one that inherits from it.
    ///
    /// # Safety
    /// `object` must be live, or NULL.
    #[inline]
    pub(super) unsafe fn has(&self, object: *mut PyObject) -> bool {
        // SAFETY: by this function's own contract; the class is live as long as this.
        unsafe {
            !object.is_null()
                && ffi::PyType_IsSubtype(ffi::Py_TYPE(object), self.0.as_ptr().cast::<PyTypeObject>()) != 0
        }
    }
}

/// What is in a slot, borrowed: NULL if nothing was ever put there.
///
/// # Safety
/// `object` must be live, and of the class whose slot it is.
#[inline]
pub(super) unsafe fn get(object: *mut PyObject, at: Place) -> *mut PyObject {
    // SAFETY: by this function's own contract a pointer is there, aligned as the class has laid it out.
    unsafe { *object.byte_add(at).cast::<*mut PyObject>() }
}

/// Puts a borrowed object in a slot. What was there may be freed, which may run any code.
///
/// # Safety
/// As for [`get`]; `value` must be live.
#[inline]
pub(super) unsafe fn set(object: *mut PyObject, at: Place, value: *mut PyObject) {
    // SAFETY: by this function's own contract; the slot owns what is in it, and has the new value before the old one
    // is released.
    unsafe {
        let slot = object.byte_add(at).cast::<*mut PyObject>();
        let before = *slot;
        if before != value {
            ffi::Py_INCREF(value);
            *slot = value;
            ffi::Py_XDECREF(before);
        }
    }
}

/// Puts a borrowed object in a slot in which nothing was ever put.
///
/// # Safety
/// As for [`set`].
#[inline]
pub(super) unsafe fn begin(object: *mut PyObject, at: Place, value: *mut PyObject) {
    // SAFETY: by this function's own contract; the slot owns what is in it.
    unsafe { *object.byte_add(at).cast::<*mut PyObject>() = ffi::Py_NewRef(value) }
}

/// The number of the state that a class is in: the interpreter gives it to no other class, nor to this one after anything
/// of it or of a class that it inherits from was changed. `None` if it has none, as nothing was looked up in it since.
///
/// # Safety
/// `class` must be a live class, and the interpreter attached.
#[inline]
pub(super) unsafe fn version(class: *mut PyTypeObject) -> Option<NonZeroU32> {
    // SAFETY: by this function's own contract.
    unsafe {
        // Before Python 3.12 the number may stay where it is valid no more.
        let is_valid = cfg!(Py_3_12) || (*class).tp_flags & ffi::Py_TPFLAGS_VALID_VERSION_TAG != 0;
        NonZeroU32::new((*class).tp_version_tag).filter(|_| is_valid)
    }
}
