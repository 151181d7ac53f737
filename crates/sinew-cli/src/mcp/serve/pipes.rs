//! Standard input and output as streams: a thread transfers each, and masks keys of providers in the output.

use std::io::Read;

use sinew_control::output;
use sinew_jsonrpc::{Frame, LineDecoder};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The size in bytes of the buffer between a thread and the protocol.
const BUFFER: usize = 64 * 1024;

/// Standard output.
pub(super) struct StdoutPipe {
    pub(super) stream: DuplexStream,
    /// Resolves when everything is written, after `stream` was dropped.
    pub(super) written: WriteCompletion,
}

/// See [`StdoutPipe`].
pub(super) struct WriteCompletion(oneshot::Receiver<()>);

impl IntoFuture for WriteCompletion {
    type Output = ();
    type IntoFuture = std::pin::Pin<Box<dyn Future<Output = ()>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            // If the writer failed, the other end is closed.
            let _ = self.0.await;
        })
    }
}

/// Opens both streams. Must be called within a runtime.
pub(super) fn open() -> (DuplexStream, StdoutPipe) {
    let (ours, mut theirs) = tokio::io::duplex(BUFFER);
    let runtime = Handle::current();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut bytes = vec![0; BUFFER];
        loop {
            let count = match input.read(&mut bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                // An error of standard input counts as its end.
                Ok(0) | Err(_) => return,
                Ok(count) => count,
            };
            if runtime.block_on(theirs.write_all(&bytes[..count])).is_err() {
                return;
            }
        }
    });
    let (stream, mut written) = tokio::io::duplex(BUFFER);
    let (done, told) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::spawn(move || {
        let mut out = output::stdout();
        let mut decoder = LineDecoder::new(usize::MAX);
        let mut bytes = vec![0; BUFFER];
        let mut gone = false;
        while !gone {
            let Ok(count @ 1..) = runtime.block_on(written.read(&mut bytes)) else { break };
            decoder.push(&bytes[..count], |frame| {
                if let Frame::Message(line) = frame {
                    gone |= out.line(line.to_vec(), |_| {}).is_err();
                }
            });
        }
        // The receiver may have been dropped.
        let _ = done.send(());
    });
    (ours, StdoutPipe { stream, written: WriteCompletion(told) })
}
