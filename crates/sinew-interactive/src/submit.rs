//! Executes texts of the user with the actions of `control`: prompts, shell commands, slash commands.

use std::path::Path;
use std::sync::Arc;

use sinew_agent::agent::Stop;
use sinew_control::actions::command_help::help_for_person;
use sinew_control::actions::commands::{self, InteractiveForm, Row, Scope, SharedCommand, Verb};
use sinew_control::actions::mcp::NOW;
use sinew_control::actions::mode::SessionMode;
use sinew_control::actions::prompt::{self, QueuedTexts};
use sinew_control::actions::{Control, ControlError};
use sinew_llm::model::ThinkingLevel;

use super::complete::Candidate;
use super::conversation_text::ConversationText;
use super::copy::{self, CopyResult};
use super::keys::Bindings;
use super::leaving::SessionMove;
use super::mailbox::{Mailbox, Message};
use super::outgoing::PendingPrompt;
use super::report;
use super::todo;
use super::trust;

/// The maximum number of output lines of a job that are shown.
const JOB_LINES: usize = 20;

/// The parsed text of a user.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Submission<'a> {
    Nothing,
    Prompt,
    /// A shell command, and whether its output is added to the context.
    Shell {
        command: &'a str,
        excluded: bool,
    },
    /// A built-in slash command and its arguments.
    Slash(&'static Row, &'a str),
}

/// Parses a text that was entered on a face of the interactive mode.
pub(super) fn read(text: &str, face: InteractiveForm) -> Submission<'_> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Submission::Nothing;
    }
    if let Some(rest) = trimmed.strip_prefix('!') {
        let (command, excluded) = rest.strip_prefix('!').map_or((rest, false), |rest| (rest, true));
        return match command.trim() {
            "" => Submission::Nothing,
            command => Submission::Shell { command, excluded },
        };
    }
    if let Some(rest) = trimmed.strip_prefix('/') {
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if let Some(row) = commands::named(name, face) {
            return Submission::Slash(row, arguments.trim());
        }
    }
    Submission::Prompt
}

/// Sends a prompt and waits for the end of its run. Sends a message when it is accepted or returned.
pub(super) async fn prompt(control: Arc<Control>, mailbox: Mailbox, given: PendingPrompt) {
    let PendingPrompt { number, text, delivery, back } = given;
    let open = control.session();
    let message = prompt::Message { text, images: Vec::new(), delivery: Some(delivery) };
    let read = tokio::select! {
        biased;
        () = back.cancelled() => return mailbox.send(Message::Returned(number)),
        read = control.read(&open, message) => read,
    };
    // From here on the prompt cannot be cancelled until it is accepted.
    let submission = match async { prompt::submit(&open, read?, Some(delivery)).await }.await {
        Ok(submission) => submission,
        Err(error) => {
            mailbox.send(Message::Returned(number));
            return mailbox.send(Message::Failed { error: error.message, text: String::new() });
        }
    };
    mailbox.send(Message::Accepted { number, runs: submission.runs() });
    submission.warn().await;
    if let Some(info) = submission.info() {
        mailbox.send(Message::Output(info.to_string()));
    }
    if submission.quits() {
        mailbox.send(Message::End(0));
    }
    let outcome = submission.run().await.outcome;
    if let Some(Stop::CallCut) = outcome.map(|outcome| outcome.stop) {
        let text = "A tool call was cut off at the output limit, and so were the model's further attempts.";
        mailbox.send(Message::Output(text.into()));
    }
}

/// Removes the queued messages, and with `abort` aborts the run.
pub(super) async fn take_back(control: Arc<Control>, mailbox: Mailbox, abort: bool) {
    let QueuedTexts { steering, follow_up } = control.clear_queues().await;
    let texts: Vec<String> = steering.into_iter().chain(follow_up).collect();
    if !texts.is_empty() {
        mailbox.send(Message::TakenBack(texts));
    }
    if abort {
        end_work(&control);
        control.abort().await;
    }
}

/// Stops the run and the user's commands, without waiting for their end.
pub(super) fn end_work(control: &Control) {
    let open = control.session();
    control.abort_bash();
    open.agent.abort_retry();
    open.agent.abort_compaction();
    open.agent.abort();
}

