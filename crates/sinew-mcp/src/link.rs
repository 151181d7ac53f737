//! A common interface of the two transports.

use std::sync::Arc;
use std::time::Instant;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sinew_jsonrpc::message;

use crate::core::{Core, Watcher};
use crate::era::Era;
use crate::error::McpError;
use crate::http::HttpLink;
use crate::model::Listing;
#[cfg(unix)]
use crate::{pipe::PipeLink, stdio::Program};

pub(crate) enum Link {
    #[cfg(unix)]
    Pipe(Program),
    #[cfg(unix)]
    Streams(PipeLink),
    Http(HttpLink),
}

impl Link {
    pub(crate) async fn request(
        &self,
        core: &Arc<Core>,
        method: &str,
        params: Map<String, Value>,
        watcher: Option<Watcher>,
        cancellable: bool,
    ) -> Result<Box<RawValue>, McpError> {
        let begun = Instant::now();
        let outcome = match self {
            #[cfg(unix)]
            Link::Pipe(program) => program.pipe().request(method, params, watcher, cancellable).await,
            #[cfg(unix)]
            Link::Streams(pipe) => pipe.request(method, params, watcher, cancellable).await,
            Link::Http(link) => link.request(core, method, params, watcher, cancellable).await,
        };
        core.host.exchanged(method, outcome.as_ref().err(), begun.elapsed());
        outcome
    }

    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), McpError> {
        match self {
            #[cfg(unix)]
            Link::Pipe(program) => program.pipe().notify(method, params).await,
            #[cfg(unix)]
            Link::Streams(pipe) => pipe.notify(method, params).await,
            Link::Http(link) => link.notify(method, params).await,
        }
    }

    pub(crate) fn closed_reason(&self) -> Option<String> {
        match self {
            #[cfg(unix)]
            Link::Pipe(program) => program.pipe().closed_reason(),
            #[cfg(unix)]
            Link::Streams(pipe) => pipe.closed_reason(),
            Link::Http(_) => None,
        }
    }

    /// Returns true if a handshake may be sent while a request is unanswered.
    pub(crate) fn is_pipe(&self) -> bool {
        !matches!(self, Link::Http(_))
    }

    /// Called when the handshake has chosen a version.
    pub(crate) fn shook_hands(&self, version: &'static str) {
        match self {
            Link::Http(link) => link.shook_hands(version),
            #[cfg(unix)]
            _ => {}
        }
    }

    /// Called when the connection is complete.
    pub(crate) fn connected(&self, core: &Arc<Core>) {
        match self {
            Link::Http(link) => link.connected(core),
            #[cfg(unix)]
            _ => {}
        }
    }

    /// Returns the tools that can be called over this transport.
    pub(crate) fn usable_tools(&self, era: Era, listing: Listing) -> Listing {
        match self {
            Link::Http(link) if era == Era::Modern => link.usable_tools(listing),
            _ => listing,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            #[cfg(unix)]
            Link::Pipe(program) => program.close().await,
            #[cfg(unix)]
            Link::Streams(pipe) => pipe.close(),
            Link::Http(link) => link.close().await,
        }
    }
}

/// Requests progress reports with the id of the request, which is unique in the connection.
pub(crate) fn set_progress_token(params: &mut Map<String, Value>, id: i64) {
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert("progressToken".to_string(), id.into());
    }
}

/// Returns the message that tells a server that a call is cancelled.
pub(crate) fn cancelled(id: i64) -> Vec<u8> {
    let params = json!({"requestId": id, "reason": "the caller stopped waiting"});
    message::encode_notification("notifications/cancelled", Some(&params))
}
