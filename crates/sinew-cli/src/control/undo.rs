//! Undo and redo of the files that turns changed.

use std::path::PathBuf;
use std::sync::Arc;

use sinew_agent::agent::BranchSummaryChoice;
use sinew_agent::undo::{UndoPlan, UndoRequest, UndoResult, entry_text, plan_text, result_text};
use sinew_tools::{Ask, Choice, Question};

use super::{Control, ControlError};
use crate::app::OpenSession;
use sinew::checkpoint::{Force, PlanEntry};

/// Files that a question lists for a selection at most.
const MOST_CHOICES: usize = 50;

/// Lines of a plan that a question shows at most.
const QUESTION_LINES: usize = 16;

const ALL: &str = "Yes, all that can be undone";
const SELECT: &str = "Choose files";
const FORCED: &str = "Yes, and overwrite the kept files too";
const NONE: &str = "No, leave everything as it is";

/// The arguments of `/undo`, `/redo` and `sinew undo`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct UndoArguments {
    /// From 1; 0 is 1 too.
    pub(crate) turns: usize,
    /// As the user wrote them, relative to the working folder.
    pub(crate) paths: Vec<String>,
    /// Overwrites files that somebody changed after the turn.
    pub(crate) force: bool,
    /// Nothing is written.
    pub(crate) dry_run: bool,
    /// Nobody is asked.
    pub(crate) yes: bool,
    /// The session goes back to the message that began the turn.
    pub(crate) with_conversation: bool,
}

/// The direction of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Undo,
    Redo,
}

impl UndoArguments {
    /// Reads `[N] [PATH…] [--dry-run] [--yes] [--force] [--with-conversation]`.
    ///
    /// # Errors
    /// Returns an error if an option is unknown.
    pub(crate) fn parse(text: &str) -> Result<UndoArguments, ControlError> {
        let mut read = UndoArguments::default();
        for (at, word) in text.split_whitespace().enumerate() {
            match word {
                "--dry-run" => read.dry_run = true,
                "--yes" => read.yes = true,
                "--force" => read.force = true,
                "--with-conversation" => read.with_conversation = true,
                option if option.starts_with("--") => {
                    let known = "--dry-run, --yes, --force or --with-conversation";
                    return Err(format!("/undo: unknown option {option}; use {known}").into());
                }
                word => match word.parse() {
                    Ok(turns) if at == 0 => read.turns = turns,
                    _ => read.paths.push(word.to_string()),
                },
            }
        }
        Ok(read)
    }

    /// Returns the request to the agent; paths outside of `cwd` are refused.
    ///
    /// # Errors
    /// A path lies outside of the working folder.
    pub(crate) fn request(&self, cwd: &std::path::Path) -> Result<UndoRequest, ControlError> {
        let below = |path: &String| {
            let outside = || format!("{path}: undo covers only files below {}", cwd.display());
            sinew_agent::undo::path_below(cwd, std::path::Path::new(path)).ok_or_else(outside)
        };
        let paths: Vec<Vec<u8>> = self.paths.iter().map(below).collect::<Result<_, _>>()?;
        Ok(UndoRequest {
            turns: self.turns.max(1),
            paths: (!paths.is_empty()).then_some(paths),
            force: if self.force { Force::All } else { Force::None },
        })
    }
}

impl Control {
    /// Plans an undo or a redo.
    ///
    /// # Errors
    /// Undo is off, nothing is left to undo, a checkpoint is lost, or a path lies outside of the working folder.
    pub(crate) async fn plan_undo(
        &self,
        direction: Direction,
        arguments: &UndoArguments,
    ) -> Result<UndoPlan, ControlError> {
        let request = arguments.request(&self.app.startup.paths.cwd)?;
        let open = self.session();
        Ok(match direction {
            Direction::Undo => open.agent.plan_undo(request).await?,
            Direction::Redo => open.agent.plan_redo(request).await?,
        })
    }

    /// Undoes or redoes, after the user has seen the plan, where somebody can be asked; returns the text to show.
    ///
    /// # Errors
    /// A run is active, or as [`Control::plan_undo`].
    pub(crate) async fn undo(&self, direction: Direction, arguments: &UndoArguments) -> Result<String, ControlError> {
        if self.session().agent.is_running() {
            return Err("wait until the model is done, or stop it, before you undo".into());
        }
        let mut plan = self.plan_undo(direction, arguments).await?;
        let text = plan_text(&plan);
        if arguments.dry_run || plan.plan.entries.is_empty() {
            return Ok(text);
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

    /// Carries a plan out. Returns the result, and a remark about the conversation.
    ///
    /// # Errors
    /// A run is active, a checkpoint is lost, or the store cannot be written.
    pub(crate) async fn carry_out_undo(
        &self,
        plan: UndoPlan,
        with_conversation: bool,
    ) -> Result<(UndoResult, String), ControlError> {
        let open = self.session();
        let result = open.agent.carry_out_undo(plan).await?;
        open.host.forget(&self.touched(&result));
        let remark = match with_conversation {
            true => self.leave_turns(&open, &result).await?,
            false => String::new(),
        };
        // After the move, so that the branch on which the session goes on has it.
        open.agent.keep_undo(&result);
        Ok((result, remark))
    }

    fn touched(&self, result: &UndoResult) -> Vec<PathBuf> {
        let cwd = &self.app.startup.paths.cwd;
        let done = result.restored.plan.entries.iter().filter(|entry| entry.action.reason().is_none());
        done.map(|entry| cwd.join(String::from_utf8_lossy(&entry.path).as_ref())).collect()
    }

    /// Moves the leaf of the session before the turns, if all of their changes were undone.
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

/// Shows the plan and asks; a selection restricts it. Returns false if nothing is to be done.
async fn confirm(ask: &dyn Ask, plan: &mut UndoPlan, text: &str) -> bool {
    let option = |label: &str| Choice { label: label.into(), description: None };
    let (count, all) = (plan.plan.count(), plan.plan.entries.len());
    let mut options = Vec::new();
    if count > 0 {
        options.push(option(ALL));
    }
    if (2..=MOST_CHOICES).contains(&count) {
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

/// Asks which files are restored. Returns false if none is.
async fn select(ask: &dyn Ask, plan: &mut UndoPlan) -> bool {
    let entries: Vec<&PlanEntry> = plan.plan.entries.iter().filter(|entry| entry.action.reason().is_none()).collect();
    let labels: Vec<String> = entries.iter().map(|entry| entry_text(entry, plan.turns.len(), false)).collect();
    let options = labels.iter().map(|label| Choice { label: label.clone(), description: None }).collect();
    let question = Question { id: None, question: "Which files?".into(), options, multi: true, recommended: None };
    let Some(answer) = ask.answer(&question).await else { return false };
    let chosen: Vec<Vec<u8>> = chosen(&answer, &labels).into_iter().map(|at| entries[at].path.clone()).collect();
    let is_any = !chosen.is_empty();
    plan.select(chosen);
    is_any
}

/// Reads the answer to a question with several choices: their labels in order, between commas. A label may have commas.
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
        // The longest: another label may begin like it.
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
