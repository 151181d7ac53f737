//! Limits of sizes: lines of a file, of a function and of a crate.

use std::collections::BTreeMap;

use super::source::{self, Excusable};

/// A file with more lines than this covers several topics.
const LONGEST_FILE: usize = 800;
/// A file of the binding with more lines than this probably contains logic.
const LONGEST_BINDING: usize = 150;
/// A function with more lines than this does several things. Functions of tests may contain tables.
const LONGEST_FUNCTION: usize = 80;
/// The largest part of all lines that one crate may have, in percent.
const LARGEST_CRATE: usize = 12;

/// Finds files and crates that are too large.
pub(super) fn check(files: &[(String, String)], faults: &mut Vec<String>) {
    let mut crates: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, text) in files {
        let lines = text.lines().count();
        let most = if path.starts_with("native/src/") { LONGEST_BINDING } else { LONGEST_FILE };
        if lines > most && !path.ends_with(".d.ts") {
            faults.push(format!("{path} has {lines} lines, more than {most}: split it by topic"));
        }
        if let Some((folder, _)) = path.split_once("/src/").filter(|_| path.ends_with(".rs")) {
            *crates.entry(folder).or_default() += lines;
        }
    }
    let all: usize = crates.values().sum();
    for (folder, lines) in crates.into_iter().filter(|(_, lines)| lines * 100 > all * LARGEST_CRATE) {
        faults.push(format!("{folder} has {lines} of {all} lines, more than {LARGEST_CRATE} %: split the crate"));
    }
}

/// Finds functions that are too long.
pub(super) fn functions(files: &[(String, String)]) -> Vec<Excusable> {
    let is_source = |path: &str| path.contains("src/") && path.ends_with(".rs") && !path.ends_with("tests.rs");
    let mut found = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| is_source(path)) {
        let (code, _) = source::without_tests(&source::code(text));
        let lines: Vec<&str> = code.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            // A function in one line is short.
            let Some((indent, name)) = function(line).filter(|_| !line.trim_end().ends_with('}')) else { continue };
            // The source is formatted, so the end has the indentation of the beginning.
            let end = lines[at..].iter().position(|line| line.trim_end().strip_prefix(indent) == Some("}"));
            let length = end.map_or(0, |end| end + 1);
            // A declaration without a body ends with a semicolon before any brace.
            let has_body =
                lines[at..].iter().find_map(|line| line.chars().find(|c| ['{', ';'].contains(c))) == Some('{');
            if has_body && length > LONGEST_FUNCTION {
                let message = format!("{path}: {name} has {length} lines, more than {LONGEST_FUNCTION}: split it");
                found.push((format!("long {path} {name}"), message));
            }
        }
    }
    found
}

/// Returns the indentation and the name of a function that begins in this line.
fn function(line: &str) -> Option<(&str, &str)> {
    let indent = &line[..line.len() - line.trim_start().len()];
    let mut words = line.trim_start().split(' ');
    let is_before = |word: &&str| word.starts_with("pub") || ["const", "async", "unsafe", "extern"].contains(word);
    let keyword = words.by_ref().find(|word| !is_before(word) && !word.trim().is_empty())?;
    let name = words.next().filter(|_| keyword == "fn")?;
    Some((indent, name.split(['(', '<']).next().unwrap_or(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_functions_are_found_outside_of_tests() {
        let body = "    a();\n".repeat(80);
        for (text, expect) in [
            (
                format!("pub(crate) async fn long<T>(a: T)\nwhere\n    T: A,\n{{\n{body}}}\n"),
                Some("long a/src/b.rs long"),
            ),
            (format!("fn short() {{\n{}}}\n", "    a();\n".repeat(78)), None),
            (
                format!("trait A {{\n    fn declared();\n    fn long() {{\n    {body}    }}\n}}\n"),
                Some("long a/src/b.rs long"),
            ),
            (format!("#[cfg(test)]\nmod tests {{\n    fn long() {{\n{body}    }}\n}}\n"), None),
        ] {
            let found = functions(&[("a/src/b.rs".into(), text.clone())]);
            assert_eq!(found.first().map(|(key, _)| key.as_str()), expect, "{text}");
        }
    }

    #[test]
    fn a_crate_with_too_many_lines_is_found() {
        let files = |own: usize| {
            let others = (0..9).map(|at| (format!("crates/{at}/src/lib.rs"), "x\n".repeat(100)));
            others.chain([("crates/own/src/lib.rs".to_string(), "x\n".repeat(own))]).collect::<Vec<_>>()
        };
        let faults = |own: usize| {
            let mut faults = Vec::new();
            check(&files(own), &mut faults);
            faults.len()
        };
        assert_eq!((faults(100), faults(150)), (0, 1));
    }
}
