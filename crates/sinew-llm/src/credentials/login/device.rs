//! The device login (RFC 8628): the user types a short code on a page of the provider, on any machine.

use std::future::Future;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::super::{AuthEntry, token};
use super::scopes;
use crate::error::{ErrorInfo, ErrorKind};
use crate::http::HttpClient;
use crate::models::ProviderEntry;

/// The polling interval in seconds if the server does not specify it.
const USUAL_INTERVAL: u64 = 5;

/// The time that `slow_down` adds to the interval.
const SLOWER: Duration = Duration::from_secs(5);

/// The lifetime of a code in seconds if the server does not specify it.
const USUAL_LIFETIME: u64 = 15 * 60;

/// A login that waits for the user.
pub struct DeviceLogin {
    /// The URL at which the user types the code.
    pub verification_uri: String,
    /// The same URL including the code; `None` if the server has none.
    pub verification_uri_complete: Option<String>,
    /// The code that the user types.
    pub user_code: String,
    /// The lifetime of the code.
    pub lifetime: Duration,
    provider: ProviderEntry,
    device_code: String,
    interval: Duration,
}

impl std::fmt::Debug for DeviceLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceLogin").field("verification_uri", &self.verification_uri).finish_non_exhaustive()
    }
}

impl DeviceLogin {
    /// Requests a code from the server.
    ///
    /// # Errors
    /// Returns `config` if the `oauth` block has no URL or client id, and the errors of the server.
    pub async fn begin(client: &HttpClient, provider: &ProviderEntry) -> Result<DeviceLogin, ErrorInfo> {
        let at = |mut error: ErrorInfo| {
            error.message = format!("log in at {}: {}", provider.id, error.message);
            error
        };
        let url = token::address(provider, "deviceUrl").map_err(at)?;
        token::address(provider, "tokenUrl").map_err(at)?;
        let scope = scopes(provider);
        let mut form = vec![("client_id", token::setting(provider, "clientId").map_err(at)?)];
        if !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let answer = token::post(client, url, &form, None, &[]).await.map_err(at)?;
        if !(200..300).contains(&answer.status) {
            return Err(at(answer.refusal(&[])));
        }
        let number = |key: &str, usual| answer.json.get(key).and_then(Value::as_u64).unwrap_or(usual);
        // Google writes `verification_url`.
        let page = answer.text("verification_uri").or_else(|| answer.text("verification_url"));
        let (Some(device_code), Some(user_code), Some(page)) =
            (answer.text("device_code"), answer.text("user_code"), page)
        else {
            return Err(at(ErrorInfo::new(ErrorKind::Malformed, "the answer has no code for the user")));
        };
        Ok(DeviceLogin {
            verification_uri: page.to_string(),
            verification_uri_complete: answer.text("verification_uri_complete").map(str::to_string),
            user_code: user_code.to_string(),
            lifetime: Duration::from_secs(number("expires_in", USUAL_LIFETIME)),
            provider: provider.clone(),
            device_code: device_code.to_string(),
            interval: Duration::from_secs(number("interval", USUAL_INTERVAL).max(1)),
        })
    }

    /// Polls the server until the user has answered.
    ///
    /// # Errors
    /// Returns `auth` if the user refused or the code expired, and the errors of the token server; a lost poll is
    /// repeated.
    pub async fn finish(self, client: &HttpClient, now_ms: i64) -> Result<AuthEntry, ErrorInfo> {
        self.finish_with(client, now_ms, tokio::time::sleep).await
    }

    pub(super) async fn finish_with<W: Future<Output = ()>>(
        self,
        client: &HttpClient,
        now_ms: i64,
        wait: impl Fn(Duration) -> W,
    ) -> Result<AuthEntry, ErrorInfo> {
        let failed = |kind: ErrorKind, text: &str| ErrorInfo {
            retryable: false,
            ..ErrorInfo::new(kind, format!("log in at {}: {text}", self.provider.id))
        };
        let began = Instant::now();
        let mut interval = self.interval;
        let secrets = [self.device_code.as_str()];
        loop {
            wait(interval).await;
            if began.elapsed() >= self.lifetime {
                return Err(failed(ErrorKind::Auth, "the code has expired"));
            }
            let form = [
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                ("device_code", self.device_code.as_str()),
                ("client_id", token::setting(&self.provider, "clientId")?),
            ];
            let url = token::address(&self.provider, "tokenUrl")?;
            let answer = match token::post(client, url, &form, None, &secrets).await {
                Ok(answer) if answer.status < 500 => answer,
                // A lost request or a server error: the code is still valid.
                Ok(_) | Err(_) => {
                    interval = interval.saturating_mul(2).min(Duration::from_secs(60));
                    continue;
                }
            };
            match answer.text("error") {
                Some("authorization_pending") => {}
                Some("slow_down") => interval += SLOWER,
                Some("access_denied") => return Err(failed(ErrorKind::Auth, "the login was refused")),
                Some("expired_token") => return Err(failed(ErrorKind::Auth, "the code has expired")),
                _ => {
                    let elapsed = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
                    let tokens = answer.tokens("", &secrets, now_ms.saturating_add(elapsed));
                    return tokens.map_err(|error| failed(error.kind, &error.message));
                }
            }
        }
    }
}
