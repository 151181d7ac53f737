//! The screen of an interactive agent: a scrolling transcript, an editor below it, input, styles.
//!
//! The crate reads no terminal, no clock and no files: the caller owns the loop. Each part is a value with functions.
//!
//! | part | purpose |
//! |---|---|
//! | [`InputParser`] | parses bytes of the terminal into [`Event`]s: keys, pastes, focus, replies |
//! | [`Editor`] | text, cursor, undo, kills, history; [`Editor::rows`] shows it, [`Vi`] adds the keys of vi |
//! | [`Screen`] | blocks ([`Block`]) in order and the [`Chrome`] below them; [`Screen::paint`] returns the bytes of a frame |
//! | [`KeyMap`] | actions and the [`Chord`]s that call them, from defaults and a user's table |
//! | [`LinearOutput`] | lines for screen readers, and the [`InputLine`] below them |
//! | [`List`] | a filtered list for panels and popups |
//! | [`Modes`] | the modes set in the terminal, and the bytes that undo them |
//! | [`Theme`](theme::Theme) | colours by name |
//! | [`Viewer`] | passages that fill the screen and are read on demand, with search and folds |
//!
//! The loop handles all available input (bytes, events of the agent, a new size), changes blocks, editor and chrome,
//! and then paints once:
//!
//! ```
//! use std::sync::Arc;
//! use sinew_tui::{
//!     Caret, Chrome, EditAction, Editor, EditorStyle, Event, InputParser, Line, Mode, Modes, Row, Screen, ScreenOptions,
//!     Size, Style, TextBlock, theme::Theme,
//! };
//!
//! let mut out = Vec::new(); // the bytes for the terminal
//! let mut modes = Modes::new();
//! out.extend_from_slice(modes.set(Mode::BracketedPaste).as_bytes());
//! out.extend_from_slice(modes.set(Mode::NoAutowrap).as_bytes());
//!
//! let size = Size::new(40, 10);
//! let mut screen = Screen::new(size, ScreenOptions::default(), Arc::new(Theme::default()));
//! let mut input = InputParser::new(false);
//! let mut editor = Editor::new();
//!
//! // Input of the user: one key or many.
//! for event in input.feed(b"hello\r") {
//!     match event {
//!         Event::Key(press) if press.key.name() == Some("enter") => {
//!             let text = editor.submit();
//!             screen.push(TextBlock::new(&text, Style::PLAIN));
//!         }
//!         Event::Key(press) if press.key.name() == Some("backspace") => drop(editor.act(EditAction::DeleteBackward)),
//!         Event::Key(press) => editor.insert(&press.text),
//!         Event::Paste(text) => editor.paste(&text),
//!         _ => {}
//!     }
//! }
//!
//! // A streaming answer.
//! let answer = screen.push(TextBlock::streaming(Style::PLAIN));
//! screen.block::<TextBlock>(answer).expect("it still runs").push("Hi.\nHow can I");
//!
//! // One frame for all changes.
//! let shown = editor.rows(size.columns, 4, &EditorStyle::default());
//! screen.set_chrome(Chrome {
//!     status: vec![Line::plain("ready").into_row(size.columns)],
//!     editor: shown.rows,
//!     caret: Caret { row: shown.caret.0, column: shown.caret.1, ..Caret::default() },
//!     ..Chrome::default()
//! });
//! out.extend(screen.paint().bytes);
//! assert!(screen.paint().bytes.is_empty(), "nothing changed");
//! let rows: Vec<&str> = screen.shown_rows().map(Row::text).collect();
//! assert_eq!(rows, ["hello", "", "Hi.", "How can I", "ready", "›"]);
//!
//! // The end: final rows stay, the rest is erased, and the terminal is restored.
//! out.extend(screen.leave());
//! out.extend(modes.take_all());
//! ```
//!
//! # Resizing
//!
//! [`Screen::resize`] stops painting. After 30 ms without another size, write [`Screen::ask_place`] and call
//! [`InputParser::await_cursor`]; pass the reply to [`Screen::place`], or call [`Screen::give_up_place`] after 150 ms.
//! Both return the next frame.
//!
//! # Details of the behaviour
//!
//! - The ledger changes when the bytes of a frame are returned, not when they are written: the caller must write each
//!   frame whole before it requests the next. Bytes reach the terminal in order, so both agree once they are written.
//! - Blanks at the end of a row are not written; typing one moves the cursor.
//! - A multiplexer may change its grid some time before it reports the new size. A frame in between is interpreted with
//!   the new width, and no reply can repair that: query its size before a frame that [`Screen::stirs`].
//! - tmux counts erased cells after a row as text ([`ScreenOptions::keeps_length`]): there, a row that becomes shorter
//!   is blank for a moment before it is written, which tmux does not display.
//! - Rows are only written as one line of the terminal (soft) while they are final and nothing held back precedes them,
//!   since these rows never move in the window again. Until then they are painted as separate rows.
//! - No terminal can show half of a wide cluster: while one is overwritten, its other half is blank until later in the
//!   same frame.
//! - A terminal line of two rows is split by erasing and rewriting the last cell of the first row, since terminals
//!   disagree about what splits it.
//! - Rows of unfinished Markdown whose text is complete scroll out as they are when there is no room for them, or when the
//!   terminal pushes them out; what follows may be laid out differently, such as a table whose columns become wider.
//! - Terminals that wrap rows at a narrower width may push rows out of the screen although there is room below; live
//!   rows among them remain in the scrollback once, as they would in a lower terminal.
//! - If two models of a resize match the terminal's report, the one that reaches less far up is used.
//! - Markdown lists settle at their end, not item by item; reference links work within their block.
//! - The second cell of a cluster of uncertain width is made blank before the cluster is written if it showed something
//!   else.
//! - A row of an image ([`Row::drawn`]) is sent again when it is repainted: terminals that keep images in their cells
//!   have no other way, and no command to delete them.
//! - In [`Vi`], copying nothing keeps the previous cut, and a count stops at an empty first line.
//! - [`Screen::reset`] goes to the top of the screen only if the window fills it; otherwise to the first row of the
//!   window, since the rows above belong to other programs.

mod block;
mod edit;
mod keys;
mod linear;
mod list;
mod screen;
mod term;
mod text;
pub mod theme;
mod viewer;

pub use block::{
    DiffBlock, DiffOptions, MarkdownBlock, OutputBlock, TextBlock, ThoughtBlock, diff_lines, patch_counts, patch_lines,
};
pub use edit::{EditAction, Editor, EditorRows, EditorStyle, History, Vi, ViKey, ViMode, ViPress};
pub use keys::{Chord, KeyLookup, KeyMap, KeyProblem};
pub use linear::{InputLine, LineSplitter, LinearOutput, OutputUnit};
pub use list::List;
pub use screen::{
    Block, BlockId, Caret, CaretPlace, Characters, Chrome, Frame, Layout, Reflow, RenderedRows, Screen, ScreenOptions,
    Size,
};
pub use sinew_term::{Key, KeyPress};
pub use term::input::{Event, InputParser, Reply};
pub use term::modes::{Mode, Modes};
pub use text::ansi::{AnsiReader, apply_sgr};
pub use text::row::{Cell, Line, Mark, Row, Run, is_safe_link};
pub use text::style::{Attrs, Color, Depth, Style};
pub use text::width::is_certain;
pub use text::wrap::{WrapMode, wrap};
pub use viewer::{
    Passage, Passages, QueryPress, Reaction, ReadPassages, Search, SearchTarget, ViewAction, ViewPosition, Viewer,
};
