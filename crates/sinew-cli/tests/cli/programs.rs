//! The interface for programs: one object, a schema, limits, rules and a fallback model.

use serde_json::{Value, json};
use sinew_testkit::provider::{Reply, Server};

use crate::stage::{RunOutput, Stage, call, chat, strict, text};

#[track_caller]
fn object(ran: &RunOutput) -> Value {
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(object["exitCode"], ran.code.unwrap(), "{ran:?}");
    object
}

#[test]
fn output_json_prints_one_object_with_every_field() {
    let stage = Stage::scripted(&[call("Looking.", "ls", json!({"path": "."})), text("Done.")]);
    let ran = stage.play(&["--output", "json", "go", "on"]);
    let object = object(&ran);
    assert_eq!(ran.stderr, "");
    let expect = json!({"text": "Done.", "model": "scripted/script", "turns": 2, "exitReason": "done", "exitCode": 0, "cost": 0.0});
    for (name, value) in expect.as_object().unwrap() {
        assert_eq!(object[name], *value, "{object}");
    }
    let file = stage.files()[0].display().to_string();
    assert_eq!(object["sessionFile"], json!(file));
    assert!(file.contains(object["sessionId"].as_str().unwrap()), "{object}");
    let usage = &object["usage"];
    let sum: u64 =
        ["input", "output", "cacheRead", "cacheWrite"].iter().map(|name| usage[name].as_u64().unwrap()).sum();
    assert!(sum > 0 && usage["total"] == sum, "{object}");
    assert!(object.get("error").is_none() && object.get("structuredOutput").is_none(), "{object}");
    // Text from a pipe before the words has the same result.
    assert_eq!(stage.piped(&["--output=json", "--no-session"], "go").code, Some(0));
}

#[test]
fn every_way_to_end_has_an_exit_reason() {
    let mut cut = text("half");
    cut["stop"] = json!("length");
    let refusal = json!({"type": "fault", "kind": "refusal"});
    for (script, args, reason, code, error) in [
        (call("A", "ls", json!({})), &["--max-turns", "1", "go"][..], "turn_limit", 4, "Stopped after 1 turns"),
        (refusal, &["go"], "error", 1, "Error: "),
        (text("x"), &[], "usage", 2, "No prompt given."),
        (text("x"), &["--session", ".", "go"], "usage", 2, "is not a session file"),
        (text("x"), &["--hook", "none", "go"], "config", 3, "--hook none: "),
        (text("x"), &["--output-schema", "none", "go"], "config", 3, "--output-schema none: "),
        (text("x"), &["/model", "x"], "usage", 2, "/model does not run here"),
    ] {
        let stage = Stage::scripted(&[script]);
        let ran = stage.play(&[&["--output", "json"], args].concat());
        let object = object(&ran);
        assert_eq!((&object["exitReason"], ran.code), (&json!(reason), Some(code)), "{args:?}: {ran:?}");
        assert!(object["error"].as_str().unwrap().contains(error) && ran.stderr.contains(error), "{args:?}: {ran:?}");
    }
    let stage = Stage::new();
    let ran = stage.run(&["--output", "json", "go"]);
    assert_eq!((&object(&ran)["exitReason"], ran.code), (&json!("config"), Some(3)), "{ran:?}");
}

const SCHEMA: &str = r##"{"type": "object", "properties": {"files": {"type": "array", "items": {"$ref": "#/$defs/name"}}},
    "required": ["files"], "additionalProperties": false, "$defs": {"name": {"type": "string"}}}"##;

