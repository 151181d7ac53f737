//! The editor: text, cursor, undo, kills, history, and the rows that show it.

mod buffer;
mod history;
mod kill;
mod layout;
mod motion;
mod objects;
mod places;
mod undo;
mod vi;

pub use history::History;
pub use layout::{EditorRows, EditorStyle};
pub use vi::{Vi, ViKey, ViMode, ViPress};

use kill::KillRing;
use motion::{Direction, Unit};
use undo::UndoList;

/// A command of the editor, as keys and menus name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EditAction {
    /// One cluster to the left.
    Left,
    /// One cluster to the right.
    Right,
    /// To the beginning of the word.
    WordLeft,
    /// To the end of the word.
    WordRight,
    /// To the beginning of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
    /// To the beginning of the text.
    TextStart,
    /// To the end of the text.
    TextEnd,
    /// One row up; at the first row to older history.
    Up,
    /// One row down; at the last row to newer history.
    Down,
    /// As many rows up as are shown; at the first row nothing.
    PageUp,
    /// As many rows down as are shown; at the last row nothing.
    PageDown,
    /// Deletes the cluster before the cursor.
    DeleteBackward,
    /// Deletes the cluster at the cursor.
    DeleteForward,
    /// Kills to the beginning of the word; a path is one word.
    KillWordBackward,
    /// Kills to the end of the word.
    KillWordForward,
    /// Kills to the beginning of the line.
    KillToLineStart,
    /// Kills to the end of the line; at the end, the line end.
    KillToLineEnd,
    /// Inserts what was killed last.
    Yank,
    /// Replaces what was just yanked by the kill before it.
    YankPop,
    /// Exchanges the two clusters around the cursor.
    Transpose,
    /// Takes the last change back.
    Undo,
    /// Does it again.
    Redo,
    /// A line end.
    NewLine,
}

/// The text that is being written, and all that was.
///
/// No key and no clock is known here: the caller says what to do. Costs per call are those of the line at the cursor, but
/// for undo, which moves as much text as it gives back.
#[derive(Debug, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    markers: Vec<Marker>,
    undo: UndoList,
    kills: KillRing,
    history: History,
    /// The column that up and down aim at.
    sticky: Option<usize>,
    /// The width that rows were last made for.
    width: usize,
    /// The rows that were last shown.
    height: usize,
    last: Last,
}

/// Text that stands in the editor as one unit.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Marker {
    label: String,
    text: String,
}

/// The kind of the last command, as far as the next one asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Last {
    #[default]
    Other,
    Typed,
    Kill,
    /// The place where a yank began.
    Yank(usize),
}

/// Markers are characters of a plane that is in private use, so that every command treats one as one cluster.
const MARKER_BASE: u32 = 0x10_0000;

/// Pastes of more lines or characters become a marker.
const PASTE_LINES: usize = 10;
const PASTE_CHARS: usize = 1_000;

fn marker_index(c: char) -> Option<usize> {
    u32::from(c).checked_sub(MARKER_BASE).map(|index| index as usize)
}

impl Editor {
    /// An empty editor.
    #[must_use]
    pub fn new() -> Editor {
        Editor::default()
    }

    /// The text, markers expanded.
    #[must_use]
    pub fn text(&self) -> String {
        self.expand(&self.text)
    }

    /// Returns true if nothing is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text as it is shown, markers by their labels.
    #[must_use]
    pub fn shown_text(&self) -> String {
        self.text.chars().fold(String::new(), |mut out, c| {
            match marker_index(c).and_then(|index| self.markers.get(index)) {
                Some(marker) => out.push_str(&marker.label),
                None => out.push(c),
            }
            out
        })
    }

