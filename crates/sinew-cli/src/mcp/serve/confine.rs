//! Restricts the server's access to files by the kernel, so that a bug in the checks of `roots` has no further effect.

use std::os::fd::OwnedFd;

use sinew::Sinew;
use sinew::walk::rule_files;
use sinew_control::failure::Failure;
use sinew_control::sys::landlock::{Rights, confine};
use sinew_session::files::private_folder;

use super::roots::Roots;

/// System files that a search reads: about the processors, and the mounts and watches that a workspace needs.
const FACTS: [&str; 4] =
    ["/proc/self/mountinfo", "/proc/self/cgroup", "/proc/sys/fs/inotify/max_user_watches", "/sys/fs/cgroup"];

/// The permissions of the server.
pub(super) struct Limits {
    /// True if files below the roots may be changed.
    pub(super) edit: bool,
    /// True if the network is needed.
    pub(super) network: bool,
    /// True if searches use an index.
    pub(super) index: bool,
}

/// Restricts this process, which must still have a single thread. It may read below the roots, and the ignore rules
/// that apply there; it may write below the roots if that is allowed, and in its index. Does nothing if the kernel does
/// not support Landlock. The caller must keep the returned descriptors until the end.
///
/// # Errors
/// Returns an error if the kernel supports Landlock and refuses the restrictions.
pub(super) fn run(roots: &Roots, sinew: &Sinew, limits: &Limits) -> Result<Vec<OwnedFd>, Failure> {
    let mut read: Vec<_> = FACTS.iter().map(Into::into).collect();
    for root in roots.all() {
        read.extend(rule_files(&root, sinew.global_excludes.as_deref()));
        read.push(root);
    }
    let mut write = if limits.edit { roots.all() } else { Vec::new() };
    if let Some(cache) = sinew.index_cache.as_ref().filter(|_| limits.index) {
        let index = cache.join("index");
        // If the directory cannot be created, there is no index either.
        let _ = std::fs::create_dir_all(cache).and_then(|()| private_folder(&index));
        write.push(index);
    }
    let rights = Rights { read, write, network: limits.network };
    let confined = confine(&rights);
    confined
        .map(Option::unwrap_or_default)
        .map_err(|error| Failure::failed(format!("failed to confine the server to its folders (Landlock): {error}")))
}
