//! Finds the authorization server of a server (RFC 9728, RFC 8414, OpenID Connect Discovery).

use serde::Deserialize;
use serde_json::Value;
use sinew_llm::error::ErrorInfo;
use url::Url;

use super::challenge::Challenge;
use super::web::{Web, refused};

/// The authorization server of a resource.
#[derive(Debug)]
pub(super) struct ResourceAuthorization {
    /// The resource of the token, named in every request of the login.
    pub(super) resource: String,
    /// The scopes that the resource supports.
    pub(super) resource_scopes: Vec<String>,
    pub(super) server: AuthorizationServer,
}

/// The metadata of an authorization server.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    #[serde(default)]
    pub(super) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(super) revocation_endpoint: Option<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    /// `None` if the server does not specify it, which means `client_secret_basic` (RFC 8414).
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

#[derive(Deserialize)]
struct ProtectedResource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

const RESOURCE: &str = "the metadata of the resource";
const SERVER: &str = "the metadata of the authorization server";

/// Finds the authorization server of `server`.
pub(super) async fn find(web: &Web, server: &Url, challenge: &Challenge) -> Result<ResourceAuthorization, ErrorInfo> {
    let Some(resource) = protected_resource(web, server, challenge).await? else {
        return from_before(web, server).await;
    };
    if !covers(&resource.resource, server) {
        return Err(refused(format!(
            "{RESOURCE} is for \"{}\" instead of {server}, so its token must not be sent to that server",
            resource.resource
        )));
    }
    let Some(issuer) = resource.authorization_servers.first() else {
        return Err(refused(format!("{RESOURCE} does not name an authorization server")));
    };
    let issuer_url = web.address("the authorization server", issuer)?;
    for place in server_places(&issuer_url) {
        let Some(value) = web.json(SERVER, &place).await? else { continue };
        let found = read(value)?;
        if found.issuer != *issuer {
            return Err(refused(format!("{SERVER} at {place} is for \"{}\" instead of \"{issuer}\"", found.issuer)));
        }
        return checked(resource.resource, resource.scopes_supported, found);
    }
    Err(refused(format!("the authorization server {issuer} has no metadata")))
}

async fn protected_resource(
    web: &Web,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ProtectedResource>, ErrorInfo> {
    let mut places = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        places.push(web.address(RESOURCE, named)?);
    }
    places.extend(resource_places(server));
    for place in places {
        if let Some(value) = web.json(RESOURCE, &place).await? {
            let read = serde_json::from_value(value);
            return read.map(Some).map_err(|error| refused(format!("{RESOURCE} at {place}: {error}")));
        }
    }
    Ok(None)
}

/// Servers from before 2025-06-18 have no metadata: they are their own authorization server.
async fn from_before(web: &Web, server: &Url) -> Result<ResourceAuthorization, ErrorInfo> {
    let origin = at(server, "/");
    // The URL itself is checked like a URL that a server names.
    web.address("the address of the server", origin.as_str())?;
    let resource = canonical(server);
    for place in server_places(&origin) {
        let Some(value) = web.json(SERVER, &place).await? else { continue };
        let found = read(value)?;
        if found.issuer.trim_end_matches('/') != origin.as_str().trim_end_matches('/') {
            return Err(refused(format!("{SERVER} at {place} is for \"{}\"", found.issuer)));
        }
        return checked(resource, Vec::new(), found);
    }
    let end = |path: &str| at(server, path).to_string();
    let server = AuthorizationServer {
        issuer: origin.as_str().trim_end_matches('/').to_string(),
        authorization_endpoint: end("/authorize"),
        token_endpoint: end("/token"),
        registration_endpoint: Some(end("/register")),
        revocation_endpoint: None,
        scopes_supported: Vec::new(),
        code_challenge_methods_supported: vec!["S256".to_string()],
        token_endpoint_auth_methods_supported: None,
        client_id_metadata_document_supported: false,
        authorization_response_iss_parameter_supported: false,
    };
    checked(resource, Vec::new(), server)
}

fn read(value: Value) -> Result<AuthorizationServer, ErrorInfo> {
    serde_json::from_value(value).map_err(|error| refused(format!("{SERVER}: {error}")))
}

fn checked(
    resource: String,
    resource_scopes: Vec<String>,
    server: AuthorizationServer,
) -> Result<ResourceAuthorization, ErrorInfo> {
    if !server.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(refused(format!(
            "the authorization server {} does not support PKCE with S256, which protects a login from theft",
            server.issuer
        )));
    }
    Ok(ResourceAuthorization { resource, resource_scopes, server })
}

/// Returns true if a token for `resource` is valid for `server`: the same host, and the same path or a parent of it.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let path = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(path);
    resource.origin() == server.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the name of a server as a resource (RFC 8707).
fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    url.set_query(None);
    let text = String::from(url);
    text.strip_suffix('/').map_or(text.clone(), str::to_string)
}

fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

fn resource_places(server: &Url) -> Vec<Url> {
    const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
    let path = server.path().trim_end_matches('/');
    let below = (!path.is_empty()).then(|| at(server, &format!("{WELL_KNOWN}{path}")));
    below.into_iter().chain([at(server, WELL_KNOWN)]).collect()
}

fn server_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        at(issuer, &format!("/.well-known/oauth-authorization-server{path}")),
        at(issuer, &format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        places.push(at(issuer, &format!("{path}/.well-known/openid-configuration")));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_metadata_in_the_order_of_the_specification() {
        let texts = |places: Vec<Url>| places.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            texts(resource_places(&"https://a.test:8/x/mcp?q=1".parse().unwrap())),
            [
                "https://a.test:8/.well-known/oauth-protected-resource/x/mcp",
                "https://a.test:8/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            texts(resource_places(&"https://a.test/".parse().unwrap())),
            ["https://a.test/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            texts(server_places(&"https://a.test/tenant/".parse().unwrap())),
            [
                "https://a.test/.well-known/oauth-authorization-server/tenant",
                "https://a.test/.well-known/openid-configuration/tenant",
                "https://a.test/tenant/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            texts(server_places(&"https://a.test".parse().unwrap())),
            [
                "https://a.test/.well-known/oauth-authorization-server",
                "https://a.test/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn rejects_a_token_for_another_resource() {
        let server = "https://a.test/x/mcp".parse().unwrap();
        for (resource, expect) in [
            ("https://a.test/x/mcp", true),
            ("https://a.test/x/mcp/", true),
            ("https://a.test/x", true),
            ("https://A.test:443", true),
            ("https://a.test/x/mc", false),
            ("https://a.test/x/mcp/more", false),
            ("https://a.test:8/x/mcp", false),
            ("http://a.test/x/mcp", false),
            ("https://b.test/x/mcp", false),
            ("a.test", false),
        ] {
            assert_eq!(covers(resource, &server), expect, "{resource}");
        }
        assert_eq!(canonical(&"HTTPS://A.test/?x#y".parse().unwrap()), "https://a.test");
    }
}
