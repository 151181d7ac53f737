//! Systems without a sandbox.

use sinew_base::{Error, ErrorCode, Result};

use crate::{Policy, Status, Surroundings};

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
    pub fn prepare(_: &Policy, _: &Surroundings) -> Result<Sandbox> {
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
}
