//! Logs a user in at a provider with an `oauth` block: by browser ([`BrowserLogin`], PKCE with a port of the
//! own machine, and pasting where the browser runs elsewhere) or by code ([`DeviceLogin`]).
//!
//! A login only fetches tokens; [`super::Credentials::store_login`] keeps them. Nothing is printed and no
//! browser is started: what to show is in the values. Dropping a login's future ends it.

mod browser;
mod device;
mod redirect;

pub use browser::BrowserLogin;
pub use device::DeviceLogin;
pub use redirect::{ExpectedIssuer, LoginRedirect, random_secret};

use crate::models::ProviderEntry;

/// The ways in which a user can log in at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginKind {
    /// The block has an `authorizeUrl`.
    Browser,
    /// The block has a `deviceUrl` and no `authorizeUrl`.
    Device,
}

/// Returns the way to log in at `provider`; None where its `oauth` block is missing or names neither address.
#[must_use]
pub fn login_kind(provider: &ProviderEntry) -> Option<LoginKind> {
    let has = |key: &str| super::token::setting(provider, key).is_ok();
    if has("authorizeUrl") { Some(LoginKind::Browser) } else { has("deviceUrl").then_some(LoginKind::Device) }
}

/// The `scopes` of the block, a blank between; empty where there are none.
fn scopes(provider: &ProviderEntry) -> String {
    let list = provider.oauth.as_ref().and_then(|oauth| oauth.get("scopes")?.as_array());
    let words: Vec<&str> = list.into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
