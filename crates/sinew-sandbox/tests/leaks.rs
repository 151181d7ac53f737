//! Tests that closed sandboxes release all resources.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::BTreeSet;
use std::process::Command;

use sinew_sandbox::{CallerEnvironment, Mode, Policy, Sandbox};

/// The resources of a process: descriptors, mounts, child processes, and namespaces that its descriptors keep open.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    descriptors: usize,
    mounts: usize,
    children: usize,
    namespaces: usize,
    files: BTreeSet<String>,
}

fn count(temp: &std::path::Path) -> Count {
    let links: Vec<_> = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path()).collect();
    let namespace = |path: &&std::path::PathBuf| {
        std::fs::read_link(path).is_ok_and(|target| target.to_string_lossy().contains(":["))
    };
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let children = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default());
    Count {
        descriptors: links.len(),
        mounts: std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count(),
        children: children.map(|list| list.split_whitespace().count()).sum(),
        namespaces: links.iter().filter(namespace).count(),
        files: std::fs::read_dir(temp).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect(),
    }
}

#[test]
fn two_hundred_sandboxes_leak_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (root, temp) = (folder.path().join("root"), folder.path().join("temp"));
    std::fs::create_dir_all(&root).unwrap();
    std::fs::create_dir(&temp).unwrap();
    std::fs::write(root.join(".env"), "hidden").unwrap();
    let policy = Policy {
        roots: vec![root.to_str().unwrap().into()],
        deny_read: vec!["**/.env".into()],
        ..Policy::new(Mode::Workspace)
    };
    let surroundings =
        CallerEnvironment { cwd: root.clone(), temp: Some(temp.clone()), ..CallerEnvironment::default() };
    let round = || {
        let sandbox = Sandbox::prepare(&policy, &surroundings).unwrap();
        let entry = sandbox.enter().unwrap();
        let mut command = Command::new("cat");
        command.arg(".env").current_dir(&root);
        entry.attach(&mut command).unwrap();
        let output = command.output().unwrap();
        drop(command);
        assert!(!String::from_utf8_lossy(&output.stdout).contains("hidden"));
        assert_eq!(entry.finish(), []);
        sandbox.close();
    };
    round();
    // The thread that answers calls ends shortly after the command.
    let settled = || {
        while std::fs::read_dir("/proc/self/task").unwrap().any(|task| {
            std::fs::read_to_string(task.unwrap().path().join("comm")).is_ok_and(|name| name.trim() == "sinew-sandbox")
        }) {
            std::thread::yield_now();
        }
        count(&temp)
    };
    let before = settled();
    for _ in 0..200 {
        round();
    }
    assert_eq!(settled(), before);
}
