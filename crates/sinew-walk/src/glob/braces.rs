//! Expands `{a,b}` and `{1..3}` into alternatives; commas outside braces separate globs.

use std::borrow::Cow;

/// The maximum number of alternatives, because each needs one comparison per path.
const LIMIT: usize = 1_024;

/// Calls `each` with every byte outside closed classes, and its position, until it returns false. Of an escape it gets
/// the `\`.
fn scan(text: &str, mut each: impl FnMut(u8, usize) -> bool) {
    let bytes = text.as_bytes();
    let mut at = 0;
    // No class before this offset is closed, which avoids searching the same text twice.
    let mut open_until = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if at + 1 < bytes.len() => {
                if !each(b'\\', at) {
                    return;
                }
                at += 1;
            }
            b'[' if at >= open_until => match end_of_class(bytes, at) {
                Ok(end) => at = end,
                Err(stop) => {
                    open_until = stop;
                    if !each(b'[', at) {
                        return;
                    }
                }
            },
            byte => {
                if !each(byte, at) {
                    return;
                }
            }
        }
        at += 1;
    }
}

/// Returns the end of the class that begins at `at`; `Err` with the end of the path level if the class is not closed in
/// it.
fn end_of_class(bytes: &[u8], at: usize) -> Result<usize, usize> {
    let mut end = at + 1;
    end += usize::from(matches!(bytes.get(end), Some(b'!' | b'^')));
    end += usize::from(bytes.get(end) == Some(&b']'));
    loop {
        match bytes.get(end) {
            None => return Err(bytes.len()),
            Some(b']') => return Ok(end),
            // `[/]` is a class and matches the separator.
            Some(b'/') if end > at + 1 => return Err(end),
            Some(b'[') if bytes.get(end + 1) == Some(&b':') => {
                let close = bytes[end + 2..].iter().take(12).position(|byte| *byte == b']');
                end = close.map_or(end, |close| end + 2 + close);
            }
            Some(b'\\') => end += 1,
            Some(_) => {}
        }
        end += 1;
    }
}

/// Returns the positions of the commas that separate globs: not those in braces, nor those between `\{` and `\}`, which
/// spell a name.
fn separators(text: &str) -> Vec<usize> {
    let mut cuts = Vec::new();
    // The open braces: whether each is escaped, and the number of cuts before it.
    let mut open: Vec<(bool, usize)> = Vec::new();
    scan(text, |byte, at| {
        let is_escaped = byte == b'\\';
        match text.as_bytes().get(at + usize::from(is_escaped)) {
            Some(b'{') => open.push((is_escaped, cuts.len())),
            // Closes the last brace of its kind, and gives up the escaped ones in it.
            Some(b'}') => {
                let partner = match is_escaped {
                    true => open.last().filter(|(escaped, _)| *escaped).map(|_| open.len() - 1),
                    false => open.iter().rposition(|(escaped, _)| !escaped),
                };
                if let Some(partner) = partner {
                    cuts.truncate(open[partner].1);
                    open.truncate(partner);
                }
            }
            Some(b',') if !is_escaped => cuts.push(at),
            _ => {}
        }
        true
    });
    // An unclosed `{` ends at the end of the text.
    if let Some((_, before)) = open.iter().find(|(escaped, _)| !escaped) {
        cuts.truncate(*before);
    }
    cuts
}

/// Returns the globs of a list, trimmed; empty ones are dropped.
pub(super) fn split(text: &str) -> Vec<&str> {
    let cuts = separators(text);
    if cuts.is_empty() {
        return if text.is_empty() { Vec::new() } else { vec![text] };
    }
    let mut parts = Vec::with_capacity(cuts.len() + 1);
    let mut start = 0;
    for cut in cuts.into_iter().chain([text.len()]) {
        parts.push(text[start..cut].trim());
        start = cut + 1;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns all alternatives in the order of the text. An unclosed `{` ends at the end of the text.
pub(super) fn expand(text: &str) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut todo = vec![text.to_string()];
    let mut steps = 0;
    while let Some(text) = todo.pop() {
        steps += 1;
        if done.len() + todo.len() > LIMIT || steps > 4 * LIMIT {
            return Err(format!("more than {LIMIT} alternatives"));
        }
        let Some(group) = first_group(&text) else {
            done.push(text);
            continue;
        };
        let (head, tail) = (&text[..group.open], text.get(group.close + 1..).unwrap_or(""));
        let bodies = match range(&text[group.open + 1..group.close]) {
            Some(numbers) => numbers?,
            None => {
                let mut bodies = Vec::with_capacity(group.commas.len() + 1);
                let mut start = group.open + 1;
                for cut in group.commas.iter().copied().chain([group.close]) {
                    bodies.push(text[start..cut].to_string());
                    start = cut + 1;
                }
                bodies
            }
        };
        if bodies.len() + todo.len() + done.len() > LIMIT {
            return Err(format!("more than {LIMIT} alternatives"));
        }
        todo.extend(bodies.iter().rev().map(|body| format!("{head}{body}{tail}")));
    }
    Ok(done)
}

/// Returns the pattern with braces that enclose no alternatives as classes, so that they are literal: `{a}` as in a shell,
/// but not `{a,b}` and `{1..3}`. An unclosed `{` stays one.
#[must_use]
pub fn literal_braces(pattern: &str) -> Cow<'_, str> {
    as_classes(pattern, lone_characters(pattern).braces)
}

