//! Kills a writer at 300 random moments, and checks that its file contains every entry that was reported as written.
#![expect(clippy::print_stdout, reason = "a test without a harness prints its own results")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::Value;
use sinew_llm::message::{AgentMessage, Content, UserMessage};
use sinew_session::clock::SystemClock;
use sinew_session::{Body, Session, SessionOptions, Sync};

const KILLS: u64 = 300;
/// The maximum number of entries that a writer appends: enough that most kills interrupt it.
const ENTRIES: usize = 400;

fn options(folder: &Path) -> SessionOptions {
    SessionOptions {
        cwd: folder.to_path_buf(),
        blobs: None,
        sync: Sync::Never,
        clock: Arc::new(SystemClock),
        mask: None,
    }
}

fn user(text: String) -> Body {
    Body::Message { message: AgentMessage::from(UserMessage { content: Content::Text(text), timestamp: 1 }) }
}

/// Runs in the child: appends entries of various sizes, and prints each id once the entry is written.
fn write(path: &Path) {
    let opened = Session::open(path, options(path.parent().expect("a folder"))).expect("the session opens");
    let mut session = opened.session;
    let mut out = std::io::stdout().lock();
    for at in 0..ENTRIES {
        let text = "x".repeat(1 << (at % 18));
        let id = session.append(user(text)).expect("the entry is written");
        writeln!(out, "{id}").expect("the parent listens");
    }
}

/// Starts the child, kills it after `lines` ids, and returns all ids that it printed.
fn killed_after(path: &Path, lines: u64) -> Vec<String> {
    let program = std::env::current_exe().expect("a test knows its program");
    let mut child =
        Command::new(program).arg("write").arg(path).stdout(Stdio::piped()).spawn().expect("the child starts");
    let mut reports = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut seen = Vec::new();
    let mut line = String::new();
    for _ in 0..lines {
        line.clear();
        if reports.read_line(&mut line).expect("a report") == 0 {
            break;
        }
        seen.push(line.trim().to_string());
    }
    child.kill().expect("the child can be killed");
    child.wait().expect("the child ends");
    // Ids that are still in the pipe were printed before the kill too.
    let rest = reports.lines().map_while(Result::ok);
    seen.extend(rest.filter(|id| id.len() == 8));
    seen
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|word| word == "write") {
        return write(&PathBuf::from(&args[2]));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut chance = fastrand::Rng::with_seed(7);
    for round in 0..KILLS {
        // Three rounds share a file, so that a later writer has to handle torn lines.
        let path = folder.path().join(format!("{}.jsonl", round / 3));
        let before: Vec<String> = ids(&path);
        let reported = killed_after(&path, chance.u64(0..60));
        let after = ids(&path);
        assert_eq!(before, after[..before.len()], "round {round}: earlier entries are gone");
        let missing: Vec<&String> = reported.iter().filter(|id| !after.contains(id)).collect();
        assert!(missing.is_empty(), "round {round}: reported and lost: {missing:?}");
        assert!(after.len() <= before.len() + reported.len() + 1, "round {round}: more than the unfinished entry");
    }
    println!("test result: ok. {KILLS} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
}

/// Returns the ids of the entries in a file, after opening it like another program.
fn ids(path: &Path) -> Vec<String> {
    if !path.exists() {
        return Vec::new();
    }
    let opened = Session::open(path, options(path.parent().expect("a folder"))).expect("the session opens");
    assert!(opened.warnings.is_empty(), "{:?}", opened.warnings);
    let session = opened.session;
    let ids: Vec<String> = session.path_ids().into_iter().map(str::to_string).collect();
    for id in &ids {
        let entry = session.entry(id).expect("the entry can be read");
        assert!(matches!(entry.body, Body::Message { .. }), "{:?}", Value::from(id.as_str()));
    }
    ids
}
