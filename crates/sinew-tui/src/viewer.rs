//! A full-screen view with search and folds, for content that the transcript shows only partly. Its passages are read
//! and laid out on demand, so it opens immediately regardless of its length.

mod passage;
mod search;

pub use passage::{Passage, Passages, ReadPassages, SearchTarget};
pub use search::{Search, ViewPosition};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::screen::{Caret, Chrome, Size};
use crate::text::row::{Line, Row};
use crate::text::style::{Attrs, Style};
use crate::text::wrap::{WrapMode, wrap};

/// The number of passages above and below the screen that stay laid out.
const KEPT: usize = 32;

/// The position of a row: its passage, and its index among the passage's rows.
type RowPosition = (usize, usize);

/// A passage as rows of the current width; a row's `line` is its line in the passage.
#[derive(Debug)]
struct PassageRows {
    passage: Passage,
    rows: Vec<Row>,
}

/// The result of a key.
pub enum Reaction {
    /// The view stays open and may have changed.
    Stays,
    /// The view must be closed.
    Closes,
    /// The caller must run this search and pass the result to [`Viewer::found`].
    Searches(Search),
}

/// An action in a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewAction {
    /// Closes the view.
    Close,
    /// Moves a row up.
    Up,
    /// Moves a row down.
    Down,
    /// Moves a page up.
    PageUp,
    /// Moves a page down.
    PageDown,
    /// Goes to the first row.
    Start,
    /// Goes to the last row.
    End,
    /// Begins the input of a search text.
    Search,
    /// Goes to the next match.
    Next,
    /// Goes to the previous match.
    Previous,
    /// Goes to the previous prompt.
    PromptBefore,
    /// Goes to the next prompt.
    PromptAfter,
    /// Folds or unfolds the part that contains the first row.
    Fold,
    /// Folds or unfolds everything.
    FoldAll,
}

/// A key pressed while a search text is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryPress<'a> {
    /// Cancels the input.
    Cancel,
    /// Begins the search.
    Confirm,
    /// Deletes the last character.
    Backspace,
    /// Inserts a text.
    Text(&'a str),
}

/// Passages at a width, the position of the top row, and the search.
pub struct Viewer {
    title: String,
    passages: Arc<dyn Passages>,
    mode: WrapMode,
    size: Size,
    laid: BTreeMap<usize, PassageRows>,
    top: RowPosition,
    /// The search text.
    query: String,
    /// The line found last, until another key moves the view.
    found: Option<ViewPosition>,
    is_typing: bool,
    note: String,
    /// The keys, as shown in the last row.
    hint: String,
    /// Whether all parts are folded except `unlike`, or only those: passage and line of their beginnings.
    is_folded: bool,
    unlike: BTreeSet<ViewPosition>,
}

impl Viewer {
    /// Creates a view that begins at a passage, or at the end if there is no such passage.
    #[must_use]
    pub fn new(title: &str, passages: Arc<dyn Passages>, size: Size, first: usize) -> Viewer {
        Viewer::laid(title, passages, size, first, WrapMode::Words)
    }

    /// Creates a view that cuts lines at the edge of the screen instead of between words.
    #[must_use]
    pub fn raw(title: &str, passages: Arc<dyn Passages>, size: Size, first: usize) -> Viewer {
        Viewer::laid(title, passages, size, first, WrapMode::Cells)
    }

    fn laid(title: &str, passages: Arc<dyn Passages>, size: Size, first: usize, mode: WrapMode) -> Viewer {
        let mut viewer = Viewer {
            title: title.to_owned(),
            passages,
            mode,
            size,
            laid: BTreeMap::new(),
            top: (0, 0),
            query: String::new(),
            found: None,
            is_typing: false,
            note: String::new(),
            hint: String::new(),
            is_folded: false,
            unlike: BTreeSet::new(),
        };
        let line = viewer.passage(first).begins.first().copied().unwrap_or_default();
        viewer.show(ViewPosition { passage: first, line });
        viewer
    }

    /// Lays out the view for another size, starting at the same line.
    pub fn resize(&mut self, size: Size) {
        let spot = self.spot();
        self.size = size;
        self.laid.clear();
        self.show(spot);
    }

