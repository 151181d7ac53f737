//! Tests of watchers on real directories. If the file system reports no events, as a network file system, tests of
//! events end early.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fastrand::Rng;
use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_watch::{Change, ChangeKind, TreeWatcher, WatchMode, WatchOptions, WatchQueue};

/// Returns the files below a directory with their contents; directories have none.
type Model = BTreeMap<String, Option<Vec<u8>>>;

fn open(root: &Path, options: WatchOptions) -> TreeWatcher {
    let queue = Arc::new(WatchQueue::default());
    TreeWatcher::open(root, options, queue, Pool::for_machine("test"), &CancelToken::never()).unwrap()
}

/// Returns the paths below a directory, and whether they are directories.
fn list(root: &Path) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()) {
            let is_folder = entry.file_type().unwrap().is_dir();
            found.push((entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned(), is_folder));
            if is_folder {
                open.push(entry.path());
            }
        }
    }
    found.sort_unstable();
    found
}

fn read(root: &Path) -> Model {
    let content = |path: &str| fs::read(root.join(path)).unwrap();
    list(root).into_iter().map(|(path, is_folder)| (path.clone(), (!is_folder).then(|| content(&path)))).collect()
}

fn text(path: &[u8]) -> String {
    String::from_utf8(path.to_vec()).unwrap()
}

/// Applies a batch to a model, with the contents on disk.
fn repeat(model: &mut Model, root: &Path, changes: &[Change]) {
    let load = |path: &str| {
        let path = root.join(path);
        if path.is_dir() { None } else { fs::read(path).ok() }
    };
    for change in changes {
        let path = text(&change.path);
        match change.kind {
            ChangeKind::Created => assert!(model.insert(path.clone(), load(&path)).is_none(), "{path} was known"),
            ChangeKind::Changed => {
                let known = model.get_mut(&path).unwrap_or_else(|| panic!("{path} is not known"));
                *known = load(&path);
            }
            ChangeKind::Deleted => assert!(model.remove(&path).is_some(), "{path} is not known"),
            ChangeKind::Renamed => {
                let to = text(change.to.as_ref().unwrap());
                let below = format!("{path}/");
                let moved: Vec<String> =
                    model.keys().filter(|name| **name == path || name.starts_with(&below)).cloned().collect();
                assert!(!moved.is_empty(), "{path} is not known");
                for name in moved {
                    let content = model.remove(&name).unwrap();
                    model.insert(format!("{to}{}", &name[path.len()..]), content);
                }
            }
            ChangeKind::Overflow => {}
        }
    }
}

/// Makes one random change below `root`. Entries are moved out to `outside`, and back from there.
fn mutate(root: &Path, outside: &Path, random: &mut Rng, number: usize) {
    let model = list(root);
    let paths: Vec<&String> = model.iter().map(|(path, _)| path).collect();
    let any = |random: &mut Rng| paths.get(random.usize(0..paths.len().max(1))).map(|path| root.join(path));
    let folders = model.iter().filter(|(_, is_folder)| *is_folder);
    let folders: Vec<PathBuf> = folders.map(|(path, _)| root.join(path)).collect();
    let folder = if folders.is_empty() || random.u8(0..3) == 0 {
        root.to_path_buf()
    } else {
        random.choice(&folders).unwrap().clone()
    };
    let fresh = folder.join(format!("n{}", random.u8(0..40)));
    let crowded = paths.len() > 120;
    // If the system refuses a change, such as moving a directory into itself, nothing changes.
    let _ = match random.u8(0..if crowded { 14 } else { 11 }) {
        0 | 1 => fs::write(&fresh, number.to_string()),
        2 => fs::create_dir(&fresh),
        3 => fs::create_dir_all(fresh.join("deep/er")).and_then(|()| fs::write(fresh.join("deep/er/f"), "deep")),
        4 | 5 => match any(random) {
            Some(path) if path.is_file() => fs::write(path, format!("changed {number}")),
            _ => Ok(()),
        },
        6 => any(random).map_or(Ok(()), |path| fs::rename(path, &fresh)),
        7 => match any(random) {
            Some(path) if path.is_file() => {
                let beside = folder.join(".saving");
                fs::write(&beside, format!("saved {number}")).and_then(|()| fs::rename(beside, path))
            }
            _ => Ok(()),
        },
        8 => any(random).map_or(Ok(()), |path| fs::rename(path, outside.join(number.to_string()))),
        9 => match fs::read_dir(outside).unwrap().next() {
            Some(entry) => fs::rename(entry.unwrap().path(), &fresh),
            None => Ok(()),
        },
        10 => {
            any(random).map_or(Ok(()), |path| if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) })
        }
        _ => any(random)
            .map_or(Ok(()), |path| if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }),
    };
}

