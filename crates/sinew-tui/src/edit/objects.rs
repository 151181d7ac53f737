//! The text objects of vi: words, paragraphs, brackets and quotes.

use super::motion::{Unit, class};
use super::places::{line_end, line_start};

/// A part of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) to: usize,
    /// True for whole lines, without the end of the last one.
    pub(super) lines: bool,
}

/// Brackets, with the letters that name them.
const BRACKETS: &[(&str, char, char)] = &[("()b", '(', ')'), ("{}B", '{', '}'), ("[]", '[', ']'), ("<>", '<', '>')];

/// Returns true if a letter after `i` or `a` names an object.
pub(super) fn is_known(name: char) -> bool {
    matches!(name, 'w' | 'p' | '"' | '\'' | '`') || BRACKETS.iter().any(|(names, ..)| names.contains(name))
}

/// Returns the object at a position for keys such as `iw` or `a(`. Returns `None` if there is no such object, or the
/// keys are invalid.
pub(super) fn find(text: &str, at: usize, keys: &str) -> Option<Span> {
    let mut letters = keys.chars();
    let is_around = match letters.next()? {
        'i' => false,
        'a' => true,
        _ => return None,
    };
    let name = letters.next()?;
    match name {
        'w' => Some(word(text, at, is_around)),
        'p' => paragraph(text, at, is_around),
        '"' | '\'' | '`' => quoted(text, at, name, is_around),
        _ => {
            let (_, open, close) = BRACKETS.iter().find(|(names, ..)| names.contains(name))?;
            bracketed(text, at, *open, *close, is_around)
        }
    }
}

fn word(text: &str, at: usize, is_around: bool) -> Span {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let kind = text[at..end].chars().next().map_or(0, |c| class(c, Unit::Word));
    let fits = |kind: u32| move |c: char| class(c, Unit::Word) == kind;
    let before = |to: usize, kind| start + text[start..to].trim_end_matches(fits(kind)).len();
    let behind = |from: usize, kind| end - text[from..end].trim_start_matches(fits(kind)).len();
    let (mut from, mut to) = (before(at, kind), behind(at, kind));
    if is_around {
        let next = text[to..end].chars().next().map_or(0, |c| class(c, Unit::Word));
        match (kind, behind(to, 0)) {
            (0, _) => to = behind(to, next),
            (_, blanks) if blanks > to => to = blanks,
            // Indentation is part of the line, not of the word.
            _ if before(from, 0) > start => from = before(from, 0),
            _ => {}
        }
    }
    Span { from, to, lines: false }
}

fn paragraph(text: &str, at: usize, is_around: bool) -> Option<Span> {
    let is_blank = |at: usize| text[line_start(text, at)..line_end(text, at)].trim().is_empty();
    let up = |at: usize, blank: bool| {
        let mut from = line_start(text, at);
        while from > 0 && is_blank(from - 1) == blank {
            from = line_start(text, from - 1);
        }
        from
    };
    let down = |at: usize, blank: bool| {
        let mut to = line_end(text, at);
        while to < text.len() && is_blank(to + 1) == blank {
            to = line_end(text, to + 1);
        }
        to
    };
    let blank = is_blank(at);
    let (mut from, mut to) = (up(at, blank), down(at, blank));
    if is_around {
        if to < text.len() {
            to = down(to + 1, !blank);
        } else if blank {
            // Blank lines are part of the text after them.
            return None;
        } else if from > 0 {
            from = up(from - 1, !blank);
        }
    }
    Some(Span { from, to, lines: true })
}

fn bracketed(text: &str, at: usize, open: char, close: char, is_around: bool) -> Option<Span> {
    let mut depth = 0_usize;
    let is_at_open = text[at..].starts_with(open);
    let from = match is_at_open {
        true => Some(at),
        false => text[..at].char_indices().rev().find_map(|(place, c)| match c {
            _ if c == close => {
                depth += 1;
                None
            }
            _ if c == open && depth == 0 => Some(place),
            _ if c == open => {
                depth -= 1;
                None
            }
            _ => None,
        }),
    };
    // Outside of a pair, the next pair is used.
    let from = from.or_else(|| Some(at + text[at..].find(open)?))?;
    depth = 0;
    let to = text[from..].char_indices().find_map(|(place, c)| {
        depth += usize::from(c == open);
        depth -= usize::from(c == close);
        (depth == 0).then_some(from + place)
    })?;
    if is_around {
        return Some(Span { from, to: to + 1, lines: false });
    }
    let (from, inner) = (from + 1, &text[from + 1..to]);
    // Lines between two brackets are whole lines.
    let last = inner.rfind('\n').filter(|end| inner[end + 1..].trim().is_empty());
    match (inner.starts_with('\n'), last) {
        (true, Some(end)) if end > 0 => Some(Span { from: from + 1, to: from + end, lines: true }),
        (true, Some(_)) => None,
        (true, None) => Some(Span { from: from + 1, to, lines: false }),
        (false, Some(end)) => Some(Span { from, to: from + end, lines: false }),
        _ => Some(Span { from, to, lines: false }),
    }
}

fn quoted(text: &str, at: usize, quote: char, is_around: bool) -> Option<Span> {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let mut escaped = false;
    let mut places = Vec::new();
    for (place, c) in text[start..end].char_indices() {
        if c == quote && !escaped {
            places.push(start + place);
        }
        escaped = c == '\\' && !escaped;
    }
    let pair = places.chunks_exact(2).find(|pair| at <= pair[1])?;
    let (from, to) = (pair[0], pair[1]);
    if !is_around {
        return Some(Span { from: from + 1, to, lines: false });
    }
    let behind = end - text[to + 1..end].trim_start_matches([' ', '\t']).len();
    let before = start + text[start..from].trim_end_matches([' ', '\t']).len();
    match behind > to + 1 {
        true => Some(Span { from, to: behind, lines: false }),
        false => Some(Span { from: before, to: to + 1, lines: false }),
    }
}
