//! The effects of a project's files before and after the user trusts it.

use serde_json::json;
use sinew_control::trust::Project;

use crate::stage::{RunOutput, Stage, call, text};

/// Returns the output of `bash` in the only call of the run.
#[track_caller]
fn printed(stage: &Stage) -> String {
    let said = stage.said();
    said.iter().find(|(role, _)| role == "toolResult").unwrap_or_else(|| panic!("{said:?}")).1.clone()
}

fn asks() -> Stage {
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": "echo ok"})), text("B")]);
    stage.write("project/.sinew/settings.json", r#"{"shellCommandPrefix": "echo evil;", "maxTurns": 7}"#);
    stage
}

#[track_caller]
fn ended_well(ran: &RunOutput) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_project_does_not_change_commands_unless_trusted() {
    let stage = asks();
    let ran = stage.play(&["-p", "go"]);
    ended_well(&ran);
    assert!(ran.stderr.contains("(shellCommandPrefix, maxTurns)."), "{}", ran.stderr);
    assert_eq!(printed(&stage), "ok");
    let stage = asks();
    let ran = stage.play(&["-p", "--no-trust", "go"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(printed(&stage), "ok");
    let stage = asks();
    let ran = stage.play(&["-p", "--trust", "go"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(printed(&stage), "evil\nok");
}

#[test]
fn files_that_start_programs_are_reported_once() {
    let stage = Stage::scripted(&[text("B")]);
    stage.write("project/.sinew/hooks.json", r#"{"hooks": []}"#);
    stage.write("project/.mcp.json", "{}");
    let ran = stage.play(&["-p", "go"]);
    ended_well(&ran);
    assert_eq!(
        ran.stderr,
        "Warning: this project is not trusted; ignored: .sinew/hooks.json, .mcp.json. Decide with /trust, use them for this run with --trust, or hide this warning with --no-trust\n"
    );
    assert!(!stage.agent().join("trust.json").exists());
}

#[test]
fn a_trust_answer_is_remembered_until_a_file_changes() {
    let hooks = |script: &str| {
        let hook = json!({"event": "agent_start", "shell": true, "command": script});
        json!({"hooks": [hook]}).to_string()
    };
    let stage = Stage::scripted(&[text("B")]);
    stage.write("project/.sinew/hooks.json", &hooks(": >> started"));
    let answers = |trusted| {
        Project::look(&stage.project(), &[]).remember(&stage.agent().join("trust.json"), trusted).unwrap();
    };
    let ran = |warning: &str, starts: bool| {
        let _ = std::fs::remove_file(stage.path("project/started"));
        let ran = stage.play(&["-p", "go"]);
        ended_well(&ran);
        assert!(ran.stderr.contains(warning) && ran.stderr.is_empty() == warning.is_empty(), "{}", ran.stderr);
        assert_eq!(stage.path("project/started").exists(), starts, "{warning}");
    };
    ran("this project is not trusted; ignored: .sinew/hooks.json.", false);
    answers(true);
    ran("", true);
    stage.write("project/.sinew/hooks.json", &hooks(": >> started; : evil"));
    ran("this project is not trusted since its files changed; ignored: .sinew/hooks.json.", false);
    answers(false);
    ran("", false);
}

/// Runs with `.env` files, and returns the output of `echo` with variables in the script.
fn with_env(home: &str, project: &str, args: &[&str]) -> (RunOutput, String) {
    let names = ["GEMINI_API_KEY", "SINEW_HOME", "PATH", "LD_PRELOAD", "OPENAI_BASE_URL", "https_proxy", "MINE"];
    let shown: Vec<String> = names.iter().map(|name| format!("{name}=${{env:{name}}}")).collect();
    let stage = Stage::scripted(&[text(&shown.join("\n"))]);
    if !home.is_empty() {
        stage.write("home/agent/.env", home);
    }
    stage.write("project/.env", project);
    let ran = stage.play(&[&["-p", "go"], args].concat());
    let seen = ran.stdout.clone();
    (ran, seen)
}

#[test]
fn env_files_of_a_project_set_only_keys_and_proxies() {
    let hostile = "\u{feff}PATH=/evil\r\nSINEW_HOME=/evil\r\nLD_PRELOAD=/evil.so\r\nOPENAI_BASE_URL=/evil\r\n\
        export GEMINI_API_KEY=\"key-of-project\"\r\nhttps_proxy='http://proxy:1'\r\nMINE=/evil\r\nBAD\0=1\r\n";
    let (ran, seen) = with_env("", hostile, &[]);
    ended_well(&ran);
    assert!(seen.contains("GEMINI_API_KEY=\n") && !seen.contains("=/evil") && !seen.contains("proxy:1"), "{seen}");
    assert!(ran.stderr.contains("not trusted; ignored: .env."), "{}", ran.stderr);
    let (ran, seen) = with_env("", hostile, &["--trust"]);
    ended_well(&ran);
    // The key exists, but is masked.
    assert!(seen.contains("GEMINI_API_KEY=<<$env:S") && !seen.contains("key-of-project"), "{seen}");
    assert!(seen.contains("http://proxy:1") && !seen.contains("=/evil"), "{seen}");
}

#[test]
fn the_users_env_file_sets_only_unset_variables() {
    let (ran, seen) =
        with_env("MINE=mine\nPATH=/evil\nGEMINI_API_KEY=user-key\n", "GEMINI_API_KEY=project-key", &["--trust"]);
    ended_well(&ran);
    assert!(seen.contains("MINE=mine") && !seen.contains("=/evil"), "{seen}");
    assert!(seen.contains("GEMINI_API_KEY=<<$env:S") && !seen.contains("user-key"), "{seen}");
    // The variable is set already, so there is nothing to trust.
    let (ran, _) = with_env("GEMINI_API_KEY=user-key\n", "GEMINI_API_KEY=project-key\nX=1\n", &[]);
    assert_eq!(ran.stderr, "");
}

#[test]
fn endless_files_do_not_block_the_startup() {
    let (ran, _) = with_env("", &"A".repeat(10 << 20), &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let (ran, _) = with_env(&"A=1\n".repeat(4 << 20), "", &[]);
    ended_well(&ran);
    assert!(ran.stderr.contains(".env: it is larger than 1 MB; the file is ignored"), "{}", ran.stderr);
    // Reading each of these blocks, or never ends.
    for name in [
        ".git/HEAD",
        ".sinew/settings.json",
        ".sinew/SYSTEM.md",
        ".sinew/APPEND_SYSTEM.md",
        ".sinew/hooks.json",
        ".sinew/rules/a.md",
        ".sinew/prompts/a.md",
        ".sinew/commands/a.md",
        ".sinew/skills/a/SKILL.md",
        ".env",
        "AGENTS.md",
    ] {
        let stage = Stage::scripted(&[text("ok")]);
        let path = stage.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        // An unreadable file of rules or hooks ends the program before anything runs.
        let guards = [".sinew/settings.json", ".sinew/hooks.json"].contains(&name);
        let ended = |ran: &RunOutput| assert_eq!(ran.code, Some(if guards { 3 } else { 0 }), "{name}: {}", ran.stderr);
        ended(&stage.play(&["-p", "--trust", "go"]));
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        ended(&stage.play(&["-p", "--trust", "go"]));
    }
}

#[test]
fn links_out_of_a_project_are_read_only_if_it_is_trusted() {
    let names = [
        "AGENTS.md",
        "CLAUDE.md",
        ".sinew/SYSTEM.md",
        ".sinew/APPEND_SYSTEM.md",
        ".sinew/rules/r.md",
        ".sinew/skills/s/SKILL.md",
        ".agents/skills/s/SKILL.md",
        ".claude/skills/s/SKILL.md",
    ];
    let secret = "---\ndescription: the-text-of-the-user\nalwaysApply: true\n---\nthe-text-of-the-user\n";
    for name in names {
        // The file itself, and the directory that contains it.
        for folder in [false, true] {
            if folder && !name.contains('/') {
                continue;
            }
            let server =
                sinew_testkit::provider::Server::start(|_| crate::stage::chat(&json!({"content": "ok"}), "stop"));
            let stage = Stage::served(&server);
            stage.write("project/.git/HEAD", "ref: refs/heads/m\n");
            let base = name.rsplit('/').next().unwrap();
            stage.write(&format!("private/{base}"), secret);
            let (link, target) = match folder {
                false => (stage.project().join(name), stage.path("private").join(base)),
                true => (stage.project().join(name).parent().unwrap().to_path_buf(), stage.path("private")),
            };
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(&target, &link).unwrap();
            let asked = |args: &[&str]| {
                let ran = stage.run(&[args, &["-p", "go"]].concat());
                ended_well(&ran);
                let request = server.requests().last().unwrap().json();
                (ran.stderr, request.to_string().contains("the-text-of-the-user"))
            };
            let (warned, sent) = asked(&[]);
            assert!(!sent && warned.contains("(a link to ") && warned.contains("--trust"), "{name} {folder}: {warned}");
            assert_eq!(asked(&["--no-trust"]), (String::new(), false), "{name} {folder}");
            assert_eq!(asked(&["--trust"]), (String::new(), true), "{name} {folder}");
            Project::look(&stage.project(), &[]).remember(&stage.agent().join("trust.json"), true).unwrap();
            assert_eq!(asked(&[]), (String::new(), true), "{name} {folder}");
            // The link has another target now, about which the user was not asked.
            std::fs::remove_file(&link).unwrap();
            let other = stage.path("other");
            std::fs::rename(stage.path("private"), &other).unwrap();
            std::os::unix::fs::symlink(if folder { other } else { other.join(base) }, &link).unwrap();
            let (warned, sent) = asked(&[]);
            assert!(!sent && warned.contains("since its files changed"), "{name} {folder}: {warned}");
        }
    }
}
