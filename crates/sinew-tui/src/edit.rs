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

/// A command of the editor, used by keys and menus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EditAction {
    /// Moves one cluster to the left.
    Left,
    /// Moves one cluster to the right.
    Right,
    /// Moves to the beginning of the word.
    WordLeft,
    /// Moves to the end of the word.
    WordRight,
    /// Moves to the beginning of the line.
    LineStart,
    /// Moves to the end of the line.
    LineEnd,
    /// Moves to the beginning of the text.
    TextStart,
    /// Moves to the end of the text.
    TextEnd,
    /// Moves one row up; in the first row, shows older history.
    Up,
    /// Moves one row down; in the last row, shows newer history.
    Down,
    /// Moves up by the shown height; does nothing in the first row.
    PageUp,
    /// Moves down by the shown height; does nothing in the last row.
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
    /// Inserts the last kill.
    Yank,
    /// Replaces the text just yanked with the kill before it.
    YankPop,
    /// Swaps the two clusters around the cursor.
    Transpose,
    /// Undoes the last change.
    Undo,
    /// Redoes the last undone change.
    Redo,
    /// Inserts a line end.
    NewLine,
}

/// The text being written, with undo, kills and history.
///
/// The editor handles no keys and reads no clock: the caller passes commands. A call runs in time linear in the line of
/// the cursor, except for undo, which is linear in the restored text.
#[derive(Debug, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    markers: Vec<Marker>,
    undo: UndoList,
    kills: KillRing,
    history: History,
    /// The target column of up and down.
    sticky: Option<usize>,
    /// The width of the last layout.
    width: usize,
    /// The number of rows last shown.
    height: usize,
    last: LastCommand,
}

/// A text that the editor shows as one unit.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Marker {
    label: String,
    text: String,
}

/// The kind of the last command, as far as the next one depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum LastCommand {
    #[default]
    Other,
    Typed,
    Kill,
    /// A yank, with the position where it began.
    Yank(usize),
}

/// Markers are characters of a private-use plane, so every command treats a marker as one cluster.
const MARKER_BASE: u32 = 0x10_0000;

/// Larger pastes become a marker.
const PASTE_LINES: usize = 10;
const PASTE_CHARS: usize = 1_000;

fn marker_index(c: char) -> Option<usize> {
    u32::from(c).checked_sub(MARKER_BASE).map(|index| index as usize)
}

impl Editor {
    /// Creates an empty editor.
    #[must_use]
    pub fn new() -> Editor {
        Editor::default()
    }

    /// Returns the text, with markers expanded.
    #[must_use]
    pub fn text(&self) -> String {
        self.expand(&self.text)
    }

    /// Returns true if the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text as shown, with the labels of markers.
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

    /// Returns the shown text before the cursor, for completion.
    #[must_use]
    pub fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Returns the cursor's byte position in the text; a marker counts as one character.
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

    /// Inserts typed text. Controls except line ends and tabs are removed.
    pub fn insert(&mut self, text: &str) {
        let text = clean(text);
        if text.is_empty() {
            return;
        }
        let joins = self.last == LastCommand::Typed && !text.starts_with([' ', '\n']);
        self.replace(self.cursor, self.cursor, &text, joins);
        self.last = LastCommand::Typed;
    }

    /// Ends the group of typed text that one undo removes: the caller calls this after a pause of one second.
    pub fn pause(&mut self) {
        if self.last == LastCommand::Typed {
            self.last = LastCommand::Other;
        }
    }

    /// Inserts a paste. A long one is shown as a marker.
    pub fn paste(&mut self, text: &str) {
        let text = clean(text);
        if text.is_empty() {
            return;
        }
        self.last = LastCommand::Other;
        let lines = text.lines().count();
        if lines > PASTE_LINES || text.chars().count() > PASTE_CHARS {
            let number = self.markers.len() + 1;
            let size =
                if lines > PASTE_LINES { format!("+{lines} lines") } else { format!("{} chars", text.chars().count()) };
            self.insert_marker(format!("[paste #{number} {size}]"), text);
        } else {
            self.replace(self.cursor, self.cursor, &text, false);
        }
        self.last = LastCommand::Other;
    }

