//! Keys: their actions, and the user's key bindings.
//!
//! | module | contents |
//! |---|---|
//! | this one | the actions, and a key press with its action |
//! | `table` | one row per action: name, default keys and help |
//! | `bindings` | `keybindings.json`, and the lookup of a press |
//! | `run` | the effect of the keys that control a run |
//!
//! Only this module and `table` contain keys as text. All other code uses an [`Action`], and asks [`Bindings`] for the
//! keys to show.

mod bindings;
mod run;
mod table;

use sinew_tui::{Chord, EditAction, Editor, ThoughtBlock, ViewAction};

pub(super) use bindings::{Bindings, EditorState, FILE, KeyMeaning};
pub(super) use run::{RunAction, RunKeyContext, run_action};
pub(super) use table::Context;

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Submit,
    FollowUp,
    /// Accepts a completion, or completes a path; in a panel it switches to another view.
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
    /// An action of the tree.
    Tree(TreeAction),
    /// An action of a full-screen view.
    View(ViewAction),
    /// Copies the part of a view that begins at its first row.
    CopyPart,
    /// Writes that part into the transcript.
    PrintPart,
}

/// The action of a key in a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListAction {
    Up,
    Down,
    PageUp,
    PageDown,
    Confirm,
    Cancel,
    /// Stores the entry as the default.
    Keep,
    /// Stops what the entry shows.
    Stop,
    /// Lets the model continue without waiting for what the entry shows.
    Background,
    /// Shows the end of a text that does not fit.
    ShowEnd,
}

/// The action of a key in the tree.
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
    /// Returns the action in a text field, where arrow keys of a panel move the cursor.
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

    /// Returns the action in a panel, where cursor keys of the editor move the selection.
    pub(super) fn list(self) -> Option<ListAction> {
        match self {
            Action::List(list) => Some(list),
            // A line feed is ctrl+j in the editor, and enter where a line break makes no sense.
            Action::Submit | Action::Edit(EditAction::NewLine) => Some(ListAction::Confirm),
            Action::Edit(EditAction::Up) => Some(ListAction::Up),
            Action::Edit(EditAction::Down) => Some(ListAction::Down),
            Action::Edit(EditAction::PageUp) => Some(ListAction::PageUp),
            Action::Edit(EditAction::PageDown) => Some(ListAction::PageDown),
            _ => None,
        }
    }
}

/// A key press with its action in the context where it was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Press<'a> {
    Action(Action),
    /// A press without an action there, with the text that it types; empty if it types nothing.
    Text(&'a str),
}

impl Press<'_> {
    /// Returns the action of the press.
    pub(super) fn action(self) -> Option<Action> {
        match self {
            Press::Action(action) => Some(action),
            Press::Text(_) => None,
        }
    }

    /// Returns the action of the press in a panel.
    pub(super) fn list(self) -> Option<ListAction> {
        self.action().and_then(Action::list)
    }

    /// Applies the press to a text field of one line.
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

/// The keys that are named in rows of the transcript, and in notes of the linear mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RowKeys {
    /// Shows the whole conversation.
    pub(super) more: Option<Chord>,
    /// Shows new thoughts.
    pub(super) thoughts: Option<Chord>,
    pub(super) interrupt: Option<Chord>,
}

impl RowKeys {
    /// Creates a block of thoughts that names the keys.
    pub(super) fn of_thought(self, block: ThoughtBlock) -> ThoughtBlock {
        block.with_keys(self.thoughts, self.more)
    }

    /// Returns a note with a key and its effect; empty without a key.
    pub(super) fn note(key: Option<Chord>, does: &str) -> String {
        key.map(|key| format!(" · {} {does}", label(key)).trim_end().to_string()).unwrap_or_default()
    }
}

/// Formats a chord for hints.
fn label(chord: Chord) -> String {
    match chord.to_string() {
        key if key == "escape" => "esc".into(),
        key => key,
    }
}

/// Returns the press of a key in a panel with the default keys. A character without a text types itself.
#[cfg(test)]
pub(super) fn panel_press<'a>(key: &'a str, text: &'a str) -> Press<'a> {
    let text = if text.is_empty() && key.chars().count() == 1 { key } else { text };
    let parsed = sinew_tui::Key::parse(key).expect("a key");
    let press = sinew_tui::KeyPress { key: parsed, others: [None; 3], text: text.into(), repeat: false };
    match Bindings::default().meaning(&[Context::List, Context::Editor], None, &press) {
        KeyMeaning::Action(action) => Press::Action(action),
        _ => Press::Text(text),
    }
}
