//! Tests of programs under a keeper, with real process trees. Every process of a tree has the write end of a FIFO open:
//! at the end of file, all of them have ended.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sinew_process::Process;
use sinew_process::supervision::{self, Kept, ProgramPipes, ProgramSpec};

const KEEPER: &str = env!("CARGO_BIN_EXE_sinew-keeper");

/// A program that outlives its owner: it starts a session, forks twice, and ignores TERM and a closed input.
const STUBBORN: &str = "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & nohup sleep 1000 & exec sleep 1000' & \
    (sleep 1000 &) ; echo up; cat >/dev/null; sleep 1000";

/// A program that ends when its standard input closes.
const POLITE: &str = "echo up; cat >/dev/null; echo bye >&2";

fn program(script: &str) -> ProgramSpec {
    let path = std::env::var_os("PATH").unwrap();
    ProgramSpec {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), path)],
        cwd: None,
    }
}

/// A named pipe in a directory that is deleted together with it.
struct Fifo {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Fifo {
    fn new() -> Fifo {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alive");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Fifo { _folder: folder, path }
    }

    /// Returns the script; all of its processes keep the pipe open.
    fn held_by(&self, script: &str) -> String {
        format!("exec 9>'{}'; {script}", self.path.display())
    }

    /// Opens our end, and waits for the first process.
    fn open(&self) -> File {
        File::open(&self.path).unwrap()
    }
}

/// Waits until no process has the pipe open.
fn wait_for_end(mut alive: File) {
    assert_eq!(alive.read(&mut [0]).unwrap(), 0);
}

fn start(script: &str) -> (Kept, ProgramPipes) {
    supervision::start(Path::new(KEEPER), &program(script)).unwrap()
}

fn wait_until_up(pipes: &mut ProgramPipes) {
    let mut out = BufReader::new(File::from(pipes.stdout.try_clone().unwrap()));
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
}

fn rest(fd: std::os::fd::OwnedFd) -> String {
    let mut text = String::new();
    File::from(fd).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_program_gets_its_pipes_arguments_environment_and_directory() {
    let script = r#"read line; printf '%s|%s|%s|%s' "$line" "$1" "$A" "$PWD"; env | cut -d= -f1 | sort >&2"#;
    let mut program = program(script);
    program.args.extend(["sh".into(), OsString::from("a b\n")]);
    program.env.push(("A".into(), "ü".into()));
    program.cwd = Some("/usr".into());
    let (mut kept, pipes) = supervision::start(Path::new(KEEPER), &program).unwrap();
    let mut input = File::from(pipes.stdin);
    input.write_all(b"hello\n").unwrap();
    assert_eq!(rest(pipes.stdout), "hello|a b\n|ü|/usr");
    let names = rest(pipes.stderr);
    assert!(names.lines().all(|name| ["A", "PATH", "PWD", "OLDPWD", "SHLVL", "_"].contains(&name)), "{names}");
    // The output ends before the program does. The keeper reports the end of the program and then exits.
    let pid = Process::from_pid(kept.pid());
    if let Some(process) = pid {
        process.wait_for_exit(&sinew_base::CancelToken::never()).unwrap();
    }
    while kept.exit_status().is_none() {
        std::thread::yield_now();
    }
    assert_eq!(kept.exit_status(), Some(0));
    kept.close();
}

#[test]
fn the_process_list_shows_the_arguments_for_the_program_only() {
    let (kept, mut pipes) = start("token=secret-7; echo up; cat >/dev/null");
    wait_until_up(&mut pipes);
    let keeper = Process::from_pid(kept.pid()).unwrap().ppid().unwrap();
    let line = std::fs::read_to_string(format!("/proc/{keeper}/cmdline")).unwrap();
    assert_eq!(line, format!("{KEEPER}\0keep\0"));
    assert_eq!(std::fs::read(format!("/proc/{keeper}/environ")).unwrap(), b"");
    kept.close();
}

#[test]
fn a_failed_start_names_the_program_and_the_cause() {
    let error = |program: &str, cwd: Option<&str>| {
        let program = ProgramSpec { program: program.into(), cwd: cwd.map(PathBuf::from), ..ProgramSpec::default() };
        supervision::start(Path::new(KEEPER), &program).unwrap_err().to_string()
    };
    assert_eq!(error("/nowhere/x", None), r#"failed to start "/nowhere/x": No such file or directory"#);
    assert_eq!(error("/", None), r#"failed to start "/": Permission denied"#);
    assert_eq!(error("/bin/true", Some("/nowhere")), r#"failed to start "/bin/true": No such file or directory"#);
    let no_keeper = supervision::start(Path::new("/nowhere/keeper"), &program("true")).unwrap_err().to_string();
    assert!(no_keeper.contains("the keeper \"/nowhere/keeper\""), "{no_keeper}");
    let another = supervision::start(Path::new("/bin/true"), &program("true")).unwrap_err().to_string();
    assert!(another.contains("did not answer"), "{another}");
}

#[test]
fn a_program_that_exits_by_itself_is_not_signalled() {
    let (kept, mut pipes) = start(&format!("trap 'echo term >&2' TERM; {POLITE}"));
    wait_until_up(&mut pipes);
    drop(pipes.stdin);
    kept.close();
    assert_eq!(rest(pipes.stderr), "bye\n");
}

#[test]
fn close_ends_all_descendants() {
    let fifo = Fifo::new();
    let (kept, mut pipes) = start(&fifo.held_by(STUBBORN));
    let alive = fifo.open();
    wait_until_up(&mut pipes);
    kept.close();
    wait_for_end(alive);
}

#[test]
fn kill_ends_all_descendants() {
    let fifo = Fifo::new();
    let (kept, mut pipes) = start(&fifo.held_by(STUBBORN));
    let alive = fifo.open();
    wait_until_up(&mut pipes);
    kept.kill();
    wait_for_end(alive);
}

#[test]
fn dropping_the_handle_ends_all_descendants() {
    let fifo = Fifo::new();
    let (kept, mut pipes) = start(&fifo.held_by(STUBBORN));
    let alive = fifo.open();
    wait_until_up(&mut pipes);
    drop(kept);
    wait_for_end(alive);
}

#[test]
fn background_processes_end_with_their_program() {
    let fifo = Fifo::new();
    let (mut kept, mut pipes) = start(&fifo.held_by("setsid sleep 1000 & (sleep 1000 &); echo up; exit 3"));
    let alive = fifo.open();
    wait_until_up(&mut pipes);
    wait_for_end(alive);
    assert_eq!(kept.exit_status(), Some(3));
    kept.close();
}

#[test]
fn sigkill_of_the_owner_ends_all_descendants() {
    let fifo = Fifo::new();
    let mut owner = Command::new(KEEPER)
        .args(["run", "sh", "-c", &fifo.held_by(STUBBORN)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let alive = fifo.open();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_for_end(alive);
}

#[test]
fn killing_the_owner_during_a_start_leaves_no_process() {
    for _ in 0..20 {
        let fifo = Fifo::new();
        let writer = std::fs::OpenOptions::new().read(true).write(true).open(&fifo.path).unwrap();
        let reader = File::open(&fifo.path).unwrap();
        drop(writer);
        let mut owner = Command::new(KEEPER)
            .args(["run", "sh", "-c", &fifo.held_by(STUBBORN)])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        owner.kill().unwrap();
        owner.wait().unwrap();
        // It does not matter whether anything was started by then.
        let mut reader = reader;
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
    }
}

#[test]
fn killing_the_keeper_ends_its_program() {
    let fifo = Fifo::new();
    let (mut kept, mut pipes) = start(&fifo.held_by("echo up; exec sleep 1000"));
    let alive = fifo.open();
    wait_until_up(&mut pipes);
    let keeper = Process::from_pid(Process::from_pid(kept.pid()).unwrap().ppid().unwrap()).unwrap();
    assert!(keeper.signal(9));
    wait_for_end(alive);
    assert_eq!(kept.exit_status(), None);
    kept.close();
}

#[test]
fn a_keeper_sleeps_while_its_program_lives() {
    let (kept, mut pipes) = start(POLITE);
    wait_until_up(&mut pipes);
    let keeper = Process::from_pid(kept.pid()).unwrap().ppid().unwrap();
    // Both threads sleep in a system call without a time limit: poll and wait4.
    let calls = || -> Vec<String> {
        let mut calls: Vec<String> = std::fs::read_dir(format!("/proc/{keeper}/task"))
            .unwrap()
            .map(|task| std::fs::read_to_string(task.unwrap().path().join("syscall")).unwrap())
            .map(|line| line.split(' ').take(4).collect::<Vec<_>>().join(" "))
            .collect();
        calls.sort();
        calls
    };
    let mut seen = calls();
    while seen.iter().any(|call| call.starts_with("running")) {
        std::thread::yield_now();
        seen = calls();
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    drop(pipes.stdin);
    kept.close();
}
