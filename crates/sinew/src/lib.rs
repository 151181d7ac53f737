//! The native core for coding agents: search, terminal text, keys, highlighting, shells, processes, images, HTML, the
//! clipboard and system information, as a plain Rust library.
//!
//! Each domain is a separate crate that this crate re-exports as a module. [`Sinew`] owns the state that calls share:
//! threads, cached scans, compiled patterns and profiling samples. A program creates one `Sinew` and passes its fields
//! to the functions. The same rules apply in every module:
//!
//! - Options are plain structs with public fields; `new` or `default` sets the documented defaults.
//! - A call that can take long accepts a `&`[`CancelToken`](base::CancelToken), documents how often it checks it, and
//!   fails with `Aborted: Signal` or `Aborted: Timeout`.
//! - An [`Error`](base::Error) has a code for programs and a message that names the operation, the value and how to fix
//!   it.
//! - Files that cannot be read and bytes that are not UTF-8 are data: warnings and U+FFFD in the result, not errors.
//! - Results are ordered even if several threads produced them. Calls block; run them on your own threads or on
//!   [`Sinew::pool`].
//!
//! # Search
//!
//! [`search::grep`] finds matching lines, the same as ripgrep with the same options. Ignore rules work as in git.
//!
//! ```
//! use sinew::{Sinew, base::CancelToken, search::{GrepOptions, grep}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("a.rs"), "fn main() {\n    run();\n}\n")?;
//!
//! let sinew = Sinew::new();
//! let options = GrepOptions { glob: Some("*.rs".into()), max_count: Some(10), ..GrepOptions::new(r"\brun\(", folder.path()) };
//! let found = grep(&options, &sinew.cache, &sinew.pool, &CancelToken::never(), None)?;
//! for row in found.rows() {
//!     assert_eq!((row.path, row.line_number, row.column, row.line), ("a.rs", 2, 5, "    run();"));
//! }
//! assert_eq!((found.total_matches, found.limit_reached), (1, false));
//! # Ok(())
//! # }
//! ```
//!
//! [`search::glob`] lists entries whose path matches a pattern, [`search::fuzzy_find`] ranks entries by a few letters
//! of their path.
//!
//! ```
//! use sinew::{Sinew, base::CancelToken, search::{FindOptions, GlobOptions, fuzzy_find, glob}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::create_dir(folder.path().join("src"))?;
//! for file in ["README.md", "src/main.rs", "src/main_window.rs"] {
//!     std::fs::write(folder.path().join(file), "")?;
//! }
//!
//! let sinew = Sinew::new();
//! let listed = glob(
//!     &GlobOptions::new(folder.path(), "src/*.{rs,toml}"),
//!     &sinew.cache,
//!     &sinew.pool,
//!     &CancelToken::never(),
//! )?;
//! let paths: Vec<_> = listed.matches().map(|found| found.path.into_owned()).collect();
//! assert_eq!(paths, ["src/main.rs", "src/main_window.rs"]);
//!
//! let ranked = fuzzy_find(&FindOptions::new(folder.path(), "mwin"), &sinew.cache, &sinew.pool, &CancelToken::never())?;
//! assert_eq!(ranked.matches[0].path, "src/main_window.rs");
//! # Ok(())
//! # }
//! ```
//!
//! [`search::Workspaces`] watch directories: their searches return the same results, with less work from the second
//! search on.
//!
//! ```
//! use sinew::{Sinew, base::CancelToken, search::GrepOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("a.txt"), "alpha\n")?;
//!
//! let (sinew, never) = (Sinew::new(), CancelToken::never());
//! let workspace = sinew.workspaces.open(folder.path(), &sinew.workspace_options())?;
//! let count = |pattern| {
//!     workspace.grep(&GrepOptions::new(pattern, ""), &sinew.pool, &never, None).map(|found| found.total_matches)
//! };
//! assert_eq!(count("beta")?, 0);
//! std::fs::write(folder.path().join("b.txt"), "beta\n")?;
//! assert_eq!(count("beta")?, 1, "a change is seen by the next call");
//! workspace.close();
//! # Ok(())
//! # }
//! ```
//!
//! # Terminal text and keys
//!
//! [`term`] measures, wraps and cuts text by terminal cells, keeps escape sequences whole, and names keys.
//!
//! ```
//! use sinew::term::{Ellipsis, matches_key, parse_key, truncate, visible_width, wrap};
//!
//! assert_eq!(visible_width("\x1b[1m日本\x1b[0m 👩‍🚀", 3), 7);
//! assert_eq!(wrap("one two three", 8, 3, true), ["one two", "three"]);
//! assert_eq!(visible_width(&truncate("a long line", 6, Ellipsis::Unicode, false, 3), 3), 6);
//!
//! assert_eq!(parse_key("\x1b[1;5A", false).map(|key| key.to_string()).as_deref(), Some("ctrl+up"));
//! assert!(matches_key("\x03", "ctrl+c", false));
//! ```
//!
//! # Highlighting
//!
//! ```
//! use sinew::highlight::{Colors, highlight, supports};
//!
//! let colors = Colors { keyword: "\x1b[35m".into(), ..Colors::default() };
//! let shown = highlight("let x = 1;", "rust", &colors);
//! assert!(supports("rust") && shown.contains("\x1b[35mlet"));
//! ```
//!
//! # Diffs
//!
//! ```
//! use sinew::{base::CancelToken, diff::{UnifiedOptions, unified_diff}};
//!
//! # fn main() -> sinew::base::Result<()> {
//! let patch = unified_diff("one\ntwo\n", "one\n2\n", &UnifiedOptions::default(), &CancelToken::never())?;
//! assert_eq!(patch, "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Patches
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sinew::{base::CancelToken, patch::{ApplyOptions, apply_to_directory}};
//!
//! let root = tempfile::tempdir()?;
//! std::fs::write(root.path().join("x"), "one\ntwo\n")?;
//! let patch = b"*** Begin Patch\n*** Update File: x\n@@\n one\n-two\n+2\n*** End Patch\n";
//! let report = apply_to_directory(root.path(), patch, ApplyOptions::default(), &CancelToken::never())?;
//! assert_eq!((report.files[0].added, report.files[0].removed), (1, 1));
//! assert_eq!(std::fs::read(root.path().join("x"))?, b"one\n2\n");
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! # HTML
//!
//! ```
//! use sinew::{base::CancelToken, html::{Options, html_to_markdown}};
//!
//! # fn main() -> sinew::base::Result<()> {
//! let page = "<nav>Menu</nav><h1>Title</h1><p>See <a href='/a'>this</a>.</p>";
//! let options = Options { clean_content: true, ..Options::default() };
//! assert_eq!(html_to_markdown(page, &options, &CancelToken::never())?, "# Title\n\nSee [this](/a).\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Images
//!
//! ```
//! use sinew::{base::CancelToken, image::{Channels, ImageFormat, Picture, SamplingFilter, decode}};
//!
//! # fn main() -> sinew::base::Result<()> {
//! let never = CancelToken::never();
//! let picture = Picture::new(4, 2, Channels::Gray, vec![128; 8])?;
//! let file = picture.encode(ImageFormat::Png, 100, &never)?;
//! let small = decode(&file, &never)?.resize(2, 1, SamplingFilter::Triangle, &never)?;
//! assert_eq!((small.width(), small.height()), (2, 1));
//! # Ok(())
//! # }
//! ```
//!
//! # Shells
//!
//! A script runs under a supervisor process, so that no script can crash or freeze your program, and so that no process
//! of a script outlives your program. The supervisor is the program `sinew-shell-host`, or your own program started
//! again.
//!
//! ```standalone_crate
//! # #[cfg(unix)]
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     use std::{ffi::CString, ops::ControlFlow, os::unix::ffi::OsStringExt};
//!     use sinew::{base::CancelToken, shell::{Supervisor, RunOptions, Shell, ShellOptions, host}};
//!
//!     // The role of the supervisor comes before anything else that the program does.
//!     let args: Vec<CString> = std::env::args_os().skip(1).flat_map(|arg| CString::new(arg.into_vec())).collect();
//!     if args.first().is_some_and(|role| role == c"supervise" || role == c"brush") {
//!         std::process::exit(host::main(&args));
//!     }
//!
//!     let options = ShellOptions { env: vec![("PATH".into(), "/usr/bin:/bin".into())], ..ShellOptions::default() };
//!     let shell = Shell::new(Supervisor::new(std::env::current_exe()?), options);
//!     let run = |command: &str| {
//!         let mut output = String::new();
//!         let run = RunOptions { command: command.into(), ..RunOptions::default() };
//!         let result = shell.run(&run, &CancelToken::never(), &mut |chunk| {
//!             output.push_str(&chunk);
//!             ControlFlow::Continue(())
//!         });
//!         result.map(|result| (result.exit_code, output))
//!     };
//!     assert_eq!(run("name=world")?.0, Some(0));
//!     assert_eq!(run("echo \"hello $name\"; false")?, (Some(1), "hello world\n".to_string()));
//!     shell.close();
//!     Ok(())
//! }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! # Pseudo-terminals
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> sinew::base::Result<()> {
//! use std::{ops::ControlFlow, sync::{Arc, Mutex}};
//! use sinew::{base::CancelToken, shell::pty::{PtyOptions, PtySession}};
//!
//! let output = Arc::new(Mutex::new(String::new()));
//! let sink = Arc::clone(&output);
//! let options = PtyOptions { env: vec![("PATH".into(), "/usr/bin:/bin".into())], ..PtyOptions::new("test -t 1 && echo terminal") };
//! let end = PtySession::new().run(options, &CancelToken::never(), move |chunk| {
//!     sink.lock().unwrap().push_str(&chunk);
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!((end.exit_code, output.lock().unwrap().trim_end()), (Some(0), "terminal"));
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! # Processes
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> std::io::Result<()> {
//! use std::process::Command;
//! use sinew::process::{descendants, kill_tree};
//!
//! let mut child = Command::new("sleep").arg("1000").spawn()?;
//! assert!(descendants(std::process::id()).contains(&child.id()));
//! assert_eq!(kill_tree(child.id(), 9), 1);
//! child.wait()?;
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! # Locks
//!
//! A file lock between processes. The lock is released when the value is dropped or the process ends.
//!
//! ```
//! use sinew::{base::CancelToken, lock::{FileLock, Mode}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("index.lock");
//! let lock = FileLock::acquire(&path, Mode::Exclusive, &CancelToken::never())?;
//! assert!(FileLock::try_acquire(&path, Mode::Shared)?.is_none());
//! drop(lock);
//! # Ok(())
//! # }
//! ```
//!
//! # Checkpoints
//!
//! A checkpoint records the content of a directory; a restore undoes all later changes, no matter which program made
//! them.
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sinew::{base::CancelToken, checkpoint::{Checkpoints, OpenOptions, RestoreOptions, TakeOptions}};
//!
//! let (project, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let file = project.path().join("a.txt");
//! std::fs::write(&file, "before")?;
//!
//! let never = CancelToken::never();
//! let options = OpenOptions { store: store.path().into(), ..OpenOptions::default() };
//! let checkpoints = Checkpoints::open(project.path(), &options)?;
//! let before = checkpoints.take(&TakeOptions::default(), &never)?;
//! std::fs::write(&file, "after")?;
//! let restored = checkpoints.restore(&before.id, &RestoreOptions::default(), &never)?;
//! assert_eq!((std::fs::read_to_string(&file)?.as_str(), restored.done), ("before", 1));
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! # Clipboard
//!
//! On Linux, `ClipboardOptions::display` names the display; without one, reading returns `None` and writing fails.
//!
//! ```
//! # #[cfg(target_os = "linux")] {
//! use sinew::clipboard::{Clipboard, ClipboardOptions};
//!
//! let clipboard = Clipboard::new(ClipboardOptions { display: None, ..ClipboardOptions::default() });
//! assert_eq!(clipboard.read_text(), Ok(None));
//! assert!(clipboard.write_text("text").is_err());
//! # }
//! ```

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use sinew_base as base;
pub use sinew_checkpoint as checkpoint;
pub use sinew_clipboard as clipboard;
pub use sinew_diff as diff;
pub use sinew_fuzzy as fuzzy;
pub use sinew_highlight as highlight;
pub use sinew_html as html;
pub use sinew_image as image;
pub use sinew_lock as lock;
pub use sinew_patch as patch;
pub use sinew_pool as pool;
pub use sinew_process as process;
pub use sinew_profile as profile;
pub use sinew_sandbox as sandbox;
pub use sinew_search as search;
pub use sinew_shell as shell;
pub use sinew_system as system;
pub use sinew_term as term;
pub use sinew_view as view;
pub use sinew_walk as walk;
pub use sinew_watch as watch;

/// The state that the calls of one program share.
#[derive(Debug)]
pub struct Sinew {
    /// The threads that run searches and other long work.
    pub pool: pool::Pool,
    /// The cached directory scans that searches share.
    pub cache: walk::ScanCache,
    /// The compiled patterns of recent text searches.
    pub patterns: search::Patterns,
    /// The watched directories; open one with [`Sinew::workspace_options`] to apply the settings of the environment.
    pub workspaces: search::Workspaces,
    /// The directory for workspace indexes. `None` (the default) keeps them in memory.
    pub index_cache: Option<PathBuf>,
    /// The user's home directory, which is not indexed unless the caller asks for it. Default: `None`.
    pub home: Option<PathBuf>,
    /// The user's global ignore file, which searches apply; see [`walk::GlobalExcludes`]. Default: `None`.
    pub global_excludes: Option<walk::GlobalExcludes>,
    /// The profiling samples of recent calls.
    pub profile: profile::Recorder,
}

impl Sinew {
    /// Creates a handle with one pool thread per processor core and an empty cache. Starts no thread yet.
    #[must_use]
    pub fn new() -> Sinew {
        Sinew {
            pool: pool::Pool::for_machine("sinew"),
            cache: walk::ScanCache::default(),
            workspaces: search::Workspaces::default(),
            index_cache: None,
            home: None,
            global_excludes: None,
            patterns: search::Patterns::default(),
            profile: profile::Recorder::new(),
        }
    }
}

impl Sinew {
    /// Creates a handle with the settings of the user's environment; `variable` returns the value of an environment
    /// variable. `FS_SCAN_CACHE_TTL_MS`, `FS_SCAN_EMPTY_RECHECK_MS` and `FS_SCAN_CACHE_MAX_ENTRIES` set how long and
    /// how many scans are cached; values that are not numbers are ignored. The global ignore file is found as git finds
    /// it. Indexes are stored below `SINEW_HOME` or, if that is not set, in the user's cache directory.
    #[must_use]
    pub fn in_environment(variable: impl Fn(&str) -> Option<OsString>) -> Sinew {
        let cache = walk::ScanCache::new(policy(&variable));
        Sinew {
            cache,
            global_excludes: Some(walk::GlobalExcludes::of(walk::GitHome::from_variables(home(&variable), &variable))),
            index_cache: index_cache(&variable),
            home: home(&variable),
            ..Sinew::new()
        }
    }

    /// Returns the options of a workspace with the settings of this handle.
    #[must_use]
    pub fn workspace_options(&self) -> search::WorkspaceOptions {
        search::WorkspaceOptions {
            global_excludes: self.global_excludes.clone(),
            cache: self.index_cache.clone(),
            home: self.home.clone(),
            ..search::WorkspaceOptions::default()
        }
    }

    /// Returns the agent's directory in the user's home, which contains checkpoints and isolated views; `None` without a
    /// home directory.
    #[must_use]
    pub fn own_folder(&self) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(".sinew"))
    }

    /// Returns the options of checkpoints with the settings of this handle: checkpoints are stored in the agent's
    /// directory in the user's home, which no checkpoint contains. Without a home directory the caller has to set
    /// `store`.
    #[must_use]
    pub fn checkpoint_options(&self) -> checkpoint::OpenOptions {
        let own = self.own_folder();
        checkpoint::OpenOptions {
            store: own.as_ref().map(|own| own.join("checkpoints")).unwrap_or_default(),
            skip: own.into_iter().collect(),
            ..checkpoint::OpenOptions::default()
        }
    }
}

