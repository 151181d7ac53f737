//! Tests that results are those of the plain search, no matter what happens to the index on disk.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::changes::Changes;
use crate::pair::Pair;
use crate::tree::{Dice, seeds};
use sinew_search::{WorkspaceOptions, Workspaces};

fn cached(cache: &Path) -> WorkspaceOptions {
    WorkspaceOptions { cache: Some(cache.to_path_buf()), ..WorkspaceOptions::default() }
}

/// Returns every file below a directory.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path) } else { vec![path] }
        })
        .collect();
    all.sort();
    all
}

/// Flips a bit of a file, truncates it or deletes it.
fn damage(cache: &Path, dice: &mut Dice) {
    let files = files(cache);
    if files.is_empty() {
        return;
    }
    let file = &files[dice.below(files.len())];
    let mut bytes = fs::read(file).unwrap();
    match dice.below(3) {
        0 => fs::remove_file(file).unwrap(),
        _ if bytes.is_empty() => {}
        1 => {
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
            fs::write(file, bytes).unwrap();
        }
        _ => fs::write(file, &bytes[..dice.below(bytes.len())]).unwrap(),
    }
}

#[test]
fn survives_reopening_damage_sharing_and_deletion() {
    for seed in 400..402 {
        let mut dice = Dice::new(seed);
        let mut changes = Changes::new(false);
        // In memory if possible, because each build waits for the disk several times.
        let cache = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let open = || Pair::new(&changes_root(cache.path()), &cache.path().join("global"), cached(cache.path()));
        symlink(changes.root(), changes_root(cache.path())).unwrap();
        let mut pairs = [Some(open()), Some(open())];
        for step in 0..24 {
            let one = dice.below(2);
            let action = dice.below(12);
            // Closes one workspace, so that it does not see the following change.
            if action < 4 {
                pairs[one] = None;
            }
            let story = format!("seed {seed}, step {step}: {}", changes.step(&mut dice));
            match action {
                0..4 => pairs[one] = Some(open()),
                4..10 => pairs[one].iter().for_each(Pair::build),
                10 => damage(&cache.path().join("index"), &mut dice),
                _ => drop(fs::remove_dir_all(cache.path().join("index"))),
            }
            pairs.iter().flatten().for_each(|pair| pair.ask(&changes_root(cache.path()), &mut dice, &story));
        }
    }
}

/// A change of the root, and the files that contain a needle afterwards.
type Step = (fn(&Path), &'static [&'static str]);

#[test]
fn sees_changes_made_while_no_workspace_was_open() {
    let (place, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = place.path().join("root");
    fs::create_dir_all(root.join("a/b")).unwrap();
    for file in ["one", "a/two", "a/b/three", "four"] {
        fs::write(root.join(file), "hay\n").unwrap();
    }
    let open = || Pair::new(&root, &place.path().join("global"), cached(cache.path()));
    let changes: [Step; 4] = [
        (|root| fs::write(root.join("a/two"), "needle").unwrap(), &["a/two"]),
        (|root| fs::rename(root.join("a/two"), root.join("one")).unwrap(), &["one"]),
        (|root| fs::write(root.join("a/b/three"), "needle").unwrap(), &["a/b/three", "one"]),
        (|root| fs::write(root.join(".ignore"), "one").unwrap(), &["a/b/three"]),
    ];
    for (change, expect) in changes {
        let pair = open();
        pair.build();
        assert!(pair.workspace.status().index.writer);
        drop(pair);
        change(&root);
        assert_eq!(open().files("needle", "reopened"), expect);
    }
}

fn changes_root(place: &Path) -> PathBuf {
    place.join("root")
}

/// Returns this crate's sources: nobody changes them, and they are old enough for their stamps to be settled.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn the_next_process_reuses_the_stored_index() {
    let cache = tempfile::tempdir().unwrap();
    let global = cache.path().join("global");
    let first = Pair::new(&sources(), &global, cached(cache.path()));
    first.build();
    let built = first.workspace.status().index;
    assert!(built.persisted && built.writer && built.files > 5, "{built:?}");
    let second = Pair::new(&sources(), &global, cached(cache.path()));
    assert!(!second.files("StopOnPanic", "a second one").is_empty());
    let status = second.workspace.status();
    assert!(status.index.persisted && !status.index.writer, "one writes: {status:?}");
    assert_eq!((status.index.files, status.index.current), (built.files, built.files), "{status:?}");
    assert!(status.last.opened <= 2, "{status:?}");
    drop((first, second));
    let third = Pair::new(&sources(), &global, cached(cache.path()));
    assert!(third.files("no_such_name_in_the_sources", "nothing").is_empty());
    assert!(third.workspace.status().index.writer, "the lock went with its owner");
    drop(third);
    assert!(Workspaces::remove(cache.path(), &sources()).unwrap());
    assert!(!Workspaces::remove(cache.path(), &sources()).unwrap());
}

