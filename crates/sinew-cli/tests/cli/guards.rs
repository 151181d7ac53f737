//! Hooks and permissions before the calls of a real run.

use serde_json::{Value, json};

use crate::stage::{Stage, call, text};

fn writes() -> Stage {
    Stage::scripted(&[call("A", "write", json!({"path": "made.txt", "content": "x"})), text("B")])
}

fn hook(script: &str) -> String {
    hook_within(script, 60_000)
}

fn hook_within(script: &str, milliseconds: u32) -> String {
    let entry = json!({"event": "tool_call", "match": {"tool": "write"}, "shell": true, "command": script,
        "timeoutMs": milliseconds});
    json!({"hooks": [entry]}).to_string()
}

/// Returns the result of the call for the model, and whether the file was created.
#[track_caller]
fn outcome(stage: &Stage, args: &[&str]) -> (String, bool) {
    let ran = stage.play(&[&["-p", "go"], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = stage.said();
    let told = said.iter().find(|(role, _)| role == "toolResult").unwrap().1.clone();
    (told, stage.path("project/made.txt").exists())
}

#[test]
fn a_failing_hook_stops_the_tool() {
    let fork = "sh -c 'sleep 1000' & wait";
    for script in ["exit 1", "kill -ABRT $$", "sleep 1000", fork, "echo garbage", "head -c 2000000 /dev/zero"] {
        let stage = writes();
        stage.write("home/agent/hooks.json", &hook_within(script, 2000));
        let (told, made) = outcome(&stage, &[]);
        assert!(told.starts_with("Hook ") && told.contains(" failed: "), "{script}: {told}");
        assert!(!made, "{script}");
    }
    let stage = writes();
    stage.write("home/agent/hooks.json", &hook("echo 'not today' >&2; exit 2"));
    assert_eq!(outcome(&stage, &[]), ("not today".to_string(), false));
    let stage = writes();
    stage.write("home/agent/hooks.json", &hook("exit 0"));
    assert!(outcome(&stage, &[]).1);
}

#[test]
fn hooks_change_arguments_and_do_not_get_keys() {
    let stage = writes();
    let script =
        "[ -z \"$OPENAI_API_KEY$MY_TOKEN\" ] && echo '{\"args\": {\"path\": \"other.txt\", \"content\": \"y\"}}'";
    stage.write("home/agent/hooks.json", &hook(script));
    let mut command = stage.command(&["--script", "script.jsonl", "-p", "go"]);
    command.env("OPENAI_API_KEY", "k").env("MY_TOKEN", "t");
    crate::stage::finish(command);
    assert_eq!(std::fs::read_to_string(stage.path("project/other.txt")).unwrap(), "y");
    assert!(!stage.path("project/made.txt").exists());
}

#[test]
fn hooks_of_a_project_wait_for_trust() {
    let stage = writes();
    stage.write("project/.sinew/hooks.json", &hook(": > started; exit 2"));
    assert!(outcome(&stage, &[]).1);
    assert!(!stage.path("project/started").exists());
    let stage = writes();
    stage.write("project/.sinew/hooks.json", &hook(": > started; exit 2"));
    assert!(!outcome(&stage, &["--trust"]).1);
    assert!(stage.path("project/started").exists());
}

#[test]
fn a_flag_adds_hooks_and_reports_invalid_ones() {
    let stage = writes();
    stage.write("project/own.json", &hook("exit 2"));
    assert!(!outcome(&stage, &["--hook", "own.json"]).1);
    let wrong = |args: &[&str], part: &str| {
        let ran = stage.play(&[&["-p", "go"], args].concat());
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    };
    wrong(&["--hook", "none.json"], "--hook none.json: ");
    stage.write("project/own.json", "{oops");
    wrong(&["--hook", "own.json"], "own.json:1:2: ");
}

#[track_caller]
fn ruled(permissions: &Value, tool: &str, arguments: &Value, expect: Option<&str>) {
    let stage = Stage::scripted(&[call("A", tool, arguments.clone()), text("B")]);
    stage.write("home/agent/settings.json", &json!({"permissions": permissions}).to_string());
    let (told, _) = outcome(&stage, &[]);
    let denied = told.strip_prefix("Denied by permission rule: ").and_then(|rule| rule.split(", which asks").next());
    assert_eq!(denied, expect, "{permissions} {arguments}: {told}");
}

#[test]
fn permissions_apply_to_every_tool() {
    let rules = json!({"deny": ["write(**/made.txt)"], "ask": ["bash(git *)"], "allow": ["bash(git status*)"]});
    ruled(&rules, "write", &json!({"path": "made.txt", "content": "x"}), Some("write(**/made.txt)"));
    ruled(&rules, "write", &json!({"path": "other.txt", "content": "x"}), None);
    ruled(&rules, "bash", &json!({"command": "cd . && git log"}), Some("bash(git *)"));
    ruled(&rules, "bash", &json!({"command": "git status"}), None);
    ruled(&rules, "bash", &json!({"command": "echo 'open"}), Some("bash(git *)"));
    ruled(&rules, "bash", &json!({"command": "echo done"}), None);
}

#[test]
fn hook_answers_may_contain_lone_surrogates() {
    let stage = writes();
    stage.write("home/agent/hooks.json", &hook(r#"echo '{"block": true, "reason": "no \ud83d"}'"#));
    assert!(outcome(&stage, &[]).0.contains("no \u{fffd}"), "{:?}", outcome(&stage, &[]));
}

#[test]
fn permissions_check_the_call_as_changed_by_hooks() {
    let stage = writes();
    stage.write("home/agent/settings.json", r#"{"permissions": {"deny": ["write(other.txt)"]}}"#);
    stage.write("home/agent/hooks.json", &hook("echo '{\"args\": {\"path\": \"other.txt\", \"content\": \"y\"}}'"));
    assert_eq!(outcome(&stage, &[]).0, "Denied by permission rule: write(other.txt)");
    assert!(!stage.path("project/other.txt").exists());
}

#[test]
fn hooks_run_at_every_point_of_a_session() {
    let stage = Stage::scripted(&[text("A"), text("B")]);
    let entry = |event: &str, answer: &str| {
        let command = format!("printf '%s ' {event} >> asked.txt; {answer}");
        json!({"event": event, "shell": true, "command": command})
    };
    let asked = json!({"hooks": [
        entry("resources_discover", "echo '{\"prompts\": [\"more\"], \"skills\": [\"more/s\"]}'"),
        entry("session_start", "exit 0"),
        entry("input", "grep -q '\"text\":\"stop\"' && { echo not this >&2; exit 2; }; echo '{\"text\": \"/t found\"}'"),
        entry("before_agent_start", "echo '{\"message\": {\"customType\": \"n\", \"content\": \"note\"}}'"),
        entry("session_shutdown", "exit 0"),
    ]});
    stage.write("home/agent/hooks.json", &asked.to_string());
    stage.write("project/more/t.md", "Template $1");
    stage.write("project/more/s/SKILL.md", "---\ndescription: x\n---\nBody");
    let ran = stage.play(&["-p", "stop"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", "not this\n"));
    std::fs::remove_file(stage.path("project/asked.txt")).unwrap();
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "A\n", ""));
    let order = "resources_discover input session_start before_agent_start session_shutdown ";
    assert_eq!(std::fs::read_to_string(stage.path("project/asked.txt")).unwrap(), order);
    let said = stage.said();
    assert_eq!(said[0], ("user".to_string(), "Template found".to_string()));
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(file.contains("\"customType\":\"n\""), "{file}");
}
