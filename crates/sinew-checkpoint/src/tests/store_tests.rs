//! Tests of the store: limits, damaged files, several processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use sinew_base::{CancelHandle, CancelToken, ErrorCode};

use super::{Project, difference, restore, take};
use crate::gc::size_of;
use crate::{Checkpoints, Limits, OpenOptions, TakeOptions};

#[test]
fn nothing_is_written_if_nothing_changed() {
    let project = Project::new();
    project.run("echo 1 > a; mkdir d");
    let checkpoints = project.open();
    let first = take(&checkpoints);
    let size = size_of(&project.store());
    project.run("touch a");
    for _ in 0..3 {
        assert_eq!(take(&checkpoints), first);
        assert_eq!(take(&project.open()), first);
    }
    assert_eq!(size_of(&project.store()), size);
}

#[test]
fn refuses_a_store_inside_the_directory_unless_it_is_skipped() {
    let project = Project::new();
    let store = project.root().join("a/store");
    let open = |skip| {
        let options = OpenOptions { store: store.clone(), skip, ..OpenOptions::default() };
        Checkpoints::open(&project.root(), &options)
    };
    assert_eq!(open(vec![]).unwrap_err().code(), ErrorCode::InvalidArgument);
    project.run("mkdir a; echo 1 > b; ln -s root $OUT/alias");
    let checkpoints = open(vec![project.root().join("a")]).unwrap();
    let start = take(&checkpoints);
    assert_eq!(take(&checkpoints), start, "what the store writes is not seen");
    let through_a_link = OpenOptions { store: project.folder.path().join("alias/x"), ..OpenOptions::default() };
    assert!(Checkpoints::open(&project.root(), &through_a_link).is_err());
}

#[test]
fn only_the_owner_can_read_the_store() {
    let project = Project::new();
    project.run("echo secret > a");
    take(&project.open());
    let mut folders = vec![project.store()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let (metadata, name) = (path.metadata().unwrap(), path.file_name().unwrap().to_owned());
            let mode = metadata.permissions().mode() & 0o777;
            if metadata.is_dir() {
                assert_eq!(mode, 0o700, "{path:?}");
                folders.push(path);
            } else if name != "lock" {
                assert_eq!(mode, 0o600, "{path:?}");
            }
        }
    }
}

#[test]
fn a_damaged_checkpoint_is_reported_and_never_applied_in_part() {
    let project = Project::new();
    project.run("echo 1 > a; echo 1 > b");
    let checkpoints = project.open();
    let first = take(&checkpoints);
    project.run("echo 2 > a; echo 2 > b");
    let second = take(&checkpoints);
    project.run("echo 3 > a");
    let folder = project.store().read_dir().unwrap().next().unwrap().unwrap().path();
    let path = folder.join("manifests").join(&first);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let later = project.tree();
    let checkpoints = project.open();
    for id in [&first, &second] {
        let error = checkpoints.restore(id, &Default::default(), &CancelToken::never()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidData, "{error}");
    }
    assert_eq!(difference(&later, &project.tree()), [""; 0]);
    let third = take(&checkpoints);
    project.run("rm a b");
    restore(&project.open(), &third, &Default::default());
    assert_eq!(difference(&later, &project.tree()), [""; 0], "the next checkpoint lists everything again");
    let unknown = checkpoints.plan("0000000099-no", &Default::default(), &CancelToken::never()).unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::NotFound);
}

#[test]
fn lists_lost_contents_and_restores_the_rest() {
    let project = Project::new();
    let checkpoints = project.open();
    take(&checkpoints);
    let folder = project.store().read_dir().unwrap().next().unwrap().unwrap().path();
    project.run("printf x > x; printf y > y");
    let start = take(&checkpoints);
    fs::remove_file(folder.join("packs").join(&start)).unwrap();
    project.run("printf X > x; rm y; echo z > z");
    let restored = restore(&project.open(), &start, &Default::default());
    let kept = super::kept(&restored.plan);
    assert_eq!(kept.len(), 2, "{kept:?}");
    project.run("[ ! -e z ]");
}

#[test]
fn removes_the_oldest_checkpoints_and_keeps_the_others_restorable() {
    let limits = Limits { directory: 60_000, ..Limits::default() };
    let project = Project::with_limits(limits);
    let checkpoints = project.open();
    let mut trees = Vec::new();
    for round in 0..12 {
        project.run(&format!("head -c 10000 /dev/urandom > a; echo {round} > b{round}; rm -f b{}", round - 3));
        trees.push((take(&checkpoints), project.tree()));
    }
    let collected = checkpoints.gc(&CancelToken::never()).unwrap();
    let usage = checkpoints.usage().unwrap();
    assert!(usage.directory <= 62_000, "{usage:?}, {collected:?}");
    let list: Vec<String> = checkpoints.list().unwrap().into_iter().map(|checkpoint| checkpoint.id).collect();
    assert!((2..10).contains(&list.len()), "{list:?}");
    // A restore adds checkpoints, so that its collection would remove the oldest ones.
    let options = OpenOptions { store: project.store(), ..OpenOptions::default() };
    let unlimited = Checkpoints::open(&project.root(), &options).unwrap();
    for (id, tree) in trees.iter().filter(|(id, _)| list.contains(id)).rev() {
        restore(&unlimited, id, &Default::default());
        assert_eq!(difference(tree, &project.tree()), [""; 0], "{id}");
    }
}

