//! A walk in path order that reads directories on demand, so that the first files are known before the last directory
//! is listed, and a search with enough results stops reading.
//!
//! The walk keeps a position in path order: all files before it have been returned. When a thread requests the next
//! step, it gets the files at this position. If the next directory is unread, it gets the task to read it. If another
//! thread is reading that directory, it gets a later one.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelTicker, CancelToken, Result};

use super::reader::{FolderReader, Task};
use super::worker_output::{WARNINGS, WorkerOutput, finish_warnings, name_of};
use crate::entry::{TYPE, bits_of};
use crate::{FileType, ScanOptions, Scope, sys};

/// The maximum number of directories kept open, whose files are opened without resolving the path above them. Several
/// concurrent walks have to stay within the usual 1,024 descriptors of a process.
const MAX_OPEN_FOLDERS: usize = 16;

/// The files below a directory in path order, read on demand by any number of threads.
pub struct OrderedWalk {
    reader: FolderReader,
    state: Mutex<State>,
    open_folders: Arc<AtomicUsize>,
}

/// The work of one call of [`OrderedWalk::read`].
pub struct FolderTask(Task);

/// The next step of a walk.
pub enum WalkStep {
    /// Files to process. The steps of all threads together contain every file once, in path order.
    Files(FileBatch),
    /// A directory to read.
    Folder(FolderTask),
    /// No work until another thread has read a directory.
    Wait,
    /// No files are left.
    End,
}

/// Consecutive files of one directory, in path order.
pub struct FileBatch {
    folder: Arc<ReadFolder>,
    steps: Range<usize>,
    /// The warnings of the directories before these files and after the previous batch.
    pub warnings: WalkWarnings,
}

/// A file of a walk.
#[derive(Clone, Copy)]
pub struct WalkFile<'a> {
    folder: &'a ReadFolder,
    name: &'a [u8],
}

/// Sentences about directories and ignore files that could not be read: at most 100, and the number of further ones.
#[derive(Debug, Clone, Default)]
pub struct WalkWarnings {
    sentences: Vec<String>,
    more: usize,
}

struct State {
    /// Indexed by the number of the directory.
    slots: Vec<Slot>,
    /// The numbers of directories that may be unread; the next in path order is the last.
    unread: Vec<u32>,
    /// The directories on the path of the current position, each with its next step.
    position: Vec<(Arc<ReadFolder>, usize)>,
    warnings: WalkWarnings,
}

enum Slot {
    Unread(Task),
    Reading,
    Read(Arc<ReadFolder>),
    Passed,
}

/// The listing of one directory.
struct ReadFolder {
    path: Vec<u8>,
    output: WorkerOutput,
    open: Option<OpenFolder>,
}

/// An open directory; the number of open ones is counted.
struct OpenFolder {
    handle: sys::Folder,
    count: Arc<AtomicUsize>,
}

impl Drop for OpenFolder {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OrderedWalk {
    /// Opens the directory of `options`. Reads nothing below it yet.
    ///
    /// # Errors
    /// Returns an error if the root does not exist, is not a directory or cannot be read.
    pub fn open(options: &ScanOptions) -> Result<OrderedWalk> {
        OrderedWalk::open_within(options, None)
    }

    /// Opens the directory as [`OrderedWalk::open`] does, but the walk reads only the directories of `scope`, and may
    /// leave out files outside it.
    ///
    /// # Errors
    /// Returns the errors of [`OrderedWalk::open`].
    pub fn open_within(options: &ScanOptions, scope: Option<Scope>) -> Result<OrderedWalk> {
        let (mut reader, first, sentences) = FolderReader::open(options.clone().canonical()?)?;
        reader.scope = scope;
        // A parent of the root, so that the root is read like any other directory.
        let mut around = WorkerOutput::default();
        around.push(b"", FileType::Dir);
        around.items[0].child = 1;
        around.order(0, 0, Vec::new());
        let around = ReadFolder { path: Vec::new(), output: around, open: None };
        let mut walk = OrderedWalk {
            reader,
            state: Mutex::new(State {
                slots: vec![Slot::Unread(first)],
                unread: Vec::new(),
                position: Vec::new(),
                warnings: WalkWarnings { sentences, more: 0 },
            }),
            open_folders: Arc::default(),
        };
        // Its first step is the directory itself, the second everything below it.
        let state = walk.state.get_mut();
        state.position.push((Arc::new(around), 1));
        Ok(walk)
    }

    /// Returns the directory that paths are relative to, with all links resolved.
    #[must_use]
    pub fn root(&self) -> &std::path::Path {
        &self.reader.options.root
    }

    /// Returns the next step, with at most `most` files. A step contains at most 1/`parts` of the files that are ready,
    /// so that other threads get some.
    pub fn next(&self, most: usize, parts: usize) -> WalkStep {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        loop {
            let Some((folder, step)) = state.position.last_mut() else { return WalkStep::End };
            let steps = &folder.output.steps()[*step..];
            match steps.first() {
                None => {
                    state.position.pop();
                }
                Some(next) if next & 1 == 0 => {
                    let parts = parts.max(1);
                    let at_hand =
                        steps.iter().take(most.saturating_mul(parts)).take_while(|step| *step & 1 == 0).count();
                    let count = (at_hand / parts).clamp(1, most.max(1));
                    let first = *step;
                    *step += count;
                    return WalkStep::Files(FileBatch {
                        folder: Arc::clone(folder),
                        steps: first..first + count,
                        warnings: std::mem::take(&mut state.warnings),
                    });
                }
                Some(below) => {
                    let number = folder.output.items[below >> 1].child as usize - 1;
                    match std::mem::replace(&mut state.slots[number], Slot::Reading) {
                        Slot::Unread(task) => return WalkStep::Folder(FolderTask(task)),
                        Slot::Reading => return state.read_ahead(),
                        Slot::Read(child) => {
                            *step += 1;
                            state.slots[number] = Slot::Passed;
                            state.warnings.add(child.output.warnings());
                            state.position.push((child, 0));
                        }
                        // A directory is passed once.
                        Slot::Passed => *step += 1,
                    }
                }
            }
        }
    }

