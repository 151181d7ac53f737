use super::*;

#[track_caller]
fn check(rules: &str, ignored: &[&str], kept: &[&str]) {
    let rules = Rules::parse(rules.as_bytes());
    for (paths, expect) in [(ignored, true), (kept, false)] {
        for path in paths {
            // A trailing slash marks a directory.
            let (path, is_dir) = path.strip_suffix('/').map_or((*path, false), |path| (path, true));
            let name = path.rsplit('/').next().unwrap_or(path);
            let verdict = rules.as_ref().and_then(|rules| rules.verdict(path.as_bytes(), name.as_bytes(), is_dir));
            assert_eq!(verdict == Some(Verdict::Ignore), expect, "{path:?}");
        }
    }
}

#[test]
fn braces_are_literal() {
    check("*.{a,b}", &["x.{a,b}"], &["x.a", "x.b"]);
}

#[test]
fn the_last_matching_rule_decides() {
    check("*.log\n!keep.log\n", &["a.log", "x/b.log"], &["keep.log"]);
    check("!keep.log\n*.log\n", &["keep.log"], &[]);
    check("a\n!a\na\n", &["a"], &[]);
}

#[test]
fn removes_trailing_blanks_except_an_escaped_one() {
    check("a  \nb\\ \nc\\  \n", &["a", "b ", "c "], &["b", "a  ", "c"]);
    check("d\t\n", &["d\t"], &["d"]);
}

#[test]
fn a_slash_anchors_a_rule_and_a_trailing_one_matches_directories() {
    check("/a\nb/c\nd/\n", &["a", "b/c", "d/", "x/d/"], &["x/a", "x/b/c", "d"]);
}

#[test]
fn double_stars_match_several_levels_only_as_a_whole_component() {
    check("**/a\nb/**\nc/**/d\n", &["a", "x/a", "b/x", "b/x/y", "c/d", "c/x/y/d"], &["b/", "c/x"]);
    check("e**f", &["ef", "exf"], &["e/f"]);
}

#[test]
fn parses_comments_negations_and_line_ends() {
    check("#a\n\\#b\n\\!c\nd\r\n\u{FEFF}e\n", &["#b", "!c", "d", "\u{FEFF}e"], &["a", "c", "#a", "e"]);
    check("\u{FEFF}first\n", &["first"], &[]);
    check("/\n!\n!/\n//\n", &[], &["a", "a/"]);
}

#[test]
fn classes_match_like_git_except_unclosed_brackets() {
    check("[]a]\n[!b]c\n[z-a]\n", &["]", "a", "xc", "z"], &["bc", "m"]);
    check("x[\ny[a\n", &["x[", "y[a"], &["x", "ya"]);
    check("p[/]q", &[], &["p/q", "pq"]);
    check("[[:digit:]]\n[[:nope:]]n\n", &["5"], &["d", "nn"]);
    check("t\\", &[], &["t\\", "t"]);
}

#[test]
fn rules_in_different_tables_keep_their_order() {
    check("*.o\n!k*\nkeep.o\n", &["a.o", "keep.o"], &["k.o", "keep.c"]);
    check("*\n!*.rs\n!x/\n", &["a.c"], &["a.rs", "x/"]);
}

/// Returns `count` rules of each shape, as a code generator might write them.
fn many_rules(count: usize) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for number in 0..count {
        writeln!(
            text,
            "gen-{number}-*.tmp\n*.{number}.log\ncache-*-{number}\n/out/{number}/file\n**/d{number}/Makefile"
        )
        .unwrap();
        writeln!(text, "build{number}*/\nx?y{number}\n/top{number}/**\n*_{number}_*\n!keep-{number}-*").unwrap();
    }
    text
}

