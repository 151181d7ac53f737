//! Tests that pi can read Sinew's files, that Sinew can read pi's, and what clients that support pi are shown.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sinew_llm::message::{AgentMessage, FileMention, ImageBlock, MentionedFile};

use super::tests::{lines, new_session, options, texts, user};
use super::*;

/// Creates a file as pi writes it, with the given entries.
fn written_by_pi(folder: &Path, entries: &[Value]) -> Session {
    let header = json!({"type": "session", "version": 3, "id": "6f0c-uuid", "timestamp": "2026-01-31T09:30:00.000Z", "cwd": "/p"});
    let text: String = std::iter::once(&header).chain(entries).map(|line| format!("{line}\n")).collect();
    let path = folder.join("pi.jsonl");
    fs::write(&path, text).unwrap();
    Session::open(&path, options(folder)).unwrap().session
}

fn entry(kind: &str, id: &str, parent: Option<&str>, mut fields: Value) -> Value {
    let mut entry = json!({"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-31T09:30:00.000Z"});
    entry.as_object_mut().unwrap().append(fields.as_object_mut().unwrap());
    entry
}

fn said(id: &str, parent: Option<&str>, text: &str) -> Value {
    entry("message", id, parent, json!({"message": {"role": "user", "content": text, "timestamp": 1}}))
}

#[test]
fn titles_are_read_and_written_under_both_names() {
    #[track_caller]
    fn check(fields: Value, expect: Option<&str>, listed: &str) {
        let folder = tempfile::tempdir().unwrap();
        let first = said("aaaaaaaa", None, "first words");
        let older = entry("session_info", "bbbbbbbb", Some("aaaaaaaa"), json!({"name": "older"}));
        let newer = entry("session_info", "cccccccc", Some("bbbbbbbb"), fields);
        let session = written_by_pi(folder.path(), &[first, older, newer]);
        assert_eq!(session.title().as_deref(), expect);
        drop(session);
        assert_eq!(list(folder.path(), Scope::All)[0].title, listed);
    }
    check(json!({"name": "Of pi"}), Some("Of pi"), "Of pi");
    check(json!({"title": "Ours"}), Some("Ours"), "Ours");
    check(json!({"title": "Ours", "name": "Ours"}), Some("Ours"), "Ours");
    check(json!({"name": ""}), None, "first words");
    check(json!({}), None, "first words");
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("one")).unwrap();
    session.append(Body::SessionInfo { title: "T".into(), name: None, title_source: Some("user".into()) }).unwrap();
    let line = &lines(&path)[2];
    assert_eq!((&line["name"], &line["title"], &line["titleSource"]), (&json!("T"), &json!("T"), &json!("user")));
    // A copy of a part has the title as an entry too, because pi does not read the header's.
    let leaf = session.leaf().unwrap();
    let copy = session.path_to_file(PathEnd::At(leaf), folder.path(), Path::new("/p")).unwrap();
    let last = lines(&copy).pop().unwrap();
    assert_eq!((&last["type"], &last["name"]), (&json!("session_info"), &json!("T")));
}

#[test]
fn models_are_read_and_written_under_both_names() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = entry("model_change", "aaaaaaaa", None, json!({"provider": "p", "modelId": "a/b"}));
    let session = written_by_pi(folder.path(), &[theirs, said("bbbbbbbb", Some("aaaaaaaa"), "hi")]);
    assert_eq!(session.context(&Defaults::default()).unwrap().models["default"], "p/a/b");
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("one")).unwrap();
    let change = |model: &str, role: Option<&str>| Body::ModelChange {
        model: model.into(),
        role: role.map(str::to_string),
        provider: None,
        model_id: None,
    };
    session.append(change("p/a/b", None)).unwrap();
    session.append(change("p/fast", Some("fast"))).unwrap();
    let lines = lines(&path);
    assert_eq!((&lines[2]["provider"], &lines[2]["modelId"]), (&json!("p"), &json!("a/b")));
    // pi only has one model, so the model of a role is not written for it.
    assert_eq!(lines[3].get("provider"), None);
}

fn mention() -> FileMention {
    let file = |path: &str, content: &str, image: Option<&str>| MentionedFile {
        path: path.into(),
        content: content.into(),
        line_count: content.lines().count() as u64,
        image: image.map(|data| ImageBlock { data: data.into(), mime_type: "image/png".into() }),
    };
    FileMention {
        files: vec![
            file("src/a.rs", "fn a() {}\n</file>\n", None),
            file("b \"c\".png", "", Some("AAAA")),
            file("empty", "", None),
        ],
        timestamp: 0,
    }
}

