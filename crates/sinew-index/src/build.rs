//! Builds parts: reads the files that no part knows and puts them into segments, while calls go on.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelToken, Result};
use sinew_pool::Pool;
use sinew_walk::{FileType, Stamp, TreeFiles};

use crate::index::{Held, Index, lock};
use crate::kind::{MAX_TEXT, is_secret, kind_of};
use crate::list::IdSet;
use crate::part::{Part, stamp_number};
use crate::postings::PostingsBuilder;
use crate::segment::{FileKind, FileRecord, Segment, SegmentId};
use crate::store::{Storage, Store};
use crate::touched::Touched;

/// The memory for grams at which a thread closes its part, in bytes.
const PART: usize = 48 << 20;
/// The documents at which a thread closes its part.
const DOCUMENTS: u32 = 200_000;
/// The number of parts beyond which all are made anew.
const PARTS: usize = 64;
/// The number of files that a thread takes at a time.
const SHARE: usize = 64;
/// The length of the engine's first read.
const FIRST: u64 = 64 << 10;

/// The parts of a build that reads and writes files while calls go on.
struct Task {
    paths: Vec<Vec<u8>>,
    files: TreeFiles,
    /// The key of the stamps and the id of the segments.
    key: [u8; 16],
    next_segment: AtomicU32,
    /// None where the segments stay in memory.
    store: Option<Arc<Store>>,
}

impl Index {
    /// Reads the files that the parts do not know as they are now and puts them into parts. Calls go on meanwhile and never wait.
    /// A file that changes while it is read is left out. Looks at `cancel` before each file.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn build(&self, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let _one = lock(&self.build, cancel)?;
        let Some(task) = self.begin_build(pool, cancel)? else { return Ok(()) };
        let parts = task.read(pool, cancel)?;
        let mut state = lock(&self.state, cancel)?;
        // What was heard until now is noted for the new parts too.
        self.barrier(&mut state, pool, cancel)?;
        // Else the root is another folder by now.
        let Some(held) = state.held.as_mut().filter(|held| held.key == task.key) else { return Ok(()) };
        held.next_segment = task.next_segment.load(Ordering::Relaxed);
        held.adopt(parts, pool, cancel)?;
        let numbers: Vec<u32> = held.parts.iter().filter(|part| part.on_disk).map(|part| part.number).collect();
        self.note_status(&state);
        drop(state);
        // What cannot be named stays in use for as long as this process has it open.
        let failed = task.store.is_some_and(|store| store.publish(&numbers).is_err());
        if failed {
            let mut state = lock(&self.state, cancel)?;
            state.held.iter_mut().for_each(|held| held.store = None);
            self.note_status(&state);
        }
        Ok(())
    }

    /// Collects the files of the tree that no part knows as they are, in path order. From now on what is heard is noted.
    fn begin_build(&self, pool: &Pool, cancel: &CancelToken) -> Result<Option<Task>> {
        let mut state = lock(&self.state, cancel)?;
        if !self.barrier(&mut state, pool, cancel)? {
            return Ok(None);
        }
        let Some(held) = &mut state.held else { return Ok(None) };
        held.drop_stale_parts();
        let options = held.tree.options().clone();
        let Some(scan) = held.tree.scan(&options, cancel)? else { return Ok(None) };
        let Ok(files) = held.tree.files() else { return Ok(None) };
        let known = |path: &[u8]| {
            held.parts.iter().any(|part| part.file(path).is_some_and(|number| part.current.contains(number)))
        };
        let unknown = scan.scan.iter().filter(|entry| entry.file_type() == FileType::File && !known(entry.bytes()));
        let paths = unknown.map(|entry| entry.bytes().to_vec()).collect();
        held.building = Some(Touched::default());
        Ok(Some(Task {
            paths,
            files,
            key: held.key,
            next_segment: AtomicU32::new(held.next_segment),
            store: held.store.clone().filter(|store| store.is_writer()),
        }))
    }
}

impl Held {
    /// Adds parts and looks at the files of which something was heard since they were read.
    fn adopt(&mut self, parts: Vec<Part>, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let heard = self.building.take().unwrap_or(Touched { all: true, ..Touched::default() });
        for mut part in parts {
            // As they were read, but for those that are looked at below.
            part.current = IdSet::full(part.current.limit());
            self.parts.push(part);
        }
        self.look_at(&heard, pool, cancel)
    }