    /// Shows passages that continue the current ones. A view at the end follows the new end; otherwise the same line
    /// stays at the top.
    pub fn replace(&mut self, passages: Arc<dyn Passages>) {
        let (spot, last_top) = (self.spot(), self.last_top());
        let is_at_end = self.top >= last_top;
        self.passages = passages;
        self.laid.clear();
        if is_at_end {
            self.top = self.last_top();
            self.settle();
        } else {
            self.show(spot);
        }
    }

    /// Returns the size of the layout.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns true while a search text is typed.
    #[must_use]
    pub fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Shows a note until the next key.
    pub fn tell(&mut self, note: impl Into<String>) {
        self.note = note.into();
    }

    /// Returns the text of the part that contains the last match or the first row, up to the next part. Returns `None`
    /// if no part begins there or above.
    #[must_use]
    pub fn part(&mut self) -> Option<String> {
        let at = self.found.unwrap_or_else(|| self.spot());
        let begin = self.begin_of(at).or_else(|| self.begin_after(at))?;
        let mut text = String::new();
        for number in begin.passage..self.passages.count() {
            let passage = self.passage(number);
            let from = if number == begin.passage { begin.line } else { 0 };
            let to = passage.begins.iter().copied().find(|line| number > begin.passage || *line > begin.line);
            for line in &passage.lines[from..to.unwrap_or(passage.lines.len())] {
                text.push_str(line.text().trim_end());
                text.push('\n');
            }
            if to.is_some() {
                break;
            }
        }
        Some(text.trim_end().to_owned())
    }

    /// Sets the description of the keys in the last row.
    pub fn set_hint(&mut self, hint: impl Into<String>) {
        self.hint = hint.into();
    }

    /// Handles a key without an action: clears the note, and the view's position is no longer the match.
    pub fn rest(&mut self) {
        self.note.clear();
        self.found = None;
    }

    /// Performs an action. While a search text is typed, call [`Viewer::type_query`] instead.
    pub fn act(&mut self, action: ViewAction) -> Reaction {
        self.note.clear();
        if !matches!(action, ViewAction::Next | ViewAction::Previous | ViewAction::Fold) {
            self.found = None;
        }
        let page = self.height().saturating_sub(1).max(1) as isize;
        match action {
            ViewAction::Close => return Reaction::Closes,
            ViewAction::Up => self.step(-1),
            ViewAction::Down => self.step(1),
            ViewAction::PageUp => self.step(-page),
            ViewAction::PageDown => self.step(page),
            ViewAction::Start => self.show(ViewPosition::default()),
            ViewAction::End => self.top = self.last_top(),
            ViewAction::Search => (self.is_typing, self.query) = (true, String::new()),
            ViewAction::Next => return self.search(SearchTarget::Text(self.query.to_lowercase()), true),
            ViewAction::Previous => return self.search(SearchTarget::Text(self.query.to_lowercase()), false),
            ViewAction::PromptBefore => return self.search(SearchTarget::Prompt, false),
            ViewAction::PromptAfter => return self.search(SearchTarget::Prompt, true),
            ViewAction::Fold => self.fold(),
            ViewAction::FoldAll => self.fold_all(),
        }
        Reaction::Stays
    }

    /// Handles the result of a search.
    pub fn found(&mut self, search: &Search, found: Option<ViewPosition>) {
        self.note.clear();
        match found {
            Some(spot) => {
                self.found = (search.wanted != SearchTarget::Prompt).then_some(spot);
                self.unfold(spot);
                self.show(spot);
            }
            None if search.wanted == SearchTarget::Prompt => self.tell("no more prompts in this direction"),
            None => self.tell("not found"),
        }
    }

    /// Handles a key of the search text; see [`Viewer::is_typing`].
    pub fn type_query(&mut self, press: QueryPress<'_>) -> Reaction {
        self.note.clear();
        match press {
            QueryPress::Cancel => self.is_typing = false,
            QueryPress::Confirm => {
                self.is_typing = false;
                return self.search(SearchTarget::Text(self.query.to_lowercase()), true);
            }
            QueryPress::Backspace => drop(self.query.pop()),
            QueryPress::Text(text) => self.query.extend(text.chars().filter(|letter| !letter.is_control())),
        }
        Reaction::Stays
    }

