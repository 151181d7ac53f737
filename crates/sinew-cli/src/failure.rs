//! The reason why the program ends before an agent begins.

/// A text for stderr and the exit code that goes with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    /// No model can answer: a key would help.
    pub(crate) needs_model: bool,
}

impl Failure {
    /// Something went wrong that is nobody's fault.
    pub(crate) fn failed(message: impl Into<String>) -> Failure {
        Failure { code: 1, message: message.into(), needs_model: false }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { code: 2, message: message.into(), needs_model: false }
    }

    /// No model, no key, a file named by a flag that cannot be used.
    pub(crate) fn config(message: impl Into<String>) -> Failure {
        Failure { code: 3, message: message.into(), needs_model: false }
    }
}
