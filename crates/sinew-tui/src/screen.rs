//! The screen: a document of blocks that scrolls out of a window, and the chrome below it.

mod compose;
mod document;
mod paint;
mod palette;
mod reflow;
mod resize;
mod window;

pub use document::{Block, BlockId, Layout, RenderedRows};
pub use palette::Characters;
pub use reflow::Reflow;

use std::sync::Arc;

use crate::text::row::Row;
use crate::text::style::Depth;
use compose::{WindowRow, compose};
use document::Document;
use palette::Palette;
use window::Window;

/// The columns and rows of a terminal; at least one of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// The number of columns.
    pub columns: usize,
    /// The number of rows.
    pub rows: usize,
}

impl Size {
    /// Creates a size; zero is treated as one.
    #[must_use]
    pub fn new(columns: usize, rows: usize) -> Size {
        Size { columns: columns.max(1), rows: rows.max(1) }
    }
}

/// The part of the chrome that contains the cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CaretPlace {
    /// The editor.
    #[default]
    Editor,
    /// The popup or panel.
    Cover,
}

/// The position of the terminal's cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Caret {
    /// The part of the chrome.
    pub place: CaretPlace,
    /// The row of that part, from 0.
    pub row: usize,
    /// The column, from 0.
    pub column: usize,
}

/// Everything below the document, as rows of the current width.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chrome {
    /// Rows above the status, such as a plan or the queue.
    pub above: Vec<Row>,
    /// A popup or panel above the status.
    pub cover: Vec<Row>,
    /// True if the cover pushes the document up, so that its newest rows stay visible: first into free rows of the
    /// terminal, then out of the window. By default, it covers the newest rows, the editor does not move, and no rows
    /// scroll out.
    pub pushes: bool,
    /// The status.
    pub status: Vec<Row>,
    /// The editor.
    pub editor: Vec<Row>,
    /// The cursor.
    pub caret: Caret,
}

/// The capabilities of the terminal that painting uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScreenOptions {
    /// The number of colours.
    pub depth: Depth,
    /// The supported characters.
    pub characters: Characters,
    /// True if the terminal supports synchronized output (mode 2026).
    pub synchronized: bool,
    /// True if links are written (OSC 8).
    pub links: bool,
    /// True if the terminal counts blank cells after the end of a row as text if there was text before (tmux): rows
    /// that become shorter are erased completely, or they would need more rows at a narrower width.
    pub keeps_length: bool,
    /// True if only rows that can still change are laid out again for a new size; final rows on the screen are kept.
    pub keeps_settled: bool,
    /// True if prompts are marked (OSC 133).
    pub marks: bool,
    /// How the terminal treats rows that are wider than a new width; `None` if the terminal is unknown.
    pub reflow: Option<Reflow>,
}

impl ScreenOptions {
    fn palette(&self) -> Palette {
        Palette { depth: self.depth, characters: self.characters }
    }
}

/// The bytes of a frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The bytes, which must be written in order and completely before the next frame is requested.
    pub bytes: Vec<u8>,
    /// True if more rows are ready to scroll out than fit into one frame (64 KB): read keys, then paint again.
    pub more: bool,
}

/// A document, the chrome, and the known state of the terminal.
///
/// It writes nothing and reads no clock: [`Screen::paint`] returns bytes, which the caller writes. Returned bytes count
/// as shown, so each frame must be written completely before the next is requested.
pub struct Screen {
    size: Size,
    options: ScreenOptions,
    theme: Arc<crate::theme::Theme>,
    document: Document,
    chrome: Chrome,
    window: Window,
    /// The size that the shown rows were painted for, while a resize waits for the position of the cursor.
    painted: Option<Size>,
    /// The number of unanswered queries for the position of the cursor.
    questions: usize,
    /// True if the last query was sent for the current size.
    asked: bool,
    fresh: bool,
}

impl Screen {
    /// Creates an empty screen. The first frame begins in the row of the cursor, which must be in the first column.
    #[must_use]
    pub fn new(size: Size, options: ScreenOptions, theme: Arc<crate::theme::Theme>) -> Screen {
        Screen {
            size,
            options,
            theme,
            document: Document::default(),
            chrome: Chrome::default(),
            window: Window::new(),
            painted: None,
            questions: 0,
            asked: false,
            fresh: true,
        }
    }

    /// Returns the size of the frames.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the current theme.
    #[must_use]
    pub fn theme(&self) -> &Arc<crate::theme::Theme> {
        &self.theme
    }

    /// Replaces the theme. Rows on the screen change with the next frame; rows above it do not.
    pub fn set_theme(&mut self, theme: Arc<crate::theme::Theme>) {
        self.theme = theme;
        self.document.invalidate();
    }

    /// Replaces the capabilities of the terminal, when replies arrive.
    pub fn set_options(&mut self, options: ScreenOptions) {
        self.options = options;
    }

    /// Returns the current options.
    #[must_use]
    pub fn options(&self) -> ScreenOptions {
        self.options
    }

    /// Appends a block to the document, after a blank row.
    pub fn push(&mut self, block: impl Block + 'static) -> BlockId {
        self.document.push(Box::new(block), true)
    }

