use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use sinew_llm::message::{AgentMessage, Content, UserMessage};

use super::*;
use crate::clock::FixedClock;

pub(super) fn options(folder: &Path) -> SessionOptions {
    SessionOptions {
        cwd: folder.join("project"),
        blobs: Some(Blobs::new(folder.join("blobs"))),
        sync: Sync::Turn,
        clock: Arc::new(FixedClock::at(1_769_851_800_000)),
        mask: None,
    }
}

pub(super) fn user(text: &str) -> Body {
    Body::Message { message: AgentMessage::from(UserMessage { content: Content::Text(text.into()), timestamp: 1 }) }
}

pub(super) fn new_session(folder: &Path) -> (Session, PathBuf) {
    let path = folder.join("s.jsonl");
    (Session::create(path.clone(), "00000000000000aa".into(), options(folder)), path)
}

pub(super) fn texts(session: &Session) -> Vec<String> {
    let context = session.context(&Defaults::default()).unwrap();
    context.messages.iter().map(said).collect()
}

fn said(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(user) => user.content.text(),
        AgentMessage::CompactionSummary(summary) => format!("summary: {}", summary.summary),
        other => other.role().to_string(),
    }
}

pub(super) fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_first_user_message_creates_the_file_with_earlier_entries() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    let model = Body::ModelChange { model: "a/b".into(), role: None, provider: None, model_id: None };
    session.append(model).unwrap();
    assert!(!path.exists());
    session.append(user("hello")).unwrap();
    let kinds: Vec<_> = lines(&path).iter().map(|line| line["type"].as_str().unwrap().to_string()).collect();
    assert_eq!(kinds, ["session", "model_change", "message"]);
    drop(session);
    let opened = Session::open(&path, options(folder.path())).unwrap();
    assert_eq!(opened.warnings, Vec::<String>::new());
    let context = opened.session.context(&Defaults::default()).unwrap();
    assert_eq!(context.models["default"], "a/b");
    assert_eq!(texts(&opened.session), ["hello"]);
}

#[test]
fn branches_share_a_prefix_and_a_load_continues_at_the_last_entry() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    let root = session.append(user("root")).unwrap();
    let left = session.append(user("left")).unwrap();
    session.set_leaf(Some(&root)).unwrap();
    let right = session.append(user("right")).unwrap();
    session.append(Body::Label { target_id: left.clone(), label: Some("here".into()) }).unwrap();
    assert_eq!(session.leaf(), Some(right.as_str()));
    assert_eq!(session.children(Some(&root)).unwrap(), [&left, &right]);
    assert_eq!(session.common_ancestor(&left, &right).unwrap(), Some(root.as_str()));
    drop(session);
    let session = Session::open(&path, options(folder.path())).unwrap().session;
    assert_eq!(texts(&session), ["root", "right"]);
    assert!(session.children(Some("nowhere")).is_err());
}

#[test]
fn the_context_after_a_compaction_has_only_the_kept_entries() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, _) = new_session(folder.path());
    session.append(user("one")).unwrap();
    let kept = session.append(user("two")).unwrap();
    let compaction = Body::Compaction {
        summary: "was one".into(),
        short_summary: None,
        first_kept_entry_id: kept,
        tokens_before: 9,
        details: None,
        preserve_data: None,
        from_extension: None,
    };
    session.append(compaction).unwrap();
    session.append(user("three")).unwrap();
    assert_eq!(texts(&session), ["summary: was one", "two", "three"]);
}

#[test]
fn an_incomplete_last_line_is_set_aside_and_not_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("whole")).unwrap();
    drop(session);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"message\",\"id\":\"dead");
    fs::write(&path, &bytes).unwrap();
    let mut session = Session::open(&path, options(folder.path())).unwrap().session;
    assert_eq!(texts(&session), ["whole"]);
    session.append(user("next")).unwrap();
    drop(session);
    assert_eq!(fs::read(folder.path().join("s.jsonl.torn")).unwrap(), b"{\"type\":\"message\",\"id\":\"dead");
    assert_eq!(texts(&Session::open(&path, options(folder.path())).unwrap().session), ["whole", "next"]);
}

