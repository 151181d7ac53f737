//! Reads and writes lines. A thread reads the input line by line; another one writes events and all other output in the
//! order in which they occurred.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use serde::Serialize;
use sinew_agent::agent::Subscriber;
use sinew_agent::event::Event;
use sinew_control::client::{TakenBytes, Writer};
use sinew_control::output::{self, Output};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::modes::json::EventEncoder;

/// The maximum length of a line in bytes.
pub(super) const LONGEST: usize = 64 << 20;

/// A line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The line without its end.
    Whole(Vec<u8>),
    /// The line exceeded the limit and was discarded.
    TooLong,
}

/// Reads lines on a thread until the input ends, and then cancels `ended`. Only one line is buffered.
pub(super) fn lines(ended: CancellationToken) -> mpsc::Receiver<Line> {
    let (send, lines) = mpsc::channel(1);
    // The thread is not joined, because it may wait for a line that never arrives.
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

/// Returns the next line that is not blank; `None` at the end of the input or after an error.
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
            // `fill_buf` is called again below, because the borrow would last for the whole loop.
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

/// A request to the writer.
enum Frame {
    Line(Vec<u8>),
    /// Read events from this subscriber from now on.
    Listen(Box<Subscriber>),
    /// End the writer.
    End,
}

/// A frame, and the channel that reports when it is written.
type QueuedFrame = (Frame, oneshot::Sender<()>);

/// Sends frames to the writer. Only one frame is buffered; the other senders wait.
#[derive(Clone)]
pub(super) struct FrameSender {
    frames: mpsc::Sender<QueuedFrame>,
    taken: TakenBytes,
}

impl FrameSender {
    /// Starts the writer. `lost` is notified when nothing can be written any more.
    pub(super) fn start(snapshots: bool, lost: oneshot::Sender<()>) -> (FrameSender, Writer) {
        let (frames, mut queue) = mpsc::channel(1);
        let taken = TakenBytes::default();
        let out = FrameSender { frames, taken: taken.clone() };
        let handle = tokio::runtime::Handle::current();
        // Runs on a separate thread, because a slow reader must not delay the handling of signals.
        let writer = tokio::task::spawn_blocking(move || {
            let mut writer = FrameWriter { out: output::stdout(), encoder: EventEncoder::new(snapshots), taken };
            let ended = writer.run(&handle, &mut queue);
            if ended.is_err() {
                // The receiver may have been dropped.
                let _ = lost.send(());
            }
            ended
        });
        (out, writer)
    }

    /// Writes `frame` as a line, after all earlier events. Resolves when it is written, or if the writer has ended.
    pub(super) async fn send(&self, frame: &impl Serialize) {
        // Frames consist of strings, numbers and values, so serialization cannot fail.
        self.pass(Frame::Line(serde_json::to_vec(frame).unwrap_or_default())).await;
    }

    /// Reads events from `listener` from now on, after the remaining events of the previous one.
    pub(super) async fn listen(&self, listener: Subscriber) {
        self.pass(Frame::Listen(Box::new(listener))).await;
    }

    /// Ends the writer after everything is written.
    pub(super) async fn end(&self) {
        self.pass(Frame::End).await;
    }

    async fn pass(&self, frame: Frame) {
        let (tell, told) = oneshot::channel();
        if self.frames.send((frame, tell)).await.is_ok() {
            // The writer has ended; `lost` reports that.
            let _ = told.await;
        }
    }

    /// Returns the counter of bytes that the client has read.
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

/// The next item to write.
enum NextItem {
    Frame(Option<QueuedFrame>),
    Event(Option<Arc<Event>>),
}

impl<W: Write> FrameWriter<W> {
    fn run(&mut self, handle: &tokio::runtime::Handle, queue: &mut mpsc::Receiver<QueuedFrame>) -> io::Result<()> {
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
                    frame = queue.recv() => NextItem::Frame(frame),
                    event = event => NextItem::Event(event),
                }
            });
            match next {
                NextItem::Event(Some(event)) => self.event(&event)?,
                NextItem::Event(None) => listener = None,
                NextItem::Frame(None) => return Ok(()),
                NextItem::Frame(Some((frame, done))) => {
                    // Writes the events that occurred before the frame. Later ones must not delay it indefinitely.
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
                    // The receiver may have been dropped.
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
        // The result must not depend on the sizes of the reads.
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
