//! The completion scripts, executed by the shells.

use std::process::Command;

use crate::stage::Stage;

/// Creates a stage with the script of `shell` in the file `script`.
fn scripted(shell: &str) -> Stage {
    let stage = Stage::new();
    let ran = stage.run(&["completions", shell]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    stage.write("project/script", &ran.stdout);
    stage
}

/// Runs a shell in the project and returns its lines, sorted; `None` if the shell is not installed.
fn lines(stage: &Stage, shell: &str, args: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new(shell);
    command.args(args).current_dir(stage.project()).env_clear().env("HOME", stage.path("home"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let ran = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        ran => ran.unwrap(),
    };
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    assert!(ran.status.success(), "{ran:?}");
    let mut lines: Vec<String> = String::from_utf8(ran.stdout).unwrap().lines().map(str::to_string).collect();
    lines.sort();
    Some(lines)
}

fn folders(stage: &Stage) {
    for name in ["a folder/x", "afile", "bfile"] {
        stage.write(&format!("project/{name}"), "");
    }
}

#[test]
fn bash_completes_commands_flags_values_and_files() {
    let stage = scripted("bash");
    folders(&stage);
    let complete = |words: &[&str]| {
        let code =
            "source ./script; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _sinew; printf '%s\\n' \"${COMPREPLY[@]}\"";
        lines(&stage, "bash", &[&["--norc", "-c", code, "bash", "sinew"], words].concat()).unwrap()
    };
    assert_eq!(complete(&["co"]), ["completions", "config"]);
    assert_eq!(complete(&["config", ""]), ["get", "list", "path", "set", "unset"]);
    assert_eq!(complete(&["mcp", "dis"]), ["disable"]);
    assert_eq!(complete(&["--mo"]), ["--mode", "--model", "--models"]);
    assert_eq!(complete(&["--mode", ""]), ["acp", "json", "rpc", "text"]);
    assert_eq!(complete(&["-p", "--session", "a"]), ["a folder", "afile"]);
    assert_eq!(complete(&["--session-dir", ""]), ["a folder"]);
    assert_eq!(complete(&["look", "@b"]), ["@bfile"]);
    // For free text, neither flags nor files are offered.
    assert_eq!(complete(&["--max-cost", ""]), [""]);
}

#[test]
fn fish_completes_commands_flags_and_values() {
    let stage = scripted("fish");
    folders(&stage);
    let complete = |line: &str| {
        let code = format!("source ./script; complete -C '{line}'");
        let lines = lines(&stage, "fish", &["--no-config", "-c", &code])?;
        // A tab separates the description.
        Some(lines.iter().map(|line| line.split('\t').next().unwrap().to_string()).collect::<Vec<_>>())
    };
    let Some(commands) = complete("sinew co") else { return };
    assert_eq!(commands, ["completions", "config"]);
    assert_eq!(complete("sinew mcp dis").unwrap(), ["disable"]);
    assert_eq!(complete("sinew --mode ").unwrap(), ["acp", "json", "rpc", "text"]);
    assert_eq!(complete("sinew --mo").unwrap(), ["--mode", "--model", "--models"]);
    assert_eq!(complete("sinew --session-dir a").unwrap(), ["a folder/"]);
}

#[test]
fn zsh_loads_the_script_by_eval_and_from_fpath() {
    let stage = scripted("zsh");
    let code = "autoload -U compinit; compinit -u -D; eval \"$(cat script)\"; print $_comps[sinew]; whence -w _sinew";
    let Some(by_eval) = lines(&stage, "zsh", &["-f", "-c", code]) else { return };
    assert_eq!(by_eval, ["_sinew", "_sinew: function"]);
    std::fs::create_dir_all(stage.project().join("functions")).unwrap();
    std::fs::copy(stage.project().join("script"), stage.project().join("functions/_sinew")).unwrap();
    let code = "fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D; print $_comps[sinew]";
    assert_eq!(lines(&stage, "zsh", &["-f", "-c", code]).unwrap(), ["_sinew"]);
    assert_eq!(lines(&stage, "zsh", &["-n", "script"]).unwrap(), [""; 0]);
}

#[test]
fn completed_subcommands_appear_in_the_help() {
    let stage = scripted("fish");
    let script = std::fs::read_to_string(stage.project().join("script")).unwrap();
    let mut seen = 0;
    for line in
        script.lines().filter_map(|line| line.strip_prefix("complete -c sinew -f -n '__fish_seen_subcommand_from "))
    {
        let (command, words) = line.split_once("' -a '").unwrap();
        let help = stage.run(&[command, "--help"]).stdout;
        for word in words.trim_end_matches('\'').split(' ') {
            seen += 1;
            assert!(help.contains(&format!(" {word}")), "{command} {word}: {help}");
        }
    }
    assert!(seen > 15, "{seen}");
}

#[test]
fn an_unsupported_shell_is_refused_with_the_supported_ones() {
    let stage = Stage::new();
    let ran = stage.run(&["completions", "tcsh"]);
    let expect = "sinew: sinew completions tcsh: use bash, zsh or fish. Use -p to send a message\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), expect));
    let ran = stage.run(&["completions"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(2), "sinew: sinew completions needs a shell: bash, zsh or fish\n")
    );
}
