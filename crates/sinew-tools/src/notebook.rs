//! Jupyter notebooks as the text of their cells, for reads and edits.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A notebook whose cells are shown as text, each after a line `# %% [code] cell:3`.
pub(super) struct Notebook {
    text: String,
    cells: Vec<CellText>,
}

/// A cell in the text.
struct CellText {
    /// The start of the line that marks it.
    mark: usize,
    /// The range of its source in the JSON; `None` if it has none.
    json: Option<Range<usize>>,
    /// The range of its lines in the text.
    text: Range<usize>,
    /// True if the source does not end in a line end; the text adds one.
    is_open: bool,
}

#[derive(Deserialize)]
struct Book<'a> {
    #[serde(borrow)]
    cells: Vec<Cell<'a>>,
}

#[derive(Deserialize)]
struct Cell<'a> {
    #[serde(default)]
    cell_type: Value,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
}

/// A part of a source: an item of a list, or a line of a string.
struct Piece {
    /// Its range in the JSON of the source.
    json: Range<usize>,
    text: String,
}

/// Returns true if a file name is that of a notebook.
pub(super) fn is_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ipynb")
}

/// Returns the reason why `content` cannot be the whole new content of the file `path`, called `name`; `None` if it can.
pub(super) fn refusal(path: &Path, name: &str, content: &str) -> Option<String> {
    let json = content.strip_prefix('\u{feff}').unwrap_or(content);
    let is_fine = !is_name(path) || Notebook::parse(json).is_some();
    (!is_fine).then(|| {
        format!(
            "Cannot write {name}: the content is not a notebook (JSON with cells). Use edit to change cells as read shows \
             them."
        )
    })
}

impl Notebook {
    /// Parses the JSON of a notebook; `None` if it is not a notebook.
    pub(super) fn parse(json: &str) -> Option<Notebook> {
        let book: Book<'_> = serde_json::from_str(json).ok()?;
        let mut text = String::new();
        let mut cells = Vec::new();
        for (index, cell) in book.cells.iter().enumerate() {
            let kind = cell.cell_type.as_str().unwrap_or("raw");
            let mark = text.len();
            text.push_str(&format!("# %% [{kind}] cell:{index}\n"));
            let from = text.len();
            let source = cell.source.map(RawValue::get).unwrap_or_default();
            pieces(source).iter().for_each(|piece| text.push_str(&piece.text));
            let to = text.len();
            let is_open = !text.ends_with('\n');
            if is_open {
                text.push('\n');
            }
            let json = cell.source.map(|_| range_in(json, source));
            cells.push(CellText { mark, json, text: from..to, is_open });
        }
        Some(Notebook { text, cells })
    }

    /// Returns the cells as text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns `json`, from which the notebook was parsed, after replacing ranges of the text: from, to and the new
    /// text, in order. Only the sources of changed cells are rewritten; every other byte is unchanged.
    ///
    /// # Errors
    /// Returns an error if a range is not inside one cell.
    pub(super) fn with(&self, json: &str, places: &[(usize, usize, String)]) -> Result<Vec<u8>, String> {
        let inside = |cell: &CellText, from: usize, to: usize| {
            cell.json.is_some() && cell.text.start <= from && to <= cell.text.end + usize::from(cell.is_open)
        };
        if let Some((from, ..)) =
            places.iter().find(|(from, to, _)| !self.cells.iter().any(|cell| inside(cell, *from, *to)))
        {
            return Err(fault(self.text[..*from].lines().count() + 1));
        }
        let mut rest = places.iter().peekable();
        let sources = self.cells.iter().map(|cell| {
            let mut lines = String::new();
            let mut copied = cell.text.start;
            while let Some((from, to, new)) = rest.next_if(|(from, to, _)| inside(cell, *from, *to)) {
                lines.push_str(&self.text[copied..*from]);
                // The added line end after the last line is not part of the file.
                lines.push_str(if *to > cell.text.end { new.strip_suffix('\n').unwrap_or(new) } else { new });
                copied = *to;
            }
            lines.push_str(self.text.get(copied..cell.text.end).unwrap_or_default());
            lines
        });
        Ok(self.with_sources(json, sources))
    }

