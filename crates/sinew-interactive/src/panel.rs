//! Panels: questions with choices, shown over the transcript.

use std::path::Path;
use std::time::{Duration, Instant};

use sinew_tools::{Approval, ApprovalRequest, FileChange, Question, RuleScope};
use sinew_tui::{EditAction, Editor};
use tokio::sync::oneshot;

use super::keys::{Action, Bindings, ListAction, Press};

mod layout;

/// The time after a key press in which the panel waits for the user to notice it.
pub(super) const TYPING: Duration = Duration::from_secs(1);

/// A question that covers a part of the transcript.
pub(super) struct Panel {
    title: String,
    /// The reason why a call is asked about.
    reason: String,
    /// The effect of a call; for a question, the labels of the choices.
    body: String,
    /// The changes that the call would make to files.
    changes: Vec<FileChange>,
    choices: Vec<String>,
    /// The selected choice; `None` until an arrow key is used, so that Enter alone does not answer.
    marked: Option<usize>,
    /// The choices that were toggled, if several are allowed.
    chosen: Vec<usize>,
    reply: Reply,
    /// The time in which it ignores keys, after its appearance or the last ignored key, because a key that was meant
    /// for something else must not permit a call.
    gate: Duration,
    /// Keys before this time are ignored.
    opens: Instant,
    /// True if the panel receives keys; otherwise the editor does.
    pub(super) has_focus: bool,
    /// True if the panel appeared while the user was typing: it receives keys after a pause.
    waits: bool,
    /// True if the end of the body is shown instead of its beginning.
    at_end: bool,
    /// True if the body did not fit in the last layout.
    is_clipped: bool,
    /// True if no row of the body fitted in the last layout.
    is_hidden: bool,
    /// The choice for which the user types a text, and the text field.
    writing: Option<(usize, Editor)>,
    /// The error in that text.
    fault: String,
    /// The key bindings for its hints.
    keys: Bindings,
}

/// The indexes of the choices about a call.
const ONCE: usize = 0;
const SESSION: usize = 1;
const ALWAYS: usize = 2;
const NO_BECAUSE: usize = 4;

enum Reply {
    Approval { request: Box<ApprovalRequest>, send: oneshot::Sender<Approval> },
    Question { send: oneshot::Sender<Option<String>>, multi: bool },
}

/// The effect of a key in a panel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The panel stays open.
    Stays,
    /// The panel was answered and closes.
    Closes,
    /// The call was refused, and the run should end.
    Stops,
    /// The panel stays open without the focus: the key is text for the editor.
    Types,
}

impl Panel {
    /// Creates a panel about a call. `file` stores the rules that are always in force.
    pub(super) fn approval(
        request: ApprovalRequest,
        changes: Vec<FileChange>,
        file: &Path,
        send: oneshot::Sender<Approval>,
        focus: bool,
        gate: Duration,
        now: Instant,
    ) -> Panel {
        let choices = match request.patterns.first() {
            Some(rule) => vec![
                "yes, once".into(),
                format!("yes, and in this session: {rule}"),
                format!("yes, and always, saved in {}: {rule}", file.display()),
                "no".into(),
                "no, and tell the model why".into(),
            ],
            // No rule can express this call exactly.
            None => vec![
                "yes, once".into(),
                "– (no rule matches exactly this call)".into(),
                "–".into(),
                "no".into(),
                "no, and tell the model why".into(),
            ],
        };
        Panel {
            title: request.attributed(format!("{} in {}", request.tool, request.cwd.display())),
            reason: layout::reason(&request),
            body: layout::effect(&request, &changes),
            changes,
            choices,
            ..Panel::new(Reply::Approval { request: Box::new(request), send }, focus, gate, now)
        }
    }

    pub(super) fn question(
        question: Question,
        send: oneshot::Sender<Option<String>>,
        focus: bool,
        gate: Duration,
        now: Instant,
    ) -> Panel {
        let choices = question
            .options
            .iter()
            .map(|option| match &option.description {
                Some(description) => format!("{} – {description}", option.label),
                None => option.label.clone(),
            })
            .collect();
        Panel {
            title: question.question.clone(),
            choices,
            marked: question.recommended.filter(|at| *at < question.options.len()),
            ..Panel::new(Reply::Question { send, multi: question.multi }, focus, gate, now)
        }
        .labelled(&question)
    }

