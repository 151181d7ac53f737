//! From what the user wrote to the verbs of `control`: prompts, commands of the shell, slash commands.

use std::sync::Arc;

use sinew_agent::agent::{Delivery, Stop};
use sinew_llm::model::ThinkingLevel;

use super::keys;
use super::mailbox::{Mailbox, Message};
use crate::control::prompt::{self, QueuedTexts};
use crate::control::{Control, ControlError, commands};

/// What a text of the user asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Submission<'a> {
    Nothing,
    Prompt,
    /// A command of the shell, and whether the model reads of it.
    Shell {
        command: &'a str,
        excluded: bool,
    },
    /// A slash command and its arguments.
    Slash(&'a str, &'a str),
}

/// The slash commands that need the screen: name, arguments, what they do.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("clear", "", "begin a new session"),
    ("fork", "", "go on with a copy of the session"),
    ("hotkeys", "", "list the keys"),
    ("model", "[NAME]", "list the models, or change to one"),
    ("new", "", "begin a new session"),
    ("redraw", "", "paint the screen anew"),
    ("reload", "", "read skills, commands and rules anew"),
    ("resume", "[ID]", "list the sessions, or go on with one"),
    ("thinking", "[LEVEL]", "show the thinking level, or set it"),
];

/// Tells what a text asks for. `is_known` says whether a word is the name of a built-in command.
pub(super) fn read(text: &str, is_known: impl Fn(&str) -> bool) -> Submission<'_> {
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
        if is_known(name) {
            return Submission::Slash(name, arguments.trim());
        }
    }
    Submission::Prompt
}

/// Tells whether a word is the name of a built-in command.
pub(super) fn is_built_in(name: &str) -> bool {
    COMMANDS.iter().any(|(known, ..)| *known == name) || commands::BUILT_IN.iter().any(|(known, _)| *known == name)
}

/// Sends a prompt and sees its run to the end.
pub(super) async fn prompt(control: Arc<Control>, mailbox: Mailbox, text: String, delivery: Delivery) {
    let open = control.session();
    let message = prompt::Message { text: text.clone(), images: Vec::new(), delivery: Some(delivery) };
    let submission = match control.submit(&open, message).await {
        Ok(submission) => submission,
        Err(error) => return mailbox.send(Message::Failed { error: error.message, text }),
    };
    submission.warn().await;
    if let Some(info) = submission.info() {
        mailbox.send(Message::Output(info.to_string()));
    }
    if submission.quits() {
        mailbox.send(Message::End(0));
    }
    let outcome = submission.run().await.outcome;
    if let Some(Stop::CallCut) = outcome.map(|outcome| outcome.stop) {
        let text =
            "The call of a tool was cut off at the output limit, and so were those with which the model tried again.";
        mailbox.send(Message::Output(text.into()));
    }
}

/// Takes the queued messages back, and with `abort` ends the run.
pub(super) async fn take_back(control: Arc<Control>, mailbox: Mailbox, abort: bool) {
    let QueuedTexts { steering, follow_up } = control.clear_queues().await;
    let texts: Vec<String> = steering.into_iter().chain(follow_up).collect();
    if !texts.is_empty() {
        mailbox.send(Message::TakenBack(texts));
    }
    if abort {
        let open = control.session();
        control.abort_bash();
        open.agent.abort_retry();
        open.agent.abort_compaction();
        control.abort().await;
    }
}

/// Runs a slash command and shows what it gives.
pub(super) async fn slash(control: Arc<Control>, mailbox: Mailbox, name: String, arguments: String) {
    match run(&control, &name, &arguments).await {
        Ok(Effect::Text(text)) if text.is_empty() => {}
        Ok(Effect::Text(text)) => mailbox.send(Message::Output(text)),
        Ok(Effect::NewSession) => mailbox.send(Message::SessionChanged),
        Ok(Effect::Refused) => mailbox.send(Message::Notice("a hook refused it".into())),
        Ok(Effect::Quit) => mailbox.send(Message::End(0)),
        Err(error) => {
            let text = format!("/{name} {arguments}").trim_end().to_string();
            mailbox.send(Message::Failed { error: error.message, text });
        }
    }
}

enum Effect {
    Text(String),
    NewSession,
    Refused,
    Quit,
}

