//! Paths of a patch: relative, without `..`, and never inside the directory of a version control system.

use std::fmt;

use sinew_base::{Error, ErrorCode, Result, lossy};

/// The path of a file below the root, as bytes with `/` separators. It is never empty or absolute and contains no `.`
/// and no `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// The path.
    pub path: Vec<u8>,
    /// The path including its first component, if the patch may have been written without prefixes such as `a/` and
    /// `b/`. It is used if the other path does not exist.
    pub unstripped: Option<Vec<u8>>,
}

/// The directories of version control systems. Hooks and settings in them can start programs.
const REPOSITORIES: [&str; 7] = [".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", ".pijul"];

impl FileName {
    /// Parses a path without a prefix.
    pub(crate) fn plain(raw: &[u8]) -> Result<FileName> {
        Ok(FileName { path: normal(raw)?, unstripped: None })
    }

    /// Parses a path whose first component is a prefix such as `a/`. With `maybe_plain` the first component may belong
    /// to the path.
    pub(crate) fn prefixed(raw: &[u8], maybe_plain: bool) -> Result<FileName> {
        let whole = normal(raw)?;
        let Some(slash) = raw.iter().position(|byte| *byte == b'/') else {
            return Ok(FileName { path: whole, unstripped: None });
        };
        Ok(FileName { path: normal(&raw[slash + 1..])?, unstripped: maybe_plain.then_some(whole) })
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lossy(&self.path))
    }
}

fn refused(raw: &[u8], reason: &str) -> Error {
    Error::new(ErrorCode::PermissionDenied, format!("{}: {reason}", lossy(raw)))
}

/// Joins the components of a path without `.` and repeated slashes.
fn normal(raw: &[u8]) -> Result<Vec<u8>> {
    if raw.starts_with(b"/") {
        return Err(refused(raw, "the path is absolute; a patch may only change files below its root"));
    }
    if raw.contains(&0) {
        return Err(refused(raw, "the path contains a NUL byte"));
    }
    let mut path = Vec::with_capacity(raw.len());
    for part in raw.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => continue,
            b".." => return Err(refused(raw, "the path contains `..`; a patch may only change files below its root")),
            _ if is_repository(part) => {
                return Err(refused(
                    raw,
                    "the path lies inside of a repository's own folder, which a patch must not change",
                ));
            }
            _ => {}
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(part);
    }
    if path.is_empty() || raw.ends_with(b"/") {
        return Err(Error::new(ErrorCode::InvalidData, format!("{:?} is not the path of a file", lossy(raw))));
    }
    Ok(path)
}

/// Returns true for the directory of a version control system, including spellings that macOS and Windows file systems
/// treat as equal.
fn is_repository(part: &[u8]) -> bool {
    let text = lossy(part);
    let visible: String = text.chars().filter(|letter| !is_ignorable(*letter)).collect();
    // NTFS drops trailing dots and spaces, and a colon starts the name of a stream.
    let name = visible.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case("git~1") || REPOSITORIES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns true for characters that HFS+ ignores when it compares names.
fn is_ignorable(letter: char) -> bool {
    matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_absolute_paths_and_repository_data() {
        let check = |raw: &str, expect: Option<&str>| {
            let path = FileName::plain(raw.as_bytes()).ok().map(|name| name.to_string());
            assert_eq!(path.as_deref(), expect, "{raw}");
        };
        check("a/b", Some("a/b"));
        check("./a//b", Some("a/b"));
        check(".gitignore", Some(".gitignore"));
        check(".github/x", Some(".github/x"));
        check("git/x", Some("git/x"));
        for raw in ["", "/", ".", "a/", "/etc/passwd", "../x", "a/../x", "a/..", "a\0b"] {
            check(raw, None);
        }
        for raw in [
            ".git/config",
            "a/.GIT/hooks/x",
            ".git",
            ".git. /x",
            "GIT~1/x",
            ".g\u{200c}it/x",
            ".git::$INDEX/x",
            ".hg/hgrc",
        ] {
            check(raw, None);
        }
    }

    #[test]
    fn removes_one_prefix() {
        let name = FileName::prefixed(b"a/a/x", true).unwrap();
        assert_eq!((name.path, name.unstripped), (b"a/x".to_vec(), Some(b"a/a/x".to_vec())));
        assert_eq!(FileName::prefixed(b"x", true).unwrap(), FileName { path: b"x".to_vec(), unstripped: None });
        assert!(FileName::prefixed(b"a//etc/passwd", false).is_err());
    }
}
