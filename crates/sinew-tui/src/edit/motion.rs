//! Motions of the cursor.

use sinew_term::clusters;

use super::Editor;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Back,
    Forward,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Cluster,
    /// Letters, digits and `_`.
    Word,
    /// Anything between blanks and slashes.
    Path,
    /// Up to the edge of the line.
    Line,
}

impl Editor {
    pub(super) fn target(&self, direction: Direction, unit: Unit) -> usize {
        target(&self.text, self.cursor, direction, unit)
    }

    /// Moves one row up or down; at the edge, shows another text of the history.
    pub(super) fn vertical(&mut self, step: isize, sticky: Option<usize>) -> bool {
        self.climb(step, sticky) || self.recall(step)
    }

    /// Moves up or down by the shown height, at most to the edge.
    pub(super) fn page(&mut self, step: isize, sticky: Option<usize>) -> bool {
        (0..self.height.max(1)).rev().map(|more| step * (1 + more.cast_signed())).any(|step| self.climb(step, sticky))
    }

    /// Moves `step` rows up or down; does nothing if there are fewer rows.
    fn climb(&mut self, step: isize, sticky: Option<usize>) -> bool {
        let places = super::layout::places(self, if self.width == 0 { usize::MAX } else { self.width });
        let row = super::layout::locate(&places, self.cursor);
        let Some(target) = row.checked_add_signed(step).filter(|row| *row < places.len()) else { return false };
        let column = sticky.unwrap_or_else(|| places[row].column(&self.text, &self.markers, self.cursor));
        self.cursor = places[target].at_column(&self.text, &self.markers, column);
        self.sticky = Some(column);
        true
    }

    /// Shows an older or newer text of the history.
    fn recall(&mut self, step: isize) -> bool {
        let draft = self.text.clone();
        let text = if step < 0 { self.history.older(&draft) } else { self.history.newer() };
        let Some(text) = text else { return false };
        // The change itself must not end the browsing of the history.
        let place = self.history.take_place();
        self.replace(0, self.text.len(), &text, false);
        self.history.set_place(place);
        if step < 0 {
            // At the beginning, so that the next key goes to the previous text.
            self.cursor = self.text.len();
        }
        true
    }
}

pub(super) fn target(text: &str, cursor: usize, direction: Direction, unit: Unit) -> usize {
    let line_start = text[..cursor].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[cursor..].find('\n').map_or(text.len(), |at| cursor + at);
    match (unit, direction) {
        (Unit::Line, Direction::Back) => line_start,
        (Unit::Line, Direction::Forward) => line_end,
        (Unit::Cluster, Direction::Back) => {
            if cursor == line_start {
                return cursor.saturating_sub(1);
            }
            boundaries(text, line_start, cursor).next_back().unwrap_or(line_start)
        }
        (Unit::Cluster, Direction::Forward) => {
            if cursor == line_end {
                return (cursor + 1).min(text.len());
            }
            // Searched from the beginning of the line, since clusters cannot be recognised from their middle.
            boundaries(text, line_start, line_end).find(|at| *at > cursor).unwrap_or(line_end)
        }
        (_, Direction::Back) => {
            let class = |c: char| class(c, unit);
            let head = text[..cursor].trim_end_matches(|c| class(c) == 0);
            let last = head.chars().next_back().map_or(0, class);
            snap(text, head.trim_end_matches(|c| class(c) == last).len(), false)
        }
        (_, Direction::Forward) => {
            let class = |c: char| class(c, unit);
            let rest = text[cursor..].trim_start_matches(|c| class(c) == 0);
            let first = rest.chars().next().map_or(0, class);
            snap(text, text.len() - rest.trim_start_matches(|c| class(c) == first).len(), true)
        }
    }
}

/// Returns the nearest boundary of a cluster at or beyond `at`.
pub(super) fn snap(text: &str, at: usize, forward: bool) -> usize {
    let line_start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    if at == line_start || at == line_end {
        return at;
    }
    let mut before = line_start;
    for place in boundaries(text, line_start, line_end) {
        if place == at {
            return at;
        }
        if place > at {
            return if forward { place } else { before };
        }
        before = place;
    }
    if forward { line_end } else { before }
}

/// Returns the starts of clusters in a part of a line. Clusters without cells are part of the previous one.
fn boundaries(text: &str, from: usize, to: usize) -> std::vec::IntoIter<usize> {
    let mut places: Vec<usize> = Vec::new();
    for cluster in clusters(&text[from..to], 1) {
        if cluster.width > 0 || places.is_empty() {
            places.push(from + cluster.start);
        }
    }
    places.into_iter()
}

/// Distinguishes blanks, words and other characters; each marker is a class of its own.
pub(super) fn class(c: char, unit: Unit) -> u32 {
    match c {
        c if super::marker_index(c).is_some() => 10 + u32::from(c),
        c if c.is_whitespace() => 0,
        '/' if unit == Unit::Path => 0,
        _ if unit == Unit::Path => 1,
        c if c.is_alphanumeric() || c == '_' => 1,
        _ => 2,
    }
}
