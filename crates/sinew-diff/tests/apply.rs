//! Property tests of differences, with git as an oracle for unified diffs.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sinew_base::{CancelHandle, CancelToken, ErrorCode};
use sinew_diff::{ChangeKind, DiffOptions, UnifiedOptions, Unit, diff, unified_diff};

fn never() -> CancelToken {
    CancelToken::never()
}

/// Returns one of the two texts, joined from its changes.
fn side(old: &str, new: &str, options: &DiffOptions, missing: ChangeKind) -> String {
    let changes = diff(old, new, options, &never()).unwrap();
    assert!(changes.iter().all(|change| !change.text.is_empty()));
    assert!(changes.windows(2).all(|pair| pair[0].kind != pair[1].kind), "{changes:?}");
    changes.iter().filter(|change| change.kind != missing).map(|change| change.text).collect()
}

#[track_caller]
fn check_sides(old: &str, new: &str, options: &DiffOptions) {
    assert_eq!(side(old, new, options, ChangeKind::Added), old);
    assert_eq!(side(old, new, options, ChangeKind::Removed), new);
}

fn run(folder: &Path, program: &str, args: &[&str]) {
    // The user's settings may change how a patch is applied.
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env_remove("GIT_DIR")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Checks that `git apply` turns the old text into the new one in a file with this name.
#[track_caller]
fn check_applied(name: &str, old: &str, new: &str, context: usize) {
    let options = UnifiedOptions {
        old_name: format!("a/{name}"),
        new_name: format!("b/{name}"),
        context,
        ..UnifiedOptions::default()
    };
    let patch = unified_diff(old, new, &options, &never()).unwrap();
    assert_eq!(patch.is_empty(), old == new);
    if patch.is_empty() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), old).unwrap();
    fs::write(folder.path().join("patch.diff"), &patch).unwrap();
    run(folder.path(), "git", &["apply", "--unidiff-zero", "--whitespace=nowarn", "patch.diff"]);
    assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), new, "{patch}");
}

/// Generates texts from few distinct lines, so that many lines are equal, with and without a final line end.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a",
        "b",
        "c d",
        "",
        " ",
        "-x",
        "+x",
        "@@ -1 +1 @@",
        "\\ No",
        "é日\r",
        "--- a",
        "\u{2028}",
        "x\ry",
    ]);
    (prop::collection::vec(line, 0..12), any::<bool>()).prop_map(|(lines, ended)| {
        let mut text = lines.join("\n");
        if ended && !text.is_empty() {
            text.push('\n');
        }
        text
    })
}

proptest! {
    // A fixed seed, because git is only the oracle here: without context, it may confuse equal lines.
    #![proptest_config(ProptestConfig { cases: 96, rng_seed: RngSeed::Fixed(15), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_apply_produces_the_new_text(old in text(), new in text(), context in 1usize..5) {
        check_applied("file", &old, &new, context);
    }

    #[test]
    fn changes_reproduce_both_texts(old in ".{0,60}", new in ".{0,60}", unit in prop::sample::select(vec![Unit::Line, Unit::Word])) {
        check_sides(&old, &new, &DiffOptions { unit, ..DiffOptions::default() });
    }

    #[test]
    fn changes_of_similar_texts_reproduce_both_texts(old in text(), new in text(), unit in prop::sample::select(vec![Unit::Line, Unit::Word])) {
        check_sides(&old, &new, &DiffOptions { unit, ..DiffOptions::default() });
        let changes = diff(&old, &new, &DiffOptions { unit, ..DiffOptions::default() }, &never()).unwrap();
        for change in changes {
            prop_assert_eq!(change.utf16_len(), change.text.encode_utf16().count());
        }
    }
}

#[test]
fn quoted_file_names_are_read() {
    // The other names are not allowed on Windows.
    let everywhere = ["two words", "é日", "it's", "[x]"].as_slice();
    let unix = ["a\"b", "tab\there", "line\nend", "back\\slash", "bell\u{7}", "end "];
    for name in everywhere.iter().chain(unix.iter().filter(|_| cfg!(unix))) {
        check_applied(name, "one\ntwo\n", "one\n2\n", 3);
    }
}

