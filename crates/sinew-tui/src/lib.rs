//! The screen of an interactive agent: a transcript that scrolls out of a window, an editor below it, input, looks.
//!
//! The crate reads no terminal, no clock and no file: the caller owns the loop. Each part is a value with functions.
//!
//! | part | what it does |
//! |---|---|
//! | [`InputParser`] | bytes of the terminal → [`Event`]s: keys, pastes, focus, replies |
//! | [`Editor`] | text, cursor, undo, kills, history; [`Editor::rows`] shows it, [`Vi`] gives it the keys of vi |
//! | [`Screen`] | blocks ([`Block`]) in order and the [`Chrome`] below them; [`Screen::paint`] gives the bytes of a frame |
//! | [`KeyMap`] | actions and the [`Chord`]s that call them, from defaults and a user's table |
//! | [`LinearOutput`] | lines for screen readers, and the [`InputLine`] below them |
//! | [`List`] | a filtered list for panels and popups |
//! | [`Modes`] | what was set in the terminal, and at any time the bytes that take it back |
//! | [`Theme`](theme::Theme) | looks by name |
//! | [`Viewer`] | passages that fill the screen, read where they are shown, with search and folds |
//!
//! A loop takes all that is ready (bytes, events of the agent, a new size), changes blocks, editor and chrome, and
//! then paints once:
//!
//! ```
//! use std::sync::Arc;
//! use sinew_tui::{
//!     Caret, Chrome, EditAction, Editor, EditorStyle, Event, InputParser, Line, Mode, Modes, Row, Screen, ScreenOptions,
//!     Size, Style, TextBlock, theme::Theme,
//! };
//!
//! let mut out = Vec::new(); // what the terminal is sent
//! let mut modes = Modes::new();
//! out.extend_from_slice(modes.set(Mode::BracketedPaste).as_bytes());
//! out.extend_from_slice(modes.set(Mode::NoAutowrap).as_bytes());
//!
//! let size = Size::new(40, 10);
//! let mut screen = Screen::new(size, ScreenOptions::default(), Arc::new(Theme::default()));
//! let mut input = InputParser::new(false);
//! let mut editor = Editor::new();
//!
//! // A key, or many: the text of the user.
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
//! // An answer that streams.
//! let answer = screen.push(TextBlock::streaming(Style::PLAIN));
//! screen.block::<TextBlock>(answer).expect("it still runs").push("Hi.\nHow can I");
//!
//! // One frame for all of it.
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
//! // The end: what is final stays, the rest goes, and the terminal is as it was.
//! out.extend(screen.leave());
//! out.extend(modes.take_all());
//! ```
//!
//! # A new size
//!
//! [`Screen::resize`] stops painting. When 30 ms pass without another size, write [`Screen::ask_place`] and call
//! [`InputParser::await_cursor`]; give the reply to [`Screen::place`], or call [`Screen::give_up_place`] after 150 ms. Both
//! give the frame that continues.
//!
//! # Where this differs from the specification
//!
//! - The ledger changes when the bytes of a frame are given, not when they were written: the caller writes each frame
//!   whole before it asks for the next. Bytes reach the terminal in order, so both say the same once they are written.
//! - Blanks at the end of a row are not written; typing one moves the cursor.
//! - A multiplexer may change its grid a while before it tells. A frame that it gets in between is read at the new width, and
//!   no reply would bring back what that costs: ask for its size before a frame that [`Screen::stirs`].
//! - tmux counts what was erased behind a row as its text ([`ScreenOptions::keeps_length`]): there a row that gets shorter
//!   is blank for a moment before it is written, which tmux shows nobody.
//! - Rows are told to the terminal as one line (soft) only while they are final and nothing held back stands before them:
//!   those never move in the window again. Before that the same rows are painted as separate ones.
//! - No terminal can show half of a wide cluster: while one is overwritten, its other half is blank until its turn in
//!   the same frame.
//! - A line that two rows made is ended by erasing and writing again the last cell of the first: terminals disagree about
//!   what ends it.
//! - Terminals that wrap rows on a narrower width may push rows out of the screen although there is room below; live rows
//!   among them stay in scrollback once, as they would in a lower terminal.
//! - Where two models of a resize fit what the terminal reports, the one that reaches less far up is taken.
//! - Lists of Markdown settle at their end, not item by item; links by reference work within their block.
//! - A second cell of a cluster of uncertain width is made blank before the cluster is written, where something else
//!   stood in it.
//! - A row of a picture ([`Row::drawn`]) is sent again where it is painted again: terminals that keep pictures in their cells
//!   know no other way, and none to delete them.
//! - In [`Vi`] a copy of nothing keeps what was cut before, and a count stops at an empty first line.
//! - [`Screen::reset`] goes to the top of the screen only where the window fills it; else to the first row of the
//!   window, since what stands above it is not ours.

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
pub use keys::{Called, Chord, KeyMap, KeyProblem};
pub use linear::{InputLine, LinearOutput, Pace, Speech};
pub use list::List;
pub use screen::{
    Block, BlockId, Caret, CaretPlace, Characters, Chrome, Frame, Layout, Reflow, Rendered, Screen, ScreenOptions, Size,
};
pub use sinew_term::{Key, KeyPress};
pub use term::input::{Event, InputParser, Reply};
pub use term::modes::{Mode, Modes};
pub use text::ansi::{AnsiReader, apply_sgr};
pub use text::row::{Cell, Line, Mark, Row, Run, is_safe_link};
pub use text::style::{Attrs, Color, Depth, Style};
pub use text::width::is_certain;
pub use text::wrap::{WrapMode, wrap};
pub use viewer::{Passage, Passages, QueryPress, Reaction, ReadPassages, Search, Spot, ViewAction, Viewer, Wanted};
