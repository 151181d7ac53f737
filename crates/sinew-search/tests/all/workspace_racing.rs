//! Tests calls while files change: each row shows content that its file had between the start and the end of the call.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pair::Pair;
use crate::tree::Dice;
use sinew_base::CancelToken;
use sinew_search::{GrepOptions, WorkspaceOptions};

/// The number of files that each writer changes.
const FILES: usize = 12;
/// The number of changes that each writer makes.
const WRITES: usize = 250;

/// The last version of a file whose writing has begun, and the last one that is written.
#[derive(Default)]
struct Versions {
    begun: AtomicUsize,
    written: AtomicUsize,
}

fn name(file: usize) -> String {
    // Each directory contains files of both kinds.
    format!("busy/{}/f{file}", file / 2 % 3)
}

/// Writes one version after another: replaces files with even numbers by a rename, and writes odd ones in place.
fn write(root: &Path, writer: usize, files: &[Versions]) {
    let mut dice = Dice::new(writer as u64);
    for _ in 0..WRITES {
        let file = writer * FILES + dice.below(FILES);
        let version = files[file].begun.load(Ordering::SeqCst) + 1;
        files[file].begun.store(version, Ordering::SeqCst);
        let (path, text) = (root.join(name(file)), format!("needle {version}\n"));
        if file.is_multiple_of(2) {
            let beside = root.join(format!("busy/beside{writer}"));
            fs::write(&beside, &text).unwrap();
            fs::rename(&beside, &path).unwrap();
        } else {
            fs::write(&path, &text).unwrap();
        }
        files[file].written.store(version, Ordering::SeqCst);
        if dice.below(8) == 0 {
            // Creates and removes directories and ignore rules that do not affect these files.
            let folder = root.join(format!("other{writer}"));
            fs::create_dir_all(folder.join("a/b")).unwrap();
            fs::write(folder.join("a/.ignore"), format!("x{version}\n")).unwrap();
            fs::remove_dir_all(&folder).unwrap();
        }
    }
}

/// Decrements the number of writers when dropped, even if the writer panics, so that nobody waits for it.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Searches once and checks every row.
fn ask(pair: &Pair, files: &[Versions], stable: &[String]) {
    let written: Vec<usize> = files.iter().map(|file| file.written.load(Ordering::SeqCst)).collect();
    let options = GrepOptions::new("needle", "");
    let result = pair.workspace.grep(&options, &pair.pool, &CancelToken::never(), None).unwrap();
    let begun: Vec<usize> = files.iter().map(|file| file.begun.load(Ordering::SeqCst)).collect();
    let rows: Vec<(&str, &str)> = result.rows().map(|row| (row.path, row.line)).collect();
    assert!(rows.is_sorted(), "rows come in path order");
    let unchanged: Vec<&str> = rows.iter().map(|row| row.0).filter(|path| path.starts_with("stable")).collect();
    assert_eq!(unchanged, stable, "unchanged files keep their rows");
    for (file, (written, begun)) in written.into_iter().zip(begun).enumerate() {
        let found: Vec<usize> = rows
            .iter()
            .filter(|row| row.0 == name(file))
            .map(|row| row.1.strip_prefix("needle ").unwrap().parse().unwrap())
            .collect();
        let story = format!("{} {found:?}, {written} to {begun}", name(file));
        assert!(found.iter().all(|version| (written..=begun).contains(version)), "{story}");
        // A file that is written in place is empty for a moment.
        let may_miss = written < begun && !file.is_multiple_of(2);
        assert!(found.len() == 1 || (may_miss && found.is_empty()), "{story}");
    }
}

fn race(options: WorkspaceOptions) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    let mut stable: Vec<String> = (0..40).map(|file| format!("stable/{}/f{file}", file % 5)).collect();
    stable.sort();
    let files: Vec<Versions> = (0..2 * FILES).map(|_| Versions::default()).collect();
    let busy = (0..files.len()).map(name);
    for (path, text) in
        stable.iter().map(|path| (path.clone(), "needle\n")).chain(busy.map(|path| (path, "needle 0\n")))
    {
        fs::create_dir_all(root.join(&path).parent().unwrap()).unwrap();
        fs::write(root.join(&path), text).unwrap();
    }
    let pair = Pair::new(&root, &place.path().join("global"), options);
    let writers = AtomicUsize::new(2);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (root, files, writers) = (&root, &files, &writers);
            scope.spawn(move || {
                let _done = Done(writers);
                write(root, writer, files);
            });
        }
        scope.spawn(|| {
            while writers.load(Ordering::SeqCst) > 0 {
                pair.build();
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while writers.load(Ordering::SeqCst) > 0 {
                    ask(&pair, &files, &stable);
                }
            });
        }
    });
    ask(&pair, &files, &stable);
    pair.files("needle", "after the race");
    pair.build();
    ask(&pair, &files, &stable);
}

#[test]
fn rows_reflect_the_time_of_the_call() {
    race(WorkspaceOptions::default());
}

#[test]
fn rows_reflect_the_time_of_the_call_in_a_swept_tree() {
    race(WorkspaceOptions { sweep: true, ..WorkspaceOptions::default() });
}