#[test]
fn handles_empty_texts_and_missing_final_newlines() {
    for (old, new) in [
        ("", "a"),
        ("a", ""),
        ("", "a\n"),
        ("a\n", "a"),
        ("a", "a\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("\n", ""),
        ("a", "b"),
    ] {
        check_applied("file", old, new, 3);
    }
}

#[test]
fn a_shifted_change_has_correct_hunk_header_positions() {
    check_applied("file", "a\na\na\na\n+x\na\na\nx\ny\na", "b\nx\ny\nb\nx\ny\n", 1);
}

#[test]
fn unified_diffs_match_the_usual_format() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = "1\n2\n3\nfour\n5\n6\n7\n8\n9";
    let options = UnifiedOptions { context: 1, ..UnifiedOptions::default() };
    let expect =
        "--- a\n+++ b\n@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n@@ -8,2 +8,2 @@\n 8\n-9\n+9\n\\ No newline at end of file\n";
    assert_eq!(unified_diff(old, new, &options, &never()).unwrap(), expect);
}

#[test]
fn words_are_compared_within_a_line() {
    let options = DiffOptions { unit: Unit::Word, ..DiffOptions::default() };
    let changes = diff("call(a.b, 1)", "call(a.c, 1)", &options, &never()).unwrap();
    let all: Vec<_> = changes.iter().map(|change| (change.kind, change.text)).collect();
    let expect = [
        (ChangeKind::Equal, "call(a."),
        (ChangeKind::Removed, "b"),
        (ChangeKind::Added, "c"),
        (ChangeKind::Equal, ", 1)"),
    ];
    assert_eq!(all, expect);
}

/// Comparing two texts without common lines needs quadratic time, and texts with many small changes yield many
/// operations.
#[test]
fn hostile_texts_are_compared_within_the_effort_limit() {
    let numbers = |from: usize, count: usize| (from..from + count).map(|n| format!("{n}\n")).collect::<String>();
    let options = DiffOptions { effort: Duration::ZERO, ..DiffOptions::default() };
    check_sides(&numbers(0, 50_000), &numbers(1_000_000, 50_000), &options);
    let every_second = (0..100_000).map(|n| if n % 2 == 0 { "same\n".into() } else { format!("{n}\n") });
    check_sides(&every_second.collect::<String>(), &"same\n".repeat(100_000), &options);
    check_sides(&"a".repeat(3 << 20), &"b".repeat(3 << 20), &DiffOptions::default());
    check_sides(&"same\n".repeat(200_000), &"same\n".repeat(200_001), &DiffOptions::default());
    let patch = unified_diff(
        &"x".repeat(1 << 20),
        "",
        &UnifiedOptions { context: usize::MAX, ..UnifiedOptions::default() },
        &never(),
    );
    assert_eq!(
        patch.unwrap().len(),
        "--- a\n+++ b\n@@ -1 +0,0 @@\n-\n\\ No newline at end of file\n".len() + (1 << 20)
    );
}

#[test]
fn many_operations_reproduce_both_texts() {
    // Every second line differs: an unchanged, a removed and an added line, 1,500 times.
    let text = |mark: &str| {
        (0..3_000).map(|n| if n % 2 == 0 { "same\n".to_owned() } else { format!("{mark}{n}\n") }).collect::<String>()
    };
    let (old, new) = (text("-"), text("+"));
    check_sides(&old, &new, &DiffOptions { effort: Duration::MAX, ..DiffOptions::default() });
}

#[test]
fn a_cancelled_comparison_returns_an_error() {
    let (handle, cancel) = CancelHandle::new();
    handle.cancel();
    assert_eq!(diff("a", "b", &DiffOptions::default(), &cancel).unwrap_err().code(), ErrorCode::Aborted);
    let late = never().with_timeout(Duration::ZERO);
    assert_eq!(unified_diff("a", "b", &UnifiedOptions::default(), &late).unwrap_err().code(), ErrorCode::TimedOut);
}
