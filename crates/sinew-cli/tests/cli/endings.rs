//! Unexpected ends of the program, and the screen before the agent has started.

use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};

use crate::stage::{Stage, text as answer};
use crate::terminal::{Terminal, enter, has, left, left_with_bytes};

const SIZE: (u16, u16) = (80, 24);

/// Waits for the child of a process with this name.
fn child_of(parent: Pid, name: &str) -> Pid {
    loop {
        if let Some(child) = find_child(parent, name) {
            return child;
        }
        std::thread::yield_now();
    }
}

/// Waits until the guard of a program is ready.
fn guard_of(program: Pid) -> Pid {
    let guard = child_of(program, "sinew-guard");
    let waits = format!("{} ", libc::SYS_read);
    while !std::fs::read_to_string(folder_of(guard).join("syscall")).unwrap().starts_with(&waits) {
        std::thread::yield_now();
    }
    guard
}

fn find_child(parent: Pid, name: &str) -> Option<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let processes = processes.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let (name, parent) = (format!("({name}) "), format!(" {} ", parent.as_raw_nonzero()));
    let is_child = |process: &Pid| {
        let stat = std::fs::read_to_string(folder_of(*process).join("stat")).unwrap_or_default();
        // The state and the parent follow the name.
        stat.split_once(&name).is_some_and(|(_, rest)| rest[1..].starts_with(&parent))
    };
    processes.into_iter().find(is_child)
}

fn folder_of(process: Pid) -> PathBuf {
    format!("/proc/{}", process.as_raw_nonzero()).into()
}

#[test]
fn a_killed_program_leaves_the_terminal_restored() {
    let stage = Stage::scripted(&[answer("ok")]);
    for place in ["at the prompt", "with the keys of kitty", "in the view", "its whole group"] {
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
        terminal.until(|rows| has(rows, "ready"));
        // Before that the guard belongs to the process group of the program.
        guard_of(terminal.pid());
        if place != "at the prompt" {
            terminal.send("\x1b[?0u");
            terminal.until_sent(|text| text.contains("\x1b[>5u"));
        }
        if place == "in the view" {
            terminal.send("\x1b[111;5u");
            terminal.until_shown("conversation · ");
        }
        match place {
            // The program is the leader of the terminal's session.
            "its whole group" => rustix::process::kill_process_group(terminal.pid(), Signal::KILL).unwrap(),
            _ => kill_process(terminal.pid(), Signal::KILL).unwrap(),
        }
        // Only the guard can have sent that.
        terminal.until_sent(|text| text.ends_with("\x1b[23;2t\r\n"));
        let (status, _, sent) = terminal.ended_with_bytes();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{place}");
        assert_eq!(sent.matches("\x1b[>5u").count(), sent.matches("\x1b[<u").count(), "{place}");
    }
}

