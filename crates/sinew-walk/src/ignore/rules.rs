//! One ignore file: its lines as rules, and the last rule that matches a path.

use super::rule_set::RuleSet;
use crate::pattern::{Dialect, Piece, Segment, matches_path, parse};

/// Longer lines match nothing, because no path that the system accepts is that long.
const LONGEST: usize = 4_096;

/// The verdict of an ignore file on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ignore,
    Keep,
}

/// The rules of one file.
#[derive(Debug)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
    set: RuleSet,
}

#[derive(Debug)]
pub(super) struct Rule {
    negated: bool,
    folders_only: bool,
    pub(super) subject: Subject,
}

#[derive(Debug)]
pub(super) enum Subject {
    /// The last component of the path, at any depth.
    Name(Segment),
    /// The path relative to the directory of the file.
    Path(Vec<Piece>),
}

impl Rules {
    /// Parses the text of an ignore file; `None` if it contains no rule.
    pub(crate) fn parse(text: &[u8]) -> Option<Rules> {
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let rules: Vec<Rule> = lines.filter_map(Rule::parse).collect();
        (!rules.is_empty()).then(|| Rules { set: RuleSet::new(&rules), rules })
    }

    #[cfg(test)]
    pub(super) fn set_for_tests(&self) -> &RuleSet {
        &self.set
    }

    /// Returns the verdict of the last rule that matches `path` (relative to the directory of the file); `None` if no
    /// rule matches.
    pub(crate) fn verdict(&self, path: &[u8], name: &[u8], is_dir: bool) -> Option<Verdict> {
        let mut best: Option<u32> = None;
        self.set.candidates(path, name, |list| {
            for index in list.iter().rev() {
                if best.is_some_and(|found| found >= *index) {
                    break;
                }
                if self.rules[*index as usize].names(path, name, is_dir) {
                    best = Some(*index);
                    break;
                }
            }
        });
        let rule = &self.rules[best? as usize];
        Some(if rule.negated { Verdict::Keep } else { Verdict::Ignore })
    }
}

impl Rule {
    fn parse(line: &[u8]) -> Option<Rule> {
        let line = trim_blanks(line);
        if line.is_empty() || line[0] == b'#' || line.len() > LONGEST {
            return None;
        }
        let (negated, line) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let (folders_only, body) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
        if body.is_empty() {
            return None;
        }
        let from_folder = body.contains(&b'/');
        let body = body.strip_prefix(b"/").unwrap_or(body);
        // An invalid pattern matches nothing, as in git.
        let pieces = parse(body, Dialect::Git).ok()?;
        let subject = match <[Piece; 1]>::try_from(pieces) {
            Ok([Piece::Segment(name)]) if !from_folder => Subject::Name(name),
            Ok(one) => Subject::Path(one.into()),
            Err(pieces) => Subject::Path(pieces),
        };
        Some(Rule { negated, folders_only, subject })
    }

    fn names(&self, path: &[u8], name: &[u8], is_dir: bool) -> bool {
        if self.folders_only && !is_dir {
            return false;
        }
        match &self.subject {
            Subject::Name(segment) => segment.matches(name, true),
            Subject::Path(pieces) => matches_path(pieces, path, true),
        }
    }
}

/// Returns the line without trailing blanks, except an escaped one.
fn trim_blanks(line: &[u8]) -> &[u8] {
    let mut end = None;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b' ' => {
                end.get_or_insert(at);
            }
            b'\\' => {
                at += 1;
                end = None;
            }
            _ => end = None,
        }
        at += 1;
    }
    &line[..end.unwrap_or(line.len())]
}