#[test]
fn a_file_truncated_anywhere_opens_with_every_complete_line() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    for text in ["one", "zwei", "三"] {
        session.append(user(text)).unwrap();
    }
    drop(session);
    let bytes = fs::read(&path).unwrap();
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let at = folder.path().join("cut.jsonl");
    for end in header..=bytes.len() {
        fs::write(&at, &bytes[..end]).unwrap();
        let mut session = Session::open(&at, options(folder.path())).unwrap().session;
        let before = texts(&session);
        session.append(user("more")).unwrap();
        drop(session);
        let mut expected = before;
        expected.push("more".into());
        assert_eq!(texts(&Session::open(&at, options(folder.path())).unwrap().session), expected, "cut at {end}");
    }
}

#[test]
fn a_foreign_file_is_moved_aside_and_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.jsonl");
    let content = "my notes\n{\"type\":\"message\",\"id\":\"1\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":1}}\n";
    fs::write(&path, content).unwrap();
    let mut opened = Session::open(&path, options(folder.path())).unwrap();
    assert_eq!(opened.warnings.len(), 1);
    opened.session.append(user("new")).unwrap();
    let aside = folder.path().join("notes.jsonl.damaged-2026-01-31T09-30-00-000Z");
    assert_eq!(fs::read_to_string(aside).unwrap(), content);
    let recovered = Session::open(&opened.recovered.unwrap(), options(folder.path())).unwrap();
    assert_eq!(texts(&recovered.session), ["hi"]);
}

#[test]
fn a_file_that_is_not_a_session_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.md");
    fs::write(&path, "my notes\n").unwrap();
    let check = |path: &Path, fault: &str| {
        let expect = format!("{} is not a session file: {fault}", path.display());
        let open = Session::open(path, options(folder.path())).map(|_| ()).unwrap_err();
        assert!(open.message().starts_with(&expect), "{}", open.message());
    };
    check(&path, "it is left as it is.");
    assert_eq!(fs::read_to_string(&path).unwrap(), "my notes\n");
    check(folder.path(), "it is a directory");
    #[cfg(unix)]
    {
        // Endless, and without a writer.
        check(Path::new("/dev/zero"), "it is a pipe, a socket or a device");
        let pipe = folder.path().join("pipe.jsonl");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        check(&pipe, "it is a pipe, a socket or a device");
        assert!(Session::view(&pipe, options(folder.path())).is_err());
        assert!(list(folder.path(), Scope::All).is_empty());
    }
}

#[cfg(unix)]
#[test]
fn a_file_removed_during_the_session_is_reported_and_the_session_continues() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("one")).unwrap();
    fs::remove_file(&path).unwrap();
    let fault = session.append(user("two")).unwrap_err();
    assert!(fault.message().ends_with("its file was removed while it was open"), "{}", fault.message());
    assert_eq!(texts(&session), ["one", "two"]);
    assert!(session.failure().is_some());
    drop(session);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no mark of a file that is gone");
}

#[test]
fn an_older_version_is_migrated_and_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.jsonl");
    let old = [
        json!({"type": "session", "id": "x", "timestamp": "2025-01-01T00:00:00Z", "cwd": "/tmp"}),
        json!({"type": "message", "timestamp": "2025-01-01T00:00:01Z", "message": {"role": "user", "content": "a", "timestamp": 1}}),
        json!({"type": "message", "timestamp": "2025-01-01T00:00:02Z", "message": {"role": "hookMessage", "customType": "h", "content": "b", "timestamp": 2}}),
        json!({"type": "compaction", "timestamp": "2025-01-01T00:00:03Z", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 1}),
    ];
    let text: String = old.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&path, &text).unwrap();
    let opened = Session::open(&path, options(folder.path())).unwrap();
    assert_eq!(opened.session.header().version, 3);
    assert_eq!(texts(&opened.session), ["summary: s", "custom"]);
    assert_eq!(fs::read_to_string(folder.path().join("old.jsonl.v1.bak")).unwrap(), text);
}

