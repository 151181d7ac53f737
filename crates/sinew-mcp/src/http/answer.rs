//! Interprets statuses and headers.

use sinew_jsonrpc::{Message, message};
use sinew_llm::http::{HttpError, HttpResponse};

use crate::core::Core;
use crate::error::McpError;

/// The maximum number of bytes read of an error answer.
const ERROR_BYTES: usize = 64 * 1024;

/// Returns a successful answer, or the error of its status.
pub(super) async fn check(core: &Core, mut response: HttpResponse) -> Result<HttpResponse, McpError> {
    let status = response.status;
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let challenges = response.headers.get_all("www-authenticate").iter().filter_map(|value| value.to_str().ok());
    let challenge = challenges.map(str::to_string).reduce(|all, one| format!("{all}, {one}"));
    if status == 401 || (status == 403 && challenge.as_ref().is_some_and(|text| text.contains("insufficient_scope"))) {
        return Err(McpError::NeedsAuth(challenge));
    }
    if (300..400).contains(&status) {
        let to = header(&response, "location").unwrap_or_default();
        return Err(McpError::Http { status, body: format!("redirects to another origin are not followed (to {to})") });
    }
    let (bytes, _) = response.body.read_limited(ERROR_BYTES).await.map_err(broken)?;
    if let Ok(messages) = message::parse(&bytes, core.limits.depth) {
        for message in messages {
            if let Message::Response { outcome: Err(error), .. } = message
                && (status != 404 || error.code <= -32000)
                && !is_lost_session(status, &error.message)
            {
                return Err(McpError::Rpc(error));
            }
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    Err(McpError::Http { status, body: text.trim().chars().take(200).collect() })
}

/// Servers answer 404 with their own error text for a session that they have forgotten.
fn is_lost_session(status: u16, message: &str) -> bool {
    status == 404 && message.to_ascii_lowercase().contains("session")
}

pub(super) fn is_event_stream(response: &HttpResponse) -> bool {
    header(response, "content-type").is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}

pub(super) fn header(response: &HttpResponse, name: &str) -> Option<String> {
    response.headers.get(name)?.to_str().ok().map(str::to_string)
}

pub(super) fn broken(error: HttpError) -> McpError {
    McpError::Closed(error.message)
}
