//! Tests that a glob only reads directories that can contain a match, and finds the same entries as a full scan.

use crate::tree::{Dice, Tree, seeds};
use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{GlobOptions, GlobResult, GrepOptions, glob, glob_so_far, grep};
use sinew_walk::ScanCache;

const NAMES: &[&str] =
    &["a", "b", "A", ".h", "src", "x.ts", "y.d.ts", "[id]", "*", "{a,b}", "ö", "!a", "a,b", "node_modules"];
const PARTS: &[&str] = &[
    "*",
    "**",
    "a",
    "A",
    "b",
    ".h",
    ".*",
    "src",
    "x.ts",
    "*.ts",
    "[id]",
    "\\[id\\]",
    "{a,b}",
    "{a,src/a}",
    "?",
    "ö",
    "!(a)",
    "@(a|b)",
    "+(a)",
    "node_modules",
    ".",
    "x*",
];

fn pattern(dice: &mut Dice) -> String {
    let one = |dice: &mut Dice| {
        let mut text = dice.pick(&["", "", "", "", "./", "!"]).to_string();
        text.push_str(&(0..=dice.below(3)).map(|_| dice.pick(PARTS)).collect::<Vec<_>>().join("/"));
        text + dice.pick(&["", "", "", "/"])
    };
    (0..=dice.below(3)).map(|_| one(dice)).collect::<Vec<_>>().join(",")
}

fn paths(result: &GlobResult) -> Vec<String> {
    result.matches().map(|found| found.path.into_owned()).collect()
}

#[test]
fn a_partial_scan_finds_the_same_entries_as_a_full_scan() {
    let (pool, never) = (Pool::new("test", 2), CancelToken::never());
    for seed in seeds(7_000, 60) {
        let mut dice = Dice::new(seed);
        let tree = Tree::new();
        for _ in 0..3 + dice.below(30) {
            let path: Vec<&str> = (0..1 + dice.below(4)).map(|_| dice.pick(NAMES)).collect();
            tree.try_file(&path.join("/"), "");
        }
        if dice.below(2) == 0 {
            tree.folder(".git");
            tree.try_file(".gitignore", dice.pick(&["src\n", "a/\n", "*.ts\n!x.ts\n", ".h\n!.h\n"]));
            tree.try_file("a/.ignore", dice.pick(&["*.ts\n", "b\n", "!x.ts\n"]));
        }
        for _ in 0..30 {
            let options = GlobOptions {
                recursive: dice.below(2) == 0,
                hidden: dice.below(2) == 0,
                gitignore: dice.below(2) == 0,
                max_depth: [None, None, Some(1), Some(2)][dice.below(4)],
                include_node_modules: dice.below(2) == 0,
                ..GlobOptions::new(tree.path(), pattern(&mut dice))
            };
            // With `cache`, the whole tree is scanned.
            let cached = GlobOptions { cache: true, ..options.clone() };
            let whole = glob(&cached, &ScanCache::default(), &pool, &never).map(|found| paths(&found));
            let part = glob(&options, &ScanCache::default(), &pool, &never).map(|found| paths(&found));
            let so_far = glob_so_far(&options, &ScanCache::default(), &pool, &never).map(|(found, _)| paths(&found));
            assert_eq!(part.as_ref().ok(), whole.as_ref().ok(), "seed {seed}: {options:?}");
            assert_eq!(so_far.ok(), whole.ok(), "seed {seed}: {options:?}");
        }
    }
}

#[test]
fn grep_with_globs_searches_the_same_files_as_with_a_full_scan() {
    let (pool, never) = (Pool::new("test", 2), CancelToken::never());
    for seed in seeds(8_000, 30) {
        let mut dice = Dice::new(seed);
        let tree = Tree::new();
        for _ in 0..3 + dice.below(30) {
            let path: Vec<&str> = (0..1 + dice.below(4)).map(|_| dice.pick(NAMES)).collect();
            tree.try_file(&path.join("/"), "x");
        }
        for _ in 0..20 {
            let options = GrepOptions {
                glob: Some(pattern(&mut dice).into()),
                hidden: dice.below(2) == 0,
                ..GrepOptions::new("x", tree.path())
            };
            let run = |options: &GrepOptions| {
                let found = grep(options, &ScanCache::default(), &pool, &never, None);
                found.ok().map(|found| (found.total_matches, found.files_searched))
            };
            let whole = run(&GrepOptions { cache: true, ..options.clone() });
            assert_eq!(run(&options), whole, "seed {seed}: {options:?}");
            assert_eq!(
                run(&GrepOptions { max_count: Some(1_000), ..options.clone() }),
                whole,
                "seed {seed}: {options:?}"
            );
        }
    }
}

#[test]
fn reads_only_directories_that_can_match() {
    let tree = Tree::new();
    for folder in ["", "src/", "src/deep/", "pk/", "pk/deep/", "docs/", "docs/a/b/c/", ".hidden/"] {
        for name in ["a.ts", "b.ts", "package.json"] {
            tree.file(&format!("{folder}{name}"), "");
        }
    }
    // `most` is the maximum number of scanned entries, including directories.
    for (pattern, recursive, matches, most) in [
        ("src/*.ts", true, 2, 3),
        ("src/a.ts", true, 1, 2),
        ("src/none.ts", true, 0, 1),
        ("none/*.ts", true, 0, 0),
        ("{src,pk}/**", true, 14, 16),
        ("package.json", false, 1, 1),
        ("*.ts", false, 2, 2),
        ("./a.ts", true, 1, 1),
        ("src/*/a.ts", true, 1, 3),
        ("*/a.ts", true, 3, 6),
        ("src/**/a.ts", true, 2, 8),
        ("src/a.ts,pk/deep/b.ts", true, 2, 5),
        (".hidden/*.ts", true, 2, 3),
        ("{src/a.ts", true, 1, 2),
    ] {
        let options = GlobOptions { recursive, ..GlobOptions::new(tree.path(), pattern) };
        let found = glob(&options, &ScanCache::default(), &Pool::new("test", 1), &CancelToken::never()).unwrap();
        assert_eq!(found.rows.len(), matches, "{pattern}: {:?}", paths(&found));
        assert!(found.scan.len() <= most, "{pattern}: {} entries", found.scan.len());
    }
}
