//! Tests that the status of a sandbox is correct on systems that refuse a mechanism.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::play;
use sinew_base::ErrorCode;
use sinew_sandbox::{CallerEnvironment, Enforcement, Mode, Policy, Promise, Sandbox, Status};

/// The variable that names the row in the process that runs it.
const ROW: &str = "SINEW_WEAKER_ROW";
const FOLDER: &str = "SINEW_WEAKER_FOLDER";

const LANDLOCK: [libc::c_long; 3] =
    [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];
const NAMESPACES: [libc::c_long; 2] = [libc::SYS_unshare, libc::SYS_setns];

/// A system: the calls that it refuses, and the expected enforcement of write, read, network, sockets and signals.
struct System {
    name: &'static str,
    refused: &'static [&'static [libc::c_long]],
    held: [Enforcement; 5],
}

const SYSTEMS: [System; 4] = {
    use Enforcement::{Advisory, Enforced, Partial};
    [
        System { name: "whole", refused: &[], held: [Enforced, Partial, Enforced, Enforced, Enforced] },
        System { name: "no landlock", refused: &[&LANDLOCK], held: [Partial, Partial, Enforced, Enforced, Partial] },
        System {
            name: "no namespaces",
            refused: &[&NAMESPACES],
            held: [Partial, Partial, Enforced, Enforced, Partial],
        },
        System {
            name: "neither",
            refused: &[&LANDLOCK, &NAMESPACES],
            held: [Advisory, Advisory, Enforced, Enforced, Partial],
        },
    ]
};

fn held(status: &Status) -> [Enforcement; 5] {
    [Promise::Write, Promise::Read, Promise::Network, Promise::Sockets, Promise::Signals]
        .map(|promise| status.of(promise).held)
}

/// Returns a filter that refuses calls with `EPERM`, as that of a container does.
fn filter(calls: &[libc::c_long]) -> Vec<libc::sock_filter> {
    let step = |code: u16, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = vec![step(0x20, 0, 0, 0)];
    for call in calls {
        program.push(step(0x15, 0, 1, *call as u32));
        program.push(step(0x06, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    }
    program.push(step(0x06, 0, 0, libc::SECCOMP_RET_ALLOW));
    program
}

/// Runs this test again in a process that cannot make these calls.
fn play_in_process(row: &str, folder: &Path, calls: &[libc::c_long]) {
    let program = filter(calls);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "weaker::reports_what_a_weaker_system_enforces", "--nocapture"])
        .env(ROW, row)
        .env(FOLDER, folder);
    let install = move || {
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        // SAFETY: the program lives during the calls and has the given length.
        let result = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter)
        };
        if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(install) };
    assert!(command.status().unwrap().success(), "{row}");
}

