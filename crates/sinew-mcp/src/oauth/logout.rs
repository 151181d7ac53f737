//! The end of a login: its tokens leave the file, and the server that gave them is asked to take them back (RFC 7009).

use std::time::Duration;

use sinew_llm::credentials::token;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use url::Url;

use super::Logins;
use super::store::{self, StoredLogin};
use super::web::{Web, refused};

/// The time that the authorization server may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The result of a logout. The tokens are gone from this machine in every case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Logout {
    /// There was no login.
    None,
    /// Revoked at the server, too.
    Revoked,
    /// The server takes no token back: they count there until they run out.
    NotOffered,
    /// The server was asked and did not take them back; the reason.
    Failed(String),
}

impl Logins {
    /// Removes the login for a server and revokes its tokens where they came from.
    ///
    /// # Errors
    /// The file cannot be read or written. That the tokens are not revoked is none.
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
        // The refresh token first: with it a server may take back all that it made of it.
        for (token, kind) in [(&login.refresh, "refresh_token"), (&login.access, "access_token")] {
            if token.is_empty() {
                continue;
            }
            let mut form = vec![("token", token.as_str()), ("token_type_hint", kind)];
            let header = login.client.identify(&mut form);
            let secrets = [login.refresh.as_str(), login.access.as_str(), login.client.secret()];
            let answer = token::post(&web.client, endpoint.clone(), &form, header.as_deref(), &secrets).await?;
            // Some servers let access tokens run out, and say so.
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

/// Returns true for what may be an error code of OAuth, and cannot be a token that a server repeats.
fn is_code(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}