    /// Returns `json`, from which the notebook was parsed, after its text was replaced by `new`.
    ///
    /// # Errors
    /// Returns an error if `new` does not have the lines that mark the cells, each once and in order.
    pub(super) fn with_text(&self, json: &str, new: &str) -> Result<Vec<u8>, String> {
        let mut sources = Vec::with_capacity(self.cells.len());
        let mut rest = new;
        let line = |rest: &str| new[..new.len() - rest.len()].lines().count() + 1;
        for (index, cell) in self.cells.iter().enumerate() {
            let mark = &self.text[cell.mark..cell.text.start];
            rest = rest.strip_prefix(mark).ok_or_else(|| fault(line(rest)))?;
            let next = self.cells.get(index + 1).map(|next| &self.text[next.mark..next.text.start]);
            let end = match next {
                Some(mark) => {
                    let mut starts = line_starts(rest).filter(|at| rest[*at..].starts_with(mark));
                    let end = starts.next().ok_or_else(|| fault(line(rest)))?;
                    // A line of a cell that equals a mark makes the borders of the cells ambiguous.
                    if let Some(other) = starts.next() {
                        return Err(fault(line(&rest[other..])));
                    }
                    end
                }
                None => rest.len(),
            };
            let lines = &rest[..end];
            if cell.json.is_none() && !lines.is_empty() {
                return Err(fault(line(rest)));
            }
            // The last line of a source has no line end by convention, and the text adds one. After an empty line it
            // would add none.
            let is_open = cell.is_open || cell.text.is_empty();
            let bare = lines.strip_suffix('\n').filter(|bare| is_open && !bare.is_empty() && !bare.ends_with('\n'));
            sources.push(bare.unwrap_or(lines).to_string());
            rest = &rest[end..];
        }
        match rest.is_empty() {
            true => Ok(self.with_sources(json, sources.into_iter())),
            false => Err(fault(line(rest))),
        }
    }

    /// Replaces the sources of the cells that differ.
    fn with_sources(&self, json: &str, sources: impl Iterator<Item = String>) -> Vec<u8> {
        let mut out = Vec::with_capacity(json.len());
        let mut at = 0;
        for (cell, lines) in self.cells.iter().zip(sources) {
            if let Some(range) = &cell.json
                && self.text[cell.text.clone()] != lines
            {
                out.extend_from_slice(&json.as_bytes()[at..range.start]);
                out.extend_from_slice(source_json(json, range, &lines).as_bytes());
                at = range.end;
            }
        }
        out.extend_from_slice(&json.as_bytes()[at..]);
        out
    }
}

/// Returns the message about a change of a line that is not part of a cell.
fn fault(line: usize) -> String {
    format!(
        "line {line}: the lines # %% mark the cells of the notebook and are not part of it. Edit the text of one cell at \
         a time; add or remove cells with bash."
    )
}

fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
}

/// Returns the range of `part`, a slice of `whole`.
fn range_in(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    start..start + part.len()
}

/// Splits the JSON of a source into its items or lines.
fn pieces(source: &str) -> Vec<Piece> {
    if source.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(source).unwrap_or_default();
        let piece = |item: &&RawValue| Piece { json: range_in(source, item.get()), text: string(item.get()) };
        return items.iter().map(piece).collect();
    }
    let Some(inner) = source.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')) else { return Vec::new() };
    let mut pieces = Vec::new();
    let mut start = 0;
    let ends = ESCAPE.find_iter(inner).filter(|escape| escape.as_str() == "\\n").map(|escape| escape.end());
    for end in ends.chain([inner.len()]).collect::<Vec<_>>() {
        if start < end {
            let text = string(&format!("\"{}\"", &inner[start..end]));
            pieces.push(Piece { json: start + 1..end + 1, text });
        }
        start = end;
    }
    pieces
}

/// Escapes in JSON; the group is an unpaired surrogate.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?s)\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)";
    Regex::new(pattern).expect("a constant pattern")
});

/// Returns the value of a JSON string, with U+FFFD for unpaired surrogates; an empty text for other values.
fn string(json: &str) -> String {
    serde_json::from_str(json).unwrap_or_else(|_| {
        let paired = ESCAPE.replace_all(json, |escape: &Captures<'_>| match escape.get(1) {
            Some(_) => "\u{fffd}".to_string(),
            None => escape[0].to_string(),
        });
        serde_json::from_str(&paired).unwrap_or_default()
    })
}

