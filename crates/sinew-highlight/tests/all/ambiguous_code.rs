//! Tests constructs that are easily mistaken for something else.

use crate::marks::{decode, palette};
use sinew_highlight::{Category, HighlightStream, highlight};

/// A language, code, and parts of the code with their category.
type Case = (&'static str, &'static str, &'static [(&'static str, Category)]);

const CASES: &[Case] = &[
    // Only MySQL has escapes in strings.
    ("sql", "select 'a\\', 1 from t", &[("'a\\'", Category::String), ("1", Category::Number)]),
    ("sql", "select \"a\\\" from t", &[("\"a\\\"", Category::String), ("from", Category::Keyword)]),
    ("postgres", "select E'a\\'b', 1", &[("E'a\\'b'", Category::String), ("1", Category::Number)]),
    ("postgres", "select a #> 'x', 1", &[("'x'", Category::String), ("1", Category::Number)]),
    ("tsql", "select 1 from #temp where 2", &[("where", Category::Keyword), ("2", Category::Number)]),
    ("sql", "# a comment\nselect 1", &[("# a comment", Category::Comment)]),
    (
        "mysql",
        "select 'a\\'b', 1 # c",
        &[("'a\\'b'", Category::String), ("1", Category::Number), ("# c", Category::Comment)],
    ),
    ("mysql", "select `a\\`, 1", &[("`a\\`", Category::String), ("1", Category::Number)]),
    ("mysql", "select 5--1 -- c", &[("1", Category::Number), ("-- c", Category::Comment)]),
    ("sqlite", "select 'a\n\\' , 1", &[("1", Category::Number)]),
    // A hunk header contains the number of its lines.
    (
        "diff",
        "@@ -1,2 +1,2 @@\n--- x\n+++ y\n a\n--- b\n",
        &[("--- x", Category::Deleted), ("+++ y", Category::Inserted), ("--- b", Category::Keyword)],
    ),
    (
        "diff",
        "@@ -1 +1 @@\n--- x\n+++ y\n--- a/f\n",
        &[("--- x", Category::Deleted), ("+++ y", Category::Inserted), ("--- a/f", Category::Keyword)],
    ),
    ("diff", "@@ -3,0 +4 @@\n+# x\n# y\n", &[("+# x", Category::Inserted), ("# y", Category::Comment)]),
    (
        "diff",
        "@@ -1,9 +1,9 @@\n-x\ndiff --git a b\n--- a\n",
        &[("diff --git a b", Category::Keyword), ("--- a", Category::Keyword)],
    ),
    (
        "diff",
        "--- a\n+++ b\n@@ -1 +1 @@\n-x\n\\ No newline\n+y\n-z\n",
        &[
            ("--- a", Category::Keyword),
            ("-x", Category::Deleted),
            ("+y", Category::Inserted),
            ("-z", Category::Deleted),
        ],
    ),
    // Here-documents.
    (
        "bash",
        "cat <<'END OF'\n$x\nEND\nEND OF\necho",
        &[("$x", Category::String), ("END\n", Category::String), ("END OF\n", Category::Keyword)],
    ),
    ("bash", "cat <<\"a b\" | wc\n$x\na b\nif true; then", &[("$x", Category::String), ("if", Category::Keyword)]),
    ("bash", "cat <<a\\ b\n$x\na b\nif true", &[("$x", Category::String), ("if", Category::Keyword)]),
    ("bash", "cat <<E'O'F\n$x\nEOF\nif true", &[("$x", Category::String), ("if", Category::Keyword)]),
    ("bash", "cat <<EOF\n$x\nEOF\nif true", &[("$x", Category::Variable), ("if", Category::Keyword)]),
    ("perl", "print <<\"END OF\";\nmy x\nEND OF\nmy $y;", &[("my x", Category::String), ("my $", Category::Keyword)]),
    ("ruby", "puts <<~'END OF'\n  if x\n  END OF\nif y", &[("if x", Category::String), ("if y", Category::Keyword)]),
    // Line comments continued by a backslash.
    ("c", "// a \\\nif b\nif (c)", &[("if b", Category::Comment), ("if (", Category::Keyword)]),
    ("cpp", "// a \\\nif b \\\nif c\nif (d)", &[("if c", Category::Comment), ("if (", Category::Keyword)]),
    ("objc", "// a \\\nif b\nif (c)", &[("if b", Category::Comment), ("if (", Category::Keyword)]),
    ("java", "// a \\\nif (c)", &[("if", Category::Keyword)]),
    // Raw strings.
    ("kotlin", "val a = \"\"\"\\\"\"\"\nval b = 1", &[("val b", Category::Keyword), ("1", Category::Number)]),
    ("kotlin", "val a = \"\"\"x\"\"\"\"\nval b = 1", &[("x\"\"\"\"", Category::String), ("val b", Category::Keyword)]),
    ("kotlin", "val a = \"\"\"C:\\$dir\\\"\"\"; val b", &[("dir", Category::Variable), ("val b", Category::Keyword)]),
    // Strings in comments.
    ("ocaml", "(* \"*)\" if *) if x", &[("if *)", Category::Comment), ("if x", Category::Keyword)]),
    ("ocaml", "(* \"\n*)\n\" if *) if x", &[("if *)", Category::Comment), ("if x", Category::Keyword)]),
    ("ocaml", "(* '\"' *) if x", &[("if x", Category::Keyword)]),
    ("ocaml", "(* \"\\\"*)\" *) if x", &[("if x", Category::Keyword)]),
    ("ocaml", "(* (* \"(*\" *) *) if x", &[("if x", Category::Keyword)]),
    ("fsharp", "(* \"*)\" if *) if x", &[("if *)", Category::Comment), ("if x", Category::Keyword)]),
    ("sml", "(* \"*) if x", &[("if x", Category::Keyword)]),
];

#[test]
fn recognises_ambiguous_constructs() {
    for (lang, code, parts) in CASES {
        let (_, whole) = decode(&highlight(code, lang, &palette()));
        let mut stream = HighlightStream::new(lang, &palette());
        let streamed: String = code.split_inclusive('\n').map(|line| stream.push(line)).collect();
        assert_eq!(decode(&streamed).1, whole, "{lang} {code:?} as a stream");
        for (part, category) in *parts {
            let at = code.rfind(part).unwrap_or_else(|| panic!("{part:?} is not in {code:?}"));
            // Only the first character of the part is compared, unless the whole part has one category.
            let end = at + if part.contains(' ') && *category == Category::Keyword { 1 } else { part.trim_end().len() };
            for (byte, painted) in code.bytes().zip(&whole).take(end).skip(at) {
                assert!(byte.is_ascii_whitespace() || painted == category, "{lang} {code:?}: {part:?} is {painted:?}");
            }
        }
    }
}
