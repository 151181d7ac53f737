//! The native core for coding agents: search, terminal text, keys, highlighting, shells, processes, pictures,
//! HTML, clipboard and facts about the system, as plain Rust.
//!
//! Each domain is a crate of its own and a module here; [`Sinew`] owns what calls share.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub use sinew_base as base;
pub use sinew_clipboard as clipboard;
pub use sinew_fuzzy as fuzzy;
pub use sinew_highlight as highlight;
pub use sinew_html as html;
pub use sinew_image as image;
pub use sinew_pool as pool;
pub use sinew_process as process;
pub use sinew_profile as profile;
pub use sinew_search as search;
pub use sinew_shell as shell;
pub use sinew_system as system;
pub use sinew_term as term;
pub use sinew_walk as walk;

/// What the calls of one host share.
#[derive(Debug)]
pub struct Sinew {
    /// The threads on which searches and other long work run.
    pub pool: pool::Pool,
    /// The scans that searches may share.
    pub cache: walk::ScanCache,
    /// The patterns of the latest searches of text.
    pub patterns: search::Patterns,
    /// The user's own ignore file, which searches obey; see [`walk::global_excludes`]. Default: none.
    pub global_excludes: Option<PathBuf>,
    /// What was done lately.
    pub profile: profile::Recorder,
}

impl Sinew {
    /// A handle whose pool is as wide as the machine, with an empty cache. Starts no thread yet.
    #[must_use]
    pub fn new() -> Sinew {
        Sinew {
            pool: pool::Pool::for_machine("sinew"),
            cache: walk::ScanCache::default(),
            global_excludes: None,
            patterns: search::Patterns::default(),
            profile: profile::Recorder::new(),
        }
    }
}

impl Sinew {
    /// The same, as the user's environment wants it; `variable` looks one up. `FS_SCAN_CACHE_TTL_MS`,
    /// `FS_SCAN_EMPTY_RECHECK_MS` and `FS_SCAN_CACHE_MAX_ENTRIES` say how long scans are kept, what is no number leaves
    /// the default; the user's own ignore file is found as git finds it.
    #[must_use]
    pub fn in_environment(variable: impl Fn(&str) -> Option<OsString>) -> Sinew {
        let cache = walk::ScanCache::new(policy(&variable));
        Sinew { cache, global_excludes: excludes(&variable), ..Sinew::new() }
    }
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

fn excludes(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = path(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    let (config_home, config) = (path("XDG_CONFIG_HOME"), path("GIT_CONFIG_GLOBAL"));
    walk::global_excludes(&walk::GitHome { home, config_home, config })
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
        assert_eq!(core.global_excludes, Some("/nowhere/c/git/ignore".into()));
    }
}
