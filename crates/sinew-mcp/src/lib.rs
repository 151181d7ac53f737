//! Model Context Protocol, both halves: a client for the tools of other programs, and a server that lends ours.
//!
//! | module | holds |
//! |---|---|
//! | [`client`] | one connection: start, lists, calls |
//! | [`stdio`], [`http`] | a server as a kept program; a server at an address |
//! | [`host`] | what a server may ask of whoever runs the client |
//! | [`oauth`] | logins at servers that are reached over HTTP |
//! | [`server`] | the half that lends tools |
//! | [`names`], [`catalogue`] | which tool has which name, and what of them stands in front of a request |
//! | [`era`], [`model`], [`error`], [`timers`] | revisions, shapes, failures, clocks |
//!
//! # Why the protocol is read here and not by the official SDK
//!
//! `rmcp` 3.11 was looked at first. Its transports can be replaced, so pipes, limits of a line and the HTTP client
//! could be ours. What stands behind them cannot, and these are promises of ours: the wait for `server/discover` is
//! a private constant of 10 s (ours: 1 s), and an answer to it that comes after the fall-back, or that is no
//! discovery, ends the start instead of choosing the handshake; results are read into one untagged enumeration, so
//! that a page with one tool that has no schema object is lost as a whole, and the server's bytes with it; each
//! notification becomes a task, without a bound. Left over would have been the table of waiting calls, which
//! `sinew-jsonrpc` has for three protocols, at 1.35 MB of the program. The tests talk to
//! servers and clients of the Python and the TypeScript SDK instead.
//!
//! The crate reads no environment and prints nothing.

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
