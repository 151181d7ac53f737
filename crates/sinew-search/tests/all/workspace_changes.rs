//! Tests that a search sees changes that are hard to detect.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::pair::Pair;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use sinew_base::{CancelHandle, CancelToken};
use sinew_search::{GrepOptions, WorkspaceOptions};

/// Creates a tree of some files and indexes it.
fn indexed(place: &Path, options: WorkspaceOptions) -> Pair {
    let root = place.join("root");
    for (path, text) in [("a/one", "hay\n"), ("a/two", "hay\n"), ("b/c/three", "hay\n"), ("four", "a needle\n")] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    let pair = Pair::new(&root, &place.join("global"), options);
    pair.build();
    pair
}

/// Makes one change and searches; `expect` are the files that contain a needle afterwards.
#[track_caller]
fn check(change: impl Fn(&Path), expect: &[&str]) {
    for sweep in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let pair = indexed(place.path(), WorkspaceOptions { sweep, ..WorkspaceOptions::default() });
        assert_eq!(pair.files("needle", "before"), ["four"], "sweep {sweep}");
        change(&place.path().join("root"));
        assert_eq!(pair.files("needle", "after"), expect, "sweep {sweep}");
        // The state after the change can be indexed, too.
        pair.build();
        assert_eq!(pair.files("needle", "indexed"), expect, "sweep {sweep}");
    }
}

fn exchange(left: &Path, right: &Path) {
    renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn sees_changes_of_content() {
    let append = |root: &Path| fs::File::options().append(true).open(root.join("a/one")).unwrap().write_all(b"needle");
    check(|root| append(root).unwrap(), &["a/one", "four"]);
    check(|root| fs::write(root.join("four"), "").unwrap(), &[]);
    check(
        |root| {
            // Keeps the size and the modification time.
            let file = root.join("four");
            let before = fs::metadata(&file).unwrap().modified().unwrap();
            fs::write(&file, "an eedle\n").unwrap();
            fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
        },
        &[],
    );
    check(
        |root| {
            fs::write(root.join("new"), "needle").unwrap();
            fs::rename(root.join("new"), root.join("b/c/three")).unwrap();
        },
        &["b/c/three", "four"],
    );
    check(|root| exchange(&root.join("four"), &root.join("a/two")), &["a/two"]);
    check(|root| fs::remove_file(root.join("four")).unwrap(), &[]);
}

#[test]
fn sees_new_moved_and_replaced_folders() {
    check(
        |root| {
            fs::create_dir_all(root.join("d/e/f")).unwrap();
            fs::write(root.join("d/e/f/g"), "needle").unwrap();
        },
        &["d/e/f/g", "four"],
    );
    check(
        |root| {
            fs::write(root.join("b/c/three"), "needle").unwrap();
            exchange(&root.join("a"), &root.join("b"));
            fs::rename(root.join("a"), root.join("z")).unwrap();
        },
        &["four", "z/c/three"],
    );
    check(
        |root| {
            // Moved out, changed there, and moved in again.
            let outside = root.parent().unwrap().join("outside");
            fs::rename(root.join("b"), &outside).unwrap();
            fs::write(outside.join("c/three"), "needle").unwrap();
            fs::rename(&outside, root.join("b")).unwrap();
        },
        &["b/c/three", "four"],
    );
    check(
        |root| {
            fs::remove_file(root.join("four")).unwrap();
            fs::create_dir(root.join("four")).unwrap();
            fs::write(root.join("four/five"), "needle").unwrap();
        },
        &["four/five"],
    );
}

#[test]
fn sees_writes_through_a_hard_link() {
    check(
        |root| {
            fs::hard_link(root.join("a/one"), root.join("b/link")).unwrap();
            fs::write(root.join("b/link"), "needle").unwrap();
        },
        &["a/one", "b/link", "four"],
    );
    check(
        |root| {
            // The new name arrives with its directory.
            let outside = root.parent().unwrap().join("outside");
            fs::create_dir(&outside).unwrap();
            fs::hard_link(root.join("a/one"), outside.join("link")).unwrap();
            fs::rename(&outside, root.join("d")).unwrap();
            fs::write(root.join("d/link"), "needle").unwrap();
        },
        &["a/one", "d/link", "four"],
    );
}

#[test]
fn sees_a_write_through_a_memory_mapping() {
    check(
        |root| {
            let file = fs::File::options().read(true).write(true).open(root.join("a/one")).unwrap();
            file.set_len(6).unwrap();
            // SAFETY: the file is long enough, nobody shortens it, and the mapping is not used after it is unmapped.
            unsafe {
                let map = rustix::mm::mmap(
                    std::ptr::null_mut(),
                    6,
                    rustix::mm::ProtFlags::WRITE,
                    rustix::mm::MapFlags::SHARED,
                    &file,
                    0,
                )
                .unwrap();
                std::ptr::copy_nonoverlapping(b"needle".as_ptr(), map.cast(), 6);
                rustix::mm::munmap(map, 6).unwrap();
            }
        },
        &["a/one", "four"],
    );
}

#[test]
fn sees_a_replaced_root_and_a_changed_link_to_it() {
    check(
        |root| {
            fs::rename(root, root.with_extension("old")).unwrap();
            fs::create_dir(root).unwrap();
            fs::write(root.join("new"), "needle").unwrap();
        },
        &["new"],
    );
    let place = tempfile::tempdir().unwrap();
    for (folder, text) in [("above/one", "needle"), ("above/two", "hay")] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
        fs::write(place.path().join(folder).join("file"), text).unwrap();
    }
    let link = place.path().join("link");
    std::os::unix::fs::symlink("above/one", &link).unwrap();
    let pair = Pair::new(&link, &place.path().join("global"), WorkspaceOptions::default());
    pair.build();
    assert_eq!(pair.files("needle", "first folder"), ["file"]);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("above/two", &link).unwrap();
    assert!(pair.files("needle", "the link leads elsewhere").is_empty());
    fs::rename(place.path().join("above"), place.path().join("renamed")).unwrap();
    pair.grep(&GrepOptions::new("needle", ""), "the root is gone");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("renamed/one", &link).unwrap();
    fs::write(place.path().join(".ignore"), "file\n").unwrap();
    assert!(pair.files("needle", "a rule above the renamed folder").is_empty());
    fs::remove_file(place.path().join(".ignore")).unwrap();
    assert_eq!(pair.files("needle", "without the rule"), ["file"]);
}

