//! Reads one directory of a walk: its sorted listing without the entries that options and ignore rules exclude.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sinew_base::{Aborted, CancelTicker, Error, Result};

use super::worker_output::{WorkerOutput, name_of};
use crate::entry::{IGNORED, KEPT, bits_of};
use crate::glob::Level;
#[cfg(unix)]
use crate::ignore::RULE_NAMES;
use crate::ignore::{Context, IgnoreFilesPresent, Node, RuleLog, Verdict};
use crate::sys::{self, Folder, FolderId};
use crate::{Detail, FileType, GlobSet, ScanOptions, Scope};

/// The maximum path length of a directory that is entered, because each entry below stores its path.
const MAX_FOLDER_PATH: usize = 32 << 10;

/// A directory to read.
pub(super) struct Task {
    pub(super) id: u32,
    pub(super) path: Vec<u8>,
    /// The rules of the parent directories.
    pub(super) rules: Option<Arc<Node>>,
    ignored: bool,
    /// The parent directories, recorded only if links are followed.
    ancestors: Option<Arc<Ancestor>>,
}

impl Task {
    /// Creates the task to read one directory again, with the rules of its parents.
    #[cfg(unix)]
    pub(super) fn again(path: Vec<u8>, rules: Option<Arc<Node>>) -> Task {
        Task { id: 0, path, rules, ignored: false, ancestors: None }
    }
}

struct Ancestor {
    folder_id: FolderId,
    above: Option<Arc<Ancestor>>,
}

/// The result of reading a directory.
pub(super) struct FolderRead {
    /// The open directory; `None` if it could not be opened.
    pub(super) folder: Option<Folder>,
    /// The path and the error if the directory could not be read completely.
    pub(super) failure: Option<(Vec<u8>, io::Error)>,
}

impl FolderRead {
    fn failed(path: Vec<u8>, cause: io::Error) -> FolderRead {
        FolderRead { folder: None, failure: Some((path, cause)) }
    }
}

/// The open root of a walk, and the options and rules that apply below it.
pub(super) struct FolderReader {
    pub(super) options: ScanOptions,
    pub(super) handle: sys::Root,
    /// Paths that are excluded independently of ignore rules.
    pub(super) exclude: Option<Arc<GlobSet>>,
    /// The directories to read; `None` for all of them.
    pub(super) scope: Option<Scope>,
    context: Context,
    /// The number of the next directory found.
    next: AtomicU32,
}

impl FolderReader {
    /// Opens the directory `options.root`, a canonical path. Returns the task to read it and the warnings of the rules
    /// above it.
    ///
    /// # Errors
    /// Returns an error if the root cannot be listed.
    pub(super) fn open(options: ScanOptions) -> Result<(FolderReader, Task, Vec<String>)> {
        let mut log = RuleLog::default();
        let (reader, first) = FolderReader::open_with(options, &mut log)?;
        Ok((reader, first, log.warnings))
    }

    /// Opens the directory as [`FolderReader::open`] does and records the reading of the rules above it in `log`.
    ///
    /// # Errors
    /// Returns an error if the root cannot be listed.
    pub(super) fn open_with(options: ScanOptions, log: &mut RuleLog) -> Result<(FolderReader, Task)> {
        let context = Context::new(options.global_excludes.clone(), log);
        let rules = context.above(&options.root, log);
        let open = || {
            let handle = sys::Root::open_canonical(&options.root)?;
            handle.folder(b"", false)?.list(&mut Vec::new(), |_| false)?;
            Ok(handle)
        };
        let handle = open().map_err(|cause| root_error(&options, &cause))?;
        let first = Task { id: 0, path: Vec::new(), rules, ignored: false, ancestors: None };
        Ok((FolderReader { options, handle, exclude: None, scope: None, context, next: AtomicU32::new(1) }, first))
    }

    /// Reads a directory into `output` and pushes the tasks of its subdirectories, in path order, to `tasks`. Returns
    /// the open directory, or `None` if it could not be read, which is a warning.
    ///
    /// # Errors
    /// Returns an error if the walk is cancelled.
    pub(super) fn read(
        &self,
        task: Task,
        tasks: &mut Vec<Task>,
        output: &mut WorkerOutput,
        buffer: &mut Vec<u8>,
        ticker: &mut CancelTicker<'_>,
    ) -> Result<Option<Folder>, Aborted> {
        let mut log = RuleLog::default();
        let read = self.read_with(task, tasks, output, buffer, ticker, &mut log, |_| ())?;
        if let Some((path, cause)) = read.failure {
            output.record_failure(&path, &cause);
        }
        log.warnings.into_iter().for_each(|warning| output.warn(warning));
        Ok(read.folder)
    }

