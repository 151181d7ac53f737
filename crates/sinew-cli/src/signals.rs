//! Signals that end the program.

/// Listens from now on; resolves to the exit code of the first signal that asks the program to end.
pub(crate) fn signals() -> impl Future<Output = u8> {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind: SignalKind| {
        let stream = signal(kind);
        async move {
            match stream {
                Ok(mut stream) => stream.recv().await,
                // Without a handler the signal ends the process at once.
                Err(_) => std::future::pending().await,
            }
        }
    };
    let (interrupt, terminate, hangup) =
        (wait(SignalKind::interrupt()), wait(SignalKind::terminate()), wait(SignalKind::hangup()));
    async move {
        tokio::select! {
            _ = interrupt => 130,
            _ = terminate => 143,
            _ = hangup => 143,
        }
    }
}
