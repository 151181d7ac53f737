//! Finds the lines of a text that are most similar to those of a hunk, for error messages.

use std::collections::HashMap;
use std::fmt;

use sinew_base::lossy;

/// The reason why a hunk does not match, written after "does not match".
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The first line that differs at the best position, from 1; `found` is `None` at the end of the file.
    At { line: usize, expected: Vec<u8>, found: Option<Vec<u8>> },
    /// All lines match at this line, from 1.
    Whole { line: usize },
    /// Another reason.
    Because(String),
}

impl Mismatch {
    pub(crate) fn because(reason: impl Into<String>) -> Mismatch {
        Mismatch::Because(reason.into())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::At { line, expected, found } => {
                write!(f, "; the nearest is line {line}: expected {}, found ", shown(expected))?;
                match found {
                    Some(found) => f.write_str(&shown(found)),
                    None => f.write_str("the end of the file"),
                }
            }
            Mismatch::Whole { line } => write!(f, "; its lines are at line {line}"),
            Mismatch::Because(reason) => write!(f, "; {reason}"),
        }
    }
}

/// Quotes a line, truncated after 100 characters. The line end is only shown if it is not a plain newline.
pub(crate) fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let text = lossy(line);
    match text.char_indices().nth(100) {
        Some((cut, _)) => format!("{:?}…", &text[..cut]),
        None => format!("{text:?}"),
    }
}

/// The maximum number of positions of a useful line; lines such as `}` are too frequent.
const MOST_PLACES: usize = 64;

/// The maximum number of lines that are compared by characters.
const MOST_COMPARED: usize = 100_000;

/// Finds the position near `expected` (from 0) where most lines of `pattern` match, and returns the first line that
/// differs there. If no line matches, returns the line most similar to the first one that is not blank. `None` if
/// nothing is similar.
pub(crate) fn nearest(text: &[&[u8]], pattern: &[&[u8]], expected: usize) -> Option<Mismatch> {
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, line) in text.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (step, line) in pattern.iter().enumerate() {
        let found = places.get(line).map_or(&[][..], Vec::as_slice);
        let blank = line.iter().all(u8::is_ascii_whitespace);
        if found.len() > MOST_PLACES || (blank && pattern.len() > 1) {
            continue;
        }
        for start in found.iter().filter_map(|at| at.checked_sub(step)) {
            *votes.entry(start).or_default() += 1;
        }
    }
    let best =
        votes.into_iter().max_by_key(|(start, count)| (*count, std::cmp::Reverse(start.abs_diff(expected)), *start));
    let Some((start, _)) = best else { return most_alike(text, pattern) };
    let differs = |step: &usize| text.get(start + step) != pattern.get(*step);
    Some(match (0..pattern.len()).find(differs) {
        None => Mismatch::Whole { line: start + 1 },
        Some(step) => Mismatch::At {
            line: start + step + 1,
            expected: pattern[step].to_vec(),
            found: text.get(start + step).map(|line| line.to_vec()),
        },
    })
}

fn most_alike(text: &[&[u8]], pattern: &[&[u8]]) -> Option<Mismatch> {
    let wanted = pattern.iter().find(|line| !line.trim_ascii().is_empty())?;
    let scored = text.iter().take(MOST_COMPARED).enumerate().map(|(at, line)| (likeness(line, wanted), at));
    let (score, at) = scored.max_by_key(|(score, at)| (*score, std::cmp::Reverse(*at)))?;
    (score >= 500).then(|| Mismatch::At { line: at + 1, expected: wanted.to_vec(), found: Some(text[at].to_vec()) })
}

/// Returns the proportion of two lines that is shared at their ends, ignoring surrounding white space, in thousandths.
fn likeness(one: &[u8], other: &[u8]) -> usize {
    let (one, other) = (one.trim_ascii(), other.trim_ascii());
    let same = |(one, other): &(u8, u8)| one.eq_ignore_ascii_case(other);
    let begin = one.iter().copied().zip(other.iter().copied()).take_while(same).count();
    let rest = (one[begin..].iter().rev().copied()).zip(other[begin..].iter().rev().copied());
    let shared = 2 * (begin + rest.take_while(same).count());
    if one.is_empty() || other.is_empty() { 0 } else { shared * 1000 / (one.len() + other.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_the_position_where_most_lines_match() {
        let check = |text: &[&str], pattern: &[&str], expect: Option<(usize, &str)>| {
            let text: Vec<&[u8]> = text.iter().map(|line| line.as_bytes()).collect();
            let pattern: Vec<&[u8]> = pattern.iter().map(|line| line.as_bytes()).collect();
            let found = nearest(&text, &pattern, 0).map(|miss| match miss {
                Mismatch::At { line, expected, .. } => (line, String::from_utf8(expected).unwrap()),
                Mismatch::Whole { line } => (line, String::new()),
                Mismatch::Because(reason) => panic!("{reason}"),
            });
            assert_eq!(found, expect.map(|(line, text)| (line, text.to_owned())));
        };
        check(&["a", "x", "a", "b", "x"], &["a", "b", "c"], Some((5, "c")));
        check(&["a", "b"], &["a", "b"], Some((1, "")));
        check(&["let value = 1;"], &["let value = 2;"], Some((1, "let value = 2;")));
        check(&["wholly", "other"], &["12345"], None);
        check(&[], &["x"], None);
    }
}