/// Checks the sandbox of this process, which has the restrictions of `system`.
fn play(system: &System, folder: &Path) {
    let (root, outside) = (folder.join("root"), folder.join("outside"));
    for place in [&root, &outside] {
        std::fs::create_dir(place).unwrap();
    }
    std::fs::write(root.join(".env"), "hidden").unwrap();
    std::fs::write(outside.join("old"), "").unwrap();
    std::fs::create_dir(outside.join("keys")).unwrap();
    for (name, text) in [("secret", "closed"), ("keys/id", "closed"), ("beside", "open")] {
        std::fs::write(outside.join(name), text).unwrap();
    }
    let outside_path = |name: &str| outside.join(name).to_str().unwrap().to_string();
    let policy = Policy {
        roots: vec![root.to_str().unwrap().into()],
        deny_read: vec![
            root.join(".env").to_str().unwrap().into(),
            outside_path("secret"),
            outside_path("keys"),
            outside_path("missing/key"),
        ],
        deny_exec: vec!["seq".into()],
        ..Policy::new(Mode::Workspace)
    };
    let path = std::env::var_os("PATH");
    let surroundings =
        CallerEnvironment { cwd: root.clone(), home: Some(outside.clone()), path, ..CallerEnvironment::default() };
    let sandbox = Sandbox::prepare(&policy, &surroundings).unwrap();
    assert_eq!(held(sandbox.status()), system.held, "{}: {:#?}", system.name, sandbox.status());
    for (index, promise) in [Promise::Write, Promise::Read, Promise::Signals].into_iter().enumerate() {
        let required = Policy { required: vec![promise], ..policy.clone() };
        let is_enforced = system.held[[0, 1, 4][index]] == Enforcement::Enforced;
        match Sandbox::prepare(&required, &surroundings) {
            Ok(_) => assert!(is_enforced, "{} {promise:?}", system.name),
            Err(error) => assert!(!is_enforced && error.code() == ErrorCode::Unsupported, "{error}"),
        }
    }
    std::fs::create_dir(outside.join("missing")).unwrap();
    std::fs::write(outside.join("missing/key"), "closed").unwrap();
    std::fs::write(outside.join("created"), "later").unwrap();
    let entry = sandbox.enter().unwrap();
    let mut command = Command::new("bash");
    let script = "cat .env $OUT/*; cat $OUT/{keys/id,missing/key} /proc/self/cwd/../outside/secret; seq 73417 73417; python3 -c 'import json; print(json.dumps([1]))'; echo $OUT/*; touch $OUT/new; chmod 777 $OUT/old; exec 3<>/dev/tcp/127.0.0.1/9; echo ended; touch inside";
    command.args(["-c", script]).current_dir(&root).env("OUT", &outside);
    entry.attach(&mut command).unwrap();
    let output = command.output().unwrap();
    drop(command);
    drop(entry);
    let text = String::from_utf8_lossy(&output.stdout);
    let has_namespaces = sandbox.status().write.by.contains(&"namespaces");
    let is_open = system.held[1] == Enforcement::Advisory;
    assert!(text.contains("closed") == is_open, "{}: {text}", system.name);
    assert!(text.contains("73417") == is_open, "{}: {text}", system.name);
    // Landlock cannot close a file in a directory in which programs create others.
    assert!(text.contains("hidden") != has_namespaces, "{}: {text}", system.name);
    assert!(["open", "later", "/beside", "[1]"].iter().all(|word| text.contains(word)), "{}: {output:?}", system.name);
    assert!(outside.join("new").exists() == (system.held[0] == Enforcement::Advisory), "{}", system.name);
    assert!(root.join("inside").exists(), "{}: {output:?}", system.name);
    let mode = std::os::unix::fs::PermissionsExt::mode(&outside.join("old").metadata().unwrap().permissions()) & 0o777;
    assert!((mode == 0o777) != has_namespaces, "{}: {mode:o}", system.name);
}

#[test]
fn reports_what_a_weaker_system_enforces() {
    if let (Ok(row), Some(folder)) = (std::env::var(ROW), std::env::var_os(FOLDER)) {
        let system = SYSTEMS.iter().find(|system| system.name == row).unwrap();
        play(system, Path::new(&folder));
        return;
    }
    for system in &SYSTEMS {
        let folder = play::folder();
        play_in_process(system.name, folder.path(), &system.refused.concat());
    }
}

#[test]
fn without_notifications_the_sockets_are_advisory_and_a_sandbox_inside_another_one_works() {
    if std::env::var_os(ROW).is_some() {
        return;
    }
    let folder = play::folder();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let policy = Policy { roots: vec![root.to_str().unwrap().into()], ..Policy::new(Mode::Workspace) };
    let surroundings = CallerEnvironment { cwd: root.clone(), ..CallerEnvironment::default() };
    let outer = Sandbox::prepare(&policy, &surroundings).unwrap();
    let entry = outer.enter().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "weaker::inside_another_sandbox"]).env("SINEW_INNER_ROOT", &root).current_dir("/");
    entry.attach(&mut command).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn inside_another_sandbox() {
    let Some(root) = std::env::var_os("SINEW_INNER_ROOT") else { return };
    let policy = Policy { roots: vec![root.to_str().unwrap().into()], ..Policy::new(Mode::Workspace) };
    let surroundings = CallerEnvironment { cwd: "/".into(), ..CallerEnvironment::default() };
    let sandbox = Sandbox::prepare(&policy, &surroundings).unwrap();
    // Another supervisor already answers, and namespaces are refused; Landlock can be applied once more.
    assert_eq!(sandbox.status().sockets.held, Enforcement::Advisory);
    assert_eq!(sandbox.status().write.by, ["landlock"]);
    let entry = sandbox.enter().unwrap();
    let mut command = Command::new("touch");
    command.arg(Path::new(&root).join("made"));
    entry.attach(&mut command).unwrap();
    assert!(command.status().unwrap().success());
}
