//! `auth.json`: the keys and logins that the user stored.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sinew_base::{Error, ErrorCode};

/// One credential.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AuthEntry {
    /// A key: the name of an environment variable, a literal, or `!command`.
    ApiKey {
        /// The value.
        key: String,
    },
    /// A login.
    Oauth {
        /// The token of requests.
        access: String,
        /// The token that renews the access token.
        #[serde(default)]
        refresh: String,
        /// When `access` expires, in milliseconds since the epoch.
        #[serde(default)]
        expires: i64,
    },
}

impl std::fmt::Debug for AuthEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AuthEntry::ApiKey { .. } => "ApiKey(***)",
            AuthEntry::Oauth { .. } => "Oauth(***)",
        })
    }
}

/// The content of the file. Entries of an unknown kind are preserved.
#[derive(Clone, Default, PartialEq)]
pub struct AuthFile {
    providers: Map<String, Value>,
}

impl std::fmt::Debug for AuthFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.providers.keys()).finish()
    }
}

impl AuthFile {
    /// Reads a file; a missing one is empty.
    ///
    /// # Errors
    /// Returns an error without any of the content if the file cannot be read or is not JSON.
    pub fn load(path: &Path) -> Result<AuthFile, Error> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(AuthFile::default()),
            Err(error) => return Err(Error::io(format!("failed to read {path:?}"), &error)),
        };
        AuthFile::parse(&text)
            .map_err(|reason| Error::new(ErrorCode::InvalidData, format!("failed to read {path:?}: {reason}")))
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// Returns the position of the error, without the surrounding text.
    pub fn parse(text: &str) -> Result<AuthFile, String> {
        if text.trim().is_empty() {
            return Ok(AuthFile::default());
        }
        match serde_json::from_str(text) {
            Ok(providers) => Ok(AuthFile { providers }),
            // serde's own message may quote a value.
            Err(error) => Err(format!("invalid JSON at line {}, column {}", error.line(), error.column())),
        }
    }

    /// Returns the credentials of a provider, in order.
    #[must_use]
    pub fn entries(&self, provider: &str) -> Vec<AuthEntry> {
        let read = |value: &Value| serde_json::from_value(value.clone()).ok();
        match self.providers.get(provider) {
            Some(Value::Array(list)) => list.iter().filter_map(read).collect(),
            Some(one) => read(one).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns the providers with an entry.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// Replaces entry `index` of [`AuthFile::entries`] by `entry`. Unknown fields of the entry, and entries of an
    /// unknown kind, are preserved.
    pub fn replace(&mut self, provider: &str, index: usize, entry: &AuthEntry) {
        let readable = |value: &&mut Value| serde_json::from_value::<AuthEntry>((*value).clone()).is_ok();
        let place = match self.providers.get_mut(provider) {
            Some(Value::Array(list)) => list.iter_mut().filter(readable).nth(index),
            Some(one) => Some(one).filter(readable).filter(|_| index == 0),
            None => None,
        };
        if let (Some(Value::Object(old)), Value::Object(new)) = (place, serde_json::json!(entry)) {
            old.extend(new);
        }
    }

    /// Replaces the provider's logins by `login`; `None` removes them. Keys and entries of an unknown kind are
    /// preserved. Returns true if there was a login.
    pub fn set_login(&mut self, provider: &str, login: Option<&AuthEntry>) -> bool {
        self.put(provider, &["oauth"], login)
    }

    /// Replaces the provider's keys by `key`. Logins and entries of an unknown kind are preserved.
    pub fn set_key(&mut self, provider: &str, key: &str) {
        self.put(provider, &["api_key"], Some(&AuthEntry::ApiKey { key: key.to_string() }));
    }

    /// Removes the provider's keys and logins; entries of an unknown kind are preserved. Returns true if there was one.
    pub fn forget(&mut self, provider: &str) -> bool {
        self.put(provider, &["api_key", "oauth"], None)
    }

    /// Replaces the provider's entries of these kinds by `entry`. Returns true if there was one.
    fn put(&mut self, provider: &str, kinds: &[&str], entry: Option<&AuthEntry>) -> bool {
        let old = match self.providers.get(provider) {
            Some(Value::Array(list)) => list.clone(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        };
        let is_meant =
            |value: &Value| value.get("type").and_then(Value::as_str).is_some_and(|kind| kinds.contains(&kind));
        let had = old.iter().any(is_meant);
        let mut kept: Vec<Value> = old.into_iter().filter(|value| !is_meant(value)).collect();
        kept.extend(entry.map(|entry| serde_json::json!(entry)));
        let value = match kept.len() {
            0 => {
                self.providers.shift_remove(provider);
                return had;
            }
            1 => kept.remove(0),
            _ => Value::Array(kept),
        };
        self.providers.insert(provider.to_string(), value);
        had
    }

    /// Replaces the credentials of a provider; an empty list removes it.
    pub fn set(&mut self, provider: &str, entries: &[AuthEntry]) {
        let value = match entries {
            [] => {
                self.providers.shift_remove(provider);
                return;
            }
            [one] => serde_json::json!(one),
            many => serde_json::json!(many),
        };
        self.providers.insert(provider.to_string(), value);
    }

    /// Writes the file as [`save_private`] does.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(&self.providers)
            .map_err(|error| Error::io(format!("failed to write {path:?}"), &error.into()))?;
        text.push('\n');
        save_private(path, &text)
    }
}

/// Writes a file atomically, readable by its owner only.
///
/// # Errors
/// Returns the system's error.
pub fn save_private(path: &Path, text: &str) -> Result<(), Error> {
    let beside = path.with_extension(format!("json.{}.tmp", std::process::id()));
    let written = write_private(&beside, text.as_bytes()).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        // Removes the temporary file; an error here adds no information.
        let _ = fs::remove_file(&beside);
        Error::io(format!("failed to write {path:?}"), &error)
    })
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