#[test]
fn tries_few_of_many_rules() {
    let rules = Rules::parse(many_rules(1_000).as_bytes()).unwrap();
    for (path, ignored) in [
        ("src/main.rs", false),
        ("a/gen-77-b.tmp", true),
        ("a/gen-77-b.tmp2", false),
        ("cache-a-999", true),
        ("x/a.500.log", true),
        ("x/500.log", false),
        ("x/y.log", false),
        ("out/12/file", true),
        ("a/out/12/file", false),
        ("a/d3/Makefile", true),
        ("a/e3/Makefile", false),
        ("top5/a/b", true),
        ("a_6_b", true),
        ("keep-7-cache-a-7", false),
    ] {
        let name = path.rsplit('/').next().unwrap();
        let mut tried = 0;
        rules.set_for_tests().candidates(path.as_bytes(), name.as_bytes(), |list| tried += list.len());
        assert!(tried <= 40, "{path}: {tried} rules");
        let verdict = rules.verdict(path.as_bytes(), name.as_bytes(), false);
        assert_eq!(verdict == Some(Verdict::Ignore), ignored, "{path}");
    }
}

#[test]
fn many_rules_of_several_shapes_keep_their_order() {
    let lines = |line: &str| format!("{line}\n").repeat(20);
    check(&[lines("*.log*"), lines("!*.log")].concat(), &["a.log1"], &["a.log"]);
    check(&[lines("!*.log"), lines("*.log*")].concat(), &["a.log1", "a.log"], &[]);
    check(&[lines("*[ab]"), lines("!a[ab]*"), lines("c*[b]")].concat(), &["xa", "cb"], &["ab", "ax"]);
}

/// Rules whose runs of letters are missing or common.
#[test]
fn few_of_many_rules_with_classes_are_tried() {
    use std::fmt::Write as _;
    let mut text = String::new();
    for number in 0..1_000_u32 {
        let letter = |shift: u32| char::from(b'a' + u8::try_from(number / shift % 26).unwrap());
        let (one, two) = (letter(1), letter(26));
        writeln!(text, "[{one}{}][{two}{}][xX]*", one.to_ascii_uppercase(), two.to_ascii_uppercase()).unwrap();
        writeln!(text, "*e?[{one}-z]*[{}]", number % 10).unwrap();
    }
    let rules = Rules::parse(text.as_bytes()).unwrap();
    for (path, ignored) in
        [("src/main.rs", false), ("x/bAX1", true), ("x/bAY1", false), ("theater7", true), ("theater", false)]
    {
        let name = path.rsplit('/').next().unwrap();
        let mut tried = 0;
        rules.set_for_tests().candidates(path.as_bytes(), name.as_bytes(), |list| tried += list.len());
        assert!(tried <= 160, "{path}: {tried} rules");
        let verdict = rules.verdict(path.as_bytes(), name.as_bytes(), false);
        assert_eq!(verdict == Some(Verdict::Ignore), ignored, "{path}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn the_tables_find_the_same_rule_as_trying_each(
        lines in proptest::collection::vec("!?(\\*\\*/|/)?([ab.*?-]{1,5}|a\\[ab\\]b?|\\[.a\\]\\*b?|a?\\*\\[!b\\])(/[ab.*-]{1,4}){0,2}/?", 1..160),
        paths in proptest::collection::vec("[ab.-]{1,5}(/[ab.-]{1,4}){0,2}", 1..20),
        is_dir: bool,
    ) {
        let rules = Rules::parse(lines.join("\n").as_bytes());
        for path in &paths {
            let name = path.rsplit('/').next().unwrap();
            let verdict = rules.as_ref().and_then(|rules| rules.verdict(path.as_bytes(), name.as_bytes(), is_dir));
            let in_turn = |line: &String| Rules::parse(line.as_bytes())?.verdict(path.as_bytes(), name.as_bytes(), is_dir);
            proptest::prop_assert_eq!(verdict, lines.iter().rev().find_map(in_turn), "{:?} {:?}", lines, path);
        }
    }
}

#[test]
fn parses_hostile_lines_quickly() {
    for text in ["[".repeat(2_000_000), "[:".repeat(1_000_000) + "]", format!("{}\n", "[".repeat(4_000)).repeat(500)] {
        check(&text, &[], &["a"]);
    }
    check(&format!("{}b\n", "*a".repeat(1_000)), &[], &[&"a".repeat(250)]);
}
