//! Tests that the scans of a tree in memory equal those of a fresh walk after any change and an update by stamps.

use std::os::fd::BorrowedFd;
use std::path::Path;

use crate::changes::Changes;
use crate::tree::{self, Dice, scan};
use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_walk::{FolderObserver, Hints, ScanOptions, Stamp, Tree as MemoryTree};

/// Reports no changes, so that every update checks every stamp.
struct Unwatched;

impl FolderObserver for Unwatched {
    fn enter(&self, _: BorrowedFd<'_>, _: &Stamp) -> Option<i32> {
        None
    }

    fn leave(&self, _: i32) {}
}

fn options(root: &Path, global: &Path) -> ScanOptions {
    ScanOptions { global_excludes: Some(global.to_path_buf().into()), ..ScanOptions::new(root) }.canonical().unwrap()
}

/// Compares the scan of the tree with a fresh one; returns false if the tree does not support these options.
#[track_caller]
fn check(tree: &mut MemoryTree, options: &ScanOptions, story: &str) -> bool {
    let Some(cached) = tree.scan(options, &CancelToken::never()).unwrap() else { return false };
    let fresh = scan(options);
    assert_eq!(cached.scan.root(), fresh.root(), "{story}");
    let rows = |scan: &sinew_walk::Scan| -> Vec<_> {
        scan.iter().map(|entry| (entry.path().into_owned(), entry.file_type(), entry.ignored())).collect()
    };
    assert_eq!(rows(&cached.scan), rows(&fresh), "{:?} hidden {} {story}", options.root, options.hidden);
    assert_eq!(cached.scan.warnings(), fresh.warnings(), "{story}");
    true
}

fn run(seed: u64, steps: usize) {
    let mut dice = Dice::new(seed);
    let mut changes = Changes::new(seed.is_multiple_of(4));
    let pool = Pool::new("test", 3);
    let root = changes.root();
    let all = options(&root, &changes.global());
    let mut tree = MemoryTree::open(&all, &Unwatched, &pool, &CancelToken::never()).unwrap();
    let mut supported = 0;
    for step in 0..steps {
        let change = changes.step(&mut dice);
        let story = format!("seed {seed}, step {step}: {change}");
        tree.update(&Hints::default(), &Unwatched, &pool, &CancelToken::never()).unwrap();
        assert!(check(&mut tree, &all, &story), "the tree always contains its root: {story}");
        check(&mut tree, &ScanOptions { hidden: false, ..all.clone() }, &story);
        supported += usize::from(check(&mut tree, &ScanOptions { skip_node_modules: false, ..all.clone() }, &story));
        let folder = changes.folder(&mut dice);
        let below = ScanOptions { hidden: dice.below(2) == 0, ..options(&folder, &changes.global()) };
        supported += usize::from(check(&mut tree, &below, &story));
    }
    assert!(supported > 0, "seed {seed}: the tree returned no scan below its root");
}

#[test]
fn an_update_by_stamps_sees_every_change() {
    for seed in 0..8 {
        run(seed, 50);
    }
}

#[test]
fn returns_no_scan_for_unsupported_options() {
    let place = tree::Tree::new();
    place.file("a/b", "");
    place.file("node_modules/c", "");
    let all = ScanOptions::new(place.path()).canonical().unwrap();
    let cancel = CancelToken::never();
    let mut tree = MemoryTree::open(&all, &Unwatched, &Pool::new("test", 1), &cancel).unwrap();
    assert!(tree.scan(&all, &cancel).unwrap().is_some());
    for options in [
        ScanOptions { gitignore: false, ..all.clone() },
        ScanOptions { follow_links: true, ..all.clone() },
        ScanOptions { max_depth: Some(1), ..all.clone() },
        ScanOptions { skip_node_modules: false, ..all.clone() },
        ScanOptions { detail: sinew_walk::Detail::Full, ..all.clone() },
        ScanOptions { global_excludes: Some("/elsewhere".into()), ..all.clone() },
        ScanOptions { root: all.root.join("node_modules"), ..all.clone() },
        ScanOptions { root: all.root.parent().unwrap().to_path_buf(), ..all.clone() },
    ] {
        assert!(tree.scan(&options, &cancel).unwrap().is_none(), "{options:?}");
    }
    let below = ScanOptions { root: all.root.join("a"), skip_node_modules: false, ..all };
    assert!(tree.scan(&below, &cancel).unwrap().is_some(), "there is no node_modules directory");
}

#[test]
fn an_update_after_a_cancelled_one_sees_all_changes() {
    let place = tree::Tree::new();
    place.file("a/b", "");
    let all = ScanOptions::new(place.path()).canonical().unwrap();
    let pool = Pool::new("test", 2);
    let mut tree = MemoryTree::open(&all, &Unwatched, &pool, &CancelToken::never()).unwrap();
    place.file("a/c/d", "");
    let (handle, cancel) = sinew_base::CancelHandle::new();
    handle.cancel();
    assert!(tree.update(&Hints::default(), &Unwatched, &pool, &cancel).is_err());
    tree.update(&Hints::default(), &Unwatched, &pool, &CancelToken::never()).unwrap();
    assert!(check(&mut tree, &all, "after the abort"));
}
