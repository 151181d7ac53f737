//! Patterns of path components, shared by ignore rules and globs.
//!
//! Matching never backtracks beyond the last star of its level. That is enough because everything between two stars has
//! a fixed length. The time is at most pattern length times text length, per level.

mod extended;

use std::ops::RangeInclusive;

/// The rules that differ between git and globs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// git's rules: patterns match bytes, and an invalid pattern matches nothing.
    Git,
    /// The rules of callers' globs: patterns match characters, and a trailing backslash is literal.
    Glob,
}

/// The reason why a pattern is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternError {
    UnclosedClass,
    UnknownClass,
    TrailingEscape,
    SlashInGroup,
    DeepGroup,
}

impl PatternError {
    pub(crate) fn text(self) -> &'static str {
        match self {
            PatternError::UnclosedClass => "unclosed character class; write `\\[` to match a bracket",
            PatternError::UnknownClass => {
                "unknown class name; use [:alpha:], [:digit:], [:alnum:], [:upper:], [:lower:], …"
            }
            PatternError::TrailingEscape => "nothing follows the backslash at the end",
            PatternError::SlashInGroup => "a group such as `@(a|b)` cannot contain `/`; write `{a/b,c}` for paths",
            PatternError::DeepGroup => "groups such as `@(a|b)` are nested more than 16 levels deep",
        }
    }
}

/// One level of a path pattern.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// `**`: any number of levels. Never the last piece: `a/**` is parsed as `a`, any number of levels, any name.
    Deep,
    Segment(Segment),
}

/// The pattern of one path component.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) form: Form,
    unicode: bool,
    names_dot: bool,
}

/// Common shapes have their own variants, because they need a single comparison.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    Any,
    Literal(Box<[u8]>),
    Suffix(Box<[u8]>),
    Prefix(Box<[u8]>),
    Tokens(Box<[Token]>),
}

#[derive(Debug, Clone)]
pub(crate) enum Token {
    Byte(u8),
    One,
    Star,
    Class(Box<Class>),
    Group(Box<extended::Group>),
}

#[derive(Debug, Clone)]
pub(crate) struct Class {
    negated: bool,
    ranges: Vec<RangeInclusive<u32>>,
}

/// Parses the levels of a pattern. Empty levels (`a//b`) are dropped in the glob dialect and match nothing in git's.
pub(crate) fn parse(pattern: &[u8], dialect: Dialect) -> Result<Vec<Piece>, PatternError> {
    let mut pieces = Vec::new();
    let mut tokens = Vec::new();
    // Only the raw text of a level distinguishes `**` from `a**b`, whose stars are ordinary ones.
    let (mut at, mut start) = (0, 0);
    let mut brackets = true;
    loop {
        let separator = separator(&pattern[at..], dialect);
        if at == pattern.len() || separator > 0 {
            let raw = &pattern[start..at];
            if raw.len() >= 2 && raw.iter().all(|byte| *byte == b'*') {
                tokens.clear();
                if !matches!(pieces.last(), Some(Piece::Deep)) {
                    pieces.push(Piece::Deep);
                }
            } else if !tokens.is_empty() || dialect == Dialect::Git {
                pieces.push(Piece::Segment(Segment::new(std::mem::take(&mut tokens), dialect)));
            }
            if at == pattern.len() {
                break;
            }
            at += separator;
            start = at;
            continue;
        }
        if dialect == Dialect::Glob
            && let Some((group, next)) = extended::group(pattern, at, 0)?
        {
            tokens.push(Token::Group(Box::new(group)));
            at = next;
            continue;
        }
        at = token(pattern, at, dialect, &mut brackets, &mut tokens)?;
    }
    if matches!(pieces.last(), Some(Piece::Deep)) {
        pieces.push(Piece::Segment(Segment::new(vec![Token::Star], dialect)));
    }
    Ok(pieces)
}

/// Returns the length of the separator at the start of the text, or 0. In globs `[/]` is a separator too, as in
/// ripgrep.
fn separator(text: &[u8], dialect: Dialect) -> usize {
    match text {
        [b'/', ..] => 1,
        [b'\\', b'/', ..] => 2,
        [b'[', b'/', b']', ..] if dialect == Dialect::Glob => 3,
        _ => 0,
    }
}

