//! Subagents beyond one call: in the background, continued, below each other, as a fork, and at their limits.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::Client;
use crate::lanes::{calls, submits, turn};
use crate::stage::{Stage, messages, text};

/// An answer to a request in which some message contains `expected`.
fn hears(lane: &str, expected: &str, said: &str) -> Value {
    turn(lane, json!({"expect": {"anyContains": expected}, "content": [{"text": said}]}))
}

fn starts(agent: &str, id: &str, background: bool) -> Value {
    let tasks = json!([{"id": id, "assignment": format!("the work of {id}"), "description": "a test"}]);
    calls("main", "task", json!({"agent": agent, "tasks": tasks, "background": background}))
}

fn scripted(turns: &[Value]) -> Stage {
    Stage::scripted(&[&[json!({"type": "script", "version": 1, "onExhausted": "error"})], turns].concat())
}

/// The answer that a run prints.
#[track_caller]
fn said(stage: &Stage, args: &[&str]) -> String {
    let ran = stage.play(&[&["-p", "go"], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout.trim().to_string()
}

/// The results of the first call of `task`, from the events of a run.
#[track_caller]
fn results(stage: &Stage) -> Vec<Value> {
    let ran = stage.play(&["--mode", "json", "-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut events = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_end = |event: &Value| {
        let results = &event["result"]["details"]["results"];
        event["type"] == "tool_execution_end" && event["toolName"] == "task" && results[0]["id"] == "One"
    };
    let found = events.find(is_end).unwrap_or_else(|| panic!("{}", ran.stdout));
    found["result"]["details"]["results"].as_array().unwrap().clone()
}

#[test]
fn the_end_of_a_child_in_the_background_starts_a_run() {
    let stage = scripted(&[
        starts("task", "One", true),
        turn(
            "main",
            json!({"expect": {"lastContains": "Started in the background: One (task: a test)"},
            "content": [{"text": "It works."}]}),
        ),
        hears("main", "from One", "It is done."),
        calls("One", "bash", json!({"command": "read -r line < ../go"})),
        submits("One", "from One"),
    ]);
    let go = stage.pipe("go");
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    client.count("agent_end", 1);
    std::fs::write(go, "on\n").unwrap();
    let end = client.first(|frame| frame["type"] == "subagent_end");
    assert_eq!((&end["id"], &end["state"]), (&json!("One"), &json!("completed")));
    // Only the second run settles the session.
    client.count("agent_settled", 1);
    let order = |frame: &&Value| ["agent_end", "agent_settled"].iter().any(|kind| frame["type"] == *kind);
    let seen: Vec<&str> = client.seen.iter().filter(order).filter_map(|frame| frame["type"].as_str()).collect();
    assert_eq!(seen, ["agent_end", "agent_end", "agent_settled"]);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn the_events_of_a_child_are_in_the_stream_for_a_client_that_asks() {
    let stage = scripted(&[
        starts("task", "One", false),
        starts("task", "Two", false),
        text("Both are done."),
        calls("One", "bash", json!({"command": "echo from the shell"})),
        submits("One", "from One"),
        submits("Two", "from Two"),
    ]);
    let counts = json!({"event": "turn_end", "command": "echo turn >> ../turns", "shell": true});
    stage.write("home/agent/hooks.json", &json!({"hooks": [counts]}).to_string());
    let mut client = Client::scripted(&stage, &[]);
    let refused = client.fails("set_subagent_events", json!({"enabled": 1}));
    assert!(refused.starts_with("set_subagent_events: "), "{refused}");
    client.data("set_subagent_events", json!({"enabled": true}));
    client.ask("prompt", json!({"message": "go"}));
    client.first(|frame| frame["type"] == "subagent_end" && frame["id"] == "One");
    client.data("set_subagent_events", json!({"enabled": false}));
    client.count("agent_settled", 1);
    let seen: Vec<&Value> = client.seen.iter().filter(|frame| frame["subagentId"] == "One").collect();
    let kinds: Vec<&str> = seen.iter().filter_map(|frame| frame["type"].as_str()).collect();
    for kind in
        ["turn_start", "message_update", "message_end", "tool_execution_start", "tool_execution_end", "turn_end"]
    {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let is_output = |frame: &&&Value| frame["type"] == "tool_execution_end" && frame["toolName"] == "bash";
    let output = seen.iter().find(is_output).unwrap();
    assert_eq!(output["result"]["content"][0]["text"], "from the shell");
    let position = |fits: &dyn Fn(&Value) -> bool| client.seen.iter().position(fits).unwrap();
    let start = position(&|frame| frame["type"] == "subagent_start");
    let end = position(&|frame| frame["type"] == "subagent_end");
    let of_one = |frame: &&Value| frame["subagentId"] == "One";
    assert_eq!(client.seen[start..end].iter().filter(of_one).count(), seen.len());
    assert_eq!(client.end().code, Some(0));
    // Hooks see each turn once: three of the session, two of One and one of Two.
    assert_eq!(std::fs::read_to_string(stage.path("turns")).unwrap().lines().count(), 6);
}

#[test]
fn a_printed_answer_is_that_after_the_last_child() {
    let slow = turn(
        "One",
        json!({"delayMs": 200,
        "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "from One"}}}]}),
    );
    let stage = scripted(&[
        starts("task", "One", true),
        turn("main", json!({"content": [{"text": "It works."}]})),
        hears("main", "from One", "It is done."),
        slow.clone(),
    ]);
    assert!(said(&stage, &[]).ends_with("It is done."));
    // The model may have nothing to say about it.
    let silent = [starts("task", "One", true), text("It works."), turn("main", json!({"content": []})), slow];
    assert_eq!(said(&scripted(&silent), &[]), "It works.");
}

#[test]
fn a_call_moves_to_the_background_while_it_runs() {
    let tasks = json!([{"id": "One", "assignment": "a"}, {"id": "Two", "assignment": "b"}]);
    let continues = json!({"expect": {"lastContains": "The user moved this call to the background. Still at work: Two"},
        "content": [{"text": "It works."}]});
    let stage = scripted(&[
        calls("main", "task", json!({"agent": "task", "tasks": tasks})),
        turn("main", continues),
        hears("main", "from Two", "It is done."),
        submits("One", "from One"),
        calls("Two", "bash", json!({"command": "touch ../ready; read -r line < ../go; echo x > made"})),
        submits("Two", "from Two"),
    ]);
    let go = stage.pipe("go");
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    client.first(|frame| frame["type"] == "subagent_end");
    stage.wait_for("ready");
    let refused =
        |client: &mut Client, child: &str| client.ask("subagent_background", json!({"child": child}))["error"].clone();
    assert_eq!(refused(&mut client, "One"), "subagent_background: One is completed already");
    let moved = client.data("subagent_background", json!({"child": "two"}));
    assert_eq!(moved, json!({"children": ["Two"]}));
    // The call returns at once, and the model continues.
    let end = client.first(|frame| frame["type"] == "tool_execution_end" && frame["toolName"] == "task");
    assert_eq!(end["result"]["details"]["results"][0]["output"], "from One");
    client.count("agent_end", 1);
    assert_eq!(refused(&mut client, "Two"), "subagent_background: Two works in the background already");
    std::fs::write(go, "on\n").unwrap();
    client.count("agent_settled", 1);
    let texts = |frame: &&Value| frame["type"] == "message_end" && frame["message"]["role"] == "assistant";
    let said: Vec<&Value> =
        client.seen.iter().filter(texts).map(|frame| &frame["message"]["content"][0]["text"]).collect();
    assert_eq!(said[1..], ["It works.", "It is done."]);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn an_abort_ends_a_call_that_was_moved_to_the_background() {
    let sleeps = calls("One", "bash", json!({"command": "echo $$ > ../pid.new; mv ../pid.new ../pid; sleep 1000"}));
    let stage = scripted(&[starts("task", "One", false), text("It works."), text("It is over."), sleeps]);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    stage.wait_for("pid");
    client.data("subagent_background", json!({"child": "One"}));
    client.count("agent_end", 1);
    client.ask("abort", json!({}));
    let end = client.first(|frame| frame["type"] == "subagent_end");
    assert_eq!(end["state"], "aborted");
    stage.wait_for_end_of("pid");
}

#[test]
fn an_abort_of_an_idle_session_ends_children_in_the_background() {
    let sleeps = calls("One", "bash", json!({"command": "echo $$ > ../pid.new; mv ../pid.new ../pid; sleep 1000"}));
    let stage = scripted(&[starts("task", "One", true), text("It works."), text("It is over."), sleeps]);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    client.count("agent_end", 1);
    stage.wait_for("pid");
    client.ask("abort", json!({}));
    let end = client.first(|frame| frame["type"] == "subagent_end");
    assert_eq!(end["state"], "aborted");
    stage.wait_for_end_of("pid");
}

#[test]
fn a_child_that_is_continued_knows_what_it_did() {
    let resumes = |id: &str| calls("main", "task", json!({"resume": id, "assignment": "go on"}));
    let stage = scripted(&[
        starts("task", "One", false),
        resumes("one"),
        resumes("Two"),
        turn(
            "main",
            json!({"expect": {"lastContains": "no subagent \"Two\" that can continue: One"},
            "content": [{"text": "Done."}]}),
        ),
        submits("One", "first"),
        turn(
            "One",
            json!({"expect": {"anyContains": "the work of One", "lastContains": "go on"},
            "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "second"}}}]}),
        ),
    ]);
    assert_eq!(said(&stage, &[]), "Done.");
    let of_user = |file: &PathBuf| !file.ends_with("One.jsonl");
    let said = messages(&stage.files().into_iter().find(of_user).unwrap());
    let results: Vec<String> = said.into_iter().map(|(_, text)| text).filter(|text| text.starts_with("## ")).collect();
    assert!(results.len() == 2 && results[0].contains("first") && results[1].contains("second"), "{results:?}");
}

#[test]
fn a_child_that_the_end_of_the_program_interrupted_can_be_continued() {
    let sleeps = calls("One", "bash", json!({"command": "touch ../ready; sleep 1000"}));
    let stage = scripted(&[starts("task", "One", true), text("It works."), sleeps]);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    client.count("agent_end", 1);
    stage.wait_for("ready");
    client.kill();
    let resumes = calls("main", "task", json!({"resume": "One", "assignment": "go on"}));
    let script = [
        json!({"type": "script", "version": 1}),
        turn(
            "main",
            json!({"expect": {"anyContains": "One (task): failed: interrupted"}, "content": resumes["content"]}),
        ),
        turn("main", json!({"expect": {"lastContains": "it is whole"}, "content": [{"text": "Done."}]})),
        turn(
            "One",
            json!({"expect": {"anyContains": "the work of One"},
            "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "it is whole"}}}]}),
        ),
    ];
    stage.write("project/script.jsonl", &script.map(|line| format!("{line}\n")).concat());
    let ran = stage.play(&["-p", "what now?", "-c"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "Done."), "{}", ran.stderr);
    assert!(ran.stderr.contains("Subagent One is failed: interrupted"), "{}", ran.stderr);
}

#[test]
fn a_child_of_a_child_does_not_wait_for_the_place_of_its_parent() {
    let nested = calls("One", "task", json!({"agent": "explore", "tasks": [{"id": "In", "assignment": "look"}]}));
    let turns = [
        starts("task", "One", false),
        text("Done."),
        nested,
        hears("One", "One.In (explore): completed", "It looked."),
        submits("One", "all"),
        submits("explore", "seen"),
    ];
    let stage = scripted(&turns);
    stage.write("home/agent/settings.json", r#"{"task": {"maxDepth": 2, "maxConcurrency": 1}}"#);
    assert_eq!(results(&stage)[0]["output"], "all");
    // The child of the child has no `task`.
    let deeper = calls("explore", "task", json!({"agent": "task", "tasks": [{"assignment": "x"}]}));
    let stage = scripted(&[&turns[..5], &[deeper, submits("explore", "seen")]].concat());
    stage.write("home/agent/settings.json", r#"{"task": {"maxDepth": 2, "maxConcurrency": 1}}"#);
    assert_eq!(results(&stage).len(), 1);
    let names: Vec<String> =
        stage.files().iter().map(|file| file.file_name().unwrap().to_string_lossy().into()).collect();
    assert!(
        names.contains(&"One.In.jsonl".to_string()) && !names.iter().any(|name| name.contains("Task")),
        "{names:?}"
    );
}

#[test]
fn an_agent_starts_only_the_agents_that_it_names() {
    let nested =
        |agent: &str| calls("One", "task", json!({"agent": agent, "tasks": [{"id": "In", "assignment": "look"}]}));
    let stage = scripted(&[
        starts("lead", "One", false),
        text("Done."),
        nested("task"),
        turn(
            "One",
            json!({"expect": {"lastContains": "agent lead cannot start task; its spawns: explore"},
            "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "no"}}}]}),
        ),
    ]);
    stage.write("home/agent/settings.json", r#"{"task": {"maxDepth": 3}}"#);
    stage.write("home/agent/agents/lead.md", "---\nname: lead\ndescription: leads\nspawns: explore\n---\nLead.\n");
    assert_eq!(results(&stage)[0]["output"], "no");
}

#[test]
fn a_session_can_be_an_agent() {
    let lead =
        "---\nname: lead\ndescription: leads\ntools: read, task\nspawns: explore\nmaxTurns: 3\n---\nLead them well.\n";
    let stage = scripted(&[
        turn(
            "main",
            json!({"expect": {"systemContains": "Lead them well.", "tools": ["read", "task", "submit_result"]},
            "content": [{"toolCall": {"name": "bash", "arguments": {"command": "touch made"}}}]}),
        ),
        starts("task", "One", false),
        turn(
            "main",
            json!({"expect": {"lastContains": "agent lead cannot start task; its spawns: explore"},
            "content": [{"text": "Done."}]}),
        ),
    ]);
    stage.write("home/agent/agents/lead.md", lead);
    assert_eq!(said(&stage, &["--agent", "lead"]), "Done.");
    assert!(!stage.path("project/made").exists());
    // A read-only agent has no tool that changes something.
    let stage = scripted(&[
        calls("main", "write", json!({"path": "made", "content": "x"})),
        calls("main", "bash", json!({"command": "touch made"})),
        calls("main", "task", json!({"agent": "task", "tasks": [{"assignment": "make it"}]})),
        text("Done."),
    ]);
    assert_eq!(said(&stage, &["--agent", "explore"]), "Done.");
    assert!(!stage.path("project/made").exists() && stage.files().len() == 1);
    for (name, reason) in [("nobody", "unknown agent \"nobody\"; known: explore"), ("fork", "cannot start a session")] {
        let ran = stage.play(&["-p", "go", "--agent", name]);
        assert!(ran.code == Some(2) && ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn an_agent_reads_its_skills_first() {
    let asks = |skills: Value| {
        let tasks = json!([{"id": "One", "assignment": "the work of One"}]);
        calls("main", "task", json!({"agent": "scribe", "tasks": tasks, "skills": skills}))
    };
    let reads = turn(
        "One",
        json!({"expect": {"anyContains": "Body of one."},
            "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "from One"}}}]}),
    );
    let stage = scripted(&[
        asks(json!(["three"])),
        hears("main", "agent scribe: unknown skill \"three\"; known: one, two", "I see."),
        asks(json!(["two", "one"])),
        text("It is done."),
        reads,
    ]);
    stage.write("project/.sinew/agents/scribe.md", "---\nname: scribe\ndescription: x\nskills: one\n---\n");
    for name in ["one", "two"] {
        let text = format!("---\nname: {name}\ndescription: x\n---\nBody of {name}.\n");
        stage.write(&format!("project/.sinew/skills/{name}/SKILL.md"), &text);
    }
    let mut client = Client::scripted(&stage, &["--trust"]);
    client.prompt("go");
    client.prompt("go again");
    let end = client.first(|frame| frame["type"] == "subagent_end");
    assert_eq!(end["state"], "completed");
    let folder = stage.files()[0].with_extension("agents");
    let saved = std::fs::read_to_string(folder.join("One.jsonl")).unwrap();
    let positions = ["Body of one.", "Body of two.", "the work of One"].map(|part| saved.find(part).unwrap());
    assert!(positions.is_sorted(), "{positions:?}");
    assert_eq!(saved.matches("Body of one.").count(), 1);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn a_fork_continues_the_conversation_and_asks_nobody() {
    let ask = json!({"questions": [{"question": "Which?", "options": [{"label": "x"}]}]});
    let stage = scripted(&[
        text("The word is heron."),
        starts("fork", "One", false),
        text("Done."),
        turn(
            "One",
            json!({"expect": {"anyContains": "The word is heron.", "lastContains": "You are now a subagent"},
            "content": [{"toolCall": {"name": "ask", "arguments": ask}}]}),
        ),
        turn(
            "One",
            json!({"expect": {"lastContains": "cannot use ask"},
            "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "heron"}}}]}),
        ),
    ]);
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("What is the word?");
    client.prompt("Let a fork say it.");
    assert_eq!(client.end().code, Some(0));
    let own = stage.files().into_iter().find(|file| file.ends_with("One.jsonl")).unwrap();
    assert!(messages(&own).iter().any(|(_, text)| text == "The word is heron."));
}

#[test]
fn the_requests_of_a_call_begin_alike() {
    let tasks = json!([{"assignment": "count the red files"}, {"assignment": "count the blue files"}]);
    let stage = Stage::scripted(&[
        json!({"type": "script", "version": 1, "record": "../requests", "cachesPrefixes": true}),
        text("hello"),
        calls("main", "task", json!({"agent": "explore", "tasks": tasks, "context": "The files have colours."})),
        text("Done."),
        submits("explore", "7"),
        submits("explore", "8"),
        starts("fork", "One", false),
        text("Done."),
        submits("One", "9"),
    ]);
    let mut client = Client::scripted(&stage, &[]);
    for prompt in ["one", "two", "three"] {
        client.prompt(prompt);
    }
    let recorded = std::fs::read_to_string(stage.path("requests")).unwrap();
    let without_time = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for message in line["request"]["messages"].as_array_mut().unwrap() {
            message.as_object_mut().unwrap().remove("timestamp");
        }
        let parts = ["tools", "system", "messages"].map(|part| line["request"][part].to_string());
        (line["lane"].as_str().unwrap().to_string(), parts)
    };
    let requests: Vec<(String, [String; 3])> = recorded.lines().map(without_time).collect();
    let of = |name: &str| {
        let own = requests.iter().filter(|(lane, _)| lane.starts_with(name));
        own.map(|(_, [tools, system, messages])| format!("{tools}{system}{messages}")).collect::<Vec<_>>()
    };
    let before = |text: &str| text.split_once("count the ").unwrap().0.to_string();
    let counted = of("explore");
    assert_eq!(before(&counted[0]), before(&counted[1]));
    assert!(before(&counted[0]).contains("The files have colours."));
    let (main, fork) = (of("main"), of("fork"));
    let open = main[main.len() - 2].strip_suffix(']').unwrap();
    assert!(fork[0].starts_with(open), "{open}\n{}", fork[0]);
}

#[test]
fn a_child_at_a_limit_is_asked_once_more_with_the_tools_refused() {
    let used = json!({"input": 4000, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 4010});
    let looks = turn("One", json!({"usage": used, "content": [{"toolCall": {"name": "ls", "arguments": {}}}]}));
    let more = turn(
        "One",
        json!({"usage": used, "expect": {"lastContains": "Your budget is spent."},
        "content": [{"toolCall": {"name": "ls", "arguments": {}}},
            {"toolCall": {"name": "submit_result", "arguments": {"result": "so far"}}}]}),
    );
    let stage = scripted(&[starts("task", "One", false), text("Done."), looks, more]);
    stage.write("home/agent/settings.json", r#"{"task": {"maxTokens": 4000}}"#);
    let result = &results(&stage)[0];
    assert_eq!((&result["state"], &result["limited"]), (&json!("completed"), &json!("tokens")), "{result}");
    let own = stage.files().into_iter().find(|file| file.ends_with("One.jsonl")).unwrap();
    assert!(messages(&own).iter().any(|(_, text)| text.contains("only submit_result can be called")));
}

#[test]
fn a_call_that_costs_too_much_starts_no_child() {
    let setup = json!({"type": "script", "version": 1, "cost": {"input": 1_000_000, "output": 0}});
    let stage = Stage::scripted(&[
        setup,
        starts("task", "One", false),
        turn("main", json!({"expect": {"lastContains": "(task.maxCost)"}, "content": [{"text": "Too dear."}]})),
    ]);
    stage.write("home/agent/settings.json", r#"{"task": {"maxCost": 0.5}}"#);
    assert_eq!(said(&stage, &[]), "Too dear.");
    assert!(!stage.files().iter().any(|file| file.ends_with("One.jsonl")));
}

#[test]
fn no_child_begins_once_the_cost_of_all_is_spent() {
    let stage = Stage::scripted(&[
        json!({"type": "script", "version": 1, "onExhausted": "error", "cost": {"input": 10, "output": 0}}),
        calls(
            "main",
            "task",
            json!({"agent": "task",
            "tasks": [{"id": "One", "assignment": "a"}, {"id": "Two", "assignment": "b"}]}),
        ),
        text("Done."),
        turn(
            "One",
            json!({"usage": {"input": 120_000, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0},
            "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "x"}}}]}),
        ),
    ]);
    stage.write("home/agent/settings.json", r#"{"task": {"maxCost": 1.0, "maxConcurrency": 1}}"#);
    let states: Vec<Value> = results(&stage).iter().map(|result| json!([result["state"], result["turns"]])).collect();
    assert_eq!(states, [json!(["completed", 1]), json!(["over_budget", 0])]);
}

#[test]
fn a_question_names_the_child_that_asks() {
    let stage = scripted(&[
        starts("task", "One", false),
        text("Done."),
        calls("One", "bash", json!({"command": "touch made"})),
        submits("One", "made"),
    ]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    let asked = client.event("extension_ui_request");
    assert_eq!(asked["subagent"], json!({"id": "One", "agent": "task", "description": "a test"}), "{asked}");
    let listed = client.ask("subagent_list", json!({}));
    assert_eq!(listed["data"]["subagents"][0]["state"], "asking", "{listed}");
    let state = client.ask("get_state", json!({}));
    assert_eq!(state["data"]["subagents"][0]["id"], "One", "{state}");
    client.send(&json!({"type": "extension_ui_response", "id": asked["id"], "confirmed": true}));
    client.count("agent_settled", 1);
    assert_eq!(client.ask("get_state", json!({}))["data"]["subagents"], json!([]));
    assert!(stage.path("project/made").exists());
    assert_eq!(client.end().code, Some(0));
}
