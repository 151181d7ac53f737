//! Builds the scan that a fresh walk would return from the directories of a tree.

use std::path::Path;
use std::sync::Arc;

use sinew_base::{Aborted, CancelTicker, CancelToken, Error};

use super::folder_names::{FolderName, Step};
use super::{TOO_LARGE, Tree, TreeFolder, TreeScan, split};
use crate::entry::Scan;
use crate::walk::worker_output::finish_warnings;
use crate::{Detail, ScanOptions};

/// The number of cached scans; the least recently used is evicted first.
const SCANS: usize = 8;

/// The options that distinguish scans of one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScanKey {
    /// The directory, relative to the root of the tree.
    base: Box<[u8]>,
    hidden: bool,
    skip_node_modules: bool,
}

impl ScanKey {
    /// Returns true if the scan with these options equals the cached one with the other options.
    fn is_served_by(&self, other: &ScanKey, scan: &TreeScan) -> bool {
        let ScanKey { base, hidden, skip_node_modules } = other;
        self.base == *base
            && self.skip_node_modules == *skip_node_modules
            && (self.hidden == *hidden || !scan.meets_hidden)
    }

    fn shows(&self, name: FolderName<'_>) -> bool {
        (self.hidden || !name.is_hidden())
            && !(self.skip_node_modules && name.is_entered() && name.text == b"node_modules")
    }
}

impl Tree {
    /// Returns the scan that [`crate::scan`] would return for these options, whose root is canonical. `None` if the
    /// tree does not have the requested entries: a different global ignore file, ignored entries, followed links,
    /// times, `node_modules`, a root outside the tree or below an ignored directory.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn scan(&mut self, options: &ScanOptions, cancel: &CancelToken) -> Result<Option<Arc<TreeScan>>, Aborted> {
        // Destructures every option, so that a new option has to be considered here.
        let ScanOptions {
            root,
            hidden,
            gitignore,
            skip_node_modules,
            follow_links,
            max_depth,
            detail,
            global_excludes,
        } = options;
        let own = &self.reader.options;
        let is_other = *follow_links || *max_depth != own.max_depth || *detail != Detail::Path;
        if *gitignore != own.gitignore || is_other || *global_excludes != own.global_excludes {
            return Ok(None);
        }
        let Some(base) = relative(root, &own.root) else { return Ok(None) };
        let key = ScanKey { base: base.into(), hidden: *hidden, skip_node_modules: *skip_node_modules };
        let (key, scan) = match self.scans.iter().position(|(cached, scan)| key.is_served_by(cached, scan)) {
            Some(at) => self.scans.remove(at),
            None => match self.assemble(&key, cancel)? {
                Some(scan) => (key, Arc::new(scan)),
                None => return Ok(None),
            },
        };
        if self.scans.len() >= SCANS {
            self.scans.remove(0);
        }
        self.scans.push((key, Arc::clone(&scan)));
        // With these options the walk enters directories that the tree excludes.
        let lacks = !options.skip_node_modules && scan.skipped_modules;
        Ok((!lacks).then_some(scan))
    }

    fn assemble(&self, key: &ScanKey, cancel: &CancelToken) -> Result<Option<TreeScan>, Aborted> {
        let Some((base, first)) = self.folders.get_key_value(&*key.base) else { return Ok(None) };
        if first.failure().is_some() {
            return Ok(None);
        }
        let Some(above) = self.warnings_above(base) else { return Ok(None) };
        let mut warnings: Vec<(u32, String)> = above.into_iter().map(|warning| (0, warning)).collect();
        let mut scan = Scan { root: self.absolute(base), ..Scan::default() };
        let skip = if base.is_empty() { 0 } else { base.len() + 1 };
        let (mut skipped_modules, mut meets_hidden) = (false, false);
        let mut ticker = CancelTicker::new(cancel);
        let mut stack: Vec<(&[u8], &TreeFolder, usize)> = Vec::new();
        let mut entered = Some((&**base, &**first));
        while let Some((path, folder)) = entered.take() {
            let shown = path.get(skip..).unwrap_or(b"");
            let at = u32::try_from(scan.len()).unwrap_or(u32::MAX);
            warnings.extend(folder.sentences(shown).map(|sentence| (at, sentence)));
            skipped_modules |= folder.names.skipped_modules;
            if folder.failure().is_some_and(|cause| cause.kind() == TOO_LARGE) {
                return Ok(None);
            }
            stack.push((path, folder, 0));
            while let Some((path, folder, step)) = stack.pop() {
                let shown = path.get(skip..).unwrap_or(b"");
                let mut at = step;
                while let Some(step) = folder.names.step(at) {
                    at += 1;
                    let (Step::Name(name) | Step::Below(name)) = step;
                    meets_hidden |= name.is_hidden();
                    if !key.shows(name) {
                        continue;
                    }
                    if matches!(step, Step::Below(_)) {
                        stack.push((path, folder, at));
                        let child = super::below(path, name.text);
                        entered = self.folders.get_key_value(&*child).map(|(path, folder)| (&**path, &**folder));
                        break;
                    }
                    ticker.step()?;
                    if !shown.is_empty() {
                        scan.text.extend_from_slice(shown);
                        scan.text.push(b'/');
                    }
                    scan.text.extend_from_slice(name.text);
                    scan.ends.push(scan.text.len());
                    scan.bits.push(name.entry_bits());
                }
                if entered.is_some() {
                    break;
                }
            }
        }
        scan.text.shrink_to_fit();
        scan.ends.shrink_to_fit();
        scan.bits.shrink_to_fit();
        scan.warnings = finish_warnings(warnings.iter().map(|(_, warning)| warning.clone()).collect(), 0);
        Ok(Some(TreeScan { scan: Arc::new(scan), warnings, skipped_modules, meets_hidden }))
    }

    /// Returns the warnings of the rules above a directory; `None` if the tree may not contain all of them.
    fn warnings_above(&self, base: &[u8]) -> Option<Vec<String>> {
        let mut warnings = self.above.warnings.clone();
        let mut path = base;
        while !path.is_empty() {
            path = split(path).0;
            let folder = self.folders.get(path).filter(|folder| folder.failure().is_none())?;
            warnings.extend(folder.warnings().iter().cloned());
        }
        Some(warnings)
    }
}

impl TreeFolder {
    /// Returns the warnings of a walk that finds this directory at `path`.
    fn sentences(&self, path: &[u8]) -> impl Iterator<Item = String> {
        let gone = |cause: &std::io::Error| {
            matches!(cause.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        };
        let what = format!("failed to read folder {:?}", String::from_utf8_lossy(path));
        let failure = self.failure().filter(|cause| !gone(cause));
        let failure = failure.map(|cause| Error::io(what, cause).to_string());
        failure.into_iter().chain(self.warnings().iter().cloned())
    }
}

/// Returns the path of `folder` relative to `root`, as bytes.
fn relative<'a>(folder: &'a Path, root: &Path) -> Option<&'a [u8]> {
    Some(folder.strip_prefix(root).ok()?.as_os_str().as_encoded_bytes())
}