#[test]
fn a_queue_overflow_rechecks_everything() {
    let place = tempfile::tempdir().unwrap();
    let pair = indexed(place.path(), WorkspaceOptions::default());
    let root = place.path().join("root");
    fs::write(root.join("b/c/three"), "needle").unwrap();
    let queued: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    let files = ["a/one", "a/two"].map(|path| fs::File::options().write(true).open(root.join(path)).unwrap());
    // The system merges equal consecutive events, so two files alternate.
    for _ in 0..=queued / 2 {
        files.iter().for_each(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap());
    }
    fs::write(root.join("a/two"), "needle").unwrap();
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join("d/new"), "needle").unwrap();
    assert_eq!(pair.files("needle", "after the overflow"), ["a/two", "b/c/three", "d/new", "four"]);
    let status = pair.workspace.status().index;
    assert!(status.watches == 0 || status.counts.overflows > 0, "{status:?}");
}

#[test]
fn rechecks_a_folder_that_gets_its_watch_late() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    for folder in ["a", "b"] {
        fs::create_dir_all(root.join(folder)).unwrap();
        fs::write(root.join(folder).join("f"), "hay\n").unwrap();
    }
    let file = fs::File::open(root.join("b/f")).unwrap();
    while !sinew_walk::Stamp::of_file(&file).unwrap().is_settled() {
        std::thread::yield_now();
    }
    // Two watches: the root and one of the two directories.
    let options = WorkspaceOptions { max_watches: Some(2), ..WorkspaceOptions::default() };
    let pair = Pair::new(&root, &place.path().join("global"), options);
    pair.build();
    assert!(pair.files("needle", "as it was built").is_empty());
    // If the directory with the watch is removed, the other one gets the watch after its names have changed.
    for gone in ["a", "b"] {
        let kept = if gone == "a" { "b" } else { "a" };
        fs::rename(root.join(gone), place.path().join(gone)).unwrap();
        assert!(pair.files("needle", "a watch is free").is_empty());
        fs::write(place.path().join("beside"), "a needle\n").unwrap();
        fs::rename(place.path().join("beside"), root.join(kept).join("f")).unwrap();
        assert_eq!(pair.files("needle", "another file by that name"), [format!("{kept}/f")]);
        fs::rename(place.path().join(gone), root.join(gone)).unwrap();
        fs::write(root.join(kept).join("f"), "hay\n").unwrap();
        pair.build();
        assert!(pair.files("needle", "back again").is_empty());
    }
}

