use super::*;

#[track_caller]
fn check(pattern: &str, yes: &[&str], no: &[&str]) {
    check_with(GlobSyntax::default(), pattern, yes, no);
}

#[track_caller]
fn check_with(syntax: GlobSyntax, pattern: &str, yes: &[&str], no: &[&str]) {
    let globs = GlobSet::new(pattern, syntax).unwrap_or_else(|error| panic!("{error}"));
    for (paths, expect) in [(yes, true), (no, false)] {
        for path in paths {
            // A trailing slash marks a directory.
            let (name, is_dir) = path.strip_suffix('/').map_or((*path, false), |name| (name, true));
            assert_eq!(globs.is_match(name.as_bytes(), is_dir), expect, "{pattern:?} on {path:?}");
        }
    }
}

#[track_caller]
fn refuses(pattern: &str, why: &str) {
    let error = GlobSet::new(pattern, GlobSyntax::default()).expect_err(pattern);
    assert!(error.message().contains(why), "{error}");
    assert_eq!(error.code(), sinew_base::ErrorCode::InvalidArgument);
}

#[test]
fn a_pattern_without_a_slash_matches_at_any_depth() {
    check("*.ts", &["a.ts", "b/c/a.ts", ".x/a.ts"], &["a.tsx", "a.ts/b"]);
    check_with(GlobSyntax { any_depth: false, dot: true }, "*.ts", &["a.ts"], &["b/a.ts"]);
    check("./*.ts", &["a.ts"], &["b/a.ts"]);
    check("/*.ts", &["a.ts"], &["b/a.ts"]);
}

#[test]
fn single_stars_match_within_a_name_and_double_stars_across() {
    check("src/*.rs", &["src/a.rs"], &["src/a/b.rs", "x/src/a.rs"]);
    check("src/**/*.rs", &["src/a.rs", "src/a/b.rs", "src/a/b/c.rs"], &["src.rs", "lib/a.rs"]);
    check("**/test/**", &["test/a", "a/test/b/c"], &["test", "a/test"]);
    check("**", &["a", "a/b", ".a/b"], &[]);
    check("a/**/b/**/c", &["a/b/c", "a/x/b/y/z/c"], &["a/c", "a/b/x"]);
    check("a**b", &["ab", "axb", "x/axxb"], &["a/b"]);
    check("**/**/a", &["a", "x/a", "x/y/a"], &["a/x"]);
}

#[test]
fn classes_braces_and_ranges() {
    check("[a-c][!x].[[:digit:]]", &["ab.1", "d/cc.9"], &["ax.1", "ab.x", "db.1"]);
    check("[]a].c", &["].c", "a.c"], &["b.c"]);
    check("*.{ts,tsx,m{j,t}s}", &["a.ts", "a.tsx", "a.mjs", "a.mts"], &["a.js", "a.{ts"]);
    check("{src,lib}/**", &["src/a", "lib/a/b"], &["bin/a"]);
    check("f{1..3}.txt", &["f1.txt", "f3.txt"], &["f4.txt", "f0.txt"]);
    check("f{08..10}", &["f08", "f09", "f10"], &["f8"]);
    check("{a..e..2}", &["a", "c", "e"], &["b"]);
    check("a{,.min}.js", &["a.js", "a.min.js"], &["a.x.js"]);
    check("*.{ts,tsx", &["a.ts", "a.tsx"], &["a.js"]);
    check("?.ts", &["ä.ts", "日.ts"], &["ab.ts"]);
}

#[cfg(unix)]
#[test]
fn commas_between_escaped_braces_are_part_of_a_name() {
    check(r"\{a,b\}", &["{a,b}", "x/{a,b}"], &["a", "b", "{a"]);
    check(r"\{a,b\},c", &["{a,b}", "c"], &["a"]);
    check(r"c,\{a,b", &["c", "{a", "b"], &["a", "{a,b"]);
    check(r"\{a,{b,c},d", &["{a", "b", "c", "d"], &["{a,b"]);
    check(r"\{a,{b,c}\}", &["{a,b}", "{a,c}"], &["b", "{a"]);
    check(r"{a\},b}", &["a}", "b"], &["a"]);
    check(r"a\},b", &["a}", "b"], &["a"]);
}

