//! Subagents that work in a copy of the project.

use serde_json::{Value, json};

use crate::client::Client;
use crate::lanes::{calls, says, submits};
use crate::stage::{Stage, messages, text};

fn runs(lane: &str, command: &str) -> Value {
    calls(lane, "bash", json!({"command": command}))
}

/// A session that starts an isolated child `One` and then says `Done.`, with the answers of children.
fn isolated(children: &[Value]) -> Stage {
    let setup = json!({"type": "script", "version": 1, "onExhausted": "error"});
    let task = json!({"agent": "task", "tasks": [{"id": "One", "assignment": "go"}], "isolated": true});
    let stage = Stage::scripted(&[&[setup, calls("main", "task", task), text("Done.")], children].concat());
    stage.write("project/a.txt", "one\ntwo\nthree\n");
    stage
}

/// The result of the child, after a run that ends well.
#[track_caller]
fn result(stage: &Stage) -> Value {
    let ran = stage.play(&["--mode", "json", "-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut events = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = events.find(|event| event["result"]["details"]["results"][0]["id"] == "One");
    found.unwrap_or_else(|| panic!("{}", ran.stdout))["result"]["details"]["results"][0].clone()
}

/// The results of the tools of the child.
fn told(stage: &Stage) -> Vec<String> {
    let own = stage.files().into_iter().find(|file| file.ends_with("One.jsonl")).unwrap();
    messages(&own).into_iter().filter(|(role, _)| role == "toolResult").map(|(_, text)| text).collect()
}

fn read(stage: &Stage, name: &str) -> String {
    std::fs::read_to_string(stage.path(name)).unwrap()
}

#[test]
fn changes_are_merged_at_the_end_and_not_before() {
    let look =
        "sed -i s/two/TWO/ a.txt; echo x > made; cat \"$PROJECT/a.txt\"; ls \"$PROJECT\"; echo y >> \"$PROJECT/a.txt\"";
    let stage = isolated(&[
        runs("One", look),
        calls("One", "write", json!({"path": "written", "content": "z"})),
        submits("One", "it is done"),
    ]);
    let project = stage.project().canonicalize().unwrap();
    stage.write("home/agent/.env", &format!("PROJECT={}\n", project.display()));
    let script = read(&stage, "project/script.jsonl").replace("$PROJECT", &project.to_string_lossy());
    stage.write("project/script.jsonl", &script);
    let result = result(&stage);
    assert_eq!(result["state"], "completed", "{result}");
    let files: Vec<Value> = result["changes"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| json!([file["path"], file["outcome"]]))
        .collect();
    assert_eq!(files, [json!(["a.txt", "replaced"]), json!(["made", "created"]), json!(["written", "created"])]);
    assert_eq!(
        (read(&stage, "project/a.txt").as_str(), read(&stage, "project/written").as_str()),
        ("one\nTWO\nthree\n", "z")
    );
    // While it worked, the project was unchanged, and programs could not write to it.
    let told = told(&stage);
    assert!(told[0].contains("one\ntwo\nthree\n") && !told[0].contains("made\n"), "{told:?}");
    if cfg!(target_os = "linux") {
        assert!(told[0].contains("Read-only file system") || told[0].contains("denied"), "{told:?}");
    }
    // No copy is left.
    let left = std::fs::read_dir(stage.path("home/isolated")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
#[cfg(target_os = "linux")]
fn programs_can_write_to_the_copy_only() {
    for setting in [json!({}), json!({"sandbox": {"mode": "rules"}}), json!({"sandbox": {"mode": "off"}})] {
        let outside = crate::sandbox::elsewhere();
        let file = outside.path().join("made");
        let path = file.display();
        let stage = isolated(&[
            runs("One", &format!("echo x > {path}; echo y > inside")),
            runs("One", &format!("python3 -c \"open('{path}', 'w')\"")),
            calls("One", "write", json!({"path": file, "content": "x"})),
            submits("One", "tried"),
        ]);
        stage.write("home/agent/settings.json", &setting.to_string());
        let result = result(&stage);
        assert_eq!(result["state"], "completed", "{setting}: {result}");
        assert!(!file.exists(), "{setting}: {:?}", told(&stage));
        assert_eq!(read(&stage, "project/inside"), "y\n", "{setting}");
    }
}

#[test]
fn rules_about_the_project_hold_in_the_copy() {
    let stage = isolated(&[
        calls("One", "read", json!({"path": "secret.txt"})),
        runs("One", "cat secret.txt"),
        runs("One", "cat $PWD/secret.txt"),
        runs("One", "mkdir -p deep && cd deep && cat ../secret.txt"),
        runs("One", "cat ../secret.txt"),
        calls("One", "write", json!({"path": "src/made", "content": "x"})),
        runs("One", "cd .. && mkdir -p src && echo x > src/made"),
        runs("One", "ln -s secret.txt other; cat other; cp other out"),
        calls("One", "read", json!({"path": "other"})),
        submits("One", "tried"),
    ]);
    stage.write("project/secret.txt", "the treasure\n");
    let project = stage.project().canonicalize().unwrap().display().to_string();
    let deny = json!(["read(secret.txt)", format!("write({project}/src/**)")]);
    stage.write("home/agent/settings.json", &json!({"permissions": {"deny": deny}}).to_string());
    let result = result(&stage);
    assert_eq!(result["state"], "completed", "{result}");
    let told = told(&stage);
    assert!(told.iter().all(|text| !text.contains("treasure")), "{told:?}");
    assert!(!stage.path("project/src/made").exists(), "{result}");
    assert!(!std::fs::read_to_string(stage.path("project/out")).is_ok_and(|text| text.contains("treasure")));
}

#[test]
fn the_changes_of_a_child_that_failed_wait_for_the_user() {
    let hm = || says("One", "hm");
    let stage = isolated(&[runs("One", "echo x > made"), hm(), hm(), hm(), hm()]);
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("go");
    assert!(!stage.path("project/made").exists());
    let ended = client.first(|frame| frame["result"]["details"]["results"][0]["id"] == "One");
    let told = ended["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("Not applied: made (waiting)") && told.contains("/tasks apply One"), "{told}");
    let missing = client.fails("subagent_apply", json!({"child": "Two"}));
    assert!(missing.contains("no copy with changes"), "{missing}");
    client.data("subagent_apply", json!({"child": "one"}));
    assert_eq!(read(&stage, "project/made"), "x\n");
    let gone = client.fails("subagent_drop", json!({"child": "One"}));
    assert!(gone.contains("no copy with changes"), "{gone}");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn a_copy_that_a_killed_program_left_is_reported_once() {
    let stage = isolated(&[runs("One", "echo x > made; touch $READY; sleep 1000")]);
    let ready = stage.path("ready");
    let script = read(&stage, "project/script.jsonl").replace("$READY", &ready.to_string_lossy());
    stage.write("project/script.jsonl", &script);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    stage.wait_for("ready");
    client.kill();
    stage.write("project/script.jsonl", &format!("{}\n", text("Hello.")));
    let starts = [0, 1].map(|_| stage.play(&["-p", "hi", "-c"]).stderr);
    assert!(starts[0].contains("merge them with /tasks apply One"), "{starts:?}");
    assert!(!starts[1].contains("/tasks apply"), "{starts:?}");
    assert!(!stage.path("project/made").exists());
    assert!(stage.play(&["-p", "/tasks apply One", "-c"]).stdout.contains("1 files merged"));
    assert_eq!(read(&stage, "project/made"), "x\n");
}

#[test]
fn a_conflict_leaves_the_project_and_keeps_the_copy() {
    let stage = isolated(&[
        runs("One", "sed -i s/two/THEIRS/ a.txt; echo x > made; touch $READY; read -r line < $GO"),
        submits("One", "done"),
    ]);
    let go = stage.pipe("go");
    let script = read(&stage, "project/script.jsonl");
    let script = script.replace("$READY", &stage.path("ready").to_string_lossy()).replace("$GO", &go.to_string_lossy());
    stage.write("project/script.jsonl", &script);
    let mut client = Client::scripted(&stage, &[]);
    client.ask("prompt", json!({"message": "go"}));
    stage.wait_for("ready");
    stage.write("project/a.txt", "one\nMINE\nthree\n");
    std::fs::write(go, "on\n").unwrap();
    client.count("agent_settled", 1);
    let ended = client.first(|frame| frame["result"]["details"]["results"][0]["id"] == "One");
    let result = &ended["result"]["details"]["results"][0];
    assert_eq!(
        (&result["state"], &result["changes"]["files"][0]["outcome"]),
        (&json!("completed"), &json!("conflict"))
    );
    assert_eq!(
        (read(&stage, "project/a.txt").as_str(), read(&stage, "project/made").as_str()),
        ("one\nMINE\nthree\n", "x\n")
    );
    let copy = std::path::PathBuf::from(result["changes"]["view"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(copy.join("a.txt")).unwrap(), "one\nTHEIRS\nthree\n");
    client.data("subagent_drop", json!({"child": "One"}));
    assert!(!copy.exists());
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn a_child_of_an_isolated_child_works_in_its_copy() {
    let stage = isolated(&[
        calls("One", "task", json!({"agent": "scribe", "tasks": [{"id": "In", "assignment": "write"}]})),
        runs("One", "cat made && rm made"),
        submits("One", "done"),
        calls("scribe", "write", json!({"path": "made", "content": "from In"})),
        submits("scribe", "written"),
    ]);
    stage.write("home/agent/settings.json", r#"{"task": {"maxDepth": 2}}"#);
    stage.write("home/agent/agents/scribe.md", "---\nname: scribe\ndescription: writes\ntools: write\n---\nWrite.\n");
    let result = result(&stage);
    assert_eq!((&result["state"], &result["changes"]["files"]), (&json!("completed"), &json!([])), "{result}");
    assert!(told(&stage)[1].contains("from In") && !stage.path("project/made").exists());
}