    /// Gives up parts that are too many or of which most files have changed.
    fn drop_stale_parts(&mut self) {
        if self.parts.len() > PARTS {
            self.parts.clear();
        }
        self.parts.retain(|part| part.current.len() * 2 > part.files().len());
    }
}

impl Task {
    /// Reads the files into parts on all threads.
    fn read(&self, pool: &Pool, cancel: &CancelToken) -> Result<Vec<Part>, Aborted> {
        let paths = &self.paths;
        let next = AtomicUsize::new(0);
        let done: Mutex<(Vec<Part>, Option<Aborted>)> = Mutex::default();
        pool.broadcast((paths.len() / SHARE).min(pool.size().saturating_sub(1)), |_| {
            let mut part = PartBuilder::new(&self.key);
            loop {
                let first = next.fetch_add(SHARE, Ordering::Relaxed);
                if first >= paths.len() {
                    break;
                }
                for path in &paths[first..paths.len().min(first + SHARE)] {
                    if let Err(aborted) = cancel.check() {
                        done.lock().1 = Some(aborted);
                        return;
                    }
                    part.add(&self.files, path);
                    if part.is_full() {
                        let full = std::mem::replace(&mut part, PartBuilder::new(&self.key));
                        let full = self.finish(full);
                        done.lock().0.extend(full);
                    }
                }
            }
            let last = self.finish(part);
            done.lock().0.extend(last);
        });
        let (parts, aborted) = done.into_inner();
        aborted.map_or(Ok(parts), Err)
    }

    /// Makes the segment of a part, on disk where that is possible.
    fn finish(&self, part: PartBuilder<'_>) -> Option<Part> {
        if part.records.is_empty() {
            return None;
        }
        let number = self.next_segment.fetch_add(1, Ordering::Relaxed);
        let id = SegmentId { index: self.key, number };
        let bytes = part.postings.build().write_segment(&part.records, id, Vec::new()).ok()?;
        let written = self.store.as_ref().and_then(|store| store.write_segment(number, &bytes).ok());
        let on_disk = written.is_some();
        let segment = written.or_else(|| Segment::open(Storage::Memory(bytes), id).ok())?;
        let mut made = Part::new(segment, number, on_disk);
        made.linked = part.linked;
        Some(made)
    }
}

/// Collects the files of one part, in path order.
struct PartBuilder<'a> {
    key: &'a [u8; 16],
    postings: PostingsBuilder,
    records: Vec<FileRecord>,
    linked: Vec<u32>,
    content: Vec<u8>,
}

impl PartBuilder<'_> {
    fn new(key: &[u8; 16]) -> PartBuilder<'_> {
        PartBuilder {
            key,
            postings: PostingsBuilder::new(),
            records: Vec::new(),
            linked: Vec::new(),
            content: Vec::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.postings.pending_bytes() >= PART || self.postings.documents() >= DOCUMENTS
    }

    /// Adds a file; one that cannot be read, or that changes meanwhile, is left out.
    fn add(&mut self, files: &TreeFiles, path: &[u8]) {
        let Ok((kind, stamp)) = self.read(files, path) else { return };
        let number = match kind {
            FileKind::Text => self.postings.add(&self.content),
            FileKind::Binary | FileKind::Odd => self.postings.add_without_grams(),
        };
        if stamp.links > 1 {
            self.linked.push(number);
        }
        let proof = if stamp.is_settled() { stamp_number(&stamp, self.key) } else { 0 };
        self.records.push(FileRecord { path: path.to_vec(), kind, stamp: proof });
    }

    fn read(&mut self, files: &TreeFiles, path: &[u8]) -> io::Result<(FileKind, Stamp)> {
        let mut file = files.open(path)?;
        let before = Stamp::of_file(&file)?;
        if !before.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if before.size > MAX_TEXT || is_secret(&path[path.len() - name_length(path)..]) {
            return Ok((FileKind::Odd, before));
        }
        self.content.clear();
        (&mut file).take(FIRST).read_to_end(&mut self.content)?;
        let mut kind = kind_of(&self.content);
        if kind != FileKind::Binary {
            (&mut file).take(MAX_TEXT).read_to_end(&mut self.content)?;
            kind = kind_of(&self.content);
        }
        if Stamp::of_file(&file)? != before {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok((kind, before))
    }
}

/// Returns the length of the last name of a path.
fn name_length(path: &[u8]) -> usize {
    memchr::memrchr(b'/', path).map_or(path.len(), |cut| path.len() - cut - 1)
}
