//! Groups the files of a plan, so that a question can list all of them.

use std::ops::Range;

use sinew::checkpoint::{Action, PlanEntry};
use sinew_agent::undo::{LineCounts, UndoPlan, path_of};

/// Parts of folders with too many entries are only made if there are fewer groups.
const FEW: usize = 10;

/// Divides entries in path order into at most `most` groups: single entries, folders, and parts of a folder with too
/// many entries.
pub(super) fn groups(entries: &[&PlanEntry], most: usize) -> Vec<Range<usize>> {
    let whole = 0..entries.len();
    let mut groups = vec![whole];
    // A group that has too many parts stays whole until all others are divided.
    let is_final = |group: &Range<usize>, count: usize| count - 1 + parts(entries, group).len() > most;
    while let Some(at) = largest(&groups, |group| !is_final(group, groups.len())) {
        let parts = parts(entries, &groups[at]);
        groups.splice(at..=at, parts);
    }
    while let Some(at) = largest(&groups, |_| groups.len() < most.min(FEW)) {
        let Range { start, end } = groups[at];
        let middle = start + (end - start) / 2;
        groups.splice(at..=at, [start..middle, middle..end]);
    }
    groups
}

/// Returns the index of the largest group of several entries that meets the condition.
fn largest(groups: &[Range<usize>], mut is_divisible: impl FnMut(&Range<usize>) -> bool) -> Option<usize> {
    let candidates = groups.iter().enumerate().filter(|(_, group)| group.len() > 1 && is_divisible(group));
    candidates.max_by_key(|(_, group)| group.len()).map(|(at, _)| at)
}

/// Divides a group by the names after the folder that all entries share.
fn parts(entries: &[&PlanEntry], group: &Range<usize>) -> Vec<Range<usize>> {
    let depth = folder(entries, group).iter().filter(|byte| **byte == b'/').count();
    let name = |at: usize| entries[at].path.split(|byte| *byte == b'/').nth(depth);
    let mut parts: Vec<Range<usize>> = Vec::new();
    for at in group.clone() {
        match parts.last_mut() {
            Some(part) if name(part.start).is_some() && name(part.start) == name(at) => part.end = at + 1,
            _ => parts.push(at..at + 1),
        }
    }
    parts
}

/// Returns the innermost folder of all entries of a group, with a slash at the end; empty if it is the root.
fn folder<'a>(entries: &[&'a PlanEntry], group: &Range<usize>) -> &'a [u8] {
    // A folder precedes its entries, so the last one has a parent.
    let last = &entries[group.end - 1].path;
    let is_shared = |end: &usize| entries[group.clone()].iter().all(|entry| is_in(entry, &last[..=*end]));
    let slashes = (0..last.len()).filter(|at| last[*at] == b'/');
    slashes.rev().find(is_shared).map_or(&[][..], |end| &last[..=end])
}

/// Returns true if an entry is a folder, named with a slash at the end, or in it.
fn is_in(entry: &PlanEntry, folder: &[u8]) -> bool {
    entry.path.starts_with(folder) || folder.strip_suffix(b"/") == Some(&entry.path)
}

/// Returns the line of a group: that of its only entry, or its folder or its first and last path, and the sums.
pub(super) fn label(plan: &UndoPlan, entries: &[&PlanEntry], group: &Range<usize>) -> String {
    if group.len() == 1 {
        return plan.entry_text(entries[group.start]);
    }
    let members = &entries[group.clone()];
    let all = |action: &Action| members.iter().all(|entry| entry.action == *action);
    let verb = if all(&Action::Restore) {
        "restore"
    } else if all(&Action::Delete) {
        "delete"
    } else {
        "change"
    };
    let shown = |path: &[u8]| path_of(path).display().to_string().replace(char::is_control, "\u{fffd}");
    let folder = folder(entries, group);
    let is_whole = entries.iter().filter(|entry| is_in(entry, folder)).count() == group.len();
    let name = match is_whole && !folder.is_empty() {
        true => shown(folder),
        false => format!("{} … {}", shown(&members[0].path), shown(&members[members.len() - 1].path)),
    };
    let lines: Vec<&LineCounts> = members.iter().filter_map(|entry| plan.lines.get(&entry.path)).collect();
    let (added, removed): (usize, usize) =
        (lines.iter().map(|counts| counts.added).sum(), lines.iter().map(|counts| counts.removed).sum());
    format!("{verb:<8} {name} ({} entries, +{added} -{removed})", group.len())
}

#[cfg(test)]
mod tests {
    use sinew::checkpoint::{ChangeKind, EntryKind};

    use super::*;

    fn entries(paths: &[String]) -> Vec<PlanEntry> {
        let entry = |path: &String| PlanEntry {
            path: path.clone().into_bytes(),
            action: Action::Restore,
            change: ChangeKind::Modified,
            kind: EntryKind::File,
            note: None,
        };
        paths.iter().map(entry).collect()
    }

    #[test]
    fn files_are_grouped_by_folder_until_a_list_is_full() {
        let check = |paths: &[&str], most: usize, expect: &[&str]| {
            let all = entries(&paths.iter().map(ToString::to_string).collect::<Vec<_>>());
            let all: Vec<&PlanEntry> = all.iter().collect();
            let plan = UndoPlan::default();
            let labels: Vec<String> = groups(&all, most).iter().map(|group| label(&plan, &all, group)).collect();
            let names: Vec<&str> =
                labels.iter().map(|label| &label["restore  ".len()..label.find(" (").unwrap()]).collect();
            assert_eq!(names, expect, "{paths:?}");
        };
        check(&["a", "b/c"], 5, &["a", "b/c"]);
        check(&["a", "b/c", "b/d", "e"], 3, &["a", "b/", "e"]);
        check(&["b", "b/c", "b/d", "e"], 3, &["b", "b/c … b/d", "e"]);
        check(&["b", "b/c", "b/d", "e"], 2, &["b/", "e"]);
        check(&["a/x/1", "a/x/2", "a/y/1", "a/y/2"], 2, &["a/x/", "a/y/"]);
        check(&["a/x/1", "a/x/2", "a/y/1", "a/y/2"], 3, &["a/x/", "a/y/1", "a/y/2"]);
        check(&["1", "2", "3", "4", "5"], 2, &["1 … 2", "3 … 5"]);
    }

    #[test]
    fn every_file_is_in_one_group() {
        for (count, most) in [(1, 50), (50, 50), (51, 50), (1_000, 50), (5_000, 50)] {
            let paths: Vec<String> = (0..count).map(|at| format!("d{:02}/e{:02}/{at:05}", at % 70, at % 3)).collect();
            let mut paths = entries(&paths);
            paths.sort_by(|one, two| one.path.cmp(&two.path));
            let all: Vec<&PlanEntry> = paths.iter().collect();
            let groups = groups(&all, most);
            assert!((count.min(FEW)..=most).contains(&groups.len()), "{count}: {}", groups.len());
            assert!(groups.windows(2).all(|pair| pair[0].end == pair[1].start), "{groups:?}");
            assert_eq!((groups[0].start, groups[groups.len() - 1].end), (0, count));
        }
    }
}
