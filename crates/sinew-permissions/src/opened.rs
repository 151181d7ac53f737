//! Checks what tools have opened: files by their actual path, regardless of the path in the call, and addresses that a
//! server redirects to.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::paths::Depth;
use super::pattern::Pattern;
use super::rules::{Rule, Rules};
use super::{addresses, paths};
use sinew_llm::fetch::AddressCheck;
use sinew_tools::PathCheck;

/// A path rule with its compiled patterns.
struct PathRule {
    text: String,
    said: usize,
    /// `None` matches every path.
    patterns: Option<Vec<Pattern>>,
    /// The folder or file below which all matching files are.
    root: Option<PathBuf>,
    /// Whether the rule matches everything below `root`.
    is_whole: bool,
    /// The matching files with several hard links, by device and inode; `None` if there are too many entries to scan.
    linked: OnceLock<Option<HashSet<(u64, u64)>>>,
}

/// The maximum number of entries below the root of a rule that are scanned for files with several hard links.
#[cfg(unix)]
const COMPARED: usize = 200_000;

/// Returns a check of the paths that `tool` opens. With `may_ask`, an ask rule refuses a path, because the user was not
/// asked about it. Returns `None` if no rule applies.
pub(super) fn check(
    rules: &Rules,
    tool: &str,
    may_ask: bool,
    cwd: &Path,
    home: Option<&Path>,
) -> Option<Arc<dyn PathCheck>> {
    let held = |list: &[Rule]| -> Vec<PathRule> {
        let list = list.iter().filter(|rule| rule.holds_tool(tool));
        list.map(|rule| PathRule::new(rule, cwd, home, Depth::Any)).collect()
    };
    let deny = held(&rules.deny);
    let ask = if may_ask { held(&rules.ask) } else { Vec::new() };
    if deny.is_empty() && ask.is_empty() {
        return None;
    }
    let outdoing = |list: &[Rule]| -> Vec<PathRule> {
        let list = list.iter().filter(|rule| !ask.is_empty() && rule.allows_tool(tool));
        list.map(|rule| PathRule::new(rule, cwd, home, Depth::Here)).collect()
    };
    let (allow, granted) = (outdoing(&rules.allow), outdoing(&rules.granted));
    Some(Arc::new(move |path: &Path, facts: Option<&Metadata>| {
        let fits = |rule: &&PathRule| rule.fits(path);
        if let Some(rule) = deny.iter().find(fits) {
            return Err(format!("Denied by permission rule: {}", rule.text));
        }
        if let Some(rule) = facts.and_then(|facts| deny.iter().find(|rule| rule.holds(facts))) {
            return Err(format!("Denied by permission rule: {} (the file has another name there)", rule.text));
        }
        let asked = ask.iter().filter(fits).max_by_key(|rule| rule.said);
        match asked {
            Some(_) if granted.iter().any(|other| other.fits(path)) => Ok(()),
            Some(rule) if !allow.iter().any(|other| other.said > rule.said && other.fits(path)) => {
                Err(format!("Denied by permission rule: {} (the call named another path)", rule.text))
            }
            _ => Ok(()),
        }
    }))
}

/// Returns a check of the addresses that a server redirects a call of `tool` to.
pub(super) fn address_check(rules: &Rules, tool: &str, may_ask: bool) -> Option<AddressCheck> {
    let of = |list: &[Rule]| -> Vec<(String, usize, Option<Pattern>)> {
        let list = list.iter().filter(|rule| rule.tool.fits(tool));
        list.map(|rule| (rule.text.clone(), rule.said(), rule.inner.as_deref().map(addresses::pattern))).collect()
    };
    let deny = of(&rules.deny);
    let ask = if may_ask { of(&rules.ask) } else { Vec::new() };
    if deny.is_empty() && ask.is_empty() {
        return None;
    }
    let (allow, granted) = (of(&rules.allow), of(&rules.granted));
    Some(AddressCheck::new(move |address: &str| {
        let spellings = addresses::spellings(address);
        let fits = |(_, _, pattern): &&(String, usize, Option<Pattern>)| {
            pattern.as_ref().is_none_or(|pattern| spellings.iter().any(|text| pattern.fits(text)))
        };
        let refused =
            |rule: &str| Some(format!("Denied by permission rule: {rule} (the server redirects to {address})"));
        if let Some((rule, ..)) = deny.iter().find(fits) {
            return refused(rule);
        }
        let (rule, said, _) = ask.iter().filter(fits).max_by_key(|(_, said, _)| *said)?;
        let outdone =
            granted.iter().any(|rule| fits(&rule)) || allow.iter().filter(fits).any(|(_, other, _)| other > said);
        if outdone { None } else { refused(rule) }
    }))
}

impl PathRule {
    fn new(rule: &Rule, cwd: &Path, home: Option<&Path>, depth: Depth) -> PathRule {
        let inner = rule.inner.as_deref();
        let patterns = inner.map(|inner| paths::patterns(inner, cwd, home, depth));
        let plain = inner.map(|inner| inner.strip_suffix("/**").unwrap_or(inner));
        let is_whole = plain.is_some_and(|plain| !plain.contains(['*', '?']) && !paths::is_bare(plain));
        let root = plain.and_then(|plain| {
            let text = if is_whole { plain } else { plain_beginning(plain) };
            if text.is_empty() {
                Some(cwd.to_path_buf())
            } else {
                sinew_tools::spelled(home, cwd, text).into_iter().next()
            }
        });
        let linked = OnceLock::new();
        PathRule { text: rule.text.clone(), said: rule.said(), patterns, root, is_whole, linked }
    }

    fn fits(&self, path: &Path) -> bool {
        self.patterns.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.fits_path(path)))
    }

    /// Returns whether one of the hard links of a file matches the rule.
    #[cfg(unix)]
    fn holds(&self, facts: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        let Some(root) = self.root.as_ref().filter(|_| facts.is_file() && facts.nlink() > 1) else { return false };
        let linked = self.linked.get_or_init(|| self.find_linked(root));
        linked.as_ref().is_none_or(|linked| linked.contains(&(facts.dev(), facts.ino())))
    }

    /// Finds the matching files below `root` with several hard links. `None` if there are too many entries.
    #[cfg(unix)]
    fn find_linked(&self, root: &Path) -> Option<HashSet<(u64, u64)>> {
        use std::fs;
        use std::os::unix::fs::MetadataExt;
        let mut found = HashSet::new();
        let mut note = |facts: &Metadata| {
            if facts.is_file() && facts.nlink() > 1 {
                found.insert((facts.dev(), facts.ino()));
            }
        };
        let Ok(here) = fs::metadata(root) else { return Some(found) };
        if !here.is_dir() {
            note(&here);
            return Some(found);
        }
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        let mut folders = vec![root];
        let mut left = COMPARED;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                left = left.checked_sub(1)?;
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if (self.is_whole || self.fits(&path))
                    && let Ok(facts) = entry.metadata()
                {
                    note(&facts);
                }
            }
        }
        Some(found)
    }

    #[cfg(not(unix))]
    fn holds(&self, _: &Metadata) -> bool {
        false
    }
}

/// Returns the folders of a pattern before its first wildcard.
fn plain_beginning(pattern: &str) -> &str {
    let first = pattern.find(['*', '?']).unwrap_or(pattern.len());
    pattern[..first].rfind('/').map_or("", |end| &pattern[..end.max(1)])
}
