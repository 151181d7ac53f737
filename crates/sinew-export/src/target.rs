//! The path of the page: it never replaces a session, and the file is written completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use memchr::memchr;
use serde_json::Value;
use sinew::base::{Error, ErrorCode, Result};
use sinew_session::Session;

use super::{Options, page};

/// Writes `session` as a page and returns its absolute path. A relative `to` is below `cwd`. If `to` is a directory, or
/// `None` for `cwd`, the file in it is named by [`default_name`]. An existing page is replaced by a rename once the new
/// one is complete. Needs two passes over the session.
///
/// # Errors
/// Returns an error if the session is only in memory, `to` is a session or not a regular file, or writing fails.
pub fn export(session: &Session, options: &Options<'_>, cwd: &Path, to: Option<&Path>) -> Result<PathBuf> {
    let Some(source) = session.path() else {
        return Err(Error::new(ErrorCode::InvalidState, "Cannot export in-memory session to HTML"));
    };
    let mut target = cwd.join(to.unwrap_or(Path::new("")));
    if target.is_dir() {
        target.push(default_name(source));
    }
    check(&target, source)?;
    let failed = |cause: &io::Error| Error::io(format!("failed to write {}", target.display()), cause);
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(cwd);
    let mut builder = tempfile::Builder::new();
    // Only the owner may read a conversation; `tempfile` creates files with such permissions.
    let part = builder.prefix(".sinew-export-").tempfile_in(folder).map_err(|cause| failed(&cause))?;
    let mut out = BufWriter::with_capacity(1 << 16, part.as_file());
    page::write(session, options, &mut out)?;
    out.flush().map_err(|cause| failed(&cause))?;
    drop(out);
    part.persist(&target).map_err(|lost| failed(&lost.error))?;
    Ok(target)
}

/// Returns the name of a page: `sinew-session-<name of the session's file>.html`.
#[must_use]
pub fn default_name(session: &Path) -> String {
    format!("sinew-session-{}.html", session.file_stem().unwrap_or_default().to_string_lossy())
}

/// Returns a path as a user types it after a command, without surrounding blanks and one pair of quotes.
#[must_use]
pub fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text)
}

/// Rejects targets that a page must never replace.
fn check(target: &Path, source: &Path) -> Result<()> {
    let refuse = |why: &str| {
        let message = format!("failed to export to {}: {why}; name another file", target.display());
        Err(Error::invalid(message))
    };
    let facts = match fs::metadata(target) {
        Ok(facts) => facts,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(Error::io(format!("failed to look at {}", target.display()), &cause)),
    };
    if !facts.is_file() {
        return refuse("it is there and no file");
    }
    if let (Ok(target), Ok(source)) = (target.canonicalize(), source.canonicalize())
        && target == source
    {
        return refuse("it is the session itself");
    }
    match is_session(target) {
        Ok(true) => refuse("it is a session"),
        Ok(false) => Ok(()),
        // A file that cannot be read may be a session.
        Err(cause) => Err(Error::io(format!("failed to look at {}", target.display()), &cause)),
    }
}

/// The maximum length of a header that is read.
const LONGEST_HEADER: u64 = 1 << 20;

/// Returns true if the first line of a file is the header of a session.
fn is_session(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(LONGEST_HEADER).read_to_end(&mut start)?;
    let line = &start[..memchr(b'\n', &start).unwrap_or(start.len())];
    let header: Option<Value> = serde_json::from_slice(line).ok();
    Ok(header.is_some_and(|header| header.get("type").and_then(Value::as_str) == Some("session")))
}
