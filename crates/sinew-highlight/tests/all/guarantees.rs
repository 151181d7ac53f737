//! Tests the guarantees in the crate's documentation for every lexer and some grammars, over generated text.

use crate::marks::{decode, palette};
use proptest::prelude::*;
use sinew_highlight::{
    Category, Colors, HighlightResult, HighlightStream, highlight, highlight_by_lexer, highlight_detailed, languages,
    supports,
};

/// Languages that use a grammar.
const GRAMMARS: &[&str] = &["textile", "jsonnet", "orgmode", "rst", "bibtex", "jsp", "gnuplot", "lean"];

/// Code of which every lexer colours something.
const SAMPLE: &str = "if (a1) { return \"b\"; } // c\n- d: 1\n<e f='g'>\n#if x\n= 'y'\n\\z\n";

/// Returns the languages with a built-in lexer.
fn lexers() -> Vec<String> {
    let own = |lang: &String| lang != "text" && highlight_by_lexer(SAMPLE, lang, &palette()) != SAMPLE;
    let lexers: Vec<String> = languages().into_iter().filter(own).collect();
    assert!(lexers.len() >= 90, "{}", lexers.len());
    lexers
}

/// Pieces of code that open, close or nest constructs in some language.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "`",
    "\"\"\"",
    "'''",
    "${",
    "$(",
    "$((",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "</",
    "/>",
    "<div>",
    "</div>",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "<!--",
    "-->",
    "/*",
    "*/",
    "//",
    "#",
    "--",
    "\\",
    "\n",
    "\n",
    "\r\n",
    "\t",
    "  ",
    "<<EOF",
    "EOF",
    "<<-'X'",
    "X",
    "<<<A",
    "A;",
    "r#\"",
    "\"#",
    "R\"x(",
    ")x\"",
    "@\"",
    "$\"{a}",
    "f\"{x!r:>3}",
    "#{",
    "%w(",
    "=begin",
    "=end",
    "__END__",
    "<?php",
    "?>",
    "---",
    "```",
    "```rust",
    "~~~",
    "|",
    ">",
    ":",
    "key: ",
    "- ",
    "&a",
    "*a",
    "!t",
    "@@ -1 +1 @@",
    "+",
    "-",
    "0x1F",
    "1.5e-3",
    "fn ",
    "class ",
    "def ",
    "function ",
    "let x = ",
    "case x in",
    "esac",
    "if ",
    "do |a|",
    "end",
    "=>",
    "->",
    "::",
    "é",
    "漢",
    "😀",
    "\u{0}",
    "\u{1b}",
    "\u{1b}[31m",
    "'a ",
    "b'",
    "L'",
    "name",
    "Name",
    "NAME",
    "f(",
    "x.y",
    "a<b>",
    ".5",
    "1..2",
    "=",
    "==",
    ";",
    ",",
    "@media",
    "#fff",
];

fn code() -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![8 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => ".{0,6}", 1 => "[ -~]{1,8}"];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[track_caller]
fn check_guarantees(code: &str, lang: &str) {
    let whole = highlight(code, lang, &palette());
    // Lines that contain codes in the input get no codes of ours.
    let stripped: String =
        whole.split_inclusive('\n').zip(code.split_inclusive('\n')).map(|(ours, line)| strip(ours, line)).collect();
    assert_eq!(stripped, code, "{lang}: text changed");
    let mut stream = HighlightStream::new(lang, &palette());
    let lines: String = code.split_inclusive('\n').map(|line| stream.push(line)).collect();
    assert_eq!(lines, whole, "{lang}: the stream differs");
}

/// Returns a line without our codes; checks that it ends with its colours reset.
#[track_caller]
fn strip(ours: &str, line: &str) -> String {
    if line.contains('\x1b') {
        return ours.to_owned();
    }
    let (text, _) = decode(ours);
    let body = ours.trim_end_matches(['\n', '\r']);
    let last = body.rfind("\x1b[").map(|at| &body[at..]);
    assert!(last.is_none_or(|last| last.starts_with("\x1b[39m")), "colours are not reset: {ours:?}");
    text
}

