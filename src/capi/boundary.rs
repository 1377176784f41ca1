//! Pointers, sizes and panics of the caller's calls.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{mem, ptr, slice};

use crate::error::{Error, Result, ResultClass};

#[cfg(panic = "abort")]
compile_error!("a panic is caught at the C boundary, for which cudalink has to be built with panic = \"unwind\"");

/// Runs the body of an exported function; a panic becomes [`ResultClass::Panic`].
///
/// What the body was changing is not looked at again after a panic: a linker is marked failed by `with_linker`.
pub fn guard<T>(body: impl FnOnce() -> T) -> std::result::Result<T, Error> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref().copied());
        Error::new(ResultClass::Panic, format!("cudalink failed by a fault of its own: {}", text.unwrap_or("no text")))
    })
}

/// As [`guard`], for a body that has no linker to keep its message.
pub fn guard_class(body: impl FnOnce() -> Result<()>) -> ResultClass {
    class_of(guard(body).and_then(|result| result))
}

pub fn class_of(result: Result<()>) -> ResultClass {
    result.map_or_else(|error| error.class(), |()| ResultClass::Ok)
}

pub fn null(what: &str) -> Error {
    Error::new(ResultClass::NullArgument, format!("{what} is NULL"))
}

/// # Safety
/// `pointer` is NULL or points to a live `T` that nothing changes during `'a`.
pub unsafe fn reference<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// NULL with size 0 is empty.
///
/// # Safety
/// `data` is NULL or points to `size` bytes that nothing changes during `'a`.
pub unsafe fn bytes<'a>(data: *const u8, size: usize, what: &str) -> Result<&'a [u8]> {
    match size {
        0 => Ok(&[]),
        _ if data.is_null() => Err(null(what)),
        _ if size > isize::MAX as usize => Err(Error::new(ResultClass::InvalidArgument, format!("{what} cannot be of {size} bytes"))),
        // SAFETY: not NULL, not empty, not larger than an object can be; the rest is as the caller promises.
        _ => Ok(unsafe { slice::from_raw_parts(data, size) }),
    }
}

/// A C string; `None` if it is NULL.
///
/// # Safety
/// `text` is NULL or a C string that nothing changes during `'a`.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Error::new(ResultClass::InvalidArgument, format!("{what} is not UTF-8")))
}

/// A structure that grows at its end from version to version, and says its size in its first field.
///
/// # Safety
/// Implemented for `repr(C)` structures of integers, pointers and nothing else (so zero is a valid value and there is no
/// padding that matters), whose first field is `struct_size: usize`.
pub unsafe trait VersionedStruct: Copy {}

/// A larger `struct_size` than this is no structure of ours, and not read.
const STRUCT_SIZE_LIMIT: usize = 4096;

/// # Safety
/// `pointer` points to a `usize`.
unsafe fn struct_size<T: VersionedStruct>(pointer: *const T) -> Result<usize> {
    // SAFETY: as the caller promises; `struct_size` is the first field.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    // No structure ends within a pointer, and half of one must not be followed.
    if (mem::size_of::<usize>()..=STRUCT_SIZE_LIMIT).contains(&size) && size.is_multiple_of(mem::align_of::<T>()) {
        return Ok(size);
    }
    let text = format!("struct_size is {size}; this library's is {}: initialise the structure with its INIT macro", mem::size_of::<T>());
    Err(Error::new(ResultClass::BadStructSize, text))
}

/// Reads a structure of an older or newer caller: what it lacks is zero, what we do not know must be zero.
///
/// # Safety
/// `pointer` is NULL or points to a structure of the size that its first field says.
pub unsafe fn read_struct<T: VersionedStruct>(pointer: *const T, what: &str) -> Result<T> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises.
    let size = unsafe { struct_size(pointer) }?;
    // SAFETY: the structure has `size` bytes.
    let given = unsafe { bytes(pointer.cast(), size, what) }?;
    let known = size.min(mem::size_of::<T>());
    if given[known..].iter().any(|byte| *byte != 0) {
        let text = format!("{what} uses a field that cudalink {} does not know", env!("CARGO_PKG_VERSION"));
        return Err(Error::new(ResultClass::BadStructSize, text));
    }
    let mut value = mem::MaybeUninit::<T>::zeroed();
    // SAFETY: `known` bytes are readable there and writable here; zero is valid for the rest (see `VersionedStruct`).
    unsafe {
        ptr::copy_nonoverlapping(given.as_ptr(), value.as_mut_ptr().cast(), known);
        Ok(value.assume_init())
    }
}

/// Writes a structure to an older or newer caller: what it lacks is left out, what we do not know is zero.
/// `struct_size` stays as the caller set it.
///
/// # Safety
/// `pointer` points to a structure of the size that its first field says, writable.
pub unsafe fn write_struct<T: VersionedStruct>(pointer: *mut T, value: &T) -> Result<()> {
    // SAFETY: as the caller promises.
    let size = unsafe { struct_size(pointer) }?;
    let head = mem::size_of::<usize>();
    let known = size.min(mem::size_of::<T>());
    // SAFETY: both have `known` bytes, and the caller's has `size`.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>().add(head), pointer.cast::<u8>().add(head), known - head);
        ptr::write_bytes(pointer.cast::<u8>().add(known), 0, size - known);
    }
    Ok(())
}

/// Gives bytes to the caller: the size needed, and the bytes if `capacity` is enough. `buffer` NULL with capacity 0 asks the size.
///
/// # Safety
/// `buffer` is NULL or has `capacity` writable bytes; `size_out` is NULL or writable.
pub unsafe fn give(given: &[u8], buffer: *mut u8, capacity: usize, size_out: *mut usize) -> Result<()> {
    match (buffer.is_null(), capacity) {
        (true, 0) if size_out.is_null() => return Err(null("size_out")),
        (true, 1..) => return Err(null("buffer")),
        _ => {}
    }
    if !size_out.is_null() {
        // SAFETY: as the caller promises.
        unsafe { size_out.write(given.len()) };
    }
    match (buffer.is_null(), capacity) {
        (true, _) => Ok(()),
        (false, capacity) if capacity < given.len() => {
            Err(Error::new(ResultClass::BufferTooSmall, format!("{} bytes are needed, and the buffer has {capacity}", given.len())))
        }
        // SAFETY: the buffer has at least that many bytes, and is the caller's, so it does not overlap ours.
        _ => unsafe {
            ptr::copy_nonoverlapping(given.as_ptr(), buffer, given.len());
            Ok(())
        },
    }
}

/// As [`give`], with a NUL at the end that the size counts.
///
/// # Safety
/// As for `give`.
pub unsafe fn give_text(text: &str, buffer: *mut c_char, capacity: usize, size_out: *mut usize) -> Result<()> {
    let mut text = text.replace('\0', "").into_bytes();
    text.push(0);
    // SAFETY: as the caller promises.
    unsafe { give(&text, buffer.cast(), capacity, size_out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_result_with_its_text() {
        for body in [|| panic!("a plain text"), || panic!("{} text", "a formatted")] {
            let error = guard::<()>(body).unwrap_err();
            assert_eq!(error.class(), ResultClass::Panic);
            assert!(error.to_string().contains(" text"), "{error}");
        }
        assert_eq!(guard_class(|| panic!("without a linker")), ResultClass::Panic);
    }
}
