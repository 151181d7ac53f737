//! Which key goes with a request.
//!
//! The first of these that is there: the key of the command line, `auth.json`, the environment,
//! `models.json`. The environment and the way to run a `!command` are values that the caller gives.

mod auth_file;
mod refresh;

pub use auth_file::{AuthEntry, AuthFile};

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{ErrorInfo, ErrorKind};
use crate::http::HttpClient;
use crate::models::ProviderEntry;
use crate::provider::{Auth, Secret};

/// A login ends so long before its time, in milliseconds: the request must still arrive.
pub const EXPIRY_MARGIN_MS: i64 = 5 * 60 * 1000;

/// How long a credential rests after its limit was reached, where the server does not say: 5 minutes,
/// doubled each time up to an hour.
const REST_MS: u64 = 5 * 60 * 1000;
const LONGEST_REST_MS: u64 = 3600 * 1000;

/// Runs the command behind a `!` and answers what it wrote to stdout, or why it failed. It may block, for
/// ten seconds at most.
pub type CommandRunner = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Reads a variable.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Where a key came from.
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

/// A key and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Credential {
    /// What proves who sends the request.
    pub auth: Auth,
    /// Where it came from.
    pub source: Source,
    /// Which of the provider's entries in `auth.json` it is.
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
    /// What commands answered, for as long as the process lives.
    answers: Arc<Mutex<HashMap<String, Result<String, String>>>>,
    rests: Arc<Mutex<HashMap<(String, usize), Rest>>>,
}

