//! The law of workspaces: after any change they give what the plain functions give, whatever they hold.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

#[path = "../../sinew-walk/tests/changes/mod.rs"]
mod changes;
mod pair;
#[path = "../../sinew-walk/tests/tree/mod.rs"]
mod tree;

use std::process::Command;

use changes::Changes;
use pair::Pair;
use sinew_search::WorkspaceOptions;
use tree::{Dice, seeds};

/// One change after the other, each followed by questions; the index is built now and then.
fn lock_step(seed: u64, steps: usize, around: bool, options: &WorkspaceOptions, builds: bool) {
    let mut dice = Dice::new(seed);
    let mut changes = Changes::new(around);
    let pair = Pair::new(&changes.root(), &changes.global(), options.clone());
    let loses_events = std::env::var_os(LOSES_EVENTS).is_some();
    for step in 0..steps {
        let change = changes.step(&mut dice);
        if loses_events && step % 4 == 3 {
            take_events();
        }
        if builds && dice.below(4) == 0 {
            pair.build();
        }
        let below = changes.folder(&mut dice);
        pair.ask(&below, &mut dice, &format!("seed {seed}, step {step}: {change}"));
    }
}

#[test]
fn item_1_13_15_a_watched_tree_answers_as_plain() {
    for seed in seeds(0, 3) {
        lock_step(seed, 25, seed.is_multiple_of(3), &WorkspaceOptions::default(), false);
    }
}

#[test]
fn item_4_13_15_a_watched_index_answers_as_plain() {
    for seed in seeds(100, 4) {
        lock_step(seed, 25, seed.is_multiple_of(4), &WorkspaceOptions::default(), true);
    }
}

#[test]
fn item_17_a_swept_index_answers_as_plain() {
    let options = WorkspaceOptions { sweep: true, ..WorkspaceOptions::default() };
    for seed in seeds(200, 3) {
        lock_step(seed, 25, seed.is_multiple_of(4), &options, true);
    }
}

#[test]
fn item_16_folders_without_a_watch_are_looked_at() {
    for seed in seeds(300, 3) {
        let options = WorkspaceOptions { max_watches: Some(seed as usize % 5), ..WorkspaceOptions::default() };
        lock_step(seed, 25, seed.is_multiple_of(4), &options, true);
    }
}

/// Set for a process whose laws play with events that get lost.
const LOSES_EVENTS: &str = "SINEW_TEST_LOSES_EVENTS";

/// Takes every event out of the queues of this process, so that the workspaces hear nothing of what happened.
fn take_events() {
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        let path = entry.unwrap().path();
        if std::fs::read_link(&path).is_ok_and(|what| what.to_string_lossy().contains("inotify")) {
            let number = path.file_name().unwrap().to_string_lossy().parse().unwrap();
            // SAFETY: the queue belongs to a workspace that lives longer than this call.
            let queue = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
            while rustix::io::read(queue, &mut [0; 4096]).is_ok() {}
        }
    }
}

/// Plays one law of this program in a process of its own that loses events; returns its exit and what it wrote.
fn play_with_losses(law: &str) -> (bool, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", law])
        .env(LOSES_EVENTS, "1")
        .env_remove("SINEW_LAW_RUNS")
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn item_13_the_law_is_broken_where_events_get_lost() {
    for law in ["item_1_13_15_a_watched_tree_answers_as_plain", "item_4_13_15_a_watched_index_answers_as_plain"] {
        let (passed, text) = play_with_losses(law);
        assert!(!passed && text.contains("assertion `left == right` failed"), "{law} saw nothing: {text}");
    }
    // This one asks for no events.
    let (passed, text) = play_with_losses("item_17_a_swept_index_answers_as_plain");
    assert!(passed, "{text}");
}