#[test]
fn flat_messages_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flat.jsonl");
    let flat = "{\"id\":\"a1\",\"parentId\":null,\"role\":\"user\",\"content\":\"first\"}\n{\"id\":\"a2\",\"parentId\":\"a1\",\"role\":\"user\",\"content\":\"second\"}\n";
    fs::write(&path, flat).unwrap();
    let opened = Session::open(&path, options(folder.path())).unwrap();
    assert_eq!(texts(&opened.session), ["first", "second"]);
}

#[test]
fn a_fork_keeps_unknown_entries_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let odd = "{\"type\":\"new_thing\",\"id\":\"b\",\"parentId\":\"a\",\"timestamp\":\"2025-01-01T00:00:00Z\",\"x\":[1,2.50]}";
    let text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2025-01-01T00:00:00Z\",\"cwd\":\"/tmp\"}}\n{{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2025-01-01T00:00:00Z\",\"message\":{{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":1}}}}\n{odd}\n"
    );
    fs::write(&path, text).unwrap();
    fs::create_dir(folder.path().join("s")).unwrap();
    fs::write(folder.path().join("s/0.bash.log"), "log").unwrap();
    let session = Session::open(&path, options(folder.path())).unwrap().session;
    let copy = session.fork(&folder.path().join("forks"), Path::new("/elsewhere")).unwrap();
    let written = fs::read_to_string(&copy).unwrap();
    assert_eq!(written.lines().last(), Some(odd));
    let fork = Session::open(&copy, options(folder.path())).unwrap().session;
    assert_eq!(fork.header().parent_session.as_deref(), Some("s"));
    assert_eq!(fork.header().cwd, "/elsewhere");
    assert_eq!(fs::read_to_string(fork.artifacts().unwrap().join("0.bash.log")).unwrap(), "log");
}

/// Returns every line of a file with an unknown type.
fn odd_lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| line.contains("new_thing")).map(str::to_string).collect()
}

#[test]
fn unknown_entries_survive_a_load_and_a_save() {
    let odd = "{\"type\":\"new_thing\",\"id\":\"b\",\"parentId\":\"a\",\"timestamp\":\"2025-01-01T00:00:00Z\",\"x\":[1,2.50],\"y\":null}";
    for version in [2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let header = json!({"type": "session", "version": version, "id": "s", "timestamp": "2025-01-01T00:00:00Z", "cwd": "/tmp"});
        let said = json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2025-01-01T00:00:00Z",
            "message": {"role": "user", "content": "hi", "timestamp": 1}});
        fs::write(&path, format!("{header}\n{said}\n{odd}\n")).unwrap();
        let mut session = Session::open(&path, options(folder.path())).unwrap().session;
        assert_eq!(session.leaf(), Some("b"), "it counts in the tree");
        session.append(user("more")).unwrap();
        let same = |path: &Path| match version {
            3 => assert_eq!(odd_lines(path), [odd]),
            // A migration rewrites every line with the same meaning.
            _ => {
                let [line] = &odd_lines(path)[..] else { panic!("{version}") };
                let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
                assert_eq!(read(line), read(odd));
            }
        };
        same(&path);
        let moved = session.move_to(&folder.path().join("sessions"), Path::new("/elsewhere")).unwrap();
        same(&moved);
        drop(session);
        let session = Session::open(&moved, options(folder.path())).unwrap().session;
        assert_eq!((session.len(), texts(&session)), (3, vec!["hi".to_string(), "more".to_string()]));
        same(&session.path_to_file(PathEnd::Before(session.leaf().unwrap()), folder.path(), Path::new("/p")).unwrap());
    }
}

