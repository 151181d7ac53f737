use super::*;
use sinew_base::{CancelHandle, ErrorCode};

const FILES: &[&str] = &[
    ".env",
    ".github/workflows/ci.yml",
    "README.md",
    "app/[id].tsx",
    "app/page.tsx",
    "build/out.js",
    "node_modules/dep/index.js",
    "src/a.ts",
    "src/deep/b.ts",
    "src/deep/c.test.ts",
];

fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    std::fs::create_dir(tree.path().join(".git")).unwrap();
    std::fs::write(tree.path().join(".gitignore"), "build/\n").unwrap();
    for file in FILES {
        let file = tree.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "12345").unwrap();
    }
    tree
}

fn run(options: &GlobOptions) -> Result<GlobResult> {
    glob(options, &ScanCache::default(), &Pool::new("test", 2), &CancelToken::never())
}

fn paths(result: &GlobResult) -> Vec<String> {
    result.matches().map(|found| found.path.into_owned()).collect()
}

#[track_caller]
fn check(pattern: &str, change: impl Fn(&mut GlobOptions), expect: &[&str]) {
    let tree = tree();
    let mut options = GlobOptions::new(tree.path(), pattern.replace("ROOT", &tree.path().to_string_lossy()));
    change(&mut options);
    assert_eq!(paths(&run(&options).unwrap_or_else(|error| panic!("{error}"))), expect, "{pattern:?}");
}

fn plain(_: &mut GlobOptions) {}

#[test]
fn matches_at_any_depth_unless_recursive_is_false() {
    check("*.ts", plain, &["src/a.ts", "src/deep/b.ts", "src/deep/c.test.ts"]);
    check("*", |options| options.recursive = false, &["README.md", "app", "src"]);
    check("src/*.ts", plain, &["src/a.ts"]);
    check("src/**/*.ts,!*.test.ts", plain, &["src/a.ts", "src/deep/b.ts"]);
    check("./src/*", plain, &["src/a.ts", "src/deep"]);
    check("*.{md,tsx", plain, &["README.md", "app/[id].tsx", "app/page.tsx"]);
}

#[test]
fn accepts_absolute_patterns_below_the_root() {
    check("ROOT/src/*.ts", plain, &["src/a.ts"]);
    check("ROOT/*.ts", plain, &[]);
    check("ROOT/src/*.ts,ROOT/app/page.tsx", plain, &["app/page.tsx", "src/a.ts"]);
    check("{ROOT/src,ROOT/app}/[a-p]*.{ts,tsx},!ROOT/src/a.ts", plain, &["app/page.tsx"]);
    check("ROOT/app/[id].tsx", plain, &["app/[id].tsx"]);
}

#[cfg(unix)]
#[test]
fn rejects_absolute_patterns_outside_the_root() {
    let tree = tree();
    let beside = tree.path().join("src");
    let root = tree.path().to_string_lossy();
    let list = format!("*.ts,{root}/README.md");
    for pattern in ["/no/such/*.ts", "/*.ts", &format!("{root}/*.md"), &format!("{root}/srcs/a.ts"), &list] {
        let error = run(&GlobOptions::new(&beside, pattern)).expect_err(pattern);
        assert_eq!(error.code(), sinew_base::ErrorCode::InvalidArgument, "{pattern}");
        assert!(error.message().contains("outside") && error.message().contains("glob: "), "{pattern}: {error}");
    }
    let odd = tree.path().join("a,{b}[c]");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("x.ts"), "").unwrap();
    let inside = GlobOptions::new(&odd, format!("{}/*.ts", odd.to_string_lossy()));
    assert_eq!(paths(&run(&inside).unwrap()), ["x.ts"]);
    let link = tree.path().join("link");
    std::os::unix::fs::symlink(&odd, &link).unwrap();
    for named in [&odd, &link] {
        let options = GlobOptions::new(&link, format!("{}/*.ts", named.to_string_lossy()));
        assert_eq!(paths(&run(&options).unwrap()), ["x.ts"]);
    }
}

#[test]
fn a_pattern_that_equals_a_name_matches_literally() {
    check("[id].tsx", plain, &["app/[id].tsx"]);
    check("app/[id].tsx", plain, &["app/[id].tsx"]);
    let tree = tree();
    std::fs::write(tree.path().join("odd["), "").unwrap();
    std::fs::write(tree.path().join("!not"), "").unwrap();
    assert_eq!(paths(&run(&GlobOptions::new(tree.path(), "odd[")).unwrap()), ["odd["]);
    assert_eq!(paths(&run(&GlobOptions::new(tree.path(), "!not")).unwrap()), ["!not"]);
}

