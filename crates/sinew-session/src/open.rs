//! Opens session files: for writing, with a lock, or for reading only. A file that is not a session is never
//! overwritten.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use sinew_base::{Error, ErrorCode, Result};

use super::depth::DEEPEST;
use super::entry::{Header, VERSION};
use super::index::{self, Index};
use super::migrate;
use super::paths::{beside, stamp};
use super::store::{INCOMPLETE, Session, SessionOptions, explain};
use super::writer::{WriteRefusal, Writer, replace};
use crate::files::{self, open_plain};

/// An opened session with warnings for the user.
pub struct OpenedSession {
    /// The session.
    pub session: Session,
    /// One sentence each: skipped lines, a file that was moved aside, a migration.
    pub warnings: Vec<String>,
    /// A session with the entries that could be recovered from a damaged file; `None` if there are none.
    pub recovered: Option<PathBuf>,
}

impl Session {
    /// Opens the file at `path`; if it is missing, creates a new session there. A file that is not a session is moved
    /// aside, never overwritten. Older versions are migrated, with a backup `.v<n>.bak`. A file without write
    /// permission, or of a newer version, is opened for reading. Needs one pass over the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, and `ERR_INVALID_STATE` if another process is writing it: fork it
    /// in this case.
    pub fn open(path: &Path, options: SessionOptions) -> Result<OpenedSession> {
        let mut warnings = Vec::new();
        let failed = |cause: &io::Error| Error::io(format!("failed to open the session {}", path.display()), cause);
        check_kind(path)?;
        // The lock comes first, so that the content read under it is current.
        let mut writer = match Writer::open(path, options.sync) {
            Ok(writer) => writer,
            Err(WriteRefusal::Io(cause)) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok(fresh(path, options, warnings, None));
            }
            Err(WriteRefusal::Io(cause)) if is_protected(&cause) => {
                let mut opened = Session::view(path, options)?;
                let warning = format!("{} may not be written ({cause}): it is opened for reading", path.display());
                opened.warnings.insert(0, warning);
                return Ok(opened);
            }
            Err(refused) => return Err(explain(path, refused)),
        };
        let mut reader = writer.reader().map_err(|cause| failed(&cause))?;
        let mut index = index::read(&reader).map_err(|cause| failed(&cause))?;
        match shape(&index, &reader).map_err(|cause| failed(&cause))? {
            Shape::Current | Shape::Newer => {}
            Shape::Foreign if path.extension().is_none_or(|end| end != "jsonl") => {
                return Err(Error::invalid(format!(
                    "{} is not a session file: it is left as it is. Name one that ends with .jsonl, or none that exists.",
                    path.display()
                )));
            }
            Shape::Foreign => {
                let (aside, recovered) = set_aside(path, &reader, &options).map_err(|cause| failed(&cause))?;
                warnings.push(format!("{} is not a session file: it was kept as {}", path.display(), aside.display()));
                drop(writer);
                return Ok(fresh(path, options, warnings, recovered));
            }
            Shape::Older(version) => {
                let lines = current_lines(&reader, &options).map_err(|cause| failed(&cause))?;
                fs::copy(path, beside(path, &format!(".v{version}.bak"))).map_err(|cause| failed(&cause))?;
                replace(path, |out| put(out, &lines)).map_err(|cause| failed(&cause))?;
                warnings.push(format!(
                    "{} was brought to version {VERSION}; the old file is kept beside it",
                    path.display()
                ));
                writer = Writer::open(path, options.sync).map_err(|refused| explain(path, refused))?;
                reader = writer.reader().map_err(|cause| failed(&cause))?;
                index = index::read(&reader).map_err(|cause| failed(&cause))?;
            }
        }
        let mark = beside(path, INCOMPLETE);
        if mark.exists() {
            warnings.push(format!("{} lacks its end: the disk refused it when it was written", path.display()));
            // A leftover marker only causes another warning.
            let _ = fs::remove_file(&mark);
        }
        let mut session = made(path, options, index, reader, &mut warnings);
        // Other processes must not be blocked from a file that is only read.
        session.writer = (!session.read_only).then_some(writer);
        Ok(OpenedSession { session, warnings, recovered: None })
    }

    /// Opens the file at `path` for reading, even if another process is writing it: no lock is acquired and nothing on
    /// disk is changed. Entries cannot be added: [`Session::append`] stores them in memory and returns an error.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a session.
    pub fn view(path: &Path, options: SessionOptions) -> Result<OpenedSession> {
        let failed = |cause: &io::Error| Error::io(format!("failed to open the session {}", path.display()), cause);
        check_kind(path)?;
        let mut reader = open_plain(path).map_err(|cause| failed(&cause))?;
        let mut index = index::read(&reader).map_err(|cause| failed(&cause))?;
        let mut warnings = Vec::new();
        match shape(&index, &reader).map_err(|cause| failed(&cause))? {
            Shape::Current | Shape::Newer => {}
            Shape::Foreign => {
                let message = format!("{} is not a session file", path.display());
                return Err(Error::new(ErrorCode::InvalidData, message));
            }
            Shape::Older(_) => {
                let lines = current_lines(&reader, &options).map_err(|cause| failed(&cause))?;
                let migrated = || {
                    let mut file = tempfile::tempfile()?;
                    let mut out = io::BufWriter::new(&file);
                    put(&mut out, &lines)?;
                    drop(out);
                    file.rewind()?;
                    Ok(file)
                };
                reader = migrated().map_err(|cause| failed(&cause))?;
                index = index::read(&reader).map_err(|cause| failed(&cause))?;
            }
        }
        let mut session = made(path, options, index, reader, &mut warnings);
        session.read_only = true;
        Ok(OpenedSession { session, warnings, recovered: None })
    }
}

