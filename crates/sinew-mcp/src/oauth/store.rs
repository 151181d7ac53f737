//! The file of logins: `mcp-auth.json`, which only its owner can read.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sinew_base::Error;
use sinew_llm::credentials::{lock, save_private};
use sinew_llm::error::{ErrorInfo, ErrorKind};
use url::Url;

use super::challenge::Challenge;
use super::registration::ClientIdentity;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct Store {
    version: u32,
    #[serde(default)]
    logins: Vec<StoredLogin>,
    /// The scopes that servers asked for and no login has yet, by server URL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    wanted: BTreeMap<String, ChallengeContent>,
}

impl Default for Store {
    fn default() -> Store {
        Store { version: VERSION, logins: Vec::new(), wanted: BTreeMap::new() }
    }
}

/// A login. Issuer, resource and client are unique together.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredLogin {
    /// The only URL that receives the token, as written in the entry.
    pub(super) server: String,
    pub(super) resource: String,
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    /// `None` if the server does not support revocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    #[serde(flatten)]
    pub(super) client: ClientIdentity,
    pub(super) access: String,
    /// Empty if the server sent none.
    #[serde(default)]
    pub(super) refresh: String,
    /// Milliseconds since 1970.
    pub(super) expires: i64,
    #[serde(default)]
    pub(super) scope: String,
}

/// The content of a server's challenge.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChallengeContent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_metadata: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
}

impl Store {
    /// Reads the file; a missing file is empty.
    pub(super) fn load(path: &Path) -> Result<Store, ErrorInfo> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Store::default()),
            Err(error) => return Err(config(&Error::io(format!("failed to read {path:?}"), &error))),
        };
        let broken = |why: String| ErrorInfo::new(ErrorKind::Config, format!("failed to read {path:?}: {why}"));
        // serde's own message may contain a value.
        let store: Store = serde_json::from_str(&text)
            .map_err(|error| broken(format!("invalid at line {}, column {}", error.line(), error.column())))?;
        match store.version {
            VERSION => Ok(store),
            other => Err(broken(format!("it has version {other}; this version of sinew supports {VERSION}"))),
        }
    }

    /// Returns the login for a server; `None` if there is none.
    pub(super) fn of(&self, server: &Url) -> Option<&StoredLogin> {
        self.logins.iter().find(|login| login.server == server.as_str())
    }

    /// Adds a login and removes all others for its server.
    pub(super) fn put(&mut self, login: StoredLogin) {
        self.logins.retain(|old| old.server != login.server);
        self.wanted.remove(&login.server);
        self.logins.push(login);
    }

    /// Replaces the tokens with renewed ones.
    pub(super) fn renew(&mut self, renewed: &StoredLogin) {
        if let Some(login) = self.logins.iter_mut().find(|login| login.server == renewed.server) {
            *login = renewed.clone();
        }
    }

    /// Removes and returns the login for a server.
    pub(super) fn forget(&mut self, server: &Url) -> Option<StoredLogin> {
        self.wanted.remove(server.as_str());
        let found = self.logins.iter().position(|login| login.server == server.as_str());
        found.map(|at| self.logins.remove(at))
    }

    /// Saves a server's challenge. Returns true if it is new.
    pub(super) fn want(&mut self, server: &Url, challenge: &Challenge) -> bool {
        let Challenge { resource_metadata, scope, .. } = challenge.clone();
        let wanted = ChallengeContent { resource_metadata, scope };
        self.wanted.insert(server.to_string(), wanted.clone()) != Some(wanted)
    }

    /// Returns the challenge of a server since its last login; `None` if there was none.
    pub(super) fn wanted(&self, server: &Url) -> Option<Challenge> {
        let ChallengeContent { resource_metadata, scope } = self.wanted.get(server.as_str())?.clone();
        Some(Challenge { resource_metadata, scope, error: None })
    }
}

/// Changes the file while it is locked against other processes.
pub(super) async fn change(path: &Path, change: impl FnOnce(&mut Store)) -> Result<(), ErrorInfo> {
    let _lock = lock(path).await?;
    let mut store = Store::load(path)?;
    change(&mut store);
    save(&store, path)
}

pub(super) fn save(store: &Store, path: &Path) -> Result<(), ErrorInfo> {
    let mut text = serde_json::to_string_pretty(store)
        .map_err(|error| ErrorInfo::new(ErrorKind::Config, format!("failed to write {path:?}: {error}")))?;
    text.push('\n');
    save_private(path, &text).map_err(|error| config(&error))
}

fn config(error: &Error) -> ErrorInfo {
    ErrorInfo::new(ErrorKind::Config, error.message())
}
