//! Keys of the editor as data, and the keys of a run.

use sinew_agent::agent::Delivery;
use sinew_tui::EditAction;

use super::bindings::{APP, EDITOR, LIST, TREE};

/// The circumstances in which a key of the run is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Situation {
    /// A run goes on, or something else that can be interrupted.
    pub(super) is_running: bool,
    pub(super) has_draft: bool,
    /// The same key was pressed a short time before.
    pub(super) is_second: bool,
}

/// The effect of a key of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunAction {
    Nothing,
    Send(Delivery),
    /// Ends the run; queued messages come back, the draft stays.
    Interrupt,
    /// Clears the draft, which history and undo keep.
    Clear,
    /// Opens the tree.
    Tree,
    /// Takes the newest queued message back.
    TakeBack,
    Notice(&'static str),
    Leave,
    /// The key is the editor's.
    Edit,
}

/// Tells what a key does to a run; none where it is not one of those keys.
pub(super) fn run_action(key: &str, now: Situation) -> Option<RunAction> {
    use RunAction::{Clear, Edit, Interrupt, Leave, Nothing, Notice, Send, TakeBack, Tree};
    let Situation { is_running, has_draft, is_second } = now;
    Some(match (key, is_running, has_draft) {
        ("enter", _, true) => Send(Delivery::Steer),
        ("ctrl+q" | "ctrl+enter" | "alt+enter", _, true) => Send(Delivery::FollowUp),
        ("enter" | "ctrl+q" | "ctrl+enter" | "alt+enter", _, false) => Nothing,
        ("escape", true, _) => Interrupt,
        ("escape", false, _) if !is_second => Nothing,
        ("escape", false, true) => Clear,
        ("escape", false, false) => Tree,
        ("ctrl+c", _, true) => Clear,
        ("ctrl+c", true, false) => Interrupt,
        ("ctrl+c", false, false) if is_second => Leave,
        ("ctrl+c", false, false) => Notice("ctrl+c again leaves"),
        ("ctrl+d", _, true) => Edit,
        ("ctrl+d", true, false) => Notice("the model is at work: esc interrupts it"),
        ("ctrl+d", false, false) => Leave,
        ("alt+up", true, _) => TakeBack,
        ("alt+up", false, _) => Nothing,
        _ => return None,
    })
}

/// An action that a key can call.
pub(super) struct Action {
    /// The name in `keybindings.json`.
    pub(super) name: &'static str,
    /// The name that pi gave it before names had parts.
    pub(super) old: Option<&'static str>,
    pub(super) context: &'static str,
    /// The keys that call it where the file says nothing.
    pub(super) keys: &'static [&'static str],
    edit: Option<EditAction>,
    pub(super) help: &'static str,
}

impl Action {
    /// The key or name by which the code knows it.
    pub(super) fn known_as(&self) -> &'static str {
        self.keys.first().copied().unwrap_or(self.name)
    }
}

const fn app(name: &'static str, old: &'static str, keys: &'static [&'static str], help: &'static str) -> Action {
    Action { name, old: older(old), context: APP, keys, edit: None, help }
}

const fn input(name: &'static str, old: &'static str, keys: &'static [&'static str], help: &'static str) -> Action {
    Action { name, old: older(old), context: EDITOR, keys, edit: None, help }
}

const fn edit(
    name: &'static str,
    old: &'static str,
    keys: &'static [&'static str],
    edit: EditAction,
    help: &'static str,
) -> Action {
    Action { name, old: older(old), context: EDITOR, keys, edit: Some(edit), help }
}

const fn list(name: &'static str, old: &'static str, keys: &'static [&'static str], help: &'static str) -> Action {
    Action { name, old: older(old), context: LIST, keys, edit: None, help }
}

