//! A process and everything it started: a job object that ends with its last handle, and so with the host.

use std::io;
use std::mem::size_of;
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, ChildStdin, Command};
use std::time::{Duration, Instant};

use sinew_process::Process;
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_BASIC_PROCESS_ID_LIST,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicProcessIdList, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, GetExitCodeProcess, INFINITE, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
    WaitForSingleObject,
};

use super::run::{Exit, GONE};
use crate::Job;

/// The maximum number of listed processes of a tree.
const MOST_JOBS: usize = 1024;

#[derive(Debug)]
pub(super) struct Tree {
    child: Child,
    job: OwnedHandle,
}

impl Tree {
    /// Starts a process in a new job object, and returns the pipe to its input if one was requested. The process is
    /// resumed only after it was added, so that none of its children can escape.
    pub(super) fn spawn(mut command: Command) -> io::Result<(Tree, Option<ChildStdin>)> {
        // SAFETY: no attributes and no name are passed.
        let job = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle is open and owned by us only.
        let job = unsafe { OwnedHandle::from_raw_handle(job.cast()) };
        // SAFETY: a struct of integers may be zero.
        let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the handle is open, and the struct matches the information class and the size.
        check(unsafe {
            SetInformationJobObject(
                raw(&job),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32,
            )
        })?;
        let child = command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW).spawn()?;
        let mut tree = Tree { child, job };
        // SAFETY: both handles are open.
        let started = check(unsafe { AssignProcessToJobObject(raw(&tree.job), tree.child.as_raw_handle().cast()) })
            .and_then(|()| resume(tree.child.id()));
        if let Err(cause) = started {
            // It has not started, and may not be in a job that terminates it.
            tree.child.kill()?;
            return Err(cause);
        }
        let stdin = tree.child.stdin.take();
        Ok((tree, stdin))
    }

    /// Waits for the end of the process.
    pub(super) fn waiter(&self) -> io::Result<impl FnOnce() -> Exit + Send + 'static> {
        let process = self.child.as_handle().try_clone_to_owned()?;
        Ok(move || {
            let mut code = 0;
            // SAFETY: the handle is open, and the destination is writable.
            let known = unsafe {
                WaitForSingleObject(raw(&process), INFINITE);
                GetExitCodeProcess(raw(&process), &mut code) != 0
            };
            Exit { code: known.then_some(code.cast_signed()), signal: None }
        })
    }

    /// Returns the running processes.
    pub(super) fn jobs(&self) -> Vec<Job> {
        let named = |pid: u32| {
            let program = Process::from_pid(pid)?.program()?;
            Some(Job { pid: pid.cast_signed(), command: program.to_string_lossy().into_owned() })
        };
        self.pids().into_iter().filter(|pid| *pid != self.child.id()).filter_map(named).collect()
    }

    /// Terminates everything at once: there are no signals, so `grace` is ignored. Stops waiting after 500 ms.
    pub(super) fn end(&self, _grace: Duration) {
        let until = Instant::now() + GONE;
        // SAFETY: the handle is open.
        while unsafe { TerminateJobObject(raw(&self.job), 1) } != 0 && !self.pids().is_empty() && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn pids(&self) -> Vec<u32> {
        const HEAD: usize = std::mem::offset_of!(JOBOBJECT_BASIC_PROCESS_ID_LIST, ProcessIdList) / size_of::<usize>();
        let mut list = vec![0usize; HEAD + MOST_JOBS];
        let bytes = (list.len() * size_of::<usize>()) as u32;
        // SAFETY: the handle is open, and the buffer has the given size and the required alignment.
        let known = unsafe {
            let list = list.as_mut_ptr().cast();
            QueryInformationJobObject(raw(&self.job), JobObjectBasicProcessIdList, list, bytes, std::ptr::null_mut())
        };
        // If there are more than fit, the list contains those that do.
        let _ = known;
        // SAFETY: the buffer begins with the struct, for which every bit pattern is valid.
        let count = unsafe { (*list.as_ptr().cast::<JOBOBJECT_BASIC_PROCESS_ID_LIST>()).NumberOfProcessIdsInList };
        list.into_iter().skip(HEAD).take(count as usize).map(|pid| pid as u32).collect()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Resumes a process that was started suspended: it has one thread.
fn resume(pid: u32) -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is open and owned by us only.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot.cast()) };
    // SAFETY: a struct of integers may be zero.
    let mut line: THREADENTRY32 = unsafe { std::mem::zeroed() };
    line.dwSize = size_of::<THREADENTRY32>() as u32;
    // SAFETY: the snapshot is open, and `line` contains its size.
    let mut more = unsafe { Thread32First(raw(&snapshot), &mut line) };
    while more != 0 && line.th32OwnerProcessID != pid {
        // SAFETY: as above.
        more = unsafe { Thread32Next(raw(&snapshot), &mut line) };
    }
    if more == 0 {
        return Err(io::Error::other("the first thread of the new process is not to be found"));
    }
    // SAFETY: no pointer is passed.
    let thread = unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, line.th32ThreadID) };
    if thread.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is open and owned by us only.
    let thread = unsafe { OwnedHandle::from_raw_handle(thread.cast()) };
    // SAFETY: the handle is open.
    match unsafe { ResumeThread(raw(&thread)) } {
        u32::MAX => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn raw(handle: &OwnedHandle) -> HANDLE {
    handle.as_raw_handle().cast()
}

fn check(done: i32) -> io::Result<()> {
    if done != 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
