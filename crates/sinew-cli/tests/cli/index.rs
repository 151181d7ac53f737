//! `sinew index status|remove|prune`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sinew::Sinew;
use sinew::base::CancelToken;
use sinew::search::WorkspaceOptions;

use crate::stage::Stage;

const ROOT: &str = "SINEW_TEST_INDEX_ROOT";

/// The body of a process that creates the index of a directory and uses it until its input ends; does nothing as a
/// test. In the test process, its locks would be inherited for a moment by every program that another test starts.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test prints no API keys")]
fn child_that_uses_an_index() {
    let Some(root) = std::env::var_os(ROOT) else { return };
    let options =
        WorkspaceOptions { cache: std::env::var_os("SINEW_HOME").map(Into::into), ..WorkspaceOptions::default() };
    let sinew = Sinew::new();
    let workspace = sinew.workspaces.open(root, &options).unwrap();
    let status = workspace.ready(&sinew.pool, &CancelToken::never()).unwrap();
    println!("\npersisted: {}", status.index.persisted);
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Starts a process that uses the index of a directory with one file; returns `None` if this disk does not support
/// indexes.
fn using(stage: &Stage, folder: &str) -> Option<Child> {
    stage.write(&format!("{folder}/a.txt"), "hay\n");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "index::child_that_uses_an_index", "--nocapture"])
        .env(ROOT, stage.path(folder))
        .env("SINEW_HOME", stage.path("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    let said = lines.find_map(|line| line.strip_prefix("persisted: ").map(|is| is == "true"));
    let is_persisted = said.expect("the child says whether the index lies on disk");
    if is_persisted {
        return Some(child);
    }
    end(child);
    None
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    // Discards the remaining output, so that the process can end.
    std::io::copy(child.stdout.as_mut().unwrap(), &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Sets the last use of the only index whose directory has this name to `days` ago.
fn age(stage: &Stage, name: &str, days: u64) {
    let is_it = |path: &Path| path.file_name().unwrap().to_string_lossy().starts_with(&format!("{name}-"));
    let mut indexes = fs::read_dir(stage.path("home/index/1")).unwrap().map(|entry| entry.unwrap().path());
    let lock = indexes.find(|path| is_it(path)).unwrap().join("use.lock");
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 3_600);
    fs::File::options().write(true).open(lock).unwrap().set_modified(then).unwrap();
}

/// Returns the roots that `status` prints, and whether each is missing.
fn told(stage: &Stage) -> Vec<(String, bool)> {
    let ran = stage.run(&["index", "status", "--output", "json"]);
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert!(ran.code == Some(0) && list.iter().all(|index| index["bytes"].as_u64() > Some(0)), "{ran:?}");
    let name =
        |index: &Value| Path::new(index["root"].as_str().unwrap()).file_name().unwrap().to_string_lossy().into_owned();
    list.iter().map(|index| (name(index), index["rootGone"].as_bool().unwrap())).collect()
}

#[test]
fn index_status_remove_and_prune_work() {
    let stage = Stage::new();
    let none = stage.run(&["index", "status"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "No indexes found\n"));
    for (folder, days) in [("project", 1), ("old", 40), ("gone", 2), ("kept", 3)] {
        let Some(child) = using(&stage, folder) else { return };
        end(child);
        age(&stage, folder, days);
    }
    fs::remove_dir_all(stage.path("gone")).unwrap();
    let all = [("project", false), ("gone", true), ("kept", false), ("old", false)]
        .map(|(name, gone)| (name.to_string(), gone));
    assert_eq!(told(&stage), all);
    let lines = stage.run(&["index", "status"]).stdout;
    assert_eq!(lines.lines().count(), 5, "{lines}");
    assert!(lines.contains("/gone  (gone)\n") && lines.ends_with(" MB  total\n"), "{lines}");

    let dry = stage.run(&["index", "prune", "--dry-run"]).stdout;
    assert!(dry.contains("/old\n") && dry.contains("2 indexes would be removed, 0.0 MB\n"), "{dry}");
    assert_eq!(told(&stage), all);
    let pruned = stage.run(&["index", "prune"]).stdout;
    assert!(pruned.ends_with("2 indexes removed, 0.0 MB\n"), "{pruned}");
    assert_eq!(told(&stage), [("project".to_string(), false), ("kept".to_string(), false)]);

    let here = stage.run(&["index", "remove"]);
    assert_eq!((here.code, here.stdout), (Some(0), format!("removed the index of {}\n", stage.project().display())));
    let again = stage.run(&["index", "remove"]);
    assert!(again.code == Some(1) && again.stderr.contains("has no index; see sinew index status"), "{again:?}");
    let other = stage.run(&["index", "remove", "../kept"]);
    assert_eq!(other.code, Some(0), "{other:?}");
    assert!(told(&stage).is_empty());
}

#[test]
fn an_index_in_use_is_not_removed() {
    let stage = Stage::new();
    let Some(child) = using(&stage, "project") else { return };
    let refused = stage.run(&["index", "remove"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("it is in use"), "{refused:?}");
    age(&stage, "project", 40);
    let pruned = stage.run(&["index", "prune"]);
    assert!(pruned.stderr.contains("it is in use") && pruned.stdout == "0 indexes removed, 0.0 MB\n", "{pruned:?}");
    end(child);
    assert_eq!(stage.run(&["index", "remove"]).code, Some(0));
}

#[test]
fn index_help_and_errors_name_the_commands() {
    let stage = Stage::new();
    for words in [&["index", "--help"][..], &["index"]] {
        let ran = stage.run(words);
        assert!(ran.code == Some(0) && ran.stdout.contains("sinew index prune [--dry-run]"), "{ran:?}");
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 120), "{}", ran.stdout);
    }
    for words in [&["index", "all"][..], &["index", "status", "now"], &["index", "remove", "a", "b"]] {
        let ran = stage.run(words);
        assert!(ran.code == Some(2) && ran.stderr.contains("use status, remove [FOLDER] or prune"), "{ran:?}");
    }
}
