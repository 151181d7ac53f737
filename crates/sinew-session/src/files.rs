//! Reads untrusted files without blocking and with a size limit; updates small files that several processes may change:
//! they are read under a lock and replaced atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sinew_base::{Error, ErrorCode, Result, read_limited};

use crate::paths::beside;

/// Opens a regular file for reading. Neither opening nor reading blocks: some system files, such as `/proc/kmsg`, look
/// regular but are endless.
///
/// # Errors
/// Returns the system's error, `IsADirectory` for a directory, and `InvalidInput` for a pipe, a socket or a device.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, i32::try_from(NO_WAIT.bits()).unwrap_or_default());
    // Opening a device may have side effects, and a socket cannot be opened.
    plain(&fs::metadata(path)?)?;
    let file = options.open(path)?;
    plain(&file.metadata()?)?;
    Ok(file)
}

/// Returns the link-free path of an open file or directory. `path` is the path it was opened with, for systems that do
/// not report it.
///
/// # Errors
/// Returns the system's error, and `NotFound` if `path` leads to something else by now.
pub fn opened_path(file: &File, path: &Path) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        if let Ok(found) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
            let removed = || std::os::unix::fs::MetadataExt::nlink(&file.metadata().ok()?).eq(&0).then_some(());
            let bare = found.as_os_str().as_bytes().strip_suffix(b" (deleted)").map(<[u8]>::to_vec);
            return Ok(match bare.filter(|_| removed().is_some()) {
                Some(bare) => PathBuf::from(std::ffi::OsString::from_vec(bare)),
                None => found,
            });
        }
    }
    let found = fs::canonicalize(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (one, other) = (file.metadata()?, fs::metadata(&found)?);
        if (one.dev(), one.ino()) != (other.dev(), other.ino()) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "its path leads elsewhere by now"));
        }
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(found)
}

#[cfg(unix)]
const NO_WAIT: rustix::fs::OFlags = rustix::fs::OFlags::NONBLOCK.union(rustix::fs::OFlags::NOCTTY);

/// Checks for a regular file.
///
/// # Errors
/// Returns `IsADirectory` for a directory, and `InvalidInput` for a pipe, a socket or a device.
pub fn plain(facts: &fs::Metadata) -> io::Result<()> {
    match facts.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, a socket or a device")),
    }
}

/// Reads a regular file of at most `most` bytes. Never blocks.
///
/// # Errors
/// Returns the errors of [`open_plain`], and `FileTooLarge` if it is larger.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {}", size_text(most)));
    read_limited(open_plain(path)?, most)?.ok_or_else(too_large)
}

/// Reads a hand-written regular text file of at most 1 MB. Never blocks.
///
/// # Errors
/// Returns the errors of [`read_plain`], and `InvalidData` if it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    const MOST: u64 = 1 << 20;
    String::from_utf8(read_plain(path, MOST)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8"))
}

/// Writes a file that only its owner can read; creates its directory if it is missing.
///
/// # Errors
/// Returns the system's error.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    private(OpenOptions::new().write(true).create(true).truncate(true), path)?.write_all(text.as_bytes())
}

/// Updates a text file: `change` receives the current text (`None` if the file is missing) and returns the new text.
/// Other processes wait in the meantime; a reader sees either the old text or the new one. A link stays a link. Only
/// the owner can access new files and directories.
///
/// # Errors
/// Returns the system's error or that of `change`; the file is then unchanged. A file that is not text is not replaced.
pub fn update(path: &Path, change: impl FnOnce(Option<&str>) -> Result<String>) -> Result<()> {
    update_bytes(path, |old| {
        let old = old.map(|old| {
            let refused = |_| {
                let text = format!("failed to read {}: not UTF-8", target(path).display());
                Error::new(ErrorCode::InvalidData, text)
            };
            std::str::from_utf8(old).map_err(refused)
        });
        change(old.transpose()?)
    })
}

/// Updates a file as [`update`] does, with any current content.
///
/// # Errors
/// Returns the errors of [`update`].
pub fn update_bytes(path: &Path, change: impl FnOnce(Option<&[u8]>) -> Result<String>) -> Result<()> {
    let path = target(path);
    let fail = |error: io::Error| Error::io(format!("failed to write {}", path.display()), &error);
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder(folder).map_err(fail)?;
    let lock = private(OpenOptions::new().create(true).truncate(false), &beside(&path, ".lock")).map_err(fail)?;
    lock.lock().map_err(fail)?;
    let old = match fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::io(format!("failed to read {}", path.display()), &error)),
    };
    let new = change(old.as_deref())?;
    let mut temporary = tempfile::Builder::new().prefix(".sinew-").tempfile_in(folder).map_err(fail)?;
    temporary.write_all(new.as_bytes()).and_then(|()| temporary.as_file().sync_all()).map_err(fail)?;
    if let Ok(facts) = fs::metadata(&path) {
        temporary.as_file().set_permissions(facts.permissions()).map_err(fail)?;
    }
    temporary.persist(&path).map_err(|error| fail(error.error))?;
    Ok(())
}

/// Creates a directory with its parents that only its owner can access.
///
/// # Errors
/// Returns the system's error.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for writing; only its owner can access a new one.
///
/// # Errors
/// Returns the system's error.
pub fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.write(true).open(path)
}

/// Returns the target of a link, so that renaming replaces the file instead of the link.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Formats a number of bytes: `512 B`, `1.2 KB`, `3.4 MB`.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[allow(clippy::cast_precision_loss, reason = "only one decimal digit is shown")]
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let text = format!("{value:.1}");
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_updates_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/count");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        update(&path, |old| Ok(format!("{}x", old.unwrap_or_default()))).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "x".repeat(80));
        let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.count(), 2, "the file and its lock");
    }

    #[cfg(unix)]
    #[test]
    fn updates_keep_links_and_create_private_files() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        update(&real, |old| Ok(old.map_or("one", |_| "other").into())).unwrap();
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink(&real, &link).unwrap();
        update(&link, |old| Ok(format!("{} two", old.unwrap()))).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "one two");
        let refused = update(&real, |_| Err(Error::new(ErrorCode::InvalidArgument, "no")));
        assert_eq!(refused.unwrap_err().message(), "no");
        assert_eq!(fs::read_to_string(&real).unwrap(), "one two");
    }

    #[test]
    fn only_update_bytes_replaces_a_file_that_is_not_utf8() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"\xff").unwrap();
        let refused = update(&path, |_| Ok("new".into())).unwrap_err();
        assert_eq!(refused.message(), format!("failed to read {}: not UTF-8", path.display()));
        assert_eq!(fs::read(&path).unwrap(), b"\xff");
        update_bytes(&path, |old| Ok(format!("{old:?}"))).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "Some([255])");
    }

    #[test]
    fn sizes_are_formatted_briefly() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KB"),
            (1_258_291, "1.2 MB"),
            (1_048_575, "1 MB"),
            (5 << 30, "5 GB"),
        ] {
            assert_eq!(size_text(bytes), text);
        }
    }
}
