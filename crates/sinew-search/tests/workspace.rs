//! The law of workspaces: after any change they give what the plain functions give, whatever they hold.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

#[path = "../../sinew-walk/tests/changes/mod.rs"]
mod changes;
mod pair;
#[path = "../../sinew-walk/tests/tree/mod.rs"]
mod tree;

use changes::Changes;
use pair::Pair;
use sinew_search::WorkspaceOptions;
use tree::{Dice, seeds};

/// One change after the other, each followed by questions; the index is built now and then.
fn lock_step(seed: u64, steps: usize, around: bool, options: &WorkspaceOptions, builds: bool) {
    let mut dice = Dice::new(seed);
    let mut changes = Changes::new(around);
    let pair = Pair::new(&changes.root(), &changes.global(), options.clone());
    for step in 0..steps {
        let change = changes.step(&mut dice);
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
