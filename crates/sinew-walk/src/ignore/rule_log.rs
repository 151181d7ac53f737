//! The log of reading rules: errors, and the files that were checked.

use std::io;
use std::path::Path;

#[cfg(unix)]
use crate::stamp::Source;

/// Collects the warnings of reading rules and, for a kept tree, the files that determined the result.
#[derive(Debug, Default)]
pub(crate) struct RuleLog {
    pub(crate) warnings: Vec<String>,
    /// The files that were checked, whether or not they exist; `None` if they are not recorded.
    #[cfg(unix)]
    pub(crate) sources: Option<Vec<Source>>,
}

impl RuleLog {
    /// Creates a log that also records sources.
    #[cfg(unix)]
    pub(crate) fn with_sources() -> RuleLog {
        RuleLog { sources: Some(Vec::new()), ..RuleLog::default() }
    }

    /// Records that the file at `path`, or its absence, is about to determine the result.
    #[cfg_attr(not(unix), allow(unused_variables, clippy::unused_self, reason = "no tree is kept here"))]
    pub(crate) fn look(&mut self, path: &Path) {
        #[cfg(unix)]
        if let Some(sources) = &mut self.sources {
            sources.push(Source::of(path));
        }
    }

    pub(crate) fn warn(&mut self, path: &Path, cause: &io::Error) {
        let what = format!("failed to read ignore rules {:?}", path.to_string_lossy());
        self.warnings.push(sinew_base::Error::io(what, cause).to_string());
    }
}
