//! The sandbox of the agent: the kernel enforces flags, settings and rules, for commands and for tools.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;
use crate::stage::{Stage, call, text};

/// Creates a directory outside of the directories for temporary files, to which programs in a sandbox may write.
pub(crate) fn elsewhere() -> TempDir {
    let home = std::env::home_dir().unwrap_or_default();
    let candidates = [Path::new(env!("CARGO_TARGET_TMPDIR")), Path::new("/srv"), Path::new("/opt"), &home];
    let is_temporary = |path: &Path| path.starts_with("/tmp") || path.starts_with("/var/tmp");
    let folder = candidates.into_iter().find_map(|base| {
        let base = base.canonicalize().ok().filter(|base| !is_temporary(base))?;
        tempfile::Builder::new().prefix(".sinew-outside-").tempdir_in(base).ok()
    });
    folder.expect("a writable folder that is not for temporary files")
}

/// Returns the result of one call in a run with these flags.
#[track_caller]
fn result(stage: &Stage, tool: &str, arguments: Value, args: &[&str]) -> String {
    let lines = [call("A", tool, arguments), text("B")].map(|line| line.to_string());
    stage.write("project/script.jsonl", &lines.join("\n"));
    let _ = std::fs::remove_dir_all(stage.agent().join("sessions"));
    let ran = stage.play(&[&["-p", "go"], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    stage.said().into_iter().find(|(role, _)| role == "toolResult").unwrap().1
}

fn bash(stage: &Stage, command: &str, args: &[&str]) -> String {
    result(stage, "bash", json!({"command": command}), args)
}

#[test]
fn workspace_lets_programs_and_tools_write_the_project_only() {
    let (stage, outside) = (Stage::new(), elsewhere());
    let file = outside.path().join("file");
    let path = file.display();
    let args = ["--sandbox", "workspace"];
    for command in [
        format!("echo x > {path}"),
        format!("python3 -c \"open('{path}', 'w')\""),
        format!("bash -c 'echo x | tee {path}'"),
        format!("cd {}; touch file", outside.path().display()),
    ] {
        assert!(bash(&stage, &command, &args).contains("The sandbox (workspace)"), "{command}");
        assert!(!file.exists(), "{command}");
    }
    for (tool, arguments) in [
        ("write", json!({"path": file, "content": "x"})),
        ("bash", json!({"command": format!("echo x > {path}"), "background": true})),
    ] {
        let told = result(&stage, tool, arguments, &args);
        assert!(!file.exists(), "{tool}: {told}");
    }
    assert!(
        bash(&stage, &format!("echo x > {path}; echo y > inside"), &["--sandbox", "off"]).starts_with("(no output)")
    );
    assert!(file.exists());
    bash(&stage, "echo z > inside", &args);
    assert_eq!(std::fs::read_to_string(stage.path("project/inside")).unwrap(), "z\n");
    assert!(result(&stage, "write", json!({"path": "made/it", "content": "x"}), &args).contains("made/it"));
}

#[test]
fn network_refusals_name_the_address() {
    let stage = Stage::new();
    let told = bash(&stage, "exec 3<>/dev/tcp/127.0.0.1/9", &["--sandbox", "workspace"]);
    assert!(told.contains("The sandbox (workspace) refused a connection to 127.0.0.1:9"), "{told}");
}

#[test]
fn a_deny_rule_for_files_applies_to_every_program() {
    let stage = Stage::new();
    stage.write("project/.env", "TOKEN=1234");
    stage.write("project/deep/.env", "TOKEN=1234");
    stage.write("project/kept/file", "1234");
    let read = ["--deny", "read(.env)"];
    for command in [
        "X=env; cat .$X",
        "python3 -c \"print(open('.e' + 'nv').read())\"",
        "cd deep && grep -r 1234 .",
        "tar c . | strings | grep 1234",
        "ln -s .env link; cat link",
    ] {
        let told = bash(&stage, command, &read);
        assert!(!told.contains("TOKEN=1234"), "{command}: {told}");
    }
    let told = result(&stage, "bash", json!({"command": "cat deep/.e*v", "background": true}), &read);
    assert!(!told.contains("1234"), "{told}");
    for command in ["python3 -c \"open('kept/file', 'w')\"", "mv kept gone; rm -rf kept", "sed -i s/1/2/ k*/file"] {
        bash(&stage, command, &["--deny", "write(kept/**)"]);
        assert_eq!(std::fs::read_to_string(stage.path("project/kept/file")).unwrap(), "1234", "{command}");
    }
    // A rule about another file has no effect here.
    assert!(bash(&stage, "X=env; cat .$X", &["--deny", "write(other)"]).contains("1234"));
}

#[test]
fn a_project_can_tighten_but_not_loosen_the_sandbox() {
    let (stage, outside) = (Stage::new(), elsewhere());
    let command = format!("touch {}/file", outside.path().display());
    let is_closed = |stage: &Stage, args: &[&str]| {
        bash(stage, &command, args);
        std::fs::remove_file(outside.path().join("file")).is_err()
    };
    for trust in ["--trust", "--no-trust"] {
        for (user, project, closed) in [
            (json!({}), json!({"sandbox": {"mode": "workspace"}}), true),
            (json!({"sandbox": {"mode": "workspace"}}), json!({"sandbox": {"mode": "off"}}), true),
            (json!({"sandbox": {"mode": "workspace"}}), json!({"sandbox": null}), true),
            (json!({"sandbox": {"mode": "workspace"}}), json!({"sandbox": {"write": ["/"]}}), true),
            (json!({}), json!({"sandbox": {"mode": "off"}}), false),
        ] {
            stage.write("home/agent/settings.json", &user.to_string());
            stage.write("project/.sinew/settings.json", &project.to_string());
            assert_eq!(is_closed(&stage, &[trust]), closed, "{trust} {user} {project}");
        }
    }
}

#[test]
fn an_unavailable_sandbox_ends_the_program_before_anything_runs() {
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": "touch ran"})), text("B")]);
    for (args, expect) in
        [(&["--sandbox", "workspace", "--cwd", "/"][..], "too wide"), (&["--sandbox", "some"], "unknown mode")]
    {
        let script = stage.path("project/script.jsonl").display().to_string();
        let ran = stage.run(&[&["-p", "go", "--script", &script], args].concat());
        assert!(ran.code != Some(0) && ran.stderr.contains(expect), "{args:?}: {}", ran.stderr);
        assert!(!stage.path("project/ran").exists());
    }
}

/// Methods to write below the project. Each succeeds without plan mode.
const WRITES: [&str; 32] = [
    "touch made",
    "echo x > file",
    "echo x >> file",
    "sed -i s/a/b/ file",
    "python3 -c \"open('made', 'w').write('x')\"",
    "mv file other",
    "rm file",
    "chmod 777 file",
    "touch -d 2001-01-01 file",
    "ln -s file link",
    "git init -q . && git add -A",
    "perl -i -pe s/a/b/ file",
    "(sleep 0; touch made) & wait",
    "cp file made; dd if=/dev/zero of=file bs=1 count=1",
    "truncate -s 0 file",
    "echo x | tee file",
    "awk 'BEGIN { print 1 > \"file\" }'",
    "echo x | sort -o file",
    "install -m 644 /etc/passwd made",
    "ln file made",
    "mkdir -p a/b",
    "tar c -C /etc passwd | tar x",
    "git config -f made a.b c",
    "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
    "find . -name file -exec sh -c 'echo x > \"$0\"' {} \\;",
    "find . -name file -delete",
    "python3 -c \"import subprocess; subprocess.run(['touch', 'made'])\"",
    "python3 -c \"import os; os.truncate('file', 0)\"",
    "bash -c 'echo x >| file'",
    "setsid -w sh -c 'echo x > made'",
    "echo x > /proc/self/cwd/made",
    "f=$(mktemp -d); ln -s \"$PWD\" $f/l; echo x > $f/l/made; rm -r $f",
];

fn tree(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        use std::os::unix::fs::MetadataExt;
        let data = entry.metadata().unwrap();
        let (name, text) = (entry.file_name(), std::fs::read_to_string(entry.path()).unwrap_or_default());
        if name != "script.jsonl" {
            found.push(format!("{name:?} {:o} {} {text}", data.mode(), data.mtime()));
        }
    }
    found.sort();
    found
}

#[test]
fn commands_cannot_write_in_plan_mode() {
    for command in WRITES {
        let changed = |args: &[&str]| {
            let stage = Stage::new();
            stage.write("project/file", "a");
            let before = tree(&stage.project());
            let told = bash(&stage, command, args);
            assert!(!told.contains("unknown tool"), "{command}: {told}");
            before != tree(&stage.project())
        };
        assert!(changed(&[]), "{command}: changes nothing without plan mode");
        assert!(!changed(&["--plan"]), "{command}");
    }
}

#[test]
fn plan_mode_offers_no_tool_that_writes_and_survives_resume() {
    let stage = Stage::scripted(&[text("1. do it")]);
    let ran = stage.play(&["-p", "--plan", "make a plan"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "1. do it"));
    stage.write(
        "project/script.jsonl",
        &[call("A", "write", json!({"path": "made", "content": "x"})), text("B")]
            .map(|line| line.to_string())
            .join("\n"),
    );
    let ran = stage.play(&["-p", "-c", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!stage.path("project/made").exists());
}

const PLAN: &str = "# Make the file\nFirst a file, then nothing.";

/// Starts an RPC client whose model submits a plan and then creates a file.
fn planning(stage: &Stage) -> Client {
    let plan = json!({"plan": PLAN, "steps": ["make the file"]});
    let lines = [
        call("I plan.", "submit_plan", plan),
        call("I work.", "bash", json!({"command": "touch made"})),
        text("Done."),
    ];
    stage.write("project/script.jsonl", &lines.map(|line| line.to_string()).join("\n"));
    Client::scripted(stage, &["--mode", "rpc", "--plan"])
}

#[test]
fn the_user_accepts_or_rejects_a_plan() {
    for (answer, made, mode) in [
        ("Run it", true, "none"),
        ("Change it", false, "plan"),
        ("smaller steps, please", false, "plan"),
        ("Leave", false, "none"),
    ] {
        let stage = Stage::new();
        let mut client = planning(&stage);
        assert_eq!(client.data("get_state", json!({}))["mode"], "plan");
        client.begin("prompt", json!({"message": "go"}));
        let asked = client.event("extension_ui_request");
        assert!(asked.to_string().contains("Make the file"), "{asked}");
        client.send(&json!({"type": "extension_ui_response", "id": asked["id"], "value": answer}));
        client.event("agent_end");
        assert_eq!(client.data("get_state", json!({}))["mode"], mode, "{answer}");
        if made {
            assert_eq!(client.data("get_state", json!({}))["todoPhases"][0]["tasks"][0]["content"], "make the file");
            assert_eq!(client.data("get_state", json!({}))["sessionName"], "Make the file");
        }
        client.end();
        assert_eq!(stage.path("project/made").exists(), made, "{answer}");
    }
}

#[test]
fn the_doctor_names_what_is_enforced_and_what_is_wrong() {
    let stage = Stage::new();
    let ran = stage.run(&["doctor", "--sandbox", "workspace"]);
    for expect in ["sandbox    workspace: write is enforced by namespaces", "plan mode  commands run and cannot write"]
    {
        assert!(ran.stdout.contains(expect), "{expect}: {}", ran.stdout);
    }
    // No key is configured.
    assert!(ran.code == Some(1) && ran.stdout.contains("problem  models"), "{}", ran.stdout);
    stage.write("home/agent/settings.json", r#"{"sandbox": {"mode": "container"}}"#);
    let ran = stage.run(&["doctor", "--output", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let faults: Vec<&Value> = report.as_array().unwrap().iter().filter(|line| line["subject"] == "settings").collect();
    assert!(
        faults.iter().any(|line| line["level"] == "problem" && line["text"].to_string().contains("sandbox.mode")),
        "{report}"
    );
}

#[test]
fn a_user_can_allow_a_refused_command_outside_the_sandbox() {
    for (answer, outside) in [(json!({"confirmed": true}), true), (json!({"confirmed": false}), false)] {
        let (stage, folder) = (Stage::new(), elsewhere());
        let file = folder.path().join("file");
        let command = json!({"command": format!("echo x > {}", file.display())});
        let lines = [call("A", "bash", command), text("B")].map(|line| line.to_string());
        stage.write("project/script.jsonl", &lines.join("\n"));
        let mut client = Client::scripted(&stage, &["--mode", "rpc", "--sandbox", "workspace"]);
        client.begin("prompt", json!({"message": "go"}));
        let asked = client.event("extension_ui_request");
        assert!(asked.to_string().contains("sandbox(off)"), "{asked}");
        let mut response = answer.clone();
        (response["type"], response["id"]) = (json!("extension_ui_response"), asked["id"].clone());
        client.send(&response);
        client.event("agent_end");
        client.end();
        assert_eq!(file.exists(), outside, "{answer}");
    }
}

#[test]
fn without_a_user_rules_and_settings_decide_about_running_outside() {
    let (stage, folder) = (Stage::new(), elsewhere());
    let file = folder.path().join("file");
    let command = format!("touch {}", file.display());
    for (args, outside) in [
        (&["--sandbox", "workspace"][..], false),
        (&["--sandbox", "workspace", "--allow", "sandbox(off)"], true),
        (&["--sandbox", "workspace", "--allow", "sandbox(off)", "--deny", "sandbox(off)"], false),
        (&["--plan", "--allow", "sandbox(off)"], false),
    ] {
        bash(&stage, &command, args);
        assert_eq!(std::fs::remove_file(&file).is_ok(), outside, "{args:?}");
    }
}