#[test]
fn braces_without_alternatives_are_literal() {
    let tree = tempfile::tempdir().unwrap();
    for name in ["{rule}", "rule", "{a}", "{b}", "a", "1", "2", "{}", "x{a}y", "xay", "f{1..}", "{a.ts", "a.ts"] {
        std::fs::write(tree.path().join(name), "").unwrap();
    }
    for (pattern, expect) in [
        ("{rule}", vec!["{rule}"]),
        ("{rul?}", vec!["{rule}"]),
        ("{{a,b}}", vec!["{a}", "{b}"]),
        ("{1..2}", vec!["1", "2"]),
        ("{}", vec!["{}"]),
        ("x{a}*", vec!["x{a}y"]),
        ("f{1..}", vec!["f{1..}"]),
        ("{{a},1}", vec!["1", "{a}"]),
        ("{a},1", vec!["1", "{a}"]),
        ("\\{rule\\}", vec!["{rule}"]),
        ("[{]rule}", vec!["{rule}"]),
    ] {
        if cfg!(windows) && pattern.contains('\\') {
            continue;
        }
        assert_eq!(paths(&run(&GlobOptions::new(tree.path(), pattern)).unwrap()), expect, "{pattern}");
    }
}

#[test]
fn lists_hidden_ignored_and_node_modules_entries_only_on_request() {
    check("**/*.yml", plain, &[]);
    check(".github/**/*.yml", plain, &[".github/workflows/ci.yml"]);
    check(".env", plain, &[".env"]);
    check("**/*.yml", |options| options.hidden = true, &[".github/workflows/ci.yml"]);
    check("*.js", plain, &[]);
    check("*.js", |options| options.gitignore = false, &["build/out.js"]);
    check("*.js", |options| options.include_node_modules = true, &["node_modules/dep/index.js"]);
    check("node_modules/*/index.js", plain, &["node_modules/dep/index.js"]);
    check("**/.git/**", |options| options.hidden = true, &[]);
}

#[test]
fn filters_by_type() {
    check("src/**", |options| options.file_type = Some(FileType::Dir), &["src/deep"]);
    check(
        "src/**",
        |options| options.file_type = Some(FileType::File),
        &["src/a.ts", "src/deep/b.ts", "src/deep/c.test.ts"],
    );
    check("**/deep/", plain, &["src/deep"]);
}

#[test]
#[cfg(unix)]
fn a_link_has_the_type_of_its_target() {
    let tree = tempfile::tempdir().unwrap();
    std::fs::create_dir(tree.path().join("dir")).unwrap();
    std::fs::write(tree.path().join("file"), "").unwrap();
    for (target, link) in [("dir", "to-dir"), ("file", "to-file"), ("none", "to-none")] {
        std::os::unix::fs::symlink(target, tree.path().join(link)).unwrap();
    }
    let of = |file_type| {
        let options = GlobOptions { file_type, ..GlobOptions::new(tree.path(), "*") };
        paths(&run(&options).unwrap())
    };
    assert_eq!(of(None), ["dir", "file", "to-dir", "to-file", "to-none"]);
    assert_eq!(of(Some(FileType::File)), ["file", "to-file"]);
    assert_eq!(of(Some(FileType::Dir)), ["dir", "to-dir"]);
    assert_eq!(of(Some(FileType::Symlink)), ["to-dir", "to-file", "to-none"]);
    assert_eq!(paths(&run(&GlobOptions::new(tree.path(), "*/")).unwrap()), ["dir", "to-dir"]);
    // A link is followed if it is the root.
    let options = GlobOptions::new(tree.path().join("to-dir"), "*");
    std::fs::write(tree.path().join("dir/inside"), "").unwrap();
    assert_eq!(paths(&run(&options).unwrap()), ["inside"]);
}

