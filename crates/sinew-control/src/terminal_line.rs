//! Reads lines that the user types in a terminal without a screen.

use tokio::sync::oneshot;

/// Reads a line from the terminal, on a separate thread because it may never arrive.
pub fn line() -> oneshot::Receiver<Option<String>> {
    let (send, line) = oneshot::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = std::io::stdin().read_line(&mut text);
        // The receiver may have been dropped.
        let _ = send.send(read.ok().filter(|count| *count > 0).map(|_| text));
    });
    line
}
