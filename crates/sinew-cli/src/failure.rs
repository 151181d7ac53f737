//! The error that ends the program before an agent starts.

/// A text for stderr, and the exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    /// True if no model is available, because then a key would help.
    pub(crate) needs_model: bool,
}

impl Failure {
    /// Creates a failure for an error at run time.
    pub(crate) fn failed(message: impl Into<String>) -> Failure {
        Failure { code: 1, message: message.into(), needs_model: false }
    }

    /// Creates a failure for an invalid command line.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { code: 2, message: message.into(), needs_model: false }
    }

    /// Creates a failure of the configuration: no model, no key, or a file named by a flag that cannot be used.
    pub(crate) fn config(message: impl Into<String>) -> Failure {
        Failure { code: 3, message: message.into(), needs_model: false }
    }
}
