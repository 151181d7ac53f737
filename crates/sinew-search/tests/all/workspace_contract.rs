//! Properties of workspaces that the random comparison does not cover: options, limits, formats and extreme trees.

use std::fs;
use std::path::Path;

use crate::pair::Pair;
use crate::{is_alone, tree};
use sinew_base::CancelToken;
use sinew_search::{GrepOptions, Mode, WorkspaceOptions, Workspaces};

/// Creates and indexes a tree of texts, some of them large, with the index in a directory next to it.
fn indexed(place: &Path) -> Pair {
    let root = place.join("root");
    fs::create_dir_all(root.join("ignored")).unwrap();
    fs::write(root.join(".ignore"), "ignored\n").unwrap();
    fs::write(root.join("ignored/a"), "needle\n").unwrap();
    for file in 0..30 {
        let text =
            format!("hay {file}\nNeedle one\r\nneedle two needle\nhay\n{}", "filler of a line\n".repeat(file * 400));
        fs::write(root.join(format!("f{file:02}")), if file % 3 == 0 { text } else { text.replace("eedle", "o") })
            .unwrap();
    }
    fs::write(root.join("late"), "filler of a line\n".repeat(20_000) + "a needle at the end\n").unwrap();
    let zero = [b"filler\n".repeat(10_000), b"\0\nneedle behind a zero\n".to_vec()].concat();
    fs::write(root.join("zero"), zero).unwrap();
    let pair = Pair::new(
        &root,
        &place.join("global"),
        WorkspaceOptions { cache: Some(place.join("cache")), ..WorkspaceOptions::default() },
    );
    pair.build();
    pair
}

#[test]
fn indexes_whole_files_and_returns_current_rows() {
    let place = tempfile::tempdir().unwrap();
    let pair = indexed(place.path());
    let found = pair.files("needle", "matches behind 64 KiB, and what the engine makes of a zero there");
    assert_eq!(found.last().unwrap(), "late");
    // The index knows the old file; the search finds the current content.
    fs::write(place.path().join("root/late"), "another needle\n").unwrap();
    pair.grep(&GrepOptions::new("needle", ""), "written since");
}

#[test]
fn walks_and_reports_why_the_index_was_not_used() {
    let place = tempfile::tempdir().unwrap();
    let pair = indexed(place.path());
    let why = |options: GrepOptions| {
        pair.grep(&options, "not served");
        pair.workspace.status().last.why
    };
    assert_eq!(why(GrepOptions::new("needle", "")), None);
    let walked = Some("the index does not contain these files");
    assert_eq!(why(GrepOptions { gitignore: false, ..GrepOptions::new("needle", "") }), walked);
    assert_eq!(why(GrepOptions::new("needle", "ignored")), walked);
    assert_eq!(why(GrepOptions::new("needle", "late")), Some("the path is a file"));
}

#[test]
fn every_limit_mode_and_flag_matches_the_plain_search() {
    let place = tempfile::tempdir().unwrap();
    let pair = indexed(place.path());
    for mode in [Mode::Content, Mode::FilesWithMatches, Mode::Count] {
        for (max_count, offset) in
            [(None, 0), (None, 3), (Some(0), 0), (Some(1), 0), (Some(2), 1), (Some(5), 7), (Some(90), 0), (Some(3), 90)]
        {
            pair.grep(&GrepOptions { mode, max_count, offset, ..GrepOptions::new("needle", "") }, "limits");
        }
        for flags in 0..32_u32 {
            let is = |flag: u32| flags & 1 << flag != 0;
            let options = GrepOptions {
                mode,
                ignore_case: is(0),
                literal: is(1),
                multiline: is(2),
                max_count_per_file: is(3).then_some(1),
                max_columns: is(4).then_some(8),
                context: (flags % 5 == 0).then_some(1),
                ..GrepOptions::new("needle|one$", "")
            };
            pair.grep(&options, "flags");
            pair.grep(&GrepOptions { pattern: "one\\s+needle".into(), ..options }, "over two lines");
        }
    }
}

#[test]
fn maps_no_files_and_starts_no_programs() {
    // Other tests start programs.
    if !is_alone("workspace_contract::maps_no_files_and_starts_no_programs") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let pair = indexed(place.path());
    pair.files("needle", "the index is read");
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains(&*place.path().canonicalize().unwrap().to_string_lossy()), "{maps}");
    for thread in fs::read_dir("/proc/self/task").unwrap() {
        let children = fs::read_to_string(thread.unwrap().path().join("children")).unwrap_or_default();
        assert_eq!(children, "");
    }
    fs::remove_dir_all(place.path().join("cache")).unwrap();
    pair.files("needle", "the folder of the index is gone");
}

