//! A terminal in the user interface.

use sinew::shell::pty::PtySession;

/// Shows the program of a command and sends it the user's input.
pub trait Console: Send + Sync {
    /// Called when a program starts. `session` receives input, size changes and the termination request. Returns the
    /// columns and rows.
    fn open(&self, command: &str, session: &PtySession) -> (u32, u32);

    /// Called with the output, including control sequences.
    fn show(&self, chunk: &str);

    /// Called when the program has ended.
    fn close(&self);
}
