//! Converts the mounts of a sandbox to steps.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
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

/// Types of file systems through which root changes the kernel. Some of their files name a program that the kernel
/// starts outside of every sandbox: `uevent_helper`, `release_agent`.
const OF_KERNEL: [&str; 11] = [
    "sysfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "binfmt_misc",
    "efivarfs",
    "pstore",
    "bpf",
];

/// The same for `proc`, whose other files belong to processes, which programs may change: `core_pattern`, `modprobe`.
const OF_KERNEL_IN_PROC: [&str; 7] = ["acpi", "bus", "fs", "irq", "scsi", "sys", "sysrq-trigger"];

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
            let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
            steps.extend(kernel_settings(&mounts).into_iter().map(|path| bind(&path, &path, true)));
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

/// Returns the paths of the kernel's settings, from the list of mounts. A bind of a directory includes the mounts below
/// it.
fn kernel_settings(mounts: &[u8]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for line in mounts.split(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b' ');
        let Some(place) = fields.nth(4).map(unescape) else { continue };
        let Some(kind) = fields.skip_while(|field| *field != b"-").nth(1) else { continue };
        if kind == b"proc" {
            paths.extend(OF_KERNEL_IN_PROC.map(|name| place.join(name)));
        } else if OF_KERNEL.iter().any(|name| name.as_bytes() == kind) {
            paths.push(place);
        }
    }
    paths.sort();
    paths.dedup_by(|path, above| path.starts_with(above));
    paths
}

/// Replaces the escapes of the kernel, three octal digits after a backslash.
fn unescape(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_settings_of_the_kernel_wherever_they_are_mounted() {
        let mounts = b"1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /proc rw,relatime shared:1 - proc proc rw\n\
            3 1 0:3 / /sys rw - sysfs sysfs rw\n4 3 0:4 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
            5 1 0:5 / /a\\040b rw - cgroup cgroup rw\n6 1 0:6 / /tmp rw - tmpfs tmpfs rw\n";
        let mut expected: Vec<PathBuf> = ["/a b", "/sys"].map(PathBuf::from).to_vec();
        expected.extend(OF_KERNEL_IN_PROC.map(|name| Path::new("/proc").join(name)));
        expected.sort();
        assert_eq!(kernel_settings(mounts), expected);
    }
}