    /// Inserts a marker that is shown as `label` and represents `text`.
    pub fn insert_marker(&mut self, label: String, text: String) {
        let Some(c) = u32::try_from(self.markers.len()).ok().and_then(|index| char::from_u32(MARKER_BASE + index))
        else {
            // The plane has no free characters: insert the text itself.
            self.replace(self.cursor, self.cursor, &text, false);
            return;
        };
        self.markers.push(Marker { label, text });
        let mut bytes = [0; 4];
        self.replace(self.cursor, self.cursor, c.encode_utf8(&mut bytes), false);
        self.last = LastCommand::Other;
    }

    /// Returns the number of markers created so far.
    #[must_use]
    pub fn markers(&self) -> usize {
        self.markers.len()
    }

    /// Returns the line of the cursor, with markers expanded.
    #[must_use]
    pub fn line(&self) -> String {
        let (before, after) = self.text.split_at(self.cursor);
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after.find('\n').map_or(self.text.len(), |at| at + self.cursor);
        self.expand(&self.text[begin..end])
    }

    /// Returns the text of the marker at the cursor; `None` if there is no marker.
    #[must_use]
    pub fn marker_at_cursor(&self) -> Option<&str> {
        let after = self.text[self.cursor..].chars().next();
        let before = self.text[..self.cursor].chars().next_back();
        let index = [after, before].into_iter().flatten().find_map(marker_index)?;
        self.markers.get(index).map(|marker| marker.text.as_str())
    }

    /// Replaces the text between the byte `from` and the cursor with a completion.
    pub fn complete(&mut self, from: usize, text: &str) {
        if from <= self.cursor && self.text.is_char_boundary(from) {
            self.replace(from, self.cursor, &clean(text), false);
            self.last = LastCommand::Other;
        }
    }

    /// Replaces the whole text. One undo restores it.
    pub fn set_text(&mut self, text: &str) {
        self.undo.split();
        self.replace(0, self.text.len(), &clean(text), false);
        self.undo.split();
        self.cursor = self.text.len();
        self.last = LastCommand::Other;
    }

    /// Inserts text at the beginning, separated by a blank line, for queued texts that return to the editor.
    pub fn prepend(&mut self, text: &str) {
        let text = clean(text);
        let text = if self.text.is_empty() { text } else { text + "\n\n" };
        let cursor = self.cursor + text.len();
        self.undo.split();
        self.replace(0, 0, &text, false);
        self.undo.split();
        self.cursor = cursor;
        self.last = LastCommand::Other;
    }

    /// Removes and returns the text for sending: it is added to the history, and undo restores it.
    pub fn submit(&mut self) -> String {
        let text = self.text();
        self.history.add(&text);
        self.undo.split();
        self.replace(0, self.text.len(), "", false);
        self.undo.split();
        self.last = LastCommand::Other;
        text
    }

    /// Clears the draft, keeping it in history and undo. Returns true if there was one.
    pub fn clear(&mut self) -> bool {
        let any = !self.is_empty();
        if any {
            self.submit();
        }
        any
    }

    /// Returns the history, to fill and search it.
    pub fn history(&mut self) -> &mut History {
        &mut self.history
    }

    /// Executes a command. Returns true if it changed anything.
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

    /// Moves the cursor to the next or previous occurrence of a text. Returns false if there is none.
    pub fn jump(&mut self, text: &str, forward: bool) -> bool {
        (self.last, self.sticky) = (LastCommand::Other, None);
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

    fn kill(&mut self, direction: Direction, unit: Unit, last: LastCommand) {
        let mut target = self.target(direction, unit);
        if unit == Unit::Line && target == self.cursor {
            target = self.target(direction, Unit::Cluster);
        }
        let (from, to) = (self.cursor.min(target), self.cursor.max(target));
        if from == to {
            return;
        }
        let text = self.text[from..to].to_owned();
        self.kills.add(&text, direction == Direction::Back, last == LastCommand::Kill);
        self.replace(from, to, "", false);
        self.last = LastCommand::Kill;
    }

    fn yank(&mut self) {
        if let Some(text) = self.kills.newest().map(str::to_owned) {
            let from = self.cursor;
            self.replace(from, from, &text, false);
            self.last = LastCommand::Yank(from);
        }
    }

    fn yank_pop(&mut self, last: LastCommand) {
        if let LastCommand::Yank(from) = last
            && let Some(text) = self.kills.rotate().map(str::to_owned)
        {
            self.replace(from, self.cursor, &text, false);
            self.last = LastCommand::Yank(from);
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

/// Removes what the editor cannot contain: other kinds of line ends, controls, and the characters of markers.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = sinew_term::sanitize(&text);
    text.chars().filter(|c| u32::from(*c) < MARKER_BASE).collect()
}