/// Formats `lines` as the JSON of the source at `range`, with its layout. Lines at the start and end that did not
/// change keep their bytes, which may have escapes that a new line would not have.
fn source_json(json: &str, range: &Range<usize>, lines: &str) -> String {
    let old = &json[range.clone()];
    let is_list = old.starts_with('[');
    let new: Vec<&str> = lines.split_inclusive('\n').collect();
    if new.is_empty() {
        return if is_list { "[]" } else { "\"\"" }.into();
    }
    let pieces = pieces(old);
    let same = |(piece, line): &(&Piece, &&str)| piece.text == **line;
    let first = pieces.iter().zip(&new).take_while(same).count();
    let most = pieces.len().min(new.len()) - first;
    let last = pieces.iter().rev().zip(new.iter().rev()).take(most).take_while(same).count();
    let (open, between, close) = match is_list {
        true => list_layout(json, range, &pieces),
        false => ("\"".into(), String::new(), "\"".into()),
    };
    let mut out = open;
    for (index, line) in new.iter().enumerate() {
        let is_tail = index >= new.len() - last;
        // The piece of the old source at this position.
        let place = if is_tail { index + pieces.len() - new.len() } else { index };
        let piece = pieces.get(place).filter(|_| is_tail || place < pieces.len() - last);
        if index > 0 {
            let before = piece.and_then(|piece| Some(pieces.get(place.checked_sub(1)?)?.json.end..piece.json.start));
            out.push_str(before.map_or(between.as_str(), |before| &old[before]));
        }
        match piece.filter(|_| index < first || is_tail) {
            Some(piece) => out.push_str(&old[piece.json.clone()]),
            None => {
                let kept = pieces.get(index).filter(|_| index == first).and_then(|piece| reended(old, piece, line));
                let text = kept.unwrap_or_else(|| Value::from(*line).to_string());
                out.push_str(if is_list { &text } else { &text[1..text.len() - 1] });
            }
        }
    }
    out + &close
}

/// Returns the JSON string of `line`, which differs from a piece of the source `old` only in its line end, with the
/// escapes of the piece: the last line has no line end. `None` if it differs in more.
fn reended(old: &str, piece: &Piece, line: &str) -> Option<String> {
    let json = &old[piece.json.clone()];
    let inner = json.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(json);
    if piece.text.strip_suffix('\n') == Some(line) {
        return inner.strip_suffix("\\n").map(|inner| format!("\"{inner}\""));
    }
    (line.strip_suffix('\n') == Some(&piece.text)).then(|| format!("\"{inner}\\n\""))
}

