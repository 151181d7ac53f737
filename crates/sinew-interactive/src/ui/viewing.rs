//! The view of the whole conversation on the terminal's alternate screen. Changes during that time are shown
//! afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sinew_control::app::OpenSession;
use sinew_tui::{EditAction, Line, Passages, QueryPress, Reaction, ReadPassages, Screen, Search, Style, Viewer};

use super::Ui;
use crate::blocks::DIM;
use crate::keys::{Action, Context, ListAction, Press};
use crate::mailbox::{Message, SearchResult, ViewPurpose};
use crate::session_passages::SessionPassages;
use crate::transcript;

/// An open view, and its screen.
pub(super) struct OpenViewer {
    viewer: Viewer,
    screen: Screen,
    /// The id of the subagent that works and whose conversation is shown.
    subagent: Option<String>,
    /// True while a search is running; `None` if there is none.
    searches: Option<Arc<AtomicBool>>,
}

impl OpenViewer {
    /// Stops a running search; returns false if there is none.
    fn end_search(&mut self) -> bool {
        self.searches.take().inspect(|goes_on| goes_on.store(false, Ordering::Relaxed)).is_some()
    }

    /// Shows a note instead of the keys.
    pub(super) fn tell(&mut self, note: impl Into<String>) {
        self.viewer.tell(note);
    }
}

