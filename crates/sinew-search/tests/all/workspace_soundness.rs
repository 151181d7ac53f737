//! Tests changes that stamps do not reveal, and limits: files that are not in the index are searched.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::is_alone;
use crate::pair::Pair;
use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{BuildPolicy, GrepOptions, WorkspaceOptions, Workspaces};
use sinew_walk::Stamp;

fn write_tree(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
}

/// Waits until any later change will change the stamp of a file.
fn settle(file: &fs::File) {
    while !Stamp::of_file(file).unwrap().is_settled() {
        std::thread::yield_now();
    }
}

#[test]
fn sees_a_second_write_to_a_mapped_page() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    write_tree(&root, &[("a/one", "------\n"), ("b/two", "hay\n")]);
    let pair = Pair::new(&root, &place.path().join("global"), WorkspaceOptions::default());
    pair.build();
    if pair.workspace.status().index.watches == 0 {
        // Only an event reveals such a store.
        return;
    }
    let file = fs::File::options().read(true).write(true).open(root.join("a/one")).unwrap();
    // SAFETY: the file is long enough, nobody shortens it, and the mapping is not used after it is unmapped.
    unsafe {
        let (protection, shared) =
            (rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE, rustix::mm::MapFlags::SHARED);
        let map = rustix::mm::mmap(std::ptr::null_mut(), 6, protection, shared, &file, 0).unwrap();
        std::ptr::copy_nonoverlapping(b"======".as_ptr(), map.cast(), 6);
        // A write with an event, so that the file is read again.
        file.write_all_at(b"=", 0).unwrap();
        settle(&file);
        // The file is read between two stores; the second one does not change its times.
        pair.build();
        assert!(pair.files("needle", "between the stores").is_empty());
        std::ptr::copy_nonoverlapping(b"needle".as_ptr(), map.cast(), 6);
        rustix::mm::munmap(map, 6).unwrap();
    }
    drop(file);
    assert_eq!(pair.files("needle", "after the stores"), ["a/one"]);
    pair.build();
    assert_eq!(pair.files("needle", "indexed"), ["a/one"]);
}

#[test]
fn does_not_index_the_home_directory_through_a_link() {
    let place = tempfile::tempdir().unwrap();
    write_tree(place.path(), &[("home/tree/file", "needle")]);
    let (home, link) = (place.path().join("home"), place.path().join("link"));
    std::os::unix::fs::symlink(&home, &link).unwrap();
    for (root, home, folders) in [(&link, &home, 0), (&home, &link, 0), (&home.join("tree"), &link, 1)] {
        let options = WorkspaceOptions { home: Some(home.clone()), ..WorkspaceOptions::default() };
        let pair = Pair::new(root, &place.path().join("global"), options.clone());
        assert_eq!(pair.files("needle", "with or without an index").len(), 1);
        assert_eq!(pair.workspace.status().index.folders, folders, "{root:?}");
        let always =
            Pair::new(root, &place.path().join("global"), WorkspaceOptions { build: BuildPolicy::Always, ..options });
        always.files("needle", "asked for");
        assert!(always.workspace.status().index.folders > 0, "{root:?}");
    }
}

const MOUNTED: &str = "SINEW_TEST_MOUNTED";

/// Runs in the process that sees a mount; does nothing as a normal test.
#[test]
fn child_that_searches_below_a_mount() {
    let Some(place) = std::env::var_os(MOUNTED).map(std::path::PathBuf::from) else { return };
    let pair = Pair::new(&place.join("root"), &place.join("global"), WorkspaceOptions::default());
    pair.build();
    assert_eq!(pair.files("hay", "before"), ["a/one", "a/two"]);
    fs::write(place.join("outside"), "a needle\n").unwrap();
    assert_eq!(pair.files("needle", "through the other name"), ["a/one"]);
    println!("seen");
}