/// Reads the token at `at` and returns it with the position of the next one. `brackets` is decreased at the first
/// unclosed bracket: no later one can be closed either, and each would be searched to the end.
fn token(
    pattern: &[u8],
    at: usize,
    dialect: Dialect,
    brackets: &mut bool,
    tokens: &mut Vec<Token>,
) -> Result<usize, PatternError> {
    match pattern[at] {
        b'\\' => match pattern.get(at + 1) {
            Some(byte) => {
                tokens.push(Token::Byte(*byte));
                return Ok(at + 2);
            }
            None if dialect == Dialect::Git => return Err(PatternError::TrailingEscape),
            None => tokens.push(Token::Byte(b'\\')),
        },
        b'*' => {
            if !matches!(tokens.last(), Some(Token::Star)) {
                tokens.push(Token::Star);
            }
        }
        b'?' => tokens.push(Token::One),
        b'[' if *brackets => {
            match class(pattern, at + 1, dialect) {
                Ok((class, next)) => {
                    tokens.push(Token::Class(Box::new(class)));
                    return Ok(next);
                }
                // In an ignore file ripgrep treats an unclosed bracket as a literal, which is what the author meant;
                // git drops the line.
                Err(PatternError::UnclosedClass) if dialect == Dialect::Git => {
                    *brackets = false;
                    tokens.push(Token::Byte(b'['));
                }
                Err(error) => return Err(error),
            }
        }
        byte => tokens.push(Token::Byte(byte)),
    }
    Ok(at + 1)
}

/// Reads a class after its `[`.
fn class(pattern: &[u8], mut at: usize, dialect: Dialect) -> Result<(Class, usize), PatternError> {
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    at += usize::from(negated);
    let mut ranges = Vec::new();
    // A range needs a single character before its `-`; after a range or a named class, the `-` is literal.
    let mut before: Option<u32> = None;
    let first = at;
    loop {
        let byte = *pattern.get(at).ok_or(PatternError::UnclosedClass)?;
        if byte == b']' && at > first {
            return Ok((Class { negated, ranges }, at + 1));
        }
        if byte == b'[' && pattern.get(at + 1) == Some(&b':') {
            let close = at + 2 + memchr::memchr(b']', &pattern[at + 2..]).ok_or(PatternError::UnclosedClass)?;
            if pattern[close - 1] == b':' && close > at + 2 {
                named(&pattern[at + 2..close - 1], &mut ranges)?;
                before = None;
                at = close + 1;
                continue;
            }
            // `[:` without `:]` is two literal characters.
        }
        let next_is_end = matches!(pattern.get(at + 1), None | Some(b']'));
        if byte == b'-'
            && !next_is_end
            && let Some(low) = before.take()
        {
            let (high, next) = character(pattern, at + 1, dialect)?;
            // A reversed range contains only its first character, as in git.
            ranges.push(low..=high);
            at = next;
            continue;
        }
        let (one, next) = character(pattern, at, dialect)?;
        ranges.push(one..=one);
        before = Some(one);
        at = next;
    }
}

fn character(pattern: &[u8], mut at: usize, dialect: Dialect) -> Result<(u32, usize), PatternError> {
    if pattern.get(at) == Some(&b'\\') {
        at += 1;
    }
    let rest = pattern.get(at..).filter(|rest| !rest.is_empty()).ok_or(PatternError::UnclosedClass)?;
    let (one, length) = if dialect == Dialect::Git { (u32::from(rest[0]), 1) } else { decode(rest) };
    Ok((one, at + length))
}

fn named(name: &[u8], ranges: &mut Vec<RangeInclusive<u32>>) -> Result<(), PatternError> {
    let spans: &[(u8, u8)] = match name {
        b"alpha" => &[(b'a', b'z'), (b'A', b'Z')],
        b"digit" => &[(b'0', b'9')],
        b"alnum" => &[(b'a', b'z'), (b'A', b'Z'), (b'0', b'9')],
        b"upper" => &[(b'A', b'Z')],
        b"lower" => &[(b'a', b'z')],
        b"space" => &[(b' ', b' '), (b'\t', b'\r')],
        b"blank" => &[(b' ', b' '), (b'\t', b'\t')],
        b"punct" => &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
        b"xdigit" => &[(b'0', b'9'), (b'a', b'f'), (b'A', b'F')],
        b"cntrl" => &[(0, 31), (127, 127)],
        b"graph" => &[(33, 126)],
        b"print" => &[(32, 126)],
        _ => return Err(PatternError::UnknownClass),
    };
    ranges.extend(spans.iter().map(|(low, high)| u32::from(*low)..=u32::from(*high)));
    Ok(())
}