#[derive(Debug, Clone, Copy)]
struct Rest {
    until_ms: i64,
    times: u32,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Keys from the environment and the given files. `command_line` is a provider's id and its `--api-key`.
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
            rests: Arc::default(),
        }
    }

    /// The same, which also renews logins that run out, over `client`, and writes them to the `auth.json` at
    /// `path`.
    #[must_use]
    pub fn with_renewal(mut self, client: HttpClient, path: PathBuf) -> Credentials {
        self.logins = Some((client, path));
        self
    }

    /// Whether there is a key for `provider`, or none is needed. Runs no command.
    #[must_use]
    pub fn has(&self, provider: &ProviderEntry) -> bool {
        provider.keyless || self.has_key(provider)
    }

    /// Whether there is a key for `provider`. Runs no command.
    #[must_use]
    pub fn has_key(&self, provider: &ProviderEntry) -> bool {
        self.command_line.as_ref().is_some_and(|(id, _)| *id == provider.id)
            || !self.entries(&provider.id).is_empty()
            || provider.env.iter().any(|name| self.variable(name).is_some())
            || provider.api_key.is_some()
    }

    /// The key for a request of `session`, which decides between several. `now_ms` is the time of day.
    ///
    /// # Errors
    /// `config`: there is no key, or its command failed (the entry is named, never the key). `auth`: the
    /// login has run out. `usage_limit`: all credentials rest.
    pub async fn resolve(&self, provider: &ProviderEntry, session: &str, now_ms: i64) -> Result<Credential, ErrorInfo> {
        let sent = |key: Secret| if provider.auth_header { Auth::Bearer(key) } else { Auth::ApiKey(key) };
        if let Some((_, key)) = self.command_line.as_ref().filter(|(id, _)| *id == provider.id) {
            return Ok(Credential { auth: sent(key.clone()), source: Source::CommandLine, index: 0 });
        }
        let entries = self.entries(&provider.id);
        if !entries.is_empty() {
            let index = self.pick(provider, session, entries.len(), now_ms).ok_or_else(|| {
                ErrorInfo::new(
                    ErrorKind::UsageLimit,
                    format!("{}: all {} credentials have reached their limit", provider.id, entries.len()),
                )
            })?;
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
        let ways = match provider.env.first() {
            Some(name) => format!("set {name}, run /login {}, or put an apiKey into models.json", provider.id),
            None => format!("run /login {}, or put an apiKey into models.json", provider.id),
        };
        Err(ErrorInfo::new(ErrorKind::Config, format!("{}: no key; {ways}", provider.id)))
    }

    /// The values of headers, each a `!command`, the name of a set variable, or a literal.
    ///
    /// # Errors
    /// `config`: a command failed; the header is named.
    pub async fn headers(&self, headers: &[(String, String)]) -> Result<Vec<(String, String)>, ErrorInfo> {
        let mut resolved = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            let value = self.value(&format!("models.json: header {name}"), value).await?;
            resolved.push((name.clone(), value.expose().to_string()));
        }
        Ok(resolved)
    }

    /// Lets a credential rest: its limit is reached, or it was refused. Answers until when, and whether
    /// another one of the provider is free.
    pub fn rest(&self, provider: &str, index: usize, retry_after_ms: Option<u64>, now_ms: i64) -> (i64, bool) {
        let count = self.entries(provider).len();
        let mut rests = self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = rests.entry((provider.to_string(), index)).or_insert(Rest { until_ms: 0, times: 0 });
        let usual = REST_MS.saturating_mul(1 << rest.times.min(8)).min(LONGEST_REST_MS);
        rest.times += 1;
        rest.until_ms = now_ms.saturating_add_unsigned(retry_after_ms.unwrap_or(usual));
        let until = rest.until_ms;
        let free = (0..count)
            .any(|other| rests.get(&(provider.to_string(), other)).is_none_or(|rest| rest.until_ms <= now_ms));
        (until, free)
    }

    /// The entry for a session: always the same one, the next where that one rests.
    fn pick(&self, provider: &ProviderEntry, session: &str, count: usize, now_ms: i64) -> Option<usize> {
        let rests = self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        // FNV-1a: the same in every process.
        let hash = session
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let first = (hash % count as u64) as usize;
        let order = (0..count).map(|step| (first + step) % count);
        order
            .into_iter()
            .find(|index| rests.get(&(provider.id.clone(), *index)).is_none_or(|rest| rest.until_ms <= now_ms))
    }

    fn entries(&self, provider: &str) -> Vec<AuthEntry> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).entries(provider)
    }

    async fn renew(&self, provider: &ProviderEntry, index: usize, now_ms: i64) -> Result<Secret, ErrorInfo> {
        let again = format!("run /login {}", provider.id);
        let Some((client, path)) = self.logins.as_ref().filter(|_| provider.oauth.is_some()) else {
            return Err(ErrorInfo::new(ErrorKind::Auth, format!("{}: the login has run out; {again}", provider.id)));
        };
        let (file, access) = refresh::renew(client, path, provider, index, now_ms).await.map_err(|mut error| {
            error.message = format!("{}: renew the login: {}; {again} if it does not pass", provider.id, error.message);
            error
        })?;
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file;
        Ok(access)
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).map(|value| value.trim().to_string()).filter(|value| !value.is_empty())
    }

    async fn value(&self, entry: &str, value: &str) -> Result<Secret, ErrorInfo> {
        let Some(command) = value.strip_prefix('!') else {
            return Ok(Secret::new(self.variable(value).unwrap_or_else(|| value.to_string())));
        };
        let known = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(command).cloned();
        let answer = match known {
            Some(answer) => answer,
            None => {
                let (runner, owned) = (Arc::clone(&self.runner), command.to_string());
                let ran = tokio::task::spawn_blocking(move || runner(&owned)).await;
                let answer =
                    ran.unwrap_or_else(|_| Err("the command crashed".to_string())).map(|text| text.trim().to_string());
                self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(command.to_string(), answer.clone());
                answer
            }
        };
        match answer {
            Ok(text) if !text.is_empty() => Ok(Secret::new(text)),
            Ok(_) => Err(ErrorInfo::new(ErrorKind::Config, format!("{entry}: the command answered nothing"))),
            Err(reason) => Err(ErrorInfo::new(ErrorKind::Config, format!("{entry}: the command failed: {reason}"))),
        }
    }
}

#[cfg(test)]
mod tests;
