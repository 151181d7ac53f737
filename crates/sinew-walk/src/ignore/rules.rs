//! One ignore file: its lines as rules, and the last rule that matches a path.

use std::collections::HashMap;

use crate::pattern::{Dialect, Form, Piece, Segment, matches_path, parse};

/// Longer lines match nothing, because no path that the system accepts is that long.
const LONGEST: usize = 4_096;

/// The verdict of an ignore file on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ignore,
    Keep,
}

/// The rules of one file. Names and extensions are looked up in tables; only the other rules are tried one by one.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
    by_name: HashMap<Box<[u8]>, Vec<u32>>,
    by_extension: HashMap<Box<[u8]>, Vec<u32>>,
    rest: Vec<u32>,
}

#[derive(Debug)]
struct Rule {
    negated: bool,
    folders_only: bool,
    subject: Subject,
}

#[derive(Debug)]
enum Subject {
    /// The last component of the path, at any depth.
    Name(Segment),
    /// The path relative to the directory of the file.
    Path(Vec<Piece>),
}

impl Rules {
    /// Parses the text of an ignore file; `None` if it contains no rule.
    pub(crate) fn parse(text: &[u8]) -> Option<Rules> {
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let mut all = Rules::default();
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(rule) = Rule::parse(line) {
                all.push(rule);
            }
        }
        (!all.rules.is_empty()).then_some(all)
    }

    fn push(&mut self, rule: Rule) {
        let index = u32::try_from(self.rules.len()).unwrap_or(u32::MAX);
        // The last component of a path has to match the last level of a pattern, whatever comes before it.
        let last = match &rule.subject {
            Subject::Name(name) => Some(name),
            Subject::Path(pieces) => match pieces.last() {
                Some(Piece::Segment(name)) => Some(name),
                _ => None,
            },
        };
        let list = match last.map(|name| &name.form) {
            Some(Form::Literal(text)) => self.by_name.entry(text.clone()).or_default(),
            Some(Form::Suffix(text)) => match extension(text) {
                Some(key) => self.by_extension.entry(key.into()).or_default(),
                None => &mut self.rest,
            },
            _ => &mut self.rest,
        };
        list.push(index);
        self.rules.push(rule);
    }

    /// Returns the verdict of the last rule that matches `path` (relative to the directory of the file); `None` if no
    /// rule matches.
    pub(crate) fn verdict(&self, path: &[u8], name: &[u8], is_dir: bool) -> Option<Verdict> {
        let mut best: Option<u32> = None;
        let mut look = |list: &[u32]| {
            for index in list.iter().rev() {
                if best.is_some_and(|found| found >= *index) {
                    break;
                }
                if self.rules[*index as usize].names(path, name, is_dir) {
                    best = Some(*index);
                    break;
                }
            }
        };
        if !self.by_name.is_empty()
            && let Some(list) = self.by_name.get(name)
        {
            look(list);
        }
        if !self.by_extension.is_empty()
            && let Some(list) = extension(name).and_then(|key| self.by_extension.get(key))
        {
            look(list);
        }
        look(&self.rest);
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

fn extension(name: &[u8]) -> Option<&[u8]> {
    memchr::memrchr(b'.', name).map(|dot| &name[dot..])
}
