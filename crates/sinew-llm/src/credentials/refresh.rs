//! Refreshes a login before it expires, and changes `auth.json`: one process at a time.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use sinew_base::Error;
use tokio::time::Instant;

use super::{AuthEntry, AuthFile, EXPIRY_MARGIN_MS, token};
use crate::error::{ErrorInfo, ErrorKind};
use crate::http::HttpClient;
use crate::models::ProviderEntry;
use crate::provider::Secret;

/// The maximum time for which another process may keep the lock; after that it is assumed to hang.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// The time between two attempts to lock.
const LOCK_STEP: Duration = Duration::from_millis(50);

/// Refreshes entry `index` of `provider` in the file at `path`, unless another process has done so in the meantime.
/// Returns the current file and the token.
pub(super) async fn renew(
    client: &HttpClient,
    path: &Path,
    provider: &ProviderEntry,
    index: usize,
    now_ms: i64,
) -> Result<(AuthFile, Secret), ErrorInfo> {
    // Released when it is dropped, and by the system when the process ends.
    let _lock = lock(path).await?;
    let mut file = AuthFile::load(path).map_err(|error| config(&error))?;
    let Some(AuthEntry::Oauth { access, refresh, expires }) = file.entries(&provider.id).get(index).cloned() else {
        return Err(ErrorInfo::new(ErrorKind::Auth, "the login was removed"));
    };
    if expires > now_ms.saturating_add(EXPIRY_MARGIN_MS) {
        return Ok((file, Secret::new(access)));
    }
    let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
    form.extend(token::setting(provider, "clientId").ok().map(|id| ("client_id", id)));
    let secrets = [refresh.as_str(), access.as_str()];
    let answer = token::post(client, token::address(provider, "tokenUrl")?, &form, None, &secrets).await?;
    let renewed = answer.tokens(&refresh, &secrets, now_ms)?;
    file.replace(&provider.id, index, &renewed);
    file.save(path).map_err(|error| config(&error))?;
    let AuthEntry::Oauth { access, .. } = renewed else {
        return Err(ErrorInfo::new(ErrorKind::Malformed, "the answer has no access_token"));
    };
    Ok((file, Secret::new(access)))
}

/// Changes the file at `path` under the lock. Returns the current file.
pub(super) async fn change(path: &Path, change: impl FnOnce(&mut AuthFile)) -> Result<AuthFile, ErrorInfo> {
    let _lock = lock(path).await?;
    let mut file = AuthFile::load(path).map_err(|error| config(&error))?;
    change(&mut file);
    file.save(path).map_err(|error| config(&error))?;
    Ok(file)
}

fn config(error: &Error) -> ErrorInfo {
    ErrorInfo::new(ErrorKind::Config, error.message())
}

/// Acquires the lock next to the file at `path`; a process that keeps it for more than ten seconds is assumed to hang.
/// The lock is released with the value, and with the process.
///
/// # Errors
/// Returns `config` if the lock file cannot be opened.
pub async fn lock(path: &Path) -> Result<File, ErrorInfo> {
    let beside = path.with_extension("json.lock");
    let failed = |error: std::io::Error| config(&Error::io(format!("failed to open {beside:?}"), &error));
    if let Some(folder) = beside.parent() {
        // Other users must not be able to read keys.
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&beside).map_err(failed)?;
    let until = Instant::now() + LOCK_LIMIT;
    while file.try_lock().is_err() && Instant::now() < until {
        tokio::time::sleep(LOCK_STEP).await;
    }
    Ok(file)
}
