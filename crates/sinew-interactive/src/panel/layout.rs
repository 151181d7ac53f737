//! The rows of a panel.

use serde_json::Value;
use sinew_tools::{ApprovalRequest, FileChange};
use sinew_tui::theme::{Theme, Token};
use sinew_tui::{Attrs, DiffOptions, EditAction, EditorStyle, Line, Row, Style, WrapMode, diff_lines, wrap};

use super::super::blocks::{BOLD, DIM, ERROR, NOTICE, language};
use super::super::keys::{Action, ListAction};
use super::{ALWAYS, NO_BECAUSE, Panel, Reply, SESSION};

/// The number of rows from which the choices of a call are shown in separate rows, below its effect.
const ROOMY: usize = 10;
/// The minimum number of visible choices below a long question.
const CHOICES: usize = 6;
/// The choices about a call in a panel that is too low for a row each.
const SHORT: [&str; 5] = ["yes", "in this session", "always", "no", "no, and say why"];

/// The rows below the effect of a call.
struct Choices {
    /// The choices or a text field, and a hint in the last row.
    rows: Vec<Row>,
    /// The row of the selected choice.
    marked: Option<usize>,
}

impl Panel {
    /// Lays the panel out in at most `height` rows. A row reports how much of the body was omitted.
    pub(in super::super) fn rows(&mut self, width: usize, height: usize, theme: &Theme) -> Vec<Row> {
        let is_approval = matches!(self.reply, Reply::Approval { .. });
        let is_compact = is_approval && height < ROOMY;
        let mut rows = self.title_rows(width);
        let mut choices = match is_compact {
            true => self.short_choices(width),
            false => self.long_choices(width),
        };
        // Reserves rows for the choices of a question, or for the effect of a call.
        let choices_and_hint = if is_approval { 2 } else { choices.rows.len().min(CHOICES) + 1 };
        shorten(&mut rows, width, if is_compact { 1 } else { height.saturating_sub(choices_and_hint).max(1) });
        if self.writing.is_some() {
            choices = Choices { rows: self.text_field(width), marked: None };
        } else {
            choices.rows.push(Line::styled(&self.hint(), DIM).into_row(width));
            let kept = if is_approval { 2 } else { 0 };
            squeeze(&mut choices.rows, choices.marked, width, height.saturating_sub(rows.len() + kept).max(1));
        }
        if is_approval {
            let room = height.saturating_sub(rows.len() + choices.rows.len());
            let body = self.body_rows(width, is_compact, theme);
            rows.append(&mut self.clip(body, width, room));
        }
        rows.append(&mut choices.rows);
        rows
    }

    fn title_rows(&self, width: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for (at, text) in self.title.lines().enumerate() {
            let mark = if at == 0 { "? " } else { "  " };
            let mut title = Line::styled(mark, NOTICE.with(Attrs::BOLD));
            title.push(text, if at == 0 { BOLD } else { Style::PLAIN });
            wrap(&title, width, WrapMode::Words, 1, (&Line::new(), &Line::new()), &mut rows);
        }
        rows
    }

    /// Returns each choice in a row of its own; a choice of a question may use several.
    fn long_choices(&self, width: usize) -> Choices {
        let (mut rows, mut marked) = (Vec::new(), None);
        for (at, choice) in self.choices.iter().enumerate() {
            let is_marked = self.marked == Some(at);
            marked = if is_marked { Some(rows.len()) } else { marked };
            let mark = if is_marked { "› " } else { "  " };
            let tick = if self.chosen.contains(&at) { "● " } else { "" };
            let style = if is_marked { BOLD } else { Style::PLAIN };
            let line = Line::styled(&format!("{mark}{} {tick}{choice}", at + 1), style);
            match self.reply {
                // The text field shows the complete rule.
                Reply::Approval { .. } => rows.push(line.into_row(width)),
                Reply::Question { .. } => {
                    wrap(&line, width, WrapMode::Words, 1, (&Line::new(), &Line::plain("    ")), &mut rows);
                }
            }
        }
        Choices { rows, marked }
    }

