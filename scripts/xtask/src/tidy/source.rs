//! Removes what the rules of this program must ignore from Rust source: comments, the contents of literals, and test
//! modules.

/// A fault that `allowed.txt` may excuse: its key there, and its message.
pub(super) type Excusable = (String, String);

/// A part of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// Replaces comments and the contents of string and character literals with spaces. Line ends stay, so that line
/// numbers stay the same.
pub(super) fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    scan(text, |part, piece| match part {
        Part::Code => out.push_str(piece),
        Part::Comment | Part::Literal => out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
    });
    out
}

/// The string and character literals, with their quotes.
pub(super) fn literals(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    scan(text, |part, piece| {
        if part == Part::Literal {
            found.push(piece);
        }
    });
    found
}

/// Tells each part of a source, in order; code comes character by character.
fn scan<'a>(text: &'a str, mut each: impl FnMut(Part, &'a str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let (part, length) = match bytes[at] {
            b'/' if rest.starts_with("//") => (Part::Comment, rest.find('\n').unwrap_or(rest.len())),
            b'/' if rest.starts_with("/*") => (Part::Comment, block_comment(rest)),
            b'"' => (Part::Literal, quoted(rest, '"')),
            b'r' if starts_word(text, at) => (Part::Literal, raw_string(rest).unwrap_or(0)),
            b'b' if starts_word(text, at) && rest.starts_with("br") => {
                (Part::Literal, raw_string(&rest[1..]).map_or(0, |length| length + 1))
            }
            b'\'' => (Part::Literal, character(rest)),
            _ => (Part::Code, 0),
        };
        let (part, length) = match length {
            0 => (Part::Code, rest.chars().next().map_or(1, char::len_utf8)),
            length => (part, length),
        };
        each(part, &rest[..length]);
        at += length;
    }
}

fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        match here {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The bytes of a literal up to its closing quote.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The bytes of `r"…"` or `r#"…"#`; None for a word that begins with an r.
fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    let body = rest[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(2 + hashes + length)
}

/// The bytes of a character literal; 0 for a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest[1..].chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted(rest, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

/// Cuts out what is compiled for tests alone; gives the names of the modules among it too. `code` has neither comments
/// nor texts.
pub(super) fn without_tests(code: &str) -> (String, Vec<String>) {
    const START: &str = "#[cfg(";
    let mut kept = String::with_capacity(code.len());
    let mut modules = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(START) {
        let item = &rest[at..];
        let condition = &item[START.len()..item.find(']').unwrap_or(item.len())];
        let tests = condition.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "test");
        let length = if tests && !condition.contains("not(") { item_length(item) } else { 0 };
        kept.push_str(&rest[..at]);
        if length == 0 {
            kept.push_str(START);
        } else if let Some((_, name)) = item[..length].split_once("mod ") {
            modules.push(name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().into());
        }
        rest = &item[if length == 0 { START.len() } else { length }..];
    }
    kept.push_str(rest);
    (kept, modules)
}

/// The bytes of an item with its attributes: up to its semicolon, or to the end of its braces.
fn item_length(item: &str) -> usize {
    let mut depth = 0;
    for (at, c) in item.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth -= 1;
                if depth == 0 && c == '}' {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let squeezed = code(text).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed, expect);
        assert_eq!(code(text).lines().count(), text.lines().count());
    }

    #[test]
    fn comments_and_texts_are_blank() {
        check("a // crate::b\nc /* d /* e */ f */ g", "a c g");
        check(r##"a("crate::b \" x", r#"c " d"#, br"e", b"f") g"##, "a( , , , b ) g");
        check(r"fn a<'a>(x: &'a str) { '\'' == 'x' || '{' == '}' }", "fn a<'a>(x: &'a str) { == || == }");
        check("\"a\nb\"\nc", "c");
        check("for_r\"a\"", "for_r");
    }

    #[test]
    fn what_is_for_tests_is_cut_out() {
        let text = "a;\n#[cfg(test)]\nmod tests {\n fn b() { c[1] }\n}\nd;\n#[cfg(all(test, unix))]\nmod e;\nf;";
        let (kept, modules) = without_tests(text);
        assert_eq!(kept.split_whitespace().collect::<Vec<_>>(), ["a;", "d;", "f;"]);
        assert_eq!(modules, ["tests", "e"]);
        for kept in ["#[cfg(not(test))] mod a;", "#[cfg(unix)]\nfn test() { }", "#[cfg(feature = \"\")] b"] {
            assert_eq!(without_tests(kept), (kept.to_string(), Vec::new()));
        }
        assert_eq!(without_tests("#[cfg(test)]\n#[path = \"\"]\nmod e;\nf { }").0.trim(), "f { }");
    }
}
