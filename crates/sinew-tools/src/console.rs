//! A terminal that the user sees.

use sinew::shell::pty::PtySession;

/// Shows the program of a command and types into it.
pub trait Console: Send + Sync {
    /// A program begins. `session` takes what is typed, another size, and the end. Gives columns and rows.
    fn open(&self, command: &str, session: &PtySession) -> (u32, u32);

    /// It printed `chunk`, control sequences included.
    fn show(&self, chunk: &str);

    /// It is over.
    fn close(&self);
}