    fn search(&mut self, wanted: SearchTarget, forward: bool) -> Reaction {
        if wanted == SearchTarget::Text(String::new()) {
            return Reaction::Stays;
        }
        let from = self.found.unwrap_or_else(|| self.spot());
        self.tell("searching… press any key to cancel");
        Reaction::Searches(Search { passages: Arc::clone(&self.passages), wanted, from, forward })
    }
}

/// Positions of rows.
impl Viewer {
    /// Returns the number of rows for passages.
    fn height(&self) -> usize {
        self.size.rows.saturating_sub(1).max(1)
    }

    fn passage(&mut self, at: usize) -> Passage {
        match self.laid.get(&at) {
            Some(laid) => laid.passage.clone(),
            None => self.passages.read(at),
        }
    }

    /// Returns the rows of a passage, and lays it out if necessary.
    fn rows(&mut self, at: usize) -> &[Row] {
        if !self.laid.contains_key(&at) {
            let passage = self.passages.read(at);
            let rows = self.lay(at, &passage);
            self.laid.insert(at, PassageRows { passage, rows });
        }
        self.laid.get(&at).map_or(&[], |laid| &laid.rows)
    }

    fn lay(&mut self, at: usize, passage: &Passage) -> Vec<Row> {
        let none = Line::new();
        let mut rows = Vec::new();
        // Lines before the first beginning belong to the part that began before.
        let goes_on = self.may_fold() && at > 0 && passage.begins.first() != Some(&0);
        let owner = if goes_on { self.begin_of(ViewPosition { passage: at - 1, line: usize::MAX }) } else { None };
        let mut is_hidden = owner.is_some_and(|owner| self.hides(owner));
        for (number, line) in passage.lines.iter().enumerate() {
            let begins = passage.begins.contains(&number);
            let mut line = Cow::Borrowed(line);
            if begins {
                is_hidden = self.hides(ViewPosition { passage: at, line: number });
                if is_hidden {
                    line.to_mut().push("  ⋯", Style::PLAIN);
                }
            }
            if begins || !is_hidden {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                wrap(&line, self.size.columns, self.mode, number, (&none, &none), &mut rows);
            }
        }
        rows
    }

    /// Returns the position of the next row; `None` at the end.
    fn next_place(&mut self, (passage, row): RowPosition) -> Option<RowPosition> {
        if row + 1 < self.rows(passage).len() {
            return Some((passage, row + 1));
        }
        (passage + 1..self.passages.count()).find(|&next| !self.rows(next).is_empty()).map(|next| (next, 0))
    }

    fn place_before(&mut self, (passage, row): RowPosition) -> Option<RowPosition> {
        if row > 0 && row <= self.rows(passage).len() {
            return Some((passage, row - 1));
        }
        (0..passage.min(self.passages.count()))
            .rev()
            .find_map(|before| Some((before, self.rows(before).len().checked_sub(1)?)))
    }

    /// Returns the position of the top row when the view shows the end.
    fn last_top(&mut self) -> RowPosition {
        let mut place = (self.passages.count(), 0);
        for _ in 0..self.height() {
            match self.place_before(place) {
                Some(before) => place = before,
                None => break,
            }
        }
        place
    }

    fn step(&mut self, by: isize) {
        for _ in 0..by.unsigned_abs() {
            let next = if by > 0 { self.next_place(self.top) } else { self.place_before(self.top) };
            match next {
                Some(next) => self.top = next,
                None => break,
            }
        }
        self.settle();
    }

    /// Keeps the screen full, and drops distant passages.
    fn settle(&mut self) {
        self.top = self.top.min(self.last_top());
        let kept = self.top.0.saturating_sub(KEPT)..self.top.0 + self.height() + KEPT;
        self.laid.retain(|at, _| kept.contains(at));
    }

    /// Shows a line at the top, as far as the end allows.
    fn show(&mut self, spot: ViewPosition) {
        let at = self.rows(spot.passage).partition_point(|row| (row.line as usize) < spot.line);
        self.top = (spot.passage, at);
        if at >= self.rows(spot.passage).len() {
            self.top = self.next_place(self.top).unwrap_or((self.passages.count(), 0));
        }
        self.settle();
    }

