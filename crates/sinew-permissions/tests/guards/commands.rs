//! Tests command rules against what bash really runs.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;
use sinew_permissions::{CallSite, Decision, Permissions, Rules};

use crate::call;
use crate::lines::{MAY_RUN, PLAIN, RUN};

fn asked(line: &str) -> Decision {
    let (rules, _) = Rules::read(&json!({"deny": ["bash(git push*)"]}));
    let permissions = Permissions::new(rules, None, None);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let site = CallSite { cwd: Path::new("/"), session: "s1", has_ui: false, requester: None };
    runtime.block_on(permissions.judge(&call("bash", json!({"command": line})), site)).unwrap()
}

/// Creates a folder with a program `git` that creates the file `ran` when it is asked to push.
fn fake_git() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (bin, ran) = (folder.path().join("bin"), folder.path().join("ran"));
    fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\ncase \" $* \" in *' push '*) : > '{}' ;; esac\n", ran.display());
    // Written by a separate process: if this process wrote the file, a child that another test starts at the same time
    // could inherit the open file, and the system does not run a file that is open for writing.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "printf %s \"$1\" > git && chmod 755 git", "sh", &script]).current_dir(&bin);
    assert!(shell.status().unwrap().success());
    (folder, ran)
}

/// Runs a line in an empty folder and returns whether it pushed.
fn pushes(folder: &std::path::Path, ran: &std::path::Path, line: &str) -> bool {
    let work = folder.join("work");
    for path in [ran, &work] {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    }
    fs::create_dir(&work).unwrap();
    let mut bash = std::process::Command::new("timeout");
    bash.args(["20", "bash", "-c", line]).current_dir(&work).env("HOME", &work);
    bash.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(folder.join("bin")).chain(std::env::split_paths(&path))).unwrap();
    bash.env("PATH", path).status().unwrap();
    ran.exists()
}

#[test]
fn lines_that_run_a_denied_command_are_refused() {
    let (folder, ran) = fake_git();
    let mut shown = 0;
    for line in RUN {
        assert_ne!(asked(line), Decision::Allow, "{line:?}");
        shown += usize::from(pushes(folder.path(), &ran, line));
    }
    // Verifies the table itself: bash did push with these lines, except where programs are not installed.
    assert!(shown > RUN.len() / 2, "{shown} of {}", RUN.len());
    for line in MAY_RUN {
        assert_ne!(asked(line), Decision::Allow, "{line:?}");
    }
}

#[test]
fn common_commands_are_not_refused() {
    for line in PLAIN {
        assert_eq!(asked(line), Decision::Allow, "{line:?}");
    }
}

/// Lines with extreme nesting or repetition get a result and do not end the process.
#[test]
fn extreme_lines_get_an_answer() {
    let times = |piece: &str, count: usize| piece.repeat(count);
    for piece in [
        "(",
        "$(",
        "`",
        "${x:-",
        "$((",
        "((",
        "{ ",
        "if x; then ",
        "case x in x) ",
        "<(",
        "\"$(",
        "f() ",
        "coproc ",
        "! ",
        "[[ ( ",
        "@(",
        "$[",
        "a=(",
        "<<E\n",
    ] {
        for count in [1, 3, 20, 300, 20_000] {
            let _ = asked(&times(piece, count));
            let _ = asked(&format!("echo {}", times(piece, count)));
        }
    }
    for (open, close) in [
        ("$(echo ", ")"),
        ("( ", " )"),
        ("{ ", "; }"),
        ("${x:-", "}"),
        ("$((1+", "))"),
        ("\"$(x ", ")\""),
        ("if x; then ", "; fi"),
        ("@(a|", ")"),
    ] {
        for count in [2, 8, 30, 1000] {
            let _ = asked(&format!("{}x{}", times(open, count), times(close, count)));
        }
    }
}

/// Parts of lines that are hard to parse.
const PIECES: [&str; 58] = [
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
    "; done",
    "time ",
    "-- ",
    "{fd}>f ",
    "<<<",
    "$'",
    "\\'",
    "$$",
    "@(",
    "!(",
    "<<'E'",
    "<<-E",
    "\\$",
    "\\\n",
    "]",
    "a[",
    "xargs ",
    "alias f=",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Every push by bash is detected, or the user is asked.
        #[test]
    fn detects_every_push_that_bash_runs(
        before in prop::collection::vec(0..PIECES.len(), 0..5),
        behind in prop::collection::vec(0..PIECES.len(), 0..5),
    ) {
        let picks = before.into_iter().chain([0]).chain(behind);
        let line: String = picks.map(|pick| PIECES[pick]).collect();
        // Only a line that would be allowed has to be run.
        if asked(&line) == Decision::Allow {
            let (folder, ran) = fake_git();
            prop_assert!(!pushes(folder.path(), &ran, &line), "{:?}", line);
        }
    }
}
