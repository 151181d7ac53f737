//! The mouth of the scan cache, and what the environment says of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use napi::Env;
use napi_derive::napi;
use sinew::walk::{CachePolicy, GitHome, global_excludes};

use crate::{handle, task};

/// Drops scans: all, or those that a path lies in, is the root of or lies above.
#[napi]
pub(crate) fn invalidate_fs_scan_cache(env: &Env, path: Option<String>) -> napi::Result<()> {
    task::now(env, "invalidateFsScanCache", || {
        match path {
            Some(path) => handle().cache.invalidate(Path::new(&path)),
            None => handle().cache.clear(),
        }
        Ok(())
    })
}

/// How long scans are kept: `FS_SCAN_CACHE_TTL_MS`, `FS_SCAN_EMPTY_RECHECK_MS`, `FS_SCAN_CACHE_MAX_ENTRIES`.
/// What is no number leaves the default.
pub(crate) fn policy(variable: impl Fn(&str) -> Option<OsString>) -> CachePolicy {
    let number = |name: &str| variable(name)?.to_str()?.trim().parse::<u32>().ok();
    let defaults = CachePolicy::default();
    let milliseconds = |name, default| number(name).map_or(default, |ms| Duration::from_millis(ms.into()));
    CachePolicy {
        ttl: milliseconds("FS_SCAN_CACHE_TTL_MS", defaults.ttl),
        empty_recheck: milliseconds("FS_SCAN_EMPTY_RECHECK_MS", defaults.empty_recheck),
        max_entries: number("FS_SCAN_CACHE_MAX_ENTRIES").map_or(defaults.max_entries, |most| most as usize),
    }
}

/// The user's own ignore file, as git finds it.
pub(crate) fn excludes(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = path(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    global_excludes(&GitHome { home, config_home: path("XDG_CONFIG_HOME"), config: path("GIT_CONFIG_GLOBAL") })
}
