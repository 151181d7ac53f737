//! Values that providers and session files must never contain.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use sinew_testkit::provider::{RecordedRequest, Server};

use crate::client::Client;
use crate::stage::{RunOutput, Stage, chat, finish};

const KEY: &str = "sk-own-0123456789abcdef";

/// Returns the first replacement mark in a request.
fn mark(request: &RecordedRequest) -> Option<String> {
    let body = String::from_utf8(request.body.clone()).unwrap();
    let at = body.find("<<$env:S")?;
    Some(body[at..at + 16].to_string())
}

/// Starts a server that requests a command with the first replacement mark in it, and then answers with the mark.
fn curious() -> Server {
    Server::start(|request| {
        let asked = request.json()["messages"].as_array().unwrap().last().unwrap()["role"] == "user";
        let mark = mark(request).unwrap_or_else(|| "none".into());
        if asked {
            let arguments = json!({"command": format!("printf %s '{mark}' > out.txt; cat out.txt")}).to_string();
            let function = json!({"name": "bash", "arguments": arguments});
            chat(
                &json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}),
                "tool_calls",
            )
        } else {
            chat(&json!({"content": format!("it is {mark}!")}), "stop")
        }
    })
}

fn stage(server: &Server, settings: Value) -> Stage {
    let stage = Stage::served(server);
    let provider = json!({
        "baseUrl": format!("{}/v1", server.url()),
        "api": "openai-completions",
        "apiKey": KEY,
        "models": [{"id": "m", "contextWindow": 100_000}],
    });
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    let mut all = json!({"defaultModel": "local/m"});
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    stage.write("home/agent/settings.json", &all.to_string());
    stage
}

/// Checks that no request and no session file contains `value`, although the tool received it; tools do not even
/// receive the key of a provider.
#[track_caller]
fn kept(stage: &Stage, server: &Server, ran: &RunOutput, value: &str) {
    // The key of a provider is never shown.
    let shown = if value == KEY { mark(&server.requests()[0]).unwrap() } else { value.to_string() };
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), format!("it is {shown}!\n").as_str()), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(stage.path("project/out.txt")).unwrap(), shown);
    for request in server.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains(value));
    }
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(!file.contains(value) && file.contains("<<$env:S"), "{file}");
}

#[test]
fn own_keys_are_always_hidden_and_placeholders_survive_a_resume() {
    let server = curious();
    let stage = stage(&server, json!({}));
    let ran = stage.run(&["-p", &format!("my key is {KEY}")]);
    kept(&stage, &server, &ran, KEY);
    let key = stage.agent().join("secrets.key");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let ran = stage.run(&["-p", "--continue", "again"]);
    kept(&stage, &server, &ran, KEY);
    let requests = server.requests();
    assert_eq!(mark(&requests[0]), mark(&requests[3]));
    assert!(requests.iter().all(|request| request.header("authorization") == Some(&format!("Bearer {KEY}"))));
}