#[test]
fn sees_a_file_mounted_over_another() {
    let place = tempfile::tempdir().unwrap();
    write_tree(place.path(), &[("root/a/one", "hidden\n"), ("root/a/two", "hay\n"), ("outside", "a hay\n")]);
    let script = "mount --bind \"$1/outside\" \"$1/root/a/one\" || exit 9
        exec \"$2\" --exact workspace_soundness::child_that_searches_below_a_mount --nocapture";
    let output = Command::new("unshare")
        .args(["-Urm", "sh", "-c", script, "sh"])
        .arg(place.path())
        .arg(std::env::current_exe().unwrap())
        .env(MOUNTED, place.path())
        .output();
    // Not every system allows tests to mount.
    let Ok(output) = output else { return };
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if said.contains("running 1 test") {
        assert!(output.status.success() && said.contains("seen"), "{said}\n{errors}");
    }
}

#[test]
fn workspaces_that_share_a_queue_each_get_their_events() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    write_tree(&root, &[("a/one", "hay\n"), ("a/b/two", "hay\n"), ("c/three", "hay\n")]);
    let workspaces = Workspaces::default();
    let global = place.path().join("global");
    let open = |folder: &str| Pair::among(&workspaces, &root.join(folder), &global, WorkspaceOptions::default());
    let (whole, part, other) = (open(""), open("a"), open("c"));
    let pairs = [&whole, &part, &other];
    pairs.iter().for_each(|pair| pair.build());
    let watched = whole.workspace.status().index.watches > 0;
    for (round, path) in ["a/one", "a/b/two", "c/three", "a/b/two"].into_iter().enumerate() {
        fs::write(root.join(path), format!("needle {round}\n")).unwrap();
        fs::create_dir_all(root.join(format!("a/b/d{round}/e"))).unwrap();
        fs::write(root.join(format!("a/b/d{round}/e/f")), format!("needle {round}\n")).unwrap();
        for pair in [pairs[round % 3], pairs[(round + 1) % 3], pairs[(round + 2) % 3]] {
            pair.files(&format!("needle {round}"), path);
            pair.files("hay", path);
        }
        pairs[round % 3].build();
    }
    drop(part);
    fs::write(root.join("a/b/two"), "needle again\n").unwrap();
    assert_eq!(whole.files("needle again", "one is gone"), ["a/b/two"]);
    drop(whole);
    fs::write(root.join("c/three"), "needle again\n").unwrap();
    assert_eq!(other.files("needle again", "two are gone"), ["three"]);
    assert!(!watched || other.workspace.status().index.watches > 0);
}

#[test]
fn an_overflow_of_one_workspace_does_not_affect_the_others() {
    let place = tempfile::tempdir().unwrap();
    write_tree(place.path(), &[("busy/one", "hay\n"), ("busy/two", "hay\n"), ("idle/one", "hay\n")]);
    let workspaces = Workspaces::default();
    let global = place.path().join("global");
    let open =
        |folder: &str| Pair::among(&workspaces, &place.path().join(folder), &global, WorkspaceOptions::default());
    let (whole, busy) = (open(""), open("busy"));
    whole.build();
    busy.build();
    let files =
        ["busy/one", "busy/two"].map(|path| fs::File::options().write(true).open(place.path().join(path)).unwrap());
    for round in 0..80 {
        // Fills part of the queue; the workspace that searches next empties it for both.
        for _ in 0..500 {
            files.iter().for_each(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap());
        }
        if round % 8 == 0 {
            fs::write(place.path().join("busy/one"), format!("needle {round}\n")).unwrap();
            assert_eq!(busy.files(&format!("needle {round}"), "busy"), ["one"]);
        } else {
            busy.workspace.grep(&GrepOptions::new("x", ""), &busy.pool, &CancelToken::never(), None).unwrap();
        }
    }
    fs::write(place.path().join("idle/one"), "needle at last\n").unwrap();
    assert_eq!(whole.files("needle at last", "the other one"), ["idle/one"]);
    assert_eq!(whole.files("needle 72", "the other one"), ["busy/one"]);
    let counts = [&whole, &busy].map(|pair| pair.workspace.status().index);
    assert!(counts[0].watches == 0 || counts.each_ref().map(|status| status.counts.overflows) == [1, 0], "{counts:?}");
}

