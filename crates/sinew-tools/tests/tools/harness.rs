//! Runs tests that start shells. A shell needs a supervisor program, and the test program supervises itself. Its entry
//! point is C's `main`, because Rust's startup code ignores SIGPIPE and every command would inherit that.

use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::catch_unwind;

/// A test and its name.
pub(crate) type Case = (&'static str, fn());

/// C's entry point.
///
/// # Safety
/// `argv` must contain `argc` NUL-terminated strings, as the system passes them.
#[expect(unreachable_pub, reason = "the linker reaches it")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    let arguments: Vec<CString> = (1..usize::try_from(argc).unwrap_or(0))
        // SAFETY: the system passes `argc` valid strings.
        .map(|index| unsafe { CStr::from_ptr(*argv.add(index)) }.to_owned())
        .collect();
    if arguments.first().is_some_and(|first| [c"supervise", c"brush", c"pty"].contains(&first.as_c_str())) {
        return sinew::shell::host::main(&arguments);
    }
    // A panic must not unwind into C.
    catch_unwind(|| run(&arguments)).unwrap_or(1)
}

/// Runs the tests whose names contain the first argument that is not a flag.
fn run(arguments: &[CString]) -> c_int {
    let wanted = arguments.iter().filter_map(|argument| argument.to_str().ok()).find(|word| !word.starts_with('-'));
    let mut failed = 0;
    for (name, test) in crate::CASES.iter().copied().flatten() {
        if wanted.is_some_and(|wanted| !name.contains(wanted)) {
            continue;
        }
        let fine = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if fine { "ok" } else { "FAILED" });
        failed += c_int::from(!fine);
    }
    failed.min(1)
}