#[test]
fn stores_the_index_only_in_a_private_folder() {
    let cache = tempfile::tempdir().unwrap();
    let global = cache.path().join("global");
    let persisted = || {
        let pair = Pair::new(&sources(), &global, cached(cache.path()));
        pair.build();
        pair.files("StopOnPanic", "in an allowed folder or not");
        pair.workspace.status().index.persisted
    };
    assert!(persisted());
    let all = files(&cache.path().join("index"));
    for file in &all {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
    let folder = all[0].parent().unwrap();
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(!persisted(), "others may write to the folder");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(persisted());
    let moved = cache.path().join("moved");
    fs::rename(folder, &moved).unwrap();
    symlink(&moved, folder).unwrap();
    assert!(!persisted(), "the folder is a link");
}

#[test]
fn never_writes_secrets_to_the_cache() {
    let (place, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for path in [".env", "key.pem", "ignored/file", "node_modules/file", ".git/file"] {
        let file = place.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "qzjxvkq wvxzqjk").unwrap();
    }
    fs::write(place.path().join(".ignore"), "ignored\n").unwrap();
    fs::write(place.path().join("plain"), "other letters\n").unwrap();
    let pair = Pair::new(place.path(), &cache.path().join("global"), cached(cache.path()));
    pair.build();
    assert_eq!(pair.files("qzjxvkq", "secrets are searched"), [".env", "key.pem"]);
    let bytes: Vec<u8> = files(&cache.path().join("index")).iter().flat_map(|file| fs::read(file).unwrap()).collect();
    assert!(bytes.windows(5).any(|window| window == b"plain"), "the index is there");
    // Whole words, because three bytes may occur in any number.
    for secret in [&b"qzjxvkq"[..], b"wvxzqjk", b"ignored/", b"node_modules"] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{:?}", String::from_utf8_lossy(secret));
    }
}

const CHILD: &str = "SINEW_TEST_INDEX_CHILD";

/// Runs in the process that is killed; does nothing as a normal test.
#[test]
fn child_that_builds_until_it_is_killed() {
    let Some(place) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let pair = Pair::new(&place.join("root"), &place.join("global"), cached(&place.join("cache")));
    for round in 0..100_000 {
        for file in 0..4 {
            let path = place.join(format!("root/f{}", (round + file * 7) % 40));
            fs::write(path, format!("needle {round}\n").repeat(200)).unwrap();
        }
        pair.build();
        println!("built {round}");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn a_killed_build_leaves_an_index_that_opens() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("root")).unwrap();
    let mut dice = Dice::new(26);
    for round in seeds(0, 5) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "workspace_disk::child_that_builds_until_it_is_killed", "--nocapture"])
            .env(CHILD, place.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let builds = lines.filter(|line| line.starts_with("built")).take(1 + dice.below(12)).count();
        // Kills it at an arbitrary point of the next build.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(builds > 0);
        let cache = place.path().join("cache");
        let pair = Pair::new(&place.path().join("root"), &place.path().join("global"), cached(&cache));
        let story = format!("after kill {round}");
        pair.files("needle 1", &story);
        let status = pair.workspace.status().index;
        assert!(status.persisted && status.writer, "the locks of the killed process are free: {status:?}");
        fs::write(place.path().join("root/f0"), format!("needle {round} anew\n")).unwrap();
        pair.build();
        assert_eq!(pair.files(&format!("needle {round} anew"), &story), ["f0"]);
        let left: Vec<PathBuf> = files(&cache)
            .into_iter()
            .filter(|file| file.file_name().unwrap().to_string_lossy().contains("new-"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_reader_adopts_published_segments_and_becomes_the_writer() {
    let (place, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    for file in ["a", "b", "c"] {
        fs::write(root.join(file), "hay\n").unwrap();
    }
    let open = || Pair::new(&root, &place.path().join("global"), cached(cache.path()));
    let (first, second) = (open(), open());
    for pair in [&first, &second] {
        assert_eq!(pair.files("needle", "before"), Vec::<String>::new());
    }
    let status = |pair: &Pair| {
        let index = pair.workspace.status().index;
        (index.writer, index.segments > 0, index.memory, index.current)
    };
    assert_eq!((status(&first).0, status(&second).0), (true, false));
    if !first.workspace.status().index.persisted {
        // The temporary directory is on a file system whose locks are not trusted.
        return;
    }
    // Another process does not accept stamps that are not settled yet.
    for file in ["a", "b", "c"] {
        let file = fs::File::open(root.join(file)).unwrap();
        while !sinew_walk::Stamp::of_file(&file).unwrap().is_settled() {
            std::thread::yield_now();
        }
    }
    first.build();
    second.build();
    assert_eq!((status(&first), status(&second)), ((true, true, 0, 3), (false, true, 0, 3)), "taken, not read again");
    first.workspace.close();
    fs::write(root.join("d"), "a needle\n").unwrap();
    second.build();
    assert_eq!(status(&second), (true, true, 0, 4), "read by the one that writes now");
    assert_eq!(second.files("needle", "after"), ["d"]);
    let third = open();
    assert_eq!(third.files("needle", "of the second writer"), ["d"]);
    assert_eq!((status(&third).0, status(&third).2), (false, 0));
}

#[test]
fn noise_stays_within_the_disk_limit() {
    let (place, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    let mut dice = Dice::new(22);
    for file in 0..8 {
        let noise: Vec<u8> = (0..200 << 10).map(|_| b' ' + dice.below(95) as u8).collect();
        fs::write(root.join(format!("noise{file}")), noise).unwrap();
    }
    let pair = Pair::new(&root, &place.path().join("global"), cached(cache.path()));
    pair.build();
    let index = pair.workspace.status().index;
    assert!(index.full && index.files == 0, "{index:?}");
    let size: u64 = files(cache.path()).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    assert!(size < 64 << 10, "{size} bytes on disk");
    fs::write(root.join("noise3"), "a needle\n").unwrap();
    assert_eq!(pair.files("needle", "searched"), ["noise3"]);
}
