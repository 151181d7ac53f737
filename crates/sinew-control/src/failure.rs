//! The error that ends the program before an agent starts.

/// A text for stderr, and the exit code.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The text.
    pub message: String,
    /// True if no model is available, because then a key would help.
    pub needs_model: bool,
}

/// Lists the names that an error suggests, or says that there are none.
pub(crate) fn known_names<Name: AsRef<str>>(names: impl IntoIterator<Item = Name>) -> String {
    let names: Vec<Name> = names.into_iter().collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "there are none".into() } else { names.join(", ") }
}

impl Failure {
    /// Creates a failure for an error at run time.
    pub fn failed(message: impl Into<String>) -> Failure {
        Failure { code: 1, message: message.into(), needs_model: false }
    }

    /// Creates a failure for an invalid command line.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { code: 2, message: message.into(), needs_model: false }
    }

    /// Creates a failure of the configuration: no model, no key, or a file named by a flag that cannot be used.
    pub fn config(message: impl Into<String>) -> Failure {
        Failure { code: 3, message: message.into(), needs_model: false }
    }
}