#[test]
fn highlight_by_lexer_supports_only_languages_with_a_lexer() {
    for name in lexers().iter().map(String::as_str).chain([" .RS", "C++"]) {
        assert_eq!(highlight_by_lexer(SAMPLE, name, &palette()), highlight(SAMPLE, name, &palette()), "{name}");
    }
    for name in GRAMMARS.iter().chain([&"", &"nothing"]) {
        assert_eq!(highlight_by_lexer(SAMPLE, name, &palette()), SAMPLE, "{name}");
    }
    assert_eq!(highlight_by_lexer(SAMPLE, "rust", &Colors::default()), SAMPLE);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_lexer_keeps_the_text(code in code()) {
        for lang in lexers() {
            check_guarantees(&code, &lang);
        }
    }

    #[test]
    fn a_stream_cut_anywhere_keeps_the_text(code in code(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(code.len() + 1)).filter(|&cut| code.is_char_boundary(cut)).collect();
        cuts.extend([0, code.len()]);
        cuts.sort_unstable();
        for lang in ["typescript", "python", "markdown", "bash", "ruby", "lua", "perl", "jinja", "swift", "properties"] {
            let mut stream = HighlightStream::new(lang, &palette());
            for pair in cuts.windows(2) {
                let chunk = &code[pair[0]..pair[1]];
                let shown = stream.push(chunk);
                let (text, _) = decode(&shown);
                if !code.contains('\x1b') {
                    prop_assert_eq!(text, chunk);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grammars_keep_the_text(code in code()) {
        for lang in GRAMMARS {
            check_guarantees(&code, lang);
        }
    }
}

#[test]
fn a_line_in_chunks_has_the_colours_of_the_whole_line() {
    let mut stream = HighlightStream::new("rust", &palette());
    let shown = [stream.push("let x = \"a"), stream.push("b\"; // c"), stream.push("d\nfn f() {}\n")].concat();
    assert_eq!(decode(&shown), decode(&highlight("let x = \"ab\"; // cd\nfn f() {}\n", "rust", &palette())));
}

#[test]
fn unknown_languages_and_empty_palettes_change_nothing() {
    for (lang, colors) in [("no such language", palette()), ("", palette()), ("rust", Colors::default())] {
        assert_eq!(highlight("fn main() {}\r\n\x1b[1m", lang, &colors), "fn main() {}\r\n\x1b[1m");
    }
    assert!(!supports("no such language"));
}

#[test]
fn ignores_palette_entries_that_are_not_colours() {
    for entry in ["\x1b[2J", "red", "\x1b[31", "\x1b]0;x\x07", "\x1b[31mx", "\x1b[m"] {
        let colors = Colors { keyword: entry.into(), ..Colors::default() };
        assert_eq!(highlight("fn", "rust", &colors), "fn", "{entry:?}");
    }
}

#[test]
fn resets_exactly_the_attributes_of_a_colour() {
    for (begin, end) in [
        ("\x1b[31m", "\x1b[39m"),
        ("\x1b[38;2;1;2;3m", "\x1b[39m"),
        ("\x1b[38:5:200m", "\x1b[39m"),
        ("\x1b[1;4;95m", "\x1b[39;22;24m"),
        ("\x1b[48;5;1m", "\x1b[49m"),
        ("\x1b[1m\x1b[3m", "\x1b[22;23m"),
        ("\x1b[7m", "\x1b[0m"),
    ] {
        let colors = Colors { keyword: begin.into(), ..Colors::default() };
        assert_eq!(highlight("fn\n", "rust", &colors), format!("{begin}fn{end}\n"));
    }
}

#[test]
fn a_background_does_not_cover_the_blanks_between_tokens() {
    let colors = Colors { keyword: "\x1b[41m".into(), ..Colors::default() };
    assert_eq!(highlight("pub fn\n", "rust", &colors), "\x1b[41mpub\x1b[49m \x1b[41mfn\x1b[49m\n");
}

#[test]
fn every_listed_language_is_supported() {
    let all = languages();
    assert!(all.len() >= 100, "{}", all.len());
    assert!(all.is_sorted());
    for lang in &all {
        assert!(supports(lang), "{lang}");
    }
    for lang in GRAMMARS {
        assert!(all.iter().any(|known| known == lang), "{lang}");
    }
}

#[test]
fn names_extensions_and_aliases_are_found_in_any_case() {
    for lang in [
        "ts",
        "TSX",
        ".rs",
        "py",
        "sh",
        "zsh",
        "yml",
        "md",
        "c++",
        "C#",
        "Dockerfile",
        "makefile",
        "objective-c",
        "protobuf",
        "viml",
        "F#",
        "jsx",
        "kt",
        "ps1",
        "tf",
        "hs",
        "ex",
        "proto",
        "cmake",
        "ini",
        "latex",
        "verilog",
        "nix",
        "lisp",
        "r",
        "d",
        "xml",
        "svg",
        "vue",
        "zig",
    ] {
        assert!(supports(lang), "{lang}");
    }
}

#[test]
fn keeps_the_text_of_long_lines() {
    for lang in lexers().iter().map(String::as_str).chain(["textile"]) {
        for unit in [
            "(", "`${", "<a ", "\"\\", "#{", "$(", "f\"{", "[", "/*", "a:", "{% ", "<<A ", "/ ", "'a", "${", "qw(",
            "--[==", "#",
        ] {
            let code = unit.repeat(4_000);
            let (text, _) = decode(&highlight(&code, lang, &palette()));
            assert_eq!(text, code, "{lang} {unit:?}");
        }
    }
}

#[test]
fn counts_the_lines_beyond_the_budget_of_a_grammar() {
    let line = "h1. A heading of \"text\":http://a.b *bold* |_. cell |\n";
    for lang in ["textile", "re"] {
        let few = line.repeat(20);
        let many = line.repeat(40_000);
        let all = highlight_detailed(&few, lang, &palette());
        assert_eq!((all.text.as_str(), all.plain_lines), (highlight(&few, lang, &palette()).as_str(), 0), "{lang}");
        let cut = highlight_detailed(&many, lang, &palette());
        assert!(cut.text.starts_with(&all.text[..all.text.len() - line.len() * 4]), "{lang}");
        assert!(cut.plain_lines > 39_000 && cut.plain_lines < 39_950, "{lang}: {}", cut.plain_lines);
        assert!(cut.text.ends_with(&line.repeat(cut.plain_lines)), "{lang}: counted lines are plain");
        assert_eq!(decode(&cut.text).0, many, "{lang}");
        let mut stream = HighlightStream::new(lang, &palette());
        let lines: String = many.split_inclusive('\n').map(|line| stream.push(line)).collect();
        assert!(lines == cut.text && stream.plain_lines() == cut.plain_lines, "{lang}: the stream differs");
    }
}

#[test]
fn languages_with_a_lexer_have_no_limit() {
    for lang in lexers() {
        assert_eq!(highlight_detailed(&SAMPLE.repeat(2_000), &lang, &palette()).plain_lines, 0, "{lang}");
    }
    assert_eq!(
        highlight_detailed("a\n", "nothing", &palette()),
        HighlightResult { text: "a\n".into(), plain_lines: 0 }
    );
}

#[test]
fn a_line_too_long_for_a_grammar_is_counted_once() {
    let long = format!("{}\nh1. x\n", "a ".repeat(20_000));
    assert_eq!(highlight_detailed(&long, "textile", &palette()).plain_lines, 1);
    let mut stream = HighlightStream::new("rust", &palette());
    for _ in 0..20 {
        let _ = stream.push(&"a ".repeat(1_000));
    }
    let _ = stream.push("\nfn f() {}\n");
    assert_eq!(stream.plain_lines(), 1);
}

#[test]
fn a_line_with_an_escape_character_stays_plain() {
    let shown = highlight("fn a\nfn \x1b[3\nfn b\n", "rust", &palette());
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[1], "fn \x1b[3");
    assert_eq!(decode(lines[2]).1[0], Category::Keyword);
}
