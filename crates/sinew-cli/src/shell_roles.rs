//! The roles in which the program starts itself: the supervisor of a shell, the keeper of a server, and the embedded
//! interpreter.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;

/// The name of the role that keeps a server.
const KEEPER: &str = sinew_process::supervision::ROLE;

/// The name under which the supervisor of a shell starts the embedded interpreter.
const INTERPRETER: &str = "sinew-shell-host";

/// Runs the role that the arguments select and returns its exit code; `None` if they select no role. The arguments
/// alone are not sufficient, because a user may write them: a supervisor has a socket as descriptor 3, a keeper has one
/// as standard input, and an interpreter has a special program name.
pub(crate) fn run(name: &OsStr, arguments: &[OsString]) -> Option<u8> {
    let role = arguments.first()?.to_str()?;
    let meant = match role {
        "supervise" | "pty" | "sandbox" => arguments.len() > 2 && is_socket("/proc/self/fd/3"),
        "brush" => name == INTERPRETER,
        KEEPER => arguments.len() == 1 && is_socket("/proc/self/fd/0"),
        _ => false,
    };
    if !meant {
        return None;
    }
    if role == KEEPER {
        return Some(u8::try_from(sinew_process::supervision::keeper()).unwrap_or(1));
    }
    // Rust ignores SIGPIPE, and commands would inherit that from the shell: `yes | head` would never end.
    // SAFETY: no other thread runs yet, and the default action needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let arguments: Vec<CString> =
        arguments.iter().filter_map(|argument| CString::new(argument.as_bytes()).ok()).collect();
    Some(u8::try_from(sinew::shell::host::main(&arguments) & 0xff).unwrap_or(1))
}

fn is_socket(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_socket())
}
