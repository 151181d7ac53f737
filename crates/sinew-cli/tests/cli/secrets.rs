//! What providers and session files never see.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use sinew_testkit::provider::{Recorded, Server};

use crate::stage::{Ran, Stage, chat, finish};

const KEY: &str = "sk-own-0123456789abcdef";

/// The first mark of a request.
fn mark(request: &Recorded) -> Option<String> {
    let body = String::from_utf8(request.body.clone()).unwrap();
    let at = body.find("<<$env:S")?;
    Some(body[at..at + 16].to_string())
}

/// A server that asks for a command with the first mark it is shown in it, then says the mark.
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

/// No request and no session file has `value`, though the tool had it.
#[track_caller]
fn kept(stage: &Stage, server: &Server, ran: &Ran, value: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), format!("it is {value}!\n").as_str()), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(stage.path("project/out.txt")).unwrap(), value);
    for request in server.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains(value));
    }
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(!file.contains(value) && file.contains("<<$env:S"), "{file}");
}

#[test]
fn own_keys_are_hidden_always_and_marks_hold_after_a_resume() {
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
fn more_is_hidden_where_the_settings_say_so() {
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
    stage.write("home/agent/secrets.json", r#"[{"type": "regex", "content": "cust-[0-9]+"}, {"type": "odd"}]"#);
    stage.write("project/.sinew/secrets.json", r#"[{"type": "regex", "content": ".*", "mode": "replace"}]"#);
    let ran = stage.run(&["-p", "--no-trust", "customer cust-12345678"]);
    kept(&stage, &server, &ran, "cust-12345678");
    assert!(ran.stderr.contains("secrets.json: [1]: "), "{}", ran.stderr);
}

#[test]
fn no_artifact_has_a_value() {
    let command = format!("for i in $(seq 5000); do echo \"$i {KEY}\"; done");
    let server = Server::start(move |request| {
        let asked = request.json()["messages"].as_array().unwrap().last().unwrap()["role"] == "user";
        if !asked {
            return chat(&json!({"content": "done"}), "stop");
        }
        let function = json!({"name": "bash", "arguments": json!({"command": command}).to_string()});
        chat(&json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}), "tool_calls")
    });
    let stage = stage(&server, json!({}));
    let ran = stage.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let artifact = std::fs::read_to_string(stage.files()[0].with_extension("").join("0.bash.log")).unwrap();
    assert!(!artifact.contains(KEY));
    let mark = mark(&server.requests()[1]).unwrap();
    assert_eq!(artifact.lines().count(), 5000);
    assert_eq!(artifact.lines().last(), Some(format!("5000 {mark}").as_str()));
}

#[test]
fn an_entry_of_the_project_counts_before_the_users_and_both_before_variables() {
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
