//! Wraps lines into rows.

use sinew_term::clusters;

use super::row::{Line, Row};

/// How to cut a line that is longer than a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrapMode {
    /// Between words; inside a word only if it is longer than a row.
    Words,
    /// After as many clusters as fit.
    Cells,
    /// Like [`WrapMode::Cells`], but if the width of all clusters is certain, the terminal treats the rows as one line,
    /// so that a selection contains the original line.
    Soft,
}

/// Cuts `line` into rows of at most `width` cells, and appends them to `out`. `first` precedes the first row, `rest`
/// all others; both are left out if they need more than half of the width. Runs in linear time.
pub fn wrap(line: &Line, width: usize, mode: WrapMode, number: u32, prefix: (&Line, &Line), out: &mut Vec<Row>) {
    let width = width.max(1);
    let empty = Line::new();
    let fits = |prefix: &Line| prefix.width() * 2 <= width;
    let (first, rest) = if fits(prefix.0) && fits(prefix.1) { prefix } else { (&empty, &empty) };
    let room = (width - first.width(), width - rest.width());
    let pieces = match mode {
        WrapMode::Words => by_words(line.text(), room),
        WrapMode::Cells | WrapMode::Soft => by_cells(line.text(), room),
    };
    let soft = mode == WrapMode::Soft
        && first.text().is_empty()
        && rest.text().is_empty()
        && pieces.len() > 1
        && clusters(line.text(), 1).all(|cluster| super::width::is_certain(cluster.text) && cluster.width <= width);
    let last = pieces.len() - 1;
    for (index, (start, end)) in pieces.into_iter().enumerate() {
        let lead = if index == 0 { first } else { rest };
        let part = line.part(start, end);
        let part = if lead.text().is_empty() {
            part
        } else {
            let mut whole = lead.clone();
            whole.append(&part);
            whole
        };
        out.push(if soft && index < last { Row::soft(part, number) } else { Row::new(part, number) });
    }
}

/// Returns the byte ranges of rows.
pub(crate) fn by_cells(text: &str, room: (usize, usize)) -> Vec<(usize, usize)> {
    let mut rows = Vec::new();
    let (mut start, mut used, mut limit) = (0, 0, room.0);
    for cluster in clusters(text, 1) {
        if used + cluster.width > limit && cluster.start > start {
            rows.push((start, cluster.start));
            (start, used, limit) = (cluster.start, 0, room.1);
        }
        used += cluster.width;
    }
    rows.push((start, text.len()));
    rows
}

/// Returns the byte ranges of rows; blanks at a break belong to no row.
pub(crate) fn by_words(text: &str, room: (usize, usize)) -> Vec<(usize, usize)> {
    let mut rows = Vec::new();
    let (mut start, mut used, mut limit) = (0, 0, room.0);
    // The last possible break: the end of the row, the beginning of the next one, and the cells up to there.
    let mut break_at: Option<(usize, usize, usize)> = None;
    let mut content = false;
    let mut before = (' ', 0);
    for cluster in clusters(text, 1) {
        let blank = cluster.text == " ";
        let here = cluster.start;
        if !blank && content && here > start {
            // A word begins after a blank; wide characters need no blank.
            if before.0 == ' ' {
                let end = start + text[start..here].trim_end_matches(' ').len();
                break_at = Some((end, here, used));
            } else if before.1 == 2 || cluster.width == 2 {
                break_at = Some((here, here, used));
            }
        }
        if !blank && used + cluster.width > limit && here > start {
            match break_at.take() {
                Some((end, next, cells)) => {
                    rows.push((start, end));
                    start = next;
                    used -= cells;
                    // The moved part may be longer than a row.
                    if used + cluster.width > room.1 && here > start {
                        rows.push((start, here));
                        (start, used) = (here, 0);
                    }
                }
                None => {
                    rows.push((start, start + text[start..here].trim_end_matches(' ').len()));
                    (start, used) = (here, 0);
                }
            }
            limit = room.1;
            content = start < here;
        }
        used += cluster.width;
        content |= !blank;
        before = (cluster.text.chars().next_back().unwrap_or(' '), cluster.width);
    }
    let end = if content { text.len() } else { start + text[start..].trim_end_matches(' ').len() };
    rows.push((start, end.max(start)));
    rows
}
