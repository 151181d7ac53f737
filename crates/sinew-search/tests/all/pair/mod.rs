//! Compares a workspace with the plain functions on the same root.

use std::ops::ControlFlow;
use std::path::Path;

use crate::tree::Dice;
use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{
    FindOptions, GlobOptions, GlobResult, GrepOptions, GrepResult, Mode, OnMatch, Rows, Workspace, WorkspaceOptions,
    Workspaces, fuzzy_find, glob, grep,
};
use sinew_walk::{FileType, ScanCache};

const PATTERNS: &[&str] = &[
    "needle",
    "Needle",
    "far needle",
    "(?<=far )needle",
    "needle 1\\d",
    "zq_not_there",
    "fil+er of",
    "text|other",
    "n.*e",
    "",
    "\\w+",
    "^\\w+$",
    "k\\w*n",
    "mist",
    "half need\\nle",
    "\\x{212A}elvin",
    "[xyz]",
    "needle{",
    "e l",
];
const BAD_PATTERNS: &[&str] = &["(", "a\\nb", "x{2,1}"];
const GLOBS: &[&str] =
    &["*", "*.c", "**/a/**", "!a", "b/*", ".h", "!**/node_modules/**", "{a,b}", "[", "a/b", "é", "**"];
const QUERIES: &[&str] = &["a", "bac", "é", "x y", "ab", "", "nothing like it", "A.C"];

/// A workspace and the plain functions on the same root.
pub(crate) struct Pair {
    pub(crate) workspace: Workspace,
    global: Option<sinew_walk::GlobalExcludes>,
    pub(crate) pool: Pool,
}

/// Drops the warnings of a workspace that `plain` does not have, if globs are given: a plain call reads only the
/// directories that they can match.
fn only_within(indexed: &mut Vec<String>, plain: &[String], has_globs: bool) {
    if has_globs {
        indexed.retain(|warning| plain.contains(warning));
    }
}

impl Pair {
    pub(crate) fn new(root: &Path, global: &Path, options: WorkspaceOptions) -> Pair {
        Pair::among(&Workspaces::default(), root, global, options)
    }

    /// Opens one of several workspaces that share their resources, as in one program.
    pub(crate) fn among(workspaces: &Workspaces, root: &Path, global: &Path, options: WorkspaceOptions) -> Pair {
        let options = WorkspaceOptions { global_excludes: Some(global.to_path_buf().into()), ..options };
        let workspace = workspaces.open(root, &options).unwrap();
        Pair { workspace, global: options.global_excludes, pool: Pool::new("test", 3) }
    }

    /// Returns the path for the plain call; an empty path means the root.
    fn below(&self, path: &Path) -> std::path::PathBuf {
        let root = self.workspace.root();
        if path.as_os_str().is_empty() { root.to_path_buf() } else { root.join(path) }
    }

    /// Builds or updates the index.
    pub(crate) fn build(&self) {
        self.workspace.ready(&self.pool, &CancelToken::never()).unwrap();
    }

    /// Searches, compares with the plain search, and returns the matching files.
    #[track_caller]
    pub(crate) fn files(&self, pattern: &str, story: &str) -> Vec<String> {
        let options = GrepOptions { mode: Mode::FilesWithMatches, ..GrepOptions::new(pattern, "") };
        self.grep(&options, story);
        let plain =
            GrepOptions { path: self.workspace.root().to_path_buf(), global_excludes: self.global.clone(), ..options };
        let found = grep(&plain, &ScanCache::default(), &self.pool, &CancelToken::never(), None).unwrap();
        found.rows().map(|row| row.path.to_string()).collect()
    }

    /// Compares one search with the plain one.
    #[track_caller]
    pub(crate) fn grep(&self, options: &GrepOptions, story: &str) {
        let options = GrepOptions { global_excludes: self.global.clone(), ..options.clone() };
        let never = CancelToken::never();
        let mut indexed = run_search(|on_match| self.workspace.grep(&options, &self.pool, &never, Some(on_match)));
        let plain = GrepOptions { path: self.below(&options.path), ..options.clone() };
        let plain = run_search(|on_match| grep(&plain, &ScanCache::default(), &self.pool, &never, Some(on_match)));
        if let (Ok((_, indexed)), Ok((_, plain))) = (&mut indexed.0, &plain.0) {
            only_within(&mut indexed.warnings, &plain.warnings, options.glob.is_some());
        }
        assert_eq!(indexed, plain, "{options:?}\n{:?}\n{story}", self.workspace.status());
    }

