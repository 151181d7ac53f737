//! `sinew mcp login` and `logout`, and sessions with a server that requires a login.

use std::io::{BufRead, BufReader, Read};

use serde_json::{Value, json};
use sinew_testkit::oauth::{OAuthBehavior, OAuthServer, browse};

use crate::stage::{RunOutput, Stage, call, text};

/// Creates a stage with the server `web`, and a script that calls one of its tools.
fn stage(server: &OAuthServer, tool: &str) -> Stage {
    let stage = Stage::scripted(&[
        call("A", "tool_search", json!({"query": tool})),
        call("B", "call_tool", json!({"name": format!("mcp_web_{tool}"), "arguments": {}})),
        text("C"),
    ]);
    let servers = json!({"mcpServers": {"web": {"url": server.mcp_url(), "expose": "deferred"}}});
    stage.write("home/agent/mcp.json", &servers.to_string());
    stage
}

/// Runs `sinew mcp login …` with a browser that accepts the login.
#[track_caller]
fn log_in(stage: &Stage, args: &[&str]) -> RunOutput {
    let mut child = stage.command(&[&["mcp", "login"], args].concat()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    let address = loop {
        let from = said.len();
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
        if said[from..].trim_start().starts_with("http") {
            break said[from..].trim().to_string();
        }
    };
    let (_, page) = browse(&address);
    assert!(page.starts_with("You are logged in."), "{page}");
    stderr.read_to_string(&mut said).unwrap();
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    RunOutput { code: child.wait().unwrap().code(), stdout, stderr: said }
}

/// Checks that a text contains no token.
#[track_caller]
fn assert_no_secret(server: &OAuthServer, what: &str, text: &str) {
    for secret in server.secrets() {
        assert!(!text.contains(&secret), "{what}: {text}");
    }
}

#[test]
fn sessions_use_the_login_made_by_mcp_login() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let stage = stage(&server, "read");
    let ran = stage.run(&["mcp", "test", "web"]);
    assert_eq!(ran.code, Some(1));
    let expect = "MCP server \"web\" needs a login. The user can run: sinew mcp login web";
    assert!(ran.stderr.contains(expect), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("\n  POST http://127.0.0.1:") && ran.stderr.contains("/mcp: 401 in "),
        "{}",
        ran.stderr
    );
    let ran = log_in(&stage, &["web"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let tested = stage.run(&["mcp", "test", "web"]).stderr;
    assert!(tested.contains("/mcp: 200 in ") && tested.contains("\n  tools/list: answered in "), "{tested}");
    assert_no_secret(&server, "test", &tested);
    assert_eq!(ran.stdout, format!("Signed in to {}; \"web\" has 2 tools\n", server.issuer()));
    assert_no_secret(&server, "login", &format!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(server.faults(), [""; 0]);

    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("read done"), "{}", ran.stdout);
    assert_no_secret(&server, "events", &ran.stdout);
    for file in stage.files() {
        assert_no_secret(&server, "session", &std::fs::read_to_string(file).unwrap());
    }
    assert_no_secret(&server, "cache", &std::fs::read_to_string(stage.agent().join("mcp-cache.json")).unwrap());
    assert!(std::fs::read_to_string(stage.agent().join("mcp-auth.json")).unwrap().contains("access-token-"));

    let ran = stage.run(&["mcp", "logout", "web"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expect = "Signed out of \"web\": its tokens were deleted from this machine and revoked at the server\n";
    assert_eq!((ran.stdout.as_str(), server.secrets().len()), (expect, 0));
    assert!(!std::fs::read_to_string(stage.agent().join("mcp-auth.json")).unwrap().contains("-token-"));
    let ran = stage.run(&["mcp", "logout", "web"]);
    assert_eq!((ran.code, ran.stderr.contains("There is no login for \"web\".")), (Some(1), true), "{ran:?}");
}

#[test]
fn a_session_continues_without_a_server_that_needs_a_login() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let stage = stage(&server, "read");
    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let events = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let needs = |event: &Value| event["type"] == "mcp_status" && event["state"] == "needs_auth";
    assert!(events.into_iter().any(|event| needs(&event)), "{}", ran.stdout);
    assert!(ran.stdout.contains("sinew mcp login web"), "{}", ran.stdout);
    // No login metadata was requested, no client was registered, and no browser was opened.
    assert!(server.requests().iter().all(|request| request.path == "/mcp"));
}

#[test]
fn mcp_login_accepts_a_url_that_is_not_configured() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let stage = Stage::new();
    let url = server.mcp_url();
    let ran = log_in(&stage, &["theirs", "--url", &url]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(stage.run(&["mcp", "logout", "theirs", "--url", &url]).code, Some(0));
}

#[test]
fn mcp_login_refuses_servers_without_logins() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let stage = Stage::new();
    let servers = json!({"mcpServers": {
        "program": {"command": "x"},
        "token": {"url": server.mcp_url(), "headers": {"authorization": "Bearer x"}},
        "off": {"url": server.mcp_url(), "enabled": false},
        "odd": {"url": server.mcp_url(), "oauth": {"clientID": "x"}},
    }});
    stage.write("home/agent/mcp.json", &servers.to_string());
    for (name, code, expect) in [
        ("program", 1, "Server \"program\" is a program, which needs no login."),
        ("token", 1, "has an Authorization header in its entry"),
        ("off", 1, "Run sinew mcp enable off first."),
        ("odd", 3, "\"clientID\" is unknown; use clientId, clientSecret, callbackPort, scopes, metadataUrl"),
        ("nobody", 2, "no server named nobody"),
    ] {
        let ran = stage.run(&["mcp", "login", name]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(expect), "{name}: {}", ran.stderr);
    }
    assert!(!stage.agent().join("mcp-auth.json").exists());
    let ran = stage.run(&["mcp", "test", "token"]);
    assert!(ran.stderr.contains("refuses the Authorization header of its entry"), "{}", ran.stderr);
}
