//! Tests the entries of a scan on ordinary and hostile trees.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tree::{Tree, names, scan};
use sinew_base::{CancelHandle, CancelToken, ErrorCode};
use sinew_pool::Pool;
use sinew_walk::{Detail, FileType, ScanOptions};

#[test]
fn entries_are_in_path_order() {
    let tree = Tree::new();
    for file in ["a/x", "a-b/x", "a-b/c", "a.c", "a0", "b", "a/b/c", "a/b-c", "é", "a b/c"] {
        tree.file(file, "");
    }
    // Other systems ignore case, so `A` would be the directory `a`.
    let in_capitals = cfg!(target_os = "linux");
    if in_capitals {
        tree.file("A", "");
    }
    let scan = scan(&ScanOptions::new(tree.path()));
    let found = names(&scan, |_| true);
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(found, sorted);
    assert_eq!(found.len(), 14 + usize::from(in_capitals));
    for (index, path) in found.iter().enumerate() {
        assert_eq!(scan.find(path.as_bytes()), Some(index));
    }
    assert_eq!(scan.find(b"nowhere"), None);
}

#[test]
fn options_select_hidden_names_and_node_modules() {
    let tree = Tree::new();
    for file in [".git/config", ".env", ".config/x", "node_modules/a/b", "src/node_modules/c", "src/a"] {
        tree.file(file, "");
    }
    let all = ScanOptions::new(tree.path());
    let list = |options: &ScanOptions| names(&scan(options), |entry| entry.file_type() == FileType::File);
    assert_eq!(list(&all), [".config/x", ".env", "src/a"]);
    assert_eq!(list(&ScanOptions { hidden: false, ..all.clone() }), ["src/a"]);
    let with = ScanOptions { skip_node_modules: false, ..all };
    assert_eq!(list(&with), [".config/x", ".env", "node_modules/a/b", "src/a", "src/node_modules/c"]);
}

#[test]
fn ignored_entries_are_excluded_or_marked() {
    let tree = Tree::new();
    tree.folder(".git");
    for (file, text) in [(".gitignore", "out/\n"), ("out/a/b", ""), ("src/a", "")] {
        tree.file(file, text);
    }
    let options = ScanOptions::new(tree.path());
    assert_eq!(names(&scan(&options), |_| true), [".gitignore", "src", "src/a"]);
    let marked = scan(&ScanOptions { gitignore: false, ..options });
    assert_eq!(names(&marked, |entry| entry.ignored()), ["out", "out/a", "out/a/b"]);
    assert_eq!(names(&marked, |entry| !entry.ignored()), [".gitignore", "src", "src/a"]);
}

#[test]
fn a_negated_rule_includes_a_hidden_file() {
    let tree = Tree::new();
    tree.folder(".git");
    tree.file(".gitignore", "!.env.example\n");
    tree.file(".env.example", "");
    tree.file(".env", "");
    let options = ScanOptions { hidden: false, ..ScanOptions::new(tree.path()) };
    assert_eq!(names(&scan(&options), |_| true), [".env.example"]);
}

#[test]
fn reads_details_only_on_request() {
    let tree = Tree::new();
    tree.file("a", "12345");
    let options = ScanOptions::new(tree.path());
    let plain = scan(&options);
    assert_eq!((plain.get(0).size(), plain.get(0).mtime()), (None, None));
    let full = scan(&ScanOptions { detail: Detail::Full, ..options });
    assert_eq!(full.get(0).size(), Some(5));
    let meta = std::fs::metadata(tree.path().join("a")).unwrap().modified().unwrap();
    let since = meta.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    assert_eq!(full.get(0).mtime().map(i128::from), i128::try_from(since).ok());
}

#[test]
fn a_file_as_root_is_its_only_entry() {
    let tree = Tree::new();
    let file = tree.file("dir/.hidden", "abc");
    let scan = scan(&ScanOptions { hidden: false, detail: Detail::Full, ..ScanOptions::new(file) });
    assert!(scan.is_single_file());
    assert_eq!(names(&scan, |_| true), [".hidden"]);
    assert_eq!(scan.get(0).size(), Some(3));
    assert!(scan.get(0).open().is_ok());
}