#[test]
fn mentioned_files_are_messages_in_pi_and_mentions_here() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("begin")).unwrap();
    let mut message = AgentMessage::FileMention(mention());
    session.append_message(&mut message).unwrap();
    let line = &lines(&path)[2];
    assert_eq!((&line["type"], &line["customType"]), (&json!("custom_message"), &json!("fileMention")));
    let texts: Vec<&Value> = line["content"].as_array().unwrap().iter().map(|block| &block["text"]).collect();
    assert_eq!(texts[0], "<file path=\"src/a.rs\">\nfn a() {}\n</file>\n\n</file>");
    assert_eq!((line["content"][2]["type"].as_str(), texts.len()), (Some("image"), 4));
    drop(session);
    let session = Session::open(&path, options(folder.path())).unwrap().session;
    let AgentMessage::FileMention(read) = &session.context(&Defaults::default()).unwrap().messages[1] else {
        panic!("no mention");
    };
    assert_eq!(read.files, mention().files);
}

#[test]
fn a_mention_of_an_older_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let files = json!([{"path": "a", "content": "b", "lineCount": 1}]);
    let message = json!({"role": "fileMention", "files": files, "timestamp": 1});
    let older = entry("message", "aaaaaaaa", None, json!({"message": message}));
    let session = written_by_pi(folder.path(), &[older]);
    let AgentMessage::FileMention(read) = &session.context(&Defaults::default()).unwrap().messages[0] else {
        panic!("no mention");
    };
    assert_eq!((read.files[0].path.as_str(), read.files[0].content.as_str()), ("a", "b"));
}

#[test]
fn entries_serialize_like_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = entry("usage", "bbbbbbbb", Some("aaaaaaaa"), json!({"kind": "cache_warm", "cost": 0.1}));
    let summed = json!({"summary": "s", "firstKeptEntryId": "aaaaaaaa", "tokensBefore": 7, "usage": {"input": 3}});
    let entries = [
        said("aaaaaaaa", None, "one"),
        foreign,
        entry("compaction", "cccccccc", Some("bbbbbbbb"), summed),
        said("dddddddd", Some("cccccccc"), "two"),
    ];
    let session = written_by_pi(folder.path(), &entries);
    let shown = |since| serde_json::from_str::<Vec<Value>>(&session.entries_json(since).unwrap()).unwrap();
    assert_eq!(shown(None), entries);
    assert_eq!(shown(Some("bbbbbbbb")), entries[2..]);
    assert_eq!(shown(Some("dddddddd")), Vec::<Value>::new());
    assert_eq!(session.entries_json(Some("eeeeeeee")).unwrap_err().to_string(), "Entry not found: eeeeeeee");
}

#[test]
fn the_tree_nests_children_and_shows_labels_with_their_entries() {
    let folder = tempfile::tempdir().unwrap();
    let label = |id: &str, target: &str, label: Option<&str>| {
        entry("label", id, Some("dddddddd"), json!({"targetId": target, "label": label}))
    };
    let entries = [
        said("aaaaaaaa", None, "one"),
        said("bbbbbbbb", Some("aaaaaaaa"), "two"),
        said("cccccccc", Some("aaaaaaaa"), "other"),
        said("dddddddd", Some("cccccccc"), "more"),
        said("eeeeeeee", Some("gone"), "an orphan"),
        label("ffffffff", "bbbbbbbb", Some("mark")),
        label("11111111", "cccccccc", Some("taken away")),
        label("22222222", "cccccccc", None),
    ];
    let session = written_by_pi(folder.path(), &entries);
    let shown: Value = serde_json::from_str(&session.tree_json().unwrap()).unwrap();
    let node = |at: usize, children: Value| json!({"entry": entries[at], "children": children});
    let mut labelled = node(1, json!([]));
    labelled["label"] = json!("mark");
    labelled["labelTimestamp"] = entries[5]["timestamp"].clone();
    let leaves: Vec<Value> = (5..8).map(|at| node(at, json!([]))).collect();
    let one = node(0, json!([labelled, node(2, json!([node(3, json!(leaves))]))]));
    assert_eq!(shown, json!([one, node(4, json!([]))]));
}

#[test]
fn a_tree_can_have_any_depth() {
    const DEPTH: usize = 30_000;
    let folder = tempfile::tempdir().unwrap();
    let id = |at: usize| format!("{at:08x}");
    let entries: Vec<Value> =
        (0..DEPTH).map(|at| said(&id(at), at.checked_sub(1).map(id).as_deref(), "deep")).collect();
    let session = written_by_pi(folder.path(), &entries);
    let text = session.tree_json().unwrap();
    assert_eq!(text.matches("{\"entry\":").count(), DEPTH);
    assert!(text.ends_with(&format!("{}]", "]}".repeat(DEPTH))));
}

