//! Tests properties of scores and of the resulting order.

use proptest::prelude::*;
use sinew_fuzzy::{LetterFilter, Matcher, Query, letters_of};

fn score(query: &str, path: &str) -> Option<i32> {
    Matcher::new(&Query::new(query)).score(path)
}

#[track_caller]
fn better(query: &str, first: &str, second: &str) {
    let (high, low) = (score(query, first), score(query, second));
    assert!(high.is_some(), "{query:?} does not find {first:?}");
    assert!(high > low, "{query:?}: {first:?} has {high:?}, {second:?} has {low:?}");
}

#[track_caller]
fn positions(query: &str, path: &str, expect: &[u32]) {
    let mut places = Vec::new();
    let query = Query::new(query);
    let mut matcher = Matcher::new(&query).with_typos();
    assert!(matcher.score_with_positions(path, &mut places).is_some(), "{query:?} does not find {path:?}");
    assert_eq!(places, expect, "{query:?} in {path:?}");
}

#[test]
fn a_match_is_a_subsequence() {
    assert!(score("abc", "axbxc").is_some());
    assert!(score("abc", "acb").is_none());
    assert!(score("abc", "ab").is_none());
    assert!(score("", "anything").is_some());
}

#[test]
fn a_capital_in_the_query_makes_case_significant() {
    assert!(score("readme", "README.md").is_some());
    assert!(score("README", "README.md").is_some());
    assert!(score("Readme", "README.md").is_none());
    assert!(Matcher::new(&Query::with_case("Readme", false)).score("README.md").is_some());
}

#[test]
fn separators_of_the_query_are_optional() {
    for query in ["foo-bar", "foo_bar", "foo/bar", "foo.bar", "foo\\bar"] {
        assert!(score(query, "src/fooBar.rs").is_some(), "{query}");
    }
    better("src/index", "src/index.ts", "src_index.ts");
}

#[test]
fn words_come_in_any_order() {
    assert!(score("profile user", "src/user/profile.ts").is_some());
    assert!(score("user profile", "src/user/profile.ts").is_some());
    assert!(score("user missing", "src/user/profile.ts").is_none());
}

#[test]
fn diacritics_are_folded_on_both_sides() {
    assert!(score("resume", "docs/Résumé.pdf").is_some());
    assert!(score("résumé", "docs/resume.pdf").is_some());
    assert!(score("resume", "docs/Re\u{301}sume\u{301}.pdf").is_some());
}

#[test]
fn tolerates_one_typo_if_the_rest_matches_exactly() {
    for (query, path) in [("mian", "src/main.rs"), ("schdecore", "kernel/sched/core.c"), ("indexx", "src/index.ts")] {
        let query = Query::new(query);
        assert!(Matcher::new(&query).with_typos().score(path).is_some(), "{query:?} {path}");
    }
    let query = Query::new("mian");
    assert!(Matcher::new(&query).with_typos().score("xmxaxixn.rs").is_none());
    assert!(Matcher::new(&Query::new("mxxn")).with_typos().score("main.rs").is_none(), "two letters are not one");
}

#[test]
fn ranks_pairs_as_users_expect() {
    better("src/main.rs", "src/main.rs", "src/main.rs.orig");
    better("main.rs", "a/b/c/main.rs", "main.rs.d/other");
    better("makefile", "deep/in/Makefile", "makefiles/list.txt");
    better("app", "app", "application");
    better("index", "pkg/index.ts", "index_gen/a/b/c.ts");
    better("util", "a/util.ts", "a/utilities_for_all.ts");
    better("cargo", "Cargo.toml", "docs/cargo-cult/essay.md");
    better("fb", "foo-bar", "afbx");
    better("fb", "fooBarbaz", "foobarbaz");
    better("uc", "src/UserController.ts", "src/success.ts");
    better("rdoc", "src/readme_doc.md", "src/rxdxoxc.md");
    better("amor", "app/models/order", "app/models/zrder");
    better("schedcore", "kernel/sched/core.c", "tools/testing/mlxsw/sch_red_core.sh");
    better("http2", "net/http2.rs", "net/http/a2.rs");
    better("hs", "HTTPServer.java", "hats.java");
}

#[test]
fn the_letter_filter_rejects_paths_that_lack_a_letter() {
    for (query, path, typos, expect) in [
        ("core", "kernel/sched/core.c", false, true),
        ("core", "kernel/sched.c", false, false),
        ("corex", "kernel/sched/core.c", false, false),
        ("corex", "kernel/sched/core.c", true, true),
        ("corxyz", "kernel/sched/core.c", true, false),
        ("abx", "ab", true, false),
        ("café", "CAFÉ", false, true),
        ("a/b", "a_b", false, true),
        ("7", "6", false, true),
        ("7", "8", false, false),
        ("@", "#", false, true),
        ("@", "a1/_", false, false),
    ] {
        let filter = LetterFilter::new(&Query::new(query), typos);
        assert_eq!(filter.admits(letters_of(path.as_bytes())), expect, "{query} {path} {typos}");
    }
}

#[test]
fn positions_are_utf16_units() {
    positions("main", "src/main.rs", &[4, 5, 6, 7]);
    positions("bc", "😀/bc", &[3, 4]);
    positions("e", "日e\u{301}", &[1]);
    positions("core sched", "kernel/sched/core.c", &[7, 8, 9, 10, 11, 13, 14, 15, 16]);
    positions("mian", "main.rs", &[0, 1, 2, 3]);
}

#[test]
fn a_capital_prefers_the_start_of_a_word_even_if_case_is_ignored() {
    let query = Query::with_case("oBZ", false);
    let mut matcher = Matcher::new(&query);
    assert!(matcher.score("fooBarbaz") > matcher.score("foxobarzaz"));
}

