//! Groups in the pattern of a name: `@(a|b)`, `?(a|b)`, `*(a|b)`, `+(a|b)`, `!(a|b)`.
//!
//! A match is computed with sets of positions: which positions are reachable after each token, and from which ones. The
//! positions that a group reaches from a start are computed once per name, so the time is at most the pattern's length
//! times the square of the name's length.

use std::collections::HashMap;

use super::{Dialect, PatternError, Segment, Token, decode, separator, token};

/// The maximum nesting depth of groups.
const DEPTH: usize = 16;

/// How often one of the alternatives must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Once,
    Optional,
    Any,
    Some,
    Not,
}

/// Alternatives within a name.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    mark: Mark,
    alternatives: Vec<Box<[Token]>>,
}

fn mark(byte: u8) -> Option<Mark> {
    Some(match byte {
        b'@' => Mark::Once,
        b'?' => Mark::Optional,
        b'*' => Mark::Any,
        b'+' => Mark::Some,
        b'!' => Mark::Not,
        _ => return None,
    })
}

/// Parses the group that begins at `at` and returns it with the position of the next token; `None` if no group begins
/// there. An unclosed group is literal text.
pub(super) fn group(pattern: &[u8], at: usize, depth: usize) -> Result<Option<(Group, usize)>, PatternError> {
    let Some(mark) = mark(pattern[at]).filter(|_| pattern.get(at + 1) == Some(&b'(')) else { return Ok(None) };
    if depth == DEPTH {
        return Err(PatternError::DeepGroup);
    }
    let mut at = at + 2;
    let (mut alternatives, mut tokens) = (Vec::new(), Vec::new());
    let (mut brackets, mut slash) = (true, false);
    while let Some(&byte) = pattern.get(at) {
        match byte {
            b'|' | b')' => {
                alternatives.push(std::mem::take(&mut tokens).into_boxed_slice());
                at += 1;
                if byte == b')' {
                    return if slash {
                        Err(PatternError::SlashInGroup)
                    } else {
                        Ok(Some((Group { mark, alternatives }, at)))
                    };
                }
            }
            _ if separator(&pattern[at..], Dialect::Glob) > 0 => {
                slash = true;
                at += separator(&pattern[at..], Dialect::Glob);
            }
            _ => match group(pattern, at, depth + 1)? {
                Some((inner, next)) => {
                    tokens.push(Token::Group(Box::new(inner)));
                    at = next;
                }
                None => at = token(pattern, at, Dialect::Glob, &mut brackets, &mut tokens)?,
            },
        }
    }
    Ok(None)
}

/// Returns true if a name of these tokens can begin with a dot that the pattern contains.
pub(super) fn names_dot(tokens: &[Token]) -> bool {
    match tokens.first() {
        Some(Token::Byte(byte)) => *byte == b'.',
        Some(Token::Group(group)) if group.mark != Mark::Not => group.alternatives.iter().any(|one| names_dot(one)),
        _ => false,
    }
}

/// A set of positions in a name.
type Positions = Vec<bool>;

struct Search<'a> {
    segment: &'a Segment,
    name: &'a [u8],
    /// The positions where characters begin, and the end.
    borders: Positions,
    /// The positions that the alternatives of a group reach from a start.
    reached: HashMap<(*const Group, usize), Positions>,
}

/// Returns true if the tokens match the whole of `name`.
pub(super) fn matches(segment: &Segment, tokens: &[Token], name: &[u8]) -> bool {
    let mut borders = vec![false; name.len() + 1];
    let mut at = 0;
    while at < name.len() {
        borders[at] = true;
        at += if segment.unicode { decode(&name[at..]).1 } else { 1 };
    }
    borders[name.len()] = true;
    let mut search = Search { segment, name, borders, reached: HashMap::new() };
    search.run(tokens, search.only(0))[name.len()]
}

impl Search<'_> {
    fn only(&self, at: usize) -> Positions {
        let mut positions = vec![false; self.name.len() + 1];
        positions[at] = true;
        positions
    }

    /// Returns the positions after `tokens`, starting from the positions in `from`.
    fn run(&mut self, tokens: &[Token], mut from: Positions) -> Positions {
        for token in tokens {
            let mut next = vec![false; from.len()];
            for at in (0..from.len()).filter(|at| from[*at]) {
                match token {
                    Token::Star => {
                        next[at] = true;
                        for (reached, border) in next[at..].iter_mut().zip(&self.borders[at..]) {
                            *reached |= border;
                        }
                        // The positions that later starts reach are already included.
                        break;
                    }
                    Token::Group(group) => {
                        for (reached, is_end) in next.iter_mut().zip(self.after_group(group, at)) {
                            *reached |= is_end;
                        }
                    }
                    one => {
                        if let Some(length) = self.segment.one(one, &self.name[at..]) {
                            next[at + length] = true;
                        }
                    }
                }
            }
            from = next;
        }
        from
    }

    /// Returns the positions after a group that begins at `at`.
    fn after_group(&mut self, group: &Group, at: usize) -> Positions {
        let mut positions = match group.mark {
            Mark::Once | Mark::Optional => self.once(group, at),
            Mark::Not => {
                let taken = self.once(group, at);
                let free = |index: usize| index >= at && self.borders[index] && !taken[index];
                return (0..taken.len()).map(free).collect();
            }
            Mark::Any | Mark::Some => {
                let mut all = vec![false; self.name.len() + 1];
                let mut todo = vec![at];
                while let Some(start) = todo.pop() {
                    let ends = self.once(group, start);
                    for end in (0..ends.len()).filter(|end| ends[*end]) {
                        if !std::mem::replace(&mut all[end], true) {
                            todo.push(end);
                        }
                    }
                }
                all
            }
        };
        if matches!(group.mark, Mark::Optional | Mark::Any) {
            positions[at] = true;
        }
        positions
    }

    /// Returns the positions after one of the alternatives.
    fn once(&mut self, group: &Group, at: usize) -> Positions {
        let key = (std::ptr::from_ref(group), at);
        if let Some(known) = self.reached.get(&key) {
            return known.clone();
        }
        let mut all = vec![false; self.name.len() + 1];
        for tokens in &group.alternatives {
            for (reached, is_end) in all.iter_mut().zip(self.run(tokens, self.only(at))) {
                *reached |= is_end;
            }
        }
        self.reached.insert(key, all.clone());
        all
    }
}