#[test]
fn ten_thousand_random_changes_are_all_reported() {
    let mut random = Rng::with_seed(11);
    // The tree is read after each change, which is faster in memory than on a disk.
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let (root, outside) = (place.path().join("root"), place.path().join("outside"));
    fs::create_dir(&root).and_then(|()| fs::create_dir(&outside)).unwrap();
    let mut watcher = open(&root, WatchOptions::default());
    if watcher.mode() != WatchMode::Events {
        return;
    }
    let mut model = Model::new();
    let mut renames = 0;
    for number in 0..10_000 {
        mutate(&root, &outside, &mut random, number);
        if random.u8(0..6) == 0 {
            let changes = watcher.poll();
            renames += changes.iter().filter(|change| change.kind == ChangeKind::Renamed).count();
            repeat(&mut model, &root, &changes);
            assert_eq!(model, read(&root), "after change {number}: {changes:?}");
        }
    }
    assert!(renames > 100, "{renames} renames");
    assert_eq!(watcher.mode(), WatchMode::Events);
}

#[test]
fn directories_beyond_the_watch_limit_are_scanned() {
    let mut random = Rng::with_seed(12);
    let place = tempfile::tempdir().unwrap();
    let (root, outside) = (place.path().join("root"), place.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    (0..300).for_each(|folder| fs::create_dir_all(root.join(format!("d{}/e{folder}", folder % 20))).unwrap());
    let mut watcher = open(&root, WatchOptions { max_watches: Some(100), ..WatchOptions::default() });
    assert!(watcher.watches() <= 100);
    assert_ne!(watcher.mode(), WatchMode::Events);
    let mut model = read(&root);
    for number in 0..300 {
        // The time of a file only shows a change if the clock has advanced since, so the contents get longer instead.
        let path = root.join(format!("d{}/e{}/f", number % 20, random.usize(0..15) * 20 + number % 20));
        let old = fs::read(&path).unwrap_or_default();
        fs::write(path, [old, b"more".to_vec()].concat()).unwrap();
        if random.u8(0..10) == 0 {
            let changes = watcher.poll();
            repeat(&mut model, &root, &changes);
            assert_eq!(model, read(&root), "{changes:?}");
            assert!(watcher.watches() <= 100);
        }
    }
}

/// Collects the batches of a waiting thread, until `done` returns true.
fn collect(mut watcher: TreeWatcher, act: impl FnOnce(), done: impl Fn(&[Change]) -> bool) -> Vec<Change> {
    act();
    let mut all = Vec::new();
    while !done(&all) {
        all.extend(watcher.wait().unwrap().unwrap());
    }
    all
}

#[test]
fn files_of_a_new_directory_are_reported_at_once() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().to_path_buf();
    for number in 0..20 {
        let watcher = open(&root, WatchOptions::default());
        let act = || {
            let folder = root.join(format!("a{number}/b/c"));
            fs::create_dir_all(&folder).unwrap();
            (0..20).for_each(|file| fs::write(folder.join(file.to_string()), "x").unwrap());
        };
        let changes =
            collect(watcher, act, |all| all.iter().filter(|change| change.kind == ChangeKind::Created).count() == 23);
        let paths: Vec<String> = changes
            .iter()
            .filter(|change| change.kind == ChangeKind::Created)
            .map(|change| text(&change.path))
            .collect();
        assert_eq!(paths[0], format!("a{number}"), "a folder comes before what it holds");
    }
}