#[test]
fn an_answer_that_does_not_match_the_schema_is_retried_twice() {
    let bad = || text("Here: {\"files\": []}");
    let missing = || text("{}");
    let good = || text("```json\n{\"files\": [\"a\"]}\n```");
    for (script, code, turns, reason) in [
        (vec![good()], 0, 1, "done"),
        (vec![bad(), good()], 0, 2, "done"),
        (vec![call("{}", "ls", json!({})), bad(), missing(), good()], 0, 4, "done"),
        (vec![bad(), missing(), bad(), good()], 1, 3, "schema_mismatch"),
    ] {
        let stage = Stage::scripted(&script);
        stage.write("project/schema.json", SCHEMA);
        let ran = stage.play(&["--output-schema", "schema.json", "--output", "json", "go"]);
        let object = object(&ran);
        assert_eq!(
            (ran.code, &object["turns"], &object["exitReason"]),
            (Some(code), &json!(turns), &json!(reason)),
            "{ran:?}"
        );
        let value = (code == 0).then(|| json!({"files": ["a"]}));
        assert_eq!(object.get("structuredOutput"), value.as_ref(), "{ran:?}");
        let corrections: Vec<String> =
            stage.said().into_iter().filter(|(role, text)| role == "user" && text != "go").map(|said| said.1).collect();
        assert!(
            corrections.iter().all(|text| text.contains("does not match the required JSON Schema")),
            "{corrections:?}"
        );
        // In text mode the output is the value alone.
        let ran = stage.play(&["-p", "--no-session", "--output-schema", "schema.json", "go"]);
        let stdout = if code == 0 { "{\"files\":[\"a\"]}\n" } else { "" };
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), stdout), "{ran:?}");
        assert_eq!(ran.stderr.contains("the answer does not match --output-schema"), code == 1, "{ran:?}");
    }
}

