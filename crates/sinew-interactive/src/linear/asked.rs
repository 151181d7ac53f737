//! Questions of the model and of rules in the linear mode, and the lines that answer them.

use std::path::Path;
use std::time::{Duration, Instant};

use sinew_tools::{Approval, ApprovalRequest, FileChange, Question, RuleScope};
use tokio::sync::oneshot;

use super::super::panel::body;

/// A pending question.
pub(super) struct OpenQuestion {
    title: String,
    body: String,
    choices: Vec<(String, Option<String>)>,
    reply: Sender,
    is_announced: bool,
    /// The time at which it was shown: a line that was begun before that is not an answer.
    said: Option<Instant>,
}

enum Sender {
    /// The answer for each number; `None` also ends the run.
    Approval {
        send: oneshot::Sender<Approval>,
        answers: Vec<Option<Approval>>,
    },
    Question {
        send: oneshot::Sender<Option<String>>,
        multi: bool,
    },
}

/// The effect of a line on a question.
pub(super) enum Reply {
    Taken,
    /// The call was refused, and the run should end.
    Stops,
    /// The line is not a valid answer, with the reason.
    Wrong(OpenQuestion, String),
}

impl OpenQuestion {
    /// Creates a question about a call. `file` stores the rules that are always in force.
    pub(super) fn approval(
        request: &ApprovalRequest,
        changes: &[FileChange],
        file: &Path,
        send: oneshot::Sender<Approval>,
    ) -> OpenQuestion {
        let mut choices = vec![("yes, once".to_string(), Some(Approval::Once))];
        if let Some(rule) = request.patterns.first() {
            let kept = format!("yes, and always, saved in {}: {rule}", file.display());
            let session = Approval::Rule(rule.clone(), RuleScope::Session);
            choices.push((format!("yes, and in this session: {rule}"), Some(session)));
            choices.push((kept, Some(Approval::Rule(rule.clone(), RuleScope::Always))));
        }
        choices.push(("no".to_string(), Some(Approval::No(None))));
        choices.push(("no, and stop the run".to_string(), None));
        let (labels, answers) = choices.into_iter().map(|(label, answer)| ((label, None), answer)).unzip();
        OpenQuestion {
            title: request.attributed(format!("{} in {}", request.tool, request.cwd.display())),
            body: changes.iter().fold(body(request, changes), |body, change| body + &change.diff).trim_end().into(),
            choices: labels,
            reply: Sender::Approval { send, answers },
            is_announced: false,
            said: None,
        }
    }

    pub(super) fn question(question: Question, send: oneshot::Sender<Option<String>>) -> OpenQuestion {
        let choices = question.options.into_iter().map(|option| (option.label, option.description)).collect();
        OpenQuestion {
            title: question.question,
            body: String::new(),
            choices,
            reply: Sender::Question { send, multi: question.multi },
            is_announced: false,
            said: None,
        }
    }

    /// Returns true if the receiver of the answer still exists.
    pub(super) fn is_open(&self) -> bool {
        match &self.reply {
            Sender::Approval { send, .. } => !send.is_closed(),
            Sender::Question { send, .. } => !send.is_closed(),
        }
    }

    /// Returns the text of the question, the first time it is called. `count` is the number of pending questions.
    pub(super) fn words(&mut self, count: usize) -> Option<String> {
        if std::mem::replace(&mut self.is_announced, true) {
            return None;
        }
        let mut words = format!("Asks 1 of {count}: {}\n", self.title);
        if !self.body.is_empty() {
            words += &format!("{}\n", self.body);
        }
        for (number, (label, description)) in (1..).zip(&self.choices) {
            let description = description.as_ref().map(|text| format!(", {text}")).unwrap_or_default();
            words += &format!("{number}. {label}{description}\n");
        }
        words += match &self.reply {
            Sender::Approval { .. } => "Answer with a number, yes or no.",
            Sender::Question { .. } if self.choices.is_empty() => "Answer in your own words.",
            Sender::Question { multi: true, .. } => "Answer with numbers, names or your own words.",
            Sender::Question { .. } => "Answer with a number, a name or your own words.",
        };
        Some(words)
    }

    /// Records that the text is on the terminal.
    pub(super) fn was_said(&mut self, now: Instant) {
        if self.is_announced {
            self.said.get_or_insert(now);
        }
    }

