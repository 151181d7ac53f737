//! Tests that the ordered walk returns the files of a scan in the same order, with any number of threads.

use std::sync::Mutex;

use crate::tree::{Dice, Tree, names, scan};
use sinew_base::{CancelHandle, CancelToken};
use sinew_pool::Pool;
use sinew_walk::{FileType, OrderedWalk, ScanOptions, WalkStep};

/// Walks with `threads` threads; returns the files in the order in which the walk returned them, and the warnings.
fn walked(options: &ScanOptions, threads: usize, most: usize) -> (Vec<String>, Vec<String>) {
    let walk = OrderedWalk::open(options).unwrap();
    let handed_out = Mutex::new((Vec::new(), sinew_walk::WalkWarnings::default()));
    Pool::new("test", threads).broadcast(threads - 1, |_| {
        let mut buffer = Vec::new();
        loop {
            // Holding the lock preserves the order of the steps.
            let mut out = handed_out.lock().unwrap();
            match walk.next(most, threads) {
                WalkStep::Files(batch) => {
                    assert!(batch.files().len() <= most);
                    for file in batch.files() {
                        assert!(walk.open_file(file).is_ok());
                        out.0.push(String::from_utf8_lossy(&file.path()).into_owned());
                    }
                    out.1.append(batch.warnings);
                }
                WalkStep::Folder(folder) => {
                    drop(out);
                    walk.read(folder, &mut buffer, |_, _| true, &CancelToken::never()).unwrap();
                }
                WalkStep::Wait => {
                    drop(out);
                    std::thread::yield_now();
                }
                WalkStep::End => return,
            }
        }
    });
    let (files, mut warnings) = handed_out.into_inner().unwrap();
    warnings.append(walk.take_warnings());
    (files, warnings.into_sentences())
}

#[track_caller]
fn check(options: &ScanOptions) {
    let scan = scan(options);
    let expect = (names(&scan, |entry| entry.file_type() == FileType::File), scan.warnings().to_vec());
    for (threads, most) in [(1, 1), (1, 16), (2, 3), (4, 16)] {
        assert_eq!(walked(options, threads, most), expect, "{threads} threads");
    }
}

#[test]
fn returns_the_files_of_a_scan_in_order() {
    const NAMES: &[&str] = &["a", "b", "a-b", "a.c", "a0", ".h", "node_modules", ".git", "é", "x y"];
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let tree = Tree::new();
        for _ in 0..1 + dice.below(60) {
            let path: Vec<&str> = (0..1 + dice.below(5)).map(|_| dice.pick(NAMES)).collect();
            tree.try_file(&path.join("/"), "x");
        }
        tree.try_file(".ignore", "b\n!a/b\n");
        // Exceeds the size limit of ignore files, which causes a warning.
        if seed % 8 == 0
            && let Ok(file) = std::fs::File::create(tree.path().join("a/.rgignore"))
        {
            file.set_len(9 << 20).unwrap();
        }
        let all = ScanOptions::new(tree.path());
        check(&all);
        check(&ScanOptions { hidden: false, skip_node_modules: false, ..all.clone() });
        check(&ScanOptions { gitignore: false, ..all });
    }
}

#[test]
fn walks_more_directories_than_it_keeps_open() {
    let tree = Tree::new();
    let deep: Vec<String> = (0..60).map(|level| format!("d{level}")).collect();
    for level in 0..deep.len() {
        tree.file(&format!("{}/z", deep[..level].join("/")), "");
    }
    check(&ScanOptions::new(tree.path()));
    check(&ScanOptions::new(tree.path().join("d0")));
}

#[test]
fn skips_files_that_the_filter_rejects() {
    let tree = Tree::new();
    for file in ["a/x.c", "a/y.h", "b.c"] {
        tree.file(file, "");
    }
    let walk = OrderedWalk::open(&ScanOptions::new(tree.path())).unwrap();
    let mut found = Vec::new();
    loop {
        match walk.next(16, 1) {
            WalkStep::Files(batch) => found.extend(batch.files().map(|file| file.path())),
            WalkStep::Folder(folder) => {
                let select = |path: &[u8], name: &[u8]| path.ends_with(name) && name.ends_with(b".c");
                walk.read(folder, &mut Vec::new(), select, &CancelToken::never()).unwrap();
            }
            WalkStep::Wait => unreachable!("a single thread never waits"),
            WalkStep::End => break,
        }
    }
    assert_eq!(found, [b"a/x.c".to_vec(), b"b.c".to_vec()]);
}

#[test]
fn a_cancelled_read_returns_the_reason() {
    let tree = Tree::new();
    let walk = OrderedWalk::open(&ScanOptions::new(tree.path())).unwrap();
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let WalkStep::Folder(folder) = walk.next(1, 1) else { panic!("the root is the first step") };
    assert!(walk.read(folder, &mut Vec::new(), |_, _| true, &cancel).is_err());
}
