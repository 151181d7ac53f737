//! Undoes and redoes the file changes of turns.

use std::path::PathBuf;
use std::sync::Arc;

use sinew_agent::agent::BranchSummaryChoice;
use sinew_agent::resource::closed_arguments;
use sinew_agent::undo::{UndoPlan, UndoRequest, UndoResult, path_below, path_of, plan_text, result_text};
use sinew_tools::{Ask, Choice, Question};

use super::file_groups::{groups, label};
use super::{Control, ControlError};
use crate::app::OpenSession;
use sinew::checkpoint::{Force, PlanEntry};

/// The maximum number of files or groups of files that a question lists for selection.
const MOST_CHOICES: usize = 50;

/// The maximum number of lines of a plan in a question.
const QUESTION_LINES: usize = 16;

const ALL: &str = "Yes, all that can be undone";
const SELECT: &str = "Choose files";
const FORCED: &str = "Yes, and overwrite the kept files too";
const NONE: &str = "No, leave everything as it is";

/// The arguments of `/undo`, `/redo` and `sinew undo`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoArguments {
    /// Counted from 1; 0 means 1.
    pub turns: usize,
    /// The paths as the user wrote them, relative to the working directory.
    pub paths: Vec<PathBuf>,
    /// Overwrites files that were changed after the turn.
    pub force: bool,
    /// Writes nothing.
    pub dry_run: bool,
    /// Does not ask for confirmation.
    pub yes: bool,
    /// Moves the session back to the message that began the turn.
    pub with_conversation: bool,
}

/// The direction of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Back to the state before a turn.
    Undo,
    /// To the state before the last undo.
    Redo,
}

impl UndoArguments {
    /// Parses `[N] [PATH…] [--dry-run] [--yes] [--force] [--with-conversation] [-- PATH…]`. Quotes preserve blanks in a
    /// path.
    ///
    /// # Errors
    /// Returns an error if an option is unknown or a quote is not closed.
    pub(crate) fn parse(text: &str) -> Result<UndoArguments, ControlError> {
        let mut read = UndoArguments::default();
        let unclosed = "/undo: a quote is not closed; put a path that contains a quote into quotes of the other kind";
        let words = closed_arguments(text).ok_or(unclosed)?;
        let mut only_paths = false;
        for (at, word) in words.into_iter().enumerate() {
            match &*word {
                _ if only_paths => read.paths.push(word.into()),
                "--" => only_paths = true,
                "--dry-run" => read.dry_run = true,
                "--yes" => read.yes = true,
                "--force" => read.force = true,
                "--with-conversation" => read.with_conversation = true,
                option if option.starts_with("--") => {
                    let known = "--dry-run, --yes, --force or --with-conversation";
                    return Err(format!("/undo: unknown option {option}; use {known}").into());
                }
                number => match number.parse() {
                    Ok(turns) if at == 0 => read.turns = turns,
                    _ => read.paths.push(word.into()),
                },
            }
        }
        Ok(read)
    }

    /// Returns the request to the agent.
    ///
    /// # Errors
    /// Returns an error if a path is outside of the working directory.
    pub fn request(&self, cwd: &std::path::Path) -> Result<UndoRequest, ControlError> {
        let below = |path: &PathBuf| {
            let outside = || format!("{}: undo covers only files below {}", path.display(), cwd.display());
            path_below(cwd, path).ok_or_else(outside)
        };
        // The working directory means everything in it.
        let is_all = self.paths.iter().any(|path| cwd.join(path).components().eq(cwd.components()));
        let paths = if is_all { &[][..] } else { &self.paths[..] };
        let paths: Vec<Vec<u8>> = paths.iter().map(below).collect::<Result<_, _>>()?;
        Ok(UndoRequest {
            turns: self.turns.max(1),
            paths: (!paths.is_empty()).then_some(paths),
            force: if self.force { Force::All } else { Force::None },
            keep: Vec::new(),
        })
    }
}

impl Control {
    /// Plans an undo or a redo.
    ///
    /// # Errors
    /// Returns an error if undo is disabled, there is nothing left to undo, a checkpoint is missing, or a path is
    /// outside of the working directory.
    pub async fn plan_undo(&self, direction: Direction, arguments: &UndoArguments) -> Result<UndoPlan, ControlError> {
        let mut request = arguments.request(&self.app.startup.paths.cwd)?;
        let plan = self.plan_request(direction, request.clone()).await?;
        request.keep = self.unsaved(&plan).await;
        match request.keep.is_empty() {
            true => Ok(plan),
            false => self.plan_request(direction, request).await,
        }
    }

    async fn plan_request(&self, direction: Direction, request: UndoRequest) -> Result<UndoPlan, ControlError> {
        let open = self.session();
        Ok(match direction {
            Direction::Undo => open.agent.plan_undo(request).await?,
            Direction::Redo => open.agent.plan_redo(request).await?,
        })
    }

