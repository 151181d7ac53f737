//! Formats and parses the todo list as a text.

use std::fmt::Write;

use sinew_tools::{Phase, Status, Task};

const MARKS: [(Status, char); 4] =
    [(Status::Pending, ' '), (Status::InProgress, '~'), (Status::Completed, 'x'), (Status::Abandoned, '-')];

/// The comment above the text in an editor. The parser ignores it.
const HELP: &str = "<!-- A phase is a heading, a task an item: [ ] open, [~] in progress, [x] done, [-] given up.\nIndented lines below a task are its notes. Delete all tasks to clear the list. -->\n\n";

/// Formats the tasks for the screen.
pub(super) fn lines(phases: &[Phase]) -> String {
    let symbol = |status: Status| match status {
        Status::Completed => "●",
        Status::InProgress => "◌",
        Status::Pending => "○",
        Status::Abandoned => "–",
    };
    let lines: Vec<String> = phases
        .iter()
        .flat_map(|phase| {
            let items = phase.tasks.iter().map(|task| format!("  {} {}", symbol(task.status), task.content));
            std::iter::once(phase.name.clone()).chain(items)
        })
        .collect();
    if lines.is_empty() { "There is no todo list.".into() } else { lines.join("\n") }
}

/// Formats the list as Markdown that [`parse`] can read.
pub(super) fn markdown(phases: &[Phase]) -> String {
    let mut text = String::new();
    for phase in phases {
        let space = if text.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{space}# {}\n", phase.name);
        for task in &phase.tasks {
            let mark = MARKS.iter().find(|(status, _)| *status == task.status).map_or(' ', |(_, mark)| *mark);
            let _ = writeln!(text, "- [{mark}] {}", task.content);
            for line in task.notes.iter().flat_map(|note| note.lines()) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}

/// Formats the list for an editor, with a comment that explains the format.
pub(super) fn draft(phases: &[Phase]) -> String {
    let text = if phases.is_empty() { "# Tasks\n\n- [ ] \n".into() } else { markdown(phases) };
    format!("{HELP}{text}")
}

/// Parses a list in Markdown. Items without a text and phases without items are omitted.
///
/// # Errors
/// Returns the number of the first invalid line.
pub(super) fn parse(text: &str) -> Result<Vec<Phase>, String> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut is_comment = false;
    for (number, line) in (1..).zip(text.lines()) {
        is_comment |= line.starts_with("<!--");
        if is_comment {
            is_comment = !line.trim_end().ends_with("-->");
            continue;
        }
        let moved = line.starts_with([' ', '\t']);
        let trimmed = line.trim();
        let last = phases.last_mut().and_then(|phase| phase.tasks.last_mut());
        match (moved, trimmed, last) {
            (_, "", _) => {}
            (true, note, Some(task)) => task.notes.push(note.to_string()),
            (false, heading, _) if heading.starts_with('#') => {
                let name = heading.trim_start_matches('#').trim().to_string();
                phases.push(Phase { name, tasks: Vec::new() });
            }
            (false, item, _) => {
                let (status, content) = item_of(item)
                    .ok_or_else(|| format!("line {number} is not a task, such as `- [ ] run the tests`: {item}"))?;
                if phases.is_empty() {
                    phases.push(Phase { name: "Tasks".into(), tasks: Vec::new() });
                }
                if let (Some(phase), false) = (phases.last_mut(), content.is_empty()) {
                    phase.tasks.push(Task { content: content.to_string(), status, notes: Vec::new() });
                }
            }
            (true, line, None) => return Err(format!("line {number} is a note without a task: {line}")),
        }
    }
    phases.retain(|phase| !phase.tasks.is_empty());
    Ok(phases)
}

/// Returns the status and the text of an item; without a checkbox it is open.
fn item_of(line: &str) -> Option<(Status, &str)> {
    let item = line.strip_prefix(['-', '*', '+'])?.trim_start();
    let boxed = item.strip_prefix('[').and_then(|rest| {
        let mark = rest.chars().next()?.to_ascii_lowercase();
        let (status, _) = MARKS.iter().find(|(_, known)| *known == mark)?;
        Some((*status, rest[1..].strip_prefix(']')?.trim()))
    });
    Some(boxed.unwrap_or((Status::Pending, item)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task() -> impl Strategy<Value = Task> {
        let status = (0..MARKS.len()).prop_map(|at| MARKS[at].0);
        let words = "[a-zA-Z][a-zA-Z0-9 #*`\\[\\]<>-]{0,20}[a-z.]";
        (words, status, prop::collection::vec(words, 0..3)).prop_map(|(content, status, notes)| Task {
            content,
            status,
            notes,
        })
    }

    proptest! {
        #[test]
        fn formatted_lists_parse_to_the_same_list(
            phases in prop::collection::vec(("[A-Za-z][a-z #-]{0,10}[a-z]", prop::collection::vec(task(), 1..5)), 0..4)
        ) {
            let phases: Vec<Phase> = phases.into_iter().map(|(name, tasks)| Phase { name, tasks }).collect();
            prop_assert_eq!(&parse(&markdown(&phases)).unwrap(), &phases);
            if !phases.is_empty() {
                prop_assert_eq!(&parse(&draft(&phases)).unwrap(), &phases);
            }
        }

        #[test]
        fn every_text_parses_or_the_error_names_a_line(text in "[-#\\[\\]x~ <>!\\n\\ta\u{e4}]{0,60}") {
            // The text is a valid list, or the error names a line.
            if let Err(reason) = parse(&text) {
                prop_assert!(reason.starts_with("line "), "{}", reason);
            }
        }
    }

    #[test]
    fn items_are_parsed_in_all_common_forms() {
        let list = parse("- one\n* [X] two\n\n## Later\n+ [~] three\n    why\n- [ ]\n# Empty\n").unwrap();
        let said: Vec<(&str, Vec<(&str, Status)>)> = list
            .iter()
            .map(|phase| (&*phase.name, phase.tasks.iter().map(|task| (&*task.content, task.status)).collect()))
            .collect();
        assert_eq!(
            said,
            [
                ("Tasks", vec![("one", Status::Pending), ("two", Status::Completed)]),
                ("Later", vec![("three", Status::InProgress)]),
            ]
        );
        assert_eq!(list[1].tasks[0].notes, ["why"]);
        assert_eq!(parse(&draft(&[])).unwrap(), []);
        assert_eq!(parse("# A\ntext").unwrap_err(), "line 2 is not a task, such as `- [ ] run the tests`: text");
        assert_eq!(parse("  note").unwrap_err(), "line 1 is a note without a task: note");
    }
}
