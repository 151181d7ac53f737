//! Converts between paths of models and paths of the file system.

use std::path::{Component, Path, PathBuf, is_separator};

use icu_normalizer::DecomposingNormalizerBorrowed as DecomposingNormalizer;

use super::Host;
use crate::tool::{Call, ToolError};

/// Returns the file that `text` names: relative to the working directory, with `~` expanded, without a leading `@` or
/// `file://`. If it does not exist, macOS spellings of the same name are tried.
///
/// # Errors
/// Returns an error if a `local://` path leaves the scratch directory of the session, if that directory cannot be
/// created, or if an address is not a file.
pub(super) fn resolve(host: &Host, call: &Call, text: &str) -> Result<PathBuf, ToolError> {
    let bare = text.strip_prefix("@").unwrap_or(text);
    if let Some((drive, rest)) = drive(bare).filter(|(_, rest)| !rest.starts_with(is_separator)) {
        return Err(ToolError::Failed(format!(
            "{text} depends on the current directory of {drive}: write {drive}/{rest}, or a path relative to the working directory."
        )));
    }
    if let Some(rest) = bare.strip_prefix("local://") {
        return local(host, text, rest);
    }
    match scheme(bare) {
        None | Some("file") => Ok(resolve_from(host, &call.cwd, text)),
        Some("http" | "https") => Err(ToolError::Failed(format!("{text} is not a file: use fetch for web pages."))),
        Some("artifact" | "skill" | "rule") => {
            Err(ToolError::Failed(format!("{text} is read-only: use the tool read.")))
        }
        Some(other) => Err(ToolError::Failed(format!("{text} is not a file: {other}:// is not supported."))),
    }
}

/// Returns `http` for `http://host`; `None` if there is no scheme.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://").filter(|_| drive(text).is_none())?;
    let letters = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (letters && scheme.starts_with(|first: char| first.is_ascii_alphabetic())).then_some(scheme)
}

/// Splits `C:` from a Windows path that begins with a drive; `None` if it does not.
fn drive(text: &str) -> Option<(&str, &str)> {
    let is_drive =
        cfg!(windows) && text.as_bytes().first()?.is_ascii_alphabetic() && text.as_bytes().get(1) == Some(&b':');
    is_drive.then(|| text.split_at(2))
}

/// Does the same relative to another directory, for paths on disk only.
pub(super) fn resolve_from(host: &Host, cwd: &Path, text: &str) -> PathBuf {
    let mut paths = spelled(host.options.home.as_deref(), cwd, text);
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    let found = paths.iter().position(exists).unwrap_or_else(|| {
        // A new file in a directory whose name begins with `@`.
        let below_sign = text.starts_with('@') && !paths[0].parent().is_some_and(Path::exists);
        below_sign
            .then(|| paths.iter().rposition(|path| path.parent().is_some_and(Path::exists)))
            .flatten()
            .unwrap_or(0)
    });
    paths.swap_remove(found)
}

/// Returns a file of the scratch directory, which a session shares with its subagents.
fn local(host: &Host, text: &str, rest: &str) -> Result<PathBuf, ToolError> {
    let failed = |error: std::io::Error| ToolError::Failed(format!("Cannot use {text}: {error}"));
    let folder = host.options.artifacts.scratch().and_then(|folder| folder.canonicalize()).map_err(failed)?;
    let inside = Path::new(rest).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let path = folder.join(rest);
    // A link may lead outside.
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(&folder);
    if !inside || !there.canonicalize().map_err(failed)?.starts_with(&folder) {
        return Err(ToolError::Failed(format!("{text} is outside of local://: use a path below it.")));
    }
    Ok(path)
}

/// Returns every path that `text` may mean, starting with the literal one.
#[must_use]
pub fn spelled(home: Option<&Path>, cwd: &Path, text: &str) -> Vec<PathBuf> {
    let others = spellings(text).map(|text| named(home, cwd, &text));
    // `@` may be a part of the name: `@types`.
    let sign = text.starts_with('@').then(|| clean(&cwd.join(text)));
    std::iter::once(named(home, cwd, text)).chain(others).chain(sign).collect()
}