async fn run(control: &Control, name: &str, arguments: &str) -> Result<Effect, ControlError> {
    let changed = |refused: bool| if refused { Effect::Refused } else { Effect::NewSession };
    Ok(match name {
        "quit" | "exit" => Effect::Quit,
        "new" | "clear" => changed(control.new_session(None).await?),
        "fork" => changed(control.fork().await?.is_none()),
        "resume" if arguments.is_empty() => Effect::Text(sessions(control).await?),
        "resume" => changed(control.switch_session(arguments).await?),
        "model" if arguments.is_empty() => Effect::Text(models(control)),
        "model" => Effect::Text(set_model(control, arguments).await?),
        "thinking" => Effect::Text(thinking(control, arguments)?),
        "reload" => {
            let warnings = control.reload().await?;
            Effect::Text(if warnings.is_empty() { "read anew".into() } else { warnings.join("\n") })
        }
        "hotkeys" => Effect::Text(list(keys::HELP.iter().map(|(keys, effect)| (keys.to_string(), effect.to_string())))),
        "help" => Effect::Text(help(control)),
        name => match commands::find(&format!("/{name} {arguments}")) {
            Ok(Some(command)) => Effect::Text(command.run(control).await?),
            Ok(None) => return Err(format!("/{name} is unknown: /help lists the commands").into()),
            Err(failure) => return Err(failure.message.into()),
        },
    })
}

fn help(control: &Control) -> String {
    let own = COMMANDS.iter().map(|(name, arguments, effect)| (format!("/{name} {arguments}"), (*effect).to_string()));
    let everywhere = commands::BUILT_IN.iter().filter(|(_, verb)| !matches!(verb, commands::Verb::Refused(_)));
    let everywhere = everywhere.map(|(name, _)| (format!("/{name}"), String::new()));
    let listed = control.listed_commands().into_iter();
    let listed = listed.map(|command| (format!("/{}", command.name), command.description));
    let other = [("!command", "run it in the shell; !! keeps it from the model"), ("@path", "attach a file or folder")];
    let other = other.map(|(name, effect)| (name.to_string(), effect.to_string()));
    list(own.chain(everywhere).chain(listed).chain(other))
}

fn list(rows: impl Iterator<Item = (String, String)>) -> String {
    let rows: Vec<(String, String)> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.trim_end().chars().count()).max().unwrap_or(0);
    let lines = rows.iter().map(|(name, text)| format!("{:width$}  {text}", name.trim_end()).trim_end().to_string());
    lines.collect::<Vec<_>>().join("\n")
}

async fn sessions(control: &Control) -> Result<String, ControlError> {
    let listed = control.list_sessions(false).await?;
    if listed.is_empty() {
        return Ok("There is no session of this folder yet.".into());
    }
    let rows = listed.into_iter().take(20).map(|session| {
        let id = session.id.chars().take(8).collect();
        (id, session.title)
    });
    Ok(format!("{}\n/resume ID goes on with one", list(rows)))
}

fn models(control: &Control) -> String {
    let current = control.session().agent.model().model.key();
    let rows = control.models().into_iter().map(|model| {
        let mark = if model.key() == current { "●" } else { " " };
        (format!("{mark} {}", model.key()), model.name)
    });
    format!("{}\n/model NAME changes to one", list(rows))
}

/// Changes to the model that a name means: `provider/id`, an id, or a part that fits one alone.
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
                [] => return Err(format!("Model not found: {name}; /model lists those that can answer").into()),
                _ => {
                    let keys: Vec<String> = fitting.iter().map(|model| model.key()).collect();
                    return Err(format!("{name} fits several models: {}", keys.join(", ")).into());
                }
            }
        }
    };
    let model = control.set_model(&model.provider, &model.id).await?;
    Ok(format!("{} answers from now on", model.key()))
}

fn thinking(control: &Control, level: &str) -> Result<String, ControlError> {
    let levels: Vec<&str> = control.thinking_levels().iter().map(|level| level.as_str()).collect();
    if level.is_empty() {
        let now = control.session().agent.thinking();
        return Ok(format!("thinking: {}; this model knows {}", now.as_str(), levels.join(", ")));
    }
    let wanted = ThinkingLevel::parse(level)
        .ok_or_else(|| ControlError::from(format!("{level:?} is no thinking level: use {}", levels.join(", "))))?;
    Ok(format!("thinking: {}", control.set_thinking(wanted).as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Submission<'_>) {
        assert_eq!(read(text, |name| name == "model"), expect, "{text:?}");
    }

    #[test]
    fn a_text_is_a_prompt_a_command_or_nothing() {
        check("  \n", Submission::Nothing);
        check("fix it", Submission::Prompt);
        check(" !git status ", Submission::Shell { command: "git status", excluded: false });
        check("!!env", Submission::Shell { command: "env", excluded: true });
        check("!", Submission::Nothing);
        check("/model  x y ", Submission::Slash("model", "x y"));
        check("/etc/hosts is broken", Submission::Prompt);
        check("/review src", Submission::Prompt);
    }
}