#[test]
fn a_branch_file_ends_before_the_message_and_keeps_labels() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, _) = new_session(folder.path());
    let first = session.append(user("first")).unwrap();
    session.append(Body::Label { target_id: first.clone(), label: Some("start".into()) }).unwrap();
    let second = session.append(user("second")).unwrap();
    let copy = session.path_to_file(PathEnd::Before(&second), folder.path(), Path::new("/p")).unwrap();
    let branch = Session::open(&copy, options(folder.path())).unwrap().session;
    assert_eq!(texts(&branch), ["first"]);
    assert_eq!(branch.len(), 2);
}

#[test]
fn a_second_writer_is_told_who_has_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("mine")).unwrap();
    let refused = Session::open(&path, options(folder.path())).err().expect("the session is locked");
    let expected = format!("Session is in use by process {}. Open a copy? [fork]", std::process::id());
    assert_eq!(refused.to_string(), expected);
}

/// As after a kill of a program whose threads or children have not closed the file yet.
#[cfg(target_os = "linux")]
#[test]
fn opening_waits_until_an_ended_process_has_released_the_session() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("mine")).unwrap();
    drop(session);
    // `flock` takes the lock and ends; the shell keeps the file open.
    let script = "exec 9<\"$1\"; flock 9; echo locked; sleep 0.2";
    let mut holder = std::process::Command::new("bash");
    holder.args(["-c", script, "bash"]).arg(&path).stdout(std::process::Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    holder.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    let session = Session::open(&path, options(folder.path())).unwrap().session;
    assert_eq!(texts(&session), ["mine"]);
    assert!(holder.wait().unwrap().success());
}

#[test]
fn large_images_are_stored_beside_the_session_and_restored() {
    use base64::Engine;
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    let data = base64::engine::general_purpose::STANDARD.encode(vec![7; 3_000]);
    let message =
        json!({"role": "user", "timestamp": 1, "content": [{"type": "image", "data": data, "mimeType": "image/png"}]});
    let body = Body::Message { message: serde_json::from_value(message.clone()).unwrap() };
    session.append(body).unwrap();
    let stored = lines(&path)[1]["message"]["content"][0]["data"].as_str().unwrap().to_string();
    let hex = stored.strip_prefix("blob:sha256:").unwrap();
    assert!(folder.path().join("blobs").join(hex).exists());
    let context = session.context(&Defaults::default()).unwrap();
    assert_eq!(serde_json::to_value(&context.messages[0]).unwrap(), message);
    fs::remove_file(folder.path().join("blobs").join(hex)).unwrap();
    let context = session.context(&Defaults::default()).unwrap();
    assert_eq!(
        (context.missing_images.clone(), context.messages[0].clone()),
        (
            vec![stored.clone()],
            serde_json::from_value(
                json!({"role": "user", "timestamp": 1, "content": [{"type": "text", "text": "[image missing]"}]})
            )
            .unwrap()
        )
    );
    let warning =
        format!("a picture of this session is missing, {stored}: the model reads [image missing] in its place");
    assert_eq!(context.warning(), Some(warning));
}

#[test]
fn strings_over_the_limit_are_cut_between_characters() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user(&"ä".repeat(LARGEST_STRING + 1))).unwrap();
    let stored = lines(&path)[1]["message"]["content"].as_str().unwrap().to_string();
    assert_eq!(stored.chars().take_while(|c| *c == 'ä').count(), LARGEST_STRING);
    assert!(stored.ends_with("[Session persistence truncated large content]"));
}

