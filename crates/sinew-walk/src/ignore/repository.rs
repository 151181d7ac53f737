//! The locations of git's rules outside the work tree.

use std::fs;
use std::path::{Path, PathBuf};

use super::RuleLog;

/// The locations of a user's git configuration, from environment variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitHome {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
    /// `GIT_CONFIG_GLOBAL`.
    pub config: Option<PathBuf>,
}

/// Returns the path of the user's global ignore file: `core.excludesFile` of the git configuration, or `git/ignore` in
/// the configuration directory. The file may not exist.
#[must_use]
pub fn global_excludes(user: &GitHome) -> Option<PathBuf> {
    let settings = user
        .config_home
        .clone()
        .filter(|path| !path.as_os_str().is_empty())
        .or_else(|| Some(user.home.as_ref()?.join(".config")));
    let home = user.home.as_deref();
    let files = match &user.config {
        Some(one) => vec![one.clone()],
        // The file with precedence is read first.
        None => [home.map(|home| home.join(".gitconfig")), settings.as_ref().map(|dir| dir.join("git/config"))]
            .into_iter()
            .flatten()
            .collect(),
    };
    files
        .iter()
        .chain([&PathBuf::from("/etc/gitconfig")])
        .find_map(|file| excludes_file(file, home))
        .or_else(|| settings.map(|dir| dir.join("git/ignore")))
}

/// Returns the directory with `info/exclude` and `config` for the work tree in `folder`; for a linked work tree, the
/// common directory.
pub(super) fn find(folder: &Path, log: &mut RuleLog) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    log.look(&dot_git);
    let meta = fs::metadata(&dot_git).ok()?;
    let git_dir = if meta.is_dir() {
        dot_git
    } else if meta.is_file() && meta.len() <= 64 << 10 {
        folder.join(first_line(&dot_git)?.strip_prefix("gitdir:")?.trim())
    } else {
        return None;
    };
    let common = git_dir.join("commondir");
    log.look(&common);
    match first_line(&common) {
        Some(common) => Some(git_dir.join(common.trim())),
        None => Some(git_dir),
    }
}

fn first_line(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let text = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(text.split(|byte| *byte == b'\n').next()?).into_owned())
}

/// Returns the last `excludesFile` in the `core` section of a configuration file.
pub(super) fn excludes_file(config: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let meta = fs::metadata(config).ok()?;
    if !meta.is_file() || meta.len() > 8 << 20 {
        return None;
    }
    let text = fs::read(config).ok()?;
    let mut in_core = false;
    let mut found = None;
    for line in String::from_utf8_lossy(&text).lines() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.split(']').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("core"));
        } else if in_core
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"').to_string());
        }
    }
    let path = found.filter(|value| !value.is_empty())?;
    match path.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(PathBuf::from(path)),
    }
}