#[test]
fn builds_in_the_background_according_to_the_policy() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    let files: Vec<String> = (0..600).map(|file| format!("d{}/f{file}", file % 7)).collect();
    let texts: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "hay\n")).collect();
    write_tree(&root, &texts);
    let open = |build| {
        let options = WorkspaceOptions { build, ..WorkspaceOptions::default() };
        Pair::new(&root, &place.path().join("global"), options)
    };
    for (build, expect) in [(BuildPolicy::Auto, 0), (BuildPolicy::Never, 0), (BuildPolicy::Always, 600)] {
        let pair = open(build);
        for search in ["needle", "hay", "needle"] {
            pair.files(search, "before, while or after it is built");
        }
        pair.workspace.join_background();
        assert_eq!(pair.workspace.status().index.files, expect, "{build:?}");
        pair.files("needle", "built");
        if build == BuildPolicy::Always {
            assert_eq!(pair.workspace.status().last.opened, 0);
            // A few changed files are not indexed again, many are.
            let (few, many) = (&texts[..10], &texts[10..400]);
            for (changed, expect) in [(few, 10), (many, 0)] {
                changed.iter().for_each(|(path, _)| fs::write(root.join(path), "straw\n").unwrap());
                pair.files("needle", "changed");
                pair.workspace.join_background();
                pair.files("needle", "read again");
                assert_eq!(pair.workspace.status().last.opened, expect);
            }
        }
        pair.workspace.close();
    }
}

#[test]
fn builds_the_index_of_a_large_tree_after_its_second_search() {
    let place = tempfile::tempdir().unwrap();
    for folder in 0..50 {
        fs::create_dir_all(place.path().join(format!("root/d{folder}"))).unwrap();
        (0..100).for_each(|file| fs::write(place.path().join(format!("root/d{folder}/f{file}")), "hay\n").unwrap());
    }
    let workspace = Workspaces::default().open(place.path().join("root"), &WorkspaceOptions::default()).unwrap();
    let (pool, never) = (Pool::new("test", 2), CancelToken::never());
    let search = || workspace.grep(&GrepOptions::new("needle", ""), &pool, &never, None).unwrap();
    search();
    workspace.join_background();
    assert_eq!(workspace.status().index.files, 0);
    search();
    workspace.join_background();
    assert_eq!(search().files_searched, 5_000);
    let status = workspace.status();
    assert_eq!((status.index.files, status.last.opened), (5_000, 0), "{status:?}");
}

#[test]
fn builds_the_index_of_a_few_large_files() {
    let place = tempfile::tempdir().unwrap();
    for (name, files) in [("small", 15), ("large", 17)] {
        let root = place.path().join(name);
        fs::create_dir(&root).unwrap();
        (0..files).for_each(|file| {
            let file = fs::File::create(root.join(format!("f{file}"))).unwrap();
            file.set_len(2 << 20).unwrap();
        });
        let pair = Pair::new(&root, &place.path().join("global"), WorkspaceOptions::default());
        for _ in 0..5 {
            pair.files("needle", name);
            pair.workspace.join_background();
        }
        let expect = if name == "large" { files } else { 0 };
        assert_eq!(pair.workspace.status().index.files, expect, "{name}");
    }
}

#[test]
fn closing_during_a_build_leaves_no_thread() {
    let place = tempfile::tempdir().unwrap();
    write_tree(place.path(), &[("root/one", "hay\n"), ("root/two", "needle\n")]);
    let workspaces = Workspaces::default();
    let options = WorkspaceOptions { build: BuildPolicy::Always, ..WorkspaceOptions::default() };
    let pool = Pool::new("test", 1);
    for _ in 0..20 {
        let first = workspaces.open(place.path().join("root"), &options).unwrap();
        let second = first.clone();
        first.grep(&GrepOptions::new("needle", ""), &pool, &CancelToken::never(), None).unwrap();
        first.close();
        let found = second.grep(&GrepOptions::new("needle", ""), &pool, &CancelToken::never(), None).unwrap();
        assert_eq!(found.total_matches, 1);
        second.close();
    }
}

