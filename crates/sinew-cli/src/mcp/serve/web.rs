//! Implements `--http`: the address to listen on, and the token that every request requires.

use std::net::{Ipv4Addr, SocketAddr};

use sinew_control::args::McpArgs;
use sinew_control::failure::Failure;
use sinew_control::output::{stderr, tell};
use sinew_control::startup::Startup;
use sinew_control::sys::signals;
use sinew_llm::credentials::login::random_secret;
use sinew_mcp::server::Service;
use sinew_mcp::server::http::{PATH, serve_http};
use tokio::net::TcpListener;

/// The minimum number of characters in a token, so that it cannot be guessed.
const TOKEN_LENGTH: usize = 16;

/// The address to serve on, and the token.
pub(super) struct HttpEndpoint {
    address: SocketAddr,
    token: String,
    /// True if the token was generated here and must be shown to the user.
    is_new: bool,
}

impl HttpEndpoint {
    /// Reads the flags; returns `None` if tools are served on standard input and output.
    ///
    /// # Errors
    /// Returns an error if the address is invalid, if the variable of `--token-env` has no valid token, or if that flag
    /// is used without `--http`.
    pub(super) fn find(startup: &Startup) -> Result<Option<HttpEndpoint>, Failure> {
        let McpArgs { http, token_env, .. } = &startup.args.mcp;
        let Some(http) = http else {
            return match token_env {
                Some(_) => Err(Failure::usage("--token-env requires --http: standard input needs no token")),
                None => Ok(None),
            };
        };
        let address = read_address(http).map_err(Failure::usage)?;
        let Some(name) = token_env else {
            let token = random_secret().map_err(|error| Failure::failed(error.message))?;
            return Ok(Some(HttpEndpoint { address, token, is_new: true }));
        };
        let token = startup.environment.get(name).unwrap_or_default().trim();
        if token.len() < TOKEN_LENGTH || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::usage(format!(
                "--token-env {name}: the variable must contain at least {TOKEN_LENGTH} visible ASCII characters, without spaces"
            )));
        }
        Ok(Some(HttpEndpoint { address, token: token.to_string(), is_new: false }))
    }

    /// Serves until a signal ends the program; returns the exit code.
    ///
    /// # Errors
    /// Returns an error if the server cannot listen on the address.
    pub(super) async fn serve(self, service: Service) -> Result<u8, Failure> {
        let HttpEndpoint { address, token, is_new } = self;
        let signalled = signals();
        let wrong = |error: std::io::Error| Failure::failed(format!("failed to serve at {address}: {error}"));
        let listener = TcpListener::bind(address).await.map_err(wrong)?;
        let bound = listener.local_addr().map_err(wrong)?;
        if !bound.ip().is_loopback() {
            tell(
                "Warning: other machines on the network can reach this address, and the token and files are sent unencrypted",
            );
        }
        tell(&format!("Serving at http://{bound}{PATH}"));
        if is_new {
            // Shown only once. The token is not registered as a secret yet, so it is not masked.
            stderr(&format!("Token (shown once): {token}\n"));
        }
        tokio::select! {
            biased;
            code = signalled => Ok(code),
            ended = serve_http(service, listener, Some(&token)) => ended.map(|()| 0).map_err(wrong),
        }
    }
}

/// Parses `[HOST:]PORT`; an empty text means a free port. Without a host only this machine can connect.
fn read_address(text: &str) -> Result<SocketAddr, String> {
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if text.is_empty() {
        return Ok(local(0));
    }
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(local(port));
    }
    text.parse().map_err(|_| format!("--http {text}: not an address; use PORT, 127.0.0.1:PORT or [::1]:PORT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_a_host_are_local() {
        for (text, expect) in [
            ("", Some("127.0.0.1:0")),
            ("8000", Some("127.0.0.1:8000")),
            ("localhost:8000", Some("127.0.0.1:8000")),
            ("[::1]:8000", Some("[::1]:8000")),
            ("0.0.0.0:8000", Some("0.0.0.0:8000")),
            ("70000", None),
            ("example.com:8000", None),
            ("127.0.0.1", None),
            ("http://127.0.0.1:8000", None),
        ] {
            let read = read_address(text).ok().map(|address| address.to_string());
            assert_eq!(read.as_deref(), expect, "{text}");
        }
    }
}
