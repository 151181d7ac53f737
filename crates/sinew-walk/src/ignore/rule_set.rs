//! Selects the rules of a file that are tried on a path.
//!
//! A rule is tried only if the path has a text that the rule contains: the last name, its extension, the whole path, a
//! run of letters, or the first or last byte of the name. All runs are searched at once, so that the time hardly depends
//! on the number of rules.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::rules::{Rule, Subject};
use crate::pattern::{Form, Piece, Segment};

/// Rules up to this number are tried one by one, because that is faster than a search.
const FEW: usize = 16;
/// A rule whose first or last byte can be one of more than this number is not found by it.
const MOST_BYTES: usize = 64;

/// The indices of rules, ascending.
type Indices = Vec<u32>;

/// The rules by what a path must have. Each rule is in one of the tables.
#[derive(Debug, Default)]
pub(super) struct RuleSet {
    by_path: HashMap<Box<[u8]>, Indices>,
    by_name: HashMap<Box<[u8]>, Indices>,
    by_extension: HashMap<Box<[u8]>, Indices>,
    in_name: Option<Runs>,
    in_path: Option<Runs>,
    by_first: ByByte,
    by_last: ByByte,
    rest: Indices,
}

/// The rules by a byte; empty without rules.
type ByByte = Vec<Indices>;

/// Runs of letters, and the rules that contain each.
#[derive(Debug)]
struct Runs {
    search: AhoCorasick,
    rules: Vec<Indices>,
}

impl RuleSet {
    pub(super) fn new(rules: &[Rule]) -> RuleSet {
        let mut set = RuleSet::default();
        for (index, rule) in (0..).zip(rules) {
            set.list_of(rule).push(index);
        }
        let mut many = Indices::new();
        for table in [&mut set.by_name, &mut set.by_extension] {
            table.retain(|_, list| list.len() <= FEW || !take(&mut many, list));
        }
        if set.rest.len() > FEW {
            take(&mut many, &mut set.rest);
        }
        many.sort_unstable();
        set.search(rules, many);
        set
    }

    /// Returns the list for a rule before the number of rules is known.
    fn list_of(&mut self, rule: &Rule) -> &mut Indices {
        if let Some(path) = whole_path(rule) {
            return self.by_path.entry(path).or_default();
        }
        match last_segment(rule).map(|name| &name.form) {
            Some(Form::Literal(text)) => self.by_name.entry(text.clone()).or_default(),
            Some(Form::Suffix(text)) => match extension(text) {
                Some(key) => self.by_extension.entry(key.into()).or_default(),
                None => &mut self.rest,
            },
            _ => &mut self.rest,
        }
    }

    /// Finds these rules (in ascending order) by the run that the fewest of them share; of equally rare ones, by the
    /// longest. A rule without a rare run is found by the first or last byte of the name.
    fn search(&mut self, rules: &[Rule], indices: Indices) {
        let runs: Vec<_> = indices.iter().map(|index| runs_of(&rules[*index as usize])).collect();
        let mut uses: HashMap<(bool, &[u8]), usize> = HashMap::new();
        for run in runs.iter().flatten() {
            *uses.entry((run.0, &run.1)).or_default() += 1;
        }
        let mut chosen: [HashMap<Vec<u8>, Indices>; 2] = Default::default();
        for (index, runs) in indices.iter().zip(&runs) {
            let rarest =
                runs.iter().min_by_key(|run| (uses[&(run.0, &run.1[..])], std::cmp::Reverse(run.1.len()), !run.0));
            let is_rare = rarest.is_some_and(|run| uses[&(run.0, &run.1[..])] <= FEW);
            if !is_rare && self.find_by_byte(&rules[*index as usize], *index) {
                continue;
            }
            match rarest {
                Some((in_name, run)) => chosen[usize::from(*in_name)].entry(run.clone()).or_default().push(*index),
                None => self.rest.push(*index),
            }
        }
        let [in_path, in_name] = chosen.map(|runs| Runs::new(runs, &mut self.rest));
        (self.in_path, self.in_name) = (in_path, in_name);
        self.rest.sort_unstable();
    }

