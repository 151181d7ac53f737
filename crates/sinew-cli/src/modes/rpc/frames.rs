//! Lines in and out. What comes in is read on a thread of its own, a line at a time; what goes out is written on another
//! one, which takes events and everything else in the order in which they came about.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use serde::Serialize;
use sinew_agent::agent::Subscriber;
use sinew_agent::event::Event;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::modes::client::{TakenBytes, Writer};
use crate::modes::json::EventEncoder;
use crate::output::{self, Output};

/// Bytes of a line at most.
pub(super) const LONGEST: usize = 64 << 20;

/// A line that a client sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// It had more than the limit, and is gone.
    TooLong,
}

/// Reads lines on a thread until the input ends; `ended` is set then. One line waits at most.
pub(super) fn lines(ended: CancellationToken) -> mpsc::Receiver<Line> {
    let (send, lines) = mpsc::channel(1);
    // It may wait for a line that never comes: nobody waits for the thread.
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(line) = next(&mut input, LONGEST) {
            if send.blocking_send(line).is_err() {
                break;
            }
        }
        ended.cancel();
    });
    lines
}

/// The next line that is not blank; none at the end, and where nothing more can be read.
fn next(input: &mut impl BufRead, longest: usize) -> Option<Line> {
    loop {
        let (mut line, mut long, mut ended) = (Vec::new(), false, false);
        while !ended {
            let Ok(chunk) = read(input) else { return None };
            if chunk.is_empty() {
                if line.is_empty() && !long {
                    return None;
                }
                break;
            }
            let end = find_newline(chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            long |= line.len() + part.len() > longest;
            if long {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            ended = end.is_some();
            input.consume(used);
        }
        if long {
            return Some(Line::TooLong);
        }
        if !line.trim_ascii().is_empty() {
            return Some(Line::Whole(line));
        }
    }
}

fn read(input: &mut impl BufRead) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            // Asked again below: the borrow of a loop would last too long.
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    input.fill_buf()
}

fn find_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// A frame for the writer.
enum Frame {
    Line(Vec<u8>),
    /// Events come from here from now on.
    Listen(Box<Subscriber>),
    /// Nothing follows.
    End,
}

/// A frame, and where to say that it is written.
type Sent = (Frame, oneshot::Sender<()>);

/// The way to the writer. One frame waits at most; the others wait with who sends them.
#[derive(Clone)]
pub(super) struct Out {
    frames: mpsc::Sender<Sent>,
    taken: TakenBytes,
}

impl Out {
    /// Starts the writer. `lost` hears when nothing can be written any more.
    pub(super) fn start(snapshots: bool, lost: oneshot::Sender<()>) -> (Out, Writer) {
        let (frames, mut queue) = mpsc::channel(1);
        let taken = TakenBytes::default();
        let out = Out { frames, taken: taken.clone() };
        let handle = tokio::runtime::Handle::current();
        // On a thread of its own: a reader that is slow must not keep signals from being heard.
        let writer = tokio::task::spawn_blocking(move || {
            let mut writer = FrameWriter { out: output::stdout(), encoder: EventEncoder::new(snapshots), taken };
            let ended = writer.run(&handle, &mut queue);
            if ended.is_err() {
                // The mode may be over already.
                let _ = lost.send(());
            }
            ended
        });
        (out, writer)
    }

    /// Writes `frame` as a line; resolves once it is written, or never can be. All events that came about before it are
    /// written before it.
    pub(super) async fn send(&self, frame: &impl Serialize) {
        // Frames are made of texts, numbers and values: there is nothing that could fail.
        self.pass(Frame::Line(serde_json::to_vec(frame).unwrap_or_default())).await;
    }

    /// Takes events from `listener` from now on; those of the last one that wait are written first.
    pub(super) async fn listen(&self, listener: Subscriber) {
        self.pass(Frame::Listen(Box::new(listener))).await;
    }

    /// Ends the writer once everything is written.
    pub(super) async fn end(&self) {
        self.pass(Frame::End).await;
    }

    async fn pass(&self, frame: Frame) {
        let (tell, told) = oneshot::channel();
        if self.frames.send((frame, tell)).await.is_ok() {
            // The writer is gone with its reader: whoever waits for that hears it elsewhere.
            let _ = told.await;
        }
    }

    /// The bytes that the client has taken.
    pub(super) fn taken(&self) -> &TakenBytes {
        &self.taken
    }
}

/// Writes frames and events to stdout.
struct FrameWriter<W> {
    out: Output<W>,
    encoder: EventEncoder,
    taken: TakenBytes,
}

/// The next thing to write.
enum Next {
    Frame(Option<Sent>),
    Event(Option<Arc<Event>>),
}

impl<W: Write> FrameWriter<W> {
    fn run(&mut self, handle: &tokio::runtime::Handle, queue: &mut mpsc::Receiver<Sent>) -> io::Result<()> {
        let mut listener: Option<Box<Subscriber>> = None;
        loop {
            let next = handle.block_on(async {
                let event = async {
                    match &mut listener {
                        Some(listener) => listener.recv().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    frame = queue.recv() => Next::Frame(frame),
                    event = event => Next::Event(event),
                }
            });
            match next {
                Next::Event(Some(event)) => self.event(&event)?,
                Next::Event(None) => listener = None,
                Next::Frame(None) => return Ok(()),
                Next::Frame(Some((frame, done))) => {
                    // What came about before the frame; what comes meanwhile must not keep it waiting for ever.
                    for _ in 0..listener.as_ref().map_or(0, |listener| listener.waiting()) {
                        if let Some(event) = listener.as_mut().and_then(|listener| listener.try_recv()) {
                            self.event(&event)?;
                        }
                    }
                    match frame {
                        Frame::Line(line) => self.line(line)?,
                        Frame::Listen(other) => listener = Some(other),
                        Frame::End => return Ok(()),
                    }
                    // Whoever waited for it may be gone.
                    let _ = done.send(());
                }
            }
        }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.encoder.lines(event)?.into_iter().try_for_each(|line| self.line(line))
    }

    fn line(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.out.line(line, |bytes| self.taken.add(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &[u8], expect: &[Option<&str>]) {
        // Whatever the pieces are in which it comes.
        for size in [1, 3, input.len().max(1)] {
            let mut reader = io::BufReader::with_capacity(size, input);
            let mut found = Vec::new();
            while let Some(line) = next(&mut reader, 8) {
                found.push(match line {
                    Line::Whole(line) => Some(String::from_utf8(line).unwrap()),
                    Line::TooLong => None,
                });
            }
            let expect: Vec<Option<String>> = expect.iter().map(|line| line.map(str::to_string)).collect();
            assert_eq!(found, expect, "{size}");
        }
    }

    #[test]
    fn lines_end_with_a_line_feed_and_nothing_else() {
        check(b"", &[]);
        check(b"a\nb", &[Some("a"), Some("b")]);
        check(b"\n \r\n\n", &[]);
        check(b"a\r\nb\n", &[Some("a\r"), Some("b")]);
        check("a\u{2028}b\n".as_bytes(), &[Some("a\u{2028}b")]);
    }

    #[test]
    fn a_line_above_the_limit_is_refused_and_the_next_one_is_read() {
        check(b"12345678\n123456789\nb", &[Some("12345678"), None, Some("b")]);
        check(b"123456789", &[None]);
        check(b"12345678901234567890\n", &[None]);
    }
}
