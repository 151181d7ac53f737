//! Shows the traffic with a server, one line per message on standard error, to find out why a login or a handshake
//! fails. Headers and bodies are not shown.

use std::sync::Arc;
use std::time::Duration;

use sinew_llm::http::Exchange;
use sinew_mcp::{BoxFuture, ClientHost, Elicitation, ElicitationAnswer, McpError, Root};

use crate::output::tell;

/// Shows a request over HTTP: `POST http://127.0.0.1:8000/mcp: 200 in 3.1 ms`.
pub(super) fn show_request(exchange: &Exchange<'_>) {
    let Exchange { method, place, outcome, took } = exchange;
    let outcome = match outcome {
        Ok(status) => status.to_string(),
        Err(error) => error.message.clone(),
    };
    show(&format!("{method} {place}: {outcome} in {}", milliseconds(*took)));
}

/// Shows what a server sends to its host, and forwards it to that host.
pub(super) struct TracingHost(pub(super) Arc<dyn ClientHost>);

impl ClientHost for TracingHost {
    fn can_ask(&self) -> bool {
        self.0.can_ask()
    }

    fn starting(&self) -> BoxFuture<'static, ()> {
        self.0.starting()
    }

    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        self.0.elicit(question)
    }

    fn roots(&self) -> Vec<Root> {
        self.0.roots()
    }

    fn exchanged(&self, method: &str, failure: Option<&McpError>, took: Duration) {
        let outcome = failure.map_or_else(|| "answered".to_string(), ToString::to_string);
        show(&format!("{method}: {outcome} in {}", milliseconds(took)));
    }

    fn log(&self, line: &str) {
        self.0.log(line);
        show(&format!("note: {line}"));
    }
}

/// Prints one line. Line ends in a server's text become blanks.
fn show(line: &str) {
    tell(&format!("  {}", line.replace(['\n', '\r'], " ")));
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
