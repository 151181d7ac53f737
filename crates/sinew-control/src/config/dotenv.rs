//! Reads `.env` files with lines `NAME=value`.

use std::path::Path;

use sinew_session::files::read_text;

/// The variables of a file, in order, and warnings about it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Variables {
    pub(crate) pairs: Vec<(String, String)>,
    pub(crate) warnings: Vec<String>,
}

/// Reads a file. A missing file has no variables; pipes and devices are not opened.
pub(crate) fn read(path: &Path) -> Variables {
    let warn = |reason: &str| Variables {
        warnings: vec![format!("{}: {reason}; the file is ignored", path.display())],
        ..Variables::default()
    };
    match read_text(path) {
        Ok(text) => parse(&text, &path.display().to_string()),
        Err(error) if super::is_missing(&error) => Variables::default(),
        Err(error) => warn(&error.to_string()),
    }
}

/// Parses lines `NAME=value`, optionally with the prefix `export `. Double quotes support the escapes `\n`, `\t`, `\"`,
/// `\$` and `\\`, single quotes none; without quotes ` #` begins a comment. Values are not expanded. If a name occurs
/// twice, the last value is used.
fn parse(text: &str, name: &str) -> Variables {
    let mut out = Variables::default();
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match pair(line) {
            Ok((key, value)) => {
                out.pairs.retain(|(known, _)| *known != key);
                out.pairs.push((key, value));
            }
            // The warning does not show the line, which may contain a key.
            Err(reason) => out.warnings.push(format!("{name}:{}: {reason}; the line is skipped", number + 1)),
        }
    }
    out
}

fn pair(line: &str) -> Result<(String, String), &'static str> {
    let line = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
        _ => line,
    };
    let (name, value) = line.split_once('=').ok_or("missing =")?;
    let name = name.trim_end();
    let letters = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    if name.is_empty() || !name.bytes().all(letters) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("invalid variable name");
    }
    let value = unquote(value.trim())?;
    if value.contains('\0') {
        return Err("the value contains a NUL character");
    }
    Ok((name.to_string(), value))
}

fn unquote(value: &str) -> Result<String, &'static str> {
    if let Some(rest) = value.strip_prefix('\'') {
        let (inside, behind) = rest.split_once('\'').ok_or("the quote is not closed")?;
        return ends(behind).map(|()| inside.to_string());
    }
    let Some(rest) = value.strip_prefix('"') else {
        let end = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
        return Ok(value[..end].trim_end().to_string());
    };
    let mut out = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return ends(letters.as_str()).map(|()| out),
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other @ ('"' | '\\' | '$' | '`')) => out.push(other),
                Some(other) => out.extend(['\\', other]),
                None => break,
            },
            other => out.push(other),
        }
    }
    Err("the quote is not closed")
}

/// Checks that only blanks or a comment follow a closing quote.
fn ends(behind: &str) -> Result<(), &'static str> {
    let behind = behind.trim();
    if behind.is_empty() || behind.starts_with('#') { Ok(()) } else { Err("unexpected text after the closing quote") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(&str, &str)], warnings: &[&str]) {
        let read = parse(text, ".env");
        let pairs: Vec<(&str, &str)> = read.pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(pairs, expect, "{text:?}");
        assert_eq!(read.warnings, warnings, "{text:?}");
    }

    #[test]
    fn blanks_quotes_comments_and_export_are_parsed() {
        check("A=1\nB = 2 \nexport C=3\nexport\tD=4", &[("A", "1"), ("B", "2"), ("C", "3"), ("D", "4")], &[]);
        check("\u{feff}A=1\r\nB=2\r\n", &[("A", "1"), ("B", "2")], &[]);
        check("# A=1\n\n  # B\nC=a#b # c\nexported=1", &[("C", "a#b"), ("exported", "1")], &[]);
        check(r#"A="a # \"b\" \n\\n $X \x" # c"#, &[("A", "a # \"b\" \n\\n $X \\x")], &[]);
        check(r"A='a \n # b'", &[("A", r"a \n # b")], &[]);
        check("A=\nB=\"\"\nC=a=b", &[("A", ""), ("B", ""), ("C", "a=b")], &[]);
        check("A=1\nA=2", &[("A", "2")], &[]);
        check("A=$(touch x)`y`", &[("A", "$(touch x)`y`")], &[]);
    }

    #[test]
    fn warnings_about_lines_do_not_show_their_text() {
        check("secret", &[], &[".env:1: missing =; the line is skipped"]);
        for line in ["=x", "1A=x", "A B=x", "A-B=x", "Ä=x", "A\0=x"] {
            check(line, &[], &[".env:1: invalid variable name; the line is skipped"]);
        }
        check("\nA=x\0y", &[], &[".env:2: the value contains a NUL character; the line is skipped"]);
        check(
            "A=\"x\nB='y",
            &[],
            &[
                ".env:1: the quote is not closed; the line is skipped",
                ".env:2: the quote is not closed; the line is skipped",
            ],
        );
        check("A=\"x\\", &[], &[".env:1: the quote is not closed; the line is skipped"]);
        check("A='x'y", &[], &[".env:1: unexpected text after the closing quote; the line is skipped"]);
    }

    #[test]
    fn missing_and_unusable_files_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".env");
        assert_eq!(read(&path), Variables::default());
        let warned = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let found = read(&path);
            assert_eq!(found.pairs, []);
            found.warnings.concat()
        };
        assert!(warned(&vec![b'A'; 10 << 20]).ends_with("it is larger than 1 MB; the file is ignored"));
        assert!(warned(b"A=\xff\n").ends_with("it is not valid UTF-8; the file is ignored"));
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(read(&path).warnings.concat().contains("it is a directory"));
    }
}
