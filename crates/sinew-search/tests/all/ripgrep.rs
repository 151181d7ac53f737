//! Compares matches with those of `rg --json`, on handwritten and generated trees.

use crate::oracle::{Case, Tree, agrees, named};
use proptest::prelude::*;

fn repeated(text: &str, times: usize) -> Vec<u8> {
    text.repeat(times).into_bytes()
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    let units = std::iter::once('\u{feff}' as u16).chain(text.encode_utf16());
    units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

/// Returns a text longer than the searcher's buffer that contains `needle` at regular intervals.
fn long(nul_at: Option<usize>) -> Vec<u8> {
    let mut text: Vec<u8> = (0..20_000)
        .flat_map(|n| format!("line {n} {}\n", if n % 997 == 0 { "needle" } else { "hay" }).into_bytes())
        .collect();
    if let Some(at) = nul_at {
        text[at] = 0;
    }
    text
}

#[test]
fn plain_lines() {
    let tree = Tree::new(&[
        ("a.txt", b"needle one\nhay\ntwo needle needle\n"),
        ("b/c.txt", b"no end needle"),
        ("b/empty", b""),
        ("b/.hidden", b"needle\n"),
        ("z", b"\n\n\nNeedle\n"),
    ]);
    agrees(&tree, &Case::new("needle"));
    agrees(&tree, &Case { hidden: false, ..Case::new("needle") });
    agrees(&tree, &Case { ignore_case: true, ..Case::new("needle") });
    agrees(&tree, &Case::new(""));
    agrees(&tree, &Case::new("^$"));
    agrees(&tree, &Case::new("needle$"));
    agrees(&tree, &Case { literal: true, ..Case::new("e n") });
    agrees(&tree, &Case { per_file: Some(1), ..Case::new("needle") });
}

#[test]
fn line_ends() {
    let tree = Tree::new(&[
        ("crlf", b"needle\r\nhay needle\r\nneedle hay\r\n\r\nx needle"),
        ("mixed", b"needle\nneedle\r\nneedle\r"),
        ("lone", b"needle\rhay\rneedle\r"),
    ]);
    for pattern in ["needle$", "^needle$", "needle", "^$", "needle.", r"needle\s", "needle[^x]", r"hay\b"] {
        agrees(&tree, &Case::new(pattern));
        agrees(&tree, &Case { multiline: true, ..Case::new(pattern) });
    }
    // A pattern with a carriage return behaves as in rg without --crlf.
    for pattern in [r"needle\r$", r"\r"] {
        agrees(&tree, &Case { crlf: false, ..Case::new(pattern) });
    }
}

#[test]
fn context_lines() {
    let text: String = (0..200)
        .map(|n| format!("{n} {}\n", if [3, 5, 9, 50, 51, 199].contains(&n) { "needle" } else { "hay" }))
        .collect();
    let tree = Tree::new(&[("a", text.as_bytes()), ("b", b"needle\nneedle\nhay\nhay\nhay\nneedle"), ("c", b"hay\n")]);
    for (before, after) in [(0, 1), (1, 0), (1, 1), (2, 2), (5, 1), (1, 50), (300, 300)] {
        agrees(&tree, &Case { before, after, ..Case::new("needle") });
        agrees(&tree, &Case { before, after, multiline: true, ..Case::new("needle\n.* hay") });
    }
    let long = Tree::new(&[("long", &long(None))]);
    agrees(&long, &Case { before: 3, after: 2, ..Case::new("needle") });
}

#[test]
fn nul_bytes() {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for at in [0, 1, 5_000, 65_535, 65_536, 65_537, 70_000, 131_071, 131_072, 200_000, 260_000] {
        files.push((format!("nul-at-{at}"), long(Some(at))));
    }
    files.push(("before".into(), b"needle\n\0".to_vec()));
    files.push(("after".into(), b"\0\nneedle\n".to_vec()));
    files.push(("in".into(), b"nee\0dle\nneedle\n".to_vec()));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let tree = Tree::new(&files);
    agrees(&tree, &Case::new("needle"));
    agrees(&tree, &Case { after: 2, before: 2, ..Case::new("needle") });
    agrees(&tree, &Case::new("nothing here"));
    agrees(&tree, &Case { multiline: true, ..Case::new("needle\nline") });
    for (name, _) in &files {
        named(&tree, name, &Case::new("needle"));
    }
}

/// Texts of up to a megabyte are read completely before they are searched.
#[test]
fn texts_of_a_megabyte() {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for size in [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 1_100_000] {
        let mut text = repeated("hay hay hay hay\n", size / 16);
        text.resize(size - 7, b'.');
        text.extend(b"\nneedle");
        for nul in [None, Some(1_000_000), Some((1 << 20) - 1), Some(1 << 20)] {
            let mut text = text.clone();
            let Some(at) = nul else {
                files.push((format!("{size}"), text));
                continue;
            };
            text[500_000..500_007].copy_from_slice(b"\nneedle");
            if let Some(byte) = text.get_mut(at) {
                *byte = 0;
                files.push((format!("{size}-nul-at-{at}"), text));
            }
        }
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let tree = Tree::new(&files);
    for pattern in ["needle", "nothing here", "^needle$"] {
        agrees(&tree, &Case::new(pattern));
    }
    agrees(&tree, &Case { before: 2, after: 1, ..Case::new("needle") });
    agrees(&tree, &Case { multiline: true, ..Case::new("hay\nneedle") });
    files.iter().for_each(|(name, _)| named(&tree, name, &Case::new("needle")));
}

#[test]
fn encodings() {
    let text = "erste needle\r\nzweite ä\nneedle 😀\n";
    let long = "hay ".repeat(40_000) + "\nneedle\n";
    let tree = Tree::new(&[
        ("le", &utf16(text, false)),
        ("be", &utf16(text, true)),
        ("long", &utf16(&long, false)),
        ("bom", b"\xEF\xBB\xBFneedle\n"),
        ("nobom", b"n\0e\0e\0d\0l\0e\0"),
        ("latin", b"caf\xE9 needle\nneedle \xFF\xFE\n"),
        ("broken", b"\xF0\x9F needle\n\x80\n"),
    ]);
    agrees(&tree, &Case::new("needle"));
    agrees(&tree, &Case::new("^needle"));
    agrees(&tree, &Case::new("(?-u)\\xFF"));
    agrees(&tree, &Case::new("."));
    agrees(&tree, &Case { multiline: true, ..Case::new("ä\\nneedle") });
    named(&tree, "le", &Case::new("needle"));
}

#[test]
fn large_files() {
    let mut needle_at_the_end = repeated("hay hay hay hay\n", 330_000);
    needle_at_the_end.extend(b"the needle\n");
    let mut one_line = repeated("hay ", 300_000);
    one_line.extend(b"needle");
    one_line.extend(repeated(" hay", 300_000));
    let tree = Tree::new(&[
        ("end", &needle_at_the_end),
        ("line", &one_line),
        ("edge", &[&vec![b'x'; 65_530][..], b"needle\n"].concat()),
    ]);
    agrees(&tree, &Case::new("needle"));
    agrees(&tree, &Case { before: 2, ..Case::new("needle") });
    agrees(&tree, &Case { multiline: true, ..Case::new("hay\\nthe") });
    named(&tree, "end", &Case::new("needle"));
}

#[test]
fn multiline_matches() {
    let tree = Tree::new(&[
        ("a", b"fn a() {\n  x\n}\nfn b() {\n}\n\nfn c() { fn d() {\n}}\n"),
        ("b", b"one\ntwo\nthree\nfour"),
        ("c", b"\n\n\n"),
    ]);
    for pattern in [
        r"fn \w\(\) \{[^}]*\}",
        r"one\ntwo",
        r"e\n",
        r"\n",
        r"(?s)one.*",
        r"two\nthree\nfour$",
        r"^\n",
        r"\A.",
        r"x\n\}\nfn",
    ] {
        agrees(&tree, &Case { multiline: true, ..Case::new(pattern) });
    }
}

#[test]
fn types_and_globs_select_files() {
    let tree = Tree::new(&[
        ("a.rs", b"needle\n"),
        ("b.js", b"needle\n"),
        ("src/c.rs", b"needle\n"),
        ("src/d.md", b"needle\n"),
    ]);
    agrees(&tree, &Case { file_type: Some("rust"), ..Case::new("needle") });
    agrees(&tree, &Case { glob: Some("*.rs"), ..Case::new("needle") });
    agrees(&tree, &Case { glob: Some("!*.rs"), ..Case::new("needle") });
    agrees(&tree, &Case { glob: Some("src/**"), ..Case::new("needle") });
    agrees(&tree, &Case { glob: Some("*.{js,md}"), ..Case::new("needle") });
}

#[test]
fn ignore_rules_of_a_work_tree() {
    let tree = Tree::new(&[
        (".git/config", b""),
        (".gitignore", b"target\n*.log\n!keep.log\n"),
        ("target/a", b"needle\n"),
        ("b.log", b"needle\n"),
        ("keep.log", b"needle\n"),
        ("src/.gitignore", b"gen/\n"),
        ("src/gen/c", b"needle\n"),
        ("src/c", b"needle\n"),
    ]);
    agrees(&tree, &Case::new("needle"));
    agrees(&tree, &Case { gitignore: false, ..Case::new("needle") });
}

fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![Just("a"), Just("ab"), Just("b"), Just(" "), Just("é"), Just("A"), Just("x\ty"), Just("")];
    (prop::collection::vec(word, 0..6), prop_oneof![5 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")])
        .prop_map(|(words, end)| words.concat() + end)
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(line(), 0..30), prop::option::weighted(0.1, 0..400usize), any::<bool>()).prop_map(
        |(lines, nul, cut)| {
            let mut text = lines.concat().into_bytes();
            if cut {
                text.pop();
            }
            if let Some(at) = nul.filter(|at| *at < text.len()) {
                text[at] = 0;
            }
            text
        },
    )
}

fn pattern() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("a"),
        Just("^a"),
        Just("b$"),
        Just("^$"),
        Just(""),
        Just("a.b"),
        Just(r"\bab\b"),
        Just("(a|b)+ "),
        Just("[^ab]"),
        Just(r"a\s"),
        Just("é"),
        Just(r"\W$"),
        Just("b*"),
        Just("x.y"),
        Just(r"^\S+$"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn generated_trees(
        files in prop::collection::vec(file(), 1..6),
        pattern in pattern(),
        across in prop_oneof![Just(r"a\nb"), Just(r"b\s+a"), Just(r"(?s)a.{0,3}b"), Just(r"\n\n")],
        ignore_case: bool,
        before in 0usize..3,
        after in 0usize..3,
        per_file in prop::option::of(1u32..4),
    ) {
        let names: Vec<String> = (0..files.len()).map(|n| format!("d{}/f{n}", n % 2)).collect();
        let listed: Vec<(&str, &[u8])> = names.iter().zip(&files).map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        let tree = Tree::new(&listed);
        agrees(&tree, &Case { ignore_case, before, after, ..Case::new(pattern) });
        agrees(&tree, &Case { ignore_case, per_file, ..Case::new(pattern) });
        agrees(&tree, &Case { multiline: true, ignore_case, before, after, ..Case::new(across) });
        // Without context, because rg prints context for an empty match after the last line but drops the match.
        agrees(&tree, &Case { multiline: true, ..Case::new(pattern) });
    }
}
