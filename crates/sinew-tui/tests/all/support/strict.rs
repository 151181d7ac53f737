//! A screen that accepts only the sequences that the contract allows, and checks every cell after every byte.

use sinew_tui::{Color, Style, apply_sgr};

use super::{Terminal, View, seen, text_of};

/// A screen and its scrollback as one tape of rows; the screen is the end of the tape.
pub struct Strict {
    columns: usize,
    rows: usize,
    pub tape: Vec<Vec<View>>,
    wraps: Vec<bool>,
    top: usize,
    row: usize,
    column: usize,
    /// True if the last column was written and the next character wraps.
    pending: bool,
    style: Style,
    autowrap: bool,
    pub visible: bool,
    pub synchronized: bool,
    /// The values that writes assigned to cells in this frame: row, column and value.
    writes: Vec<(usize, usize, View)>,
    before: Vec<Vec<View>>,
    pub fed: usize,
    pub feeds_inside: usize,
}

impl Strict {
    pub fn new(columns: usize, rows: usize) -> Strict {
        let blank = vec![View::blank(Style::PLAIN); columns];
        Strict {
            columns,
            rows,
            tape: vec![blank; rows],
            wraps: vec![false; rows],
            top: 0,
            row: 0,
            column: 0,
            pending: false,
            style: Style::PLAIN,
            autowrap: true,
            visible: true,
            synchronized: false,
            writes: Vec::new(),
            before: Vec::new(),
            fed: 0,
            feeds_inside: 0,
        }
    }

    /// Returns the row of the cursor on the tape.
    pub fn tape_row(&self) -> usize {
        self.top + self.row
    }

    /// Begins a frame, in which each cell may change once.
    pub fn begin_frame(&mut self) {
        self.before = self.tape.clone();
        self.writes.clear();
    }

    /// Ends the frame, and checks that every cell showed its old or its new content after every byte.
    #[track_caller]
    pub fn end_frame(&mut self) {
        assert!(self.visible, "the cursor is visible at the end of a frame");
        assert!(!self.synchronized, "mode 2026 is left at the end of a frame");
        assert!(!self.autowrap, "autowrap is off at the end of a frame");
        assert_eq!(self.style, Style::PLAIN, "no look is left set");
        for (row, column, value) in &self.writes {
            let new = &self.tape[*row][*column];
            let blank = View::blank(Style::PLAIN);
            let old = self.before.get(*row).map_or(&blank, |row| &row[*column]);
            assert!(
                value == new || value == old,
                "row {row} column {column} showed {value:?} between {old:?} and {new:?}"
            );
        }
        self.writes.clear();
    }

    fn put(&mut self, column: usize, view: View) {
        let row = self.top + self.row;
        if self.tape[row][column] != view {
            self.writes.push((row, column, view.clone()));
            self.tape[row][column] = view;
        }
    }

    fn line_feed(&mut self) {
        if self.row + 1 == self.rows {
            assert_eq!(self.style, Style::PLAIN, "a line feed with a look set colours the new row");
            self.tape.push(vec![View::blank(Style::PLAIN); self.columns]);
            self.wraps.push(false);
            self.top += 1;
        } else {
            self.row += 1;
        }
        self.pending = false;
    }

    fn print(&mut self, cluster: &str, width: usize) {
        if width == 0 {
            panic!("a cluster without cells: {cluster:?}");
        }
        if self.autowrap && (self.pending || self.column + width > self.columns) {
            self.wraps[self.top + self.row] = true;
            if self.row + 1 == self.rows {
                assert_eq!(self.style.bg, Color::Default, "a wrap with a background colours the new row");
                let style = std::mem::take(&mut self.style);
                self.line_feed();
                self.style = style;
            } else {
                self.line_feed();
            }
            self.column = 0;
        }
        if self.column + width > self.columns {
            self.column = self.columns - width;
        }
        // The rest of a partly overwritten wide cluster is blank until it is written: no terminal can show half of one.
        // Both halves are checked when they are written.
        let at = self.column;
        let row = self.top + self.row;
        for (place, other) in [(at, at.wrapping_sub(1)), (at + width, at + width)] {
            if place < self.columns && self.tape[row][place].text.is_empty() && other < self.columns {
                self.tape[row][other] = View::blank(seen(self.tape[row][other].style, " "));
            }
        }
        self.put(at, View { text: cluster.into(), style: seen(self.style, cluster) });
        for extra in 1..width {
            self.put(at + extra, View { text: String::new(), style: seen(self.style, "x") });
        }
        self.column += width;
        self.wraps[row] = false;
        if self.column == self.columns {
            self.column -= 1;
            self.pending = self.autowrap;
        }
    }

    /// Draws one row of an image. The cursor is then after the last cell or unchanged, because terminals differ.
    fn picture(&mut self, options: &str) {
        assert_eq!(self.style, Style::PLAIN, "a picture has no look");
        assert!(!self.autowrap && self.column == 0, "a picture begins a row that is not wrapped");
        let option = |name: &str| {
            let value = options.split([';', ':']).find_map(|option| option.strip_prefix(name)).expect("it is told");
            value.parse::<usize>().expect("a number")
        };
        assert_eq!(option("height="), 1, "a picture of one row never scrolls");
        let columns = option("width=");
        assert!(columns < self.columns, "the last cell stays free");
        for column in 0..columns {
            self.put(column, View { text: "\u{FFFC}".into(), style: Style::PLAIN });
        }
        self.column = if options.len().is_multiple_of(2) { columns } else { 0 };
    }

