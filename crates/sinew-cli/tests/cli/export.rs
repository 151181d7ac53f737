//! Exports of a session as a page.

use serde_json::json;
use sinew_testkit::provider::Server;

use crate::stage::{Stage, chat, messages, text};

const KEY: &str = "sk-own-0123456789abcdef";

/// Creates a stage with one session, and returns its id.
fn stage() -> (Stage, String) {
    let stage = Stage::scripted(&[text("It is **so**.")]);
    assert_eq!(stage.play(&["-p", "is it <so>?"]).code, Some(0));
    let name = stage.files()[0].file_stem().unwrap().to_string_lossy().into_owned();
    let id = name.rsplit('_').next().unwrap().to_string();
    (stage, id)
}

fn page(stage: &Stage, name: &str) -> String {
    std::fs::read_to_string(stage.project().join(name)).unwrap()
}

#[test]
fn a_session_is_exported_by_its_id_or_its_path() {
    let (stage, id) = stage();
    let file = stage.files().remove(0);
    let name = format!("sinew-session-{}.html", file.file_stem().unwrap().to_string_lossy());
    let ran = stage.run(&["--export", &id[..6]]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout, format!("Exported to: {}\n", stage.project().join(&name).display()));
    let first = page(&stage, &name);
    assert!(first.contains("is it &lt;so&gt;?") && first.contains("It is <strong>so</strong>."), "{first}");
    let ran = stage.run(&["--export", file.to_str().unwrap(), "my page.html"]);
    assert_eq!(ran.stdout, format!("Exported to: {}\n", stage.project().join("my page.html").display()));
    assert_eq!(page(&stage, "my page.html"), first);
    assert_eq!(stage.files().len(), 1);
}

#[test]
fn a_session_in_use_can_be_exported() {
    let (stage, id) = stage();
    let held = std::fs::OpenOptions::new().append(true).open(&stage.files()[0]).unwrap();
    held.lock().unwrap();
    let ran = stage.run(&["--export", &id, "out.html"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_export_never_overwrites_a_session() {
    let (stage, id) = stage();
    let file = stage.files().remove(0);
    let before = std::fs::read(&file).unwrap();
    let ran = stage.run(&["--export", &id, file.to_str().unwrap()]);
    assert!(ran.code == Some(2) && ran.stderr.contains("it is the session itself"), "{}", ran.stderr);
    stage.write("project/damaged.jsonl", "no session\n");
    let ran = stage.run(&["--export", "damaged.jsonl"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("damaged.jsonl is not a session file"), "{}", ran.stderr);
    assert_eq!(page(&stage, "damaged.jsonl"), "no session\n");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let names: Vec<_> = std::fs::read_dir(stage.project()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_missing_session_is_reported_by_name() {
    let (stage, id) = stage();
    let refused = |args: &[&str], expect: &str| {
        let ran = stage.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert_eq!(ran.stderr, format!("sinew: {expect}\n"));
    };
    refused(&["--export", "no/such.jsonl"], "File not found: no/such.jsonl");
    refused(&["--export", "no.jsonl"], "File not found: no.jsonl");
    refused(&["--export", "zz"], "Session \"zz\" not found.");
    refused(&["--export"], "--export needs a value: --export IN [OUT]");
    let many = "--export IN [OUT]: unexpected argument \"file.html\"; put a path with spaces in quotes";
    refused(&["--export", &id, "my", "file.html"], many);
}

#[test]
fn exported_pages_contain_no_keys() {
    let server = Server::start(|_| chat(&json!({"content": "no"}), "stop"));
    let stage = Stage::served(&server);
    let session = stage.project().join("old.jsonl");
    // The file contains the key, as if another program had written it.
    let header = json!({"type": "session", "version": 3, "id": "aa", "cwd": format!("/home/{KEY}"), "title": KEY});
    let entry = json!({"type": "message", "id": "00000001", "parentId": null,
        "message": {"role": "user", "content": format!("my key is {KEY}"), "timestamp": 1}});
    std::fs::write(&session, format!("{header}\n{entry}\n")).unwrap();
    let models = json!({"providers": {"local": {"baseUrl": server.url(), "api": "openai-completions", "apiKey": KEY,
        "models": [{"id": "m"}]}}});
    stage.write("home/agent/models.json", &models.to_string());
    let ran = stage.run(&["--export", "old.jsonl", "out.html"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let page = page(&stage, "out.html");
    assert!(page.contains("my key is &lt;&lt;$env:S") && !page.contains("0123456789abcdef"), "{page}");
    assert_eq!(messages(&session)[0].1, format!("my key is {KEY}"));
    assert!(server.requests().is_empty());
}