/// Runs a slash command and shows its output; then reports that it has ended.
pub(super) async fn slash(control: Arc<Control>, mailbox: Mailbox, row: &'static Row, arguments: String) {
    let ended = run(&control, row, &arguments).await;
    // Sent first, so that the result is never shown while the command seems to be running.
    mailbox.send(Message::WorkEnded);
    match ended {
        Ok(Effect::Text(text)) if text.is_empty() => {}
        Ok(Effect::Text(text)) => mailbox.send(Message::Output(text)),
        Ok(Effect::Changed(text)) => mailbox.send(Message::Changed(text)),
        Ok(Effect::Review(text)) => {
            mailbox.send(Message::Changed(text));
            mailbox.send(Message::Reviewed);
        }
        Ok(Effect::Prompt(text, goal)) => {
            mailbox.send(Message::Changed(text));
            mailbox.send(Message::Submit(goal));
        }
        Ok(Effect::Session(divider)) => mailbox.send(Message::SessionChanged(divider)),
        Ok(Effect::Copied(copied)) => mailbox.send(Message::Copied(copied)),
        Ok(Effect::Refused) => mailbox.send(Message::Notice("a hook refused it".into())),
        Ok(Effect::Moved(text, moved)) => {
            mailbox.send(Message::Output(text));
            mailbox.send(Message::Moved(moved));
        }
        Ok(Effect::Quit) => mailbox.send(Message::End(0)),
        Err(error) => {
            let text = format!("/{} {arguments}", row.name).trim_end().to_string();
            mailbox.send(Message::Failed { error: error.message, text });
        }
    }
    mailbox.send(Message::ChangeEnded);
}

enum Effect {
    Text(String),
    /// The same, if the command may have changed the contents of the status row.
    Changed(String),
    /// The same, and the findings of a review for a panel.
    Review(String),
    /// The same, and a message to the model.
    Prompt(String, String),
    /// Another session is current. Contains the text of the divider.
    Session(String),
    Copied(CopyResult),
    Refused,
    /// The session continues in another directory.
    Moved(String, SessionMove),
    Quit,
}

