//! The token of each request, renewed before it expires.

use sinew_llm::credentials::{AuthEntry, EXPIRY_MARGIN_MS, lock, token};
use sinew_llm::error::{ErrorInfo, ErrorKind};
use url::Url;

use super::Logins;
use super::challenge::Challenge;
use super::store::{self, Store, StoredLogin};
use super::web::Web;

/// The tokens for one server, shared by its connections.
pub struct ServerTokens {
    logins: Logins,
    server: Url,
    /// `None` if it is not read yet, or no longer valid.
    login: tokio::sync::Mutex<Option<StoredLogin>>,
}

impl std::fmt::Debug for ServerTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTokens").field("server", &self.server).finish_non_exhaustive()
    }
}

impl ServerTokens {
    pub(super) fn new(logins: Logins, server: Url) -> ServerTokens {
        ServerTokens { logins, server, login: tokio::sync::Mutex::default() }
    }

    /// Returns the token for the next request; `None` without a login. A token that expires within 5 minutes is renewed
    /// first.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or an old token cannot be renewed because the server is
    /// unreachable.
    pub(crate) async fn current(&self) -> Result<Option<String>, ErrorInfo> {
        let mut login = self.login.lock().await;
        if login.is_none() {
            *login = Store::load(&self.logins.path)?.of(&self.server).cloned();
        }
        let Some(found) = &*login else { return Ok(None) };
        let now = (self.logins.now)();
        if found.refresh.is_empty() || found.expires > now.saturating_add(EXPIRY_MARGIN_MS) {
            return Ok(Some(found.access.clone()));
        }
        match self.renew(found).await {
            Ok(renewed) => {
                *login = Some(renewed);
                Ok(login.as_ref().map(|login| login.access.clone()))
            }
            // The token is still valid for some time; otherwise the server answers that a login is required.
            Err(error) if error.kind == ErrorKind::Auth || found.expires > now => Ok(Some(found.access.clone())),
            Err(error) => Err(error),
        }
    }

    /// Returns another token after the server rejected `refused` with 401: one that another process stored meanwhile,
    /// or a renewed one. Returns `None` if a login is necessary.
    ///
    /// # Errors
    /// Fails as [`ServerTokens::current`] does.
    pub(crate) async fn replace(&self, refused: &str) -> Result<Option<String>, ErrorInfo> {
        let mut login = self.login.lock().await;
        let stored = Store::load(&self.logins.path)?.of(&self.server).cloned();
        let found = match stored {
            Some(stored) if stored.access != refused => stored,
            Some(stored) if !stored.refresh.is_empty() => match self.renew(&stored).await {
                Ok(renewed) => renewed,
                Err(error) if error.kind == ErrorKind::Auth => {
                    *login = None;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            },
            _ => {
                *login = None;
                return Ok(None);
            }
        };
        let access = found.access.clone();
        *login = Some(found);
        Ok(Some(access))
    }

    /// Saves the server's challenge for the next login.
    ///
    /// # Errors
    /// Returns an error if the file cannot be changed.
    pub(crate) async fn remember(&self, challenge: &Challenge) -> Result<(), ErrorInfo> {
        // This process no longer uses the insufficient token.
        *self.login.lock().await = None;
        let mut news = Store::load(&self.logins.path)?;
        match news.want(&self.server, challenge) {
            false => Ok(()),
            true => {
                let note = |store: &mut Store| {
                    store.want(&self.server, challenge);
                };
                store::change(&self.logins.path, note).await
            }
        }
    }

    /// Renews a login unless another process has done so meanwhile.
    async fn renew(&self, login: &StoredLogin) -> Result<StoredLogin, ErrorInfo> {
        let path = &self.logins.path;
        let _lock = lock(path).await?;
        let mut store = Store::load(path)?;
        let Some(stored) = store.of(&self.server).cloned() else {
            return Err(ErrorInfo::new(ErrorKind::Auth, "the login was removed"));
        };
        if stored.access != login.access {
            return Ok(stored);
        }
        let web = Web::new(&self.logins.http, &self.server);
        let endpoint = web.address("the token endpoint", &stored.token_endpoint)?;
        let mut form = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", stored.refresh.as_str()),
            ("resource", stored.resource.as_str()),
        ];
        let header = stored.client.identify(&mut form);
        let secrets = [stored.refresh.as_str(), stored.access.as_str(), stored.client.secret()];
        let answer = token::post(&web.client, endpoint, &form, header.as_deref(), &secrets).await?;
        let renewed = answer.tokens(&stored.refresh, &secrets, (self.logins.now)())?;
        let AuthEntry::Oauth { access, refresh, expires } = renewed else {
            return Err(ErrorInfo::new(ErrorKind::Malformed, "the answer has no access_token"));
        };
        let scope = answer.text("scope").unwrap_or(&stored.scope).to_string();
        let renewed = StoredLogin { access, refresh, expires, scope, ..stored };
        store.renew(&renewed);
        store::save(&store, path)?;
        Ok(renewed)
    }
}
