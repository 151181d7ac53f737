//! Tests that plans are sound: if the engine finds a match, the grams of the text satisfy the plan, and the index
//! returns the file as a candidate.

use std::cell::RefCell;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use regex_syntax::hir::Hir;
use sinew_index::{Grams, Plan, PostingsBuilder, Reach};

/// The search settings that change the meaning of a pattern.
#[derive(Debug, Clone, Copy)]
struct Syntax {
    ignore_case: bool,
    literal: bool,
    multiline: bool,
}

fn matcher(pattern: &str, syntax: Syntax) -> Option<RegexMatcher> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).crlf(true).octal(false).case_insensitive(syntax.ignore_case).fixed_strings(syntax.literal);
    if syntax.multiline {
        builder.line_terminator(None);
    }
    builder.build(pattern).ok()
}

fn form(pattern: &str, syntax: Syntax) -> Hir {
    let pattern = if syntax.literal { regex_syntax::escape(pattern) } else { pattern.to_string() };
    regex_syntax::ParserBuilder::new()
        .utf8(false)
        .multi_line(true)
        .crlf(true)
        .case_insensitive(syntax.ignore_case)
        .build()
        .parse(&pattern)
        .expect("the engine accepted the pattern")
}

/// A small alphabet, so that texts and patterns match often: letters in both cases, the two characters that fold into
/// ASCII, and multi-byte characters.
const LETTERS: &[&str] =
    &["a", "B", "k", "K", "s", "S", "\u{212A}", "\u{17F}", "ß", "ẞ", "é", "É", "€", "_", "1", " ", "\t"];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => prop::sample::select(LETTERS).prop_map(|letter| letter.as_bytes().to_vec()),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        8 => prop::collection::vec(prop::sample::select(LETTERS), 1..5).prop_map(|letters| letters.concat()),
        2 => prop::sample::select(&[
            ".", "\\w", "\\s", "\\d", "[^a]", "[a-k]", "[ks]", "[K-S]", "^", "$", "\\b", "\\B", "\\A", "\\z", "(?-u:\\xE2)", "(?-u:[\\x80-\\xFF])",
            "(?s:.)", "\\n", "\\PL", "\\p{Lu}", "[\u{212A}x]", "(?i:k)", "(?i:sS)", "(?-i:K)", "[a&&b]", "\\x{17F}", "",
        ][..]).prop_map(str::to_string),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..5).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner.clone(), prop::sample::select(&["*", "+", "?", "{2}", "{0}", "{1,3}", "{3,}", "{6}", "*?", "+?"][..]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
            1 => inner.prop_map(|part| format!("({part})")),
        ]
    })
}

/// Returns a piece of the text to use as a pattern, so that many cases match.
fn piece(text: &[u8], from: usize, length: usize) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().skip(from).take(length).filter(|character| *character != '\u{FFFD}').collect()
}

/// Returns whether the engine finds the pattern in the text, with the settings of a search; `None` if the pattern does
/// not compile.
fn is_found(text: &[u8], pattern: &str, syntax: Syntax) -> Option<bool> {
    let matcher = matcher(pattern, syntax)?;
    let holds = |text: &[u8]| matcher.is_match(text).expect("the engine has no limit");
    Some(match syntax.multiline {
        true => holds(text),
        false => text.split_inclusive(|&byte| byte == b'\n').any(|line| holds(without_end(line))),
    })
}

/// Returns the line without its terminator.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

thread_local! {
    static GRAMS: RefCell<Grams> = RefCell::new(Grams::new());
}

/// The text, a pattern, the start and length of a piece of the text, and two settings; four patterns are built from
/// these.
type Case = (Vec<u8>, String, (usize, usize), bool, bool);

fn cases() -> impl Strategy<Value = Case> {
    (text(), pattern(), (0usize..20, 1usize..12), any::<bool>(), any::<bool>())
}

