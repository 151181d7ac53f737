//! The Model Context Protocol: a client for the tools of other programs, and a server that offers tools.
//!
//! | module | contents |
//! |---|---|
//! | [`client`] | a connection: start, lists, calls |
//! | [`stdio`], [`http`] | servers that are child processes; servers at a URL |
//! | [`host`] | requests of a server to the client's host |
//! | [`oauth`] | logins at servers over HTTP |
//! | [`server`] | the server |
//! | [`names`], [`catalogue`] | the names of tools, and the tools that are part of every request |
//! | [`era`], [`model`], [`error`], [`timers`] | revisions, data types, errors, time limits |
//!
//! # Why the official SDK is not used
//!
//! `rmcp` 3.11 allows replacing its transports, so the pipes, the limit of a line and the HTTP client could be ours.
//! The rest cannot be replaced, and does not fulfil the requirements of this crate:
//!
//! - The wait for `server/discover` is a private constant of 10 s (here: 1 s), and a late or invalid answer to it ends
//!   the start instead of choosing the handshake.
//! - Results are read into one untagged enumeration, so one tool without a schema object discards the whole page, and
//!   the server's original bytes are lost.
//! - Each notification spawns a task, without a limit.
//!
//! Only the table of waiting calls would remain, which `sinew-jsonrpc` provides for three protocols; `rmcp` adds 1.35
//! MB to the program. Instead, the tests run against servers and clients of the Python and the TypeScript SDK.
//!
//! The crate reads no environment variables and prints nothing.

mod core;
mod headers;
mod link;
mod lists;

pub mod catalogue;
pub mod client;
pub mod era;
pub mod error;
pub mod host;
pub mod http;
pub mod model;
pub mod names;
pub mod oauth;
#[cfg(unix)]
mod pipe;
pub mod server;
#[cfg(unix)]
pub mod stdio;
pub mod timers;

pub use client::{CallOptions, Client, ClientInfo, ClientOptions};
pub use core::{Changes, Progress, ProgressSink};
pub use error::McpError;
pub use host::{BoxFuture, ClientHost, Elicitation, ElicitationAnswer, NoHost, Root};
pub use model::{Content, Definition, JsonPart, JsonText, Listing, ServerInfo, ToolResult};
pub use timers::CallTimes;
