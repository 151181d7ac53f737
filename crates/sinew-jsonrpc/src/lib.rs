//! JSON-RPC 2.0 without I/O: bytes go in, events come out, and whoever owns the pipes moves them.
//!
//! | module | holds |
//! |---|---|
//! | [`frame`] | messages in a stream of bytes, by line (MCP, ACP) and by `Content-Length` (LSP) |
//! | [`message`] | requests, notifications and answers; parsing and encoding |
//! | [`calls`] | ids and the table of calls that wait for an answer |
//! | [`peer`] | our side of a connection: calls, requests of the other side, and the faults that are forgiven |
//! | [`limits`] | how large, how deep, how many |
//!
//! Parameters and results stay JSON text ([`serde_json::value::RawValue`]): a message of megabytes is not built as a
//! tree to be looked at once, and what a peer sent can be kept byte for byte.
//!
//! Nothing a peer sends makes memory grow beyond [`limits::Limits`]: a line without an end is skipped while it comes.

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