#[test]
fn a_missing_root_is_an_error() {
    let tree = Tree::new();
    let options = ScanOptions::new(tree.path().join("none"));
    let error = sinew_walk::scan(&options, &Pool::new("test", 1), &CancelToken::never()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert!(error.message().contains("none"), "{error}");
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn follows_links_only_as_the_root_or_on_request() {
        let tree = Tree::new();
        tree.file("real/a", "");
        tree.folder("root");
        symlink("../real", tree.path().join("root/link")).unwrap();
        symlink("nowhere", tree.path().join("root/broken")).unwrap();
        symlink("..", tree.path().join("root/up")).unwrap();
        symlink("loop", tree.path().join("root/loop")).unwrap();
        symlink("root", tree.path().join("to-root")).unwrap();
        let options = ScanOptions::new(tree.path().join("to-root"));
        let plain = scan(&options);
        assert_eq!(names(&plain, |_| true), ["broken", "link", "loop", "up"]);
        assert!(plain.iter().all(|entry| entry.file_type() == FileType::Symlink));
        let targets: Vec<_> = plain.iter().map(|entry| entry.target_type()).collect();
        assert_eq!(targets, [None, Some(FileType::Dir), None, Some(FileType::Dir)]);
        let followed = names(&scan(&ScanOptions { follow_links: true, ..options }), |_| true);
        // `up` is followed once, and never into a directory that contains it.
        assert!(
            followed.contains(&"link/a".to_string()) && followed.contains(&"up/real/a".to_string()),
            "{followed:?}"
        );
        assert!(
            !followed.iter().any(|path| path.starts_with("up/root/") || path.starts_with("up/to-root/")),
            "{followed:?}"
        );
    }

    #[test]
    fn opens_files_whose_name_is_not_utf_8() {
        let tree = Tree::new();
        let name = OsStr::from_bytes(b"a\xFFb");
        std::fs::create_dir(tree.path().join(name)).unwrap();
        std::fs::write(tree.path().join(name).join("new\nline"), "x").unwrap();
        let scan = scan(&ScanOptions::new(tree.path()));
        assert_eq!(names(&scan, |_| true), ["a\u{FFFD}b", "a\u{FFFD}b/new\nline"]);
        assert!(scan.get(1).open().is_ok());
        assert!(scan.get(1).absolute().exists());
    }

    #[test]
    fn skips_pipes_and_sockets_even_as_ignore_files() {
        let tree = Tree::new();
        tree.folder(".git");
        tree.file("a", "");
        for name in ["pipe", ".gitignore", ".ignore"] {
            let path = tree.path().join(name);
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        }
        let _socket = std::os::unix::net::UnixListener::bind(tree.path().join("s")).unwrap();
        let found = scan(&ScanOptions::new(tree.path()));
        assert_eq!(names(&found, |_| true), ["a"]);
        assert!(found.warnings().is_empty(), "{:?}", found.warnings());
    }

    #[test]
    fn ignores_a_linked_gitignore_like_git() {
        let tree = Tree::new();
        tree.folder(".git");
        tree.file("rules", "a\n");
        tree.file("a", "");
        symlink("rules", tree.path().join(".gitignore")).unwrap();
        assert_eq!(names(&scan(&ScanOptions::new(tree.path())), |_| true), [".gitignore", "a", "rules"]);
    }

    #[test]
    fn walks_and_opens_thousands_of_levels() {
        const LEVELS: usize = 3_000;
        let tree = Tree::new();
        let deep = Deep::dig(tree.path(), LEVELS);
        let scan = scan(&ScanOptions::new(tree.path()));
        assert_eq!(scan.len(), LEVELS + 1);
        let last = scan.get(LEVELS);
        assert_eq!(last.name(), b"file");
        assert!(last.open().is_ok());
        assert_eq!(last.target_type(), Some(FileType::File));
        assert!(scan.warnings().is_empty());
        drop(deep);
    }

    /// Nested directories with a file in the innermost one. Removed from the inside out, because the standard library
    /// would need a descriptor per level.
    struct Deep(Vec<rustix::fd::OwnedFd>);

    impl Deep {
        fn dig(root: &std::path::Path, levels: usize) -> Deep {
            use rustix::fs::{Mode, OFlags, mkdirat, openat};
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let mut here = openat(rustix::fs::CWD, root, flags, Mode::empty()).unwrap();
            // Keeps every hundredth level open, from which the removal continues.
            let mut kept = vec![here.try_clone().unwrap()];
            for level in 1..=levels {
                mkdirat(&here, "d", 0o700.into()).unwrap();
                here = openat(&here, "d", flags, Mode::empty()).unwrap();
                if level % 100 == 0 {
                    kept.push(here.try_clone().unwrap());
                }
            }
            openat(&here, "file", OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, 0o600.into()).unwrap();
            Deep(kept)
        }
    }

    impl Drop for Deep {
        fn drop(&mut self) {
            use rustix::fs::{AtFlags, unlinkat};
            if let Some(last) = self.0.last() {
                let _ = unlinkat(last, "file", AtFlags::empty());
            }
            for start in self.0.iter().rev().skip(1) {
                for levels in (1..=100).rev() {
                    let _ = unlinkat(start, vec!["d"; levels].join("/"), AtFlags::REMOVEDIR);
                }
            }
        }
    }

    /// Root can read everything, so this test runs itself again as an unprivileged user.
    #[test]
    fn an_unreadable_folder_is_a_warning() {
        use std::os::unix::fs::PermissionsExt;
        use std::os::unix::process::CommandExt;
        const MARK: &str = "SINEW_TEST_UNREADABLE";
        if let Some(root) = std::env::var_os(MARK) {
            let scan = scan(&ScanOptions::new(root));
            let expect = ["failed to read folder \"closed\": Permission denied"];
            assert_eq!(
                (names(&scan, |_| true), scan.warnings()),
                (vec!["closed".into(), "open".into()], &expect.map(String::from)[..])
            );
            return;
        }
        let tree = Tree::new();
        tree.folder("closed");
        tree.file("open", "");
        let mode = |path: &std::path::Path, bits| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap()
        };
        mode(tree.path(), 0o755);
        mode(&tree.path().join("closed"), 0o000);
        // The other user may not be able to read the original program.
        let program = tree.path().join("open");
        // Another process makes the copy. If this one had it open for writing, a child that another test starts at that
        // moment would inherit the descriptor, and the system runs no file that is open for writing.
        let mut copy = std::process::Command::new("cp");
        assert!(copy.arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap().success());
        mode(&program, 0o755);
        let mut command = std::process::Command::new(&program);
        command
            .args(["--exact", "walk::unix::an_unreadable_folder_is_a_warning"])
            .env(MARK, tree.path())
            .current_dir("/");
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        mode(&tree.path().join("closed"), 0o755);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn a_cancelled_scan_returns_the_reason() {
    let tree = Tree::new();
    tree.file("a/b", "");
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let error = sinew_walk::scan(&ScanOptions::new(tree.path()), &Pool::new("test", 2), &cancel).unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::Aborted, "Aborted: Signal"));
}

