//! Tests of searches, and of workspaces compared with the plain functions.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[cfg(target_os = "linux")]
mod accept;
#[cfg(target_os = "linux")]
#[path = "../../../sinew-walk/tests/all/changes/mod.rs"]
mod changes;
mod content;
mod glob_scope;
mod grep;
mod oracle;
#[cfg(target_os = "linux")]
mod pair;
mod ripgrep;
#[path = "../../../sinew-walk/tests/all/tree/mod.rs"]
mod tree;
#[cfg(windows)]
mod windows_paths;
#[cfg(target_os = "linux")]
mod workspace;
#[cfg(target_os = "linux")]
mod workspace_change_reports;
#[cfg(target_os = "linux")]
mod workspace_changes;
#[cfg(target_os = "linux")]
mod workspace_contract;
#[cfg(target_os = "linux")]
mod workspace_disk;
mod workspace_everywhere;
#[cfg(target_os = "linux")]
mod workspace_faults;
#[cfg(target_os = "linux")]
mod workspace_racing;
#[cfg(target_os = "linux")]
mod workspace_soundness;

/// Returns true in a process that runs only this test. In any other, starts such a process, and panics if the test fails.
#[cfg(target_os = "linux")]
#[track_caller]
fn is_alone(test: &str) -> bool {
    const ALONE: &str = "SINEW_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let (passed, text) = run_alone(test, ALONE, "1");
    assert!(passed && text.contains("1 passed"), "{text}");
    false
}

/// Runs one test of this program in another process with a variable; returns whether it passed, and its output.
#[cfg(target_os = "linux")]
fn run_alone(test: &str, variable: &str, value: &str) -> (bool, String) {
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", test]).env(variable, value).env_remove("SINEW_LAW_RUNS").output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}
