//! Classifies a server's answer or error event as an [`ErrorInfo`].

use serde_json::Value;

use super::{ErrorInfo, ErrorKind, mask, overflow};

/// The maximum number of characters of a server's answer in an error message.
const BODY_LIMIT: usize = 2000;

/// The request of an error.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestContext<'a> {
    /// The provider's name.
    pub(crate) provider: &'a str,
    /// The model's id.
    pub(crate) model: &'a str,
    /// The URL of the request.
    pub(crate) base_url: &'a str,
    /// Secrets that must be hidden.
    pub(crate) secrets: Vec<&'a str>,
}

/// Creates the error of an answer whose status is not 2xx. `now_ms` is the current time, for `Retry-After` dates.
pub(crate) fn from_response(
    context: &RequestContext<'_>,
    status: u16,
    headers: &::http::HeaderMap,
    body: &str,
    now_ms: i64,
) -> ErrorInfo {
    let json: Option<Value> = serde_json::from_str(&crate::surrogate::replace(body)).ok();
    let fields = json.as_ref().map(ErrorFields::read).unwrap_or_default();
    let text = match &fields.message {
        Some(text) => text.clone(),
        None if looks_like_html(body) => html_title(body),
        None if body.trim().is_empty() => reason(status).to_string(),
        None => body.trim().to_string(),
    };
    let kind = match status {
        400 if body.trim().is_empty() => overflow::WITHOUT_A_BODY,
        _ => kind_of_status(status, &fields, &text),
    };
    let mut info = ErrorInfo::new(kind, String::new());
    info.status = Some(status);
    info.retry_after_ms = retry_after(status, headers, now_ms).or_else(|| json.as_ref().and_then(google_retry_delay));
    info.request_id = REQUEST_ID_HEADERS
        .iter()
        .find_map(|name| headers.get(*name))
        .and_then(|value| value.to_str().ok())
        .map(str::to_string)
        .or(fields.request_id)
        .map(|id| mask(&id, &context.secrets));
    let mut text = text;
    if kind == ErrorKind::NotFound {
        text = format!(
            "{text}: model \"{}\" at {} was not found; check the model id and that baseUrl is right (it usually ends in /v1)",
            context.model,
            without_query(context.base_url)
        );
    }
    if (300..400).contains(&status)
        && let Some(target) = headers.get(::http::header::LOCATION).and_then(|value| value.to_str().ok())
    {
        // The query is long, and may contain a secret.
        let target = without_query(target);
        text = format!(
            "{text}: the server at {} redirects to {target}; {}",
            without_query(context.base_url),
            base_url_hint(context)
        );
    }
    info.message = user_text(context, &text, &info);
    info
}

/// Returns what to do about a server that is not at the model's base URL.
pub(crate) fn base_url_hint(context: &RequestContext<'_>) -> String {
    format!("set baseUrl of provider \"{}\" in models.json to the address that answers", context.provider)
}

/// Returns a URL without its query, which may contain a key.
fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// Creates the error of an answer that ended because the conversation and the answer fill the context window.
pub(crate) fn window_filled(context: &RequestContext<'_>) -> ErrorInfo {
    own(context, ErrorKind::ContextOverflow, "the conversation and the answer fill the context window")
}

/// Creates the error that a server reports inside a successful stream.
pub(crate) fn from_stream(context: &RequestContext<'_>, error: &Value) -> ErrorInfo {
    let mut fields = ErrorFields::read(error);
    if fields.message.is_none()
        && let Some(text) = error.as_str()
    {
        fields.message = Some(text.to_string());
    }
    let text = fields.message.clone().unwrap_or_else(|| "the server reported an error without a message".to_string());
    let status = fields.status;
    let kind = match fields.kind_of_words(&text) {
        Some(kind) => kind,
        None => status.map_or(ErrorKind::Server, |status| kind_of_status(status, &fields, &text)),
    };
    let mut info = ErrorInfo::new(kind, String::new());
    info.status = status;
    info.retry_after_ms = google_retry_delay(error);
    info.request_id = fields.request_id.map(|id| mask(&id, &context.secrets));
    info.message = user_text(context, &text, &info);
    info
}

/// Creates an error without a message of the server.
pub(crate) fn own(context: &RequestContext<'_>, kind: ErrorKind, text: &str) -> ErrorInfo {
    let mut info = ErrorInfo::new(kind, String::new());
    info.message = user_text(context, text, &info);
    info
}

/// Formats `<provider>: <text> (HTTP 429, retry after 7s, request r1)`.
fn user_text(context: &RequestContext<'_>, text: &str, info: &ErrorInfo) -> String {
    let masked = mask(text, &context.secrets);
    let shown: String = match masked.char_indices().nth(BODY_LIMIT) {
        Some((cut, _)) => format!("{}…", &masked[..cut]),
        None => masked,
    };
    let mut facts = Vec::new();
    facts.extend(info.status.map(|status| format!("HTTP {status}")));
    facts.extend(info.retry_after_ms.map(|ms| format!("retry after {}s", ms.div_ceil(1000))));
    facts.extend(info.request_id.as_ref().map(|id| format!("request {id}")));
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    format!("{}: {shown}{facts}", context.provider)
}

