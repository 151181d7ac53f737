//! Errors: a code for programs, a message for people.

use std::fmt;

use crate::Aborted;

/// The kind of a failure. Programs branch on the code; the message is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A value that is not valid, for example a pattern that does not parse or a number out of range.
    InvalidArgument,
    /// A value of the wrong type.
    InvalidType,
    /// The object is in a state that does not allow the call.
    InvalidState,
    /// A file, directory or program that does not exist.
    NotFound,
    /// A path component is not a directory, or a directory was expected and the path is a file.
    NotADirectory,
    /// Symbolic links that form a cycle, or too many of them in one path.
    TooManyLinks,
    /// A path or name that is longer than the system allows.
    NameTooLong,
    /// The system refused access.
    PermissionDenied,
    /// A directory, where the call requires a file.
    IsADirectory,
    /// A file that the system cannot run as a program: neither a binary for this machine nor a script.
    NotExecutable,
    /// Arguments and environment of a program that are together, or one of them alone, larger than the system allows.
    ArgumentsTooLong,
    /// A program that is open for writing, or a file that is running as a program.
    FileBusy,
    /// The process or the system has too many open files.
    TooManyFiles,
    /// The system has no memory left.
    OutOfMemory,
    /// The system has no resources left at the moment, for example because of a limit of processes.
    TryAgain,
    /// Malformed input, for example a corrupt image or a truncated file.
    InvalidData,
    /// A documented limit was exceeded.
    LimitExceeded,
    /// Not available on this platform or in this build.
    Unsupported,
    /// The caller cancelled the operation.
    Aborted,
    /// The deadline passed.
    TimedOut,
    /// Any other error of the system.
    Io,
    /// A bug in Sinew, for example a panic.
    Internal,
}

impl ErrorCode {
    /// Returns the code as JavaScript programs see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::InvalidArgument => "ERR_INVALID_ARG_VALUE",
            ErrorCode::InvalidType => "ERR_INVALID_ARG_TYPE",
            ErrorCode::InvalidState => "ERR_INVALID_STATE",
            ErrorCode::NotFound => "ENOENT",
            ErrorCode::NotADirectory => "ENOTDIR",
            ErrorCode::TooManyLinks => "ELOOP",
            ErrorCode::NameTooLong => "ENAMETOOLONG",
            ErrorCode::PermissionDenied => "EACCES",
            ErrorCode::IsADirectory => "EISDIR",
            ErrorCode::NotExecutable => "ENOEXEC",
            ErrorCode::ArgumentsTooLong => "E2BIG",
            ErrorCode::FileBusy => "ETXTBSY",
            ErrorCode::TooManyFiles => "EMFILE",
            ErrorCode::OutOfMemory => "ENOMEM",
            ErrorCode::TryAgain => "EAGAIN",
            ErrorCode::InvalidData => "ERR_INVALID_DATA",
            ErrorCode::LimitExceeded => "ERR_OUT_OF_RANGE",
            ErrorCode::Unsupported => "ERR_UNSUPPORTED",
            ErrorCode::Aborted => "ABORT_ERR",
            ErrorCode::TimedOut => "ERR_TIMEOUT",
            ErrorCode::Io => "EIO",
            ErrorCode::Internal => "ERR_INTERNAL",
        }
    }
}

/// An error: its [`ErrorCode`], and a message that names the operation, the value and the reason (`glob: invalid
/// pattern "a{": unclosed alternate group`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
}

