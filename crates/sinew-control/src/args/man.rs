//! Generates the manual page from the tables of `--help`.

use super::help::{EXAMPLES, PARAGRAPHS, TITLE, USAGE, shape};
use super::table::{FLAGS, Flag, Group};

/// Returns the page in macros of man(7), in ASCII. It has no date, so that the same version always generates the same
/// page.
pub fn man() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut out = format!(".TH SINEW 1 \"\" \"sinew {version}\" \"User Commands\"\n.nh\n.ad l\n");
    out += &format!(".SH NAME\nsinew \\- {}\n.SH SYNOPSIS\n", text(TITLE));
    let forms = USAGE.iter().filter(|(form, _)| form.contains("[options]"));
    out += &forms.map(|(form, _)| format!(".B {}\n", text(form))).collect::<Vec<_>>().join(".br\n");
    out += ".SH COMMANDS\n";
    for (form, meaning) in USAGE {
        out += &entry(form, meaning);
    }
    out += ".SH OPTIONS\n";
    for (group, title) in Group::ALL {
        out += &format!(".SS {}\n{}", text(title), flags(FLAGS.iter().filter(|flag| flag.group == group)));
    }
    out += &format!(".SS sinew mcp\n{}", flags(super::mcp::FLAGS.iter()));
    for (heading, paragraph) in PARAGRAPHS {
        out += &format!(".SH {heading}\n{}", paragraph.lines().map(|line| text(line) + "\n").collect::<String>());
    }
    out += ".SH EXAMPLES\n.nf\n";
    for example in EXAMPLES {
        out += &format!("{}\n", text(example));
    }
    out + ".fi\n"
}

fn flags<'a>(flags: impl Iterator<Item = &'a Flag>) -> String {
    flags.filter(|flag| !flag.help.is_empty()).map(|flag| entry(&shape(flag), flag.help)).collect()
}

fn entry(term: &str, meaning: &str) -> String {
    format!(".TP\n.B {}\n{}\n", text(term), text(meaning))
}

/// Escapes the characters of a line that roff would interpret.
fn text(line: &str) -> String {
    let mut out = String::new();
    // At the start of a line these characters begin a request.
    if line.starts_with(['.', '\'']) {
        out.push_str("\\&");
    }
    for char in line.chars() {
        match char {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '"' => out.push_str("\\(dq"),
            '\'' => out.push_str("\\(aq"),
            '`' => out.push_str("\\(ga"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            ' '..='~' => out.push(char),
            _ => out.push_str(&format!("\\[u{:04X}]", char as u32)),
        }
    }
    out
}
