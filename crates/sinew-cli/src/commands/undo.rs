//! Implements `sinew undo [SESSION]`, `sinew undo redo [SESSION]` and `sinew undo gc`.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;

use sinew::base::{CancelToken, Error};
use sinew_agent::undo::{CheckpointStore, UndoPlan, carry_out, history, plan_redo, plan_text, plan_undo};
use sinew_agent::undo::{UndoResult, result_text};
use sinew_control::actions::undo::UndoArguments;
use sinew_control::app::checkpoints;
use sinew_control::args::SessionChoice;
use sinew_control::failure::Failure;
use sinew_control::output::{print, warn};
use sinew_control::secrets;
use sinew_control::sessions::SessionStore;
use sinew_control::startup::Startup;
use sinew_session::Session;
use sinew_session::clock::{Clock, SystemClock};

pub(super) const HELP: &str = "\
sinew undo: undo the file changes of the last turn of a session

Usage:
  sinew undo [SESSION] [-- PATH...]         show what would change, and undo it
  sinew undo redo [SESSION] [-- PATH...]    redo the changes of the last undo
  sinew undo gc                             remove old checkpoints until all limits are met

Options:
  --dry-run                                 only show what would change
  --force                                   overwrite files that changed after the turn
  --usage                                   print the size of the checkpoints

PATH restricts the undo to a file, or to a folder with everything in it.

SESSION is the first or last characters of an id; the default is the last session of this terminal or directory. At a
terminal the command asks before it changes anything. In a session, use /undo and /redo, which also accept a number of
turns and a selection of files.

A turn includes all changes of its tools: edits, commands, background commands and hooks. Files that changed after the
turn are kept. Nothing inside a repository's .git is changed; the list names the command that moves a branch back.

Checkpoints are in ~/.sinew/agent/checkpoints, outside of your project: at most 512 MB for a session, 2 GB for a
directory and 4 GB in total. Set checkpoint.enabled to false to disable them.
";

/// Runs the command that the words after `undo` name.
///
/// # Errors
/// Returns an error if the session does not exist, undo is off, or a checkpoint is missing.
pub(super) fn run(startup: &Startup, warnings: &[String], words: &[&str]) -> Result<Option<u8>, Failure> {
    let off = || Failure::failed(sinew_agent::undo::OFF);
    let store = checkpoints::store(startup, None).ok_or_else(off)?;
    if startup.args.session.usage {
        return usage(&store).map(Some);
    }
    match words {
        ["gc"] => collect(&store).map(Some),
        ["redo"] => restore(startup, warnings, &store, None, true).map(Some),
        ["redo", session] => restore(startup, warnings, &store, Some(session), true).map(Some),
        [] => restore(startup, warnings, &store, None, false).map(Some),
        [session] => restore(startup, warnings, &store, Some(session), false).map(Some),
        // A sentence is a prompt.
        _ => Ok(None),
    }
}

fn restore(
    startup: &Startup,
    warnings: &[String],
    store: &Arc<CheckpointStore>,
    session: Option<&str>,
    is_redo: bool,
) -> Result<u8, Failure> {
    let mut warnings = warnings.to_vec();
    let mut session = open(startup, session, &mut warnings)?;
    warn(&warnings);
    let paths = startup.args.session.undo_paths.iter().map(Into::into).collect();
    let arguments = UndoArguments { paths, force: startup.args.session.force, ..UndoArguments::default() };
    let request = arguments.request(store.root()).map_err(|error| Failure::usage(error.message))?;
    let history = history(&session).map_err(failed)?;
    let plan = match is_redo {
        true => plan_redo(store, history, &request),
        false => plan_undo(store, history, &request),
    };
    let plan = plan.map_err(failed)?;
    if startup.args.session.dry_run || plan.plan.count() == 0 {
        return print(&plan_text(&plan));
    }
    if std::io::stdin().is_terminal() && !confirm(&plan)? {
        return print("Nothing was changed.\n");
    }
    let result = carry_out(store, plan).map_err(failed)?;
    keep(&mut session, &result)?;
    let is_whole = result.restored.done == result.restored.planned;
    print(&result_text(&result)).map(|code| if is_whole { code } else { 1 })
}

/// Opens the selected session; fails if another process uses it.
fn open(startup: &Startup, word: Option<&str>, warnings: &mut Vec<String>) -> Result<Session, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let secrets = secrets::find(startup)?;
    let choice = match (word, &startup.args.session.choice) {
        (Some(word), _) => SessionChoice::Resume(Some(word.to_string())),
        (None, SessionChoice::New) => SessionChoice::Continue,
        (None, choice) => choice.clone(),
    };
    let started = SessionStore::new(startup, &clock, secrets.mask()).start(&choice)?;
    warnings.extend(started.warnings);
    Ok(started.session)
}

fn confirm(plan: &UndoPlan) -> Result<bool, Failure> {
    let ended = |error: std::io::Error| Failure::failed(format!("the terminal cannot be used: {error}"));
    print(&format!("{}Change these files? [y/N] ", plan_text(plan)))?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(ended)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn keep(session: &mut Session, result: &UndoResult) -> Result<(), Failure> {
    if let Some(record) = &result.record {
        session.append(record.to_body()).map_err(failed)?;
        session.flush().map_err(failed)?;
    }
    Ok(())
}

fn usage(store: &CheckpointStore) -> Result<u8, Failure> {
    let usage = store.checkpoints().and_then(|checkpoints| checkpoints.usage()).map_err(failed)?;
    let directory = store.root().display();
    print(&format!(
        "{:10.1} MB  {} checkpoints of {directory}\n{:10.1} MB  all directories\n",
        megabytes(usage.directory),
        usage.checkpoints,
        megabytes(usage.total),
    ))
}

fn collect(store: &CheckpointStore) -> Result<u8, Failure> {
    let collected = store.checkpoints().and_then(|checkpoints| checkpoints.gc(&CancelToken::never()));
    let collected = collected.map_err(failed)?;
    let (count, freed) = (collected.removed.len(), megabytes(collected.freed));
    print(&format!("removed {count} checkpoints, {freed:.1} MB\n"))
}

#[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn failed(error: Error) -> Failure {
    Failure::failed(error.message())
}