fn rows(changes: &[Change]) -> Vec<(ChangeKind, String, Option<String>)> {
    changes.iter().map(|change| (change.kind, text(&change.path), change.to.as_deref().map(text))).collect()
}

#[test]
fn distinguishes_renames_within_into_and_out_of_the_directory() {
    let place = tempfile::tempdir().unwrap();
    let (root, outside) = (place.path().join("root"), place.path().join("outside"));
    fs::create_dir_all(root.join("d")).unwrap();
    fs::create_dir(&outside).unwrap();
    ["f", "g", "h", "d/x"].iter().for_each(|name| fs::write(root.join(name), name).unwrap());
    fs::write(outside.join("in"), "in").unwrap();
    let mut watcher = open(&root, WatchOptions::default());
    if watcher.mode() != WatchMode::Events {
        return;
    }
    let to = |name: &str| Some(name.to_owned());
    fs::rename(root.join("f"), root.join("f2")).unwrap();
    fs::rename(root.join("f2"), root.join("f3")).unwrap();
    assert_eq!(rows(&watcher.poll()), [(ChangeKind::Renamed, "f".into(), to("f3"))]);
    fs::rename(root.join("d"), root.join("e")).unwrap();
    fs::write(root.join("e/x"), "changed").unwrap();
    assert_eq!(
        rows(&watcher.poll()),
        [(ChangeKind::Renamed, "d".into(), to("e")), (ChangeKind::Changed, "e/x".into(), None)]
    );
    fs::rename(root.join("g"), root.join("h")).unwrap();
    assert_eq!(rows(&watcher.poll()), [(ChangeKind::Renamed, "g".into(), to("h"))]);
    fs::rename(root.join("h"), outside.join("out")).unwrap();
    fs::rename(outside.join("in"), root.join("in")).unwrap();
    assert_eq!(
        rows(&watcher.poll()),
        [(ChangeKind::Deleted, "h".into(), None), (ChangeKind::Created, "in".into(), None)]
    );
    fs::write(root.join(".tmp"), "saved").unwrap();
    fs::rename(root.join(".tmp"), root.join("in")).unwrap();
    assert_eq!(rows(&watcher.poll()), [(ChangeKind::Changed, "in".into(), None)]);
    fs::write(root.join("short"), "lived").unwrap();
    fs::remove_file(root.join("short")).unwrap();
    assert_eq!(rows(&watcher.poll()), []);
}

#[test]
fn watches_a_replaced_root_again() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("old"), "").unwrap();
    fs::write(root.join("both"), "1").unwrap();
    let mut watcher = open(&root, WatchOptions::default());
    if watcher.mode() != WatchMode::Events {
        return;
    }
    fs::rename(&root, place.path().join("away")).unwrap();
    fs::create_dir(&root).unwrap();
    fs::write(root.join("both"), "2").unwrap();
    fs::write(root.join("new"), "").unwrap();
    let expect = [(ChangeKind::Deleted, "old"), (ChangeKind::Created, "new"), (ChangeKind::Changed, "both")];
    assert_eq!(rows(&watcher.poll()), expect.map(|(kind, path)| (kind, path.to_owned(), None)));
    fs::write(root.join("new"), "text").unwrap();
    assert_eq!(rows(&watcher.poll()), [(ChangeKind::Changed, "new".into(), None)]);
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(
        rows(&watcher.poll()),
        [(ChangeKind::Deleted, "new".into(), None), (ChangeKind::Deleted, "both".into(), None)]
    );
    assert_eq!(watcher.mode(), WatchMode::Scan);
    fs::create_dir(&root).unwrap();
    fs::write(root.join("back"), "").unwrap();
    assert_eq!(rows(&watcher.poll()), [(ChangeKind::Created, "back".into(), None)]);
    assert_eq!(watcher.mode(), WatchMode::Events);
}

