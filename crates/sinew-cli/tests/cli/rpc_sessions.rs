//! RPC mode: switching sessions, and moving in the tree of a session.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{Stage, call, messages, text};

fn repeating() -> Stage {
    Stage::scripted(&[json!({"type": "script", "version": 1, "onExhausted": "repeat"}), text("answer")])
}

fn file(client: &mut Client) -> PathBuf {
    PathBuf::from(client.data("get_state", json!({}))["sessionFile"].as_str().unwrap())
}

fn texts(client: &mut Client) -> Vec<String> {
    let list = client.data("get_messages", json!({}));
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_string(),
    };
    list["messages"].as_array().unwrap().iter().map(text).collect()
}

fn entry(client: &mut Client, said: &str) -> Value {
    let points = client.data("get_branch_messages", json!({}));
    let point = points["messages"].as_array().unwrap().iter().find(|point| point["text"] == said).unwrap();
    point["entryId"].clone()
}

fn header(file: &PathBuf) -> Value {
    let text = std::fs::read_to_string(file).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[test]
fn a_new_session_is_empty_and_the_old_one_can_be_loaded() {
    let stage = repeating();
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("first");
    let first = file(&mut client);
    client.data("new_session", json!({"parentSession": first}));
    assert_eq!((texts(&mut client).len(), file(&mut client) == first), (0, false));
    client.prompt("second");
    let second = file(&mut client);
    assert_eq!(header(&second)["parentSession"], header(&first)["id"]);
    // Switches to itself, to the other one by path and by id, and back.
    client.data("switch_session", json!({"sessionPath": second}));
    assert_eq!(texts(&mut client), ["second", "answer"]);
    client.data("switch_session", json!({"sessionPath": first}));
    assert_eq!(texts(&mut client), ["first", "answer"]);
    client.prompt("third");
    client.data("switch_session", json!({"sessionPath": header(&second)["id"]}));
    client.prompt("fourth");
    let listed = client.data("list_sessions", json!({}));
    let titles: Vec<&str> =
        listed["sessions"].as_array().unwrap().iter().map(|session| session["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["second", "first"]);
    assert_eq!(client.end().code, Some(0));
    let said = |file| messages(file).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(said(&first), ["first", "answer", "third", "answer"]);
    assert_eq!(said(&second), ["second", "answer", "fourth", "answer"]);
    // Both files are unlocked now.
    assert_eq!(stage.play(&["-p", "--session", first.to_str().unwrap(), "go"]).code, Some(0));
}

#[test]
fn a_branch_ends_before_its_message_and_a_fork_copies_everything() {
    let stage = repeating();
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("one");
    client.prompt("two");
    let whole = file(&mut client);
    let two = entry(&mut client, "two");
    let branched = client.data("branch", json!({"entryId": two}));
    assert_eq!(branched, json!({"text": "two", "cancelled": false}));
    assert_eq!(texts(&mut client), ["one", "answer"]);
    let branch = file(&mut client);
    assert_eq!(header(&branch)["parentSession"], header(&whole)["id"]);
    client.prompt("other");
    let forked = client.data("fork", json!({}));
    let fork = file(&mut client);
    assert_eq!(forked, json!({"sessionFile": fork, "cancelled": false}));
    assert_eq!(texts(&mut client), ["one", "answer", "other", "answer"]);
    client.prompt("more");
    assert_eq!(client.end().code, Some(0));
    let count = |file| messages(file).len();
    assert_eq!((count(&whole), count(&branch), count(&fork)), (4, 4, 6));
}

#[test]
fn a_fork_ends_before_its_entry_and_a_clone_at_the_current_one() {
    for flags in [&[][..], &["--no-session"]] {
        let stage = repeating();
        let mut client = Client::scripted(&stage, flags);
        client.prompt("one");
        client.prompt("two");
        client.data("set_session_name", json!({"name": "kept"}));
        let points = client.data("get_fork_messages", json!({}))["messages"].clone();
        assert_eq!((&points[0]["text"], &points[1]["text"]), (&json!("one"), &json!("two")));
        let id = client.data("get_state", json!({}))["sessionId"].clone();
        let answer = client.data("get_state", json!({}))["sessionFile"].clone();
        let forked = client.data("fork", json!({"entryId": points[1]["entryId"]}));
        assert_eq!(forked, json!({"text": "two", "cancelled": false}));
        assert_eq!(texts(&mut client), ["one", "answer"]);
        client.prompt("other");
        let clone = client.data("clone", json!({}));
        assert_eq!(clone, json!({"cancelled": false}));
        assert_eq!(texts(&mut client), ["one", "answer", "other", "answer"]);
        let state = client.data("get_state", json!({}));
        assert_eq!((state["sessionId"] != id, &state["sessionName"]), (true, &json!("kept")), "{flags:?}");
        assert_eq!(state["sessionFile"].is_null(), answer.is_null());
        // A branch before the first message is empty.
        let points = client.data("get_fork_messages", json!({}))["messages"].clone();
        client.data("fork", json!({"entryId": points[0]["entryId"]}));
        assert_eq!(texts(&mut client).len(), 0);
        for entry in [json!("none"), points[0]["entryId"].clone()] {
            assert!(client.fails("fork", json!({"entryId": entry})).contains("no entry"), "{flags:?}");
        }
        assert_eq!(client.end().code, Some(0));
        assert_eq!(stage.files().is_empty(), answer.is_null());
        if let Some(whole) = answer.as_str() {
            assert_eq!(messages(Path::new(whole)).len(), 4);
        }
    }
}

#[test]
fn cleared_queue_messages_are_returned_and_not_sent() {
    let sleep = json!({"command": "touch begun; sleep 1000"});
    let stage = Stage::scripted(&[call("A", "bash", sleep), text("B")]);
    let mut client = Client::scripted(&stage, &[]);
    // Otherwise a steered message would abort the command and be delivered at once.
    client.data("set_interrupt_mode", json!({"mode": "wait"}));
    client.data("prompt", json!({"message": "one"}));
    stage.wait_for("project/begun");
    client.data("follow_up", json!({"message": "later"}));
    client.data("steer", json!({"message": "now"}));
    client.data("follow_up", json!({"message": "last"}));
    assert_eq!(client.data("get_state", json!({}))["pendingMessageCount"], 3);
    let given = client.data("clear_queue", json!({}));
    assert_eq!(given, json!({"steering": ["now"], "followUp": ["later", "last"]}));
    assert_eq!(client.data("clear_queue", json!({})), json!({"steering": [], "followUp": []}));
    client.data("abort", json!({}));
    assert_eq!(client.data("get_state", json!({}))["pendingMessageCount"], 0);
    assert_eq!(texts(&mut client).iter().filter(|text| ["now", "later", "last"].contains(&text.as_str())).count(), 0);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn the_tree_shows_every_branch_and_can_be_walked() {
    let stage = repeating();
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("one");
    client.prompt("two");
    let two = entry(&mut client, "two");
    let moved = client.data("navigate_tree", json!({"targetId": two}));
    assert_eq!(moved, json!({"cancelled": false, "aborted": false, "editorText": "two"}));
    client.prompt("three");
    assert_eq!(texts(&mut client), ["one", "answer", "three", "answer"]);
    let tree = client.data("get_tree", json!({}));
    let children = |node: &Value| node["children"].as_array().unwrap().clone();
    let [mut node] = <[Value; 1]>::try_from(tree["tree"].as_array().unwrap().clone()).unwrap();
    while let [only] = &children(&node)[..] {
        node = only.clone();
    }
    let branches = children(&node);
    let said: Vec<&Value> = branches.iter().map(|node| &node["entry"]["message"]["content"]).collect();
    assert_eq!(said, ["two", "three"]);
    assert_eq!(children(&branches[1])[0]["entry"]["id"], tree["leafId"]);
    let before = client.data("get_entries", json!({}));
    let last = before["entries"].as_array().unwrap().last().unwrap()["id"].clone();
    assert_eq!(last, before["leafId"]);
    let summed = client.data("navigate_tree", json!({"targetId": two, "summarize": true}));
    assert_eq!(summed["editorText"], "two");
    let since = client.data("get_entries", json!({"since": last}));
    let [summary] = &since["entries"].as_array().unwrap()[..] else { panic!("{since}") };
    assert_eq!((&summary["type"], &summary["id"]), (&json!("branch_summary"), &since["leafId"]));
    assert_eq!(client.fails("get_entries", json!({"since": "none"})), "Entry not found: none");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn a_failed_load_keeps_the_current_session() {
    let stage = repeating();
    let other = Stage::scripted(&[json!({"type": "fault", "kind": "idle"})]);
    let mut holder = Client::scripted(&other, &["--session", "held.jsonl"]);
    holder.data("prompt", json!({"message": "mine"}));
    holder.event("turn_start");
    let held = other.project().join("held.jsonl");
    stage.write("project/foreign.jsonl", "no session\n");
    stage.write("project/empty.jsonl", "");
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("first");
    let first = file(&mut client);
    let told = client.fails("switch_session", json!({"sessionPath": held}));
    assert!(told.contains(&format!("in use by process {}", holder.child.id())), "{told}");
    let told = client.fails("switch_session", json!({"sessionPath": "foreign.jsonl"}));
    assert!(told.contains("is not a session file"), "{told}");
    assert!(client.fails("switch_session", json!({"sessionPath": stage.project()})).contains("is not a session file"));
    assert_eq!(std::fs::read_to_string(stage.path("project/foreign.jsonl")).unwrap(), "no session\n");
    assert_eq!(file(&mut client), first);
    client.prompt("second");
    assert_eq!(texts(&mut client), ["first", "answer", "second", "answer"]);
    assert_eq!(client.end().code, Some(0));
    assert_eq!(messages(&first).len(), 4);
    assert_eq!(holder.end().code, Some(0));
}

#[test]
fn switching_sessions_ends_the_run_and_clears_the_queue() {
    let sleep = json!({"command": "touch begun; sleep 1000"});
    let stage = Stage::scripted(&[call("A", "bash", sleep), text("B")]);
    let mut client = Client::scripted(&stage, &[]);
    client.data("prompt", json!({"message": "one"}));
    stage.wait_for("project/begun");
    let old = file(&mut client);
    let command = client.begin("bash", json!({"command": "echo never"}));
    client.data("follow_up", json!({"message": "later"}));
    assert!(client.fails("fork", json!({})).contains("already processing"));
    client.data("new_session", json!({}));
    let answered = client.seen.iter().find(|frame| frame["id"] == command).unwrap();
    assert_eq!(answered["data"]["cancelled"], true);
    assert_eq!(client.seen.iter().filter(|frame| frame["type"] == "agent_end").count(), 1);
    let state = client.data("get_state", json!({}));
    assert_eq!((&state["isStreaming"], &state["queuedMessageCount"]), (&json!(false), &json!(0)));
    client.prompt("two");
    assert_eq!(texts(&mut client), ["two", "B"]);
    assert_eq!(client.end().code, Some(0));
    assert_eq!(messages(&old)[0].1, "one");
}

#[test]
fn a_switch_that_changes_nothing_does_not_stop_the_run() {
    let sleep = json!({"command": "touch begun; until [ -e go ]; do sleep 0.01; done; echo whole"});
    let stage = Stage::scripted(&[call("A", "bash", sleep), text("B")]);
    let other = Stage::scripted(&[json!({"type": "fault", "kind": "idle"})]);
    let mut holder = Client::scripted(&other, &["--session", "held.jsonl"]);
    holder.data("prompt", json!({"message": "mine"}));
    holder.event("turn_start");
    let held = other.project().join("held.jsonl");
    let mut client = Client::scripted(&stage, &[]);
    client.data("prompt", json!({"message": "one"}));
    stage.wait_for("project/begun");
    let own = file(&mut client);
    let told = client.fails("switch_session", json!({"sessionPath": held}));
    assert!(told.contains("in use by process"), "{told}");
    client.data("switch_session", json!({"sessionPath": own}));
    let warned =
        client.seen.iter().filter(|frame| frame["type"] == "warning").map(|frame| frame["message"].to_string());
    assert!(warned.collect::<String>().contains("already the current one"));
    stage.write("project/go", "");
    client.event("agent_end");
    assert_eq!(
        (texts(&mut client), file(&mut client)),
        (vec!["one".into(), "A".into(), "whole".into(), "B".into()], own)
    );
    assert_eq!(client.end().code, Some(0));
    assert_eq!(holder.end().code, Some(0));
}

#[test]
fn an_in_memory_session_writes_no_file() {
    let stage = repeating();
    let mut client = Client::scripted(&stage, &["--no-session"]);
    client.prompt("one");
    assert_eq!(client.data("get_state", json!({}))["sessionFile"], Value::Null);
    assert!(client.fails("fork", json!({})).contains("cannot fork an in-memory session"));
    assert_eq!(client.fails("export_html", json!({})), "Cannot export in-memory session to HTML");
    client.data("new_session", json!({}));
    assert_eq!(texts(&mut client).len(), 0);
    client.prompt("two");
    assert_eq!(client.end().code, Some(0));
    assert!(stage.files().is_empty());
}

#[test]
fn secrets_stay_out_of_every_session() {
    let stage = Stage::scripted(&[
        json!({"type": "script", "version": 1, "onExhausted": "repeat"}),
        text("the value is value-of-a-key-0123"),
    ]);
    let mut command = stage.command(&["--mode", "rpc", "--script", "script.jsonl"]);
    command.env("OPENAI_API_KEY", "value-of-a-key-0123");
    let mut client = Client::of(command);
    client.prompt("one value-of-a-key-0123");
    client.data("new_session", json!({}));
    client.prompt("two value-of-a-key-0123");
    let said = texts(&mut client)[0].clone();
    let said = entry(&mut client, &said);
    client.data("fork", json!({}));
    client.data("branch", json!({"entryId": said}));
    client.prompt("three value-of-a-key-0123");
    let page = client.data("export_html", json!({}))["path"].as_str().unwrap().to_string();
    assert_eq!(client.end().code, Some(0));
    let files = stage.files();
    assert_eq!(files.len(), 4, "{files:?}");
    for file in files.iter().chain([&PathBuf::from(page)]) {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(!text.contains("value-of-a-key"), "{file:?}: {text}");
    }
}

#[test]
fn titles_are_generated_on_request() {
    let title = json!({"type": "turn", "lane": "title", "content": [{"text": "A Title"}]});
    let stage = Stage::scripted(&[title, text("answer"), text("more")]);
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("one");
    assert_eq!(client.data("get_state", json!({}))["sessionName"], Value::Null);
    assert_eq!(client.end().code, Some(0));
    let mut command = stage.command(&["--mode", "rpc", "--script", "script.jsonl"]);
    command.env("SINEW_RPC_EMIT_TITLE", "1");
    let mut client = Client::of(command);
    client.data("prompt", json!({"message": "one"}));
    let told = client.event("extension_ui_request");
    assert_eq!((&told["method"], &told["title"]), (&json!("setTitle"), &json!("A Title")));
    assert_eq!(client.data("get_state", json!({}))["sessionName"], "A Title");
    assert_eq!(client.end().code, Some(0));
}