    /// Reads as [`FolderReader::read`] does, but calls `opened` before the listing, and leaves the warnings to the
    /// caller.
    ///
    /// # Errors
    /// Returns an error if the walk is cancelled.
    #[allow(clippy::too_many_arguments, reason = "the parts of one thread's state, borrowed apart")]
    pub(super) fn read_with(
        &self,
        task: Task,
        tasks: &mut Vec<Task>,
        output: &mut WorkerOutput,
        buffer: &mut Vec<u8>,
        ticker: &mut CancelTicker<'_>,
        log: &mut RuleLog,
        opened: impl FnOnce(&Folder),
    ) -> Result<FolderRead, Aborted> {
        ticker.check()?;
        let folder = match self.handle.folder(&task.path, self.options.follow_links) {
            Ok(folder) => folder,
            Err(cause) => return Ok(FolderRead::failed(task.path, cause)),
        };
        opened(&folder);
        let ancestors = match self.ancestors(&folder, &task) {
            Ok(ancestors) => ancestors,
            Err(()) => return Ok(FolderRead { folder: None, failure: None }),
        };
        let first = output.items.len();
        let level = self.scope.as_ref().map(|scope| scope.within(&task.path));
        let mut present = IgnoreFilesPresent::default();
        let listed = list(&folder, level.as_ref(), &mut present, output, buffer, ticker)?;
        let failure = listed.err().map(|cause| (task.path.clone(), cause));
        let absolute = self.absolute(&task.path);
        let rules = self.rules(&task, present, &absolute, &folder, log);
        self.filter_entries(&task, level.as_ref(), first, rules.as_deref(), absolute, &folder, output, ticker)?;
        output.items[first..].sort_unstable_by(|a, b| {
            a.key.cmp(&b.key).then_with(|| name_of(&output.names, a).cmp(name_of(&output.names, b)))
        });
        for index in first..output.items.len() {
            if output.items[index].child == 0 {
                continue;
            }
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            let item = &mut output.items[index];
            item.child = id + 1;
            let ignored = item.bits & IGNORED != 0;
            let mut path = Vec::with_capacity(task.path.len() + 1 + item.length as usize);
            path.extend_from_slice(&task.path);
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name_of(&output.names, &output.items[index]));
            tasks.push(Task { id, path, rules: rules.clone(), ignored, ancestors: ancestors.clone() });
        }
        output.order(first, task.id, task.path);
        Ok(FolderRead { folder: Some(folder), failure })
    }

    /// Returns the parents of `folder` and `folder` itself; an error if the parents already contain it.
    fn ancestors(&self, folder: &Folder, task: &Task) -> Result<Option<Arc<Ancestor>>, ()> {
        if !self.options.follow_links {
            return Ok(None);
        }
        let folder_id = folder.folder_id().map_err(|_| ())?;
        let mut above = task.ancestors.as_ref();
        while let Some(ancestor) = above {
            if ancestor.folder_id == folder_id {
                return Err(());
            }
            above = ancestor.above.as_ref();
        }
        Ok(Some(Arc::new(Ancestor { folder_id, above: task.ancestors.clone() })))
    }

    fn absolute(&self, path: &[u8]) -> Vec<u8> {
        let mut absolute = self.options.root.as_os_str().as_encoded_bytes().to_vec();
        for part in [path, b""] {
            if absolute.last() != Some(&b'/') {
                absolute.push(b'/');
            }
            absolute.extend_from_slice(part);
        }
        absolute
    }

    fn rules(
        &self,
        task: &Task,
        present: IgnoreFilesPresent,
        absolute: &[u8],
        folder: &Folder,
        log: &mut RuleLog,
    ) -> Option<Arc<Node>> {
        if present == IgnoreFilesPresent::default() {
            return task.rules.clone();
        }
        // Only regular files are opened, because a pipe would block.
        let open = |name: &str| match folder.target_type(name.as_bytes()) {
            Some(FileType::File) => folder.open_file(name.as_bytes()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let path = sys::path_of(&absolute[..absolute.len() - usize::from(absolute.len() > 1)]).into_owned();
        self.context.enter(task.rules.clone(), present, &path, open, log)
    }

    /// Drops the entries that the options exclude, marks ignored entries, and reads the details of the rest.
    #[allow(clippy::too_many_arguments, reason = "the parts of one folder's state, borrowed apart")]
    fn filter_entries(
        &self,
        task: &Task,
        level: Option<&Level<'_>>,
        first: usize,
        rules: Option<&Node>,
        mut absolute: Vec<u8>,
        folder: &Folder,
        output: &mut WorkerOutput,
        ticker: &mut CancelTicker<'_>,
    ) -> Result<(), Aborted> {
        let options = &self.options;
        let depth = match task.path.is_empty() {
            true => 1,
            false => 2 + memchr::memchr_iter(b'/', &task.path).count(),
        };
        let may_enter = options.max_depth.is_none_or(|most| depth < most);
        let stem = absolute.len();
        let mut kept = first;
        for index in first..output.items.len() {
            ticker.step()?;
            let item = &mut output.items[index];
            let name = &output.names[item.start..item.start + item.length as usize];
            let is_dir = item.bits == bits_of(FileType::Dir);
            let mut verdict = None;
            if let Some(rules) = rules {
                absolute.truncate(stem);
                absolute.extend_from_slice(name);
                verdict = rules.verdict(&absolute, name, is_dir);
            }
            let ignored = task.ignored || verdict == Some(Verdict::Ignore);
            let kept_by_rule = options.gitignore && verdict == Some(Verdict::Keep);
            if (ignored && options.gitignore) || (!options.hidden && name[0] == b'.' && !kept_by_rule) {
                continue;
            }
            if let Some(exclude) = &self.exclude
                && exclude.is_match(&path_below(&task.path, name), is_dir)
            {
                continue;
            }
            if is_dir && options.skip_node_modules && name == b"node_modules" {
                output.skipped_modules = true;
                continue;
            }
            if options.detail == Detail::Full {
                match folder.detail(name) {
                    Some(detail) => {
                        item.detail = u32::try_from(output.details.len()).unwrap_or(u32::MAX);
                        output.details.push(detail);
                    }
                    // The entry was deleted in the meantime.
                    None => continue,
                }
            }
            let link = item.bits == bits_of(FileType::Symlink);
            let is_folder = is_dir || (link && options.follow_links && folder.target_type(name) == Some(FileType::Dir));
            if is_folder && may_enter && level.is_none_or(|level| level.enters(name)) {
                if task.path.len() + name.len() < MAX_FOLDER_PATH {
                    item.child = 1;
                } else {
                    let shown = String::from_utf8_lossy(&task.path[..100.min(task.path.len())]).into_owned();
                    output.warn(format!("failed to read a folder below {shown:?}…: its path is longer than 32 KiB"));
                }
            }
            let item = &mut output.items[index];
            item.bits |= if ignored { IGNORED } else { 0 } | if kept_by_rule { KEPT } else { 0 };
            output.items.swap(kept, index);
            kept += 1;
        }
        output.items.truncate(kept);
        Ok(())
    }
}

/// Reads the names of a directory into `output` and those of ignore files into `present`. Returns the error of a
/// listing that is incomplete.
///
/// # Errors
/// Returns an error if the walk is cancelled.
fn list(
    folder: &Folder,
    level: Option<&Level<'_>>,
    present: &mut IgnoreFilesPresent,
    output: &mut WorkerOutput,
    buffer: &mut Vec<u8>,
    ticker: &mut CancelTicker<'_>,
) -> Result<io::Result<()>, Aborted> {
    #[cfg(unix)]
    if let Some(names) = level.and_then(Level::names)
        && let Some(found) = folder.look_up(names.iter().copied().chain(RULE_NAMES))
    {
        for (name, file_type) in found {
            present.note(name, file_type);
            if name != b".git" && names.contains(name) && level.is_none_or(|level| level.admits(name, file_type)) {
                output.push(name, file_type);
            }
        }
        return Ok(Ok(()));
    }
    let mut aborted = None;
    let listed = folder.list(buffer, |listed| {
        if let Err(now) = ticker.step() {
            aborted = Some(now);
            return false;
        }
        if let Some(file_type) = listed.file_type {
            if listed.name.first() == Some(&b'.') {
                present.note(listed.name, file_type);
            }
            if listed.name != b".git" && level.is_none_or(|level| level.admits(listed.name, file_type)) {
                output.push(listed.name, file_type);
            }
        }
        true
    });
    aborted.map_or(Ok(listed), Err)
}

fn path_below(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// Creates the error of a root that cannot be read.
pub(super) fn root_error(options: &ScanOptions, cause: &io::Error) -> Error {
    Error::io(format_args!("failed to read {:?}", options.root.to_string_lossy()), cause)
}
