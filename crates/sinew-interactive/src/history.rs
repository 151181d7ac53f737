//! The thread that reads and writes the history of prompts, because the file may be long, or locked by another program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use sinew_session::history::{History, Prompt};

use super::mailbox::{Mailbox, Message};

/// The time limit at exit for writing the remaining prompts.
const END: Duration = Duration::from_secs(1);

enum Work {
    Add(Prompt),
    Search(PathBuf, Sender<io::Result<Vec<Prompt>>>),
}

/// The history of prompts. Adding a prompt does not wait for the file; pending prompts are written before anything is
/// read, and before the end.
pub(super) struct PromptHistory {
    work: Option<Sender<Work>>,
    /// Closed when everything is written.
    ended: Receiver<()>,
}

/// A reader of the history for other threads.
pub(super) struct HistoryReader(Option<Sender<Work>>);

impl PromptHistory {
    /// Starts the thread. If a prompt cannot be written, the mailbox receives a message.
    pub(super) fn open(file: PathBuf, mailbox: Mailbox) -> io::Result<PromptHistory> {
        let (work, asked) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        std::thread::Builder::new().name("history".into()).spawn(move || {
            let history = History::new(file);
            for work in asked {
                match work {
                    Work::Add(prompt) => {
                        if let Err(error) = history.add(prompt) {
                            mailbox.send(Message::Notice(format!("failed to write the history: {error}")));
                        }
                    }
                    // The receiver may have been dropped.
                    Work::Search(cwd, found) => drop(found.send(history.search("", &cwd))),
                }
            }
            drop(end);
        })?;
        Ok(PromptHistory { work: Some(work), ended })
    }

    /// Adds a prompt.
    pub(super) fn add(&self, prompt: Prompt) {
        if let Some(work) = &self.work {
            // Cannot fail, because the thread ends only after this sender is dropped.
            let _ = work.send(Work::Add(prompt));
        }
    }

    pub(super) fn reader(&self) -> HistoryReader {
        HistoryReader(self.work.clone())
    }
}

impl Drop for PromptHistory {
    /// Waits until everything is written, but at most a second if another program locks the file.
    fn drop(&mut self) {
        self.work = None;
        let _ = self.ended.recv_timeout(END);
    }
}

impl HistoryReader {
    /// Reads the prompts, those of the directory first, each group from new to old. Waits for the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(super) fn read(self, cwd: &Path) -> io::Result<Vec<Prompt>> {
        let (found, answer) = mpsc::channel();
        let asked = self.0.and_then(|work| work.send(Work::Search(cwd.to_path_buf(), found)).ok());
        let closed = || io::Error::other("the program is exiting");
        asked.ok_or_else(closed)?;
        answer.recv().map_err(|_| closed())?
    }

    /// Returns the texts of the prompts for the arrow keys, ending with the newest of the directory.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(super) fn texts(self, cwd: &Path) -> Result<Vec<String>, String> {
        let prompts = self.read(cwd).map_err(|error| error.to_string())?;
        Ok(prompts.into_iter().rev().map(|prompt| prompt.prompt).collect())
    }
}