/// Returns the text before, between and after the items of a list.
fn list_layout(json: &str, range: &Range<usize>, pieces: &[Piece]) -> (String, String, String) {
    let old = &json[range.clone()];
    let blanks = |text: &str| text[..text.len() - text.trim_start().len()].to_string();
    let (open, close) = match (pieces.first(), pieces.last()) {
        (Some(first), Some(last)) => (old[..first.json.start].to_string(), old[last.json.end..].to_string()),
        // An empty list has no layout: if the file has lines, the source is indented one level more than its own line.
        _ => match json[..range.start].rsplit_once('\n') {
            Some((_, line)) => (format!("[\n{} ", blanks(line)), format!("\n{}]", blanks(line))),
            None => ("[".into(), "]".into()),
        },
    };
    let between = match pieces {
        [first, second, ..] => old[first.json.end..second.json.start].to_string(),
        _ if open.len() > 1 => format!(",{}", &open[1..]),
        _ => ", ".into(),
    };
    (open, between, close)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "source": "# Title"
  },
  {
   "cell_type": "code",
   "metadata": {"x": 1e5},
   "source": [
    "a = 1\n",
    "# %% [code] cell:7\n",
    "b = \"ä\""
   ]
  },
  {"cell_type": "code", "source": []},
  {"cell_type": "raw", "source": ["one line"]}
 ],
 "nbformat": 4
}
"##;
    const TEXT: &str = "# %% [markdown] cell:0\n# Title\n# %% [code] cell:1\na = 1\n# %% [code] cell:7\nb = \"ä\"\n\
                        # %% [code] cell:2\n# %% [raw] cell:3\none line\n";

    #[track_caller]
    fn check(old: &str, new: &str, expect: Result<(&str, &str), &str>) {
        let book = Notebook::parse(BOOK).unwrap();
        assert_eq!(book.text(), TEXT);
        let from = TEXT.find(old).unwrap();
        let got = book.with(BOOK, &[(from, from + old.len(), new.to_string())]);
        match (got, expect) {
            (Ok(json), Ok((before, after))) => {
                assert_eq!(String::from_utf8(json).unwrap(), BOOK.replacen(before, after, 1));
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (got, _) => panic!("{got:?}"),
        }
    }

    #[test]
    fn an_edit_of_a_cell_changes_only_its_source() {
        check("# Title", "# \"New\"\nline", Ok((r##""# Title""##, r##""# \"New\"\nline""##)));
        check("# Title\n", "New\n", Ok((r##""# Title""##, r#""New""#)));
        check("a = 1\n", "a = 2\nc = 3\n", Ok(("\"a = 1\\n\",", "\"a = 2\\n\",\n    \"c = 3\\n\",")));
        check("b = \"ä\"\n", "b\n", Ok((r#""b = \"ä\"""#, r#""b""#)));
        check("one line", "two\nlines", Ok((r#"["one line"]"#, r#"["two\n", "lines"]"#)));
        check("one line\n", "", Ok((r#"["one line"]"#, "[]")));
        check("# %% [code] cell:7\n", "", Ok(("    \"# %% [code] cell:7\\n\",\n", "")));
        check("# %% [code] cell:1\n", "", Err("line 3: the lines # %% mark the cells"));
        check("# Title\n# %%", "x", Err("one cell at a time"));
        check("# %% [raw] cell:3\none line", "x", Err("line 8: "));
    }

    #[test]
    fn several_cells_can_be_edited_at_once() {
        let book = Notebook::parse(BOOK).unwrap();
        let place = |old: &str, new: &str| {
            let from = TEXT.find(old).unwrap();
            (from, from + old.len(), new.to_string())
        };
        let json = book.with(BOOK, &[place("Title", "T"), place("= 1", "= 2"), place("b =", "c =")]).unwrap();
        let expect = BOOK.replace("# Title", "# T").replace("a = 1", "a = 2").replace("b = ", "c = ");
        assert_eq!(String::from_utf8(json).unwrap(), expect);
    }

    #[test]
    fn files_that_are_not_notebooks_are_refused() {
        for json in ["", "{}", "[]", r#"{"cells": 1}"#, r#"{"cells": [1]}"#] {
            assert!(Notebook::parse(json).is_none(), "{json}");
        }
        assert!(!is_name(Path::new("a.json")));
        assert_eq!(
            Notebook::parse(r#"{"cells": [{"source": 1}, {}]}"#).unwrap().text(),
            "# %% [raw] cell:0\n# %% [raw] cell:1\n"
        );
    }

    #[test]
    fn unchanged_lines_keep_their_escapes_and_separators() {
        let list = r#"{"cells": [{"source": ["\u00e4\n" , "b\n",  "\ud83d\n",   "d"]}]}"#;
        let line = r#"{"cells": [{"source": "\u00e4\nb\n\ud83d\nd"}]}"#;
        for (json, new, before, after) in [
            (list, "ä\nb\n\u{fffd}\nd\n", "", ""),
            (list, "ä\nx\n\u{fffd}\nd\n", r#""b\n""#, r#""x\n""#),
            (list, "ä\n\u{fffd}\nd\n", r#" , "b\n""#, ""),
            (list, "x\nä\nb\n\u{fffd}\nd\n", r#"["#, r#"["x\n" , "#),
            (list, "ä\nb\n\u{fffd}\nd\ne\n", r#""d""#, r#""d\n" , "e""#),
            (line, "ä\nx\ny\n\u{fffd}\nd\n", r"b\n", r"x\ny\n"),
            (line, "ä\nb\n\u{fffd}\n", r"\nd", ""),
            (line, "ä\nb\n\u{fffd}\nd\nä\n", r"\nd", r"\nd\nä"),
            (list, "ä\nb\n\u{fffd}\n", r#"\n",   "d""#, r#"""#),
        ] {
            let book = Notebook::parse(json).unwrap();
            let got = book.with_text(json, &format!("# %% [raw] cell:0\n{new}")).unwrap();
            // The cells are a list of the only list that is replaced.
            let (head, tail) = json.split_at(json.rfind(": ").unwrap());
            assert_eq!(String::from_utf8(got).unwrap(), format!("{head}{}", tail.replacen(before, after, 1)), "{new}");
        }
    }

    proptest! {
        /// A cell is a list or one string, and ends with or without a line end.
        #[test]
        fn a_notebook_with_another_text_shows_that_text(
            cells in prop::collection::vec((prop::collection::vec("[ab\"\\\\ä]{0,3}", 0..4), any::<bool>(), any::<bool>()), 1..4),
            new in prop::collection::vec(prop::collection::vec("[abc\"\\\\ä]{0,3}", 0..5), 4),
        ) {
            let source = |lines: &[String], is_list: bool, is_open: bool| {
                let mut text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
                if is_open {
                    text.pop();
                }
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                if is_list { Value::from(lines) } else { Value::from(text.clone()) }
            };
            let list: Vec<Value> = cells
                .iter()
                .map(|(lines, is_list, is_open)| serde_json::json!({"source": source(lines, *is_list, *is_open)}))
                .collect();
            let json = serde_json::to_string_pretty(&serde_json::json!({"cells": list})).unwrap();
            let book = Notebook::parse(&json).unwrap();
            prop_assert_eq!(String::from_utf8(book.with_text(&json, book.text()).unwrap()).unwrap(), json.as_str());
            let text: String = (0..cells.len())
                .map(|index| {
                    let lines = new[index].iter().map(|line| format!("{line}\n")).collect::<String>();
                    format!("# %% [raw] cell:{index}\n{lines}")
                })
                .collect();
            let changed = String::from_utf8(book.with_text(&json, &text).unwrap()).unwrap();
            let again = Notebook::parse(&changed).unwrap();
            prop_assert_eq!(again.text(), text);
        }
    }
}