/// Checks for a regular file, because others may be endless.
pub(super) fn check_kind(path: &Path) -> Result<()> {
    match fs::metadata(path).and_then(|facts| files::plain(&facts)) {
        Err(cause) if matches!(cause.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput) => {
            Err(Error::invalid(format!("{} is not a session file: {cause}", path.display())))
        }
        // Opening reports missing files and missing permissions.
        _ => Ok(()),
    }
}

/// The format of a file's content.
enum Shape {
    Current,
    Newer,
    /// Version 1, 2, or 0 for lines without a header.
    Older(u64),
    Foreign,
}

fn shape(index: &Index, file: &File) -> io::Result<Shape> {
    Ok(match &index.header {
        Some(header) if header.version > VERSION => Shape::Newer,
        Some(header) if header.version < VERSION => Shape::Older(header.version),
        Some(_) => Shape::Current,
        // An empty file gets its header with the first message, like a missing one.
        None if index.size == 0 => Shape::Current,
        None if (index.without_id > 0 || !index.tree.nodes.is_empty()) && is_flat(file)? => Shape::Older(0),
        None => Shape::Foreign,
    })
}

fn fresh(path: &Path, options: SessionOptions, warnings: Vec<String>, recovered: Option<PathBuf>) -> OpenedSession {
    let id = format!("{:016x}", options.clock.random());
    OpenedSession { session: Session::create(path.to_path_buf(), id, options), warnings, recovered }
}

fn made(path: &Path, options: SessionOptions, index: Index, reader: File, warnings: &mut Vec<String>) -> Session {
    let Index { header, tree, bad, deep, circles, whole, size, .. } = index;
    let shown = path.display();
    if bad > 0 {
        warnings.push(format!("{shown}: {bad} lines could not be read and were skipped"));
    }
    if deep > 0 {
        warnings.push(format!(
            "{shown}: {deep} entries nest more than {DEEPEST} levels deep; the levels below were left out"
        ));
    }
    if circles > 0 {
        warnings.push(format!("{shown}: {circles} entries named each other as parents; the circle was cut"));
    }
    let id = format!("{:016x}", options.clock.random());
    let mut session = Session::new(id, Some(path.to_path_buf()), options);
    session.begun = header.is_some();
    if let Some(header) = header {
        session.read_only = header.version > VERSION;
        session.header = header;
    }
    if session.read_only {
        warnings.push(format!("{shown} was written by a newer version: it is opened for reading"));
    }
    session.tree = tree;
    session.reader = Some(reader);
    session.whole = (size > 0).then_some(whole);
    session
}

fn is_protected(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Returns true if the lines are messages without a header, as an earlier program wrote them.
fn is_flat(file: &File) -> io::Result<bool> {
    let lines = index::objects(file)?;
    Ok(!lines.is_empty() && lines.iter().all(|line| line.contains_key("role") && line.contains_key("content")))
}

/// Returns the lines of an older file, converted to the current version.
fn current_lines(file: &File, options: &SessionOptions) -> io::Result<Vec<Map<String, Value>>> {
    Ok(migrate::to_current(index::objects(file)?, &options.cwd.to_string_lossy(), &*options.clock).0)
}

fn put(out: &mut impl Write, lines: &[Map<String, Value>]) -> io::Result<()> {
    for line in lines {
        serde_json::to_writer(&mut *out, line)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Moves a file that is not a session aside; its readable entries become a session next to it.
fn set_aside(path: &Path, file: &File, options: &SessionOptions) -> io::Result<(PathBuf, Option<PathBuf>)> {
    let stamp = stamp(options.clock.now());
    let aside = beside(path, &format!(".damaged-{stamp}"));
    let mut lines = index::objects(file)?;
    lines.retain(|line| {
        line.contains_key("id") && line.contains_key("type") && line.get("type") != Some(&Value::from("session"))
    });
    fs::rename(path, &aside)?;
    if lines.is_empty() {
        return Ok((aside, None));
    }
    let id = format!("{:016x}", options.clock.random());
    let recovered = path.with_file_name(format!("{stamp}_{id}.jsonl"));
    let header: Header = Session::new(id, None, options.clone()).header.clone();
    if let Value::Object(header) = serde_json::to_value(&header)? {
        lines.insert(0, header);
    }
    replace(&recovered, |out| put(out, &lines))?;
    Ok((aside, Some(recovered)))
}
