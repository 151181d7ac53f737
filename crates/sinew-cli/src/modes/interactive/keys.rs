//! The keys: what they do, and which keys of the user do it.
//!
//! | module | what it holds |
//! |---|---|
//! | this one | the actions, and a press by what it means |
//! | `table` | a row per action: its name, its default keys and its line of help |
//! | `bindings` | `keybindings.json`, and the action that a press calls |
//! | `run` | what the keys of a run do in each situation |
//!
//! Only this module and `table` write a key as text. Everything else gets an [`Action`], and asks [`Bindings`] for the keys
//! that it shows.

mod bindings;
mod run;
mod table;

use sinew_tui::{Chord, EditAction, Editor, ThoughtBlock, ViewAction};

pub(super) use bindings::{Bindings, FILE, Meaning, Place};
pub(super) use run::{RunAction, Situation, run_action};
pub(super) use table::Context;

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Submit,
    FollowUp,
    /// Takes a completion, or completes a path; in a panel it goes on to something else.
    Tab,
    FocusPanel,
    Interrupt,
    Clear,
    Exit,
    Dequeue,
    SearchHistory,
    OpenTranscript,
    OpenSource,
    ExpandTools,
    ToggleThoughts,
    ResetDisplay,
    ExternalEditor,
    Stash,
    Paste,
    CopyLine,
    CopyPrompt,
    Suspend,
    CycleThinking,
    SelectModel,
    SelectTemporaryModel,
    NextModel,
    PreviousModel,
    TogglePlan,
    NewSession,
    OpenTree,
    ForkSession,
    ResumeSession,
    JumpForward,
    JumpBackward,
    /// An action of the editor.
    Edit(EditAction),
    /// An action of a panel.
    List(ListAction),
    /// An action of the tree alone.
    Tree(TreeAction),
    /// An action of a view that fills the screen.
    View(ViewAction),
    /// Copies the part of a view that begins at its first row.
    CopyPart,
    /// Writes that part into the transcript.
    PrintPart,
}

/// What a key does in a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListAction {
    Up,
    Down,
    PageUp,
    PageDown,
    Confirm,
    Cancel,
    /// Keeps the entry as the default.
    Keep,
    /// Ends what the entry shows.
    Stop,
    /// Shows the end of a text that does not fit.
    ShowEnd,
}

/// What a key does in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeAction {
    NextFilter,
    PreviousFilter,
    Default,
    NoTools,
    UserOnly,
    LabeledOnly,
    All,
    Label,
}

impl Action {
    /// What it does in a text that is written: arrows of a panel move the cursor there.
    pub(super) fn edit(self) -> Option<EditAction> {
        match self {
            Action::Edit(edit) => Some(edit),
            Action::List(ListAction::Up) => Some(EditAction::Up),
            Action::List(ListAction::Down) => Some(EditAction::Down),
            Action::List(ListAction::PageUp) => Some(EditAction::PageUp),
            Action::List(ListAction::PageDown) => Some(EditAction::PageDown),
            _ => None,
        }
    }

    /// What it does in a panel: the keys of the editor that mean the same move the mark.
    pub(super) fn list(self) -> Option<ListAction> {
        match self {
            Action::List(list) => Some(list),
            Action::Submit => Some(ListAction::Confirm),
            Action::Edit(EditAction::Up) => Some(ListAction::Up),
            Action::Edit(EditAction::Down) => Some(ListAction::Down),
            Action::Edit(EditAction::PageUp) => Some(ListAction::PageUp),
            Action::Edit(EditAction::PageDown) => Some(ListAction::PageDown),
            _ => None,
        }
    }
}

/// A press by what it means in the place where it was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Press<'a> {
    Action(Action),
    /// It calls nothing there, and types this text; empty where it types nothing.
    Text(&'a str),
}

impl Press<'_> {
    /// The action that it calls.
    pub(super) fn action(self) -> Option<Action> {
        match self {
            Press::Action(action) => Some(action),
            Press::Text(_) => None,
        }
    }

    /// What it does in a panel.
    pub(super) fn list(self) -> Option<ListAction> {
        self.action().and_then(Action::list)
    }

    /// Writes it into a text of one line.
    pub(super) fn write(self, line: &mut Editor) {
        match self {
            Press::Action(action) => match action.edit() {
                None | Some(EditAction::NewLine) => {}
                Some(edit) => drop(line.act(edit)),
            },
            Press::Text("") => {}
            Press::Text(text) => line.insert(text),
        }
    }
}

/// The keys that rows of the transcript name, and notes in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RowKeys {
    /// Shows the whole conversation.
    pub(super) more: Option<Chord>,
    /// Shows thoughts that come.
    pub(super) thoughts: Option<Chord>,
    pub(super) interrupt: Option<Chord>,
}

impl RowKeys {
    /// A block of thoughts that names them.
    pub(super) fn of_thought(self, block: ThoughtBlock) -> ThoughtBlock {
        block.with_keys(self.thoughts, self.more)
    }

    /// A key and what it does, behind a note; empty without the key.
    pub(super) fn note(key: Option<Chord>, does: &str) -> String {
        key.map(|key| format!(" · {} {does}", label(key)).trim_end().to_string()).unwrap_or_default()
    }
}

/// A chord as hints show it.
fn label(chord: Chord) -> String {
    match chord.to_string() {
        key if key == "escape" => "esc".into(),
        key => key,
    }
}

/// The press of a key of a panel with the default keys. A character without a text types itself.
#[cfg(test)]
pub(super) fn panel_press<'a>(key: &'a str, text: &'a str) -> Press<'a> {
    let text = if text.is_empty() && key.chars().count() == 1 { key } else { text };
    let parsed = sinew_tui::Key::parse(key).expect("a key");
    let press = sinew_tui::KeyPress { key: parsed, others: [None; 3], text: text.into(), repeat: false };
    match Bindings::default().meaning(&[Context::List, Context::Editor], None, &press) {
        Meaning::Action(action) => Press::Action(action),
        _ => Press::Text(text),
    }
}
