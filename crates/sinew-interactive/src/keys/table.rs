//! The table of actions: their names, their default keys, and their help.

use sinew_tui::{EditAction, ViewAction};

use super::{Action, ListAction, TreeAction};

/// The context in which a key is pressed. Two actions of one context cannot share a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    App,
    Editor,
    List,
    Tree,
    View,
}

impl Context {
    /// Returns its name in a map of keys.
    pub(super) fn name(self) -> &'static str {
        match self {
            Context::App => "app",
            Context::Editor => "editor",
            Context::List => "list",
            Context::Tree => "tree",
            Context::View => "view",
        }
    }
}

/// A row of the table.
pub(super) struct Row {
    pub(super) action: Action,
    /// The name in `keybindings.json`.
    pub(super) name: &'static str,
    /// The name in pi before names had several parts.
    pub(super) old: Option<&'static str>,
    pub(super) context: Context,
    /// The default keys.
    pub(super) keys: &'static [&'static str],
    pub(super) help: &'static str,
}

type Keys = &'static [&'static str];

const fn row(
    action: Action,
    context: Context,
    name: &'static str,
    old: &'static str,
    keys: Keys,
    help: &'static str,
) -> Row {
    Row { action, name, old: if old.is_empty() { None } else { Some(old) }, context, keys, help }
}

const fn app(action: Action, name: &'static str, old: &'static str, keys: Keys, help: &'static str) -> Row {
    row(action, Context::App, name, old, keys, help)
}

const fn input(action: Action, name: &'static str, old: &'static str, keys: Keys, help: &'static str) -> Row {
    row(action, Context::Editor, name, old, keys, help)
}

const fn edit(action: EditAction, name: &'static str, old: &'static str, keys: Keys, help: &'static str) -> Row {
    row(Action::Edit(action), Context::Editor, name, old, keys, help)
}

const fn list(action: ListAction, name: &'static str, old: &'static str, keys: Keys, help: &'static str) -> Row {
    row(Action::List(action), Context::List, name, old, keys, help)
}

const fn tree(action: TreeAction, name: &'static str, keys: Keys, help: &'static str) -> Row {
    row(Action::Tree(action), Context::Tree, name, "", keys, help)
}

const fn view(action: Action, name: &'static str, keys: Keys, help: &'static str) -> Row {
    row(action, Context::View, name, "", keys, help)
}

