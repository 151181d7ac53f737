//! Logs a user in at a provider with an `oauth` block: in a browser ([`BrowserLogin`], PKCE with a local port, or with
//! pasting if the browser runs on another machine) or with a code ([`DeviceLogin`]).
//!
//! A login only fetches tokens; [`super::Credentials::store_login`] stores them. Nothing is printed and no browser is
//! started: the returned values contain what to show. Dropping a login's future cancels it.

mod browser;
mod device;
mod redirect;

pub use browser::BrowserLogin;
pub use device::DeviceLogin;
pub use redirect::{ExpectedIssuer, LoginRedirect, random_secret};

use crate::models::ProviderEntry;

/// How a user can log in at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginKind {
    /// The block has an `authorizeUrl`.
    Browser,
    /// The block has a `deviceUrl` and no `authorizeUrl`.
    Device,
}

/// Returns how to log in at `provider`; `None` if its `oauth` block is missing or contains neither URL.
#[must_use]
pub fn login_kind(provider: &ProviderEntry) -> Option<LoginKind> {
    let has = |key: &str| super::token::setting(provider, key).is_ok();
    if has("authorizeUrl") { Some(LoginKind::Browser) } else { has("deviceUrl").then_some(LoginKind::Device) }
}

/// Returns the `scopes` of the block, separated by spaces; empty if there are none.
fn scopes(provider: &ProviderEntry) -> String {
    let list = provider.oauth.as_ref().and_then(|oauth| oauth.get("scopes")?.as_array());
    let words: Vec<&str> = list.into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