#[test]
fn falls_back_to_memory_when_the_cache_is_unusable() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "a needle\n").unwrap();
    fs::write(place.path().join("file"), "in the way").unwrap();
    for cache in [place.path().join("file"), "/proc/self".into(), place.path().join("x".repeat(300))] {
        let options = WorkspaceOptions { cache: Some(cache.clone()), ..WorkspaceOptions::default() };
        let pair = Pair::new(&root, &place.path().join("global"), options);
        pair.build();
        let status = pair.workspace.status().index;
        assert!(!status.persisted && status.files == 1 && status.memory > 0, "{cache:?}: {status:?}");
        pair.files("needle", "in memory");
    }
    let names = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names.len(), 2, "nothing half-written stays: {names:?}");
}

#[test]
fn leaves_an_index_of_another_format_untouched() {
    let place = tempfile::tempdir().unwrap();
    let other = place.path().join("cache/index/2/root-0");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("manifest"), "of another version").unwrap();
    let pair = indexed(place.path());
    pair.files("needle", "beside it");
    let root = pair.workspace.root().to_path_buf();
    pair.workspace.close();
    assert!(Workspaces::remove(&place.path().join("cache"), &root).unwrap());
    assert_eq!(Workspaces::stored(&place.path().join("cache")), []);
    assert_eq!(fs::read_to_string(other.join("manifest")).unwrap(), "of another version");
}

#[test]
fn finds_matches_among_empty_files_and_in_one_long_line() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    for folder in 0..20 {
        fs::create_dir_all(root.join(format!("d{folder}"))).unwrap();
        (0..100).for_each(|file| fs::write(root.join(format!("d{folder}/f{file}")), "").unwrap());
    }
    let line = "one long line ".repeat(300_000) + "needle";
    fs::write(root.join("long"), line).unwrap();
    let pair = Pair::new(&root, &place.path().join("global"), WorkspaceOptions::default());
    let ask = |story| {
        assert_eq!(pair.files("needle", story), ["long"]);
        assert_eq!(pair.files("line needle", story), ["long"]);
        pair.grep(&GrepOptions { mode: Mode::Count, ..GrepOptions::new("", "") }, story);
        pair.workspace.refresh(&pair.pool, &CancelToken::never()).unwrap();
    };
    ask("before it is built");
    pair.build();
    ask("built");
}

/// Creates `levels` nested directories with a file in the last one; its path is longer than the system allows.
fn nest(root: &Path, levels: usize) {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, root, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = openat(&folder, "d", flags, Mode::empty()).unwrap();
    }
    let file = openat(&folder, "deep", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR | Mode::WUSR).unwrap();
    rustix::io::write(&file, b"a needle in the depth\n").unwrap();
}

/// Removes the directories of [`nest`] without opening all levels at once.
fn unnest(root: &Path) {
    let (first, second, aside) = (root.join("d"), root.join("d/d"), root.join("aside"));
    while fs::rename(&second, &aside).is_ok() {
        fs::remove_dir(&first).unwrap();
        fs::rename(&aside, &first).unwrap();
    }
}

/// With `SINEW_WHOLE_SIZES` set, the tree is as large as the documented limits: needs some minutes and 2 GB of disk.
#[test]
fn finds_every_match_in_extreme_trees_and_contents() {
    let size = |whole: usize, part: usize| if std::env::var_os("SINEW_WHOLE_SIZES").is_some() { whole } else { part };
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    for folder in 0..size(100, 2) {
        fs::create_dir_all(root.join(format!("empty/{folder}"))).unwrap();
        (0..1_000).for_each(|file| fs::write(root.join(format!("empty/{folder}/{file}")), "").unwrap());
    }
    fs::create_dir(root.join("names")).unwrap();
    (0..size(1_000_000, 3_000)).for_each(|name| fs::write(root.join(format!("names/n{name}")), "").unwrap());
    fs::write(root.join("names/n77"), "a needle among names\n").unwrap();
    nest(&root, size(10_000, 3_000));
    let mut dice = tree::Dice::new(12);
    let mut noise: Vec<u8> = (0..1 << 20).map(|_| u8::try_from(1 + dice.below(255)).unwrap()).collect();
    noise = noise.repeat(size(1 << 30, 4 << 20) >> 20);
    noise.extend(b"\na needle behind noise\n");
    fs::write(root.join("noise"), noise).unwrap();
    fs::write(root.join("line"), "one long line ".repeat(size(300_000_000, 3_000_000) / 14) + "needle").unwrap();

    let pair = Pair::new(&root, &place.path().join("global"), WorkspaceOptions::default());
    for story in ["before it is built", "built"] {
        let found = pair.files("needle", story);
        let (deep, rest) = found.split_first().unwrap();
        assert!(deep.ends_with("/d/deep"), "{story}: {} bytes", deep.len());
        assert_eq!(rest, ["line", "names/n77", "noise"], "{story}");
        assert_eq!(pair.files("zq_not_there", story), [""; 0]);
        pair.build();
    }
    fs::write(root.join("names/n78"), "a needle, too\n").unwrap();
    assert_eq!(pair.files("needle", "after a save").len(), 5);
    pair.workspace.close();
    unnest(&root);
}
