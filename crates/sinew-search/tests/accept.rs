//! Files that a caller accepts once they are open, against links that change behind the walk.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

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

/// The files in a folder that is searched, beside another one that is not to be read.
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

/// Lists the tree, lets `change` happen, and searches what was listed: the lines, and the files that were asked about.
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

/// `lines` are found whether the folder may be accepted whole or not; if so, only `asked` are asked about.
#[track_caller]
fn check(change: impl Fn(&Path), lines: &[&str], asked: &[&str]) {
    let (found, each) = after(false, &change);
    assert_eq!(found, lines);
    assert!(lines.len() <= each.len(), "{each:?}");
    assert_eq!(after(true, &change), (found, asked.iter().map(ToString::to_string).collect()));
}

#[test]
fn a_folder_that_is_accepted_whole_is_asked_about_once_037() {
    check(|_| (), &["in/a", "in/deep/er/b", "in/deep/er/c", "in/other/d"], &[]);
}

#[test]
fn no_link_leads_out_of_a_folder_that_is_accepted_whole_037() {
    let put = |link: PathBuf, target: &str| {
        fs::rename(&link, link.with_extension("old")).unwrap();
        symlink(target, link).unwrap();
    };
    // The former path of the file, of its directory, and further up; relative, absolute, and through the root itself.
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
    // A link that stays below is what it was.
    let stays = |path: &Path| put(path.join("in/a"), "other/d");
    check(stays, &["in/other/d", "in/deep/er/b", "in/deep/er/c", "in/other/d"], &["in/a"]);
}

#[test]
fn a_file_that_is_gone_or_no_file_any_more_counts_as_before_037() {
    let gone = |path: &Path| fs::remove_file(path.join("in/a")).unwrap();
    check(gone, &["in/deep/er/b", "in/deep/er/c", "in/other/d"], &[]);
    let moved = |path: &Path| fs::rename(path.join("in/deep"), path.join("out/deep")).unwrap();
    check(moved, &["in/a", "in/other/d"], &[]);
}