    /// Reads the directory of a step. Files are excluded if `select`, called with the path and the name, returns false.
    ///
    /// # Errors
    /// Returns an error if the walk is cancelled; no thread then gets further than this directory.
    pub fn read(
        &self,
        task: FolderTask,
        buffer: &mut Vec<u8>,
        select: impl Fn(&[u8], &[u8]) -> bool,
        cancel: &CancelToken,
    ) -> Result<(), Aborted> {
        let FolderTask(task) = task;
        let number = task.id as usize;
        let (mut tasks, mut output) = (Vec::new(), WorkerOutput::default());
        let mut ticker = CancelTicker::new(cancel);
        let handle = self.reader.read(task, &mut tasks, &mut output, buffer, &mut ticker)?;
        let path = output.take_path();
        let mut full = path.clone();
        full.extend((!path.is_empty()).then_some(b'/'));
        let stem = full.len();
        let mut aborted = None;
        output.retain_steps(|names, item| {
            aborted = aborted.or(ticker.step().err());
            if aborted.is_some() || item.bits & TYPE != bits_of(FileType::File) {
                return false;
            }
            let name = name_of(names, item);
            full.truncate(stem);
            full.extend_from_slice(name);
            select(&full, name)
        });
        if let Some(aborted) = aborted {
            return Err(aborted);
        }
        let has_files = output.steps().iter().any(|step| step & 1 == 0);
        let open = handle.filter(|_| has_files).and_then(|handle| self.keep_open(handle));
        let folder = Arc::new(ReadFolder { path, output, open });
        let mut state = self.state.lock();
        for task in tasks.into_iter().rev() {
            let child = task.id as usize;
            state.unread.push(task.id);
            if state.slots.len() <= child {
                state.slots.resize_with(child + 1, || Slot::Passed);
            }
            state.slots[child] = Slot::Unread(task);
        }
        state.slots[number] = Slot::Read(folder);
        Ok(())
    }

    fn keep_open(&self, handle: sys::Folder) -> Option<OpenFolder> {
        let claim = |open: usize| (open < MAX_OPEN_FOLDERS).then_some(open + 1);
        self.open_folders.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim).ok()?;
        Some(OpenFolder { handle, count: Arc::clone(&self.open_folders) })
    }

    /// Opens a file for reading. A pipe that replaced it does not block.
    ///
    /// # Errors
    /// Returns an error if the system cannot open the file.
    pub fn open_file(&self, file: WalkFile<'_>) -> io::Result<File> {
        match &file.folder.open {
            Some(folder) => folder.handle.open_file(file.name),
            None => self.reader.handle.open_file(&file.path()),
        }
    }

    /// Returns the warnings of the directories after the last files; all of them once a step was [`WalkStep::End`].
    #[must_use]
    pub fn take_warnings(&self) -> WalkWarnings {
        std::mem::take(&mut self.state.lock().warnings)
    }
}

impl State {
    /// Returns the next unread directory after the current position.
    fn read_ahead(&mut self) -> WalkStep {
        while let Some(number) = self.unread.pop() {
            let slot = &mut self.slots[number as usize];
            if matches!(slot, Slot::Unread(_))
                && let Slot::Unread(task) = std::mem::replace(slot, Slot::Reading)
            {
                return WalkStep::Folder(FolderTask(task));
            }
        }
        WalkStep::Wait
    }
}

impl FileBatch {
    /// Returns the files, in path order.
    pub fn files(&self) -> impl ExactSizeIterator<Item = WalkFile<'_>> {
        let output = &self.folder.output;
        let steps = output.steps()[self.steps.clone()].iter();
        steps.map(|step| WalkFile { folder: &self.folder, name: name_of(&output.names, &output.items[step >> 1]) })
    }
}

impl WalkFile<'_> {
    /// Returns the path relative to the root, as the system reported it, with `/` on every platform.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.folder.path.len() + 1 + self.name.len());
        path.extend_from_slice(&self.folder.path);
        path.extend((!path.is_empty()).then_some(b'/'));
        path.extend_from_slice(self.name);
        path
    }
}

impl WalkWarnings {
    /// Adds the warnings of later directories.
    pub fn append(&mut self, later: WalkWarnings) {
        self.more += later.more;
        self.add((&later.sentences, 0));
    }

    /// Adds a warning.
    pub fn push(&mut self, sentence: String) {
        self.add((&[sentence], 0));
    }

    fn add(&mut self, (sentences, more): (&[String], usize)) {
        let room = WARNINGS.saturating_sub(self.sentences.len()).min(sentences.len());
        self.sentences.extend_from_slice(&sentences[..room]);
        self.more += more + sentences.len() - room;
    }

    /// Returns the warnings in the order of a [`crate::Scan`]: sorted, at most 101.
    #[must_use]
    pub fn into_sentences(self) -> Vec<String> {
        finish_warnings(self.sentences, self.more)
    }
}