#[test]
fn long_inputs_take_bounded_time() {
    let long = "a".repeat(30_000);
    assert!(score(&long, "aaa").is_none());
    assert!(score("ab", &long).is_none());
    assert!(score(&"a".repeat(2_000), &"a".repeat(3_000)).is_some());
    assert!(Matcher::new(&Query::new("aaaaaaaaaaaaaaaaaaaaaabb")).with_typos().score(&long).is_none());
}

fn is_subsequence(needle: &str, text: &str) -> bool {
    let mut rest = text.chars();
    needle.chars().all(|c| rest.any(|other| other == c))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn exactly_the_subsequences_match(needle in "[a-d]{1,5}", path in "[a-d/]{0,14}") {
        prop_assert_eq!(score(&needle, &path).is_some(), is_subsequence(&needle, &path));
    }

    #[test]
    fn bytes_and_characters_score_alike(needle in "[a-cA-C_]{1,7}", path in "[a-cA-C_/.1]{1,16}") {
        // The combining mark is skipped in matching, but makes the path non-ASCII, which selects the slower code.
        let path = format!("{path}x");
        let marked = format!("{path}\u{301}");
        prop_assert_eq!(score(&needle, &path), score(&needle, &marked));
        let query = Query::new(&needle);
        let mut matcher = Matcher::new(&query).with_typos();
        prop_assert_eq!(matcher.score(&path), matcher.score(&marked));
    }

    #[test]
    fn position_sets_and_layouts_find_the_same_typos(
        needle in "[a-d]{4,8}( [a-d/]{4,6})?",
        path in "([a-d]{0,8}[/_.A-D1]){1,16}",
    ) {
        // Paths that are not ASCII or too long for a set are only matched with layouts.
        let query = Query::new(&needle);
        let mut matcher = Matcher::new(&query).with_typos();
        let marked = format!("{path}x\u{301}");
        prop_assert_eq!(matcher.score(&format!("{path}x")), matcher.score(&marked));
    }

    #[test]
    fn a_floor_only_affects_lower_scores(needle in "[a-cA-C_/]{1,5}", path in "[a-cA-C_/.]{1,12}/?", floor in 0..200) {
        let query = Query::new(&needle);
        let exact = Matcher::new(&query).score(&path);
        let floored = Matcher::new(&query).score_over(path.as_bytes(), floor);
        prop_assert_eq!(floored.is_some(), exact.is_some());
        if let (Some(exact), Some(floored)) = (exact, floored) {
            let holds = if exact >= floor { floored == exact } else { floored < floor };
            prop_assert!(holds, "{} with the floor {} gave {}", exact, floor, floored);
        }
    }

    #[test]
    fn no_score_exceeds_its_upper_bound(
        needle in "[aA]{0,2}[/_.:-]?[aA]{0,2}[/_.:-]?",
        path in "([aA_.]{1,2}/){0,2}[aA]{1,3}([_.-][aA]{0,2})?/?",
        keep_case: bool,
    ) {
        // With its own score as the floor, a path keeps its score.
        let query = Query::with_case(&needle, keep_case);
        if let Some(exact) = Matcher::new(&query).score(&path) {
            prop_assert_eq!(Matcher::new(&query).score_over(path.as_bytes(), exact), Some(exact), "{:?} {:?}", needle, path);
        }
    }

    #[test]
    fn the_exact_name_comes_first(name in "[a-b]{1,3}( [a-b]{1,3}){1,2}(\\.a)?", folder in "([a-b]/){0,2}", other in "[ab/ .]{1,12}") {
        let is_other = other.rsplit('/').next() != Some(&name);
        let (exact, other) = (score(&name, &format!("{folder}{name}")), score(&name, &other));
        prop_assert!(!is_other || exact > other, "{:?} {:?}", exact, other);
    }

    #[test]
    fn the_letter_filter_admits_every_match(
        query in "[a-dA-D0-3/_@é\u{301}\u{212A}\\\\]{1,6}( [a-d1@.-]{1,6})?",
        path in "[a-eA-E0-4/_.@kKéÉ\u{301}]{0,16}",
        bytes in prop::collection::vec(0_u8.., 0..3),
        keep_case: bool,
    ) {
        let query = Query::with_case(&query, keep_case);
        for path in [path.as_bytes().to_vec(), [path.as_bytes(), &bytes].concat(), path.repeat(10).into_bytes()] {
            for typos in [false, true] {
                let matcher = Matcher::new(&query);
                let mut matcher = if typos { matcher.with_typos() } else { matcher };
                let answers = matcher.score_over(&path, i32::MIN).is_some();
                let admitted = LetterFilter::new(&query, typos).admits(letters_of(&path));
                prop_assert!(admitted || !answers, "{:?} {:?} {}", query, String::from_utf8_lossy(&path), typos);
            }
        }
    }

    #[test]
    fn positions_spell_the_query(needle in "[a-d]{1,5}", path in "[a-d/._]{0,14}") {
        let query = Query::new(&needle);
        let mut places = Vec::new();
        if Matcher::new(&query).score_with_positions(&path, &mut places).is_some() {
            let spelled: String = places.iter().map(|at| char::from(path.as_bytes()[*at as usize])).collect();
            prop_assert_eq!(spelled, needle);
        }
    }

    #[test]
    fn no_text_panics(query in ".{0,12}", path in ".{0,40}") {
        let query = Query::new(&query);
        let mut places = Vec::new();
        let mut matcher = Matcher::new(&query).with_typos();
        let scored = matcher.score(&path);
        prop_assert_eq!(matcher.score_with_positions(&path, &mut places), scored);
        let units = path.encode_utf16().count();
        prop_assert!(places.iter().all(|at| (*at as usize) < units));
        matcher.is_clean(&path);
    }
}
