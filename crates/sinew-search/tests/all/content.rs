//! Search of text in memory.

use sinew_search::{Mode, SearchOptions, has_match, search_content};

fn options(pattern: &str) -> SearchOptions {
    SearchOptions { pattern: pattern.to_string(), ..SearchOptions::default() }
}

fn lines(content: &[u8], options: &SearchOptions) -> Vec<(u32, String)> {
    let result = search_content(content, options).unwrap();
    assert_eq!(result.match_count as usize, result.matches.len());
    result.matches.iter().map(|row| (row.line_number, row.line.to_string())).collect()
}

#[test]
fn finds_matching_lines() {
    let text = b"one\r\ntwo\nOne\0\nthree one";
    assert_eq!(lines(text, &options("one$")), [(1, "one".into()), (4, "three one".into())]);
    let both = SearchOptions { ignore_case: true, ..options("^one") };
    assert_eq!(lines(text, &both), [(1, "one".into()), (3, "One\0".into())]);
    assert_eq!(lines(b"a.b\naxb", &SearchOptions { literal: true, ..options("a.b") }), [(1, "a.b".into())]);
    assert_eq!(lines(b"", &options("")), []);
    assert_eq!(lines(b"\xFF\xFEn\0o\0", &options("no")), [(1, "no".into())]);
}

#[test]
fn applies_limits_and_offset() {
    let text = b"x\n".repeat(10);
    let page = SearchOptions { offset: 2, max_count: Some(3), ..options("x") };
    assert_eq!(lines(&text, &page).iter().map(|row| row.0).collect::<Vec<_>>(), [3, 4, 5]);
    assert!(search_content(&text, &page).unwrap().limit_reached);
    assert!(!search_content(&text, &SearchOptions { max_count: Some(10), ..options("x") }).unwrap().limit_reached);
    let none = search_content(&text, &SearchOptions { max_count: Some(0), ..options("x") }).unwrap();
    assert_eq!((none.match_count, none.limit_reached), (0, true));
    for (mode, most, expect) in [
        (Mode::Content, 3, (3, true)),
        (Mode::Content, 10, (10, false)),
        (Mode::Count, 3, (3, true)),
        (Mode::Count, 10, (10, false)),
        (Mode::FilesWithMatches, 3, (1, false)),
    ] {
        let some = SearchOptions { mode, max_count_per_file: Some(most), ..options("x") };
        let some = search_content(&text, &some).unwrap();
        assert_eq!((some.match_count, some.limit_reached), expect, "{mode:?} {most}");
    }
}

#[test]
fn a_byte_offset_counts_the_byte_order_mark_of_utf_8() {
    let result = search_content(b"\xEF\xBB\xBFx\ny\n", &options("x|y")).unwrap();
    let offsets: Vec<_> = result.matches.iter().map(|row| (row.line_number, row.byte_offset)).collect();
    assert_eq!(offsets, [(1, 3), (2, 5)]);
}

#[test]
fn counting_returns_no_rows() {
    let counted = search_content(b"x\ny\nx", &SearchOptions { mode: Mode::Count, ..options("x") }).unwrap();
    assert_eq!((counted.matches.len(), counted.match_count), (0, 2));
    let named = search_content(b"x\ny\nx", &SearchOptions { mode: Mode::FilesWithMatches, ..options("x") }).unwrap();
    assert_eq!((named.matches.len(), named.match_count), (0, 1));
}

#[test]
fn repairs_braces_and_rejects_invalid_patterns() {
    let repaired = search_content(b"a ${b} c", &SearchOptions { pattern: "\\${b}".into(), ..SearchOptions::default() });
    let repaired = repaired.unwrap();
    assert_eq!((repaired.match_count, repaired.warnings.len()), (1, 1));
    let error = search_content(b"", &options("(?<=x")).map(drop).unwrap_err();
    assert!(error.message().starts_with("search: invalid regex \"(?<=x\": "), "{error}");
}

#[test]
fn look_around_and_backreferences_are_searched_with_a_warning() {
    let search = |text: &[u8], options: &SearchOptions| {
        let result = search_content(text, options).unwrap();
        let rows: Vec<_> = result.matches.iter().map(|row| (row.line_number, row.column, row.byte_offset)).collect();
        (rows, result.warnings.len())
    };
    let text = b"ab\r\nb a\nxx ab\n\xFFab";
    assert_eq!(search(text, &options("(?<=a)b")), (vec![(1, 2, 1), (3, 5, 12), (4, 3, 16)], 1));
    assert_eq!(search(text, &options(r"(\w)\1")), (vec![(3, 1, 8)], 1));
    assert_eq!(search(text, &options("(?<!x )ab$")), (vec![(1, 1, 0), (4, 2, 15)], 1));
    let across = SearchOptions { multiline: true, ..options(r"(?<=b )a\n(.)\1") };
    assert_eq!(search(text, &across), (vec![(2, 3, 6)], 1));
    let long = [&b"x".repeat(40_000)[..], b"ab\nab\n"].concat();
    assert_eq!(search(&long, &options("(?<=a)b")), (vec![(2, 2, 40_004)], 2));
}

#[track_caller]
fn check(content: &str, pattern: &str, multiline: bool, expect: bool) {
    assert_eq!(has_match(content.as_bytes(), pattern, false, multiline), Ok(expect), "{pattern} in {content:?}");
}

#[test]
fn has_match_follows_the_multiline_option() {
    check("foo bar", "bar", false, true);
    check("foo bar", "^bar", false, false);
    check("foo\nbar", "^bar", false, false);
    check("foo\nbar", "^bar", true, true);
    check("foo\r\nbar", "foo$", true, true);
    check("foo\nbar", r"foo\nbar", false, true);
    check("${x}", r"\${x}", false, true);
    check("", "", false, true);
    assert_eq!(has_match("ÄB".as_bytes(), "äb", true, false), Ok(true));
    assert!(has_match(b"", "(", false, false).unwrap_err().message().starts_with("hasMatch: invalid regex \"(\""));
}

#[test]
fn hostile_patterns_take_linear_time() {
    let text = "a".repeat(1 << 20);
    check(&text, "(a*)*b", false, false);
    assert_eq!(lines(text.as_bytes(), &options("(a*)*b")), []);
    let many: Vec<String> = (0..20_000).map(|n| format!("w{n}")).collect();
    check("zzz", &many.join("|"), false, false);
}
