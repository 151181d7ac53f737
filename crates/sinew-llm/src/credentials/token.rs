//! Exchanges forms for tokens with a token server.

use bytes::Bytes;
use serde_json::Value;
use url::Url;

use super::AuthEntry;
use crate::error::{ErrorInfo, ErrorKind, mask};
use crate::http::{HttpClient, HttpError, HttpErrorKind, HttpRequest};
use crate::models::ProviderEntry;

/// The maximum size of a token server's answer.
const ANSWER_LIMIT: usize = 1024 * 1024;

/// The lifetime of a token in seconds if the server does not specify it.
const USUAL_LIFETIME: i64 = 3600;

/// Returns a value of the provider's `oauth` block.
///
/// # Errors
/// Returns `config` with the name of the value if the block or the value is missing.
pub(super) fn setting<'a>(provider: &'a ProviderEntry, key: &str) -> Result<&'a str, ErrorInfo> {
    let value = provider.oauth.as_ref().and_then(|oauth| oauth.get(key)?.as_str()).filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        let text = format!("models.json has no oauth.{key} for provider \"{}\"", provider.id);
        ErrorInfo::new(ErrorKind::Config, text)
    })
}

/// Returns a URL of the provider's `oauth` block.
///
/// # Errors
/// Returns the errors of [`setting`], and an error if the value is not a URL.
pub(super) fn address(provider: &ProviderEntry, key: &str) -> Result<Url, ErrorInfo> {
    Url::parse(setting(provider, key)?)
        .map_err(|error| ErrorInfo::new(ErrorKind::Config, format!("models.json: oauth.{key}: {error}")))
}

/// A server's answer to a form.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body; null if it is not JSON.
    pub json: Value,
}

impl Answer {
    /// Returns a string member; `None` if it is missing or empty.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.json.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Describes the rejection, with `secrets` masked.
    pub(super) fn refusal(&self, secrets: &[&str]) -> ErrorInfo {
        let kind = if self.status < 500 { ErrorKind::Auth } else { ErrorKind::Server };
        let details: Vec<&str> = ["error", "error_description"].iter().filter_map(|key| self.text(key)).collect();
        let details = if details.is_empty() { String::new() } else { format!(": {}", details.join(": ")) };
        let text = mask(&format!("the server answered HTTP {}{details}", self.status), secrets);
        ErrorInfo { status: Some(self.status), ..ErrorInfo::new(kind, text) }
    }

    /// Returns the tokens of a successful answer. `refresh` is kept if the server sends no new one.
    ///
    /// # Errors
    /// Returns an error if the server refused, or if its answer contains no token.
    pub fn tokens(&self, refresh: &str, secrets: &[&str], now_ms: i64) -> Result<AuthEntry, ErrorInfo> {
        if !(200..300).contains(&self.status) {
            return Err(self.refusal(secrets));
        }
        if self.json.is_null() {
            return Err(ErrorInfo::new(ErrorKind::Malformed, "the answer is not JSON"));
        }
        // GitHub and a few others report errors with status 200.
        if self.text("error").is_some() {
            return Err(Answer { status: 400, json: self.json.clone() }.refusal(secrets));
        }
        let Some(access) = self.text("access_token") else {
            return Err(ErrorInfo::new(ErrorKind::Malformed, "the answer has no access_token"));
        };
        let lifetime = self.json.get("expires_in").and_then(Value::as_i64).unwrap_or(USUAL_LIFETIME);
        Ok(AuthEntry::Oauth {
            access: access.to_string(),
            refresh: self.text("refresh_token").unwrap_or(refresh).to_string(),
            expires: now_ms.saturating_add(lifetime.saturating_mul(1000)),
        })
    }
}

/// Posts a form, with the header `Authorization` if one is given. Errors do not contain the values of `secrets`.
///
/// # Errors
/// Returns an error if the exchange failed; an answer with any status is a success.
pub async fn post(
    client: &HttpClient,
    url: Url,
    form: &[(&str, &str)],
    authorization: Option<&str>,
    secrets: &[&str],
) -> Result<Answer, ErrorInfo> {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")];
    let authorization = authorization.map(|value| ("Authorization", value));
    let headers = headers.into_iter().chain(authorization);
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let request = HttpRequest { method: ::http::Method::POST, url, headers, body: Bytes::from(body) };
    let lost = |error: HttpError| {
        let kind = if error.kind == HttpErrorKind::Timeout { ErrorKind::Timeout } else { ErrorKind::Network };
        ErrorInfo::new(kind, mask(&error.message, secrets))
    };
    let mut answer = client.send(request).await.map_err(lost)?;
    let (body, _) = answer.body.read_limited(ANSWER_LIMIT).await.map_err(lost)?;
    Ok(Answer { status: answer.status, json: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