#[test]
fn the_model_gets_the_schema_and_the_validation_errors() {
    let answer = |said: &str| chat(&json!({"content": said}), "stop");
    let server = strict(vec![answer("{\"files\": 3}"), answer("{\"files\": []}")]);
    let stage = Stage::served(&server);
    stage.write("project/schema.json", SCHEMA);
    let ran = stage.run(&["--output-schema", "schema.json", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"files\":[]}\n"), "{ran:?}");
    let requests = server.requests();
    assert!(
        requests[0].json()["messages"][0]["content"].to_string().contains("matches this JSON Schema"),
        "{:?}",
        requests[0]
    );
    let last = requests[1].json()["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(last.contains("- /files: must be array, not number"), "{last}");
    stage.write("project/schema.json", r#"{"properties": {"a": {"pattern": "x"}}}"#);
    let ran = stage.run(&["-p", "--output-schema", "schema.json", "list"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("/properties/a: \"pattern\" is not supported"), "{ran:?}");
}

/// Creates a stage whose models `local/a` and `local/b` cost a dollar per request at `server`.
fn priced(server: &Server) -> Stage {
    let stage = Stage::served(server);
    let cost = json!({"input": 125_000.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0});
    let model = |id: &str| json!({"id": id, "contextWindow": 100_000, "cost": cost});
    let provider = json!({
        "baseUrl": format!("{}/v1", server.url()),
        "api": "openai-completions",
        "apiKey": "sk-of-the-stage-0123",
        "models": [model("a"), model("b"), {"id": "unpriced"}],
    });
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    let settings = json!({"defaultModel": "local/a", "retry": {"baseDelayMs": 1, "maxRetries": 1}});
    stage.write("home/agent/settings.json", &settings.to_string());
    stage
}

fn ls() -> Reply {
    let function = json!({"name": "ls", "arguments": "{\"path\":\".\"}"});
    chat(&json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}), "tool_calls")
}

#[test]
fn no_request_is_sent_once_the_budget_is_spent() {
    for (limit, requests) in [("0.5", 1), ("1", 1), ("1.01", 2), ("2.5", 3)] {
        let server = strict(vec![ls(), ls(), ls(), ls(), ls()]);
        let stage = priced(&server);
        let ran = stage.run(&["--output", "json", "--max-cost", limit, "go"]);
        assert_eq!(server.requests().len(), requests, "{limit}: {ran:?}");
        let object = object(&ran);
        assert_eq!((ran.code, &object["exitReason"]), (Some(4), &json!("cost_limit")), "{ran:?}");
        assert_eq!(object["cost"].as_f64(), Some(requests as f64), "{ran:?}");
        assert!(object["error"].as_str().unwrap().contains(&format!("--max-cost allows ${limit}")), "{ran:?}");
        // The session is complete, so the next run can continue it.
        let ran = stage.run(&["-p", "-c", "--max-turns", "1", "on"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
    }
    let server = strict(vec![chat(&json!({"content": "done"}), "stop")]);
    let ran = priced(&server).run(&["-p", "--max-cost", "0.01", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "an answer that is the last one is an answer");
    let ran = priced(&server).run(&["-p", "--max-cost", "1", "--model", "local/unpriced", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("the price of local/unpriced is not known"), "{ran:?}");
}

#[test]
fn the_fallback_model_answers_if_the_first_cannot() {
    for (status, asked) in [(529, 2), (500, 2), (401, 1), (404, 1), (429, 2)] {
        let server = Server::start(move |request| match request.json()["model"].as_str() {
            Some("b") => chat(&json!({"content": "from b"}), "stop"),
            _ => Reply::json(status, &json!({"error": {"message": "not now"}})),
        });
        let stage = priced(&server);
        let ran = stage.run(&["--output", "json", "--fallback-model", "local/b", "go"]);
        let object = object(&ran);
        assert_eq!(
            (ran.code, &object["text"], &object["model"]),
            (Some(0), &json!("from b"), &json!("local/b")),
            "{status}: {ran:?}"
        );
        assert!(ran.stderr.contains("using local/b instead of local/a: "), "{status}: {ran:?}");
        let models: Vec<Value> = server.requests().iter().map(|request| request.json()["model"].clone()).collect();
        assert_eq!(models, [&vec![json!("a"); asked][..], &[json!("b")]].concat(), "{status}");
        let roles: Vec<String> = stage.said().into_iter().map(|(role, _)| role).collect();
        assert!(roles.ends_with(&["assistant".into()]), "{roles:?}");
        // Without the flag the failure is final, and a model cannot be its own fallback.
        for args in [&["-p", "go"][..], &["-p", "--fallback-model", "local/a", "go"]] {
            assert_eq!(stage.run(args).code, Some(1), "{args:?}");
        }
    }
    let server = Server::start(|_| Reply::json(400, &json!({"error": {"message": "no such field"}})));
    let ran = priced(&server).run(&["-p", "--fallback-model", "local/b", "go"]);
    assert_eq!((ran.code, server.requests().len()), (Some(1), 1), "a wrong request is wrong for every model: {ran:?}");
    let ran = priced(&server).run(&["-p", "--fallback-model", "nobody/x", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("--fallback-model nobody/x: "), "{ran:?}");
}

#[test]
fn rules_of_the_command_line_deny_and_allow() {
    let asks = r#"{"permissions": {"ask": ["bash(echo *)"], "deny": ["bash(rm *)"]}}"#;
    for (settings, args, command, runs) in [
        ("{}", &[][..], "echo x", true),
        ("{}", &["--deny", "bash(echo *)"], "echo x", false),
        ("{}", &["--deny", "bash"], "echo x", false),
        ("{}", &["--deny", "write", "--deny", "bash(ls *)"], "echo x", true),
        (asks, &[], "echo x", false),
        (asks, &["--allow", "bash"], "echo x", true),
        (asks, &["--allow", "bash(echo x)"], "echo x", true),
        (asks, &["--allow", "bash(echo y)"], "echo x", false),
        (asks, &["--allow", "bash(echo *)"], "echo x && ls", false),
        (asks, &["--allow", "bash(echo *)"], "echo x && echo y", true),
        (asks, &["--allow", "bash(echo *)"], "rm none; echo x", false),
        (asks, &["--allow", "bash(echo *)", "--deny", "bash(echo x)"], "echo x", false),
    ] {
        let stage = Stage::scripted(&[call("A", "bash", json!({"command": command})), text("B")]);
        stage.write("home/agent/settings.json", settings);
        let ran = stage.play(&[args, &["-p", "go"]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let said = stage.said();
        let result = &said.iter().find(|(role, _)| role == "toolResult").unwrap().1;
        assert_eq!(!result.starts_with("Denied by permission rule: "), runs, "{settings} {args:?} {command}: {result}");
    }
    let stage = Stage::scripted(&[text("B")]);
    for flag in ["--allow", "--deny"] {
        for rule in ["bash(", "", "bash()", "a b"] {
            let ran = stage.play(&["-p", &format!("{flag}={rule}"), "go"]);
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.stderr.contains(&format!("{flag} {rule}: not a rule")), "{ran:?}");
        }
    }
}
