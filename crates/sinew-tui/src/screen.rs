//! The screen: a document of blocks that scrolls out of a window, and the chrome below it.

mod compose;
mod document;
mod paint;
mod palette;
mod reflow;
mod resize;
mod window;

pub use document::{Block, BlockId, Layout, Rendered};
pub use palette::Characters;
pub use reflow::Reflow;

use std::sync::Arc;

use crate::text::row::Row;
use crate::text::style::Depth;
use compose::{Shown, compose};
use document::Document;
use palette::Palette;
use window::Window;

/// Columns and rows of a terminal; at least one of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

impl Size {
    /// A size; zero is read as one.
    #[must_use]
    pub fn new(columns: usize, rows: usize) -> Size {
        Size { columns: columns.max(1), rows: rows.max(1) }
    }
}

/// The part of the chrome in which the cursor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CaretPlace {
    /// The editor.
    #[default]
    Editor,
    /// The popup or panel.
    Cover,
}

/// The place of the hardware cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Caret {
    /// The part that it is in.
    pub place: CaretPlace,
    /// The row of that part, from 0.
    pub row: usize,
    /// The column, from 0.
    pub column: usize,
}

/// All that stands below the document, as rows for the present width.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chrome {
    /// Rows above the status: a plan, the queue.
    pub above: Vec<Row>,
    /// A popup or panel above the status. While it is there nothing scrolls out.
    pub cover: Vec<Row>,
    /// The cover pushes the document up, so that its newest rows stay in sight: into rows of the terminal that are free first,
    /// then over the oldest rows of the window. Default: false, it covers the newest rows and the editor stays where it is.
    pub pushes: bool,
    /// The status.
    pub status: Vec<Row>,
    /// The editor.
    pub editor: Vec<Row>,
    /// The cursor.
    pub caret: Caret,
}

/// The abilities of the terminal that painting uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScreenOptions {
    /// The colours it shows.
    pub depth: Depth,
    /// The characters it shows.
    pub characters: Characters,
    /// True if it knows synchronized output (mode 2026).
    pub synchronized: bool,
    /// True if links are written (OSC 8).
    pub links: bool,
    /// True if the terminal counts cells behind the end of a row as text where text stood there before (tmux): rows that get
    /// shorter are erased whole, or they would take more rows than they need at a narrower width.
    pub keeps_length: bool,
    /// True if only rows that can still change are laid out for a new size; final ones on the screen stay as they are.
    pub keeps_settled: bool,
    /// True if prompts are marked (OSC 133).
    pub marks: bool,
    /// The way it treats rows that are wider than a new width, where its name tells.
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
    /// The bytes to write, in order and whole, before the next frame is asked for.
    pub bytes: Vec<u8>,
    /// More rows are ready to scroll out than one frame carries (64 KB): read keys, then paint again.
    pub more: bool,
}

/// A document, the chrome, and all that is known of what the terminal shows.
///
/// It writes nothing and reads no clock: [`Screen::paint`] gives bytes, which the caller writes. Bytes that were given
/// count as shown, so each frame must be written whole before the next is asked for.
pub struct Screen {
    size: Size,
    options: ScreenOptions,
    theme: Arc<crate::theme::Theme>,
    document: Document,
    chrome: Chrome,
    window: Window,
    /// The size that what the terminal shows was painted for, while a resize waits for the cursor's place.
    painted: Option<Size>,
    /// Questions for the cursor's place without a reply yet.
    questions: usize,
    /// The last of them was asked for the present size.
    asked: bool,
    fresh: bool,
}

impl Screen {
    /// A screen of nothing. The first frame begins at the row of the cursor, whose column must be the first.
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

    /// The size that frames are made for.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The theme in use.
    #[must_use]
    pub fn theme(&self) -> &Arc<crate::theme::Theme> {
        &self.theme
    }

    /// Replaces the theme. Rows on the screen change with the next frame, rows above it stay.
    pub fn set_theme(&mut self, theme: Arc<crate::theme::Theme>) {
        self.theme = theme;
        self.document.invalidate();
    }

    /// Replaces what is known of the terminal, as replies come in.
    pub fn set_options(&mut self, options: ScreenOptions) {
        self.options = options;
    }

    /// The present options.
    #[must_use]
    pub fn options(&self) -> ScreenOptions {
        self.options
    }

    /// Appends a block at the end of the document, a blank row in front of it.
    pub fn push(&mut self, block: impl Block + 'static) -> BlockId {
        self.document.push(Box::new(block), true)
    }