/// Returns the first character and its length in bytes. A byte that is not the start of a UTF-8 character counts as one
/// character outside all code points.
fn decode(text: &[u8]) -> (u32, usize) {
    let first = text[0];
    let length = match first {
        0..0x80 => return (u32::from(first), 1),
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0..0xF5 => 4,
        _ => 1,
    };
    let character = text.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(|s| s.chars().next());
    character.map_or((0x11_0000 + u32::from(first), 1), |c| (u32::from(c), length))
}

impl Segment {
    fn new(tokens: Vec<Token>, dialect: Dialect) -> Segment {
        let names_dot = extended::names_dot(&tokens);
        let literal = |tokens: &[Token]| -> Option<Box<[u8]>> {
            tokens.iter().map(|token| if let Token::Byte(byte) = token { Some(*byte) } else { None }).collect()
        };
        let form = match tokens.as_slice() {
            [Token::Star] => Form::Any,
            [Token::Star, rest @ ..] if literal(rest).is_some() => Form::Suffix(literal(rest).unwrap_or_default()),
            [rest @ .., Token::Star] if literal(rest).is_some() => Form::Prefix(literal(rest).unwrap_or_default()),
            all => match literal(all) {
                Some(name) => Form::Literal(name),
                None => Form::Tokens(tokens.into_boxed_slice()),
            },
        };
        Segment { form, unicode: dialect == Dialect::Glob, names_dot }
    }

    /// Creates the pattern that matches every name.
    pub(crate) fn any() -> Segment {
        Segment { form: Form::Any, unicode: true, names_dot: false }
    }

    /// Creates the pattern that only matches this name.
    pub(crate) fn literal(name: &[u8]) -> Segment {
        Segment { form: Form::Literal(name.into()), unicode: true, names_dot: name.first() == Some(&b'.') }
    }

    /// Returns the runs of bytes that every matching name has.
    pub(crate) fn runs(&self) -> Vec<Vec<u8>> {
        match &self.form {
            Form::Any => Vec::new(),
            Form::Literal(text) | Form::Suffix(text) | Form::Prefix(text) => vec![text.to_vec()],
            Form::Tokens(tokens) => {
                let bytes = |run: &[Token]| {
                    run.iter()
                        .filter_map(|token| if let Token::Byte(byte) = token { Some(*byte) } else { None })
                        .collect()
                };
                let runs = tokens.split(|token| !matches!(token, Token::Byte(_)));
                runs.filter(|run| !run.is_empty()).map(bytes).collect()
            }
        }
    }

    /// Returns the bytes with which a matching name can begin, or end if `last` is true; `None` if it can be any.
    pub(crate) fn edge(&self, last: bool) -> Option<Vec<u8>> {
        let byte = |text: &[u8]| if last { text.last() } else { text.first() }.map(|byte| vec![*byte]);
        match &self.form {
            Form::Any => None,
            Form::Literal(text) => byte(text),
            Form::Suffix(text) => {
                if last {
                    byte(text)
                } else {
                    None
                }
            }
            Form::Prefix(text) => {
                if last {
                    None
                } else {
                    byte(text)
                }
            }
            Form::Tokens(tokens) => match if last { tokens.last() } else { tokens.first() }? {
                Token::Byte(byte) => Some(vec![*byte]),
                Token::Class(class) if !self.unicode => {
                    let matches = |byte: &u8| class.ranges.iter().any(|r| r.contains(&u32::from(*byte)));
                    Some((0..=u8::MAX).filter(|byte| matches(byte) != class.negated).collect())
                }
                _ => None,
            },
        }
    }

    /// Returns true if the pattern itself begins with a dot.
    pub(crate) fn names_dot(&self) -> bool {
        self.names_dot
    }