const fn tree(name: &'static str, keys: &'static [&'static str], help: &'static str) -> Action {
    Action { name, old: None, context: TREE, keys, edit: None, help }
}

const fn older(name: &'static str) -> Option<&'static str> {
    if name.is_empty() { None } else { Some(name) }
}

/// All actions. Of two of one context on one key the first has it.
// One row per action, whatever its width.
#[rustfmt::skip]
pub(super) const ACTIONS: &[Action] = &[
    input("tui.input.submit", "submit", &["enter"], "send; while the model works: steer it after its present tools"),
    app("app.message.followUp", "followUp", &["ctrl+q", "ctrl+enter", "alt+enter"], "send when the model would stop"),
    edit("tui.input.newLine", "newLine", &["shift+enter", "ctrl+j"], EditAction::NewLine, "a new line"),
    input("tui.input.tab", "tab", &["tab"], "take a completion, complete a path"),
    app("app.panel.focus", "", &["tab"], "turn to the panel that waits, and back"),
    app("app.interrupt", "interrupt", &["escape"], "interrupt, queued messages come back; twice on an empty editor: the tree"),
    app("app.clear", "clear", &["ctrl+c"], "interrupt, or clear the editor; twice: leave"),
    app("app.exit", "exit", &["ctrl+d"], "leave, where the editor is empty"),
    app("app.message.dequeue", "dequeue", &["alt+up"], "take the newest queued message back"),
    app("app.history.search", "", &["ctrl+r"], "search earlier prompts"),
    app("app.transcript.open", "", &["ctrl+o"], "show the conversation with all output"),
    app("app.raw", "", &["alt+r"], "show the source of prompts and answers"),
    app("app.tools.expand", "expandTools", &["alt+o"], "show all output of what is still live and of what follows, or no longer"),
    app("app.thinking.toggle", "toggleThinking", &["ctrl+t"], "fold the thoughts that are still live and those that follow, or show them"),
    app("app.display.reset", "", &["ctrl+l"], "paint the screen anew"),
    app("app.editor.external", "externalEditor", &["ctrl+g"], "write the draft in your own editor ($VISUAL, $EDITOR)"),
    app("app.editor.stash", "", &["ctrl+s"], "put the draft aside: it comes back after the next send; on an empty editor: at once"),
    app("app.clipboard.pasteImage", "pasteImage", &["ctrl+v"], "paste the picture, or the text, of the desktop's clipboard"),
    app("app.clipboard.copyLine", "", &["shift+alt+l"], "copy the line of the cursor"),
    app("app.clipboard.copyPrompt", "", &["shift+alt+c"], "copy the whole draft"),
    app("app.suspend", "suspend", &["ctrl+z"], "suspend"),
    app("app.thinking.cycle", "cycleThinkingLevel", &["shift+tab"], "next thinking level"),
    app("app.model.select", "selectModel", &["alt+m"], "choose the model that answers"),
    app("app.model.selectTemporary", "", &["alt+p"], "choose the model that answers the next prompt only"),
    app("app.model.cycleForward", "cycleModelForward", &["ctrl+p"], "next model: of --models, enabledModels or all"),
    app("app.model.cycleBackward", "cycleModelBackward", &["shift+ctrl+p"], "the model before"),
    app("app.plan.toggle", "", &["shift+alt+p"], "offer only tools that change nothing, and back"),
    app("app.session.new", "newSession", &[], "begin a new session"),
    app("app.session.tree", "tree", &[], "go to another place of this session"),
    app("app.session.fork", "fork", &[], "go on with a copy of this session"),
    app("app.session.resume", "resume", &[], "go on with another session"),
    edit("tui.editor.cursorLeft", "cursorLeft", &["left", "ctrl+b"], EditAction::Left, "a character to the left"),
    edit("tui.editor.cursorRight", "cursorRight", &["right", "ctrl+f"], EditAction::Right, "a character to the right"),
    edit("tui.editor.cursorUp", "cursorUp", &["up"], EditAction::Up, "a row up, then to earlier prompts"),
    edit("tui.editor.cursorDown", "cursorDown", &["down"], EditAction::Down, "a row down, then to later prompts"),
    edit("tui.editor.pageUp", "pageUp", &["pageUp"], EditAction::PageUp, "a page up in a long draft"),
    edit("tui.editor.pageDown", "pageDown", &["pageDown"], EditAction::PageDown, "a page down in a long draft"),
    edit("tui.editor.cursorWordLeft", "cursorWordLeft", &["alt+left", "ctrl+left", "alt+b"], EditAction::WordLeft, "a word to the left"),
    edit("tui.editor.cursorWordRight", "cursorWordRight", &["alt+right", "ctrl+right", "alt+f"], EditAction::WordRight, "a word to the right"),
    edit("tui.editor.cursorLineStart", "cursorLineStart", &["home", "ctrl+a"], EditAction::LineStart, "to the begin of the line"),
    edit("tui.editor.cursorLineEnd", "cursorLineEnd", &["end", "ctrl+e"], EditAction::LineEnd, "to the end of the line"),
    edit("tui.editor.cursorTextStart", "", &["ctrl+home"], EditAction::TextStart, "to the begin of the text"),
    edit("tui.editor.cursorTextEnd", "", &["ctrl+end"], EditAction::TextEnd, "to the end of the text"),
    input("tui.editor.jumpForward", "jumpForward", &["ctrl+]"], "to the next place of the character that is typed then"),
    input("tui.editor.jumpBackward", "jumpBackward", &["ctrl+alt+]"], "to the place before of the character that is typed then"),
    edit("tui.editor.deleteCharBackward", "deleteCharBackward", &["backspace", "ctrl+h", "shift+backspace"], EditAction::DeleteBackward, "delete the character before the cursor"),
    edit("tui.editor.deleteCharForward", "deleteCharForward", &["delete", "ctrl+d"], EditAction::DeleteForward, "delete the character at the cursor"),
    edit("tui.editor.deleteWordBackward", "deleteWordBackward", &["ctrl+w", "alt+backspace"], EditAction::KillWordBackward, "cut the word before the cursor"),
    edit("tui.editor.deleteWordForward", "deleteWordForward", &["alt+d", "alt+delete"], EditAction::KillWordForward, "cut the word behind the cursor"),
    edit("tui.editor.deleteToLineStart", "deleteToLineStart", &["ctrl+u"], EditAction::KillToLineStart, "cut to the begin of the line"),
    edit("tui.editor.deleteToLineEnd", "deleteToLineEnd", &["ctrl+k"], EditAction::KillToLineEnd, "cut to the end of the line"),
    edit("tui.editor.yank", "yank", &["ctrl+y"], EditAction::Yank, "paste what was cut"),
    edit("tui.editor.yankPop", "yankPop", &["alt+y"], EditAction::YankPop, "paste what was cut before that"),
    edit("tui.editor.transpose", "", &[], EditAction::Transpose, "exchange two characters"),
    edit("tui.editor.undo", "undo", &["ctrl+-", "ctrl+_"], EditAction::Undo, "undo"),
    edit("tui.editor.redo", "", &["alt+-"], EditAction::Redo, "redo"),
    list("tui.select.up", "selectUp", &["up", "ctrl+p"], "in a panel: the entry above"),
    list("tui.select.down", "selectDown", &["down", "ctrl+n"], "in a panel: the entry below"),
    list("tui.select.pageUp", "selectPageUp", &["pageUp"], "in a panel: a page up"),
    list("tui.select.pageDown", "selectPageDown", &["pageDown"], "in a panel: a page down"),
    list("tui.select.confirm", "selectConfirm", &["enter"], "in a panel: take the entry"),
    tree("tree.filter.cycle", &["ctrl+o"], "in the tree: the next filter"),
    tree("tree.filter.cycleBack", &["shift+ctrl+o"], "in the tree: the filter before"),
    tree("tree.filter.default", &["alt+d"], "in the tree: what was said and done"),
    tree("tree.filter.noTools", &["alt+t"], "in the tree: the same without results of tools"),
    tree("tree.filter.userOnly", &["alt+u"], "in the tree: your prompts"),
    tree("tree.filter.labeledOnly", &["alt+l"], "in the tree: places with a label"),
    tree("tree.filter.all", &["alt+a"], "in the tree: every entry"),
    tree("tree.label", &["shift+l"], "in the tree: label the place"),
    list("tui.select.cancel", "selectCancel", &["escape", "ctrl+c"], "in a panel: leave it"),
];

/// Returns what a key, as the code knows it, does in the editor.
pub(super) fn action(key: &str) -> Option<EditAction> {
    let fits = |action: &&Action| action.context == EDITOR && action.known_as() == key;
    ACTIONS.iter().find(fits).and_then(|action| action.edit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_65_each_cell_of_the_table_of_run_control() {
        use RunAction::{Clear, Edit, Interrupt, Leave, Nothing, Notice, Send, TakeBack, Tree};
        let (steer, follow_up) = (Send(Delivery::Steer), Send(Delivery::FollowUp));
        let (busy, again) = (Notice("the model is at work: esc interrupts it"), Notice("ctrl+c again leaves"));
        // Idle and empty, idle with a draft, running and empty, running with a draft.
        let situations = [(false, false), (false, true), (true, false), (true, true)];
        for (key, once, twice) in [
            ("enter", [Nothing, steer, Nothing, steer], [Nothing, steer, Nothing, steer]),
            ("ctrl+q", [Nothing, follow_up, Nothing, follow_up], [Nothing, follow_up, Nothing, follow_up]),
            ("ctrl+enter", [Nothing, follow_up, Nothing, follow_up], [Nothing, follow_up, Nothing, follow_up]),
            ("alt+enter", [Nothing, follow_up, Nothing, follow_up], [Nothing, follow_up, Nothing, follow_up]),
            ("escape", [Nothing, Nothing, Interrupt, Interrupt], [Tree, Clear, Interrupt, Interrupt]),
            ("ctrl+c", [again, Clear, Interrupt, Clear], [Leave, Clear, Interrupt, Clear]),
            ("ctrl+d", [Leave, Edit, busy, Edit], [Leave, Edit, busy, Edit]),
            ("alt+up", [Nothing, Nothing, TakeBack, TakeBack], [Nothing, Nothing, TakeBack, TakeBack]),
        ] {
            for (is_second, expect) in [(false, once), (true, twice)] {
                for ((is_running, has_draft), expect) in situations.into_iter().zip(expect) {
                    let now = Situation { is_running, has_draft, is_second };
                    assert_eq!(run_action(key, now), Some(expect), "{key} {now:?}");
                }
            }
        }
        let now = Situation { is_running: true, has_draft: true, is_second: false };
        assert_eq!(run_action("a", now), None);
    }

    #[test]
    fn the_code_knows_each_action_by_a_key_of_its_own() {
        for (at, one) in ACTIONS.iter().enumerate() {
            for other in &ACTIONS[..at] {
                let same = one.context == other.context && one.known_as() == other.known_as();
                assert!(one.name != other.name && !same, "{} and {}", one.name, other.name);
                assert!(one.old.is_none() || one.old != other.old, "{}", one.name);
            }
            assert_eq!(one.edit.is_some(), one.context == EDITOR && action(one.known_as()).is_some(), "{}", one.name);
        }
    }
}
