//! Logs out: removes the tokens from the file, and asks the authorization server to revoke them (RFC 7009).

use std::time::Duration;

use sinew_llm::credentials::token;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use url::Url;

use super::Logins;
use super::store::{self, StoredLogin};
use super::web::{Web, refused};

/// The time limit for the authorization server.
const LIMIT: Duration = Duration::from_secs(10);

/// The result of a logout. The tokens are removed from this machine in every case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Logout {
    /// There was no login.
    None,
    /// The tokens are also revoked at the server.
    Revoked,
    /// The server does not support revocation: the tokens stay valid until they expire.
    NotOffered,
    /// The server did not revoke the tokens; contains the reason.
    Failed(String),
}

impl Logins {
    /// Removes the login for a server and revokes its tokens at the authorization server.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written. A failed revocation is not an error.
    pub async fn log_out(&self, server: &Url) -> Result<Logout, ErrorInfo> {
        let mut removed = None;
        store::change(&self.path, |store| removed = store.forget(server)).await?;
        let Some(login) = removed else { return Ok(Logout::None) };
        let Some(endpoint) = &login.revocation_endpoint else { return Ok(Logout::NotOffered) };
        let revoked = tokio::time::timeout(LIMIT, self.revoke(server, &login, endpoint)).await;
        Ok(match revoked {
            Ok(Ok(())) => Logout::Revoked,
            Ok(Err(error)) => Logout::Failed(error.message),
            Err(_) => Logout::Failed(format!("{} did not answer within {} s", login.issuer, LIMIT.as_secs())),
        })
    }

    async fn revoke(&self, server: &Url, login: &StoredLogin, endpoint: &str) -> Result<(), ErrorInfo> {
        let web = Web::new(&self.http, server);
        let endpoint = web.address("the revocation endpoint", endpoint)?;
        // The refresh token first: with it, a server may revoke all tokens made from it.
        for (token, kind) in [(&login.refresh, "refresh_token"), (&login.access, "access_token")] {
            if token.is_empty() {
                continue;
            }
            let mut form = vec![("token", token.as_str()), ("token_type_hint", kind)];
            let header = login.client.identify(&mut form);
            let secrets = [login.refresh.as_str(), login.access.as_str(), login.client.secret()];
            let answer = token::post(&web.client, endpoint.clone(), &form, header.as_deref(), &secrets).await?;
            // Some servers can only let access tokens expire, and report this error.
            let kept = answer.text("error") == Some("unsupported_token_type") && kind == "access_token";
            match answer.status {
                200..300 => {}
                _ if kept && !login.refresh.is_empty() => {}
                500.. => {
                    let text = format!("{} answered HTTP {}", login.issuer, answer.status);
                    return Err(ErrorInfo::new(ErrorKind::Server, text));
                }
                status => {
                    let code = answer.text("error").filter(|code| is_code(code)).unwrap_or_default();
                    return Err(refused(format!("{} answered HTTP {status} {code}", login.issuer).trim_end().into()));
                }
            }
        }
        Ok(())
    }
}

/// Returns true if a text may be an OAuth error code and cannot be a token repeated by the server.
fn is_code(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}