/// All actions. If two actions of one context have the same key, the first one is used.
// One row per action, even if the line is long.
#[rustfmt::skip]
pub(super) const ACTIONS: &[Row] = &[
    input(Action::Submit, "tui.input.submit", "submit", &["enter"], "send; during a run: steer the model (running tools finish, others are skipped)"),
    app(Action::FollowUp, "app.message.followUp", "followUp", &["ctrl+q", "ctrl+enter", "alt+enter"], "send when the model is done"),
    edit(EditAction::NewLine, "tui.input.newLine", "newLine", &["shift+enter", "ctrl+j"], "insert a line break"),
    input(Action::Tab, "tui.input.tab", "tab", &["tab"], "accept a completion, or complete a path"),
    app(Action::FocusPanel, "app.panel.focus", "", &["tab"], "switch to the waiting panel, and back"),
    app(Action::Interrupt, "app.interrupt", "interrupt", &["escape"], "interrupt, and return queued messages; twice in an empty editor: open the tree"),
    app(Action::Clear, "app.clear", "clear", &["ctrl+c"], "interrupt, or clear the editor; twice: quit"),
    app(Action::Exit, "app.exit", "exit", &["ctrl+d"], "quit, if the editor is empty"),
    app(Action::Dequeue, "app.message.dequeue", "dequeue", &["alt+up"], "return the newest queued message to the editor"),
    app(Action::SearchHistory, "app.history.search", "", &["ctrl+r"], "search earlier prompts"),
    app(Action::OpenTranscript, "app.transcript.open", "", &["ctrl+o"], "show the conversation with all output"),
    app(Action::OpenSource, "app.raw", "", &["alt+r"], "show the source of prompts and answers"),
    app(Action::ExpandTools, "app.tools.expand", "expandTools", &["alt+o"], "show or fold long output of running and later tools"),
    app(Action::ToggleThoughts, "app.thinking.toggle", "toggleThinking", &["ctrl+t"], "show or fold current and later thoughts"),
    app(Action::ResetDisplay, "app.display.reset", "", &["ctrl+l"], "repaint the screen"),
    app(Action::ExternalEditor, "app.editor.external", "externalEditor", &["ctrl+g"], "write the draft in your own editor ($VISUAL, $EDITOR)"),
    app(Action::Stash, "app.editor.stash", "", &["ctrl+s"], "stash the draft until the next message is sent; in an empty editor: restore it"),
    app(Action::Paste, "app.clipboard.pasteImage", "pasteImage", &["ctrl+v"], "paste the image or text of the desktop's clipboard"),
    app(Action::CopyLine, "app.clipboard.copyLine", "", &["shift+alt+l"], "copy the line of the cursor"),
    app(Action::CopyPrompt, "app.clipboard.copyPrompt", "", &["shift+alt+c"], "copy the whole draft"),
    app(Action::Suspend, "app.suspend", "suspend", &["ctrl+z"], "suspend"),
    app(Action::CycleThinking, "app.thinking.cycle", "cycleThinkingLevel", &["shift+tab"], "next thinking level"),
    app(Action::SelectModel, "app.model.select", "selectModel", &["alt+m"], "choose the model that answers"),
    app(Action::SelectTemporaryModel, "app.model.selectTemporary", "", &["alt+p"], "choose the model that answers the next prompt only"),
    app(Action::NextModel, "app.model.cycleForward", "cycleModelForward", &["ctrl+p"], "next model: of --models, enabledModels or all"),
    app(Action::PreviousModel, "app.model.cycleBackward", "cycleModelBackward", &["shift+ctrl+p"], "previous model"),
    app(Action::TogglePlan, "app.plan.toggle", "", &["shift+alt+p"], "turn plan mode on or off: only tools that change nothing"),
    app(Action::NewSession, "app.session.new", "newSession", &[], "start a new session"),
    app(Action::OpenTree, "app.session.tree", "tree", &[], "go to another point in this session"),
    app(Action::ForkSession, "app.session.fork", "fork", &[], "continue in a copy of this session"),
    app(Action::ResumeSession, "app.session.resume", "resume", &[], "continue another session"),
    edit(EditAction::Left, "tui.editor.cursorLeft", "cursorLeft", &["left", "ctrl+b"], "a character to the left"),
    edit(EditAction::Right, "tui.editor.cursorRight", "cursorRight", &["right", "ctrl+f"], "a character to the right"),
    edit(EditAction::Up, "tui.editor.cursorUp", "cursorUp", &["up"], "a row up, then to earlier prompts"),
    edit(EditAction::Down, "tui.editor.cursorDown", "cursorDown", &["down"], "a row down, then to later prompts"),
    edit(EditAction::PageUp, "tui.editor.pageUp", "pageUp", &["pageUp"], "a page up in a long draft"),
    edit(EditAction::PageDown, "tui.editor.pageDown", "pageDown", &["pageDown"], "a page down in a long draft"),
    edit(EditAction::WordLeft, "tui.editor.cursorWordLeft", "cursorWordLeft", &["alt+left", "ctrl+left", "alt+b"], "a word to the left"),
    edit(EditAction::WordRight, "tui.editor.cursorWordRight", "cursorWordRight", &["alt+right", "ctrl+right", "alt+f"], "a word to the right"),
    edit(EditAction::LineStart, "tui.editor.cursorLineStart", "cursorLineStart", &["home", "ctrl+a"], "to the start of the line"),
    edit(EditAction::LineEnd, "tui.editor.cursorLineEnd", "cursorLineEnd", &["end", "ctrl+e"], "to the end of the line"),
    edit(EditAction::TextStart, "tui.editor.cursorTextStart", "", &["ctrl+home"], "to the start of the text"),
    edit(EditAction::TextEnd, "tui.editor.cursorTextEnd", "", &["ctrl+end"], "to the end of the text"),
    input(Action::JumpForward, "tui.editor.jumpForward", "jumpForward", &["ctrl+]"], "jump forward to the character typed next"),
    input(Action::JumpBackward, "tui.editor.jumpBackward", "jumpBackward", &["ctrl+alt+]"], "jump back to the character typed next"),
    edit(EditAction::DeleteBackward, "tui.editor.deleteCharBackward", "deleteCharBackward", &["backspace", "ctrl+h", "shift+backspace"], "delete the character before the cursor"),
    edit(EditAction::DeleteForward, "tui.editor.deleteCharForward", "deleteCharForward", &["delete", "ctrl+d"], "delete the character at the cursor"),
    edit(EditAction::KillWordBackward, "tui.editor.deleteWordBackward", "deleteWordBackward", &["ctrl+w", "alt+backspace"], "cut the word before the cursor"),
    edit(EditAction::KillWordForward, "tui.editor.deleteWordForward", "deleteWordForward", &["alt+d", "alt+delete"], "cut the word after the cursor"),
    edit(EditAction::KillToLineStart, "tui.editor.deleteToLineStart", "deleteToLineStart", &["ctrl+u"], "cut to the start of the line"),
    edit(EditAction::KillToLineEnd, "tui.editor.deleteToLineEnd", "deleteToLineEnd", &["ctrl+k"], "cut to the end of the line"),
    edit(EditAction::Yank, "tui.editor.yank", "yank", &["ctrl+y"], "paste what was cut"),
    edit(EditAction::YankPop, "tui.editor.yankPop", "yankPop", &["alt+y"], "paste what was cut before that"),
    edit(EditAction::Transpose, "tui.editor.transpose", "", &[], "swap two characters"),
    edit(EditAction::Undo, "tui.editor.undo", "undo", &["ctrl+-", "ctrl+_"], "undo"),
    edit(EditAction::Redo, "tui.editor.redo", "", &["alt+-"], "redo"),
    list(ListAction::Up, "tui.select.up", "selectUp", &["up", "ctrl+p"], "in a panel: the entry above"),
    list(ListAction::Down, "tui.select.down", "selectDown", &["down", "ctrl+n"], "in a panel: the entry below"),
    list(ListAction::PageUp, "tui.select.pageUp", "selectPageUp", &["pageUp"], "in a panel: a page up"),
    list(ListAction::PageDown, "tui.select.pageDown", "selectPageDown", &["pageDown"], "in a panel: a page down"),
    list(ListAction::Confirm, "tui.select.confirm", "selectConfirm", &["enter"], "in a panel: choose the entry"),
    tree(TreeAction::NextFilter, "tree.filter.cycle", &["ctrl+o"], "in the tree: the next filter"),
    tree(TreeAction::PreviousFilter, "tree.filter.cycleBack", &["shift+ctrl+o"], "in the tree: the previous filter"),
    tree(TreeAction::Default, "tree.filter.default", &["alt+d"], "in the tree: messages and calls"),
    tree(TreeAction::NoTools, "tree.filter.noTools", &["alt+t"], "in the tree: messages and calls, without tool results"),
    tree(TreeAction::UserOnly, "tree.filter.userOnly", &["alt+u"], "in the tree: your prompts"),
    tree(TreeAction::LabeledOnly, "tree.filter.labeledOnly", &["alt+l"], "in the tree: entries with a label"),
    tree(TreeAction::All, "tree.filter.all", &["alt+a"], "in the tree: every entry"),
    tree(TreeAction::Label, "tree.label", &["shift+l"], "in the tree: label the entry"),
    list(ListAction::Keep, "list.keep", "", &["ctrl+s"], "in the list of models: set the entry as the default"),
    list(ListAction::Stop, "list.stop", "", &["ctrl+x"], "in the lists of background commands and subagents: stop the entry"),
    list(ListAction::Background, "list.background", "", &["ctrl+b"], "in the list of subagents: move the call of the entry to the background"),
    list(ListAction::ShowEnd, "list.end", "", &["ctrl+o"], "in a question: show the end of a long text"),
    view(Action::View(ViewAction::Close), "view.close", &["q", "escape", "ctrl+c", "ctrl+o"], "in a view: close it"),
    view(Action::View(ViewAction::Up), "view.up", &["up", "k"], "in a view: a row up"),
    view(Action::View(ViewAction::Down), "view.down", &["down", "j", "enter"], "in a view: a row down"),
    view(Action::View(ViewAction::PageUp), "view.pageUp", &["pageUp", "b"], "in a view: a page up"),
    view(Action::View(ViewAction::PageDown), "view.pageDown", &["pageDown", "f", "space"], "in a view: a page down"),
    view(Action::View(ViewAction::Start), "view.start", &["home", "g"], "in a view: to the first row"),
    view(Action::View(ViewAction::End), "view.end", &["end", "shift+g"], "in a view: to the last row"),
    view(Action::View(ViewAction::Search), "view.search", &["/"], "in a view: search for a text"),
    view(Action::View(ViewAction::Next), "view.next", &["n"], "in a view: the next match"),
    view(Action::View(ViewAction::Previous), "view.previous", &["shift+n"], "in a view: the previous match"),
    view(Action::View(ViewAction::PromptBefore), "view.promptBefore", &["["], "in a view: the previous prompt"),
    view(Action::View(ViewAction::PromptAfter), "view.promptAfter", &["]"], "in a view: the next prompt"),
    view(Action::View(ViewAction::Fold), "view.fold", &["e"], "in a view: fold or unfold the part at the first row"),
    view(Action::View(ViewAction::FoldAll), "view.foldAll", &["shift+e"], "in a view: fold or unfold everything"),
    view(Action::CopyPart, "view.copy", &["y"], "in a view: copy the part at the first row"),
    view(Action::PrintPart, "view.print", &["p"], "in a view: write that part into the transcript"),
    list(ListAction::Cancel, "tui.select.cancel", "selectCancel", &["escape", "ctrl+c"], "in a panel: close it"),
];

/// Returns the row of an action.
pub(super) fn row_of(action: Action) -> Option<&'static Row> {
    ACTIONS.iter().find(|row| row.action == action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_has_one_row_and_a_name_of_its_own() {
        for (at, one) in ACTIONS.iter().enumerate() {
            for other in &ACTIONS[..at] {
                assert!(one.name != other.name && one.action != other.action, "{} and {}", one.name, other.name);
                assert!(one.old.is_none() || one.old != other.old, "{}", one.name);
            }
            assert!(matches!(one.action, Action::Edit(_)) <= (one.context == Context::Editor), "{}", one.name);
        }
    }
}