    /// Creates a panel without texts and choices. With `focus` it receives the keys, from `gate` after `now` on.
    fn new(reply: Reply, focus: bool, gate: Duration, now: Instant) -> Panel {
        Panel {
            title: String::new(),
            reason: String::new(),
            body: String::new(),
            changes: Vec::new(),
            choices: Vec::new(),
            marked: None,
            chosen: Vec::new(),
            reply,
            gate,
            opens: now + gate,
            has_focus: focus,
            waits: !focus,
            at_end: false,
            is_clipped: false,
            is_hidden: false,
            writing: None,
            fault: String::new(),
            keys: Bindings::default(),
        }
    }

    /// Sets the user's key bindings for the hints.
    pub(super) fn with_keys(self, keys: &Bindings) -> Panel {
        Panel { keys: keys.clone(), ..self }
    }

    /// Stores the plain labels in addition to the displayed ones.
    fn labelled(mut self, question: &Question) -> Panel {
        self.body = question.options.iter().map(|option| option.label.as_str()).collect::<Vec<_>>().join("\n");
        self
    }

    /// Returns true if the receiver of the answer still exists.
    pub(super) fn is_open(&self) -> bool {
        match &self.reply {
            Reply::Approval { send, .. } => !send.is_closed(),
            Reply::Question { send, .. } => !send.is_closed(),
        }
    }

    /// Handles a key: digits choose, arrows select and Enter chooses the selected entry, Esc refuses and ends the run.
    /// Any other text is meant for the editor, also during the time in which the panel ignores keys.
    pub(super) fn key(mut self, press: Press<'_>, now: Instant) -> (Option<Panel>, Effect) {
        if self.writing.is_none() && matches!(press, Press::Text(text) if is_prose(text)) {
            self.unfocus();
            return (Some(self), Effect::Types);
        }
        if now < self.opens {
            self.opens = now + self.gate;
            return (Some(self), Effect::Stays);
        }
        if let Some((choice, editor)) = self.writing.take() {
            return self.write(choice, editor, press);
        }
        let last = self.choices.len().checked_sub(1);
        let list = press.list();
        let chosen = match (press, list, last) {
            (_, Some(ListAction::Cancel), _) => {
                let effect = if matches!(self.reply, Reply::Approval { .. }) { Effect::Stops } else { Effect::Closes };
                self.refuse();
                return (None, effect);
            }
            (_, Some(ListAction::Up), Some(last)) => {
                self.marked = Some(self.marked.map_or(last, |at| at.checked_sub(1).unwrap_or(last)));
                None
            }
            (_, Some(ListAction::Down), Some(last)) => {
                self.marked = Some(self.marked.map_or(0, |at| if at == last { 0 } else { at + 1 }));
                None
            }
            (_, Some(ListAction::ShowEnd), _) | (Press::Action(Action::Edit(EditAction::LineEnd)), ..) => {
                self.at_end = true;
                None
            }
            // If none is selected, the choices that digits have toggled are the answer.
            (_, Some(ListAction::Confirm), _) => self.marked.or(self.chosen.first().copied()),
            (Press::Text(" "), ..) if matches!(self.reply, Reply::Question { multi: true, .. }) => self.marked,
            (Press::Text(digit), _, Some(last)) => {
                digit.parse::<usize>().ok().filter(|number| (1..=last + 1).contains(number)).map(|number| number - 1)
            }
            _ => None,
        };
        match chosen {
            // A call can only be permitted after its description was shown to the end.
            Some(ONCE..=ALWAYS)
                if (self.is_hidden || self.is_clipped && !self.at_end)
                    && matches!(self.reply, Reply::Approval { .. }) =>
            {
                (Some(self), Effect::Stays)
            }
            Some(at) => self.choose(at, list == Some(ListAction::Confirm)),
            None => (Some(self), Effect::Stays),
        }
    }