async fn run(control: &Arc<Control>, row: &Row, arguments: &str) -> Result<Effect, ControlError> {
    let changed = |refused: bool, divider: &str| match refused {
        true => Effect::Refused,
        false => Effect::Session(divider.into()),
    };
    let name = row.name;
    Ok(match row.verb {
        Verb::Shared(SharedCommand::Quit) => Effect::Quit,
        Verb::Shared(SharedCommand::Review) => Effect::Review(control.review(arguments.trim()).await?.text()),
        Verb::Shared(shared) => Effect::Changed(commands::Command::new(shared, arguments).run(control).await?),
        Verb::New => changed(control.new_session(None).await?, "a new session"),
        Verb::Fork => changed(control.fork().await?.is_none(), "a copy of the session"),
        Verb::Resume => {
            let refused = control.switch_session(arguments).await?;
            let title = control.session().agent.session().title();
            changed(refused, &title.unwrap_or_else(|| "another session".into()))
        }
        Verb::Model => Effect::Changed(set_model(control, arguments).await?),
        Verb::Thinking => Effect::Changed(set_thinking(control, arguments)?),
        Verb::Reload => {
            let warnings = control.reload().await?;
            Effect::Text(if warnings.is_empty() { "reloaded".into() } else { warnings.join("\n") })
        }
        Verb::Logout => {
            let stored = control.app.models.credentials().forget(arguments).await?;
            match stored {
                true => Effect::Changed(format!("removed the keys and logins of {arguments} from auth.json")),
                false => return Err(format!("no saved credentials for {arguments:?}").into()),
            }
        }
        Verb::Copy => {
            let (control, what) = (Arc::clone(control), arguments.to_string());
            let copied = tokio::task::spawn_blocking(move || copy::copy(&control, &what)).await;
            Effect::Copied(copied.map_err(|panic| panic.to_string())??)
        }
        Verb::Dump => {
            let control = Arc::clone(control);
            let copied = tokio::task::spawn_blocking(move || copy::dump(&control)).await;
            Effect::Copied(copied.map_err(|panic| panic.to_string())??)
        }
        Verb::Handoff => {
            let focus = Some(arguments).filter(|text| !text.is_empty());
            changed(control.handoff(focus).await?, "a new session with a summary of the previous one")
        }
        Verb::Move if arguments.is_empty() => return Err("/move needs a folder: /move ../other".into()),
        Verb::Move => {
            let folder = control.app.startup.paths.resolve(arguments);
            let folder = control.move_to(&folder).map_err(|error| format!("/move {arguments}: {}", error.message))?;
            let session = control.session().agent.session().path().map(Path::to_path_buf);
            let session = session.ok_or("/move: the session has no file")?;
            let text = format!("the session was moved to {}, and continues there", folder.display());
            Effect::Moved(text, SessionMove { folder, session })
        }
        Verb::Trust => match trust::decide(control, arguments).await? {
            (text, Some(moved)) => Effect::Moved(text, moved),
            (text, None) => Effect::Text(text),
        },
        Verb::Record => return Err("linear mode has no screen to record".into()),
        Verb::Vim => return Err("vi keys are only available on the screen, not in linear mode".into()),
        Verb::Transcript | Verb::Raw => {
            let shown = if row.verb == Verb::Raw { ConversationText::source } else { ConversationText::of };
            let text = shown(&control.messages()?).text();
            Effect::Text(if text.is_empty() { "No messages yet.".into() } else { text })
        }
        Verb::Plan => {
            let mode = match control.mode() {
                SessionMode::Plan if arguments.is_empty() => SessionMode::Default,
                _ => SessionMode::Plan,
            };
            control.set_mode(mode).await?;
            let gap = control.plan_gap().filter(|_| mode == SessionMode::Plan);
            let text = match mode {
                SessionMode::Plan => "plan mode: nothing can be changed until /plan",
                SessionMode::Default => "plan mode is off: all tools are offered",
            };
            let text = [Some(text), gap].into_iter().flatten().collect::<Vec<_>>().join("; ");
            match arguments {
                "" => Effect::Changed(text),
                goal => Effect::Prompt(text, goal.to_string()),
            }
        }
        Verb::Debug => {
            let control = Arc::clone(control);
            let written = tokio::task::spawn_blocking(move || report::write(&control)).await;
            Effect::Text(format!("the report is in {}", written.map_err(|panic| panic.to_string())??.display()))
        }
        Verb::Label => {
            let agent = &control.session().agent;
            let leaf = agent.session().leaf().map(str::to_string);
            let leaf = leaf.ok_or("an empty session has no entry to label")?;
            agent.set_label(&leaf, Some(arguments).filter(|text| !text.is_empty()))?;
            Effect::Text(if arguments.is_empty() {
                "the label was removed".into()
            } else {
                format!("labelled {arguments}")
            })
        }
        Verb::Todo => match arguments {
            "" => Effect::Text(todo::lines(&control.session().host.todo_phases())),
            "clear" => {
                control.set_todo(Vec::new())?;
                Effect::Text("the todo list is empty".into())
            }
            "copy" => {
                let control = Arc::clone(control);
                let copied =
                    tokio::task::spawn_blocking(move || match todo::markdown(&control.session().host.todo_phases()) {
                        text if text.is_empty() => Err("There is no todo list.".into()),
                        text => copy::copy_text(&control, &text),
                    });
                Effect::Copied(copied.await.map_err(|panic| panic.to_string())??)
            }
            "edit" => return Err("/todo edit needs the screen, because the editor uses the terminal".into()),
            _ => return Err(format!("/todo {arguments}: use edit, clear, copy or nothing").into()),
        },
        Verb::Share if arguments == "yes" => Effect::Text(format!("published: {}", control.share().await?)),
        Verb::Share => {
            let command = control.share_command();
            return Err(format!(
                "/share passes the whole session to `{command}`, which publishes it; confirm with /share yes"
            )
            .into());
        }
        Verb::Jobs => {
            let host = &control.session().host;
            let jobs: Vec<String> = host.jobs().into_iter().map(|job| job.summary).collect();
            Effect::Text(match arguments {
                "" if jobs.is_empty() => "No background commands.".into(),
                "" => jobs.join("\n"),
                id => {
                    let output = host.job_output(id)?;
                    let lines: Vec<&str> = output.trim_end().lines().collect();
                    match lines.len() {
                        0 => format!("Job {id} has no output yet."),
                        count => lines[count.saturating_sub(JOB_LINES)..].join("\n"),
                    }
                }
            })
        }
        Verb::Cancel => Effect::Text(control.session().host.cancel_job(arguments)?),
        Verb::Tools => return Err(format!("/tools {arguments}: use {NOW} or nothing").into()),
        Verb::Background | Verb::Branch | Verb::Settings | Verb::Stop | Verb::Status | Verb::Tree => {
            return Err(format!("/{name} takes no argument").into());
        }
        // The screen and the linear mode run these themselves.
        Verb::Hotkeys | Verb::Login | Verb::Redraw | Verb::Stash | Verb::Theme => {
            return Err(match row.scope {
                Scope::Person(way) | Scope::Screen(way) => commands::refusal(name, way),
                Scope::Everywhere | Scope::Words => format!("/{name} is unknown: /help lists the commands"),
            }
            .into());
        }
    })
}

