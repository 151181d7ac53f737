//! A cache of the programs that are known to be bash.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

/// The bashes of this machine that were checked. Clones share the cache.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownBashes {
    by_file: Arc<Mutex<HashMap<(PathBuf, SystemTime), bool>>>,
}

impl KnownBashes {
    /// Returns true if a program is a recent enough bash. `answers` checks it once per state of the file.
    pub(crate) fn has(&self, file: &Path, answers: impl FnOnce(&Path) -> bool) -> bool {
        let Ok(changed) = std::fs::metadata(file).and_then(|facts| facts.modified()) else { return false };
        let key = (file.to_path_buf(), changed);
        let known = self.by_file.lock().get(&key).copied();
        known.unwrap_or_else(|| {
            let fits = answers(file);
            self.by_file.lock().insert(key, fits);
            fits
        })
    }
}