#[test]
fn a_session_is_found_by_id_name_and_path() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().join("project");
    let sessions = folder.path().join("sessions");
    for (at, id) in ["abcd000000000001", "abff000000000002"].iter().enumerate() {
        let path = sessions.join(folder_name(&cwd)).join(file_name(at as i64, id));
        Session::create(path, (*id).to_string(), options(folder.path())).append(user("hi  there")).unwrap();
    }
    let here = |word: &str| match resolve(&sessions, &cwd, word) {
        Ok(ResolvedSession::Here(path)) => path.file_name().unwrap().to_string_lossy().into_owned(),
        Ok(ResolvedSession::Elsewhere(session)) => format!("elsewhere {}", session.cwd),
        Err(error) => error.to_string(),
    };
    assert_eq!(here("ABCD"), file_name(0, "abcd000000000001"));
    assert_eq!(here("0002"), file_name(1, "abff000000000002"));
    let mut both: Vec<String> =
        here("ab").strip_prefix("Session \"ab\" is ambiguous: ").unwrap().split(", ").map(str::to_string).collect();
    both.sort();
    assert_eq!(both, ["abcd000000000001", "abff000000000002"]);
    assert_eq!(here("zz"), "Session \"zz\" not found.");
    let elsewhere = resolve(&sessions, Path::new("/other"), "abcd").unwrap();
    assert!(matches!(elsewhere, ResolvedSession::Elsewhere(session) if session.title == "hi there"));
    assert_eq!(list(&sessions, Scope::All).len(), 2);
    assert_eq!(list(&sessions, Scope::Cwd(Path::new("/other"))), []);
}

#[test]
fn unreferenced_images_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(folder.path().join("blobs"));
    let sessions = folder.path().join("sessions");
    fs::create_dir_all(sessions.join("--p--")).unwrap();
    fs::create_dir_all(folder.path().join("blobs")).unwrap();
    let (used, unused) = ("a".repeat(64), "b".repeat(64));
    for hex in [&used, &unused] {
        fs::write(folder.path().join("blobs").join(hex), "x").unwrap();
    }
    fs::write(
        sessions.join("--p--/x.jsonl"),
        format!("{{\"type\":\"session\",\"id\":\"x\"}}\n\"blob:sha256:{used}\"\n"),
    )
    .unwrap();
    assert_eq!(collect(std::slice::from_ref(&sessions), &blobs, false).unwrap(), std::slice::from_ref(&unused));
    assert_eq!(collect(&[sessions], &blobs, true).unwrap(), [unused]);
    assert_eq!(blobs.all(), [used]);
}

