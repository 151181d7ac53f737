//! Extracts columns of a line: truncate, slice, and both sides of an overlay.

use super::escape::Kind;
use super::style::{Style, push};
use super::unit::Unit;
use super::walk::{Item, apply_inner, item, plain_run};

/// The marker at the end of a truncated text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ellipsis {
    /// `…`, one cell wide.
    #[default]
    Unicode,
    /// `...`, three cells wide.
    Ascii,
    /// No marker.
    Omit,
}

impl Ellipsis {
    fn cells(self) -> usize {
        match self {
            Ellipsis::Unicode => 1,
            Ellipsis::Ascii => 3,
            Ellipsis::Omit => 0,
        }
    }

    /// Writes its first `cells` cells.
    fn write<U: Unit>(self, cells: usize, out: &mut Vec<U>) {
        match self {
            Ellipsis::Unicode if cells > 0 => out.extend_from_slice(U::ELLIPSIS),
            Ellipsis::Unicode | Ellipsis::Omit => {}
            Ellipsis::Ascii => push(out, &b"..."[..cells]),
        }
    }
}

/// Cuts `text` to `max` cells. `None` if it fits and needs no padding.
pub(crate) fn truncate<U: Unit>(text: &[U], max: usize, ellipsis: Ellipsis, pad: bool, tab: usize) -> Option<Vec<U>> {
    match cut(text, max, ellipsis, pad, tab) {
        CutResult::Done(out) => Some(out),
        CutResult::Fits { end, col } if pad && col < max => {
            let mut out = text[..end].to_vec();
            out.resize(end + max - col, U::ascii(b' '));
            Some(out)
        }
        CutResult::Fits { .. } => None,
    }
}

/// Returns the common result of [`truncate`] for every text that starts with `start`; `None` if `start` does not
/// determine it.
pub(crate) fn truncate_start<U: Unit>(
    start: &[U],
    max: usize,
    ellipsis: Ellipsis,
    pad: bool,
    tab: usize,
) -> Option<Vec<U>> {
    // The cluster that does not fit follows everything that is kept; more text can only make it wider.
    match cut(start, max, ellipsis, pad, tab) {
        CutResult::Done(out) => Some(out),
        CutResult::Fits { .. } => None,
    }
}

enum CutResult<U> {
    Done(Vec<U>),
    /// The text fits: its end without broken sequences, and its width.
    Fits {
        end: usize,
        col: usize,
    },
}

fn cut<U: Unit>(text: &[U], max: usize, ellipsis: Ellipsis, pad: bool, tab: usize) -> CutResult<U> {
    let mark = ellipsis.cells().min(max);
    let limit = max - mark;
    let mut style = Style::PLAIN;
    // The start and end of trailing broken sequences, after which nothing may be appended.
    let mut broken = (0, 0);
    // The position of the cut if the text does not fit, with the state and the column there.
    let mut cut: Option<(usize, Style, usize)> = None;
    let (mut at, mut col) = (0, 0usize);
    let fits = loop {
        if at >= text.len() {
            break true;
        }
        let run = plain_run(text, at, limit.saturating_sub(col));
        if run > 0 {
            at += run;
            col += run;
            continue;
        }
        match item(text, at, tab) {
            Item::Cluster { end, width, inner } => {
                let next = col.saturating_add(width);
                if next > limit && cut.is_none() {
                    cut = Some((whole_end(broken, at), style.clone(), col));
                }
                if next > max {
                    break false;
                }
                if inner {
                    apply_inner(&mut style, text, at, end);
                }
                (at, col) = (end, next);
            }
            Item::Escape { end, kind } => {
                style.apply(text, at, end, kind);
                if kind == Kind::Broken {
                    broken = (whole_end(broken, at), end);
                }
                at = end;
            }
            Item::Control { end } | Item::Newline { end } => at = end,
        }
    };
    let Some((place, style, cut_col)) = cut.filter(|_| !fits) else {
        return CutResult::Fits { end: whole_end(broken, text.len()), col };
    };
    let mut out = text[..place].to_vec();
    style.close(text, &mut out);
    ellipsis.write(mark, &mut out);
    if pad {
        out.resize(out.len() + max - cut_col - mark, U::ascii(b' '));
    }
    CutResult::Done(out)
}

/// Returns the end of the text before `at` without trailing broken sequences.
fn whole_end(broken: (usize, usize), at: usize) -> usize {
    if broken.1 == at && at > 0 { broken.0 } else { at }
}