#[test]
fn the_terminal_guard_sleeps_and_ends_with_its_program() {
    let stage = Stage::scripted(&[answer("ok")]);
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    let guard = folder_of(guard_of(terminal.pid()));
    let open: Vec<_> = std::fs::read_dir(guard.join("fd")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(open.len(), 2, "nothing of the program is kept open: {open:?}");
    let switches = || {
        let status = std::fs::read_to_string(guard.join("status")).unwrap();
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.unwrap().trim().parse::<u32>().unwrap()
    };
    let before = switches();
    enter(&mut terminal, "go");
    terminal.until(|rows| has(rows, "ok") && has(rows, "ready"));
    assert_eq!(switches(), before, "it sleeps while the agent works");
    left(terminal);
    assert!(!guard.exists(), "the program has seen to its end");
}

#[test]
fn restores_the_terminal_once_when_killed_while_stopped() {
    let stage = Stage::scripted(&[answer("ok")]);
    let mut terminal = Terminal::start_in_shell(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    let guard = guard_of(child_of(terminal.pid(), "sinew"));
    let guard = pidfd_open(guard, PidfdFlags::empty()).unwrap();
    terminal.send("\x1a");
    terminal.until(|rows| rows.iter().filter(|row| row.starts_with("sh>")).count() == 2);
    terminal.send("kill -9 %1\r");
    poll(&mut [PollFd::new(&guard, PollFlags::IN)], None).unwrap();
    // The first one may be answered by a warning that there is a job.
    terminal.send("exit\rexit\r");
    let (_, _, sent) = terminal.ended_with_bytes();
    assert_eq!(sent.matches("\x1b[23;2t").count(), 1, "{sent:?}");
}

/// Writes a session with this number of answers, long ones first.
fn long_session(stage: &Stage, answers: usize, filler: usize) {
    let mut lines = vec![json!({"type": "session", "version": 3, "id": "0123456789abcdef",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": stage.project()})];
    let mut parent = Value::Null;
    for number in 0..answers {
        let text = match number + 40 < answers {
            true => "x".repeat(filler),
            false => format!("answer {number}"),
        };
        for (role, text) in [("user", format!("prompt {number}")), ("assistant", text)] {
            let id = format!("{}{number:07x}", &role[..1]);
            let content = json!([{"type": "text", "text": text}]);
            let message = json!({"role": role, "content": content, "timestamp": 1, "provider": "scripted", "model": "m",
                "api": "scripted", "stopReason": "stop"});
            lines.push(json!({"type": "message", "id": id, "parentId": parent,
                "timestamp": "2026-01-01T00:00:00.000Z", "message": message}));
            parent = id.into();
        }
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    stage.write("project/long.jsonl", &text);
}

/// Returns the number of bytes that a process, or one of its threads, has read.
fn read_by(folder: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{folder}/io")).unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[test]
fn shows_the_end_of_a_session_before_reading_the_rest() {
    let stage = Stage::scripted(&[answer("It goes on.")]);
    long_session(&stage, 2_000, 10_000);
    // The terminal accepts no more bytes, so the program cannot continue after its first frame.
    let mut terminal = Terminal::start_full(&stage, &["--script", "script.jsonl", "--session", "long.jsonl"], SIZE);
    let task = terminal.until_thread_waits("screen");
    let pid = terminal.pid().as_raw_nonzero();
    let read = read_by(&pid.to_string());
    assert!(read < 2 << 20, "{read} bytes were read of a session of 20 MB");
    drop(task);
    let rows = terminal.until(|rows| rows.iter().any(|row| row == "answer 1999"));
    assert!(rows.iter().any(|row| row == "› prompt 1999"), "{rows:#?}");
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "go");
    terminal.until(|rows| has(rows, "It goes on.") && has(rows, "ready"));
    let (_, sent) = left_with_bytes(terminal);
    assert_eq!(sent.matches("answer 1999").count(), 1, "it is shown once");
    assert!(sent.contains("earlier messages"));
}

#[test]
fn the_screen_thread_reads_as_little_of_a_long_session_as_of_a_short_one() {
    let read = [100, 4_000].map(|answers| {
        let stage = Stage::scripted(&[answer("It goes on.")]);
        long_session(&stage, answers, 3_000);
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl", "--session", "long.jsonl"], SIZE);
        terminal.until(|rows| has(rows, "ready"));
        let task = terminal.thread("screen");
        let before = read_by(&task);
        enter(&mut terminal, "go");
        terminal.until(|rows| has(rows, "It goes on.") && has(rows, "ready"));
        enter(&mut terminal, "/session");
        terminal.until(|rows| rows.iter().any(|row| row.contains("long.jsonl")) && has(rows, "ready"));
        terminal.send("\x0f");
        terminal.until_shown("conversation · ");
        terminal.send("q");
        terminal.until(|rows| has(rows, "ready"));
        let read = read_by(&task) - before;
        left(terminal);
        read
    });
    // Wake-ups and keys are read too.
    assert!(read[1] < read[0] + 4_096, "{read:?}");
}

#[test]
fn keys_typed_before_the_agent_starts_are_kept_and_one_can_exit() {
    // The start waits for a server that opens a pipe without a writer.
    let stage = Stage::scripted(&[answer("It is fine.")]);
    let fifo = stage.path("project/wait");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let server =
        json!({"command": "sh", "args": ["-c", "read -r line <wait"], "cwd": stage.project(), "required": true});
    stage.write("home/agent/mcp.json", &json!({"mcpServers": {"slow": server}}).to_string());
    let start = || {
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
        terminal.until(|rows| has(rows, "starting"));
        terminal
    };
    let mut terminal = start();
    terminal.send("is it?");
    terminal.until(|rows| has(rows, "› is it?") && has(rows, "starting"));
    terminal.send("\x03");
    terminal.until(|rows| !has(rows, "› is it?"));
    terminal.send("\x04");
    let (status, rows) = terminal.ended();
    assert_eq!(status.code(), Some(0), "{rows:#?}");
    let mut terminal = start();
    kill_process(terminal.pid(), Signal::TERM).unwrap();
    terminal.until_sent(|text| text.contains("\x1b[23;2t"));
    assert_eq!(terminal.ended().0.code(), Some(143));
}

#[test]
fn a_recorded_session_replays_to_the_same_frames() {
    let stage = Stage::scripted(&[answer("# A heading\n\nIt is **fine** – 日本語 and `code`.\n"), answer("More.")]);
    let mut command = stage.command(&["--script", "script.jsonl"]);
    command.env("TERM", "xterm-256color").env("SINEW_TUI_RECORD", "all.cast");
    let mut terminal = Terminal::run(command, SIZE);
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "is it?");
    terminal.until(|rows| has(rows, "It is fine") && has(rows, "ready"));
    terminal.resize(60, 20);
    enter(&mut terminal, "more");
    terminal.until(|rows| has(rows, "More.") && has(rows, "ready"));
    let (rows, sent) = left_with_bytes(terminal);
    let text = std::fs::read_to_string(stage.path("project/all.cast")).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    assert_eq!(
        (&header["version"], &header["term"]["cols"], &header["term"]["rows"]),
        (&3.into(), &80.into(), &24.into())
    );
    let mut emulator = vt100::Parser::new(24.try_into().unwrap(), 80.try_into().unwrap(), 1_000);
    let mut output = String::new();
    for event in lines {
        let data = event[2].as_str().unwrap();
        match event[1].as_str().unwrap() {
            "o" => {
                emulator.process(data.as_bytes());
                output.push_str(data);
            }
            "r" => {
                let (columns, rows) = data.split_once('x').unwrap();
                emulator.screen_mut().set_size(rows.parse().unwrap(), columns.parse().unwrap());
            }
            other => panic!("{other}"),
        }
    }
    // The recording contains every byte after the queries of the start.
    let recorded = output.strip_prefix("\x1b[?7l").unwrap();
    assert!(sent.contains(recorded) && sent.len() - recorded.len() < 200, "{}", sent.len() - recorded.len());
    let screen = emulator.screen();
    let shown: Vec<String> = screen.rows(0, screen.size().1.into()).map(|row| row.trim_end().to_string()).collect();
    // Text after the end is not part of the screen.
    let end = shown.iter().rposition(|row| !row.is_empty()).unwrap();
    assert_eq!(shown[..=end], rows[..=end]);
    assert!(rows[..=end].iter().any(|row| row == "More."), "{rows:#?}");
}
