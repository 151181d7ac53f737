//! The client id at an authorization server.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sinew_llm::error::{ErrorInfo, mask};

use super::OAuthSettings;
use super::discovery::AuthorizationServer;
use super::web::{Web, refused};

/// How the client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TokenAuth {
    /// With the id only: a program on a user's machine cannot keep a secret.
    #[serde(rename = "none")]
    Public,
    /// With a header of id and secret.
    #[serde(rename = "client_secret_basic")]
    Basic,
    /// With id and secret in the form.
    #[serde(rename = "client_secret_post")]
    Post,
}

/// A client of an authorization server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientIdentity {
    pub(super) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    pub(super) token_auth: TokenAuth,
}

impl ClientIdentity {
    /// Adds the client's identity to a form, or returns the header that contains it.
    pub(super) fn identify<'a>(&'a self, form: &mut Vec<(&'a str, &'a str)>) -> Option<String> {
        let secret = self.client_secret.as_deref();
        match (self.token_auth, secret) {
            (TokenAuth::Basic, Some(secret)) => {
                let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encode(&self.client_id), encode(secret));
                return Some(format!("Basic {}", STANDARD.encode(pair)));
            }
            (TokenAuth::Post, Some(secret)) => form.push(("client_secret", secret)),
            _ => {}
        }
        form.push(("client_id", &self.client_id));
        None
    }

    /// Returns the secret, which must not appear in an error; empty if there is none.
    pub(super) fn secret(&self) -> &str {
        self.client_secret.as_deref().unwrap_or_default()
    }
}

/// Returns the client id, in the order of the specification: the user's, a document, a registration.
pub(super) async fn identify(
    web: &Web,
    server: &AuthorizationServer,
    settings: &OAuthSettings,
    redirect: &str,
    scope: &str,
) -> Result<ClientIdentity, ErrorInfo> {
    let methods = server.token_endpoint_auth_methods_supported.as_deref();
    if let Some(client_id) = settings.client_id.clone() {
        let client_secret = settings.client_secret.clone();
        let token_auth = choose(methods, client_secret.is_some());
        return Ok(ClientIdentity { client_id, client_secret, token_auth });
    }
    if let Some(document) = settings.metadata_url.clone().filter(|_| server.client_id_metadata_document_supported) {
        return Ok(ClientIdentity { client_id: document, client_secret: None, token_auth: TokenAuth::Public });
    }
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(refused(format!(
            "the authorization server {} does not support automatic registration: register sinew there, and add \"oauth\": {{\"clientId\": \"…\"}} to the entry",
            server.issuer
        )));
    };
    register(web, endpoint, methods, redirect, scope).await
}

async fn register(
    web: &Web,
    endpoint: &str,
    methods: Option<&[String]>,
    redirect: &str,
    scope: &str,
) -> Result<ClientIdentity, ErrorInfo> {
    const WHAT: &str = "the registration at the authorization server";
    let endpoint = web.address("the registration endpoint", endpoint)?;
    let mut wish = json!({
        "client_name": "Sinew",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": match methods {
            Some(methods) if methods.iter().all(|method| method != "none") => choose(Some(methods), true),
            _ => TokenAuth::Public,
        },
    });
    if !scope.is_empty() {
        wish["scope"] = scope.into();
    }
    let (status, answer) = web.post(WHAT, endpoint, &wish).await?;
    let text = |key: &str| answer[key].as_str().filter(|text| !text.is_empty()).map(str::to_string);
    if !(200..300).contains(&status) {
        let why: Vec<String> = ["error", "error_description"].iter().filter_map(|key| text(key)).collect();
        let why = mask(&why.join(": "), &[]);
        return Err(refused(format!("{WHAT} failed: HTTP status {status} {why}").trim_end().to_string()));
    }
    let Some(client_id) = text("client_id") else {
        return Err(refused(format!("{WHAT} failed: the answer has no client_id")));
    };
    let client_secret = text("client_secret");
    let given = serde_json::from_value(answer["token_endpoint_auth_method"].clone()).ok();
    let token_auth = given.unwrap_or_else(|| choose(methods, client_secret.is_some()));
    Ok(ClientIdentity { client_id, client_secret, token_auth })
}

/// Chooses the method of a client with or without a secret.
fn choose(methods: Option<&[String]>, has_secret: bool) -> TokenAuth {
    let offers = |method: &str| methods.is_none_or(|methods| methods.iter().any(|offered| offered == method));
    match has_secret {
        false => TokenAuth::Public,
        true if offers("client_secret_basic") => TokenAuth::Basic,
        true if offers("client_secret_post") => TokenAuth::Post,
        true => TokenAuth::Public,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_the_authentication_method_by_secret_and_server() {
        let choose = |methods: Option<&[&str]>, has_secret| {
            let methods: Option<Vec<String>> = methods.map(|list| list.iter().map(ToString::to_string).collect());
            super::choose(methods.as_deref(), has_secret)
        };
        assert_eq!(choose(None, true), TokenAuth::Basic);
        assert_eq!(choose(None, false), TokenAuth::Public);
        assert_eq!(choose(Some(&["none", "client_secret_post"]), true), TokenAuth::Post);
        assert_eq!(choose(Some(&["private_key_jwt"]), true), TokenAuth::Public);
    }

    #[test]
    fn sends_id_and_secret_where_the_method_requires() {
        let form = |token_auth, secret: Option<&str>| {
            let client =
                ClientIdentity { client_id: "a:b".into(), client_secret: secret.map(str::to_string), token_auth };
            let mut form = Vec::new();
            let header = client.identify(&mut form);
            let form: Vec<String> = form.iter().map(|(name, value)| format!("{name}={value}")).collect();
            (form.join("&"), header)
        };
        assert_eq!(form(TokenAuth::Public, Some("s")), ("client_id=a:b".into(), None));
        assert_eq!(form(TokenAuth::Post, Some("s")), ("client_secret=s&client_id=a:b".into(), None));
        let basic = format!("Basic {}", STANDARD.encode("a%3Ab:%C3%A4"));
        assert_eq!(form(TokenAuth::Basic, Some("ä")), (String::new(), Some(basic)));
    }
}