/// Columns of a line and their width.
pub(crate) type Part<U> = (Vec<U>, usize);

/// Returns the columns `(start, length, strict)` of each of `windows`, in one pass, with the state at their start
/// restored and everything closed at their end. The flag is true if every text that starts with `text` has the same
/// result.
pub(crate) fn columns<U: Unit, const N: usize>(
    text: &[U],
    windows: [(usize, usize, bool); N],
    tab: usize,
) -> ([Part<U>; N], bool) {
    let mut windows = windows.map(|(start, length, strict)| Window::new(start, length, strict));
    collect(text, &mut windows, tab);
    // A window is complete once a cluster follows it, because later characters cannot join its content.
    let sure = windows.iter().all(|window| window.done);
    (windows.map(|window| window.finish(text)), sure)
}

/// The columns `start..end` of a line, collected during one pass.
struct Window<U> {
    start: usize,
    end: usize,
    strict: bool,
    out: Vec<U>,
    width: usize,
    open: bool,
    done: bool,
    /// The state after the last added cluster.
    style: Style,
}

impl<U: Unit> Window<U> {
    fn new(start: usize, length: usize, strict: bool) -> Self {
        let end = start.saturating_add(length);
        Window { start, end, strict, out: Vec::new(), width: 0, open: false, done: length == 0, style: Style::PLAIN }
    }

    /// Adds its share of `run` one-cell characters at `at`, column `col`.
    fn take_run(&mut self, text: &[U], (at, run): (usize, usize), col: usize, style: &Style) {
        let (first, last) = (self.start.max(col), self.end.min(col + run));
        self.done |= col >= self.end;
        if first < last && !self.done {
            self.take(text, (at + first - col, at + last - col), last - first, style);
        }
    }

    /// Adds a cluster at column `col`, or drops it.
    fn take_cluster(&mut self, text: &[U], range: (usize, usize), col: usize, width: usize, style: &Style) {
        self.done |= col >= self.end || (self.strict && col >= self.start && col.saturating_add(width) > self.end);
        if col >= self.start && !self.done {
            self.take(text, range, width, style);
        }
    }

    /// Adds a sequence or control between added clusters.
    fn take_zero(&mut self, text: &[U], range: (usize, usize), col: usize, style: &Style) {
        if self.open && !self.done && col < self.end {
            self.take(text, range, 0, style);
        }
    }

    fn take(&mut self, text: &[U], (at, end): (usize, usize), width: usize, style: &Style) {
        if !self.open {
            self.open = true;
            style.open(text, &mut self.out);
        }
        self.settle(style);
        self.out.extend_from_slice(&text[at..end]);
        self.width = self.width.saturating_add(width);
    }

    fn settle(&mut self, style: &Style) {
        if self.style.version != style.version {
            self.style = style.clone();
        }
    }

    fn finish(mut self, text: &[U]) -> (Vec<U>, usize) {
        self.style.close(text, &mut self.out);
        (self.out, self.width)
    }
}

fn collect<U: Unit, const N: usize>(text: &[U], windows: &mut [Window<U>; N], tab: usize) {
    let last = windows.iter().map(|window| window.end).max().unwrap_or(0);
    let mut style = Style::PLAIN;
    let (mut at, mut col) = (0, 0usize);
    while at < text.len() && windows.iter().any(|window| !window.done) {
        let run = plain_run(text, at, last.saturating_sub(col));
        if run > 0 {
            windows.iter_mut().for_each(|window| window.take_run(text, (at, run), col, &style));
            (at, col) = (at + run, col + run);
            continue;
        }
        match item(text, at, tab) {
            Item::Cluster { end, width, inner } => {
                windows.iter_mut().for_each(|window| window.take_cluster(text, (at, end), col, width, &style));
                if inner {
                    apply_inner(&mut style, text, at, end);
                    windows
                        .iter_mut()
                        .filter(|window| window.open && !window.done)
                        .for_each(|window| window.settle(&style));
                }
                (at, col) = (end, col.saturating_add(width));
            }
            Item::Escape { end, kind } => {
                style.apply(text, at, end, kind);
                if kind != Kind::Broken {
                    windows.iter_mut().for_each(|window| window.take_zero(text, (at, end), col, &style));
                }
                at = end;
            }
            Item::Control { end } | Item::Newline { end } => {
                windows.iter_mut().for_each(|window| window.take_zero(text, (at, end), col, &style));
                at = end;
            }
        }
    }
}