    /// The text before the cursor as it is shown: what completion looks at.
    #[must_use]
    pub fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// The byte of the cursor in the text, markers counting as one character each.
    #[must_use]
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    fn expand(&self, text: &str) -> String {
        text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
            match marker_index(c).and_then(|index| self.markers.get(index)) {
                Some(marker) => out.push_str(&marker.text),
                None => out.push(c),
            }
            out
        })
    }

    /// Inserts typed text. Controls but line ends and tabs go.
    pub fn insert(&mut self, text: &str) {
        let text = clean(text);
        if text.is_empty() {
            return;
        }
        let joins = self.last == Last::Typed && !text.starts_with([' ', '\n']);
        self.replace(self.cursor, self.cursor, &text, joins);
        self.last = Last::Typed;
    }

    /// Ends the group of typed text that one undo takes back: the caller calls it after a pause of a second.
    pub fn pause(&mut self) {
        if self.last == Last::Typed {
            self.last = Last::Other;
        }
    }

    /// Inserts a paste. Long ones become a marker that stands for them.
    pub fn paste(&mut self, text: &str) {
        let text = clean(text);
        if text.is_empty() {
            return;
        }
        self.last = Last::Other;
        let lines = text.lines().count();
        if lines > PASTE_LINES || text.chars().count() > PASTE_CHARS {
            let number = self.markers.len() + 1;
            let size =
                if lines > PASTE_LINES { format!("+{lines} lines") } else { format!("{} chars", text.chars().count()) };
            self.insert_marker(format!("[paste #{number} {size}]"), text);
        } else {
            self.replace(self.cursor, self.cursor, &text, false);
        }
        self.last = Last::Other;
    }

    /// Inserts a unit that is shown as `label` and stands for `text`.
    pub fn insert_marker(&mut self, label: String, text: String) {
        let Some(c) = u32::try_from(self.markers.len()).ok().and_then(|index| char::from_u32(MARKER_BASE + index))
        else {
            // More markers than the plane has characters: the text itself, then.
            self.replace(self.cursor, self.cursor, &text, false);
            return;
        };
        self.markers.push(Marker { label, text });
        let mut bytes = [0; 4];
        self.replace(self.cursor, self.cursor, c.encode_utf8(&mut bytes), false);
        self.last = Last::Other;
    }

    /// The number of markers that were made so far.
    #[must_use]
    pub fn markers(&self) -> usize {
        self.markers.len()
    }

    /// The line of the cursor, markers expanded.
    #[must_use]
    pub fn line(&self) -> String {
        let (before, after) = self.text.split_at(self.cursor);
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after.find('\n').map_or(self.text.len(), |at| at + self.cursor);
        self.expand(&self.text[begin..end])
    }

    /// The text of the marker at the cursor.
    #[must_use]
    pub fn marker_at_cursor(&self) -> Option<&str> {
        let after = self.text[self.cursor..].chars().next();
        let before = self.text[..self.cursor].chars().next_back();
        let index = [after, before].into_iter().flatten().find_map(marker_index)?;
        self.markers.get(index).map(|marker| marker.text.as_str())
    }

    /// Replaces the text before the cursor from the byte `from` on: a completion was taken.
    pub fn complete(&mut self, from: usize, text: &str) {
        if from <= self.cursor && self.text.is_char_boundary(from) {
            self.replace(from, self.cursor, &clean(text), false);
            self.last = Last::Other;
        }
    }

    /// Replaces everything. One undo takes it back.
    pub fn set_text(&mut self, text: &str) {
        self.undo.split();
        self.replace(0, self.text.len(), &clean(text), false);
        self.undo.split();
        self.cursor = self.text.len();
        self.last = Last::Other;
    }

    /// Puts text in front of what is written, a blank line between: queued texts come back.
    pub fn prepend(&mut self, text: &str) {
        let text = clean(text);
        let text = if self.text.is_empty() { text } else { text + "\n\n" };
        let cursor = self.cursor + text.len();
        self.undo.split();
        self.replace(0, 0, &text, false);
        self.undo.split();
        self.cursor = cursor;
        self.last = Last::Other;
    }

    /// Takes the text to send it: it goes into the history, and undo brings it back.
    pub fn submit(&mut self) -> String {
        let text = self.text();
        self.history.add(&text);
        self.undo.split();
        self.replace(0, self.text.len(), "", false);
        self.undo.split();
        self.last = Last::Other;
        text
    }

    /// Clears the draft into history and undo. Gives whether there was one.
    pub fn clear(&mut self) -> bool {
        let any = !self.is_empty();
        if any {
            self.submit();
        }
        any
    }

    /// The history, to fill it at start and search it.
    pub fn history(&mut self) -> &mut History {
        &mut self.history
    }

    /// Carries a command out. Gives whether it did anything.
    pub fn act(&mut self, action: EditAction) -> bool {
        let before = (self.cursor, self.undo.len(), self.text.len());
        let last = std::mem::take(&mut self.last);
        let sticky = self.sticky.take();
        let mut done = false;
        match action {
            EditAction::Left => self.cursor = self.target(Direction::Back, Unit::Cluster),
            EditAction::Right => self.cursor = self.target(Direction::Forward, Unit::Cluster),
            EditAction::WordLeft => self.cursor = self.target(Direction::Back, Unit::Word),
            EditAction::WordRight => self.cursor = self.target(Direction::Forward, Unit::Word),
            EditAction::LineStart => self.cursor = self.target(Direction::Back, Unit::Line),
            EditAction::LineEnd => self.cursor = self.target(Direction::Forward, Unit::Line),
            EditAction::TextStart => self.cursor = 0,
            EditAction::TextEnd => self.cursor = self.text.len(),
            EditAction::Up => done = self.vertical(-1, sticky),
            EditAction::Down => done = self.vertical(1, sticky),
            EditAction::PageUp => done = self.page(-1, sticky),
            EditAction::PageDown => done = self.page(1, sticky),
            EditAction::DeleteBackward => self.delete(Direction::Back, Unit::Cluster),
            EditAction::DeleteForward => self.delete(Direction::Forward, Unit::Cluster),
            EditAction::KillWordBackward => self.kill(Direction::Back, Unit::Path, last),
            EditAction::KillWordForward => self.kill(Direction::Forward, Unit::Word, last),
            EditAction::KillToLineStart => self.kill(Direction::Back, Unit::Line, last),
            EditAction::KillToLineEnd => self.kill(Direction::Forward, Unit::Line, last),
            EditAction::Yank => self.yank(),
            EditAction::YankPop => self.yank_pop(last),
            EditAction::Transpose => self.transpose(),
            EditAction::Undo => done = self.undo_one(),
            EditAction::Redo => done = self.redo_one(),
            EditAction::NewLine => self.replace(self.cursor, self.cursor, "\n", false),
        }
        done || before != (self.cursor, self.undo.len(), self.text.len())
    }

    /// Moves the cursor to the next place, or the one before, at which a text stands. Gives whether there is one.
    pub fn jump(&mut self, text: &str, forward: bool) -> bool {
        (self.last, self.sticky) = (Last::Other, None);
        let found = match forward {
            true => {
                let from = self.target(Direction::Forward, Unit::Cluster);
                self.text[from..].find(text).map(|at| from + at)
            }
            false => self.text[..self.cursor].rfind(text),
        };
        let found = found.filter(|_| !text.is_empty());
        self.cursor = found.unwrap_or(self.cursor);
        found.is_some()
    }

    fn delete(&mut self, direction: Direction, unit: Unit) {
        let target = self.target(direction, unit);
        self.replace(self.cursor.min(target), self.cursor.max(target), "", false);
    }

    fn kill(&mut self, direction: Direction, unit: Unit, last: Last) {
        let mut target = self.target(direction, unit);
        if unit == Unit::Line && target == self.cursor {
            target = self.target(direction, Unit::Cluster);
        }
        let (from, to) = (self.cursor.min(target), self.cursor.max(target));
        if from == to {
            return;
        }
        let text = self.text[from..to].to_owned();
        self.kills.add(&text, direction == Direction::Back, last == Last::Kill);
        self.replace(from, to, "", false);
        self.last = Last::Kill;
    }

    fn yank(&mut self) {
        if let Some(text) = self.kills.newest().map(str::to_owned) {
            let from = self.cursor;
            self.replace(from, from, &text, false);
            self.last = Last::Yank(from);
        }
    }

    fn yank_pop(&mut self, last: Last) {
        if let Last::Yank(from) = last
            && let Some(text) = self.kills.rotate().map(str::to_owned)
        {
            self.replace(from, self.cursor, &text, false);
            self.last = Last::Yank(from);
        }
    }

    fn transpose(&mut self) {
        let end = if self.cursor == self.text.len() || self.text[self.cursor..].starts_with('\n') {
            self.cursor
        } else {
            self.target(Direction::Forward, Unit::Cluster)
        };
        let middle = motion::target(&self.text, end, Direction::Back, Unit::Cluster);
        let start = motion::target(&self.text, middle, Direction::Back, Unit::Cluster);
        let (first, second) = (&self.text[start..middle], &self.text[middle..end]);
        if !first.is_empty() && !second.is_empty() && first != "\n" && second != "\n" {
            let text = format!("{second}{first}");
            self.replace(start, end, &text, false);
        }
    }
}

/// Text as it may stand in the editor: line ends of one kind, no controls, no characters that markers use.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = sinew_term::sanitize(&text);
    text.chars().filter(|c| u32::from(*c) < MARKER_BASE).collect()
}
