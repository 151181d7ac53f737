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
    check("a\\{b,c\\}", &["a{b"], &["ab"]);
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
