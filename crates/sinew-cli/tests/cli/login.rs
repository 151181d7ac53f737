//! `sinew login` and `sinew logout`: their output, and the stored data.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};
use sinew_testkit::provider::{Reply, Server};

use crate::stage::{RunOutput, Stage, chat};

const KEY: &str = "sk-typed-0123456789abcdef";

pub(crate) fn kept(stage: &Stage) -> Value {
    let file = stage.agent().join("auth.json");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    if !text.is_empty() {
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    serde_json::from_str(&text).unwrap_or_default()
}

#[track_caller]
fn piped(stage: &Stage, args: &[&str], stdin: &str) -> RunOutput {
    let mut child = stage.command(args).stdin(Stdio::piped()).spawn().unwrap();
    // The program may not read its input.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    RunOutput { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_piped_key_is_saved_used_and_removed() {
    let server = Server::start(|request| match request.header("authorization") {
        Some(key) if key == format!("Bearer {KEY}") => chat(&json!({"content": "hi"}), "stop"),
        _ => Reply::json(401, &json!({"error": {"message": "no"}})),
    });
    let stage = Stage::new();
    let provider =
        json!({"baseUrl": format!("{}/v1", server.url()), "api": "openai-completions", "models": [{"id": "m"}]});
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    let ran = stage.run(&["-p", "--model", "local/m", "go"]);
    assert!(ran.code == Some(3) && ran.stderr.contains("run sinew login local"), "{ran:?}");
    let ran = piped(&stage, &["login", "local"], &format!("  {KEY}\n"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("Stored the API key of local in ") && !ran.stdout.contains(KEY), "{ran:?}");
    assert_eq!(kept(&stage), json!({"local": {"type": "api_key", "key": KEY}}));
    let ran = stage.run(&["-p", "--model", "local/m", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hi\n"), "{ran:?}");
    // A new key replaces the old one.
    assert_eq!(piped(&stage, &["login", "local"], "another-key-0123").code, Some(0));
    assert_eq!(kept(&stage)["local"]["key"], "another-key-0123");
    let ran = stage.run(&["logout"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("Removed the keys and logins of local from"), "{ran:?}");
    assert_eq!(kept(&stage), json!({}));
}

#[test]
fn unusable_credentials_are_refused() {
    let stage = Stage::new();
    for (args, stdin, code, expect) in [
        (&["login", "nobody"][..], "k", 2, "Provider not found: nobody. Known: anthropic, "),
        (&["login"], "", 2, "login: name a provider: sinew login PROVIDER with one of anthropic, "),
        (&["login", "openai", "now"], "", 2, "sinew login takes one provider"),
        (&["login", "openai"], "", 2, "login openai: no key was entered; nothing was stored"),
        (&["login", "openai"], " \n", 2, "no key was entered"),
        (&["login", "openai"], "two words", 2, "not a valid key"),
        (&["login", "openai"], "a\nb", 2, "not a valid key"),
        (&["login", "openai"], "!touch evil", 2, "not a valid key"),
        (&["login", "openai"], "schlüssel", 2, "not a valid key"),
        (&["logout"], "", 1, "no saved credentials in"),
        (&["logout", "openai"], "", 1, "logout openai: "),
        (&["logout", "nobody"], "", 2, "Provider not found: nobody"),
    ] {
        let ran = piped(&stage, args, stdin);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{args:?} {stdin:?}: {ran:?}");
        assert!(ran.stderr.contains(expect), "{args:?} {stdin:?}: {ran:?}");
    }
    assert_eq!(kept(&stage), Value::Null);
    stage.write(
        "home/agent/auth.json",
        r#"{"a": {"type": "api_key", "key": "k"}, "openai": {"type": "api_key", "key": "k"}}"#,
    );
    let ran = stage.run(&["logout"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("sinew logout PROVIDER with one of a, openai"), "{ran:?}");
    let mut command = stage.command(&["logout", "openai"]);
    command.env("OPENAI_API_KEY", "of-the-environment");
    let ran = crate::stage::finish(command);
    assert!(ran.code == Some(0) && ran.stderr.contains("Warning: OPENAI_API_KEY is set"), "{ran:?}");
    // An invalid file is not changed.
    stage.write("home/agent/auth.json", "{oops");
    assert_eq!(piped(&stage, &["login", "openai"], KEY).code, Some(3));
    assert_eq!(std::fs::read_to_string(stage.agent().join("auth.json")).unwrap(), "{oops");
}

/// Runs `sinew login` in a terminal and types keys after its question. Returns the exit code, and the output of the
/// terminal.
#[cfg(target_os = "linux")]
fn typed(stage: &Stage, args: &[&str], keys: &str) -> (Option<i32>, String) {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).and_then(|()| unlockpt(&master)).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    // Otherwise the terminal could become the controlling one of this process.
    let mut options = std::fs::OpenOptions::new();
    let slave = options.read(true).write(true).custom_flags(libc::O_NOCTTY).open(name).unwrap();
    let mut command = stage.command(args);
    command.stdin(slave.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    // The command has the terminal open too.
    drop(command);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.ends_with("shown:\n") && !said.ends_with("name:\n") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let mut master = std::fs::File::from(master);
    for part in keys.split_inclusive('|') {
        master.write_all(part.trim_end_matches('|').as_bytes()).unwrap();
        if part.ends_with('|') {
            // The next question.
            while !said.ends_with("shown:\n") {
                assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
            }
        }
    }
    stderr.read_to_string(&mut said).unwrap();
    let code = child.wait().unwrap().code();
    let echo = rustix::termios::tcgetattr(&slave).unwrap().local_modes;
    assert!(
        echo.contains(rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ICANON),
        "the terminal is as before"
    );
    // The output ends when no program has the terminal open any more.
    drop(slave);
    let mut shown = Vec::new();
    let _ = master.read_to_end(&mut shown);
    (code, format!("{said}{}", String::from_utf8_lossy(&shown)))
}

#[cfg(target_os = "linux")]
#[test]
fn a_typed_key_is_not_shown() {
    let stage = Stage::new();
    let (code, shown) = typed(&stage, &["login", "anthropic"], &format!("{KEY}\r"));
    assert!(code == Some(0) && !shown.contains("sk-"), "{shown}");
    assert_eq!(kept(&stage)["anthropic"]["key"], KEY);
    let (code, shown) = typed(&stage, &["login"], &format!("openai\r|{KEY}\r"));
    assert!(code == Some(0) && shown.contains("  2  openai (key)") && !shown.contains("sk-"), "{shown}");
    assert_eq!(kept(&stage)["openai"]["key"], KEY);
    let before = kept(&stage);
    let (code, shown) = typed(&stage, &["login", "anthropic"], "sk-other\x03");
    assert!(code == Some(130) && shown.contains("nothing was stored"), "{shown}");
    assert_eq!(kept(&stage), before);
}

/// Creates a stage with a provider `local` that has this `oauth` block.
pub(crate) fn with_oauth(oauth: &Value) -> Stage {
    let stage = Stage::new();
    let provider = json!({"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "models": [{"id": "m"}], "oauth": oauth});
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    stage
}

pub(crate) fn tokens() -> Value {
    json!({"access_token": "access-of-the-login", "refresh_token": "refresh-of-the-login", "expires_in": 3600})
}

#[track_caller]
fn is_logged_in(stage: &Stage, ran: &RunOutput) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("Signed in to local; the login is stored in "), "{ran:?}");
    for token in ["access-of-the-login", "refresh-of-the-login"] {
        assert!(!ran.stdout.contains(token) && !ran.stderr.contains(token), "{ran:?}");
    }
    let entry = &kept(stage)["local"];
    assert_eq!((&entry["type"], &entry["access"]), (&json!("oauth"), &json!("access-of-the-login")), "{entry}");
    assert_eq!(stage.run(&["logout", "local"]).code, Some(0));
    assert_eq!(kept(stage), json!({}));
}

/// Starts a server for logins with a code, which knows `AB-12`.
pub(crate) fn device_server() -> Server {
    Server::start(|request| {
        let form = String::from_utf8_lossy(&request.body).into_owned();
        match form.contains("device_code=d1") {
            true => Reply::json(200, &tokens()),
            false => Reply::json(
                200,
                &json!({"device_code": "d1", "user_code": "AB-12", "interval": 1,
                "verification_uri": "https://login.test/device"}),
            ),
        }
    })
}

#[test]
fn a_device_code_login_shows_the_code_and_saves_the_tokens() {
    let server = device_server();
    let stage = with_oauth(&json!({"deviceUrl": server.url(), "tokenUrl": server.url(), "clientId": "c"}));
    let ran = stage.run(&["login", "local"]);
    assert!(ran.stderr.contains("Open https://login.test/device and type this code: AB-12"), "{ran:?}");
    is_logged_in(&stage, &ran);
    let refusing = Server::start(|_| Reply::json(400, &json!({"error": "invalid_client"})));
    let stage = with_oauth(&json!({"deviceUrl": refusing.url(), "tokenUrl": refusing.url(), "clientId": "c"}));
    let ran = stage.run(&["login", "local"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("invalid_client") && kept(&stage).is_null(), "{ran:?}");
}

#[test]
fn a_browser_login_shows_the_url_and_saves_the_tokens() {
    let server = Server::start(|_| Reply::json(200, &tokens()));
    let stage =
        with_oauth(&json!({"authorizeUrl": "https://login.test/authorize", "tokenUrl": server.url(), "clientId": "c"}));
    let mut child = stage.command(&["login", "local"]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("state=") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let part =
        |name: &str| said.split_once(&format!("{name}=")).unwrap().1.split(['&', '\n']).next().unwrap().to_string();
    let port = part("redirect_uri").split_once("127.0.0.1%3A").unwrap().1.split('%').next().unwrap().to_string();
    let mut browser = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    browser
        .write_all(format!("GET /callback?code=x&state={} HTTP/1.1\r\nHost: x\r\n\r\n", part("state")).as_bytes())
        .unwrap();
    let mut page = String::new();
    browser.read_to_string(&mut page).unwrap();
    assert!(page.contains("You are logged in"), "{page}");
    let mut ran = RunOutput { code: None, stdout: String::new(), stderr: said };
    stderr.read_to_string(&mut ran.stderr).unwrap();
    child.stdout.take().unwrap().read_to_string(&mut ran.stdout).unwrap();
    ran.code = child.wait().unwrap().code();
    is_logged_in(&stage, &ran);
}

#[test]
fn a_signal_ends_a_login() {
    let stage =
        with_oauth(&json!({"authorizeUrl": "https://login.test/a", "tokenUrl": "http://127.0.0.1:1", "clientId": "c"}));
    let mut child = stage.command(&["login", "local"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(kept(&stage), Value::Null);
}