    /// Returns the files that a plan changes and the editor holds with text that is not saved, with the reason to keep
    /// them.
    async fn unsaved(&self, plan: &UndoPlan) -> Vec<(Vec<u8>, String)> {
        let cwd = &self.app.startup.paths.cwd;
        let changed = plan.plan.entries.iter().filter(|entry| entry.action.reason().is_none());
        let paths = changed.map(|entry| cwd.join(path_of(&entry.path))).collect();
        let open = self.session();
        let unsaved = tokio::task::spawn_blocking(move || open.host.unsaved(paths)).await.unwrap_or_default();
        let kept = unsaved.iter().filter_map(|path| path_below(cwd, path));
        kept.map(|path| (path, "unsaved in the editor".to_string())).collect()
    }

    /// Undoes or redoes turns and returns the text to show. If a person can be asked, they confirm the plan first.
    ///
    /// # Errors
    /// Returns an error if a run is active, and the errors of [`Control::plan_undo`].
    pub(crate) async fn undo(&self, direction: Direction, arguments: &UndoArguments) -> Result<String, ControlError> {
        if self.session().agent.is_running() {
            return Err("wait until the model is done, or stop it, before you undo".into());
        }
        let mut plan = self.plan_undo(direction, arguments).await?;
        let text = plan_text(&plan);
        if arguments.dry_run {
            return Ok(text);
        }
        if plan.plan.entries.is_empty() {
            // The next undo continues with the turn before.
            let result = self.carry_out_undo(plan, false).await?;
            return Ok(result_text(&result.0));
        }
        let asks = self.app.ask().filter(|_| !arguments.yes);
        if let Some(ask) = asks
            && !confirm(&*ask, &mut plan, &text).await
        {
            return Ok("Nothing was changed.".into());
        }
        let result = self.carry_out_undo(plan, arguments.with_conversation).await?;
        Ok(result_text(&result.0) + &result.1)
    }

    /// Executes a plan. Returns the result, and a remark about the conversation.
    ///
    /// # Errors
    /// Returns an error if a run is active, a checkpoint is missing, or the store cannot be written.
    pub async fn carry_out_undo(
        &self,
        mut plan: UndoPlan,
        with_conversation: bool,
    ) -> Result<(UndoResult, String), ControlError> {
        let open = self.session();
        // The user may have edited a file since the plan was made.
        plan.keep(self.unsaved(&plan).await);
        let result = open.agent.carry_out_undo(plan).await?;
        let touched = self.touched(&result);
        open.host.forget(&touched);
        let host = Arc::clone(&open.host);
        // The editor may be gone.
        let _ = tokio::task::spawn_blocking(move || host.restored(&touched)).await;
        let remark = match with_conversation {
            true => self.leave_turns(&open, &result).await?,
            false => String::new(),
        };
        // Recorded after the move, so that it is on the branch on which the session continues.
        open.agent.keep_undo(&result);
        Ok((result, remark))
    }

    fn touched(&self, result: &UndoResult) -> Vec<PathBuf> {
        let cwd = &self.app.startup.paths.cwd;
        let done = result.restored.plan.entries.iter().filter(|entry| entry.action.reason().is_none());
        done.map(|entry| cwd.join(path_of(&entry.path))).collect()
    }

    /// Moves the current entry of the session to before the turns, if all of their changes were undone.
    async fn leave_turns(&self, open: &Arc<OpenSession>, result: &UndoResult) -> Result<String, ControlError> {
        let Some(first) = result.turns.first() else { return Ok(String::new()) };
        let all = &result.restored.plan.entries;
        if result.restored.done < all.len() {
            return Ok("The conversation stays where it is, because some changes were not undone.\n".into());
        }
        let moved = self.navigate(open, &first.id, BranchSummaryChoice::Silently).await?;
        Ok(match moved.cancelled {
            true => "A hook refused to move the conversation.\n".into(),
            false => format!("The conversation is back before the turn {:?}.\n", first.title),
        })
    }
}

/// Shows the plan and asks for confirmation; the user may select some files. Returns false if nothing should be done.
async fn confirm(ask: &dyn Ask, plan: &mut UndoPlan, text: &str) -> bool {
    let option = |label: &str| Choice { label: label.into(), description: None };
    let (count, all) = (plan.plan.count(), plan.plan.entries.len());
    let mut options = Vec::new();
    if count > 0 {
        options.push(option(ALL));
    }
    if count >= 2 {
        options.push(option(SELECT));
    }
    if plan.plan.entries.iter().any(is_kept) {
        options.push(option(FORCED));
    }
    options.push(option(NONE));
    let question = Question {
        id: None,
        question: format!("{}\nChange these files?", shortened(text)),
        options,
        multi: false,
        recommended: None,
    };
    match ask.answer(&question).await.as_deref() {
        Some(ALL) if count > 0 => true,
        Some(FORCED) if all > 0 => {
            plan.force();
            true
        }
        Some(SELECT) => select(ask, plan).await,
        _ => false,
    }
}