/// Returns an item of a list as a glob: as [`literal_braces`] does, and what is not closed (`{a`, `[a`) is literal too.
pub(super) fn item(text: &str) -> Cow<'_, str> {
    let LoneCharacters { mut braces, unclosed } = lone_characters(text);
    braces.extend(unclosed);
    as_classes(text, braces)
}

/// The positions of special characters that have no partner.
struct LoneCharacters {
    /// The braces of pairs without alternatives.
    braces: Vec<usize>,
    /// The braces and brackets that are not closed.
    unclosed: Vec<usize>,
}

fn lone_characters(pattern: &str) -> LoneCharacters {
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut lone = LoneCharacters { braces: Vec::new(), unclosed: Vec::new() };
    scan(pattern, |byte, at| {
        match byte {
            b'[' => lone.unclosed.push(at),
            b'{' => open.push((at, false)),
            b',' => open.iter_mut().last().into_iter().for_each(|(_, has_comma)| *has_comma = true),
            b'}' => {
                if let Some((start, has_comma)) = open.pop()
                    && !has_comma
                    && range(&pattern[start + 1..at]).is_none()
                {
                    lone.braces.extend([start, at]);
                }
            }
            _ => {}
        }
        true
    });
    lone.unclosed.extend(open.into_iter().map(|(start, _)| start));
    lone
}

/// Returns the pattern with the characters at these positions as classes.
fn as_classes(pattern: &str, mut positions: Vec<usize>) -> Cow<'_, str> {
    if positions.is_empty() {
        return Cow::Borrowed(pattern);
    }
    positions.sort_unstable();
    let mut text = String::with_capacity(pattern.len() + 2 * positions.len());
    let mut from = 0;
    for at in positions {
        text.push_str(&pattern[from..at]);
        text.push('[');
        text.push_str(&pattern[at..=at]);
        text.push(']');
        from = at + 1;
    }
    text.push_str(&pattern[from..]);
    Cow::Owned(text)
}

struct Group {
    open: usize,
    close: usize,
    commas: Vec<usize>,
}

fn first_group(text: &str) -> Option<Group> {
    let mut group: Option<Group> = None;
    let mut depth = 0_usize;
    scan(text, |byte, at| {
        match (&mut group, byte) {
            (None, b'{') => group = Some(Group { open: at, close: text.len(), commas: Vec::new() }),
            (None, _) => {}
            (Some(_), b'{') => depth += 1,
            (Some(found), b'}') if depth == 0 => {
                found.close = at;
                return false;
            }
            (Some(_), b'}') => depth -= 1,
            (Some(found), b',') if depth == 0 => found.commas.push(at),
            _ => {}
        }
        true
    });
    group
}

/// Returns the members of `1..3`, `01..10..2` or `a..e`; `None` if the text is not a range.
fn range(body: &str) -> Option<Result<Vec<String>, String>> {
    let parts: Vec<&str> = body.split("..").collect();
    let (from, to, step) = match parts.as_slice() {
        [from, to] => (*from, *to, 1),
        [from, to, step] => (*from, *to, step.parse::<i64>().ok()?.unsigned_abs().max(1)),
        _ => return None,
    };
    let letter = |text: &str| match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    };
    let (low, high, letters) = match (letter(from), letter(to)) {
        (Some(low), Some(high)) => (low, high, true),
        _ => (from.parse::<i64>().ok()?, to.parse::<i64>().ok()?, false),
    };
    let count = low.abs_diff(high) / step;
    if count >= LIMIT as u64 {
        return Some(Err(format!("more than {LIMIT} alternatives")));
    }
    let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.trim_start_matches('-').len() > 1;
    let width = if padded(from) || padded(to) { from.len().max(to.len()) } else { 0 };
    let member = |index: u64| {
        let offset = i64::try_from(index * step).unwrap_or(0);
        let value = if low <= high { low + offset } else { low - offset };
        if letters {
            u8::try_from(value).map(|byte| char::from(byte).to_string()).unwrap_or_default()
        } else {
            format!("{value:0width$}")
        }
    };
    Some(Ok((0..=count).map(member).collect()))
}
