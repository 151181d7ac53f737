//! The bytes of requests to a server.

use serde_json::{Value, json};

use crate::stage::{Stage, chat, finish, strict};

fn tool_call() -> Value {
    let function = json!({"name": "ls", "arguments": "{\"path\":\".\"}"});
    json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
}

/// Returns the number of leading bytes that `later` shares with `earlier`, and the end of the messages of `earlier`.
pub(crate) fn shared(earlier: &[u8], later: &[u8]) -> (usize, usize) {
    let same = earlier.iter().zip(later).take_while(|(a, b)| a == b).count();
    let whole: Value = serde_json::from_slice(earlier).unwrap();
    let messages = serde_json::to_vec(&whole["messages"]).unwrap();
    let at = earlier.windows(messages.len()).position(|window| window == messages).unwrap();
    // Without the closing bracket.
    (same, at + messages.len() - 1)
}

#[test]
fn consecutive_requests_share_their_prefix_byte_for_byte() {
    let server = strict(vec![
        chat(&tool_call(), "tool_calls"),
        chat(&json!({"content": "one file"}), "stop"),
        chat(&json!({"content": "bye"}), "stop"),
    ]);
    let stage = Stage::served(&server);
    let ran = stage.run(&["-p", "what is here?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "one file\n"), "{}", ran.stderr);
    // The third request comes from another process, which reads the conversation from its file.
    let ran = stage.run(&["-p", "--continue", "thanks"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "bye\n"), "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for pair in requests.windows(2) {
        let (same, end) = shared(&pair[0].body, &pair[1].body);
        assert!(same >= end, "{same} of {end}: {}", String::from_utf8_lossy(&pair[1].body));
        let (mut a, mut b) = (pair[0].json(), pair[1].json());
        for whole in [&mut a, &mut b] {
            whole.as_object_mut().unwrap().shift_remove("messages");
        }
        assert_eq!(a, b);
    }
}

#[test]
fn prompt_and_tools_are_small() {
    let server = strict(vec![chat(&json!({"content": "hi"}), "stop")]);
    let stage = Stage::served(&server);
    assert_eq!(stage.run(&["-p", "hi"]).code, Some(0));
    let request = server.requests()[0].json();
    assert_eq!(request["messages"][0]["role"], "system");
    let bytes = request["messages"][0].to_string().len() + request["tools"].to_string().len();
    assert!(request["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    assert!(bytes / 4 <= 2_500, "about {} tokens", bytes / 4);
}

#[test]
fn flags_choose_tools_and_prompt() {
    let server = strict((0..3).map(|_| chat(&json!({"content": "hi"}), "stop")).collect());
    let stage = Stage::served(&server);
    stage.write("project/prompt.md", "Be brief.");
    stage.write("project/AGENTS.md", "Use tabs.");
    assert_eq!(stage.run(&["-p", "--tools", "ls,read", "hi"]).code, Some(0));
    let args = ["-p", "--no-tools", "-nc", "--system-prompt", "prompt.md", "--append-system-prompt", "In verse.", "hi"];
    assert_eq!(stage.run(&args).code, Some(0));
    let requests: Vec<Value> = server.requests().iter().map(|request| request.json()).collect();
    let tools = requests[0]["tools"].as_array().unwrap().iter();
    let mut names: Vec<&str> = tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ls", "read"]);
    assert!(requests[0]["messages"][0].to_string().contains("Use tabs."));
    let prompt = requests[1]["messages"][0].to_string();
    assert!(prompt.contains("Be brief.") && prompt.contains("In verse.") && !prompt.contains("Use tabs."), "{prompt}");
    assert!(requests[1].get("tools").is_none_or(|tools| tools.as_array().is_some_and(Vec::is_empty)));
}

#[test]
fn keys_are_used_in_order_and_never_shown() {
    let replies = (0..5).map(|_| chat(&json!({"content": "hi"}), "stop")).collect();
    let server = strict(replies);
    let stage = Stage::served(&server);
    let provider = json!({"baseUrl": format!("{}/v1", server.url()), "apiKey": "!printf from-command",
        "models": [{"id": "deepseek-chat"}]});
    stage.write("home/agent/models.json", &json!({"providers": {"deepseek": provider}}).to_string());
    stage.write("home/agent/settings.json", r#"{"defaultModel": "deepseek/deepseek-chat"}"#);
    let run = |variable: Option<&str>, args: &[&str]| {
        let mut command = stage.command(&[&["-p", "hi"], args].concat());
        if let Some(value) = variable {
            command.env("DEEPSEEK_API_KEY", value);
        }
        let ran = finish(command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout + &ran.stderr
    };
    let mut shown = run(None, &[]);
    shown += &run(Some("from-environment"), &[]);
    stage.write("home/agent/auth.json", r#"{"deepseek": {"type": "api_key", "key": "from-file"}}"#);
    shown += &run(Some("from-environment"), &[]);
    shown += &run(Some("from-environment"), &["--api-key", "from-flag"]);
    let keys: Vec<String> =
        server.requests().iter().map(|request| request.header("authorization").unwrap().to_string()).collect();
    assert_eq!(keys, ["Bearer from-command", "Bearer from-environment", "Bearer from-file", "Bearer from-flag"]);
    for file in stage.files() {
        shown += &std::fs::read_to_string(file).unwrap();
    }
    assert!(!shown.contains("from-"), "{shown}");
}

#[test]
fn a_failing_key_command_is_reported() {
    let server = strict(Vec::new());
    let stage = Stage::served(&server);
    let provider = json!({"baseUrl": server.url(), "apiKey": "!exit 7", "models": [{"id": "m"}]});
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    let ran = stage.run(&["-p", "hi"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("apiKey of local") && ran.stderr.contains('7'), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 0);
}
