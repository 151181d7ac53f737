//! Composes the document and the chrome into the rows of the window.

use std::sync::Arc;

use super::document::{Document, hidden_row};
use super::{CaretPlace, Chrome, Size};
use crate::text::row::Row;
use crate::text::style::{Attrs, Color, Style};

/// A row of the window, and whether the next one continues it in the terminal.
#[derive(Clone, Debug)]
pub(super) struct WindowRow {
    pub(super) row: Arc<Row>,
    /// True if the next row continues the same line of the terminal.
    pub(super) joined: bool,
}

/// The content of the next frame.
#[derive(Debug)]
pub(super) struct Plan {
    /// All rows from the first of the current window: those that scroll out, then those of the next window.
    pub(super) rows: Vec<WindowRow>,
    /// The number of rows that scroll out.
    pub(super) retire: usize,
    /// The number of rows at the top of the next window that are final and scroll out next.
    pub(super) settled: usize,
    /// The number of rows at the top, including those, that may scroll out.
    pub(super) complete: usize,
    /// The row in the next window, and the column.
    pub(super) caret: (usize, usize),
    pub(super) more: bool,
}

/// The maximum size of the text that scrolls out with one frame, in bytes.
const BURST: usize = 48 << 10;

/// The rows of a block that can be shown.
struct Segment<'a> {
    rows: &'a [Arc<Row>],
    /// True if the rows never change.
    is_final: bool,
}

/// Composes the next frame. `floor` is the height of the current window and the minimum height of the next one.
pub(super) fn compose(document: &Document, chrome: &Chrome, size: Size, floor: usize) -> Plan {
    let (settled, live) = split(document);
    let mut parts = fit_chrome(chrome, size.rows);
    let cover = &chrome.cover[..chrome.cover.len().min(size.rows - parts.status.len() - parts.editor.len())];
    // Rows that a pushing cover needs are taken from the conversation as those above the status are: its oldest rows
    // scroll out. If they were hidden instead, a resize could move newer rows into the scrollback before them.
    let pushed = if chrome.pushes { cover.len() } else { 0 };
    let left = size.rows - parts.status.len() - parts.editor.len() - pushed;
    parts.above = &parts.above[..parts.above.len().min(left)];
    let chrome_rows = parts.above.len() + pushed + parts.status.len() + parts.editor.len();
    let room = size.rows - chrome_rows;
    let total: usize = settled.iter().chain(&live).map(|segment| segment.rows.len()).sum();
    let ready: usize = settled.iter().map(|segment| segment.rows.len()).sum();

    let covers = cover.len() > pushed;
    let wanted = if covers { 0 } else { total.saturating_sub(room).min(ready) };
    let (retire, more) = limit_burst(&settled, wanted);

    let mut rows = Vec::new();
    let (mut shown, mut finals) = (0, 0);
    for segment in &settled {
        for (index, row) in segment.rows.iter().enumerate() {
            if shown == retire + room {
                break;
            }
            let next = segment.rows.get(index + 1);
            // On a screen of one row, the beginning of a line is gone when its end appears.
            let joined = row.soft
                && segment.is_final
                && size.rows > 1
                && next.is_some_and(|next| next.line == row.line && can_join(row, next, size.columns));
            rows.push(WindowRow { row: Arc::clone(row), joined });
            shown += 1;
            finals += usize::from(segment.is_final);
        }
    }
    // The last shown row is followed by something else.
    if let Some(last) = rows.last_mut() {
        last.joined = false;
    }
    let (mut settled_shown, mut complete_shown) = (finals.saturating_sub(retire), shown - retire);
    if room > complete_shown {
        rows.extend(clip(&live, room - complete_shown, size.columns));
    }

    let visible = rows.len() - retire;
    let height = floor.min(size.rows).max((visible + chrome_rows).min(size.rows));
    let height = height.max((cover.len() + parts.status.len() + parts.editor.len()).min(size.rows));
    let plain = |row: Row| WindowRow { row: Arc::new(row.cut(size.columns)), joined: false };
    rows.resize_with(retire + height - chrome_rows, || plain(Row::default()));
    rows.extend(parts.above.iter().cloned().map(plain));
    if covers {
        let kept = height - parts.status.len() - parts.editor.len() - cover.len();
        rows.truncate(kept);
        settled_shown = settled_shown.min(kept);
        complete_shown = complete_shown.min(kept);
        if let Some(last) = rows.last_mut() {
            last.joined = false;
        }
    }
    rows.extend(cover.iter().cloned().map(plain));
    let bottom = rows.len();
    rows.extend(parts.status.iter().cloned().map(plain));
    let editor_top = rows.len() - retire;
    rows.extend(parts.editor.iter().cloned().map(plain));

    // Blanks at the end are removed from a row that ends here, even if its line may continue.
    for shown in &mut rows {
        if !shown.joined && shown.row.soft && shown.row.text().ends_with(' ') {
            let row = Row::new(shown.row.to_line(), shown.row.line).foreign(shown.row.foreign);
            shown.row = Arc::new(row);
        }
    }
    let caret = &chrome.caret;
    let row = match caret.place {
        CaretPlace::Editor => editor_top + caret.row.saturating_sub(parts.skipped).min(parts.editor.len().max(1) - 1),
        CaretPlace::Cover => bottom - retire - cover.len() + caret.row.min(cover.len().max(1) - 1),
    };
    let caret = (row.min(height.max(1) - 1), caret.column.min(size.columns - 1));
    if rows.is_empty() {
        rows.push(plain(Row::default()));
    }
    Plan { rows, retire, settled: settled_shown, complete: complete_shown, caret, more }
}