/// The fields of an error object, in the formats of all providers.
#[derive(Debug, Default)]
struct ErrorFields {
    message: Option<String>,
    /// The words in `type`, `code` and `status`, in lower case.
    words: Vec<String>,
    status: Option<u16>,
    request_id: Option<String>,
}

impl ErrorFields {
    fn read(json: &Value) -> ErrorFields {
        let mut fields = ErrorFields::default();
        // Google wraps stream errors in a list.
        let json = json.get(0).unwrap_or(json);
        let inner = json.get("error").filter(|error| !error.is_null()).unwrap_or(json);
        let string = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
        fields.message = string(inner, "message")
            .or_else(|| inner.as_str().map(str::to_string))
            .or_else(|| string(json, "message"))
            .or_else(|| string(json, "detail"));
        // OpenRouter has the server's original message one level below.
        if let Some(raw) = inner.pointer("/metadata/raw").and_then(Value::as_str) {
            fields.message = Some(format!("{}: {raw}", fields.message.unwrap_or_default()));
        }
        for key in ["type", "code", "status"] {
            match inner.get(key) {
                Some(Value::String(word)) => fields.words.push(word.to_ascii_lowercase()),
                Some(Value::Number(number)) => {
                    match number.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| (400..600).contains(n)) {
                        Some(status) => fields.status = Some(status),
                        None => fields.words.push(number.to_string()),
                    }
                }
                _ => {}
            }
        }
        fields.request_id = string(json, "request_id");
        fields
    }

    /// Returns the kind of the provider's error type; `None` if it is unknown.
    fn kind_of_words(&self, text: &str) -> Option<ErrorKind> {
        let named =
            self.words.iter().find_map(|word| WORDS.iter().find(|(known, _)| word == known).map(|(_, kind)| *kind));
        match named {
            Some(ErrorKind::InvalidRequest | ErrorKind::RateLimit | ErrorKind::Server) | None => {
                kind_of_text(text, named)
            }
            named => named,
        }
    }
}

/// Error types of the providers.
const WORDS: &[(&str, ErrorKind)] = &[
    ("overloaded_error", ErrorKind::Overloaded),
    ("overloaded", ErrorKind::Overloaded),
    ("unavailable", ErrorKind::Overloaded),
    ("service_unavailable", ErrorKind::Overloaded),
    ("engine_overloaded_error", ErrorKind::Overloaded),
    ("api_error", ErrorKind::Server),
    ("server_error", ErrorKind::Server),
    ("internal_server_error", ErrorKind::Server),
    ("internal", ErrorKind::Server),
    ("timeout_error", ErrorKind::Timeout),
    ("deadline_exceeded", ErrorKind::Timeout),
    ("insufficient_quota", ErrorKind::UsageLimit),
    ("usage_limit_reached", ErrorKind::UsageLimit),
    ("usage_not_included", ErrorKind::UsageLimit),
    ("billing_error", ErrorKind::UsageLimit),
    ("billing_hard_limit_reached", ErrorKind::UsageLimit),
    ("rate_limit_error", ErrorKind::RateLimit),
    ("rate_limit_exceeded", ErrorKind::RateLimit),
    ("resource_exhausted", ErrorKind::RateLimit),
    ("context_length_exceeded", ErrorKind::ContextOverflow),
    ("request_too_large", ErrorKind::ContextOverflow),
    // Z.ai uses numbers.
    ("1261", ErrorKind::ContextOverflow),
    ("authentication_error", ErrorKind::Auth),
    ("invalid_api_key", ErrorKind::Auth),
    ("unauthenticated", ErrorKind::Auth),
    ("permission_error", ErrorKind::Permission),
    ("permission_denied", ErrorKind::Permission),
    ("not_found_error", ErrorKind::NotFound),
    ("model_not_found", ErrorKind::NotFound),
    ("not_found", ErrorKind::NotFound),
    ("content_filter", ErrorKind::Refusal),
    ("content_policy_violation", ErrorKind::Refusal),
    ("invalid_prompt", ErrorKind::Refusal),
    ("invalid_request_error", ErrorKind::InvalidRequest),
    ("invalid_argument", ErrorKind::InvalidRequest),
];

/// Phrases of servers for an exhausted quota, in lower case.
const USAGE: &[&str] = &[
    "usage limit",
    "exceeded your current quota",
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "credit balance is too low",
    "quota exceeded for quota metric",
    "monthly limit",
];

