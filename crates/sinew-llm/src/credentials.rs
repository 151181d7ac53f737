//! Credentials: selects the key for a request.
//!
//! Uses the first of these that exists: the key of the command line, a key of `auth.json`, a login of `auth.json`, the
//! environment, `models.json`. The caller provides the environment and the way to run a `!command`.

mod auth_file;
pub mod login;
mod refresh;
pub mod token;

pub use auth_file::{AuthEntry, AuthFile, save_private};
pub use refresh::lock;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{ErrorInfo, ErrorKind, mask};
use crate::http::HttpClient;
use crate::models::ProviderEntry;
use crate::provider::{Auth, Secret};
use crate::stable_hash::stable_hash;

/// How long before its expiry a login is treated as expired, in milliseconds, so that the request still arrives in
/// time.
pub const EXPIRY_MARGIN_MS: i64 = 5 * 60 * 1000;

/// How long a credential is paused after it reached its limit, if the server does not specify it: 5 minutes, doubled
/// each time up to an hour.
const PAUSE_MS: u64 = 5 * 60 * 1000;
const LONGEST_PAUSE_MS: u64 = 3600 * 1000;

/// Runs the command after a `!` and returns its standard output, or the reason why it failed. It may block for at most
/// ten seconds.
pub type CommandRunner = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Returns the value of an environment variable.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The origin of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `--api-key`.
    CommandLine,
    /// `auth.json`.
    AuthFile,
    /// A variable.
    Environment,
    /// `apiKey` of `models.json`.
    ModelsFile,
    /// No key is needed.
    Keyless,
}

/// A key and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Credential {
    /// The secret that identifies the sender of the request.
    pub auth: Auth,
    /// The origin of the key.
    pub source: Source,
    /// The index of the key in the provider's entries of `auth.json`.
    pub index: usize,
}

/// All keys of a run.
#[derive(Clone)]
pub struct Credentials {
    environment: Environment,
    runner: CommandRunner,
    command_line: Option<(String, Secret)>,
    file: Arc<Mutex<AuthFile>>,
    logins: Option<(HttpClient, PathBuf)>,
    /// The output of commands, cached for the lifetime of the process. A failed command is run again by the next
    /// request, because the user may have unlocked what it reads.
    answers: Arc<Mutex<HashMap<String, Secret>>>,
    pauses: Arc<Mutex<HashMap<(String, usize), Pause>>>,
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    until_ms: i64,
    times: u32,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Creates credentials from the environment and the given files. `command_line` is a provider's id and its
    /// `--api-key`.
    #[must_use]
    pub fn new(
        environment: Environment,
        runner: CommandRunner,
        file: AuthFile,
        command_line: Option<(String, Secret)>,
    ) -> Credentials {
        Credentials {
            environment,
            runner,
            command_line,
            file: Arc::new(Mutex::new(file)),
            logins: None,
            answers: Arc::default(),
            pauses: Arc::default(),
        }
    }

    /// Also refreshes logins that are about to expire over `client`, and writes them to the `auth.json` at `path`.
    #[must_use]
    pub fn with_renewal(mut self, client: HttpClient, path: PathBuf) -> Credentials {
        self.logins = Some((client, path));
        self
    }

    /// Returns true if there is a key for `provider`, or none is needed. Runs no commands.
    #[must_use]
    pub fn has(&self, provider: &ProviderEntry) -> bool {
        provider.keyless || self.has_key(provider)
    }

    /// Returns true if there is a key for `provider`. Runs no commands.
    #[must_use]
    pub fn has_key(&self, provider: &ProviderEntry) -> bool {
        self.command_line.as_ref().is_some_and(|(id, _)| *id == provider.id)
            || !self.entries(&provider.id).is_empty()
            || provider.env.iter().any(|name| self.variable(name).is_some())
            || provider.api_key.is_some()
    }

