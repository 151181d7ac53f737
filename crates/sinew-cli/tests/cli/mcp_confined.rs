//! `sinew mcp serve` with Landlock: the kernel refuses accesses that all checks of the program would allow.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::stage::Stage;

/// Starts the server for the project.
#[track_caller]
fn serve(stage: &Stage, args: &[&str]) -> Editor {
    let mut client = Editor::of(stage.command(&[&["mcp", "serve"], args].concat()));
    client.ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    client
}

#[track_caller]
fn call(client: &mut Editor, name: &str, arguments: Value) -> (String, bool) {
    let result = client.ask("tools/call", json!({"name": name, "arguments": arguments}));
    (result["content"][0]["text"].as_str().unwrap().to_string(), result["isError"].as_bool().unwrap())
}

/// Returns for each thread of a process whether it has given up new privileges, which Landlock requires.
fn given_up(pid: u32) -> Vec<bool> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    // A thread may have ended meanwhile.
    let states = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    states.map(|state| state.contains("NoNewPrivs:\t1")).collect()
}

/// Returns true if the kernel restricts the server's reads; otherwise prints that the test was skipped.
#[expect(clippy::disallowed_methods, reason = "bypasses the harness; a test prints no API keys")]
fn is_confined(client: &Editor) -> bool {
    let confined = given_up(client.child.id()).into_iter().all(|given_up| given_up);
    if !confined {
        let name = std::thread::current().name().unwrap_or_default().to_string();
        let line = format!("skipped: {name}: the kernel has no Landlock\n");
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    }
    confined
}

#[test]
fn the_kernel_refuses_a_replaced_root() {
    let stage = Stage::new();
    stage.write("project/a.txt", "inside\n");
    let mut client = serve(&stage, &["--allow", "edit"]);
    assert_eq!(call(&mut client, "read", json!({"path": "a.txt"})), ("1:inside".into(), false));
    if !is_confined(&client) {
        return;
    }
    // Another directory at the path of the root: the path is correct, and the checks compare paths.
    std::fs::rename(stage.project(), stage.path("aside")).unwrap();
    stage.write("project/a.txt", "another needle\n");
    for (name, arguments) in [
        ("read", json!({"path": "a.txt"})),
        ("ls", json!({})),
        ("grep", json!({"pattern": "needle"})),
        ("write", json!({"path": "b.txt", "content": "x"})),
        ("edit", json!({"path": "a.txt", "oldText": "needle", "newText": "x"})),
    ] {
        let (text, failed) = call(&mut client, name, arguments);
        assert!(!text.contains("another") && (failed || name == "grep"), "{name}: {text}");
    }
    assert!(!stage.path("project/b.txt").exists());
    assert_eq!(std::fs::read_to_string(stage.path("project/a.txt")).unwrap(), "another needle\n");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn a_confined_server_works_like_an_unconfined_one() {
    let stage = Stage::new();
    stage.write("project/sub/a.txt", "needle\n");
    let mut client = serve(&stage, &["--allow", "edit"]);
    for _ in 0..2 {
        assert!(call(&mut client, "grep", json!({"pattern": "needle"})).0.contains("sub/a.txt"));
    }
    assert!(!call(&mut client, "write", json!({"path": "new/b.txt", "content": "one\n"})).1);
    assert!(!call(&mut client, "edit", json!({"path": "new/b.txt", "oldText": "one", "newText": "two"})).1);
    assert_eq!(std::fs::read_to_string(stage.path("project/new/b.txt")).unwrap(), "two\n");
    // The index of the workspace is written too.
    let index = stage.path("home/index");
    let is_kept = || has_file(&index, "use.lock");
    while !is_kept() {
        call(&mut client, "grep", json!({"pattern": "needle"}));
    }
    // Threads that were started later are restricted like the first one.
    is_confined(&client);
    let (code, stderr) = client.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    // Commands run with the user's permissions.
    let mut open = serve(&stage, &["--allow", "bash"]);
    assert!(!call(&mut open, "bash", json!({"command": "true"})).1);
    assert!(given_up(open.child.id()).iter().all(|given_up| !given_up));
}

fn has_file(folder: &Path, name: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.ends_with(name) || (path.is_dir() && has_file(&path, name)))
}

/// Runs git in a folder.
fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(args);
    assert!(command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap().status.success(), "{args:?}");
}

#[test]
fn ignore_files_outside_the_root_still_apply() {
    let stage = Stage::new();
    stage.write("main/.gitignore", "*.log\n");
    stage.write("main/sub/.ignore", "*.tmp\n");
    let main = stage.path("main");
    git(&main, &["init", "-q"]);
    git(&main, &["add", "."]);
    git(&main, &["commit", "-qm", "rules"]);
    git(&main, &["worktree", "add", "-q", "../linked"]);
    std::fs::create_dir_all(main.join(".git/info")).unwrap();
    std::fs::write(main.join(".git/info/exclude"), "*.own\n").unwrap();
    for tree in ["main/sub/deep", "linked/sub/deep", "linked"] {
        for name in ["a.log", "a.tmp", "a.own", "a.txt"] {
            stage.write(&format!("{tree}/{name}"), "needle\n");
        }
    }
    for (root, expect) in [("main/sub/deep", "a.txt"), ("linked/sub/deep", "a.txt"), ("linked", "a.tmp\na.txt\n")] {
        let root = stage.path(root);
        let mut client = serve(&stage, &["--root", root.to_str().unwrap()]);
        let (text, failed) = call(&mut client, "find", json!({"pattern": "a.*", "sort": "path"}));
        assert!(!failed && text.starts_with(expect) && !text.contains(".log"), "{}: {text}", root.display());
        assert!(!text.contains(".own") && !text.contains("ignore rules"), "{}: {text}", root.display());
        client.end();
    }
}