impl Sinew {
    /// Returns the options of isolated views with the settings of this handle: views are stored in the agent's directory
    /// in the user's home, and the user's global ignore file applies. Without a home directory the caller has to set
    /// `home`.
    #[must_use]
    pub fn view_options(&self) -> view::OpenOptions {
        let excludes = self.global_excludes.as_ref().and_then(|excludes| excludes.file());
        view::OpenOptions {
            global_excludes: excludes.map(Path::to_path_buf),
            ..view::OpenOptions::new(self.own_folder().unwrap_or_default())
        }
    }
}

impl Sinew {
    /// Watches a directory with the event queue that all workspaces share, and applies the user's global ignore file.
    ///
    /// # Errors
    /// Returns the errors of [`watch::TreeWatcher::open`].
    pub fn watch(
        &self,
        root: &Path,
        options: watch::WatchOptions,
        cancel: &base::CancelToken,
    ) -> base::Result<watch::TreeWatcher> {
        #[cfg(target_os = "linux")]
        let queue = self.workspaces.queue();
        #[cfg(not(target_os = "linux"))]
        let queue = std::sync::Arc::default();
        let options = watch::WatchOptions { global_excludes: self.global_excludes.clone(), ..options };
        watch::TreeWatcher::open(root, options, queue, self.pool.clone(), cancel)
    }
}