    fn glob(&self, options: &GlobOptions, story: &str) {
        let options = GlobOptions { global_excludes: self.global.clone(), ..options.clone() };
        let rows_of = |result: sinew_base::Result<GlobResult>| {
            result.map(|result| {
                let rows: Vec<String> = result.matches().map(|row| format!("{row:?}")).collect();
                (rows, result.total_matches, result.limit_reached, result.warnings)
            })
        };
        let never = CancelToken::never();
        let mut indexed = rows_of(self.workspace.glob(&options, &self.pool, &never));
        let plain = GlobOptions { path: self.below(&options.path), ..options.clone() };
        let plain = rows_of(glob(&plain, &ScanCache::default(), &self.pool, &never));
        if let (Ok(indexed), Ok(plain)) = (&mut indexed, &plain) {
            only_within(&mut indexed.3, &plain.3, true);
        }
        assert_eq!(indexed, plain, "{options:?}\n{story}");
    }

    fn find(&self, options: &FindOptions, story: &str) {
        let options = FindOptions { global_excludes: self.global.clone(), ..options.clone() };
        let never = CancelToken::never();
        let indexed = self.workspace.fuzzy_find(&options, &self.pool, &never);
        let plain = FindOptions { path: self.below(&options.path), ..options.clone() };
        assert_eq!(indexed, fuzzy_find(&plain, &ScanCache::default(), &self.pool, &never), "{options:?}\n{story}");
    }

    /// Runs some random calls of every kind.
    pub(crate) fn ask(&self, below: &Path, dice: &mut Dice, story: &str) {
        for _ in 0..3 {
            let pattern = if dice.below(20) == 0 { dice.pick(BAD_PATTERNS) } else { dice.pick(PATTERNS) };
            let path = if dice.below(3) == 0 { below.to_path_buf() } else { "".into() };
            let some = |dice: &mut Dice, limit: usize| (dice.below(3) == 0).then(|| dice.below(limit) as u32);
            self.grep(
                &GrepOptions {
                    ignore_case: dice.below(3) == 0,
                    literal: dice.below(6) == 0,
                    multiline: dice.below(4) == 0,
                    hidden: dice.below(3) > 0,
                    gitignore: dice.below(10) > 0,
                    glob: (dice.below(3) == 0).then(|| dice.pick(GLOBS).into()),
                    file_type: (dice.below(8) == 0).then(|| dice.pick(&["c", "rust", "none"]).to_string()),
                    max_count: some(dice, 6),
                    max_count_per_file: (dice.below(6) == 0).then(|| dice.below(3) as u32),
                    offset: some(dice, 4).unwrap_or(0),
                    context: some(dice, 3),
                    max_columns: (dice.below(6) == 0).then_some(12),
                    mode: [Mode::Content, Mode::Content, Mode::FilesWithMatches, Mode::Count][dice.below(4)],
                    ..GrepOptions::new(pattern, path)
                },
                story,
            );
        }
        let types = [None, None, Some(FileType::File), Some(FileType::Dir), Some(FileType::Symlink)];
        self.glob(
            &GlobOptions {
                file_type: types[dice.below(5)],
                recursive: dice.below(3) > 0,
                hidden: dice.below(2) == 0,
                gitignore: dice.below(8) > 0,
                max_results: (dice.below(3) == 0).then(|| dice.below(5)),
                sort_by_mtime: dice.below(3) == 0,
                include_node_modules: dice.below(5) == 0,
                follow_links: dice.below(8) == 0,
                max_depth: (dice.below(6) == 0).then(|| dice.below(3)),
                ..GlobOptions::new(below, dice.pick(GLOBS))
            },
            story,
        );
        self.find(&FindOptions { hidden: dice.below(2) == 0, ..FindOptions::new("", dice.pick(QUERIES)) }, story);
        self.list(dice.below(2) == 0, story);
    }

    fn list(&self, recursive: bool, story: &str) {
        // `list` does not use the global ignore file, so the plain call does not either.
        let never = CancelToken::never();
        let indexed = self.workspace.list("", recursive, true, &self.pool, &never).unwrap();
        let plain = GlobOptions { recursive, hidden: true, ..GlobOptions::new(self.workspace.root(), "*") };
        let plain = glob(&plain, &ScanCache::default(), &self.pool, &never).unwrap();
        let rows = |result: &GlobResult| -> Vec<String> { result.matches().map(|row| format!("{row:?}")).collect() };
        assert_eq!((rows(&indexed), &indexed.warnings), (rows(&plain), &plain.warnings), "{story}");
    }
}

/// The rows of a search with the rest of its result, and the streamed rows.
pub(crate) type SearchRun = (sinew_base::Result<(Vec<String>, GrepResult)>, Vec<String>);

pub(crate) fn run_search(search: impl FnOnce(OnMatch<'_>) -> sinew_base::Result<GrepResult>) -> SearchRun {
    let mut streamed = Vec::new();
    let mut on_match = |rows: &Rows| {
        streamed.extend(rows.iter().map(|row| format!("{row:?}")));
        ControlFlow::Continue(())
    };
    let result = search(&mut on_match).map(|result| {
        let rows = result.rows().map(|row| format!("{row:?}")).collect();
        (rows, GrepResult { matches: Vec::new(), ..result })
    });
    (result, streamed)
}