    /// Returns the choices about a call in as few rows as possible, so that the call itself remains visible.
    fn short_choices(&self, width: usize) -> Choices {
        let has_rules = matches!(&self.reply, Reply::Approval { request, .. } if !request.patterns.is_empty());
        let (mut rows, mut marked) = (Vec::new(), None);
        let (mut line, mut used) = (Line::new(), 0);
        for (at, text) in SHORT.iter().enumerate().filter(|(at, _)| has_rules || !matches!(*at, SESSION | ALWAYS)) {
            let is_marked = self.marked == Some(at);
            let choice = format!("{}{} {text}", if is_marked { "› " } else { "  " }, at + 1);
            let columns = choice.chars().count();
            if used > 0 && used + columns > width {
                rows.push(std::mem::replace(&mut line, Line::new()).into_row(width));
                used = 0;
            }
            marked = if is_marked { Some(rows.len()) } else { marked };
            line.push(&choice, if is_marked { BOLD } else { Style::PLAIN });
            used += columns;
        }
        rows.push(line.into_row(width));
        Choices { rows, marked }
    }

    fn hint(&self) -> String {
        let list = |action| self.keys.short(Action::List(action));
        let (confirm, cancel) = (list(ListAction::Confirm), list(ListAction::Cancel));
        let tab = self.keys.short(Action::Tab);
        match (&self.reply, self.has_focus) {
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
        }
    }

    /// Returns the rows of the text field of a choice; none if no text is being typed.
    fn text_field(&mut self, width: usize) -> Vec<Row> {
        let Some((choice, editor)) = &mut self.writing else { return Vec::new() };
        let what = match *choice {
            SESSION => "Calls that run without asking, in this session:",
            ALWAYS => "Calls that run without asking, from now on:",
            _ => "What should the model do instead?",
        };
        let mut rows = vec![Line::styled(what, BOLD).into_row(width)];
        rows.extend(editor.rows(width, 3, &EditorStyle::default()).rows);
        let list = |action| self.keys.short(Action::List(action));
        let rules = if *choice == NO_BECAUSE { "" } else { " · ↑↓: other rules" };
        let hint = format!("{}{rules} · {}: back", list(ListAction::Confirm), list(ListAction::Cancel));
        let (hint, style) = match self.fault.as_str() {
            "" => (hint.as_str(), DIM),
            fault => (fault, ERROR),
        };
        wrap(&Line::styled(hint, style), width, WrapMode::Words, 1, (&Line::new(), &Line::new()), &mut rows);
        rows
    }

    /// Returns the rows of the body: the reason for the question, then the effect; in a compact panel the effect first.
    fn body_rows(&self, width: usize, is_compact: bool, theme: &Theme) -> Vec<Row> {
        let wrapped = |text: &str| {
            let mut rows = Vec::new();
            for text in text.lines() {
                let style = match text.get(..2) {
                    Some("+ ") => theme.style(Token::ToolDiffAdded),
                    Some("- ") => theme.style(Token::ToolDiffRemoved),
                    _ => Style::PLAIN,
                };
                let indent = Line::plain("  ");
                wrap(&Line::styled(text, style), width, WrapMode::Words, 1, (&indent, &indent), &mut rows);
            }
            rows
        };
        let mut effect = wrapped(&self.body);
        let options = DiffOptions { rows: usize::MAX, ..DiffOptions::default() };
        for FileChange { name, old, new, .. } in &self.changes {
            let line = Line::styled(&format!("  {name}"), BOLD);
            wrap(&line, width, WrapMode::Words, 1, (&Line::new(), &Line::plain("  ")), &mut effect);
            effect.extend(diff_lines(old, new, language(name), width, theme, options));
        }
        let reason = wrapped(&self.reason);
        if is_compact { [effect, reason].concat() } else { [reason, effect].concat() }
    }

