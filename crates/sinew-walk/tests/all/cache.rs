//! Tests when scans are shared, repeated and evicted.

use std::sync::Arc;
use std::time::Duration;

use crate::tree::Tree;
use sinew_base::{CancelHandle, CancelToken, ErrorCode};
use sinew_pool::Pool;
use sinew_walk::{CachePolicy, Scan, ScanCache, ScanOptions};

const LONG: Duration = Duration::from_secs(3_600);

fn policy() -> CachePolicy {
    CachePolicy { ttl: LONG, empty_recheck: LONG, max_entries: 16 }
}

fn get(cache: &ScanCache, options: &ScanOptions, cached: bool) -> Arc<Scan> {
    cache
        .query(options, cached, &Pool::new("test", 2), &CancelToken::never(), |scan| Ok(Arc::clone(scan)), |_| true)
        .unwrap()
}

#[test]
fn shares_cached_scans_only_for_equal_options() {
    let tree = Tree::new();
    tree.file("a", "");
    let (cache, options) = (ScanCache::new(policy()), ScanOptions::new(tree.path()));
    let fresh = get(&cache, &options, false);
    assert!(cache.is_empty());
    let first = get(&cache, &options, true);
    assert!(!Arc::ptr_eq(&fresh, &first) && Arc::ptr_eq(&first, &get(&cache, &options, true)));
    assert!(!Arc::ptr_eq(&first, &get(&cache, &options, false)));
    assert!(!Arc::ptr_eq(&first, &get(&cache, &ScanOptions { hidden: false, ..options.clone() }, true)));
    assert_eq!(cache.len(), 2);
    cache.clear();
    assert!(cache.is_empty() && !Arc::ptr_eq(&first, &get(&cache, &options, true)));
}

#[test]
fn spellings_of_one_root_share_a_key() {
    let tree = Tree::new();
    tree.file("d/a", "");
    let cache = ScanCache::new(policy());
    let first = get(&cache, &ScanOptions::new(tree.path().join("d")), true);
    let again = get(&cache, &ScanOptions::new(tree.path().join("d/../d/.")), true);
    assert!(Arc::ptr_eq(&first, &again));
}

#[test]
fn a_zero_lifetime_disables_the_cache() {
    let tree = Tree::new();
    let cache = ScanCache::new(CachePolicy { ttl: Duration::ZERO, ..policy() });
    get(&cache, &ScanOptions::new(tree.path()), true);
    assert!(cache.is_empty());
}

#[test]
fn evicts_the_oldest_scan_first() {
    let tree = Tree::new();
    let cache = ScanCache::new(CachePolicy { max_entries: 2, ..policy() });
    let options = ["a", "b", "c"].map(|name| {
        tree.folder(name);
        ScanOptions::new(tree.path().join(name))
    });
    let scans = options.each_ref().map(|options| get(&cache, options, true));
    assert_eq!(cache.len(), 2);
    assert!(Arc::ptr_eq(&scans[2], &get(&cache, &options[2], true)));
    assert!(Arc::ptr_eq(&scans[1], &get(&cache, &options[1], true)));
    assert!(!Arc::ptr_eq(&scans[0], &get(&cache, &options[0], true)));
}

#[test]
fn repeats_an_old_scan_without_a_match() {
    let tree = Tree::new();
    let options = ScanOptions::new(tree.path());
    for (recheck, expect) in [(Duration::ZERO, 1), (LONG, 0)] {
        let cache = ScanCache::new(CachePolicy { empty_recheck: recheck, ..policy() });
        assert_eq!(get(&cache, &options, true).len(), 0);
        tree.file("new", "");
        let count = cache.query(
            &options,
            true,
            &Pool::new("test", 1),
            &CancelToken::never(),
            |scan| Ok(scan.len()),
            |count| *count > 0,
        );
        assert_eq!(count.unwrap(), expect);
        std::fs::remove_file(tree.path().join("new")).unwrap();
    }
}

#[test]
fn invalidate_removes_scans_above_and_below_a_path() {
    let tree = Tree::new();
    for name in ["a/b/c", "a/d", "x", "ab"] {
        tree.folder(name);
    }
    let dropped = |path: &str| {
        let cache = ScanCache::new(policy());
        let roots = ["", "a", "a/b", "a/b/c", "a/d", "x", "ab"];
        let scans = roots.map(|root| (root, get(&cache, &ScanOptions::new(tree.path().join(root)), true)));
        cache.invalidate(&tree.path().join(path));
        scans
            .into_iter()
            .filter(|(root, scan)| !Arc::ptr_eq(scan, &get(&cache, &ScanOptions::new(tree.path().join(root)), true)))
            .map(|(root, _)| root)
            .collect::<Vec<_>>()
    };
    assert_eq!(dropped("a/b"), ["", "a", "a/b", "a/b/c"]);
    assert_eq!(dropped("a"), ["", "a", "a/b", "a/b/c", "a/d"]);
    assert_eq!(dropped("a/d/gone/file"), ["", "a", "a/d"]);
    assert_eq!(dropped("x"), ["", "x"]);
}

#[test]
fn concurrent_calls_share_one_scan() {
    let tree = Tree::new();
    for folder in 0..200 {
        tree.folder(&format!("{folder}"));
    }
    let cache = ScanCache::new(policy());
    let options = ScanOptions::new(tree.path());
    let barrier = std::sync::Barrier::new(8);
    let scans: Vec<Arc<Scan>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    get(&cache, &options, true)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(scans.iter().all(|scan| Arc::ptr_eq(scan, &scans[0])));
}

#[test]
fn a_cancelled_call_does_not_block_later_ones() {
    let tree = Tree::new();
    let cache = ScanCache::new(policy());
    let options = ScanOptions::new(tree.path());
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let error = cache.query(&options, true, &Pool::new("test", 1), &cancel, |_| Ok(()), |()| true).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Aborted);
    assert!(cache.is_empty());
    get(&cache, &options, true);
    assert_eq!(cache.len(), 1);
}

#[test]
fn a_scan_after_an_invalidation_sees_earlier_writes() {
    let tree = Tree::new();
    let cache = ScanCache::new(policy());
    let options = ScanOptions::new(tree.path());
    for count in 1..=200 {
        let file = tree.file(&format!("{count}"), "");
        cache.invalidate(&file);
        assert_eq!(get(&cache, &options, true).len(), count);
    }
}
