//! Parses prompts: a command, a skill, a template, or a text with mentions.

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use sinew_llm::message::{AgentMessage, Content, UserMessage};
use sinew_tools::tool::panic_text;

use super::mention::Attacher;
use super::{Resources, Template};
use crate::event::Event;
use crate::extension::{CommandResult, Context, Extension, Point, SlashCommand};
use crate::hook_points;

/// The commands of the extensions, in load order; the first of each name is used.
#[derive(Clone, Default)]
pub struct Commands {
    all: Vec<SlashCommand>,
    extensions: Vec<Arc<dyn Extension>>,
}

impl Commands {
    /// Collects the commands of `extensions`. Also returns the names of duplicates, which are ignored.
    #[must_use]
    pub fn new(extensions: &[Arc<dyn Extension>]) -> (Commands, Vec<String>) {
        let mut commands = Commands { all: Vec::new(), extensions: extensions.to_vec() };
        let mut doubled = Vec::new();
        for command in extensions.iter().flat_map(|extension| extension.commands()) {
            if commands.find(&command.name).is_some() {
                doubled.push(command.name);
            } else {
                commands.all.push(command);
            }
        }
        (commands, doubled)
    }

    /// Returns the command with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&SlashCommand> {
        self.all.iter().find(|command| command.name == name)
    }

    /// Returns all commands.
    #[must_use]
    pub fn all(&self) -> &[SlashCommand] {
        &self.all
    }
}

/// A parsed prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// The messages for the model; empty if a command handled the prompt.
    pub messages: Vec<AgentMessage>,
    /// The notice of a command for the user.
    pub info: Option<String>,
    /// Warnings, each of which is shown once.
    pub warnings: Vec<String>,
    /// The model that a template requests.
    pub model: Option<String>,
    /// The thinking level that a template requests.
    pub thinking: Option<String>,
    /// Whether a command asked to quit.
    pub quit: bool,
}

/// The inputs for parsing prompts.
#[derive(Clone, Copy)]
pub struct PromptInputs<'a> {
    /// The commands.
    pub commands: &'a Commands,
    /// The skills and templates.
    pub resources: &'a Resources,
    /// Attaches files.
    pub attacher: &'a Attacher<'a>,
    /// The facts of the session for commands.
    pub context: &'a Context,
    /// The current time, in milliseconds since the epoch.
    pub now: i64,
}

impl PromptInputs<'_> {
    /// Parses a prompt of the user: a command of an extension; otherwise, after the extensions have processed the text,
    /// a skill, a command in a file or a template. Then it attaches the mentioned files. An unknown `/x` is sent to the
    /// model as text. `before` is data that is inserted before the text; commands and mentions in it are ignored.
    pub async fn read(&self, text: &str, before: &str) -> Prompt {
        let mut prompt = Prompt::default();
        let command = slash(text).and_then(|(name, arguments)| Some((self.commands.find(name)?, arguments)));
        let text = match command {
            Some((command, arguments)) => {
                self.run(command, arguments, &mut prompt).await.map(|text| (text.clone(), text))
            }
            None => match self.input(text, &mut prompt).await {
                None => None,
                Some(text) => match slash(&text) {
                    Some((name, arguments)) => self.expand(&text, name, arguments, &mut prompt),
                    None => Some((text.clone(), text)),
                },
            },
        };
        let Some((text, searched)) = text else { return prompt };
        let attached = self.attacher.mentions(&searched);
        prompt.warnings.extend(attached.warnings.iter().cloned());
        prompt.messages.extend(attached.message(self.now));
        let text = if before.is_empty() { text } else { format!("{before}\n\n{text}") };
        prompt.messages.push(UserMessage { content: Content::Text(text), timestamp: self.now }.into());
        prompt
    }

    /// Returns a prompt with data only; commands and mentions in it are ignored.
    #[must_use]
    pub fn data(&self, text: &str) -> Prompt {
        let said = UserMessage { content: Content::Text(text.to_string()), timestamp: self.now };
        Prompt { messages: vec![said.into()], ..Prompt::default() }
    }

    /// Lets the extensions process a text; returns `None` if one of them handled it.
    async fn input(&self, text: &str, prompt: &mut Prompt) -> Option<String> {
        let (mut text, mut handled) = (text.to_string(), false);
        let point = Point::new("input", serde_json::json!({"text": text}));
        let faults = hook_points::asked(&self.commands.extensions, point, self.context, |point, answer| {
            if hook_points::says(&answer, "handled") {
                handled = true;
                prompt.info = hook_points::text_of(&answer, "reason");
                return ControlFlow::Break(());
            }
            if let Some(new) = hook_points::text_of(&answer, "text") {
                point.fields.insert("text".into(), new.clone().into());
                text = new;
            }
            ControlFlow::Continue(())
        });
        for fault in faults.await {
            if let Event::ExtensionError { extension_path, error, .. } = fault {
                prompt.warnings.push(format!("{extension_path}: {error}"));
            }
        }
        (!handled).then_some(text)
    }

    /// Runs a command and returns its prompt for the model.
    async fn run(&self, command: &SlashCommand, arguments: &str, prompt: &mut Prompt) -> Option<String> {
        let work = async { command.handler.execute(arguments, self.context).await };
        let result = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(result) => result,
            Err(panic) => Err(panic_text(panic.as_ref())),
        };
        match result {
            Ok(CommandResult::Prompt(text)) => return Some(text),
            Ok(CommandResult::None) => {}
            Ok(CommandResult::Info(text)) => prompt.info = Some(text),
            Ok(CommandResult::ModelChanged(model)) => prompt.info = Some(format!("Model: {model}")),
            Ok(CommandResult::Quit) => prompt.quit = true,
            Err(reason) => prompt.warnings.push(format!("/{}: {reason}", command.name)),
        }
        None
    }

    /// Returns the text for the model and the part of it in which mentions are recognized; `None` if a warning for the
    /// user was added instead.
    fn expand(&self, text: &str, name: &str, arguments: &str, prompt: &mut Prompt) -> Option<(String, String)> {
        if let Some(skill) = name.strip_prefix("skill:").filter(|_| self.resources.skill_commands)
            && let Some(skill) = self.resources.skill(skill)
        {
            return match skill.prompt(arguments) {
                // A skill's text may contain names such as `@scope/package`, which are not mentions of the user.
                Ok(text) => Some((text, arguments.to_string())),
                Err(reason) => {
                    prompt.warnings.push(format!("/{name}: {reason}"));
                    None
                }
            };
        }
        let Some(template) = self.resources.templates.iter().find(|template| template.name == name) else {
            return Some((text.to_string(), text.to_string()));
        };
        let Template { model, thinking, .. } = template.clone();
        (prompt.model, prompt.thinking) = (model, thinking);
        let text = template.prompt(arguments);
        Some((text.clone(), text))
    }
}

/// Splits `/name arguments` into the name and the arguments.
fn slash(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (!name.is_empty()).then_some((name, arguments.trim()))
}