    /// Returns the key for a request of `session`, which selects one of several keys. `now_ms` is the current time.
    ///
    /// # Errors
    /// Returns `config` if there is no key or its command failed (with the name of the entry, never the key), `auth` if
    /// the login has expired, and `usage_limit` if all credentials are paused.
    pub async fn resolve(&self, provider: &ProviderEntry, session: &str, now_ms: i64) -> Result<Credential, ErrorInfo> {
        let sent = |key: Secret| if provider.auth_header { Auth::Bearer(key) } else { Auth::ApiKey(key) };
        if let Some((_, key)) = self.command_line.as_ref().filter(|(id, _)| *id == provider.id) {
            return Ok(Credential { auth: sent(key.clone()), source: Source::CommandLine, index: 0 });
        }
        let entries = self.entries(&provider.id);
        if !entries.is_empty() {
            let index = self.pick(&provider.id, session, &entries, now_ms)?;
            let auth = match &entries[index] {
                AuthEntry::ApiKey { key } => sent(self.value(&format!("auth.json: {}", provider.id), key).await?),
                AuthEntry::Oauth { access, expires, .. } if *expires > now_ms.saturating_add(EXPIRY_MARGIN_MS) => {
                    Auth::Bearer(Secret::new(access.clone()))
                }
                AuthEntry::Oauth { .. } => Auth::Bearer(self.renew(provider, index, now_ms).await?),
            };
            return Ok(Credential { auth, source: Source::AuthFile, index });
        }
        if let Some((name, key)) = provider.env.iter().find_map(|name| Some((name, self.variable(name)?))) {
            let key = Secret::new(key);
            let auth = if name.ends_with("OAUTH_TOKEN") { Auth::Bearer(key) } else { sent(key) };
            return Ok(Credential { auth, source: Source::Environment, index: 0 });
        }
        if let Some(value) = &provider.api_key {
            let key = self.value(&format!("models.json: apiKey of {}", provider.id), value).await?;
            return Ok(Credential { auth: sent(key), source: Source::ModelsFile, index: 0 });
        }
        if provider.keyless {
            return Ok(Credential { auth: Auth::None, source: Source::Keyless, index: 0 });
        }
        // Prefer a plain key: tokens of another program's login are less common.
        let variable = provider.env.iter().min_by_key(|name| name.ends_with("OAUTH_TOKEN"));
        let mut ways: Vec<String> = variable.map(|name| format!("set {name}")).into_iter().collect();
        ways.push("use --api-key".into());
        let ways = format!("{}, or run sinew login {}", ways.join(", "), provider.id);
        Err(ErrorInfo::new(ErrorKind::Config, format!("{}: no key; {ways}", provider.id)))
    }

