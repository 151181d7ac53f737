//! The roles in which the program starts itself: the process that keeps a shell, the one that keeps a server, and the
//! embedded interpreter.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;

/// The role of the process that keeps a server.
const KEEPER: &str = sinew_process::kept::ROLE;

/// The name under which the supervisor of a shell starts the embedded interpreter.
const INTERPRETER: &str = "sinew-shell-host";

/// Runs the role that the arguments ask for and gives its exit code; none where they ask for no role. A user who
/// writes the word of a role is not meant: a supervisor is started with a socket as descriptor 3, a keeper with
/// one as its standard input, an interpreter under a name of its own.
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
        return Some(u8::try_from(sinew_process::kept::keeper()).unwrap_or(1));
    }
    // Rust ignores SIGPIPE, and a shell would hand that on to every command: `yes | head` would never end.
    // SAFETY: no other thread runs yet, and the default action needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let arguments: Vec<CString> =
        arguments.iter().filter_map(|argument| CString::new(argument.as_bytes()).ok()).collect();
    Some(u8::try_from(sinew::shell::host::main(&arguments) & 0xff).unwrap_or(1))
}

fn is_socket(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_socket())
}
