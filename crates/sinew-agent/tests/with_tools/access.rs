//! Tests file rules against links and names that point elsewhere, with real files.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::{Value, json};
use sinew::base::CancelToken;
use sinew_agent::extension::{Extension, path_policies};
use sinew_agent::resource::{Attacher, ResourceFolders};
use sinew_permissions::{Permissions, Rules};
use sinew_tools::ImageSettings;

use crate::stage::Stage;

pub(crate) const CASES: &[crate::Case] = &[
    ("access::rules_check_the_file_that_a_tool_opened", rules_check_the_file_that_a_tool_opened),
    ("access::searches_omit_denied_files", searches_omit_denied_files),
    ("access::rules_for_read_apply_to_mentioned_files", rules_for_read_apply_to_mentioned_files),
    (
        "access::ask_rules_refuse_files_that_the_user_was_not_asked_about",
        ask_rules_refuse_files_that_the_user_was_not_asked_about,
    ),
];

/// Creates a stage with a second folder that contains a secret; `SECRET` in the rules stands for that folder.
fn guarded(rules: Value) -> Stage {
    let stage = Stage::new();
    let secret = stage.cwd().parent().unwrap().join("secret");
    fs::create_dir_all(secret.join("deep")).unwrap();
    fs::write(secret.join("key"), "needle in the secret\n").unwrap();
    fs::write(secret.join("deep/key"), "needle deep\n").unwrap();
    stage.put("open.txt", "needle in the open\n");
    let text = rules.to_string().replace("SECRET", secret.to_str().unwrap());
    let (rules, warnings) = Rules::read(&serde_json::from_str(&text).unwrap());
    assert_eq!(warnings, Vec::<String>::new());
    let permissions: Arc<dyn Extension> = Arc::new(Permissions::new(rules, None, None));
    stage.host.set_path_policies(path_policies(&[permissions]));
    stage
}

#[track_caller]
fn denied(stage: &Stage, tool: &str, arguments: Value) {
    let (text, failed) = stage.call(tool, arguments.clone());
    assert!(failed && text.starts_with("Denied by permission rule: "), "{tool} {arguments}: {text}");
}

/// The tools are called without the preceding checks, so that only the check of the opened file applies.
fn rules_check_the_file_that_a_tool_opened() {
    let stage = guarded(json!({"deny": ["*(SECRET/**)"]}));
    let cwd = stage.cwd();
    let secret = cwd.parent().unwrap().join("secret");
    symlink("../secret", cwd.join("folder")).unwrap();
    symlink("../secret/key", cwd.join("file")).unwrap();
    symlink("../secret/new", cwd.join("dangling")).unwrap();
    symlink("folder", cwd.join("twice")).unwrap();
    fs::hard_link(secret.join("key"), cwd.join("hard")).unwrap();
    let proc = format!("/proc/self/root{}/key", secret.display());
    for path in ["folder/key", "file", "twice/deep/key", "hard", "../secret/key", &proc] {
        denied(&stage, "read", json!({"path": path}));
    }
    for path in ["folder/key", "file", "dangling", "twice/none/yet/new", "folder/deep/../key", "../secret/x", &proc] {
        denied(&stage, "write", json!({"path": path, "content": "x"}));
        denied(&stage, "edit", json!({"path": path, "oldText": "needle", "newText": "x"}));
    }
    denied(&stage, "ls", json!({"path": "twice"}));
    denied(&stage, "read", json!({"path": "folder"}));
    denied(&stage, "grep", json!({"pattern": "needle", "path": "folder"}));
    denied(&stage, "grep", json!({"pattern": "needle", "path": "file"}));
    denied(&stage, "find", json!({"pattern": "*", "path": "folder"}));
    assert_eq!(fs::read_to_string(secret.join("key")).unwrap(), "needle in the secret\n");
    crate::stage::holds(&secret, &["deep", "key"]);
    // Other files can still be opened, also through links.
    symlink("open.txt", cwd.join("other")).unwrap();
    stage.ok("read", json!({"path": "other"}), "1:needle in the open");
    stage.ok("write", json!({"path": "new/deep/file", "content": "x"}), "Successfully wrote 1 bytes to new/deep/file");
    stage.ok("edit", json!({"path": "other", "oldText": "open", "newText": "air"}), "Applied 1 edit to other.");
    assert_eq!(stage.get("open.txt"), "needle in the air\n");
    assert!(cwd.join("other").is_symlink());
}

fn searches_omit_denied_files() {
    for rule in ["read(sub/secret.txt)", "grep(sub/secret.txt)", "*(**/secret.txt)", "read(sub/**)"] {
        let stage = guarded(json!({"deny": [rule]}));
        stage.put("sub/secret.txt", "needle hidden\nneedle again\n");
        stage.put("z.txt", "needle last\n");
        let (text, failed) = stage.call("grep", json!({"pattern": "needle"}));
        assert_eq!(
            (text.as_str(), failed),
            ("open.txt\n1:needle in the open\n\nz.txt\n1:needle last", false),
            "{rule}"
        );
        let (text, _) = stage.call("grep", json!({"pattern": "needle", "mode": "count"}));
        assert_eq!(text, "open.txt:1\nz.txt:1", "{rule}");
        let (text, _) = stage.call("grep", json!({"pattern": "needle", "limit": 1}));
        assert!(!text.contains("secret") && !text.contains("hidden"), "{rule}: {text}");
        denied(&stage, "grep", json!({"pattern": "needle", "path": "sub/secret.txt"}));
    }
    let stage = guarded(json!({"deny": ["find(sub/secret.txt)"]}));
    stage.put("sub/secret.txt", "x");
    stage.ok("find", json!({"pattern": "*.txt", "sort": "path"}), "open.txt");
}

fn rules_for_read_apply_to_mentioned_files() {
    let stage = guarded(json!({"deny": ["read(SECRET/**)", "read(sub/*.key)"], "ask": ["read(open.txt)"]}));
    stage.put("sub/a.key", "needle");
    symlink("../secret", stage.cwd().join("folder")).unwrap();
    let cwd = stage.cwd();
    let folders = ResourceFolders { project: cwd.join(".sinew"), agent: cwd.join("none"), home: None, cwd };
    let images = ImageSettings::default();
    let attacher = Attacher { folders: &folders, images, cancel: CancelToken::never(), host: Some(&stage.host) };
    for name in ["sub/a.key", "folder/key", "folder", "../secret/deep/key"] {
        let error = attacher.one(name).unwrap_err();
        assert!(error.starts_with("Denied by permission rule: read("), "{name}: {error}");
    }
    // Attaching a file is the user's permission to read it.
    assert_eq!(attacher.one("open.txt").unwrap().content, "needle in the open\n");
}

fn ask_rules_refuse_files_that_the_user_was_not_asked_about() {
    let stage = guarded(json!({"ask": ["read(SECRET/**)"], "allow": ["read(SECRET/deep/**)"]}));
    symlink("../secret/key", stage.cwd().join("file")).unwrap();
    let text = stage.call("read", json!({"path": "file"})).0;
    assert!(text.ends_with("(the call named another path)"), "{text}");
    stage.ok("read", json!({"path": "../secret/deep/key"}), "1:needle deep");
}