#[test]
fn cancelling_ends_a_running_scan() {
    let tree = Tree::new();
    for folder in 0..200 {
        tree.folder(&format!("{folder}"));
    }
    let pool = Pool::new("test", 2);
    let (cancel_handle, cancel) = CancelHandle::new();
    let over = Arc::new(AtomicBool::new(false));
    let options = ScanOptions::new(tree.path());
    // Scans repeatedly, because the signal may arrive between two scans.
    let scans = std::thread::spawn({
        let (cancel, over) = (cancel.clone(), Arc::clone(&over));
        move || {
            let error = loop {
                if let Err(error) = sinew_walk::scan(&options, &pool, &cancel) {
                    break error;
                }
                over.store(true, Ordering::Release);
            };
            assert_eq!(error.code(), ErrorCode::Aborted);
        }
    });
    while !over.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    cancel_handle.cancel();
    scans.join().unwrap();
}

#[test]
fn the_scan_does_not_depend_on_the_number_of_threads() {
    let tree = Tree::new();
    for folder in 0..300 {
        tree.file(&format!("{}/{}/{folder}", folder % 7, folder % 50), "");
    }
    let options = ScanOptions::new(tree.path());
    let one = sinew_walk::scan(&options, &Pool::new("test", 1), &CancelToken::never()).unwrap();
    for threads in 2..6 {
        let many = sinew_walk::scan(&options, &Pool::new("test", threads), &CancelToken::never()).unwrap();
        assert_eq!(names(&one, |_| true), names(&many, |_| true));
    }
}
