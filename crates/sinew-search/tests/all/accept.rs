//! Tests the filter for opened files while links change after the walk.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{Accept, GrepOptions, grep};
use sinew_walk::{CachePolicy, ScanCache};

/// Files in the searched directory (`in`) and in a directory next to it that must not be read (`out`).
const FILES: [&str; 6] = ["in/a", "in/deep/er/b", "in/deep/er/c", "in/other/d", "out/er/b", "out/a"];

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("needle {name}\n")).unwrap();
    }
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

fn real(file: &File) -> PathBuf {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
}

/// Lists the tree, applies `change` and searches the listed files. Returns the matching lines and the files that were
/// checked individually.
fn after(whole: bool, change: impl FnOnce(&Path)) -> (Vec<String>, Vec<String>) {
    let (_folder, path) = place();
    let below = path.join("in");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (log, outer, mine, root) = (Arc::clone(&asked), path.clone(), below.clone(), below.clone());
    let accept = Accept::new(move |named, file| {
        log.lock().push(named.strip_prefix(&outer).unwrap().to_str().unwrap().to_string());
        real(file).starts_with(&mine)
    });
    let accept = accept.or_whole(move |_, folder| whole && real(folder) == root);
    let long = CachePolicy { ttl: Duration::from_secs(600), ..CachePolicy::default() };
    let (cache, pool, never) = (ScanCache::new(long), Pool::new("test", 2), CancelToken::never());
    let options = GrepOptions { cache: true, accept: Some(accept), ..GrepOptions::new("needle", &below) };
    let listed = GrepOptions { accept: None, ..options.clone() };
    assert_eq!(grep(&listed, &cache, &pool, &never, None).unwrap().total_matches, 4);
    change(&path);
    let found = grep(&options, &cache, &pool, &never, None).unwrap();
    let mut asked = asked.lock().clone();
    asked.sort();
    (found.rows().map(|row| row.line.trim_start_matches("needle ").to_string()).collect(), asked)
}

/// Checks that the search finds `lines` with and without accepting the whole directory, and that only `asked` are
/// checked individually if the directory is accepted.
#[track_caller]
fn check(change: impl Fn(&Path), lines: &[&str], asked: &[&str]) {
    let (found, each) = after(false, &change);
    assert_eq!(found, lines);
    assert!(lines.len() <= each.len(), "{each:?}");
    assert_eq!(after(true, &change), (found, asked.iter().map(ToString::to_string).collect()));
}

#[test]
fn checks_no_files_of_an_accepted_directory() {
    check(|_| (), &["in/a", "in/deep/er/b", "in/deep/er/c", "in/other/d"], &[]);
}

#[test]
fn checks_files_behind_links_in_an_accepted_directory() {
    let put = |link: PathBuf, target: &str| {
        fs::rename(&link, link.with_extension("old")).unwrap();
        symlink(target, link).unwrap();
    };
    // Replaces the file, its directory and their parents by links: relative, absolute, and through the root itself.
    check(|path| put(path.join("in/a"), "../out/a"), &["in/deep/er/b", "in/deep/er/c", "in/other/d"], &["in/a"]);
    let others = ["in/a", "in/other/d"];
    check(|path| put(path.join("in/deep/er"), "../../out/er"), &others, &["in/deep/er/b"]);
    check(|path| put(path.join("in/deep"), path.join("out").to_str().unwrap()), &others, &["in/deep/er/b"]);
    check(
        |path| put(path.join("in/deep"), &format!("/proc/self/root{}/out", path.display())),
        &others,
        &["in/deep/er/b"],
    );
    check(|path| put(path.join("in"), "out"), &[], &["out/a", "out/er/b"]);
    // A link to another file of the directory is allowed.
    let stays = |path: &Path| put(path.join("in/a"), "other/d");
    check(stays, &["in/other/d", "in/deep/er/b", "in/deep/er/c", "in/other/d"], &["in/a"]);
}

#[test]
fn skips_deleted_and_moved_files_of_an_accepted_directory() {
    let gone = |path: &Path| fs::remove_file(path.join("in/a")).unwrap();
    check(gone, &["in/deep/er/b", "in/deep/er/c", "in/other/d"], &[]);
    let moved = |path: &Path| fs::rename(path.join("in/deep"), path.join("out/deep")).unwrap();
    check(moved, &["in/a", "in/other/d"], &[]);
}
