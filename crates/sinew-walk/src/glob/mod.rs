//! Globs of callers.

mod braces;
mod scope;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;

use sinew_base::{Error, Result};

pub use braces::literal_braces;
pub(crate) use scope::Level;
pub use scope::Scope;

use crate::pattern::{self, Dialect, Form, Piece};

/// The maximum length of a text or an item in bytes: parsing can take quadratic time.
const LONGEST: usize = 16 << 10;

/// Options for parsing globs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobSyntax {
    /// Match a pattern without `/` at any depth (default: true).
    pub any_depth: bool,
    /// Let wildcards match names that begin with a dot (default: true). A dot written at the start of a name in the
    /// pattern always matches.
    pub dot: bool,
}

impl Default for GlobSyntax {
    fn default() -> GlobSyntax {
        GlobSyntax { any_depth: true, dot: true }
    }
}

/// A list of globs: `*`, `?`, `**`, `[a-z]`, `[!a]`, `[[:alpha:]]`, `{a,b}`, `{1..3}`, groups within a name (`@(a|b)`,
/// `?(…)`, `*(…)`, `+(…)`, `!(…)`), `\` as escape (on Windows a separator), a leading `./` or `/` for "from the root",
/// a trailing `/` for directories only. Commas outside braces separate globs, and a leading `!` excludes the paths that
/// the glob matches.
///
/// The last matching glob decides. If all globs are negated, every path that none of them matches is included. A
/// negated glob that matches a directory also excludes everything below it.
///
/// Matching needs at most time proportional to path length times pattern length, per alternative.
#[derive(Debug, Clone)]
pub struct GlobSet {
    rules: Vec<Rule>,
    dot: bool,
    keeps_by_default: bool,
}

#[derive(Debug, Clone)]
struct Rule {
    negated: bool,
    folders_only: bool,
    alternatives: Vec<Vec<Piece>>,
}

impl GlobSet {
    /// Compiles a list of globs.
    ///
    /// # Errors
    /// Returns [`sinew_base::ErrorCode::InvalidArgument`] if a pattern is invalid (`[a`), leaves the root (`../x`) or
    /// has more than 1,024 alternatives, or if the list is longer than 16 KiB.
    pub fn new(patterns: &str, syntax: GlobSyntax) -> Result<GlobSet> {
        GlobSet::below(patterns, syntax, &[])
    }

    /// Compiles a list of globs for the directory that has one of the absolute paths `roots`: a glob that begins with
    /// one of them is relative to it. Any other absolute glob is an error, because nothing below the directory can
    /// match it. If `roots` is empty, a leading `/` means the directory.
    ///
    /// # Errors
    /// Returns the errors of [`GlobSet::new`], and an error for an absolute glob outside `roots`.
    pub fn below(patterns: &str, syntax: GlobSyntax, roots: &[String]) -> Result<GlobSet> {
        if patterns.len() > LONGEST {
            return Err(too_long(patterns));
        }
        let mut rules = Vec::new();
        let whole = if cfg!(windows) { slashed(patterns) } else { patterns.to_string() };
        for part in braces::split(&whole) {
            let (negated, body) = negation(part);
            rules.push(Rule::new(part, Body::Glob(body), negated, syntax, roots)?);
        }
        if rules.is_empty() {
            return Err(invalid(patterns, "it is empty; `*` matches every name"));
        }
        Ok(GlobSet { keeps_by_default: rules.iter().all(|rule| rule.negated), rules, dot: syntax.dot })
    }