#[test]
fn supports_names_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    check(
        |root| {
            for name in [&b"not \xFF UTF-8"[..], b"line\nbreak", &[b'n'; 255]] {
                fs::write(root.join(std::ffi::OsStr::from_bytes(name)), "needle").unwrap();
            }
        },
        &["four", "line\nbreak", &"n".repeat(255), "not \u{FFFD} UTF-8"],
    );
}

#[test]
fn supports_paths_longer_than_the_system_limit() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let place = tempfile::tempdir().unwrap();
    let pair = indexed(place.path(), WorkspaceOptions::default());
    let open = |at: &std::os::fd::OwnedFd, name: &str| openat(at, name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    let mut folder = openat(CWD, place.path().join("root"), OFlags::DIRECTORY, Mode::empty()).unwrap();
    let name = "d".repeat(250);
    for _ in 0..20 {
        mkdirat(&folder, &name, Mode::RWXU).unwrap();
        folder = open(&folder, &name);
    }
    let write = |name: &str| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        fs::File::from(openat(&folder, name, flags, Mode::RUSR | Mode::WUSR).unwrap()).write_all(b"needle").unwrap();
    };
    write("deep");
    pair.build();
    assert_eq!(pair.files("needle", "deep").len(), 2);
    write("deeper");
    assert_eq!(pair.files("needle", "deeper").len(), 3);
    pair.build();
    fs::write(place.path().join("root").join(&name).join(".ignore"), "deep\n").unwrap();
    assert_eq!(pair.files("needle", "a rule above").len(), 2);
}

#[test]
fn reports_the_same_errors_as_the_plain_search() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("root")).unwrap();
    let pair = Pair::new(&place.path().join("root"), &place.path().join("global"), WorkspaceOptions::default());
    for pattern in ["(", "a\nb", "x", ""] {
        pair.grep(&GrepOptions::new(pattern, ""), "an empty tree");
        pair.grep(&GrepOptions::new(pattern, "missing"), "a path that is not there");
        let glob = Some("{".into());
        pair.grep(&GrepOptions { glob, ..GrepOptions::new(pattern, "") }, "a bad glob");
        let file_type = Some("nope".to_string());
        pair.grep(&GrepOptions { file_type, ..GrepOptions::new(pattern, "") }, "a bad type");
    }
    fs::remove_dir(place.path().join("root")).unwrap();
    pair.grep(&GrepOptions::new("x", ""), "no root");
    fs::write(place.path().join("root"), "x").unwrap();
    pair.grep(&GrepOptions::new("x", ""), "a file as root");
}

#[test]
fn a_cancelled_call_does_not_change_later_results() {
    let place = tempfile::tempdir().unwrap();
    let pair = indexed(place.path(), WorkspaceOptions::default());
    let root = place.path().join("root");
    let (handle, cancel) = CancelHandle::new();
    handle.cancel();
    for text in ["needle", "hay", "needle"] {
        fs::write(root.join("a/one"), text).unwrap();
        fs::create_dir_all(root.join("d").join(text)).unwrap();
        let aborted = [
            pair.workspace.grep(&GrepOptions::new("needle", ""), &pair.pool, &cancel, None).map(drop),
            pair.workspace.list("", true, true, &pair.pool, &cancel).map(drop),
            pair.workspace.ready(&pair.pool, &cancel).map(drop),
        ];
        assert!(aborted.iter().all(Result::is_err), "{aborted:?}");
        assert_eq!(pair.files("needle", text).contains(&"a/one".to_string()), text == "needle");
    }
}

#[test]
fn does_not_index_the_home_directory_or_its_parents() {
    let place = tempfile::tempdir().unwrap();
    for home in ["root", "root/a"] {
        let home = Some(place.path().join(home));
        let pair = indexed(place.path(), WorkspaceOptions { home, ..WorkspaceOptions::default() });
        assert_eq!(pair.files("needle", "walked"), ["four"]);
        assert_eq!(pair.workspace.status().index.folders, 0);
    }
}

#[test]
fn opening_a_root_twice_shares_the_index() {
    let place = tempfile::tempdir().unwrap();
    let workspaces = sinew_search::Workspaces::default();
    let open = || workspaces.open(place.path(), &WorkspaceOptions::default()).unwrap();
    let (first, second) = (open(), open());
    first.ready(&sinew_pool::Pool::new("test", 1), &CancelToken::never()).unwrap();
    assert_eq!(second.status().index, first.status().index);
    assert_eq!(first.status().index.folders, 1);
}
