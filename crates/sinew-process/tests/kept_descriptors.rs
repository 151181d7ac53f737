//! Tests that starting programs under a keeper leaves nothing behind in this process. It has its own program, so that
//! no other test opens files or starts children at the same time.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::path::Path;

use sinew_process::descendants;
use sinew_process::supervision::{self, ProgramSpec};

#[test]
fn starts_leave_no_descriptor_and_no_process() {
    let keeper = Path::new(env!("CARGO_BIN_EXE_sinew-keeper"));
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    for round in 0..100 {
        let name = if round % 4 == 3 { "/nowhere" } else { "/bin/true" };
        if let Ok((kept, pipes)) =
            supervision::start(keeper, &ProgramSpec { program: name.into(), ..ProgramSpec::default() })
        {
            drop(pipes);
            kept.close();
        }
    }
    assert_eq!(descriptors(), before);
    // A failed start leaves its cleanup to a thread.
    while !descendants(std::process::id()).is_empty() {
        std::thread::yield_now();
    }
}
