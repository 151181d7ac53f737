//! Pastes from the clipboard of a real X server, and copies of drafts to it, with `xclip` as the other program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use sinew::base::CancelToken;
use sinew::image::{Channels, ImageFormat, Picture};

use crate::stage::{Stage, text};
use crate::terminal::{Terminal, has, left};

/// An X server on a display that it selected itself.
struct Display {
    server: Child,
    name: String,
}

impl Display {
    fn start() -> Display {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "64x64x24", "-nolisten", "tcp", "-noreset"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().expect("Xvfb is on PATH; install the package xvfb to run this test");
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.trim().parse::<u32>().is_ok(), "Xvfb did not come up");
        Display { server, name: format!(":{}", line.trim()) }
    }

    fn xclip(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("xclip");
        command.args(["-selection", "clipboard"]).args(arguments).env("DISPLAY", &self.name).stderr(Stdio::null());
        command
    }

    fn taken(&self, target: &str) -> Vec<u8> {
        self.xclip(&["-o", "-t", target]).output().expect("xclip is on PATH").stdout
    }

    /// Lets `xclip` own the clipboard, and waits until it does.
    fn offer(&self, target: &str, bytes: &[u8]) {
        let mut command = self.xclip(&["-i", "-t", target]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("xclip is on PATH");
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        assert!(child.wait().unwrap().success());
        // It runs in the background before it owns the clipboard. The time limit of the test runner applies.
        while self.taken(target) != bytes {}
    }

    fn terminal(&self, stage: &Stage) -> Terminal {
        let mut command = stage.command(&["--script", "script.jsonl"]);
        command.env("TERM", "xterm-256color").env("DISPLAY", &self.name).env("TMPDIR", stage.project());
        let mut terminal = Terminal::run(command, (80, 24));
        terminal.until(|rows| has(rows, "ready"));
        terminal
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_clipboard_image_is_pasted_and_sent() {
    let display = Display::start();
    let stage = Stage::scripted(&[text("A grey picture.")]);
    let mut terminal = display.terminal(&stage);
    terminal.send("\x16");
    terminal.until_shown("the clipboard is empty");
    let picture = Picture::new(3, 2, Channels::Rgb, vec![99; 18]).unwrap();
    display.offer("image/png", &picture.encode(ImageFormat::Png, 100, &CancelToken::never()).unwrap());
    terminal.send("see\x16");
    terminal.until(|rows| has(rows, "› see [image #1 3×2]"));
    terminal.send("what is it?\r");
    terminal.until(|rows| has(rows, "A grey picture.") && has(rows, "ready"));
    left(terminal);
    let session = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(session.contains(r#""mimeType":"image/png""#), "{session}");
    assert!(session.contains("see @") && session.contains(" what is it?"), "{session}");
}

#[test]
fn clipboard_text_is_pasted_and_a_draft_is_copied() {
    let display = Display::start();
    let stage = Stage::scripted(&[text("never")]);
    let mut terminal = display.terminal(&stage);
    display.offer("UTF8_STRING", "from elsewhere — ä".as_bytes());
    terminal.send("one\ntwo ");
    terminal.until_shown("  two");
    terminal.send("\x16");
    terminal.until_shown("  two from elsewhere — ä");
    for (key, expect, told) in [
        ("\x1bL", "two from elsewhere — ä", "copied 1 line"),
        ("\x1bC", "one\ntwo from elsewhere — ä", "copied 2 lines"),
    ] {
        terminal.send(key);
        terminal.until_shown(told);
        assert_eq!(String::from_utf8(display.taken("UTF8_STRING")).unwrap(), expect);
    }
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}