#[test]
fn ignored_directories_have_no_watch() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".gitignore"), "built/\n*.log\n").unwrap();
    ["src", "built/a", "built/b", "docs/draft", "node_modules/x"]
        .iter()
        .for_each(|path| fs::create_dir_all(root.join(path)).unwrap());
    let watched = |options: WatchOptions| {
        let mut watcher = open(root, options);
        let watches = watcher.watches();
        for path in ["src/a", "src/a.log", "built/a/f", "docs/f", "docs/draft/f", "node_modules/x/f", ".git/f"] {
            fs::write(root.join(path), "x").unwrap();
        }
        let seen: Vec<String> = watcher.poll().iter().map(|change| text(&change.path)).collect();
        for path in ["src/a", "src/a.log", "built/a/f", "docs/f", "docs/draft/f", "node_modules/x/f", ".git/f"] {
            fs::remove_file(root.join(path)).unwrap();
        }
        (watches, seen.join(" "))
    };
    let default = watched(WatchOptions::default());
    if default.0 == 0 {
        return;
    }
    assert_eq!(default, (5, "docs/draft/f docs/f src/a".into()));
    let ignore = vec!["draft".into(), "docs/f".into()];
    assert_eq!(watched(WatchOptions { ignore, ..WatchOptions::default() }), (4, "src/a".into()));
    let all = WatchOptions { gitignore: false, ..WatchOptions::default() };
    assert_eq!(watched(all), (10, "built/a/f docs/draft/f docs/f node_modules/x/f src/a src/a.log".into()));
    let flat = WatchOptions { recursive: false, ..WatchOptions::default() };
    assert_eq!(watched(flat), (2, String::new()));
}

#[test]
fn reports_dropped_events_as_an_overflow() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let mut watcher = open(root, WatchOptions::default());
    if watcher.mode() != WatchMode::Events {
        return;
    }
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    (0..limit + 10).for_each(|number| drop(fs::File::create(root.join((number % 500).to_string())).unwrap()));
    fs::write(root.join("last"), "").unwrap();
    let changes = watcher.poll();
    assert_eq!(changes[0].kind, ChangeKind::Overflow);
    assert_eq!(changes.iter().filter(|change| change.kind == ChangeKind::Created).count(), 501);
    fs::write(root.join("7"), "text").unwrap();
    assert_eq!(rows(&watcher.poll()), [(ChangeKind::Changed, "7".into(), None)]);
}

#[test]
fn watchers_of_one_queue_all_report_each_change_and_close_independently() {
    let place = tempfile::tempdir().unwrap();
    let queue = Arc::new(WatchQueue::default());
    let open = || {
        TreeWatcher::open(
            place.path(),
            WatchOptions::default(),
            Arc::clone(&queue),
            Pool::for_machine("test"),
            &CancelToken::never(),
        )
        .unwrap()
    };
    let (mut one, mut other, mut closed) = (open(), open(), open());
    let closer = closed.closer();
    std::thread::scope(|threads| {
        let ended = threads.spawn(move || while closed.wait().unwrap().is_some() {});
        let waiting = threads.spawn(move || {
            let mut files = 0;
            while files < 50 {
                files +=
                    other.wait().unwrap().unwrap().iter().filter(|change| change.kind == ChangeKind::Created).count();
            }
        });
        let mut files = 0;
        for number in 0..50 {
            fs::write(place.path().join(number.to_string()), "x").unwrap();
            // This watcher also reads the events that were queued for the others.
            files += one.poll().iter().filter(|change| change.kind == ChangeKind::Created).count();
        }
        assert_eq!(files, 50);
        waiting.join().unwrap();
        closer.close();
        ended.join().unwrap();
    });
}

#[test]
fn reports_names_that_are_not_utf8_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let mut watcher = open(place.path(), WatchOptions::default());
    fs::write(place.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
    assert_eq!(watcher.poll()[0].path, b"caf\xe9");
}
