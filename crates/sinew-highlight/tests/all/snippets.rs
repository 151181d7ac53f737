//! Compares the categories of short pieces of code with tables.
//!
//! A table in `snippets/` consists of pairs of lines: code, and below each character the first letter of its category
//! (`.` for plain). A table is one text, so a line may depend on earlier ones. `SNIPPETS=write` updates the tables.

use std::fs;
use std::path::{Path, PathBuf};

use crate::marks::{decode, palette};
use sinew_highlight::{Category, highlight};

#[test]
fn categories_equal_the_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/snippets");
    let mut tables: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    tables.sort();
    assert!(tables.len() >= 86, "tables are missing");
    for table in tables {
        check(&table);
    }
}

#[track_caller]
fn check(table: &Path) {
    let lang = table.file_stem().expect("a file").to_str().expect("plain letters");
    let text = fs::read_to_string(table).expect("tables are text");
    let lines: Vec<&str> = text.lines().collect();
    let code: String = lines.iter().step_by(2).map(|line| format!("{line}\n")).collect();
    assert!(lines.len() >= 16, "{lang}: fewer than eight lines");
    let (_, categories) = decode(&highlight(&code, lang, &palette()));
    let mut written = String::new();
    let mut at = 0;
    for (number, line) in code.lines().enumerate() {
        let marks: String = line.char_indices().map(|(index, char)| mark(char, categories[at + index])).collect();
        at += line.len() + 1;
        written.push_str(&format!("{line}\n{}\n", marks.trim_end()));
        if std::env::var_os("SNIPPETS").is_none() {
            let expect = lines.get(number * 2 + 1).copied().unwrap_or_default();
            assert_eq!(marks.trim_end(), expect, "\n{lang}, line {}: {line}\n{marks}\n{expect}", number * 2 + 1);
        }
    }
    if std::env::var_os("SNIPPETS").is_some() {
        fs::write(table, written).expect("the directory is writable");
    }
}

fn mark(char: char, category: Category) -> char {
    match category {
        _ if char.is_whitespace() => ' ',
        Category::Plain => '.',
        other => other.name().as_bytes()[0].into(),
    }
}