    fn choose(mut self, at: usize, by_enter: bool) -> (Option<Panel>, Effect) {
        // The receiver may have been dropped; the answer is then ignored.
        match self.reply {
            Reply::Approval { ref request, .. } if matches!(at, SESSION | ALWAYS | NO_BECAUSE) => {
                let line = if at == NO_BECAUSE { Some("") } else { request.patterns.first().map(String::as_str) };
                if let Some(line) = line {
                    let mut editor = Editor::new();
                    editor.set_text(line);
                    self.writing = Some((at, editor));
                }
                (Some(self), Effect::Stays)
            }
            Reply::Approval { send, .. } => {
                let _ = send.send(if at == ONCE { Approval::Once } else { Approval::No(None) });
                (None, Effect::Closes)
            }
            Reply::Question { multi: true, .. } if !by_enter => {
                match self.chosen.iter().position(|chosen| *chosen == at) {
                    Some(place) => drop(self.chosen.remove(place)),
                    None => self.chosen.push(at),
                }
                (Some(self), Effect::Stays)
            }
            Reply::Question { send, .. } => {
                if self.chosen.is_empty() {
                    self.chosen.push(at);
                }
                self.chosen.sort_unstable();
                let labels: Vec<&str> = self.body.lines().collect();
                let answer: Vec<&str> = self.chosen.iter().filter_map(|at| labels.get(*at).copied()).collect();
                let _ = send.send(Some(answer.join(", ")));
                (None, Effect::Closes)
            }
        }
    }

    /// Handles a key in the text field of a choice.
    fn write(mut self, choice: usize, mut editor: Editor, press: Press<'_>) -> (Option<Panel>, Effect) {
        let Reply::Approval { request, .. } = &self.reply else { return (Some(self), Effect::Stays) };
        self.fault.clear();
        let list = press.list();
        match list {
            Some(ListAction::Cancel) => return (Some(self), Effect::Stays),
            Some(ListAction::Up | ListAction::Down) if choice != NO_BECAUSE && !request.patterns.is_empty() => {
                let (known, now) = (&request.patterns, editor.text());
                let at = known.iter().position(|pattern| *pattern == now).unwrap_or(0);
                let step = if list == Some(ListAction::Down) { 1 } else { known.len() - 1 };
                editor.set_text(&known[(at + step) % known.len()]);
            }
            Some(ListAction::Confirm) => {
                let line = editor.text().trim().to_string();
                let scope = if choice == ALWAYS { RuleScope::Always } else { RuleScope::Session };
                let checked = if choice == NO_BECAUSE { Ok(()) } else { (request.check)(&line, scope) };
                let Err(fault) = checked else {
                    if let Reply::Approval { send, .. } = self.reply {
                        // The receiver may have been dropped; the answer is then ignored.
                        let _ = send.send(match choice {
                            NO_BECAUSE => Approval::No(Some(line).filter(|line| !line.is_empty())),
                            _ => Approval::Rule(line, scope),
                        });
                    }
                    return (None, Effect::Closes);
                };
                self.fault = fault;
            }
            _ => press.write(&mut editor),
        }
        self.writing = Some((choice, editor));
        (Some(self), Effect::Stays)
    }

    /// Returns true if the panel waits for a pause in typing.
    pub(super) fn waits(&self) -> bool {
        self.waits && !self.has_focus
    }

    /// Moves the focus to the panel. It ignores keys that were meant for the editor.
    pub(super) fn focus(&mut self, now: Instant) {
        (self.has_focus, self.waits, self.opens) = (true, false, now + self.gate);
    }

    /// Moves the focus to the editor.
    pub(super) fn unfocus(&mut self) {
        (self.has_focus, self.waits) = (false, false);
    }

    /// Returns true if the user is typing a text for a choice.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Inserts a pasted text into the text field of a choice, in one line. Returns false, and gives the focus to the
    /// editor, if no text is being typed.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        match &mut self.writing {
            Some((_, editor)) => editor.insert(text.trim().replace(['\r', '\n'], " ").as_str()),
            None => self.unfocus(),
        }
        self.writing.is_some()
    }

    /// Answers a question of the model with a text of the user. Returns the panel if it requires a choice.
    pub(super) fn answer(self, text: &str) -> Option<Panel> {
        match self.reply {
            Reply::Question { send, .. } => {
                // The number of a choice selects it, as in linear mode.
                let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let choice = number.and_then(|at| self.body.lines().nth(at));
                let _ = send.send(Some(choice.unwrap_or(text).to_string()));
                None
            }
            Reply::Approval { .. } => Some(self),
        }
    }

    /// Refuses the question.
    pub(super) fn refuse(self) {
        match self.reply {
            Reply::Approval { send, .. } => drop(send.send(Approval::No(None))),
            Reply::Question { send, .. } => drop(send.send(None)),
        }
    }
}

/// Returns true if a text can only be meant for the editor: digits and blanks may be answers.
fn is_prose(text: &str) -> bool {
    text.chars().any(|char| !char.is_ascii_digit() && !char.is_whitespace() && !char.is_control())
}

