//! Personal ranking for fuzzy find: recently used files come before other files with similar scores.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::FindMatch;

/// The number of matches that are reordered.
pub(crate) const RANKED: usize = 200;
/// The maximum number of paths with recorded uses.
const KEPT: usize = 4_096;
/// The time after which the weight of a use is halved.
const HALF_LIFE: Duration = Duration::from_hours(72);
/// The maximum points of each component; together no more than the penalty of an ignored entry.
const USED: f64 = 14.0;
const CHANGED: [(Duration, i32); 4] = [
    (Duration::from_hours(1), 8),
    (Duration::from_hours(24), 6),
    (Duration::from_hours(24 * 7), 3),
    (Duration::from_hours(24 * 30), 1),
];
const SAME_FOLDER: usize = 6;
const SAME_STEM: i32 = 4;
const RECENT: i32 = 8;
/// Words in a file's stem that mark it as a test.
const TEST_MARKS: [&str; 6] = ["test_", "_test", "_tests", ".test", ".spec", "_spec"];

/// The kinds of use that raise the rank of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathUse {
    /// The content was read.
    Read,
    /// The user picked it from a list.
    Pick,
    /// The content was changed.
    Edit,
}

/// The files that are currently relevant to the user; paths are relative to the root of the workspace, or absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Boost {
    /// The file being edited: its neighbours and tests rank higher. Default: `None`.
    pub current: Option<String>,
    /// Recently committed files.
    pub recent: Vec<String>,
}

/// The recorded uses of paths in a workspace.
#[derive(Debug, Default)]
pub(crate) struct PathUses(HashMap<String, (f64, SystemTime)>);

impl PathUses {
    /// Records a use of a path, relative to the root.
    pub(crate) fn note(&mut self, path: &str, kind: PathUse, at: SystemTime) {
        let points = match kind {
            PathUse::Read => 1.0,
            PathUse::Pick => 2.0,
            PathUse::Edit => 3.0,
        };
        let before = self.weight(path, at);
        let last = self.0.get(path).map_or(at, |(_, last)| at.max(*last));
        self.0.insert(path.to_string(), (before + points, last));
        if self.0.len() >= 2 * KEPT {
            let mut times: Vec<SystemTime> = self.0.values().map(|(_, last)| *last).collect();
            let cut = times.len() - KEPT;
            let oldest = *times.select_nth_unstable(cut).1;
            self.0.retain(|_, (_, last)| *last >= oldest);
        }
    }

    /// Returns the weight of a path's uses at a point in time.
    fn weight(&self, path: &str, now: SystemTime) -> f64 {
        self.0.get(path).map_or(0.0, |(weight, last)| {
            let age = now.duration_since(*last).unwrap_or_default();
            weight * 0.5_f64.powf(age.as_secs_f64() / HALF_LIFE.as_secs_f64())
        })
    }
}

/// Reorders matches for a user who works on `boost` and has the recorded `uses`. `base` is the searched directory,
/// relative to the root, and `changed` returns when the file of a match changed.
pub(crate) fn reorder(
    matches: &mut [FindMatch],
    query: &str,
    base: &str,
    boost: &Boost,
    uses: &PathUses,
    now: SystemTime,
    changed: impl Fn(&str) -> Option<SystemTime>,
) {
    let query = query.trim();
    let points = |found: &FindMatch| {
        let path = join(base, &found.path);
        let weight = uses.weight(&path, now);
        #[allow(clippy::cast_possible_truncation, reason = "at most USED")]
        let used = (USED * weight / (weight + 3.0)).round() as i32;
        let age = changed(&found.path).map(|changed| now.duration_since(changed).unwrap_or_default());
        let changed = age.and_then(|age| CHANGED.iter().find(|(most, _)| age <= *most));
        let near = boost.current.as_deref().map_or(0, |current| nearness(current, &path));
        let recent = if boost.recent.contains(&path) { RECENT } else { 0 };
        used + changed.map_or(0, |(_, points)| *points) + near + recent
    };
    for found in matches.iter_mut() {
        found.score += points(found);
    }
    // The sort is stable, so equal matches keep their order.
    matches.sort_by_key(|found| (Reverse(exactness(&found.path, query)), Reverse(found.score)));
}

/// Returns how exactly a query names a path: 2 for the whole path, 1 for the whole name, else 0.
fn exactness(path: &str, query: &str) -> u8 {
    let name = path.rsplit('/').next().unwrap_or(path);
    match query {
        _ if path.eq_ignore_ascii_case(query) => 2,
        _ if name.eq_ignore_ascii_case(query) => 1,
        _ => 0,
    }
}

/// Returns the points for being close to the file being edited.
fn nearness(current: &str, path: &str) -> i32 {
    if current == path {
        return 0;
    }
    let folders = |path: &str| -> Vec<String> {
        let mut folders: Vec<String> = path.split('/').map(str::to_string).collect();
        folders.pop();
        folders
    };
    let (here, there) = (folders(current), folders(path));
    let common = here.iter().zip(&there).take_while(|(left, right)| left == right).count();
    let deepest = here.len().max(there.len());
    // Two files in the root share their only directory.
    let folder = (SAME_FOLDER * common).checked_div(deepest).unwrap_or(SAME_FOLDER);
    let is_partner = stem(current) == stem(path);
    i32::try_from(folder).unwrap_or(0) + if is_partner { SAME_STEM } else { 0 }
}

