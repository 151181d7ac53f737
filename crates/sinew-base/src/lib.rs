//! Types and helpers that every crate of Sinew shares: cancellation of long operations ([`CancelToken`]), errors
//! ([`Error`], [`ErrorCode`]), limited reads ([`read_limited`]), fast reads ([`PageBuffer`]), bytes as text
//! ([`lossy`]), and conversion of JavaScript's text and JSON ([`utf16_text`], [`replace_lone_surrogates`]).
//!
//! All libraries share one error type: they would each declare the same two fields, and the bindings (N-API, the agent)
//! convert one type instead of ten. The message begins with the operation, which identifies the crate that failed.

mod cancel;
mod error;
mod page_buffer;
mod read;
mod surrogates;
mod text;
mod utf16;

pub use cancel::{Aborted, CHECK_INTERVAL, CancelHandle, CancelTicker, CancelToken, HookGuard};
pub use error::{Error, ErrorCode};
pub use page_buffer::PageBuffer;
pub use read::read_limited;
pub use surrogates::{replace_lone_surrogates, rewrite_lone_units};
pub use text::lossy;
pub use utf16::{utf16_file_text, utf16_text};

/// The result of every fallible function of Sinew's libraries.
pub type Result<T, E = Error> = std::result::Result<T, E>;
