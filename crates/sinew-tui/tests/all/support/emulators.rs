//! Third-party terminal emulators.

use std::num::NonZeroU16;

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::{Dimensions, Scroll};
use alacritty_terminal::index::{Column, Line, Point};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::{Color as AColor, NamedColor, Processor, StdSyncHandler};
use sinew_tui::{Attrs, Color, Style};

use super::{Terminal, View, seen, text_of};

pub struct Alacritty {
    term: Term<VoidListener>,
    parser: Processor<StdSyncHandler>,
}

impl Alacritty {
    pub fn new(columns: usize, rows: usize) -> Alacritty {
        let config = Config { scrolling_history: 1_000_000, ..Config::default() };
        Alacritty { term: Term::new(config, &TermSize::new(columns, rows), VoidListener), parser: Processor::new() }
    }

    pub fn term(&self) -> &Term<VoidListener> {
        &self.term
    }

    /// Scrolls the view like a reader, for example to rows above the screen.
    pub fn scroll(&mut self, scroll: Scroll) {
        self.term.scroll_display(scroll);
    }
}

fn color(color: AColor) -> Color {
    match color {
        AColor::Named(name) if (name as usize) < 16 => Color::Named(name as u8),
        AColor::Named(NamedColor::Foreground | NamedColor::Background) => Color::Default,
        AColor::Named(other) => panic!("a colour that we never set: {other:?}"),
        AColor::Spec(rgb) => Color::Rgb(rgb.r, rgb.g, rgb.b),
        AColor::Indexed(n @ 0..=15) => Color::Named(n),
        AColor::Indexed(n) => Color::Indexed(n),
    }
}

impl Terminal for Alacritty {
    fn name(&self) -> &'static str {
        "alacritty"
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.term.resize(TermSize::new(columns, rows));
    }

    fn cursor(&self) -> (usize, usize) {
        let point = self.term.grid().cursor.point;
        (usize::try_from(point.line.0).expect("on the screen"), point.column.0)
    }

    fn height(&self) -> usize {
        self.term.screen_lines()
    }

    fn lines(&mut self) -> Vec<Vec<View>> {
        let grid = self.term.grid();
        let history = i32::try_from(grid.history_size()).expect("small");
        let bottom = i32::try_from(grid.screen_lines()).expect("small");
        let attrs = [
            (Flags::BOLD, Attrs::BOLD),
            (Flags::DIM, Attrs::DIM),
            (Flags::ITALIC, Attrs::ITALIC),
            (Flags::UNDERLINE, Attrs::UNDERLINE),
            (Flags::INVERSE, Attrs::REVERSE),
            (Flags::STRIKEOUT, Attrs::STRIKE),
        ];
        (-history..bottom)
            .map(|line| {
                (0..grid.columns())
                    .map(|column| {
                        let cell = &grid[Line(line)][Column(column)];
                        let mut text = String::new();
                        if !cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                            text.push(cell.c);
                            text.extend(cell.zerowidth().into_iter().flatten());
                        }
                        let attrs = attrs
                            .iter()
                            .filter(|(flag, _)| cell.flags.contains(*flag))
                            .fold(Attrs::NONE, |set, (_, attr)| set.with(*attr));
                        let style = Style { fg: color(cell.fg), bg: color(cell.bg), attrs };
                        View { style: seen(style, &text), text }
                    })
                    .collect()
            })
            .collect()
    }

    /// Returns the text that a selection of everything would contain.
    fn text(&mut self) -> Vec<String> {
        let grid = self.term.grid();
        let start = Point::new(grid.topmost_line(), Column(0));
        let end = Point::new(grid.bottommost_line(), grid.last_column());
        self.term.bounds_to_string(start, end).split('\n').map(str::to_owned).collect()
    }
}

fn join(lines: Vec<Vec<View>>, wraps: &[bool]) -> Vec<String> {
    let mut out = Vec::new();
    let mut open: Option<String> = None;
    for (line, wraps) in lines.iter().zip(wraps) {
        let text: String = line.iter().map(|view| view.text.as_str()).collect();
        let whole = open.take().unwrap_or_default() + &text;
        if *wraps { open = Some(whole) } else { out.push(whole.trim_end().to_owned()) }
    }
    out.extend(open);
    out
}

pub struct Avt {
    terminal: avt::Terminal,
    pending: Vec<u8>,
}

