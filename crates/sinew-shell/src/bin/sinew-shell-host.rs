//! The supervisor process of a shell: see [`sinew_shell::host`].
//!
//! It starts in C's `main`, because a shell waits for it and Rust's runtime startup would add to every run.
#![no_main]

use std::ffi::{CStr, CString, c_char, c_int};

/// C's entry point.
///
/// # Safety
/// `argv` must contain `argc` zero-terminated strings, as passed by the system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    let args: Vec<CString> = (1..usize::try_from(argc).unwrap_or(0))
        // SAFETY: the system passes `argc` valid strings.
        .map(|index| unsafe { CStr::from_ptr(*argv.add(index)) }.to_owned())
        .collect();
    sinew_shell::host::main(&args)
}