fn path(variable: impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    path(variable, if cfg!(windows) { "USERPROFILE" } else { "HOME" })
}

/// Returns the cache directory. A relative path would mean a different directory in each call, so it is ignored.
fn index_cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| path(&variable, name).filter(|path| path.is_absolute());
    let caches = || match () {
        () if cfg!(windows) => absolute("LOCALAPPDATA"),
        () if cfg!(target_os = "macos") => Some(home(&variable)?.join("Library/Caches")),
        () => absolute("XDG_CACHE_HOME").or_else(|| Some(home(&variable)?.join(".cache"))),
    };
    absolute("SINEW_HOME").or_else(|| Some(caches()?.join("sinew")))
}

fn policy(variable: impl Fn(&str) -> Option<OsString>) -> walk::CachePolicy {
    let number = |name: &str| variable(name)?.to_str()?.trim().parse::<u32>().ok();
    let defaults = walk::CachePolicy::default();
    let milliseconds = |name, default| number(name).map_or(default, |ms| Duration::from_millis(ms.into()));
    walk::CachePolicy {
        ttl: milliseconds("FS_SCAN_CACHE_TTL_MS", defaults.ttl),
        empty_recheck: milliseconds("FS_SCAN_EMPTY_RECHECK_MS", defaults.empty_recheck),
        max_entries: number("FS_SCAN_CACHE_MAX_ENTRIES").map_or(defaults.max_entries, |most| most as usize),
    }
}

