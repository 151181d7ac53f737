//! Subagents: their results, their ends, and what they may do.

use serde_json::{Value, json};

use crate::client::Client;
use crate::lanes::{calls, says, submits};
use crate::stage::{RunOutput, Stage, messages, text};

/// The script of a parent that starts these tasks and then says `Done.`, with the answers of the children.
fn script(agent: &str, tasks: Value, children: &[Value]) -> Stage {
    let setup = json!({"type": "script", "version": 1, "onExhausted": "error"});
    let call = calls("main", "task", json!({"agent": agent, "tasks": tasks}));
    Stage::scripted(&[&[setup, call, text("Done.")], children].concat())
}

fn one(assignment: &str) -> Value {
    json!([{"id": "One", "assignment": assignment}])
}

/// The events of a run.
#[track_caller]
fn events(stage: &Stage, args: &[&str]) -> (Vec<Value>, RunOutput) {
    let ran = stage.play(&[&["--mode", "json", "-p", "go"], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let events = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (events, ran)
}

/// The results of the call, and the text that the parent reads.
#[track_caller]
fn results(stage: &Stage, args: &[&str]) -> (Vec<Value>, String) {
    let (events, _) = events(stage, args);
    let is_end = |event: &&Value| event["type"] == "tool_execution_end" && event["toolName"] == "task";
    let result = &events.iter().find(is_end).unwrap()["result"];
    let text = result["content"][0]["text"].as_str().unwrap().to_string();
    let started = events.iter().filter(|event| event["type"] == "subagent_start").count();
    let ended = events.iter().filter(|event| event["type"] == "subagent_end").count();
    let results = result["details"]["results"].as_array().cloned().unwrap_or_default();
    assert_eq!(ended, results.len(), "{text}");
    assert!(started <= ended);
    (results, text)
}

/// The ids and final states of the children, in the order in which they end, until the run is over.
fn ends(client: &mut Client) -> Vec<Value> {
    let mut ends = Vec::new();
    loop {
        let frame = client.frame();
        match frame["type"].as_str() {
            Some("subagent_end") => ends.push(json!([frame["id"], frame["state"]])),
            Some("agent_settled") => break,
            _ => {}
        }
    }
    ends
}

#[test]
fn results_come_in_the_order_of_the_tasks() {
    let tasks =
        json!([{"id": "Slow", "assignment": "a", "description": "the slow one"}, {"id": "Fast", "assignment": "b"}]);
    let slow = json!({"type": "turn", "lane": "Slow", "delayMs": 300,
        "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "from slow"}}}]});
    let stage = script("task", tasks, &[slow, submits("Fast", json!({"from": "fast"}))]);
    let (results, text) = results(&stage, &[]);
    let ids: Vec<&Value> = results.iter().map(|result| &result["id"]).collect();
    assert_eq!(ids, ["Slow", "Fast"]);
    assert_eq!(
        (&results[0]["state"], &results[1]["output"]),
        (&json!("completed"), &json!("{\n  \"from\": \"fast\"\n}"))
    );
    assert!(text.find("from slow") < text.find("fast\""), "{text}");
    // Each has a session of its own beside that of its parent, and none is listed as a session.
    let files: Vec<String> = stage.files().iter().map(|file| file.display().to_string()).collect();
    assert_eq!(files.iter().filter(|file| file.contains(".agents/")).count(), 2, "{files:?}");
    assert_eq!(stage.run(&["sessions", "list"]).stdout.lines().count(), 1);
}

#[test]
fn only_an_accepted_result_completes_a_child() {
    let refused = submits("One", json!(""));
    let cases: [(&str, Vec<Value>, &str, &str); 5] = [
        ("says it after a reminder", vec![says("One", "hm"), submits("One", json!("x"))], "completed", ""),
        ("never submits", (0..4).map(|_| says("One", "words")).collect(), "failed", "it handed in no result"),
        ("submits nothing five times", (0..5).map(|_| refused.clone()).collect(), "failed", "the result is empty"),
        ("submits again", vec![refused.clone(), submits("One", json!("x"))], "completed", ""),
        ("an error", vec![json!({"type": "fault", "lane": "One", "kind": "http", "status": 400})], "failed", "400"),
    ];
    for (what, answers, state, error) in cases {
        let (results, text) = results(&script("task", one("go"), &answers), &[]);
        assert_eq!(results[0]["state"], state, "{what}: {text}");
        assert!(results[0]["error"].as_str().unwrap_or_default().contains(error), "{what}: {text}");
        assert_eq!(results[0]["turns"], answers.len(), "{what}");
    }
}

#[test]
fn a_child_at_its_limit_of_turns_is_asked_once_more() {
    let looks = |_| calls("One", "ls", json!({}));
    let answers: Vec<Value> = (0..2).map(looks).chain([submits("One", json!("so far"))]).collect();
    let stage = script("task", one("go"), &answers);
    stage.write("home/agent/settings.json", r#"{"task": {"maxTurns": 2}}"#);
    let (results, text) = results(&stage, &[]);
    assert_eq!((&results[0]["state"], &results[0]["limited"]), (&json!("completed"), &json!("turns")), "{text}");
    assert!(text.contains("completed at its limit of turns"));
}

#[test]
fn a_schema_is_checked_before_and_after() {
    let tasks = one("go");
    let call = |schema: Value| json!({"agent": "task", "tasks": tasks, "schema": schema});
    let setup = json!({"type": "script", "version": 1, "onExhausted": "error"});
    let stage = |schema: Value, children: &[Value]| {
        Stage::scripted(&[&[setup.clone(), calls("main", "task", call(schema)), text("Done.")], children].concat())
    };
    let (none, text) = results(&stage(json!({"type": "strng"}), &[]), &[]);
    assert!(none.is_empty() && text.contains("unknown type \"strng\""), "{text}");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let answers = [submits("One", json!({"n": "1"})), submits("One", json!("{\"n\": 1}"))];
    let (results, text) = results(&stage(schema, &answers), &[]);
    assert_eq!(results[0]["output"], "{\n  \"n\": 1\n}", "{text}");
}

#[test]
fn calls_that_cannot_be_are_refused_before_a_child_starts() {
    for (agent, tasks, reason) in [
        ("nobody", one("go"), "unknown agent \"nobody\"; known: explore, plan, reviewer, task"),
        ("task", json!([{"assignment": "a"}, {"assignment": "a"}]), "the same assignment"),
        ("task", json!([{"assignment": " "}]), "is empty"),
        ("task", json!([{"id": "main", "assignment": "a"}]), "reserved"),
        ("task", json!([]), "tasks"),
    ] {
        let (results, text) = results(&script(agent, tasks, &[]), &[]);
        assert!(results.is_empty() && text.contains(reason), "{text}");
    }
}

#[test]
fn a_child_can_do_no_more_than_its_parent() {
    let writes = [calls("One", "write", json!({"path": "made", "content": "x"})), submits("One", json!("tried"))];
    let runs = [calls("One", "bash", json!({"command": "echo x > made"})), submits("One", json!("tried"))];
    let cases: [(&str, &[Value], &[&str], bool); 7] = [
        ("task", &writes, &[], true),
        ("task", &runs, &[], true),
        ("task", &writes, &["--deny", "write"], false),
        ("task", &writes, &["--tools", "task,read"], false),
        ("task", &writes, &["--plan"], false),
        ("task", &runs, &["--plan"], false),
        ("explore", &runs, &[], false),
    ];
    for (agent, answers, args, is_made) in cases {
        let stage = script(agent, one("go"), answers);
        let (results, text) = results(&stage, args);
        assert_eq!(results[0]["state"], "completed", "{agent} {args:?}: {text}");
        assert_eq!(stage.path("project/made").exists(), is_made, "{agent} {args:?}: {text}");
    }
    // A child has no children.
    let nested = [calls("One", "task", json!({"agent": "task", "tasks": one("x")})), submits("One", json!("tried"))];
    let (results, text) = results(&script("task", one("go"), &nested), &[]);
    assert_eq!((results.len(), &results[0]["state"]), (1, &json!("completed")), "{text}");
}

#[test]
fn agents_of_files_have_their_tools_and_their_prompt() {
    let agent = "---\nname: scribe\ndescription: writes\ntools: [Write]\n---\nWrite it down.\n";
    let answers = [
        json!({"type": "turn", "lane": "scribe", "expect": {"systemContains": "Write it down."},
            "content": [{"toolCall": {"name": "bash", "arguments": {"command": "touch ran"}}}]}),
        calls("scribe", "write", json!({"path": "made", "content": "x"})),
        submits("scribe", json!("written")),
    ];
    let stage = script("scribe", one("go"), &answers);
    stage.write("home/agent/agents/scribe.md", agent);
    stage.write("home/agent/agents/broken.md", "---\nname: [\n---\n");
    let (_, ran) = events(&stage, &[]);
    assert!(ran.stderr.contains("broken.md"), "{}", ran.stderr);
    assert!(stage.path("project/made").exists() && !stage.path("project/ran").exists());
    let unknown = script("scribe", one("go"), &[]);
    unknown.write("home/agent/agents/scribe.md", &agent.replace("Write]", "Wrte]"));
    let (results, text) = results(&unknown, &[]);
    assert!(results.is_empty() && text.contains("unknown tool Wrte"), "{text}");
}

#[test]
fn an_abort_ends_the_children_and_their_programs() {
    let tasks = json!([{"id": "One", "assignment": "a"}, {"id": "Two", "assignment": "b"}]);
    let sleeps = calls("One", "bash", json!({"command": "echo $$ > ../pid.new; mv ../pid.new ../pid; sleep 1000"}));
    let stage = script("task", tasks, &[sleeps]);
    stage.write("home/agent/settings.json", r#"{"task": {"maxConcurrency": 1}}"#);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    stage.wait_for("pid");
    client.begin("abort", json!({}));
    let mut ends = ends(&mut client);
    stage.wait_for_end_of("pid");
    ends.sort_by_key(|end| std::cmp::Reverse(end.to_string()));
    assert_eq!(ends, [json!(["Two", "skipped"]), json!(["One", "aborted"])]);
}

#[test]
fn a_client_lists_children_writes_to_one_and_ends_one() {
    let waits = |lane: &str| {
        let command = format!("touch ../{lane}.ready; read -r line < ../{lane}.go; echo on");
        calls(lane, "bash", json!({"command": command}))
    };
    let tasks = json!([{"id": "One", "assignment": "a", "description": "first"}, {"id": "Two", "assignment": "b"}]);
    let stage = script("task", tasks, &[waits("One"), waits("Two"), submits("One", json!("done"))]);
    let (one, _two) = (stage.pipe("One.go"), stage.pipe("Two.go"));
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    stage.wait_for("One.ready");
    stage.wait_for("Two.ready");
    let listed = client.ask("subagent_list", json!({}));
    let first = &listed["data"]["subagents"][0];
    assert_eq!(
        (&first["id"], &first["state"], &first["description"]),
        (&json!("One"), &json!("running"), &json!("first"))
    );
    let unknown = client.ask("subagent_steer", json!({"child": "Three", "message": "x"}));
    assert!(unknown["error"].as_str().unwrap().contains("no subagent \"Three\": One, Two"), "{unknown}");
    assert_eq!(client.ask("subagent_steer", json!({"child": "one", "message": "look left"}))["success"], true);
    assert_eq!(client.ask("subagent_abort", json!({"child": "Two"}))["success"], true);
    std::fs::write(one, "go\n").unwrap();
    let mut ends = ends(&mut client);
    ends.sort_by_key(|end| end.to_string());
    assert_eq!(ends, [json!(["One", "completed"]), json!(["Two", "aborted"])]);
    let late = client.ask("subagent_steer", json!({"child": "One", "message": "x"}));
    assert!(late["error"].as_str().unwrap().contains("One is completed"), "{late}");
    let file = stage.files().into_iter().find(|file| file.ends_with("One.jsonl")).unwrap();
    let said = messages(&file);
    assert!(said.iter().any(|(role, text)| role == "user" && text == "look left"), "{said:?}");
}

#[test]
fn commands_list_agents_and_children() {
    let stage = Stage::scripted(&[text("x")]);
    let said = |command: &str| stage.play(&["-p", command]);
    assert!(said("/agents").stdout.contains("explore: finds out"));
    assert!(said("/tasks").stdout.contains("No subagents."));
    assert!(said("/tasks stop X").stderr.contains("no subagent \"X\": there are none"));
    assert!(said("/tasks X").stderr.contains("no subagent \"X\": there are none"));
    let error = said("/tasks end X").stderr;
    assert!(error.contains("use /tasks, /tasks ID, or /tasks stop, background, apply or drop with an ID"), "{error}");
    assert!(said("/steer X").stderr.contains("/steer ID TEXT"));
}

#[test]
fn the_object_of_a_run_names_its_children() {
    let stage = script("explore", one("go"), &[submits("explore", json!("x"))]);
    let ran = stage.play(&["-p", "go", "--output", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["text"], &report["turns"]), (&json!("Done."), &json!(2)));
    let child = &report["subagents"][0];
    assert_eq!((&child["id"], &child["state"], &child["turns"]), (&json!("One"), &json!("completed"), &json!(1)));
    assert!(report["totalCost"].is_number());
}

#[test]
fn an_undo_takes_the_changes_of_children_back() {
    let writes = [calls("One", "bash", json!({"command": "echo x > made"})), submits("One", json!("made it"))];
    let stage = script("task", one("go"), &writes);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    while client.frame()["type"] != "agent_settled" {}
    assert!(stage.path("project/made").exists());
    let undone = client.ask("undo", json!({}));
    assert_eq!(undone["success"], true, "{undone}");
    assert!(!stage.path("project/made").exists(), "{undone}");
}

#[test]
fn an_undo_takes_back_what_a_child_in_the_background_changed_later() {
    for moves in [false, true] {
        undoes_what_a_child_changed_later(moves);
    }
}

/// Undoes the changes of a child in the background, which it `moves` to while its program runs, or starts in.
fn undoes_what_a_child_changed_later(moves: bool) {
    let setup = json!({"type": "script", "version": 1, "onExhausted": "error"});
    let task = json!({"agent": "task", "tasks": one("go"), "background": !moves});
    let writes = calls("One", "bash", json!({"command": "touch ../ready; read -r line < ../go; echo x > made"}));
    let stage = Stage::scripted(&[
        setup,
        calls("main", "task", task),
        text("It works."),
        text("It has ended."),
        writes,
        submits("One", json!("made it")),
    ]);
    let go = stage.pipe("go");
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    stage.wait_for("ready");
    if moves {
        client.data("subagent_background", json!({"child": "One"}));
    }
    client.count("agent_end", 1);
    std::fs::write(go, "go\n").unwrap();
    while client.frame()["type"] != "agent_settled" {}
    assert!(stage.path("project/made").exists(), "moves: {moves}");
    // The last turn is the answer to the message about the end.
    while stage.path("project/made").exists() {
        let undone = client.ask("undo", json!({}));
        assert_eq!(undone["success"], true, "{undone}");
    }
}

#[test]
fn steering_the_parent_does_not_end_its_children() {
    let waits = calls("One", "bash", json!({"command": "touch ../ready; read -r line < ../go"}));
    let stage = script("task", one("go"), &[waits, submits("One", json!("done"))]);
    let go = stage.pipe("go");
    let mut client = Client::scripted(&stage, &[]);
    client.ask("set_interrupt_mode", json!({"mode": "immediate"}));
    client.ask("prompt", json!({"message": "go"}));
    stage.wait_for("ready");
    assert_eq!(client.ask("steer", json!({"message": "look left"}))["success"], true);
    std::fs::write(go, "go\n").unwrap();
    assert_eq!(ends(&mut client), [json!(["One", "completed"])]);
}

#[test]
fn a_child_that_waits_for_a_retry_lets_another_one_work() {
    let fault = json!({"type": "fault", "lane": "One", "kind": "http", "status": 500});
    let tasks = json!([{"id": "One", "assignment": "a"}, {"id": "Two", "assignment": "b"}]);
    let stage = script("task", tasks, &[fault, submits("One", json!("1")), submits("Two", json!("2"))]);
    stage.write("home/agent/settings.json", r#"{"task": {"maxConcurrency": 1}, "retry": {"baseDelayMs": 3000}}"#);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    assert_eq!(ends(&mut client), [json!(["Two", "completed"]), json!(["One", "completed"])]);
}

#[test]
fn reminders_count_as_turns_and_retries_do_not() {
    let fault = json!({"type": "fault", "lane": "One", "kind": "http", "status": 500});
    let cases: [(&str, Vec<Value>, u64, Value); 3] = [
        ("a retry", vec![fault.clone(), submits("One", json!("x"))], 1, Value::Null),
        ("reminders", vec![says("One", "a"), says("One", "b"), submits("One", json!("x"))], 2, json!("turns")),
        ("a retry of the last turn", vec![says("One", "a"), fault, submits("One", json!("x"))], 1, json!("turns")),
    ];
    for (what, answers, limit, limited) in cases {
        let stage = script("task", one("go"), &answers);
        let settings = json!({"task": {"maxTurns": limit}, "retry": {"baseDelayMs": 1}});
        stage.write("home/agent/settings.json", &settings.to_string());
        let (results, text) = results(&stage, &[]);
        assert_eq!((&results[0]["state"], &results[0]["limited"]), (&json!("completed"), &limited), "{what}: {text}");
    }
}

#[test]
fn children_of_an_earlier_run_are_listed() {
    let stage = script("task", one("go"), &[submits("One", json!("found it"))]);
    assert_eq!(stage.play(&["-p", "go"]).code, Some(0));
    let said = |command: &str| stage.play(&["-c", "-p", command]);
    assert!(said("/tasks").stdout.contains("One (task): completed"), "{:?}", said("/tasks"));
    assert!(said("/tasks One").stdout.contains("One: completed"), "{:?}", said("/tasks One"));
    let steered = said("/steer One look left").stderr;
    assert!(steered.contains("One is completed: it ended in an earlier run"), "{steered}");
}

#[test]
fn a_child_is_told_the_files_of_the_project() {
    let first = json!({"type": "turn", "lane": "One", "expect": {"systemContains": "src/deep/"},
        "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "x"}}}]});
    let stage = script("task", one("go"), &[first]);
    stage.write("project/src/deep/er/file", "");
    let (results, text) = results(&stage, &[]);
    assert_eq!(results[0]["state"], "completed", "{text}");
}

#[test]
fn without_depth_there_is_no_tool() {
    let stage = Stage::scripted(&[json!({"type": "turn", "expect": {"noTools": true}, "content": [{"text": "x"}]})]);
    stage.write("home/agent/settings.json", r#"{"task": {"maxDepth": 0}, "tools": ["task"]}"#);
    let ran = stage.play(&["-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}