    /// Reduces the body to `room` rows; one of them reports the number of hidden rows.
    fn clip(&mut self, mut body: Vec<Row>, width: usize, room: usize) -> Vec<Row> {
        self.is_clipped = body.len() > room;
        self.is_hidden = self.is_clipped && room < 2;
        if !self.is_clipped {
            return body;
        }
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
        body.insert(if self.at_end { 0 } else { shown }, Line::styled(&text, DIM).into_row(width));
        body.truncate(room);
        body
    }
}

/// Returns the row that reports hidden rows.
fn hidden(count: usize, width: usize) -> Row {
    let rows = if count == 1 { "row" } else { "rows" };
    Line::styled(&format!("  ⋯ {count} more {rows}: enlarge the terminal"), DIM).into_row(width)
}

/// Reduces the question to `room` rows; the last of them reports the number of hidden rows. A single row
/// ends with `…`.
fn shorten(rows: &mut Vec<Row>, width: usize, room: usize) {
    if rows.len() > room && room > 0 {
        let shown = room.saturating_sub(1).max(1);
        let count = rows.len() - shown;
        rows.truncate(shown);
        match rows.pop() {
            Some(only) if room == 1 => {
                let mut line = only.to_line();
                line.push(" …", DIM);
                rows.push(line.into_row(width));
            }
            last => {
                rows.extend(last);
                rows.push(hidden(count, width));
            }
        }
    }
}

/// Reduces the rows of choices and the hint after them to `room` rows, at least one: those that end with the selected
/// choice, and a row that reports the number of hidden ones instead of the hint. If there is room for one only, the
/// selected choice is kept.
fn squeeze(choices: &mut Vec<Row>, marked: Option<usize>, width: usize, room: usize) {
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
            choices.push(hidden(over, width));
        }
    }
}

/// Describes why a call is asked about.
pub(super) fn reason(request: &ApprovalRequest) -> String {
    match &request.unsure {
        Some(reason) => {
            format!("The rule {} asks: the command cannot be analyzed reliably ({reason}).", request.rule)
        }
        None => format!("The rule {} asks.", request.rule),
    }
}

