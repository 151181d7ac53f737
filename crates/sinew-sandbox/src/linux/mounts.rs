//! Converts the mounts of a sandbox to steps.

use std::ffi::CString;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::layout::{Cover, Layout};
use super::namespace::{Step, text};
use super::rules::Rules;
use crate::{Mode, Network};

/// The devices that programs see in `/dev`. The others are hidden, because root could read a disk through its device.
const DEVICES: [&str; 9] = ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm"];

/// Devices through which root can read the memory.
const MEMORY_DEVICES: [&str; 4] = ["/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore"];

fn literal(value: impl Into<Vec<u8>>) -> CString {
    // Only names in this file are passed, and they contain no NUL.
    CString::new(value).unwrap_or_default()
}

/// Returns the steps that create the mounts of a new sandbox, except for its covers.
pub(super) fn base(rules: &Rules, network: Network, mask: &Path) -> Vec<Step> {
    let mut steps = vec![Step::MakePrivate];
    match network {
        // In the mode `rules`, no supervisor refuses connections. If the interface had an address, a connection would
        // only fail after minutes.
        Network::Off if rules.mode != Mode::Rules => steps.push(Step::LoopbackAddress),
        Network::Loopback => steps.push(Step::LoopbackUp),
        Network::Off | Network::On => {}
    }
    if rules.mode == Mode::Rules {
        if rustix::process::geteuid().is_root() {
            steps.extend(raw_devices().into_iter().map(|device| bind(mask, &device, true)));
        }
        return steps;
    }
    let writable = &rules.writable;
    steps.extend(writable.iter().enumerate().map(|(slot, path)| Step::Copy { path: text(path), slot }));
    steps.push(Step::MakeAllReadOnly);
    steps.extend(writable.iter().enumerate().map(|(slot, path)| Step::Attach { slot, path: text(path) }));
    steps.extend(hidden_devices(mask));
    steps.push(Step::Memory { path: literal("/dev/shm"), mode: literal("1777") });
    steps.extend(allowed(rules).into_iter().map(|path| Step::Allow { path }));
    steps
}

/// Returns the steps that hide the devices that the user can open, except for those that every program may use.
fn hidden_devices(mask: &Path) -> Vec<Step> {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().filter_map(Result::ok);
    let hide = |entry: std::fs::DirEntry| {
        let (path, kind) = (entry.path(), entry.file_type().ok()?);
        let can_open = || {
            use rustix::fs::{Access, access};
            access(&path, Access::READ_OK).is_ok() || access(&path, Access::WRITE_OK).is_ok()
        };
        match () {
            () if DEVICES.iter().any(|name| entry.file_name() == *name) => None,
            () if kind.is_dir() => Some(Step::HideDirectory { path: text(&path) }),
            () if (kind.is_block_device() || kind.is_char_device()) && can_open() => Some(bind(mask, &path, true)),
            () => None,
        }
    };
    let kernel_memory = MEMORY_DEVICES.iter().map(Path::new).filter(|path| !path.starts_with("/dev") && path.exists());
    let mut steps: Vec<Step> = entries.filter_map(hide).collect();
    steps.extend(kernel_memory.map(|path| bind(mask, path, true)));
    steps
}

/// Returns the paths that programs may change.
pub(super) fn allowed(rules: &Rules) -> Vec<CString> {
    let devices = DEVICES.iter().map(|device| literal(format!("/dev/{device}")));
    rules.writable.iter().map(|path| text(path)).chain(devices).collect()
}

fn raw_devices() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().filter_map(Result::ok);
    let is_block = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_block_device());
    let mut devices: Vec<PathBuf> = entries.filter(is_block).map(|entry| entry.path()).collect();
    devices.extend(MEMORY_DEVICES.map(PathBuf::from));
    devices
}

fn bind(from: &Path, to: &Path, read_only: bool) -> Step {
    Step::Bind { from: text(from), to: text(to), read_only }
}

/// Returns the steps that mount the covers for which `is_wanted` returns true. `mask` is an empty file that cannot be
/// opened.
pub(super) fn covers(layout: &Layout, mask: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<Step> {
    let wanted = layout.covers.iter().filter(|(path, _)| is_wanted(path));
    let step = |(path, cover): (&PathBuf, &Cover)| match cover {
        Cover::Guard => bind(path, path, false),
        Cover::ReadOnly => bind(path, path, true),
        Cover::HiddenFile => bind(mask, path, true),
        Cover::HiddenDirectory => Step::HideDirectory { path: text(path) },
    };
    wanted.map(step).collect()
}
