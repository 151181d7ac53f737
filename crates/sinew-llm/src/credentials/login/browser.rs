//! The browser login at a provider: a [`LoginRedirect`], and tokens for its code.

use std::future::Future;

use url::Url;

use super::super::{AuthEntry, token};
use super::redirect::LoginRedirect;
use super::scopes;
use crate::error::ErrorInfo;
use crate::http::HttpClient;
use crate::models::ProviderEntry;

/// A login that waits for the user.
pub struct BrowserLogin {
    provider: ProviderEntry,
    redirect: LoginRedirect,
    url: Url,
}

impl std::fmt::Debug for BrowserLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrowserLogin").field("redirect", &self.redirect).finish_non_exhaustive()
    }
}

impl BrowserLogin {
    /// Opens a local port and creates the URL that the user opens.
    ///
    /// # Errors
    /// Returns `config` if the `oauth` block has no URL or client id, or if no port is free.
    pub async fn begin(provider: &ProviderEntry) -> Result<BrowserLogin, ErrorInfo> {
        let mut url = token::address(provider, "authorizeUrl")?;
        token::address(provider, "tokenUrl")?;
        let client_id = token::setting(provider, "clientId")?;
        let redirect = LoginRedirect::open(&provider.id, None).await?;
        redirect.add_to(&mut url, client_id, &scopes(provider));
        Ok(BrowserLogin { provider: provider.clone(), redirect, url })
    }

    /// Returns the URL that the user opens.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Waits for the browser or for pasted text, as [`LoginRedirect::wait`] does, and fetches the tokens.
    ///
    /// # Errors
    /// Returns the errors of [`LoginRedirect::wait`] and of the token server.
    pub async fn finish(
        self,
        client: &HttpClient,
        pasted: impl Future<Output = Option<String>>,
        now_ms: i64,
    ) -> Result<AuthEntry, ErrorInfo> {
        let code = self.redirect.wait(pasted).await?;
        let secrets = [code.as_str(), self.redirect.verifier()];
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", self.redirect.uri()),
            ("client_id", token::setting(&self.provider, "clientId")?),
            ("code_verifier", self.redirect.verifier()),
        ];
        let answer = token::post(client, token::address(&self.provider, "tokenUrl")?, &form, None, &secrets).await;
        answer.and_then(|answer| answer.tokens("", &secrets, now_ms)).map_err(|mut error| {
            error.message = format!("log in at {}: {}", self.provider.id, error.message);
            error
        })
    }
}
