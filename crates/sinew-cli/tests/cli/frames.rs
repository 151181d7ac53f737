//! A program that speaks lines of JSON over its standard streams.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

/// The time limit for an expected frame, far longer than necessary.
const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct FrameProgram {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    /// All frames so far.
    pub(crate) seen: Vec<Value>,
}

/// The end of a program.
#[derive(Debug)]
pub(crate) struct ProgramEnd {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    /// All frames.
    pub(crate) seen: Vec<Value>,
}

impl FrameProgram {
    /// Starts a program, and reads nothing yet.
    pub(crate) fn start(mut command: Command) -> FrameProgram {
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
        FrameProgram { stdin: child.stdin.take(), child, frames, seen: Vec::new() }
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        self.raw(format!("{frame}\n").as_bytes());
    }

    /// Returns the next frame.
    #[track_caller]
    pub(crate) fn frame(&mut self) -> Value {
        let Ok(frame) = self.frames.recv_timeout(LIMIT) else {
            // No more frames will arrive, so the test fails with the text on stderr.
            let _ = self.child.kill();
            let mut stderr = String::new();
            let _ = self.child.stderr.take().map(|mut err| err.read_to_string(&mut stderr));
            panic!("nothing more came after {:?}; stderr: {stderr}", self.seen.last());
        };
        self.seen.push(frame.clone());
        frame
    }

    /// Returns the next frame for which `fits` returns true; skips the others.
    #[track_caller]
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.frame();
            if fits(&frame) {
                return frame;
            }
        }
    }

    /// Returns the first frame for which `fits` returns true, including frames that arrived earlier.
    #[track_caller]
    pub(crate) fn first(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        match self.seen.iter().find(|frame| fits(frame)) {
            Some(frame) => frame.clone(),
            None => self.until(fits),
        }
    }

    /// Ends the program by SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn end(mut self) -> ProgramEnd {
        self.stdin = None;
        self.wait()
    }

    /// Waits for the end.
    pub(crate) fn wait(mut self) -> ProgramEnd {
        while let Ok(frame) = self.frames.recv_timeout(LIMIT) {
            self.seen.push(frame);
        }
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        ProgramEnd { code: self.child.wait().unwrap().code(), stderr, seen: self.seen }
    }
}