    /// Processes a line that was begun at `begun`. It is not an answer if that was less than `gate` after the question
    /// appeared.
    pub(super) fn answer(self, text: &str, begun: Instant, gate: Duration) -> Reply {
        if self.said.is_none_or(|said| begun < said + gate) {
            return Reply::Wrong(self, format!("Too soon, ignored: {text}"));
        }
        let names: Vec<&str> = self.choices.iter().map(|(label, _)| label.as_str()).collect();
        let single = index(text, &names);
        // The receiver may have been dropped; the answer is then ignored.
        match self.reply {
            Sender::Approval { send, mut answers } => match single.or_else(|| yes_or_no(text, &names)) {
                Some(at) => {
                    let answer = answers.swap_remove(at);
                    let stops = answer.is_none();
                    let _ = send.send(answer.unwrap_or(Approval::No(None)));
                    if stops { Reply::Stops } else { Reply::Taken }
                }
                None => {
                    let why = format!(
                        "Not an answer, the call is still waiting: {text}\nAnswer with a number, 1 to {}.",
                        answers.len()
                    );
                    Reply::Wrong(OpenQuestion { reply: Sender::Approval { send, answers }, ..self }, why)
                }
            },
            Sender::Question { send, multi } => {
                let several: Option<Vec<usize>> =
                    text.split([',', ' ']).filter(|part| !part.is_empty()).map(|part| index(part, &names)).collect();
                let chosen = match (single, several) {
                    (Some(at), _) => names[at].to_string(),
                    (None, Some(mut several)) if multi && !several.is_empty() => {
                        several.sort_unstable();
                        several.dedup();
                        several.into_iter().map(|at| names[at]).collect::<Vec<_>>().join(", ")
                    }
                    _ => text.to_string(),
                };
                let _ = send.send(Some(chosen));
                Reply::Taken
            }
        }
    }

    /// Refuses the question.
    pub(super) fn refuse(self) {
        match self.reply {
            Sender::Approval { send, .. } => drop(send.send(Approval::No(None))),
            Sender::Question { send, .. } => drop(send.send(None)),
        }
    }
}

/// Returns the choice of an approval that a `yes` or `no`, or its first letter, selects.
fn yes_or_no(text: &str, names: &[&str]) -> Option<usize> {
    match text.trim_end_matches('.').to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(0),
        "n" | "no" => names.iter().position(|name| *name == "no"),
        _ => None,
    }
}

/// Returns the index of the entry that a line selects, by its number or by its name in any case.
pub(super) fn index(text: &str, names: &[&str]) -> Option<usize> {
    let number = text.trim_end_matches('.').parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number));
    number.map(|number| number - 1).or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATE: Duration = Duration::from_millis(400);

    fn request() -> ApprovalRequest {
        ApprovalRequest {
            call: "call".into(),
            tool: "bash".into(),
            arguments: serde_json::json!({"command": "rm -rf build"}),
            cwd: "/project".into(),
            rule: "bash(*)".into(),
            unsure: None,
            patterns: vec!["bash(rm -rf build)".into()],
            check: std::sync::Arc::new(|_, _| Ok(())),
            requester: None,
        }
    }

    /// Returns the answer to a call if the question appeared `before` the line was begun.
    fn answered(text: &str, before: Duration) -> Option<Approval> {
        let (send, mut answer) = oneshot::channel();
        let now = Instant::now();
        let mut asked = OpenQuestion::approval(&request(), &[], Path::new("settings.json"), send);
        assert!(asked.words(1).is_some() && asked.words(1).is_none());
        asked.was_said(now);
        asked.answer(text, now + before, GATE);
        answer.try_recv().ok()
    }

    #[test]
    fn only_a_number_a_name_or_yes_and_no_answer() {
        let late = Duration::from_secs(1);
        for text in ["yes please", "ye", "a", "ok", "0", "6", "", " "] {
            assert_eq!(answered(text, late), None, "{text:?}");
        }
        let rule = |scope| Approval::Rule("bash(rm -rf build)".into(), scope);
        for (text, expect) in [
            ("1", Approval::Once),
            ("1.", Approval::Once),
            ("yes", Approval::Once),
            ("Yes.", Approval::Once),
            ("Y", Approval::Once),
            ("2", rule(RuleScope::Session)),
            ("3", rule(RuleScope::Always)),
            ("4", Approval::No(None)),
            ("5", Approval::No(None)),
            ("No", Approval::No(None)),
            ("n", Approval::No(None)),
        ] {
            assert_eq!(answered(text, late), Some(expect), "{text:?}");
        }
    }

    #[test]
    fn a_line_begun_before_the_question_never_answers() {
        assert_eq!(answered("1", Duration::from_millis(399)), None);
        assert_eq!(answered("1", Duration::from_millis(401)), Some(Approval::Once));
        let (send, mut answer) = oneshot::channel();
        let asked = OpenQuestion::approval(&request(), &[], Path::new("settings.json"), send);
        assert!(matches!(asked.answer("1", Instant::now(), GATE), Reply::Wrong(..)));
        assert!(answer.try_recv().is_err());
    }

    #[test]
    fn an_option_is_chosen_by_its_printed_number() {
        let option = |label: &str| sinew_tools::Choice { label: label.into(), description: None };
        for (text, expect) in [("2", "blue"), ("Blue", "blue"), ("1 3", "red, 1"), ("green", "green")] {
            let (send, mut answer) = oneshot::channel();
            let options = ["red", "blue", "1"].map(option).into();
            let question = Question { id: None, question: "Which?".into(), options, multi: true, recommended: None };
            let mut asked = OpenQuestion::question(question, send);
            let words = asked.words(1).expect("it was not printed yet");
            assert!(words.contains("\n2. blue\n"), "{words}");
            let now = Instant::now();
            asked.was_said(now);
            asked.answer(text, now + GATE, GATE);
            assert_eq!(answer.try_recv().unwrap().as_deref(), Some(expect), "{text}");
        }
    }
}
