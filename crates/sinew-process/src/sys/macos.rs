//! libproc for the process table; a handle consists of the id and the start time. Compiled, but not yet run.

use std::ffi::OsString;
use std::mem::{MaybeUninit, size_of};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{kill_process, test_kill_process};
use sinew_base::{Aborted, CancelToken};

use super::Entry;
use super::unix::{known, pid};

/// Flags of a send that must not kill the process; here the socket has an option for that.
pub(crate) const QUIET: SendFlags = SendFlags::empty();
/// Flags of a receive whose descriptors other programs must not inherit; here each descriptor is marked instead.
pub(crate) const CLOSED_ON_EXEC: RecvFlags = RecvFlags::empty();

// Waiting on a descriptor would need a separate queue; a check costs about a microsecond.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn table() -> Vec<Entry> {
    // SAFETY: without a buffer the call only counts.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let mut pids = vec![0i32; usize::try_from(count).unwrap_or(0) + 64];
    let bytes = i32::try_from(pids.len() * size_of::<i32>()).unwrap_or(i32::MAX);
    // SAFETY: the buffer has the length `bytes`.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
    pids.truncate(usize::try_from(count).unwrap_or(0));
    pids.into_iter().filter_map(|pid| entry(u32::try_from(pid).ok()?)).collect()
}

pub(crate) fn entry(number: u32) -> Option<Entry> {
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::uninit();
    let size = i32::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    // SAFETY: the buffer has the length `size`; the result is the number of bytes written.
    let filled =
        unsafe { libc::proc_pidinfo(number.cast_signed(), libc::PROC_PIDTBSDINFO, 0, info.as_mut_ptr().cast(), size) };
    if filled != size {
        return None;
    }
    // SAFETY: all of it was written.
    let info = unsafe { info.assume_init() };
    Some(Entry {
        pid: number,
        ppid: info.pbi_ppid,
        group: info.pbi_pgid,
        start: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
        alive: info.pbi_status != libc::SZOMB,
    })
}

/// Returns the resident memory of a process in bytes, including shared memory.
pub(crate) fn resident(number: u32) -> Option<u64> {
    let mut info = MaybeUninit::<libc::proc_taskinfo>::uninit();
    let size = i32::try_from(size_of::<libc::proc_taskinfo>()).ok()?;
    // SAFETY: the buffer has the length `size`; the result is the number of bytes written.
    let filled =
        unsafe { libc::proc_pidinfo(number.cast_signed(), libc::PROC_PIDTASKINFO, 0, info.as_mut_ptr().cast(), size) };
    // SAFETY: all of it was written.
    (filled == size).then(|| unsafe { info.assume_init() }.pti_resident_size)
}

/// Returns the program file of a process.
pub(crate) fn program(entry: &Entry) -> Option<PathBuf> {
    let mut path = vec![0u8; libc::PROC_PIDPATHINFO_MAXSIZE as usize];
    // SAFETY: the buffer has the given length; the result is the number of bytes written.
    let len = unsafe {
        libc::proc_pidpath(entry.pid.cast_signed(), path.as_mut_ptr().cast(), libc::PROC_PIDPATHINFO_MAXSIZE as u32)
    };
    path.truncate(usize::try_from(len).unwrap_or(0));
    (!path.is_empty()).then(|| OsString::from_vec(path).into())
}

pub(crate) fn signal(expected: &Entry, signal: i32) -> bool {
    let current = entry(expected.pid).is_some_and(|now| now.same(expected) && now.alive);
    match (current, pid(expected.pid), known(signal)) {
        (true, Some(pid), Some(signal)) => kill_process(pid, signal).is_ok(),
        (true, Some(pid), None) => signal == 0 && test_kill_process(pid).is_ok(),
        _ => false,
    }
}

pub(crate) fn freeze(entry: &Entry) {
    signal(entry, libc::SIGSTOP);
}

#[derive(Debug)]
pub(crate) struct Handle {
    entry: Entry,
}

impl Handle {
    pub(crate) fn open(entry: &Entry) -> Option<Handle> {
        let handle = Handle { entry: *entry };
        (!handle.is_over()).then_some(handle)
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(crate) fn is_over(&self) -> bool {
        !entry(self.entry.pid).is_some_and(|now| now.same(&self.entry) && now.alive)
    }

    pub(crate) fn signal(&self, number: i32) -> bool {
        signal(&self.entry, number)
    }
}

pub(crate) fn wait(handles: &[&Handle], until: Option<Instant>) {
    while !handles.iter().any(|handle| handle.is_over()) && until.is_none_or(|until| Instant::now() < until) {
        std::thread::sleep(LOOK);
    }
}

pub(crate) fn wait_until(handle: &Handle, cancel: &CancelToken) -> Result<(), Aborted> {
    while !handle.is_over() {
        cancel.check()?;
        std::thread::sleep(LOOK);
    }
    Ok(())
}
