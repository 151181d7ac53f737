//! Panels: a question with choices, over the transcript.

use std::time::{Duration, Instant};

use sinew_tools::Question;
use sinew_tui::{Attrs, Color, Line, Row, Style, WrapMode, wrap};
use tokio::sync::oneshot;

/// The time for which a permission panel takes no key, from its appearance or the last key that it did not take: a key
/// that was meant for something else must not permit a call.
pub(super) const GATE: Duration = Duration::from_millis(400);
/// How long after a key the panel waits for the user to turn to it.
pub(super) const TYPING: Duration = Duration::from_secs(1);

/// A question that covers part of the transcript.
pub(super) struct Panel {
    title: String,
    body: String,
    choices: Vec<String>,
    /// The marked choice; none until an arrow is used, so that Enter alone answers nothing.
    marked: Option<usize>,
    /// Chosen already, where several may be.
    chosen: Vec<usize>,
    reply: Reply,
    /// Keys before this time are not for the panel.
    opens: Instant,
    /// Whether keys go to the panel; else to the editor.
    pub(super) has_focus: bool,
    /// Whether the end of the body is shown in place of its beginning.
    at_end: bool,
    /// Whether the body did not fit when it was laid out last.
    is_clipped: bool,
}

enum Reply {
    Permission(oneshot::Sender<bool>),
    Question { send: oneshot::Sender<Option<String>>, multi: bool },
}

/// The effect of a key on a panel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The panel stays.
    Stays,
    /// It was answered and goes.
    Closes,
    /// It was refused, and the run is to end.
    Stops,
}

impl Panel {
    pub(super) fn permission(
        title: String,
        body: String,
        reply: oneshot::Sender<bool>,
        focus: bool,
        now: Instant,
    ) -> Panel {
        let choices = vec!["yes, once".into(), "no".into(), "no, and stop the run".into()];
        let reply = Reply::Permission(reply);
        Panel {
            title,
            body,
            choices,
            marked: None,
            chosen: Vec::new(),
            reply,
            opens: now + GATE,
            has_focus: focus,
            at_end: false,
            is_clipped: false,
        }
    }

