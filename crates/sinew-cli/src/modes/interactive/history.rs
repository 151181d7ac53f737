//! The thread that reads and writes the history of prompts: the file may be long, and locked by another program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use sinew_session::history::{History, Prompt};

use super::mailbox::{Mailbox, Message};

/// The time that the file gets at the end for what is not written yet.
const END: Duration = Duration::from_secs(1);

enum Work {
    Add(Prompt),
    Search(PathBuf, Sender<io::Result<Vec<Prompt>>>),
}

/// The history of prompts. Adding does not wait for the file; what was added is written before anything is read, and
/// before the end.
pub(super) struct PromptHistory {
    work: Option<Sender<Work>>,
    /// Closed when everything is written.
    ended: Receiver<()>,
}

/// A reader of the history, for other threads.
pub(super) struct HistoryReader(Option<Sender<Work>>);

impl PromptHistory {
    /// Starts the thread. A prompt that cannot be written is told to the mailbox.
    pub(super) fn open(file: PathBuf, mailbox: Mailbox) -> io::Result<PromptHistory> {
        let (work, asked) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        std::thread::Builder::new().name("history".into()).spawn(move || {
            let history = History::new(file);
            for work in asked {
                match work {
                    Work::Add(prompt) => {
                        if let Err(error) = history.add(prompt) {
                            mailbox.send(Message::Notice(format!("the history was not written: {error}")));
                        }
                    }
                    // Whoever asked may have gone.
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
            // The thread ends with this sender, not before.
            let _ = work.send(Work::Add(prompt));
        }
    }

    pub(super) fn reader(&self) -> HistoryReader {
        HistoryReader(self.work.clone())
    }
}

impl Drop for PromptHistory {
    /// Waits until everything is written, or the file has been locked by another program for a second.
    fn drop(&mut self) {
        self.work = None;
        let _ = self.ended.recv_timeout(END);
    }
}

impl HistoryReader {
    /// Reads the prompts, those of the folder first, each newest first. Waits for the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn read(self, cwd: &Path) -> io::Result<Vec<Prompt>> {
        let (found, answer) = mpsc::channel();
        let asked = self.0.and_then(|work| work.send(Work::Search(cwd.to_path_buf(), found)).ok());
        let closed = || io::Error::other("the program ends");
        asked.ok_or_else(closed)?;
        answer.recv().map_err(|_| closed())?
    }

    /// The texts of the same for the arrow keys: the newest of the folder last.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn texts(self, cwd: &Path) -> Result<Vec<String>, String> {
        let prompts = self.read(cwd).map_err(|error| error.to_string())?;
        Ok(prompts.into_iter().rev().map(|prompt| prompt.prompt).collect())
    }
}
