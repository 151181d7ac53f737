//! Panels: questions with choices, shown over the transcript.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use sinew_tools::{Approval, ApprovalRequest, FileChange, Question, RuleScope};
use sinew_tui::theme::{Theme, Token};
use sinew_tui::{
    Attrs, Color, DiffOptions, EditAction, Editor, EditorStyle, Line, Row, Style, WrapMode, diff_lines, wrap,
};
use tokio::sync::oneshot;

use super::blocks::language;
use super::keys::{Action, Bindings, ListAction, Press};

/// The time after a key press in which the panel waits for the user to notice it.
pub(super) const TYPING: Duration = Duration::from_secs(1);

/// A question that covers a part of the transcript.
pub(super) struct Panel {
    title: String,
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
}

/// The number of rows from which the choices of a call are shown in separate rows, below its effect.
const ROOMY: usize = 10;
/// The minimum number of visible choices below a long question.
const CHOICES: usize = 6;

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
            body: body(&request, &changes),
            changes,
            choices,
            marked: None,
            chosen: Vec::new(),
            reply: Reply::Approval { request: Box::new(request), send },
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
            body: String::new(),
            changes: Vec::new(),
            choices,
            marked: question.recommended.filter(|at| *at < question.options.len()),
            chosen: Vec::new(),
            reply: Reply::Question { send, multi: question.multi },
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
        .labelled(&question)
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
    pub(super) fn key(mut self, press: Press<'_>, now: Instant) -> (Option<Panel>, Effect) {
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

    /// Returns the rows of the body: the reason for the question, then the effect.
    fn body_rows(&self, width: usize, theme: &Theme) -> Vec<Row> {
        let mut rows = Vec::new();
        let indent = Line::plain("  ");
        for text in self.body.lines() {
            let style = match text.get(..2) {
                Some("+ ") => theme.style(Token::ToolDiffAdded),
                Some("- ") => theme.style(Token::ToolDiffRemoved),
                _ => Style::PLAIN,
            };
            wrap(&Line::styled(text, style), width, WrapMode::Words, 1, (&indent, &indent), &mut rows);
        }
        let options = DiffOptions { rows: usize::MAX, ..DiffOptions::default() };
        for FileChange { name, old, new, .. } in &self.changes {
            let line = Line::styled(&format!("  {name}"), Style::PLAIN.with(Attrs::BOLD));
            wrap(&line, width, WrapMode::Words, 1, (&Line::new(), &indent), &mut rows);
            rows.extend(diff_lines(old, new, language(name), width, theme, options));
        }
        rows
    }

    /// Lays the panel out in at most `height` rows. A row reports how much of the body was omitted.
    pub(super) fn rows(&mut self, width: usize, height: usize, theme: &Theme) -> Vec<Row> {
        let bold = Style::PLAIN.with(Attrs::BOLD);
        let dim = Style::PLAIN.with(Attrs::DIM);
        let none = Line::new();
        let mut rows = Vec::new();
        for (at, text) in self.title.lines().enumerate() {
            let mark = if at == 0 { "? " } else { "  " };
            let mut title = Line::styled(mark, Style::fg(Color::Named(3)).with(Attrs::BOLD));
            title.push(text, if at == 0 { bold } else { Style::PLAIN });
            wrap(&title, width, WrapMode::Words, 1, (&none, &none), &mut rows);
        }
        let is_approval = matches!(self.reply, Reply::Approval { .. });
        // Reserves rows for the question, or for the effect of a call.
        let choices_and_hint = if is_approval { 2 } else { self.choices.len().min(CHOICES) + 1 };
        let most = height.saturating_sub(choices_and_hint).max(1);
        rows.truncate(if is_approval && height < ROOMY { 1 } else { most });
        let mut choices = Vec::new();
        let mut marked = 0;
        for (at, choice) in self.choices.iter().enumerate() {
            if self.marked == Some(at) {
                marked = choices.len();
            }
            let mark = if self.marked == Some(at) { "› " } else { "  " };
            let tick = if self.chosen.contains(&at) { "● " } else { "" };
            let style = if self.marked == Some(at) { bold } else { Style::PLAIN };
            let line = Line::styled(&format!("{mark}{} {tick}{choice}", at + 1), style);
            match self.reply {
                // The choice shows the complete rule.
                Reply::Approval { .. } => choices.push(line.into_row(width)),
                Reply::Question { .. } => {
                    wrap(&line, width, WrapMode::Words, 1, (&none, &Line::plain("    ")), &mut choices);
                }
            }
        }
        let list = |action| self.keys.short(Action::List(action));
        let (confirm, cancel) = (list(ListAction::Confirm), list(ListAction::Cancel));
        let tab = self.keys.short(Action::Tab);
        let hint = match (&self.reply, self.has_focus) {
            (_, false) => format!("{}: answer", self.keys.short(Action::FocusPanel)),
            (Reply::Approval { .. }, true) => format!("1–5 or arrows and {confirm} · {cancel}: no, and stop the run"),
            (Reply::Question { multi: true, .. }, true) => {
                format!(
                    "digits, or arrows and space, choose · {confirm}: done · {tab}: own words · {cancel}: no answer"
                )
            }
            (Reply::Question { .. }, true) => {
                format!("digit, or arrows and {confirm} · {tab}: own words · {cancel}: no answer")
            }
        };
        if let Some((choice, editor)) = &mut self.writing {
            choices.clear();
            let what = match *choice {
                SESSION => "Calls that run without asking, in this session:",
                ALWAYS => "Calls that run without asking, from now on:",
                _ => "What should the model do instead?",
            };
            choices.push(Line::styled(what, bold).into_row(width));
            choices.extend(editor.rows(width, 3, &EditorStyle::default()).rows);
            let rules = if *choice == NO_BECAUSE { "" } else { " · ↑↓: other rules" };
            let hint = format!("{confirm}{rules} · {cancel}: back");
            let (hint, style) = if self.fault.is_empty() {
                (hint.as_str(), dim)
            } else {
                (self.fault.as_str(), Style::fg(Color::Named(1)))
            };
            wrap(&Line::styled(hint, style), width, WrapMode::Words, 1, (&none, &none), &mut choices);
        } else {
            choices.push(Line::styled(&hint, dim).into_row(width));
            let kept = if is_approval { 2 } else { 0 };
            squeeze(&mut choices, self.marked.map(|_| marked), height.saturating_sub(rows.len() + kept).max(1));
        }
        if is_approval {
            let mut body = self.body_rows(width, theme);
            let room = height.saturating_sub(rows.len() + choices.len());
            self.is_clipped = body.len() > room;
            self.is_hidden = self.is_clipped && room < 2;
            if self.is_clipped {
                let shown = room.saturating_sub(1);
                let hidden = body.len() - shown;
                let (from, text) = match self.at_end {
                    true => (hidden, format!("  ⋯ {hidden} earlier rows")),
                    false if room < 2 => (0, "  ⋯ no room: enlarge the terminal".to_string()),
                    false => {
                        let end = self.keys.short(Action::Edit(EditAction::LineEnd));
                        (0, format!("  ⋯ {hidden} more rows · {end}: read them first"))
                    }
                };
                body = body.split_off(from);
                body.truncate(shown);
                let note = Line::styled(&text, dim).into_row(width);
                body.insert(if self.at_end { 0 } else { shown }, note);
                body.truncate(room);
            }
            rows.append(&mut body);
        }
        rows.append(&mut choices);
        rows
    }
}