/// Describes the effect of a call: the command, the change of a file, or else the arguments. Known changes of files
/// are shown separately.
pub(super) fn effect(request: &ApprovalRequest, changes: &[FileChange]) -> String {
    if !changes.is_empty() {
        return String::new();
    }
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
    let marked = |mark: &str, text: &str| text.lines().map(|line| format!("{mark} {line}\n")).collect::<String>();
    let arguments = &request.arguments;
    let path = text(arguments, "path");
    let edits = arguments.get("edits").and_then(Value::as_array);
    match (request.command_text(), path, text(arguments, "content"), edits) {
        (Some(command), ..) => command,
        (None, Some(path), Some(content), _) => format!("{path} becomes\n{}", marked("+", &content)),
        (None, Some(path), None, Some(edits)) => {
            let edits = edits.iter().map(|edit| match (text(edit, "oldText"), text(edit, "newText")) {
                (Some(old), Some(new)) => marked("-", &old) + &marked("+", &new),
                _ => format!("{edit:#}\n"),
            });
            format!("{path} changes\n{}", edits.collect::<String>())
        }
        _ => format!("{arguments:#}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use sinew_tools::{Approval, Question};
    use tokio::sync::oneshot;

    use super::super::super::keys::panel_press;
    use super::super::tests::{GATE, request};
    use super::*;

    #[test]
    fn the_smallest_panel_shows_the_marked_choice() {
        let row = |text: &str| Line::plain(text).into_row(20);
        for (marked, room, expect) in [
            (None, 9, "a b c d hint"),
            (None, 5, "a b c d hint"),
            (None, 4, "a b c   ⋯ 1 more row: enl…"),
            (None, 1, "hint"),
            (Some(0), 3, "a b   ⋯ 2 more rows: en…"),
            (Some(2), 3, "b c   ⋯ 2 more rows: en…"),
            (Some(3), 4, "b c d   ⋯ 1 more row: enl…"),
            (Some(3), 2, "d   ⋯ 3 more rows: en…"),
            (Some(2), 1, "c"),
        ] {
            let mut choices: Vec<Row> = ["a", "b", "c", "d", "hint"].map(row).into();
            squeeze(&mut choices, marked, 20, room);
            let texts: Vec<&str> = choices.iter().map(Row::text).collect();
            assert_eq!(texts.join(" "), expect, "{marked:?} in {room}");
        }
    }

    #[test]
    fn every_row_of_a_question_is_shown_or_counted() {
        let question = |files: usize| {
            let choice = |label: &str| sinew_tools::Choice {
                label: label.into(),
                description: Some("use them; asked again when one of them changes".into()),
            };
            let files: String = (0..files).map(|at| format!("\nfile{at}")).collect();
            Question {
                id: None,
                question: format!("Do you trust this project? These files can start programs:{files}"),
                options: ["first", "second", "third"].map(choice).into(),
                multi: false,
                recommended: None,
            }
        };
        for (files, width, height) in (0..8).flat_map(|files| (6..14).map(move |height| (files, 60, height))) {
            let (send, _answer) = oneshot::channel();
            let mut panel = Panel::question(question(files), send, true, GATE, Instant::now());
            let whole = panel.rows(width, 99, &Theme::default()).len();
            let rows = panel.rows(width, height, &Theme::default());
            let counted = |row: &Row| row.text().strip_prefix("  ⋯ ")?.split(' ').next()?.parse::<usize>().ok();
            let hidden: usize = rows.iter().filter_map(counted).sum();
            let reports = rows.iter().filter(|row| counted(row).is_some()).count();
            let has_hint = rows.iter().any(|row| row.text().starts_with("digit"));
            assert!(rows.len() <= height, "{rows:#?}");
            let all = rows.len() - reports + hidden + usize::from(!has_hint);
            assert_eq!(all, whole, "{files} files in {height} rows: {rows:#?}");
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
    fn a_small_panel_shows_the_command_and_all_choices() {
        let command = "cargo test --workspace --no-fail-fast -- --nocapture";
        for (width, height, choices) in [
            (60, 9, vec!["  1 yes  2 in this session  3 always  4 no", "  5 no, and say why"]),
            (80, 6, vec!["  1 yes  2 in this session  3 always  4 no  5 no, and say why"]),
            (40, 6, vec!["  1 yes  2 in this session  3 always", "  4 no  5 no, and say why"]),
        ] {
            let (send, _answer) = oneshot::channel();
            let mut panel =
                Panel::approval(request(command), Vec::new(), Path::new("s.json"), send, true, GATE, Instant::now());
            let rows = panel.rows(width, height, &Theme::default());
            let texts: Vec<&str> = rows.iter().map(Row::text).collect();
            assert!(texts.len() <= height && texts[1].starts_with("  cargo test --workspace"), "{texts:#?}");
            let from = texts.len() - 1 - choices.len();
            assert_eq!(texts[from..texts.len() - 1], choices, "{width}×{height}");
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
            // The effect precedes the reason where little room is left.
            let (first, last) = if height < ROOMY { ("one", "asks.") } else { ("The rule bash(*)", "last") };
            assert!(!shown(&mut panel, last) && shown(&mut panel, first) == (height >= 4), "{height}");
            for key in ["end", "1"] {
                now += Duration::from_secs(1);
                match panel.key(panel_press(key, ""), now).0 {
                    Some(open) => panel = open,
                    None => {
                        assert!(height >= 4 && answer.try_recv() == Ok(Approval::Once), "{height}");
                        break;
                    }
                }
                assert_eq!(shown(&mut panel, last), height >= 4, "{height}");
            }
            assert!(height >= 4 || answer.try_recv().is_err(), "{height}");
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