#[test]
fn searches_files_that_exceed_the_size_limits() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    write_tree(&root, &[("one", "a needle\n"), ("two", "hay\n"), ("three", "straw\n")]);
    for cache in [None, Some(place.path().join("cache"))] {
        for room in [0, 1 << 30] {
            let options = WorkspaceOptions {
                cache: cache.clone(),
                max_disk: Some(room),
                max_memory: Some(if cache.is_some() { 0 } else { room }),
                ..WorkspaceOptions::default()
            };
            let pair = Pair::new(&root, &place.path().join("global"), options);
            pair.build();
            assert_eq!(pair.files("needle", "with room or without"), ["one"]);
            let status = pair.workspace.status();
            assert_eq!(
                (status.index.files, status.index.full),
                if room == 0 { (0, true) } else { (3, false) },
                "{status:?}"
            );
            assert!(status.index.bytes <= room);
        }
    }
}

#[test]
fn merges_small_and_outdated_segments() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    write_tree(&root, &[("file", "hay\n")]);
    let pair = Pair::new(&root, &place.path().join("global"), WorkspaceOptions::default());
    for round in 0..40 {
        fs::write(root.join(format!("f{round}")), format!("needle {round}\n")).unwrap();
        if round % 3 == 0 {
            fs::write(root.join("file"), format!("needle first {round}\n")).unwrap();
        }
        pair.build();
        assert_eq!(pair.files(&format!("needle {round}$"), "the newest").len(), 1);
        pair.files("needle first", "the oldest");
        assert!(pair.workspace.status().index.segments <= 10, "{:?}", pair.workspace.status());
    }
    assert_eq!(pair.files("needle", "all").len(), 41);
}

#[test]
fn keeps_large_segments_regardless_of_their_number() {
    // A program that another test starts has the files of this process open until its exec, and closing one that was
    // open for writing is a change.
    if !is_alone("workspace_soundness::keeps_large_segments_regardless_of_their_number") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    write_tree(&root, &[("file", "needle\n")]);
    let pair = Pair::new(&root, &place.path().join("global"), WorkspaceOptions::default());
    let text = "one line of a text that is long\n".repeat((4 << 20) / 32);
    for round in 0..10 {
        fs::write(root.join(format!("f{round}")), &text).unwrap();
        pair.build();
        assert_eq!(pair.workspace.progress().total_files, if round == 0 { 2 } else { 1 }, "round {round}");
    }
    pair.build();
    assert_eq!(pair.workspace.progress().total_files, 0, "nothing has changed");
    assert_eq!(pair.workspace.status().index.segments, 10);
    assert_eq!(pair.files("needle", "among large ones"), ["file"]);
}

#[test]
fn a_deleted_and_recreated_index_has_one_writer() {
    let place = tempfile::tempdir().unwrap();
    let (root, cache) = (place.path().join("root"), place.path().join("cache"));
    write_tree(&root, &[("one", "hay\n")]);
    let open = || {
        let options = WorkspaceOptions { cache: Some(cache.clone()), ..WorkspaceOptions::default() };
        let pair = Pair::new(&root, &place.path().join("global"), options);
        pair.build();
        pair
    };
    let first = open();
    fs::remove_dir_all(cache.join("index")).unwrap();
    let second = open();
    assert!(second.workspace.status().index.writer);
    for round in 0..3 {
        let mut file = fs::File::options().append(true).open(root.join("one")).unwrap();
        writeln!(file, "needle {round}").unwrap();
        for pair in [&first, &second] {
            pair.build();
            assert_eq!(pair.files(&format!("needle {round}"), "both"), ["one"]);
        }
    }
    let status = [&first, &second].map(|pair| pair.workspace.status().index);
    assert_eq!(status.each_ref().map(|status| status.persisted), [false, true], "{status:?}");
}