    /// Adds a rule by the first or last byte of the name, whichever has fewer choices. Returns false if both have many.
    fn find_by_byte(&mut self, rule: &Rule, index: u32) -> bool {
        let edges = |name: &Segment| [false, true].map(|last| (last, name.edge(last)));
        let edges = last_segment(rule).map(edges).into_iter().flatten();
        let edges = edges.filter_map(|(last, bytes)| Some((last, bytes?)));
        let Some((last, bytes)) =
            edges.min_by_key(|(_, bytes)| bytes.len()).filter(|(_, bytes)| bytes.len() <= MOST_BYTES)
        else {
            return false;
        };
        let lists = if last { &mut self.by_last } else { &mut self.by_first };
        lists.resize(usize::from(u8::MAX) + 1, Indices::new());
        for byte in bytes {
            lists[usize::from(byte)].push(index);
        }
        true
    }

    /// Calls `each` with the lists of rules to try on a path.
    pub(super) fn candidates(&self, path: &[u8], name: &[u8], mut each: impl FnMut(&[u32])) {
        for (table, key) in
            [(&self.by_path, Some(path)), (&self.by_name, Some(name)), (&self.by_extension, extension(name))]
        {
            if !table.is_empty()
                && let Some(list) = key.and_then(|key| table.get(key))
            {
                each(list);
            }
        }
        each(&self.rest);
        for (lists, byte) in [(&self.by_first, name.first()), (&self.by_last, name.last())] {
            if let Some(list) = byte.and_then(|byte| lists.get(usize::from(*byte))) {
                each(list);
            }
        }
        for (runs, text) in [(&self.in_name, name), (&self.in_path, path)] {
            let Some(runs) = runs else { continue };
            for run in runs.search.find_overlapping_iter(text) {
                each(&runs.rules[run.pattern().as_usize()]);
            }
        }
    }
}

impl Runs {
    /// Compiles the search; `None` without runs. If there are more than it can hold, the rules go to `rest`.
    fn new(runs: HashMap<Vec<u8>, Indices>, rest: &mut Indices) -> Option<Runs> {
        if runs.is_empty() {
            return None;
        }
        let (texts, rules): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        // Small, and fast to build: most files are used for a few hundred paths.
        let search = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).prefilter(false).build(texts);
        match search {
            Ok(search) => Some(Runs { search, rules }),
            Err(_) => {
                rest.extend(rules.into_iter().flatten());
                None
            }
        }
    }
}

/// Moves all rules of a list; returns true.
fn take(many: &mut Indices, list: &mut Indices) -> bool {
    many.append(list);
    true
}

/// Returns the text of a rule that matches one path only.
fn whole_path(rule: &Rule) -> Option<Box<[u8]>> {
    let Subject::Path(pieces) = &rule.subject else { return None };
    let names: Option<Vec<&[u8]>> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Segment(segment) => match &segment.form {
                Form::Literal(name) => Some(&name[..]),
                _ => None,
            },
            Piece::Deep => None,
        })
        .collect();
    Some(names?.join(&b'/').into())
}

/// Returns the last level of a rule, which the last component of a path has to match.
fn last_segment(rule: &Rule) -> Option<&Segment> {
    match &rule.subject {
        Subject::Name(name) => Some(name),
        Subject::Path(pieces) => match pieces.last() {
            Some(Piece::Segment(name)) => Some(name),
            _ => None,
        },
    }
}

/// Returns the runs of letters that a matching path has, each with true if its last name has it.
fn runs_of(rule: &Rule) -> Vec<(bool, Vec<u8>)> {
    let above: &[Piece] = match &rule.subject {
        Subject::Name(_) => &[],
        Subject::Path(pieces) => pieces.split_last().map_or(&[], |(_, above)| above),
    };
    let above = above.iter().filter_map(|piece| match piece {
        Piece::Segment(segment) => Some((false, segment)),
        Piece::Deep => None,
    });
    let levels = above.chain(last_segment(rule).map(|name| (true, name)));
    levels.flat_map(|(is_last, segment)| segment.runs().into_iter().map(move |run| (is_last, run))).collect()
}

fn extension(name: &[u8]) -> Option<&[u8]> {
    memchr::memrchr(b'.', name).map(|dot| &name[dot..])
}
