//! Rules for commands against what bash really runs.

use std::fs;

use proptest::prelude::*;
use serde_json::json;
use sinew_agent::extension::{Extension, Verdict};
use sinew_agent::permissions::{Permissions, Rules};

use crate::{call, context};

fn asked(line: &str) -> Verdict {
    let (rules, _) = Rules::read(&json!({"deny": ["bash(git push*)"]}));
    let permissions = Permissions::new(rules, None, None);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (call, context) = (call("bash", json!({"command": line})), context());
    runtime.block_on(permissions.before_tool_call(&call, &context)).unwrap()
}

/// Pieces of lines that are hard to read.
const PIECES: [&str; 40] = [
    "git push",
    "git",
    "push",
    " ",
    "\n",
    ";",
    "'",
    "\"",
    "$(",
    ")",
    "`",
    "(",
    "{ ",
    "; }",
    "<<E",
    "\nE\n",
    "\\",
    "#",
    "case x in x",
    ";; esac",
    "if true; then ",
    "; fi",
    "&&",
    "|",
    " >f ",
    "x=",
    "echo ",
    "((",
    "))",
    "${x:-",
    "}",
    "[[ a = a ]]",
    "&",
    "$",
    "f() ",
    "eval ",
    "!",
    "<(",
    "\t",
    "for x in a; do ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// What bash runs is found, or the user is asked.
    #[cfg(unix)]
    #[test]
    fn bash_runs_nothing_that_is_not_seen(
        before in prop::collection::vec(0..PIECES.len(), 0..5),
        behind in prop::collection::vec(0..PIECES.len(), 0..5),
    ) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("git");
        fs::write(&program, "#!/bin/sh\n[ \"$1\" = push ] && : > \"${0%/*}/ran\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let picks = before.into_iter().chain([0]).chain(behind);
        let line: String = picks.map(|pick| PIECES[pick]).collect();
        let mut bash = std::process::Command::new("timeout");
        bash.args(["20", "bash", "-c", &line]).current_dir(folder.path());
        bash.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        // The pieces name no other program, so that none is run by accident.
        let path = std::env::var_os("PATH").unwrap_or_default();
        bash.env("PATH", std::env::join_paths(std::iter::once(folder.path().to_path_buf()).chain(std::env::split_paths(&path))).unwrap());
        bash.status().unwrap();
        if folder.path().join("ran").exists() {
            prop_assert_ne!(asked(&line), Verdict::Allow, "{:?}", line);
        }
    }
}
