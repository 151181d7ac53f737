//! Models: lists, selection, and the protection of their keys.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sinew_testkit::provider::{Reply, Server};

use crate::client::Client;
use crate::stage::{Stage, chat, finish};
use crate::terminal::{Terminal, enter, has, left};

/// Creates a stage whose only provider is `gate`, whose models must be requested.
fn gated(server: &Server) -> Stage {
    let stage = Stage::new();
    let provider = json!({"baseUrl": format!("{}/v1", server.url()), "auth": "none", "discovery": {"type": "openai"}});
    stage.write("home/agent/models.json", &json!({"providers": {"gate": provider}}).to_string());
    stage
}

fn models(list: &Value) -> Reply {
    Reply::json(200, &json!({"data": list}))
}

#[test]
fn a_server_lists_its_models_once_a_day() {
    let server = Server::replies(vec![models(&json!([{"id": "m1", "context_length": 32768}]))]);
    let stage = gated(&server);
    let ran = stage.run(&["--list-models", "gate"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), "gate: ok (1 model)\n"));
    let line = ran.stdout.lines().find(|line| line.starts_with("gate/m1 ")).unwrap();
    assert!(line.contains(" 32K "), "{line}");
    let ran = stage.run(&["--list-models", "gate"]);
    assert!(ran.stderr.starts_with("gate: cached (") && ran.stderr.ends_with(" ago, 1 model)\n"), "{}", ran.stderr);
    assert!(ran.stdout.contains("gate/m1"));
    assert!(stage.run(&["--list-models", "--offline"]).stdout.contains("gate/m1"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn cached_models_stay_when_their_server_is_gone() {
    let server = Server::replies(vec![models(&json!([{"id": "m1"}]))]);
    let stage = gated(&server);
    assert_eq!(stage.run(&["--list-models"]).stderr, "");
    drop(server);
    let file = stage.agent().join("discovery-cache.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut cache: Value = serde_json::from_str(&text).unwrap();
    let asked = cache["answers"][0]["askedAt"].as_i64().unwrap();
    cache["answers"][0]["askedAt"] = (asked - 3 * 86_400_000).into();
    std::fs::write(&file, cache.to_string()).unwrap();
    let ran = stage.run(&["--list-models"]);
    assert!(ran.stdout.contains("gate/m1"), "{}", ran.stdout);
    assert!(ran.stderr.starts_with("Warning: gate: unavailable: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("; gate: cached (3 d ago, 1 model)"), "{}", ran.stderr);
    std::fs::write(&file, "torn {").unwrap();
    assert!(!stage.run(&["--list-models", "--offline"]).stdout.contains("gate/m1"));
}

#[test]
fn each_discovery_state_is_reported_with_a_hint() {
    for (reply, text) in [
        (models(&json!([])), "gate: empty: the server has no model; expected {\"data\":[{\"id\":\"…\"}]}\n"),
        (Reply::text(404, "text/plain", ""), "/v1/models; the base URL usually ends in /v1\n"),
        (Reply::json(401, &json!({})), "/v1/models requires a key\n"),
        (Reply::text(200, "text/html", "<html>"), "/v1/models is not JSON\n"),
    ] {
        let server = Server::replies(vec![reply]);
        let ran = gated(&server).run(&["--list-models"]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.stderr.starts_with("Warning: gate: ") && ran.stderr.ends_with(text), "{}", ran.stderr);
    }
}

#[test]
fn a_model_known_only_to_its_server_is_found() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => models(&json!([{"id": "deep-coder-7b"}, {"id": "other"}])),
        _ => chat(&json!({"content": request.json()["model"]}), "stop"),
    });
    for pattern in ["gate/deep-coder-7b", "coder-7b"] {
        let ran = gated(&server).run(&["-p", "--model", pattern, "hi"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "deep-coder-7b\n"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("defaults"), "{}", ran.stderr);
    }
    let ran = gated(&server).run(&["-p", "--model", "deap-koder", "hi"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("Model not found: deap-koder. Similar: gate/deep-coder-7b"), "{}", ran.stderr);
}

#[test]
fn unusable_models_are_refused_with_a_reason() {
    let stage = Stage::new();
    #[track_caller]
    fn refused(stage: &Stage, args: &[&str], text: &str) {
        let ran = stage.run(&[&["-p", "hi"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""));
        assert!(ran.stderr.contains(text), "{args:?}: {}", ran.stderr);
    }
    refused(&stage, &["--model", "nothing"], "Model not found: nothing. See sinew --list-models");
    refused(&stage, &["--model", "gemmini-2.5-prow"], "Similar: google/gemini-2.5-pro");
    refused(&stage, &["--model", "role:fast"], "role:fast is not set: set modelRoles.fast");
    refused(&stage, &["--provider", "nope"], "Provider not found: nope. Known: anthropic, openai");
    refused(&stage, &["--provider", "ollama"], "name one with --model (ollama: unavailable: connect to 127.0.0.1:1");
    refused(&stage, &["--model", "sonnet"], "anthropic: no key; set ANTHROPIC_API_KEY, use --api-key");
    let unknown =
        "openai/gpt-5 does not support the thinking level \"xhigh\"; supported: off, minimal, low, medium, high";
    refused(&stage, &["--model", "gpt-5:xhigh", "--api-key", "k"], unknown);
    refused(&stage, &["--model", "gpt-5", "--thinking", "xhigh", "--api-key", "k"], unknown);
    refused(
        &stage,
        &["--model", "gpt-4.1", "--thinking", "high", "--api-key", "k"],
        "openai/gpt-4.1 does not support thinking",
    );
    refused(&stage, &["--model", "gpt-4.1:high", "--api-key", "k"], "openai/gpt-4.1 does not support thinking");
    refused(&stage, &["--models", "zzz*"], "--models zzz*: no model matches");
}

#[test]
fn the_next_key_is_used_when_one_is_refused() {
    for (reply, reason) in [
        (Reply::json(401, &json!({"error": {"message": "no"}})), "auth"),
        (Reply::json(429, &json!({"error": {"code": "insufficient_quota", "message": "pay"}})), "usage_limit"),
    ] {
        let refused = std::sync::Mutex::new(None);
        // The server refuses the key that arrives first from then on.
        let server = Server::start(move |request| {
            let key = request.header("authorization").unwrap().to_string();
            let mut refused = refused.lock().unwrap();
            if *refused.get_or_insert_with(|| key.clone()) == key {
                reply.clone()
            } else {
                chat(&json!({"content": "hi"}), "stop")
            }
        });
        let stage = Stage::served(&server);
        let keys = ["key-one", "key-two"].map(|key| json!({"type": "api_key", "key": key}));
        stage.write("home/agent/auth.json", &json!({"local": keys}).to_string());
        let ran = stage.run(&["-p", "--mode", "json", "hi"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let events: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let rests: Vec<&Value> = events.iter().filter(|event| event["type"] == "credential_disabled").collect();
        assert_eq!((rests.len(), &rests[0]["provider"], &rests[0]["reason"]), (1, &json!("local"), &json!(reason)));
        assert_eq!(server.requests().len(), 2);
        assert!(!ran.stdout.contains("key-one") && !ran.stdout.contains("key-two"));
        // If that is the only key, the run ends with the server's message.
        let first = server.requests()[0].header("authorization").unwrap().to_string();
        let same = if first.ends_with("one") { &keys[0] } else { &keys[1] };
        stage.write("home/agent/auth.json", &json!({"local": [same]}).to_string());
        let ran = stage.run(&["-p", "hi"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains("local: "), "{}", ran.stderr);
    }
}

/// Returns all text below `folder`, except the files that contain the key on purpose.
fn everything(folder: &Path, except: &[PathBuf]) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text += &everything(&path, except);
        } else if !except.contains(&path) {
            text += &String::from_utf8_lossy(&std::fs::read(&path).unwrap());
        }
    }
    text
}

#[test]
fn a_key_is_sent_only_to_its_server() {
    const KEY: &str = "quite/secret+key-of-this-test";
    let encoded = KEY.replace('/', "%2F").replace('+', "%2B");
    let function =
        json!({"name": "bash", "arguments": json!({"command": "env; echo \"<$DEEPSEEK_API_KEY>\""}).to_string()});
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]});
    let echo =
        json!({"error": {"message": format!("no such key: {KEY}, {encoded}, https://h/?key={encoded}"), "type": KEY}});
    for args in [&["-p", "--verbose"][..], &["-p", "--mode", "json"]] {
        for from in ["variable", "auth.json", "models.json", "flag"] {
            let replies = vec![
                chat(&call, "tool_calls"),
                Reply::json(401, &echo).header("x-request-id", KEY).header("www-authenticate", KEY),
            ];
            let server = Server::replies(replies);
            let stage = Stage::new();
            let mut provider = json!({"baseUrl": format!("{}/v1", server.url()), "models": [{"id": "deepseek-chat"}]});
            let mut line = [args, &["--model", "deepseek/deepseek-chat", "hi"]].concat();
            match from {
                "auth.json" => {
                    stage.write(
                        "home/agent/auth.json",
                        &json!({"deepseek": {"type": "api_key", "key": KEY}}).to_string(),
                    );
                }
                "models.json" => provider["apiKey"] = KEY.into(),
                "flag" => line.extend(["--api-key", KEY]),
                _ => {}
            }
            stage.write("home/agent/models.json", &json!({"providers": {"deepseek": provider}}).to_string());
            let mut command = stage.command(&line);
            if from == "variable" {
                command.env("DEEPSEEK_API_KEY", KEY);
            }
            let ran = finish(command);
            assert_eq!(ran.code, Some(1), "{from}: {}", ran.stderr);
            let sent = server.requests();
            assert_eq!(sent[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()), "{from}");
            // The tool ran, and its output was sent to the server.
            assert_eq!(sent.len(), 2, "{from}");
            assert!(String::from_utf8_lossy(&sent[1].body).contains("<>"), "{from}");
            let except = [stage.agent().join("auth.json"), stage.agent().join("models.json")];
            let shown = ran.stdout + &ran.stderr + &everything(&stage.path(""), &except);
            let shown = shown + &String::from_utf8_lossy(&sent[1].body);
            assert!(shown.contains("no such key: ***"), "{from}: the error is told");
            for secret in [KEY, &encoded] {
                assert!(!shown.contains(secret), "{from} {args:?}: {shown}");
            }
        }
    }
}

#[test]
fn key_commands_do_not_get_other_keys() {
    let server = Server::replies(vec![chat(&json!({"content": "ok"}), "stop")]);
    let stage = Stage::served(&server);
    let provider = json!({
        "baseUrl": format!("{}/v1", server.url()),
        "api": "openai-completions",
        "apiKey": "!printf %s \"key-$ANTHROPIC_API_KEY$MY_TOKEN$GH_TOKEN$PLAIN\"",
        "models": [{"id": "m"}],
    });
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    let mut command = stage.command(&["-p", "hi"]);
    command.env("ANTHROPIC_API_KEY", "k1").env("MY_TOKEN", "k2").env("GH_TOKEN", "k3").env("PLAIN", "plain");
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer key-plain"));
}

#[test]
fn cycling_visits_only_enabled_models() {
    let stage = Stage::new();
    let models: Vec<Value> = ["a", "b", "c"].map(|id| json!({"id": id})).to_vec();
    let provider =
        json!({"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "auth": "none", "models": models});
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    let settings = json!({"defaultModel": "local/a", "enabledModels": ["local/c", "local/a"]});
    stage.write("home/agent/settings.json", &settings.to_string());
    for (args, expect) in [(&[][..], ["c", "a", "c"]), (&["--models", "local/a,local/b"], ["b", "a", "b"])] {
        let mut client = Client::of(stage.command(&[&["--mode", "rpc"], args].concat()));
        for id in expect {
            let told = client.data("cycle_model", json!({}));
            assert_eq!((&told["model"]["id"], &told["isScoped"]), (&json!(id), &json!(true)), "{told}");
        }
        assert_eq!(client.end().code, Some(0));
    }
}

#[test]
fn keys_cycle_models_both_ways_and_for_a_single_prompt() {
    let reply = || chat(&json!({"content": "said"}), "stop");
    let server = Server::replies(vec![reply(), reply(), reply()]);
    let stage = Stage::new();
    let models: Vec<Value> = ["a", "b", "c"].map(|id| json!({"id": id})).to_vec();
    let url = format!("{}/v1", server.url());
    let provider = json!({"baseUrl": url, "api": "openai-completions", "auth": "none", "models": models});
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    let settings = json!({"defaultModel": "local/a", "enabledModels": ["local/a", "local/b", "local/c"]});
    stage.write("home/agent/settings.json", &settings.to_string());
    let mut terminal = Terminal::start(&stage, &[], (90, 30));
    let shows = |rows: &[String], state: &str, model: &str| {
        rows.iter().any(|row| row.starts_with(state) && row.contains(&format!(" local/{model} ")))
    };
    terminal.until(|rows| shows(rows, "ready", "a"));
    for (key, model) in [("\x10", "b"), ("\x10", "c"), ("\x10", "a"), ("\x1b[112;6u", "c"), ("\x1b[112;6u", "b")] {
        terminal.send(key);
        terminal.until(|rows| shows(rows, &format!("local/{model} answers from now on"), model));
    }
    // Selects another model for the next prompt.
    terminal.send("\x1bp");
    terminal.until(|rows| has(rows, "Which model answers the next prompt"));
    terminal.send("local/c");
    terminal.until(|rows| has(rows, "→ local/c"));
    terminal.send("\r");
    terminal.until(|rows| shows(rows, "", "c"));
    for (prompt, answers) in [("one", 1), ("two", 2)] {
        enter(&mut terminal, prompt);
        terminal.until(|rows| rows.iter().filter(|row| *row == "said").count() == answers);
        terminal.until(|rows| shows(rows, "", "b") && !has(rows, "answering") && !has(rows, "working"));
        terminal.until(|rows| shows(rows, "ready", "b"));
    }
    left(terminal);
    let asked: Vec<Value> = server.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(asked, ["c", "b"]);
}

/// The variables with the base URL of a provider, and the path of its first request.
const ADDRESSES: [(&str, &str, &str, &str); 5] = [
    ("ANTHROPIC_BASE_URL", "", "anthropic/claude-opus-99:high", "/v1/messages"),
    ("OPENAI_BASE_URL", "/v1", "openai/gpt-99:high", "/v1/responses"),
    ("OPENROUTER_BASE_URL", "/api/v1", "openrouter/openai/gpt-99:high", "/api/v1/chat/completions"),
    ("GOOGLE_GEMINI_BASE_URL", "", "google/gemini-99-pro:high", "/v1beta/models/gemini-99-pro:streamGenerateContent"),
    ("OLLAMA_HOST", "", "ollama/stranger:7b:high", "/v1/chat/completions"),
];

#[test]
fn a_variable_changes_the_base_url_and_unlisted_models_get_full_requests() {
    for (variable, path, model, expect) in ADDRESSES {
        let server = Server::start(|request| match request.method.as_str() {
            "GET" => Reply::json(200, &json!({"data": [], "models": []})),
            _ => Reply::json(400, &json!({"error": {"message": "seen"}})),
        });
        let stage = Stage::new();
        std::fs::write(stage.project().join("p.png"), PIXEL).unwrap();
        let mut command = stage.command(&["-p", "--model", model, "--api-key", "k", "look", "@p.png"]);
        command.env(variable, format!("{}{path}", server.url())).env_remove("OLLAMA_BASE_URL");
        let ran = finish(command);
        let asked = server.requests().into_iter().find(|request| request.method == "POST");
        let asked = asked.unwrap_or_else(|| panic!("{variable}: {}", ran.stderr));
        assert_eq!(asked.path.split('?').next(), Some(expect), "{variable}");
        assert_eq!(ran.stderr.matches("is not in the built-in table").count(), 1, "{variable}: {}", ran.stderr);
        // The request contains the image and the thinking level.
        let body = asked.json();
        let said = body.to_string();
        assert!(said.contains("iVBORw0KGgo") && !said.contains("image omitted"), "{variable}: {said}");
        let levels = ["/output_config/effort", "/reasoning/effort", "/reasoning_effort"];
        let level = levels.iter().find_map(|pointer| body.pointer(pointer));
        let level = level.or_else(|| body.pointer("/generationConfig/thinkingConfig/thinkingBudget"));
        assert!(level == Some(&json!("high")) || level == Some(&json!(16_384)), "{variable}: {level:?}");
    }
}

/// An image of one pixel.
const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1F, 0x15, 0xC4, 0x89, 0x00, 0x00, 0x00, 0x0D, 0x49,
    0x44, 0x41, 0x54, 0x78, 0xDA, 0x63, 0x64, 0xF8, 0xCF, 0x50, 0x0F, 0x00, 0x03, 0x86, 0x01, 0x80, 0x5A, 0x34, 0x7D,
    0x6B, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82,
];
