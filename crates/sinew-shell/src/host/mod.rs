//! The supervisor: the process between the host and a script.
//!
//! Its first argument is its role. `supervise FOLDER PROGRAM ARGV0 ARGS…` runs the program with the descriptors 0, 1
//! and 2 of the supervisor and exchanges records over the packet socket at descriptor 3. `pty FOLDER PROGRAM ARGV0
//! ARGS…` does the same with a terminal as descriptor 0, which becomes the program's controlling terminal. `sandbox`
//! before one of these two runs the program in the sandbox at descriptor 5. `brush …` is the embedded interpreter,
//! started by a supervisor like any other shell; only with the feature `interpreter`.
//!
//! There are three processes: the supervisor, which adopts every orphan of the script; a middle process, which is the
//! script's parent, so that a script that kills its parent only kills this process; and the shell.

#[cfg(feature = "interpreter")]
mod brush;
#[cfg(feature = "interpreter")]
mod builtins;
#[cfg(feature = "interpreter")]
mod deferred_expansion;
#[cfg(feature = "interpreter")]
mod interpreter;
mod supervise;
mod tree;

use std::ffi::CString;

/// Runs the role in `args` (without the program's name) and returns the exit code. Must be called before the process
/// starts a thread or opens a file, and the process must exit with the code.
#[must_use]
pub fn main(args: &[CString]) -> i32 {
    let (in_sandbox, args) = match args.split_first() {
        Some((role, rest)) if role.as_bytes() == b"sandbox" => (true, rest),
        _ => (false, args),
    };
    match args.split_first() {
        Some((role, [cwd, program, argv @ ..])) if role.as_bytes() == b"supervise" && !argv.is_empty() => {
            supervise::run(cwd, program, argv, supervise::Start { terminal: false, in_sandbox })
        }
        Some((role, [cwd, program, argv @ ..])) if role.as_bytes() == b"pty" && !argv.is_empty() => {
            supervise::run(cwd, program, argv, supervise::Start { terminal: true, in_sandbox })
        }
        #[cfg(feature = "interpreter")]
        Some((role, args)) if role.as_bytes() == b"brush" && !in_sandbox => brush::run(args),
        _ => 2,
    }
}