#[test]
fn an_in_memory_copy_has_the_path_its_labels_and_the_title() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::in_memory(options(folder.path()));
    let first = session.append(user("first")).unwrap();
    let second = session.append(user("second")).unwrap();
    session.append(Body::Label { target_id: first.clone(), label: Some("start".into()) }).unwrap();
    session.append(Body::Label { target_id: second.clone(), label: Some("end".into()) }).unwrap();
    session.append(Body::SessionInfo { title: "T".into(), name: None, title_source: None }).unwrap();
    let mut copy = session.path_in_memory(PathEnd::Before(&second)).unwrap();
    assert_eq!((texts(&copy), copy.len(), copy.title().as_deref()), (vec!["first".to_string()], 3, Some("T")));
    assert_eq!(copy.header().parent_session.as_deref(), Some(session.id()));
    copy.append(user("third")).unwrap();
    assert_eq!((texts(&copy).join(" "), texts(&session).join(" ")), ("first third".into(), "first second".into()));
    let whole = session.path_in_memory(PathEnd::At(&second)).unwrap();
    assert_eq!((texts(&whole).len(), whole.len()), (2, 5));
    assert!(session.path_in_memory(PathEnd::At("nowhere")).is_err());
}

/// pi cuts texts by UTF-16 units and writes the remaining half as an escape.
#[test]
fn lone_surrogates_in_pi_files_lose_no_entry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pi.jsonl");
    let call = r#"{"role":"assistant","content":[{"type":"text","text":"Look: \ud83d"},{"type":"toolCall","id":"c","name":"ls","arguments":{"pa\ude00th":"\ud83d\ude00\ud83d"}}]}"#;
    let head = |kind: &str, id: &str, parent: &str| {
        format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2026-01-31T09:30:00.000Z""#)
    };
    let text = [
        r#"{"type":"session","version":3,"id":"6f0c-uuid","timestamp":"2026-01-31T09:30:00.000Z","cwd":"/p\ud83d"}"#
            .to_string(),
        head("message", "aaaaaaaa", "null") + r#","message":{"role":"user","content":"one \ud83d two","timestamp":1}}"#,
        head("message", "bbbbbbbb", "\"aaaaaaaa\"") + r#","message":"# + call + "}",
        head("message", "cccccccc", "\"bbbbbbbb\"")
            + r#","ex\ud83dtra":1,"message":{"role":"user","content":"\ude00 three","timestamp":1}}"#,
        head("custom_of_pi", "dddddddd", "\"cccccccc\"") + r#","data":"\ud83d"}"#,
        head("session_info", "eeeeeeee", "\"dddddddd\"") + r#","name":"Title \ud83d"}"#,
    ]
    .join("\n")
        + "\n";
    fs::write(&path, text).unwrap();
    let opened = Session::open(&path, options(folder.path())).unwrap();
    assert_eq!(opened.warnings, Vec::<String>::new());
    let context = opened.session.context(&Defaults::default()).unwrap();
    assert_eq!(texts(&opened.session), ["one \u{FFFD} two", "assistant", "\u{FFFD} three"]);
    let AgentMessage::Assistant(answer) = &context.messages[1] else { panic!("no answer") };
    assert_eq!(answer.text(), "Look: \u{FFFD}");
    assert_eq!(answer.tool_calls().next().unwrap().arguments, json!({"pa\u{FFFD}th": "😀\u{FFFD}"}));
    assert_eq!(opened.session.title().as_deref(), Some("Title \u{FFFD}"));
    drop(opened);
    assert_eq!(list(folder.path(), Scope::All)[0].title, "Title \u{FFFD}");
    let read = tail(&path, 1 << 20).unwrap();
    assert_eq!((read.messages.len(), read.is_whole), (3, true));
}

/// A tool that cuts texts by bytes, or a damaged disk, leaves bytes that are not UTF-8.
#[test]
fn invalid_utf8_in_a_line_loses_no_entry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.jsonl");
    let mut session = Session::open(&path, options(folder.path())).unwrap().session;
    let kept = ["first", "cut here", "third"];
    kept.iter().for_each(|text| drop(session.append(user(text)).unwrap()));
    session.append(Body::Label { target_id: "x".into(), label: Some("cut here".into()) }).unwrap();
    session.append(Body::SessionInfo { title: "cut here".into(), name: None, title_source: None }).unwrap();
    session.flush().unwrap();
    drop(session);
    let bytes = fs::read(&path).unwrap();
    let mut broken = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.windows(8).position(|bytes| bytes == b"cut here") {
            Some(at) => broken.extend([&line[..at + 3], &[0xE2, 0x82], &line[at + 3..]].concat()),
            None => broken.extend(line),
        }
    }
    assert!(String::from_utf8(broken.clone()).is_err());
    fs::write(&path, broken).unwrap();
    let opened = Session::open(&path, options(folder.path())).unwrap();
    assert_eq!(opened.warnings, Vec::<String>::new());
    assert_eq!(texts(&opened.session), ["first", "cut\u{FFFD} here", "third"]);
    assert_eq!(opened.session.context(&Defaults::default()).unwrap().messages.len(), 3);
    assert_eq!(opened.session.title().as_deref(), Some("cut\u{FFFD} here"));
    drop(opened);
    assert_eq!(list(folder.path(), Scope::All)[0].title, "cut\u{FFFD} here");
    assert_eq!(tail(&path, 1 << 20).unwrap().messages.len(), 3);
}
