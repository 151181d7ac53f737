//! Code and output: coloured, and collapsed if it is long.

use sinew::base::CancelToken;
use sinew::diff::{self, ChangeKind, DiffOptions};
use sinew::highlight::{Colors, highlight_by_lexer};

use super::html_writer::HtmlWriter;

/// The maximum size of highlighted code in bytes; longer code stays plain, because nobody reads that much.
const LARGEST_COLOURED: usize = 100_000;
/// The number of lines that are visible in a collapsed block.
const PREVIEW: usize = 12;
/// A block that exceeds the preview by no more than this number of lines is shown completely.
const SLACK: usize = 6;
/// The maximum size of the preview in bytes, so that a single long line is collapsed too.
const PREVIEW_BYTES: usize = 4_000;

/// The part of a block that is visible before it is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// All of it.
    Never,
    /// The first lines, if there are many.
    Long,
}

/// Writes a block of code in `language`, which may be a name, a file extension or empty.
pub(super) fn block(html: &mut HtmlWriter<'_>, code: &str, language: &str, fold: Fold) {
    let code = html.clean(code);
    let code = code.strip_suffix('\n').unwrap_or(&code);
    shown(html, &coloured(code, language), fold);
}

/// Writes lines that `read` has numbered, such as `12:let x;`, and the notes after them.
pub(super) fn numbered(html: &mut HtmlWriter<'_>, text: &str, language: &str, fold: Fold) {
    let text = html.clean(text);
    let mut numbers = Vec::new();
    let mut code = String::new();
    let mut behind = 0;
    for line in text.split_inclusive('\n') {
        let Some((number, rest)) = line.split_once(':').filter(|(number, _)| is_number(number)) else { break };
        numbers.push(number);
        code.push_str(rest);
        behind += line.len();
    }
    let width = numbers.last().map_or(0, |number| number.len());
    let mut out = String::new();
    for (number, line) in numbers.iter().zip(coloured(&code, language).split_inclusive('\n')) {
        out.push_str(&format!("\x1b[93m{number:>width$} \x1b[39m{line}"));
    }
    out.push_str(&text[behind..]);
    shown(html, out.strip_suffix('\n').unwrap_or(&out), fold);
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Highlights clean code with one terminal colour per category.
fn coloured(code: &str, language: &str) -> String {
    if language.is_empty() || code.len() > LARGEST_COLOURED {
        return code.to_string();
    }
    highlight_by_lexer(code, language, &colors())
}

fn shown(html: &mut HtmlWriter<'_>, coloured: &str, fold: Fold) {
    let head = match fold {
        Fold::Never => coloured.len(),
        Fold::Long => head(coloured),
    };
    let (first, rest) = coloured.split_at(head);
    if !first.is_empty() || rest.is_empty() {
        html.tag("<pre><code>");
        spans(html, first.strip_suffix('\n').unwrap_or(first));
        html.tag("</code></pre>\n");
    }
    if !rest.is_empty() {
        let lines = rest.lines().count() as u64;
        html.tag("<details class=\"more\"><summary>");
        if first.is_empty() {
            html.many(lines, "line", "lines").tag(", ").many(rest.len() as u64, "byte", "bytes");
        } else {
            html.many(lines, "more line", "more lines");
        }
        html.tag("</summary><pre><code>");
        spans(html, rest);
        html.tag("</code></pre></details>\n");
    }
}

/// Returns the length of the visible part.
fn head(text: &str) -> usize {
    let mut end = 0;
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref().take(PREVIEW) {
        if end + line.len() > PREVIEW_BYTES {
            return end;
        }
        end += line.len();
    }
    let slack: usize = lines.by_ref().take(SLACK).map(str::len).sum();
    if lines.next().is_none() && end + slack <= PREVIEW_BYTES { text.len() } else { end }
}

/// Returns one terminal colour per category; [`spans`] parses them.
fn colors() -> Colors {
    let code = |number: u8| format!("\x1b[{number}m");
    Colors {
        comment: code(30),
        keyword: code(31),
        function: code(32),
        variable: code(33),
        string: code(34),
        number: code(35),
        r#type: code(36),
        operator: code(37),
        punctuation: code(90),
        inserted: code(91),
        deleted: code(92),
    }
}

fn span(code: &str) -> Option<&'static str> {
    Some(match code {
        "30" => "<span class=\"hc\">",
        "31" => "<span class=\"hk\">",
        "32" => "<span class=\"hf\">",
        "33" => "<span class=\"hv\">",
        "34" => "<span class=\"hs\">",
        "35" => "<span class=\"hn\">",
        "36" => "<span class=\"ht\">",
        "37" => "<span class=\"ho\">",
        "90" => "<span class=\"hp\">",
        "91" => "<span class=\"hi\">",
        "92" => "<span class=\"hd\">",
        "93" => "<span class=\"no\">",
        _ => return None,
    })
}