#[test]
fn sorts_by_time_before_applying_the_limit() {
    let tree = tempfile::tempdir().unwrap();
    let start = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for (name, age) in [("a", 3), ("b", 1), ("c", 2), ("d", 3)] {
        let file = std::fs::File::create(tree.path().join(name)).unwrap();
        file.set_modified(start - std::time::Duration::from_secs(age)).unwrap();
    }
    let mut options = GlobOptions { sort_by_mtime: true, max_results: Some(2), ..GlobOptions::new(tree.path(), "*") };
    let result = run(&options).unwrap();
    assert_eq!((paths(&result), result.total_matches, result.limit_reached), (vec!["b".into(), "c".into()], 4, true));
    let first = result.matches().next().unwrap();
    assert_eq!((first.mtime, first.size), (Some(999_999_999_000.0), Some(0)));
    options.max_results = None;
    assert_eq!(paths(&run(&options).unwrap()), ["b", "c", "a", "d"]);
}

#[test]
fn total_matches_includes_entries_beyond_the_limit() {
    let tree = tree();
    let options = |most| GlobOptions { max_results: most, ..GlobOptions::new(tree.path(), "*.ts") };
    for (most, given, reached) in [(None, 3, false), (Some(3), 3, false), (Some(1), 1, true), (Some(0), 0, true)] {
        let result = run(&options(most)).unwrap();
        assert_eq!((result.rows.len(), result.total_matches, result.limit_reached), (given, 3, reached));
    }
}

