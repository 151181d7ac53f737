//! Rules about files that tools have opened: by the path of the file itself, whatever the call named.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::pattern::Pattern;
use super::{Rule, Rules, paths};
use sinew_tools::PathCheck;

/// A rule for paths, its patterns made.
struct PathRule {
    text: String,
    said: usize,
    /// None: every path.
    patterns: Option<Vec<Pattern>>,
    /// The file or folder that the rule names without a pattern.
    #[cfg_attr(windows, expect(dead_code, reason = "the other names of a file are not looked for there"))]
    place: Option<PathBuf>,
}

/// Entries of a denied folder that are compared with a file of several names.
#[cfg(unix)]
const COMPARED: usize = 10_000;

/// The verdict of the rules on paths that one of `tools` opens. With `may_ask`, a rule of `ask` refuses: the user was not
/// asked about this path.
pub(super) fn check(
    rules: &Rules,
    tools: &[&str],
    may_ask: bool,
    cwd: &Path,
    home: Option<&Path>,
) -> Option<Arc<dyn PathCheck>> {
    let of_tools = |list: &[Rule]| -> Vec<PathRule> {
        let list = list.iter().filter(|rule| tools.iter().any(|tool| rule.tool.fits(tool)));
        list.map(|rule| PathRule::new(rule, cwd, home)).collect()
    };
    let deny = of_tools(&rules.deny);
    let ask = if may_ask { of_tools(&rules.ask) } else { Vec::new() };
    if deny.is_empty() && ask.is_empty() {
        return None;
    }
    let outdoing = |list: &[Rule]| if ask.is_empty() { Vec::new() } else { of_tools(list) };
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

impl PathRule {
    fn new(rule: &Rule, cwd: &Path, home: Option<&Path>) -> PathRule {
        let patterns = rule.inner.as_ref().map(|inner| paths::patterns(inner, cwd, home));
        let plain = rule.inner.as_ref().map(|inner| inner.strip_suffix("/**").unwrap_or(inner));
        let plain = plain.filter(|plain| !plain.contains(['*', '?']));
        let place = plain.and_then(|plain| sinew_tools::spelled(home, cwd, plain).into_iter().next());
        PathRule { text: rule.text.clone(), said: rule.said(), patterns, place }
    }

    fn fits(&self, path: &Path) -> bool {
        self.patterns.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.fits_path(path)))
    }

    /// Returns whether a file of several names has one of them where the rule says.
    #[cfg(unix)]
    fn holds(&self, facts: &Metadata) -> bool {
        use std::fs;
        use std::os::unix::fs::MetadataExt;
        let Some(place) = self.place.as_ref().filter(|_| facts.is_file() && facts.nlink() > 1) else { return false };
        let same = |other: &Metadata| (other.dev(), other.ino()) == (facts.dev(), facts.ino());
        let Ok(here) = fs::metadata(place) else { return false };
        if !here.is_dir() {
            return same(&here);
        }
        if here.dev() != facts.dev() {
            return false;
        }
        let mut folders = vec![place.clone()];
        let mut left = COMPARED;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Some(less) = left.checked_sub(1) else { return true };
                left = less;
                match entry.metadata() {
                    Ok(other) if other.is_dir() => folders.push(entry.path()),
                    Ok(other) if same(&other) => return true,
                    _ => {}
                }
            }
        }
        false
    }

    #[cfg(not(unix))]
    fn holds(&self, _: &Metadata) -> bool {
        false
    }
}
