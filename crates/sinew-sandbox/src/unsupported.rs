//! The API on systems without a sandbox.

use std::fs::Metadata;
use std::path::Path;

use sinew_base::{Error, ErrorCode, Result};

use crate::{CallerEnvironment, FileUse, Policy, Status};

/// A compiled policy. It cannot be created on this system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    never: std::convert::Infallible,
}

impl Sandbox {
    /// Fails on this system.
    ///
    /// # Errors
    /// Always returns [`ErrorCode::Unsupported`].
    pub fn prepare(_: &Policy, _: &CallerEnvironment) -> Result<Sandbox> {
        Err(Error::new(ErrorCode::Unsupported, "Sandbox.create: sandboxes are supported on Linux only"))
    }

    /// Returns what is enforced.
    #[must_use]
    pub fn status(&self) -> &Status {
        match self.never {}
    }

    /// Closes the sandbox.
    pub fn close(&self) {
        match self.never {}
    }

    /// Returns a judge of files.
    ///
    /// # Errors
    /// Never fails, because no sandbox can exist on this system.
    pub fn judge(&self) -> Result<Judge> {
        match self.never {}
    }
}

/// Checks files against a policy. It cannot be created on this system.
#[derive(Debug)]
pub struct Judge {
    never: std::convert::Infallible,
}

impl Judge {
    /// Returns the reason why the policy refuses a use of a file; `None` if it allows it.
    #[must_use]
    pub fn refusal(&self, _: &Path, _: Option<&Metadata>, _: FileUse) -> Option<&'static str> {
        match self.never {}
    }
}