/// Compares with recorded cases of another program's sessions; does nothing if the directory is missing.
#[test]
fn recorded_sessions_produce_the_recorded_context() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let suites = std::env::var_os("SINEW_SUITES").map_or_else(|| root.join("../shared/suites"), PathBuf::from);
    let Ok(text) = fs::read_to_string(root.join(suites).join("sessions.json")) else { return };
    let table: Value = serde_json::from_str(&text).unwrap();
    let mut run = 0;
    for case in table["cases"].as_array().unwrap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("case.jsonl");
        let header =
            json!({"type": "session", "version": 3, "id": "x", "timestamp": "2025-01-01T00:00:00Z", "cwd": "/tmp"});
        match case["fn"].as_str().unwrap() {
            "buildSessionContext" => {
                let entries = case["args"][0].as_array().unwrap();
                let lines: String = std::iter::once(&header).chain(entries).map(|line| format!("{line}\n")).collect();
                fs::write(&path, lines).unwrap();
                let mut session = Session::open(&path, options(folder.path())).unwrap().session;
                if let Some(leaf) = case["args"][1].as_str() {
                    // If the leaf does not exist, the last entry is the leaf.
                    let _ = session.set_leaf(Some(leaf));
                }
                let context = session.context(&Defaults { thinking_level: "off".into() }).unwrap();
                // As messages, because JSON distinguishes 0 and 0.0.
                let expected: Vec<AgentMessage> = serde_json::from_value(case["result"]["messages"].clone()).unwrap();
                assert_eq!(context.messages, expected, "{case}");
                assert_eq!(context.thinking_level, case["result"]["thinkingLevel"].as_str().unwrap());
                let model = &case["result"]["model"];
                let expected = model.as_object().map(|model| {
                    format!("{}/{}", model["provider"].as_str().unwrap(), model["modelId"].as_str().unwrap())
                });
                assert_eq!(context.models.get("default").cloned(), expected);
            }
            "migrateSessionEntries" => {
                let text: String = case["args"][0].as_array().unwrap().iter().map(|line| format!("{line}\n")).collect();
                fs::write(&path, text).unwrap();
                drop(Session::open(&path, options(folder.path())).unwrap());
                // Ids are random, so their positions are compared.
                let shape = |lines: &[Value]| -> Vec<Value> {
                    let ids: Vec<Value> = lines.iter().map(|line| line["id"].clone()).collect();
                    let place = |id: &Value| ids.iter().position(|known| known == id);
                    lines
                        .iter()
                        .map(|line| {
                            let mut line = line.clone();
                            if line["type"] != "session" {
                                line["parentId"] = json!(place(&line["parentId"]));
                                line["id"] = json!(place(&line["id"]));
                            }
                            line
                        })
                        .collect()
                };
                assert_eq!(shape(&lines(&path)), shape(case["after"][0].as_array().unwrap()));
            }
            "loadEntriesFromFile" => {
                let expected = case["result"].as_array().unwrap();
                let lines: String = expected.iter().map(|line| format!("{line}\n")).collect();
                if !lines.is_empty() {
                    fs::write(&path, lines).unwrap();
                }
                let session = Session::open(&path, options(folder.path())).unwrap().session;
                assert_eq!(session.len(), expected.len().saturating_sub(1));
            }
            other => panic!("no runner for {other}"),
        }
        run += 1;
    }
    assert_eq!(run, table["cases"].as_array().unwrap().len());
}

/// Any text, including one that is long enough to be cut.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "\\PC{0,40}",
        1 => (LARGEST_STRING - 2..LARGEST_STRING + 60, prop_oneof![Just("a"), Just("ä"), Just("\n")])
            .prop_map(|(count, unit)| unit.repeat(count)),
    ]
}

fn any_block() -> BoxedStrategy<Value> {
    let picture = (0..3_000usize, any::<u8>()).prop_map(|(size, byte)| {
        let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, vec![byte; size]);
        json!({"type": "image", "data": data, "mimeType": "image/png"})
    });
    prop_oneof![
        any_text().prop_map(|text| json!({"type": "text", "text": text})),
        any_text().prop_map(|text| json!({"type": "thinking", "thinking": text, "thinkingSignature": "s"})),
        (any_text(), picture.clone())
            .prop_map(|(text, picture)| json!({"type": "toolCall", "id": "c", "name": "write",
            "arguments": {"content": text, "partialJson": "mine", "picture": picture, "number": 0.1}})),
        picture,
        any_text().prop_map(|text| json!({"type": "new", "text": text})),
    ]
    .boxed()
}

