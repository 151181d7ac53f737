//! The built-in tools on real files and a real bash, and the conformance table of tools.
//!
//! Without harness: the shells of the tools need a companion program, and this program is its own.
#![expect(clippy::print_stdout, reason = "a test without harness reports by itself")]
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod bash;
mod conformance;
mod files;
mod stage;

use std::os::unix::ffi::OsStringExt;
use std::panic::catch_unwind;
use std::process::ExitCode;

/// A test and its name.
type Case = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "supervise" || first == "brush") {
        let arguments: Vec<_> =
            arguments.into_iter().map(|argument| std::ffi::CString::new(argument.into_vec()).unwrap()).collect();
        let code = sinew::shell::host::main(&arguments);
        return ExitCode::from(u8::try_from(code & 0xff).unwrap());
    }
    let wanted = arguments.iter().filter_map(|argument| argument.to_str()).find(|argument| !argument.starts_with('-'));
    let mut failed = 0;
    for (name, test) in [files::CASES, bash::CASES, conformance::CASES].into_iter().flatten() {
        if wanted.is_some_and(|wanted| !name.contains(wanted)) {
            continue;
        }
        let fine = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if fine { "ok" } else { "FAILED" });
        failed += u32::from(!fine);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