    /// Returns true if `name` matches. Without `dot`, a leading dot of the name only matches a dot in the pattern.
    #[inline]
    pub(crate) fn matches(&self, name: &[u8], dot: bool) -> bool {
        if !dot && !self.names_dot && name.first() == Some(&b'.') {
            return false;
        }
        match &self.form {
            Form::Any => true,
            Form::Literal(text) => name == &text[..],
            Form::Suffix(text) => name.ends_with(text),
            Form::Prefix(text) => name.starts_with(text),
            Form::Tokens(tokens) => self.matches_tokens(tokens, name),
        }
    }

    fn matches_tokens(&self, tokens: &[Token], name: &[u8]) -> bool {
        if tokens.iter().any(|token| matches!(token, Token::Group(_))) {
            return extended::matches(self, tokens, name);
        }
        let (mut token, mut at) = (0, 0);
        let mut back: Option<(usize, usize)> = None;
        loop {
            let step = match tokens.get(token) {
                None if at == name.len() => return true,
                None => None,
                Some(Token::Star) => {
                    token += 1;
                    back = Some((token, at));
                    continue;
                }
                Some(one) => self.one(one, &name[at..]),
            };
            if let Some(length) = step {
                token += 1;
                at += length;
                continue;
            }
            // The last star consumes one more character.
            let Some((resume, from)) = back else { return false };
            if from >= name.len() {
                return false;
            }
            let next = from + if self.unicode { decode(&name[from..]).1 } else { 1 };
            back = Some((resume, next));
            (token, at) = (resume, next);
        }
    }

    /// Returns the number of bytes at the start of `rest` that the token matches; `None` if it does not match.
    #[inline]
    fn one(&self, token: &Token, rest: &[u8]) -> Option<usize> {
        let first = *rest.first()?;
        if let Token::Byte(byte) = token {
            return (*byte == first).then_some(1);
        }
        let (character, length) = if self.unicode { decode(rest) } else { (u32::from(first), 1) };
        match token {
            Token::Class(class) => {
                (class.ranges.iter().any(|r| r.contains(&character)) != class.negated).then_some(length)
            }
            _ => Some(length),
        }
    }
}

/// Returns true if the whole of `path` matches. Without `dot`, wildcards and `**` do not match names that begin with a
/// dot.
#[inline]
pub(crate) fn matches_path(pieces: &[Piece], path: &[u8], dot: bool) -> bool {
    if let [Piece::Deep, Piece::Segment(name)] = pieces {
        if !dot && memchr::memrchr(b'/', path).is_some_and(|cut| has_dot_name(&path[..cut])) {
            return false;
        }
        // A pattern for any name, or a suffix without `/`, does not need the start of the last component.
        return match &name.form {
            Form::Any if dot => true,
            Form::Suffix(text) if dot => path.ends_with(text),
            _ => name.matches(memchr::memrchr(b'/', path).map_or(path, |cut| &path[cut + 1..]), dot),
        };
    }
    // Comparing the last component first rejects most paths; the last piece always matches exactly one name.
    if let Some(Piece::Segment(last)) = pieces.last()
        && !last.matches(memchr::memrchr(b'/', path).map_or(path, |cut| &path[cut + 1..]), dot)
    {
        return false;
    }
    let end_of = |start: usize| memchr::memchr(b'/', &path[start..]).map_or(path.len(), |at| start + at);
    // `at` beyond the path means that no level is left.
    let (mut piece, mut at) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    loop {
        match pieces.get(piece) {
            None if at > path.len() => return true,
            Some(Piece::Deep) => {
                piece += 1;
                back = Some((piece, at));
                continue;
            }
            Some(Piece::Segment(segment)) if at <= path.len() => {
                let end = end_of(at);
                if segment.matches(&path[at..end], dot) {
                    piece += 1;
                    at = end + 1;
                    continue;
                }
            }
            _ => {}
        }
        let Some((resume, from)) = back else { return false };
        if from > path.len() || (!dot && path[from..].first() == Some(&b'.')) {
            return false;
        }
        let next = end_of(from) + 1;
        back = Some((resume, next));
        (piece, at) = (resume, next);
    }
}

fn has_dot_name(folder: &[u8]) -> bool {
    folder.first() == Some(&b'.') || memchr::memmem::find(folder, b"/.").is_some()
}
