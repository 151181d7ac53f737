//! Words that every crate of Sinew shares: how a long operation is stopped ([`Cancel`]), and how it
//! tells what went wrong ([`Error`], [`ErrorCode`]).
//!
//! One error type serves all libraries: they would each write the same two fields, and the mouths
//! (N-API, the agent) translate one type instead of ten. The crate that made an error is named by its
//! message, which begins with the operation.

mod cancel;
mod error;

pub use cancel::{Aborted, Cancel, Canceller, EVERY, HookGuard, Pace};
pub use error::{Error, ErrorCode};

/// The result of every fallible function of Sinew's libraries.
pub type Result<T, E = Error> = std::result::Result<T, E>;
