//! The rights of the server to files, held by the kernel: a fault in the checks of `roots` leads no further than this.

use std::os::fd::OwnedFd;

use sinew::Sinew;
use sinew::walk::rule_files;
use sinew_session::files::private_folder;

use super::roots::Roots;
use crate::failure::Failure;
use crate::sys::landlock::{Rights, confine};

/// Facts about this process that a search asks for: its processors, and the mounts and watches that a workspace needs.
const FACTS: [&str; 4] =
    ["/proc/self/mountinfo", "/proc/self/cgroup", "/proc/sys/fs/inotify/max_user_watches", "/sys/fs/cgroup"];

/// Limits of the server.
pub(super) struct Limits {
    /// Files below the roots may be changed.
    pub(super) edit: bool,
    /// The network is needed.
    pub(super) network: bool,
    /// Searches keep an index.
    pub(super) index: bool,
}

/// Confines this process, which has one thread yet: it reads below the roots, and the ignore rules that hold there; it writes
/// below the roots where that is allowed, and its index. Nothing is confined where the kernel has no Landlock. What is given
/// back is to be held until the end.
///
/// # Errors
/// The kernel has Landlock and refuses.
pub(super) fn run(roots: &Roots, sinew: &Sinew, limits: &Limits) -> Result<Vec<OwnedFd>, Failure> {
    let mut read: Vec<_> = FACTS.iter().map(Into::into).collect();
    for root in roots.all() {
        read.extend(rule_files(&root, sinew.global_excludes.as_deref()));
        read.push(root);
    }
    let mut write = if limits.edit { roots.all() } else { Vec::new() };
    if let Some(cache) = sinew.index_cache.as_ref().filter(|_| limits.index) {
        let index = cache.join("index");
        // Where it cannot be made nothing is kept in it either.
        let _ = std::fs::create_dir_all(cache).and_then(|()| private_folder(&index));
        write.push(index);
    }
    let rights = Rights { read, write, network: limits.network };
    let confined = confine(&rights);
    confined
        .map(Option::unwrap_or_default)
        .map_err(|error| Failure::failed(format!("failed to confine the server to its folders (Landlock): {error}")))
}
