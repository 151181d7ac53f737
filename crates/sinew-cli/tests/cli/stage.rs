//! A home directory, a project and a way to run the program in them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use serde_json::{Value, json};
use sinew_testkit::provider::{Reply, Server, Step, order};

pub(crate) struct Stage {
    folder: tempfile::TempDir,
}

#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let stage = Stage { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(stage.agent()).unwrap();
        std::fs::create_dir_all(stage.project()).unwrap();
        stage
    }

    /// Creates a stage whose project has this script as `script.jsonl`.
    pub(crate) fn scripted(lines: &[Value]) -> Stage {
        let stage = Stage::new();
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        stage.write("project/script.jsonl", &text.join("\n"));
        stage
    }

    /// Creates a stage whose only model is `local/m` at a server for Chat Completions.
    pub(crate) fn served(server: &Server) -> Stage {
        let stage = Stage::new();
        let provider = json!({
            "baseUrl": format!("{}/v1", server.url()),
            "api": "openai-completions",
            "auth": "none",
            "models": [{"id": "m", "contextWindow": 100_000}],
        });
        stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
        let settings = json!({"defaultModel": "local/m", "retry": {"baseDelayMs": 1}});
        stage.write("home/agent/settings.json", &settings.to_string());
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn agent(&self) -> PathBuf {
        self.path("home/agent")
    }

    /// Returns the path of the project, as the program sees it.
    pub(crate) fn project(&self) -> PathBuf {
        let path = self.path("project");
        path.canonicalize().unwrap_or(path)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Creates a pipe instead of a file: opening it blocks until the other end is open.
    #[cfg(target_os = "linux")]
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    /// Waits until a file exists.
    #[track_caller]
    pub(crate) fn wait_for(&self, name: &str) {
        let begun = std::time::Instant::now();
        while !self.path(name).exists() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(120), "{name} never came");
            std::thread::yield_now();
        }
    }

    /// Waits for the end of the process whose id is in a file.
    #[track_caller]
    pub(crate) fn wait_for_end_of(&self, name: &str) {
        let pid = std::fs::read_to_string(self.path(name)).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let begun = std::time::Instant::now();
        // A zombie counts as ended, because it may never be waited for.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(begun.elapsed() < std::time::Duration::from_secs(120), "{name}, {pid}, still runs");
            std::thread::yield_now();
        }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
        command.args(args).current_dir(self.project()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("user")).env("SINEW_HOME", self.path("home"));
        // Tests must not contact a server that happens to run on this machine.
        command.env("OLLAMA_BASE_URL", "http://127.0.0.1:1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> RunOutput {
        finish(self.command(args))
    }

    /// Runs the program with `script.jsonl`.
    #[track_caller]
    pub(crate) fn play(&self, args: &[&str]) -> RunOutput {
        self.run(&[&["--script", "script.jsonl"], args].concat())
    }

    #[track_caller]
    pub(crate) fn piped(&self, args: &[&str], stdin: &str) -> RunOutput {
        let mut command = self.command(&[&["--script", "script.jsonl"], args].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        read(child.wait_with_output().unwrap())
    }

    /// Returns the session files, oldest first.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.agent().join("sessions")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if entry.path().extension().is_some_and(|end| end == "jsonl") {
                    found.push(entry.path());
                }
            }
        }
        found.sort_by_key(|path| path.file_name().map(std::ffi::OsStr::to_os_string));
        found
    }

    /// Returns the messages of the only session: role and text.
    #[track_caller]
    pub(crate) fn said(&self) -> Vec<(String, String)> {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        messages(&files[0])
    }
}

/// Returns the messages of a session file: role and text.
pub(crate) fn messages(file: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter_map(|line| {
            let message = line.get("message")?;
            let content = match &message["content"] {
                Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
                content => content.as_str().unwrap_or_default().to_string(),
            };
            Some((message["role"].as_str()?.to_string(), content))
        })
        .collect()
}

#[track_caller]
pub(crate) fn finish(mut command: Command) -> RunOutput {
    read(command.output().unwrap())
}

fn read(output: std::process::Output) -> RunOutput {
    RunOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "turn", "content": [{"text": text}]})
}

pub(crate) fn call(said: &str, name: &str, arguments: Value) -> Value {
    json!({"type": "turn", "content": [{"text": said}, {"toolCall": {"name": name, "arguments": arguments}}]})
}

/// Returns a Chat Completions stream.
pub(crate) fn chat(delta: &Value, reason: &str) -> Reply {
    let chunks = [
        json!({"choices": [{"index": 0, "delta": delta}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 2}}),
    ];
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    Reply::stream(body + "data: [DONE]\n\n")
}

/// Starts a server that returns these replies, if the order of messages is one that real servers accept.
pub(crate) fn strict(replies: Vec<Reply>) -> Server {
    let replies = std::sync::Mutex::new(replies.into_iter());
    Server::start(move |request| {
        let reply = || replies.lock().unwrap().next().unwrap_or_else(|| Reply::text(500, "text/plain", "no more"));
        order::refusal(request).unwrap_or_else(reply)
    })
}

/// Starts a server that reports requests and never answers.
pub(crate) fn silent() -> (Server, mpsc::Receiver<()>) {
    let (tell, told) = mpsc::channel();
    let server = Server::start(move |_| {
        tell.send(()).unwrap();
        let mut reply = Reply::stream("").then(Step::Hold);
        reply.steps.remove(0);
        reply
    });
    (server, told)
}