impl Avt {
    pub fn new(columns: usize, rows: usize) -> Avt {
        Avt { terminal: avt::Terminal::with_scrollback(columns, rows, None).expect("a size"), pending: Vec::new() }
    }
}

impl Terminal for Avt {
    fn name(&self) -> &'static str {
        "avt"
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.pending) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.pending.drain(..whole).collect();
        self.terminal.feed(std::str::from_utf8(&text).expect("checked"));
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.terminal.resize(columns, rows);
    }

    fn cursor(&self) -> (usize, usize) {
        let cursor = self.terminal.cursor();
        (cursor.row, cursor.col.min(self.terminal.size().0 - 1))
    }

    fn height(&self) -> usize {
        self.terminal.size().1
    }

    fn lines(&mut self) -> Vec<Vec<View>> {
        let color = |color: Option<avt::Color>| match color {
            None => Color::Default,
            Some(avt::Color::Indexed(n @ 0..=15)) => Color::Named(n),
            Some(avt::Color::Indexed(n)) => Color::Indexed(n),
            Some(avt::Color::RGB(rgb)) => Color::Rgb(rgb.r, rgb.g, rgb.b),
        };
        self.terminal
            .primary_screen()
            .all_lines()
            .map(|line| {
                line.cells()
                    .iter()
                    .map(|cell| {
                        let pen = cell.pen();
                        let attrs = [
                            (pen.is_bold(), Attrs::BOLD),
                            (pen.is_faint(), Attrs::DIM),
                            (pen.is_italic(), Attrs::ITALIC),
                            (pen.is_underline(), Attrs::UNDERLINE),
                            (pen.is_inverse(), Attrs::REVERSE),
                            (pen.is_strikethrough(), Attrs::STRIKE),
                        ];
                        let attrs =
                            attrs.iter().filter(|(set, _)| *set).fold(Attrs::NONE, |set, (_, attr)| set.with(*attr));
                        let style = Style { fg: color(pen.foreground()), bg: color(pen.background()), attrs };
                        let text = if cell.width() == 0 { String::new() } else { cell.char().to_string() };
                        View { style: seen(style, &text), text }
                    })
                    .collect()
            })
            .collect()
    }

    fn text(&mut self) -> Vec<String> {
        let wraps: Vec<bool> = self.terminal.primary_screen().all_lines().map(avt::Line::is_wrapped).collect();
        join(self.lines(), &wraps)
    }
}

pub struct Vt100 {
    parser: vt100::Parser,
}

impl Vt100 {
    pub fn new(columns: usize, rows: usize) -> Vt100 {
        Vt100 { parser: vt100::Parser::new(side(rows), side(columns), 1_000_000) }
    }
}

fn side(value: usize) -> NonZeroU16 {
    NonZeroU16::new(u16::try_from(value).expect("small")).expect("not zero")
}

impl Terminal for Vt100 {
    fn name(&self) -> &'static str {
        "vt100"
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.parser.set_size(side(rows), side(columns));
    }

    fn cursor(&self) -> (usize, usize) {
        let screen = self.parser.screen();
        let (row, column) = screen.cursor_position();
        (row.into(), usize::from(column).min(usize::from(screen.size().1.get()) - 1))
    }

    fn height(&self) -> usize {
        self.parser.screen().size().0.get().into()
    }

    fn knows_styles(&self) -> bool {
        false // no strike
    }

    fn lines(&mut self) -> Vec<Vec<View>> {
        let (rows, columns) = self.parser.screen().size();
        let (rows, columns) = (rows.get(), columns.get());
        let history = self.parser.screen().scrollback_len();
        let mut out = Vec::new();
        let mut offset = history;
        loop {
            self.parser.screen_mut().set_scrollback(offset);
            let count = if offset == 0 { rows } else { u16::try_from(offset.min(rows.into())).expect("small") };
            for row in 0..count {
                out.push(
                    (0..columns)
                        .map(|column| {
                            let cell = self.parser.screen().cell(row, column).expect("inside");
                            let text = if cell.is_wide_continuation() {
                                String::new()
                            } else if cell.has_contents() {
                                cell.contents().to_owned()
                            } else {
                                " ".to_owned()
                            };
                            View { text, style: Style::PLAIN }
                        })
                        .collect(),
                );
            }
            if offset == 0 {
                return out;
            }
            offset -= usize::from(count);
        }
    }

    fn text(&mut self) -> Vec<String> {
        self.lines().iter().map(|line| text_of(line)).collect()
    }
}