fn kind_of_text(text: &str, named: Option<ErrorKind>) -> Option<ErrorKind> {
    let lower = text.to_ascii_lowercase();
    let has = |list: &[&str]| list.iter().any(|known| lower.contains(known));
    if has(USAGE) {
        Some(ErrorKind::UsageLimit)
    } else if named != Some(ErrorKind::RateLimit) && overflow::is_worded(&lower) {
        Some(ErrorKind::ContextOverflow)
    } else {
        named
    }
}

fn kind_of_status(status: u16, fields: &ErrorFields, text: &str) -> ErrorKind {
    match status {
        401 => ErrorKind::Auth,
        402 => ErrorKind::UsageLimit,
        403 | 451 => ErrorKind::Permission,
        404 => ErrorKind::NotFound,
        408 => ErrorKind::Timeout,
        413 => ErrorKind::ContextOverflow,
        429 => match fields.kind_of_words(text) {
            Some(ErrorKind::UsageLimit) => ErrorKind::UsageLimit,
            _ => ErrorKind::RateLimit,
        },
        503 | 529 => match fields.kind_of_words(text) {
            Some(ErrorKind::ContextOverflow) => ErrorKind::ContextOverflow,
            _ => ErrorKind::Overloaded,
        },
        500.. => match fields.kind_of_words(text) {
            Some(kind @ (ErrorKind::Overloaded | ErrorKind::ContextOverflow)) => kind,
            _ => ErrorKind::Server,
        },
        _ => match fields.kind_of_words(text) {
            Some(
                kind @ (ErrorKind::ContextOverflow | ErrorKind::UsageLimit | ErrorKind::Refusal | ErrorKind::Auth),
            ) => kind,
            // Google returns 400 for an unknown key.
            _ if text.contains("API key not valid") => ErrorKind::Auth,
            _ => ErrorKind::InvalidRequest,
        },
    }
}

const REQUEST_ID_HEADERS: &[&str] = &["request-id", "x-request-id", "x-goog-request-id", "cf-ray"];

/// Returns the wait that the server requests.
fn retry_after(status: u16, headers: &::http::HeaderMap, now_ms: i64) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return whole_ms(ms);
    }
    if let Some(value) = text("retry-after") {
        if let Ok(seconds) = value.parse::<f64>() {
            return whole_ms(seconds * 1000.0);
        }
        if let Ok(at) = jiff::fmt::rfc2822::parse(value) {
            return u64::try_from(at.timestamp().as_millisecond().saturating_sub(now_ms).max(0)).ok();
        }
    }
    // Some servers send these headers with every answer; they only matter for a rate limit, and only the one whose
    // remaining count is zero.
    if status != 429 {
        return None;
    }
    let spent = |kind: &str| text(&format!("x-ratelimit-remaining{kind}")).is_none_or(|left| left == "0");
    let resets = ["", "-requests", "-tokens"].into_iter().filter(|kind| spent(kind));
    resets.filter_map(|kind| reset(text(&format!("x-ratelimit-reset{kind}"))?, now_ms)).max()
}

/// Parses `x-ratelimit-reset*`: seconds, a time in seconds or milliseconds, or a duration such as `1m30.5s`.
fn reset(value: &str, now_ms: i64) -> Option<u64> {
    if let Ok(number) = value.parse::<f64>() {
        let now = now_ms as f64;
        return match number {
            ms if ms > 1e12 => whole_ms((ms - now).max(0.0)),
            seconds if seconds > 1e9 => whole_ms((seconds * 1000.0 - now).max(0.0)),
            seconds => whole_ms(seconds * 1000.0),
        };
    }
    let mut total = 0.0;
    let mut rest = value;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit] {
                "ms" => 1.0,
                "s" => 1000.0,
                "m" => 60_000.0,
                "h" => 3_600_000.0,
                "d" => 86_400_000.0,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    whole_ms(total)
}

/// Parses Google's `error.details[].retryDelay`, `"7s"`.
fn google_retry_delay(json: &Value) -> Option<u64> {
    let json = json.get(0).unwrap_or(json);
    let details = json.pointer("/error/details").or_else(|| json.get("details"))?.as_array()?;
    details.iter().find_map(|detail| reset(detail.get("retryDelay")?.as_str()?, 0))
}

fn whole_ms(ms: f64) -> Option<u64> {
    (ms.is_finite() && ms >= 0.0).then_some(ms.ceil() as u64)
}

fn reason(status: u16) -> &'static str {
    ::http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("no reason given")
}

/// Returns true if a server answered with an HTML page.
pub(crate) fn looks_like_html(body: &str) -> bool {
    let start: String = body.trim_start_matches('\u{FEFF}').trim_start().chars().take(15).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<head")
}

/// Returns the title of an HTML page.
pub(crate) fn html_title(body: &str) -> String {
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let end = lower[start..].find("</title>")? + start;
        Some(body[start..end].split_whitespace().collect::<Vec<_>>().join(" "))
    });
    match title {
        Some(title) if !title.is_empty() => format!("the server answered with a web page: {title}"),
        _ => "the server answered with a web page".to_string(),
    }
}
