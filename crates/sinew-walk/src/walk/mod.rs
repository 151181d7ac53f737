//! The walk: folders are shared among the threads of a pool, the listings put together in path order at the end.
//!
//! Each thread keeps the folders that it finds to itself and gives half of them away when another is hungry.
//! A listing is sorted by the thread that read it, so that the end only copies.

mod haul;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use sinew_base::{Aborted, Cancel, Error, Pace, Result};
use sinew_pool::Pool;

use crate::entry::{IGNORED, Scan, bits_of};
use crate::ignore::{Context, Marks, Node, Verdict};
use crate::sys::{self, Folder, Identity};
use crate::{Detail, FileType, ScanOptions};
use haul::{Haul, assemble, name_of};

/// Longer paths are not entered: a path is held once per entry below it.
const LONGEST: usize = 32 << 10;

/// Reads the root and all that lies below it, on this thread and those of `pool` that are free.
///
/// Files, folders and links are listed; `.git`, sockets, pipes and devices never. What cannot be read is a
/// warning of the result. Looks at `cancel` once per folder and per [`sinew_base::EVERY`] entries.
///
/// # Errors
/// When the root does not exist or cannot be read, and when cancelled.
pub fn scan(options: &ScanOptions, pool: &Pool, cancel: &Cancel) -> Result<Scan> {
    match read(options, pool, cancel)? {
        Read::File(scan) => Ok(scan),
        Read::Folder { aborted: Some(aborted), .. } => Err(aborted.into()),
        Read::Folder { options, hauls, warnings, aborted: None } => assemble(&options, hauls, warnings, cancel),
    }
}

/// As [`scan`], but the deadline of `cancel` is no error: what was read until then is given, and true. That is whole
/// folders: one whose listing was cut short is there without its entries.
///
/// # Errors
/// When the root does not exist or cannot be read, and when the signal of `cancel` came.
pub(crate) fn scan_so_far(options: &ScanOptions, pool: &Pool, cancel: &Cancel) -> Result<(Scan, bool)> {
    match read(options, pool, cancel)? {
        Read::File(scan) => Ok((scan, false)),
        Read::Folder { aborted: Some(Aborted::Signal), .. } => Err(Aborted::Signal.into()),
        Read::Folder { options, hauls, warnings, aborted } => {
            // The copy is short beside the reading.
            let cancel = cancel.clone().without_timeout();
            Ok((assemble(&options, hauls, warnings, &cancel)?, aborted.is_some()))
        }
    }
}

/// What lies at and below a root.
enum Read {
    File(Scan),
    Folder { options: ScanOptions, hauls: Vec<Haul>, warnings: Vec<String>, aborted: Option<Aborted> },
}

fn read(options: &ScanOptions, pool: &Pool, cancel: &Cancel) -> Result<Read> {
    cancel.check()?;
    let options = options.clone().canonical()?;
    let root = options.root.as_path();
    let refused = |cause: io::Error| Error::io(format_args!("failed to read {:?}", root.to_string_lossy()), &cause);
    if !std::fs::metadata(root).map_err(refused)?.is_dir() {
        return single(&options).map(Read::File);
    }
    let mut warnings = Vec::new();
    let context = Context::new(options.global_excludes.as_deref(), &mut warnings);
    let above = context.above(root, &mut warnings);
    let handle = sys::Root::open(root).map_err(refused)?;
    handle.folder(b"", false).and_then(|folder| folder.list(&mut Vec::new(), |_| false)).map_err(refused)?;

    let first = Task { id: 0, path: Vec::new(), rules: above, ignored: false, line: None };
    let walk = Walk {
        options: &options,
        context: &context,
        handle: &handle,
        cancel,
        next: AtomicU32::new(1),
        hungry: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        shared: Mutex::new(Shared { tasks: vec![first], working: 0, hauls: Vec::new(), aborted: None }),
        wake: Condvar::new(),
    };
    pool.crew(pool.size().saturating_sub(1), |_| walk.work());
    let Shared { hauls, aborted, .. } = walk.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Read::Folder { options, hauls, warnings, aborted })
}

/// A file as root: one entry, whatever the rules say of it.
fn single(options: &ScanOptions) -> Result<Scan> {
    let (Some(folder), Some(name)) = (options.root.parent(), options.root.file_name()) else {
        return Err(Error::invalid(format!("{:?} is no file", options.root.to_string_lossy())));
    };
    let name = name.as_encoded_bytes().to_vec();
    let details = match options.detail {
        Detail::Path => Vec::new(),
        Detail::Full => sys::Root::open(folder)
            .and_then(|root| root.folder(b"", false))
            .ok()
            .map(|folder| folder.detail(&name).unwrap_or_default())
            .into_iter()
            .collect(),
    };
    Ok(Scan {
        root: folder.to_path_buf(),
        single_file: true,
        ends: vec![name.len()],
        text: name,
        bits: vec![bits_of(FileType::File)],
        details,
        warnings: Vec::new(),
    })
}

