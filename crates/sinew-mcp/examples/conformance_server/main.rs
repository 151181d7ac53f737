//! The server for the protocol's conformance suite: prints its URL and serves the suite's fixtures over HTTP until it
//! is killed. Requests, headers and answers are handled by the library.

mod methods;
mod tools;

use std::io::Write;
use std::sync::Arc;

use sinew_mcp::server::http::{PATH, serve_http};
use sinew_mcp::server::{ServerOptions, Service};
use tokio::net::TcpListener;

/// The smallest possible image, in Base64.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = ServerOptions { name: "conformance".into(), ..ServerOptions::default() };
    let service = Service::new(tools::all(), options).with_methods(Arc::new(methods::Fixtures));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(std::io::stdout(), "http://{}{PATH}", listener.local_addr()?)?;
    // The suite sends no token.
    serve_http(service, listener, None).await?;
    Ok(())
}
