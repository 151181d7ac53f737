//! Errors of requests to a server. Their texts are shown to the model and the user.

use std::fmt;
use std::time::Duration;

use sinew_jsonrpc::RpcError;

/// A failed request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum McpError {
    /// The server returned an error.
    Rpc(RpcError),
    /// No answer or progress arrived for this long. The server was notified and keeps running.
    Silence(Duration),
    /// The answer did not arrive within this total time, regardless of progress.
    TotalTime(Duration),
    /// The connection ended before the answer; the reason is for the log and the user.
    Closed(String),
    /// The server requires a login; its `WWW-Authenticate` header, if it sent one.
    NeedsAuth(Option<String>),
    /// Client and server have no common protocol version.
    NoCommonVersion {
        /// The revisions of the client.
        ours: Vec<String>,
        /// The revisions of the server.
        theirs: Vec<String>,
    },
    /// The answer is not valid in this protocol.
    Protocol(String),
    /// An HTTP status that is not part of the protocol, with the beginning of the body.
    Http {
        /// The status.
        status: u16,
        /// At most 200 characters of the body.
        body: String,
    },
    /// The server asked a question, but no user can answer it. Contains the question.
    NobodyToAsk(String),
    /// The maximum number of calls already wait for this server.
    TooManyCalls(usize),
    /// The server could not be started or reached.
    Start(String),
}

impl McpError {
    /// Returns true if the connection can no longer be used.
    #[must_use]
    pub fn ends_connection(&self) -> bool {
        matches!(self, McpError::Closed(_) | McpError::Start(_))
    }

    /// Returns true if it is unknown whether the server executed the request.
    #[must_use]
    pub fn effect_unknown(&self) -> bool {
        matches!(self, McpError::Closed(_) | McpError::Silence(_) | McpError::TotalTime(_))
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpError::Rpc(error) => write!(f, "MCP error {error}"),
            McpError::Silence(limit) => {
                write!(f, "MCP error: no answer for {} s. The server may still be working on it.", limit.as_secs_f64())
            }
            McpError::TotalTime(limit) => write!(
                f,
                "MCP error: no answer within {} s in all. The server may still be working on it.",
                limit.as_secs_f64()
            ),
            McpError::Closed(_) => f.write_str("MCP error: Transport closed"),
            McpError::NeedsAuth(_) => f.write_str("MCP error: the server needs a login"),
            McpError::NoCommonVersion { ours, theirs } => write!(
                f,
                "MCP error: no common protocol version: sinew supports {}; the server supports {}",
                ours.join(", "),
                if theirs.is_empty() { "unknown versions".to_string() } else { theirs.join(", ") }
            ),
            McpError::Protocol(what) => write!(f, "MCP error: {what}"),
            McpError::Http { status, body } if body.is_empty() => write!(f, "MCP error: HTTP status {status}"),
            McpError::Http { status, body } => write!(f, "MCP error: HTTP status {status}: {body}"),
            McpError::NobodyToAsk(message) => {
                write!(f, "The server asked for input that nobody can give: {message}")
            }
            McpError::TooManyCalls(waiting) => {
                write!(f, "MCP error: {waiting} calls of this server are still unanswered; wait until some have ended")
            }
            McpError::Start(reason) => write!(f, "MCP error: {reason}"),
        }
    }
}

impl std::error::Error for McpError {}

impl From<RpcError> for McpError {
    fn from(error: RpcError) -> McpError {
        McpError::Rpc(error)
    }
}