    /// Compiles a list whose items are one glob each: commas and blanks are part of it, braces without alternatives, and
    /// braces and brackets that are not closed, are literal. An item also matches the path that it spells, whatever its
    /// special characters mean. A leading `!` excludes. `roots` is that of [`GlobSet::below`].
    ///
    /// # Errors
    /// Returns the errors of [`GlobSet::below`] for each item, with its index, and an error if an item is empty.
    pub fn of_items(items: &[String], syntax: GlobSyntax, roots: &[String]) -> Result<GlobSet> {
        let mut rules = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let rule = readable(item).and_then(|text| {
                let (negated, body) = negation(&text);
                Rule::new(&text, Body::Item(body), negated, syntax, roots)
            });
            rules.push(rule.map_err(|error| in_item("pattern", index, &error))?);
        }
        let keeps_by_default = !rules.is_empty() && rules.iter().all(|rule| rule.negated);
        Ok(GlobSet { rules, dot: syntax.dot, keeps_by_default })
    }

    /// Compiles a list of items, as [`GlobSet::of_items`] does, to the set of all paths that none of them excludes. An
    /// item excludes what a glob with a leading `!` excludes; `dir/**` excludes `dir` too.
    ///
    /// # Errors
    /// Returns the errors of [`GlobSet::of_items`].
    pub fn except(items: &[String], syntax: GlobSyntax, roots: &[String]) -> Result<GlobSet> {
        let mut rules = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let mut add = |text: &str| {
                rules.push(Rule::new(text, Body::Item(text), true, syntax, roots)?);
                Ok(())
            };
            let added = readable(item).and_then(|text| {
                add(&text)?;
                text.strip_suffix("/**").filter(|folder| !folder.is_empty()).map_or(Ok(()), add)
            });
            added.map_err(|error| in_item("ignore", index, &error))?;
        }
        Ok(GlobSet { rules, dot: syntax.dot, keeps_by_default: true })
    }

    /// Returns true if the path (relative to the root, with `/` separators) matches.
    #[must_use]
    pub fn is_match(&self, path: &[u8], is_dir: bool) -> bool {
        for rule in self.rules.iter().rev() {
            if rule.names(path, is_dir, self.dot) {
                return !rule.negated;
            }
        }
        self.keeps_by_default
    }

    /// Sets [`GlobSyntax::dot`].
    #[must_use]
    pub fn with_dot(mut self, dot: bool) -> GlobSet {
        self.dot = dot;
        self
    }

    /// Returns true if a glob matches directories only, so that the type of a link's target matters.
    #[must_use]
    pub fn asks_for_folders(&self) -> bool {
        self.rules.iter().any(|rule| rule.folders_only)
    }

    /// Returns true if a glob that is not negated has a dot at the start of a name (`.github/**`), and so needs hidden
    /// entries.
    #[must_use]
    pub fn names_dot(&self) -> bool {
        self.segments().any(|segment| segment.names_dot())
    }

    /// Returns true if a glob that is not negated has this name as one of its levels.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.segments().any(|segment| matches!(&segment.form, Form::Literal(text) if **text == *name.as_bytes()))
    }

    fn segments(&self) -> impl Iterator<Item = &pattern::Segment> {
        self.rules.iter().filter(|rule| !rule.negated).flat_map(|rule| &rule.alternatives).flatten().filter_map(
            |piece| match piece {
                Piece::Segment(segment) => Some(segment),
                Piece::Deep => None,
            },
        )
    }
}

impl Rule {
    /// Parses the body of `part`, which is the whole glob with its mark.
    fn new(part: &str, body: Body<'_>, negated: bool, syntax: GlobSyntax, roots: &[String]) -> Result<Rule> {
        let (Body::Glob(body) | Body::Item(body), is_item) = (body, matches!(body, Body::Item(_)));
        if body.is_empty() {
            return Err(invalid(part, "nothing follows the `!`; write `\\!` to match an exclamation mark"));
        }
        // Before braces are expanded, because the path of the directory may contain braces too.
        let (given, absolute) = strip_root(body, roots).map_or((body, false), |rest| (rest, true));
        let mut rule = Rule { negated, folders_only: false, alternatives: Vec::new() };
        let any_depth = syntax.any_depth || negated;
        let written = if is_item { braces::item(given) } else { Cow::Borrowed(given) };
        for text in braces::expand(&written).map_err(|why| invalid(part, why))? {
            let mut text = text.as_str();
            if !absolute && is_absolute(text) && !roots.is_empty() {
                text = strip_root(text, roots).ok_or_else(|| {
                    let root = roots.first().map_or("", String::as_str);
                    invalid(
                        part,
                        format!("it is outside of the searched folder {root:?}; search its own folder instead"),
                    )
                })?;
            }
            if let Some(drive) = bare_drive(text).filter(|_| !absolute) {
                return Err(invalid(part, format!("it has a drive but no folder: write \"{drive}/{}\"", &text[2..])));
            }
            let from_root = absolute || text.starts_with('/') || text.starts_with("./");
            while let Some(rest) = text.strip_prefix("./").or_else(|| text.strip_prefix('/')) {
                text = rest;
            }
            let trimmed = text.trim_end_matches('/');
            rule.folders_only |= trimmed.len() < text.len();
            let mut pieces =
                pattern::parse(trimmed.as_bytes(), Dialect::Glob).map_err(|error| invalid(part, error.text()))?;
            pieces.retain(|piece| !is_literal(piece, b"."));
            if matches!(pieces.last(), Some(Piece::Deep)) {
                pieces.push(Piece::Segment(pattern::Segment::any()));
            }
            if pieces.iter().any(|piece| is_literal(piece, b"..")) {
                return Err(invalid(part, "`..` leaves the searched folder; search the parent folder instead"));
            }
            if any_depth && !from_root && pieces.len() == 1 {
                pieces.insert(0, Piece::Deep);
            }
            if !pieces.is_empty() {
                rule.alternatives.push(pieces);
            }
        }
        if is_item && given.contains(['[', '{', '(', '\\']) {
            rule.alternatives.extend(spelled(given, any_depth && !absolute));
        }
        Ok(rule)
    }