/// Checks that every match satisfies its plan. `indexed` returns the text as the index stores it.
fn check_plan(case: Case, indexed: impl Fn(&[u8]) -> Vec<u8>) -> Result<(), TestCaseError> {
    let (text, pattern, (from, length), ignore_case, multiline) = case;
    let syntax = Syntax { ignore_case, literal: false, multiline };
    let piece = piece(&text, from, length);
    let escaped = regex_syntax::escape(&piece);
    let patterns = [
        (pattern.clone(), syntax),
        (piece, Syntax { literal: true, ..syntax }),
        (format!("{escaped}(?:{pattern})?"), syntax),
        (format!("(?:{pattern})*{escaped}"), syntax),
    ];
    let indexed = indexed(&text);
    for (pattern, syntax) in patterns {
        if is_found(&text, &pattern, syntax) == Some(true) {
            let plan = Plan::of(&form(&pattern, syntax));
            let admitted = GRAMS.with_borrow_mut(|grams| plan.admits(grams.of(&indexed)));
            prop_assert!(admitted, "{:?} {:?} {:?}: {}", pattern, syntax, text, plan);
        }
    }
    Ok(())
}

/// Runs at least this many cases; `PROPTEST_CASES` can request more.
fn at_least(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(cases), ..config }
}

proptest! {
    #![proptest_config(at_least(2_500))]

    #[test]
    fn every_match_satisfies_its_plan(case in cases()) {
        check_plan(case, <[u8]>::to_vec)?;
    }
}

/// Returns the part of a text that an index has read.
type Indexed = fn(&[u8]) -> Vec<u8>;

/// Verifies the check itself: it fails for an index that lost a part of each text.
#[test]
fn the_check_fails_for_an_index_that_lost_text() {
    let faults: [(&str, Indexed); 3] = [
        ("a byte in the middle", |text| {
            [&text[..text.len() / 2], &text[(text.len() / 2 + 1).min(text.len())..]].concat()
        }),
        ("the end", |text| text[..text.len().saturating_sub(2)].to_vec()),
        ("the sign that folds into ASCII", |text| {
            String::from_utf8_lossy(text).replace(['\u{212A}', '\u{17F}'], "").into_bytes()
        }),
    ];
    for (name, indexed) in faults {
        let config = ProptestConfig { cases: 2_500, failure_persistence: None, ..ProptestConfig::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let outcome = TestRunner::new_with_rng(config, rng).run(&cases(), |case| check_plan(case, indexed));
        assert!(matches!(outcome, Err(TestError::Fail(..))), "{name}: {outcome:?}");
    }
}

proptest! {
    #![proptest_config(at_least(300))]

    /// Uses long lines and many documents, with a small text inserted between them.
    #[test]
    fn every_file_with_a_match_is_a_candidate(
        text in text(), pattern in pattern(), before in 0usize..40_000, after in 0usize..40_000, breaks: bool,
        (from, length) in (0usize..20, 1usize..12), ignore_case: bool, multiline: bool,
    ) {
        let filler = |length: usize| if breaks { b"filler of a line\n".repeat(length / 17) } else { b"one long line ".repeat(length / 14) };
        let text = [filler(before), text, filler(after)].concat();
        let syntax = Syntax { ignore_case, literal: false, multiline };
        let files = [b"another file\n".as_slice(), &text, b""];
        let mut builder = PostingsBuilder::new();
        for file in files {
            builder.add(file);
        }
        let index = builder.build();
        let reach = if multiline { Reach::File } else { Reach::Line };
        let piece = regex_syntax::escape(&piece(&text, before + from, length));
        for pattern in [pattern, piece] {
            for (number, file) in files.iter().enumerate() {
                if is_found(file, &pattern, syntax) == Some(true) {
                    let plan = Plan::of(&form(&pattern, syntax));
                    let candidates = index.candidates(&plan, reach).files;
                    prop_assert!(candidates.contains(number as u32), "{:?} {:?}: {}", pattern, syntax, plan);
                }
            }
        }
    }
}
