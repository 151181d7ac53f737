//! The words that every crate of Sinew shares: cancellation of long operations ([`CancelToken`]), errors ([`Error`],
//! [`ErrorCode`]), reading with a limit ([`read_limited`]) and fast ([`PageBuffer`]), bytes as text ([`lossy`]), and the text and JSON of JavaScript
//! ([`utf16_text`], [`replace_lone_surrogates`]).
//!
//! One error type serves all libraries: they would each write the same two fields, and the bindings
//! (N-API, the agent) translate one type instead of ten. The crate that made an error is named by its
//! message, which begins with the operation.

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
pub use utf16::utf16_text;

/// The result of every fallible function of Sinew's libraries.
pub type Result<T, E = Error> = std::result::Result<T, E>;