    #[inline]
    fn names(&self, path: &[u8], is_dir: bool, dot: bool) -> bool {
        if !self.negated {
            return (is_dir || !self.folders_only) && self.names_one(path, dot);
        }
        // A negated glob also excludes everything below, and its wildcards match dots too.
        ((is_dir || !self.folders_only) && self.names_one(path, true))
            || memchr::memchr_iter(b'/', path).any(|cut| self.names_one(&path[..cut], true))
    }

    #[inline]
    fn names_one(&self, path: &[u8], dot: bool) -> bool {
        self.alternatives.iter().any(|pieces| pattern::matches_path(pieces, path, dot))
    }
}

/// A glob without its mark.
#[derive(Clone, Copy)]
enum Body<'a> {
    /// Part of a text.
    Glob(&'a str),
    /// An item of a list.
    Item(&'a str),
}

/// Separates the mark of a glob that excludes: returns true and the rest.
fn negation(part: &str) -> (bool, &str) {
    // `!(a|b)` is a closed group, not a negation.
    let mark = part.strip_prefix('!').filter(|rest| !(rest.starts_with('(') && rest.contains(')')));
    mark.map_or((false, part), |rest| (true, rest))
}

/// Returns an item of a list with `/` separators.
fn readable(item: &str) -> Result<Cow<'_, str>> {
    if item.is_empty() {
        return Err(invalid(item, "it is empty; `*` matches every name"));
    }
    if item.len() > LONGEST {
        return Err(too_long(item));
    }
    Ok(if cfg!(windows) { Cow::Owned(item.replace('\\', "/")) } else { Cow::Borrowed(item) })
}

/// Returns the pieces of the path that a glob spells; `None` if it is no path below the root.
fn spelled(glob: &str, any_depth: bool) -> Option<Vec<Piece>> {
    let names: Vec<&str> = glob.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    if names.is_empty() || names.contains(&"..") {
        return None;
    }
    let from_root = glob.starts_with('/') || glob.starts_with("./");
    let deep = (any_depth && !from_root && names.len() == 1).then_some(Piece::Deep);
    let names = names.into_iter().map(|name| Piece::Segment(pattern::Segment::literal(name.as_bytes())));
    Some(deep.into_iter().chain(names).collect())
}

/// Returns the error of an item with its place in the list.
fn in_item(list: &str, index: usize, error: &Error) -> Error {
    Error::invalid(format!("{list}[{index}]: {}", error.message()))
}

/// Returns a Windows pattern with `/` separators. A `\` before a comma still escapes the comma, because no path needs a
/// separator there.
fn slashed(patterns: &str) -> String {
    patterns.split("\\,").map(|part| part.replace('\\', "/")).collect::<Vec<_>>().join("\\,")
}

fn is_absolute(glob: &str) -> bool {
    glob.starts_with('/') || Path::new(glob).is_absolute()
}

/// Removes the root from the start of an absolute glob; the rest begins with `/`. `None` if the glob is not below a
/// root.
fn strip_root<'a>(glob: &'a str, roots: &[String]) -> Option<&'a str> {
    roots.iter().find_map(|root| {
        let root = root.strip_suffix('/').unwrap_or(root);
        match strip_folder(glob, root)? {
            "" => Some("/"),
            rest => rest.starts_with('/').then_some(rest),
        }
    })
}

/// Removes the directory from the start of a path or glob; on Windows the comparison ignores case. `None` if it does
/// not begin with it.
#[must_use]
pub fn strip_folder<'a>(text: &'a str, folder: &str) -> Option<&'a str> {
    let begins = |start: &str| if cfg!(windows) { start.eq_ignore_ascii_case(folder) } else { start == folder };
    text.get(..folder.len()).filter(|start| begins(start)).map(|start| &text[start.len()..])
}

/// Returns the drive of a Windows glob that begins with a drive but no directory, such as `C:x`.
fn bare_drive(glob: &str) -> Option<&str> {
    let bytes = glob.as_bytes();
    let is_drive = cfg!(windows) && bytes.first()?.is_ascii_alphabetic() && bytes.get(1) == Some(&b':');
    (is_drive && bytes.get(2) != Some(&b'/')).then(|| &glob[..2])
}

fn is_literal(piece: &Piece, name: &[u8]) -> bool {
    matches!(piece, Piece::Segment(segment) if matches!(&segment.form, Form::Literal(text) if **text == *name))
}

fn too_long(pattern: &str) -> Error {
    invalid(pattern, format!("it is longer than {} KiB", LONGEST >> 10))
}

fn invalid(pattern: &str, why: impl std::fmt::Display) -> Error {
    let shown: String = if pattern.chars().count() > 200 {
        pattern.chars().take(200).chain("…".chars()).collect()
    } else {
        pattern.to_string()
    };
    Error::invalid(format!("invalid pattern {shown:?}: {why}"))
}
