//! The paths of a call with links resolved, and the path patterns of rules.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::pattern::{Pattern, path_text};

/// The maximum number of links that are followed, as in the system.
const LINKS: usize = 40;

/// Resolves the links in a path, including a final link and paths that do not exist. The result contains no `.` and
/// `..`.
pub(super) fn real(path: &Path) -> PathBuf {
    walk(path, |_| {})
}

/// Returns whether a path leads to a device, a pipe or another process, instead of a plain file or folder.
pub(super) fn is_special(path: &Path) -> bool {
    let mut passes = false;
    let mut note = |step: &Path| {
        passes |= (step.starts_with("/dev") && !step.starts_with("/dev/shm")) || step.starts_with("/proc")
    };
    let end = walk(path, &mut note);
    passes || std::fs::metadata(end).is_ok_and(|facts| !facts.is_file() && !facts.is_dir())
}

/// Follows a path and calls `pass` with each path on the way that may be a link.
fn walk(path: &Path, mut pass: impl FnMut(&Path)) -> PathBuf {
    let mut out = PathBuf::new();
    let own = |part: Component<'_>| part.as_os_str().to_os_string();
    let mut rest: VecDeque<OsString> = path.components().map(own).collect();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == "." {
            continue;
        }
        if part == ".." {
            out.pop();
            continue;
        }
        out.push(&part);
        pass(&out);
        if links < LINKS
            && let Ok(target) = std::fs::read_link(&out)
        {
            links += 1;
            out.pop();
            // An absolute target starts with its root, which replaces the path so far.
            for part in target.components().rev() {
                rest.push_front(own(part));
            }
        }
    }
    out
}

/// The depth at which a name without folder matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// At any depth; used to deny.
    Any,
    /// In the session's folder only; used to allow.
    Here,
}

/// Returns whether a rule names a file without a folder.
pub(super) fn is_bare(inner: &str) -> bool {
    let is_folder = inner.chars().all(|letter| letter == '.');
    !is_folder && !inner.contains(['/', '\\', ':']) && !inner.starts_with('~') && !inner.starts_with("**")
}

/// Returns the patterns of a rule: as written, and with links resolved in its literal beginning.
pub(super) fn patterns(inner: &str, cwd: &Path, home: Option<&Path>, depth: Depth) -> Vec<Pattern> {
    let anywhere = (depth == Depth::Any && is_bare(inner)).then(|| format!("**/{inner}"));
    let inner = &*path_text(inner);
    let rest = inner.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let whole = match (rest, home) {
        _ if inner.starts_with("**") => inner.to_string(),
        (Some(rest), Some(home)) => format!("{}{rest}", home.to_string_lossy()),
        _ => cwd.join(inner.strip_prefix("./").unwrap_or(inner)).to_string_lossy().into_owned(),
    };
    let mut texts = vec![whole.clone()];
    let plain: PathBuf =
        Path::new(&whole).iter().take_while(|part| !part.to_string_lossy().contains(['*', '?'])).collect();
    if plain.is_absolute() {
        let behind = Path::new(&whole).iter().skip(plain.iter().count());
        let led: PathBuf = std::iter::once(real(&plain).into_os_string()).chain(behind.map(OsString::from)).collect();
        texts.push(led.to_string_lossy().into_owned());
    }
    let mut texts: Vec<String> = texts.iter().map(|text| path_text(text).into_owned()).collect();
    // `a/**` also matches the folder `a`.
    let folders: Vec<String> = texts.iter().filter_map(|text| Some(text.strip_suffix("/**")?.to_string())).collect();
    texts.extend(folders.into_iter().filter(|text| !text.is_empty()));
    texts.extend(anywhere.map(|text| path_text(&text).into_owned()));
    texts.dedup();
    texts.iter().map(|text| Pattern::path(text)).collect()
}
