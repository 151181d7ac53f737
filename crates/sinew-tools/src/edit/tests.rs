use proptest::prelude::*;

use super::apply::replaced;
use super::find::closest;
use super::view::Stage;
use super::*;

fn change(old: &str, new: &str) -> Change {
    Change { old_text: old.into(), new_text: new.into(), replace_all: false }
}

fn all(old: &str, new: &str) -> Change {
    Change { replace_all: true, ..change(old, new) }
}

#[track_caller]
fn check(file: &str, edits: &[Change], expect: &str, stage: Stage) {
    let (done, _) = replaced("f", file.as_bytes(), edits, true).unwrap();
    assert_eq!(String::from_utf8(done.new).unwrap(), expect);
    assert_eq!(done.stages[0], stage);
}

#[track_caller]
fn refuse(file: &str, edits: &[Change], fault: &str) {
    assert_eq!(replaced("f", file.as_bytes(), edits, true).unwrap_err().into_text(), fault);
}

#[test]
fn an_exact_match_is_replaced_and_line_endings_are_kept() {
    check("a\nb\nc", &[change("b", "x")], "a\nx\nc", Stage::Exact);
    check("a\r\nb\r\nc\r\n", &[change("a\nb", "x\ny")], "x\r\ny\r\nc\r\n", Stage::Exact);
    check("a\r\nb\r\n", &[change("a\r\nb", "x")], "x\r\n", Stage::Exact);
    check("\u{feff}a\n", &[change("a", "b")], "\u{feff}b\n", Stage::Exact);
    check("Hello\nWorld", &[change("Hello\nWorld", "HelloWorld")], "HelloWorld", Stage::Exact);
    check("aXbX", &[all("X", "-")], "a-b-", Stage::Exact);
    check("a\r\nb\n", &[change("\nb", "\nc")], "a\r\nc\n", Stage::Exact);
}

#[test]
fn all_edits_match_the_file_as_it_was() {
    check("a b", &[change("a", "b"), change("b", "c")], "b c", Stage::Exact);
    refuse("abc", &[change("ab", "x"), change("bc", "y")], "edits[0] and edits[1] overlap in f. Merge them.");
}

#[test]
fn white_space_at_line_ends_is_ignored() {
    check("x = 1;  \ny\t\nz", &[change("x = 1;\ny\nz", "w")], "w", Stage::TrailingSpace);
    check("one \ntwo \nend", &[change("one\ntwo", "1\n2")], "1\n2 \nend", Stage::TrailingSpace);
    check("a\nb\n", &[change("a  \nb", "c")], "c\n", Stage::TrailingSpace);
}

#[test]
fn typographic_differences_are_ignored() {
    check("say “hi” – now", &[change("say \"hi\" - now", "x")], "x", Stage::Typography);
    check("a\u{a0}b é", &[change("a b", "c")], "c é", Stage::Typography);
    check("Range: 10–20", &[change("10-20", "15-25")], "Range: 15-25", Stage::Typography);
}

#[test]
fn composed_and_decomposed_characters_match() {
    check("a e\u{301} b\n", &[change("\u{e9}", "\u{f6}")], "a o\u{308} b\n", Stage::Exact);
    check("a \u{e9} b\n", &[change("e\u{301}", "o\u{308}")], "a \u{f6} b\n", Stage::Exact);
}

#[test]
fn whole_lines_match_with_other_indentation() {
    check(
        "fn a() {\n        if x {\n\n            y();\n        }\n}\n",
        &[change("if x {\n\n    y();\n}", "if z {\n    w();\n}")],
        "fn a() {\n        if z {\n            w();\n        }\n}\n",
        Stage::Indentation,
    );
    check("a\nb\n", &[change("    a\n    b\n", "    c\n      d\n")], "c\n  d\n", Stage::Indentation);
    check("\t\tx\r\n\t\ty\r\n", &[change("\tx\n\ty", "\tz")], "\t\tz\r\n", Stage::Indentation);
    let fault = "Could not find the text in f. It must match exactly, including white space.";
    refuse("\tx\r\n\ty\r\n", &[change("  x\n  y", "  z")], fault);
}