fn named(home: Option<&Path>, cwd: &Path, text: &str) -> PathBuf {
    let text = text.strip_prefix('@').unwrap_or(text);
    let text = match text.strip_prefix("file://") {
        // The address of `C:/a` has a slash before the drive.
        Some(text) => text.strip_prefix('/').filter(|text| drive(text).is_some()).unwrap_or(text),
        None => text,
    };
    let rest = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(is_separator));
    match (rest, home) {
        (Some(rest), Some(home)) => clean(&home.join(rest.trim_start_matches(is_separator))),
        _ => clean(&cwd.join(text)),
    }
}

/// Removes `.` and, if the directories before them are not links, `..`.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            // The parent of the root is the root.
            Component::ParentDir if !out.is_symlink() && (out.has_root() || out.file_name().is_some()) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Returns spellings that macOS may have used: letters separate from their accents, a narrow no-break space before AM
/// and PM, a curly quote.
fn spellings(text: &str) -> impl Iterator<Item = String> {
    let narrow = [" AM", " PM"]
        .iter()
        .fold(text.to_string(), |text, from| text.replace(from, &format!("\u{202f}{}", &from[1..])));
    let quote = text.replace('\'', "\u{2019}");
    let both = narrow.replace('\'', "\u{2019}");
    let plain = text.replace('\u{202f}', " ").replace('\u{2019}', "'");
    let given = text.to_string();
    let apart = |text: &String| DecomposingNormalizer::new_nfd().normalize(text).into_owned();
    let decomposed = [&given, &narrow, &quote, &both].map(apart);
    [narrow, quote, both, plain].into_iter().chain(decomposed).filter(move |other| *other != given)
}

/// Returns a path for the model: relative to `cwd` if it is inside, with `/` separators.
pub(super) fn shown(cwd: &Path, path: &Path) -> String {
    let short = path.strip_prefix(cwd).unwrap_or(path);
    let text = short.to_string_lossy();
    let text = if text.is_empty() { ".".into() } else { text };
    if cfg!(windows) { text.replace('\\', "/") } else { one_line(text.into_owned()) }
}

/// Replaces control characters, so that a name is one line.
pub(super) fn one_line(name: String) -> String {
    match name.contains(char::is_control) {
        true => name.replace(char::is_control, "\u{fffd}"),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_sessions_directory() {
        let check = |text: &str, expect: &str| {
            assert_eq!(named(Some(Path::new("/home/me")), Path::new("/w/p"), text), Path::new(expect), "{text}");
        };
        check("a.rs", "/w/p/a.rs");
        check("./a/../b.rs", "/w/p/b.rs");
        check("../b.rs", "/w/b.rs");
        check("/../b", "/b");
        check("~", "/home/me");
        check("~/x", "/home/me/x");
        check("~x", "/w/p/~x");
        check("@src/a.rs", "/w/p/src/a.rs");
        check("file:///etc/hosts", "/etc/hosts");
        check(".", "/w/p");
    }

    #[test]
    fn paths_inside_the_directory_are_displayed_relative() {
        let check = |path: &str, expect: &str| assert_eq!(shown(Path::new("/w/p"), Path::new(path)), expect);
        check("/w/p/a/b", "a/b");
        check("/w/p", ".");
        check("/w/pp/a", "/w/pp/a");
    }

    #[test]
    fn macos_spellings_of_names_are_tried() {
        let all: Vec<String> = spellings("Caf\u{e9} at 9.41 AM's").collect();
        for other in
            ["Cafe\u{301} at 9.41 AM's", "Caf\u{e9} at 9.41\u{202f}AM's", "Cafe\u{301} at 9.41\u{202f}AM\u{2019}s"]
        {
            assert!(all.iter().any(|spelling| spelling == other), "{other}: {all:?}");
        }
        assert_eq!(spellings("plain").count(), 0);
    }
}