/// Describes why a call is asked about, and its effect.
pub(super) fn body(request: &ApprovalRequest, changes: &[FileChange]) -> String {
    format!("{}\n{}", layout::reason(request), layout::effect(request, changes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::panel_press;

    pub(super) const GATE: Duration = Duration::from_millis(400);

    pub(super) fn request(command: &str) -> ApprovalRequest {
        ApprovalRequest {
            call: "1".into(),
            tool: "bash".into(),
            arguments: serde_json::json!({"command": command}),
            cwd: "/w".into(),
            rule: "bash(*)".into(),
            unsure: None,
            patterns: vec![format!("bash({command})"), "bash(rm *)".into()],
            check: std::sync::Arc::new(|text, _| if text.ends_with(')') { Ok(()) } else { Err("no rule".into()) }),
            requester: None,
        }
    }

    /// Presses keys, each long after the previous one, and returns the answer and the effect of the last key.
    fn pressed(keys: &[&str], pause: Duration) -> (Option<Approval>, Effect) {
        let (send, mut answer) = oneshot::channel();
        let mut now = Instant::now();
        let mut panel =
            Some(Panel::approval(request("rm -rf build"), Vec::new(), Path::new("s.json"), send, true, GATE, now));
        let mut effect = Effect::Stays;
        for key in keys {
            now += pause;
            let Some(open) = panel.take() else { break };
            let text = if key.chars().count() == 1 { *key } else { "" };
            (panel, effect) = open.key(panel_press(key, text), now);
        }
        (answer.try_recv().ok(), effect)
    }

    #[test]
    fn enter_blank_and_letters_never_approve() {
        for key in ["enter", " ", "space", "tab", "0", "6", "9"] {
            assert_eq!(pressed(&[key, key], Duration::from_secs(1)), (None, Effect::Stays), "{key}");
        }
        // Other text is a draft, however early it comes.
        for key in ["y", "a", "-", "é", "你"] {
            for pause in [1, 401, 1_000] {
                assert_eq!(pressed(&[key], Duration::from_millis(pause)), (None, Effect::Types), "{key}");
            }
        }
        assert_eq!(pressed(&["down", "enter"], Duration::from_secs(1)), (Some(Approval::Once), Effect::Closes));
    }

    #[test]
    fn keys_within_the_delay_never_answer() {
        let fast = Duration::from_millis(300);
        assert_eq!(pressed(&["1", "1", "1", "1"], fast), (None, Effect::Stays));
        assert_eq!(pressed(&["1"], Duration::from_millis(401)), (Some(Approval::Once), Effect::Closes));
    }

    #[test]
    fn each_choice_says_what_it_does() {
        let slow = Duration::from_secs(1);
        let no = || Some(Approval::No(None));
        assert_eq!(pressed(&["4"], slow), (no(), Effect::Closes));
        assert_eq!(pressed(&["escape"], slow), (no(), Effect::Stops));
        assert_eq!(pressed(&["up", "up", "enter"], slow), (no(), Effect::Closes));
        assert_eq!(pressed(&["5", "o", "k", "enter"], slow), (Some(Approval::No(Some("ok".into()))), Effect::Closes));
        assert_eq!(pressed(&["5", "enter"], slow), (no(), Effect::Closes));
    }

    #[test]
    fn a_rule_is_shown_before_it_is_saved() {
        let slow = Duration::from_secs(1);
        let rule = |text: &str, scope| Some(Approval::Rule(text.into(), scope));
        assert_eq!(pressed(&["2"], slow), (None, Effect::Stays));
        assert_eq!(pressed(&["2", "enter"], slow), (rule("bash(rm -rf build)", RuleScope::Session), Effect::Closes));
        assert_eq!(pressed(&["3", "down", "enter"], slow), (rule("bash(rm *)", RuleScope::Always), Effect::Closes));
        // A digit is now a letter of the text, and an invalid rule is rejected.
        assert_eq!(pressed(&["2", "1", "enter"], slow), (None, Effect::Stays));
        assert_eq!(pressed(&["2", "escape", "1"], slow), (Some(Approval::Once), Effect::Closes));
    }

    #[test]
    fn the_variables_and_the_folder_of_a_command_are_shown() {
        let arguments = serde_json::json!({"command": "git diff", "env": {"A": "b"}, "cwd": "/x", "background": true});
        let shown = body(&ApprovalRequest { arguments, ..request("") }, &[]);
        for part in ["git diff\n", "env: A=\"b\"", "cwd: \"/x\"", "background: true"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
