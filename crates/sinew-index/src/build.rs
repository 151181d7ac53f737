//! Builds parts: reads the files that no part knows and puts them into segments, while calls go on.

use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelToken, Result};
use sinew_pool::Pool;
use sinew_walk::{FileType, Stamp, TreeFiles};

use crate::index::{Held, Index};
use crate::kind::{MAX_TEXT, is_secret, kind_of};
use crate::list::IdSet;
use crate::part::{Part, stamp_number};
use crate::postings::PostingsBuilder;
use crate::segment::{FileKind, FileRecord, Segment, SegmentId};
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
/// The name under which segments in memory are written.
const IN_MEMORY: SegmentId = SegmentId { index: [0; 16], number: 0 };

impl Index {
    /// Reads the files that the parts do not know as they are now and puts them into parts. Calls go on meanwhile and never wait.
    /// A file that changes while it is read is left out. Looks at `cancel` before each file.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn build(&self, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let _one = self.build.lock();
        let Some((paths, files, key)) = self.unknown(pool, cancel)? else { return Ok(()) };
        let parts = read(&paths, &files, &key, pool, cancel)?;
        let mut state = self.lock(cancel)?;
        // What was heard until now is noted for the new parts too.
        self.barrier(&mut state, pool, cancel)?;
        match &mut state.held {
            // Else the root is another folder by now.
            Some(held) if held.key == key => held.adopt(parts, pool, cancel),
            _ => Ok(()),
        }
    }

    /// Returns the files of the tree that no part knows as they are, in path order, what they are opened by, and the key of the
    /// stamps. From now on what is heard is noted.
    #[allow(clippy::type_complexity, reason = "three values, used once")]
    fn unknown(&self, pool: &Pool, cancel: &CancelToken) -> Result<Option<(Vec<Vec<u8>>, TreeFiles, [u8; 16])>> {
        let mut state = self.lock(cancel)?;
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
        Ok(Some((paths, files, held.key)))
    }
}

impl Held {
    /// Adds parts and looks at the files of which something was heard since they were read.
    fn adopt(&mut self, parts: Vec<Part>, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let heard = self.building.take().unwrap_or(Touched { all: true, ..Touched::default() });
        self.parts.extend(parts);
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

/// Reads files into parts on all threads.
fn read(
    paths: &[Vec<u8>],
    files: &TreeFiles,
    key: &[u8; 16],
    pool: &Pool,
    cancel: &CancelToken,
) -> Result<Vec<Part>, Aborted> {
    let next = AtomicUsize::new(0);
    let done: Mutex<(Vec<Part>, Option<Aborted>)> = Mutex::default();
    pool.broadcast((paths.len() / SHARE).min(pool.size().saturating_sub(1)), |_| {
        let mut part = PartBuilder::new(key);
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
                part.add(files, path);
                if part.is_full() {
                    let full = std::mem::replace(&mut part, PartBuilder::new(key));
                    done.lock().0.extend(full.finish());
                }
            }
        }
        done.lock().0.extend(part.finish());
    });
    let (parts, aborted) = done.into_inner();
    aborted.map_or(Ok(parts), Err)
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

    fn finish(self) -> Option<Part> {
        if self.records.is_empty() {
            return None;
        }
        let bytes = self.postings.build().write_segment(&self.records, IN_MEMORY, Vec::new()).ok()?;
        let segment = Segment::open(bytes, IN_MEMORY).ok()?;
        let current = IdSet::full(u32::try_from(self.records.len()).ok()?);
        Some(Part::new(segment, current, self.linked))
    }
}

/// Returns the length of the last name of a path.
fn name_length(path: &[u8]) -> usize {
    memchr::memrchr(b'/', path).map_or(path.len(), |cut| path.len() - cut - 1)
}
