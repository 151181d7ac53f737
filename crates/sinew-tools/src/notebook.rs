//! Jupyter notebooks as the text of their cells, for reads and edits.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A notebook whose cells are shown as text, each after a line `# %% [code] cell:3`.
pub(super) struct Notebook<'a> {
    json: &'a str,
    text: String,
    sources: Vec<Source>,
}

/// The source of a cell.
struct Source {
    /// The range of its value in the JSON.
    json: Range<usize>,
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

/// Returns true if a file name is that of a notebook.
pub(super) fn is_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ipynb")
}

impl<'a> Notebook<'a> {
    /// Reads the content of the file `path`; `None` if it is not a notebook.
    pub(super) fn open(path: &Path, content: &'a [u8]) -> Option<Notebook<'a>> {
        if is_name(path) { Notebook::parse(std::str::from_utf8(content).ok()?) } else { None }
    }

    /// Parses the JSON of a notebook; `None` if it is not a notebook.
    pub(super) fn parse(json: &'a str) -> Option<Notebook<'a>> {
        let book: Book<'a> = serde_json::from_str(json).ok()?;
        let mut text = String::new();
        let mut sources = Vec::new();
        for (index, cell) in book.cells.iter().enumerate() {
            let kind = cell.cell_type.as_str().unwrap_or("raw");
            text.push_str(&format!("# %% [{kind}] cell:{index}\n"));
            let from = text.len();
            let source = cell.source.map(RawValue::get).unwrap_or_default();
            match serde_json::from_str(source) {
                Ok(Value::String(source)) => text.push_str(&source),
                Ok(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).for_each(|line| text.push_str(line)),
                _ => {}
            }
            let to = text.len();
            let is_open = !text.ends_with('\n');
            if is_open {
                text.push('\n');
            }
            if let Some(start) = (source.as_ptr() as usize).checked_sub(json.as_ptr() as usize)
                && cell.source.is_some()
            {
                sources.push(Source { json: start..start + source.len(), text: from..to, is_open });
            }
        }
        Some(Notebook { json, text, sources })
    }

    /// Returns the cells as text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Converts the notebook to the text of its cells.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Returns the JSON after replacing ranges of the text: from, to and the new text, in order. Only the sources of
    /// changed cells are rewritten; every other byte is unchanged.
    ///
    /// # Errors
    /// Returns an error if a range is not inside one cell.
    pub(super) fn with(&self, places: &[(usize, usize, String)]) -> Result<Vec<u8>, String> {
        let inside = |source: &Source, from: usize, to: usize| {
            source.text.start <= from && to <= source.text.end + usize::from(source.is_open)
        };
        if let Some((from, ..)) =
            places.iter().find(|(from, to, _)| !self.sources.iter().any(|source| inside(source, *from, *to)))
        {
            let line = self.text[..*from].lines().count() + 1;
            return Err(format!(
                "line {line}: the lines # %% mark the cells of the notebook and are not part of it. Edit the text of one cell \
                 at a time; add or remove cells with bash."
            ));
        }
        let mut out = Vec::with_capacity(self.json.len());
        let mut at = 0;
        let mut rest = places.iter().peekable();
        for source in &self.sources {
            let mut lines = String::new();
            let mut copied = source.text.start;
            let mut is_changed = false;
            while let Some((from, to, new)) = rest.next_if(|(from, to, _)| inside(source, *from, *to)) {
                lines.push_str(&self.text[copied..*from]);
                // The added line end after the last line is not part of the file.
                lines.push_str(if *to > source.text.end { new.strip_suffix('\n').unwrap_or(new) } else { new });
                copied = *to;
                is_changed = true;
            }
            if is_changed {
                lines.push_str(self.text.get(copied..source.text.end).unwrap_or_default());
                out.extend_from_slice(&self.json.as_bytes()[at..source.json.start]);
                out.extend_from_slice(self.source_json(&self.json[source.json.clone()], source, &lines).as_bytes());
                at = source.json.end;
            }
        }
        out.extend_from_slice(&self.json.as_bytes()[at..]);
        Ok(out)
    }

    /// Formats a source as JSON with the layout of the old one.
    fn source_json(&self, old: &str, source: &Source, lines: &str) -> String {
        let text = |text: &str| Value::from(text).to_string();
        let Some(list) = old.strip_prefix('[') else { return text(lines) };
        let items: Vec<String> = lines.split_inclusive('\n').map(text).collect();
        if items.is_empty() {
            return "[]".into();
        }
        let blanks = |text: &str| text[..text.len() - text.trim_start().len()].to_string();
        let (mut before, mut behind) = (blanks(list), String::new());
        if list.trim_start().starts_with(']') {
            // An empty list has no layout: if the file has lines, the source is indented one level more than its own
            // line.
            let line = self.json[..source.json.start].rsplit_once('\n');
            before = line.map_or_else(String::new, |(_, line)| format!("\n{} ", blanks(line)));
            behind = line.map_or_else(String::new, |(_, line)| format!("\n{}", blanks(line)));
        } else if let Some((_, end)) = old.strip_suffix(']').and_then(|list| list.rsplit_once('"')) {
            behind = end.to_string();
        }
        let comma = if before.is_empty() { ", ".to_string() } else { format!(",{before}") };
        format!("[{before}{}{behind}]", items.join(&comma))
    }
}

#[cfg(test)]
mod tests {
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
        let got = book.with(&[(from, from + old.len(), new.to_string())]);
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
        let json = book.with(&[place("Title", "T"), place("= 1", "= 2"), place("b =", "c =")]).unwrap();
        let expect = BOOK.replace("# Title", "# T").replace("a = 1", "a = 2").replace("b = ", "c = ");
        assert_eq!(String::from_utf8(json).unwrap(), expect);
    }

    #[test]
    fn files_that_are_not_notebooks_are_refused() {
        for json in ["", "{}", "[]", r#"{"cells": 1}"#, r#"{"cells": [1]}"#] {
            assert!(Notebook::parse(json).is_none(), "{json}");
        }
        assert!(Notebook::open(Path::new("a.json"), BOOK.as_bytes()).is_none());
        assert_eq!(
            Notebook::parse(r#"{"cells": [{"source": 1}, {}]}"#).unwrap().text(),
            "# %% [raw] cell:0\n# %% [raw] cell:1\n"
        );
    }
}
