//! Errors: a code for programs, a message for people.

use std::fmt;

use crate::Aborted;

/// The kind of a failure. Programs decide by it; the text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A value that cannot be used: a bad pattern, a number out of range.
    InvalidArgument,
    /// A value of the wrong type.
    InvalidType,
    /// The call does not fit the state that the object is in.
    InvalidState,
    /// A file, folder or program that does not exist.
    NotFound,
    /// A path goes on behind a file, or a folder was asked for and there is a file.
    NotADirectory,
    /// Links that lead in a circle, or too many of them in one path.
    TooManyLinks,
    /// A path or name that is longer than the system takes.
    NameTooLong,
    /// The system refused access.
    PermissionDenied,
    /// Input that is not what it says it is: a broken picture, a torn file.
    InvalidData,
    /// More than a stated limit allows.
    LimitExceeded,
    /// Not available on this platform or in this build.
    Unsupported,
    /// Somebody asked to stop.
    Aborted,
    /// The time was up.
    TimedOut,
    /// Any other failure of the system.
    Io,
    /// A fault of Sinew's own, a panic for instance.
    Internal,
}

impl ErrorCode {
    /// The code as programs written in JavaScript know it.
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

/// A failure: its [`ErrorCode`], and a message that names the operation, the value and the way out
/// (`glob: invalid pattern "a{": unclosed alternate group`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
}

impl Error {
    /// An error whose message is complete.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into() }
    }

    /// A value that cannot be used.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::InvalidArgument, message)
    }

    /// A failure of the system while doing `what` (`failed to read "src/a.rs"`), with the code that fits.
    #[must_use]
    pub fn io(what: impl fmt::Display, cause: &std::io::Error) -> Error {
        use std::io::ErrorKind;
        let code = match cause.kind() {
            _ if is_loop(cause) => ErrorCode::TooManyLinks,
            ErrorKind::NotFound => ErrorCode::NotFound,
            ErrorKind::NotADirectory => ErrorCode::NotADirectory,
            ErrorKind::InvalidFilename => ErrorCode::NameTooLong,
            // A path with a NUL byte, say, which never reaches the system.
            ErrorKind::InvalidInput => ErrorCode::InvalidArgument,
            ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
            ErrorKind::TimedOut => ErrorCode::TimedOut,
            ErrorKind::Unsupported => ErrorCode::Unsupported,
            _ => ErrorCode::Io,
        };
        Error::new(code, format!("{what}: {}", plain(cause)))
    }

    /// The error of an operation that was stopped; the message is the one that callers test for.
    #[must_use]
    pub fn aborted(aborted: Aborted) -> Error {
        let code = match aborted {
            Aborted::Signal => ErrorCode::Aborted,
            Aborted::Timeout => ErrorCode::TimedOut,
        };
        Error::new(code, aborted.to_string())
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Returns the text for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prefixes the message with `operation: `. An abort keeps its message: callers test for it.
    #[must_use]
    pub fn within(mut self, operation: impl fmt::Display) -> Error {
        if !matches!(self.code, ErrorCode::Aborted | ErrorCode::TimedOut) {
            self.message = format!("{operation}: {}", self.message);
        }
        self
    }
}

/// Returns true where links led in a circle, for which the standard library has no stable name.
fn is_loop(cause: &std::io::Error) -> bool {
    let number = if cfg!(target_os = "macos") {
        62
    } else if cfg!(windows) {
        1921
    } else {
        40
    };
    cause.raw_os_error() == Some(number)
}

/// The system's words without Rust's "(os error 2)".
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
    fn a_missing_file_has_the_code_and_the_plain_words_of_the_system() {
        let cause = std::fs::read("/no/such/file").unwrap_err();
        let error = Error::io("failed to read \"/no/such/file\"", &cause);
        assert_eq!(error.code(), ErrorCode::NotFound);
        let text = error.to_string();
        assert!(text.starts_with("failed to read \"/no/such/file\": ") && !text.contains("os error"), "{text}");
        #[cfg(unix)]
        assert_eq!(text, "failed to read \"/no/such/file\": No such file or directory");
    }

    #[test]
    fn an_abort_keeps_the_message_that_callers_test_for() {
        let error = Error::aborted(Aborted::Timeout).within("grep");
        assert_eq!(error.to_string(), "Aborted: Timeout");
        assert_eq!(Error::invalid("x").within("grep").to_string(), "grep: x");
    }
}