    fn erase(&mut self, row: usize, from: usize) {
        let keep = self.row;
        self.row = row;
        for column in from..self.columns {
            self.put(column, View::blank(Style::PLAIN.on(self.style.bg)));
        }
        self.wraps[self.top + row] = false;
        self.row = keep;
    }

    #[track_caller]
    fn csi(&mut self, body: &str, last: char) {
        let number = || body.parse::<usize>().unwrap_or_else(|_| panic!("CSI {body}{last}"));
        let count = || if body.is_empty() { 1 } else { number() };
        match last {
            'A' => self.row = self.row.checked_sub(count()).expect("not above the screen"),
            'B' => {
                self.row += count();
                assert!(self.row < self.rows, "not below the screen");
            }
            // With one column, the cursor cannot move.
            'C' if self.columns == 1 => {}
            'C' => {
                self.column += count();
                assert!(self.column < self.columns, "not behind the edge");
            }
            'G' => {
                self.column = count() - 1;
                assert!(self.column < self.columns, "not behind the edge");
            }
            'K' => {
                assert!(body.is_empty() && !self.pending, "erases to the right only");
                let writes = self.writes.len();
                self.erase(self.row, self.column);
                if self.column + 2 >= self.columns {
                    // Erasing the last cells splits a line of two rows; the blank in between is allowed.
                    self.writes.truncate(writes);
                }
            }
            'J' => {
                assert!(body.is_empty(), "erases below only");
                let is_blank = self.tape[self.top..].iter().all(|row| text_of(row).is_empty());
                assert!(
                    is_blank || self.columns == 1 || (self.row, self.column) != (0, 0),
                    "tmux keeps a screen erased from its first cell"
                );
                self.erase(self.row, self.column);
                for row in self.row + 1..self.rows {
                    self.erase(row, 0);
                }
            }
            'H' => {
                assert!(body.is_empty());
                (self.row, self.column) = (0, 0);
            }
            'm' => self.style = apply_sgr(self.style, body),
            'h' | 'l' => {
                let on = last == 'h';
                match body {
                    "?7" => self.autowrap = on,
                    "?25" => self.visible = on,
                    "?2026" => self.synchronized = on,
                    other => panic!("mode {other} is none of a frame"),
                }
            }
            'n' => assert_eq!(body, "6"),
            other => panic!("CSI {body}{other} is not allowed"),
        }
        if last != 'm' && last != 'h' && last != 'l' {
            self.pending = false;
        }
    }
}

impl Terminal for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    #[track_caller]
    fn feed(&mut self, bytes: &[u8]) {
        self.fed += bytes.len();
        let text = std::str::from_utf8(bytes).expect("frames are UTF-8");
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            match c {
                '\x1b' => match rest.as_bytes().get(1) {
                    Some(b'[') => {
                        let end = rest[2..].find(|c: char| ('\x40'..='\x7e').contains(&c)).expect("a whole sequence");
                        let last = char::from(rest.as_bytes()[2 + end]);
                        self.csi(&rest[2..2 + end], last);
                        rest = &rest[3 + end..];
                    }
                    Some(b']') => {
                        let end = rest.find("\x1b\\").expect("a whole string");
                        let body = &rest[2..end];
                        if let Some(picture) = body.strip_prefix("1337;File=inline=1;") {
                            self.picture(picture);
                            rest = &rest[end + 2..];
                            continue;
                        }
                        assert!(
                            body.starts_with("8;;") || body.starts_with("8;id=") || body.starts_with("133;"),
                            "OSC {body}"
                        );
                        rest = &rest[end + 2..];
                    }
                    other => panic!("ESC {other:?} is not allowed"),
                },
                '\r' => {
                    self.column = 0;
                    self.pending = false;
                    rest = &rest[1..];
                }
                '\n' => {
                    self.line_feed();
                    rest = &rest[1..];
                }
                c if c.is_control() => panic!("the control {c:?} is not allowed"),
                _ => {
                    let until = rest.find(|c: char| c.is_control()).unwrap_or(rest.len());
                    for cluster in sinew_term::clusters(&rest[..until], 1) {
                        self.print(cluster.text, cluster.width);
                    }
                    rest = &rest[until..];
                }
            }
        }
    }

    fn resize(&mut self, _: usize, _: usize) {
        panic!("the strict screen has one size");
    }

    fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    fn height(&self) -> usize {
        self.rows
    }

    fn lines(&mut self) -> Vec<Vec<View>> {
        self.tape.clone()
    }

    fn text(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        let mut open = String::new();
        for (line, wraps) in self.tape.iter().zip(&self.wraps) {
            if *wraps {
                open += &line.iter().map(|view| view.text.as_str()).collect::<String>();
            } else {
                out.push((std::mem::take(&mut open) + &text_of(line)).trim_end().to_owned());
            }
        }
        out
    }
}
