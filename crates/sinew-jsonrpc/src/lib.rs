//! JSON-RPC 2.0 without I/O: the caller passes bytes and receives events; it also owns the pipes.
//!
//! | module | contents |
//! |---|---|
//! | [`frame`] | messages in a stream of bytes, by line (MCP, ACP) and by `Content-Length` (LSP) |
//! | [`message`] | requests, notifications and answers; parsing and encoding |
//! | [`calls`] | ids and the table of pending calls |
//! | [`peer`] | our side of a connection: calls, requests of the other side, and tolerated protocol errors |
//! | [`limits`] | limits of size, depth and number |
//!
//! Parameters and results stay JSON text ([`serde_json::value::RawValue`]): a message of megabytes is not parsed into a
//! tree that is used once, and the text of a peer can be stored byte for byte.
//!
//! A peer cannot make memory grow beyond [`limits::Limits`]: a line without an end is skipped as it arrives.

pub mod calls;
pub mod frame;
pub mod limits;
pub mod message;
pub mod peer;

pub use calls::{CallTable, TooManyCalls};
pub use frame::{Frame, HeaderDecoder, LineDecoder};
pub use limits::Limits;
pub use message::{Id, Message, Outcome, RpcError};
pub use peer::{Event, Peer};
