//! Tests that the status of a sandbox names the gaps that a program could use.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::play;
use sinew_base::ErrorCode;
use sinew_sandbox::{CallerEnvironment, Enforcement, Mode, Policy, Promise, PromiseStatus, Sandbox, Status};

fn prepare(root: &Path, deny_read: &str, required: &[Promise]) -> sinew_base::Result<Sandbox> {
    let policy = Policy {
        roots: vec![root.to_str().unwrap().into()],
        deny_read: vec![deny_read.into()],
        required: required.to_vec(),
        ..Policy::new(Mode::Rules)
    };
    Sandbox::prepare(&policy, &CallerEnvironment { cwd: root.to_path_buf(), ..CallerEnvironment::default() })
}

#[test]
fn a_denied_path_that_does_not_exist_yet_makes_reading_partial() {
    let folder = play::folder();
    let root = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
    for name in ["missing", "no-directory/missing", "dangling"] {
        let sandbox = prepare(&root, name, &[]).unwrap();
        let read = &sandbox.status().read;
        if !read.by.is_empty() {
            assert_eq!(read.held, Enforcement::Partial, "{name}: {read:?}");
            assert!(read.missing.iter().any(|gap| gap.contains("created during a command")), "{name}: {read:?}");
        }
        assert_eq!(prepare(&root, name, &[Promise::Read]).unwrap_err().code(), ErrorCode::Unsupported, "{name}");
    }
}

/// Files through which root makes the kernel start a program or stop.
const KERNEL_SETTINGS: [&str; 9] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/fs/cgroup/release_agent",
    "/sys/fs/cgroup/cpu/release_agent",
    "/sys/fs/cgroup/memory/release_agent",
];

/// Opens a file for writing and writes nothing.
fn opens(sandbox: Option<&Sandbox>, path: &str) -> bool {
    let entry = sandbox.map(|sandbox| sandbox.enter().unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", ": >> \"$1\"", "sh", path]).stderr(Stdio::null()).current_dir("/");
    if let Some(entry) = &entry {
        entry.attach(&mut command).unwrap();
    }
    Path::new(path).exists() && command.status().unwrap().success()
}

#[test]
fn root_cannot_change_the_kernel_in_any_mode() {
    let folder = play::folder();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("denied"), "").unwrap();
    let sandbox = prepare(&root, "denied", &[]).unwrap();
    if sandbox.status().read.by.is_empty() {
        println!("skipped: the system refuses namespaces");
        return;
    }
    for path in KERNEL_SETTINGS {
        assert!(!opens(Some(&sandbox), path), "{path}");
    }
    let outside = KERNEL_SETTINGS.iter().filter(|path| opens(None, path)).count();
    println!("{outside} of {} can be opened outside", KERNEL_SETTINGS.len());
    // The files of processes stay writable.
    assert!(opens(Some(&sandbox), "/proc/self/oom_score_adj"));
}

#[test]
fn names_the_promises_that_nothing_enforces() {
    let open = PromiseStatus::open("left open");
    let lost = PromiseStatus::new(Vec::new(), vec!["one", "two"]);
    let held = PromiseStatus::new(vec!["seccomp"], Vec::new());
    let status = Status {
        write: open.clone(),
        read: lost,
        network: held.clone(),
        sockets: held,
        signals: open.clone(),
        protect: open,
    };
    assert_eq!(status.unenforced(), [(Promise::Read, "one; two".to_string())]);
}

#[test]
fn a_refused_datagram_is_reported_with_its_address() {
    let folder = play::folder();
    let root = folder.path().canonicalize().unwrap();
    let policy = Policy { roots: vec![root.to_str().unwrap().into()], ..Policy::new(Mode::Workspace) };
    let surroundings = CallerEnvironment { cwd: root.clone(), ..CallerEnvironment::default() };
    let sandbox = Sandbox::prepare(&policy, &surroundings).unwrap();
    if !sandbox.status().network.by.contains(&"namespaces") || !sandbox.status().sockets.by.contains(&"notification") {
        println!("skipped: the system refuses namespaces or notifications");
        return;
    }
    let entry = sandbox.enter().unwrap();
    let mut command = Command::new("python3");
    // Listing interfaces sends to a netlink address, which must not be reported as a refusal.
    let script = "import socket\nprint(len(socket.if_nameindex()))\nfor family, host in ((2, '192.0.2.1'), (10, '2001:db8::1')):\n  \
        try: socket.socket(family, 2).sendto(b'x', (host, 53))\n  except OSError as error: print('refused')";
    command.args(["-c", script]).current_dir(&root);
    entry.attach(&mut command).unwrap();
    let output = command.output().unwrap();
    drop(command);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\nrefused\nrefused\n", "{output:?}");
    let targets: Vec<Option<String>> = entry.finish().into_iter().map(|refusal| refusal.target).collect();
    assert_eq!(targets, [Some("192.0.2.1:53".to_string()), Some("[2001:db8::1]:53".to_string())]);
}
