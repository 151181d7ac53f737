//! The native core for coding agents: search, terminal text, keys, highlighting, shells, processes, pictures,
//! HTML, clipboard and facts about the system, as plain Rust.
//!
//! Each domain is a crate of its own and a module here; [`Sinew`] owns what calls share.

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
    pub global_excludes: Option<std::path::PathBuf>,
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

impl Default for Sinew {
    fn default() -> Sinew {
        Sinew::new()
    }
}