/// A folder to read.
struct Task {
    id: u32,
    path: Vec<u8>,
    rules: Option<Arc<Node>>,
    ignored: bool,
    /// The folders it lies in, kept only where links are followed.
    line: Option<Arc<Ancestor>>,
}

struct Ancestor {
    identity: Identity,
    above: Option<Arc<Ancestor>>,
}

struct Shared {
    tasks: Vec<Task>,
    working: usize,
    hauls: Vec<Haul>,
    aborted: Option<Aborted>,
}

struct Walk<'a> {
    options: &'a ScanOptions,
    context: &'a Context,
    handle: &'a sys::Root,
    cancel: &'a Cancel,
    next: AtomicU32,
    hungry: AtomicUsize,
    stop: AtomicBool,
    shared: Mutex<Shared>,
    wake: Condvar,
}

impl Walk<'_> {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        // Whatever ends this thread's part, also a panic, the others must not wait for it.
        struct Leave<'a, 'b>(&'a Walk<'b>);
        impl Drop for Leave<'_, '_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.stop.store(true, Ordering::Relaxed);
                    // Under the lock: a notice between another's look and its wait would be lost.
                    drop(self.0.lock());
                    self.0.wake.notify_all();
                }
            }
        }
        let _leave = Leave(self);
        let mut haul = Haul::default();
        let mut buffer = Vec::new();
        let mut own: Vec<Task> = Vec::new();
        let mut pace = Pace::new(self.cancel);
        while self.take(&mut own) {
            while let Some(task) = own.pop() {
                if self.stop.load(Ordering::Relaxed) {
                    own.clear();
                    break;
                }
                let known = own.len();
                if let Err(aborted) = self.read(task, &mut own, &mut haul, &mut buffer, &mut pace) {
                    self.stop.store(true, Ordering::Relaxed);
                    self.lock().aborted.get_or_insert(aborted);
                    own.clear();
                }
                // In path order, so that what is read together lies together.
                let found = known.min(own.len());
                own[found..].reverse();
                if own.len() > 1 && self.hungry.load(Ordering::Relaxed) > 0 {
                    let half = own.len() / 2;
                    self.lock().tasks.extend(own.drain(..half));
                    self.wake.notify_all();
                }
            }
        }
        self.lock().hauls.push(haul);
    }

    /// Waits for work; false when there will be none.
    fn take(&self, own: &mut Vec<Task>) -> bool {
        let mut shared = self.lock();
        // Every call but the first of a thread follows a time of work.
        if own.capacity() > 0 {
            shared.working -= 1;
        }
        loop {
            if self.stop.load(Ordering::Relaxed) || (shared.tasks.is_empty() && shared.working == 0) {
                drop(shared);
                self.wake.notify_all();
                return false;
            }
            if !shared.tasks.is_empty() {
                let share = shared.tasks.len().div_ceil(2);
                let at = shared.tasks.len() - share;
                own.reserve(share.max(8));
                own.extend(shared.tasks.drain(at..));
                shared.working += 1;
                return true;
            }
            self.hungry.fetch_add(1, Ordering::Relaxed);
            shared = self.wake.wait(shared).unwrap_or_else(PoisonError::into_inner);
            self.hungry.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn read(
        &self,
        task: Task,
        own: &mut Vec<Task>,
        haul: &mut Haul,
        buffer: &mut Vec<u8>,
        pace: &mut Pace<'_>,
    ) -> Result<(), Aborted> {
        self.cancel.check()?;
        let folder = match self.handle.folder(&task.path, self.options.follow_links) {
            Ok(folder) => folder,
            Err(cause) => {
                haul.refused(&task.path, &cause);
                return Ok(());
            }
        };
        let line = match self.line(&folder, &task) {
            Ok(line) => line,
            Err(()) => return Ok(()),
        };
        let first = haul.items.len();
        let mut marks = Marks::default();
        let mut aborted = None;
        let listed = folder.list(buffer, |listed| {
            if let Err(now) = pace.step() {
                aborted = Some(now);
                return false;
            }
            if let Some(file_type) = listed.file_type {
                if listed.name.first() == Some(&b'.') {
                    marks.note(listed.name, file_type);
                }
                if listed.name != b".git" {
                    haul.push(listed.name, file_type);
                }
            }
            true
        });
        if let Some(aborted) = aborted {
            return Err(aborted);
        }
        if let Err(cause) = listed {
            haul.refused(&task.path, &cause);
        }
        let absolute = self.absolute(&task.path);
        let rules = self.rules(&task, marks, &absolute, haul);
        self.sift(&task, first, rules.as_deref(), absolute, &folder, haul, pace)?;
        haul.items[first..].sort_unstable_by(|a, b| {
            a.key.cmp(&b.key).then_with(|| name_of(&haul.names, a).cmp(name_of(&haul.names, b)))
        });
        for index in first..haul.items.len() {
            if haul.items[index].child == 0 {
                continue;
            }
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            let item = &mut haul.items[index];
            item.child = id + 1;
            let ignored = item.bits & IGNORED != 0;
            let mut path = Vec::with_capacity(task.path.len() + 1 + item.length as usize);
            path.extend_from_slice(&task.path);
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name_of(&haul.names, &haul.items[index]));
            own.push(Task { id, path, rules: rules.clone(), ignored, line: line.clone() });
        }
        haul.order(first, task.id, task.path);
        Ok(())
    }

    /// The folder's place among those it lies in; an error when it is one of them.
    fn line(&self, folder: &Folder, task: &Task) -> Result<Option<Arc<Ancestor>>, ()> {
        if !self.options.follow_links {
            return Ok(None);
        }
        let identity = folder.identity().map_err(|_| ())?;
        let mut above = task.line.as_ref();
        while let Some(ancestor) = above {
            if ancestor.identity == identity {
                return Err(());
            }
            above = ancestor.above.as_ref();
        }
        Ok(Some(Arc::new(Ancestor { identity, above: task.line.clone() })))
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

    fn rules(&self, task: &Task, marks: Marks, absolute: &[u8], haul: &mut Haul) -> Option<Arc<Node>> {
        if marks == Marks::default() {
            return task.rules.clone();
        }
        let root = &self.options.root;
        let open = |name: &str| {
            let path = if task.path.is_empty() {
                name.into()
            } else {
                [&task.path, b"/".as_slice(), name.as_bytes()].concat()
            };
            // Only a regular file is opened: a pipe of that name would block.
            match sys::target_type(root, &path) {
                Some(FileType::File) => sys::open_file(root, &path),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        };
        let folder = sys::path_of(&absolute[..absolute.len() - usize::from(absolute.len() > 1)]).into_owned();
        let mut warnings = Vec::new();
        let rules = self.context.enter(task.rules.clone(), marks, &folder, open, &mut warnings);
        warnings.into_iter().for_each(|warning| haul.warn(warning));
        rules
    }

    /// Drops what the options leave out, marks what is ignored, and asks for the details of the rest.
    #[allow(clippy::too_many_arguments, reason = "the parts of one folder's state, borrowed apart")]
    fn sift(
        &self,
        task: &Task,
        first: usize,
        rules: Option<&Node>,
        mut absolute: Vec<u8>,
        folder: &Folder,
        haul: &mut Haul,
        pace: &mut Pace<'_>,
    ) -> Result<(), Aborted> {
        let options = self.options;
        let stem = absolute.len();
        let mut kept = first;
        for index in first..haul.items.len() {
            pace.step()?;
            let item = &mut haul.items[index];
            let name = &haul.names[item.start..item.start + item.length as usize];
            let is_dir = item.bits == bits_of(FileType::Dir);
            let mut said = None;
            if let Some(rules) = rules {
                absolute.truncate(stem);
                absolute.extend_from_slice(name);
                said = rules.verdict(&absolute, name, is_dir);
            }
            let ignored = task.ignored || said == Some(Verdict::Ignore);
            let kept_by_rule = options.gitignore && said == Some(Verdict::Keep);
            if (ignored && options.gitignore)
                || (!options.hidden && name[0] == b'.' && !kept_by_rule)
                || (is_dir && options.skip_node_modules && name == b"node_modules")
            {
                continue;
            }
            if options.detail == Detail::Full {
                match folder.detail(name) {
                    Some(detail) => item.detail = detail,
                    // It is gone by now.
                    None => continue,
                }
            }
            let link = item.bits == bits_of(FileType::Symlink);
            let enter = is_dir || (link && options.follow_links && folder.target_type(name) == Some(FileType::Dir));
            if enter {
                if task.path.len() + name.len() < LONGEST {
                    item.child = 1;
                } else {
                    let shown = String::from_utf8_lossy(&task.path[..100.min(task.path.len())]).into_owned();
                    haul.warn(format!("failed to read a folder below {shown:?}…: its path is longer than 32 KiB"));
                }
            }
            let item = &mut haul.items[index];
            item.bits |= if ignored { IGNORED } else { 0 };
            haul.items.swap(kept, index);
            kept += 1;
        }
        haul.items.truncate(kept);
        Ok(())
    }
}