    /// Returns the values of headers, each a `!command`, the name of an environment variable, or a literal.
    ///
    /// # Errors
    /// Returns `config` with the name of the header if a command failed.
    pub async fn headers(&self, headers: &[(String, String)]) -> Result<Vec<(String, String)>, ErrorInfo> {
        let mut resolved = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            let value = self.value(&format!("models.json: header {name}"), value).await?;
            resolved.push((name.clone(), value.expose().to_string()));
        }
        Ok(resolved)
    }

    /// Pauses a credential that reached its limit or was rejected. Returns the end of the pause, and whether another
    /// credential of the provider is available. If the credential worked for an hour after its last pause, the shortest
    /// pause is used again.
    pub fn pause(&self, provider: &str, index: usize, retry_after_ms: Option<u64>, now_ms: i64) -> (i64, bool) {
        let count = self.entries(provider).len();
        let mut pauses = self.pauses.lock();
        let pause = pauses.entry((provider.to_string(), index)).or_insert(Pause { until_ms: 0, times: 0 });
        if pause.until_ms.saturating_add_unsigned(LONGEST_PAUSE_MS) < now_ms {
            pause.times = 0;
        }
        let usual = PAUSE_MS.saturating_mul(1 << pause.times.min(8)).min(LONGEST_PAUSE_MS);
        pause.times += 1;
        pause.until_ms = now_ms.saturating_add_unsigned(retry_after_ms.unwrap_or(usual));
        let until = pause.until_ms;
        let free = (0..count)
            .any(|other| pauses.get(&(provider.to_string(), other)).is_none_or(|pause| pause.until_ms <= now_ms));
        (until, free)
    }

    /// Returns the entry for a session: always the same one, or the next one if it is paused; a login only if no key is
    /// available. A single entry is never paused, because only a request can show that it works again.
    fn pick(&self, provider: &str, session: &str, entries: &[AuthEntry], now_ms: i64) -> Result<usize, ErrorInfo> {
        if entries.len() == 1 {
            return Ok(0);
        }
        let pauses = self.pauses.lock();
        let until = |index: usize| pauses.get(&(provider.to_string(), index)).map_or(i64::MIN, |pause| pause.until_ms);
        let hash = stable_hash(session);
        let is_key = |index: &usize| matches!(entries[*index], AuthEntry::ApiKey { .. });
        let (keys, logins): (Vec<usize>, Vec<usize>) = (0..entries.len()).partition(is_key);
        let turn = |group: &Vec<usize>| {
            let first = (hash % group.len().max(1) as u64) as usize;
            group.iter().copied().cycle().skip(first).take(group.len()).find(|index| until(*index) <= now_ms)
        };
        if let Some(index) = turn(&keys).or_else(|| turn(&logins)) {
            return Ok(index);
        }
        let next = (0..entries.len()).map(until).min().unwrap_or(now_ms).saturating_sub(now_ms).max(0).unsigned_abs();
        let text = format!(
            "{provider}: all {} credentials have reached their limit or were refused; the next is tried in {} s",
            entries.len(),
            next.div_ceil(1000)
        );
        Err(ErrorInfo { retry_after_ms: Some(next), ..ErrorInfo::new(ErrorKind::UsageLimit, text) })
    }

    /// Stores a login in `auth.json` and replaces the provider's older ones.
    ///
    /// # Errors
    /// Returns `config` if the file cannot be read or written, or if there is no such file.
    pub async fn store_login(&self, provider: &str, login: &AuthEntry) -> Result<(), ErrorInfo> {
        self.change(|file| file.set_login(provider, Some(login))).await.map(drop)
    }

    /// Stores a key in `auth.json` and replaces the provider's older ones.
    ///
    /// # Errors
    /// Returns the errors of [`Credentials::store_login`].
    pub async fn store_key(&self, provider: &str, key: &str) -> Result<(), ErrorInfo> {
        self.change(|file| file.set_key(provider, key)).await
    }

    /// Removes the provider's keys and logins from `auth.json`. Returns false if there were none.
    ///
    /// # Errors
    /// Returns the errors of [`Credentials::store_login`].
    pub async fn forget(&self, provider: &str) -> Result<bool, ErrorInfo> {
        self.change(|file| file.forget(provider)).await
    }

    /// Returns the providers with an entry in `auth.json`.
    #[must_use]
    pub fn stored(&self) -> Vec<String> {
        let file = self.file.lock();
        file.providers().map(str::to_string).collect()
    }

    /// Removes the provider's logins from `auth.json`, but not its keys. Returns false if there were none.
    ///
    /// # Errors
    /// Returns the errors of [`Credentials::store_login`].
    pub async fn log_out(&self, provider: &str) -> Result<bool, ErrorInfo> {
        self.change(|file| file.set_login(provider, None)).await
    }

    async fn change<T>(&self, change: impl FnOnce(&mut AuthFile) -> T) -> Result<T, ErrorInfo> {
        let Some((_, path)) = &self.logins else {
            return Err(ErrorInfo::new(
                ErrorKind::Config,
                "logins and keys cannot be stored here, because there is no auth.json",
            ));
        };
        let mut outcome = None;
        let file = refresh::change(path, |file| outcome = Some(change(file))).await?;
        *self.file.lock() = file;
        self.pauses.lock().clear();
        outcome.ok_or_else(|| ErrorInfo::new(ErrorKind::Config, "auth.json was not changed"))
    }

    fn entries(&self, provider: &str) -> Vec<AuthEntry> {
        self.file.lock().entries(provider)
    }

    async fn renew(&self, provider: &ProviderEntry, index: usize, now_ms: i64) -> Result<Secret, ErrorInfo> {
        let again = format!("run sinew login {}", provider.id);
        let Some((client, path)) = self.logins.as_ref().filter(|_| provider.oauth.is_some()) else {
            return Err(ErrorInfo::new(ErrorKind::Auth, format!("{}: the login has expired; {again}", provider.id)));
        };
        let (file, access) = refresh::renew(client, path, provider, index, now_ms).await.map_err(|mut error| {
            error.message =
                format!("{}: failed to renew the login: {}; {again} if it fails again", provider.id, error.message);
            error
        })?;
        *self.file.lock() = file;
        Ok(access)
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).map(|value| value.trim().to_string()).filter(|value| !value.is_empty())
    }

    async fn value(&self, entry: &str, value: &str) -> Result<Secret, ErrorInfo> {
        let Some(command) = value.strip_prefix('!') else {
            return Ok(Secret::new(self.variable(value).unwrap_or_else(|| value.to_string())));
        };
        let known = self.answers.lock().get(command).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let (runner, owned) = (Arc::clone(&self.runner), command.to_string());
        let ran = tokio::task::spawn_blocking(move || runner(&owned)).await;
        let failed = |reason: &str| ErrorInfo::new(ErrorKind::Config, format!("{entry}: {reason}"));
        match ran.unwrap_or_else(|_| Err("the command crashed".to_string())) {
            Ok(text) if text.trim().is_empty() => Err(failed("the command printed nothing")),
            Ok(text) => {
                let answer = Secret::new(text.trim());
                self.answers.lock().insert(command.to_string(), answer.clone());
                Ok(answer)
            }
            Err(reason) => Err(failed(&format!("the command failed: {}", mask(&reason, &[])))),
        }
    }
}

#[cfg(test)]
mod tests;
