//! Tests that a workspace returns the same as the plain functions after any change.

use std::path::PathBuf;

use crate::changes::Changes;
use crate::pair::Pair;
use crate::run_alone;
use crate::tree::{Dice, seeds};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use sinew_search::WorkspaceOptions;
use sinew_walk::Stamp;

/// Makes random changes and compares some calls after each; builds the index now and then if `builds` is true.
fn lock_step(seed: u64, steps: usize, around: bool, options: &WorkspaceOptions, builds: bool) {
    let mut dice = Dice::new(seed);
    let mut changes = Changes::new(around);
    let fault = std::env::var(FAULT).ok();
    let unstamped = (fault.as_deref() == Some(STALE_STAMPS)).then(|| UnstampedRules::new(&changes));
    let global = unstamped.as_ref().map_or_else(|| changes.global(), |rules| rules.path.clone());
    let pair = Pair::new(&changes.root(), &global, options.clone());
    for step in 0..steps {
        let change = changes.step(&mut dice);
        if step % 4 == 3 {
            match &unstamped {
                Some(rules) => rules.turn(),
                None if fault.is_some() => drop_events(),
                None => {}
            }
        }
        if builds && dice.below(4) == 0 {
            pair.build();
        }
        let below = changes.folder(&mut dice);
        pair.ask(&below, &mut dice, &format!("seed {seed}, step {step}: {change}"));
    }
}

#[test]
fn a_watched_tree_matches_the_plain_search() {
    for seed in seeds(0, 3) {
        lock_step(seed, 25, seed.is_multiple_of(3), &WorkspaceOptions::default(), false);
    }
}

#[test]
fn a_watched_index_matches_the_plain_search() {
    for seed in seeds(100, 4) {
        lock_step(seed, 25, seed.is_multiple_of(4), &WorkspaceOptions::default(), true);
    }
}

#[test]
fn a_swept_index_matches_the_plain_search() {
    let options = WorkspaceOptions { sweep: true, ..WorkspaceOptions::default() };
    for seed in seeds(200, 3) {
        lock_step(seed, 25, seed.is_multiple_of(4), &options, true);
    }
}

#[test]
fn checks_folders_that_have_no_watch() {
    for seed in seeds(300, 3) {
        let options = WorkspaceOptions { max_watches: Some(seed as usize % 5), ..WorkspaceOptions::default() };
        lock_step(seed, 25, seed.is_multiple_of(4), &options, true);
    }
}

/// Set in a process whose tests have to fail; the value names the fault that is injected into its workspaces.
const FAULT: &str = "SINEW_TEST_FAULT";
const LOST_EVENTS: &str = "lost events";
const STALE_STAMPS: &str = "stale stamps";

/// Removes every event from the queues of this process, so that the workspaces miss the changes.
fn drop_events() {
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

/// A global ignore file with one rule. It changes by stores into an already dirty page, which do not change the file's
/// times.
struct UnstampedRules {
    path: PathBuf,
    rule: *mut u8,
}

impl UnstampedRules {
    fn new(changes: &Changes) -> UnstampedRules {
        // The global ignore file only applies in repositories.
        std::fs::create_dir(changes.root().join(".git")).unwrap();
        let path = changes.global().with_extension("unstamped");
        std::fs::write(&path, "*\n").unwrap();
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let (protection, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: nobody shortens the file, and the mapping stays until the process ends.
        let rule = unsafe { mmap(std::ptr::null_mut(), 2, protection, shared, &file, 0) }.unwrap().cast();
        let rules = UnstampedRules { path, rule };
        rules.turn();
        while !Stamp::of_file(&file).unwrap().is_settled() {
            std::thread::yield_now();
        }
        rules
    }

    /// Turns the rule that ignores everything into a comment, or back.
    fn turn(&self) {
        // SAFETY: the byte is in the mapping, which nobody else uses.
        unsafe { self.rule.write_volatile(if self.rule.read_volatile() == b'*' { b'#' } else { b'*' }) };
    }
}

/// Runs one test of this program in another process with an injected fault; returns whether it passed, and its output.
fn run_with_fault(test: &str, fault: &str) -> (bool, String) {
    run_alone(test, FAULT, fault)
}

#[track_caller]
fn fails_with(test: &str, fault: &str) {
    let (passed, text) = run_with_fault(test, fault);
    assert!(!passed && text.contains("assertion `left == right` failed"), "{test} did not detect {fault}: {text}");
}

const WATCHED_TREE: &str = "workspace::a_watched_tree_matches_the_plain_search";
const WATCHED_INDEX: &str = "workspace::a_watched_index_matches_the_plain_search";
const SWEPT_INDEX: &str = "workspace::a_swept_index_matches_the_plain_search";

#[test]
fn the_comparison_fails_when_events_are_lost() {
    for test in [WATCHED_TREE, WATCHED_INDEX] {
        fails_with(test, LOST_EVENTS);
    }
    // A swept index does not use events.
    let (passed, text) = run_with_fault(SWEPT_INDEX, LOST_EVENTS);
    assert!(passed, "{text}");
}

#[test]
fn the_comparison_fails_when_ignore_file_stamps_are_wrong() {
    for test in [WATCHED_TREE, WATCHED_INDEX, SWEPT_INDEX] {
        fails_with(test, STALE_STAMPS);
    }
}