#[test]
fn a_searched_file_is_returned_by_the_given_path() {
    let tree = tree();
    let path = tree.path().join("src/../README.md");
    let result = run(&GlobOptions::new(&path, "*.md")).unwrap();
    assert_eq!(paths(&result), [path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")]);
    assert!(run(&GlobOptions::new(&path, "*.ts")).unwrap().rows.is_empty());
}

#[test]
fn columns_contain_the_matches() {
    let tree = tree();
    for (name, mtimes) in [(None, true), (Some("größe 😀.ts"), true), (None, false)] {
        name.into_iter().for_each(|name| std::fs::write(tree.path().join(name), "").unwrap());
        let result = run(&GlobOptions { sort_by_mtime: mtimes, ..GlobOptions::new(tree.path(), "*.ts") }).unwrap();
        let columns = result.columns();
        let matches: Vec<_> = result.matches().collect();
        assert_eq!(columns.text, matches.iter().map(|found| &*found.path).collect::<String>());
        let lengths = matches.iter().map(|found| u32::try_from(found.path.encode_utf16().count()).unwrap());
        assert_eq!(columns.lengths, lengths.collect::<Vec<_>>());
        assert_eq!(columns.file_types, vec![1; matches.len()]);
        assert_eq!(columns.mtimes, matches.iter().filter_map(|found| found.mtime).collect::<Vec<_>>());
        assert_eq!(columns.sizes.len(), if mtimes { matches.len() } else { 0 });
    }
    let path = tree.path().join("README.md");
    let file = run(&GlobOptions::new(&path, "*")).unwrap();
    assert_eq!(file.columns().text, path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"));
}

#[test]
fn errors_contain_the_invalid_value() {
    let tree = tree();
    let error = run(&GlobOptions::new(tree.path(), "[a")).unwrap_err();
    assert!(error.message().starts_with("glob: invalid pattern \"[a\": unclosed character class"), "{error}");
    let error = run(&GlobOptions::new(tree.path().join("none"), "*")).unwrap_err();
    assert!(error.code() == ErrorCode::NotFound && error.message().contains("none"), "{error}");
    assert_eq!(run(&GlobOptions::new(tree.path(), "")).unwrap_err().code(), ErrorCode::InvalidArgument);
}

#[test]
fn a_cancelled_call_returns_an_error() {
    let tree = tree();
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let result = glob(&GlobOptions::new(tree.path(), "*"), &ScanCache::default(), &Pool::new("t", 1), &cancel);
    assert_eq!(result.unwrap_err().message(), "Aborted: Signal");
}

#[test]
fn repeats_a_cached_scan_without_a_match() {
    let tree = tree();
    let policy = sinew_walk::CachePolicy {
        ttl: std::time::Duration::from_secs(3_600),
        empty_recheck: std::time::Duration::ZERO,
        max_entries: 4,
    };
    let (cache, pool) = (ScanCache::new(policy), Pool::new("test", 1));
    let options = GlobOptions { cache: true, ..GlobOptions::new(tree.path(), "*.new") };
    let count = || glob(&options, &cache, &pool, &CancelToken::never()).unwrap().rows.len();
    assert_eq!(count(), 0);
    std::fs::write(tree.path().join("a.new"), "").unwrap();
    assert_eq!(count(), 1);
}

/// Creates a tree of `folders` directories with two files each.
fn wide(folders: usize) -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for number in 0..folders {
        let folder = tree.path().join(format!("{number:04}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("a.ts"), "").unwrap();
        std::fs::write(folder.join("b.ts"), "").unwrap();
    }
    tree
}

#[test]
fn a_passed_deadline_returns_part_of_the_matches() {
    let tree = wide(1_000);
    let (cache, pool) = (ScanCache::default(), Pool::new("test", 2));
    for cached in [false, true] {
        let options = GlobOptions { cache: cached, ..GlobOptions::new(tree.path(), "*.ts") };
        let whole = paths(&run(&GlobOptions { cache: false, ..options.clone() }).unwrap());
        assert_eq!(whole.len(), 2_000);
        // The deadline grows until a partial result was returned, because the required time depends on the machine.
        let mut some = false;
        for micros in (0..).step_by(50) {
            cache.clear();
            let cancel = CancelToken::never().with_timeout(std::time::Duration::from_micros(micros));
            let (found, partial) = glob_so_far(&options, &cache, &pool, &cancel).unwrap();
            let found = paths(&found);
            let mut rest = whole.iter();
            assert!(found.iter().all(|path| rest.any(|other| other == path)), "some of all matches, in order");
            assert!(partial || found == whole);
            assert!(cache.is_empty() || !partial, "partial scans are not cached");
            some |= partial && !found.is_empty();
            if some {
                break;
            }
            assert!(micros < 5_000_000, "no deadline led to a partial result");
        }
    }
}

#[test]
fn a_signal_is_an_error_even_if_partial_results_are_allowed() {
    let tree = tree();
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let pool = Pool::new("test", 2);
    let refused = glob_so_far(&GlobOptions::new(tree.path(), "*"), &ScanCache::default(), &pool, &cancel);
    assert_eq!(refused.unwrap_err().code(), ErrorCode::Aborted);
}

#[test]
fn each_item_of_a_list_is_one_pattern() {
    let tree = tempfile::tempdir().unwrap();
    for name in ["a{b", "c", " lead", "a[b", "c]d", "a,b", "ab", ".hid[e", "x/a{b"] {
        let path = tree.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let find = |pattern: &[&str], ignore: &[&str], recursive: bool| {
        let owned = |items: &[&str]| items.iter().map(|item| (*item).to_string()).collect::<Vec<_>>();
        let options = GlobOptions { ignore: owned(ignore), recursive, ..GlobOptions::new(tree.path(), owned(pattern)) };
        let found = paths(&run(&options).unwrap());
        assert_eq!(paths(&run(&GlobOptions { cache: true, ..options }).unwrap()), found);
        found
    };
    assert_eq!(find(&["a{b", "c"], &[], true), ["a{b", "c", "x/a{b"]);
    assert_eq!(find(&[" lead", "c"], &[], false), [" lead", "c"]);
    assert_eq!(find(&["a[b", "c]d"], &[], false), ["a[b", "c]d"]);
    assert_eq!(find(&["a,b"], &[], false), ["a,b"]);
    assert_eq!(find(&[".hid[e"], &[], false), [".hid[e"]);
    assert_eq!(find(&["*"], &["a{b", "a,b", " lead"], true), ["a[b", "ab", "c", "c]d", "x"]);
    assert_eq!(find(&["**"], &["x/**"], false), [" lead", "a,b", "a[b", "ab", "a{b", "c", "c]d"]);
    assert_eq!(find(&[], &[], true), [""; 0]);
    let text = GlobOptions { ignore: vec!["ab".into()], ..GlobOptions::new(tree.path(), "a*,!*[[]*") };
    assert_eq!(paths(&run(&text).unwrap()), ["a,b", "a{b", "x/a{b"]);
    let named = GlobOptions { ignore: vec!["{b}".into(), "a,b".into()], ..GlobOptions::new(tree.path(), "a,b") };
    assert_eq!(paths(&run(&named).unwrap()), [""; 0]);
}

#[test]
fn an_error_of_a_list_names_the_item() {
    let empty = GlobOptions { ignore: vec!["a".into(), String::new()], ..GlobOptions::new(".", "*") };
    let error = run(&empty).unwrap_err();
    assert_eq!(error.message(), r#"glob: ignore[1]: invalid pattern "": it is empty; `*` matches every name"#);
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    let error = run(&GlobOptions::new(".", vec!["../x".to_string()])).unwrap_err();
    assert!(error.message().starts_with(r#"glob: pattern[0]: invalid pattern "../x": "#), "{error}");
}