#[test]
fn groups_are_alternatives_within_a_name() {
    check("@(a|b*).ts", &["a.ts", "x/bc.ts", "b.ts"], &["c.ts", "ab.ts", ".ts"]);
    check("?(a|b).ts", &["a.ts", ".ts"], &["ab.ts", "c.ts"]);
    check("*(a|bc)d", &["d", "ad", "bcabcd"], &["bd", "abd"]);
    check("+(a|bc)d", &["ad", "bcabcd"], &["d", "bd"]);
    check("!(a|b*).ts", &["c.ts", "ab.ts", ".ts"], &["a.ts", "b.ts", "bc.ts", "c.js"]);
    check("src/!(*.test|*.spec).ts", &["src/a.ts"], &["src/a.test.ts", "src/a.spec.ts", "a.ts"]);
    check("*.!(js|css)", &["a.ts", "a.min.ts"], &["a"]);
    check("@(a|+(b|!(c)))", &["a", "bb", "d"], &[]);
    check("+([[:digit:]]|é)x", &["12éx"], &["ax", "x"]);
    check("!(é)", &["e", "日"], &["é"]);
    check("*.@(ts|js),!@(a|b).ts", &["c.ts", "a.js"], &["a.ts", "x/b.ts"]);
    check("{@(a|b),c}/@(x|y)", &["a/x", "c/y"], &["d/x", "a/z"]);
    check("a@(b", &["a@(b"], &["ab"]);
    check("[@](a)", &["@(a)"], &["a"]);
    let closed = GlobSyntax { any_depth: true, dot: false };
    check_with(closed, "@(.a|b)*", &[".ab", "bc"], &[".b"]);
    check_with(closed, "!(b)", &["a"], &[".a", "b"]);
}

#[test]
fn nested_groups_take_bounded_time() {
    let name = "a".repeat(255);
    for pattern in ["+(+(+(a|aa)|aaa)|a)b", "*(*(*(*(a))))b", "!(!(!(!(a*))))b", "+(a|!(b)|a*)+(a|a*)c"] {
        let globs = GlobSet::new(pattern, GlobSyntax::default()).unwrap();
        assert!(!globs.is_match(name.as_bytes(), false), "{pattern}");
    }
    let many = format!("+({})b", vec!["a"; 2_000].join("|"));
    assert!(!GlobSet::new(&many, GlobSyntax::default()).unwrap().is_match(name.as_bytes(), false));
}

#[test]
fn commas_separate_globs_and_the_last_match_decides() {
    check("*.ts, *.js", &["a.ts", "a.js"], &["a.rs"]);
    check("*.ts,!*.d.ts", &["a.ts"], &["a.d.ts", "a.js"]);
    check("!*.d.ts,*.ts", &["a.ts", "a.d.ts"], &[]);
    check("!build", &["a", "b/c"], &["build/", "build/a", "x/build/y"]);
    check("!build/", &["build", "x/build"], &["build/", "build/a"]);
    check("a\\,b", &["a,b"], &["a", "b"]);
}

#[test]
fn wildcards_skip_leading_dots_only_without_the_dot_option() {
    let closed = GlobSyntax { any_depth: true, dot: false };
    check_with(closed, "**/*.yml", &["a.yml", "b/a.yml"], &[".a.yml", ".github/a.yml"]);
    check_with(
        closed,
        ".github/**/*.yml",
        &[".github/a.yml", ".github/w/a.yml"],
        &[".github/.a.yml", "x/.github/a.yml"],
    );
    check_with(closed, ".env*", &[".env", "a/.env.local"], &["env", ".git/.env"]);
    check_with(closed, "[.]a", &[], &[".a"]);
    check_with(closed, "*,!.*", &["a"], &[".a"]);
}

#[test]
fn a_trailing_slash_matches_only_directories() {
    check("src/", &["src/", "a/src/"], &["src", "src/a"]);
    check("**/a/", &["a/", "b/a/"], &["a"]);
}

#[test]
#[cfg(unix)]
fn a_backslash_escapes_special_characters() {
    check("\\*.ts", &["*.ts"], &["a.ts"]);
    check("\\!a", &["!a"], &["a", "b"]);
    check("a\\{b,c\\}", &["a{b,c}"], &["ab", "a{b"]);
}

#[test]
fn rejects_invalid_patterns_with_the_reason() {
    refuses("[a", "unclosed character class");
    refuses("[[:nope:]]", "unknown class name");
    refuses("../a", "leaves the searched folder");
    refuses("@(a/b|c)", "cannot contain `/`");
    refuses(&format!("{}a{}", "@(".repeat(20), ")".repeat(20)), "more than 16 levels deep");
    refuses("", "empty");
    refuses("!", "nothing follows");
    refuses("{1..100000}", "more than 1024 alternatives");
    refuses(&"{a,b}".repeat(20), "more than 1024 alternatives");
    refuses(&"{".repeat(16_000), "more than 1024 alternatives");
    refuses(&"[".repeat(16_000), "unclosed character class");
    refuses(&"a".repeat(20_000), "longer than 16 KiB");
    check("file (1|2).txt", &["file (1|2).txt"], &["file 1.txt"]);
}

