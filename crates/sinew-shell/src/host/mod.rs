//! The supervisor: the process that stands between the host and a script.
//!
//! It is started with its role as first argument. `supervise FOLDER PROGRAM ARGV0 ARGS…` runs the program with the
//! descriptors 0, 1 and 2 that it was given and speaks records over the packet socket at descriptor 3.
//! `pty FOLDER PROGRAM ARGV0 ARGS…` does the same with a terminal as descriptor 0, which becomes the program's own.
//! `sandbox` before one of these two has the program run in the sandbox at descriptor 5.
//! `brush …` is the embedded interpreter, started by a supervisor like any other shell; there only with the feature
//! `interpreter`.
//!
//! Three processes stand in a row: the supervisor, which every orphan of the script comes back to; a middle
//! process, which is the script's parent, so that a script that kills its parent hits no more than that; and
//! the shell.

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

/// Runs the role that `args` (without the program's name) ask for and returns the exit code. A process calls
/// it before it starts a thread or opens a file, and exits with the code.
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