fn any_message() -> impl Strategy<Value = Value> {
    let blocks = prop::collection::vec(any_block(), 0..4);
    prop_oneof![
        any_text().prop_map(|text| json!({"role": "user", "content": text, "timestamp": 1})),
        blocks.clone().prop_map(|content| json!({"role": "user", "content": content, "timestamp": 1})),
        blocks.clone().prop_map(|content| json!({"role": "assistant", "content": content, "usage": {"input": 3, "cost": {"total": 0.1}}})),
        blocks.clone().prop_map(|content| json!({"role": "toolResult", "toolCallId": "c", "content": content, "details": content})),
        blocks.prop_map(|content| json!({"role": "custom", "customType": "x", "content": content, "display": true})),
        any_text().prop_map(|output| json!({"role": "bashExecution", "command": "c", "output": output})),
        (any_text(), 0..3_000usize).prop_map(|(content, size)| json!({"role": "fileMention", "files": [{"path": "p",
            "lineCount": content.lines().count(), "content": content,
            "image": {"data": base64::Engine::encode(&base64::engine::general_purpose::STANDARD, vec![7; size]), "mimeType": "image/png"}}]})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_resumed_context_is_byte_identical(messages in prop::collection::vec(any_message(), 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let (mut session, path) = new_session(folder.path());
        let mut live = Vec::new();
        for message in std::iter::once(json!({"role": "user", "content": "begin", "timestamp": 1})).chain(messages) {
            let mut message: AgentMessage = serde_json::from_value(message).unwrap();
            session.append_message(&mut message).unwrap();
            live.push(message);
        }
        let told = |messages: &[AgentMessage]| serde_json::to_string(messages).unwrap();
        prop_assert!(told(&session.context(&Defaults::default()).unwrap().messages) == told(&live), "before");
        drop(session);
        let session = Session::open(&path, options(folder.path())).unwrap().session;
        prop_assert!(told(&session.context(&Defaults::default()).unwrap().messages) == told(&live), "after");
    }
}

#[test]
fn a_session_in_use_can_be_read_and_forked() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("mine")).unwrap();
    let mut view = Session::view(&path, options(folder.path())).unwrap().session;
    assert_eq!(texts(&view), ["mine"]);
    let copy = view.fork(folder.path(), Path::new("/p")).unwrap();
    assert_eq!(texts(&Session::open(&copy, options(folder.path())).unwrap().session), ["mine"]);
    assert!(view.append(user("more")).is_err());
    session.append(user("more")).unwrap();
    drop((session, view));
    assert_eq!(texts(&Session::open(&path, options(folder.path())).unwrap().session), ["mine", "more"]);
}

#[test]
fn viewing_an_older_file_does_not_change_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.jsonl");
    let text = "{\"type\":\"session\",\"id\":\"x\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n";
    fs::write(&path, text).unwrap();
    assert_eq!(texts(&Session::view(&path, options(folder.path())).unwrap().session), ["a"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_cycle_of_parents_is_broken_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let entry = |id: &str, parent: &str| json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": id}});
    let header = json!({"type": "session", "version": 3, "id": "s"});
    fs::write(&path, format!("{header}\n{}\n{}\n{}\n", entry("a", "b"), entry("b", "a"), entry("c", "b"))).unwrap();
    let opened = Session::open(&path, options(folder.path())).unwrap();
    assert_eq!(texts(&opened.session), ["a", "b", "c"]);
    assert!(opened.warnings[0].contains("1 entries named each other as parents"), "{:?}", opened.warnings);
}

#[test]
fn a_moved_session_continues_there_and_a_failed_move_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("one")).unwrap();
    fs::create_dir(session.artifacts().unwrap()).unwrap();
    fs::write(session.artifacts().unwrap().join("0.log"), "log").unwrap();
    let sessions = folder.path().join("sessions");
    let target = sessions.join(folder_name(Path::new("/new place")));
    // Artifacts of an unknown session block the destination.
    fs::create_dir_all(target.join("s")).unwrap();
    assert!(session.move_to(&sessions, Path::new("/new place")).is_err());
    assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
    session.append(user("two")).unwrap();
    assert_eq!((texts(&session), session.path()), (vec!["one".to_string(), "two".to_string()], Some(path.as_path())));
    fs::remove_dir(target.join("s")).unwrap();
    let moved = session.move_to(&sessions, Path::new("/new place")).unwrap();
    session.append(user("three")).unwrap();
    assert_eq!(texts(&session), ["one", "two", "three"]);
    assert!(!path.exists() && target.join("s/0.log").exists());
    drop(session);
    let session = Session::open(&moved, options(folder.path())).unwrap().session;
    assert_eq!((texts(&session).len(), session.header().cwd.as_str()), (3, "/new place"));
}