#[test]
fn absolute_patterns_must_be_below_the_directory() {
    let roots = ["/work/a,{b}".to_string(), "/real".to_string()];
    let read = |pattern: &str| GlobSet::below(pattern, GlobSyntax::default(), &roots);
    let matches = |pattern: &str, path: &str| read(pattern).unwrap().is_match(path.as_bytes(), false);
    for pattern in ["/real/*.ts", "/real/src/../*.ts", "{/real/*.ts,/real/x}", "!/real/x,/real/*.ts", "/real//*.ts"] {
        assert_eq!(read(pattern).is_ok_and(|set| set.is_match(b"a.ts", false)), !pattern.contains(".."), "{pattern}");
        assert!(pattern.contains("..") || !matches(pattern, "deep/a.ts"), "{pattern}");
    }
    assert!(matches("*.ts", "deep/a.ts") && !matches("./*.ts", "deep/a.ts"));
    for pattern in ["/other/*.ts", "/reality/*.ts", "*.ts,/other/x", "!/other/x", "{/real/a,/other/b}", "/"] {
        let error = read(pattern).expect_err(pattern);
        assert!(error.message().contains("outside"), "{pattern}: {error}");
    }
    // Without `roots` a leading slash means the root.
    check("/a.ts", &["a.ts"], &["b/a.ts"]);
}

#[test]
fn finds_names_that_a_pattern_contains() {
    let names = |pattern: &str| GlobSet::new(pattern, GlobSyntax::default()).unwrap();
    assert!(names(".github/**").names_dot() && !names("*.ts,!.x").names_dot());
    assert!(
        names("node_modules/*/package.json").names("node_modules") && !names("!node_modules").names("node_modules")
    );
}

#[test]
fn many_stars_take_bounded_time() {
    let path = "a".repeat(250);
    let deep = vec![path.as_str(); 100].join("/");
    let pattern = format!("{}{}b", "**/".repeat(200), "*a".repeat(100));
    let globs = GlobSet::new(&pattern, GlobSyntax::default()).unwrap();
    assert!(!globs.is_match(deep.as_bytes(), false));
    let between = GlobSet::new(&format!("{}b", "**/*a*a*a*/".repeat(50)), GlobSyntax::default()).unwrap();
    assert!(!between.is_match(format!("{deep}/c").as_bytes(), false));
    assert!(!between.is_match(format!("{}/b", "x/".repeat(2_000)).as_bytes(), false));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(256))]

    #[test]
    fn no_pattern_panics(pattern in "[ab./*?@+()|\\[\\]{},!\\\\^:0-9-]{0,24}", path in "[ab./-]{0,16}") {
        if let Ok(globs) = GlobSet::new(&pattern, GlobSyntax::default()) {
            let _ = globs.is_match(path.as_bytes(), false);
        }
    }

    #[test]
    fn a_name_matches_itself(name in "[a-z0-9_.-]{1,12}") {
        proptest::prop_assume!(name != "." && name != "..");
        let globs = GlobSet::new(&name, GlobSyntax::default()).unwrap();
        proptest::prop_assert!(globs.is_match(name.as_bytes(), false));
    }
}

fn owned(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_string()).collect()
}

#[track_caller]
fn items(items: &[&str], yes: &[&str], no: &[&str]) {
    let syntax = GlobSyntax::default();
    let globs = GlobSet::of_items(&owned(items), syntax, &[]).unwrap_or_else(|error| panic!("{error}"));
    let others = GlobSet::except(&owned(items), syntax, &[]).unwrap_or_else(|error| panic!("{error}"));
    let excludes = items.iter().all(|item| !item.starts_with('!') || item.starts_with("!("));
    for (paths, expect) in [(yes, true), (no, false)] {
        for path in paths {
            assert_eq!(globs.is_match(path.as_bytes(), false), expect, "{items:?} on {path:?}");
            if excludes {
                assert_eq!(others.is_match(path.as_bytes(), false), !expect, "ignore {items:?} on {path:?}");
            }
        }
    }
}

