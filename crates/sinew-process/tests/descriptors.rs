//! Tests that handles hold no descriptor. It has its own program, so that no other test opens files at the same time.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::process::{Command, Stdio};

use sinew_base::CancelToken;
use sinew_process::{Process, Status, Terminate};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn handles_hold_no_descriptor_between_calls() {
    let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let before = descriptors();
    let handles: Vec<Process> = (0..2_000).map(|_| Process::from_pid(child.id()).unwrap()).collect();
    let children = Process::from_pid(std::process::id()).unwrap().children();
    assert_eq!(children.len(), 1);
    assert!(handles.iter().all(|handle| handle.status() == Status::Running && handle.signal(0)));
    assert_eq!(descriptors(), before);
    assert_eq!(handles[0].terminate(&Terminate::default()).signalled, 1);
    child.wait().unwrap();
    for handle in handles.iter().chain(&children) {
        assert_eq!(handle.status(), Status::Exited);
        assert!(!handle.signal(0) && handle.ppid().is_none() && handle.children().is_empty());
        assert_eq!(handle.wait_for_exit(&CancelToken::never()), Ok(()));
    }
    assert_eq!(descriptors(), before);
}