impl Error {
    /// Creates an error with a complete message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into() }
    }

    /// Creates an [`ErrorCode::InvalidArgument`] error.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::InvalidArgument, message)
    }

    /// Creates an error for a system error during `what` (`failed to read "src/a.rs"`), with the matching code.
    #[must_use]
    pub fn io(what: impl fmt::Display, cause: &std::io::Error) -> Error {
        use std::io::ErrorKind;
        let code = cause.raw_os_error().and_then(without_kind).unwrap_or_else(|| match cause.kind() {
            ErrorKind::NotFound => ErrorCode::NotFound,
            ErrorKind::NotADirectory => ErrorCode::NotADirectory,
            ErrorKind::InvalidFilename => ErrorCode::NameTooLong,
            // For example a path with a NUL byte, which Rust rejects before the system sees it.
            ErrorKind::InvalidInput => ErrorCode::InvalidArgument,
            ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
            ErrorKind::IsADirectory => ErrorCode::IsADirectory,
            ErrorKind::ArgumentListTooLong => ErrorCode::ArgumentsTooLong,
            ErrorKind::ExecutableFileBusy => ErrorCode::FileBusy,
            ErrorKind::OutOfMemory => ErrorCode::OutOfMemory,
            ErrorKind::WouldBlock => ErrorCode::TryAgain,
            ErrorKind::TimedOut => ErrorCode::TimedOut,
            ErrorKind::Unsupported => ErrorCode::Unsupported,
            _ => ErrorCode::Io,
        });
        Error::new(code, format!("{what}: {}", plain(cause)))
    }

    /// Creates the error of a cancelled operation; callers compare the message.
    #[must_use]
    pub fn aborted(aborted: Aborted) -> Error {
        let code = match aborted {
            Aborted::Signal => ErrorCode::Aborted,
            Aborted::Timeout => ErrorCode::TimedOut,
        };
        Error::new(code, aborted.to_string())
    }

    /// Returns the error code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prefixes the message with `operation: `. An abort keeps its message, because callers compare it.
    #[must_use]
    pub fn within(mut self, operation: impl fmt::Display) -> Error {
        if !matches!(self.code, ErrorCode::Aborted | ErrorCode::TimedOut) {
            self.message = format!("{operation}: {}", self.message);
        }
        self
    }
}

/// Returns the code of a system error that has no stable [`std::io::ErrorKind`].
fn without_kind(number: i32) -> Option<ErrorCode> {
    let [links, format, ref files @ ..] = if cfg!(target_os = "macos") {
        [62, 8, 23, 24]
    } else if cfg!(windows) {
        // `ERROR_CANT_RESOLVE_FILENAME`, `ERROR_BAD_EXE_FORMAT`, `ERROR_TOO_MANY_OPEN_FILES`
        [1921, 193, 4, 4]
    } else {
        [40, 8, 23, 24]
    };
    // `ELIBBAD`: the interpreter of a binary is not one itself.
    let library = if cfg!(target_os = "linux") { 80 } else { format };
    match number {
        _ if number == links => Some(ErrorCode::TooManyLinks),
        _ if number == format || number == library => Some(ErrorCode::NotExecutable),
        _ if files.contains(&number) => Some(ErrorCode::TooManyFiles),
        _ => None,
    }
}

/// Returns the system's message without Rust's "(os error 2)".
fn plain(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    match text.rfind(" (os error ") {
        Some(at) => text[..at].to_string(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_has_the_code_and_the_message_of_the_system() {
        let cause = std::fs::read("/no/such/file").unwrap_err();
        let error = Error::io("failed to read \"/no/such/file\"", &cause);
        assert_eq!(error.code(), ErrorCode::NotFound);
        let text = error.to_string();
        assert!(text.starts_with("failed to read \"/no/such/file\": ") && !text.contains("os error"), "{text}");
        #[cfg(unix)]
        assert_eq!(text, "failed to read \"/no/such/file\": No such file or directory");
    }

    /// `execve` returns these.
    #[test]
    #[cfg(unix)]
    fn the_code_of_a_system_error_is_its_name() {
        let check = |number: i32, name: &str| {
            let error = Error::io("failed", &std::io::Error::from_raw_os_error(number));
            assert_eq!(error.code().as_str(), name, "{error}");
        };
        for (number, name) in [
            (2, "ENOENT"),
            (7, "E2BIG"),
            (8, "ENOEXEC"),
            (12, "ENOMEM"),
            (13, "EACCES"),
            (20, "ENOTDIR"),
            (21, "EISDIR"),
            (23, "EMFILE"),
            (24, "EMFILE"),
            (26, "ETXTBSY"),
        ] {
            check(number, name);
        }
        #[cfg(target_os = "linux")]
        for (number, name) in [(11, "EAGAIN"), (36, "ENAMETOOLONG"), (40, "ELOOP"), (80, "ENOEXEC"), (5, "EIO")] {
            check(number, name);
        }
    }

    #[test]
    fn an_abort_keeps_the_message_that_callers_compare() {
        let error = Error::aborted(Aborted::Timeout).within("grep");
        assert_eq!(error.to_string(), "Aborted: Timeout");
        assert_eq!(Error::invalid("x").within("grep").to_string(), "grep: x");
    }
}
