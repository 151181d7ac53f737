//! The targets of vi motions in a text: lines, words, characters.

use super::motion::{Direction, Unit, class, snap, target};

pub(super) fn class_at(text: &str, at: usize) -> u32 {
    text[at..].chars().next().map_or(0, |c| class(c, Unit::Word))
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

pub(super) fn next(text: &str, at: usize) -> usize {
    target(text, at, Direction::Forward, Unit::Cluster)
}

pub(super) fn previous(text: &str, at: usize) -> usize {
    target(text, at, Direction::Back, Unit::Cluster)
}

/// Returns the first position of the line that is not blank.
pub(super) fn first_letter(text: &str, at: usize) -> usize {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let blanks = text[start..end].len() - text[start..end].trim_start_matches([' ', '\t']).len();
    // In a blank line, the last blank.
    if start + blanks == end && blanks > 0 { previous(text, end) } else { start + blanks }
}

pub(super) fn is_empty_line(text: &str, at: usize) -> bool {
    line_start(text, at) == line_end(text, at)
}

/// Returns the byte after the matching characters that begin at `at`.
pub(super) fn skip(text: &str, at: usize, fits: impl Fn(usize, char) -> bool) -> usize {
    let end = text[at..].char_indices().find(|(offset, c)| !fits(at + offset, *c));
    end.map_or(text.len(), |(offset, _)| at + offset)
}

/// Returns the beginning of the next word, or the next empty line. If `in_line`, returns at most the end of the line.
pub(super) fn word(text: &str, at: usize, in_line: bool) -> usize {
    let kind = class_at(text, at);
    let mut to = match kind {
        0 if is_empty_line(text, at) && at < text.len() => at + 1,
        0 => at,
        _ => skip(text, at, |_, c| class(c, Unit::Word) == kind),
    };
    if !(in_line && text[at..to].ends_with('\n')) {
        to = skip(text, to, |here, c| {
            class(c, Unit::Word) == 0 && !(here > at && is_empty_line(text, here)) && !(in_line && c == '\n')
        });
    }
    snap(text, to, true)
}

/// Returns the last cluster of the word that ends after `at`; the last position of the text if there is none.
pub(super) fn word_end(text: &str, at: usize) -> usize {
    let from = skip(text, next(text, at), |_, c| c.is_whitespace());
    if from == text.len() {
        return if text.ends_with('\n') { from } else { previous(text, from).max(at) };
    }
    let kind = class_at(text, from);
    previous(text, snap(text, skip(text, from, |_, c| class(c, Unit::Word) == kind), true))
}

/// Returns the beginning of the previous word, or the previous empty line.
pub(super) fn word_back(text: &str, at: usize) -> usize {
    let mut from = at;
    while from > 0 && class_at(text, previous(text, from)) == 0 {
        from = previous(text, from);
        if is_empty_line(text, from) {
            return from;
        }
    }
    let kind = if from == 0 { 0 } else { class_at(text, previous(text, from)) };
    while from > 0 && class_at(text, previous(text, from)) == kind {
        from = previous(text, from);
    }
    from
}

pub(super) fn repeated(count: usize, from: usize, step: impl Fn(usize) -> usize) -> usize {
    let mut at = from;
    for _ in 0..count {
        let to = step(at);
        if to == at {
            break;
        }
        at = to;
    }
    at
}