#[test]
fn each_item_of_a_list_is_one_glob() {
    items(&["a{b", "c"], &["a{b", "c", "x/a{b"], &["ab", "a", "a{b,c", "b"]);
    items(&[" lead", "c"], &[" lead", "c"], &["lead"]);
    items(&["a[b", "c]d"], &["a[b", "c]d"], &["ab", "a[b,c]d"]);
    items(&["a\\", "c"], &["a\\", "c"], &["a", "a,c"]);
    items(&["a,b", "{c,d}"], &["a,b", "c", "d"], &["a", "b", "{c,d"]);
    items(&["{a,b", "x}"], &["{a,b", "x}"], &["a", "b", "x"]);
    items(&["{a{b,c}d"], &["{abd", "{acd"], &["abd"]);
    items(&["{a,{b}"], &["{a,{b}"], &["a", "{b}", "b"]);
    items(&["*[", "?{"], &["x[", "y{"], &["x", "y"]);
    items(&["{rule}", "{1..2}"], &["{rule}", "1", "2", "{1..2}"], &["rule", "3"]);
    items(&["trail "], &["trail "], &["trail"]);
    items(&["trail\\ ", "x[]"], &["trail ", "x[]"], &["trail", "trail\\", "x"]);
    items(&["(a)?"], &["(a)b"], &["b", "a"]);
    items(&["!(a|b)"], &["c", "!(a|b)"], &["a", "b"]);
    items(&["*", "!{rule}", "!a{b"], &["rule", "ab"], &["{rule}", "a{b", "a{b/x"]);
    items(&["!a"], &["b"], &["a", "a/b"]);
    items(&["./[id]"], &["[id]", "i", "d"], &["x/[id]", "x/i"]);
    items(&["**/*.rs", "sub/[id].ts"], &["a.rs", "x/a.rs", "sub/[id].ts", "sub/i.ts"], &["[id].ts", "x/sub/[id].ts"]);
    let none = GlobSet::of_items(&[], GlobSyntax::default(), &[]).unwrap();
    assert!(!none.is_match(b"a", false));
}

#[test]
fn an_item_excludes_directories_with_all_below() {
    let except =
        |items: &[&str]| GlobSet::except(&owned(items), GlobSyntax { any_depth: false, dot: true }, &[]).unwrap();
    let set = except(&["src/**", "docs/**/*.md", ".*"]);
    for (path, is_left) in [
        ("src", false),
        ("src/a", false),
        ("docs", true),
        ("docs/a/b.md", false),
        (".git/x", false),
        ("x/.y", false),
        ("lib/a", true),
    ] {
        assert_eq!(set.is_match(path.as_bytes(), false), is_left, "{path}");
    }
    assert!(except(&["a/"]).is_match(b"a", false));
    assert!(!except(&["a/"]).is_match(b"a", true));
    assert!(except(&[]).is_match(b"a", false));
}

#[test]
fn absolute_items_begin_with_a_root_of_any_name() {
    for root in ["/r/a{b}", "/r/{a,b}", "/r/a[b", "/r/a,b"] {
        let item =
            |rest: &str| GlobSet::of_items(&[format!("{root}/{rest}")], GlobSyntax::default(), &[root.to_string()]);
        assert!(item("*.ts").unwrap().is_match(b"c.ts", false), "{root}");
        assert!(!item("*.ts").unwrap().is_match(b"sub/c.ts", false), "{root}");
        assert!(item("[id].ts").unwrap().is_match(b"[id].ts", false), "{root}");
        let outside = GlobSet::except(&owned(&["x", "/r/c"]), GlobSyntax::default(), &[root.to_string()]).unwrap_err();
        assert!(outside.message().starts_with("ignore[1]: invalid pattern \"/r/c\": it is outside"), "{outside}");
    }
}

#[test]
fn an_error_names_the_item() {
    let syntax = GlobSyntax::default();
    let message = |list: Result<GlobSet>| list.map(drop).unwrap_err().message().to_string();
    let empty = r#": invalid pattern "": it is empty; `*` matches every name"#;
    assert_eq!(message(GlobSet::of_items(&owned(&["a", ""]), syntax, &[])), format!("pattern[1]{empty}"));
    assert_eq!(message(GlobSet::except(&owned(&["a", "b", ""]), syntax, &[])), format!("ignore[2]{empty}"));
    let group = message(GlobSet::except(&owned(&["@(a/b)"]), syntax, &[]));
    assert!(group.starts_with(r#"ignore[0]: invalid pattern "@(a/b)": a group"#), "{group}");
    let long = "x".repeat(LONGEST + 1);
    assert!(message(GlobSet::of_items(&[long], syntax, &[])).ends_with("it is longer than 16 KiB"));
    // The limit is one for each item.
    let many: Vec<String> = (0..10_000).map(|number| format!("file-{number}.txt")).collect();
    assert!(GlobSet::of_items(&many, syntax, &[]).unwrap().is_match(b"x/file-9999.txt", false));
}
