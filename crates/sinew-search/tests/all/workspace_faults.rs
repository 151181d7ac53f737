//! Tests that a failing system call never changes a result; at worst the index on disk is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pair::Pair;
use crate::tree::seeds;
use sinew_search::WorkspaceOptions;

const CHILD: &str = "SINEW_TEST_FAULTY_CHILD";

/// The faults that strace injects into a call: an error, or a false success, such as a disk that loses written data or
/// a read that returns other bytes.
const FAULTS: &[&str] = &[
    "all:error=ENOSPC",
    "all:error=EIO",
    "all:error=EDQUOT",
    "all:error=EMFILE",
    "all:error=EACCES",
    "all:error=EINTR",
    "write:retval=1",
    "pread64:retval=7",
    "fsync:retval=0",
];

fn open(place: &Path) -> Pair {
    let options = WorkspaceOptions { cache: Some(place.join("cache")), ..WorkspaceOptions::default() };
    Pair::new(&place.join("root"), &place.join("global"), options)
}

/// Runs in the process whose calls fail; does nothing as a normal test. Publishes two segments, opens them again as
/// another process would, and compares each result with that of the plain search.
#[test]
fn child_whose_calls_fail() {
    let Some(place) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    for round in 0..2 {
        let pair = open(&place);
        assert_eq!(pair.files("needle", "opened").len(), round);
        fs::write(place.join(format!("root/f{round}")), "a needle\n").unwrap();
        pair.build();
        assert_eq!(pair.files("needle", "built").len(), round + 1);
        assert_eq!(pair.files("straw", "built"), ["straw"]);
    }
    println!("all answers were right");
}

/// Creates a small tree.
fn make_place(place: &Path) {
    fs::create_dir_all(place.join("root")).unwrap();
    for (name, text) in [("straw", "straw\n"), ("hay", "hay\n")] {
        fs::write(place.join("root").join(name), text).unwrap();
    }
}

/// Runs the child with a fault in call `number` of those that access the index; returns the calls that strace logged.
fn play(fault: &str, number: usize, story: &str) -> String {
    // In memory if possible, since flushing to a disk is slow.
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    make_place(place.path());
    // Opened once to find out the file names, which depend only on the root; then the content is deleted.
    open(place.path()).files("hay", "as it is");
    let cache = place.path().join("cache");
    let mut below = fs::read_dir(cache.join("index/1")).unwrap().map(|entry| entry.unwrap().path());
    let index = below.find(|path| path.is_dir()).unwrap();
    fs::remove_dir_all(&cache).unwrap();
    let log = place.path().join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(&log).args(["-e", "trace=!close", "-e", "signal=none"]);
    command.arg("-e").arg(format!("inject={fault}:when={number}"));
    let names = ["", "use.lock", "write.lock", "manifest", "new-manifest", "seg-0", "new-seg-0", "seg-1", "new-seg-1"];
    for path in names.map(|name| index.join(name)).iter().chain([&cache, &cache.join("index"), &cache.join("index/1")])
    {
        command.arg("-P").arg(path);
    }
    let output = command
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "workspace_faults::child_whose_calls_fail", "--nocapture", "--test-threads=1"])
        .env(CHILD, place.path())
        .output()
        .expect("strace is installed");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let calls = fs::read_to_string(&log).unwrap();
    assert!(output.status.success() && said.contains("all answers were right"), "{story}: {said}\n{errors}\n{calls}");
    // The next process, in which no call fails.
    let next = open(place.path());
    assert_eq!(next.files("needle", story), ["f0", "f1"]);
    next.build();
    assert_eq!(next.files("needle", story), ["f0", "f1"]);
    let status = next.workspace.status().index;
    assert!(status.persisted && status.writer, "{story}: {status:?}");
    let left = fs::read_dir(&index).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with("new-")).collect::<Vec<_>>(), Vec::<String>::new(), "{story}");
    calls
}

#[test]
fn failing_system_calls_do_not_change_the_answer() {
    // One kind of fault per call; the nightly run uses all of them.
    let kinds = seeds(0, 1).count().min(FAULTS.len());
    for kind in 0..kinds {
        let (mut number, mut failed) = (1, 0);
        loop {
            let fault = FAULTS[(kind + number) % FAULTS.len()];
            let calls = play(fault, number, &format!("{fault} at call {number}"));
            let injected = calls.lines().any(|line| line.ends_with("(INJECTED)"));
            // A fault for a single kind of call runs out of calls earlier than one for all kinds.
            if fault.starts_with("all") && !injected {
                break;
            }
            failed += usize::from(injected);
            number += 1;
        }
        assert!(failed > 30, "{failed} calls failed");
    }
}