#[test]
fn collections_report_the_freed_bytes() {
    let project = Project::with_limits(Limits { session: 30_000, ..Limits::default() });
    let unlimited = OpenOptions { store: project.store(), ..OpenOptions::default() };
    let checkpoints = Checkpoints::open(&project.root(), &unlimited).unwrap();
    for session in ["a", "b", "a", "b", "a", "b", "a"] {
        project.run("head -c 10000 /dev/urandom > a");
        let options = TakeOptions { session: Some(session.into()), ..TakeOptions::default() };
        checkpoints.take(&options, &CancelToken::never()).unwrap();
    }
    let before = size_of(&project.store());
    let checkpoints = project.open();
    let collected = checkpoints.gc(&CancelToken::never()).unwrap();
    assert!(!collected.removed.is_empty());
    assert_eq!(before - size_of(&project.store()), collected.freed);
    assert_eq!(checkpoints.gc(&CancelToken::never()).unwrap().removed, [""; 0], "nothing is left to do");
}

#[test]
fn an_unwritable_store_is_reported_in_the_coverage() {
    if rustix::process::geteuid().is_root() {
        println!("root may write everywhere");
        return;
    }
    let project = Project::new();
    project.run("echo 1 > a; mkdir $OUT/store; chmod 555 $OUT/store");
    let checkpoints = project.open();
    let taken = checkpoints.take(&TakeOptions::default(), &CancelToken::never()).unwrap();
    assert!(taken.coverage.to_string().contains("store is read-only"), "{}", taken.coverage);
    project.run("echo 2 > a");
    let later = checkpoints.take(&TakeOptions::default(), &CancelToken::never()).unwrap();
    assert_eq!(checkpoints.changes(&taken.id, &later.id, &CancelToken::never()).unwrap().entries.len(), 1);
    assert!(checkpoints.restore(&taken.id, &Default::default(), &CancelToken::never()).is_err());
    project.run("[ $(cat a) = 2 ]");
}

#[test]
fn two_processes_see_the_same_checkpoints() {
    let project = Project::new();
    project.run("echo 1 > a");
    let (one, two) = (project.open(), project.open());
    let first = take(&one);
    project.run("echo 2 > a");
    let second = take(&two);
    project.run("echo 3 > a");
    let third = take(&one);
    assert!(first < second && second < third);
    restore(&two, &first, &Default::default());
    project.run("[ $(cat a) = 1 ]");
    assert_eq!(one.list().unwrap().len(), 5);
}

#[test]
fn a_cancelled_call_writes_nothing() {
    let project = Project::new();
    project.run("echo 1 > a");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("echo 2 > a");
    let (handle, cancel) = CancelHandle::new();
    handle.cancel();
    assert_eq!(checkpoints.take(&TakeOptions::default(), &cancel).unwrap_err().code(), ErrorCode::Aborted);
    assert_eq!(checkpoints.restore(&start, &Default::default(), &cancel).unwrap_err().code(), ErrorCode::Aborted);
    assert_eq!(checkpoints.list().unwrap().len(), 1);
    project.run("[ $(cat a) = 2 ]");
}

#[test]
fn a_deleted_store_is_created_again() {
    let project = Project::new();
    project.run("echo 1 > a");
    let checkpoints = project.open();
    let lost = take(&checkpoints);
    fs::remove_dir_all(project.store()).unwrap();
    let error = checkpoints.restore(&lost, &Default::default(), &CancelToken::never()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    let start = take(&checkpoints);
    project.run("echo 2 > a");
    restore(&project.open(), &start, &Default::default());
    project.run("[ $(cat a) = 1 ]");
}

#[test]
fn blobs_are_read_from_loose_files_packs_and_alternates() {
    let project = Project::new();
    project
        .run("git init -q; seq 1 2000 > a; git add a; git commit -qm 1; echo last >> a; git commit -qam 2; git gc -q");
    project.run("git clone -qs . \"$OUT/borrowing\"; echo loose > b; git add b; git commit -qm 3");
    let read = |data: PathBuf, content: &[u8]| {
        let (reader, id) = (crate::BlobReader::open(&data), crate::blob_id(content));
        let content = reader.read(&id);
        assert_eq!(reader.contains(&id), content.is_some());
        content
    };
    let content = fs::read(project.root().join("a")).unwrap();
    for data in [project.root().join(".git"), project.folder.path().join("borrowing/.git")] {
        assert_eq!(read(data, &content).as_ref(), Some(&content));
    }
    assert_eq!(read(project.root().join(".git"), b"loose\n").as_deref(), Some(&b"loose\n"[..]));
    assert_eq!(read(project.root().join(".git"), b"missing\n"), None);
    assert_eq!(read(project.root().join("no/.git"), b"loose\n"), None);
}
