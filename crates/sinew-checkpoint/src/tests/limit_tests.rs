//! Tests that a take and a restore keep the store within its limits.

use std::fs;

use sinew_base::CancelToken;

use super::{Project, restore, take};
use crate::gc::size_of;
use crate::{Checkpoints, Limits, OpenOptions, TakeOptions};

#[test]
fn a_take_removes_the_oldest_checkpoints_of_its_session() {
    let project = Project::with_limits(Limits { session: 30_000, ..Limits::default() });
    let checkpoints = project.open();
    for _ in 0..8 {
        project.run("head -c 10000 /dev/urandom > a");
        let options = TakeOptions { session: Some("s".into()), ..TakeOptions::default() };
        checkpoints.take(&options, &CancelToken::never()).unwrap();
    }
    let usage = checkpoints.usage().unwrap();
    assert!(usage.checkpoints < 5 && usage.directory < 45_000, "{usage:?}");
}

#[test]
fn a_take_removes_the_stores_of_other_directories() {
    let project = Project::new();
    project.run("mkdir one two");
    let limits = Limits { total: 30_000, ..Limits::default() };
    let options = OpenOptions { store: project.store(), limits, ..OpenOptions::default() };
    for name in ["one", "two"] {
        project.run(&format!("head -c 20000 /dev/urandom > {name}/a"));
        take(&Checkpoints::open(&project.root().join(name), &options).unwrap());
    }
    assert!(size_of(&project.store()) < 30_000);
    assert_eq!(fs::read_dir(project.store()).unwrap().count(), 1);
}

#[test]
fn a_restore_counts_the_files_that_it_moves_into_the_store() {
    let project = Project::with_limits(Limits { file: 1_000, directory: 50_000, ..Limits::default() });
    project.run("echo 1 > a");
    let checkpoints = project.open();
    let mut redo = None;
    for _ in 0..4 {
        let start = take(&checkpoints);
        project.run("head -c 30000 /dev/urandom > made; cp made \"$OUT/made\"");
        redo = restore(&checkpoints, &start, &Default::default()).redo;
        project.run("[ ! -e made ]");
    }
    assert!(size_of(&project.store()) < 50_000, "{}", size_of(&project.store()));
    restore(&checkpoints, &redo.unwrap(), &Default::default());
    project.run("cmp made \"$OUT/made\"");
}

#[test]
fn a_restore_keeps_its_redo_checkpoint_beyond_the_limits() {
    let project = Project::with_limits(Limits { directory: 100, ..Limits::default() });
    project.run("echo 1 > a");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("head -c 1000 /dev/urandom > b");
    let redo = restore(&checkpoints, &start, &Default::default()).redo.unwrap();
    project.run("[ ! -e b ]");
    restore(&checkpoints, &redo, &Default::default());
    project.run("[ -e b ]");
}

#[test]
fn a_take_without_changes_does_not_measure_the_store() {
    let limits = Limits { session: 1_600, directory: 1_600, total: 1_600, ..Limits::default() };
    let mut written = crate::gc::Written::default();
    assert!(written.add(1, &limits), "nothing is known at first");
    assert!(!written.add(100, &limits));
    assert!(written.add(1, &limits));
    assert!(!written.add(0, &limits));
}

#[test]
fn every_scan_of_the_whole_directory_is_measured() {
    let project = Project::new();
    project.run("mkdir d; echo 1 > d/a");
    let checkpoints = project.open();
    assert_eq!(checkpoints.scan_time(), None);
    take(&checkpoints);
    let first = checkpoints.scan_time().unwrap();
    project.run("seq 1 3000 | xargs mkdir -p");
    let changed = Some(vec![b"d".to_vec()]);
    checkpoints.take(&TakeOptions { changed, ..TakeOptions::default() }, &CancelToken::never()).unwrap();
    assert_eq!(checkpoints.scan_time(), Some(first), "a part of the directory says nothing");
    take(&checkpoints);
    assert!(checkpoints.scan_time().unwrap() > first);
}
