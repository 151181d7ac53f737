//! A snapshot for the process table, an open handle for a process.

use std::ffi::OsString;
use std::mem::size_of;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sinew_base::{Aborted, CancelToken};
use windows_sys::Win32::Foundation::{FILETIME, INVALID_HANDLE_VALUE, WAIT_OBJECT_0};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, PROCESS_TERMINATE,
    QueryFullProcessImageNameW, TerminateProcess, WaitForSingleObject,
};

use super::Entry;

pub(crate) const SIGKILL: i32 = 9;
pub(crate) const SIGTERM: i32 = 15;
/// Windows has no signals. These terminate the process, as in Node: SIGINT, SIGQUIT, SIGKILL and SIGTERM; others are
/// unknown.
const ENDING: [i32; 4] = [2, 3, SIGKILL, SIGTERM];

const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn table() -> Vec<Entry> {
    // SAFETY: no pointer is passed.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Vec::new();
    }
    // SAFETY: the handle is open and owned by us only.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot.cast()) };
    // SAFETY: a struct of integers may be zero.
    let mut line: PROCESSENTRY32W = unsafe { std::mem::zeroed() };
    line.dwSize = size_of::<PROCESSENTRY32W>() as u32;
    let mut table = Vec::new();
    // SAFETY: the snapshot is open, and `line` contains its size.
    let mut more = unsafe { Process32FirstW(snapshot.as_raw_handle().cast(), &mut line) };
    while more != 0 {
        // A process that cannot be opened has no start time; 0 is older than any, so it is never a child.
        let start = open(line.th32ProcessID).and_then(|handle| started(&handle)).unwrap_or(0);
        let (pid, ppid) = (line.th32ProcessID, line.th32ParentProcessID);
        table.push(Entry { pid, ppid, group: pid, start, alive: true });
        // SAFETY: as above.
        more = unsafe { Process32NextW(snapshot.as_raw_handle().cast(), &mut line) };
    }
    table
}

pub(crate) fn entry(pid: u32) -> Option<Entry> {
    table().into_iter().find(|entry| entry.pid == pid)
}

/// Returns the program file of a process.
pub(crate) fn program(entry: &Entry) -> Option<PathBuf> {
    let handle = open(entry.pid)?;
    let mut path = vec![0u16; 32 * 1024];
    let mut len = path.len() as u32;
    // SAFETY: the handle is open; the buffer has the length `len`, which then contains the number of characters
    // written.
    let known =
        unsafe { QueryFullProcessImageNameW(handle.as_raw_handle().cast(), 0, path.as_mut_ptr(), &mut len) != 0 };
    known.then(|| OsString::from_wide(&path[..len as usize]).into())
}

pub(crate) fn signal(entry: &Entry, signal: i32) -> bool {
    Handle::open(entry).is_some_and(|handle| handle.signal(signal))
}

/// Does nothing, because Windows has no supported way to stop a process.
pub(crate) fn freeze(_: &Entry) {}

#[derive(Debug)]
pub(crate) struct Handle {
    entry: Entry,
    handle: OwnedHandle,
}

impl Handle {
    pub(crate) fn open(entry: &Entry) -> Option<Handle> {
        let handle = Handle { entry: *entry, handle: open(entry.pid)? };
        (started(&handle.handle) == Some(entry.start) && !handle.is_over()).then_some(handle)
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(crate) fn is_over(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { WaitForSingleObject(self.handle.as_raw_handle().cast(), 0) == WAIT_OBJECT_0 }
    }

    pub(crate) fn signal(&self, signal: i32) -> bool {
        if self.is_over() || !ENDING.contains(&signal) {
            return signal == 0 && !self.is_over();
        }
        // SAFETY: the handle is open with the right to terminate the process.
        unsafe { TerminateProcess(self.handle.as_raw_handle().cast(), 1) != 0 }
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

fn open(pid: u32) -> Option<OwnedHandle> {
    let rights = PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE | PROCESS_TERMINATE;
    // SAFETY: no pointer is passed.
    let handle = unsafe { OpenProcess(rights, 0, pid) };
    // SAFETY: a handle that is not null is open and owned by us only.
    (!handle.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(handle.cast()) })
}

fn started(handle: &OwnedHandle) -> Option<u64> {
    let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut start, mut exit, mut kernel, mut user) = (zero, zero, zero, zero);
    // SAFETY: the handle is open, and all four destinations are writable.
    let known =
        unsafe { GetProcessTimes(handle.as_raw_handle().cast(), &mut start, &mut exit, &mut kernel, &mut user) != 0 };
    known.then_some(u64::from(start.dwHighDateTime) << 32 | u64::from(start.dwLowDateTime))
}