/// Reduces the rows of choices and the hint after them to `room` rows, at least one: those that end with the selected
/// choice, and the hint. If there is room for one only, the selected choice is kept.
fn squeeze(choices: &mut Vec<Row>, marked: Option<usize>, room: usize) {
    let Some(over) = choices.len().checked_sub(room).filter(|over| *over > 0) else { return };
    let Some(hint) = choices.pop() else { return };
    let list = room - 1;
    match (list, marked) {
        (0, Some(marked)) => *choices = vec![choices.swap_remove(marked)],
        (0, None) => *choices = vec![hint],
        (_, marked) => {
            let from = (marked.unwrap_or(0) + 1).saturating_sub(list).min(over);
            choices.drain(..from);
            choices.truncate(list);
            choices.push(hint);
        }
    }
}

/// Describes the effect of a call: the reason for the question, and the command, the change of a file, or else the
/// arguments. Known changes of files are shown separately.
pub(super) fn body(request: &ApprovalRequest, changes: &[FileChange]) -> String {
    let mut out = format!("The rule {} asks", request.rule);
    match &request.unsure {
        Some(reason) => out.push_str(&format!(": the command cannot be analyzed reliably ({reason}).\n")),
        None => out.push_str(".\n"),
    }
    if !changes.is_empty() {
        return out;
    }
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
    let marked = |mark: &str, text: &str| text.lines().map(|line| format!("{mark} {line}\n")).collect::<String>();
    let arguments = &request.arguments;
    let path = text(arguments, "path");
    let edits = arguments.get("edits").and_then(Value::as_array);
    match (request.command_text(), path, text(arguments, "content"), edits) {
        (Some(command), ..) => out.push_str(&command),
        (None, Some(path), Some(content), _) => out.push_str(&format!("{path} becomes\n{}", marked("+", &content))),
        (None, Some(path), None, Some(edits)) => {
            out.push_str(&format!("{path} changes\n"));
            for edit in edits {
                match (text(edit, "oldText"), text(edit, "newText")) {
                    (Some(old), Some(new)) => out.push_str(&(marked("-", &old) + &marked("+", &new))),
                    _ => out.push_str(&format!("{edit:#}\n")),
                }
            }
        }
        _ => out.push_str(&format!("{arguments:#}")),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::keys::panel_press;
    use super::*;

    const GATE: Duration = Duration::from_millis(400);

    fn request(command: &str) -> ApprovalRequest {
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
        for key in ["enter", " ", "space", "y", "a", "tab", "0", "6", "9"] {
            assert_eq!(pressed(&[key, key], Duration::from_secs(1)), (None, Effect::Stays), "{key}");
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

    #[test]
    fn clipped_content_cannot_be_approved_unseen() {
        let (send, mut answer) = oneshot::channel();
        let mut now = Instant::now();
        let body: String = (0..50).map(|line| format!("line {line}\n")).collect();
        let request = ApprovalRequest { patterns: Vec::new(), ..request(&body) };
        let mut panel = Panel::approval(request, Vec::new(), Path::new("s.json"), send, true, GATE, now);
        for (key, shown, answered) in [("1", "line 0", false), ("end", "line 49", false), ("1", "", true)] {
            let rows = panel.rows(40, 12, &Theme::default());
            assert_eq!(rows.len(), 12);
            assert!(rows.iter().any(|row| row.text().contains("rows")), "{rows:?}");
            now += Duration::from_secs(1);
            let (open, _) = panel.key(panel_press(key, ""), now);
            assert_eq!(answer.try_recv().is_ok(), answered, "{key}");
            let Some(open) = open else { return };
            panel = open;
            assert!(panel.rows(40, 12, &Theme::default()).iter().any(|row| row.text().trim() == shown), "{shown}");
        }
    }

    #[test]
    fn a_panel_without_room_for_its_content_cannot_approve() {
        for height in 1..=12 {
            let (send, mut answer) = oneshot::channel();
            let request = ApprovalRequest { patterns: Vec::new(), ..request("one\ntwo\nthree\nfour\nfive\nsix\nlast") };
            let mut panel = Panel::approval(request, Vec::new(), Path::new("s.json"), send, true, GATE, Instant::now());
            let mut now = Instant::now();
            let shown = |panel: &mut Panel, text: &str| {
                let rows = panel.rows(20, height, &Theme::default());
                assert!(rows.len() <= height.max(2), "{height}: {rows:?}");
                rows.iter().any(|row| row.text().trim() == text)
            };
            assert!(!shown(&mut panel, "last") && shown(&mut panel, "The rule bash(*)") == (height >= 4), "{height}");
            for key in ["end", "1"] {
                now += Duration::from_secs(1);
                match panel.key(panel_press(key, ""), now).0 {
                    Some(open) => panel = open,
                    None => {
                        assert!(height >= 4 && answer.try_recv() == Ok(Approval::Once), "{height}");
                        break;
                    }
                }
                assert_eq!(shown(&mut panel, "last"), height >= 4, "{height}");
            }
            assert!(height >= 4 || answer.try_recv().is_err(), "{height}");
        }
    }

    #[test]
    fn the_smallest_panel_shows_the_marked_choice() {
        let row = |text: &str| Line::plain(text).into_row(20);
        for (marked, room, expect) in [
            (None, 9, "a b c d hint"),
            (None, 5, "a b c d hint"),
            (None, 4, "a b c hint"),
            (None, 1, "hint"),
            (Some(0), 3, "a b hint"),
            (Some(2), 3, "b c hint"),
            (Some(3), 4, "b c d hint"),
            (Some(3), 2, "d hint"),
            (Some(2), 1, "c"),
        ] {
            let mut choices: Vec<Row> = ["a", "b", "c", "d", "hint"].map(row).into();
            squeeze(&mut choices, marked, room);
            let texts: Vec<&str> = choices.iter().map(Row::text).collect();
            assert_eq!(texts.join(" "), expect, "{marked:?} in {room}");
        }
    }

    #[test]
    fn a_change_is_shown_as_a_diff_and_hidden_rows_must_be_read() {
        let (send, _answer) = oneshot::channel();
        let old: String = (1..=60).map(|line| format!("let a{line} = {line};\n")).collect();
        let change = FileChange { name: "a.rs".into(), new: old.replace("= 30;", "= 31;"), old, diff: String::new() };
        let mut panel =
            Panel::approval(request(""), vec![change.clone()], Path::new("s.json"), send, true, GATE, Instant::now());
        let rows = panel.rows(80, 30, &Theme::default());
        let texts: Vec<&str> = rows.iter().map(Row::text).collect();
        for row in ["⋯ 27 unchanged", "28   let a28 = 28;", "30 - let a30 = 30;", "30 + let a30 = 31;"] {
            assert!(texts.contains(&row), "{row} in {texts:#?}");
        }
        assert!(!texts.iter().any(|row| row.contains("more rows")), "{texts:#?}");
        // The changed number is highlighted within its line.
        let added = rows.iter().find(|row| row.text() == "30 + let a30 = 31;").expect("the new line");
        let marked = added.cells().filter(|cell| cell.style.attrs.contains(Attrs::UNDERLINE));
        assert_eq!(marked.map(|cell| cell.text).collect::<String>(), "31");
        let (send, _answer) = oneshot::channel();
        let change = FileChange { new: String::new(), ..change };
        let mut panel =
            Panel::approval(request(""), vec![change], Path::new("s.json"), send, true, GATE, Instant::now());
        let rows = panel.rows(80, 20, &Theme::default());
        assert!(rows.len() == 20 && rows.iter().any(|row| row.text().contains("more rows")), "{rows:#?}");
    }
}
