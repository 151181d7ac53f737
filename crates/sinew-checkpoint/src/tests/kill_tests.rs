//! Tests that a process that is killed at any point leaves every entry either old or new, and that the next one
//! continues.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Project, Random, Tree, difference, restore, span, take, tree};
use crate::Limits;

/// Covers every way of restoring an entry, with few entries each.
const SETUP: &str = "mkdir -p s/dir/deep ro gone/below x; for i in 1 2; do echo a$i > s/dir/a$i; done; echo d > s/dir/deep/d; \
    echo f > s/file; echo r > ro/r; chmod 555 ro; echo g > gone/below/g; chmod 500 gone; echo m > m; echo k > k; ln k k2; ln -s m l; echo small > grown";
const WORK: &str = "rm -r s/dir; echo swapped > s/dir; rm s/file; mkdir s/file; echo y > s/file/y; chmod 755 ro gone; rm ro/r; echo n > ro/n; \
    chmod 555 ro; rm -r gone; echo new > m; echo new > made; chmod 600 x; rm k2; rm l; ln -s k l; mkdir -p deep/er; echo e > deep/er/e; \
    head -c 3000 /dev/zero > large; \
    head -c 2000 /dev/zero > grown";

fn child(project: &Project, action: &str, id: &str, spans: &str, point: u64) -> bool {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::child_tests::does_what_the_environment_names"])
        .env("SINEW_TEST_ACTION", action)
        .env("SINEW_TEST_ROOT", project.root())
        .env("SINEW_TEST_STORE", project.store())
        .env("SINEW_TEST_RESTORE", id)
        .env("SINEW_TEST_SPANS", spans)
        .env("SINEW_TEST_FAULT", point.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

/// Checks that files are old or new; directories may have other permissions during a restore.
fn assert_old_or_new(now: &Tree, old: &Tree, new: &Tree, point: u64) {
    let is_temporary = |path: &[u8]| path.starts_with(b".sinew-restore-");
    for (path, text) in now.iter().filter(|(path, text)| !is_temporary(path) && !text.starts_with("directory")) {
        // The first path of a file changes while other paths are missing.
        let content = |text: &String| text.split(" of ").next().map(str::to_string);
        let known = [old.get(path), new.get(path)].into_iter().flatten().any(|known| content(known) == content(text));
        assert!(known, "point {point}: {}: {text}", String::from_utf8_lossy(path));
    }
}

#[test]
fn a_restore_can_be_killed_at_any_point_and_repeated() {
    let mut point = 0;
    loop {
        point += 1;
        let project = Project::with_limits(Limits { file: 1_000, ..Limits::default() });
        project.run(SETUP);
        let before = project.tree();
        let checkpoints = project.open();
        let start = take(&checkpoints);
        project.run(WORK);
        let later = project.tree();
        let end = take(&checkpoints);
        drop(checkpoints);
        let finished = child(&project, "restore", &start, &format!("{start},{end}"), point);
        assert_old_or_new(&project.tree(), &before, &later, point);
        let checkpoints = project.open();
        let is_temporary = |path: &Vec<u8>| path.starts_with(b".sinew-restore-");
        assert!(!project.tree().keys().any(is_temporary), "point {point}: the open cleans up");
        let again = restore(&checkpoints, &start, &span(&start, &end));
        assert_eq!(again.done, again.planned, "point {point}: {:?}", again.plan);
        assert_eq!(difference(&before, &project.tree()), [""; 0], "point {point}");
        let store = project.store().read_dir().unwrap().next().unwrap().unwrap().path();
        assert_eq!(store.join("temporary").read_dir().unwrap().count(), 0, "point {point}");
        let mut moved: Vec<u64> =
            store.join("moved").read_dir().unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
        moved.sort_unstable();
        assert_eq!(moved, [2_000, 3_000], "point {point}: what is too large to copy is in the store");
        if finished {
            break;
        }
    }
    assert!(point > 30, "only {point} points were reached");
}

#[test]
fn a_take_can_be_killed_at_any_point() {
    for point in 1.. {
        let project = Project::new();
        project.run(SETUP);
        let before = project.tree();
        let checkpoints = project.open();
        let start = take(&checkpoints);
        project.run(WORK);
        let finished = child(&project, "take", "", "", point);
        assert!(!take(&project.open()).is_empty(), "point {point}: the lock is free");
        restore(&project.open(), &start, &Default::default());
        assert_eq!(difference(&before, &project.tree()), [""; 0], "point {point}");
        if finished {
            assert!(point > 3, "only {point} points were reached");
            break;
        }
    }
}

#[test]
fn a_collection_can_be_killed_at_any_point() {
    for point in 1.. {
        let project = Project::with_limits(Limits { directory: 4_000, ..Limits::default() });
        let checkpoints = project.open();
        for round in 0..6 {
            project.run(&format!("head -c 1500 /dev/urandom > a; head -c 1500 /dev/urandom > b{round}"));
            // The new checkpoint exceeds the limit, so that the collection in the child process removes something.
            let options = crate::OpenOptions { store: project.store(), ..Default::default() };
            take(&crate::Checkpoints::open(&project.root(), &options).unwrap());
        }
        drop(checkpoints);
        let finished = child(&project, "gc", "", "", point);
        let checkpoints = project.open();
        let list = checkpoints.list().unwrap();
        let newest = &list.last().unwrap().id;
        for checkpoint in &list {
            checkpoints.changes(&checkpoint.id, newest, &sinew_base::CancelToken::never()).unwrap();
        }
        let tree_then = tree(&project.root());
        project.run("rm -r *");
        restore(&checkpoints, newest, &Default::default());
        assert_eq!(difference(&tree_then, &project.tree()), [""; 0], "point {point}");
        if finished {
            assert!(point > 3, "only {point} points were reached");
            break;
        }
    }
}

#[test]
fn a_killed_restore_never_loses_a_repository() {
    for point in 1.. {
        let project = Project::new();
        project.run("echo 1 > a");
        let before = project.tree();
        let checkpoints = project.open();
        let start = take(&checkpoints);
        project.run("mkdir lib; cd lib; git init -q; echo 1 > b; git add b; git commit -qm 1; echo 2 >> ../a");
        let end = take(&checkpoints);
        drop(checkpoints);
        let finished = child(&project, "restore", &start, &format!("{start},{end}"), point);
        let checkpoints = project.open();
        restore(&checkpoints, &start, &span(&start, &end));
        assert_eq!(difference(&before, &project.tree()), [""; 0], "point {point}");
        let list = checkpoints.list().unwrap();
        for redo in list.iter().rev().filter(|checkpoint| checkpoint.kind == crate::CheckpointKind::Redo) {
            restore(&checkpoints, &redo.id, &Default::default());
        }
        project.run("git -C lib fsck --strict; [ -z \"$(git -C lib status --porcelain)\" ]; [ $(cat lib/b) = 1 ]");
        if finished {
            assert!(point > 5, "only {point} points were reached");
            break;
        }
    }
}

/// Returns how often a test repeats: `few`, or `many` if `npm run test:more` runs it.
pub(super) fn repetitions(few: usize, many: usize) -> usize {
    if std::env::var_os("SINEW_TEST_MORE").is_some() { many } else { few }
}

/// The actions that are killed, each with the number of points from which one is chosen.
const ACTIONS: [(&str, usize); 4] = [("take", 8), ("undo", 60), ("redo", 60), ("gc", 12)];

/// Changes random entries: contents, permissions, links, renames, and files that become directories or the reverse.
fn change(project: &Project, random: &mut Random, count: usize) {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
    for _ in 0..count {
        let mut path = project.root();
        for _ in 0..=random.below(3) {
            path.push(NAMES[random.below(NAMES.len())]);
        }
        let parent = path.parent().unwrap().to_path_buf();
        // A file where the directory should be is replaced.
        for folder in parent.ancestors().take_while(|folder| folder.starts_with(project.root())) {
            if folder.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                fs::remove_file(folder).unwrap();
            }
        }
        fs::create_dir_all(&parent).unwrap();
        let remove = |path: &PathBuf| match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
            Ok(_) => fs::remove_file(path).unwrap(),
            Err(_) => {}
        };
        match random.below(7) {
            0 => remove(&path),
            1 => {
                remove(&path);
                fs::create_dir(&path).unwrap();
            }
            2 => {
                remove(&path);
                symlink(NAMES[random.below(NAMES.len())], &path).unwrap();
            }
            3 => {
                let to = project.root().join(format!("moved{}", random.below(4)));
                if path.symlink_metadata().is_ok() {
                    remove(&to);
                    fs::rename(&path, to).unwrap();
                }
            }
            4 if path.is_file() && !path.is_symlink() => {
                let mode = [0o600, 0o644, 0o755][random.below(3)];
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            _ => {
                remove(&path);
                fs::write(&path, "text\n".repeat(random.below(40)) + &random.below(1_000_000).to_string()).unwrap();
            }
        }
    }
}

/// Kills one action on a random tree and repeats it. Returns whether the process was killed before it was done.
fn is_killed_and_recovers(seed: u64) -> bool {
    let mut random = Random(seed);
    let (action, points) = ACTIONS[random.below(ACTIONS.len())];
    let point = 1 + random.below(points) as u64;
    let place = format!("seed {seed}, {action}, point {point}");
    let limits = match action {
        "gc" => Limits::default(),
        _ => Limits { file: 1_000, ..Limits::default() },
    };
    let project = Project::with_limits(limits);
    change(&project, &mut random, 12);
    let before = project.tree();
    let checkpoints = project.open();
    let start = take(&checkpoints);
    change(&project, &mut random, 10);
    let later = project.tree();
    let end = take(&checkpoints);
    let spans = format!("{start},{end}");
    let finished = match action {
        "take" => {
            change(&project, &mut random, 4);
            let finished = child(&project, "take", "", "", point);
            assert!(!take(&project.open()).is_empty(), "{place}: the lock is free");
            restore(&project.open(), &start, &Default::default());
            assert_eq!(difference(&before, &project.tree()), [""; 0], "{place}");
            finished
        }
        "gc" => {
            for round in 0..4 {
                // Random bytes cannot be compressed, so that the store exceeds its limit.
                let bytes: Vec<u8> = (0..3_000).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
                fs::write(project.root().join("grown"), &bytes).unwrap();
                fs::write(project.root().join(format!("random{round}")), &bytes[..900]).unwrap();
                take(&checkpoints);
            }
            drop(checkpoints);
            let finished = child(&project, "gc", "", "", point);
            let (checkpoints, now) = (project.open(), project.tree());
            let list = checkpoints.list().unwrap();
            let newest = list.last().unwrap().id.clone();
            for checkpoint in &list {
                checkpoints.changes(&checkpoint.id, &newest, &sinew_base::CancelToken::never()).unwrap();
            }
            change(&project, &mut random, 10);
            restore(&checkpoints, &newest, &Default::default());
            assert_eq!(difference(&now, &project.tree()), [""; 0], "{place}");
            finished
        }
        _ => {
            let is_redo = action == "redo";
            let undone = is_redo.then(|| restore(&checkpoints, &start, &span(&start, &end)));
            let Some((id, spans, options)) = (match &undone {
                None => Some((start.clone(), &*spans, span(&start, &end))),
                Some(undone) => undone.redo.clone().map(|redo| (redo, "", Default::default())),
            }) else {
                return false;
            };
            drop(checkpoints);
            let finished = child(&project, "restore", &id, spans, point);
            assert_old_or_new(&project.tree(), &before, &later, point);
            let checkpoints = project.open();
            let is_temporary = |path: &Vec<u8>| path.starts_with(b".sinew-restore-");
            assert!(!project.tree().keys().any(is_temporary), "{place}: the open cleans up");
            let again = restore(&checkpoints, &id, &options);
            assert_eq!(again.done, again.planned, "{place}: {:?}", again.plan);
            let expect = if is_redo { &later } else { &before };
            assert_eq!(difference(expect, &project.tree()), [""; 0], "{place}");
            finished
        }
    };
    !finished
}

#[test]
fn actions_on_random_trees_can_be_killed_and_repeated() {
    let wanted = repetitions(40, 10_000);
    let (kills, seeds) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while kills.load(Ordering::Relaxed) < wanted {
                    let seed = seeds.fetch_add(1, Ordering::Relaxed);
                    assert!(seed < wanted * 10, "too few processes were killed before they were done");
                    kills.fetch_add(usize::from(is_killed_and_recovers(seed as u64)), Ordering::Relaxed);
                }
            });
        }
    });
}
