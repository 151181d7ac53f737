//! The record of one reading of rules: what could not be read, and what was looked at.

use std::io;
use std::path::Path;

#[cfg(unix)]
use crate::stamp::Source;

/// Collects the warnings of a reading of rules and, for a tree that is kept, the files that decided its outcome.
#[derive(Debug, Default)]
pub(crate) struct RuleLog {
    pub(crate) warnings: Vec<String>,
    /// The files that were looked at, there or not; none where nobody asks.
    #[cfg(unix)]
    pub(crate) sources: Option<Vec<Source>>,
}

impl RuleLog {
    /// A log that also collects sources.
    #[cfg(unix)]
    pub(crate) fn with_sources() -> RuleLog {
        RuleLog { sources: Some(Vec::new()), ..RuleLog::default() }
    }

    /// Notes that the file at `path`, or its absence, is about to decide something.
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