impl Default for Sinew {
    fn default() -> Sinew {
        Sinew::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_long_scans_are_kept_and_which_file_is_ignored() {
        let set = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let policy_of = |pairs| policy(set(pairs));
        assert_eq!(policy_of(&[("FS_SCAN_CACHE_TTL_MS", "soon")]), walk::CachePolicy::default());
        let all =
            &[("FS_SCAN_CACHE_TTL_MS", "0"), ("FS_SCAN_EMPTY_RECHECK_MS", " 7 "), ("FS_SCAN_CACHE_MAX_ENTRIES", "3")];
        let expect = walk::CachePolicy { ttl: Duration::ZERO, empty_recheck: Duration::from_millis(7), max_entries: 3 };
        assert_eq!(policy_of(all), expect);
        let core =
            Sinew::in_environment(set(&[("XDG_CONFIG_HOME", "/nowhere/c"), ("GIT_CONFIG_GLOBAL", "/nowhere/g")]));
        let file = core.global_excludes.as_deref().and_then(walk::UserExcludes::file);
        assert_eq!(file, Some(Path::new("/nowhere/c/git/ignore")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn indexes_lie_in_the_folder_of_caches() {
        let set = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let cache = |pairs| index_cache(set(pairs));
        assert_eq!(cache(&[]), None);
        assert_eq!(cache(&[("HOME", "/h")]), Some("/h/.cache/sinew".into()));
        assert_eq!(cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]), Some("/c/sinew".into()));
        assert_eq!(cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", "c")]), Some("/h/.cache/sinew".into()));
        assert_eq!(cache(&[("HOME", "/h"), ("SINEW_HOME", "/s")]), Some("/s".into()));
        let options = Sinew::in_environment(set(&[("HOME", "/h")])).workspace_options();
        assert_eq!((options.home, options.cache), (Some("/h".into()), Some("/h/.cache/sinew".into())));
    }
}
