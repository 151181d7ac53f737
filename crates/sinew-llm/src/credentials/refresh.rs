//! Renews a login before it runs out: one process at a time.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use sinew_base::Error;
use tokio::time::Instant;
use url::Url;

use super::{AuthEntry, AuthFile, EXPIRY_MARGIN_MS};
use crate::error::{ErrorInfo, ErrorKind, mask};
use crate::http::{HttpClient, HttpErrorKind, HttpRequest};
use crate::models::ProviderEntry;
use crate::provider::Secret;

/// How long another process may hold the lock; after that it is taken for hung.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// How often the lock is tried.
const LOCK_STEP: Duration = Duration::from_millis(50);

/// The size of a token server's answer at most.
const ANSWER_LIMIT: usize = 1024 * 1024;

/// Renews entry `index` of `provider` in the file at `path`, unless another process has done so meanwhile.
/// Answers the file as it is now, and the token.
pub(super) async fn renew(
    client: &HttpClient,
    path: &Path,
    provider: &ProviderEntry,
    index: usize,
    now_ms: i64,
) -> Result<(AuthFile, Secret), ErrorInfo> {
    // Released when it is dropped, and by the system when the process dies.
    let _lock = lock(path).await?;
    let mut file = AuthFile::load(path).map_err(|error| config(&error))?;
    let mut entries = file.entries(&provider.id);
    let Some(AuthEntry::Oauth { access, refresh, expires }) = entries.get(index).cloned() else {
        return Err(ErrorInfo::new(ErrorKind::Auth, "the login is gone"));
    };
    if expires > now_ms.saturating_add(EXPIRY_MARGIN_MS) {
        return Ok((file, Secret::new(access)));
    }
    let answer = ask(client, provider, &refresh).await?;
    let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_string);
    let access =
        text("access_token").ok_or_else(|| ErrorInfo::new(ErrorKind::Malformed, "the answer holds no access_token"))?;
    let lifetime = answer.get("expires_in").and_then(Value::as_i64).unwrap_or(3600);
    let expires = now_ms.saturating_add(lifetime.saturating_mul(1000));
    entries[index] =
        AuthEntry::Oauth { access: access.clone(), refresh: text("refresh_token").unwrap_or(refresh), expires };
    file.set(&provider.id, &entries);
    file.save(path).map_err(|error| config(&error))?;
    Ok((file, Secret::new(access)))
}

fn config(error: &Error) -> ErrorInfo {
    ErrorInfo::new(ErrorKind::Config, error.message())
}

async fn lock(path: &Path) -> Result<File, ErrorInfo> {
    let beside = path.with_extension("json.lock");
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&beside);
    let file = opened.map_err(|error| config(&Error::io(format!("failed to open {beside:?}"), &error)))?;
    let until = Instant::now() + LOCK_LIMIT;
    while file.try_lock().is_err() && Instant::now() < until {
        tokio::time::sleep(LOCK_STEP).await;
    }
    Ok(file)
}

async fn ask(client: &HttpClient, provider: &ProviderEntry, refresh: &str) -> Result<Value, ErrorInfo> {
    let setting = |key: &str| provider.oauth.as_ref()?.get(key)?.as_str();
    let address =
        setting("tokenUrl").ok_or_else(|| ErrorInfo::new(ErrorKind::Config, "models.json names no oauth.tokenUrl"))?;
    let url =
        Url::parse(address).map_err(|error| ErrorInfo::new(ErrorKind::Config, format!("oauth.tokenUrl: {error}")))?;
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "refresh_token").append_pair("refresh_token", refresh);
    if let Some(id) = setting("clientId") {
        form.append_pair("client_id", id);
    }
    let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")];
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
    let request = HttpRequest { method: ::http::Method::POST, url, headers, body: Bytes::from(form.finish()) };
    let lost = |error: crate::http::HttpError| {
        let kind = if error.kind == HttpErrorKind::Timeout { ErrorKind::Timeout } else { ErrorKind::Network };
        ErrorInfo::new(kind, mask(&error.message, &[refresh]))
    };
    let mut answer = client.send(request).await.map_err(lost)?;
    let (body, _) = answer.body.read_limited(ANSWER_LIMIT).await.map_err(lost)?;
    match answer.status {
        200..300 => {
            serde_json::from_slice(&body).map_err(|_| ErrorInfo::new(ErrorKind::Malformed, "the answer is no JSON"))
        }
        status => {
            let kind = if status < 500 { ErrorKind::Auth } else { ErrorKind::Server };
            Err(ErrorInfo {
                status: Some(status),
                ..ErrorInfo::new(kind, format!("the server answered HTTP {status}"))
            })
        }
    }
}