/// Returns true if the terminal can wrap from one row into the next. If a wide cluster leaves the last cell free, some
/// terminals show this cell in the style of the cluster, which would be wrong.
fn can_join(row: &Row, next: &Row, columns: usize) -> bool {
    let shown = Attrs(Attrs::UNDERLINE.0 | Attrs::REVERSE.0 | Attrs::STRIKE.0);
    let is_plain = |style: Style| style.bg == Color::Default && style.attrs.0 & shown.0 == 0;
    next.cells().next().is_none_or(|first| first.width < 2 || is_plain(first.style)) || row.width() >= columns
}

/// Splits the document into the rows that can scroll out, and the rows after them, which may change or must wait. Rows
/// that are complete but not final follow the final ones.
fn split(document: &Document) -> (Vec<Segment<'_>>, Vec<Segment<'_>>) {
    let (mut settled, mut live) = (Vec::new(), Vec::new());
    let mut open = false;
    for entry in document.entries() {
        let rendered = &entry.rendered;
        let (finals, end) = match open {
            true => (entry.retired, entry.retired),
            false => (rendered.settled, rendered.leaving()),
        };
        let segment = |from, to| Segment { rows: &rendered.rows[from..to], is_final: to <= rendered.settled };
        if finals > entry.retired {
            settled.push(segment(entry.retired, finals));
        }
        if end > finals.max(entry.retired) {
            settled.push(segment(finals.max(entry.retired), end));
        }
        if rendered.rows.len() > end {
            live.push(segment(end, rendered.rows.len()));
        }
        open |= !rendered.finished || rendered.rows.len() > end;
    }
    (settled, live)
}

/// Returns how many of `wanted` rows fit into one frame, and whether some remain.
fn limit_burst(settled: &[Segment<'_>], wanted: usize) -> (usize, bool) {
    let mut bytes = 0;
    let rows = settled.iter().flat_map(|segment| segment.rows).take(wanted);
    let count = rows
        .take_while(|row| {
            let before = bytes;
            bytes +=
                row.text().len() + row.picture.as_ref().map_or(0, |picture| picture.len()) + 16 * row.run_count() + 8;
            before < BURST
        })
        .count();
    (count, count < wanted)
}

struct Parts<'a> {
    above: &'a [Row],
    status: &'a [Row],
    editor: &'a [Row],
    /// The number of rows of the editor above the shown ones.
    skipped: usize,
}

/// Returns the part of the chrome that fits: first the editor around its cursor, then the status, then the rows above
/// it.
fn fit_chrome(chrome: &Chrome, height: usize) -> Parts<'_> {
    let count = chrome.editor.len().min(height);
    let caret = if chrome.caret.place == CaretPlace::Editor { chrome.caret.row } else { 0 };
    let skipped = (caret + 1).saturating_sub(count).min(chrome.editor.len() - count);
    let left = height - count;
    let status = chrome.status.len().min(left.saturating_sub(usize::from(height <= 5) * 5));
    let above = chrome.above.len().min((left - status) / 2);
    Parts {
        above: &chrome.above[..above],
        status: &chrome.status[..status],
        editor: &chrome.editor[skipped..skipped + count],
        skipped,
    }
}

/// Fits the rows that can still change into the remaining room: each block keeps its first row and as many of its last
/// rows as its share allows; if that does not fit either, the oldest blocks become one row.
fn clip(live: &[Segment<'_>], room: usize, width: usize) -> Vec<WindowRow> {
    let dim = Style::PLAIN.with(Attrs::DIM);
    let plain = |row| WindowRow { row, joined: false };
    let mut out = Vec::new();
    let mut live = live;
    let mut room = room;
    if room == 0 {
        return out;
    }
    if live.len() > room {
        let hidden = live.len() - (room - 1);
        out.push(plain(hidden_row(&format!("⋯ {hidden} more running"), width, dim)));
        live = &live[hidden..];
        room -= 1;
    }
    for (segment, share) in live.iter().zip(shares(live, room)) {
        let rows = segment.rows;
        if rows.len() <= share {
            out.extend(rows.iter().cloned().map(plain));
            continue;
        }
        // A leading blank row is removed first.
        let rows = if rows[0].text().is_empty() && rows.len() > 1 { &rows[1..] } else { rows };
        if rows.len() <= share {
            out.extend(rows.iter().cloned().map(plain));
            continue;
        }
        let tail = share.saturating_sub(2);
        out.push(plain(Arc::clone(&rows[0])));
        if share > 1 {
            let hidden = rows.len() - 1 - tail;
            out.push(plain(hidden_row(&format!("⋯ {hidden} rows, shown when done"), width, dim)));
        }
        out.extend(rows[rows.len() - tail..].iter().cloned().map(plain));
    }
    out
}

/// Returns the number of rows for each block: equal shares, where small blocks leave the rest to the others.
fn shares(live: &[Segment<'_>], room: usize) -> Vec<usize> {
    let mut shares = vec![0; live.len()];
    let mut left = room;
    let mut open = live.len();
    while left > 0 && open > 0 {
        let each = (left / open).max(1);
        open = 0;
        // The newest first: if there are too few rows, the oldest block gets none.
        for (share, segment) in shares.iter_mut().zip(live).rev() {
            let more = each.min(segment.rows.len() - *share).min(left);
            *share += more;
            left -= more;
            open += usize::from(*share < segment.rows.len());
        }
    }
    shares
}