    /// Appends a block without a blank row.
    pub fn push_close(&mut self, block: impl Block + 'static) -> BlockId {
        self.document.push(Box::new(block), false)
    }

    /// Returns a block to change it; `None` if it has another type, or has settled and scrolled out.
    pub fn block<T: Block + 'static>(&mut self, id: BlockId) -> Option<&mut T> {
        self.document.block(id)
    }

    /// Returns the last block; `None` if it has scrolled out.
    #[must_use]
    pub fn last_block(&self) -> Option<BlockId> {
        self.document.last()
    }

    /// Returns the number of blocks in memory: those that can still change or have rows on the screen.
    #[must_use]
    pub fn live_blocks(&self) -> usize {
        self.document.len()
    }

    /// Replaces the chrome.
    pub fn set_chrome(&mut self, chrome: Chrome) {
        self.chrome = chrome;
    }

    /// Returns the bytes that update the terminal to the current state; empty if nothing changed. Nothing is painted
    /// while a resize waits for [`Screen::place`].
    pub fn paint(&mut self) -> Frame {
        if self.painted.is_some() {
            return Frame::default();
        }
        self.document.layout(self.size.columns, &self.theme);
        let plan = compose(&self.document, &self.chrome, self.size, self.window.height());
        let bytes = self.window.paint(&plan, self.size, self.options, std::mem::take(&mut self.fresh));
        self.document.retire(plan.retire);
        self.document.note_shown(self.window.settled);
        Frame { bytes, more: plan.more }
    }

    /// Returns true if the next frame changes more than the row of the cursor. A terminal that has not yet reported a
    /// new size misinterprets such a frame, so query its size first if possible.
    pub fn stirs(&mut self) -> bool {
        if self.painted.is_some() {
            return false;
        }
        self.document.layout(self.size.columns, &self.theme);
        let plan = compose(&self.document, &self.chrome, self.size, self.window.height());
        let (rows, cursor) = (&self.window.rows, self.window.cursor.0);
        let differs = |(at, (old, new)): (usize, (&WindowRow, &WindowRow))| {
            at != cursor && (old.joined != new.joined || !Arc::ptr_eq(&old.row, &new.row) && old.row != new.row)
        };
        self.fresh
            || plan.retire > 0
            || plan.caret.0 != cursor
            || plan.rows.len() != rows.len()
            || rows.iter().zip(&plan.rows).enumerate().any(differs)
    }

    /// Returns the rows of the window that the terminal shows, from the first one that has not scrolled out.
    pub fn shown_rows(&self) -> impl ExactSizeIterator<Item = &Row> {
        self.window.rows.iter().map(|shown| &*shown.row)
    }

    /// Returns the position of the cursor: its row in [`Screen::shown_rows`], and its column.
    #[must_use]
    pub fn shown_caret(&self) -> (usize, usize) {
        (self.window.cursor.0, self.window.cursor.1.unwrap_or(0))
    }

    /// Returns the number of [`Screen::shown_rows`] that are final.
    #[must_use]
    pub fn shown_settled(&self) -> usize {
        self.window.settled
    }

    /// Forgets what the terminal shows and repaints the window from its first row (`ctrl+l`).
    pub fn reset(&mut self) -> Frame {
        if self.painted.is_some() {
            return Frame::default();
        }
        let mut bytes = self.window.restart(self.size);
        let frame = self.paint();
        bytes.extend_from_slice(&frame.bytes);
        Frame { bytes, more: frame.more }
    }

    /// Erases the screen and the scrollback, including the output of other programs, and restarts the document in the
    /// first row (`/redraw all`). Do not use it with terminals that move an erased screen into the scrollback, as tmux
    /// does, or while a resize waits for [`Screen::place`].
    pub fn erase_all(&mut self) -> Vec<u8> {
        self.document.clear();
        self.window.abandon();
        self.fresh = true;
        b"\x1b[m\x1b[H\x1b[J\x1b[3J".to_vec()
    }

    /// Leaves the screen to other programs: all settled rows remain on it or above it, everything else is erased, and
    /// the cursor is at the beginning of the row after them. Call it before exit, suspend and other programs; the next
    /// frame begins there, or at the position of the cursor at that time.
    pub fn leave(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let chrome = std::mem::take(&mut self.chrome);
        if self.painted.is_none() {
            while {
                let frame = self.paint();
                bytes.extend_from_slice(&frame.bytes);
                frame.more
            } {}
        }
        let (mut end, settled) = self.window.leave(self.painted.is_some());
        bytes.append(&mut end);
        self.document.retire(settled);
        self.painted = None;
        self.fresh = true;
        self.chrome = chrome;
        bytes
    }

    /// Begins again at the first column of the cursor's row, after another program has moved the cursor or the terminal
    /// was stopped. Rows above are kept; final rows count as shown.
    pub fn begin_epoch(&mut self, size: Size) {
        let settled = self.window.abandon();
        self.document.retire(settled);
        self.painted = None;
        self.fresh = true;
        self.document.rewidth(size.columns);
        self.size = size;
    }
}