/// Writes highlighted text: the code itself was cleaned, so every escape character in it belongs to a colour.
fn spans(html: &mut HtmlWriter<'_>, coloured: &str) {
    let mut open = false;
    let mut pieces = coloured.split("\x1b[");
    html.part(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (code, text) = piece.split_once('m').unwrap_or(("", piece));
        if std::mem::take(&mut open) {
            html.tag("</span>");
        }
        if let Some(span) = span(code) {
            html.tag(span);
            open = true;
        }
        html.part(text);
    }
    if open {
        html.tag("</span>");
    }
}

/// Writes coloured code within a line of text.
pub(super) fn inline(html: &mut HtmlWriter<'_>, code: &str, language: &str) {
    let code = html.clean(code);
    spans(html, &coloured(&code, language));
}

/// Returns the extension of a path, which identifies the language of a file.
pub(super) fn extension(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Writes the lines of a unified diff, coloured by their kind.
pub(super) fn diff(html: &mut HtmlWriter<'_>, text: &str) {
    let text = html.clean(text);
    let lines: Vec<(Change, &str)> = text.lines().skip_while(|line| is_header(line)).map(change).collect();
    changes(html, &lines);
}

fn is_header(line: &str) -> bool {
    line.starts_with("--- ") || line.starts_with("+++ ")
}

fn change(line: &str) -> (Change, &str) {
    let mut characters = line.chars();
    match characters.next() {
        Some('+') => (Change::In, characters.as_str()),
        Some('-') => (Change::Out, characters.as_str()),
        Some('@') => (Change::Hunk, line),
        Some(' ') => (Change::Same, characters.as_str()),
        _ => (Change::Same, line),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    In,
    Out,
    Same,
    Hunk,
}

/// The maximum number of lines that are compared.
const LARGEST_COMPARED: usize = 4_000;

/// Writes a removed text and the text that replaces it.
pub(super) fn replaced(html: &mut HtmlWriter<'_>, old: &str, new: &str) {
    let (old, new) = (html.clean(old).into_owned(), html.clean(new).into_owned());
    let few = old.lines().count() + new.lines().count() <= LARGEST_COMPARED;
    let compared = few.then(|| diff::diff(&old, &new, &DiffOptions::default(), &CancelToken::never()));
    let mut lines = Vec::new();
    if let Some(Ok(compared)) = &compared {
        for change in compared {
            let kind = match change.kind {
                ChangeKind::Equal => Change::Same,
                ChangeKind::Removed => Change::Out,
                ChangeKind::Added => Change::In,
            };
            lines.extend(change.text.split_inclusive('\n').map(|line| (kind, line.strip_suffix('\n').unwrap_or(line))));
        }
    } else {
        lines.extend(old.lines().map(|line| (Change::Out, line)));
        lines.extend(new.lines().map(|line| (Change::In, line)));
    }
    changes(html, &lines);
}

/// The maximum number of visible lines of a diff.
const LONGEST_DIFF: usize = 60;

fn changes(html: &mut HtmlWriter<'_>, lines: &[(Change, &str)]) {
    let (first, rest) = lines.split_at(if lines.len() > LONGEST_DIFF + SLACK { LONGEST_DIFF } else { lines.len() });
    changed_lines(html, first);
    if !rest.is_empty() {
        html.tag("<details class=\"more\"><summary>").many(rest.len() as u64, "more line", "more lines");
        html.tag("</summary>");
        changed_lines(html, rest);
        html.tag("</details>\n");
    }
}

fn changed_lines(html: &mut HtmlWriter<'_>, lines: &[(Change, &str)]) {
    html.tag("<pre class=\"diff\"><code>");
    for (kind, line) in lines {
        html.tag(match kind {
            Change::In => "<span class=\"in\">",
            Change::Out => "<span class=\"out\">",
            Change::Same => "<span>",
            Change::Hunk => "<span class=\"at\">",
        });
        html.part(line).tag("\n</span>");
    }
    html.tag("</code></pre>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(write: impl FnOnce(&mut HtmlWriter<'_>), expect: &str) {
        let mut html = HtmlWriter::new(None);
        write(&mut html);
        assert_eq!(html.take(), expect);
    }

    #[test]
    fn code_is_highlighted_and_escaped() {
        check(
            |html| block(html, "let x = \"<b>\";\n", "rust", Fold::Long),
            "<pre><code><span class=\"hk\">let</span> x <span class=\"ho\">= </span>\
             <span class=\"hs\">&quot;&lt;b&gt;&quot;</span><span class=\"hp\">;</span></code></pre>\n",
        );
        check(|html| block(html, "<x>", "no such language", Fold::Long), "<pre><code>&lt;x&gt;</code></pre>\n");
        check(|html| block(html, "", "", Fold::Long), "<pre><code></code></pre>\n");
        check(|html| block(html, "\x1b[31mred\x1b[0m <", "", Fold::Long), "<pre><code>red &lt;</code></pre>\n");
    }

    #[test]
    fn long_blocks_are_folded_and_complete() {
        let text: String = (0..40).map(|at| format!("{at}\n")).collect();
        let mut html = HtmlWriter::new(None);
        block(&mut html, &text, "", Fold::Long);
        let written = html.take();
        assert!(
            written.contains("11</code></pre>\n<details class=\"more\"><summary>28 more lines</summary>"),
            "{written}"
        );
        assert!(written.contains("<pre><code>12\n") && written.contains("39</code></pre></details>"), "{written}");
        let line = "x".repeat(1_000_000);
        block(&mut html, &line, "rust", Fold::Long);
        let written = html.take();
        assert!(written.starts_with("<details class=\"more\"><summary>1 line, 1,000,000 bytes</summary>"));
        assert_eq!(written.matches('x').count(), 1_000_000);
    }

    #[test]
    fn line_numbers_are_separate_from_the_code() {
        check(
            |html| numbered(html, "9:let\n10:x: <\n[2 more lines]", "rs", Fold::Long),
            "<pre><code><span class=\"no\"> 9 </span><span class=\"hk\">let</span>\n\
             <span class=\"no\">10 </span>x<span class=\"hp\">: </span><span class=\"ho\">&lt;</span>\n\
             [2 more lines]</code></pre>\n",
        );
        check(|html| numbered(html, "a: b\n", "rs", Fold::Long), "<pre><code>a: b</code></pre>\n");
    }

    #[test]
    fn a_change_is_shown_line_by_line() {
        check(
            |html| replaced(html, "a\n<b>\n", "a\nc"),
            "<pre class=\"diff\"><code><span>a\n</span><span class=\"out\">&lt;b&gt;\n</span>\
             <span class=\"in\">c\n</span></code></pre>\n",
        );
        check(
            |html| diff(html, "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+<b>\n c\n"),
            "<pre class=\"diff\"><code><span class=\"at\">@@ -1 +1 @@\n</span><span class=\"out\">a\n</span>\
             <span class=\"in\">&lt;b&gt;\n</span><span>c\n</span></code></pre>\n",
        );
    }

    #[test]
    fn the_language_is_detected_from_the_path() {
        assert_eq!(["src/a.rs", "a.b/c", "C:\\x.TS", ".env"].map(extension), ["rs", "", "TS", "env"]);
    }
}