/// Removes the mark before a prompt; other texts are unchanged.
fn without_mark(part: &str) -> String {
    let is_prompt = part.starts_with("› ");
    let lines = part
        .lines()
        .map(|line| if is_prompt { line.char_indices().nth(2).map_or("", |(at, _)| &line[at..]) } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

impl Ui {
    /// Collects the conversation for a view, which arrives as a message.
    pub(super) fn open_viewer(&mut self) {
        let (running, size) = (self.transcript.running_tools(&mut self.screen), self.terminal.tty.size());
        self.view_session(move |open| {
            let passages = SessionPassages::new(open, &running);
            let first = passages.newest_call();
            Viewer::new("conversation", Arc::new(passages), size, first)
        });
    }

    /// Collects the source of prompts and answers for a view, starting at the newest prompt.
    pub(super) fn open_source(&mut self) {
        let size = self.terminal.tty.size();
        self.view_session(move |open| {
            let passages = SessionPassages::source(open);
            let first = passages.newest_prompt();
            Viewer::raw("source", Arc::new(passages), size, first)
        });
    }

    /// Builds a view of the session on another thread.
    fn view_session(&self, make: impl FnOnce(Arc<OpenSession>) -> Viewer + Send + 'static) {
        let (open, mailbox) = (self.conversation.control.session(), self.conversation.mailbox.clone());
        self.conversation.runtime.spawn_blocking(move || mailbox.send(Message::Viewer(Box::new(make(open)))));
    }

    /// Shows the output of a background command, starting at its end.
    pub(super) fn view_job(&mut self, id: &str) {
        let host = Arc::clone(&self.conversation.control.session().host);
        let (mailbox, size, id) = (self.conversation.mailbox.clone(), self.terminal.tty.size(), id.to_string());
        self.conversation.runtime.spawn_blocking(move || match host.job_output(&id) {
            Ok(output) if output.trim().is_empty() => {
                mailbox.send(Message::Notice(format!("job {id} has no output yet")))
            }
            Ok(output) => {
                let lines: Vec<Line> = output.lines().map(|line| Line::plain(&sinew::term::sanitize(line))).collect();
                let passages = ReadPassages::of_lines(&lines);
                let last = passages.count();
                let viewer = Viewer::new(&format!("job {id}"), Arc::new(passages), size, last);
                mailbox.send(Message::Viewer(Box::new(viewer)));
            }
            Err(error) => mailbox.send(Message::Notice(error)),
        });
    }

    /// Collects the conversation of a subagent, for a view that follows it.
    pub(super) fn view_subagent(&mut self, id: String, purpose: ViewPurpose) {
        let (control, mailbox) = self.conversation.handles();
        self.conversation.runtime.spawn_blocking(move || {
            let working = control.listed_child(&id).ok().filter(|child| child.state.is_at_work());
            let is_over = working.is_none();
            let running = working.map(|child| (child.summary(), child.last_line.unwrap_or_default()));
            mailbox.send(match control.child_conversation(&id) {
                Ok(conversation) => {
                    let passages = Arc::new(SessionPassages::of_subagent(conversation, running.as_slice()));
                    Message::SubagentPassages { id, passages, is_over, purpose }
                }
                Err(error) => Message::Notice(error.message),
            });
        });
    }

    /// Shows the conversation of a subagent in the view that follows it, or in a new one. A view that was closed
    /// meanwhile stays closed.
    pub(super) fn show_subagent(
        &mut self,
        id: String,
        passages: Arc<dyn Passages>,
        is_over: bool,
        purpose: ViewPurpose,
    ) {
        let is_viewed = self.viewed_subagent() == Some(&id);
        if !is_viewed && purpose == ViewPurpose::Refresh {
            return;
        }
        if !is_viewed {
            let last = passages.count();
            self.show_viewer(Viewer::new(&id, passages, self.terminal.tty.size(), last));
        } else if let Some(open) = &mut self.viewer {
            open.viewer.replace(passages);
        }
        if let Some(open) = &mut self.viewer {
            open.subagent = Some(id).filter(|_| !is_over);
            self.refreshed = Some(Instant::now());
        }
    }

    /// Returns the id of the subagent that the view follows; `None` if there is none.
    pub(super) fn viewed_subagent(&self) -> Option<&str> {
        self.viewer.as_ref()?.subagent.as_deref()
    }

    /// Shows a view that was built.
    pub(super) fn show_viewer(&mut self, mut viewer: Viewer) {
        // The size may have changed while the view was built.
        let size = self.terminal.tty.size();
        if viewer.size() != size {
            viewer.resize(size);
        }
        if self.viewer.is_none() {
            // The position of the cursor must be queried on the main screen.
            if self.screen.is_resizing() || size != self.screen.size() {
                let key = self.conversation.keys.short(Action::OpenTranscript);
                return self.notify(format!("the size has just changed: press {key} again"));
            }
            self.terminal.tty.enter_viewer();
        } else {
            self.terminal.tty.write(b"\x1b[H");
        }
        viewer.set_hint(self.conversation.keys.view_hint());
        let screen = Screen::new(size, self.screen.options(), Arc::clone(self.screen.theme()));
        self.viewer = Some(OpenViewer { viewer, screen, subagent: None, searches: None });
    }

    /// Returns the contexts whose keys apply in the view; `None` if it is not open.
    pub(super) fn viewer_contexts(&self) -> Option<&'static [Context]> {
        let typing: &[Context] = &[Context::List, Context::Editor];
        self.viewer.as_ref().map(|open| if open.viewer.is_typing() { typing } else { &[Context::View] })
    }

    /// Passes a key to the view. `cancels` says that the key closes panels, which also stops a search.
    pub(super) fn take_viewer_key(&mut self, press: Press<'_>, cancels: bool) {
        let Some(open) = &mut self.viewer else { return };
        if open.end_search() && cancels {
            return open.viewer.tell("the search was cancelled");
        }
        let reaction = match press {
            _ if open.viewer.is_typing() => open.viewer.type_query(match (press, press.list()) {
                (_, Some(ListAction::Cancel)) => QueryPress::Cancel,
                (_, Some(ListAction::Confirm)) => QueryPress::Confirm,
                (Press::Action(Action::Edit(EditAction::DeleteBackward)), _) => QueryPress::Backspace,
                (Press::Action(_), _) => QueryPress::Text(""),
                (Press::Text(text), _) => QueryPress::Text(text),
            }),
            Press::Action(Action::View(action)) => open.viewer.act(action),
            Press::Action(action @ (Action::CopyPart | Action::PrintPart)) => {
                match open.viewer.part() {
                    None => open.viewer.tell("there is no prompt, answer or call here"),
                    Some(part) if action == Action::CopyPart => self.copy_text(without_mark(&part)),
                    Some(part) => {
                        transcript::line(&mut self.screen, &part, Style::PLAIN);
                        self.notify("written to the end of the transcript");
                    }
                }
                Reaction::Stays
            }
            Press::Action(_) | Press::Text(_) => {
                open.viewer.rest();
                Reaction::Stays
            }
        };
        match reaction {
            Reaction::Stays => {}
            Reaction::Closes => self.close_viewer(),
            Reaction::Searches(search) => self.search_viewer(search),
        }
    }

    /// Runs a search of the view on another thread. The result arrives as a message.
    fn search_viewer(&mut self, search: Search) {
        let Some(open) = &mut self.viewer else { return };
        let goes_on = Arc::new(AtomicBool::new(true));
        open.searches = Some(Arc::clone(&goes_on));
        let mailbox = self.conversation.mailbox.clone();
        self.conversation.runtime.spawn_blocking(move || {
            let spot = search.run(&|| goes_on.load(Ordering::Relaxed));
            mailbox.send(Message::Searched(Box::new(SearchResult { search, spot, goes_on })));
        });
    }

    /// Handles the result of a search, unless it is not needed any more.
    pub(super) fn searched(&mut self, SearchResult { search, spot, goes_on }: SearchResult) {
        let Some(open) = &mut self.viewer else { return };
        if open.searches.take_if(|waits| Arc::ptr_eq(waits, &goes_on)).is_some() {
            open.viewer.found(&search, spot);
        }
    }

    /// Closes the view and returns to the transcript, whose size may have changed.
    pub(super) fn close_viewer(&mut self) {
        if let Some(mut open) = self.viewer.take() {
            open.end_search();
            self.terminal.tty.leave_viewer();
            self.resize();
        }
    }

    /// Lays the view out for a new size of the terminal; returns false if it is not open.
    pub(super) fn resize_viewer(&mut self) -> bool {
        let Some(open) = &mut self.viewer else { return false };
        let size = self.terminal.tty.size();
        if size != open.viewer.size() {
            open.viewer.resize(size);
            open.screen = Screen::new(size, self.screen.options(), Arc::clone(self.screen.theme()));
            self.terminal.tty.write(b"\x1b[H");
        }
        true
    }

    /// Paints the view; returns false if it is not open.
    pub(super) fn paint_viewer(&mut self) -> bool {
        let Some(open) = &mut self.viewer else { return false };
        open.screen.set_chrome(open.viewer.chrome());
        let frame = open.screen.paint();
        self.terminal.tty.write(&frame.bytes);
        true
    }

    /// Begins to record the output, starting with a complete screen; if a recording is active, ends it.
    pub(super) fn record(&mut self, file: &str) {
        if self.terminal.tty.end_record() {
            return self.notify("the recording has stopped");
        }
        let startup = &self.conversation.control.app.startup;
        let file = match file {
            "" => startup.paths.agent.join(format!("recording-{}.cast", self.conversation.control.app.clock.now())),
            file => startup.paths.cwd.join(file),
        };
        let text = match self.terminal.tty.record(&file) {
            Ok(()) => format!("recording to {}: /record stops it", file.display()),
            Err(error) => format!("{}: {error}", file.display()),
        };
        let frame = self.screen.reset();
        self.terminal.tty.write(&frame.bytes);
        transcript::line(&mut self.screen, &text, DIM);
    }
}
