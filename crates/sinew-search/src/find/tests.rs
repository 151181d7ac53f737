use super::*;
use sinew_base::{CancelHandle, ErrorCode};

fn tree(files: &[&str]) -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for file in files {
        let file = tree.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    tree
}

fn run(options: &FindOptions) -> FindResult {
    fuzzy_find(options, &ScanCache::default(), &Pool::new("test", 2), &CancelToken::never()).unwrap()
}

fn paths(result: &FindResult) -> Vec<&str> {
    result.matches.iter().map(|found| found.path.as_str()).collect()
}

#[test]
fn returns_the_best_matches_and_counts_all() {
    let tree = tree(&["src/main.rs", "src/domain.rs", "docs/main/readme.md", "m/a/i/n.txt", "other.rs"]);
    let options = FindOptions::new(tree.path(), "main");
    let result = run(&options);
    assert_eq!(paths(&result), ["docs/main", "src/main.rs", "src/domain.rs", "docs/main/readme.md", "m/a/i/n.txt"]);
    assert_eq!(result.total_matches, 6 - 1);
    assert!(result.matches[0].is_directory && !result.matches[1].is_directory);
    assert_eq!(result.matches[1].positions, [4, 5, 6, 7]);
    let first = run(&FindOptions { max_results: 1, ..options.clone() });
    assert_eq!((paths(&first), first.total_matches), (vec!["docs/main"], 5));
    let none = run(&FindOptions { max_results: 0, ..options });
    assert_eq!((none.matches.len(), none.total_matches), (0, 5));
}

/// Creates the files of a small application: many names begin or end with the words of the queries below.
fn application() -> tempfile::TempDir {
    let mut files = Vec::new();
    for folder in ["src", "src/View", "src/views/list", "lib/index", "lib/index.d", "docs", "View.d"] {
        for name in
            ["View.", "View.ts", "view", "index.", "index.js", "index-of.js", "my view.ts", "MyView", "a.View.b"]
        {
            files.push(format!("{folder}/{name}"));
        }
    }
    tree(&files.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_limit_returns_the_first_of_all_matches() {
    let tree = application();
    let queries = [
        "View.",
        "index.",
        "view",
        "view.ts",
        "src/View",
        "View/",
        "_index",
        "my view",
        "my view.ts",
        "vw",
        "a.v",
        ".",
    ];
    for query in queries {
        let all = run(&FindOptions { max_results: usize::MAX, ..FindOptions::new(tree.path(), query) });
        for most in 0..=all.matches.len() {
            let head = run(&FindOptions { max_results: most, ..FindOptions::new(tree.path(), query) });
            assert_eq!(paths(&head), paths(&all)[..most], "{query:?} {most}");
            assert_eq!(head.total_matches, all.total_matches, "{query:?} {most}");
        }
    }
}

#[test]
fn finds_a_name_with_blanks() {
    let tree =
        tree(&["my file.txt", "my/file.txt", "my file.txt.d/file.txt", "a/my file.txt", "my  file.txt", "file.txt my"]);
    for (query, first) in [
        ("my file.txt", "my file.txt"),
        (" my file.txt ", "my file.txt"),
        ("a/my file.txt", "a/my file.txt"),
        ("my  file.txt", "my  file.txt"),
        ("my file", "my file.txt"),
    ] {
        assert_eq!(paths(&run(&FindOptions::new(tree.path(), query)))[0], first, "{query:?}");
    }
}

#[test]
fn an_empty_query_lists_everything_in_path_order() {
    let tree = tree(&["b", "a/c", ".h"]);
    for query in ["", "  "] {
        let result = run(&FindOptions::new(tree.path(), query));
        assert_eq!(paths(&result), ["a", "a/c", "b"]);
        assert_eq!(result.total_matches, 3);
    }
}

#[test]
fn ranks_tracked_before_ignored_before_hidden_entries() {
    let tree = tree(&[".git/config", ".config.ts", "config.ts", "dist/config.ts"]);
    std::fs::write(tree.path().join(".gitignore"), "dist\n").unwrap();
    let options = FindOptions { hidden: true, gitignore: false, ..FindOptions::new(tree.path(), "config.ts") };
    assert_eq!(paths(&run(&options)), ["config.ts", "dist/config.ts", ".config.ts"]);
    assert_eq!(paths(&run(&FindOptions { hidden: false, gitignore: true, ..options })), ["config.ts"]);
}

#[test]
fn tolerates_a_typo_if_there_is_no_better_match() {
    let tree = tree(&["src/main.rs", "mxxixxaxxn"]);
    assert_eq!(paths(&run(&FindOptions::new(tree.path(), "mian"))), ["src/main.rs", "mxxixxaxxn"]);
    assert_eq!(paths(&run(&FindOptions::new(tree.path(), "mainn"))), ["src/main.rs"]);
    std::fs::write(tree.path().join("mian.txt"), "").unwrap();
    assert_eq!(paths(&run(&FindOptions::new(tree.path(), "mian")))[0], "mian.txt");
}

#[test]
fn a_capital_is_significant_unless_it_finds_nothing() {
    let tree = tree(&["README.md", "src/readme.rs"]);
    assert_eq!(paths(&run(&FindOptions::new(tree.path(), "README"))), ["README.md"]);
    assert_eq!(run(&FindOptions::new(tree.path(), "Readme")).total_matches, 2);
}

#[test]
#[cfg(unix)]
fn excludes_links() {
    let tree = tree(&["real.txt"]);
    std::os::unix::fs::symlink("real.txt", tree.path().join("real-link.txt")).unwrap();
    assert_eq!(paths(&run(&FindOptions::new(tree.path(), "real"))), ["real.txt"]);
    assert_eq!(paths(&run(&FindOptions::new(tree.path(), ""))), ["real.txt"]);
}

#[test]
fn the_ranking_does_not_depend_on_the_number_of_threads() {
    let tree = tempfile::tempdir().unwrap();
    for folder in 0..60 {
        let folder = tree.path().join(format!("group{folder}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..100 {
            std::fs::write(folder.join(format!("item-{file}.txt")), "").unwrap();
        }
    }
    let options = FindOptions { max_results: 50, ..FindOptions::new(tree.path(), "g7item9") };
    let find = |threads| {
        fuzzy_find(&options, &ScanCache::default(), &Pool::new("test", threads), &CancelToken::never()).unwrap()
    };
    let one = find(1);
    assert_eq!(one.matches.len(), 50);
    assert_eq!(one.matches[0].path, "group7/item-9.txt");
    for threads in 2..5 {
        assert_eq!(find(threads), one);
    }
}

#[test]
fn errors_and_cancelled_calls() {
    let tree = tree(&["a"]);
    let (cancel_handle, cancel) = CancelHandle::new();
    let (cache, pool) = (ScanCache::default(), Pool::new("test", 1));
    let gone = FindOptions::new(tree.path().join("none"), "a");
    let error = fuzzy_find(&gone, &cache, &pool, &cancel).unwrap_err();
    assert!(error.code() == ErrorCode::NotFound && error.message().starts_with("fuzzyFind: failed to read"), "{error}");
    cancel_handle.cancel();
    let error = fuzzy_find(&FindOptions::new(tree.path(), "a"), &cache, &pool, &cancel).unwrap_err();
    assert_eq!(error.message(), "Aborted: Signal");
}