/// Returns the first lines of a plan, so that a question fits on a screen.
fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= QUESTION_LINES {
        return lines.join("\n");
    }
    let (shown, rest) = lines.split_at(QUESTION_LINES - 1);
    format!("{}\n  … and {} more; /undo --dry-run lists all", shown.join("\n"), rest.len())
}

/// Asks which files to restore. Returns false if the user selects none.
async fn select(ask: &dyn Ask, plan: &mut UndoPlan) -> bool {
    let entries: Vec<&PlanEntry> = plan.plan.entries.iter().filter(|entry| entry.action.reason().is_none()).collect();
    let groups = groups(&entries, MOST_CHOICES);
    let labels: Vec<String> = groups.iter().map(|group| label(plan, &entries, group)).collect();
    let options = labels.iter().map(|label| Choice { label: label.clone(), description: None }).collect();
    let question = Question { id: None, question: "Which files?".into(), options, multi: true, recommended: None };
    let Some(answer) = ask.answer(&question).await else { return false };
    let chosen = chosen(&answer, &labels).into_iter().flat_map(|at| &entries[groups[at].clone()]);
    let chosen: Vec<Vec<u8>> = chosen.map(|entry| entry.path.clone()).collect();
    let is_any = !chosen.is_empty();
    plan.select(chosen);
    is_any
}

/// Parses the answer to a question with several choices: the labels in order, separated by commas. A label may contain
/// commas.
fn chosen(answer: &str, labels: &[String]) -> Vec<usize> {
    let mut rest = answer;
    let mut chosen: Vec<usize> = Vec::new();
    while !rest.is_empty() {
        let first = chosen.last().map_or(0, |last| last + 1);
        let after = |label: &str| match rest.strip_prefix(label)? {
            "" => Some(""),
            after => after.strip_prefix(", "),
        };
        let fitting = (first..labels.len()).filter_map(|at| Some((at, after(&labels[at])?)));
        // Prefers the longest label, because another label may be a prefix of it.
        let Some((at, after)) = fitting.max_by_key(|(at, _)| labels[*at].len()) else { return Vec::new() };
        chosen.push(at);
        rest = after;
    }
    chosen
}

fn is_kept(entry: &PlanEntry) -> bool {
    matches!(entry.action, sinew::checkpoint::Action::Keep(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_in_any_order() {
        let check =
            |text: &str, expect: UndoArguments| assert_eq!(UndoArguments::parse(text).unwrap(), expect, "{text}");
        let none = UndoArguments::default;
        check("", none());
        check("2", UndoArguments { turns: 2, ..none() });
        check("2 src --force", UndoArguments { turns: 2, paths: vec!["src".into()], force: true, ..none() });
        let paths = |paths: &[&str]| UndoArguments { paths: paths.iter().map(PathBuf::from).collect(), ..none() };
        check("'my file' \"it's\" a\" b\"", paths(&["my file", "it's", "a b"]));
        check("-- 2 --force '-- x'", paths(&["2", "--force", "-- x"]));
        check("3 -- --", UndoArguments { turns: 3, ..paths(&["--"]) });
        for text in ["it's", "\"a", "a 'b c", "'a' \"b"] {
            assert!(UndoArguments::parse(text).unwrap_err().message.contains("a quote is not closed"), "{text}");
        }
        check("--dry-run 2", UndoArguments { dry_run: true, paths: vec!["2".into()], ..none() });
        check("--yes --with-conversation", UndoArguments { yes: true, with_conversation: true, ..none() });
        assert!(UndoArguments::parse("--hard").unwrap_err().message.contains("unknown option --hard"));
    }

    #[test]
    fn a_question_shows_the_beginning_of_a_long_plan() {
        let text = |count: usize| (1..=count).map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(shortened(&text(QUESTION_LINES)), text(QUESTION_LINES).trim_end());
        let long = shortened(&text(100));
        assert_eq!(long.lines().count(), QUESTION_LINES);
        assert!(long.ends_with("15\n  … and 85 more; /undo --dry-run lists all"), "{long}");
    }

    #[test]
    fn an_answer_names_files_whose_names_have_commas() {
        let labels = ["restore a", "restore a, b", "delete c"].map(String::from);
        let check = |answer: &str, expect: &[usize]| assert_eq!(chosen(answer, &labels), expect, "{answer}");
        check("restore a", &[0]);
        check("delete c", &[2]);
        check("restore a, delete c", &[0, 2]);
        check("restore a, b", &[1]);
        check("something else", &[]);
        check("restore a, something else", &[]);
    }
}