#[test]
fn an_append_that_the_disk_refuses_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user("kept")).unwrap();
    session.refuse_writes();
    assert!(session.append(user("lost")).is_err());
    assert_eq!(texts(&session), ["kept", "lost"]);
    drop(session);
    let warnings = || Session::open(&path, options(folder.path())).unwrap().warnings;
    assert!(warnings()[0].contains("lacks its end"));
    assert_eq!(warnings(), Vec::<String>::new());
}

#[test]
fn a_list_shows_the_last_title_or_the_start_of_the_first_message() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    session.append(user(&format!("first words {}", "x".repeat(10_000)))).unwrap();
    let title = || list(folder.path(), Scope::All).remove(0).title;
    assert!(title().starts_with("first words xxx"), "{}", title());
    for name in ["old", "new \"session_info\""] {
        session
            .append(Body::SessionInfo { title: name.into(), name: None, title_source: Some("user".into()) })
            .unwrap();
    }
    session.append(user("talks of session_info")).unwrap();
    assert_eq!(title(), "new \"session_info\"");
    drop(session);
    fs::write(path.with_file_name("no.jsonl"), "{}\n").unwrap();
    assert_eq!(list(folder.path(), Scope::All).len(), 1);
}

#[test]
fn a_list_rereads_files_that_may_have_changed() {
    let folder = tempfile::tempdir().unwrap();
    let header = |id: &str| {
        format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/p\",\"timestamp\":\"t\"}}\n")
    };
    let path = folder.path().join("one.jsonl");
    let write = |text: &str, age: u64| {
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + age)).unwrap();
    };
    let mut known = crate::KnownSessions::default();
    let mut ids = || known.list(folder.path(), Scope::All).into_iter().map(|listed| listed.id).collect::<Vec<_>>();
    write(&header("a"), 0);
    assert_eq!(ids(), ["a"]);
    // With the same size and an old time the file is not read again.
    write(&header("b"), 0);
    assert_eq!(ids(), ["a"]);
    write(&header("c"), 1);
    assert_eq!(ids(), ["c"]);
    write(&header("longer"), 1);
    assert_eq!(ids(), ["longer"]);
    // A file written a moment ago may be written again with the same time.
    let now = std::time::SystemTime::now();
    for id in ["d", "e"] {
        fs::write(&path, header(id)).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(now).unwrap();
        assert_eq!(ids(), [id]);
    }
    fs::write(folder.path().join("two.jsonl"), header("f")).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(ids(), ["f"]);
}

#[test]
fn derived_sessions_hide_the_same_values() {
    const VALUE: &str = "sk-live-0123456789";
    let folder = tempfile::tempdir().unwrap();
    let (mut session, path) = new_session(folder.path());
    let secrets = crate::secrets::Secrets::new(Box::new(|| [7; 32]), Vec::new());
    secrets.add(VALUE);
    session.set_mask(Arc::new(secrets).mask());
    session.append(user(&format!("first {VALUE}"))).unwrap();
    let second = session.append(user(&format!("second {VALUE}"))).unwrap();
    let (place, cwd) = (folder.path(), Path::new("/p"));
    let handoff = Body::CustomMessage {
        custom_type: "handoff".into(),
        content: format!("go on with {VALUE}").into(),
        display: true,
        details: None,
        attribution: None,
    };
    let made = [
        session.fork(place, cwd).unwrap(),
        session.path_to_file(PathEnd::Before(&second), place, cwd).unwrap(),
        session.successor(Target { folder: place, cwd }, vec![handoff]).unwrap(),
        session.move_to(place, Path::new("/q")).unwrap(),
    ];
    session.append(user(&format!("moved {VALUE}"))).unwrap();
    let options = session.options().clone();
    drop(session);
    assert!(!path.exists());
    for file in made {
        let mut session = Session::open(&file, options.clone()).unwrap().session;
        session.append(user(&format!("later {VALUE}"))).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains(VALUE) && text.contains("later <<$env:S"), "{text}");
    }
}