    /// Returns the line of the top row.
    fn spot(&mut self) -> ViewPosition {
        let (passage, row) = self.top;
        let line = self.rows(passage).get(row).map_or(0, |row| row.line as usize);
        ViewPosition { passage, line }
    }
}

/// Folding.
impl Viewer {
    fn may_fold(&self) -> bool {
        self.is_folded || !self.unlike.is_empty()
    }

    fn hides(&self, begin: ViewPosition) -> bool {
        self.is_folded != self.unlike.contains(&begin)
    }

    /// Returns the beginning of the part that contains a line.
    fn begin_of(&mut self, spot: ViewPosition) -> Option<ViewPosition> {
        (0..=spot.passage.min(self.passages.count().saturating_sub(1))).rev().find_map(|passage| {
            let line = if passage == spot.passage { spot.line } else { usize::MAX };
            let begins = self.passage(passage).begins;
            begins.iter().rev().find(|begin| **begin <= line).map(|&line| ViewPosition { passage, line })
        })
    }

    fn begin_after(&mut self, spot: ViewPosition) -> Option<ViewPosition> {
        (spot.passage..self.passages.count())
            .find_map(|passage| self.passage(passage).begins.first().map(|&line| ViewPosition { passage, line }))
    }

    /// Folds or unfolds the part that contains the top row.
    fn fold(&mut self) {
        let at = self.found.unwrap_or_else(|| self.spot());
        match self.begin_of(at).or_else(|| self.begin_after(at)) {
            Some(begin) => {
                self.turn(begin);
                self.show(begin);
            }
            None => self.tell("there is nothing to fold here"),
        }
    }

    /// Folds or unfolds everything.
    fn fold_all(&mut self) {
        let at = self.spot();
        let begin = self.begin_of(at).unwrap_or(at);
        self.is_folded = !self.is_folded;
        self.unlike.clear();
        self.laid.clear();
        self.show(begin);
    }

    fn unfold(&mut self, spot: ViewPosition) {
        if let Some(begin) = self.begin_of(spot).filter(|begin| self.hides(*begin)) {
            self.turn(begin);
        }
    }

    fn turn(&mut self, begin: ViewPosition) {
        if !self.unlike.remove(&begin) {
            self.unlike.insert(begin);
        }
        self.laid.clear();
    }
}

/// Painting.
impl Viewer {
    /// Returns all rows, for a separate [`crate::Screen`].
    #[must_use]
    pub fn chrome(&mut self) -> Chrome {
        let height = self.height();
        let reverse = Style::PLAIN.with(Attrs::REVERSE);
        let mut rows: Vec<Row> = Vec::new();
        let mut place = Some(self.top).filter(|(passage, row)| *row < self.rows(*passage).len());
        let mut after = self.top;
        while let Some((passage, at)) = place.filter(|_| rows.len() < height) {
            let row = &self.laid[&passage].rows[at];
            rows.push(self.shown(row));
            after = (passage, at);
            place = self.next_place((passage, at));
        }
        let share = if place.is_none() { 100 } else { self.share(after) };
        rows.resize(height, Row::default());
        let mut bar = Line::new();
        if self.is_typing {
            bar.push(&format!("/{}", self.query), Style::PLAIN);
        } else {
            let note = match self.note.as_str() {
                "" => self.hint.as_str(),
                note => note,
            };
            bar.push(&format!(" {} · {share} % · {note} ", self.title), reverse);
        }
        let column = if self.is_typing { bar.width() } else { 0 };
        if self.size.rows > 1 {
            rows.push(bar.into_row(self.size.columns));
        }
        let caret = Caret { row: rows.len() - 1, column: column.min(self.size.columns - 1), ..Caret::default() };
        Chrome { editor: rows, caret, ..Chrome::default() }
    }

    /// Returns the percentage of the view up to a row, counted by passages.
    fn share(&mut self, (passage, row): RowPosition) -> usize {
        let rows = self.rows(passage).len().max(1);
        ((passage * rows + row + 1) * 100 / (self.passages.count().max(1) * rows)).min(99)
    }

    /// Marks the search text in a row.
    fn shown(&self, row: &Row) -> Row {
        let wanted = self.query.to_lowercase();
        let text = row.text();
        // If the lower-case text has another length, nothing is marked.
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
