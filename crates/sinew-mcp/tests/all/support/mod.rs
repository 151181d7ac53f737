//! Starts published servers under a keeper.
#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Map, Value};
use sinew_mcp::stdio::StdioServer;
use sinew_process::supervision::ProgramSpec;

pub(crate) const KEEPER: &str = env!("CARGO_BIN_EXE_mcp-probe");

/// A server as a program, with the environment of this process.
pub(crate) fn server(program: impl Into<OsString>, args: impl IntoIterator<Item = impl Into<OsString>>) -> StdioServer {
    let program = ProgramSpec {
        program: program.into(),
        args: args.into_iter().map(Into::into).collect(),
        env: std::env::vars_os().collect(),
        cwd: None,
    };
    StdioServer { keeper: KEEPER.into(), program }
}

/// Returns the script of a server from npm, installed by `scripts/lib/tools.mjs`. Prints a message and returns `None`
/// if it is not installed.
pub(crate) fn npm_server(package: &str) -> Option<PathBuf> {
    npm_folder(package).map(|folder| folder.join("dist/index.js"))
}

/// Returns the directory of an npm package. Prints a message and returns `None` if it is not installed.
pub(crate) fn npm_folder(package: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SINEW_MCP_SERVERS").map(PathBuf::from);
    let found = folder.map(|folder| folder.join("node_modules").join(package)).filter(|folder| folder.exists());
    if found.is_none() {
        skipped(package);
    }
    found
}

/// Returns a Python with the package `mcp`. Prints a message and returns `None` if there is none.
pub(crate) fn python() -> Option<PathBuf> {
    let folder = std::env::var_os("SINEW_MCP_SERVERS").map(PathBuf::from);
    let found = folder.map(|folder| folder.join("python/bin/python")).filter(|python| python.exists());
    if found.is_none() {
        skipped("mcp of PyPI");
    }
    found
}

/// Returns that Python if the program of a package is installed as well. Otherwise prints a message and returns `None`.
pub(crate) fn python_program(name: &str) -> Option<PathBuf> {
    let found = python()?.with_file_name(name);
    if !found.exists() {
        skipped(&format!("{name} of PyPI"));
        return None;
    }
    Some(found)
}

/// Reports that a test was skipped because its server is missing. `npm test` counts these lines.
fn skipped(what: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_string();
    let line = format!("skipped: {name}: {what} is not installed (SINEW_MCP_SERVERS)\n");
    // Written past the test harness, which hides the output of tests that pass.
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
}

pub(crate) fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// A server that listens on a local port. Its keeper stops it when this value is dropped.
pub(crate) struct HttpProgram {
    port: u16,
    _kept: sinew_process::supervision::Kept,
    _stdin: std::os::fd::OwnedFd,
}

impl HttpProgram {
    /// Starts a program that reads its port from `PORT` and prints a line that contains `ready`.
    pub(crate) fn start(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
        ready: &str,
    ) -> HttpProgram {
        use std::io::BufRead;
        // The port is free at this moment. If another program takes it before the server does, the server exits and the
        // test reports it.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = server(program, args);
        server.program.env.push(("PORT".into(), port.to_string().into()));
        let (kept, pipes) = sinew_process::supervision::start(&server.keeper, &server.program).unwrap();
        let mut lines = std::io::BufReader::new(std::fs::File::from(pipes.stderr)).lines();
        let told = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(ready)));
        assert!(told.is_some(), "the server ended before it was ready");
        // The server writes a line for each request: if nobody read them, a full pipe would block it.
        std::thread::spawn(move || lines.for_each(drop));
        std::thread::spawn(move || std::io::copy(&mut std::fs::File::from(pipes.stdout), &mut std::io::sink()));
        HttpProgram { port, _kept: kept, _stdin: pipes.stdin }
    }

    pub(crate) fn server(&self, path: &str) -> sinew_mcp::http::HttpServer {
        use sinew_llm::http::{HttpClient, HttpConfig};
        sinew_mcp::http::HttpServer {
            url: format!("http://127.0.0.1:{}{path}", self.port).parse().unwrap(),
            headers: Vec::new(),
            http: HttpClient::new(sinew_mcp::http::http_config(HttpConfig::default())),
            tokens: None,
        }
    }
}
