//! A view of many lines that fills the screen, with search: for what the transcript shows a part of.

use std::sync::Arc;

use crate::screen::{Caret, Chrome, Size};
use crate::text::row::{Line, Row};
use crate::text::style::{Attrs, Style};
use crate::text::wrap::{WrapMode, wrap};

/// Lines at a width, the first row that is shown, and the search in them.
#[derive(Debug)]
pub struct Viewer {
    title: String,
    lines: Arc<Vec<Line>>,
    /// Places to jump to, as numbers of lines.
    marks: Arc<Vec<usize>>,
    /// The lines that parts begin with, in order.
    parts: Arc<Vec<usize>>,
    mode: WrapMode,
    rows: Vec<Row>,
    size: Size,
    top: usize,
    /// The text that is searched for.
    query: String,
    /// The line that was found last, until another key moves the view.
    found: Option<usize>,
    is_typing: bool,
    note: String,
}

impl Viewer {
    /// Lays lines out for a screen and shows them from the line `first` on. `marks` are lines to jump to. Linear in the
    /// text: not for a thread that answers keys.
    #[must_use]
    pub fn new(title: &str, lines: Arc<Vec<Line>>, marks: Arc<Vec<usize>>, size: Size, first: usize) -> Viewer {
        Viewer::laid(title, lines, marks, size, first, WrapMode::Words)
    }

    /// The same, with lines cut at the edge of the screen instead of between words.
    #[must_use]
    pub fn raw(title: &str, lines: Arc<Vec<Line>>, marks: Arc<Vec<usize>>, size: Size, first: usize) -> Viewer {
        Viewer::laid(title, lines, marks, size, first, WrapMode::Cells)
    }

    fn laid(
        title: &str,
        lines: Arc<Vec<Line>>,
        marks: Arc<Vec<usize>>,
        size: Size,
        first: usize,
        mode: WrapMode,
    ) -> Viewer {
        let mut rows = Vec::new();
        let none = Line::new();
        for (number, line) in (0..).zip(lines.iter()) {
            wrap(line, size.columns, mode, number, (&none, &none), &mut rows);
        }
        let title = title.to_owned();
        let (query, note, parts) = (String::new(), String::new(), Arc::default());
        let mut viewer =
            Viewer { title, lines, marks, parts, mode, rows, size, top: 0, query, found: None, is_typing: false, note };
        viewer.go_to_line(first);
        viewer
    }

    /// The same for another size, from the same line on.
    #[must_use]
    pub fn resized(&self, size: Size) -> Viewer {
        let viewer = Viewer::laid(
            &self.title,
            Arc::clone(&self.lines),
            Arc::clone(&self.marks),
            size,
            self.first_line(),
            self.mode,
        );
        Viewer { query: self.query.clone(), parts: Arc::clone(&self.parts), ..viewer }
    }

    /// The same with parts, which can be taken out: the lines that they begin with, in order.
    #[must_use]
    pub fn with_parts(mut self, parts: Arc<Vec<usize>>) -> Viewer {
        self.parts = parts;
        self
    }

    /// The text of the part at the first row, or at what was found last; none where the view has no parts.
    #[must_use]
    pub fn part(&self) -> Option<String> {
        let now = self.found.unwrap_or_else(|| self.first_line());
        let after = self.parts.partition_point(|part| *part <= now);
        // Above the first part there is nothing.
        let from = *self.parts.get(after.saturating_sub(1))?;
        let to = self.parts.get(after.max(1)).copied().unwrap_or(self.lines.len());
        let text: Vec<&str> = self.lines[from..to].iter().map(|line| line.text().trim_end()).collect();
        Some(text.join("\n").trim_end().to_string())
    }

    /// Returns true if keys are letters of a search.
    #[must_use]
    pub fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Shows a note until the next key.
    pub fn tell(&mut self, note: impl Into<String>) {
        self.note = note.into();
    }

    /// The size that it is laid out for.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The line that the first row belongs to.
    #[must_use]
    pub fn first_line(&self) -> usize {
        self.rows.get(self.top).map_or(0, |row| row.line as usize)
    }