#[test]
fn missing_text_is_refused_with_the_closest_lines() {
    refuse("abc", &[change("zzz", "x")], "Could not find the text in f. It must match exactly, including white space.");
    refuse(
        "fn one() {}\nfn other_name(a: u8) {}\n",
        &[change("fn other_name(b: u8) {}", "x")],
        "Could not find the text in f. It must match exactly, including white space.\nThe closest lines are:\n\
         2:fn other_name(a: u8) {}",
    );
    refuse(
        "x x x",
        &[change("x", "y")],
        "Found 3 occurrences of the text in f. Add surrounding lines to make it unique, or set replaceAll to true.",
    );
    refuse(
        "a",
        &[change("a", "b"), change("q", "b")],
        "edits[1]: Could not find the text in f. It must match exactly, including white space.",
    );
}

#[test]
fn copied_line_numbers_are_removed() {
    let (done, _) = replaced("f", b"one\ntwo\n", &[change("1:one\n2:two", "1:one\n2:zwei")], true).unwrap();
    assert_eq!(done.new, b"one\nzwei\n");
    assert_eq!(done.notes, ["line numbers were removed from the texts"]);
    check("1:one\n", &[change("1:one", "2:two")], "2:two\n", Stage::Exact);
}

#[test]
fn likely_mistakes_produce_warnings() {
    let notes =
        |file: &str, old: &str, new: &str| replaced("f", file.as_bytes(), &[change(old, new)], true).unwrap().0.notes;
    assert_eq!(notes("a {\n}\n", "a {", "a"), ["Warning: the edit changes the balance of {}"]);
    let repeated = "Warning: the last line of the replacement equals the line after it";
    assert_eq!(notes("a\nb\nend\n", "b", "c\nend"), [repeated]);
    assert_eq!(notes("a\nb\nend\n", "b\n", "c\nend\n"), [repeated]);
}

#[test]
fn the_diff_names_the_first_line_that_changed() {
    let (text, first) = diff("f", b"a\nb\nc\n", b"a\nx\nc\n");
    assert_eq!(first, 2);
    assert!(text.contains("-b\n+x\n"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// All bytes outside the matching range are unchanged.
    #[test]
    fn bytes_outside_the_match_are_unchanged(
        before in prop::collection::vec(any::<u8>(), 0..60),
        after in prop::collection::vec(any::<u8>(), 0..60),
        old in "[A-Z]{8,16}",
        new in "[a-z\n]{0,16}",
    ) {
        let file = [&before[..], old.as_bytes(), &after[..]].concat();
        prop_assume!(memchr::memmem::find_iter(&file, old.as_bytes()).count() == 1);
        let (done, _) = replaced("f", &file, &[change(&old, &new)], true).unwrap();
        prop_assert!(done.new.starts_with(&before));
        prop_assert!(done.new.ends_with(&after));
        let middle = done.new.len() - before.len() - after.len();
        prop_assert!(middle == new.len() || middle == new.replace('\n', "\r\n").len());
    }

    /// Every text yields either a refusal or a success.
    #[test]
    fn any_text_succeeds_or_is_refused(
        file in "[ab \t\r\n’–é{]{0,80}",
        edits in prop::collection::vec(("[ab \t\r\n'\\-é1:]{1,12}", "[ab\n ]{0,8}", any::<bool>()), 1..4),
    ) {
        let edits: Vec<Change> = edits
            .into_iter()
            .map(|(old_text, new_text, replace_all)| Change { old_text, new_text, replace_all })
            .collect();
        let _ = replaced("f", file.as_bytes(), &edits, true);
        let _ = closest(file.as_bytes(), &edits[0].old_text);
    }
}
