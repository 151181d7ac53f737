//! Lines that the user types where no screen is.

use tokio::sync::oneshot;

/// A line of the terminal. It is read on a thread of its own: nobody may come to write it.
pub(crate) fn line() -> oneshot::Receiver<Option<String>> {
    let (send, line) = oneshot::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = std::io::stdin().read_line(&mut text);
        // Whoever waited may have gone.
        let _ = send.send(read.ok().filter(|count| *count > 0).map(|_| text));
    });
    line
}