#[test]
fn settings_hide_additional_values() {
    let value = "value-of-a-variable";
    for (enabled, hidden) in [(true, true), (false, false)] {
        let server = curious();
        let stage = stage(&server, json!({"secrets": {"enabled": enabled}}));
        let mut command = stage.command(&["-p", &format!("it is {value}")]);
        command.env("SOME_TOKEN", value);
        let ran = finish(command);
        match hidden {
            true => kept(&stage, &server, &ran, value),
            false => assert!(String::from_utf8_lossy(&server.requests()[0].body).contains(value)),
        }
    }
    let server = curious();
    let stage = stage(&server, json!({"secrets": {"enabled": true}}));
    stage.write("home/agent/secrets.json", r#"[{"type": "regex", "content": "cust-[0-9]+"}]"#);
    stage.write("project/.sinew/secrets.json", r#"[{"type": "regex", "content": ".*", "mode": "replace"}]"#);
    let ran = stage.run(&["-p", "--no-trust", "customer cust-12345678"]);
    kept(&stage, &server, &ran, "cust-12345678");
}

#[test]
fn nothing_runs_with_a_file_of_secrets_that_is_invalid() {
    let entry = r#"{"type": "plain", "content": "cust-12345678"}"#;
    for (text, fault) in [
        (format!("[{entry}, {{\"type\": \"odd\"}}]"), "secrets.json: [1]: expected type, content"),
        (format!("[{entry}"), "secrets.json:1:46: not JSON"),
        (entry.to_string(), "secrets.json: expected a list of entries"),
    ] {
        let server = curious();
        let stage = stage(&server, json!({"secrets": {"enabled": true}}));
        stage.write("home/agent/secrets.json", &text);
        let ran = stage.run(&["-p", "customer cust-12345678"]);
        assert_eq!((ran.code, server.requests().len()), (Some(3), 0), "{}", ran.stderr);
        assert!(ran.stderr.contains(fault) && ran.stderr.contains("would not be masked"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("12345678"), "{}", ran.stderr);
        // A file that is not used cannot do harm.
        stage.write("home/agent/settings.json", "{}");
        assert_eq!(stage.run(&["config", "get", "secrets.enabled"]).code, Some(0));
    }
}

#[test]
fn artifacts_contain_no_secrets() {
    let command = "key=$(cat key.txt); for i in $(seq 5000); do echo \"$i $key\"; done";
    let server = Server::start(move |request| {
        let asked = request.json()["messages"].as_array().unwrap().last().unwrap()["role"] == "user";
        if !asked {
            return chat(&json!({"content": "done"}), "stop");
        }
        let function = json!({"name": "bash", "arguments": json!({"command": command}).to_string()});
        chat(&json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}), "tool_calls")
    });
    let stage = stage(&server, json!({}));
    stage.write("project/key.txt", KEY);
    let ran = stage.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let artifact = std::fs::read_to_string(stage.files()[0].with_extension("").join("0.bash.log")).unwrap();
    assert!(!artifact.contains(KEY));
    let mark = mark(&server.requests()[1]).unwrap();
    assert_eq!(artifact.lines().count(), 5000);
    assert_eq!(artifact.lines().last(), Some(format!("5000 {mark}").as_str()));
}

#[test]
fn project_secrets_override_user_secrets_and_both_override_variables() {
    let server = curious();
    let stage = stage(&server, json!({"secrets": {"enabled": true}}));
    let entry = |value: &str, stands: &str| json!({"type": "plain", "content": value, "mode": "replace", "replacement": stands});
    let (both, user, variable) = ("value-of-all-three", "value-of-the-user", "value-of-variables");
    stage.write("project/.sinew/secrets.json", &json!([entry(both, "<P>")]).to_string());
    stage.write("home/agent/secrets.json", &json!([entry(both, "<U>"), entry(user, "<V>")]).to_string());
    let mut command = stage.command(&["-p", "--trust", &format!("it is {both} {user} {variable}")]);
    for (name, value) in [("A_TOKEN", both), ("B_SECRET", user), ("C_PASSWORD", variable)] {
        command.env(name, value);
    }
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let request = &server.requests()[0];
    let said = String::from_utf8(request.body.clone()).unwrap();
    assert!(said.contains(&format!("it is <P> <V> {}", mark(request).unwrap())), "{said}");
}

/// A source of a key, and how its stage is created.
struct Source {
    name: &'static str,
    variables: &'static [(&'static str, &'static str)],
    files: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
}

const SOURCES: &[Source] = &[
    Source { name: "variable", variables: &[("OPENAI_API_KEY", KEY)], files: &[], args: &[] },
    Source {
        name: "variable that models.json names",
        variables: &[("MY_LOGIN", KEY), ("MY_COPY", KEY)],
        files: &[(
            "home/agent/models.json",
            r#"{"providers": {"p": {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": "MY_LOGIN", "models": [{"id": "m"}]}}}"#,
        )],
        args: &[],
    },
    Source {
        name: "variable that auth.json names",
        variables: &[("GH_TOKEN", KEY)],
        files: &[("home/agent/auth.json", r#"{"openai": {"type": "api_key", "key": "GH_TOKEN"}}"#)],
        args: &[],
    },
    Source {
        name: "auth.json",
        variables: &[],
        files: &[("home/agent/auth.json", r#"{"openai": {"type": "api_key", "key": "sk-own-0123456789abcdef"}}"#)],
        args: &[],
    },
    Source {
        name: "login",
        variables: &[],
        files: &[(
            "home/agent/auth.json",
            r#"{"openai": {"type": "oauth", "access": "sk-own-0123456789abcdef", "refresh": "r", "expires": 1}}"#,
        )],
        args: &[],
    },
    Source { name: "command line", variables: &[], files: &[], args: &["--api-key", KEY, "--provider", "openai"] },
    Source {
        name: ".env",
        variables: &[],
        files: &[("home/agent/.env", "OPENAI_API_KEY=sk-own-0123456789abcdef\n")],
        args: &[],
    },
];

impl Source {
    /// Creates a stage whose script contains the key in every way: unmasked in thinking, texts and arguments, and in
    /// the output of a command.
    fn stage(&self) -> Stage {
        let read = "cat key.txt; echo; cat key.txt >&2; false";
        let stage = Stage::scripted(&[
            json!({"type": "script", "chunk": 3}),
            json!({"type": "turn", "content": [{"thinking": format!("hm {KEY}.")}, {"text": format!("Your key is {KEY}, is it?")},
                {"toolCall": {"name": "bash", "arguments": {"command": format!("{read}; : {KEY}")}}}]}),
            json!({"type": "turn", "content": [{"text": format!("So {KEY}{KEY} it is, not {}", &KEY[..9])}]}),
        ]);
        stage.write("project/key.txt", KEY);
        for (name, text) in self.files {
            stage.write(name, text);
        }
        stage
    }

    fn command(&self, stage: &Stage, args: &[&str]) -> std::process::Command {
        let mut command = stage.command(&[&["--script", "script.jsonl"], self.args, args].concat());
        command.envs(self.variables.iter().copied());
        command
    }
}

#[track_caller]
fn hidden(text: &str, what: &str) {
    assert!(!text.contains(KEY) && !text.contains(&KEY[..KEY.len() - 1]), "{what}: {text}");
}

#[test]
fn provider_keys_are_not_printed_in_any_mode() {
    for source in SOURCES {
        for args in [&["-p"][..], &["-p", "--verbose"], &["--mode", "json"]] {
            let stage = source.stage();
            let ran = finish(source.command(&stage, &[args, &["I have", KEY]].concat()));
            let what = format!("{} {args:?}", source.name);
            assert_eq!(ran.code, Some(0), "{what}: {}", ran.stderr);
            hidden(&ran.stdout, &what);
            hidden(&ran.stderr, &what);
            assert!(
                ran.stdout.contains("So <<$env:S") && ran.stdout.contains("it is, not sk-own-01"),
                "{what}: {}",
                ran.stdout
            );
            hidden(&std::fs::read_to_string(&stage.files()[0]).unwrap(), &what);
        }
    }
}

#[test]
fn exported_pages_contain_no_provider_keys() {
    for source in SOURCES {
        let stage = source.stage();
        // The session is from a run that did not know the key.
        assert_eq!(stage.play(&["-p", "I have", KEY]).code, Some(0));
        if source.files.iter().all(|(name, _)| !name.ends_with("auth.json")) && !source.name.contains(".env") {
            assert!(std::fs::read_to_string(&stage.files()[0]).unwrap().contains(KEY), "{}", source.name);
        }
        let file = stage.files()[0].display().to_string();
        let ran = finish(source.command(&stage, &["--export", &file, "page.html"]));
        assert_eq!(ran.code, Some(0), "{}: {}", source.name, ran.stderr);
        hidden(&ran.stdout, source.name);
        hidden(&std::fs::read_to_string(stage.path("project/page.html")).unwrap(), source.name);
    }
}

/// Prints the environment of this command, of the shell, and of every parent process, with their command lines.
#[cfg(target_os = "linux")]
const LOOK: &str = r#"p=$$; { env; while [ "$p" -gt 1 ] && [ -r /proc/$p/environ ]; do
    tr '\0' '\n' < /proc/$p/environ; tr '\0' ' ' < /proc/$p/cmdline; echo; p=$(awk '/^PPid/ {print $2}' /proc/$p/status)
    done; } > seen.txt 2>&1"#;

#[cfg(target_os = "linux")]
#[test]
fn proc_files_contain_no_provider_keys() {
    for source in SOURCES {
        let stage = source.stage();
        stage.write(
            "project/script.jsonl",
            &json!({"type": "turn", "content": [
            {"toolCall": {"name": "bash", "arguments": {"command": LOOK}}}]})
            .to_string(),
        );
        let mut command = source.command(&stage, &["-p", "--max-turns", "1", "go"]);
        command.env("PLAIN", "is-seen").env("OTHER_SECRET", "another-secret-value");
        let ran = finish(command);
        assert_eq!(ran.code, Some(4), "{}: {}", source.name, ran.stderr);
        let seen = std::fs::read_to_string(stage.path("project/seen.txt")).unwrap();
        hidden(&seen, source.name);
        assert!(!seen.contains("another-secret-value"), "{}: {seen}", source.name);
        // The command, its shell, the supervisor and the program itself.
        assert!(seen.matches("PLAIN=is-seen").count() >= 3 && seen.contains("--max-turns"), "{}: {seen}", source.name);
    }
}

#[test]
fn rpc_clients_get_no_provider_keys() {
    for source in SOURCES {
        let stage = source.stage();
        let mut client = Client::of(source.command(&stage, &["--mode", "rpc"]));
        client.prompt(&format!("I have {KEY}"));
        let run = client.data("bash", json!({"command": "cat key.txt; echo; env | grep -c sk-own; true"}));
        assert!(run["output"].as_str().unwrap().starts_with("<<$env:S"), "{}: {run}", source.name);
        for command in
            ["get_state", "get_messages", "get_last_assistant_text", "get_session_stats", "get_available_models"]
        {
            client.data(command, json!({}));
        }
        client.data("set_session_name", json!({"name": format!("about {KEY}")}));
        client.fails("set_model", json!({"provider": KEY, "modelId": KEY}));
        client.data("export_html", json!({"outputPath": "page.html"}));
        hidden(&std::fs::read_to_string(stage.path("project/page.html")).unwrap(), source.name);
        let ended = client.end();
        assert_eq!(ended.code, Some(0), "{}: {}", source.name, ended.stderr);
        hidden(&ended.stderr, source.name);
        for frame in &ended.seen {
            hidden(&frame.to_string(), source.name);
        }
    }
}