/// Returns the help: the commands of a face, those of the project, and the other prefixes of a text. `keys` provides
/// the keys with the same effect.
pub(super) fn help(control: &Control, face: InteractiveForm, keys: &Bindings) -> String {
    help_for_person(control, face, &|row| row.action.and_then(|action| keys.short_of(action)))
}

/// Returns all commands for completion, each with its description.
pub(super) fn candidates(control: &Control) -> Vec<Candidate> {
    let own = commands::of_face(InteractiveForm::Screen).map(|row| Candidate {
        name: row.name.to_string(),
        help: format!("{} {}", row.arguments, row.help).trim_start().to_string(),
        insert: format!("/{}{}", row.name, if row.arguments.is_empty() { "" } else { " " }),
    });
    let listed = control.listed_commands().into_iter().map(|command| Candidate {
        insert: format!("/{} ", command.name),
        name: command.name,
        help: command.description,
    });
    own.chain(listed).collect()
}

/// Changes to the model with this name: `provider/id`, an id, or an unambiguous part of it.
async fn set_model(control: &Control, name: &str) -> Result<String, ControlError> {
    let models = control.models();
    let exact = models.iter().find(|model| model.key() == name || model.id == name);
    let model = match exact {
        Some(model) => model,
        None => {
            let name = name.to_lowercase();
            let fitting: Vec<_> = models.iter().filter(|model| model.key().to_lowercase().contains(&name)).collect();
            match fitting[..] {
                [model] => model,
                [] => return Err(format!("Model not found: {name}; /model lists the available ones").into()),
                _ => {
                    let keys: Vec<String> = fitting.iter().map(|model| model.key()).collect();
                    return Err(format!("{name} matches several models: {}", keys.join(", ")).into());
                }
            }
        }
    };
    let model = control.set_model(&model.provider, &model.id).await?;
    Ok(format!("{} answers from now on", model.key()))
}

fn set_thinking(control: &Control, level: &str) -> Result<String, ControlError> {
    let levels: Vec<&str> = control.thinking_levels().iter().map(|level| level.as_str()).collect();
    let wanted = ThinkingLevel::parse(level)
        .ok_or_else(|| ControlError::from(format!("{level:?} is not a thinking level: use {}", levels.join(", "))))?;
    Ok(format!("thinking: {}", control.set_thinking(wanted).as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Submission<'_>) {
        assert_eq!(read(text, InteractiveForm::Screen), expect, "{text:?}");
    }

    #[test]
    fn a_text_is_a_prompt_a_command_or_nothing() {
        check("  \n", Submission::Nothing);
        check("fix it", Submission::Prompt);
        check(" !git status ", Submission::Shell { command: "git status", excluded: false });
        check("!!env", Submission::Shell { command: "env", excluded: true });
        check("!", Submission::Nothing);
        check("/model  x y ", Submission::Slash(commands::named("model", InteractiveForm::Screen).unwrap(), "x y"));
        check("/etc/hosts is broken", Submission::Prompt);
        check("/reviewer src", Submission::Prompt);
    }

    #[test]
    fn commands_of_linear_mode_are_free_names_on_the_screen() {
        check("/status", Submission::Prompt);
        for name in ["status", "stop"] {
            let text = format!("/{name}");
            let submission = read(&text, InteractiveForm::Words);
            assert!(matches!(submission, Submission::Slash(row, "") if row.name == name));
        }
    }
}