/// Returns the name of a path without its extension and without the words that mark a test.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let plain = TEST_MARKS.iter().find_map(|mark| stem.strip_prefix(mark).or_else(|| stem.strip_suffix(mark)));
    plain.unwrap_or(stem)
}

/// Returns a path of the workspace relative to its root, with `/` separators; `None` for a path outside it.
pub(crate) fn path_below(root: &Path, path: &Path) -> Option<String> {
    let relative = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let parts: Option<Vec<_>> = relative
        .components()
        .filter(|part| !matches!(part, std::path::Component::CurDir))
        .map(|part| match part {
            std::path::Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        })
        .collect();
    Some(parts?.join("/"))
}

fn join(base: &str, path: &str) -> String {
    if base.is_empty() { path.to_string() } else { format!("{base}/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &[(&str, i32)]) -> Vec<FindMatch> {
        let row = |(path, score): &(&str, i32)| FindMatch {
            path: (*path).to_string(),
            is_directory: false,
            score: *score,
            positions: Vec::new(),
        };
        rows.iter().map(row).collect()
    }

    fn order(rows: &[(&str, i32)], query: &str, boost: &Boost, uses: &PathUses) -> Vec<String> {
        let mut matches = found(rows);
        reorder(&mut matches, query, "", boost, uses, SystemTime::UNIX_EPOCH + HALF_LIFE, |_| None);
        matches.into_iter().map(|found| found.path).collect()
    }

    #[test]
    fn used_near_and_committed_files_rank_higher() {
        let boost = Boost { current: Some("src/net/http.rs".into()), recent: vec!["docs/http.md".into()] };
        let mut uses = PathUses::default();
        uses.note("lib/z.rs", PathUse::Edit, SystemTime::UNIX_EPOCH + HALF_LIFE);
        let cases = [
            ([("a/h.rs", 50), ("src/net/h.rs", 50)], ["src/net/h.rs", "a/h.rs"]),
            ([("a/h.rs", 50), ("tests/http_test.rs", 49)], ["tests/http_test.rs", "a/h.rs"]),
            ([("docs/a.md", 50), ("docs/http.md", 45)], ["docs/http.md", "docs/a.md"]),
            ([("lib/a.rs", 50), ("lib/z.rs", 45)], ["lib/z.rs", "lib/a.rs"]),
            ([("lib/a.rs", 50), ("lib/z.rs", 42)], ["lib/a.rs", "lib/z.rs"]),
            ([("other/b.rs", 30), ("other/a.rs", 30)], ["other/b.rs", "other/a.rs"]),
        ];
        for (rows, expected) in cases {
            assert_eq!(order(&rows, "h", &boost, &uses), expected);
        }
    }

    #[test]
    fn an_exact_name_stays_first() {
        let boost = Boost { current: None, recent: vec!["src/mainly.rs".into()] };
        let rows = [("src/main.rs", 50), ("src/mainly.rs", 50), ("main.rs", 40)];
        assert_eq!(order(&rows, "main.rs", &boost, &PathUses::default()), ["main.rs", "src/main.rs", "src/mainly.rs"]);
    }

    #[test]
    fn all_points_together_do_not_exceed_the_penalty_of_ignored_entries() {
        let mut uses = PathUses::default();
        let now = SystemTime::UNIX_EPOCH + HALF_LIFE;
        (0..1_000).for_each(|_| uses.note("src/a_test.rs", PathUse::Edit, now));
        let boost = Boost { current: Some("src/a.rs".into()), recent: vec!["src/a_test.rs".into()] };
        let mut matches = found(&[("src/a_test.rs", 0)]);
        reorder(&mut matches, "a", "", &boost, &uses, now, |_| Some(now));
        assert_eq!(matches[0].score, 40);
    }

    #[test]
    fn uses_decay_and_the_most_recent_paths_are_kept() {
        let mut uses = PathUses::default();
        let day = |days: u64| SystemTime::UNIX_EPOCH + Duration::from_hours(24 * days);
        uses.note("a", PathUse::Pick, day(0));
        assert!((uses.weight("a", day(3)) - 1.0).abs() < 1e-9);
        uses.note("a", PathUse::Read, day(3));
        assert!((uses.weight("a", day(6)) - 1.0).abs() < 1e-9);
        (0..3 * KEPT).for_each(|path| uses.note(&path.to_string(), PathUse::Read, day(path as u64)));
        assert!(uses.0.len() < 2 * KEPT && uses.weight(&(3 * KEPT - 1).to_string(), day(0)) > 0.0);
    }

    // On other systems an absolute path begins with a drive.
    #[cfg(unix)]
    #[test]
    fn returns_relative_paths_only_below_the_root() {
        let root = Path::new("/work");
        for (path, expected) in [
            ("a/b", Some("a/b")),
            ("./a//b", Some("a/b")),
            ("/work/a", Some("a")),
            ("/work", Some("")),
            ("/other/a", None),
            ("../a", None),
        ] {
            assert_eq!(path_below(root, Path::new(path)).as_deref(), expected, "{path}");
        }
    }
}
