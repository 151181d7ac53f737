//! A client of the RPC mode: it sends lines and waits for what comes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::Stage;

/// How long something may take that is to come; far more than it ever needs.
const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    /// Everything that came so far.
    pub(crate) seen: Vec<Value>,
    next: u64,
}

/// How a client's program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    /// Everything that it ever wrote.
    pub(crate) seen: Vec<Value>,
}

impl Client {
    /// A client of a program with `script.jsonl`, once it is ready.
    #[track_caller]
    pub(crate) fn scripted(stage: &Stage, args: &[&str]) -> Client {
        Client::of(stage.command(&[&["--mode", "rpc", "--script", "script.jsonl"], args].concat()))
    }

    #[track_caller]
    pub(crate) fn of(command: Command) -> Client {
        let mut client = Client::silent(command);
        let ready = client.frame();
        assert_eq!(ready, json!({"type": "ready"}));
        client
    }

    /// One that has read nothing yet, not even that the program is ready.
    fn silent(mut command: Command) -> Client {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, frames) = channel();
        std::thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let line = line.unwrap();
                let frame = serde_json::from_slice(&line);
                let frame = frame.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)));
                if send.send(frame).is_err() {
                    return;
                }
            }
        });
        Client { stdin: child.stdin.take(), child, frames, seen: Vec::new(), next: 0 }
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        self.raw(format!("{frame}\n").as_bytes());
    }

    /// Sends a command under an id of its own, which is given back.
    pub(crate) fn begin(&mut self, kind: &str, mut fields: Value) -> Value {
        self.next += 1;
        let id = json!(format!("c{}", self.next));
        fields["id"] = id.clone();
        fields["type"] = json!(kind);
        self.send(&fields);
        id
    }

    /// Sends a command and gives its response.
    #[track_caller]
    pub(crate) fn ask(&mut self, kind: &str, fields: Value) -> Value {
        let id = self.begin(kind, fields);
        self.response(&id)
    }

    /// Sends a command that must succeed and gives its data.
    #[track_caller]
    pub(crate) fn data(&mut self, kind: &str, fields: Value) -> Value {
        let mut response = self.ask(kind, fields);
        assert_eq!(response["success"], true, "{kind}: {response}");
        response["data"].take()
    }

    /// Sends a command that must fail and gives the reason.
    #[track_caller]
    pub(crate) fn fails(&mut self, kind: &str, fields: Value) -> String {
        let response = self.ask(kind, fields);
        assert_eq!(response["success"], false, "{kind}: {response}");
        response["error"].as_str().unwrap().to_string()
    }

    /// The next frame.
    #[track_caller]
    pub(crate) fn frame(&mut self) -> Value {
        let Ok(frame) = self.frames.recv_timeout(LIMIT) else {
            // Nothing more will come: what it says about that.
            let _ = self.child.kill();
            let mut stderr = String::new();
            let _ = self.child.stderr.take().map(|mut err| err.read_to_string(&mut stderr));
            panic!("nothing more came after {:?}; stderr: {stderr}", self.seen.last());
        };
        self.seen.push(frame.clone());
        frame
    }

    /// The next frame that fits; those before it are passed by.
    #[track_caller]
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.frame();
            if fits(&frame) {
                return frame;
            }
        }
    }

    /// The response to a command, whether it has come already or is still to come.
    #[track_caller]
    pub(crate) fn response(&mut self, id: &Value) -> Value {
        let fits = |frame: &Value| frame["type"] == "response" && frame["id"] == *id;
        match self.seen.iter().find(|frame| fits(frame)) {
            Some(frame) => frame.clone(),
            None => self.until(fits),
        }
    }

    /// The next event of a type.
    #[track_caller]
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        self.until(|frame| frame["type"] == kind)
    }

    /// Waits until so many events of a type have come since the start.
    #[track_caller]
    pub(crate) fn count(&mut self, kind: &str, count: usize) {
        while self.seen.iter().filter(|frame| frame["type"] == kind).count() < count {
            self.frame();
        }
    }

    /// Prompts and waits until nothing else will happen.
    #[track_caller]
    pub(crate) fn prompt(&mut self, message: &str) -> Value {
        self.data("prompt", json!({"message": message}));
        let end = self.event("agent_end");
        self.event("agent_settled");
        end
    }

    /// Waits for an event, closes stdin and waits for the end.
    #[track_caller]
    pub(crate) fn end_after(mut self, kind: &str) -> Ended {
        self.count(kind, 1);
        self.end()
    }

    /// Closes stdin and waits for the end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        self.stdin = None;
        self.wait()
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Ended {
        while let Ok(frame) = self.frames.recv_timeout(LIMIT) {
            self.seen.push(frame);
        }
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Ended { code: self.child.wait().unwrap().code(), stderr, seen: self.seen }
    }
}