    /// Appends a block without a blank row in front of it.
    pub fn push_close(&mut self, block: impl Block + 'static) -> BlockId {
        self.document.push(Box::new(block), false)
    }

    /// A block to change; `None` if it is of another type, or settled and scrolled out.
    pub fn block<T: Block + 'static>(&mut self, id: BlockId) -> Option<&mut T> {
        self.document.block(id)
    }

    /// The last block, unless it has scrolled out.
    #[must_use]
    pub fn last_block(&self) -> Option<BlockId> {
        self.document.last()
    }

    /// The number of blocks that are kept: those that can still change or have rows on the screen.
    #[must_use]
    pub fn live_blocks(&self) -> usize {
        self.document.len()
    }

    /// Replaces the chrome.
    pub fn set_chrome(&mut self, chrome: Chrome) {
        self.chrome = chrome;
    }

    /// The bytes that turn what the terminal shows into the present state; none where nothing changed. Nothing is
    /// painted while a resize waits for [`Screen::place`].
    pub fn paint(&mut self) -> Frame {
        if self.painted.is_some() {
            return Frame::default();
        }
        self.document.layout(self.size.columns, &self.theme);
        let plan = compose(&self.document, &self.chrome, self.size, self.window.height());
        let bytes = self.window.paint(&plan, self.size, self.options, std::mem::take(&mut self.fresh));
        self.document.retire(plan.retire);
        Frame { bytes, more: plan.more }
    }

    /// Returns true if the next frame changes more than the row of the cursor. A terminal that has another size than it has
    /// told yet reads such a frame wrong; one that can be asked is asked first.
    pub fn stirs(&mut self) -> bool {
        if self.painted.is_some() {
            return false;
        }
        self.document.layout(self.size.columns, &self.theme);
        let plan = compose(&self.document, &self.chrome, self.size, self.window.height());
        let (rows, cursor) = (&self.window.rows, self.window.cursor.0);
        let differs = |(at, (old, new)): (usize, (&Shown, &Shown))| {
            at != cursor && (old.joined != new.joined || !Arc::ptr_eq(&old.row, &new.row) && old.row != new.row)
        };
        self.fresh
            || plan.retire > 0
            || plan.caret.0 != cursor
            || plan.rows.len() != rows.len()
            || rows.iter().zip(&plan.rows).enumerate().any(differs)
    }

    /// The rows that the terminal shows of the window, from the first that has not scrolled out.
    pub fn shown_rows(&self) -> impl ExactSizeIterator<Item = &Row> {
        self.window.rows.iter().map(|shown| &*shown.row)
    }

    /// The row of [`Screen::shown_rows`] and the column in which the cursor is.
    #[must_use]
    pub fn shown_caret(&self) -> (usize, usize) {
        (self.window.cursor.0, self.window.cursor.1.unwrap_or(0))
    }

    /// The number of [`Screen::shown_rows`] that are final.
    #[must_use]
    pub fn shown_settled(&self) -> usize {
        self.window.settled
    }

    /// Forgets what the terminal shows and paints the window anew from its first row (`ctrl+l`).
    pub fn reset(&mut self) -> Frame {
        if self.painted.is_some() {
            return Frame::default();
        }
        let mut bytes = self.window.restart(self.size);
        let frame = self.paint();
        bytes.extend_from_slice(&frame.bytes);
        Frame { bytes, more: frame.more }
    }

    /// Erases the screen and all that the terminal keeps above it, of others too, and forgets the document, which begins
    /// anew in the first row (`/redraw all`). Not for terminals that keep an erased screen above it, as tmux does. Not while
    /// a resize waits for [`Screen::place`].
    pub fn erase_all(&mut self) -> Vec<u8> {
        self.document.clear();
        self.window.abandon();
        self.fresh = true;
        b"\x1b[m\x1b[H\x1b[J\x1b[3J".to_vec()
    }

    /// Leaves the screen to others: all settled rows stand on it or above it, everything else is erased, and the
    /// cursor is at the beginning of the row behind them. Before exit, suspend and other programs; the next frame
    /// begins there, or wherever the cursor is then.
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

    /// Begins anew at the first column of the row where the cursor is: another program has moved it, or the terminal
    /// was stopped. What stands above stays; rows that were final count as shown.
    pub fn begin_epoch(&mut self, size: Size) {
        let settled = self.window.abandon();
        self.document.retire(settled);
        self.painted = None;
        self.fresh = true;
        self.document.rewidth(size.columns);
        self.size = size;
    }
}