    pub(super) fn question(
        question: Question,
        send: oneshot::Sender<Option<String>>,
        focus: bool,
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
            choices,
            marked: question.recommended.filter(|at| *at < question.options.len()),
            chosen: Vec::new(),
            reply: Reply::Question { send, multi: question.multi },
            opens: now + GATE,
            has_focus: focus,
            at_end: false,
            is_clipped: false,
        }
        .labelled(&question)
    }

    /// Keeps the plain labels beside what is shown.
    fn labelled(mut self, question: &Question) -> Panel {
        self.body = question.options.iter().map(|option| option.label.as_str()).collect::<Vec<_>>().join("\n");
        self
    }

    /// Tells whether whoever asked still waits.
    pub(super) fn is_open(&self) -> bool {
        match &self.reply {
            Reply::Permission(send) => !send.is_closed(),
            Reply::Question { send, .. } => !send.is_closed(),
        }
    }

    /// Takes a key: a digit chooses, arrows mark and Enter chooses the marked one, Esc refuses and stops.
    pub(super) fn key(mut self, key: &str, now: Instant) -> (Option<Panel>, Effect) {
        if now < self.opens {
            self.opens = now + GATE;
            return (Some(self), Effect::Stays);
        }
        let last = self.choices.len().checked_sub(1);
        let chosen = match (key, last) {
            ("escape", _) => {
                let effect = if matches!(self.reply, Reply::Permission(_)) { Effect::Stops } else { Effect::Closes };
                self.refuse();
                return (None, effect);
            }
            ("up", Some(last)) => {
                self.marked = Some(self.marked.map_or(last, |at| at.checked_sub(1).unwrap_or(last)));
                None
            }
            ("down", Some(last)) => {
                self.marked = Some(self.marked.map_or(0, |at| if at == last { 0 } else { at + 1 }));
                None
            }
            ("end" | "ctrl+o", _) => {
                self.at_end = true;
                None
            }
            ("enter", _) => self.marked,
            (digit, Some(last)) => {
                digit.parse::<usize>().ok().filter(|number| (1..=last + 1).contains(number)).map(|number| number - 1)
            }
            _ => None,
        };
        match chosen {
            // What was not shown to its end cannot be permitted.
            Some(0) if self.is_clipped && !self.at_end && matches!(self.reply, Reply::Permission(_)) => {
                (Some(self), Effect::Stays)
            }
            Some(at) => self.choose(at, key == "enter"),
            None => (Some(self), Effect::Stays),
        }
    }

    fn choose(mut self, at: usize, by_enter: bool) -> (Option<Panel>, Effect) {
        // Whoever asked may have gone meanwhile: then nobody reads the answer.
        match self.reply {
            Reply::Permission(send) => {
                let _ = send.send(at == 0);
                (None, if at == 2 { Effect::Stops } else { Effect::Closes })
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

    /// Answers a question of the model with a text of the user. Gives the panel back where it wants a choice.
    pub(super) fn answer(self, text: &str) -> Option<Panel> {
        match self.reply {
            Reply::Question { send, .. } => {
                let _ = send.send(Some(text.to_string()));
                None
            }
            Reply::Permission(_) => Some(self),
        }
    }

    /// Answers no.
    pub(super) fn refuse(self) {
        match self.reply {
            Reply::Permission(send) => drop(send.send(false)),
            Reply::Question { send, .. } => drop(send.send(None)),
        }
    }

    /// Lays the panel out in at most `height` rows; what does not fit of its body is said.
    pub(super) fn rows(&mut self, width: usize, height: usize) -> Vec<Row> {
        let bold = Style::PLAIN.with(Attrs::BOLD);
        let dim = Style::PLAIN.with(Attrs::DIM);
        let none = Line::new();
        let mut rows = Vec::new();
        let mut title = Line::styled("? ", Style::fg(Color::Named(3)).with(Attrs::BOLD));
        title.push(&self.title, bold);
        wrap(&title, width, WrapMode::Words, 1, (&none, &none), &mut rows);
        let mut choices = Vec::new();
        for (at, choice) in self.choices.iter().enumerate() {
            let mark = if self.marked == Some(at) { "› " } else { "  " };
            let tick = if self.chosen.contains(&at) { "● " } else { "" };
            let style = if self.marked == Some(at) { bold } else { Style::PLAIN };
            let line = Line::styled(&format!("{mark}{} {tick}{choice}", at + 1), style);
            wrap(&line, width, WrapMode::Words, 1, (&none, &Line::plain("    ")), &mut choices);
        }
        let hint = match (&self.reply, self.has_focus) {
            (_, false) => "tab: answer",
            (Reply::Permission(_), true) => "1–3 or arrows and enter · esc: no, and stop",
            (Reply::Question { multi: true, .. }, true) => {
                "digits choose · enter: done · tab: own words · esc: no answer"
            }
            (Reply::Question { .. }, true) => "digit, or arrows and enter · tab: own words · esc: no answer",
        };
        choices.push(Line::styled(hint, dim).into_row(width));
        if matches!(self.reply, Reply::Permission(_)) {
            let mut body = Vec::new();
            for text in self.body.lines() {
                wrap(
                    &Line::plain(text),
                    width,
                    WrapMode::Words,
                    1,
                    (&Line::plain("  "), &Line::plain("  ")),
                    &mut body,
                );
            }
            let room = height.saturating_sub(rows.len() + choices.len());
            self.is_clipped = body.len() > room;
            if self.is_clipped {
                let shown = room.saturating_sub(1);
                let hidden = body.len() - shown;
                let (from, text) = match self.at_end {
                    true => (hidden, format!("  ⋯ {hidden} rows before")),
                    false => (0, format!("  ⋯ {hidden} more rows · end: read them first")),
                };
                body = body.split_off(from);
                body.truncate(shown);
                let note = Line::styled(&text, dim).into_row(width);
                body.insert(if self.at_end { 0 } else { shown }, note);
            }
            rows.append(&mut body);
        }
        rows.append(&mut choices);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Presses keys, each long after the one before, and gives the answer and the effect of the last.
    fn pressed(keys: &[&str], pause: Duration) -> (Option<bool>, Effect) {
        let (send, mut answer) = oneshot::channel();
        let mut now = Instant::now();
        let mut panel = Some(Panel::permission("bash".into(), "rm -rf build".into(), send, true, now));
        let mut effect = Effect::Stays;
        for key in keys {
            now += pause;
            let Some(open) = panel.take() else { break };
            (panel, effect) = open.key(key, now);
        }
        (answer.try_recv().ok(), effect)
    }

    #[test]
    fn item_70_enter_alone_blank_and_letters_never_approve() {
        for key in ["enter", " ", "space", "y", "a", "tab", "0", "4", "9"] {
            assert_eq!(pressed(&[key, key], Duration::from_secs(1)), (None, Effect::Stays), "{key}");
        }
        assert_eq!(pressed(&["down", "enter"], Duration::from_secs(1)), (Some(true), Effect::Closes));
    }

    #[test]
    fn item_69_keys_within_the_gate_never_answer() {
        let fast = Duration::from_millis(300);
        assert_eq!(pressed(&["1", "1", "1", "1"], fast), (None, Effect::Stays));
        assert_eq!(pressed(&["1"], Duration::from_millis(401)), (Some(true), Effect::Closes));
    }

    #[test]
    fn each_choice_says_what_it_does() {
        let slow = Duration::from_secs(1);
        assert_eq!(pressed(&["2"], slow), (Some(false), Effect::Closes));
        assert_eq!(pressed(&["3"], slow), (Some(false), Effect::Stops));
        assert_eq!(pressed(&["escape"], slow), (Some(false), Effect::Stops));
        assert_eq!(pressed(&["up", "enter"], slow), (Some(false), Effect::Stops));
    }

    #[test]
    fn item_71_clipped_content_cannot_be_approved_unseen() {
        let (send, mut answer) = oneshot::channel();
        let mut now = Instant::now();
        let body: String = (0..50).map(|line| format!("line {line}\n")).collect();
        let mut panel = Panel::permission("bash".into(), body, send, true, now);
        for (key, shown, answered) in [("1", "line 0", false), ("end", "line 49", false), ("1", "", true)] {
            let rows = panel.rows(40, 12);
            assert_eq!(rows.len(), 12);
            assert!(rows.iter().any(|row| row.text().contains("rows")), "{rows:?}");
            now += Duration::from_secs(1);
            let (open, _) = panel.key(key, now);
            assert_eq!(answer.try_recv().is_ok(), answered, "{key}");
            let Some(open) = open else { return };
            panel = open;
            assert!(panel.rows(40, 12).iter().any(|row| row.text().trim() == shown), "{shown}");
        }
    }
}