    /// Takes a key; `text` is what it types. False: the view is to be closed.
    pub fn key(&mut self, key: &str, text: &str) -> bool {
        self.note.clear();
        if self.is_typing {
            self.type_query(key, text);
            return true;
        }
        if !matches!(key, "n" | "N" | "shift+n") {
            self.found = None;
        }
        let page = self.height().saturating_sub(1).max(1) as isize;
        match key {
            "q" | "escape" | "ctrl+c" | "ctrl+o" => return false,
            "up" | "k" => self.step(-1),
            "down" | "j" | "enter" => self.step(1),
            "pageUp" | "b" => self.step(-page),
            "pageDown" | "f" | "space" | " " => self.step(page),
            "home" | "g" => self.top = 0,
            "end" | "shift+g" | "G" => self.step(isize::MAX / 2),
            "/" => (self.is_typing, self.query) = (true, String::new()),
            "n" => self.search(true),
            "shift+n" | "N" => self.search(false),
            "[" => self.jump(false),
            "]" => self.jump(true),
            _ => {}
        }
        true
    }

    fn type_query(&mut self, key: &str, text: &str) {
        match key {
            "escape" | "ctrl+c" => self.is_typing = false,
            "enter" => {
                self.is_typing = false;
                self.search(true);
            }
            "backspace" => drop(self.query.pop()),
            _ => self.query.extend(text.chars().filter(|letter| !letter.is_control())),
        }
    }

    /// Rows for the lines.
    fn height(&self) -> usize {
        self.size.rows.saturating_sub(1).max(1)
    }

    fn step(&mut self, by: isize) {
        self.top = self.top.saturating_add_signed(by).min(self.rows.len().saturating_sub(self.height()));
    }

    fn go_to_line(&mut self, line: usize) {
        let at = self.rows.partition_point(|row| (row.line as usize) < line);
        self.top = at.min(self.rows.len().saturating_sub(self.height()));
    }

    fn jump(&mut self, forward: bool) {
        let now = self.first_line();
        let next = match forward {
            true => self.marks.iter().find(|mark| **mark > now),
            false => self.marks.iter().rev().find(|mark| **mark < now),
        };
        match next {
            Some(mark) => self.go_to_line(*mark),
            None => self.tell("no more prompts there"),
        }
    }

    /// Goes to the next line with the query in it, in any case of letters; from the other end where there is none.
    fn search(&mut self, forward: bool) {
        let wanted = self.query.to_lowercase();
        if wanted.is_empty() {
            return;
        }
        let count = self.lines.len();
        let now = self.found.unwrap_or_else(|| self.first_line());
        let found = (1..=count)
            .map(|step| if forward { (now + step) % count } else { (now + count - step) % count })
            .find(|at| self.lines[*at].text().to_lowercase().contains(&wanted));
        match found {
            Some(at) => {
                self.found = Some(at);
                self.go_to_line(at);
            }
            None => self.tell("not found"),
        }
    }

    /// All rows of the screen, for a [`crate::Screen`] of its own.
    #[must_use]
    pub fn chrome(&self) -> Chrome {
        let height = self.height();
        let reverse = Style::PLAIN.with(Attrs::REVERSE);
        let mut rows: Vec<Row> = self.rows.iter().skip(self.top).take(height).map(|row| self.shown(row)).collect();
        rows.resize(height, Row::default());
        let mut bar = Line::new();
        if self.is_typing {
            bar.push(&format!("/{}", self.query), Style::PLAIN);
        } else {
            let end = (self.top + height).min(self.rows.len());
            let note = match self.note.as_str() {
                "" if self.parts.is_empty() => "/ search · n N · [ ] prompts · q",
                "" => "/ search · n N · [ ] prompts · y copy · p print · q",
                note => note,
            };
            bar.push(&format!(" {} · {end} of {} · {note} ", self.title, self.rows.len()), reverse);
        }
        let column = if self.is_typing { bar.width() } else { 0 };
        if self.size.rows > 1 {
            rows.push(bar.into_row(self.size.columns));
        }
        let caret = Caret { row: rows.len() - 1, column: column.min(self.size.columns - 1), ..Caret::default() };
        Chrome { editor: rows, caret, ..Chrome::default() }
    }

    /// A row with what is searched for marked.
    fn shown(&self, row: &Row) -> Row {
        let wanted = self.query.to_lowercase();
        let text = row.text();
        // Letters whose lower case has another length are not marked.
        if wanted.is_empty() || text.to_lowercase().len() != text.len() {
            return Row::new(row.to_line(), row.line);
        }
        let lower = text.to_lowercase();
        let (line, mut marked, mut at) = (row.to_line(), Line::new(), 0);
        for (from, found) in lower.match_indices(&wanted) {
            let to = from + found.len();
            if !text.is_char_boundary(from) || !text.is_char_boundary(to) {
                continue;
            }
            marked.append(&line.part(at, from));
            marked.push(&text[from..to], Style::PLAIN.with(Attrs::REVERSE));
            at = to;
        }
        marked.append(&line.part(at, text.len()));
        Row::new(marked, row.line)
    }
}
